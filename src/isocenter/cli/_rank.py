"""`isocenter rank`: score tables to a leaderboard."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import ChallengeName, Json, Phase, setting
from isocenter.cli._receipt import begin_receipt, write_receipt
from isocenter.cli._terminal import progress, show_board

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

    from isocenter.cli._arguments import Setting
    from isocenter.evaluation import Challenge
    from isocenter.ranking import Board, RankUncertainty


def rank(
    challenge: ChallengeName,
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TEAM=TABLE…",
            help="Score tables by team, as `isocenter score` wrote them. A team named again adds a later submission; "
            "TEAM@2022-06-01T12:00:00Z=TABLE says when it was made.",
        ),
    ],
    *,
    out: Annotated[Path | None, typer.Option(help="Also write the board as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write it as a self-contained HTML page.")] = None,
    details: Annotated[
        Path | None,
        typer.Option(
            help="Also write all that is known of the ranks (JSON): how often each, who beats whom, Kendall's tau."
        ),
    ] = None,
    receipt: Annotated[
        Path | None,
        typer.Option(help="Also write what `isocenter verify` needs to make the board again (JSON)."),
    ] = None,
    board: Annotated[str | None, typer.Option(help="Which board of the challenge.", show_default="the first")] = None,
    organiser: Annotated[list[str] | None, typer.Option(help="A team of the organisers' institutes.")] = None,
    benchmark: Annotated[list[str] | None, typer.Option(help="A row to compare with, which is not ranked.")] = None,
    chosen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEAM=TABLE", help="The submission that a team chose of its several, where the chosen one counts."
        ),
    ] = None,
    void: Annotated[
        list[str] | None,
        typer.Option(metavar="TEAM=TABLE", help="A submission that does not count, such as one without a survey."),
    ] = None,
    phase: Phase = None,
    replicates: Annotated[
        int,
        typer.Option(
            min=0, max=10_000_000, help="How often cases are drawn for intervals, rank sets and chances; 0: not at all."
        ),
    ] = 10_000,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The coverage of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
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
    from isocenter.doors import counting_scores, means_in_brackets, with_uncertainty

    chosen_setting = setting(challenge, phase=phase)
    which = chosen_setting.challenge
    tables, moments = _dated(tables)
    tables, outside = _inside(chosen_setting, tables, moments)
    _refuse_to_overwrite(
        tables,
        {
            "--out": (out, ".json"),
            "--html": (html, ".html"),
            "--receipt": (receipt, ".json"),
            "--details": (details, ".json"),
        },
    )
    by_team, record, remarks = _read(tables, challenge=which.name)
    wishes = _chosen(chosen or [], tables)
    lost = _positions("--void", void or [], tables)
    remarks += outside
    _refuse_other_cohorts(chosen_setting, by_team)
    if which.participation.per != "phase" and any(
        len(given) > 1 and team not in moments for team, given in by_team.items()
    ):
        remarks.append(
            f"Note: the quota is {which.participation.quota} per {which.participation.per}; it is not enforced for "
            "teams whose submissions have no time (TEAM@2022-06-01T12:00:00Z=TABLE)."
        )
    _refuse_nonsense(which, by_team, board=board, named={"--organiser": organiser, "--benchmark": benchmark})
    begun = begin_receipt(
        receipt,
        which,
        tables,
        by_team,
        board=board,
        organisers=organiser or (),
        benchmarks=benchmark or (),
        moments=moments,
        chosen=wishes,
        void=lost,
        run_times=run_times,
        replicates=replicates,
        seed=seed,
        level=level,
    )
    if run_times is not None:
        by_team, told = _with_run_times(which, by_team, run_times)
        remarks += told
    try:
        result = isocenter.rank(
            which,
            by_team,
            board=board,
            organisers=organiser or (),
            benchmarks=benchmark or (),
            chosen=wishes,
            moments=moments,
            void=lost,
        )
        counted = counting_scores(which, by_team, board=board, chosen=wishes, moments=moments, void=lost)
        found = None
        if replicates and not which.participation.discreet:
            with progress() as start:
                move = start("drawing cases")
                result, found = with_uncertainty(
                    which,
                    result,
                    counted,
                    replicates=replicates,
                    level=level,
                    seed=seed,
                    organisers=organiser or (),
                    benchmarks=benchmark or (),
                    progress=lambda done, total: move(done, total, ""),
                )
    except ValueError as error:
        for text in (*remarks, str(error)):
            typer.echo(text, err=True)
        raise typer.Exit(1) from None
    _write(which, result, counted, found, record, out=out, details=details, html=html)
    write_receipt(begun, result, receipt)
    if as_json:
        typer.echo(result.to_json(), nl=False)
    else:
        means = means_in_brackets(which, counted) if _ranks_means(which, result) else {}
        show_board(result, title=which.title, means=means)
        for path in (out, html, details, receipt):
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


def _write(
    which: Challenge,
    board: Board,
    counted: pl.DataFrame,
    found: RankUncertainty | None,
    record: dict[str, Any],
    *,
    out: Path | None,
    details: Path | None,
    html: Path | None,
) -> None:
    """Write what was asked for."""
    from isocenter import atomic, report
    from isocenter.doors import findings_by_team

    if out is not None:
        atomic.write_text(board.to_json(), out)
    if details is not None:
        known = found.to_dict({row.submission for row in board.rows}) if found else {}
        atomic.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", details)
    if html is not None:
        figures = report.detection_figures(findings_by_team(which, board, counted))
        discreet = which.participation.discreet
        page = report.leaderboard_page(which.title, board, counted, figures=figures, record=record, discreet=discreet)
        atomic.write_text(page, html)


def _ranks_means(challenge: Challenge, board: Board) -> bool:
    """Whether means of cases belong beside the scores: those of a median board are of another kind."""
    from isocenter.ranking import MeanThenRank, WeightedRanks

    return isinstance(challenge.boards[board.name], MeanThenRank | WeightedRanks)


def _inside(which: Setting, tables: list[str], moments: dict[str, list[datetime]]) -> tuple[list[str], list[str]]:
    """The tables that were submitted while the phase was open, their moments with them, and a remark on the others."""
    if which.phase is None:
        return tables, []
    kept, remarks, seen = [], [], dict.fromkeys(moments, 0)
    inside: dict[str, list[datetime]] = {}
    for argument in tables:
        team = argument.partition("=")[0]
        if team in moments:
            moment = moments[team][seen[team]]
            seen[team] += 1
            if not which.phase.opens <= moment < which.phase.closes:
                remarks.append(
                    f"{team}: the submission of {moment.isoformat()} is not of the phase {which.phase.name}."
                )
                continue
            inside.setdefault(team, []).append(moment)
        kept.append(argument)
    moments.clear()
    moments.update(inside)
    return kept, remarks


def _refuse_other_cohorts(which: Setting, by_team: dict[str, list[pl.DataFrame]]) -> None:
    """Tables of another cohort than the phase's are of another phase."""
    expected = which.phase.cases if which.phase else None
    sizes = {team: {_cases(table) for table in tables} for team, tables in by_team.items()}
    if wrong := [team for team, found in sizes.items() if expected is not None and found != {expected}]:
        counted = " and ".join(map(str, sorted(sizes[wrong[0]])))
        assert which.phase is not None
        typer.echo(f"The phase {which.phase.name} has {expected} cases, the tables of {wrong[0]} {counted}.", err=True)
        raise typer.Exit(1)


