"""What an edition holds.

    Edition ─┬─ policies  what happens to missing outputs, foreign grids, ties and organisers
             ├─ phases    when teams may submit, how often, and who sees the board
             ├─ prizes    for a place on the board of a phase
             ├─ bonuses   fixed amounts that no place decides
             ├─ payout    so much for every step beyond a score
             ├─ boards    rankings by rules of the edition's own
             └─ summary, organisation, mission, datasets, assessment: the description, as far as no code knows it

Every field has a description of one sentence, which becomes its comment in a generated file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from isocenter.editions._board_rule import BoardRule
from isocenter.editions._description import Assessment, Datasets, Mission, Organisation, Summary
from isocenter.editions._table import Table
from isocenter.editions._values import (
    Allowed,
    Amount,
    Announced,
    CaseCount,
    Counts,
    Currency,
    Decimals,
    GridPolicy,
    MissingPolicy,
    Moment,
    Multiple,
    Name,
    Names,
    OfPhase,
    OrganisersPolicy,
    Per,
    Place,
    Quota,
    Rungs,
    Step,
    Text,
    TextOrNone,
    Threshold,
    TiesPolicy,
    Url,
    Visibility,
    Winner,
    plain,
    show,
)


class Policies(Table):
    """What the organisers decided about the cases that a rule for the ordinary ones leaves open.

    A policy that is None leaves every board the rule which the challenge gave it.
    """

    missing: MissingPolicy = Field(
        default=None, description="What a case counts as that has no output, or one that cannot be read."
    )
    grid: GridPolicy = Field(
        default="refuse", description="What happens to an output that lies on another grid than the reference."
    )
    ties: TiesPolicy = Field(default=None, description="Which rank teams with equal scores get.")
    organisers: OrganisersPolicy = Field(
        default="unlisted", description="What becomes of submissions from the organisers' own institutes."
    )
    announce: Announced = Field(default=None, description="How many teams from the top are announced by name.")


class Phase(Table):
    """A span of time in which teams may submit.

    opens ──────────── closes ──────────── results
      │ submissions up to │ the board as        │ everybody sees
      │ the quota         │ `visibility` says   │ the board
    """

    name: Name = Field(description="The short name of the phase, by which commands and addresses call it.")
    title: Text = Field(description="The name of the phase as people read it.")
    opens: Moment = Field(description="The moment from which teams may submit.")
    closes: Moment = Field(description="The moment from which submissions are refused.")
    results: Moment = Field(description="The moment from which everybody sees the board.")
    quota: Quota = Field(default=None, description="How many submissions a team has in this phase.")
    quota_per: Per = Field(default="phase", description="The span of time that the quota is for.")
    counts: Counts = Field(default="last", description="Which of a team's submissions counts.")
    visibility: Visibility = Field(default="hidden", description="Who sees the board before the results are out.")
    ladder: Rungs = Field(
        default=None, description="How much better a submission must be than the one shown of its team, to be shown."
    )
    decimals: Decimals = Field(default=None, description="How many decimals of a score are shown, and ranked.")
    cases: CaseCount = Field(default=None, description="How many cases the reference of the phase has.")

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


class Prize(Table):
    """What the team on a place gets."""

    place: Place = Field(description="The rank that wins the prize.")
    amount: Amount = Field(description="What the prize is worth.")
    currency: Currency = Field(description="The currency of the amount, by its international code.")
    phase: OfPhase = Field(default=None, description="The phase on whose board the rank counts.")


class Bonus(Table):
    """A fixed amount that no place decides: for the best solution of a week, a proposal, taking part."""

    title: Annotated[
        Text, Allowed("a text in quotes that is not empty", example='"Best solution after the first week"')
    ] = Field(description="What the bonus is for.")
    amount: Amount = Field(description="What each of its winners gets.")
    currency: Currency = Field(description="The currency of the amount, by its international code.")
    to: Winner = Field(default="named", description="Who gets the bonus.")
    phase: OfPhase = Field(default=None, description="The phase of which the bonus is part.")


class Payout(Table):
    """So much for every step by which a score is better than a threshold, whatever its place.

    amount × (score − above) / per, also for parts of a step, rounded up to a multiple of `round_up_to`.
    """

    amount: Amount = Field(description="What every step is worth.")
    currency: Currency = Field(description="The currency of the amount, by its international code.")
    per: Step = Field(description="The step of the score that the amount is for.")
    above: Threshold = Field(description="The score from which on steps are counted, as far as a result is better.")
    round_up_to: Multiple = Field(default=None, description="What the sum of a team is rounded up to a multiple of.")
    phase: OfPhase = Field(default=None, description="The phase on whose board the score counts.")


class Edition(Table):
    """A challenge being run: who, when, how often, under which policies, for which prizes.

    Examples
    --------
    >>> edition = Edition.model_validate({
    ...     "challenge": "hecktor2020",
    ...     "title": "HECKTOR 2020",
    ...     "phases": [{
    ...         "name": "test",
    ...         "title": "Test phase",
    ...         "opens": "2020-08-10T00:00:00+02:00",
    ...         "closes": "2020-09-11T00:00:00+02:00",
    ...         "results": "2020-10-04T09:00:00+02:00",
    ...     }],
    ... })
    >>> [phase.name for phase in edition.phase_at(datetime.fromisoformat("2020-09-10T21:59:59Z"))]
    ['test']
    >>> edition.phase_at(datetime.fromisoformat("2020-09-10T22:00:00Z"))
    []
    """

    challenge: Annotated[Name, Allowed('the name of a challenge in quotes, such as "hecktor2020"')] = Field(
        description="The challenge that is run, by the name that isocenter knows it by."
    )
    title: Text = Field(description="The name of the challenge as people read it.")
    organisers: Names = Field(
        default=(), description="The institutes that organise the challenge, for the reader of the page."
    )
    contact: TextOrNone = Field(default="", description="Where participants ask their questions.")
    url: Url = Field(default="", description="The web page of the challenge.")
    policies: Annotated[Policies, Allowed("its settings under the heading [policies]")] = Field(
        default=Policies(), description="What the organisers decided about missing outputs, grids, ties and themselves."
    )
    phases: Annotated[
        tuple[Phase, ...],
        Field(strict=False),
        Allowed("one or more phases, each under its own heading [[phases]] in double brackets"),
    ] = Field(description="The phases of the challenge, one after the other or overlapping.")
    prizes: Annotated[
        tuple[Prize, ...],
        Field(strict=False),
        Allowed("prizes, each under its own heading [[prizes]] in double brackets"),
    ] = Field(default=(), description="The prizes, one for each place of a phase that wins something.")
    bonuses: Annotated[
        tuple[Bonus, ...],
        Field(strict=False),
        Allowed("bonuses, each under its own heading [[bonuses]] in double brackets"),
    ] = Field(default=(), description="The bonuses, which no place on a board decides.")
    payout: Annotated[Payout | None, Allowed("its settings under the heading [payout]")] = Field(
        default=None, description="What a better score is worth by itself, whatever its place."
    )
    boards: Annotated[
        tuple[BoardRule, ...],
        Field(strict=False),
        Allowed("boards, each under its own heading [[boards]] in double brackets"),
    ] = Field(
        default=(), description="Boards with rules of their own, beside those of the challenge or in their place."
    )
    summary: Annotated[Summary, Allowed("its settings under the heading [summary]")] = Field(
        default=Summary(),
        description="From here on, what `isocenter describe` puts into the description of the challenge: the summary; "
        'texts stand in quotes, or between """ and """ if they have several lines, and what is left out is listed.',
    )
    organisation: Annotated[Organisation, Allowed("its settings under the heading [organisation]")] = Field(
        default=Organisation(), description="The description: who runs the challenge, and what teams agree to."
    )
    mission: Annotated[Mission, Allowed("its settings under the heading [mission]")] = Field(
        default=Mission(), description="The description: what the methods are for, and for which patients."
    )
    datasets: Annotated[Datasets, Allowed("its settings under the heading [datasets]")] = Field(
        default=Datasets(), description="The description: the cases, and where their reference comes from."
    )
    assessment: Annotated[Assessment, Allowed("its settings under the heading [assessment]")] = Field(
        default=Assessment(), description="The description: why results are measured and ranked in this way."
    )

    @field_validator("phases")
    @classmethod
    def _named_apart(cls, phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
        if not phases:
            raise PydanticCustomError("not_allowed", "an edition without a phase")
        if again := repeated(phase.name for phase in phases):
            raise PydanticCustomError("repeated", "two phases have the same name", {"indices": again})
        return phases

    @field_validator("boards")
    @classmethod
    def _one_main(cls, boards: tuple[BoardRule, ...]) -> tuple[BoardRule, ...]:
        if again := repeated(board.name for board in boards):
            raise PydanticCustomError("repeated", "two boards have the same name", {"indices": again})
        if sum(board.main for board in boards) > 1:
            raise PydanticCustomError("two_mains", "two boards are the main one")
        return boards

    @field_validator("prizes", "bonuses")
    @classmethod
    def _apart_in_a_phase(cls, entries: tuple[Prize | Bonus, ...], info: ValidationInfo) -> tuple[Prize | Bonus, ...]:
        phases = info.data.get("phases")
        last = None if phases is None else closing_last(phases).name
        named = [(entry.phase or last, entry.place if isinstance(entry, Prize) else entry.title) for entry in entries]
        if again := repeated(named):
            raise PydanticCustomError("repeated", "two are for the same place or reason", {"indices": again})
        return entries

    @field_validator("prizes", "bonuses", "payout")
    @classmethod
    def _of_a_phase(
        cls, value: tuple[Prize | Bonus, ...] | Payout | None, info: ValidationInfo
    ) -> tuple[Prize | Bonus, ...] | Payout | None:
        entries = value if isinstance(value, tuple) else () if value is None else (value,)
        known = {None, *(phase.name for phase in info.data.get("phases", ()))}
        if "phases" in info.data and any(entry.phase not in known for entry in entries):
            raise PydanticCustomError("unknown_phase", "the edition has no such phase")
        return value

    def phase_at(self, moment: datetime) -> list[Phase]:
        """The phases that are open at a moment, from the very moment of opening to just before that of closing."""
        if moment.utcoffset() is None:
            msg = f"{moment.isoformat()} has no time zone, so no phase can be open then"
            raise ValueError(msg)
        return [phase for phase in self.phases if phase.opens <= moment < phase.closes]

    @property
    def last_phase(self) -> Phase:
        """The phase whose board decides: the one that closes last, and of several the last in the file."""
        return closing_last(self.phases)


def closing_last(phases: Sequence[Phase]) -> Phase:
    """Of the phases of an edition, the one that closes last; of several, the last of them."""
    return max(enumerate(phases), key=lambda phase: (phase[1].closes, phase[0]))[1]


def repeated(values: Iterable[object]) -> list[tuple[int, int]]:
    """Where a value occurs again: its index, and that of its first occurrence.

    Examples
    --------
    >>> repeated(["training", "test", "training"])
    [(2, 0)]
    """
    first: dict[object, int] = {}
    return [(i, first[value]) for i, value in enumerate(values) if first.setdefault(value, i) != i]
