"""One pass over a map of gamma², compiled."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@njit(nogil=True, cache=True)
def count(squares: Floats, limit: float) -> tuple[int, int, int]:
    """How many are found, how many of these are within the limit, and how many are wanted but infinite."""
    evaluated = passed = uncovered = 0
    for square in squares.flat:
        if square >= 0.0:
            if square == np.inf:
                uncovered += 1
            else:
                evaluated += 1
                if square <= limit:
                    passed += 1
    return evaluated, passed, uncovered


@njit(nogil=True, cache=True)
def to_gamma(squares: Floats, max_gamma: float) -> None:
    """gamma² becomes gamma in place, at most `max_gamma`; negative (not wanted) and infinite become NaN."""
    flat = squares.ravel()
    for n in range(flat.size):
        square = flat[n]
        flat[n] = min(np.sqrt(square), max_gamma) if 0.0 <= square < np.inf else np.nan
