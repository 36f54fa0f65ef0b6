"""How long things took: a submission in the queue and at work, and an algorithm where a challenge meters its run time.

    Run ──────────────── span ───────▶ Span        waited, and took
    runs of the team ─── spans ──────▶ the same of all its submissions to the phase
    the board as shown ─ run_times ──▶ RunTimes    of this submission among the rows that may be seen

Of others nothing is told but the run times that stand on the board for who looks. How long a single case took is told
nowhere: a case without a tumour is measured faster, so it would tell what the reference says. Where results of cases
may not be seen, spans are in whole minutes, rounded up.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from isocenter.server import boards
from isocenter.server.models import Challenge, Run, Submission
from isocenter.server.submitting.measured import code_for

if TYPE_CHECKING:
    from isocenter.metrics import Metric
    from isocenter.ranking import Limit
    from isocenter.server.policy import Visit

MOST = 20
"""Of so many submissions of a team, the last ones, spans are shown."""

_BEGUN = (Run.State.RUNNING, Run.State.DONE, Run.State.FAILED)
_OVER = (Run.State.DONE, Run.State.FAILED)


@dataclass(frozen=True)
class Span:
    """How long a submission waited and took, as it is told.

    Attributes
    ----------
    number
        Of the submission.
    waited
        From when it was put into the queue until the attempt began that came to an end; attempts that were lost with
        their workers are in it.
    took
        From there until it was scored or failed; None as long as it goes on.
    fine
        Whether it is told in seconds; else in minutes, rounded up.
    """

    number: int
    waited: timedelta
    took: timedelta | None
    fine: bool

    @property
    def waited_words(self) -> str:
        """The wait in words."""
        return in_words(self.waited, fine=self.fine)

    @property
    def took_words(self) -> str:
        """What it took in words; "–" as long as it goes on."""
        return "–" if self.took is None else in_words(self.took, fine=self.fine)


def in_words(span: timedelta, *, fine: bool) -> str:
    """A span of time that is over: in seconds, or in minutes, rounded up.

    Examples
    --------
    >>> in_words(timedelta(seconds=42.4), fine=True), in_words(timedelta(seconds=200), fine=True)
    ('42 s', '3 min 20 s')
    >>> in_words(timedelta(seconds=42.4), fine=False), in_words(timedelta(hours=2, seconds=1), fine=False)
    ('at most 1 min', 'at most 121 min')
    """
    if not fine:
        return f"at most {minutes(span)} min"
    seconds = round(max(0.0, span.total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7200:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"


def minutes(span: timedelta) -> int:
    """A span in whole minutes, rounded up; 1 at least."""
    return max(1, math.ceil(span.total_seconds() / 60))


def span(visit: Visit, submission: Submission, run: Run | None) -> Span | None:
    """How long a submission waited and took in its last run; None if that did not begin."""
    if run is None or run.state not in _BEGUN or run.started is None:
        return None
    took = None if run.state not in _OVER or run.finished is None else run.finished - run.started
    return Span(submission.number, run.started - run.queued, took, _fine(visit, submission))


def spans(visit: Visit, submission: Submission) -> list[Span]:
    """The last run of each submission of the same team to the same phase that came to an end, in their order."""
    own = visit.submissions().filter(team=submission.team_id, phase=submission.phase).order_by()
    runs = (
        Run.objects.filter(submission__in=own, kind=Run.Kind.SCORE, cohort="", state__in=_OVER)
        .exclude(started=None)
        .exclude(finished=None)
        .order_by("submission__number", "queued", "pk")
        .values_list("submission__number", "queued", "started", "finished")
    )
    fine = _fine(visit, submission)
    last = {number: Span(number, began - queued, ended - began, fine) for number, queued, began, ended in runs}
    return list(last.values())[-MOST:]


def _fine(visit: Visit, submission: Submission) -> bool:
    return visit.sight(submission.phase).own_cases


@dataclass(frozen=True)
class RunTime:
    """The run time of a row of the board, under the name that it has there."""

    name: str
    value: float
    own: bool
    beyond: bool


@dataclass(frozen=True)
class RunTimes:
    """Metered run times in the unit of the metric, the shortest first; the rule excludes what is beyond `limit`."""

    metric: Metric
    rows: tuple[RunTime, ...]
    limit: Limit | None


def run_times(visit: Visit, submission: Submission) -> RunTimes | None:
    """The run times on the first board that ranks by them, as far as it may be seen.

    None where nothing is metered, where details may not be seen, and where this submission does not stand on the board.
    """
    from isocenter.metrics import catalogue
    from isocenter.ranking import capabilities_of

    if not visit.sight(submission.phase).details:
        return None
    code = code_for(visit, submission)
    rules = {name: capabilities_of(rule) for name, rule in code.boards.items()}
    ranked = {name: rule for name, rule in rules.items() if rule.given}
    if code.run_times is None or not ranked:
        return None
    board, rule = next(iter(ranked.items()))
    snapshot = boards.latest(visit.challenge, submission.phase, board)
    if snapshot is None or snapshot.problem:
        return None
    mine = {entry["row"] for entry in snapshot.entries if entry["submission"] == str(submission.pk)} - {None}
    metric = rule.given[0]
    limit = next((one for one in rule.limits if one.metric == metric), None)
    shown = boards.shown(visit, snapshot)
    rows = [
        RunTime(row.submission, part.score, row.submission in mine, limit is not None and limit.excludes(part.score))
        for row in (*shown.rows, *shown.unlisted)
        for part in row.components
        if part.metric == metric and math.isfinite(part.score)
    ]
    if not any(row.own for row in rows):
        return None
    return RunTimes(catalogue.get(metric), tuple(sorted(rows, key=lambda row: (row.value, row.name))), limit)


def worker_label(challenge: Challenge, name: str) -> str:
    """What a worker is called on pages: always the same in a challenge, and no hint of the machine.

    Its name is hashed with the secret of the challenge (HMAC-SHA-256), so nobody finds out by trying.
    """
    made = hmac.new(bytes(challenge.salt), f"worker {name}".encode(), hashlib.sha256)
    return f"worker {made.hexdigest()[:4]}"
