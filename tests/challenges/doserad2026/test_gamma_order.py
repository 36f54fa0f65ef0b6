"""The pass rate is that of arrays with z first, as they were evaluated: the spheres have their poles along z."""

from __future__ import annotations

import numpy as np

from isocenter.challenges.doserad2026._gamma import gamma_pass_rates
from isocenter.metrics import gamma_pass_rate


def test_the_axes_are_searched_in_the_order_z_y_x() -> None:
    rng = np.random.default_rng(7)
    spacing = (1.0, 1.0, 3.0)
    told_apart = 0
    for _ in range(5):
        reference = np.asfortranarray(rng.uniform(40, 60, (14, 12, 8)))
        prediction = np.asfortranarray(reference * rng.normal(1, 0.03, reference.shape))
        rule = {"dose_percent": 1.0, "distance_mm": 1.0, "local": True, "cutoff_percent": 10.0, "max_gamma": 2.0}
        expected = gamma_pass_rate(reference.T, prediction.T, spacing=spacing[::-1], **rule)
        found = gamma_pass_rates(reference, prediction, spacing=spacing, prescription=60.0)
        assert found == (expected, expected)
        told_apart += expected != gamma_pass_rate(reference, prediction, spacing=spacing, **rule)
    assert told_apart
