"""Distances between the surfaces of two masks: Hausdorff, average, and surface Dice.

The field computes them in two conventions, drawn in docs/explanation/surfaces.md. *Surface elements* sit at the corners
of the voxel grid and weigh as much as they are large (surface-distance, Nikolov et al. 2021). *Boundary voxels* are the
voxels that an erosion removes; all weigh the same (medpy, MONAI, MetricsReloaded, GaNDLF, panoptica). In both, what
lies beyond the volume is background, so that a mask that touches the border is closed there.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics._masks import Mask, cropped
from isocenter.metrics._surface_elements import areas

Spacing = tuple[float, float, float]

# A distance transform costs per voxel of the box, a k-d tree per surface element: beyond this ratio the tree wins.
_SPARSE = 60
# Lines that are visited around an element, along either axis; and how many per voxel of the box are worth the while,
# before a distance transform, which costs about as much as 20 of them per voxel, is the quicker way for what is left.
_REACH = 12
_VISITS = 4
# Bins of distance in which a percentile is looked for, and the share of the area that counts as a tie.
_BINS = 1024
_EDGE = 1e-9


@dataclass(frozen=True)
class SurfaceConvention:
    """Everything besides masks and spacing that a surface metric depends on.

    Printed, it is a sentence for a methods section. `SURFACE_CONVENTIONS` has those of other packages by name.

    Attributes
    ----------
    elements
        "surface elements" weigh as much as they are large; their percentile is the smallest distance within which that
        share of the area lies. "boundary voxels" weigh 1 each; their percentile is interpolated linearly.
    connectivity
        A foreground voxel is a boundary voxel if a neighbour is background: 1 counts the 6 neighbours across faces, 2
        also those across edges (18), 3 also those across corners (26). Surface elements do not depend on it.
    hausdorff
        "larger" of the two directed percentiles, or the percentile of the "pooled" distances of both directions.
    average
        The symmetric average: "pooled" is the mean over all elements of both surfaces (ASSD), "mean" the mean of the
        two directed averages (MASD).
    dice
        "pooled" is the share of both surfaces together, "mean" the mean of the shares of each.
    """

    elements: Literal["surface elements", "boundary voxels"] = "surface elements"
    connectivity: Literal[1, 2, 3] = 1
    hausdorff: Literal["larger", "pooled"] = "larger"
    average: Literal["pooled", "mean"] = "pooled"
    dice: Literal["pooled", "mean"] = "pooled"

    def __post_init__(self) -> None:
        choices: dict[str, tuple[object, ...]] = {
            "elements": ("surface elements", "boundary voxels"),
            "connectivity": (1, 2, 3),
            "hausdorff": ("larger", "pooled"),
            "average": ("pooled", "mean"),
            "dice": ("pooled", "mean"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                msg = f"{name} of a surface convention is one of {allowed}, not {getattr(self, name)!r}"
                raise ValueError(msg)

    def __str__(self) -> str:
        neighbours = {1: 6, 2: 18, 3: 26}[self.connectivity]
        elements = (
            "surface elements at the corners of voxels, weighted by area"
            if self.elements == "surface elements"
            else f"boundary voxels ({neighbours} neighbours) of equal weight, percentiles interpolated"
        )
        hausdorff = "larger of the two directed percentiles" if self.hausdorff == "larger" else "pooled percentile"
        average = "mean over both surfaces" if self.average == "pooled" else "mean of the two directed averages"
        dice = "share of both surfaces together" if self.dice == "pooled" else "mean of the shares of each surface"
        return f"{elements}; Hausdorff distance: {hausdorff}; symmetric average: {average}; surface Dice: {dice}"


_ELEMENTS = SurfaceConvention()
_VOXELS = SurfaceConvention("boundary voxels")
_POOLED = SurfaceConvention("boundary voxels", hausdorff="pooled")
_INSTANCES = SurfaceConvention("boundary voxels", hausdorff="pooled", average="mean", dice="mean")

# What each package does where both masks have foreground. medpy has no surface Dice, GaNDLF no average.
SURFACE_CONVENTIONS: Mapping[str, SurfaceConvention] = MappingProxyType(
    {
        "surface-distance": _ELEMENTS,
        "monai": _VOXELS,
        "metrics-reloaded": _VOXELS,
        "medpy": _POOLED,
        "gandlf": _INSTANCES,
        "panoptica": _INSTANCES,
    }
)

Convention = SurfaceConvention | str


class Directed(NamedTuple):
    """A number in both directions: from the truth's surface to the prediction's, and back."""

    truth_to_prediction: float
    prediction_to_truth: float


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """How far each element of either surface is from the other surface, mm, and how much it weighs.

    Made by `surface_distances`; each metric is a question to it. Surface elements weigh their area, mm²; boundary
    voxels weigh 1. If one mask is empty, the elements of the other are infinitely far from it. If both are, there are
    no elements, and each metric has the value of perfect agreement.
    """

    truth_distances: NDArray[np.float64]
    truth_areas: NDArray[np.float64]
    prediction_distances: NDArray[np.float64]
    prediction_areas: NDArray[np.float64]
    convention: SurfaceConvention = _ELEMENTS

    @property
    def nbytes(self) -> int:
        """The memory that the four arrays take."""
        arrays = self.truth_distances, self.truth_areas, self.prediction_distances, self.prediction_areas
        return sum(array.nbytes for array in arrays)

    def hausdorff(self, percentile: float = 95.0) -> float:
        """See `hausdorff_distance`."""
        if not 0 <= percentile <= 100:
            msg = f"a percentile lies between 0 and 100, not at {percentile}"
            raise ValueError(msg)
        sides = [(self.truth_distances, self.truth_areas), (self.prediction_distances, self.prediction_areas)]
        if self.convention.hausdorff == "pooled":
            sides = [(np.concatenate([d for d, _ in sides]), np.concatenate([a for _, a in sides]))]
        interpolated = self.convention.elements == "boundary voxels"
        return max(
            _interpolated_percentile(d, percentile) if interpolated else _percentile(d, a, percentile) for d, a in sides
        )

    def average(self) -> Directed:
        """See `average_surface_distance`."""
        return Directed(
            _mean(self.truth_distances, self.truth_areas, other=self.prediction_areas),
            _mean(self.prediction_distances, self.prediction_areas, other=self.truth_areas),
        )

    def symmetric_average(self) -> float:
        """See `average_symmetric_surface_distance`."""
        forth, back = self.average()
        if math.isnan(forth) or math.isnan(back):  # one mask is empty: the other is infinitely far away
            return math.inf
        if self.convention.average == "mean":
            return (forth + back) / 2
        there, here = float(self.truth_areas.sum()), float(self.prediction_areas.sum())
        return (forth * there + back * here) / (there + here) if there + here else 0.0

    def dice(self, tolerance_mm: float) -> float:
        """See `surface_dice`."""
        if not tolerance_mm >= 0:
            msg = f"a tolerance is a distance in mm, not {tolerance_mm}"
            raise ValueError(msg)
        near = float(self.truth_areas[self.truth_distances <= tolerance_mm].sum())
        close = float(self.prediction_areas[self.prediction_distances <= tolerance_mm].sum())
        there, here = float(self.truth_areas.sum()), float(self.prediction_areas.sum())
        if not there + here:
            return 1.0
        if self.convention.dice == "mean":
            return (near / there + close / here) / 2 if there and here else 0.0
        return (near + close) / (there + here)


def surface_distances(
    truth: Mask, prediction: Mask, *, spacing: Spacing, convention: Convention = "surface-distance"
) -> SurfaceDistances:
    """Measure two surfaces against each other once, for any number of metrics.

    Parameters
    ----------
    spacing
        Edge lengths of a voxel, mm, in the order of the arrays' axes.
    convention
        What a surface is and how both directions are put together: a `SurfaceConvention`, or the name of a package in
        `SURFACE_CONVENTIONS`.

    Examples
    --------
    >>> truth, prediction = np.zeros((2, 9, 9, 9), bool)
    >>> truth[2:6, 2:6, 2:6] = prediction[3:7, 2:6, 2:6] = True
    >>> both = surface_distances(truth, prediction, spacing=(1.0, 1.0, 1.0))
    >>> both.hausdorff(100), both.dice(1.0)
    (1.0, 1.0)
    """
    rules = _convention(convention)
    truth, prediction = cropped(truth, prediction)
    steps = np.asarray(spacing, dtype=np.float64)
    if steps.shape != (3,) or not ((steps > 0) & np.isfinite(steps)).all():
        msg = f"spacing must be three positive lengths in mm, in the order of the axes, not {spacing}"
        raise ValueError(msg)
    # Hashed in the order in which the voxels lie in memory: quicker, and the order is part of the key.
    reverse = all(mask.strides[0] < mask.strides[-1] for mask in (truth, prediction))
    content = hashlib.blake2b()
    for mask in (truth, prediction):
        content.update(np.packbits(mask.T if reverse else mask).data)
    key = (truth.shape, reverse, steps.tobytes(), rules.elements, rules.connectivity, content.digest())
    distances = _recent.get(key)
    if distances is None:
        distances = _measure(truth, prediction, steps, rules)
        _recent.keep(key, distances)
    return replace(distances, convention=rules)


class _RecentDistances:
    """The last few pairs that were measured, so that plain calls of several metrics find their surfaces once.

    Keys are made of the *content* of the two boxes, never of the identity of arrays: a mask that was changed in place
    is another one. Entries are few, and their arrays small and read-only.
    """

    def __init__(self, *, entries: int, nbytes: int) -> None:
        self._entries, self._nbytes = entries, nbytes
        self._kept: OrderedDict[Hashable, SurfaceDistances] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> SurfaceDistances | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: Hashable, distances: SurfaceDistances) -> None:
        with self._lock:
            self._kept[key] = distances
            while len(self._kept) > self._entries or sum(kept.nbytes for kept in self._kept.values()) > self._nbytes:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


_recent = _RecentDistances(entries=8, nbytes=1 << 25)


def _measure(
    truth: Mask, prediction: Mask, spacing: NDArray[np.float64], convention: SurfaceConvention
) -> SurfaceDistances:
    (a, a_areas), (b, b_areas) = (_surface(mask, spacing, convention) for mask in (truth, prediction))
    shape = (truth.shape[0] + 1, truth.shape[1] + 1, truth.shape[2] + 1)
    arrays = _nearest(a, b, shape, spacing), a_areas.copy(), _nearest(b, a, shape, spacing), b_areas.copy()
    for array in arrays:
        array.flags.writeable = False  # shared by all who measure the same masks
    return SurfaceDistances(*arrays)


def hausdorff_distance(
    truth: Mask,
    prediction: Mask,
    *,
    spacing: Spacing,
    percentile: float = 95.0,
    convention: Convention = "surface-distance",
) -> float:
    """Percentile of the distances between the surfaces, mm, the larger of the two directions; lower is better.

    In each direction: the smallest distance within which at least `percentile` % of the surface's *area* lies. 100 is
    the Hausdorff distance itself. Both masks empty: 0; one empty: infinite.

    Other conventions pool both directions, or count voxels without weighing them; their numbers differ by millimetres.

    References
    ----------
    Huttenlocher DP, Klanderman GA, Rucklidge WJ. Comparing images using the Hausdorff distance. IEEE TPAMI 15 (1993).
    """
    return surface_distances(truth, prediction, spacing=spacing, convention=convention).hausdorff(percentile)


def average_surface_distance(
    truth: Mask, prediction: Mask, *, spacing: Spacing, convention: Convention = "surface-distance"
) -> Directed:
    """Mean distance of one surface from the other, mm, weighted by area, in both directions; lower is better.

    Both masks empty: 0 and 0. One empty: infinite from the surface that is there, undefined (NaN) from the one that is
    not.
    """
    return surface_distances(truth, prediction, spacing=spacing, convention=convention).average()


def average_symmetric_surface_distance(
    truth: Mask, prediction: Mask, *, spacing: Spacing, convention: Convention = "surface-distance"
) -> float:
    """Mean distance of both surfaces from each other (ASSD), mm; lower is better.

    ``(Σ a·d + Σ b·e) / (Σ a + Σ b)``, with distances d and areas a of the truth's elements, e and b of the
    prediction's: a larger surface weighs more. A convention whose `average` is "mean" gives the mean of the two
    directed averages instead (MASD). Both masks empty: 0; one empty: infinite.

    References
    ----------
    Heimann T et al. Comparison and evaluation of methods for liver segmentation from CT datasets. IEEE TMI 28 (2009).
    """
    return surface_distances(truth, prediction, spacing=spacing, convention=convention).symmetric_average()


def surface_dice(
    truth: Mask,
    prediction: Mask,
    *,
    spacing: Spacing,
    tolerance_mm: float,
    convention: Convention = "surface-distance",
) -> float:
    """Share of both surfaces' area that lies within a tolerance of the other one, in [0, 1]; higher is better.

    Also called normalised surface distance (NSD). The tolerance is inclusive: an element at exactly `tolerance_mm`
    counts as within. Both masks empty: 1; one empty: 0.

    References
    ----------
    Nikolov S et al. Clinically applicable segmentation of head and neck anatomy for radiotherapy. J Med Internet Res 23
    (2021) e26151.
    """
    return surface_distances(truth, prediction, spacing=spacing, convention=convention).dice(tolerance_mm)


# The surface metrics of the catalogue: name, convention, question. The suffix names the convention.
_BY_NAME: dict[str, tuple[SurfaceConvention, str]] = {
    f"{name}{suffix}": (convention, name)
    for suffix, convention in (("", _ELEMENTS), ("_boundary", _VOXELS))
    for name in ("hd", "hd95", "asd_truth_to_prediction", "asd_prediction_to_truth", "assd", "masd", "nsd")
} | {"hd95_boundary_pooled": (_POOLED, "hd95"), "nsd_boundary_mean": (_INSTANCES, "nsd")}


def surface_scores(
    truth: Mask, prediction: Mask, names: Iterable[str], *, spacing: Spacing, tolerance_mm: float | None = None
) -> dict[str, float]:
    """Surface metrics by their names in the catalogue, each surface found once.

    Parameters
    ----------
    names
        Such as "hd95", "assd", "nsd" (surface elements), "hd95_boundary" (boundary voxels, as MONAI and
        MetricsReloaded) or "hd95_boundary_pooled" (as medpy); docs/reference/metrics.md has all.
    tolerance_mm
        Of "nsd" and its kin, which need one.

    Examples
    --------
    >>> truth, prediction = np.zeros((2, 9, 9, 9), bool)
    >>> truth[2:6, 2:6, 2:6] = prediction[3:7, 2:6, 2:6] = True
    >>> surface_scores(truth, prediction, ["hd95", "nsd_boundary"], spacing=(1, 1, 1), tolerance_mm=1)
    {'hd95': 1.0, 'nsd_boundary': 1.0}
    """
    names = list(names)
    if unknown := [name for name in names if name not in _BY_NAME]:
        msg = f"unknown surface metric {', '.join(map(repr, unknown))}; there are {', '.join(_BY_NAME)}"
        raise ValueError(msg)
    if tolerance_mm is None and (blind := [name for name in names if name.startswith("nsd")]):
        msg = f"{', '.join(blind)}: surface Dice needs a tolerance; give tolerance_mm"
        raise ValueError(msg)
    truth, prediction = cropped(truth, prediction)
    measured: dict[str, SurfaceDistances] = {}
    scores = {}
    for name in names:
        convention, question = _BY_NAME[name]
        if convention.elements not in measured:
            measured[convention.elements] = surface_distances(truth, prediction, spacing=spacing, convention=convention)
        rules = replace(convention, average="mean") if question == "masd" else convention
        scores[name] = _answer(replace(measured[convention.elements], convention=rules), question, tolerance_mm)
    return scores


def _answer(distances: SurfaceDistances, question: str, tolerance_mm: float | None) -> float:
    match question:
        case "hd" | "hd95":
            return distances.hausdorff(100 if question == "hd" else 95)
        case "asd_truth_to_prediction":
            return distances.average().truth_to_prediction
        case "asd_prediction_to_truth":
            return distances.average().prediction_to_truth
        case "assd" | "masd":
            return distances.symmetric_average()
    assert tolerance_mm is not None
    return distances.dice(tolerance_mm)


def _convention(convention: Convention) -> SurfaceConvention:
    if isinstance(convention, SurfaceConvention):
        return convention
    if convention not in SURFACE_CONVENTIONS:
        msg = f"unknown surface convention {convention!r}; there are {', '.join(SURFACE_CONVENTIONS)}"
        raise ValueError(msg)
    return SURFACE_CONVENTIONS[convention]


def _surface(
    mask: Mask, spacing: NDArray[np.float64], convention: SurfaceConvention
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Places and weights of the elements of a mask's surface."""
    from isocenter.metrics import _surface_kernels as kernels

    padded = kernels.pad(mask)
    if convention.elements == "surface elements":
        return _elements(padded, areas((float(spacing[0]), float(spacing[1]), float(spacing[2]))))
    places = kernels.boundary_voxels(padded, convention.connectivity)
    return places, np.ones(places.shape[0])


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
    from isocenter.metrics import _surface_kernels as kernels

    if start.shape[0] == 0 or target.shape[0] == 0:
        return np.full(start.shape[0], math.inf)
    voxels = math.prod(shape)
    if voxels > _SPARSE * (start.shape[0] + target.shape[0]):
        return _nearest_in_tree(start, target, spacing)
    # Lines along the axis with the smallest voxels: there are fewest of them within a distance.
    p, q, r = (int(axis) for axis in np.argsort(-spacing, kind="stable"))
    lines = _nearest_lines(float(spacing[p]), float(spacing[q]))
    distances: NDArray[np.float64] = kernels.distances_nearby(
        start, target, shape, spacing, (p, q, r), lines, _VISITS * voxels
    )
    far = distances < 0
    if far.any():
        distances[far] = kernels.distances_in_box(start[far], target, shape, spacing)
    return distances


