"""The receipt that `isocenter rank` writes, which `isocenter verify` reads."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    import polars as pl

    from isocenter.evaluation import Challenge
    from isocenter.ranking import Board, Receipt


def begin_receipt(
    path: Path | None,
    challenge: Challenge,
    arguments: Sequence[str],
    by_team: Mapping[str, Sequence[pl.DataFrame]],
    *,
    board: str | None,
    organisers: Sequence[str],
    benchmarks: Sequence[str],
    moments: Mapping[str, Sequence[datetime]],
    chosen: Mapping[str, int],
    void: Mapping[str, Collection[int]],
    run_times: Path | None,
    replicates: int,
    seed: int,
    level: float,
) -> Receipt | None:
    """All that a receipt says but the board, if one is to be written; a rule that cannot be recorded ends it here."""
    from isocenter.ranking import DescriptionError, FileRecord, Receipt, describe, record_tables, software_versions

    if path is None:
        return None
    name = board or next(iter(challenge.boards))
    try:
        rule = describe(challenge.boards[name])
    except DescriptionError as error:
        typer.echo(f"There can be no receipt of the board {name}: {error}", err=True)
        raise typer.Exit(1) from None
    left = {team: iter(tables) for team, tables in by_team.items()}
    given = [argument.partition("=")[::2] for argument in arguments]
    return Receipt(
        challenge=challenge.name,
        board_name=name,
        rule=rule,
        participation=challenge.participation,
        organisers=tuple(organisers),
        benchmarks=tuple(benchmarks),
        tables=record_tables(
            [(team, Path(file).name, next(left[team])) for team, file in given],
            moments=moments,
            chosen=chosen,
            void=void,
        ),
        run_times=None if run_times is None else FileRecord(run_times.name, file_digest(run_times)),
        replicates=replicates,
        seed=seed,
        level=level,
        board={},
        versions=software_versions(),
    )


def write_receipt(begun: Receipt | None, board: Board, path: Path | None) -> None:
    """Write the receipt of a board, if one was begun."""
    from isocenter import atomic

    if begun is not None and path is not None:
        atomic.write_text(dataclasses.replace(begun, board=board.to_dict()).to_json(), path)


def file_digest(path: Path) -> str:
    """SHA-256 of the bytes of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
