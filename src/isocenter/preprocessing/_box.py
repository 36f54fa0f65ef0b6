"""Where the oropharynx is on a PET, told by the brain: the box in which HECKTOR cropped its images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes import Grid, Volume

Triple = tuple[float, float, float]
Variant = Literal["design", "published"]
Threshold = float | Literal["auto"]

SIZES: dict[Variant, float] = {"design": 150.0, "published": 144.0}
"""Edge of the box by variant, mm: what the design document says, and what the published script cuts."""

SUV = 3.0  # what brain exceeds and, once blurred, little else in a head does
_LAST_RESORT = 0.1  # SUV; the published fallback: at this level the whole body is one piece
_AUTO = 2.6  # the threshold "auto" is the maximum of the top third divided by this
_TIGHTER = (_AUTO, 2.0, 1.6)  # the same again for a brain that does not stand out so much
_SIGMA_MM = 11.0  # three voxels of the challenge's scanners, whose voxels are 3.3 to 4 mm
_SIGMA_VOXELS = 3.0
_SHIFT = 30.0  # mm: the box ends this far above the lowest brain and lies this far before the brain's middle
_BRAIN_ML = (50.0, 2500.0)  # from a brain of which only the base was scanned to more than any brain, blurred
_BRAIN_TALL = 150.0  # mm; what is taller reaches into the neck


class NoBrainError(ValueError):
    """A PET on which no brain was found; the message says what was."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box along the axes of the patient, LPS millimetres.

    Attributes
    ----------
    low, high
        Its right, front, lower corner and its left, back, upper one: (x1, y1, z1) and (x2, y2, z2).
    method
        What made it: a variant of `oropharynx_box`, or "given" by hand.
    threshold
        The SUV at which the brain was found; None for a box given by hand.
    brain_ml
        The volume of what was taken for the brain, ml; None for a box given by hand.

    Examples
    --------
    >>> box = Box((-75.0, -210.0, -150.0), (75.0, -60.0, 0.0))
    >>> box.size
    (150.0, 150.0, 150.0)
    >>> box.corners
    (-75.0, -210.0, -150.0, 75.0, -60.0, 0.0)
    """

    low: Triple
    high: Triple
    method: str = "given"
    threshold: float | None = None
    brain_ml: float | None = None

    def __post_init__(self) -> None:
        numbers = (*self.low, *self.high)
        if not all(map(math.isfinite, numbers)) or not all(a < b for a, b in zip(self.low, self.high, strict=True)):
            msg = f"a box reaches from lower to higher millimetres on every axis, not from {self.low} to {self.high}"
            raise ValueError(msg)

    @property
    def size(self) -> Triple:
        """Edge lengths, mm."""
        return self.high[0] - self.low[0], self.high[1] - self.low[1], self.high[2] - self.low[2]

    @property
    def corners(self) -> tuple[float, ...]:
        """x1, y1, z1, x2, y2, z2: the order of the columns in HECKTOR's table of boxes."""
        return (*self.low, *self.high)

    @property
    def interleaved(self) -> tuple[float, ...]:
        """x1, x2, y1, y2, z1, z2: the order in which HECKTOR's function returns them."""
        return tuple(end for axis in range(3) for end in (self.low[axis], self.high[axis]))

    def contains(self, points: NDArray[Any]) -> NDArray[np.bool_]:
        """Which points, an N×3 array of LPS millimetres, lie inside or on the border."""
        within = (points >= np.asarray(self.low)) & (points <= np.asarray(self.high))
        return np.asarray(within.all(axis=-1), dtype=np.bool_)


