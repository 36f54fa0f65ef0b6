"""Receipts: what makes a board replayable by anybody who has its score tables.

    tables ──┬── rank ──▶ board ──┐
    rule ────┤                    ├──▶ receipt (JSON, sealed) ──▶ verify: the same tables, rule and seed again
    seed ────┘                    │                                       └─▶ the same board, or the first difference
             names and hashes ────┘

A receipt holds no times of day and no paths, so that the same input gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from isocenter import __version__
from isocenter.ranking._best import P_BEST_METHOD
from isocenter.ranking._board import Board
from isocenter.ranking._entry import Participation

FORMAT = "isocenter receipt 1"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file by its name, without its folder, and the hash of its bytes."""

    file: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """The record of a file."""
        return cls(path.name, hashlib.sha256(path.read_bytes()).hexdigest())


@dataclass(frozen=True, slots=True)
class TableRecord:
    """A score table that took part.

    Attributes
    ----------
    position
        Which submission of the team it is, from 1.
    moment
        When it was made, if that was said.
    chosen, void
        Whether the team chose it of its several, and whether it does not count.
    file, sha256
        Its name, without its folder, and the hash of its content; see `table_digest`.
    """

    team: str
    position: int
    moment: datetime | None
    chosen: bool
    void: bool
    file: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A board and all that it was made of.

    Attributes
    ----------
    board_name, rule, participation
        Of the challenge, as they were in force; the rule as `describe` says it.
    organisers, benchmarks
        Who took part as what; all others are teams.
    tables
        In the order in which they were given.
    replicates, seed, level
        Of the draws of cases; no draws if `replicates` is 0.
    board
        As `Board.to_dict` gives it.
    methods
        Numbers of the methods that may change while the board stays what it is; none in receipts that know of none.
    """

    challenge: str
    board_name: str
    rule: Mapping[str, Any]
    participation: Participation
    organisers: tuple[str, ...]
    benchmarks: tuple[str, ...]
    tables: tuple[TableRecord, ...]
    run_times: FileRecord | None
    replicates: int
    seed: int
    level: float
    board: Mapping[str, Any]
    versions: Mapping[str, str]
    methods: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """The receipt as a JSON text with its seal, a hash over all of it; the same for the same receipt."""
        content = _content(self)
        return json.dumps(content | {"sha256": seal(content)}, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def software_versions() -> dict[str, str]:
    """What a board depends on beside its input: versions of this package, Python, numpy and polars."""
    return {
        "isocenter": __version__,
        "numpy": np.__version__,
        "polars": pl.__version__,
        "python": platform.python_version(),
    }


def methods_of(board: Board) -> dict[str, int]:
    """The methods behind a board, by number, for its receipt; none if it does not say how sure its ranks are."""
    return {"p_best": P_BEST_METHOD} if "p_first" in board.legend else {}


def table_digest(table: pl.DataFrame) -> str:
    """SHA-256 of what a score table of one submission says, however it is written and in whatever order.

    Rows are sorted by case, part and metric, and taken as JSON; whose submission it is does not belong to it.
    """
    rows = table.select("case", "part", "metric", "value", "weight").sort("case", "part", "metric").rows()
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()


def seal(content: Mapping[str, Any]) -> str:
    """SHA-256 over JSON values, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _content(receipt: Receipt) -> dict[str, Any]:
    """A receipt as JSON values, without its seal."""
    return {
        "format": FORMAT,
        "versions": dict(receipt.versions),
        "challenge": receipt.challenge,
        "board_name": receipt.board_name,
        "rule": dict(receipt.rule),
        "participation": asdict(receipt.participation),
        "roles": {"organisers": list(receipt.organisers), "benchmarks": list(receipt.benchmarks)},
        "tables": [
            asdict(table) | {"moment": None if table.moment is None else table.moment.isoformat()}
            for table in receipt.tables
        ],
        "run_times": None if receipt.run_times is None else asdict(receipt.run_times),
        "draws": {"replicates": receipt.replicates, "seed": receipt.seed, "level": receipt.level},
        "board": dict(receipt.board),
        **({"methods": dict(receipt.methods)} if receipt.methods else {}),
    }
