"""What a gamma analysis found, and by which convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Sampler = Literal["shells", "exact"]
Uncovered = Literal["leave-out", "fail"]


@dataclass(frozen=True)
class GammaConvention:
    """Everything besides the doses and the criterion that a gamma depends on.

    Printed, it is a sentence for a methods section.
    """

    local: bool
    normalisation: float | None  # Gy; None if each point's own dose is 100 %
    cutoff_percent: float
    cutoff_of: str
    cutoff: float  # Gy
    sampler: Sampler
    interpolation_steps: float | None  # None if exact
    max_gamma: float
    search_mm: float
    uncovered: Uncovered
    masked: bool
    thresholds: int  # criteria that were searched for together

    def __str__(self) -> str:
        dose = "of the local reference dose" if self.local else f"of {self.normalisation:g} Gy (global)"
        how = (
            "minimum over the continuous evaluation dose"
            if self.sampler == "exact"
            else f"evaluation sampled on spheres as in pymedphys 0.41, {self.interpolation_steps:g} steps per distance"
            + (f", {self.thresholds} criteria together" if self.thresholds > 1 else "")
        )
        points = f"reference points with at least {self.cutoff:g} Gy ({self.cutoff_percent:g} % of {self.cutoff_of})"
        missed = "left out" if self.uncovered == "leave-out" else "counted as failed"
        return (
            f"gamma at {points}{', inside a mask' if self.masked else ''}; dose criterion {dose}; {how}, multilinear "
            f"between nodes; searched up to {self.search_mm:g} mm, gamma at most {self.max_gamma:g}; passes at "
            f"gamma ≤ 1; points further from the evaluation grid are {missed}"
        )


@dataclass(frozen=True, eq=False)
class GammaResult:
    """What a gamma analysis found, and by which convention.

    Attributes
    ----------
    map
        Gamma on the reference grid, NaN where there is none; None if only the pass rate was asked for.
    pass_rate
        Percent of the points with gamma ≤ 1: of those evaluated, or of those and the uncovered ones if these count as
        failed. NaN if there are none.
    requested
        Reference points at or above the cutoff and inside the mask: evaluated + uncovered + undefined.
    evaluated
        Points that have a gamma.
    passed
        Points with gamma ≤ 1.
    uncovered
        Points from which the search did not reach the evaluation grid.
    undefined
        Points without reference dose, of which no local percentage can be taken.
    """

    map: NDArray[np.float64] | None
    dose_percent: float
    distance_mm: float
    pass_rate: float
    requested: int
    evaluated: int
    passed: int
    uncovered: int
    undefined: int
    convention: GammaConvention

    def __str__(self) -> str:
        return f"{self.dose_percent:g} %/{self.distance_mm:g} mm: {self.pass_rate:.2f} % of {self.evaluated} points"
