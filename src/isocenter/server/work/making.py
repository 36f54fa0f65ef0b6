"""From results to boards: what a worker does with a run of the kind "board".

    evaluations in force ──▶ which count (`counting`) ──▶ `isocenter.rank`, draws of cases ──▶ Snapshot
    void, nominated, roles ─┘                                                                 └─ its receipt

A snapshot has the whole board; what of it a viewer sees, `boards.shown` decides. One that says the same as the last is
not kept again. The receipt names the tables of those that count; `isocenter verify` makes the board again of them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.db import transaction

from isocenter.server import boards, clock, files
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Evaluation, Reference, Run, Snapshot, Submission, Team
from isocenter.server.work import faults, queue, voiding
from isocenter.server.work.counting import Counted, Entry, counted
from isocenter.server.work.in_force import Standard, reference_of, standard_of
from isocenter.server.work.score_tables import renew_values, tables_of

if TYPE_CHECKING:
    import polars as pl

    from isocenter.evaluation import Challenge as Code
    from isocenter.ranking import Board

REPLICATES, SEED, LEVEL = 10_000, 0, 0.95

WAITING = "Some submissions wait to be evaluated again and do not stand here yet."
_BEFORE = "The reference has changed; this board is made with the one before until all are evaluated again."


def refresh(challenge: Challenge, phase: str) -> Run:
    """Order the boards of a phase. However often, one order waits; and one more while they are being made."""
    return queue.enqueue("board", challenge, payload={"phase": phase}, key=f"board:{challenge.pk}:{phase}", priority=1)


def make_boards(challenge: Challenge, phase: str, *, run: Run | None = None) -> list[Snapshot]:
    """Make all boards of a phase, and keep those that say something new.

    Parameters
    ----------
    run
        Whose lease must still hold when they are written.
    """
    challenge = Challenge.objects.select_related("version").get(pk=challenge.pk)
    if all(one.name != phase for one in challenge.edition.phases):
        return []
    assert challenge.version_id is not None
    code = _for_boards(code_of(challenge.version_id, phase))
    standard = standard_of(challenge, phase)
    entries, pending = _gathered(challenge, phase, standard)
    renew_values(code, [entry.evaluation for entry in entries])
    reference = None if standard is None else Reference.objects.get(pk=standard.reference)
    made = [_snapshot(code, name, entries, reference) for name in code.boards]
    notes = [WAITING] if pending else []
    if reference is not None and reference != reference_of(challenge, phase):
        notes.append(_BEFORE)
    for snapshot in made:
        snapshot.challenge, snapshot.phase, snapshot.version = challenge, phase, challenge.version
        snapshot.content["notes"] += notes
        snapshot.entries += [
            {"team": one.team.name, "submission": str(one.pk), "row": None, "pending": True} for one in pending
        ]
        snapshot.digest = _digest([phase, snapshot.content, snapshot.entries, snapshot.problem])
    with transaction.atomic():
        if run is not None:
            queue.beat(run)
        return [snapshot for snapshot in made if _kept(snapshot)]


def _kept(snapshot: Snapshot) -> bool:
    """Whether a snapshot says something new; then it is kept."""
    last = boards.latest(snapshot.challenge, snapshot.phase, snapshot.board)
    if last is not None and last.digest == snapshot.digest:
        return False
    snapshot.made = clock.now()
    snapshot.save()
    return True


def _for_boards(code: Code) -> Code:
    """The code without a quota: that was kept when submissions were taken, with all that was granted or given back."""
    return replace(code, participation=replace(code.participation, quota=None, per="phase"))


def _gathered(challenge: Challenge, phase: str, standard: Standard | None) -> tuple[list[Entry], list[Submission]]:
    """All submissions that have a result, in the order they were made; and those that have none of this standard.

    Among the latter are those that the evaluator failed on: they wait, and no case of theirs counts as failed.
    """
    scored = list(
        Submission.objects.filter(challenge=challenge, phase=phase, state=Submission.State.SCORED)
        .select_related("team", "challenge__version")
        .order_by("made", "number", "pk")
    )
    found: dict[Any, Evaluation] = {}
    if standard is not None:
        of_standard = Evaluation.objects.filter(
            submission__challenge=challenge,
            submission__phase=phase,
            reference=standard.reference,
            evaluator=standard.evaluator,
        )
        found = {one.submission_id: one for one in of_standard.defer("table")}
    reasons = voiding.voids(scored)
    entries = [Entry(one, found[one.pk], void=bool(reasons[one.pk])) for one in scored if one.pk in found]
    unscored = [one for one in faults.waiting_in(challenge, phase) if one.state != Submission.State.SCORED]
    return entries, [one for one in scored if one.pk not in found] + unscored


def _snapshot(code: Code, name: str, entries: list[Entry], reference: Reference | None) -> Snapshot:
    """One board, with what it was made of; or why there is none."""
    from isocenter.ranking import Board

    rule = code.boards[name]
    try:
        found = counted(code, name, entries)
        board = _ranked(code, name, found, reference)
        receipt = _receipt(code, board, found, reference)
    except ValueError as error:
        empty = Board(name=name, metric=rule.metric, rule=str(rule), rows=())
        return Snapshot(board=name, content=_frozen(empty), entries=[], problem=str(error))
    standing = {row.submission for row in (*board.rows, *board.unlisted)}
    counting = [
        {
            "team": entry.submission.team.name,
            "submission": str(entry.submission.pk),
            "row": row,
            "evaluation": entry.evaluation.pk,
        }
        for row, entry in found.rows.items()
        if row in standing
    ]
    return Snapshot(board=name, content=_frozen(board), entries=counting, receipt=receipt)


def _frozen(board: Board) -> dict[str, Any]:
    """A board as the database gives it back."""
    return json.loads(json.dumps(boards.freeze(board)))


def _ranked(code: Code, name: str, found: Counted, reference: Reference | None) -> Board:
    """The board, as sure as it is."""
    from isocenter.doors import counting_scores, rank, with_uncertainty

    tables = tables_of([entry.evaluation for its in found.given.values() for entry in its])
    scores = {team: [tables[entry.evaluation.pk] for entry in its] for team, its in found.given.items()}
    scores = _with_run_times(code, scores, reference)
    roles = _roles(found)
    if all(len(its) == 1 for its in found.given.values()) and code.participation.ladder is None:
        # The one that is given is the last, and the best, and nobody has to find that out again.
        code = replace(code, participation=replace(code.participation, counts="last"))
    which: dict[str, Any] = {"board": name, "chosen": _chosen(code, found), "void": found.void}
    board = rank(code, scores, **which, **roles)
    among = counting_scores(code, scores, **which)
    if among.is_empty():
        return board
    board, _ = with_uncertainty(code, board, among, replicates=REPLICATES, seed=SEED, level=LEVEL, **roles)
    return board


def _with_run_times(
    code: Code, scores: dict[str, list[pl.DataFrame]], reference: Reference | None
) -> dict[str, list[pl.DataFrame]]:
    """Every table with the run times of its team below it, where they were metered."""
    import polars as pl

    if code.run_times is None or reference is None or not reference.run_times or not scores:
        return scores
    rows, _ = code.run_times(files.at(reference.run_times), list(scores))
    return {
        team: [pl.concat([table, rows[team].select(table.columns)]) if team in rows else table for table in tables]
        for team, tables in scores.items()
    }


def _roles(found: Counted) -> dict[str, Any]:
    kinds = {team: its[0].submission.team.kind for team, its in found.given.items()}
    return {
        "organisers": tuple(team for team, kind in kinds.items() if kind == Team.Kind.ORGANISER),
        "benchmarks": tuple(team for team, kind in kinds.items() if kind == Team.Kind.BENCHMARK),
    }


def _chosen(code: Code, found: Counted) -> dict[str, int]:
    return dict.fromkeys(found.given, 0) if code.participation.counts == "chosen" else {}


def _receipt(code: Code, board: Board, found: Counted, reference: Reference | None) -> dict[str, Any]:
    """What `isocenter verify` needs; the table of a submission is the file of its key. {} for a rule of a stranger."""
    from isocenter.ranking import DescriptionError, FileRecord, Receipt, TableRecord, describe, software_versions

    try:
        rule = describe(code.boards[board.name])
    except DescriptionError:
        return {}
    chosen = _chosen(code, found)
    times = None
    if code.run_times is not None and reference is not None and reference.run_times:
        path = files.at(reference.run_times)
        times = FileRecord(path.name, files.sha256_of(path))
    receipt = Receipt(
        challenge=code.name,
        board_name=board.name,
        rule=rule,
        participation=code.participation,
        **_roles(found),
        tables=tuple(
            TableRecord(
                team=team,
                position=at + 1,
                moment=entry.submission.made,
                chosen=chosen.get(team) == at,
                void=entry.void,
                file=f"{entry.submission.pk}.parquet",
                sha256=entry.evaluation.digest,
            )
            for team, its in found.given.items()
            for at, entry in enumerate(its)
        ),
        run_times=times,
        replicates=REPLICATES,
        seed=SEED,
        level=LEVEL,
        board=board.to_dict(),
        versions=software_versions(),
    )
    return json.loads(receipt.to_json())


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
