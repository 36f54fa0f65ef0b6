"""Tables that organisers keep beside an edition: CSV as spreadsheets write it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

_MOST_BYTES = 32 << 20


class FolderError(ValueError):
    """A folder that no report can be made of, with everything that is wrong with it."""

    def __init__(self, folder: Path, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"No report can be made of {folder}:\n{lines}")


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a small CSV file by column; blanks around texts are dropped, and so are empty lines."""
    if path.stat().st_size > _MOST_BYTES:
        raise FolderError(path.parent, [f"{path.name} has more than {_MOST_BYTES >> 20} MB"])
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FolderError(path.parent, [f"{path.name} is not a text in UTF-8; save it as CSV (UTF-8)"]) from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        numbered = [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise FolderError(path.parent, [f"{path.name}, line {reader.line_num}: {error}"]) from None
    if not numbered:
        return []
    heads = [head.strip() for head in numbered[0][1]]
    wrong = [
        f"{path.name}, line {number}: {len(line)} cells, the heading has {len(heads)}"
        for number, line in numbered[1:]
        if len(line) != len(heads)
    ]
    wrong += [
        f"{path.name}: two columns are called {head!r}" for head in sorted({h for h in heads if heads.count(h) > 1})
    ]
    if wrong:
        raise FolderError(path.parent, wrong)
    return [dict(zip(heads, (cell.strip() for cell in line), strict=True)) for _, line in numbered[1:]]


def _delimiter(text: str) -> str:
    """Spreadsheets of half of Europe write semicolons."""
    head = text.partition("\n")[0]
    return ";" if head.count(";") > head.count(",") else ","
