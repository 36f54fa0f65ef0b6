"""Local gamma, 1 % and 1 mm, of a plan, over two sets of voxels.

The page restricts it to voxels with at least 10 % of the prescription; the evaluation, by the published copies of it,
to those with at least 10 % of the plan's maximum. One of the two sets is in the other, so every voxel is searched once.
The points are those of the reference, and the prediction is interpolated, though the page words it the other way round.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from isocenter.challenges.doserad2026._prepare import GAMMA_MM, MAX_GAMMA, PLAN_CUTOFF
from isocenter.metrics import gamma_analysis


def gamma_pass_rates(
    reference: NDArray[np.float64],
    prediction: NDArray[np.float64],
    *,
    spacing: tuple[float, float, float],
    prescription: float,
) -> tuple[float, float]:
    """Per cent of voxels with γ ≤ 1: of those above the cutoff of the maximum, and above that of the prescription.

    NaN where there are none: a plan may stay below a tenth of the prescription everywhere. Where the spheres of the
    search have their poles depends on the order of the axes, and the evaluation had z first: so do we.
    """
    reference, prediction, spacing = reference.T, prediction.T, (spacing[2], spacing[1], spacing[0])
    of_max, of_rx = PLAN_CUTOFF * float(reference.max()), PLAN_CUTOFF * prescription

    def count(mask: NDArray[np.bool_]) -> tuple[int, int]:
        """How many passed, of how many."""
        found = gamma_analysis(
            reference,
            prediction,
            spacing=spacing,
            dose_percent=1.0,
            distance_mm=GAMMA_MM,
            local=True,
            cutoff_percent=0.0,
            max_gamma=MAX_GAMMA,
            mask=mask,
            keep_map=False,
        )
        return found.passed, found.evaluated

    above_both = reference >= max(of_max, of_rx)
    inner = count(above_both)
    outer = count((reference >= min(of_max, of_rx)) & ~above_both)
    both = inner[0] + outer[0], inner[1] + outer[1]
    rates = [100.0 * passed / evaluated if evaluated else math.nan for passed, evaluated in (inner, both)]
    return (rates[0], rates[1]) if of_max >= of_rx else (rates[1], rates[0])
