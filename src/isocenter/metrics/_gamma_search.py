"""From checked doses and one criterion to gamma: which kernel, which tables, which threads."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics._gamma_grids import Doses
from isocenter.metrics._gamma_shells import Cells, Search, tables

Floats = NDArray[np.float64]

# The largest gamma² whose root is 1.
PASSED = 1.0 + 2.0**-52
# gamma² above 1 by less than this is not pruned when only passing matters: bounds are rounded, samples decide.
_NEARLY = 1.0 + 1e-9
_UNWANTED = -1.0
_HUGE = 1e300
# Pieces of work per thread: enough that the last one to finish is not waited for.
_PIECES = 12


@dataclass(frozen=True)
class Criterion:
    """What gamma is in units of: a part of the dose and a distance."""

    dose_percent: float
    distance_mm: float
    normalisation: float  # Gy; 0 for the local dose


@dataclass(frozen=True, eq=False)
class Found:
    """gamma² of every point of a box of the reference: -1 where none was wanted, infinite where nothing was found."""

    squares: Floats

    def counts(self) -> tuple[int, int, int]:
        """Points with a gamma, of these passing, and points without."""
        from isocenter.metrics._gamma_counts import count

        evaluated, passed, uncovered = count(self.squares, PASSED)
        return evaluated, passed, uncovered

    def largest(self) -> float:
        """The largest gamma; infinite if a point was not found."""
        return float(np.sqrt(self.squares.max(initial=0.0)))

    def map(self, max_gamma: float) -> Floats:
        """Gamma in place of its square, at most `max_gamma`, NaN where there is none. The squares are gone then."""
        from isocenter.metrics._gamma_counts import to_gamma

        to_gamma(self.squares, max_gamma)
        return self.squares


def wanted_box(wanted: NDArray[np.bool_]) -> tuple[slice, slice, slice]:
    """The smallest box around the points that are wanted."""
    sides = []
    for d in range(3):
        hit = np.flatnonzero(wanted.any(axis=tuple(e for e in range(3) if e != d)))
        sides.append(slice(int(hit[0]), int(hit[-1]) + 1) if hit.size else slice(0, 0))
    return sides[0], sides[1], sides[2]


def exact(
    doses: Doses, wanted: NDArray[np.bool_], criterion: Criterion, *, cap: float, passing: bool, threads: int
) -> Found:
    """Gamma over all points of the interpolated evaluation, searched up to √cap."""
    from isocenter.metrics import _gamma_exact as kernel

    corner, squares = _start(wanted, passing=passing)
    # A point that passes is left at once; the others are searched as for a map, so that both decide alike.
    arguments = (
        doses.reference, doses.evaluation, squares, corner, *doses.reference_axes, *doses.evaluation_axes,
        criterion.normalisation, criterion.dose_percent / 100, criterion.distance_mm, cap, PASSED if passing else 0.0,
    )  # fmt: skip
    _run(kernel.search_rows, squares, arguments, threads)
    return Found(squares)


def sampled(
    doses: Doses,
    wanted: NDArray[np.bool_],
    criterion: Criterion,
    search: Search,
    *,
    cap: float,
    passing: bool,
    threads: int,
) -> Found:
    """Gamma over points on spheres."""
    from isocenter.metrics import _gamma_generic as generic
    from isocenter.metrics import _gamma_lattice as lattice

    corner, squares = _start(wanted, passing=passing)
    nodes = doses.lattice()
    cells = None if nodes is None else Cells(nodes.cell, nodes.offset)
    start: tuple[Any, ...] = (doses.reference, doses.evaluation, squares, corner)
    if nodes is None:
        kernel: Callable[..., None] = generic.search_rows
        start += (*doses.reference_axes, *doses.evaluation_axes, doses.density())
    else:
        kernel = lattice.search_rows
        start += (nodes.node, nodes.stride, np.array(nodes.cell), np.array(nodes.offset))
    start += (criterion.normalisation, criterion.dose_percent / 100, criterion.distance_mm)

    def look(part: Search, cap: float, enough: float) -> None:
        for table in tables(part, doses.dimensions, cells):
            arguments = (
                *start, cap, enough, table.places, table.place_groups, table.place_radius, table.group_points,
                table.group_radius, *(() if nodes is None else (table.on_side, table.leaving)), *table.points,
            )  # fmt: skip
            _run(kernel, squares, arguments, threads)
            # The next table is further away, and perhaps nobody needs it.
            worst = float(squares.max(initial=0.0))
            if worst <= max(enough, (table.furthest / criterion.distance_mm) ** 2):
                break
            # No sphere is needed beyond the largest gamma so far; a point without one must first reach the grid.
            reach = math.sqrt(min(worst, cap)) * criterion.distance_mm
            part.check(reach if worst < math.inf else min(reach, doses.gap()), doses.dimensions)

    if passing:
        look(search.within(criterion.distance_mm), min(cap, _NEARLY), PASSED)
        if np.isinf(squares.max(initial=0.0)):
            # Not reached so far: whether they are at all decides what they count as.
            look(search.beyond(criterion.distance_mm), cap, _HUGE)
    else:
        look(search, cap, 0.0)
    return Found(squares)


def _start(wanted: NDArray[np.bool_], *, passing: bool) -> tuple[NDArray[np.int64], Floats]:
    """Where the box of `squares` lies, and the squares before any search. A map is as large as the reference."""
    box = wanted_box(wanted) if passing else (slice(0, None),) * 3
    corner = np.array([side.start for side in box], np.int64)
    return corner, np.where(wanted[box], np.inf, _UNWANTED)


def _run(kernel: Callable[..., None], squares: Floats, arguments: tuple[Any, ...], threads: int) -> None:
    """Do all rows, in pieces that threads fetch as they get free; each row is done by one thread, always alike."""
    rows = squares.shape[0] * squares.shape[1]
    if threads == 1:
        kernel((0, rows), *arguments)
        return
    size = max(1, -(-rows // (_PIECES * threads)))
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda first: kernel((first, min(first + size, rows)), *arguments), range(0, rows, size)):
            pass


def available_threads() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
