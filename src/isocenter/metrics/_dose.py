"""Differences of two doses that are given by their voxels above zero, as OpenKBP gives them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SparseDose(NamedTuple):
    """A dose by its voxels: their positions in one order of all voxels, ascending, and the dose of each, Gy.

    Voxels that are not listed have no dose.
    """

    voxels: NDArray[np.int64]
    values: NDArray[np.float64]

    def at(self, wanted: NDArray[np.int64]) -> NDArray[np.float64]:
        """The dose of some voxels, given in ascending order, Gy."""
        from isocenter.metrics._dose_kernels import values_at

        found = np.empty(len(wanted))
        values_at(self.voxels, self.values, wanted, found)
        return found

    def outside(self, inside: NDArray[np.int64]) -> float:
        """Σ |dose| over all voxels but these, Gy."""
        from isocenter.metrics._dose_kernels import outside

        if np.array_equal(self.voxels, inside):  # the usual answer: a dose for exactly these voxels
            return 0.0
        return float(outside(self.voxels, self.values, inside))


class DoseDifference(NamedTuple):
    """Σ |a - b| in Gy and Σ (a - b)² in Gy², over all voxels."""

    absolute: float
    squared: float


def dose_difference(reference: SparseDose, prediction: SparseDose) -> DoseDifference:
    """Sums of the absolute and of the squared differences of two doses, over all voxels that either has.

    Summed with Neumaier's correction, so that the result is that of exact arithmetic to a few units in the last place.

    Examples
    --------
    >>> a = SparseDose(np.array([2, 5]), np.array([1.0, 3.0]))
    >>> b = SparseDose(np.array([5, 7]), np.array([1.0, 0.5]))
    >>> dose_difference(a, b)
    DoseDifference(absolute=3.5, squared=5.25)
    """
    from isocenter.metrics._dose_kernels import differences

    return DoseDifference(*differences(*reference, *prediction))
