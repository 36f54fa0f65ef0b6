"""Two doses and where their points lie: what callers may pass to the gamma index, checked and put in one form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Axes = Sequence[ArrayLike]

# Nodes this close together, in steps of the grid, are one.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Lattice:
    """Reference points that all lie at one place of a cell of the evaluation, which is regular.

    Point n of the reference is at node + stride · n + offset along an axis, counted in cells of the evaluation.
    """

    cell: tuple[float, float, float]  # edges, mm
    offset: tuple[float, float, float]  # 0 ≤ offset < 1; 0 for points on nodes
    node: NDArray[np.int64]
    stride: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Doses:
    """Reference and evaluation as three-dimensional arrays in C order, on ascending axes in mm.

    Axes that a one- or two-dimensional dose does not have come last: there the reference has one node, and the
    evaluation two that are equal.
    """

    reference: NDArray[Any]
    evaluation: NDArray[Any]
    reference_axes: tuple[Floats, Floats, Floats]
    evaluation_axes: tuple[Floats, Floats, Floats]
    dimensions: int
    shape: tuple[int, ...]  # as the caller gave the reference
    flipped: tuple[int, ...]  # axes that the caller gave descending
    maximum: float  # of the reference, Gy

    def inward(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array on the caller's reference grid, in the form of ours."""
        return np.flip(array, self.flipped).reshape(self.reference.shape)

    def outward(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array of our form, on the caller's reference grid."""
        array = array.reshape(self.shape)
        return np.ascontiguousarray(np.flip(array, self.flipped)) if self.flipped else array

    def density(self) -> Floats:
        """Cells per mm along each axis of the evaluation; 0 where they are not all alike."""
        return np.array([1.0 / step if (step := _step(axis)) else 0.0 for axis in self.evaluation_axes])

    def lattice(self) -> Lattice | None:
        """How the reference lies in the cells of the evaluation, if that is the same for each of its points."""
        cell, offset, node, stride = [1.0] * 3, [0.0] * 3, [0] * 3, [1] * 3
        for d in range(self.dimensions):
            reference, evaluation = self.reference_axes[d], self.evaluation_axes[d]
            step = _step(evaluation)
            if not step:
                return None
            places = (reference - evaluation[0]) / step
            whole = places - places[0]
            apart = np.rint(whole)
            if (np.abs(whole - apart) > _SAME).any() or (np.diff(apart, 2) != 0).any():
                return None
            nearest = np.rint(places[0])
            if (np.abs(places - apart - nearest) <= _SAME).all():
                node[d] = int(nearest)
            else:
                # Rounded, so that grids which differ by the rounding of their coordinates share tables.
                start = round(float(np.mean(places - apart)), 12)
                node[d] = math.floor(start)
                offset[d] = round(start - node[d], 12)
            cell[d] = step
            stride[d] = int(apart[1]) if apart.size > 1 else 1
        return Lattice(
            cell=(cell[0], cell[1], cell[2]),
            offset=(offset[0], offset[1], offset[2]),
            node=np.array(node, np.int64),
            stride=np.array(stride, np.int64),
        )

    def span(self) -> float:
        """The largest distance between a reference point and a point of the evaluation grid, mm."""
        return math.hypot(
            *(
                max(abs(r[0] - e[-1]), abs(r[-1] - e[0]))
                for r, e in zip(self.reference_axes[: self.dimensions], self.evaluation_axes, strict=False)
            )
        )

    def gap(self) -> float:
        """How far the reference grid reaches beyond the evaluation grid, at most, mm."""
        return math.hypot(
            *(
                max(e[0] - r[0], r[-1] - e[-1], 0.0)
                for r, e in zip(self.reference_axes[: self.dimensions], self.evaluation_axes, strict=False)
            )
        )


def _step(axis: Floats) -> float:
    """The step of a regular axis, or 0."""
    step = float(axis[-1] - axis[0]) / (axis.size - 1)
    regular = np.abs(axis - (axis[0] + step * np.arange(axis.size))) <= _SAME * step
    return step if regular.all() else 0.0


def prepare(
    reference: ArrayLike,
    evaluation: ArrayLike,
    *,
    spacing: float | Sequence[float] | None,
    origin: Sequence[float] | None,
    axes: Axes | None,
    evaluation_spacing: float | Sequence[float] | None,
    evaluation_origin: Sequence[float] | None,
    evaluation_axes: Axes | None,
) -> Doses:
    """Check what the caller passed; see `gamma` for what each means."""
    arrays = [_dose(array, name) for array, name in ((reference, "reference"), (evaluation, "evaluation"))]
    shapes = [array.shape for array in arrays]
    if arrays[0].ndim != arrays[1].ndim:
        msg = f"reference and evaluation must have as many dimensions, not {arrays[0].ndim} and {arrays[1].ndim}"
        raise ValueError(msg)
    own = _axes(shapes[0], spacing=spacing, origin=origin, axes=axes, name="")
    if evaluation_axes is None and evaluation_spacing is None and evaluation_origin is None:
        if shapes[0] != shapes[1]:
            msg = (
                f"reference and evaluation have shapes {shapes[0]} and {shapes[1]}: say where the evaluation lies, "
                "with evaluation_spacing and evaluation_origin, or evaluation_axes"
            )
            raise ValueError(msg)
        other = own
    elif evaluation_axes is None:
        other = _axes(
            shapes[1],
            spacing=spacing if evaluation_spacing is None else evaluation_spacing,
            origin=origin if evaluation_origin is None else evaluation_origin,
            axes=None,
            name="evaluation_",
        )
    else:
        other = _axes(
            shapes[1], spacing=evaluation_spacing, origin=evaluation_origin, axes=evaluation_axes, name="evaluation_"
        )
    if min(shapes[1]) < 2:
        msg = f"the evaluation needs two nodes along each axis to interpolate between, not the shape {shapes[1]}"
        raise ValueError(msg)
    maximum = float(arrays[0].max())
    if maximum <= 0:
        msg = f"the reference has no dose: its maximum is {maximum:g} Gy"
        raise ValueError(msg)
    flips = [tuple(d for d, axis in enumerate(sides) if axis[-1] < axis[0]) for sides in (own, other)]
    missing = 3 - arrays[0].ndim
    doses = [np.flip(array, flip) if flip else array for array, flip in zip(arrays, flips, strict=True)]
    doses = [array.reshape(*array.shape, *[1] * missing) for array in doses]
    for d in range(3 - missing, 3):
        doses[1] = np.repeat(doses[1], 2, axis=d)
    single = all(array.dtype == np.float32 for array in doses)
    kind = np.float32 if single else np.float64
    own, other = ([np.sort(axis) for axis in sides] for sides in (own, other))
    own += [np.zeros(1)] * missing
    other += [np.array([0.0, 1.0])] * missing
    return Doses(
        reference=np.ascontiguousarray(doses[0], kind),
        evaluation=np.ascontiguousarray(doses[1], kind),
        reference_axes=(own[0], own[1], own[2]),
        evaluation_axes=(other[0], other[1], other[2]),
        dimensions=3 - missing,
        shape=shapes[0],
        flipped=flips[0],
        maximum=maximum,
    )


def _dose(array: ArrayLike, name: str) -> NDArray[Any]:
    if np.ma.isMaskedArray(array):
        msg = f"the {name} is a masked array, whose mask would be ignored; fill it, and choose points with mask"
        raise ValueError(msg)
    dose = np.asarray(array)
    if dose.dtype.kind not in "fiu":
        msg = f"the {name} must be an array of numbers, not of {dose.dtype}"
        raise ValueError(msg)
    if not 1 <= dose.ndim <= 3 or dose.size == 0:
        msg = f"the {name} must have one to three dimensions and no empty one, not the shape {dose.shape}"
        raise ValueError(msg)
    if not (np.isfinite(dose.min()) and np.isfinite(dose.max())):
        bad = int(dose.size - np.isfinite(dose).sum())
        msg = f"the {name} must be finite; {bad} of its {dose.size} values are not"
        raise ValueError(msg)
    return dose


def _axes(
    shape: tuple[int, ...],
    *,
    spacing: float | Sequence[float] | None,
    origin: Sequence[float] | None,
    axes: Axes | None,
    name: str,
) -> list[Floats]:
    if axes is not None:
        if spacing is not None or origin is not None:
            msg = f"give either {name}axes, or {name}spacing and {name}origin, not both"
            raise ValueError(msg)
        found = [np.asarray(axis, dtype=np.float64) for axis in axes]
        if tuple(axis.shape for axis in found) != tuple((n,) for n in shape):
            msg = f"{name}axes must have one coordinate per node, {shape}, not {tuple(axis.shape for axis in found)}"
            raise ValueError(msg)
        for d, axis in enumerate(found):
            steps = np.diff(axis)
            if not (np.isfinite(axis).all() and ((steps > 0).all() or (steps < 0).all())):
                msg = f"{name}axes[{d}] must be finite and either ascend or descend throughout"
                raise ValueError(msg)
        return found
    if spacing is None:
        msg = f"where do the points lie? Give {name}spacing, or {name}axes"
        raise ValueError(msg)
    steps = np.asarray(spacing, dtype=np.float64)
    steps = np.full(len(shape), steps) if steps.ndim == 0 else steps
    if steps.shape != (len(shape),) or not (np.isfinite(steps) & (steps > 0)).all():
        msg = f"{name}spacing must be {len(shape)} positive lengths in mm, in the order of the axes, not {spacing}"
        raise ValueError(msg)
    start = np.zeros(len(shape)) if origin is None else np.asarray(origin, dtype=np.float64)
    if start.shape != (len(shape),) or not np.isfinite(start).all():
        msg = f"{name}origin must be {len(shape)} finite coordinates in mm, not {origin}"
        raise ValueError(msg)
    return [first + step * np.arange(n) for first, step, n in zip(start, steps, shape, strict=True)]
