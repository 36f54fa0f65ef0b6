"""Where the voxels of an array lie in the patient."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.problems import CodedError

Triple = tuple[float, float, float]

# Wider than any scanner and finer than any microscope; beyond them a header is wrong and arithmetic overflows.
_SPACING = (1e-6, 1e6)
_FURTHEST = 1e9
_SKEW = 1.01e-3  # how far products of cosines may lie from those of perpendicular unit vectors


@dataclass(frozen=True)
class Grid:
    """A regular grid in patient space: voxel n = (i, j, k) has its centre at ``origin + direction @ (spacing * n)``.

    World coordinates are LPS millimetres (x to the patient's left, y to the back, z to the head), as in DICOM and ITK.
    Array axes are (x, y, z): the first index runs along the first column of `direction`.

    Attributes
    ----------
    shape
        Number of voxels along each array axis.
    spacing
        Distance of neighbouring voxel centres along each axis, mm.
    origin
        Centre of voxel (0, 0, 0), mm.
    direction
        Nine cosines, row by row; the columns are the directions of the array axes.
    """

    shape: tuple[int, int, int]
    spacing: Triple = (1.0, 1.0, 1.0)
    origin: Triple = (0.0, 0.0, 0.0)
    direction: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        shape = tuple(int(n) for n in self.shape)
        if len(shape) != 3 or min(shape) < 1:
            msg = f"a grid has three axes of at least one voxel, not {'×'.join(map(str, shape))}"
            raise CodedError(msg, code="bad_geometry")
        spacing = tuple(float(s) for s in self.spacing)
        if len(spacing) != 3 or not all(_SPACING[0] <= s <= _SPACING[1] for s in spacing):
            msg = f"spacing must be three positive numbers of millimetres, not {spacing}"
            raise CodedError(msg, code="bad_geometry")
        origin = tuple(float(o) for o in self.origin)
        if len(origin) != 3 or not all(abs(o) <= _FURTHEST for o in origin):
            msg = f"origin must be three finite numbers of millimetres, not {origin}"
            raise CodedError(msg, code="bad_geometry")
        direction = tuple(float(cosine) for cosine in self.direction)
        if len(direction) != 9 or not _is_perpendicular(direction):
            rows = [list(direction[row : row + 3]) for row in range(0, len(direction), 3)]
            msg = f"direction is not made of three perpendicular unit vectors: {rows}"
            raise CodedError(msg, code="bad_geometry")
        for name, value in (("shape", shape), ("spacing", spacing), ("origin", origin), ("direction", direction)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_affine(cls, affine: NDArray[Any], shape: tuple[int, int, int]) -> Grid:
        """The grid of a 4×4 index-to-LPS matrix; a sheared one is an error, as it has no spacing and direction."""
        # A cohort has thousands of headers, and numpy takes longer to begin with nine numbers than with nine thousand.
        matrix: list[list[float]] = np.asarray(affine, dtype=float).tolist()
        if not all(abs(number) <= _FURTHEST for row in matrix for number in row):
            msg = f"the index-to-world matrix is not finite, or far too large: {matrix}"
            raise CodedError(msg, code="bad_geometry")
        rows = matrix[:3]
        x, y, z = (math.sqrt(a * a + b * b + c * c) for a, b, c in zip(*(row[:3] for row in rows), strict=True))
        if not min(x, y, z) > 0:
            msg = f"the index-to-world matrix is singular: {matrix}"
            raise CodedError(msg, code="bad_geometry")
        return cls(
            shape=shape,
            spacing=(x, y, z),
            origin=(rows[0][3], rows[1][3], rows[2][3]),
            direction=tuple(cosine for a, b, c, _ in rows for cosine in (a / x, b / y, c / z)),
        )

    @cached_property
    def affine(self) -> NDArray[np.float64]:
        """The 4×4 matrix from voxel index to LPS millimetres."""
        matrix = np.eye(4)
        matrix[:3, :3] = np.asarray(self.direction).reshape(3, 3) * np.asarray(self.spacing)
        matrix[:3, 3] = self.origin
        return matrix

    @property
    def voxels(self) -> int:
        """Number of voxels."""
        return math.prod(self.shape)

    @property
    def voxel_volume(self) -> float:
        """Volume of one voxel, mm³."""
        return math.prod(self.spacing)

    def corners(self) -> NDArray[np.float64]:
        """The eight outer corners of the grid (of its voxels' boxes, not of their centres), LPS millimetres, 8×3."""
        ends = np.array(list(itertools.product(*((-0.5, n - 0.5) for n in self.shape))))
        return ends @ self.affine[:3, :3].T + self.affine[:3, 3]

    def deviation(self, other: Grid) -> float:
        """How far the corners of two grids lie apart, mm: the largest of the eight distances."""
        return float(np.linalg.norm(self.corners() - other.corners(), axis=1).max())

    def tolerance(self, other: Grid) -> float:
        """How far corners may lie apart on what is still one grid: half the smallest voxel edge of the two, mm."""
        return 0.5 * min(*self.spacing, *other.spacing)

    def same_as(self, other: Grid) -> bool:
        """Whether two grids are one: the same shape, and corners that agree within half the smallest voxel edge.

        Comparing corners catches what comparing header fields misses: a direction that is off by a hair moves the far
        corner by millimetres, while a quaternion rounded to single precision moves it by a fifth of a voxel.
        """
        if self == other:
            return True
        return self.shape == other.shape and self.deviation(other) <= self.tolerance(other)

    def __str__(self) -> str:
        shape = "×".join(str(n) for n in self.shape)
        spacing = "×".join(f"{s:.4g}" for s in self.spacing)
        return f"{shape} at {spacing} mm"


def _is_perpendicular(direction: tuple[float, ...]) -> bool:
    """Whether the columns of nine cosines are unit vectors at right angles: products are those of the identity."""
    columns = [direction[axis::3] for axis in range(3)]
    for i, first in enumerate(columns):
        for j, second in enumerate(columns):
            product = sum(a * b for a, b in zip(first, second, strict=True))
            if not abs(product - (i == j)) <= _SKEW:  # so that what is not a number is refused
                return False
    return True
