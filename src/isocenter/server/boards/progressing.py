"""How teams come on in a phase: best scores so far, who led when, submissions per day, who takes part.

Only submissions of teams that the visitor sees on the board are counted, under the names they have there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Count, QuerySet
from django.utils import timezone

from isocenter.editions import Phase, Tally, tally
from isocenter.server import boards
from isocenter.server.boards.board_history import newest, teams_of
from isocenter.server.boards.board_table import Digits
from isocenter.server.editions import code_of
from isocenter.server.models import Evaluation, Registration, Snapshot, Submission
from isocenter.server.work.in_force import standard_of

if TYPE_CHECKING:
    from isocenter.metrics import Metric
    from isocenter.ranking import LeadChange, Progress
    from isocenter.server.policy import Visit


@dataclass(frozen=True, slots=True)
class Scored:
    """A submission by the name that its team has for the visitor; `value` is None where it has no score alone."""

    team: str
    made: datetime
    value: float | None


@dataclass(frozen=True)
class Course:
    """How a phase went on one of its boards."""

    board: str
    metric: Metric
    digits: Digits
    scored: tuple[Scored, ...]
    progress: Progress | None
    changes: tuple[LeadChange, ...]

    @property
    def valued(self) -> bool:
        """Whether submissions have a score of their own: one that compares teams belongs to nobody alone."""
        return any(one.value is not None for one in self.scored)


@dataclass(frozen=True, slots=True)
class Participation:
    """How many took part in a phase."""

    phase: Phase
    teams: int
    submissions: int


def main_board(visit: Visit, phase: str) -> str:
    """The name of the board that decides."""
    assert visit.challenge.version_id is not None
    return next(iter(code_of(visit.challenge.version_id, phase).boards))


def names_on(visit: Visit, snapshot: Snapshot) -> dict[str, str]:
    """By team that stands on a board, the name that the visitor sees there; teams that are not shown are not in it.

    Rows keep their order when they are shown to somebody who sees their ranks, so the two belong together in pairs.
    """
    if not visit.sight(snapshot.phase).ranks:
        return {}
    teams = teams_of(snapshot)
    whole, shown = boards.thaw(snapshot.content), boards.shown(visit, snapshot)
    found = {}
    for real, seen in zip(whole.rows, shown.rows, strict=True):
        team = teams.get(real.submission, real.submission)
        suffix = real.submission.removeprefix(team)
        found[team] = seen.submission.removesuffix(suffix) if suffix else seen.submission
    return found


def submissions_of(visit: Visit, phase: str, board: str) -> tuple[Scored, ...]:
    """The scored submissions of all teams that the visitor sees on a board, in the order they were made."""
    names = _names(visit, phase, board)
    every = _counted(visit, phase, names)
    values = _values(visit, phase, board) if names else {}
    return tuple(
        Scored(names[team], made, values.get(key))
        for key, team, made in every.order_by("made", "number", "pk").values_list("id", "team__name", "made")
    )


def _names(visit: Visit, phase: str, board: str) -> dict[str, str]:
    """The teams on the board in force, if their number may be known."""
    snapshot = newest(visit, phase, board) if visit.sight(phase).counts else None
    return {} if snapshot is None else names_on(visit, snapshot)


def _counted(visit: Visit, phase: str, teams: Iterable[str]) -> QuerySet[Submission]:
    """Submissions of some teams that came to scores."""
    return Submission.objects.filter(
        challenge=visit.challenge, phase=phase, state=Submission.State.SCORED, void=False, team__name__in=list(teams)
    )


def _values(visit: Visit, phase: str, board: str) -> dict[object, float]:
    """By submission its score alone, under what the board is made of; nothing where scores are kept back."""
    found = visit.phase(phase)
    seen = visit.sight(phase)
    if not seen.progress or ((found.ladder is not None or found.decimals is not None) and not seen.unlisted):
        return {}
    standard = standard_of(visit.challenge, phase)
    if standard is None:
        return {}
    rows = Evaluation.objects.filter(
        submission__challenge=visit.challenge,
        submission__phase=phase,
        reference=standard.reference,
        evaluator=standard.evaluator,
    )
    return {
        key: score for key, of in rows.values_list("submission_id", "values") if (score := of.get(board)) is not None
    }


def course(visit: Visit, phase: str, board: str) -> Course:
    """How the phase went on a board, as far as the visitor may know."""
    from isocenter.metrics import catalogue
    from isocenter.ranking import lead_changes, normalised_progress

    assert visit.challenge.version_id is not None
    rule = code_of(visit.challenge.version_id, phase).boards[board]
    metric = catalogue.get(rule.metric)
    scored = submissions_of(visit, phase, board)
    rows = [(one.team, one.made, one.value) for one in scored if one.value is not None]
    if not rows or metric.better == "neither":
        return Course(board, metric, Digits(visit.sight(phase).decimals), scored, None, ())
    return Course(
        board,
        metric,
        Digits(visit.sight(phase).decimals),
        scored,
        normalised_progress(rows, better=metric.better),
        lead_changes(rows, better=metric.better),
    )


def per_day(scored: Sequence[Scored], phase: Phase, now: datetime) -> list[tuple[str, int]]:
    """Submissions of each day, on the viewer's clock, from the opening to the close or today."""
    counts = Counter(timezone.localtime(one.made).date() for one in scored)
    first, last = timezone.localtime(phase.opens).date(), timezone.localtime(min(now, phase.closes)).date()
    days = [first + timedelta(days=n) for n in range(max((last - first).days, 0) + 1)]
    return [(day.isoformat(), counts.get(day, 0)) for day in days]


def lead_steps(scored: Sequence[Scored], phase: Phase, *, better: str) -> list[tuple[float, float]]:
    """The best score of all so far: at the day of the phase on which it became better."""
    steps: list[tuple[float, float]] = []
    for one in scored:
        if one.value is None:
            continue
        if not steps or (one.value > steps[-1][1] if better == "higher" else one.value < steps[-1][1]):
            steps.append(((one.made - phase.opens) / timedelta(days=1), one.value))
    return steps


def participation(visit: Visit) -> list[Participation]:
    """Teams and submissions of every phase whose numbers the visitor may know."""
    found = []
    for phase in visit.phases:
        if visit.sight(phase.name).counts:
            names = _names(visit, phase.name, main_board(visit, phase.name))
            numbers = _counted(visit, phase.name, names).aggregate(teams=Count("team", distinct=True), all=Count("pk"))
            found.append(Participation(phase, numbers["teams"], numbers["all"]))
    return found


def people(visit: Visit) -> list[Tally]:
    """What those who take part said of themselves, in numbers, small ones put together.

    Two tables of a list that grows would tell what the newcomer said. So only organisers see them before the results of
    all phases are out.
    """
    over = all(visit.is_out(phase) and visit.sight(phase.name).counts for phase in visit.phases)
    if not (over or visit.organises):
        return []
    accepted = Registration.objects.filter(challenge=visit.challenge, state=Registration.State.ACCEPTED)
    answers: list[Mapping[str, object]] = list(accepted.values_list("answers", flat=True))
    return tally(answers, visit.edition.registration) if answers else []
