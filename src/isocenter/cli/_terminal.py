"""What a person sees: tables, progress, problems."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from isocenter.metrics import Metric
    from isocenter.problems import EvaluationFailed, Problem
    from isocenter.ranking import Board

HELP_PAGE = "docs/how-to/fix-a-submission.md"
_NOT_MEASURED = "not measured"

EVALUATOR_FAILED = 3
"""The exit code where something was not measured through no fault of the output."""

_FAILING = ("evaluator", "machine")
_MOST_INTERVALS = 2  # beside the score, in a table of the terminal


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


@contextmanager
def bootstrap_progress() -> Iterator[Callable[[int, int], None]]:
    """A bar that appears with the first bootstrap resample: not for what ends before there is one."""
    with ExitStack() as opened:
        bars: list[Move] = []

        def move(done: int, total: int) -> None:
            if not bars:
                bars.append(opened.enter_context(progress())("bootstrap of the cases"))
            bars[0](done, total, "")

        yield move


def show_problems(problems: Sequence[Problem], *, err: bool = False) -> None:
    """One line per problem: what follows from it, case, file, what was found."""
    rows = [(_consequence(p), p.case or "…", p.file or "–", p.message) for p in problems]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    for row in rows:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        typer.echo(f"  {cells}  {row[3]}", err=err)


def count_problems(problems: Sequence[Problem]) -> str:
    """In a few words: "2 unusable, 1 missing"."""
    counts = Counter(_consequence(p) for p in problems)
    order = ("refused", _NOT_MEASURED, "unusable", "missing", "warning", "note")
    return ", ".join(f"{counts[one]} {one}" for one in order if counts[one])


def _consequence(problem: Problem) -> str:
    """What follows from a problem: an output that nobody could measure is not said to be unusable."""
    return _NOT_MEASURED if problem.severity == "unusable" and problem.origin in _FAILING else problem.severity


def problem_dicts(problems: Sequence[Problem], *, detail: bool = False) -> list[dict[str, str]]:
    """Problems as JSON values; with their tracebacks for the organisers."""
    return [problem.to_dict(detail=detail) for problem in problems]


def show_failure(failure: EvaluationFailed, *, done: str, kept: str = "", as_json: bool = False) -> typer.Exit:
    """Say that the evaluator failed, or the machine, and with which traceback; gives the exit that says so, too.

    Parameters
    ----------
    done
        What was not done: "scored", "checked".
    kept
        Where finished cases are kept; "" if there are none.
    """
    if as_json:
        failed = {f"{origin}_failed": any(one.origin == origin for one in failure.causes) for origin in _FAILING}
        content = {"ok": False, **failed, "problems": problem_dicts(failure.problems, detail=True)}
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return typer.Exit(EVALUATOR_FAILED)
    typer.echo(f"{failure.challenge}: {failure.verdict}; nothing was {done}.\n", err=True)
    show_problems(failure.problems, err=True)
    first = next((one for one in failure.causes if one.detail), None)
    if first is not None:
        typer.echo(f"\nThe traceback of the first{f', {first.case}' if first.case else ''}:\n", err=True)
        typer.echo(first.detail.rstrip(), err=True)
    typer.echo(f"\n{count_problems(failure.problems)}. This is not about the files of a team.", err=True)
    if kept:
        typer.echo(f"Finished cases are kept in {kept}; once this is mended, the same command continues.", err=True)
    return typer.Exit(EVALUATOR_FAILED)


def _components(board: Board) -> dict[str, dict[str, str]]:
    """By metric and team, what it reached, and its interval; of more metrics than a line has room for, its rank."""
    from isocenter.metrics import catalogue

    narrow = len({part.metric for row in board.rows for part in row.components}) > _MOST_INTERVALS
    found: dict[str, dict[str, str]] = {}
    for row in board.rows:
        for part in row.components:
            metric = catalogue.get(part.metric)
            beside = "" if part.rank is None else f" ({part.place})"
            if part.low is not None and part.high is not None and not (narrow and beside):
                beside = f" {_bounds(metric, part.low, part.high)}"
            found.setdefault(part.metric, {})[row.submission] = metric.show(part.score) + beside
    return found


def _bounds(metric: Metric, low: float, high: float) -> str:
    return f"[{metric.show(low)}, {metric.show(high)}]"


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
    known, best = "p_first" in board.legend, "p_best" in board.legend
    for column in ("rank set", "P(first)", *["P(best)"] * best, "group") if known else ():
        table.add_column(column, justify="right")
    for count in ("missing", "failed") if counted else ():
        table.add_column(count, justify="right")
    for row in board.rows:
        name = Text(row.submission, overflow="fold")
        if row.role != "team":
            name.append(f"  ({row.role})", style="dim")
        counts = [str(n) if n else "" for n in (row.missing, row.failed)] if counted else []
        errors = [by_team.get(row.submission, "–") for by_team in beside.values()]
        bounds = "" if row.low is None or row.high is None else f" {_bounds(metric, row.low, row.high)}"
        sure = [row.rank_set, row.first_share, *[row.best_chance] * best, row.group or "–"] if known else []
        table.add_row(row.place, name, metric.show(row.score) + bounds, *errors, *sure, *counts)
    # Into a file or a pipe nothing is cut off at 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(Text(title, style="bold"))
    console.print(table)
    for line in (f"Rule: {board.rule}.", *board.notes, *board.legend.values()):
        console.print(Text(line))
