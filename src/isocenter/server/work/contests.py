"""The contest of a phase: its submissions as entries, with tables that are read from the database all at once.

It is imported when boards are made: a site that only shows pages needs neither polars nor the library of rankings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isocenter.contest import Contest, Entry, label_table
from isocenter.server import files
from isocenter.server.models import Evaluation, Reference, Submission, Team
from isocenter.server.work import voiding
from isocenter.server.work.score_tables import tables_of

if TYPE_CHECKING:
    import polars as pl

    from isocenter.evaluation import Challenge as Code
    from isocenter.ranking import Role


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoredEntry(Entry):
    """An entry with the submission and the evaluation that it stands for."""

    submission: Submission
    evaluation: Evaluation


def make_contest(
    code: Code,
    scored: Mapping[Submission, Evaluation],
    reference: Reference | None,
    *,
    counting: Collection[Submission] | None = None,
) -> Contest:
    """The contest of a phase.

    A team that has to choose and has not, whose choice is void, or whose choice waits for its result, does not stand on
    the board yet.

    Parameters
    ----------
    counting
        On a further cohort, the submissions that count in the phase: no others do.
    """
    choosing = code.participation.counts == "chosen"
    reasons = voiding.voids(scored)
    entries: list[Entry] = [
        ScoredEntry(
            team=one.team.name,
            moment=one.made,
            role=_ROLES.get(one.team.kind, "team"),
            chosen=choosing and one.nominated,
            void=bool(reasons[one.pk]) or (counting is not None and one not in counting),
            file=f"{one.pk}.parquet",
            digest=evaluation.digest,
            alone=evaluation.values,
            submission=one,
            evaluation=evaluation,
        )
        for one, evaluation in scored.items()
    ]
    metered = None
    if code.run_times is not None and reference is not None and reference.run_times and entries:
        metered = files.at(reference.run_times)
    elsewhere = _chosen_without_result(scored) if choosing else []
    return Contest(code, [*elsewhere, *entries], metered, read=_read_tables, unchosen="wait")


_ROLES: dict[Any, Role] = {Team.Kind.ORGANISER: "organiser", Team.Kind.BENCHMARK: "benchmark"}


def _chosen_without_result(scored: Mapping[Submission, Evaluation]) -> list[Entry]:
    """Void entries for choices of teams that have no result, so that no other submission of the team counts."""
    first = next(iter(scored), None)
    if first is None:
        return []
    phases = {one.phase for one in scored}
    chosen = Submission.objects.filter(challenge=first.challenge, phase__in=phases, nominated=True)
    return [
        Entry(team=one.team.name, moment=one.made, role=_ROLES.get(one.team.kind, "team"), chosen=True, void=True)
        for one in chosen.exclude(pk__in=[known.pk for known in scored]).select_related("team")
    ]


def _read_tables(entries: Sequence[Entry]) -> list[pl.DataFrame]:
    """The tables of entries from the database, all at once."""
    scored = [entry for entry in entries if isinstance(entry, ScoredEntry)]
    tables = tables_of([entry.evaluation for entry in scored])
    return [label_table(tables[entry.evaluation.pk], entry.team) for entry in scored]
