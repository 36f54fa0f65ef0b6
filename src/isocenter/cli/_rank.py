"""`isocenter rank`: score tables to a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import ChallengeName, Json, setting
from isocenter.cli._terminal import show_board

if TYPE_CHECKING:
    import polars as pl


def rank(
    challenge: ChallengeName,
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TEAM=TABLE…",
            help="Score tables by team, as `isocenter score` wrote them. A team named again adds a later submission.",
        ),
    ],
    *,
    out: Annotated[Path | None, typer.Option(help="Also write the board as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write it as a self-contained HTML page.")] = None,
    board: Annotated[str | None, typer.Option(help="Which board of the challenge.", show_default="the first")] = None,
    organiser: Annotated[list[str] | None, typer.Option(help="A team of the organisers' institutes.")] = None,
    benchmark: Annotated[list[str] | None, typer.Option(help="A row to compare with, which is not ranked.")] = None,
    as_json: Json = False,
) -> None:
    r"""Rank teams by the challenge's own rule.

    Example: isocenter rank hecktor2020 radlab=radlab.parquet \
             oncoseg=oncoseg.parquet --out board.json
    """
    import isocenter
    from isocenter import atomic, report
    from isocenter.doors import counting_scores

    which = setting(challenge).challenge
    by_team, record = _read(tables, challenge=which.name)
    try:
        result = isocenter.rank(which, by_team, board=board, organisers=organiser or (), benchmarks=benchmark or ())
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    if out is not None:
        atomic.write_text(result.to_json(), out)
    if html is not None:
        page = report.leaderboard_page(which.title, result, counting_scores(which, by_team, board=board), record=record)
        atomic.write_text(page, html)
    if as_json:
        typer.echo(result.to_json(), nl=False)
    else:
        show_board(result, title=which.title)


def _read(tables: list[str], *, challenge: str) -> tuple[dict[str, list[pl.DataFrame]], dict[str, Any]]:
    """Tables by team, and what they have in common; tables of another challenge or cohort do not belong together."""
    from isocenter import scores

    by_team: dict[str, list[pl.DataFrame]] = {}
    references: dict[str, str] = {}
    for argument in tables:
        team, equals, path = argument.partition("=")
        if not (equals and team and path):
            msg = f"{argument!r} should be TEAM=TABLE, for example radlab=radlab.parquet"
            raise typer.BadParameter(msg, param_hint="TEAM=TABLE")
        record = scores.read_record(path)
        if record.get("challenge", challenge) != challenge:
            typer.echo(f"{path} holds scores of {record['challenge']}, not of {challenge}", err=True)
            raise typer.Exit(1)
        references[path] = record.get("reference", "")
        by_team.setdefault(team, []).append(scores.read(path))
    if len(set(references.values())) > 1:
        lines = "\n".join(f"  {path}: reference {digest[:12] or 'unknown'}" for path, digest in references.items())
        typer.echo(f"The tables were not scored against one and the same reference:\n{lines}", err=True)
        raise typer.Exit(1)
    return by_team, {"challenge": challenge, "reference": next(iter(references.values()), "")}
