"""`isocenter check`: is this submission what the challenge asks for?"""

from __future__ import annotations

import json

import typer

from isocenter.cli._arguments import ChallengeName, Grid, Json, Phase, Reference, Submission, Workers, executor, setting
from isocenter.cli._terminal import HELP_PAGE, count_problems, problem_dicts, progress, show_failure, show_problems


def check(
    challenge: ChallengeName,
    *,
    reference: Reference,
    submission: Submission,
    grid: Grid = None,
    phase: Phase = None,
    workers: Workers = 1,
    as_json: Json = False,
) -> None:
    r"""Check a submission and list all that is wrong with it. Changes nothing.

    Looks at names, completeness, archive members, geometry, values and file
    sizes. Exits with 1 if there is anything worse than a note, and with 3 if
    the evaluator failed, which is not about the submission.

    Example: isocenter check hecktor2020 --reference reference/ \
             --submission team.zip
    """
    from isocenter import evaluation
    from isocenter.problems import EvaluationFailed, printable

    which, name = setting(challenge, grid, phase), printable(submission.name)
    with progress() as start:
        pool = executor(workers)
        try:
            problems = evaluation.check(
                which.challenge,
                reference=reference,
                submission=submission,
                grid=which.grid,
                cases=which.cases,
                executor=pool,
                progress=start("checking"),
            )
        finally:
            if pool is not None:
                pool.shutdown(cancel_futures=True)
    if any(problem.is_failure for problem in problems):
        raise show_failure(EvaluationFailed(which.challenge.name, problems), done="scored or changed", as_json=as_json)
    serious = [problem for problem in problems if problem.severity != "note"]
    if as_json:
        typer.echo(json.dumps({"ok": not serious, "problems": problem_dicts(problems)}, indent=2, ensure_ascii=False))
    elif not serious:
        typer.echo(f"{which.challenge.name}: {name} is complete and well-formed.")
        if problems:
            show_problems(problems)
    else:
        verdict = f"{len(serious)} problems" if len(serious) != 1 else "1 problem"
        typer.echo(f"{which.challenge.name}: {name} has {verdict}; nothing was scored or changed.\n")
        show_problems(problems)
        typer.echo(f"\n{count_problems(problems)}. What to do about each: {HELP_PAGE}")
    raise typer.Exit(1 if serious else 0)
