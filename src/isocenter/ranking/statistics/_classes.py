"""Statistics of classes and probabilities: balanced accuracy, F1, kappa, Brier score, AUROC, average precision."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking.statistics._registry import CaseWeights, Columns, Input, Statistic, register_statistic
from isocenter.resampling.matrices import Floats

_CLASSES = (-math.inf, math.inf)
TRUE_CLASS = catalogue.register(Metric("true_class", "", "neither", _CLASSES, 0, "class of the case, by the reference"))
PREDICTED_CLASS = catalogue.register(Metric("predicted_class", "", "neither", _CLASSES, 0, "class given to the case"))
PREDICTED_PROBABILITY = catalogue.register(
    Metric("predicted_probability", "", "neither", (0.0, 1.0), 3, "probability given to the case of being of class 1")
)

_TRUTH = Input("truth", TRUE_CLASS.name, of_reference=True)
_PREDICTED = Input("predicted", PREDICTED_CLASS.name)
_PROBABILITY = Input("probability", PREDICTED_PROBABILITY.name)
_ONE_CLASS = "all cases are of one class"


def _unit_metric(name: str, text: str) -> Metric:
    return catalogue.register(Metric(name, "", "higher", (0.0, 1.0), 4, text))


def _indicators(values: Floats, classes: Floats) -> Floats:
    """Classes × cases: 1 where a case is of a class. NaN, which stands for a wrong class, is of none."""
    return np.asarray(values == classes[:, np.newaxis], np.float64)


def _divide(above: Floats, below: Floats) -> Floats:
    """A quotient, NaN where the denominator is 0."""
    return np.asarray(np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0))


def _not_binary(columns: Columns, *names: str) -> str:
    wrong = [name for name in names if not np.isin(columns[name][~np.isnan(columns[name])], (0, 1)).all()]
    return f"{wrong[0]} is 0 or 1" if wrong else ""


class _OfClasses(Statistic):
    """What statistics of a true and a predicted class have in common."""

    inputs = (_TRUTH, _PREDICTED)

    def count_as_worst(self, reference: Columns) -> dict[str, Floats] | None:
        """A class that no case has: NaN."""
        return {"predicted": np.full_like(reference["truth"], np.nan)}


@register_statistic
class BalancedAccuracy(_OfClasses):
    """Mean over the classes of the weighted share of their cases that are predicted right.

    Σₖ (Σᵢ wᵢ [tᵢ = k][pᵢ = k] / Σᵢ wᵢ [tᵢ = k]) / K over the K classes that the cases have (of weight above 0), as
    scikit-learn's `balanced_accuracy_score`. With a single class it would be its sensitivity: undefined.

    References
    ----------
    Brodersen KH et al. The balanced accuracy and its posterior distribution. ICPR (2010).
    """

    name = "balanced_accuracy"
    metric = _unit_metric("balanced_accuracy", "mean over the classes of the share of their cases that is right")
    formula = "mean over the classes k of Σᵢ w[i] [truth = predicted = k] / Σᵢ w[i] [truth = k]"

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """Recall of every class, and their mean."""
        classes = np.unique(columns["truth"])
        of_class = _indicators(columns["truth"], classes)
        total = weights.sums(of_class)
        there = total > 0
        hits = weights.sums(of_class * (columns["truth"] == columns["predicted"]))
        recall = np.where(there, _divide(hits, total), 0.0)
        count = there.sum(axis=0)
        return np.where(count > 1, recall.sum(axis=0) / np.maximum(count, 1), np.nan)

    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:  # noqa: ARG002
        """There is one class only."""
        return _ONE_CLASS


@register_statistic
class F1(_OfClasses):
    """2 TP / (2 TP + FP + FN) of class 1 against class 0, in sums of case weights; undefined without any of the three.

    References
    ----------
    van Rijsbergen CJ. Information retrieval. Butterworths (1979).
    """

    name = "f1"
    metric = _unit_metric("f1", "harmonic mean of sensitivity and precision of class 1")
    formula = "2 TP / (2 TP + FP + FN), TP = Σᵢ w[i] [truth = 1][predicted = 1], and so on"

    def check_inputs(self, columns: Columns) -> str:
        """Two classes."""
        return _not_binary(columns, "truth", "predicted")

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """Sums of weights; a wrong class is 1 − truth."""
        truth = columns["truth"] == 1
        positive = np.where(np.isnan(columns["predicted"]), ~truth, columns["predicted"] == 1)
        hits, true, given = weights.sums([truth & positive, truth, positive])
        return _divide(2 * hits, true + given)

    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:  # noqa: ARG002
        """Neither side has a case of class 1."""
        return "no case is of class 1, and none is predicted to be"


@register_statistic
class MacroF1(_OfClasses):
    """Mean of the F1 of every class against all others, over the classes that truth or prediction has.

    Equal to scikit-learn's `f1_score(average="macro", zero_division=0)` of the cases with a weight above 0.

    References
    ----------
    Opitz J, Burst S. Macro F1 and macro F1. arXiv 1911.03347 (2019).
    """

    name = "f1_macro"
    metric = _unit_metric("f1_macro", "mean over the classes of the F1 of each against all others")
    formula = "mean over the classes k, of truth or prediction, of 2 TPₖ / (2 TPₖ + FPₖ + FNₖ), sums of w[i]"

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """Sums of weights, class by class."""
        truth, predicted = columns["truth"], columns["predicted"]
        classes = np.unique(np.concatenate([truth, predicted[~np.isnan(predicted)]]))
        true, given = _indicators(truth, classes), _indicators(predicted, classes)
        below = weights.sums(true) + weights.sums(given)
        there = below > 0
        f1 = np.where(there, _divide(2 * weights.sums(true * given), below), 0.0)
        return _divide(f1.sum(axis=0), there.sum(axis=0).astype(np.float64))

    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:  # noqa: ARG002
        """Only without cases."""
        return "there are no cases"


class _Kappa(_OfClasses):
    """Cohen's κ = 1 − Σ d(t, p) O(t, p) / Σ d(t, p) E(t, p), O the observed and E the expected shares of pairs.

    E is the product of the marginals. d is 1 for two different classes, or the (squared) difference of their numbers,
    so that grades are to be written as such; classes that no case has do not move it. A missing case that counts as the
    worst has the class that is furthest from the true one, of all that the cases have. Undefined where truth and
    predictions are all of one and the same class: then no disagreement is expected.

    References
    ----------
    Cohen J. A coefficient of agreement for nominal scales. Educ Psychol Meas 20 (1960).
    Cohen J. Weighted kappa. Psychol Bull 70 (1968).
    """

    power: ClassVar[Literal[0, 1, 2]]

    def _distance(self, a: Floats, b: Floats) -> Floats:
        return np.where(a != b, 1.0, 0.0) if self.power == 0 else np.abs(a - b) ** self.power

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """Observed and expected disagreement, as sums of weights."""
        truth, predicted = columns["truth"], columns["predicted"]
        levels = np.unique(np.concatenate([truth, predicted]))
        total = weights.sums(np.ones(truth.size))
        observed = weights.sums(self._distance(truth, predicted))
        true, given = weights.sums(_indicators(truth, levels)), weights.sums(_indicators(predicted, levels))
        # Term by term, as a product of matrices may be summed in another order on another machine.
        apart = self._distance(levels[:, np.newaxis], levels)
        expected = np.zeros(weights.rows)
        for i, j in zip(*np.nonzero(apart), strict=True):
            expected += apart[i, j] * true[i] * given[j]
        return 1 - _divide(observed * total, expected)

    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:  # noqa: ARG002
        """No disagreement is expected."""
        return "truth and predictions are all of one class"

    def count_as_worst(self, reference: Columns) -> dict[str, Floats] | None:
        """The class that is furthest off."""
        levels = np.unique(reference["truth"])
        apart = self._distance(reference["truth"][:, np.newaxis], levels)
        return {"predicted": levels[apart.argmax(axis=1)]}


def _kappa_metric(name: str, text: str) -> Metric:
    return catalogue.register(Metric(name, "", "higher", (-1.0, 1.0), 4, text))


@register_statistic
class CohenKappa(_Kappa):
    """Cohen's kappa, all disagreements alike; as scikit-learn's `cohen_kappa_score`."""

    name = "cohen_kappa"
    metric = _kappa_metric("cohen_kappa", "agreement of the classes beyond chance, all disagreements alike")
    formula = "1 − observed / expected disagreement of truth and predicted, by Σᵢ w[i]"
    power = 0


@register_statistic
class LinearKappa(_Kappa):
    """Cohen's kappa with weights |t − p|."""

    name = "linear_kappa"
    metric = _kappa_metric("linear_kappa", "agreement of the classes beyond chance, by how far they are apart")
    formula = "1 − observed / expected |truth − predicted|, by Σᵢ w[i]"
    power = 1