def oropharynx_box(
    pet: Volume, *, variant: Variant = "design", size_mm: float | None = None, threshold: Threshold | None = None
) -> Box:
    """The cube around the oropharynx, found from the brain on a PET in SUV.

    Seen from the patient's right; the brain is the hottest large thing in the top third of the image::

               ┌── field of view ──┐
               │     ▄▆██▆▄        │
               │    ▐██████▌       │  the brain: all that hangs together above a threshold, once blurred
        ┌──────┼─── ▀▀██▀▘ ┐ ◀─────┼─ 30 mm above the lowest brain
        │      │    ·      │       │
        │ box  │  ◎ tumour │       │  the middle lies 30 mm before that of the brain, and level with it sideways
        │      │           │       │
        └──────┼───────────┘       │  (a box that would stick out of the image is moved back into it)
        front  └───────────────────┘  back

    Parameters
    ----------
    pet
        Standardised uptake values (SUV), all finite.
    variant
        "design": as the challenge's design document describes it, 150 mm. "published": number for number what the
        published script computes, 144 mm, whatever one may think of it. They differ in this:

        =================  ==================================  ==============================================
        what               "design"                            "published"
        =================  ==================================  ==============================================
        blur               σ = 11 mm in every direction        σ = 3 voxels: 10 to 16 mm, by scanner and axis
        orientation        the header's direction is used      ignored: index × spacing + origin
        top third          of the field of view, towards the   of the slices, from index ⌊2n/3⌋ on
                           head
        30 mm              30 mm                               whole voxels, ⌊30 / spacing⌋ of them
        no brain at SUV 3  maximum of the blurred top third    0.1, at which all of the body is one piece:
                           / 2.6, then / 2, then / 1.6: they   the box then hangs from the lowest slice of
                           follow a scan whose SUV are scaled  the body
                           wrongly, and often part a brain
                           from a tumour just below it
        is it a brain?     50 ml to 2.5 l and at most 150 mm   not asked
                           tall, or the next is tried
        box sticks out     moved back, on every side; on an    moved back at low indices (in x and y only if
                           axis shorter than the box, centred  by a whole voxel or more) and at the top; the
                                                               test at high x and y looks at the wrong edge
        =================  ==================================  ==============================================
    size_mm
        The edge of the cube; by default that of the variant.
    threshold
        Try this SUV and no other; "auto" for the maximum of the top third / 2.6 (in "design", the fallback above; in
        "published", of the image before it is blurred). Four of the challenge's patients needed that, three others a
        box made by hand: see `read_overrides`.

    Raises
    ------
    NoBrainError
        If nothing in the top third is a brain. The message has every threshold that was tried and what was found.

    References
    ----------
    Andrearczyk V, Oreiller V, Depeursinge A. Oropharynx detection in PET-CT for tumor segmentation. Irish Machine
    Vision and Image Processing (2020).
    """
    if not np.isfinite(pet.array).all():
        msg = "the PET holds values that are not finite"
        raise NoBrainError(msg)
    size = SIZES[variant] if size_mm is None else size_mm
    if not 0.0 < size < math.inf:
        msg = f"a box has an edge of some millimetres, not {size}"
        raise ValueError(msg)
    return (_design if variant == "design" else _published)(pet, size, threshold)


def _design(pet: Volume, size: float, threshold: Threshold | None) -> Box:
    from scipy import ndimage

    blurred = ndimage.gaussian_filter(np.asarray(pet.array, np.float64), [_SIGMA_MM / s for s in pet.grid.spacing])
    corners = pet.grid.corners()
    start, end = corners.min(axis=0), corners.max(axis=0)
    third = end[2] - (end[2] - start[2]) / 3.0
    top = _height(pet.grid) >= third
    hottest = float(blurred[top].max())
    fixed = [SUV] if threshold is None else [] if threshold == "auto" else [threshold]
    relative = [hottest / part for part in _TIGHTER] if threshold in (None, "auto") else []
    tried = []
    for level in (*fixed, *relative):
        brain = _largest_piece(blurred > level, top)
        if not brain.any():
            tried.append(f"SUV > {level:.3g}: nothing")
            continue
        points = np.argwhere(brain) @ pet.grid.affine[:3, :3].T + pet.grid.affine[:3, 3]
        volume, tall = len(points) * pet.grid.voxel_volume / 1000.0, float(np.ptp(points[:, 2]))
        if _BRAIN_ML[0] <= volume <= _BRAIN_ML[1] and tall <= _BRAIN_TALL:
            break
        tried.append(f"SUV > {level:.3g}: {volume:.0f} ml, {tall:.0f} mm tall")
    else:
        msg = (
            f"no brain in the top third of the PET, z from {third:.0f} to {end[2]:.0f} mm. The largest piece there is, "
            f"at {'; at '.join(tried)}; a brain has {_BRAIN_ML[0]:.0f} to {_BRAIN_ML[1]:.0f} ml and is at most "
            f"{_BRAIN_TALL:.0f} mm tall. The largest value of the image is {float(pet.array.max()):.3g}: is it in SUV, "
            "and is the head in it?"
        )
        raise NoBrainError(msg)
    low = (points.min(axis=0) + points.max(axis=0) - size) / 2.0 - (0.0, _SHIFT, 0.0)
    low[2] = points[:, 2].min() + _SHIFT - size
    room = end - start - size
    low = np.where(room < 0.0, start + room / 2.0, np.clip(low, start, np.maximum(start, end - size)))
    return Box(_triple(low), _triple(low + size), "design", float(level), float(volume))


