"""Dose of single beams and of the plan they add up to: masked MAE, integrated depth dose, stratified MAE.

A *beam* is one photon control point or one proton pencil beam, with the dose that it alone gives; a *plan* is the
weighted sum of its beams. Doses are arrays with axes (x, y, z) on a common grid, and beams lie in planes across z, as
those of every coplanar plan do.

    y                    idd[k]   Σ over the line across the beam at depth k
    │   ░▒▓██▓▒░           │   ▁▃▇█▆▅▄▃▂▁
    │ ░▒▓██▓▒░   ──▶       │  ▁          ▁
    └─────────── x         └──────────────── k·step, along the beam
    plane: Σ over z        the rotated plane: Σ across the beam
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Dose = NDArray[Any]
Direction = tuple[float, float, float]

# A sample on the very border of the plane counts as inside at the lower edge and outside at the upper one. Without
# leeway the last bit of a cosine would decide, since beams at 0°, 90°, … put whole rows of samples there.
_ON_THE_BORDER = 1e-9


class StratifiedMae(NamedTuple):
    """Mean absolute error of a plan where its dose is high, middling and low, as fractions of the prescription.

    A stratum without voxels is NaN, and left out of the mean.
    """

    high: float
    mid: float
    low: float

    @property
    def mean(self) -> float:
        """Mean of the strata that have voxels; NaN if none has."""
        found = [value for value in self if not math.isnan(value)]
        return math.fsum(found) / len(found) if found else math.nan


def beam_mae(reference: Dose, prediction: Dose, *, cutoff: float = 0.1) -> float:
    """Mean absolute error where a beam gives dose, as a fraction of its maximum; lower is better.

    ``mean |p − r| / max r`` over the voxels with ``r ≥ cutoff · max r``. NaN if the reference has no positive dose.
    Dose predicted outside of those voxels does not count here.

    Examples
    --------
    >>> beam_mae(np.array([0.0, 1.0, 10.0]), np.array([5.0, 2.0, 9.0]))
    0.1
    """
    _one_shape(reference, prediction)
    largest = float(reference.max())
    if not largest > 0:
        return math.nan
    region = reference >= cutoff * largest
    return masked_mae(reference[region], prediction[region], largest=largest)


def masked_mae(reference: Dose, prediction: Dose, *, largest: float) -> float:
    """The same for who has already cut both doses down to the voxels that count."""
    return float(np.abs(prediction.astype(np.float64) - reference).mean()) / largest


def photon_direction(gantry_degrees: float) -> Direction:
    """Where a photon beam goes, in patient coordinates (LPS): (−sin g, cos g, 0); at 0° from front to back."""
    if not _is_finite(gantry_degrees):
        msg = f"a gantry angle is a finite number of degrees, not {reprlib.repr(gantry_degrees)}"
        raise ValueError(msg)
    angle = math.radians(gantry_degrees)
    return -math.sin(angle), math.cos(angle), 0.0


def proton_direction(source: Sequence[float], target: Sequence[float]) -> Direction:
    """Where a pencil beam goes: the unit vector from its source to its target, both in mm."""
    length = math.nan
    if _is_point(source) and _is_point(target):
        with np.errstate(over="ignore", invalid="ignore"):
            way = np.asarray(target, dtype=float) - np.asarray(source, dtype=float)
            length = float(np.linalg.norm(way))
    if not 0 < length < math.inf:
        ends = f"from {reprlib.repr(source)} to {reprlib.repr(target)}"
        msg = f"a ray goes from one point of three finite coordinates to another, not {ends}"
        raise ValueError(msg)
    x, y, z = (way / length).tolist()
    return x, y, z


def _is_point(value: object) -> bool:
    return isinstance(value, Sequence | np.ndarray) and len(value) == 3 and all(_is_finite(x) for x in value)


def _is_finite(value: object) -> bool:
    """Whether it is a number that a float can hold; a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def integrated_depth_dose(
    dose: Dose, *, spacing: tuple[float, float, float], direction: Direction
) -> NDArray[np.float64]:
    """Dose summed across a beam, sample by sample along it.

    The dose is summed over z, the plane resampled on a square grid that is centred on it and turned into the
    direction of the beam, and each line across the beam summed.

    Parameters
    ----------
    spacing
        Of the dose grid, mm, in the order of its axes.
    direction
        Where the beam goes, in the axes of the array. It must lie in the plane: a beam with a share of z has no such
        curve, and is an error.

    Notes
    -----
    With nx × ny voxels of sx × sy mm, the samples are ``step = max(sx, sy)`` apart, and ``n = ⌈√((nx·sx)² + (ny·sy)²) /
    step⌉ + 1`` along each side, so that the diagonal fits in whatever direction. Interpolation is bilinear. A sample is
    inside of the plane if its index lies in [−0.5, n − 0.5); in the outer half voxel the value of the border is
    repeated, as SimpleITK does. Outside there is no dose. Depth is counted from the start of the grid, not from the
    patient's surface, so a curve can be compared only with one on the same grid.

    A sample that falls on the border itself, as those of beams along an axis may, is inside at the lower edge and
    outside at the upper, up to 1e-9 of a voxel. In SimpleITK the rounding of sines and cosines decides; it matters
    only where there is dose in the outermost voxels.
    """
    return depth_dose_of_plane(dose.sum(axis=2, dtype=np.float64), spacing=spacing[:2], direction=direction)


