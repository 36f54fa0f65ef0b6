"""`isocenter score`: a submission to a score table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._arguments import ChallengeName, Grid, Json, Phase, Setting, Workers, executor, setting
from isocenter.cli._terminal import HELP_PAGE, count_problems, problem_dicts, progress, show_failure, show_problems

if TYPE_CHECKING:
    import polars as pl

    from isocenter.evaluation import Challenge, Evaluation
    from isocenter.problems import Problem
    from isocenter.ranking import Board


Cohorts = Annotated[
    list[str],
    typer.Option(
        "--reference",
        metavar="[NAME=]PATH",
        help="The organisers' folder or zip; with NAME=, as often as wanted, those of further cohorts.",
    ),
]
Outputs = Annotated[
    list[str],
    typer.Option(
        "--submission",
        metavar="[NAME=]PATH",
        help="The team's folder or zip; with NAME=, its outputs for a further cohort, where they lie elsewhere.",
    ),
]


def score(
    challenge: ChallengeName,
    *,
    reference: Cohorts,
    submission: Outputs,
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

    One submission can be scored on further cohorts in the same run. Their
    tables go to cohorts/NAME/scores beside scores, where reports find them:

    Example: isocenter score lung2019 --reference validation/ \
             --reference holdout=holdout/ --submission team/ \
             --submission holdout=team-holdout/ --out scores/team.parquet
    """
    from isocenter import scores
    from isocenter.problems import printable

    which = setting(challenge, grid, phase)
    if out.is_dir() or out.suffix != ".parquet":
        msg = f"{out} should be a file that ends in .parquet"
        raise typer.BadParameter(msg, param_hint="--out")
    runs = _plan_runs(
        which.challenge, _by_cohort(reference, "--reference"), _by_cohort(submission, "--submission"), out
    )
    results = [_evaluate(run, which, workers, as_json=as_json) for run in runs]
    for run, result in zip(runs, results, strict=True):  # all tables or none: each run is over before one is written
        scores.write(result.scores, run.out, record=result.record)
        run.journal.unlink(missing_ok=True)
    summaries: list[dict[str, object]] = []
    for number, (run, result) in enumerate(zip(runs, results, strict=True)):
        name = printable(run.submission.name)
        if as_json:
            summaries.append(_summarise(which.challenge, run, result, name))
        else:
            if number:
                typer.echo(f"\nCohort {run.cohort}")
            _print_result(which.challenge, run, result, name)
    if as_json:
        further = {run.cohort: summary for run, summary in zip(runs[1:], summaries[1:], strict=True)}
        typer.echo(json.dumps(summaries[0] | ({"cohorts": further} if further else {}), indent=2, ensure_ascii=False))
    raise typer.Exit(1 if any(map(_has_failed, results)) else 0)


@dataclass(frozen=True)
class _Run:
    """What is scored on one cohort, and where its table goes; "" is the cohort of the phase."""

    cohort: str
    reference: Path
    submission: Path
    elsewhere: frozenset[str]
    out: Path

    @property
    def journal(self) -> Path:
        """Where finished cases are kept until the table is written."""
        return self.out.with_name(f"{self.out.name}.journal")


def _by_cohort(given: Sequence[str], option: str) -> dict[str, Path]:
    """Paths by the name of their cohort, "" where none is named; all that is wrong with them at once."""
    paths: dict[str, Path] = {}
    problems: list[str] = []
    for text in given:
        name, _, path = text.partition("=")
        if Path(text).exists() or not re.fullmatch(r"[a-z][a-z0-9_-]*", name):  # a path may hold a = by itself
            name, path = "", text
        if name in paths:
            problems.append(f"{'two paths have no name' if not name else f'{name} is given twice'}; write NAME=PATH")
        elif not path or not Path(path).exists():
            problems.append(f"Path '{path}' does not exist.")
        else:
            paths[name] = Path(path)
    if "" not in paths and not problems:
        problems.append("one path without NAME= is needed, for the cohort of the phase")
    if problems:
        raise typer.BadParameter("; ".join(problems), param_hint=option)
    return paths


