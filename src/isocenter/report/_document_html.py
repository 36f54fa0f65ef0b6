"""A report as one HTML file, complete in itself: no network, no other file, readable without its script."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from isocenter.report._document import TURNING, Block, Cell, Chart, Code, Facts, Paragraph, Report, Table
from isocenter.report._record import flat
from isocenter.report._templates import fill

_KINDS: dict[type, str] = {Paragraph: "paragraph", Facts: "facts", Code: "code", Table: "table", Chart: "chart"}
_DARKEST = 45  # per cent of the accent behind a cell, at which its text can still be read


def report_html(report: Report) -> str:
    """The page. Tables and figures are numbered in the order in which they stand; it carries no date of its own."""
    script = files("isocenter.report").joinpath("report.js").read_text("utf-8").strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    counts = {"table": 0, "chart": 0}
    page = fill(
        "report.html.j2",
        report=report,
        sections=[
            {"name": section.name, "title": section.title, "blocks": [_shown(b, counts) for b in section.blocks]}
            for section in report.sections
        ],
        record=list(flat(report.record)),
        script=Markup(script),  # noqa: S704 -- a file of this package
        script_hash=f"sha256-{digest}",
    )
    return TURNING.sub("\N{REPLACEMENT CHARACTER}", page)


def _shown(block: Block, counts: dict[str, int]) -> dict[str, Any]:
    """A block with its number, and a table with its cells as the page has them."""
    kind = _KINDS[type(block)]
    if kind in counts:
        counts[kind] += 1
    rows = []
    if isinstance(block, Table):
        rows = [
            [_cell(cell, number=column.number) for cell, column in zip(row, block.columns, strict=True)]
            for row in block.rows
        ]
    return {"kind": kind, "of": block, "number": counts.get(kind), "rows": rows}


def _cell(cell: str | Cell, *, number: bool) -> dict[str, Any]:
    held = Cell(cell) if isinstance(cell, str) else cell
    css = ["number" if number else "text", *(["strong"] if held.strong else [])]
    return {
        "text": held.text,
        "value": "" if held.value is None else repr(float(held.value)),
        "css": " ".join(css),
        "shade": round(_DARKEST * min(max(held.shade, 0.0), 1.0)),
    }