@register_statistic
class QuadraticKappa(_Kappa):
    """Cohen's kappa with weights (t − p)²."""

    name = "quadratic_kappa"
    metric = _kappa_metric("quadratic_kappa", "agreement of the classes beyond chance, by the square of their distance")
    formula = "1 − observed / expected (truth − predicted)², by Σᵢ w[i]"
    power = 2


class _OfProbability(Statistic):
    """What statistics of a probability have in common."""

    inputs = (_TRUTH, _PROBABILITY)

    def check_inputs(self, columns: Columns) -> str:
        """Two classes."""
        return _not_binary(columns, "truth")

    def count_as_worst(self, reference: Columns) -> dict[str, Floats] | None:
        """Certainty of the wrong class."""
        return {"probability": 1 - reference["truth"]}


@register_statistic
class BrierScore(_OfProbability):
    """Σᵢ wᵢ (pᵢ − tᵢ)² / Σᵢ wᵢ, p the probability of class 1; lower is better.

    References
    ----------
    Brier GW. Verification of forecasts expressed in terms of probability. Mon Weather Rev 78 (1950).
    """

    name = "brier_score"
    metric = catalogue.register(
        Metric("brier_score", "", "lower", (0.0, 1.0), 4, "mean squared difference of probability and outcome")
    )
    formula = "Σᵢ w[i] (probability − truth)² / Σᵢ w[i]"

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """A weighted mean."""
        errors = (columns["probability"] - columns["truth"]) ** 2
        return _divide(*weights.sums([errors, np.ones(errors.size)]))

    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:  # noqa: ARG002
        """Only without cases."""
        return "there are no cases"


