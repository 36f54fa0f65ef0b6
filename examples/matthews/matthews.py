"""A statistic of the cohort in a package of its own: Matthews' correlation of true and predicted class.

One file is all it takes. The class says which numbers of every case it needs, and computes the statistic for all
bootstrap resamples at once from sums of case weights; boards, intervals, rank sets, receipts and challenge.toml follow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics import Metric, catalogue
from isocenter.ranking.statistics import CaseWeights, Columns, Input, Statistic, register_statistic

Floats = NDArray[np.float64]


@register_statistic
class Matthews(Statistic):
    """(TP TN − FP FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN)) of class 1 against 0, each a sum of case weights.

    References
    ----------
    Matthews BW. Comparison of the predicted and observed secondary structure of T4 phage lysozyme. BBA 405 (1975).
    """

    name = "matthews"
    metric = catalogue.register(
        Metric("matthews", "", "higher", (-1.0, 1.0), 4, "correlation of the true and the predicted class")
    )
    inputs = (Input("truth", "true_class", of_reference=True), Input("predicted", "predicted_class"))
    formula = "(TP TN − FP FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN)), sums of w[i]"

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """In every resample; NaN where a class is not there, or not predicted."""
        truth, predicted = columns["truth"] == 1, columns["predicted"] == 1
        hits, correct, wrong, lost = weights.sums(
            [truth & predicted, ~truth & ~predicted, ~truth & predicted, truth & ~predicted]
        )
        below = np.sqrt((hits + wrong) * (hits + lost) * (correct + wrong) * (correct + lost))
        return np.where(below > 0, (hits * correct - wrong * lost) / np.where(below > 0, below, 1.0), np.nan)

    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:  # noqa: ARG002
        """What there is not."""
        return "truth or predictions are all of one class"

    def check_inputs(self, columns: Columns) -> str:
        """Two classes."""
        return "" if all(np.isin(column, (0, 1)).all() for column in columns.values()) else "a class is 0 or 1"

    def count_as_worst(self, reference: Columns) -> dict[str, Floats]:
        """The other class."""
        return {"predicted": 1 - reference["truth"]}
