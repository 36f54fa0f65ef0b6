"""The structured description of an edition, answered by the rules that are carried out and by the organisers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

from isocenter.editions import Edition
from isocenter.evaluation import Challenge
from isocenter.ranking import software_versions
from isocenter.report._description import Block, Bullets, Description, Gap, Item, Paragraph, Section
from isocenter.report._description_items import SECTIONS, Asked

_LIST_MARKS = ("-", "*", "+", "•", "–")
_UNSEEN = "\u034f\u115f\u1160\u2800\u3164\uffa0\ufe0e\ufe0f"  # letters, signs and marks that nothing is drawn for


def describe_edition(edition: Edition, challenge: Challenge) -> Description:
    """The structured description of an edition of a challenge.

    Parameters
    ----------
    challenge
        With the edition's policies in force, as `isocenter.editions.in_force` gives it.

    Notes
    -----
    Dates, quotas, prizes, files, metrics, ranking, missing data and statistics come from the edition and from the rules
    that are carried out, so the text cannot say anything else. The rest comes from the tables of challenge.toml that
    are there for it; what they lack is in the description's `still_empty`.
    """
    sections = tuple(
        Section(title, tuple(_item(asked, edition, challenge) for asked in items)) for title, items in SECTIONS.items()
    )
    return Description(challenge.name, edition.title, tuple(software_versions().items()), sections)


def _item(asked: Asked, edition: Edition, challenge: Challenge) -> Item:
    from_rules = tuple(asked.rules(edition, challenge)) if asked.rules else ()
    fields = {field: _value(field, edition) for field in (*asked.needs, *asked.may)}
    filled = {field: value for field, value in fields.items() if value}
    from_fields = tuple(
        block for field, value in filled.items() for block in _blocks(value, _label(field) if len(fields) > 1 else "")
    )
    source: Literal["rules", "organisers", "both", "nobody"] = "nobody"
    if from_rules or from_fields:
        source = "both" if from_rules and from_fields else "rules" if from_rules else "organisers"
    return Item(
        asked.number,
        asked.title,
        asked.question or _question(asked),
        (*from_rules, *from_fields),
        source,
        tuple(Gap(field, field in asked.needs) for field in fields if field not in filled),
    )


def _question(asked: Asked) -> str:
    """What challenge.toml says of the first setting that answers the item."""
    name, _, inner = (*asked.needs, *asked.may)[0].partition(".")
    table = Edition.model_fields[name].default
    field = type(table).model_fields[inner] if inner else Edition.model_fields[name]
    return field.description or ""


def _value(field: str, edition: Edition) -> str | tuple[str, ...]:
    value: object = edition
    for name in field.split("."):
        value = getattr(value, name)
    if isinstance(value, tuple):
        return tuple(text for text in value if not _blank(text))
    return value if isinstance(value, str) and not _blank(value) else ""


def _blank(text: str) -> bool:
    """Whether there is nothing to read: white space, characters without width, marks of lists with nothing behind."""
    return all(_seen(line) in ("", *_LIST_MARKS) for line in text.splitlines())


def _seen(line: str) -> str:
    return "".join(
        c for c in line if not c.isspace() and c not in _UNSEEN and unicodedata.category(c) not in ("Cc", "Cf")
    )


def _label(field: str) -> str:
    return field.rpartition(".")[2].replace("_", " ").capitalize()


def _blocks(value: str | tuple[str, ...], label: str) -> Iterator[Block]:
    """What the organisers wrote: paragraphs parted by empty lines, and lists of lines that begin with "- "."""
    paragraphs = ["; ".join(value)] if isinstance(value, tuple) else re.split(r"\n\s*\n", value.strip())
    for paragraph in paragraphs:
        if _blank(paragraph):
            continue
        lines = [line.strip() for line in paragraph.splitlines()]
        items = [line for line in lines if not _blank(line)]
        if all(line.startswith("- ") for line in items):
            yield Bullets(tuple(line.removeprefix("- ") for line in items), label)
        else:
            yield Paragraph(" ".join(lines), label)
        label = ""
