"""A report without what tells of single cases, for a phase whose cases stay hidden when its results are out.

Of a chapter a chart is left out that has a column `case`, dots with the names of cases, or no numbers of its own (it is
a picture); a table with a column of cases, or with the name of one; a text that names one. Numbers keep the digits that
are printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

import polars.selectors as cs
from markupsafe import escape

from isocenter.report import Block, Cell, Chart, Facts, Paragraph, Section, Table

_DIGITS = 4
_CUT = 30
_NEVER = r"(?!)"
_NUMBER = re.compile(r"\d+(?:\.(\d+))?")

HIDDEN = Section(
    "cases",
    "Case by case",
    (Paragraph("Results of single cases are not told, as the cases of the phase stay hidden.", note=True),),
)
"""What stands in the place of the sections about cases."""


def without_cases(sections: Iterable[Section], cases: Collection[str]) -> Iterator[Section]:
    """The sections with the blocks that tell of no single case; one that has nothing left is left out.

    Parameters
    ----------
    cases
        The names of the cohort.
    """
    for section in sections:
        kept = tuple(block for block in section.blocks if not tells_of_cases(block, cases))
        if kept:
            yield replace(section, blocks=kept)


def tells_of_cases(block: Block, cases: Collection[str]) -> bool:
    """Whether a block is about single cases, as far as its columns, its marks and its words say."""
    match block:
        case Chart():
            if block.data is None or "case" in block.data.columns or _marks(block.picture, cases):
                return True
            texts = [block.caption]
        case Table():
            heads = {column.title.lower() for column in block.columns}
            cells = {
                cell if isinstance(cell, str) else cell.text
                for row in block.rows
                for column, cell in zip(block.columns, row, strict=True)
                if not column.number
            }
            if heads & {"case", "patient"} or cells & set(cases):
                return True
            texts = [block.caption, *block.notes]
        case Facts():
            texts = [text for pair in block.pairs for text in pair]
        case _:
            texts = [block.text]
    named = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in cases) or _NEVER)
    return any(named.search(text) for text in texts)


def _marks(picture: str, cases: Collection[str]) -> bool:
    """Whether a pointer finds the name of a case in a picture; long names are cut there."""
    begins = "|".join(re.escape(escape(name[:_CUT])) + (r"(?!\w)" if len(name) <= _CUT else "") for name in cases)
    return re.search(f"<title>(?:{begins or _NEVER})", picture) is not None


def with_few_digits(sections: Iterable[Section]) -> Iterator[Section]:
    """The sections with numbers that are exported with as many digits as a reader sees."""
    for section in sections:
        yield replace(section, blocks=tuple(_few(block) for block in section.blocks))


def _few(block: Block) -> Block:
    match block:
        case Chart() if block.data is not None:
            return replace(block, data=block.data.with_columns(cs.float().round_sig_figs(_DIGITS)))
        case Table():
            return replace(block, rows=tuple(tuple(_cell(cell) for cell in row) for row in block.rows))
        case _:
            return block


def _cell(cell: str | Cell) -> str | Cell:
    """A cell whose number is the one that is printed first in it; one that is printed otherwise has few digits."""
    if isinstance(cell, str) or cell.value is None or not math.isfinite(cell.value):
        return cell
    printed = _NUMBER.search(cell.text)
    value = cell.value if printed is None else round(cell.value, len(printed[1] or ""))
    same = printed is not None and abs(value) == float(printed[0])
    return replace(cell, value=value if same else float(f"{cell.value:.{_DIGITS}g}"))
