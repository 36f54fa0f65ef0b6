"""Check and evaluate: one submission against a reference."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import Executor

import polars as pl

from isocenter import evaluation
from isocenter.evaluation import Challenge, load_challenge
from isocenter.problems import Problem, report
from isocenter.submissions import GridPolicy

Path = str | os.PathLike[str]


def challenge(name: str | Challenge) -> Challenge:
    """The challenge of a name; a challenge itself is given back, so that every call takes either."""
    return load_challenge(name) if isinstance(name, str) else name


def check(
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
    (Problem(severity='missing', message='expected CHUV012.nii.gz', case='CHUV012', file=''),)
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    return evaluation.check(which, reference=reference, submission=submission, executor=executor, grid=grid)


def evaluate(
    challenge: str | Challenge,
    *,
    reference: Path,
    submission: Path,
    executor: Executor | None = None,
    grid: GridPolicy = "refuse",
) -> pl.DataFrame:
    """Score a submission and return its table: one row per number, columns case, part, metric, value, weight.

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
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    result = evaluation.evaluate(which, reference=reference, submission=submission, executor=executor, grid=grid)
    if lost := [problem for problem in result.problems if problem.severity == "unusable"]:
        warnings.warn(f"{os.fspath(submission)}: not everything could be measured\n{report(lost)}", stacklevel=2)
    return result.scores
