"""What a person sees: tables, progress, problems."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from isocenter.ranking import Board
    from isocenter.submissions import Problem

HELP_PAGE = "docs/how-to/fix-a-submission.md"


Move = Callable[[int, int, str], None]


@contextmanager
def progress() -> Iterator[Callable[[str], Move]]:
    """Bars on the error stream, so that the output stays clean.

    The yielded function starts a bar with a title and returns what moves it.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[case]}"), console=Console(stderr=True)) as bars:

        def start(title: str) -> Move:
            task = bars.add_task(title, total=None, case="")

            def move(done: int, total: int, case: str) -> None:
                bars.update(task, completed=done, total=total, case=case if done < total else "")

            return move

        yield start


def show_problems(problems: Sequence[Problem]) -> None:
    """One line per problem: what follows from it, case, file, what was found."""
    rows = [(p.severity, p.case or "…", p.file or "–", p.message) for p in problems]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    for row in rows:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        typer.echo(f"  {cells}  {row[3]}")


def count_problems(problems: Sequence[Problem]) -> str:
    """In a few words: "2 unusable, 1 missing"."""
    counts = Counter(p.severity for p in problems)
    return ", ".join(f"{counts[s]} {s}" for s in ("refused", "unusable", "missing", "warning", "note") if counts[s])


def problem_dicts(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Problems as JSON values."""
    return [asdict(problem) for problem in problems]


def _components(board: Board) -> dict[str, dict[str, str]]:
    """By metric and team, what it reached and in brackets its rank, where a rule ranks by several metrics."""
    from isocenter.metrics import catalogue

    found: dict[str, dict[str, str]] = {}
    for row in board.rows:
        for part in row.components:
            rank = "" if part.rank is None else f" ({part.rank:g})"
            found.setdefault(part.metric, {})[row.submission] = catalogue.get(part.metric).show(part.score) + rank
    return found


def show_board(board: Board, *, title: str, means: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """The leaderboard as a table; with `means`, mean(error) by metric and team beside the score that decides."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from isocenter.metrics import catalogue

    metric = catalogue.get(board.metric)
    table = Table(box=box.SIMPLE_HEAD)
    unit = f" [{metric.unit}]" if metric.unit else ""
    table.add_column("rank", justify="right")
    table.add_column("team")
    table.add_column(Text(f"{metric.name}{unit} {metric.arrow}"), justify="right")
    beside = _components(board) or {name: dict(by_team) for name, by_team in (means or {}).items() if by_team}
    for other in beside:
        table.add_column("mean(SE)" if other == board.metric else other, justify="right")
    counted = not any(row.components for row in board.rows) or any(row.missing + row.failed for row in board.rows)
    for count in ("missing", "failed") if counted else ():
        table.add_column(count, justify="right")
    for row in board.rows:
        name = Text(row.submission, overflow="fold")
        if row.role != "team":
            name.append(f"  ({row.role})", style="dim")
        counts = [str(n) if n else "" for n in (row.missing, row.failed)] if counted else []
        errors = [by_team.get(row.submission, "–") for by_team in beside.values()]
        table.add_row(row.place, name, metric.show(row.score), *errors, *counts)
    # Into a file or a pipe nothing is cut off at 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(Text(title, style="bold"))
    console.print(table)
    for line in (f"Rule: {board.rule}.", *board.notes):
        console.print(Text(line))
