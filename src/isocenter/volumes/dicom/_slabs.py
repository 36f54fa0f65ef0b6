"""Contours of an ROI, plane by plane, in the voxel indices of a grid, and how far each plane reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes._grid import Grid
from isocenter.volumes.dicom._dataset import DicomError
from isocenter.volumes.dicom._structures import SAME_PLANE_MM, Roi

# How far the points of a contour may lie off their plane: they are written with two decimals, planes may be oblique.
_FLAT_MM = 0.1
# Contours that share more than this part of the smaller one, but not nearly all of it, overlap rather than nest.
_SHARED = 0.01
_MOST_COMPARED = 20


@dataclass(frozen=True)
class Slab:
    """The contours of one plane, in voxel indices, and from where to where they reach along the slice axis."""

    edges: NDArray[np.float64]
    place: float
    low: float
    high: float


def slabs_of(roi: Roi, grid: Grid, bridge: float) -> tuple[int, list[Slab], list[str]]:
    """The slice axis of the grid to which the contours are parallel, the slabs along it, and remarks."""
    from isocenter.volumes.dicom._scanlines import edges_of, snapped

    if not bridge >= 1:
        msg = f"bridge must be at least 1, not {bridge}"
        raise ValueError(msg)
    if roi.problem:
        msg = f"{roi.label!r}: {roi.problem}"
        raise DicomError(msg, code="bad_format")
    if not roi.contours:
        return 2, [], []
    axis = _slice_axis(roi, grid)
    others = [a for a in range(3) if a != axis]
    to_index = np.linalg.inv(grid.affine)
    planes: list[tuple[float, list[NDArray[np.float64]]]] = []
    for contour in roi.contours:
        index = contour @ to_index[:3, :3].T + to_index[:3, 3]
        if np.ptp(index[:, axis]) * grid.spacing[axis] > _FLAT_MM:
            raise DicomError(_not_parallel(roi, contour, grid, axis), code="bad_geometry")
        place = float(index[:, axis].min() + index[:, axis].max()) / 2
        planes.append((place, [snapped(index[:, others])]))
    planes = _joined(planes, SAME_PLANE_MM / grid.spacing[axis])
    remarks = []
    if overlaps := sum(_overlap(contours) for _, contours in planes):
        on = "1 plane" if overlaps == 1 else f"{overlaps} planes"
        remarks.append(f"contours overlap on {on}; by the even-odd rule what two share is outside")
    usual = 1.0 if roi.spacing_mm is None else roi.spacing_mm / grid.spacing[axis]
    if roi.spacing_mm is None:
        remarks.append(f"drawn on a single plane; taken as {grid.spacing[axis]:g} mm thick, as a slice of the grid")
    bounds, gaps = _bounds([place for place, _ in planes], usual, bridge)
    if gaps:
        widest = max(gaps) * grid.spacing[axis]
        remarks.append(f"drawn in {len(gaps) + 1} parts; planes up to {widest:.4g} mm apart were not joined")
    slabs = [
        Slab(edges, place, *(float(b) for b in snapped(np.array(bound))))
        for (place, contours), bound in zip(planes, bounds, strict=True)
        if len(edges := edges_of(contours))
    ]
    return axis, slabs, remarks


def _bounds(places: list[float], usual: float, bridge: float) -> tuple[list[tuple[float, float]], list[float]]:
    """From where to where each plane reaches, and the distances that were too wide to be bridged."""
    lows, highs, gaps = [], [], []
    ends = [math.inf, *(b - a for a, b in pairwise(places)), math.inf]
    for place, steps in zip(places, pairwise(ends), strict=True):
        near = [step <= bridge * usual * 1.001 for step in steps]
        # An end cap is half the distance to the one neighbour, but not more than half the usual one.
        cap = min(usual, *steps) / 2
        lows.append(place - (steps[0] / 2 if near[0] else cap))
        highs.append(place + (steps[1] / 2 if near[1] else cap))
        if not near[1] and steps[1] < math.inf:
            gaps.append(steps[1])
    return list(zip(lows, highs, strict=True)), gaps


def _joined(
    planes: list[tuple[float, list[NDArray[np.float64]]]], same: float
) -> list[tuple[float, list[NDArray[np.float64]]]]:
    """Planes in ascending order; those at the same place made one."""
    planes = sorted(planes, key=lambda plane: plane[0])
    joined = [planes[0]]
    for place, contours in planes[1:]:
        if place - joined[-1][0] <= same:
            joined[-1] = (joined[-1][0], joined[-1][1] + contours)
        else:
            joined.append((place, contours))
    return joined


def _slice_axis(roi: Roi, grid: Grid) -> int:
    """The array axis along which the largest contour is flattest."""
    points = max(roi.contours, key=lambda contour: float(np.ptp(contour, axis=0).sum()))
    along = points @ np.asarray(grid.direction).reshape(3, 3)
    return int(np.argmin(np.ptp(along, axis=0)))


def _not_parallel(roi: Roi, contour: NDArray[np.float64], grid: Grid, axis: int) -> str:
    centred = contour - contour.mean(axis=0)
    normal = np.linalg.svd(centred, full_matrices=False)[2][2]
    off = float(np.ptp(centred @ normal))
    where = f"{roi.label!r}: a contour around ({', '.join(f'{c:.1f}' for c in contour.mean(axis=0))}) mm"
    if off > _FLAT_MM:
        return f"{where} is not flat: its points leave their plane by {off:.3g} mm"
    along = np.asarray(grid.direction).reshape(3, 3)[:, axis]
    angle = math.degrees(math.acos(min(1.0, abs(float(normal @ along)))))
    return f"{where} is tilted by {angle:.3g}° against the slices of the grid; resample the grid to be parallel to it"


def _overlap(contours: list[NDArray[np.float64]]) -> bool:
    """Whether two contours of a plane overlap without one being in the other, as no hole or island does."""
    from isocenter.volumes.dicom._scanlines import area_within, cuts_of, edges_of

    def area(*chosen: NDArray[np.float64]) -> float:
        edges = edges_of(list(chosen))
        if not len(edges):
            return 0.0
        cuts = cuts_of(edges, float(edges[:, 1].min()), float(edges[:, 3].max()), count=64)
        return float(area_within(edges, cuts, 1, 1)[0])

    if not 1 < len(contours) <= _MOST_COMPARED:
        return False
    areas = [area(contour) for contour in contours]
    for (one, size), (other, other_size) in combinations(zip(contours, areas, strict=True), 2):
        if (one.min(axis=0) < other.max(axis=0)).all() and (other.min(axis=0) < one.max(axis=0)).all():
            # By the even-odd rule both together have what is in one alone.
            shared = (size + other_size - area(one, other)) / 2
            if _SHARED < shared / (min(size, other_size) or 1.0) < 1 - _SHARED:
                return True
    return False


def share_outside(slabs: list[Slab], shape: tuple[int, ...]) -> float:
    """Part of the drawn volume beyond the outer faces of the grid's voxels."""
    from isocenter.volumes.dicom._scanlines import area_within, cuts_of

    columns, rows, count = shape
    if all(
        slab.edges[:, 0::2].min() >= -0.5
        and slab.edges[:, 0::2].max() <= columns - 0.5
        and slab.edges[:, 1].min() >= -0.5
        and slab.edges[:, 3].max() <= rows - 0.5
        and slab.low >= -0.5
        and slab.high <= count - 0.5
        for slab in slabs
    ):
        return 0.0
    whole = within = 0.0
    for slab in slabs:
        low, high = float(slab.edges[:, 1].min()), float(slab.edges[:, 3].max())
        # A few bands per voxel; how much of a shape far larger than the grid lies outside need not be known better.
        cuts = cuts_of(slab.edges, low, high, count=min(max(64, math.ceil(4 * (high - low))), 4096))
        cuts = np.unique([*cuts, *(face for face in (-0.5, rows - 0.5) if low < face < high)])
        area, inside = area_within(slab.edges, cuts, columns, rows)
        whole += area * (slab.high - slab.low)
        within += inside * max(min(slab.high, count - 0.5) - max(slab.low, -0.5), 0.0)
    return min(max(1.0 - within / whole, 0.0), 1.0) if whole > 0 else 0.0