def depth_dose_of_plane(
    plane: NDArray[np.float64], *, spacing: tuple[float, float], direction: Direction
) -> NDArray[np.float64]:
    """The curve of `integrated_depth_dose`, of a dose that has been summed over z."""
    along_x, along_y, along_z = direction
    length = math.hypot(along_x, along_y)
    if not (abs(along_z) <= 1e-9 and abs(length - 1) <= 1e-6):
        msg = f"an integrated depth dose is taken along a unit vector across z, not along {direction}"
        raise ValueError(msg)
    cos, sin = along_x / length, along_y / length
    (nx, ny), (sx, sy) = plane.shape, spacing
    step = max(sx, sy)
    n = math.ceil(math.hypot(nx * sx, ny * sy) / step) + 1
    curve = np.zeros(n)
    columns, rows = np.flatnonzero(plane.any(axis=1)), np.flatnonzero(plane.any(axis=0))
    if columns.size == 0:
        return curve
    offset = (np.arange(n) - (n - 1) / 2) * step
    x = ((cos * offset)[:, None] - (sin * offset)[None, :]) / sx + (nx - 1) / 2
    y = ((sin * offset)[:, None] + (cos * offset)[None, :]) / sy + (ny - 1) / 2
    touched = _near(x, columns, nx) & _near(y, rows, ny)
    depth, _ = np.nonzero(touched)
    doses = _bilinear(plane, x[touched], y[touched])
    return np.bincount(depth, weights=doses, minlength=n).astype(np.float64, copy=False)


def _near(index: NDArray[np.float64], filled: NDArray[np.intp], size: int) -> NDArray[np.bool_]:
    """Samples inside of the plane that dose can reach: all others add nothing."""
    low, high = max(-0.5, filled[0] - 1.0), min(size - 0.5, filled[-1] + 1.0)
    near: NDArray[np.bool_] = (index >= low - _ON_THE_BORDER) & (index < high - _ON_THE_BORDER)
    return near


