"""The DVH score: near-minimum and coverage of the target, near-maximum and mean of organs.

As run, errors are in per cent of the prescription, of V95 % in percentage points. As described, each is relative to the
reference's own value, and undefined where that is 0. Either way target and organs have one half each: a mean of two
means, not of eight numbers. If there is no target, or no organ, the other decides alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics.dvh import dvh_of

_TARGET = {"D98%": "D98%[Gy]", "V95%": "V95%[%]"}
_ORGAN = {"D2%": "D2%[Gy]", "mean": "Mean[Gy]"}

Criteria = Mapping[str, float]
"""By criterion, Gy or per cent of the volume."""


@dataclass(frozen=True, slots=True)
class DvhScore:
    """Errors by structure and criterion, and the score that they make; NaN where undefined."""

    errors: Mapping[str, Criteria]
    score: float


def criteria(doses: NDArray[np.float64], *, of_target: bool, voxel_volume: float, prescription: float) -> Criteria:
    """What the score looks at, of the doses of one structure."""
    histogram = dvh_of(doses, voxel_volume=voxel_volume)
    asked = _TARGET if of_target else _ORGAN
    return {
        name: float(histogram.evaluate(request, prescription=prescription, rule="doserad"))
        for name, request in asked.items()
    }


def score_as_run(
    reference: Mapping[str, Criteria], prediction: Mapping[str, Criteria], *, target: str | None, prescription: float
) -> DvhScore:
    """Errors in per cent of the prescription, or in percentage points of the volume."""
    return _score(
        {
            structure: {
                name: abs(prediction[structure][name] - value) * (1.0 if name == "V95%" else 100.0 / prescription)
                for name, value in found.items()
            }
            for structure, found in reference.items()
        },
        target,
    )


def score_relative(
    reference: Mapping[str, Criteria], prediction: Mapping[str, Criteria], *, target: str | None
) -> DvhScore:
    """Errors relative to the reference; NaN, and with it the score, where the reference is 0."""
    return _score(
        {
            structure: {
                name: abs(prediction[structure][name] - value) / value if value else math.nan
                for name, value in found.items()
            }
            for structure, found in reference.items()
        },
        target,
    )


def _score(errors: Mapping[str, Criteria], target: str | None) -> DvhScore:
    of_target = [_mean(list(errors[target].values()))] if target in errors and target is not None else []
    of_organs = [_mean(list(found.values())) for structure, found in errors.items() if structure != target]
    sides = [_mean(side) for side in (of_target, of_organs) if side]
    return DvhScore(errors, _mean(sides) if sides else math.nan)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
