"""Whether a challenge is ready: seven steps, and what is left to do in each; and what is odd about its dates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from isocenter.editions import Edition, Phase, split_cohort
from isocenter.server.boards.board_titles import titles_of
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Reference
from isocenter.server.organising.moments import on_its_clock
from isocenter.server.work import faults, holding
from isocenter.server.work.given_tables import lacking

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge as Code

_NIGHT = range(1, 6)
_SATURDAY = 5
_HOLIDAYS = {(12, 24), (12, 25), (12, 26), (12, 31), (1, 1)}
_LONG = timedelta(days=365)
_NOTICED = timedelta(hours=1)  # from 23:59:59 to midnight is no gap


@dataclass(frozen=True)
class Step:
    """One step of the checklist: `todo` must be done before publication, `notes` may be."""

    number: int
    title: str
    what: str
    todo: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """Settings of the description that are empty."""

    @property
    def done(self) -> bool:
        """Whether nothing has to be done."""
        return not self.todo


@dataclass(frozen=True)
class Data:
    """What a phase, or a further cohort of it, is measured against, as far as it is there."""

    phase: Phase
    reference: Reference | None
    problem: str = ""
    note: str = ""


def steps(challenge: Challenge, now: datetime) -> list[Step]:
    """The seven steps to a challenge that can be published."""
    edition = challenge.edition
    version = challenge.version
    assert version is not None
    code = code_of(version.pk, edition.last_phase.name)
    gaps = design_gaps(challenge)
    data = data_of(challenge)
    return [
        Step(
            1,
            "Design record",
            "What the challenge asks, of whom, and how it is judged.",
            notes=tuple(_borrowed(challenge, code)),
            gaps=tuple(gap for gap, mandatory in gaps if mandatory),
        ),
        Step(
            2,
            "Phases",
            f"{len(edition.phases)} phase{'s'[: len(edition.phases) != 1]}; when each opens, closes and tells results.",
            todo=tuple(past(edition, now)) if not challenge.published else (),
            notes=tuple(conflicts(edition)),
        ),
        Step(
            3,
            "Data and cases",
            "What submissions are measured against, and what participants download.",
            todo=tuple(one.problem for one in data if one.problem),
            notes=(
                *(() if challenge.releases.exists() else ("There is nothing to download yet.",)),
                *(one.note for one in data if one.note),
                *(one.words for one in lacking(challenge)),
            ),
        ),
        Step(
            4,
            "Evaluator",
            f"{code.title}; it measures {', '.join(code.metrics)}.",
            todo=tuple(_held_back(challenge)),
            notes=tuple(_broken(challenge)),
        ),
        Step(5, "Ranking", _ranked(titles_of(code))),
        Step(
            6,
            "Taking part",
            "Quotas, prizes, forms and terms.",
            todo=(),
            notes=tuple(_participation(edition)),
        ),
        Step(
            7,
            "Look, and publish",
            "See the challenge as others will see it.",
            notes=() if version.pages else ("There is no page yet that says what the challenge is for.",),
        ),
    ]


def _held_back(challenge: Challenge) -> Iterator[str]:
    """The phases whose results cannot come out, as submissions wait for a mended evaluator."""
    held = holding.held_phases(challenge)
    for phase in challenge.edition.scored:
        if number := held.get(phase.name):
            yield (
                f"{number} submission{'s'[: number != 1]} to {phase.title} {'waits' if number == 1 else 'wait'} for a "
                "mended evaluator. Until then its results are held back."
            )


def _broken(challenge: Challenge) -> Iterator[str]:
    """Faults of the evaluator that hold nothing back, say as their results are out."""
    held, phases = holding.held_phases(challenge), {phase.name: phase.title for phase in challenge.edition.scored}
    broken = {one.phase for one in faults.list_faults(challenge)} - held.keys()
    for name in sorted(broken & phases.keys()):
        yield f"The evaluator failed on submissions to {phases[name]}, which have no result, or an older one."


def _borrowed(challenge: Challenge, code: Code) -> Iterator[str]:
    """What a challenge still has of the one that it began with."""
    if challenge.edition.title == code.title and challenge.slug != code.name:
        yield f"The title is still “{code.title}”; write your own under Settings, Title and contact."


def _ranked(titles: Mapping[str, str]) -> str:
    if len(titles) == 1:
        return f"One board: {', '.join(titles.values())}."
    return f"Boards: {'; '.join(titles.values())}. The first is the main one."


def design_gaps(challenge: Challenge) -> list[tuple[str, bool]]:
    """The settings of the description that are empty, and whether a design document needs them."""
    from isocenter.report import describe_edition

    version, edition = challenge.version, challenge.edition
    assert version is not None
    description = describe_edition(edition, code_of(version.pk, edition.last_phase.name))
    return list(dict.fromkeys((gap.field, gap.mandatory) for _, gap in description.still_empty()))


def data_of(challenge: Challenge) -> list[Data]:
    """For every phase and further cohort the reference in force: its own, or for a phase the one for all of them."""
    newest: dict[str, Reference] = {}
    for reference in challenge.references.order_by("number"):
        newest[reference.phase] = reference
    found = []
    for phase in challenge.edition.scored:
        further = split_cohort(phase.name)[1] != ""
        reference = newest.get(phase.continues or phase.name) or (None if further else newest.get(""))
        problem = note = ""
        if reference is None and further:
            note = f"{phase.title} has no reference yet; submissions are scored on it as soon as it has."
        elif reference is None:
            problem = f"{phase.title} has no reference, so nothing can be scored."
        elif phase.cases is not None and phase.cases != len(reference.cases):
            problem = (
                f"{phase.title} has {phase.cases} cases in its settings, and {len(reference.cases)} in its reference."
            )
        found.append(Data(phase, reference, problem, note))
    return found


def past(edition: Edition, now: datetime) -> Iterator[str]:
    """Dates that are over before anybody could take part."""
    if all(phase.closes <= now for phase in edition.phases):
        yield "All phases are over already; change their dates."


def conflicts(edition: Edition) -> list[str]:
    """What is odd about the dates of an edition, in the order of its phases; none of it is forbidden."""
    found = [text for phase in edition.phases if phase.continues is None for text in _oddities(phase, edition)]
    deciding = [phase for phase in edition.phases if phase.continues is None]  # what goes on after the end may overlap
    ordered = sorted(deciding, key=lambda phase: (phase.opens, phase.closes))
    for at, phase in enumerate(ordered):
        for other in ordered[at + 1 :]:
            if other.opens < phase.closes:
                until = min(phase.closes, other.closes)
                span = f"from {on_its_clock(other.opens)} to {on_its_clock(until)}"
                found.append(f"{phase.title} and {other.title} overlap {span}.")
    return found + list(_dead_zones(ordered))


def _oddities(phase: Phase, edition: Edition) -> Iterator[str]:
    closes = phase.closes
    if closes.hour in _NIGHT:
        yield f"{phase.title} closes at night, at {closes:%H:%M} on its own clock."
    if (closes.hour, closes.minute, closes.second) == (0, 0, 0):
        day = closes - timedelta(days=1)
        yield f"{phase.title} closes at midnight, when {day:%A} {day.day} {day:%B} ends; 23:59 is misread less often."
    last = closes - timedelta(seconds=1)
    if last.weekday() >= _SATURDAY:
        yield f"{phase.title} closes on a weekend ({last:%A}), when nobody answers questions."
    if (last.month, last.day) in _HOLIDAYS:
        yield f"{phase.title} closes on a holiday ({last.day} {last:%B})."
    offsets = {moment.utcoffset() for moment in (phase.opens, closes, phase.results)}
    if len(offsets) > 1:
        yield f"The dates of {phase.title} are written on different clocks; look at them in UTC."
    if closes - phase.opens > _LONG:
        yield f"{phase.title} is open for more than a year; is the year right?"
    before = next((one for one in edition.phases if one.name == phase.after), None)
    if before is not None and phase.opens < before.results:
        yield (
            f"{phase.title} opens before the results of {before.title} are out; who may take part is not known until "
            f"{on_its_clock(before.results)}."
        )


def _dead_zones(ordered: Sequence[Phase]) -> Iterator[str]:
    """Spans between the first opening and the last closing in which no phase is open."""
    end: datetime | None = None
    for phase, following in pairwise(ordered):
        end = phase.closes if end is None else max(end, phase.closes)
        if following.opens - end >= _NOTICED:
            days = (following.opens - end).total_seconds() / 86400
            span = f"{days:.0f} days" if days >= 2 else f"{days * 24:.0f} hours"
            yield f"Nothing is open for {span} between {phase.title} and {following.title}, from {on_its_clock(end)}."


def _participation(edition: Edition) -> Iterator[str]:
    for phase in edition.phases:
        if phase.quota is None and phase.visibility != "hidden":
            yield f"{phase.title} has no quota: whoever submits often enough learns its cases by heart."
    if edition.terms is None:
        yield "There are no terms to accept."
    if not edition.registration:
        yield "Nobody is asked anything when registering."
    if any(prize.phase is None for prize in edition.prizes):
        yield f"Prizes without a phase are for {edition.last_phase.title}, which closes last."


@dataclass(frozen=True)
class Bar:
    """A phase on the time line, in per cent of its width."""

    phase: Phase
    left: float
    width: float
    results: float


def timeline(edition: Edition, now: datetime) -> tuple[list[Bar], float | None]:
    """The phases as bars, and where today is; None if it is not between the first and the last date."""
    first = min(phase.announced or phase.opens for phase in edition.phases).astimezone(UTC)
    last = max(phase.results for phase in edition.phases).astimezone(UTC)
    span = max((last - first).total_seconds(), 1.0)

    def at(moment: datetime) -> float:
        return round(100 * (moment - first).total_seconds() / span, 2)

    bars = [Bar(p, at(p.opens), max(at(p.closes) - at(p.opens), 0.5), at(p.results)) for p in edition.phases]
    return bars, at(now) if first <= now <= last else None
