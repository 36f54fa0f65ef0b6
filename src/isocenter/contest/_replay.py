"""A board made again from its receipt and its score tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from isocenter.contest._contest import Contest
from isocenter.contest._decision import Decision
from isocenter.contest._entry import Entry, assign_roles
from isocenter.contest._guard import Progress
from isocenter.evaluation import Challenge
from isocenter.ranking import Receipt, rule_of


def replay(
    receipt: Receipt,
    challenge: Challenge,
    tables: Mapping[str, pl.DataFrame],
    *,
    run_times: Path | None = None,
    progress: Progress | None = None,
) -> Decision:
    """Decide the board of a receipt again, with the rule, the rules of taking part and the seed that it records.

    Parameters
    ----------
    challenge
        As it is installed.
    tables
        The score tables by their hash; see `isocenter.ranking.table_digest`.
    run_times
        The file that the receipt names, if it names one.
    """
    recorded = replace(
        challenge,
        participation=receipt.participation,
        boards={receipt.board_name: rule_of(receipt.rule, measured=challenge.metrics)},
    )
    teams = {record.team for record in receipt.tables}
    roles = assign_roles(teams, organisers=receipt.organisers, benchmarks=receipt.benchmarks)
    entries = [
        Entry(
            team=record.team,
            table=tables[record.sha256],
            moment=record.moment,
            role=roles.get(record.team, "team"),
            chosen=record.chosen,
            void=record.void,
            file=record.file,
            digest=record.sha256,
        )
        for record in receipt.tables
    ]
    return Contest(recorded, entries, run_times).decide(
        resamples=receipt.replicates, level=receipt.level, seed=receipt.seed, progress=progress
    )
