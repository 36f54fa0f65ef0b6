"""A report as data: sections of sentences, tables and pictures, which HTML, PDF, JSON and CSV are all made of.

    Report ── Section ─┬─ Paragraph   a few sentences, or a note in small print
                       ├─ Facts       names and what they are: a card, a record
                       ├─ Code        lines as they are: pseudo-code, a command
                       ├─ Table       rows of text and numbers, with a caption
                       └─ Chart       a picture with a caption, and the numbers behind it

Nothing here is escaped and nothing is formatted for one medium: a text is a text. Only a picture is markup, made by a
function of this room.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from markupsafe import Markup

# What turns around the direction of the text beside it: a name in a sentence must not.
TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences. A note is in small print: how to read what stands above it, what could not be shown and why."""

    text: str
    note: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what they are."""

    name: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that are read, or copied, as they are."""

    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is more than its text.

    Attributes
    ----------
    text
        As it stands in the table.
    value
        What it is sorted by and exported as, where that is not the text: the number behind "0.82 [0.79, 0.85]".
    shade
        How dark it is, from 0 to 1.
    strong
        Whether it stands out.
    error
        The standard error of `value`, where the text has one, as in "0.52(4)": a column of its own in CSV files.
    """

    text: str
    value: float | None = None
    shade: float = 0.0
    strong: bool = False
    error: float | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and whether what stands below is read as numbers: to the right, sorted by size."""

    title: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings. `name` is its own in the report: the anchor, and the name of its CSV file."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wrong = [number for number, row in enumerate(self.rows, start=1) if len(row) != len(self.columns)]
        if wrong:
            msg = f"table {self.name!r} has {len(self.columns)} columns, but row {wrong[0]} has another number of cells"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture with a caption that says what is drawn, in which unit, of how many.

    Attributes
    ----------
    name
        Its own in the report: the anchor, and the name of its CSV file.
    caption
        One or more sentences. The first is its title.
    picture
        SVG, or HTML that holds SVG, from a function of `isocenter.report`. It describes itself for who cannot see it.
    data
        The numbers that are drawn; None where they stand in a table of the report.
    """

    name: str
    caption: str
    picture: Markup
    data: pl.DataFrame | None = None


Block = Paragraph | Facts | Code | Table | Chart


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading; `name` is its own in the report."""

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All of it, and the record it can be made again from: versions, seeds, hashes, command."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    record: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [section.name for section in self.sections] + [block.name for block in self.named()]
        for name in names:
            if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
                msg = f"{name!r} is no anchor: lower-case letters, digits and hyphens, beginning with a letter"
                raise ValueError(msg)
        if again := sorted({name for name in names if names.count(name) > 1}):
            msg = f"two parts of the report are called {', '.join(again)}"
            raise ValueError(msg)

    def named(self) -> list[Facts | Table | Chart]:
        """The blocks that can be linked to, in their order."""
        return [
            block for section in self.sections for block in section.blocks if isinstance(block, Facts | Table | Chart)
        ]


def table(
    name: str,
    caption: str,
    columns: Sequence[str | Column],
    rows: Iterable[Sequence[str | Cell | float | int | None]],
    *,
    notes: Sequence[str] = (),
) -> Table:
    """A table from plain values: a heading that ends in "#" is one of numbers; None becomes a dash.

    Examples
    --------
    >>> table("teams", "Teams by size.", ["Team", "Members #"], [("Aare", 3), ("Inn", None)]).rows[1]
    ('Inn', Cell(text='–', value=None, shade=0.0, strong=False, error=None))
    """
    heads = tuple(
        column if isinstance(column, Column) else Column(column.removesuffix("#").strip(), column.endswith("#"))
        for column in columns
    )
    return Table(name, caption, heads, tuple(tuple(map(_cell, row)) for row in rows), tuple(notes))


def _cell(value: str | Cell | float | int | None) -> str | Cell:
    if value is None:
        return Cell("–")
    return value if isinstance(value, str | Cell) else Cell(f"{value:g}", float(value))
