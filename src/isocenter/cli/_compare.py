"""`isocenter compare`: the teams of a board against each other, in paired tests."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isocenter.cli._arguments import ChallengeName, Json, Phase
from isocenter.cli._entries import Benchmark, BoardName, Opened, Organiser, TeamTables, open_contest
from isocenter.cli._tables import csv_text, give_up, refuse_out, write_out

if TYPE_CHECKING:
    from isocenter.ranking import PairedValues
    from isocenter.stats import Comparison, Comparisons

_Family = Literal["winner-vs-rest", "all-ordered", "all-unordered"]
_Test = Literal["wilcoxon", "t", "sign-flip", "brats"]
_Adjust = Literal["holm", "bonferroni", "bh", "none"]
_Over = Literal["cases", "parts"]

_RELATIVE = "Ranks depend on all teams that are ranked here, and so do differences and p of any two of them."


def compare(
    challenge: ChallengeName,
    tables: TeamTables,
    *,
    board: BoardName = None,
    family: Annotated[
        _Family, typer.Option(help="Who is tested against whom: these tests are adjusted together.")
    ] = "winner-vs-rest",
    metric: Annotated[
        str | None,
        typer.Option(help="One of the metrics behind a score of several, in its place.", show_default="what ranks"),
    ] = None,
    test: Annotated[
        _Test | None,
        typer.Option(
            help="Wilcoxon's signed-rank test, the paired t test, the permutation test of the mean, or that test as "
            "BraTS published it.",
            show_default="wilcoxon; sign-flip for mean ranks",
        ),
    ] = None,
    two_sided: Annotated[
        bool, typer.Option("--two-sided", help="Test whether the winner differs, not whether it is better.")
    ] = False,
    adjust: Annotated[_Adjust, typer.Option(help="How p is adjusted for the number of tests.")] = "holm",
    over: Annotated[
        _Over | None,
        typer.Option(help="Whether a value is of a case, or of a part of it.", show_default="as the board averages"),
    ] = None,
    alpha: Annotated[float, typer.Option(help="An adjusted p of at most this is significant.")] = 0.05,
    organiser: Organiser = None,
    benchmark: Benchmark = None,
    phase: Phase = None,
    out: Annotated[Path | None, typer.Option(help="Also write the tests: .csv or .json.", dir_okay=False)] = None,
    as_json: Json = False,
) -> None:
    r"""Test whether teams are better than others by more than luck.

    The values are those that the board averages, with what a missing case
    counts as. On a board of mean ranks they are the mean ranks of the cases:
    what a team has in one is exchanged with another's, and p is the share
    of exchanges with at least this lead. Tests over parts take them for independent; beside them stand
    the same tests with the case as the unit, where there are such.

    Example: isocenter compare hecktor2020 radlab=radlab.parquet \
             oncoseg=oncoseg.parquet --test t --adjust bonferroni --two-sided
    """
    from isocenter.ranking import paired_values

    refuse_out(out, tables)
    if not 0 < alpha < 1:
        msg = f"a level of significance is within 0 and 1, not {alpha}"
        raise typer.BadParameter(msg, param_hint="--alpha")
    if two_sided and family == "all-ordered":
        msg = "whether a is better than b, for all ordered pairs, has one side; take --family all-unordered"
        raise typer.BadParameter(msg, param_hint="--two-sided")
    opened = open_contest(challenge, tables, board=board, organiser=organiser, benchmark=benchmark, phase=phase)
    try:
        values = paired_values(opened.scores, opened.rule, metric=metric, over=over, roles=opened.roles)
        test = test or values.usual_test
        found = [
            values.compare(
                family=family,
                test=test,
                adjust=adjust,
                alternative="two-sided" if two_sided else None,
                clustered=clustered,
                alpha=alpha,
            )
            for clustered in ((False, True) if values.in_parts and test != "t" else (False,))
        ]
    except ValueError as error:
        give_up(str(error), opened.remarks)
    data = _data(opened, values, found)
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        write_out({"--out": (out, text if out.suffix == ".json" else _csv(data))})
    if as_json:
        typer.echo(text, nl=False)
    else:
        typer.echo(_title(opened, values))
        typer.echo("\n\n".join(_text(one, values) for one in found))
        if values.in_parts and test == "t":
            typer.echo("\nParts were taken for independent, and there is no t test here that does not: --over cases.")
        if out is not None:
            typer.echo(f"Written to {out}")
    picked = []
    if family == "winner-vs-rest":
        picked.append("The winner was picked on these very scores, which the tests do not know: p is too small.")
    if values.relative:
        picked.append(_RELATIVE)
    if test == "brats":
        picked.append("p as published leaves out flips with the very same lead: it is too small; see --test sign-flip.")
    for remark in (*opened.remarks, *_left_out(opened, values), *picked):
        typer.echo(remark, err=True)


def _title(opened: Opened, values: PairedValues) -> str:
    metric, cases = values.metric, len(set(values.cases))
    unit = f" [{metric.unit}]" if metric.unit else ""
    what = f"{len(values.cases):,} parts of {cases} cases" if values.in_parts else f"{cases} cases"
    return f"{opened.challenge.title}\nBoard {opened.board}: {metric.name}{unit} of {what}\n"


def _left_out(opened: Opened, values: PairedValues) -> list[str]:
    teams = [team for team in opened.scores["submission"].unique(maintain_order=True) if team not in opened.roles]
    return [f"{team} is not ranked on this board, and in no test." for team in teams if team not in values.values]


def _text(found: Comparisons, values: PairedValues) -> str:
    """The table; of a t test with the interval of every difference, which is of one pair and not adjusted."""
    lines = str(found).splitlines()
    if found.test != "t":
        return "\n".join(lines)
    first = len(lines) - len(found.rows)
    digits = values.metric.decimals + 1
    cells = [f"{100 * (1 - found.alpha):g} % interval of a − b, not adjusted"]
    for row in found.rows:
        low, high = values.interval(row.a, row.b, level=1 - found.alpha)
        cells.append("–" if math.isnan(low) else f"[{low:+.{digits}f}, {high:+.{digits}f}]")
    width = max(map(len, lines[first - 1 :]))
    shown = [f"{line.ljust(width)}  {cell}" for line, cell in zip(lines[first - 1 :], cells, strict=True)]
    return "\n".join([*lines[: first - 1], *shown])


def _data(opened: Opened, values: PairedValues, found: list[Comparisons]) -> dict[str, Any]:
    """Everything as JSON values; what is undefined is null."""
    first = found[0]
    return {
        "challenge": opened.challenge.name,
        "board": opened.board,
        "metric": values.metric.name,
        "better": first.better,
        "decimals": first.decimals,
        "cases": len(set(values.cases)),
        "values": len(values.cases),
        "family": first.family,
        "alternative": first.alternative,
        "test": first.test,
        "adjust": first.adjustment,
        "alpha": first.alpha,
        "tests": [
            {
                "clusters": one.clusters,
                "methods": list(one.methods),
                "seed": one.seed,
                "rows": [_row(row, one, values) for row in one.rows],
            }
            for one in found
        ],
        "notes": [_RELATIVE] if values.relative else [],
        "versions": first.to_dict()["versions"],
    }


def _row(row: Comparison, found: Comparisons, values: PairedValues) -> dict[str, Any]:
    numbers = row._asdict()
    if found.test == "t":
        numbers["low"], numbers["high"] = values.interval(row.a, row.b, level=1 - found.alpha)
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in numbers.items()
    }


def _csv(data: dict[str, Any]) -> str:
    import polars as pl

    kept = ("metric", "family", "alternative", "test", "adjust", "alpha")
    rows = [
        {**{name: data[name] for name in kept}, "clusters": one["clusters"], **row}
        for one in data["tests"]
        for row in one["rows"]
    ]
    return csv_text(pl.DataFrame(rows, infer_schema_length=None))
