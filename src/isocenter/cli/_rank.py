"""`isocenter rank`: score tables to a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import ChallengeName, Json, setting
from isocenter.cli._terminal import show_board

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

    from isocenter.evaluation import Challenge


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
    run_times: Annotated[
        Path | None,
        typer.Option(help="Run times that were metered elsewhere (CSV), if the challenge ranks by them.", exists=True),
    ] = None,
    as_json: Json = False,
) -> None:
    r"""Rank teams by the challenge's own rule.

    Example: isocenter rank hecktor2020 radlab=radlab.parquet \
             oncoseg=oncoseg.parquet --out board.json
    """
    import isocenter
    from isocenter import atomic, report
    from isocenter.doors import counting_scores, means_in_brackets

    which = setting(challenge).challenge
    _refuse_to_overwrite(tables, {"--out": (out, ".json"), "--html": (html, ".html")})
    by_team, record, remarks = _read(tables, challenge=which.name)
    _refuse_nonsense(which, by_team, board=board, named={"--organiser": organiser, "--benchmark": benchmark})
    if run_times is not None:
        by_team, told = _with_run_times(which, by_team, run_times)
        remarks += told
    try:
        result = isocenter.rank(which, by_team, board=board, organisers=organiser or (), benchmarks=benchmark or ())
    except ValueError as error:
        for text in (*remarks, str(error)):
            typer.echo(text, err=True)
        raise typer.Exit(1) from None
    if out is not None:
        atomic.write_text(result.to_json(), out)
    if html is not None:
        page = report.leaderboard_page(which.title, result, counting_scores(which, by_team, board=board), record=record)
        atomic.write_text(page, html)
    if as_json:
        typer.echo(result.to_json(), nl=False)
    else:
        means = means_in_brackets(which, counting_scores(which, by_team, board=board))
        show_board(result, title=which.title, means=means)
        for path in (out, html):
            if path is not None:
                typer.echo(f"Written to {path}")
    # For the organisers only: these do not belong on a board.
    remarks += [
        f"{row.submission} is disqualified: {row.missing} missing, {row.failed} unusable cases."
        for row in result.unlisted
        if row.disqualified
    ]
    for remark in remarks:
        typer.echo(remark, err=True)


def _with_run_times(
    challenge: Challenge, by_team: dict[str, list[pl.DataFrame]], path: Path
) -> tuple[dict[str, list[pl.DataFrame]], list[str]]:
    """Every table of a team with the team's run times below it, and what the organisers should know of them."""
    import polars as pl

    if challenge.run_times is None:
        msg = f"{challenge.name} does not rank by run time"
        raise typer.BadParameter(msg, param_hint="--run-times")
    try:
        rows, remarks = challenge.run_times(path, list(by_team))
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    return {
        team: [pl.concat([table, rows[team].select(table.columns)]) if team in rows else table for table in tables]
        for team, tables in by_team.items()
    }, list(remarks)


def _refuse_to_overwrite(tables: list[str], written: dict[str, tuple[Path | None, str]]) -> None:
    """A board is written to a file of its own, never over a score table."""
    inputs = [Path(argument.partition("=")[2]) for argument in tables]
    for option, (path, suffix) in written.items():
        if path is not None and (path.suffix != suffix or path in inputs):
            msg = f"{path} should be a file of its own that ends in {suffix}"
            raise typer.BadParameter(msg, param_hint=option)


def _refuse_nonsense(
    challenge: Challenge, teams: Collection[str], *, board: str | None, named: dict[str, list[str] | None]
) -> None:
    """Boards and teams that there are not."""
    if board is not None and board not in challenge.boards:
        msg = f"{challenge.name} has no board {board!r}; it has {', '.join(challenge.boards)}"
        raise typer.BadParameter(msg, param_hint="--board")
    for option, names in named.items():
        if unknown := sorted(set(names or ()) - set(teams)):
            msg = f"no table is given for {', '.join(unknown)}"
            raise typer.BadParameter(msg, param_hint=option)


def _read(tables: list[str], *, challenge: str) -> tuple[dict[str, list[pl.DataFrame]], dict[str, Any], list[str]]:
    """Tables by team, what they have in common, and what an organiser should know of what they have not.

    Tables of another challenge or cohort do not belong together at all.
    """
    from isocenter import scores

    by_team: dict[str, list[pl.DataFrame]] = {}
    records: dict[str, dict[str, Any]] = {}
    for argument in tables:
        team, equals, path = argument.partition("=")
        if not (equals and team and path):
            msg = f"{argument!r} should be TEAM=TABLE, for example radlab=radlab.parquet"
            raise typer.BadParameter(msg, param_hint="TEAM=TABLE")
        if not Path(path).is_file():
            msg = f"{team}: there is no table {path}; `isocenter score … --out {path}` writes one"
            raise typer.BadParameter(msg, param_hint="TEAM=TABLE")
        record = records[path] = scores.read_record(path)
        if record.get("challenge", challenge) != challenge:
            typer.echo(f"{path} holds scores of {record['challenge']}, not of {challenge}", err=True)
            raise typer.Exit(1)
        by_team.setdefault(team, []).append(scores.read(path))
    _one_reference(records)
    remarks = [
        f"Note: the tables were made {how}; score them all again to be sure that they compare."
        for how, name in (("by different versions of the code", "code"), ("under different policies", "policies"))
        if len({str(record.get(name)) for record in records.values()}) > 1
    ]
    common = next(iter(records.values()), {})
    return (
        by_team,
        {name: common.get(name, "") for name in ("challenge", "isocenter", "policies", "reference")},
        remarks,
    )


def _one_reference(records: dict[str, dict[str, Any]]) -> None:
    references = {path: record.get("reference", "") for path, record in records.items()}
    if len(set(references.values())) > 1:
        lines = "\n".join(f"  {path}: reference {digest[:12] or 'unknown'}" for path, digest in references.items())
        typer.echo(f"The tables were not scored against one and the same reference:\n{lines}", err=True)
        raise typer.Exit(1)