def _cases(table: pl.DataFrame) -> int:
    return table["case"].n_unique() - ("" in table["case"])


def _dated(tables: list[str]) -> tuple[list[str], dict[str, list[datetime]]]:
    """Arguments without the times in them, and the times of the teams that have one for each submission."""
    plain: list[str] = []
    moments: dict[str, list[datetime]] = {}
    undated: set[str] = set()
    for argument in tables:
        named, equals, path = argument.partition("=")
        team, _, time = named.rpartition("@")
        try:
            moment = datetime.fromisoformat(time) if team else None
        except ValueError as error:
            if re.match(r"[0-9]{4}-[0-9]{2}", time):
                msg = f"{time} is no time: {error}"
                raise typer.BadParameter(msg, param_hint="TEAM@TIME=TABLE") from None
            moment = None  # an @ in the name of a team
        if moment is None:
            undated.add(named)
            plain.append(argument)
            continue
        if moment.utcoffset() is None:
            msg = f"{time} has no zone; add the difference to UTC, as in 2022-06-01T12:00:00+02:00"
            raise typer.BadParameter(msg, param_hint="TEAM@TIME=TABLE")
        moments.setdefault(team, []).append(moment)
        plain.append(f"{team}{equals}{path}")
    if mixed := sorted(undated & moments.keys()):
        msg = f"some submissions of {mixed[0]} have a time and some have none"
        raise typer.BadParameter(msg, param_hint="TEAM@TIME=TABLE")
    return plain, moments


def _chosen(wishes: list[str], tables: list[str]) -> dict[str, int]:
    """By team, the position of the one table that it chose."""
    found = _positions("--chosen", wishes, tables)
    for team, positions in found.items():
        if len(positions) > 1:
            msg = f"{team} has chosen {len(positions)} submissions; it has one to choose"
            raise typer.BadParameter(msg, param_hint="--chosen")
    return {team: positions[0] for team, positions in found.items()}


def _positions(option: str, named: list[str], tables: list[str]) -> dict[str, list[int]]:
    """By team, the positions of the tables that an option names."""
    found: dict[str, list[int]] = {}
    for argument in named:
        team, _, path = argument.partition("=")
        its = [given.partition("=")[2] for given in tables if given.partition("=")[0] == team]
        if path not in its:
            msg = f"{argument!r} is none of the tables of {team} ({', '.join(its) or 'none'})"
            raise typer.BadParameter(msg, param_hint=option)
        found.setdefault(team, []).append(its.index(path))
    return found


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
        others = [other for name, (other, _) in written.items() if name != option]
        if path is not None and (path.suffix != suffix or path in inputs or path in others):
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
    from isocenter.problems import printable

    by_team: dict[str, list[pl.DataFrame]] = {}
    records: dict[str, dict[str, Any]] = {}
    for argument in tables:
        team, equals, path = argument.partition("=")
        if not (equals and team and path):
            msg = f"{argument!r} should be TEAM=TABLE, for example radlab=radlab.parquet"
            raise typer.BadParameter(msg, param_hint="TEAM=TABLE")
        if team != printable(team) or team != team.strip():
            msg = f"{printable(team)!r} is no name: it has blanks at its ends, or signs that cannot be printed"
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
