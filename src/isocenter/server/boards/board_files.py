"""A board as a file for programs: CSV and JSON, with what the page shows and no digit more."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isocenter.metrics import Metric
    from isocenter.ranking import BoardRow
    from isocenter.server.boards.board_table import BoardTable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


# Of boards that were made before rows said it.
_RESAMPLES = 10_000


def as_dict(table: BoardTable, *, challenge: str, phase: str) -> dict[str, Any]:
    """The board as JSON values: numbers with the decimals that may be seen."""
    found: dict[str, Any] = {
        "challenge": challenge,
        "phase": phase,
        "board": table.board.name,
        "metric": _metric(table, table.metric),
        "rule": table.board.rule,
        "complete": table.whole,
        "rows": [_row(table, row) for row in table.board.rows],
        "notes": list(table.board.notes),
    }
    if table.board.legend:
        found["legend"] = table.board.legend
    if table.made is not None:
        found |= {"made": _utc(table.made), "version": table.digest}
    if table.board.unlisted:
        found["unlisted"] = [_row(table, row) for row in table.board.unlisted]
    return found


def as_json(table: BoardTable, *, challenge: str, phase: str) -> str:
    """The same as a text, equal for equal boards."""
    return json.dumps(as_dict(table, challenge=challenge, phase=phase), indent=2, ensure_ascii=False) + "\n"


def as_csv(table: BoardTable) -> str:
    """One line per row; a name that a spreadsheet would take for a formula gets an apostrophe before it."""
    metrics = [metric.name for metric in table.metrics]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    plain = (
        "rank",
        "rank_low",
        "rank_high",
        "team",
        "role",
        "score",
        "low",
        "high",
        "p_first",
        "p_best",
        "resamples",
        "group",
    )
    writer.writerow([*plain, *metrics, "cases", "missing", "failed", "submitted"])
    for row in table.board.rows:
        found = _row(table, row)
        parts = {part["metric"]: part["score"] for part in found.get("components", ())}
        cells = [found[name] for name in plain] + [parts.get(name) for name in metrics]
        cells += [row.cases, row.missing, row.failed, found.get("submitted")]
        writer.writerow(["" if cell is None else harmless(cell) for cell in cells])
    return stream.getvalue()


def harmless(cell: object) -> object:
    """A text that no spreadsheet runs."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _row(table: BoardTable, row: BoardRow) -> dict[str, Any]:
    from isocenter.ranking import round_share

    number, metric = table.digits.number, table.metric
    found: dict[str, Any] = {
        "team": row.submission,
        "role": row.role,
        "rank": _whole(row.rank),
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "score": number(metric, row.score),
        "low": number(metric, row.low),
        "high": number(metric, row.high),
        "p_first": None if row.p_first is None else round_share(row.p_first, row.resamples or _RESAMPLES, most=2),
        "p_best": row.p_best,
        "resamples": row.resamples,
        "group": row.group,
        "cases": row.cases,
        "missing": row.missing,
        "failed": row.failed,
    }
    if row.components:
        of = {metric.name: metric for metric in table.metrics}
        found["components"] = [
            {"metric": part.metric, "score": number(of[part.metric], part.score), "rank": _whole(part.rank)}
            | (
                {}
                if part.low is None
                else {end: number(of[part.metric], getattr(part, end)) for end in ("low", "high")}
            )
            for part in row.components
        ]
    if row.submission in table.submitted:
        found["submitted"] = _utc(table.submitted[row.submission])
    return found


def _metric(table: BoardTable, metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "unit": metric.unit,
        "better": metric.better,
        "decimals": table.digits.of(metric),
        "text": metric.text,
    }


def _whole(rank: float | None) -> float | None:
    """1 rather than 1.0; shared ranks such as 2.5 as they are."""
    return int(rank) if rank is not None and rank == int(rank) else rank


def _utc(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="seconds")
