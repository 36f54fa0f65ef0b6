"""Rank by a mean without the lowest and the highest cases."""

from __future__ import annotations

from dataclasses import dataclass

from isocenter.ranking._draws import CaseDraws
from isocenter.ranking._matrices import Floats
from isocenter.ranking._missing import Missing
from isocenter.ranking._score_draws import trimmed_mean_draws
from isocenter.ranking._ties import Ties
from isocenter.ranking.rules._over_cases import OverCases


@dataclass(frozen=True, slots=True)
class TrimmedMeanThenRank(OverCases):
    """Rank by the mean over the cases without so many of the lowest and of the highest.

    Attributes
    ----------
    metric, missing, ties, tolerance
        As in `MeanThenRank`.
    proportion
        Which part of the cases is left out at each end, rounded down to whole cases.
    """

    metric: str
    missing: Missing
    proportion: float = 0.1
    ties: Ties = "min"
    tolerance: float = 1e-9

    def _words(self) -> str:
        return f"mean without the {100 * self.proportion:g} % lowest and highest"

    def _scores(self, values: Floats, draws: CaseDraws) -> Floats:
        return trimmed_mean_draws(values, draws, proportion=self.proportion)
