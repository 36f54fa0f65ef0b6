"""Run time per beam, from what the platform says of its jobs.

The page says: total time ÷ number of beams. The organisers, by participants' accounts, fit over all jobs

    T = t_fixed + images · t_image + beams · t_beam,    no term negative,

and report what the fit says of one image with 181 control points (photons) or 500 pencil beams (protons). Here both are
times per beam, so that the limit is 1 s either way: `run_time` is the fit, `run_time_mean` the plain ratio.

Jobs come as a CSV file with one line per job::

    submission,modality,seconds,images,beams
    radlab,photon,311.5,10,1810
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from isocenter.challenges.doserad2026 import _metrics  # noqa: F401 (its rows need their metrics)
from isocenter.challenges.doserad2026._geometry import Modality
from isocenter.challenges.doserad2026._words import told
from isocenter.scores import Row, frame

How = Literal["as-run", "as-described"]

SCENARIO: Mapping[Modality, int] = {"photon": 181, "proton": 500}
"""How many beams the fitted time is told for: the control points of a plan of photons, the pencil beams of protons."""

_BEAMS: Mapping[Modality, str] = {"photon": "control points", "proton": "pencil beams"}

# More seconds, images or beams than any job has: thirty years, for one.
_MOST = 1_000_000_000

_COLUMNS = ("submission", "modality", "seconds", "images", "beams")


class Job(NamedTuple):
    """One run of an algorithm on the platform: how long it took, for how many images and beams."""

    seconds: float
    images: int
    beams: int


@dataclass(frozen=True, slots=True)
class JobList:
    """All jobs of a task by submission."""

    modality: Modality
    jobs: Mapping[str, tuple[Job, ...]]


def run_time(jobs: Sequence[Job], *, modality: Modality, how: How = "as-run") -> float:
    """Seconds per beam of a submission; lower is better.

    "as-described": Σ seconds / Σ beams. "as-run": the non-negative least-squares fit of the module's formula, at one
    image and the beams of `SCENARIO`, divided by these. A fit needs jobs that tell its three terms apart: if all have
    as many images, or beams in proportion to images, it is an error.

    Examples
    --------
    >>> jobs = [Job(40.0, 1, 100), Job(70.0, 2, 200), Job(60.0, 1, 200)]
    >>> run_time(jobs, modality="photon", how="as-described")
    0.34
    >>> round(181 * run_time(jobs, modality="photon"), 6)  # 10 s, 10 s per image, 0.2 s per beam
    56.2
    """
    if not jobs:
        msg = "a submission without jobs has no run time"
        raise ValueError(msg)
    if how == "as-described":
        return math.fsum(job.seconds for job in jobs) / sum(job.beams for job in jobs)
    from scipy.optimize import nnls

    terms = np.array([(1.0, job.images, job.beams) for job in jobs])
    if np.linalg.matrix_rank(terms) < 3:
        msg = (
            f"the {len(jobs)} jobs do not tell start-up, images and beams apart: a fit needs at least three, "
            f"that differ in images and, independently, in beams"
        )
        raise ValueError(msg)
    per_term, _ = nnls(terms, np.array([job.seconds for job in jobs]))
    beams = SCENARIO[modality]
    return float(per_term @ (1.0, 1.0, beams)) / beams


def run_times(jobs: JobList, *, how: How = "as-run") -> dict[str, float]:
    """Seconds per beam of every submission."""
    times = {}
    for submission, found in jobs.jobs.items():
        try:
            times[submission] = run_time(found, modality=jobs.modality, how=how)
        except ValueError as error:
            msg = f"run time of {submission}: {error}"
            raise ValueError(msg) from None
    return times


def read_jobs(path: str | os.PathLike[str]) -> JobList:
    """Read a CSV file of jobs; all that is wrong with it is in one error."""
    path = Path(path)
    rows = _rows(path)
    problems: list[str] = []
    jobs: dict[str, list[Job]] = {}
    modalities: dict[str, int] = {}
    for line, row in rows:
        submission, modality = ((row[name] or "").strip() for name in ("submission", "modality"))
        seconds, images, beams = _number(row["seconds"]), _count(row["images"]), _count(row["beams"])
        if not submission:
            problems.append(f"line {line} names no submission")
        if modality in get_args(Modality):
            modalities.setdefault(modality, line)
        else:
            problems.append(f"line {line}: modality {told(modality)}; expected photon or proton")
        for name, value in (("seconds", seconds), ("images", images), ("beams", beams)):
            if value is None:
                expected = "a positive time" if name == "seconds" else "a positive whole number"
                problems.append(f"line {line}: {name} {told(row[name])}; expected {expected}, at most {_MOST:,}")
        if seconds is not None and images is not None and beams is not None:
            jobs.setdefault(submission, []).append(Job(seconds, images, beams))
    if len(modalities) > 1:
        problems.append(f"several tasks: {', '.join(f'{m} (line {line})' for m, line in modalities.items())}")
    if not rows:
        problems.append("it lists no jobs")
    if problems:
        msg = f"{path.name} cannot be used:\n" + "\n".join(f"  {problem}" for problem in problems)
        raise ValueError(msg)
    modality = next(m for m in get_args(Modality) if m in modalities)
    return JobList(modality, {submission: tuple(found) for submission, found in jobs.items()})


def _rows(path: Path) -> list[tuple[int, dict[str, str | None]]]:
    """The lines of the file, numbered, by column."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        msg = f"{path.name}, line {line}: not UTF-8 (byte 0x{content[error.start]:02x}); save it as CSV in UTF-8"
        raise ValueError(msg) from None
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        found = [(lines.line_num, fields) for fields in lines if fields]
    except csv.Error as error:
        msg = f"{path.name}, line {lines.line_num}: not CSV: {error}"
        raise ValueError(msg) from None
    header = found[0][1] if found else []
    expected = f"expected {', '.join(_COLUMNS)}"
    if lacking := [name for name in _COLUMNS if name not in header]:
        msg = f"{path.name} has no column {', '.join(lacking)}; {expected}"
        raise ValueError(msg)
    if more := [told(name) for i, name in enumerate(header) if name not in _COLUMNS or name in header[:i]]:
        msg = f"{path.name}, line {found[0][0]}: columns that are unknown or there twice: {', '.join(more)}; {expected}"
        raise ValueError(msg)
    if long := [line for line, fields in found if len(fields) > len(header)]:
        msg = f"{path.name}, line {long[0]}: more values than the {len(header)} columns; {expected}"
        raise ValueError(msg)
    return [(line, dict(zip_longest(header, fields))) for line, fields in found[1:]]


