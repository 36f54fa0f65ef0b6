"""`isocenter rank`: score tables to a leaderboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import ChallengeName, Json, Phase
from isocenter.cli._entries import BoardName, open_contest
from isocenter.cli._tables import give_up, refuse_to_overwrite
from isocenter.cli._terminal import bootstrap_progress, show_board

if TYPE_CHECKING:
    from isocenter.contest import Decision


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
    board: BoardName = None,
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
            min=0,
            max=10_000_000,
            help="Bootstrap resamples of the cases for intervals, rank sets, P(first) and P(best); 0: none.",
        ),
    ] = 10_000,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The coverage of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of the resamples.")] = 0,
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
    from isocenter.ranking import capabilities_of

    refuse_to_overwrite(tables, {"--out": out, "--html": html, "--receipt": receipt, "--details": details})
    opened = open_contest(
        challenge,
        tables,
        board=board,
        organiser=organiser,
        benchmark=benchmark,
        chosen=chosen,
        void=void,
        phase=phase,
        run_times=run_times,
    )
    try:
        with bootstrap_progress() as progress:
            decision = opened.contest.decide(
                opened.board, resamples=replicates, level=level, seed=seed, progress=progress
            )
    except ValueError as error:
        give_up(str(error), opened.remarks)
    _write(decision, opened.record, out=out, html=html, details=details, receipt=receipt)
    if as_json:
        typer.echo(decision.board.to_json(), nl=False)
    else:
        show_board(
            decision.board,
            title=opened.challenge.title,
            means=decision.means() if capabilities_of(decision.rule).shows_means else {},
        )
        for path in (out, html, details, receipt):
            if path is not None:
                typer.echo(f"Written to {path}")
    # For the organisers only: these do not belong on a board.
    disqualified = [
        f"{row.submission} is disqualified: {row.missing} missing, {row.failed} unusable cases."
        for row in decision.board.unlisted
        if row.disqualified
    ]
    for remark in (*opened.remarks, *disqualified):
        typer.echo(remark, err=True)


def _write(
    decision: Decision,
    record: dict[str, Any],
    *,
    out: Path | None,
    html: Path | None,
    details: Path | None,
    receipt: Path | None,
) -> None:
    """Write what was asked for; a board that can have no receipt is not written at all, if one was asked for."""
    from isocenter import atomic
    from isocenter.ranking import DescriptionError

    texts: dict[Path, str] = {}
    if receipt is not None:
        try:
            texts[receipt] = decision.receipt.to_json()
        except DescriptionError as error:
            give_up(f"There can be no receipt of the board {decision.board.name}: {error}", ())
    if out is not None:
        texts[out] = decision.board.to_json()
    if details is not None:
        known = decision.uncertainty.to_dict(set(decision.teams)) if decision.uncertainty else {}
        texts[details] = json.dumps(known, indent=2, ensure_ascii=False) + "\n"
    if html is not None:
        texts[html] = _page(decision, record)
    for path, text in texts.items():
        atomic.write_text(text, path)


def _page(decision: Decision, record: dict[str, Any]) -> str:
    from isocenter import report

    challenge = decision.contest.challenge
    return report.leaderboard_page(
        challenge.title,
        decision.board,
        decision.scores,
        figures=report.detection_figures(decision.findings()),
        record=record,
        discreet=challenge.participation.discreet,
    )