def _nearest_in_tree(
    start: NDArray[np.int32], target: NDArray[np.int32], spacing: NDArray[np.float64]
) -> NDArray[np.float64]:
    from scipy.spatial import KDTree

    _, index = KDTree(target * spacing).query(start * spacing)
    # From whole steps, as the distance transform does, so that both ways give the same number.
    away: NDArray[Any] = ((target[index] - start) * spacing) ** 2
    return np.asarray(np.sqrt(away[:, 0] + away[:, 1] + away[:, 2]))


@lru_cache(maxsize=16)
def _nearest_lines(first: float, second: float) -> NDArray[np.int32]:
    """Offsets along two axes with these spacings, the nearest first, as far as all nearer ones are among them too."""
    offsets = np.mgrid[-_REACH : _REACH + 1, -_REACH : _REACH + 1].reshape(2, -1).T
    away = (offsets[:, 0] * first) ** 2 + (offsets[:, 1] * second) ** 2
    order = np.argsort(away, kind="stable")
    inside = away[order] <= ((_REACH + 1) * min(first, second)) ** 2
    return np.ascontiguousarray(offsets[order][inside], dtype=np.int32)


def _percentile(distances: NDArray[np.float64], weights: NDArray[np.float64], percentile: float) -> float:
    """The first distance at which the running share of the area reaches the percentile; 0 without elements."""
    if distances.size == 0:
        return 0.0
    low, high = float(distances.min()), float(distances.max())
    if percentile in (0, 100) or low == high:
        return low if percentile == 0 else high
    # Sort only the elements of the bin in which the share is reached.
    bins = (distances * (_BINS / high)).astype(np.intp)
    running = np.cumsum(np.bincount(bins, weights))
    goal = percentile / 100.0 * running[-1]
    at = int(np.searchsorted(running, goal))
    chosen = bins == at
    if not chosen.any():  # a share that rounds to nothing
        return _percentile_in_order(distances, weights, percentile)
    order = np.argsort(distances[chosen])
    values, areas_below = distances[chosen][order], running[at - 1] if at else 0.0
    share = areas_below + np.cumsum(weights[chosen][order])
    value = float(values[min(int(np.searchsorted(share, goal)), values.size - 1)])
    below = float(weights[distances < value].sum())
    upto = below + float(weights[distances == value].sum())
    if goal - below > _EDGE * running[-1] and upto - goal > _EDGE * running[-1]:
        return value
    # The share is reached to the last bits, so that the order of summation decides: take that of the definition.
    return _percentile_in_order(distances, weights, percentile)


def _percentile_in_order(distances: NDArray[np.float64], weights: NDArray[np.float64], percentile: float) -> float:
    """The definition of `_percentile`, as surface-distance has it: sort all elements by distance, then by area."""
    order = np.lexsort((weights, distances))
    share = np.cumsum(weights[order]) / weights.sum()
    at = int(np.searchsorted(share, percentile / 100.0))
    return float(distances[order][min(at, distances.size - 1)])


def _interpolated_percentile(distances: NDArray[np.float64], percentile: float) -> float:
    """The percentile of equal weights, interpolated between neighbours in order; 0 without elements."""
    if distances.size == 0:
        return 0.0
    # A percentile between infinite numbers would be inf - inf.
    return math.inf if math.isinf(distances[0]) else float(np.percentile(distances, percentile))


def _mean(distances: NDArray[np.float64], weights: NDArray[np.float64], *, other: NDArray[np.float64]) -> float:
    if distances.size == 0:
        return math.nan if other.size else 0.0
    return float((distances * weights).sum() / weights.sum())