def _published(pet: Volume, size: float, threshold: Threshold | None) -> Box:
    from scipy import ndimage

    # The script's arrays are the file's: float32 stays float32 through the filter.
    blurred = ndimage.gaussian_filter(pet.array, _SIGMA_VOXELS)
    count, spacing = pet.grid.shape, np.asarray(pet.grid.spacing)
    top = np.zeros(count, np.bool_)
    top[:, :, count[2] * 2 // 3 :] = True
    tried = []
    auto = float(pet.array[top].max()) / _AUTO
    for level in (SUV, _LAST_RESORT) if threshold is None else (auto if threshold == "auto" else threshold,):
        brain = _largest_piece(blurred > level, top)
        if brain.any():
            break
        tried.append(f"{level:.3g}")
    else:
        msg = f"no brain in the top third of the PET: there is nothing at SUV > {' and nothing at SUV > '.join(tried)}"
        raise NoBrainError(msg)
    (x1, x2), (y1, y2), (z, _) = (_span(brain, axis) for axis in range(3))
    extent = size / spacing
    shift = [_SHIFT // s for s in spacing]
    x = _published_span((x1 + x2) / 2.0, extent[0], count[0])
    y = _published_span((y1 + y2) / 2.0 - shift[1], extent[1], count[1])
    low, high = z - (extent[2] - shift[2]), z + shift[2]
    if low < 0:
        low, high = 0.0, extent[2]
    elif high > count[2]:
        low, high = count[2] - extent[2], count[2]
    ends = np.array([(x[0], y[0], low), (x[1], y[1], high)]) * spacing + np.asarray(pet.grid.origin)
    volume = np.count_nonzero(brain) * pet.grid.voxel_volume / 1000.0
    return Box(_triple(ends[0]), _triple(ends[1]), "published", float(level), float(volume))


def _published_span(middle: float, extent: float, count: int) -> tuple[float, float]:
    """The published clamp of x and y. It truncates towards 0, and looks at the lower edge on both sides."""
    edge = int(middle - int(extent / 2.0))
    if edge < 0:
        return 0.0, extent
    if edge > count:
        return count - extent, count
    return middle - extent / 2.0, middle + extent / 2.0


def _largest_piece(mask: NDArray[np.bool_], top: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of the pieces whose voxels share faces, the one with most voxels in `top`, whole; empty if none reaches there."""
    from scipy import ndimage

    labels, _ = ndimage.label(mask)
    counts = np.bincount(labels[top], minlength=2)[1:]
    best = int(counts.argmax()) + 1
    return np.asarray((labels == best) if counts[best - 1] else np.zeros_like(mask))


def _height(grid: Grid) -> NDArray[np.float64]:
    """The height of every voxel centre, z in mm."""
    i, j, k = np.ogrid[: grid.shape[0], : grid.shape[1], : grid.shape[2]]
    row = grid.affine[2]
    return np.asarray(row[0] * i + row[1] * j + row[2] * k + row[3])


def _span(mask: NDArray[np.bool_], axis: int) -> tuple[int, int]:
    (hits,) = np.nonzero(mask.any(axis=tuple(a for a in range(3) if a != axis)))
    return int(hits[0]), int(hits[-1])


def _triple(numbers: NDArray[Any]) -> Triple:
    return float(numbers[0]), float(numbers[1]), float(numbers[2])
