"""Forms of accounts and teams."""

from __future__ import annotations

from zoneinfo import available_timezones

from allauth.account.forms import SignupForm as Plain
from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from isocenter.server.models import User
from isocenter.server.people.names import MOST_OF_A_PERSON, NameProblem, one_line, person_name

MOST_DOCUMENT = 20 * 10**6
"""Bytes of a document that comes with a request."""

TOKEN_DAYS = {"90": "90 days", "365": "a year", "": "until it is revoked"}


class Line(forms.CharField):
    """A line of text in which nothing is hidden."""

    def clean(self, value: object) -> str:
        """The line in one form of its characters."""
        text = str(value or "")
        if not text.strip() and not self.required:
            return ""
        try:
            return one_line(text, self.max_length or 200) if text.strip() else super().clean(value)
        except NameProblem as problem:
            raise ValidationError(str(problem).replace("The name", "This")) from None


class PersonName(Line):
    """A name that a person can have."""

    def clean(self, value: object) -> str:
        """The line, if it is not what the site calls itself."""
        name = super().clean(value)
        try:
            return person_name(name)
        except NameProblem as problem:
            raise ValidationError(str(problem)) from None


class SignupForm(Plain):
    """A new account: an address, a name, a password."""

    name = PersonName(max_length=MOST_OF_A_PERSON, label="Name", help_text="As others see it.")
    institution = Line(max_length=200, label="Institution", required=False)
    field_order = ("email", "name", "institution", "password1", "password2")


def zones() -> list[tuple[str, str]]:
    """Time zones to choose from."""
    names = sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))
    return [("", "That of my browser"), ("UTC", "UTC"), *((name, name.replace("_", " ")) for name in names)]


class ProfileForm(forms.ModelForm):
    """What others see of a person, and the clock that they see moments on."""

    name = PersonName(max_length=MOST_OF_A_PERSON, label="Name", help_text="As others see it.")
    institution = Line(max_length=200, label="Institution", required=False)
    zone = forms.ChoiceField(
        choices=zones, label="Time zone", required=False, help_text="Moments are shown on this clock."
    )

    class Meta:
        """Of the account."""

        model = User
        fields = ("name", "institution", "zone")


class TokenForm(forms.Form):
    """A token for a program."""

    title = Line(max_length=100, label="What it is for", help_text="Such as “cluster of the institute”.")
    days = forms.ChoiceField(choices=list(TOKEN_DAYS.items()), label="Valid for", required=False, initial="365")


class InviteForm(forms.Form):
    """Somebody who should join a team."""

    email = forms.EmailField(max_length=254, label="E-mail address")


class CodeForm(forms.Form):
    """Where the code of a team is."""

    url = forms.URLField(max_length=300, label="Address of the code", assume_scheme="https")
    licence = Line(max_length=100, label="Licence", required=False)


class AccessForm(forms.Form):
    """A request to take part in a phase, with a document."""

    text = forms.CharField(
        max_length=5000,
        label="Why you ask",
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="What you want to do, and what the organisers should know. At most 5000 characters.",
    )
    document = forms.FileField(
        label="Document",
        required=False,
        help_text="One PDF of at most 20 MB, such as the description of your method. Your team and the organisers "
        "can open it.",
        widget=forms.ClearableFileInput(attrs={"accept": "application/pdf"}),
    )

    def clean_document(self) -> UploadedFile | None:
        """A PDF by its first bytes, whatever its name says."""
        file = self.cleaned_data["document"]
        if not file:
            return None
        if file.size > MOST_DOCUMENT:
            msg = f"The document has {file.size / 1e6:.1f} MB; send one of at most {MOST_DOCUMENT / 1e6:.0f} MB."
            raise ValidationError(msg)
        start = file.read(5)
        file.seek(0)
        if start != b"%PDF-":
            msg = "The document is not a PDF; save it as one and send it again."
            raise ValidationError(msg)
        return file
