"""Forms for the settings of an edition that change most often: phases, policies, prizes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from django import forms

from isocenter.editions import Edition, Phase, Policies

_OFFSETS = [*range(-12 * 60, 15 * 60, 60), -570, -210, 210, 270, 330, 345, 390, 525, 570, 630, 765]
CLOCKS = [
    (
        minutes,
        "UTC−12:00 (anywhere on Earth)"
        if minutes == -720
        else f"UTC{'−' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
        if minutes
        else "UTC",
    )
    for minutes in sorted(_OFFSETS)
]
_EMPTY = "leave it empty"


class Moment(forms.DateTimeField):
    """A moment on the clock that the form says."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}, format="%Y-%m-%dT%H:%M:%S")
        super().__init__(widget=widget, **kwargs)

    def to_python(self, value: Any) -> datetime | None:
        """The moment as it was written, without a time zone."""
        if value in self.empty_values:
            return None
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid") from None
        return found.replace(tzinfo=None)

    def prepare_value(self, value: Any) -> Any:
        """As the browser wants it."""
        return value.strftime("%Y-%m-%dT%H:%M:%S") if isinstance(value, datetime) else value


class Announced(forms.Field):
    """How many teams are named: a number from 1 on, or the word for all of them."""

    def to_python(self, value: Any) -> Any:
        """A number, the word, or nothing."""
        text = "" if value in self.empty_values else str(value).strip().lower()
        if text in ("", "all"):
            return text
        if not text.isdecimal() or int(text) < 1:
            msg = "Write a whole number from 1 on, or all."
            raise forms.ValidationError(msg, code="invalid")
        return int(text)


class Noted(forms.Form):
    """A change with its note, made to a version."""

    base = forms.IntegerField(widget=forms.HiddenInput)
    note = forms.CharField(
        max_length=500, required=False, label="What changes, and why", help_text="Participants read it."
    )


class PhaseForm(Noted):
    """When teams may submit, who, how often, and who sees the board."""

    title = forms.CharField(max_length=200)
    clock = forms.TypedChoiceField(
        choices=CLOCKS, coerce=int, label="Clock", help_text="All dates below are on this clock."
    )
    opens = Moment(help_text="Teams may submit from this moment on.")
    closes = Moment(help_text="Submissions are refused from this moment on. 23:59:59 is misread less often than 00:00.")
    results = Moment(label="Results", help_text="Everybody sees the board from this moment on.")
    announced = Moment(
        required=False, help_text=f"Nobody but you knows of the phase before; {_EMPTY} if everybody may know now."
    )
    admission = forms.ChoiceField(
        label="Who may take part",
        choices=[
            ("open", "every team"),
            ("after", "teams with a result in another phase"),
            ("invited", "teams that you name, and the best of another phase"),
            ("request", "teams whose request you granted"),
        ],
    )
    after = forms.ChoiceField(required=False, label="The other phase")
    top = forms.IntegerField(required=False, min_value=1, label="How many of its best are invited")
    continues = forms.ChoiceField(
        required=False,
        label="Goes on from",
        help_text="After the end: the results of this phase stay, and later ones stand beside them on another board.",
    )
    quota = forms.IntegerField(
        required=False, min_value=1, label="Submissions per team", help_text=f"For any number, {_EMPTY}."
    )
    quota_per = forms.ChoiceField(
        label="In which span",
        choices=[
            ("phase", "the whole phase"),
            ("week", "any seven days in a row"),
            ("day", "any 24 hours"),
            ("calendar-week", "a week from Monday on the clock of the phase"),
            ("calendar-day", "a day from midnight on the clock of the phase"),
        ],
    )
    refund = forms.ChoiceField(
        label="Attempts are given back",
        choices=[
            ("infrastructure", "if the machines failed, or the team cancelled"),
            ("failed", "also if the submission failed by itself"),
            ("none", "never, but if it was refused before it ran, or our machines failed"),
        ],
    )
    counts = forms.ChoiceField(
        label="Which submission counts",
        choices=[
            ("last", "the last"),
            ("best", "the best"),
            ("chosen", "the one that the team nominates"),
            ("all", "all, each with a row of its own"),
        ],
    )
    visibility = forms.ChoiceField(
        label="Before the results are out",
        choices=[
            ("public", "everybody sees the board"),
            ("own", "a team sees its own scores"),
            ("hidden", "nobody sees a score, not even the own"),
        ],
    )
    announce = Announced(
        required=False,
        label="Teams that are named",
        help_text=f"So many from the top, or all; as the policies say, {_EMPTY}. A board that everybody sees from the "
        "beginning names all.",
    )
    verification = forms.ChoiceField(
        required=False,
        label="Prizes of unverified teams",
        choices=[
            ("", "are handed out"),
            ("held", "are held until you verified all members"),
            ("next", "are held, and go to the next place if you refuse a profile"),
        ],
        help_text="You verify names and affiliations under Teams.",
    )
    decimals = forms.IntegerField(required=False, min_value=0, max_value=15, help_text=f"For all decimals, {_EMPTY}.")
    cases = forms.IntegerField(required=False, min_value=1, label="Number of cases")

    MOMENTS = ("opens", "closes", "results", "announced")

    def __init__(self, *args: Any, edition: Edition, phase: Phase, **kwargs: Any) -> None:
        self.phase = phase
        offset = phase.opens.utcoffset() or timedelta()
        plain = {name: getattr(phase, name) for name in Phase.model_fields if name in self.base_fields}
        here = {name: self._on(plain[name], timezone(offset)) for name in self.MOMENTS}
        initial = {**plain, **here, "clock": round(offset.total_seconds() / 60), **kwargs.pop("initial", {})}
        super().__init__(*args, initial=initial, **kwargs)
        above = edition.phases[: list(edition.phases).index(phase)]
        for name in ("after", "continues"):
            self.fields[name].choices = [("", "none"), *((one.name, one.title) for one in above)]

    @staticmethod
    def _on(moment: datetime | None, zone: timezone) -> datetime | None:
        return None if moment is None else moment.astimezone(zone).replace(tzinfo=None)

    def update(self) -> dict[str, object]:
        """The settings that were changed, as the edition has them."""
        zone = timezone(timedelta(minutes=self.cleaned_data["clock"]))
        found: dict[str, object] = {}
        for name in (field for field in self.cleaned_data if field in Phase.model_fields):
            value = self.cleaned_data[name]
            if name in self.MOMENTS:
                value = None if value is None else value.replace(tzinfo=zone)
            value = None if value == "" else value
            if value != getattr(self.phase, name) or (name in self.MOMENTS and "clock" in self.changed_data):
                found[name] = value
        return found


