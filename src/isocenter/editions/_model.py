"""What an edition holds.

    Edition ─┬─ policies  what happens to missing outputs, foreign grids, ties and organisers
             ├─ phases    when teams may submit, how often, and who sees the board
             ├─ prizes    for a place on the board of a phase
             ├─ bonuses   fixed amounts that no place decides
             ├─ payout    so much for every step beyond a score
             ├─ boards    rankings by rules of the edition's own
             ├─ summary, organisation, mission, datasets, assessment: the description, as far as no code knows it
             ├─ registration, equity, survey, declarations, terms: what people and teams are asked, and agree to
             └─ reading, stages, readers: what radiologists read, in which order, and what they are asked

Every field has a description of one sentence, which becomes its comment in a generated file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from isocenter.editions._description import Assessment, Datasets, Mission, Organisation, Summary
from isocenter.editions._own_board import Board, OwnBoard
from isocenter.editions._phase import Phase, split_cohort
from isocenter.editions._questions import EquityQuestion, Question, Terms
from isocenter.editions._reading import Reading, Stage
from isocenter.editions._values import (
    Announced,
    GridPolicy,
    MissingPolicy,
    Name,
    Names,
    OrganisersPolicy,
    Text,
    TextOrNone,
    TiesPolicy,
    UndefinedPolicy,
    Url,
)
from isocenter.editions._winnings import Bonus, Payout, Prize
from isocenter.schema import Allowed, show
from isocenter.schema.tables import Table, plain


class Policies(Table):
    """What the organisers decided about the cases that a rule for the ordinary ones leaves open.

    A policy that is None leaves every board the rule which the challenge gave it.
    """

    missing: MissingPolicy = Field(
        default=None, description="What a case counts as that has no output, or one that cannot be read."
    )
    undefined: UndefinedPolicy = Field(
        default=None,
        description="What follows if a metric is undefined for a usable output, such as the Dice of a healthy patient.",
    )
    grid: GridPolicy = Field(
        default="refuse", description="What happens to an output that lies on another grid than the reference."
    )
    ties: TiesPolicy = Field(default=None, description="Which rank teams with equal scores get.")
    organisers: OrganisersPolicy = Field(
        default="unlisted", description="What becomes of submissions from the organisers' own institutes."
    )
    announce: Announced = Field(
        default=None,
        description="How many teams from the top are announced by name, in phases that do not say it themselves.",
    )


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
        tuple[Board, ...],
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
    registration: Annotated[
        tuple[Question, ...],
        Field(strict=False),
        Allowed("questions, each under its own heading [[registration]] in double brackets"),
    ] = Field(default=(), description="From here on, the forms: what everybody is asked who registers.")
    equity: Annotated[
        tuple[EquityQuestion, ...],
        Field(strict=False),
        Allowed("questions, each under its own heading [[equity]] in double brackets"),
    ] = Field(
        default=(),
        description="What they are asked on equity, voluntarily, with answers that are stored without their names and "
        "published in numbers only.",
    )
    survey: Annotated[
        tuple[Question, ...],
        Field(strict=False),
        Allowed("questions, each under its own heading [[survey]] in double brackets"),
    ] = Field(
        default=(),
        description="What every team is asked on its method, with settings as under [[registration]]; without the "
        "answers its submissions to the phase that closes last are void.",
    )
    declarations: Annotated[
        tuple[Question, ...],
        Field(strict=False),
        Allowed("questions, each under its own heading [[declarations]] in double brackets"),
    ] = Field(
        default=(),
        description="What is asked with every submission, with settings as under [[registration]]; without the answers "
        "it is void.",
    )
    terms: Annotated[Terms | None, Allowed("its settings under the heading [terms]")] = Field(
        default=None, description="What has to be accepted before a submission counts."
    )
    reading: Annotated[Reading | None, Allowed("its settings under the heading [reading]")] = Field(
        default=None,
        description="From here on, a reader study: radiologists read the same cases, to be compared with teams.",
    )
    stages: Annotated[
        tuple[Stage, ...],
        Field(strict=False),
        Allowed("stages, each under its own heading [[stages]] in double brackets"),
    ] = Field(
        default=(),
        validate_default=True,
        description="The stages in which every case of the reader study is read, one after the other.",
    )
    readers: Annotated[
        tuple[Question, ...],
        Field(strict=False),
        Allowed("questions, each under its own heading [[readers]] in double brackets"),
    ] = Field(
        default=(),
        validate_default=True,
        description="What everybody is asked who joins the reader study, with settings as under [[registration]].",
    )

    @field_validator("phases")
    @classmethod
    def _named_apart(cls, phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
        if not phases:
            raise PydanticCustomError("not_allowed", "an edition without a phase")
        if again := repeated(phase.name for phase in phases):
            raise PydanticCustomError("repeated", "two phases have the same name", {"indices": again})
        above: set[str | None] = {None}
        for phase in phases:
            if phase.after not in above:
                raise PydanticCustomError("unknown_phase", "there is no such phase above this one")
            above.add(phase.name)
        return phases

    @field_validator("phases")
    @classmethod
    def _continued(cls, phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
        above: dict[str, Phase] = {}
        for phase in phases:
            if phase.continues is not None:
                before = above.get(phase.continues)
                if before is None:
                    raise plain(
                        f"{show(phase.name)} continues {show(phase.continues)}, but there is no phase of this name "
                        "above it"
                    )
                _check_continued(before, phase)
            above[phase.name] = phase
        return phases

    @field_validator("registration", "equity", "survey", "declarations", "readers")
    @classmethod
    def _asked_once(cls, questions: tuple[Question | EquityQuestion, ...]) -> tuple[Question | EquityQuestion, ...]:
        if again := repeated(question.name for question in questions):
            raise PydanticCustomError("repeated", "two questions have the same name", {"indices": again})
        return questions

    @field_validator("stages")
    @classmethod
    def _of_a_study(cls, stages: tuple[Stage, ...], info: ValidationInfo) -> tuple[Stage, ...]:
        if again := repeated(stage.name for stage in stages):
            raise PydanticCustomError("repeated", "two stages have the same name", {"indices": again})
        if "reading" not in info.data:
            return stages
        if info.data["reading"] is None and stages:
            raise plain("stages belong to a reader study; write its settings under the heading [reading]")
        if info.data["reading"] is not None and not stages:
            raise plain("a reader study has no stage; write one or more, each under its own heading [[stages]]")
        if stages and stages[0].copies:
            raise plain("the first stage copies from the one before it, but there is none; remove copies there")
        return stages

    @field_validator("readers")
    @classmethod
    def _balanced_by(cls, questions: tuple[Question, ...], info: ValidationInfo) -> tuple[Question, ...]:
        reading = info.data.get("reading")
        asked = {question.name for question in questions if question.offered}
        unknown = [] if reading is None else [show(name) for name in reading.readers_by if name not in asked]
        if unknown:
            raise plain(
                f"readers_by has {', '.join(unknown)}, which no question under [[readers]] with choices is called; "
                "add the question, or take the name out"
            )
        return questions

    @field_validator("boards")
    @classmethod
    def _one_main(cls, boards: tuple[OwnBoard, ...]) -> tuple[OwnBoard, ...]:
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

    @field_validator("bonuses")
    @classmethod
    def _while_it_is_open(cls, bonuses: tuple[Bonus, ...], info: ValidationInfo) -> tuple[Bonus, ...]:
        phases = info.data.get("phases")
        by_name = {} if phases is None else {phase.name: phase for phase in phases} | {None: closing_last(phases)}
        for bonus in bonuses:
            phase = by_name.get(bonus.phase)
            if bonus.at is not None and phase is not None and not phase.opens < bonus.at <= phase.closes:
                raise plain(
                    f"{show(bonus.title)} is for the leader at {show(bonus.at)}, but {show(phase.title)} is open from "
                    f"{show(phase.opens)} to {show(phase.closes)}; write a moment in between"
                )
        return bonuses

    def bonuses_of(self, phase: str | None = None) -> list[Bonus]:
        """The bonuses of a phase, by default of the one that closes last."""
        last = self.last_phase.name
        return [bonus for bonus in self.bonuses if (bonus.phase or last) == (phase or last)]

    def phase_at(self, moment: datetime) -> list[Phase]:
        """The phases that are open at a moment, from the very moment of opening to just before that of closing."""
        if moment.utcoffset() is None:
            msg = f"{moment.isoformat()} has no time zone, so no phase can be open then"
            raise ValueError(msg)
        return [phase for phase in self.phases if phase.opens <= moment < phase.closes]

    def named_in(self, phase: Phase) -> int | None:
        """How many teams from the top of the board of a phase are named; None: all.

        On a board that was public from the beginning all names are known, and stay so. A phase that continues another
        one names no more than that did: its teams stand there, too.
        """
        before = self.continued_by(phase)
        most = None if before is None else self.named_in(before)
        if phase.visibility == "public" or phase.announce == "all":
            return most
        own = self.policies.announce if phase.announce is None else phase.announce
        return min((count for count in (own, most) if count is not None), default=None)

    def continued_by(self, phase: Phase) -> Phase | None:
        """The phase whose board goes on in another one."""
        return None if phase.continues is None else self.find_scored(phase.continues)

    @property
    def scored(self) -> tuple[Phase, ...]:
        """Every phase, each followed by itself on its further cohorts; see `Phase.scored`."""
        return tuple(scored for phase in self.phases for scored in phase.scored)

    def find_scored(self, name: str) -> Phase | None:
        """The phase of a name such as "test", or of one with a cohort, such as "test.holdout"; None without one."""
        of = split_cohort(name)[0]
        phases = (scored for phase in self.phases if phase.name == of for scored in phase.scored)
        return next((phase for phase in phases if phase.name == name), None)

    @property
    def last_phase(self) -> Phase:
        """The phase whose board decides: the one that closes last, and of several the last in the file.

        One that continues another is never it.
        """
        return closing_last(self.phases)


def closing_last(phases: Sequence[Phase]) -> Phase:
    """Of the phases of an edition that continue no other, the one that closes last; of several, the last of them."""
    deciding = [phase for phase in phases if phase.continues is None] or phases
    return max(enumerate(deciding), key=lambda phase: (phase[1].closes, phase[0]))[1]


def _check_continued(before: Phase, phase: Phase) -> None:
    """Whether a phase can continue another one without giving away what that kept to itself."""
    if before.continues is not None:
        raise plain(
            f"{show(phase.name)} continues {show(before.name)}, which itself continues another phase; name that one"
        )
    if phase.opens < before.results:
        raise plain(
            f"{show(phase.name)} continues {show(before.name)} and opens ({show(phase.opens)}) before its results are "
            f"out ({show(before.results)}); write that moment or a later one"
        )
    for name in ("ladder", "decimals", "cases"):
        own, others = getattr(phase, name), getattr(before, name)
        if own != others and (name != "cases" or None not in (own, others)):
            raise plain(
                f"{show(phase.name)} continues {show(before.name)}, and results of both stand on one board; {name} has "
                "to be the same"
            )
    known = {cohort.name: on for cohort, on in zip(before.cohorts, before.scored[1:], strict=True)}
    for cohort in phase.cohorts:
        if cohort.name not in known:
            raise plain(
                f"{show(phase.name)} continues {show(before.name)}, which has no cohort {show(cohort.name)}; add "
                "it there, or remove it here"
            )
        if phase.opens < (results := known[cohort.name].results):
            raise plain(
                f"{show(phase.name)} continues {show(before.name)} with its cohort {show(cohort.name)} and opens "
                f"({show(phase.opens)}) before the results of that are out ({show(results)}); write that moment or a "
                "later one"
            )


def repeated(values: Iterable[object]) -> list[tuple[int, int]]:
    """Where a value occurs again: its index, and that of its first occurrence.

    Examples
    --------
    >>> repeated(["training", "test", "training"])
    [(2, 0)]
    """
    first: dict[object, int] = {}
    return [(i, first[value]) for i, value in enumerate(values) if first.setdefault(value, i) != i]