def run_time_tables(
    jobs: JobList, submissions: Iterable[str] | None = None
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Rows for score tables, by submission, and what an organiser should know.

    Parameters
    ----------
    submissions
        Who is to be ranked; one without jobs is an error. All that have jobs, if not given.

    Returns
    -------
    tables, remarks
        A table has `run_time` and `run_time_mean` in rows with an empty `case`: `polars.concat` puts them below a score
        table. Where a fit is not possible, `run_time` is left out, and a remark says why. The first remark says what
        the times are of: a file of another task looks just the same.
    """
    wanted = list(jobs.jobs if submissions is None else submissions)
    if lacking := [submission for submission in wanted if submission not in jobs.jobs]:
        msg = f"there are no jobs of {', '.join(lacking)}; there are some of {', '.join(sorted(jobs.jobs))}"
        raise ValueError(msg)
    tables = {}
    remarks = [f"run times of {jobs.modality}s: one image with {SCENARIO[jobs.modality]} {_BEAMS[jobs.modality]}"]
    for submission in wanted:
        found = jobs.jobs[submission]
        rows = [Row("", "", "run_time_mean", run_time(found, modality=jobs.modality, how="as-described"))]
        try:
            rows.insert(0, Row("", "", "run_time", run_time(found, modality=jobs.modality)))
        except ValueError as error:
            remarks.append(f"{submission} has no fitted run time: {error}")
        tables[submission] = frame(rows)
    return tables, remarks


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value <= _MOST else None


def _count(text: str | None) -> int | None:
    value = _number(text)
    return int(value) if value is not None and value == int(value) else None
