"""Where the sampled gamma index looks: points on spheres of growing radius around a reference point.

The rules are those of pymedphys 0.41, so that the numbers are: a radius grows by a fixed part of the distance
criterion, in floating point; each criterion's own distance is among the radii; a sphere has rows of constant elevation,
and each row points of constant distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Points of one table. Larger searches are made of several tables, one after the other, so memory stays as it is.
_ROOM = 400_000
# Samples per point beyond which a search would not end in anybody's lifetime, and spheres whose listing would not.
_SAMPLES = 5e8
_SPHERES = 2_000_000
# Cosines of right angles are not quite zero. Offsets this close to a node, in steps of the grid, are on it.
_ON_NODE = 1e-12
# The same for reference points between nodes: their place in a cell has the rounding of two coordinates.
_ON_NODE_OFF = 1e-10


@dataclass(frozen=True)
class Cells:
    """Edges of the evaluation's cells, mm, and where in a cell all reference points lie: 0 ≤ offset < 1, 0 on nodes."""

    edges: tuple[float, float, float]
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def place(self, offsets: Floats) -> tuple[NDArray[np.int64], Floats]:
        """How many cells lie between a reference point's own cell and a sample's, and where in its cell that is.

        Cells are counted, and places in a cell measured, away from the reference point: a sample on a node lies at the
        near side of the further cell.
        """
        own = np.array([(part, 1 - part if part > 0 else 0.0) for part in self.offset])
        steps = np.abs(offsets) / np.asarray(self.edges)
        for d in range(3):
            steps[:, d] += own[d][(offsets[:, d] < 0).astype(np.int64)]
        whole = np.rint(steps)
        close = np.where(np.asarray(self.offset) > 0, _ON_NODE_OFF, _ON_NODE)
        steps = np.where(np.abs(steps - whole) < close * np.maximum(whole, 1), whole, steps)
        between = np.floor(steps).astype(np.int64)
        return between, steps - between


@dataclass(frozen=True)
class Search:
    """The radii at which one criterion is looked for, mm, and the distance of neighbouring points on each sphere."""

    radii: tuple[float, ...]
    steps: tuple[float, ...]

    def within(self, distance_mm: float) -> Search:
        """The same search, no further than a distance."""
        count = sum(radius <= distance_mm for radius in self.radii)
        return Search(self.radii[:count], self.steps[:count])

    def beyond(self, distance_mm: float) -> Search:
        """The same search, from past a distance."""
        count = sum(radius <= distance_mm for radius in self.radii)
        return Search(self.radii[count:], self.steps[count:])

    def check(self, reach: float, dimensions: int) -> None:
        """Refuse to search as far as `reach`, mm, if that takes more samples than anybody has time for."""
        radii, steps = np.array(self.radii), np.array(self.steps)
        near = radii <= reach
        samples = float(_amount(radii[near], steps[near], dimensions).sum())
        if samples > _SAMPLES:
            _refuse(f"{samples:.1e} samples per point on spheres of up to {radii[near].max():.3g} mm")


def _amount(radii: Floats, steps: Floats, dimensions: int) -> Floats:
    """About how many samples the spheres have."""
    density = (0.0, 2 * math.pi, 4 * math.pi)[dimensions - 1]
    return np.asarray(density * (radii / steps) ** (dimensions - 1) + 2)


def _refuse(what: str) -> NoReturn:
    msg = f"gamma would look at {what}; lower max_gamma or interpolation_steps, or use sampler='exact'"
    raise ValueError(msg)


def plan(
    distances_mm: tuple[float, ...], *, fraction: float, max_gamma: float, finished: tuple[float, ...], furthest: float
) -> Search:
    """The radii for several distance criteria searched together.

    The step is the smallest distance criterion that is still being searched for, divided by `fraction`, and never less
    than radius / fraction / max_gamma.

    Parameters
    ----------
    distances_mm
        The distance criteria, ascending.
    finished
        The largest gamma of each criterion: once radius / distance reaches it, every point is decided. Infinite if not
        known, or if a point is never found.
    furthest
        Where to stop if `max_gamma` sets no limit, mm.
    """
    limit = min(distances_mm[-1] * max_gamma, furthest)
    # As far as the smallest distance is searched for in equal steps, from there on in growing ones.
    equal = min(limit, distances_mm[0] * max_gamma)
    spheres = fraction * (equal / distances_mm[0] + (max_gamma * math.log(limit / equal) if limit > equal else 0.0))
    if spheres > _SPHERES:
        _refuse(f"{spheres:.1e} spheres around each point")
    forced = list(distances_mm)
    radius, step = 0.0, distances_mm[0] / fraction
    radii, steps = [], []
    while radius <= limit:
        radii.append(radius)
        steps.append(step)
        remaining = [mm for mm, end in zip(distances_mm, finished, strict=True) if end > radius / mm]
        if not remaining:
            break
        step = max(remaining[0] / fraction, radius / fraction / max_gamma)
        radius += step
        if forced and radius >= forced[0]:
            radius = forced.pop(0)
    return Search(tuple(radii), tuple(steps))


