"""Statistics of times until an event, some of which are censored."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking.statistics._registry import CaseWeights, Columns, Input, Statistic, register_statistic
from isocenter.resampling.matrices import Floats

EVENT_TIME = catalogue.register(
    Metric("event_time", "d", "neither", (0.0, math.inf), 0, "time until the event, or until it was last looked for")
)
EVENT_OBSERVED = catalogue.register(
    Metric("event_observed", "", "neither", (0.0, 1.0), 0, "1 if the event happened then, 0 if the time is censored")
)
PREDICTED_RISK = catalogue.register(
    Metric(
        "predicted_risk", "", "neither", (-math.inf, math.inf), 3, "risk given to the case; higher is an earlier event"
    )
)


@register_statistic
class ConcordanceIndex(Statistic):
    """Harrell's C: of the pairs of cases of which one is known to have its event first, the share with the higher risk.

    C = Σ wᵢ wⱼ ([rᵢ > rⱼ] + ½ [rᵢ = rⱼ]) / Σ wᵢ wⱼ over the comparable pairs: i has an event, and j a later time, or
    the same time and is censored. Two events at the same time are not comparable, so a case that is drawn twice makes
    no pair with itself. Undefined without a comparable pair.

    References
    ----------
    Harrell FE, Lee KL, Mark DB. Multivariable prognostic models: issues in developing models, evaluating assumptions
    and adequacy, and measuring and reducing errors. Stat Med 15 (1996).
    """

    name = "c_index"
    metric = catalogue.register(
        Metric(
            "c_index",
            "",
            "higher",
            (0.0, 1.0),
            4,
            "share of comparable pairs with the higher risk for the earlier event",
        )
    )
    inputs = (
        Input("time", EVENT_TIME.name, of_reference=True),
        Input("event", EVENT_OBSERVED.name, of_reference=True),
        Input("risk", PREDICTED_RISK.name),
    )
    formula = (
        "Σ w[i] w[j] ([risk[i] > risk[j]] + ½ [risk[i] = risk[j]]) / Σ w[i] w[j] over the pairs in which i has an "
        "event, and j a later time, or the same and is censored"
    )

    def check_inputs(self, columns: Columns) -> str:
        """Events are there or not."""
        return "" if np.isin(columns["event"], (0, 1)).all() else "event is 0 or 1"

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """Cases from the latest to the earliest; those already passed are counted by risk in a tree."""
        from isocenter.ranking.statistics._survival_kernels import concordance

        moment, event = _moments(columns)
        order = np.argsort(-moment, kind="stable")
        risk = np.unique(columns["risk"], return_inverse=True)[1].astype(np.int64)
        out = np.empty(weights.rows)
        concordance(
            np.ascontiguousarray(weights.matrix[:, order].T),
            moment[order],
            event[order],
            risk[order],
            int(risk.max()) + 1,
            out,
        )
        return out

    def is_defined(self, columns: Columns, weights: CaseWeights) -> NDArray[np.bool_]:
        """Whether the earliest event has a case behind it."""
        moment, event = _moments(columns)
        there = weights.matrix > 0
        latest = np.where(there, moment, -1).max(axis=1)
        first = np.where(there & event, moment, np.iinfo(np.int64).max).min(axis=1)
        return np.asarray(latest > first)

    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:
        """No event, or nothing behind any."""
        if not ((weights.matrix > 0) & (columns["event"] == 1)).any():
            return "no event was observed"
        return "no two cases are comparable: every event is at the last of all times"


def _moments(columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Times as places in their order, in which censoring at a time comes behind the events at it; and events."""
    event = columns["event"] == 1
    place = np.unique(columns["time"], return_inverse=True)[1].astype(np.int64)
    return 2 * place + ~event, event
