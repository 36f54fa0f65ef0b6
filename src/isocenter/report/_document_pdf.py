"""A report as PDF, set by typst with the fonts that it brings: the same bytes for the same report on every machine."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from isocenter.report._document import TURNING, Block, Cell, Chart, Code, Facts, Paragraph, Report, Table
from isocenter.report._print import Drawing, Keyed, pieces
from isocenter.report._record import flat
from isocenter.report._templates import UNPRINTABLE

_LONG = re.compile(r"\S{25,}")


def report_pdf(report: Report, *, fonts: Sequence[Path] = ()) -> bytes:
    """The pages: contents, numbered sections, tables and figures, page numbers. It carries no date.

    Parameters
    ----------
    fonts
        Folders of fonts. The PDF has Latin, Greek and Cyrillic letters by itself; others are empty boxes without a font
        that has them, and the bytes are then those of this font as well.
    """
    import typst

    with tempfile.TemporaryDirectory(prefix="isocenter-report-") as name:
        folder = Path(name)
        drawings = _Drawings(folder)
        data = {
            "title": report.title,
            "subtitle": report.subtitle,
            "sections": [
                {"title": section.title, "blocks": [_block(block, drawings) for block in section.blocks]}
                for section in report.sections
            ],
        }
        record = [list(pair) for pair in flat(report.record)]
        text = json.dumps({**_breakable(data), "record": record}, ensure_ascii=False)
        text = TURNING.sub("\N{REPLACEMENT CHARACTER}", UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text))
        (folder / "report.json").write_text(text, encoding="utf-8")
        (folder / "report.typ").write_bytes(files("isocenter.report").joinpath("report.typ").read_bytes())
        made: bytes = typst.compile(
            str(folder / "report.typ"),
            root=name,
            format="pdf",
            font_paths=[str(font) for font in fonts],
            ignore_system_fonts=True,
            timestamp=0,
        )
    return made


class _Drawings:
    """Files of drawings in a folder, numbered."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def add(self, drawing: Drawing) -> dict[str, Any]:
        """Where the drawing lies, and what the page must know of it."""
        self.count += 1
        name = f"{self.count}.svg"
        text = UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", drawing.svg)
        (self.folder / name).write_text(text, encoding="utf-8")
        return {"file": name, "width": drawing.width, "height": drawing.height, "words": drawing.words or "Picture"}


def _breakable(value: Any) -> Any:
    """The same with places to break a line in words that are longer than a column, such as names and hashes."""
    if isinstance(value, str):
        return _LONG.sub(lambda word: "\u200b".join(word[0][at : at + 8] for at in range(0, len(word[0]), 8)), value)
    if isinstance(value, dict) and value.get("kind") == "code":
        return value  # to be copied as it is
    if isinstance(value, dict):
        return {key: inner if key in ("kind", "file") else _breakable(inner) for key, inner in value.items()}
    return [_breakable(inner) for inner in value] if isinstance(value, list) else value


def _block(block: Block, drawings: _Drawings) -> dict[str, Any]:
    match block:
        case Paragraph():
            return {"kind": "note" if block.note else "paragraph", "text": block.text}
        case Code():
            return {"kind": "code", "text": block.text}
        case Facts():
            return {"kind": "facts", "pairs": [list(pair) for pair in block.pairs]}
        case Table():
            heads = [{"title": column.title, "number": column.number} for column in block.columns]
            found = {"kind": "table", "caption": block.caption, "notes": list(block.notes), "columns": heads}
            return found | {"rows": [[_cell(cell) for cell in row] for row in block.rows], "widths": _widths(block)}
        case Chart():
            found = {"kind": "chart", "caption": block.caption}
            return found | {"pieces": [_piece(piece, drawings) for piece in pieces(block.picture)]}


def _piece(piece: Drawing | Keyed | str, drawings: _Drawings) -> dict[str, Any]:
    if isinstance(piece, Drawing):
        return {"kind": "drawing"} | drawings.add(piece)
    if isinstance(piece, Keyed):
        return {"kind": "key", "text": piece.text} | drawings.add(piece.sample)
    return {"kind": "text", "text": piece}


def _cell(cell: str | Cell) -> dict[str, Any]:
    held = Cell(cell) if isinstance(cell, str) else cell
    return {"text": held.text, "shade": min(max(held.shade, 0.0), 1.0), "strong": held.strong}


def _widths(table: Table) -> list[int]:
    """The share of the page that a column gets, by the longest text in it; 0 for one that takes what it needs."""
    widths = []
    for at, column in enumerate(table.columns):
        longest = max((len(_cell(row[at])["text"]) for row in table.rows), default=0)
        widths.append(0 if longest <= 12 else min(max(longest, len(column.title)), 60))
    return widths
