"""Shapes in a patient: tubes along the body and ellipsoids, painted on any grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from isocenter.phantoms._fields import Array, Box, Mask

Side = Literal["left", "back", "up"]
Knots = tuple[tuple[float, float, float, float, float], ...]
FAR = -99.0  # mm; the depth in a shape of what lies outside its box
_RIM = 16.0  # mm around a shape in which its depth, which is negative there, is still worked out


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """Where voxels lie in the patient, mm from a place in the body.

    Attributes
    ----------
    left, back, up
        Coordinates of the voxel centres along the array axis that runs (forth or back) in this direction.
    order
        Which of the three each array axis is.
    """

    left: Array
    back: Array
    up: Array
    order: tuple[Side, Side, Side]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the arrays."""
        x, y, z = (len(getattr(self, side)) for side in self.order)
        return x, y, z

    def box(self, low: Array, high: Array) -> Box:
        """The voxels between two points (left, back, up); it may be empty."""
        spans = []
        for side in self.order:
            at = ("left", "back", "up").index(side)
            values = getattr(self, side)
            (hits,) = np.nonzero((values >= low[at]) & (values <= high[at]))
            spans.append(slice(int(hits[0]), int(hits[-1]) + 1) if hits.size else slice(0, 0))
        return spans[0], spans[1], spans[2]

    def part(self, box: Box) -> Frame:
        """The frame of a box."""
        cut = {side: getattr(self, side)[span] for side, span in zip(self.order, box, strict=True)}
        return Frame(cut["left"], cut["back"], cut["up"], self.order)

    def points(self) -> tuple[Array, Array, Array]:
        """Left, back and up, each of a shape that broadcasts to the array's."""
        found = {}
        for axis, side in enumerate(self.order):
            shape = [1, 1, 1]
            shape[axis] = -1
            found[side] = getattr(self, side).reshape(shape)
        return found["left"], found["back"], found["up"]

    def tube(self, knots: Knots, *, mirror: float = 1.0, tilt: float = 0.0) -> Array:
        """Depth in a tube along the body, mm: positive inside, roughly the distance to its wall.

        Parameters
        ----------
        knots
            Rows of height, centre to the left, centre to the back, half width, half depth; ascending, linear in
            between, and nothing before the first and after the last.
        mirror
            -1.0 for the other side of the body.
        tilt
            Radians by which the width turns from left to back.
        """
        table = np.array(knots)
        reach = float(table[:, 3:].max()) + _RIM
        centre = mirror * table[:, 1]
        low = np.array([centre.min() - reach, table[:, 2].min() - reach, table[0, 0]])
        high = np.array([centre.max() + reach, table[:, 2].max() + reach, table[-1, 0]])
        box = self.box(low, high)
        left, back, up = self.part(box).points()
        x0, y0, width, deep = (np.interp(up, table[:, 0], table[:, column]) for column in (1, 2, 3, 4))
        x, y = left * mirror - x0, back - y0
        along, across = x * math.cos(tilt) + y * math.sin(tilt), y * math.cos(tilt) - x * math.sin(tilt)
        depth = np.full(self.shape, FAR)
        depth[box] = (1.0 - np.sqrt((along / width) ** 2 + (across / deep) ** 2)) * np.minimum(width, deep)
        return depth

    def ball(self, centre: tuple[float, float, float] | Array, axes: tuple[float, float, float] | Array) -> Array:
        """Depth in an ellipsoid, mm: positive inside, roughly the distance to its surface."""
        middle, half = np.asarray(centre), np.asarray(axes)
        box = self.box(middle - half - _RIM, middle + half + _RIM)
        squared = sum(((at - c) / h) ** 2 for at, c, h in zip(self.part(box).points(), middle, half, strict=True))
        depth = np.full(self.shape, FAR)
        depth[box] = (1.0 - np.sqrt(squared)) * float(half.min())
        return depth

    def bent(self, outer: tuple[float, float], *, centre: float, thickness: float) -> Array:
        """Depth in the wall of an arch that is open to the back: half width and reach to the front of its outside.

        The arch is the same at every height; `centre` is where its open end lies, mm to the back.
        """
        left, back, _ = self.points()
        away = (1.0 - np.sqrt((left / outer[0]) ** 2 + ((back - centre) / outer[1]) ** 2)) * min(outer)
        depth = np.minimum(np.minimum(away, thickness - away), centre - back)
        return np.broadcast_to(depth, self.shape)

    def between(self, low: float, high: float) -> Mask:
        """The voxels between two heights; broadcasts to the array's shape."""
        up = self.points()[2]
        return np.asarray((up > low) & (up < high))