def _bilinear(plane: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    (i, ii, u), (j, jj, v) = (_cell(index, size) for index, size in zip((x, y), plane.shape, strict=True))
    return (
        plane[i, j] * (1 - u) * (1 - v)
        + plane[ii, j] * u * (1 - v)
        + plane[i, jj] * (1 - u) * v
        + plane[ii, jj] * u * v
    )


def _cell(index: NDArray[np.float64], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """The two voxels between which each index lies, and how far it is from the first; beyond the border, the border."""
    inside = np.clip(index, 0.0, size - 1.0)
    first = np.minimum(inside.astype(np.intp), size - 1)
    return first, np.minimum(first + 1, size - 1), inside - first


def idd_distance(
    reference: Dose, prediction: Dose, *, spacing: tuple[float, float, float], direction: Direction
) -> float:
    """Root-mean-square difference of two integrated depth doses, by the reference's peak; lower is better.

    See `integrated_depth_dose` for the curves and `curve_distance` for the difference.
    """
    _one_shape(reference, prediction)
    curves = (integrated_depth_dose(dose, spacing=spacing, direction=direction) for dose in (reference, prediction))
    return curve_distance(*curves)


def idd_distance_z(reference: Dose, prediction: Dose) -> float:
    """The distance of the profiles along z, the axis that coplanar beams are perpendicular to; lower is better.

    DoseRAD2026 took this for the integrated depth dose until August 2026. It says how dose is spread over the slices,
    and nothing of depth.
    """
    _one_shape(reference, prediction)
    return curve_distance(*(dose.sum(axis=(0, 1), dtype=np.float64) for dose in (reference, prediction)))


def curve_distance(reference: NDArray[np.float64], prediction: NDArray[np.float64]) -> float:
    """``√(mean ((p − r) / max r)²)`` over all samples of two curves; NaN if the reference has no positive peak.

    Samples far from the beam count too, so the number depends on the size of the grid.
    """
    _one_shape(reference, prediction)
    peak = float(reference.max())
    if not peak > 0:
        return math.nan
    return float(np.sqrt(np.mean(((prediction - reference) / peak) ** 2)))


def compose_plan(beams: Iterable[Dose], weights: Sequence[float]) -> NDArray[np.float64]:
    """The dose of a plan, ``Σ wᵢ · beamᵢ``, summed in double precision; one beam is held at a time."""
    plan: NDArray[np.float64] | None = None
    count = 0
    for beam in beams:
        if count == len(weights):
            msg = f"more beams than the {len(weights)} weights"
            raise ValueError(msg)
        weighted = beam.astype(np.float64) * weights[count]
        if plan is None:
            plan = weighted
        else:
            _one_shape(plan, weighted)
            plan += weighted
        count += 1
    if plan is None or count != len(weights):
        msg = f"{count} beams and {len(weights)} weights are not those of one plan"
        raise ValueError(msg)
    return plan


def plan_mae(reference: Dose, prediction: Dose, *, prescription: float) -> StratifiedMae:
    """Mean absolute error of a plan by level of dose, as fractions of the prescription; lower is better.

    high: ``r ≥ 0.8 Rx``; mid: ``0.3 Rx ≤ r < 0.8 Rx``; low: ``0.1 Rx ≤ r < 0.3 Rx``; r the dose of the reference. The
    combined number is their unweighted mean, `StratifiedMae.mean`.

    Examples
    --------
    >>> plan_mae(np.array([60.0, 30.0, 3.0]), np.array([57.0, 30.0, 9.0]), prescription=60.0)
    StratifiedMae(high=0.05, mid=0.0, low=nan)
    """
    _one_shape(reference, prediction)
    if not 0 < prescription < math.inf:
        msg = f"a prescription is a positive dose in Gy, not {prescription}"
        raise ValueError(msg)

    def error(stratum: NDArray[np.bool_]) -> float:
        if not stratum.any():
            return math.nan
        return float(np.abs(prediction[stratum] - reference[stratum].astype(np.float64)).mean()) / prescription

    low, mid, high = (reference >= share * prescription for share in (0.1, 0.3, 0.8))
    return StratifiedMae(high=error(high), mid=error(mid & ~high), low=error(low & ~mid))


def _one_shape(reference: Dose, prediction: Dose) -> None:
    if reference.shape != prediction.shape:
        msg = f"shapes differ: reference {reference.shape}, prediction {prediction.shape}"
        raise ValueError(msg)
