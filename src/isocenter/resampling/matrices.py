"""Matrices of numbers, checked once: a row per submission, a column per case or per resample."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def finite_matrix(values: ArrayLike, what: str) -> Floats:
    """A matrix of finite numbers in rows that lie contiguous; the error names rows and columns, counted from 0."""
    found = np.ascontiguousarray(values, dtype=np.float64)
    if found.ndim != 2:
        msg = f"{what} are a matrix, a row per submission; found an array of shape {found.shape}"
        raise ValueError(msg)
    refuse_cells(~np.isfinite(found), found, f"{what} are finite numbers")
    return found


def finite_vector(values: ArrayLike, size: int, what: str) -> Floats:
    """So many finite numbers."""
    found = np.ascontiguousarray(values, dtype=np.float64)
    if found.shape != (size,):
        msg = f"{what} are {size} numbers; found an array of shape {found.shape}"
        raise ValueError(msg)
    refuse_cells(~np.isfinite(found), found, f"{what} are finite numbers")
    return found


def case_weights(weight: ArrayLike | None, cases: int) -> Floats | None:
    """One weight from 0 per case, not all 0; None stays None."""
    if weight is None:
        return None
    found = finite_vector(weight, cases, "case weights")
    refuse_cells(found < 0, found, "case weights are numbers from 0")
    if not found.any():
        msg = "all case weights are 0: there is no case to average over"
        raise ValueError(msg)
    return found


def refuse_cells(wrong: NDArray[np.bool_], found: NDArray[np.generic], rule: str) -> None:
    """Raise ValueError with the first cells that are wrong, if any are."""
    if not wrong.any():
        return
    places = np.argwhere(wrong)
    names = ("row", "column") if found.ndim == 2 else ("position",)
    cells = [
        ", ".join(f"{name} {at}" for name, at in zip(names, place, strict=True)) + f" is {found[tuple(place)]}"
        for place in places[:5]
    ]
    msg = f"{rule}; {'; '.join(cells)}{' …' if len(places) > 5 else ''} ({len(places)} of {found.size}; counted from 0)"
    raise ValueError(msg)
