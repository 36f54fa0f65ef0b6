"""`isocenter multiverse`: what the ranking would have been under other rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._arguments import ChallengeName, Json, Phase
from isocenter.cli._entries import Benchmark, BoardName, Organiser, TeamTables, open_contest
from isocenter.cli._tables import csv_text, give_up, refuse_out

if TYPE_CHECKING:
    from isocenter.ranking import Multiverse


def multiverse(
    challenge: ChallengeName,
    tables: TeamTables,
    *,
    board: BoardName = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="Facts of the cases (CSV): the reference's cases.csv.", exists=True, dir_okay=False),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="A column of --cases: also rank without one of its groups after the other.")
    ] = None,
    organiser: Organiser = None,
    benchmark: Benchmark = None,
    phase: Phase = None,
    run_times: Annotated[
        Path | None,
        typer.Option(help="Run times that were metered elsewhere (CSV), if the challenge ranks by them.", exists=True),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write all ranks (.csv), or all numbers (.json).", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    r"""Rank the same tables by every rule that could have been declared.

    Other aggregations, ways of ties and policies for missing cases, other
    metrics of the same quantity, and the cohort without one centre: who wins
    how often, which ranks a team gets, and how far the rankings agree.

    Example: isocenter multiverse openkbp2020 a=a.parquet b=b.parquet \
             --cases reference/cases.csv --by center
    """
    from isocenter import atomic
    from isocenter.evaluation import read_facts
    from isocenter.ranking import alternatives
    from isocenter.ranking import multiverse as in_all

    refuse_out(out, tables, cases)
    if (cases is None) != (by is None):
        msg = "groups need both: --cases with a table of facts, and --by with one of its columns"
        raise typer.BadParameter(msg, param_hint="--by" if by is None else "--cases")
    facts = None if cases is None else read_facts(cases)
    opened = open_contest(
        *(challenge, tables),
        board=board,
        organiser=organiser,
        benchmark=benchmark,
        phase=phase,
        run_times=run_times,
    )
    try:
        universes = alternatives(opened.rule, opened.scores, roles=opened.roles, facts=facts, by=by)
        found = in_all(opened.scores, universes, roles=opened.roles)
    except ValueError as error:
        give_up(str(error), opened.remarks)
    data = {"challenge": opened.challenge.name, "board": opened.board, **found.to_dict()}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        atomic.write_text(text if out.suffix == ".json" else _csv(found), out)
    if as_json:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"{opened.challenge.title}\nBoard {opened.board}\n\n{found}")
        if out is not None:
            typer.echo(f"Written to {out}")
    for remark in opened.remarks:
        typer.echo(remark, err=True)


def _csv(found: Multiverse) -> str:
    """A row for every team in every universe, without a rank where it has none."""
    import polars as pl

    teams = [one.team for one in found.standings]
    rows = [(outcome.universe.name, team, outcome.ranks.get(team)) for outcome in found.outcomes for team in teams]
    schema = {"universe": pl.String, "team": pl.String, "rank": pl.Float64}
    return csv_text(pl.DataFrame(rows, schema=schema, orient="row"))
