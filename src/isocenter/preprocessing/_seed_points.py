"""Points inside tumours, away from their boundaries: what a contest may give away without giving away the contour."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes import Grid, LabelMap, Volume

Triple = tuple[float, float, float]
Index = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class SeedPoint:
    """A point inside one connected component of a mask.

    Attributes
    ----------
    component
        Its number, from 1 on, in the order of the components' first voxels (x running fastest, then y, then z).
    index
        The voxel (i, j, k).
    point_mm
        Its centre, LPS millimetres.
    threshold
        How far inside a point of this component had to be, mm.
    inradius
        How far inside its deepest voxel is, mm. Tells the size of the tumour: not for participants.
    """

    component: int
    index: Index
    point_mm: Triple
    threshold: float
    inradius: float


def seed_points(mask: Volume | LabelMap, *, seed: int, margin_mm: float = 3.0, alpha: float = 0.5) -> list[SeedPoint]:
    """One random point in each component of a mask, at least some millimetres away from its boundary.

    A voxel's depth d is the distance from its centre to the nearest centre outside the component, less half the
    smallest voxel edge; beyond the border of the image everything is outside. With the inradius r = max d, the point is
    drawn uniformly from the voxels with d ≥ t, where ``t = min(margin_mm, alpha · r)``: so there always are some, in
    a component of a single voxel that voxel.

    Parameters
    ----------
    mask
        A mask or labels: all that is not 0 is foreground, and components are 26-connected.
    seed
        The draw of a component depends on this and on the shape of the component, on nothing else: not on its place, on
        other components, or on how much background surrounds it. (Two components of exactly the same voxels therefore
        have their points at the same place within them.)
    margin_mm
        How far from the boundary points should stay where there is room, mm.
    alpha
        Which part of the inradius they keep where there is not, 0 to 1.

    Returns
    -------
    list of SeedPoint
        In the order of the components; empty for an empty mask.

    Examples
    --------
    >>> ball = np.linalg.norm(np.indices((21, 21, 21)) - 10.0, axis=0) < 8.5
    >>> (point,) = seed_points(Volume(ball, Grid(ball.shape)), seed=1)
    >>> bool(ball[point.index]), point.threshold, round(point.inradius, 2)
    (True, 3.0, 8.04)
    """
    if not (0.0 <= alpha <= 1.0 and 0.0 <= margin_mm < math.inf and seed >= 0):
        msg = f"seed and margin_mm must not be negative, alpha from 0 to 1; not {seed}, {margin_mm} and {alpha}"
        raise ValueError(msg)
    from scipy import ndimage

    # Of a LabelMap only the box of the foreground is searched; components are numbered the same in it.
    array, corner = (mask.box, mask.corner) if isinstance(mask, LabelMap) else (mask.array, (0, 0, 0))
    if not np.any(array):
        return []
    # Transposed, so that the first voxel found is the one with the smallest z, then y, then x.
    labels, _ = ndimage.label(np.asarray(array).T != 0, structure=np.ones((3, 3, 3)))
    found = []
    for number, box in enumerate(ndimage.find_objects(labels), start=1):
        component = (labels[box] == number).T
        depth = _depth(component, mask.grid.spacing)
        inradius = float(depth.max())
        threshold = min(margin_mm, alpha * inradius)
        candidates = np.argwhere((depth >= threshold) & component)
        chosen = candidates[_stream(seed, component).integers(len(candidates))]
        first = [corner[axis] + box[2 - axis].start for axis in range(3)]
        index = (first[0] + int(chosen[0]), first[1] + int(chosen[1]), first[2] + int(chosen[2]))
        found.append(SeedPoint(number, index, _place(mask.grid, index), threshold, inradius))
    return found


def _depth(component: NDArray[np.bool_], spacing: Triple) -> NDArray[np.float64]:
    """How deep inside the component every voxel of its box is, mm."""
    from scipy import ndimage

    padded = np.pad(component, 1)
    inner = (slice(1, -1),) * 3
    return np.asarray(ndimage.distance_transform_edt(padded, sampling=spacing)[inner]) - 0.5 * min(spacing)


def _stream(seed: int, component: NDArray[np.bool_]) -> np.random.Generator:
    """Random numbers of a component, told from its shape alone."""
    shape = hashlib.sha256(repr(component.shape).encode() + np.packbits(component).tobytes()).digest()
    return np.random.default_rng([seed, *np.frombuffer(shape, np.uint32).tolist()])


def _place(grid: Grid, index: Index) -> Triple:
    x, y, z = grid.affine[:3, :3] @ index + grid.affine[:3, 3]
    return float(x), float(y), float(z)
