"""The two calls of most people, with challenges by name or as objects."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import Executor

from isocenter.evaluation._challenge import Challenge
from isocenter.evaluation._evaluation import Evaluation
from isocenter.evaluation._registry import load_challenge
from isocenter.evaluation._run import check, evaluate
from isocenter.problems import Problem, report
from isocenter.submissions import GridPolicy

Path = str | os.PathLike[str]


def check_submission(
    challenge: str | Challenge,
    *,
    reference: Path,
    submission: Path,
    executor: Executor | None = None,
    grid: GridPolicy = "refuse",
) -> tuple[Problem, ...]:
    """Everything that is wrong with a submission; empty if nothing is.

    Examples
    --------
    >>> import isocenter
    >>> isocenter.check("hecktor2020", reference="reference/", submission="team.zip")  # doctest: +SKIP
    (Problem(severity='missing', message='expected CHUV012.nii.gz', case='CHUV012', file='', code='missing_output',
    origin='output'),)
    """
    which = load_challenge(challenge)
    return check(which, reference=reference, submission=submission, executor=executor, grid=grid)


def evaluate_submission(
    challenge: str | Challenge,
    *,
    reference: Path,
    submission: Path,
    executor: Executor | None = None,
    grid: GridPolicy = "refuse",
) -> Evaluation:
    """Score a submission: a polars table with the columns case, part, metric, value, weight, one row per number.

    The result prints a summary, and keeps `problems` and `record`.

    Parameters
    ----------
    challenge
        Name, or object.
    reference, submission
        A folder or a zip each.
    executor
        Where cases run; here, one after the other, if none is given. Any `concurrent.futures.Executor` does: threads,
        processes, or that of a `distributed.Client`. The table is the same for all of them.
    grid
        What happens to an output on another grid than its reference: "refuse", "resample" or "trust-index".

    Raises
    ------
    SubmissionRefused
        If the submission as a whole cannot be used. A single case that cannot is in the table without a value, and
        named in a warning.
    EvaluationFailed
        If the evaluator or the machine failed in some case, through no fault of the output.
    """
    which = load_challenge(challenge)
    result = evaluate(which, reference=reference, submission=submission, executor=executor, grid=grid)
    if lost := [problem for problem in result.problems if problem.severity == "unusable"]:
        warnings.warn(f"{os.fspath(submission)}: not everything could be measured\n{report(lost)}", stacklevel=2)
    return result
