"""Forms for the words of an edition: its title and contact, its terms, and the questions that it asks."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from django import forms
from django.utils.text import slugify

from isocenter.editions import Edition, EquityQuestion, Question, Summary, Terms
from isocenter.server.pages.organise.fields import Noted

KINDS = {
    "text": "a line of text",
    "long": "a text of several lines",
    "choice": "one of the choices below",
    "several": "any number of the choices below",
    "yes-no": "yes or no",
    "email": "the e-mail address of the account",
    "url": "the address of a web page",
    "country": "a country",
    "number": "a number",
}
_EQUITY_KINDS = ("choice", "several", "yes-no")
_LONGEST_NAME = 40


class Lines(forms.CharField):
    """Several short texts, one on each line."""

    def __init__(self, *, rows: int, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": rows}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """One on each line."""
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> tuple[str, ...]:
        """Those lines that are not empty."""
        return tuple(line.strip() for line in str(value or "").splitlines() if line.strip())

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether there are others than before."""
        return tuple(initial or ()) != self.to_python(data)


class Prose(forms.CharField):
    """A text of several lines, with the line ends of files; browsers send others."""

    def __init__(self, *, rows: int, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": rows}), strip=False, **kwargs)

    def to_python(self, value: Any) -> str:
        """The text without what nobody sees at its ends."""
        return str(value or "").replace("\r\n", "\n").strip()

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether anything that somebody sees is another."""
        return self.to_python(initial) != self.to_python(data)


class AboutForm(Noted):
    """What the challenge is called, what it is for, and whom to ask."""

    title = forms.CharField(max_length=200, help_text="As people read it, on every page and in mails.")
    acronym = forms.CharField(max_length=60, required=False, label="Short name")
    abstract = Prose(
        rows=6, label="What it is for", help_text="In medicine and in method, and what it may change. A few sentences."
    )
    keywords = Lines(rows=3, help_text="By which it is found; one on each line.")
    organisers = Lines(rows=3, help_text="The institutes that organise it; one on each line.")
    contact = forms.CharField(
        max_length=200, required=False, help_text="Where participants ask, beside the forum: an address, or a name."
    )
    url = forms.URLField(
        max_length=300, required=False, assume_scheme="https", label="Web page", help_text="If it has one elsewhere."
    )

    def __init__(self, *args: Any, edition: Edition, **kwargs: Any) -> None:
        self.edition = edition
        now = {**dict(edition.summary), **{name: getattr(edition, name) for name in self._OWN}}
        super().__init__(*args, initial={**now, **kwargs.pop("initial", {})}, **kwargs)

    _OWN = ("title", "organisers", "contact", "url")

    def changed(self) -> Edition:
        """The edition with what was changed."""
        given = {name: self.cleaned_data[name] for name in self.changed_data if name not in Noted.base_fields}
        summary = {name: value or None for name, value in given.items() if name in Summary.model_fields}
        own = {name: value for name, value in given.items() if name in self._OWN}
        return self.edition.model_copy(update=own | {"summary": self.edition.summary.model_copy(update=summary)})


class TermsForm(Noted):
    """What has to be accepted before a submission counts; without a text there are none."""

    text = Prose(
        rows=14,
        label="Text",
        help_text="In Markdown. Without a text, nothing has to be accepted.",
    )
    version = forms.CharField(
        max_length=60,
        required=False,
        help_text="People accept a version. When you change the text, write a new one here; everybody has to accept it "
        "before they submit again.",
    )
    accepted_by = forms.ChoiceField(
        label="Who accepts them",
        choices=[("person", "everybody in a team"), ("team", "one member for the whole team")],
    )

    def __init__(self, *args: Any, terms: Terms | None, **kwargs: Any) -> None:
        self.terms = terms
        now = {"version": "1", "accepted_by": "person"} if terms is None else dict(terms)
        super().__init__(*args, initial={**now, **kwargs.pop("initial", {})}, **kwargs)

    def clean(self) -> dict[str, Any]:
        """A text that changed has another version."""
        given = super().clean()
        text, version = given.get("text", ""), given.get("version", "")
        if text and not version:
            self.add_error("version", "Say which version this is, such as 1 or 2026-05.")
        elif text and "text" in self.changed_data and self.terms is not None and version == self.terms.version:
            msg = f"The text changed, so the version must change too; write {following(version)}, for example."
            self.add_error("version", msg)
        return given

    def given(self) -> Terms | None:
        """The terms that were written; None for none."""
        if not self.cleaned_data["text"]:
            return None
        before = {} if self.terms is None else dict(self.terms)
        return Terms.model_construct(
            **{
                name: before[name] if name in before and name not in self.changed_data else self.cleaned_data[name]
                for name in Terms.model_fields
            }
        )


def following(version: str) -> str:
    """The version after this one, as most people would count.

    Examples
    --------
    >>> following("1"), following("2026-05"), following("draft")
    ('2', '2026-06', 'draft-2')
    """
    found = re.search(r"\d+$", version)
    if found is None:
        return f"{version}-2"
    return f"{version[: found.start()]}{int(found[0]) + 1:0{len(found[0])}d}"


class QuestionForm(Noted):
    """A question of a form."""

    label = forms.CharField(max_length=300, label="Question", help_text="As people read it.")
    name = forms.CharField(
        max_length=_LONGEST_NAME,
        required=False,
        label="Short name",
        help_text="The column of its answers in files; it stays for ever. Empty: it is made of the question.",
    )
    kind = forms.ChoiceField(choices=list(KINDS.items()), label="An answer is")
    choices = Lines(
        rows=5,
        help_text="One on each line, for the two kinds that have any. One that ends in … is completed in own words, "
        "such as Other…",
    )
    required = forms.BooleanField(required=False, label="There must be an answer")
    most_words = forms.IntegerField(
        required=False, min_value=1, label="Most words", help_text="Of an answer in own words; empty for any number."
    )
    help = forms.CharField(max_length=500, required=False, label="Explanation", help_text="Stands below the question.")

    def __init__(
        self,
        *args: Any,
        question: Question | EquityQuestion | None,
        equity: bool,
        taken: Collection[str],
        **kwargs: Any,
    ) -> None:
        self.question, self.taken = question, taken
        self.model = EquityQuestion if equity else Question
        now = {} if question is None else dict(question)
        super().__init__(*args, initial={**now, **kwargs.pop("initial", {})}, **kwargs)
        if question is not None:
            del self.fields["name"]
        if equity:
            self.fields["kind"].choices = [(kind, KINDS[kind]) for kind in _EQUITY_KINDS]
            self.fields["choices"].help_text = (
                "One on each line. “Prefer not to say” is offered by itself; own words are not, as they would tell who "
                "wrote them."
            )
            del self.fields["required"], self.fields["most_words"]

    def given(self) -> Question | EquityQuestion:
        """The question as it was written."""
        found = {name: self.cleaned_data.get(name) or None for name in self.model.model_fields}
        if "required" in found:
            found["required"] = bool(found["required"])
        if self.question is None:
            found["name"] = found["name"] or name_from(self.cleaned_data["label"], self.taken)
        else:
            found |= {name: value for name, value in dict(self.question).items() if name not in self.changed_data}
        return self.model.model_construct(**found)


def name_from(label: str, taken: Collection[str]) -> str:
    """A short name made of a question, which no other has.

    Examples
    --------
    >>> name_from("Primary research area?", []), name_from("3D?", []), name_from("Area", ["area"])
    ('primary-research-area', 'question-3d', 'area-2')
    """
    words = slugify(label) or "question"
    name = (words if words[0].isalpha() else f"question-{words}")[:_LONGEST_NAME].strip("-_")
    found, number = name, 2
    while found in (*taken, "team"):
        found, number = f"{name}-{number}", number + 1
    return found
