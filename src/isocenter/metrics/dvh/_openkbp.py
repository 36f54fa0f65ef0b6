"""The criteria of OpenKBP, without sorting what need not be sorted."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics.dvh._dvh import check_finite
from isocenter.metrics.dvh._rules import between, voxels_in

_TARGET = {"D_99": 1.0, "D_95": 5.0, "D_1": 99.0}


def openkbp_criteria(doses: NDArray[np.float64], *, voxel_volume: float, target: bool) -> dict[str, float]:
    """What OpenKBP measures, Gy: ``D_0.1_cc`` and ``mean`` of an organ; ``D_99``, ``D_95`` and ``D_1`` of a target.

    The numbers of the rule "openkbp" (see `Rule`), which are those of numpy.percentile and numpy.mean. An organ of
    fewer voxels than 0.1 cc take has its minimum as D_0.1_cc; ask `is_smaller_than` whether that is so.

    Parameters
    ----------
    doses
        Of the voxels of the structure, at least one, Gy; one-dimensional, and not changed.
    voxel_volume
        mm³.

    References
    ----------
    Babier A, Zhang B, Mahmood R, et al. OpenKBP: the open-access knowledge-based planning grand challenge and dataset.
    Med Phys 48 (2021) 5549-5561.

    Examples
    --------
    >>> openkbp_criteria(np.arange(101.0), voxel_volume=50.0, target=True)
    {'D_99': 1.0, 'D_95': 5.0, 'D_1': 99.0}
    >>> openkbp_criteria(np.array([10.0, 20.0, 30.0, 40.0, 50.0]), voxel_volume=100.0, target=False)
    {'D_0.1_cc': 42.0, 'mean': 30.0}
    """
    size = doses.size
    if doses.ndim != 1 or not size:
        msg = f"a structure has doses of at least one voxel, in one dimension, not an array of shape {doses.shape}"
        raise ValueError(msg)
    with np.errstate(invalid="ignore"):  # two infinities make a NaN, which is found in the next line
        total = float(doses.sum())
    if not math.isfinite(total):
        check_finite(doses)
    if target:
        return dict(zip(_TARGET, _percentiles(doses, list(_TARGET.values())), strict=True))
    q = 100 - min(voxels_in(0.1, voxel_volume) / size, 1.0) * 100
    return {"D_0.1_cc": _percentiles(doses, [q])[0], "mean": total / size}


def is_smaller_than(size: int, voxel_volume: float, cc: float) -> bool:
    """Whether a structure of `size` voxels, mm³ each, has fewer voxels than OpenKBP takes for a volume in cc.

    Examples
    --------
    >>> is_smaller_than(2, 38.1, 0.1), is_smaller_than(3, 38.1, 0.1)
    (True, False)
    """
    return size < voxels_in(cc, voxel_volume)


def _percentiles(doses: NDArray[np.float64], per_cents: list[float]) -> list[float]:
    """numpy.percentile, linear, from a partial sort."""
    last = doses.size - 1
    places = [last * (q / 100) for q in per_cents]
    below = [math.floor(place) for place in places]
    above = [min(index + 1, last) for index in below]
    ordered = np.partition(doses, sorted({*below, *above}))
    return [
        between(float(ordered[i]), float(ordered[j]), place - i)
        for i, j, place in zip(below, above, places, strict=True)
    ]
