"""Rank by a mean without the lowest and the highest cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from isocenter.ranking._missing import MissingSetting, UndefinedSetting
from isocenter.ranking.rules._base import ranking_rule
from isocenter.ranking.rules._over_cases import OverCases
from isocenter.ranking.rules._settings import MetricName, PartName, TiesSetting, Tolerance
from isocenter.resampling.counts import Resamples
from isocenter.resampling.estimates import resample_trimmed_means
from isocenter.resampling.matrices import Floats
from isocenter.schema import Allowed, Within

Proportion = Annotated[
    float,
    Within(ge=0, lt=0.5),
    Allowed("a number, 0 or more and below 0.5", example="0.1", absent="it is 0.1"),
    "Which part of the cases is left out at each end.",
]


@ranking_rule("trimmed-mean", "by the mean without the lowest and the highest cases")
@dataclass(frozen=True, slots=True)
class TrimmedMeanThenRank(OverCases):
    """Rank by the mean over the cases without so many of the lowest and of the highest.

    Attributes
    ----------
    metric, missing, ties, tolerance, undefined, part
        As in `MeanThenRank`.
    proportion
        Which part of the cases is left out at each end, rounded down to whole cases.
    """

    metric: MetricName
    missing: MissingSetting
    proportion: Proportion = 0.1
    ties: TiesSetting = "min"
    tolerance: Tolerance = 1e-9
    undefined: UndefinedSetting = "refuse"
    part: PartName = ""

    @property
    def aggregate(self) -> str:
        """The mean, and what it is without."""
        return f"mean without the {100 * self.proportion:g} % lowest and highest"

    @property
    def formula(self) -> str:
        """How many cases are left out."""
        cut = f"the ⌊{self.proportion:g} · n⌋ lowest and as many highest of n cases"
        return f"mean over i of x[s, i] without {cut}"

    def aggregate_resamples(self, values: Floats, draws: Resamples) -> Floats:
        """Trimmed means of whole cases."""
        return resample_trimmed_means(values, draws, proportion=self.proportion)
