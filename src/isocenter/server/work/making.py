"""From results to boards: what a worker does with a run of the kind "board".

    evaluations in force ──▶ entries ──▶ `isocenter.contest`: count, rank, bootstrap ──▶ Snapshot
    void, nominated, roles ─┘                                                           └─ its receipt

A snapshot has the whole board; what of it a viewer sees, `boards.shown` decides. One that says the same as the last is
not kept again. The receipt names the tables of those that count; `isocenter verify` makes the board again of them.

On the boards of a further cohort stand the submissions that count on the same board of the phase, and no others. One
that has no score on the cohort yet is waited for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.urls import reverse

from isocenter.editions import phase_of, split_cohort
from isocenter.server import boards, clock, notices
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Evaluation, Reference, Run, Snapshot, Submission
from isocenter.server.work import faults, given_tables, queue
from isocenter.server.work.in_force import Standard, phases_of_board, reference_of, standard_of
from isocenter.server.work.score_tables import renew_values

if TYPE_CHECKING:
    from isocenter.contest import Contest, Decision
    from isocenter.evaluation import Challenge as Code
    from isocenter.ranking import Board

REPLICATES, SEED, LEVEL = 10_000, 0, 0.95

WAITING = "Some submissions wait to be evaluated again and do not stand here yet."
_BEFORE = "The reference has changed; this board is made with the one before until all are evaluated again."


def refresh(challenge: Challenge, phase: str) -> Run:
    """Order the boards of a phase, of its further cohorts, and of those that continue it.

    However often, one order waits; and one more while they are being made.
    """
    for later in challenge.edition.scored:
        on_cohort = phase == split_cohort(later.name)[0] != later.name
        if on_cohort or (later.continues == phase and later.opens <= clock.now()):
            refresh(challenge, later.name)
    return queue.enqueue("board", challenge, payload={"phase": phase}, key=f"board:{challenge.pk}:{phase}", priority=1)


def make_boards(challenge: Challenge, phase: str, *, run: Run | None = None) -> list[Snapshot]:
    """Make all boards of a phase, and keep those that say something new.

    Parameters
    ----------
    run
        Whose lease must still hold when they are written.
    """
    challenge = Challenge.objects.select_related("version").get(pk=challenge.pk)
    if challenge.edition.find_scored(phase) is None:
        return []
    found = _find_results(challenge, phase)
    if split_cohort(phase)[1]:
        if found.reference is None:  # nothing is scored on this cohort yet
            return []
        made = _decide_on_cohort(_find_results(challenge, split_cohort(phase)[0]), found)
    else:
        made = [(*_make_snapshot(found.contest, name), found.pending) for name in found.code.boards]
        if not made[0][0].problem:  # the main board
            made[0][0].leaders = _find_leaders(challenge, found.contest, phase)
    older = [_BEFORE] if found.reference is not None and found.reference != reference_of(challenge, phase) else []
    for snapshot, _, pending in made:
        snapshot.challenge, snapshot.phase, snapshot.version = challenge, phase, challenge.version
        snapshot.content["notes"] += [*([WAITING] if pending else []), *older]
        snapshot.entries += [
            {"team": one.team.name, "submission": str(one.pk), "row": None, "pending": True} for one in pending
        ]
        parts = [phase, snapshot.content, snapshot.entries, snapshot.problem]
        snapshot.digest = _digest([*parts, snapshot.leaders] if snapshot.leaders else parts)
    with transaction.atomic():
        if run is not None:
            queue.beat(run)
        return [snapshot for snapshot, detail, _ in made if _keep(snapshot, detail)]


@dataclass(frozen=True)
class _Results:
    """What the boards of a phase, or of a further cohort, are made of.

    Attributes
    ----------
    reference
        The one that all were measured against; None if nothing is scored.
    scored, pending
        By submission its evaluation; and the submissions that have none yet.
    """

    code: Code
    reference: Reference | None
    scored: Mapping[Submission, Evaluation]
    pending: Sequence[Submission]

    @cached_property
    def contest(self) -> Contest:
        """The contest of all of them."""
        from isocenter.server.work.contests import make_contest

        return make_contest(self.code, self.scored, self.reference)


def _find_results(challenge: Challenge, phase: str) -> _Results:
    assert challenge.version_id is not None
    code = _for_boards(code_of(challenge.version_id, phase))
    standard = standard_of(challenge, phase)
    scored, pending = _find_evaluations(challenge, phase, standard)
    renew_values(code, list(scored.values()))
    reference = None if standard is None else Reference.objects.get(pk=standard.reference)
    return _Results(code, reference, scored, pending)


def _decide_on_cohort(phase: _Results, cohort: _Results) -> list[tuple[Snapshot, str, Sequence[Submission]]]:
    """The boards of a further cohort, each of those submissions that count on the same board of the phase."""
    from isocenter.server.work.contests import ScoredEntry, make_contest

    made: list[tuple[Snapshot, str, Sequence[Submission]]] = []
    for name in cohort.code.boards:
        try:
            entries = phase.contest.count(name).rows.values()
        except ValueError as error:  # of the phase there is no such board either
            made.append((*_explain(phase.contest, name, error), []))
            continue
        counting = [entry.submission for entry in entries if isinstance(entry, ScoredEntry)]
        contest = make_contest(cohort.code, cohort.scored, cohort.reference, counting=counting)
        lacking = [one for one in counting if one not in cohort.scored and not given_tables.is_given(one)]
        made.append((*_make_snapshot(contest, name), [*lacking, *phase.pending]))
    return made


def _keep(snapshot: Snapshot, detail: str) -> bool:
    """Keep a snapshot that says something new, and tell the organisers of a new reason why there is no board."""
    last = boards.latest(snapshot.challenge, snapshot.phase, snapshot.board)
    if last is not None and last.digest == snapshot.digest:
        return False
    snapshot.made = clock.now()
    snapshot.save()
    if snapshot.problem and (last is None or last.problem != snapshot.problem):
        _tell_organisers(snapshot, detail)
    return True


def _tell_organisers(snapshot: Snapshot, detail: str) -> None:
    phase = phase_of(snapshot.challenge.edition, snapshot.phase).title
    notices.to_organisers(
        snapshot.challenge,
        f"{phase}: the board {snapshot.board} cannot be made, and the last one stays: {snapshot.problem}",
        url=reverse("board", args=[snapshot.challenge.slug, snapshot.phase, snapshot.board]),
        mail=True,
        body=faults.make_storable(detail),
    )


def _for_boards(code: Code) -> Code:
    """The code without a quota: that was kept when submissions were taken, with all that was granted or given back."""
    return replace(code, participation=replace(code.participation, quota=None, per="phase"))


def _find_evaluations(
    challenge: Challenge, phase: str, standard: Standard | None
) -> tuple[dict[Submission, Evaluation], list[Submission]]:
    """All submissions that have a result, in the order they were made; and those that have none of this standard.

    Among the latter are those that the evaluator failed on: they wait, and no case of theirs counts as failed.
    """
    phases = phases_of_board(challenge, phase)
    scored = list(
        Submission.objects.filter(challenge=challenge, phase__in=phases, state=Submission.State.SCORED)
        .select_related("team", "challenge__version")
        .order_by("made", "number", "pk")
    )
    evaluations: dict[Any, Evaluation] = {}
    if standard is not None:
        of_standard = Evaluation.objects.filter(
            submission__challenge=challenge,
            submission__phase__in=phases,
            reference=standard.reference,
            evaluator=standard.evaluator,
        )
        evaluations = {one.submission_id: one for one in of_standard.defer("table")}
    unscored = [one for one in faults.waiting_in(challenge, phase) if one.state != Submission.State.SCORED]
    return (
        {one: evaluations[one.pk] for one in scored if one.pk in evaluations},
        [one for one in scored if one.pk not in evaluations] + unscored,
    )


def _make_snapshot(contest: Contest, name: str) -> tuple[Snapshot, str]:
    """One board, with what it was made of; or why there is none, and the traceback of a rule that failed."""
    from isocenter.server.work.contests import ScoredEntry

    try:
        decision = contest.decide(name, resamples=REPLICATES, level=LEVEL, seed=SEED)
    except ValueError as error:
        return _explain(contest, name, error)
    board = decision.board
    standing = {row.submission for row in (*board.rows, *board.unlisted)}
    counted = [
        {
            "team": entry.team,
            "submission": str(entry.submission.pk),
            "row": row,
            "evaluation": entry.evaluation.pk,
        }
        for row, entry in decision.counted.rows.items()
        if row in standing and isinstance(entry, ScoredEntry)
    ]
    return Snapshot(board=name, content=_freeze(board), entries=counted, receipt=_receipt_of(decision)), ""


def _explain(contest: Contest, name: str, error: ValueError) -> tuple[Snapshot, str]:
    """A board that cannot be made: without rows, with the reason."""
    from isocenter.contest import RuleFailed, describe_rule
    from isocenter.ranking import Board

    rule = contest.challenge.boards[name]
    empty = Board(name=name, metric=rule.metric, rule=describe_rule(rule), rows=())
    detail = error.traceback if isinstance(error, RuleFailed) else ""
    return Snapshot(board=name, content=_freeze(empty), entries=[], problem=str(error)), detail


def _find_leaders(challenge: Challenge, contest: Contest, phase: str) -> dict[str, list[str]]:
    """By title of a bonus for the leader at a moment, who leads by the log so far.

    Every submission before the moment has the boards made anew, so that it is right from the moment on; before, it is
    only who leads now.
    """
    from isocenter.contest import find_bonus_leaders

    try:
        leaders = find_bonus_leaders(challenge.edition, contest, phase=phase)
    except ValueError:  # the log of an earlier moment makes no board: nobody has won, and the board of today stands
        return {}
    return {title: list(teams) for title, teams in leaders.items() if teams}


def _freeze(board: Board) -> dict[str, Any]:
    """A board as the database gives it back."""
    return json.loads(json.dumps(boards.freeze(board)))


def _receipt_of(decision: Decision) -> dict[str, Any]:
    """What `isocenter verify` needs; the table of a submission is the file of its key. {} for a rule of a stranger."""
    from isocenter.ranking import DescriptionError

    try:
        return json.loads(decision.make_receipt("needed").to_json())
    except DescriptionError:
        return {}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