class PoliciesForm(Noted):
    """What the organisers decided about the cases that a rule for the ordinary ones leaves open."""

    missing = forms.CharField(
        required=False,
        label="A missing case counts as",
        help_text="A number such as 0, or worst, worst-observed, worst-observed-anywhere, rank-last, leave-out or "
        f"disqualify. For the rule of each board, {_EMPTY}.",
    )
    undefined = forms.CharField(
        required=False,
        label="A metric that the reference leaves undefined",
        help_text="leave-out, leave-out-or-missing, refuse, unlisted, or a number that it counts as. For the rule of "
        f"each board, {_EMPTY}.",
    )
    ties = forms.ChoiceField(
        required=False,
        label="Equal teams",
        choices=[
            ("", "get what each board says"),
            ("min", "share the better rank: 1, 2, 2, 4"),
            ("average", "get the mean rank: 1, 2.5, 2.5, 4"),
            ("dense", "share a rank, and the next follows: 1, 2, 2, 3"),
        ],
    )
    grid = forms.ChoiceField(
        label="An output on another grid",
        choices=[
            ("refuse", "counts as missing, and the team is told"),
            ("resample", "is brought onto the grid of the reference"),
            ("trust-index", "is compared voxel by voxel, wherever it lies"),
        ],
    )
    organisers = forms.ChoiceField(
        label="Teams of the organisers",
        choices=[
            ("unlisted", "stand on no board"),
            ("unranked", "are listed without a rank"),
            ("ranked", "are ranked, and win no prize"),
        ],
    )
    announce = forms.IntegerField(
        required=False,
        min_value=1,
        label="Teams that are named",
        help_text=f"So many from the top, in phases that do not say it themselves; for all, {_EMPTY}.",
    )

    def __init__(self, *args: Any, policies: Policies, **kwargs: Any) -> None:
        self.policies = policies
        now = dict(policies)
        self.special = not isinstance(now["missing"], str | int | float | None)
        if self.special:
            now["missing"] = ""
        super().__init__(*args, initial={**now, **kwargs.pop("initial", {})}, **kwargs)
        if self.special:
            self.fields[
                "missing"
            ].help_text = "A penalty is set in the text of the challenge; what you write replaces it."

    def update(self) -> dict[str, object]:
        """The policies that were changed."""
        found: dict[str, object] = {}
        for name in Policies.model_fields:
            value: object = self.cleaned_data[name] if self.cleaned_data[name] != "" else None
            if name in ("missing", "undefined") and isinstance(value, str):
                value = _number_or_word(value)
            if name in self.changed_data and value != getattr(self.policies, name):
                found[name] = value
        return found


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip().strip('"')


class PrizeForm(forms.Form):
    """A prize; without a place it is none."""

    place = forms.IntegerField(required=False, min_value=1)
    amount = forms.DecimalField(required=False, min_value=0, max_digits=14, decimal_places=2)
    currency = forms.CharField(required=False, max_length=3)
    phase = forms.ChoiceField(required=False)

    def __init__(self, *args: Any, edition: Edition, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        last = f"the one that closes last ({edition.last_phase.title})"
        self.fields["phase"].choices = [("", last), *((phase.name, phase.title) for phase in edition.phases)]

    def clean(self) -> dict[str, Any]:
        """A place without an amount, or the other way round, is half a prize."""
        given = super().clean()
        if given.get("place") and not (given.get("amount") and given.get("currency")):
            self.add_error("amount", "Say how much, and in which currency.")
        return given