class _OfOrder(_OfProbability):
    """What statistics of the order of the cases have in common, by their probability."""

    def is_defined(self, columns: Columns, weights: CaseWeights) -> NDArray[np.bool_]:
        """With cases of both classes."""
        positive, negative = weights.sums([columns["truth"], 1 - columns["truth"]])
        return np.asarray((positive > 0) & (negative > 0), np.bool_)

    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:
        """Which class there is not."""
        return "no case is of class 1" if (weights.sums(columns["truth"]) == 0).any() else "no case is of class 0"


@register_statistic
class Auroc(_OfOrder):
    """Area under the ROC curve, P(p⁺ > p⁻) + ½ P(p⁺ = p⁻) by case weights; see `isocenter.metrics.auroc`."""

    name = "auroc"
    metric = catalogue.register(
        Metric("auroc", "", "higher", (0.0, 1.0), 4, "area under the ROC curve of the patients")
    )
    formula = (
        "Σᵢ Σⱼ w[i] w[j] ([pᵢ > pⱼ] + ½ [pᵢ = pⱼ]) / Σᵢ Σⱼ w[i] w[j], i of class 1, j of class 0, p the probability"
    )

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """Step by step from the highest probability down, all rows at once."""
        from isocenter.stats import auroc_of_rows

        defined = self.is_defined(columns, weights)
        area = np.full(weights.rows, np.nan)
        area[defined] = auroc_of_rows(columns["truth"], columns["probability"], weights.matrix[defined])
        return area


@register_statistic
class AveragePrecision(_OfOrder):
    """Σₖ (Rₖ − Rₖ₋₁) Pₖ over the distinct probabilities k from the highest down, of cases and not of lesions.

    As scikit-learn's `average_precision_score`. For lesions, found and missed, see the rule "detection".
    """

    name = "case_average_precision"
    metric = _unit_metric("case_average_precision", "area under the steps of precision by recall of cases of class 1")
    formula = "Σₖ (R[k] − R[k−1]) P[k] over the distinct probabilities k, recall R and precision P by w[i]"

    def is_defined(self, columns: Columns, weights: CaseWeights) -> NDArray[np.bool_]:
        """With a case of class 1."""
        return np.asarray(weights.sums(columns["truth"]) > 0)

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """Sums over the cases of equal probability, then over all that are above."""
        probability, truth = columns["probability"], columns["truth"]
        order = np.argsort(-probability, kind="stable")
        starts = np.flatnonzero(np.diff(-probability[order], prepend=-np.inf) > 0)
        ordered = weights.matrix[:, order]
        hits = np.add.reduceat(ordered * truth[order], starts, axis=1)
        every = np.add.reduceat(ordered, starts, axis=1).cumsum(axis=1)
        precision = np.divide(hits.cumsum(axis=1), every, out=np.zeros_like(every), where=every > 0)
        return _divide((hits * precision).sum(axis=1), hits.sum(axis=1))
