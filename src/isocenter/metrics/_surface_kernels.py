"""The loops of the surface metrics, compiled.

They are written for one box around both masks: arrays in C order, `mask` padded by one voxel of background on every
side. Import this module only where it is used: numba takes its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

FAR = np.inf


@njit(nogil=True, cache=True)
def surface_elements(
    mask: NDArray[np.uint8], area: NDArray[np.float64], points: NDArray[np.int32], weights: NDArray[np.float64]
) -> int:
    """Find the corners through which the surface passes; returns how many, and fills them in as far as there is room.

    Corner (i, j, k) lies between voxels i - 1 and i of the mask without its padding, and so on.
    """
    count = 0
    planes, rows, columns = mask.shape
    for i in range(planes - 1):
        for j in range(rows - 1):
            before = 0
            for k in range(columns):
                column = 64 * mask[i, j, k] + 16 * mask[i, j + 1, k] + 4 * mask[i + 1, j, k] + mask[i + 1, j + 1, k]
                if k > 0:
                    code = 2 * before + column
                    if 0 < code < 255:
                        if count < points.shape[0]:
                            points[count, 0] = i
                            points[count, 1] = j
                            points[count, 2] = k - 1
                            weights[count] = area[code]
                        count += 1
                before = column
    return count


@njit(nogil=True, cache=True)
def boundary_voxels(mask: NDArray[np.uint8], connectivity: int) -> NDArray[np.int32]:
    """Indices, without the padding, of the foreground voxels that an erosion removes.

    The erosion looks at neighbours that differ along at most `connectivity` axes; the padding is background.
    """
    planes, rows, columns = mask.shape
    room = 1024
    points = np.empty((room, 3), np.int32)
    count = 0
    for i in range(1, planes - 1):
        for j in range(1, rows - 1):
            for k in range(1, columns - 1):
                if mask[i, j, k] == 0:
                    continue
                if connectivity == 1:
                    inside = mask[i - 1, j, k] & mask[i + 1, j, k] & mask[i, j - 1, k] & mask[i, j + 1, k]
                    inside &= mask[i, j, k - 1] & mask[i, j, k + 1]
                else:
                    inside = 1
                    for a in range(-1, 2):
                        for b in range(-1, 2):
                            for c in range(-1, 2):
                                if abs(a) + abs(b) + abs(c) <= connectivity:
                                    inside &= mask[i + a, j + b, k + c]
                if inside:
                    continue
                if count == room:
                    larger = np.empty((2 * room, 3), np.int32)
                    larger[:room] = points
                    points, room = larger, 2 * room
                points[count, 0], points[count, 1], points[count, 2] = i - 1, j - 1, k - 1
                count += 1
    return points[:count]


@njit(nogil=True, cache=True)
def distances_nearby(
    start: NDArray[np.int32],
    target: NDArray[np.int32],
    shape: tuple[int, int, int],
    spacing: NDArray[np.float64],
    axes: tuple[int, int, int],
    lines: NDArray[np.int32],
    limit: int,
) -> NDArray[np.float64]:
    """Distance of every start point to the nearest target, mm; -1 where nothing was found nearby.

    From a point, the lines along the last of `axes` are visited in the order of their distance (`lines` are their
    offsets along the first two), until the next one is farther away than the nearest target on those before it. Two
    contours of one thing lie close to each other, so that a dozen lines do. At most `limit` lines are visited in all.
    """
    p, q, r = axes
    steps = _steps_along_lines(target, shape, axes)
    away = np.empty(lines.shape[0])
    for n in range(lines.shape[0]):
        away[n] = (lines[n, 0] * spacing[p]) ** 2 + (lines[n, 1] * spacing[q]) ** 2
    nearest = np.full(start.shape[0], -1.0)
    squares = np.empty(3)
    visited = 0
    planes, rows, length, unit = np.uint64(shape[p]), np.uint64(shape[q]), shape[r], spacing[r]
    for n in range(start.shape[0]):
        i, j, k = start[n, p], start[n, q], start[n, r]
        best = FAR
        chosen, far = -1, 0
        line = 0
        while line < lines.shape[0] and away[line] < best:
            # Unsigned, what is before the box is beyond it.
            a, b = np.uint64(i + lines[line, 0]), np.uint64(j + lines[line, 1])
            if a < planes and b < rows:
                step = steps[a, b, k]
                if step < length:
                    along = step * unit
                    squared = away[line] + along * along
                    if squared < best:
                        best, chosen, far = squared, line, step
            line += 1
        visited += line
        if line < lines.shape[0]:
            # Summed in the order of the axes, as `distances_in_box` does, so that both give the same number.
            squares[p] = (lines[chosen, 0] * spacing[p]) ** 2
            squares[q] = (lines[chosen, 1] * spacing[q]) ** 2
            squares[r] = (far * spacing[r]) ** 2
            nearest[n] = np.sqrt(squares[0] + squares[1] + squares[2])
        if visited > limit:
            break
    return nearest


@njit(nogil=True, cache=True)
def _steps_along_lines(
    target: NDArray[np.int32], shape: tuple[int, int, int], axes: tuple[int, int, int]
) -> NDArray[np.int32]:
    """How many steps along the last of `axes` the nearest target in the same line is away; its length or more if none.

    The table has its axes in the order of `axes`, so that lines are contiguous.
    """
    p, q, r = axes
    length = shape[r]
    steps = np.full((shape[p], shape[q], length), np.int32(length))
    for n in range(target.shape[0]):
        steps[target[n, p], target[n, q], target[n, r]] = 0
    for i in range(shape[p]):
        for j in range(shape[q]):
            line = steps[i, j]
            for k in range(1, length):
                line[k] = min(line[k], line[k - 1] + 1)
            for k in range(length - 2, -1, -1):
                line[k] = min(line[k], line[k + 1] + 1)
    return steps


@njit(nogil=True, cache=True)
def distances_in_box(
    start: NDArray[np.int32], target: NDArray[np.int32], shape: tuple[int, int, int], spacing: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distance of every start point to the nearest target, mm, through an exact distance transform of the box.

    Squared distances are minimised axis by axis (Felzenszwalb and Huttenlocher, Theory of Computing 8, 2012), in double
    precision and summed in the order of the axes, so that comparisons with a tolerance come out as they should.
    """
    squared = (_steps_along_first_axis(target, shape) * spacing[0]) ** 2
    planes, rows, columns = shape
    longest = max(rows, columns)
    line, out = np.empty(longest), np.empty(longest)
    centre, border = np.empty(longest, np.int64), np.empty(longest + 1)
    for i in range(planes):
        for k in range(columns):
            for j in range(rows):
                line[j] = squared[i, j, k]
            _lower_envelope(line[:rows], spacing[1], out[:rows], centre, border)
            for j in range(rows):
                squared[i, j, k] = out[j]
    # Along the last axis only where somebody asks.
    done = np.zeros((planes, rows), np.bool_)
    found = np.empty(start.shape[0])
    for n in range(start.shape[0]):
        i, j = start[n, 0], start[n, 1]
        if not done[i, j]:
            _lower_envelope(squared[i, j], spacing[2], out[:columns], centre, border)
            squared[i, j] = out[:columns]
            done[i, j] = True
        found[n] = np.sqrt(squared[i, j, start[n, 2]])
    return found


