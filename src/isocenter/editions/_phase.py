"""A phase of an edition: when teams may submit, who is admitted, how often, and who sees the board.

[[phases]]           name = "test"       its own cases: they decide which submission of a team counts
[[phases.cohorts]]   name = "holdout"    further cases, on which the same submissions are scored: "test.holdout"
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from isocenter.editions._values import (
    Admitted,
    After,
    AnnouncedIn,
    CaseCount,
    CohortResults,
    CohortVisibility,
    Continued,
    Counts,
    Decimals,
    KnownFrom,
    Moment,
    Name,
    Per,
    Quota,
    Refund,
    Rungs,
    Text,
    Top,
    Verification,
    Visibility,
)
from isocenter.schema import Allowed, Wrong, show
from isocenter.schema.tables import Table, error_of, plain

_LONGEST = 60  # characters of a phase with its cohort, as a database keeps them
_SEEN_BY = ("hidden", "own", "public")  # from nobody to everybody


def name_on_cohort(phase: str, cohort: str) -> str:
    """What a phase is called on the cases of a further cohort: "test.holdout". No name of a phase has a dot."""
    return f"{phase}.{cohort}"


def split_cohort(name: str) -> tuple[str, str]:
    """The phase of such a name, and its further cohort; "" if it is the phase on its own cases.

    Examples
    --------
    >>> split_cohort("test.holdout"), split_cohort("test")
    (('test', 'holdout'), ('test', ''))
    """
    phase, _, cohort = name.partition(".")
    return phase, cohort


class Cohort(Table):
    """Further cases on which every submission to a phase is scored, with boards of their own: a holdout, say.

    The submission of a team that counts on the phase's own cases stands on these boards too, and no other: nobody's
    best is chosen on a holdout.
    """

    name: Annotated[
        Name,
        Allowed(
            'lower-case letters, digits, - and _ in quotes, beginning with a letter, such as "holdout"',
            example='"holdout"',
        ),
    ] = Field(description="The short name of the cohort; addresses call it by that of the phase, a dot and this.")
    title: Annotated[Text, Allowed("a text in quotes that is not empty", example='"Holdout set"')] = Field(
        description="The name of the cohort as people read it."
    )
    visibility: CohortVisibility = Field(
        default="hidden", description="Who sees the boards of the cohort before its results are out."
    )
    results: CohortResults = Field(
        default=None, description="The moment from which everybody sees the boards of the cohort."
    )
    cases: CaseCount = Field(default=None, description="How many cases the reference of the cohort has.")


class Phase(Table):
    """A span of time in which teams may submit.

    announced ────── opens ──────────── closes ──────────── results
      │ known, and     │ submissions up to │ the board as        │ everybody sees
      │ not yet open   │ the quota         │ `visibility` says   │ the board

    A phase that `continues` another one decides nothing: no prize, no survey and no end of the challenge depends on it.

    Who may take part says `admission`; see `admitted`, `quota_left` and `sight`, which put these settings into effect.
    """

    headed = ("cohorts",)

    name: Name = Field(description="The short name of the phase, by which commands and addresses call it.")
    title: Text = Field(description="The name of the phase as people read it.")
    opens: Moment = Field(description="The moment from which teams may submit.")
    closes: Moment = Field(description="The moment from which submissions are refused.")
    results: Moment = Field(description="The moment from which everybody sees the board.")
    announced: KnownFrom = Field(
        default=None, description="The moment from which anybody but the organisers knows that there is this phase."
    )
    admission: Admitted = Field(default="open", description="Who may take part.")
    after: After = Field(
        default=None, validate_default=True, description="The phase whose board decides who takes part in this one."
    )
    top: Top = Field(
        default=None, validate_default=True, description="How many from the top of the board of that phase are invited."
    )
    continues: Continued = Field(
        default=None,
        description="The phase whose board goes on in this one after the end: its results stand beside the later ones, "
        "are measured against the same reference, and stay as they are on its own board.",
    )
    quota: Quota = Field(default=None, description="How many submissions a team has in this phase.")
    quota_per: Per = Field(default="phase", description="The span of time that the quota is for.")
    refund: Refund = Field(default="infrastructure", description="Where an attempt that came to nothing is given back.")
    counts: Counts = Field(default="last", description="Which of a team's submissions counts.")
    visibility: Visibility = Field(default="hidden", description="Who sees the board before the results are out.")
    announce: AnnouncedIn = Field(
        default=None, description="How many teams of this phase are announced by name when its results are out."
    )
    verification: Verification = Field(
        default=None,
        description="What becomes of a prize of this phase, if its winners' names and affiliations are not verified.",
    )
    ladder: Rungs = Field(
        default=None, description="How much better a submission must be than the one shown of its team, to be shown."
    )
    decimals: Decimals = Field(default=None, description="How many decimals of a score are shown, and ranked.")
    cases: CaseCount = Field(default=None, description="How many cases the reference of the phase has.")
    cohorts: Annotated[
        tuple[Cohort, ...],
        Field(strict=False),
        Allowed("cohorts, each under its own heading [[phases.cohorts]] in double brackets, below the phase"),
    ] = Field(
        default=(),
        description="Further cases on which every submission to the phase is scored, such as a holdout; which "
        "submission of a team counts is decided without them.",
    )

    @property
    def scored(self) -> tuple[Phase, ...]:
        """The phase, and the phase on each of its further cohorts: what has a reference, boards and results."""
        return (self, *map(self._on, self.cohorts))

    def _on(self, cohort: Cohort) -> Phase:
        return self.model_copy(
            update={
                "name": name_on_cohort(self.name, cohort.name),
                "title": f"{self.title}, {cohort.title}",
                "visibility": cohort.visibility,
                "results": self.results if cohort.results is None else cohort.results,
                "cases": cohort.cases,
                "continues": None if self.continues is None else name_on_cohort(self.continues, cohort.name),
                "cohorts": (),
            }
        )

    # Checks of one field against another hang on the later one, so that they run, and name their line, even where
    # some other field of the phase is wrong too.

    @field_validator("closes")
    @classmethod
    def _after_opening(cls, closes: datetime, info: ValidationInfo) -> datetime:
        opens = info.data.get("opens")
        if opens is not None and closes <= opens:
            raise plain(f"{show(closes)} is not after the phase opens ({show(opens)}); write a later moment")
        return closes

    @field_validator("results")
    @classmethod
    def _not_before_closing(cls, results: datetime, info: ValidationInfo) -> datetime:
        closes = info.data.get("closes")
        if closes is not None and results < closes:
            raise plain(
                f"{show(results)} is before the phase closes ({show(closes)}); write this moment or a later one"
            )
        return results

    @field_validator("announced")
    @classmethod
    def _not_after_opening(cls, announced: datetime | None, info: ValidationInfo) -> datetime | None:
        opens = info.data.get("opens")
        if announced is not None and opens is not None and announced > opens:
            raise plain(
                f"{show(announced)} is after the phase opens ({show(opens)}); write this moment or an earlier one"
            )
        return announced

    @field_validator("after")
    @classmethod
    def _where_it_decides(cls, after: str | None, info: ValidationInfo) -> str | None:
        if "admission" not in info.data:
            return after
        admission = info.data["admission"]
        if after is None and admission == "after":
            raise PydanticCustomError("missing", "the phase that decides is not named")
        if after is not None and admission not in ("after", "invited"):
            raise plain(
                f'{show(after)} decides nothing where admission is {show(admission)}; write admission = "after" or '
                f'"invited", or remove this setting'
            )
        return after

    @field_validator("top")
    @classmethod
    def _of_invitations(cls, top: int | None, info: ValidationInfo) -> int | None:
        if "admission" not in info.data or "after" not in info.data:
            return top
        admission, after = info.data["admission"], info.data["after"]
        if top is None and admission == "invited" and after is not None:
            raise PydanticCustomError("missing", "how many are invited is not said")
        if top is not None and admission != "invited":
            raise plain(
                f'{top} invites nobody where admission is {show(admission)}; write admission = "invited", or remove '
                f"this setting"
            )
        if top is not None and after is None:
            raise plain(f"{top} of which phase is not said; write its name as after, or remove this setting")
        return top

    @field_validator("cohorts")
    @classmethod
    def _safe_cohorts(cls, cohorts: tuple[Cohort, ...], info: ValidationInfo) -> tuple[Cohort, ...]:
        if problems := list(_unsafe(cohorts, info.data)):
            raise error_of(problems)
        return cohorts


def _unsafe(cohorts: tuple[Cohort, ...], phase: dict[str, Any]) -> Iterator[Wrong]:
    """What is wrong with the cohorts of a phase, whose settings are there as far as they are right."""
    first: dict[str, int] = {}
    for at, cohort in enumerate(cohorts):
        if first.setdefault(cohort.name, at) != at:
            taken = f"{show(cohort.name)} is already the name of cohort {first[cohort.name] + 1}; write another"
            yield Wrong(cohort.name, at=(at, "name"), sentence=taken)
        if "name" in phase and len(name_on_cohort(phase["name"], cohort.name)) > _LONGEST:
            long = f"{show(cohort.name)} is too long: with the name of the phase it has more than {_LONGEST} characters"
            yield Wrong(cohort.name, at=(at, "name"), sentence=long)
        if "results" in phase and cohort.results is not None and cohort.results < phase["results"]:
            early = (
                f"{show(cohort.results)} is before the results of the phase are out ({show(phase['results'])}); write "
                "this moment or a later one"
            )
            yield Wrong(cohort.results, at=(at, "results"), sentence=early)
        if not {"visibility", "counts", "ladder"} <= phase.keys():
            continue
        decides = phase["counts"] == "best" or phase["ladder"] is not None
        if decides and _SEEN_BY.index(cohort.visibility) > _SEEN_BY.index(phase["visibility"]):
            telling = (
                f"{show(cohort.visibility)} shows more than the board of the phase ({show(phase['visibility'])}), and "
                "so which submission is the best there; write what the phase has, or less"
            )
            yield Wrong(cohort.visibility, at=(at, "visibility"), sentence=telling)
