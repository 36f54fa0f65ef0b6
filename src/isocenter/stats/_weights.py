"""Cases that do not count alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def effective_size(weight: ArrayLike) -> float:
    """(Σw)² / Σw²: how many cases of equal weight the weighted ones are worth.

    References
    ----------
    Kish L. Survey sampling. Wiley, New York (1965).

    Examples
    --------
    >>> effective_size([1, 1, 1, 3])
    3.0
    """
    w = np.asarray(weight, dtype=np.float64)
    return float(w.sum() ** 2 / (w**2).sum())


def near_one(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights over a power of 2 near the largest: only ratios count, and sums of squares of any weights are numbers.

    Examples
    --------
    >>> near_one(np.array([2.0, 6.0]) * 2.0**-1000)
    array([0.5, 1.5])
    """
    return np.ldexp(weight, 1 - int(np.frexp(weight.max(initial=0.0))[1]))
