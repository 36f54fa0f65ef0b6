"""cases.csv: which cases a reader study has, one row each.

    case,practice,positive,age,centre
    PCA001,no,yes,66,Nijmegen
    PCA002,no,no,71,Trondheim
    TRY001,yes,,58,Zwolle

`practice` (yes or no) and `positive` (yes, no, or empty where it is not known) may be left out; all other columns are
facts, kept as they are written.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from isocenter.editions import Reading
from isocenter.submissions import printable

NAME = "cases.csv"
MOST_BYTES = 5_000_000
OWN = ("case", "practice", "positive")
"""Columns that are no facts."""
_TAKEN = ("block",)  # of the table that is exported
_CASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_YES = {"yes": True, "no": False}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case as the table has it; see `StudyCase`."""

    name: str
    practice: bool
    positive: bool | None
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The rows whose cases have a name, the facts there are, and what is wrong, each as a sentence."""

    rows: tuple[CaseRow, ...]
    facts: tuple[str, ...]
    problems: tuple[str, ...]


def read_cases(content: bytes) -> CaseTable:
    """Read the table; problems name their line."""
    try:
        text = content.decode("utf-8-sig")
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        found = [(lines.line_num, [cell.strip() for cell in cells]) for cells in lines]
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return _nothing(f"{NAME}, line {line}: is not UTF-8; save it as CSV in UTF-8")
    except csv.Error as error:
        return _nothing(f"{NAME}: is not CSV: {error}")
    found = [(line, cells) for line, cells in found if any(cells)]
    if not found:
        return _nothing(f"{NAME}: is empty; expected a line with the columns case, practice, positive and facts")
    head = found[0][1]
    if problems := list(_wrong_head(head)):
        return _nothing(*problems)
    rows: list[CaseRow] = []
    for line, cells in found[1:]:
        one, wrong = _row(head, cells)
        rows += [] if one is None else [one]
        problems += [f"{NAME}, line {line}: {text}" for text in wrong]
    problems += _twice(rows)
    return CaseTable(tuple(rows), tuple(name for name in head if name not in OWN), tuple(problems))


def _nothing(*problems: str) -> CaseTable:
    return CaseTable((), (), problems)


def _wrong_head(head: Sequence[str]) -> Iterator[str]:
    if len(head) == 1 and ";" in head[0]:
        yield f"{NAME}: columns are separated by semicolons; expected commas"
        return
    if "case" not in head:
        yield f"{NAME}: has no column case; found {printable(', '.join(head))}"
    for name, count in Counter(head).items():
        if not name:
            yield f"{NAME}: a column has no name; every column has one"
        elif count > 1:
            yield f"{NAME}: the column {printable(name)!r} is there {count} times; once is enough"
        elif name in _TAKEN or len(name) > _LONGEST or not name.isprintable():
            yield f"{NAME}: a fact cannot be called {printable(name)!r}; choose another name for the column"


def _row(head: Sequence[str], cells: Sequence[str]) -> tuple[CaseRow | None, list[str]]:
    """A row, if its case has a name, and all that is wrong with it."""
    if len(cells) != len(head):
        return None, [f"has {len(cells)} values; the first line has {len(head)} columns"]
    given = dict(zip(head, cells, strict=True))
    problems = []
    if not given["case"]:
        problems.append("the case has no name")
    elif not _CASE.fullmatch(given["case"]):
        problems.append(
            f"the case {printable(given['case'])!r} cannot be called so; a name has letters, digits, dots, - and _, "
            "begins with a letter or digit, and has at most 100 of them"
        )
    practice, positive = given.get("practice", "").lower(), given.get("positive", "").lower()
    if practice not in ("", *_YES):
        problems.append(f"practice is {printable(practice)!r}; expected yes or no")
    if positive not in ("", *_YES):
        problems.append(f"positive is {printable(positive)!r}; expected yes, no, or nothing where it is not known")
    facts = {name: value for name, value in given.items() if name not in OWN}
    problems += [
        f"{printable(name)} is {printable(value)!r}; a fact is one line of at most {_LONGEST} characters"
        for name, value in facts.items()
        if len(value) > _LONGEST or not value.isprintable()
    ]
    row = CaseRow(given["case"], _YES.get(practice, False), _YES.get(positive), facts)
    return (row if _CASE.fullmatch(row.name) else None), problems


def _twice(rows: Sequence[CaseRow]) -> list[str]:
    """Names that are one to some disks, which do not tell small letters from capitals."""
    counts = Counter(row.name.lower() for row in rows)
    names = sorted({row.name for row in rows if counts[row.name.lower()] > 1})
    return [f"{NAME}: the case {name} is there more than once; every case has one row" for name in names]


def lacking(reading: Reading, *, facts: Sequence[str], cases: int, practice: int) -> Iterator[str]:
    """What `[reading]` asks of the cases that they have not.

    Parameters
    ----------
    facts
        The columns with facts that there are.
    cases, practice
        How many cases of the study there are, and how many to practise.
    """
    if "positive" in reading.facts:
        yield "[reading] facts has 'positive', which would tell readers who is ill; take it out in challenge.toml"
    for setting, asked, there in (
        ("facts", reading.facts, facts),
        ("cases_by", reading.cases_by, (*facts, "positive")),
    ):
        for name in asked:
            if name not in there and name != "positive":
                known = ", ".join(facts) or "no facts"
                yield f"{NAME}: has no column {name!r}, which [reading] {setting} names; found {known}"
    if practice < reading.practice:
        yield f"{NAME}: {practice} practice cases; [reading] practice asks for {reading.practice}"
    if cases < reading.blocks:
        yield f"{NAME}: {cases} cases that are not for practice; [reading] blocks asks for at least {reading.blocks}"
