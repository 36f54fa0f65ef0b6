"""Score tables of many teams, as `compare` and `multiverse` take them: the ones that count, and who competes."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from isocenter.cli._arguments import setting
from isocenter.cli._rank import _dated, _inside, _read, _refuse_nonsense, _refuse_other_cohorts, _with_run_times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from isocenter.evaluation import Challenge
    from isocenter.ranking import Role, Rule

TeamTables = Annotated[
    list[str],
    typer.Argument(
        metavar="TEAM=TABLE…",
        help="Score tables by team, as `isocenter score` wrote them; of several, the one that counts.",
    ),
]
BoardName = Annotated[str | None, typer.Option(help="Which board of the challenge.", show_default="the first")]
Organiser = Annotated[
    list[str] | None, typer.Option(help="A team of the organisers' institutes, which does not compete.")
]
Benchmark = Annotated[list[str] | None, typer.Option(help="A row that does not compete.")]


@dataclass(frozen=True, slots=True)
class Tables:
    """What a board is made of, and what an organiser should know of it."""

    challenge: Challenge
    board: str
    rule: Rule
    scores: pl.DataFrame
    roles: dict[str, Role]
    remarks: list[str]


def open_tables(
    challenge: str,
    arguments: Sequence[str],
    *,
    board: str | None,
    organiser: Sequence[str] | None,
    benchmark: Sequence[str] | None,
    phase: str | None,
    run_times: Path | None = None,
) -> Tables:
    """Read the tables, and of every team take the submission that counts; what is wrong ends the command."""
    from isocenter.doors import counting_scores, roles_of

    in_force = setting(challenge, phase=phase)
    which = in_force.challenge
    plain, moments = _dated(list(arguments))
    plain, outside = _inside(in_force, plain, moments)
    by_team, _, remarks = _read(plain, challenge=which.name)
    remarks += outside
    _refuse_other_cohorts(in_force, by_team)
    organisers, benchmarks = list(organiser or ()), list(benchmark or ())
    _refuse_nonsense(which, by_team, board=board, named={"--organiser": organisers, "--benchmark": benchmarks})
    if run_times is not None:
        by_team, told = _with_run_times(which, by_team, run_times)
        remarks += told
    name = board or next(iter(which.boards))
    try:
        scores = counting_scores(which, by_team, board=name, moments=moments)
    except ValueError as error:
        give_up(str(error), remarks)
    roles = roles_of(which.participation, scores, organisers, benchmarks)
    return Tables(which, name, which.boards[name], scores, roles, remarks)


def refuse_out(out: Path | None, tables: Sequence[str], *others: Path | None) -> None:
    """Results are written to a file of their own, as CSV or JSON."""
    inputs = [Path(argument.partition("=")[2]) for argument in tables] + [path for path in others if path is not None]
    if out is not None and (
        out.suffix not in (".csv", ".json") or out.resolve() in [path.resolve() for path in inputs]
    ):
        msg = f"{out} should be a file of its own that ends in .csv or .json"
        raise typer.BadParameter(msg, param_hint="--out")


def write_out(texts: Mapping[str, tuple[Path, str]]) -> None:
    """Write the text of each option to its file: all of them, or none where one cannot be written."""
    from isocenter import atomic

    with ExitStack() as together:
        for option, (path, text) in texts.items():
            try:
                partial = together.enter_context(atomic.replacing(path))
                partial.write_text(text, encoding="utf-8", newline="")
            except OSError as error:
                msg = f"{path} cannot be written ({error.strerror}); nothing was"
                raise typer.BadParameter(msg, param_hint=option) from None


def csv_text(table: pl.DataFrame) -> str:
    """As CSV; names that strangers chose are texts in a spreadsheet, and no formulas."""
    import polars as pl

    from isocenter.problems import as_cell

    texts = [pl.col(name).map_elements(as_cell, pl.String) for name, kind in table.schema.items() if kind == pl.String]
    return table.with_columns(texts).write_csv()


def give_up(error: str, remarks: Sequence[str]) -> NoReturn:
    """Say what is wrong with the data, after what was to be remarked, and end the command with 1."""
    for text in (*remarks, error):
        typer.echo(text, err=True)
    raise typer.Exit(1) from None
