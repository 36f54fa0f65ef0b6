"""`isocenter score`: a submission to a score table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._arguments import ChallengeName, Grid, Json, Phase, Reference, Submission, Workers, executor, setting
from isocenter.cli._terminal import HELP_PAGE, count_problems, problem_dicts, progress, show_failure, show_problems

if TYPE_CHECKING:
    import polars as pl

    from isocenter.evaluation import Challenge
    from isocenter.problems import Problem
    from isocenter.ranking import Board


def score(
    challenge: ChallengeName,
    *,
    reference: Reference,
    submission: Submission,
    out: Annotated[Path, typer.Option(help="Where to write the score table (Parquet).")],
    grid: Grid = None,
    phase: Phase = None,
    workers: Workers = 0,
    as_json: Json = False,
) -> None:
    r"""Score a submission and write its table.

    Runs the same check as `isocenter check` first. A case that cannot be
    measured is listed and does not keep the others from being scored; the
    exit code is then 1. If the evaluator fails, nothing is scored, and the
    exit code is 3. If the run is stopped, the same command continues it.

    Example: isocenter score hecktor2020 --reference reference/ \
             --submission team.zip --out team.parquet
    """
    from isocenter import evaluation, scores
    from isocenter.metrics import catalogue
    from isocenter.problems import EvaluationFailed, SubmissionRefused, printable

    which, name = setting(challenge, grid, phase), printable(submission.name)
    if out.is_dir() or out.suffix != ".parquet":
        msg = f"{out} should be a file that ends in .parquet"
        raise typer.BadParameter(msg, param_hint="--out")
    journal = out.with_name(f"{out.name}.journal")
    pool = executor(workers)
    try:
        with progress() as start:
            result = evaluation.evaluate(
                which.challenge,
                reference=reference,
                submission=submission,
                grid=which.grid,
                cases=which.cases,
                executor=pool,
                progress=start("scoring"),
                journal=journal,
            )
    except SubmissionRefused as refusal:
        raise _show_refusal(which.challenge, name, refusal.problems, as_json=as_json) from None
    except EvaluationFailed as failure:
        kept = str(journal) if journal.exists() else ""
        raise show_failure(failure, done="scored", kept=kept, as_json=as_json) from None
    except KeyboardInterrupt:
        kept = f"Finished cases are kept in {journal}; the same command continues." if journal.exists() else ""
        typer.echo(f"\nStopped. {kept}".rstrip(), err=True)
        raise typer.Exit(130) from None
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    scores.write(result.scores, out, record=result.record)
    journal.unlink(missing_ok=True)
    failed = any(problem.severity == "unusable" for problem in result.problems)
    boards = _score_boards(which.challenge, result.scores, name)
    means = {one: None if isinstance(board, str) else board[name].score for one, board in boards.items()}
    if as_json:
        summary = {"ok": not failed, "out": str(out), "score": means, **result.record}
        summary["problems"] = problem_dicts(result.problems)
        typer.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        counts = ", ".join(f"{count} {state}" for state, count in result.record["cases"].items() if count)
        if result.problems:
            show_problems(result.problems)
            typer.echo("")
        for board, score in means.items():
            rule, alone = which.challenge.boards[board], boards[board]
            notes = alone if isinstance(alone, str) else "; ".join(alone.notes)
            shown = "–" if isinstance(alone, str) else catalogue.get(alone.metric).show(score)
            typer.echo(f"{shown}  {rule}" + (f" ({notes})" if notes else ""))
        typer.echo(f"{which.challenge.name}: {name} scored: {counts}. Written to {out}")
    raise typer.Exit(1 if failed else 0)


def _show_refusal(challenge: Challenge, name: str, problems: Sequence[Problem], *, as_json: bool) -> typer.Exit:
    """List what keeps a submission from being scored; gives the exit that says so, too."""
    if as_json:
        typer.echo(json.dumps({"ok": False, "problems": problem_dicts(problems)}, indent=2))
    else:
        typer.echo(f"{challenge.name}: {name} was not accepted; nothing was scored.\n", err=True)
        show_problems(problems)
        typer.echo(f"\n{count_problems(problems)}. What to do about each: {HELP_PAGE}")
    return typer.Exit(1)


def _score_boards(challenge: Challenge, table: pl.DataFrame, name: str) -> dict[str, Board | str]:
    """Each board with this submission alone, or why the rule has no number for it."""
    from isocenter.contest import Contest, Entry

    contest = Contest(challenge, [Entry(team=name, table=table)])
    boards: dict[str, Board | str] = {}
    for board in challenge.boards:
        try:
            boards[board] = contest.decide(board, resamples=0).board
        except ValueError as error:  # a metric that is undefined for some case has no mean
            boards[board] = str(error)
    return boards