def sphere(radius: float, step: float, dimensions: int) -> Iterator[Floats]:
    """Points of one sphere as offsets in mm, n×3, in pieces that fit a table; axes that are not there stay 0."""
    if radius == 0:
        yield np.zeros((1, 3))
    elif dimensions == 1:
        yield np.array([[radius, 0.0, 0.0], [-radius, 0.0, 0.0]])
    elif dimensions == 2:
        angle = _turn(math.ceil(2 * math.pi * radius / step) + 1)
        points = np.zeros((angle.size, 3))
        points[:, 0], points[:, 1] = radius * np.cos(angle), radius * np.sin(angle)
        yield points
    else:
        rows = math.ceil(math.pi * radius / step) + 1
        elevation = np.linspace(0, math.pi, rows)
        counts = np.ceil(2 * math.pi * radius * np.sin(elevation) / step).astype(int) + 1
        start = 0
        while start < rows:
            stop = max(start + 1, int(np.searchsorted(np.cumsum(counts[start:]), _ROOM, "right")) + start)
            angles = [_turn(n) for n in counts[start:stop]]
            azimuth = np.concatenate(angles)
            height = np.repeat(elevation[start:stop], [a.size for a in angles])
            points = np.empty((azimuth.size, 3))
            points[:, 0] = radius * np.sin(height) * np.cos(azimuth)
            points[:, 1] = radius * np.sin(height) * np.sin(azimuth)
            points[:, 2] = radius * np.cos(height)
            yield points
            start = stop


def _turn(count: int) -> Floats:
    return np.linspace(0, 2 * math.pi, count + 1)[:-1]


@dataclass(frozen=True, eq=False)
class Table:
    """Sample points grouped by place and radius, in the form the kernels read.

    Places are the eight octants around the reference point and, on a lattice, the cells of the grid: `places` has their
    signs (0 or 1 for + and -) and how many cells away they are, per axis (`Cells.place`); the cells that touch or hold
    the reference point come first, then the others by their distance. Groups of a place ascend in radius.
    """

    nearest: float  # the smallest radius, mm
    furthest: float
    places: NDArray[np.int64]  # places × 6: three signs, three cell counts
    place_groups: NDArray[np.int64]  # groups of place p: place_groups[p] to place_groups[p + 1]
    place_radius: Floats  # the smallest radius of each place
    group_points: NDArray[np.int64]  # points of group g: group_points[g] to group_points[g + 1]
    group_radius: Floats
    on_side: NDArray[np.bool_]  # places × 3: whether there are samples on the near side of the cell
    leaving: Floats  # 3 × 2: the smallest radius beyond the cell around the reference point, and beyond the next one
    points: Floats  # 3 × points: where in the cell, 0 to 1 from the corner next to the reference; or plain mm


@lru_cache(maxsize=16)
def _small_tables(search: Search, dimensions: int, cells: Cells | None) -> tuple[Table, ...]:
    return tuple(_make_tables(search, dimensions, cells))


def tables(search: Search, dimensions: int, cells: Cells | None) -> Iterator[Table]:
    """All tables of a search, nearest first, without the centre unless it is all there is; small ones are remembered.

    Parameters
    ----------
    cells
        The evaluation's, for reference points that all lie at one place in them; None for any other grid.
    """
    if _amount(np.array(search.radii), np.array(search.steps), dimensions).sum() <= _ROOM:
        yield from _small_tables(search, dimensions, cells)
    else:
        yield from _make_tables(search, dimensions, cells)


def _make_tables(search: Search, dimensions: int, cells: Cells | None) -> Iterator[Table]:
    pieces: list[Floats] = []
    radii: list[float] = []
    waiting = 0
    for radius, step in zip(search.radii, search.steps, strict=True):
        if radius == 0 and len(search.radii) > 1:
            continue  # the kernels look there anyway
        for piece in sphere(radius, step, dimensions):
            if pieces and waiting + len(piece) > _ROOM:
                yield _grouped(pieces, radii, cells)
                pieces, radii, waiting = [], [], 0
            pieces.append(piece)
            radii.append(radius)
            waiting += len(piece)
    if pieces:
        yield _grouped(pieces, radii, cells)


def _grouped(pieces: list[Floats], radii: list[float], cells: Cells | None) -> Table:
    offsets = np.concatenate(pieces)
    radius = np.repeat(radii, [len(piece) for piece in pieces])
    if cells is None:
        between = np.zeros(offsets.shape, np.int64)
        inside = offsets
    else:
        offsets[np.abs(offsets) < _ON_NODE * radius[:, None]] = 0.0
        between, inside = cells.place(offsets)
    leaving = np.array(
        [[radius[between[:, d] + inside[:, d] > n].min(initial=np.inf) for n in (1, 2)] for d in range(3)]
    )
    sign = (offsets < 0).astype(np.int64)
    octant = sign @ (4, 2, 1)
    # One number per place, the touching cells' being 0 to 7; then places by their nearest point.
    size = between.max(axis=0) + 1
    place = ((between[:, 0] * size[1] + between[:, 1]) * size[2] + between[:, 2]) * 8 + octant
    _, first, place = np.unique(place, return_index=True, return_inverse=True)
    closest = np.full(first.size, np.inf)
    np.minimum.at(closest, place, radius)
    touching = (between[first] == 0).all(axis=1)
    rank = np.empty(first.size, np.int64)
    by_distance = np.lexsort((np.arange(first.size), closest, ~touching))
    rank[by_distance] = np.arange(first.size)
    place = rank[place]
    order = np.lexsort((radius, place))
    place, radius, inside = place[order], radius[order], inside[order]
    starts = np.flatnonzero(np.r_[True, (place[1:] != place[:-1]) | (radius[1:] != radius[:-1])])
    return Table(
        nearest=float(radii[0]),
        furthest=float(radii[-1]),
        places=np.hstack([sign[first], between[first]])[by_distance],
        place_groups=np.searchsorted(place[starts], np.arange(first.size + 1)),
        place_radius=closest[by_distance],
        group_points=np.r_[starts, place.size],
        group_radius=radius[starts],
        on_side=np.logical_or.reduceat(inside == 0, np.searchsorted(place, np.arange(first.size))),
        leaving=leaving,
        points=np.ascontiguousarray(inside.T),
    )
