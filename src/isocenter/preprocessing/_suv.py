"""From measured activity to standardised uptake."""

from __future__ import annotations

import math

F18_HALF_LIFE_S = 6586.2
"""Half-life of fluorine-18, s (109.77 min)."""


def suv_factor(
    weight_kg: float, injected_bq: float, *, delay_s: float = 0.0, half_life_s: float = F18_HALF_LIFE_S
) -> float:
    """What to multiply a PET in Bq/ml by to have SUV by body weight: weight in g / activity at scan time in Bq.

    Parameters
    ----------
    injected_bq
        Total activity when it was injected, Bq.
    delay_s
        Time from injection to the moment to which the image is decay-corrected, s; 0 if that is the injection.

    Examples
    --------
    >>> suv_factor(70.0, 350e6)  # 1 ml of evenly spread activity is 1 g of the patient
    0.0002
    """
    if not (0.0 < weight_kg < math.inf and 0.0 < injected_bq < math.inf and half_life_s > 0.0):
        msg = f"weight, activity and half-life are positive, not {weight_kg} kg, {injected_bq} Bq and {half_life_s} s"
        raise ValueError(msg)
    return 1000.0 * weight_kg / (injected_bq * math.pow(2.0, -delay_s / half_life_s))
