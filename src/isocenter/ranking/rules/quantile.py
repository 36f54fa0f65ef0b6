"""Rank by a quantile over the cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from isocenter.ranking._missing import MissingSetting, UndefinedSetting
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import ranking_rule
from isocenter.ranking.rules._over_cases import OverCases
from isocenter.ranking.rules._settings import MetricName, PartName, TiesSetting, Tolerance
from isocenter.resampling.counts import Resamples
from isocenter.resampling.estimates import resample_quantiles
from isocenter.resampling.matrices import Floats
from isocenter.schema import Allowed, Within

# Cases on the thinner side of a quantile, from which on its draws are nearly normal.
_FEWEST = 5


Quantile = Annotated[
    float,
    Within(ge=0, le=1),
    Allowed("a number from 0 to 1", example="0.5", absent="it is 0.5, the median"),
    "Which one.",
]


@ranking_rule("quantile", "by a quantile over the cases, such as the median")
@dataclass(frozen=True, slots=True)
class QuantileThenRank(OverCases):
    """Rank by a quantile over the cases, the median if not said otherwise.

    Attributes
    ----------
    metric, missing, ties, tolerance, undefined, part
        As in `MeanThenRank`.
    q
        Which quantile, from 0 to 1; between two cases it is interpolated linearly.
    """

    metric: MetricName
    missing: MissingSetting
    q: Quantile = 0.5
    ties: TiesSetting = "min"
    tolerance: Tolerance = 1e-9
    undefined: UndefinedSetting = "refuse"
    part: PartName = ""

    @property
    def aggregate(self) -> str:
        """The median by its name."""
        return "median" if self.q == 0.5 else f"{self.q:g} quantile"

    @property
    def formula(self) -> str:
        """The median as a quantile."""
        return f"{self.q:g} quantile over i of x[s, i], linear between two cases"

    @property
    def rank_set_basis(self) -> str:
        """There are none with few cases."""
        return f"{_lines.COVARIANCE}; with fewer than five cases beyond the quantile there are none"

    def roughness(self, cases: int) -> str:
        """Beyond the quantile there must be cases."""
        beyond = min(self.q, 1 - self.q) * cases
        return "" if beyond >= _FEWEST else f"a {self.aggregate} of {cases} cases hangs on a few of them"

    def aggregate_resamples(self, values: Floats, draws: Resamples) -> Floats:
        """Quantiles of whole cases."""
        return resample_quantiles(values, draws, q=self.q)