def _plan_runs(
    challenge: Challenge, references: Mapping[str, Path], submissions: Mapping[str, Path], out: Path
) -> list[_Run]:
    """A run for every cohort, that of the phase first."""
    from isocenter.evaluation import open_cohort

    if unknown := [name for name in submissions if name not in references]:
        msg = f"there is no reference {unknown[0]}; write --reference {unknown[0]}=PATH"
        raise typer.BadParameter(msg, param_hint="--submission")
    several = len(references) > 1
    cases = {
        name: frozenset(case.name for case in open_cohort(challenge, path).cases) if several else frozenset[str]()
        for name, path in references.items()
    }
    runs = []
    for name in ("", *(name for name in references if name)):
        path = submissions.get(name, submissions[""])
        # Files of cases that another cohort has are no mistake where both are in one submission.
        shared = [other for other in references if submissions.get(other, submissions[""]) == path]
        elsewhere = frozenset().union(*(cases[other] for other in shared)) - cases[name]
        runs.append(_Run(name, references[name], path, elsewhere, _place(out, name)))
    return runs


def _place(out: Path, cohort: str) -> Path:
    """Where the table of a further cohort goes: into cohorts/NAME/scores beside scores, as reports read it."""
    if not cohort:
        return out
    home = next((folder for folder in out.parents if folder.name == "scores"), None)
    below = Path(out.name) if home is None else out.relative_to(home)
    return (out.parent if home is None else home.parent) / "cohorts" / cohort / "scores" / below


def _evaluate(run: _Run, which: Setting, workers: int, *, as_json: bool) -> Evaluation:
    """Score one cohort; whatever is in the way ends the command."""
    from isocenter import evaluation
    from isocenter.problems import EvaluationFailed, SubmissionRefused, printable

    run.out.parent.mkdir(parents=True, exist_ok=True)
    pool = executor(workers)
    try:
        with progress() as start:
            return evaluation.evaluate(
                which.challenge,
                reference=run.reference,
                submission=run.submission,
                grid=which.grid,
                cases=None if run.cohort else which.cases,
                elsewhere=run.elsewhere,
                executor=pool,
                progress=start(f"scoring {run.cohort}".rstrip()),
                journal=run.journal,
            )
    except SubmissionRefused as refusal:
        name = printable(run.submission.name)
        raise _show_refusal(which.challenge, name, refusal.problems, as_json=as_json) from None
    except EvaluationFailed as failure:
        kept = str(run.journal) if run.journal.exists() else ""
        raise show_failure(failure, done="scored", kept=kept, as_json=as_json) from None
    except KeyboardInterrupt:
        kept = f"Finished cases are kept in {run.journal}; the same command continues." if run.journal.exists() else ""
        typer.echo(f"\nStopped. {kept}".rstrip(), err=True)
        raise typer.Exit(130) from None
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _has_failed(result: Evaluation) -> bool:
    return any(problem.severity == "unusable" for problem in result.problems)


def _summarise(challenge: Challenge, run: _Run, result: Evaluation, name: str) -> dict[str, object]:
    boards = _score_boards(challenge, result.scores, name)
    means = {one: None if isinstance(board, str) else board[name].score for one, board in boards.items()}
    summary = {"ok": not _has_failed(result), "out": str(run.out), "score": means, **result.record}
    return summary | {"problems": problem_dicts(result.problems)}


def _print_result(challenge: Challenge, run: _Run, result: Evaluation, name: str) -> None:
    from isocenter.metrics import catalogue

    counts = ", ".join(f"{count} {state}" for state, count in result.record["cases"].items() if count)
    if result.problems:
        show_problems(result.problems)
        typer.echo("")
    for board, alone in _score_boards(challenge, result.scores, name).items():
        notes = alone if isinstance(alone, str) else "; ".join(alone.notes)
        shown = "–" if isinstance(alone, str) else catalogue.get(alone.metric).show(alone[name].score)
        typer.echo(f"{shown}  {challenge.boards[board]}" + (f" ({notes})" if notes else ""))
    typer.echo(f"{challenge.name}: {name} scored: {counts}. Written to {run.out}")


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
