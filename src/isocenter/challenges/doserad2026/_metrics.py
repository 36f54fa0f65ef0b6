"""What DoseRAD2026 measures, by the names in the score table."""

from __future__ import annotations

import math

from isocenter.metrics.catalogue import Metric, register

_ANY = (0.0, math.inf)

for _metric in (
    Metric("beam_mae", "", "lower", _ANY, 4, "mean absolute error where a beam gives dose, as a share of its maximum"),
    Metric("idd_distance", "", "lower", _ANY, 4, "distance of the depth doses along the beam, as a share of the peak"),
    Metric("idd_distance_z", "", "lower", _ANY, 4, "distance of the dose profiles along z, as a share of the peak"),
    Metric(
        "plan_mae", "", "lower", _ANY, 4, "mean absolute error of the plan in three strata of dose, by prescription"
    ),
    Metric("gamma_pass_rate", "%", "higher", (0.0, 100.0), 2, "local gamma 1 %/1 mm, dose ≥ 10 % of the maximum"),
    Metric("gamma_pass_rate_rx", "%", "higher", (0.0, 100.0), 2, "the same, dose ≥ 10 % of the prescription"),
    Metric("dvh_score", "%", "lower", _ANY, 3, "error of DVH points of target and closest organs, by prescription"),
    Metric("dvh_score_relative", "", "lower", _ANY, 4, "the same, by the reference's own values"),
    Metric("run_time", "s", "lower", _ANY, 3, "time per beam, of a fit over all jobs"),
    Metric("run_time_mean", "s", "lower", _ANY, 3, "time per beam, of all jobs together"),
):
    register(_metric)

LEVEL_1 = ("beam_mae", "idd_distance", "idd_distance_z")
LEVEL_2 = ("plan_mae", "gamma_pass_rate", "gamma_pass_rate_rx", "dvh_score", "dvh_score_relative")
