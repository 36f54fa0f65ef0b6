"""What a structured description of a challenge is made of: items, what answers them, and what is still empty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Plain text, with a word before it where an item has several parts."""

    text: str
    label: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"label": self.label, "text": self.text} if self.label else {"text": self.text}


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of plain texts, with a word before it where an item has several parts."""

    items: tuple[str, ...]
    label: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        found = {"list": list(self.items)}
        return {"label": self.label, **found} if self.label else found


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that keep their form."""

    lines: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"code": self.lines}


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of plain texts."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it, a row by its headings."""
        return {"table": [dict(zip(self.head, row, strict=True)) for row in self.rows]}


Block = Paragraph | Bullets | Code | Rows


@dataclass(frozen=True, slots=True)
class Gap:
    """A setting of challenge.toml that is not there, by its place such as ``organisation.ethics``."""

    field: str
    mandatory: bool


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the description.

    Attributes
    ----------
    number
        As the form counts them, such as "7c"; "" for what it does not count.
    question
        What it is to say.
    answer
        What the rules say, then what the organisers say; nothing if neither does.
    source
        Who says it: the rules that the software carries out, the organisers in challenge.toml, both, or nobody yet.
    gaps
        Settings for this item that are not there.
    """

    number: str
    title: str
    question: str
    answer: tuple[Block, ...]
    source: Literal["rules", "organisers", "both", "nobody"]
    gaps: tuple[Gap, ...] = ()

    @property
    def name(self) -> str:
        """Number and title."""
        return f"{self.number} {self.title}".strip()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the description."""

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """The structured description of a challenge, as `describe_edition` makes it.

    Attributes
    ----------
    challenge, title
        The challenge by its name, and the edition as people call it.
    software
        Versions behind what the rules say.
    """

    challenge: str
    title: str
    software: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]

    def still_empty(self, *, mandatory: bool = False) -> Iterator[tuple[Item, Gap]]:
        """What is not there, item by item; with `mandatory`, only what no description may lack."""
        for section in self.sections:
            for item in section.items:
                yield from ((item, gap) for gap in item.gaps if gap.mandatory or not mandatory)

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON can hold."""
        return {
            "challenge": self.challenge,
            "title": self.title,
            "software": dict(self.software),
            "items": [
                {
                    "item": item.number,
                    "section": section.title,
                    "title": item.title,
                    "question": item.question,
                    "source": item.source,
                    "answer": [block.to_dict() for block in item.answer],
                }
                for section in self.sections
                for item in section.items
            ],
            "still_empty": [
                {"item": item.number, "title": item.title, "field": gap.field, "mandatory": gap.mandatory}
                for item, gap in self.still_empty()
            ],
        }
