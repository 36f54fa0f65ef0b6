"""What is wrong with a submission, in words for the person who has to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

_LONGEST = 500
# What a spreadsheet takes for the beginning of a formula; a quote before it makes it a text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

Severity = Literal["refused", "unusable", "missing", "warning", "note"]
"""What follows from a problem.

=========  ===========================================================================================
refused    nothing of the submission is used: it cannot be trusted or understood as a whole
unusable   this case is not measured; it counts as the challenge says that a failed case counts
missing    there is no output for this case; it counts as the challenge says that a missing case counts
warning    the output is measured, but is probably not what was meant
note       of no consequence, said for information
=========  ===========================================================================================
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that was found, where, and what was expected."""

    severity: Severity
    message: str
    case: str = ""
    file: str = ""

    def __post_init__(self) -> None:
        for name in ("message", "case", "file"):
            object.__setattr__(self, name, printable(getattr(self, name)))


class SubmissionRefused(ValueError):
    """A submission of which nothing was used; `problems` has all that was found."""

    def __init__(self, submission: str, problems: Sequence[Problem]) -> None:
        self.submission = submission
        self.problems = tuple(problems)
        super().__init__(f"submission {submission!r} was not accepted:\n{report(problems)}")

    def __reduce__(self) -> tuple[type[SubmissionRefused], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.submission, self.problems)


def report(problems: Iterable[Problem]) -> str:
    """Problems as aligned lines: case, file, what was found."""
    rows = [(p.case or "…", p.file or f"({p.severity})", p.message) for p in problems]
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
    return "\n".join(f"  {case:<{widths[0]}}  {file:<{widths[1]}}  {text}" for case, file, text in rows)


def as_cell(text: str) -> str:
    """A text as it may stand in a table for a spreadsheet, which would run a name such as "=…" as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) and text != "-" else text


def printable(text: str) -> str:
    """A text as it may be printed: names of strangers may hold control characters, broken encodings, or novels."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
