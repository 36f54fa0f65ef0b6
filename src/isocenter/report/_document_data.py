"""The numbers of a report: one JSON text, and a CSV file for each table and chart."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

from isocenter.problems import as_cell
from isocenter.report._document import Block, Cell, Chart, Code, Facts, Paragraph, Report, Table


def report_json(report: Report) -> str:
    """Everything but the pictures, as JSON; the same text for the same report."""
    data = {
        "title": report.title,
        "subtitle": report.subtitle,
        "sections": [
            {"name": s.name, "title": s.title, "blocks": [_block(block) for block in s.blocks]} for s in report.sections
        ],
        "record": dict(report.record),
    }
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def report_csvs(report: Report) -> dict[str, str]:
    """By name, the CSV of every table and of every chart that has numbers of its own."""
    found = {}
    for block in report.named():
        if isinstance(block, Table):
            found[block.name] = _csv(_table_lines(block))
        elif isinstance(block, Chart) and block.data is not None:
            found[block.name] = _csv([block.data.columns, *(list(row) for row in block.data.iter_rows())])
    return found


def _table_lines(block: Table) -> list[list[Any]]:
    """Headings and rows; a column whose cells have standard errors is followed by a column of these."""
    errors = [
        [cell.error if isinstance(cell, Cell) else None for cell in column] for column in zip(*block.rows, strict=True)
    ]
    known = [any(error is not None for error in column) for column in errors] or [False] * len(block.columns)
    heads: list[Any] = []
    for column, has_errors in zip(block.columns, known, strict=True):
        heads += [column.title, f"{column.title}, standard error"] if has_errors else [column.title]
    lines = [heads]
    for row in block.rows:
        line: list[Any] = []
        for cell, has_errors in zip(row, known, strict=True):
            line.append(_plain(cell))
            if has_errors:
                line.append(cell.error if isinstance(cell, Cell) else None)
        lines.append(line)
    return lines


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Paragraph():
            return {"kind": "note" if block.note else "paragraph", "text": block.text}
        case Code():
            return {"kind": "code", "text": block.text}
        case Facts():
            return {"kind": "facts", "name": block.name, "facts": dict(block.pairs)}
        case Table():
            rows = [[_cell(cell) for cell in row] for row in block.rows]
            heads = [column.title for column in block.columns]
            found = {"kind": "table", "name": block.name, "caption": block.caption, "columns": heads, "rows": rows}
            return found | {"notes": list(block.notes)}
        case Chart():
            data = None if block.data is None else [[_number(v) for v in row] for row in block.data.iter_rows()]
            columns = [] if block.data is None else block.data.columns
            return {"kind": "chart", "name": block.name, "caption": block.caption, "columns": columns, "rows": data}


def _cell(cell: str | Cell) -> Any:
    if isinstance(cell, str):
        return cell
    if cell.value is None:
        return cell.text
    return {"text": cell.text, "value": _number(cell.value)} | ({} if cell.error is None else {"error": cell.error})


def _plain(cell: str | Cell) -> Any:
    if isinstance(cell, str):
        return cell
    if cell.value is None:
        return "" if cell.text == "–" else cell.text
    return cell.text if cell.text == f"{cell.value:g}" else cell.value


def _number(value: Any) -> Any:
    """JSON has no words for what is not finite; they are texts then."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _csv(lines: list[list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in lines:
        writer.writerow(
            ["" if value is None else as_cell(value) if isinstance(value, str) else value for value in line]
        )
    return out.getvalue()