@njit(nogil=True, cache=True)
def _steps_along_first_axis(target: NDArray[np.int32], shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """How many steps along the first axis the nearest target in the same line is away."""
    steps = np.full(shape, FAR)
    for n in range(target.shape[0]):
        steps[target[n, 0], target[n, 1], target[n, 2]] = 0.0
    for i in range(1, shape[0]):
        for j in range(shape[1]):
            for k in range(shape[2]):
                steps[i, j, k] = min(steps[i, j, k], steps[i - 1, j, k] + 1.0)
    for i in range(shape[0] - 2, -1, -1):
        for j in range(shape[1]):
            for k in range(shape[2]):
                steps[i, j, k] = min(steps[i, j, k], steps[i + 1, j, k] + 1.0)
    return steps


@njit(nogil=True, cache=True)
def _lower_envelope(
    f: NDArray[np.float64],
    step: float,
    out: NDArray[np.float64],
    centre: NDArray[np.int64],
    border: NDArray[np.float64],
) -> None:
    """out[q] = min over v of f[v] + (step · (q - v))², by the parabolas that are lowest somewhere."""
    size = f.size
    square = step * step
    last = -1
    for v in range(size):
        if f[v] == FAR:
            continue
        left = -FAR
        while last >= 0:
            u = centre[last]
            left = ((f[v] + square * v * v) - (f[u] + square * u * u)) / (2.0 * square * (v - u))
            if left > border[last]:
                break
            last -= 1
        if last < 0:
            left = -FAR
        last += 1
        centre[last] = v
        border[last] = left
    if last < 0:
        out[:] = FAR
        return
    border[last + 1] = FAR
    at = 0
    for q in range(size):
        while border[at + 1] < q:
            at += 1
        away = step * (q - centre[at])
        out[q] = f[centre[at]] + away * away


def pad(box: NDArray[Any]) -> NDArray[np.uint8]:
    """The mask of a box as the kernels want it: 0 and 1, with a border of background."""
    padded = np.zeros(tuple(n + 2 for n in box.shape), dtype=np.uint8)
    padded[1:-1, 1:-1, 1:-1] = box
    return padded
