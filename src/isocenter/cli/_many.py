"""What the commands on many submissions share: their arguments, how they end, what they show."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isocenter.cli._arguments import Setting, executor
from isocenter.cli._terminal import HELP_PAGE, Move, count_problems, problem_dicts, progress, show_problems

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from isocenter.ensembles import Turnout
    from isocenter.problems import Problem

_ABSENT: tuple[Literal["missing", "failed"], ...] = ("missing", "failed")

Submissions = Annotated[
    list[str], typer.Argument(metavar="NAME=SUBMISSION…", help="Folders or zips of masks, by name.")
]


def by_name(arguments: Sequence[str], *, hint: str = "NAME=SUBMISSION") -> dict[str, Path]:
    """Submissions by name; each argument is NAME=PATH."""
    found: dict[str, Path] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not (equals and name and path):
            msg = f"{argument!r} should be NAME=SUBMISSION, for example radlab=radlab.zip"
            raise typer.BadParameter(msg, param_hint=hint)
        if name in found:
            msg = f"{name!r} is there twice"
            raise typer.BadParameter(msg, param_hint=hint)
        if not Path(path).exists():
            msg = f"{path} does not exist"
            raise typer.BadParameter(msg, param_hint=hint)
        found[name] = Path(path)
    return found


@contextmanager
def working(which: Setting, workers: int, *, as_json: bool) -> Iterator[tuple[Callable[[str], Move], Executor | None]]:
    """Progress bars and a pool; what goes wrong with the data inside is said, and ends the command with 1."""
    from isocenter.ensembles import EnsembleError
    from isocenter.problems import SubmissionRefused

    pool = executor(workers)
    try:
        with progress() as start:
            yield start, pool
    except SubmissionRefused as refusal:
        _refuse(which, refusal.problems, as_json=as_json)
    except EnsembleError as error:
        typer.echo(f"{which.challenge.name}: {error}", err=True)
        raise typer.Exit(1) from None
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _refuse(which: Setting, problems: Sequence[Problem], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"ok": False, "problems": problem_dicts(problems)}, indent=2))
    else:
        typer.echo(f"{which.challenge.name}: not every submission can be used; nothing was combined.\n", err=True)
        show_problems(problems)
        typer.echo(f"\n{count_problems(problems)}. What to do about each: {HELP_PAGE}")
    raise typer.Exit(1) from None


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A plain table, the first column to the left and the others to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    # Into a file or a pipe nothing is cut off at 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(Text(title, style="bold"))
    console.print(table)


def show_turnout(turnout: Turnout, *, what: str) -> None:
    """Who had no usable mask in how many cases, and what follows from it."""
    for voter, states in turnout.states.items():
        if absent := ", ".join(f"{states[kind]} {kind}" for kind in _ABSENT if states[kind]):
            typer.echo(
                f"{voter} {what} in {sum(states[kind] for kind in _ABSENT)} of {sum(states.values())} cases ({absent})."
            )
