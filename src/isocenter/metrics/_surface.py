"""Distances between the surfaces of two masks: Hausdorff, average, and surface Dice.

All follow one definition, that of the package surface-distance (Nikolov et al. 2021), drawn in
docs/explanation/surfaces.md: surface elements sit at the corners of the voxel grid and weigh as much as they are
large; the surface of a mask also closes where the volume ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics._masks import Mask, cropped
from isocenter.metrics._surface_elements import areas

Spacing = tuple[float, float, float]

# A distance transform costs per voxel of the box, a k-d tree per surface element: beyond this ratio the tree wins.
_SPARSE = 60


class Directed(NamedTuple):
    """A number in both directions: from the truth's surface to the prediction's, and back."""

    truth_to_prediction: float
    prediction_to_truth: float


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """How far each element of either surface is from the other surface, mm, and how large it is, mm².

    Made by `surface_distances`; each metric is a question to it. If one mask is empty, the elements of the other are
    infinitely far from it. If both are, there are no elements, and each metric has the value of perfect agreement.
    """

    truth_distances: NDArray[np.float64]
    truth_areas: NDArray[np.float64]
    prediction_distances: NDArray[np.float64]
    prediction_areas: NDArray[np.float64]

    def hausdorff(self, percentile: float = 95.0) -> float:
        """See `hausdorff_distance`."""
        if not 0 <= percentile <= 100:
            msg = f"a percentile lies between 0 and 100, not at {percentile}"
            raise ValueError(msg)
        return max(
            _percentile(self.truth_distances, self.truth_areas, percentile),
            _percentile(self.prediction_distances, self.prediction_areas, percentile),
        )

    def average(self) -> Directed:
        """See `average_surface_distance`."""
        return Directed(
            _mean(self.truth_distances, self.truth_areas, other=self.prediction_areas),
            _mean(self.prediction_distances, self.prediction_areas, other=self.truth_areas),
        )

    def dice(self, tolerance_mm: float) -> float:
        """See `surface_dice`."""
        if not tolerance_mm >= 0:
            msg = f"a tolerance is a distance in mm, not {tolerance_mm}"
            raise ValueError(msg)
        near = self.truth_areas[self.truth_distances <= tolerance_mm].sum()
        near += self.prediction_areas[self.prediction_distances <= tolerance_mm].sum()
        total = self.truth_areas.sum() + self.prediction_areas.sum()
        return float(near / total) if total else 1.0


def surface_distances(truth: Mask, prediction: Mask, *, spacing: Spacing) -> SurfaceDistances:
    """Measure two surfaces against each other once, for any number of metrics.

    Parameters
    ----------
    spacing
        Edge lengths of a voxel, mm, in the order of the arrays' axes.

    Examples
    --------
    >>> truth, prediction = np.zeros((2, 9, 9, 9), bool)
    >>> truth[2:6, 2:6, 2:6] = prediction[3:7, 2:6, 2:6] = True
    >>> both = surface_distances(truth, prediction, spacing=(1.0, 1.0, 1.0))
    >>> both.hausdorff(100), both.dice(1.0)
    (1.0, 1.0)
    """
    from isocenter.metrics import _surface_kernels as kernels

    truth, prediction = cropped(truth, prediction)
    steps = np.asarray(spacing, dtype=np.float64)
    if steps.shape != (3,) or not ((steps > 0) & np.isfinite(steps)).all():
        msg = f"spacing must be three positive lengths in mm, in the order of the axes, not {spacing}"
        raise ValueError(msg)
    table = areas((float(steps[0]), float(steps[1]), float(steps[2])))
    (a, a_areas), (b, b_areas) = (_elements(kernels.pad(mask), table) for mask in (truth, prediction))
    shape = (truth.shape[0] + 1, truth.shape[1] + 1, truth.shape[2] + 1)
    return SurfaceDistances(_nearest(a, b, shape, steps), a_areas, _nearest(b, a, shape, steps), b_areas)


def hausdorff_distance(truth: Mask, prediction: Mask, *, spacing: Spacing, percentile: float = 95.0) -> float:
    """Percentile of the distances between the surfaces, mm, the larger of the two directions; lower is better.

    In each direction: the smallest distance within which at least `percentile` % of the surface's *area* lies. 100 is
    the Hausdorff distance itself. Both masks empty: 0; one empty: infinite.

    Other tools pool both directions, or count elements without weighing them; their numbers differ by millimetres.

    References
    ----------
    Huttenlocher DP, Klanderman GA, Rucklidge WJ. Comparing images using the Hausdorff distance. IEEE TPAMI 15 (1993).
    """
    return surface_distances(truth, prediction, spacing=spacing).hausdorff(percentile)


def average_surface_distance(truth: Mask, prediction: Mask, *, spacing: Spacing) -> Directed:
    """Mean distance of one surface from the other, mm, weighted by area, in both directions; lower is better.

    Both masks empty: 0 and 0. One empty: infinite from the surface that is there, undefined (NaN) from the one that is
    not.
    """
    return surface_distances(truth, prediction, spacing=spacing).average()


def surface_dice(truth: Mask, prediction: Mask, *, spacing: Spacing, tolerance_mm: float) -> float:
    """Share of both surfaces' area that lies within a tolerance of the other one, in [0, 1]; higher is better.

    Also called normalised surface distance (NSD). The tolerance is inclusive: an element at exactly `tolerance_mm`
    counts as within. Both masks empty: 1; one empty: 0.

    References
    ----------
    Nikolov S et al. Clinically applicable segmentation of head and neck anatomy for radiotherapy. J Med Internet Res 23
    (2021) e26151.
    """
    return surface_distances(truth, prediction, spacing=spacing).dice(tolerance_mm)


def _elements(mask: NDArray[np.uint8], table: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    from isocenter.metrics._surface_kernels import surface_elements

    room = max(64, 6 * round(mask.size ** (2 / 3)))
    while True:
        points, weights = np.empty((room, 3), np.int32), np.empty(room)
        count = surface_elements(mask, table, points, weights)
        if count <= room:
            return points[:count], weights[:count]
        room = count


def _nearest(
    start: NDArray[np.int32], target: NDArray[np.int32], shape: tuple[int, int, int], spacing: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distance of each start element to the nearest target element, mm; infinite if there is no target."""
    from isocenter.metrics._surface_kernels import distances_in_box

    if start.shape[0] == 0 or target.shape[0] == 0:
        return np.full(start.shape[0], math.inf)
    if math.prod(shape) <= _SPARSE * (start.shape[0] + target.shape[0]):
        found: NDArray[np.float64] = distances_in_box(start, target, shape, spacing)
        return found
    from scipy.spatial import KDTree

    _, index = KDTree(target * spacing).query(start * spacing)
    # From whole steps, as the distance transform does, so that both ways give the same number.
    away: NDArray[Any] = ((target[index] - start) * spacing) ** 2
    return np.asarray(np.sqrt(away[:, 0] + away[:, 1] + away[:, 2]))


def _percentile(distances: NDArray[np.float64], weights: NDArray[np.float64], percentile: float) -> float:
    """The first distance at which the running share of the area reaches the percentile; 0 without elements."""
    if distances.size == 0:
        return 0.0
    order = np.lexsort((weights, distances))
    share = np.cumsum(weights[order]) / weights.sum()
    at = int(np.searchsorted(share, percentile / 100.0))
    return float(distances[order][min(at, distances.size - 1)])


def _mean(distances: NDArray[np.float64], weights: NDArray[np.float64], *, other: NDArray[np.float64]) -> float:
    if distances.size == 0:
        return math.nan if other.size else 0.0
    return float((distances * weights).sum() / weights.sum())
