"""Synthetic radiologists who read exams of the prostate: points, PI-RADS and a score."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from isocenter.metrics import Mark
from isocenter.phantoms._fields import Array, middle
from isocenter.phantoms._prostate import ProstateExam
from isocenter.phantoms._prostate_findings import draw_shape, likelihood, opinion

_MOST_MARKS = 4
_STEP = 1.1  # of the impression, from one PI-RADS to the next
_FURTHEST = 4.0  # mm that a mark is off at most, along each axis: none leaves the image
_UNMARKED = 30  # the highest score of a patient in whom nothing was marked


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamReader:
    """How a radiologist reads.

    Everything that may be cancer makes an impression on a reader, as it does on a `DetectionTeam`.

    Attributes
    ----------
    name
        Also the seed of the errors.
    expert
        Whether this is an expert.
    error
        Standard deviation of the errors of impression.
    threshold
        The impression from which on a finding is marked as PI-RADS 3; a low one is the habit of a cautious reader.
    false_alarms
        Mean number of marks per exam where there is nothing at all.
    aim
        Standard deviation of a mark from the centre of what it marks, along each axis, mm.
    """

    name: str
    expert: bool
    error: float
    threshold: float
    false_alarms: float = 0.02
    aim: float = 1.2


READERS: tuple[ExamReader, ...] = (
    ExamReader(name="Reader A", expert=True, error=0.9, threshold=-0.7),
    ExamReader(name="Reader B", expert=False, error=1.6, threshold=-0.3, false_alarms=0.1, aim=1.8),
    ExamReader(name="Reader C", expert=True, error=1.0, threshold=-0.5),
    ExamReader(name="Reader D", expert=False, error=1.8, threshold=-0.1, false_alarms=0.15, aim=2.0),
    ExamReader(name="Reader E", expert=True, error=1.1, threshold=-0.8),
    ExamReader(name="Reader F", expert=False, error=2.0, threshold=-0.4, false_alarms=0.1, aim=2.2),
)
"""Six of them, every other one an expert; each with a threshold of their own."""


class Reading(NamedTuple):
    """What a reader says of an exam.

    Attributes
    ----------
    marks
        At most four points in LPS millimetres, to a hundredth, with PI-RADS 3 to 5; the most suspicious first.
    score
        The likelihood of significant cancer, 0 to 100; at most 30 without a mark.
    """

    marks: tuple[Mark, ...]
    score: int


def read_exam(exam: ProstateExam, reader: ExamReader, *, number: int, seed: int = 0) -> Reading:
    """What a reader says of an exam.

    Parameters
    ----------
    number, seed
        Which patient, in which run; with the reader's name they decide every mistake.
    """
    rng = np.random.default_rng([seed, number, zlib.crc32(reader.name.encode())])
    places = [finding.shape.centre for finding in exam.findings]
    impressions = [finding.conspicuity + reader.error * float(rng.normal()) for finding in exam.findings]
    for _ in range(int(rng.poisson(reader.false_alarms))):
        places.append(draw_shape(rng, exam.gland, radius=5.0, central=rng.random() < 0.4).centre)
        impressions.append(reader.threshold + float(rng.exponential(0.7)))
    aims = rng.normal(0.0, reader.aim, size=(len(places), 3)).clip(-_FURTHEST, _FURTHEST)
    order = sorted(range(len(places)), key=lambda i: -impressions[i])
    marks = tuple(
        Mark(_world(exam, places[i] + aims[i]), 3 + min(int((impressions[i] - reader.threshold) / _STEP), 2))
        for i in order[:_MOST_MARKS]
        if impressions[i] >= reader.threshold
    )
    error = reader.error * float(rng.normal())
    score = round(100.0 * likelihood(opinion(impressions, error=error, psa=float(exam.facts["psa"]))))
    return Reading(marks, score if marks else min(score, _UNMARKED))


def _world(exam: ProstateExam, point: Array) -> tuple[float, float, float]:
    """A point that is given in mm from the middle, LPS, to a hundredth of a millimetre."""
    x, y, z = (middle(exam.grid) + point).round(2).tolist()
    return x, y, z
