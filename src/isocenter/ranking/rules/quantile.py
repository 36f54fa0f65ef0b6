"""Rank by a quantile over the cases."""

from __future__ import annotations

from dataclasses import dataclass

from isocenter.ranking._draws import CaseDraws
from isocenter.ranking._matrices import Floats
from isocenter.ranking._missing import Missing
from isocenter.ranking._score_draws import quantile_draws
from isocenter.ranking._ties import Ties
from isocenter.ranking.rules._over_cases import OverCases

# Cases on the thinner side of a quantile, from which on its draws are nearly normal.
_FEWEST = 5


@dataclass(frozen=True, slots=True)
class QuantileThenRank(OverCases):
    """Rank by a quantile over the cases, the median if not said otherwise.

    Attributes
    ----------
    metric, missing, ties, tolerance
        As in `MeanThenRank`.
    q
        Which quantile, from 0 to 1; between two cases it is interpolated linearly.
    """

    metric: str
    missing: Missing
    q: float = 0.5
    ties: Ties = "min"
    tolerance: float = 1e-9

    def _rough(self, cases: int) -> str:
        beyond = min(self.q, 1 - self.q) * cases
        return "" if beyond >= _FEWEST else f"a {self._words()} of {cases} cases hangs on a few of them"

    def _words(self) -> str:
        return "median" if self.q == 0.5 else f"{self.q:g} quantile"

    def _scores(self, values: Floats, draws: CaseDraws) -> Floats:
        return quantile_draws(values, draws, q=self.q)
