"""A ranking rule in a package of its own: by the geometric mean over the cases.

One file is all it takes. The class says how `challenge.toml` and receipts call it and its settings, how it is said in
words and in pseudo-code, and how it scores bootstrap resamples of the cases; boards, intervals, rank sets, other rules
to compare with, receipts and pages follow from that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from isocenter.ranking import CaseDraws, OverCases, ranking_rule
from isocenter.ranking.rules import MetricName, MissingSetting, TiesSetting, Tolerance
from isocenter.schema import Allowed, Within

Floats = NDArray[np.float64]
Offset = Annotated[
    float,
    Within(ge=0),
    Allowed("a number, 0 or more", example="0.01", absent="it is 0"),
    "What is added to every value first, so that a single 0 does not decide.",
]


@ranking_rule("geometric-mean", "by the geometric mean of a metric over the cases")
@dataclass(frozen=True)
class GeometricMeanThenRank(OverCases):
    """Rank by (Π (xᵢ + o))^(1/n) − o over the n cases i.

    Attributes
    ----------
    metric, missing, ties, tolerance
        As in `isocenter.ranking.MeanThenRank`; the metric has no values below 0.
    offset
        The o of the formula.
    """

    metric: MetricName
    missing: MissingSetting
    offset: Offset = 0.0
    ties: TiesSetting = "min"
    tolerance: Tolerance = 1e-9

    @property
    def aggregate(self) -> str:
        """What is taken over the cases, in words."""
        return "geometric mean" + (f" (with {self.offset:g} added)" if self.offset else "")

    @property
    def formula(self) -> str:
        """The same in pseudo-code."""
        if not self.offset:
            return "(Πᵢ x[s, i])^(1/n) over the n cases i"
        return f"(Πᵢ (x[s, i] + {self.offset:g}))^(1/n) − {self.offset:g} over the n cases i"

    def aggregate_resamples(self, values: Floats, draws: CaseDraws) -> Floats:
        """Submissions × resamples: the mean of the logarithms, each case as often as it was drawn."""
        if (values + self.offset < 0).any():
            msg = f"a geometric mean of {self.metric} needs values of 0 or more"
            raise ValueError(msg)
        counts = draws.counts.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(values + self.offset)
            # A case that was not drawn adds nothing, not even if its logarithm is −∞.
            sums = np.array([np.where(counts > 0, counts * row, 0.0).sum(axis=1) for row in logarithms])
        return np.asarray(np.exp(sums.reshape(len(values), -1) / counts.sum(axis=1)) - self.offset)
