"""How a dose or a volume is read from the voxels of a structure: four readings, each with its name and its formula."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics.dvh._request import Request

if TYPE_CHECKING:
    from isocenter.metrics.dvh._dvh import DVH

Rule = Literal["exact", "partial-volume", "openkbp", "doserad"]
"""How a histogram is read. With voxels sorted from the hottest, d₁ ≥ d₂ ≥ … ≥ dₙ, of volumes vᵢ and together V:

``exact``
    The step curve. V(d) = Σ vᵢ over dᵢ ≥ d. D_x = the largest d with V(d) ≥ x: the dose of the voxel in which x is
    reached when voxels are added up from the hottest. DC_x = the smallest d such that the voxels with dᵢ ≤ d have at
    least x together. Takes weights. A volume within 10⁻⁹ V of x counts as x, since voxels seldom add up to 0.1 cc in
    floating point where they do in arithmetic.
``partial-volume``
    The line through (cᵢ, dᵢ), cᵢ = v₁ + … + vᵢ₋₁ + vᵢ/2: each voxel's dose stands in the middle of its volume, between
    them it is linear, beyond c₁ and cₙ it is d₁ and dₙ. D_x is that line at x, DC_x at V − x, V(d) the largest x at
    which the line is at least d. Takes weights. The right one for structures of a few voxels in a gradient.
``openkbp``
    D_x% = numpy.percentile(doses, 100 − x), linear between voxels. D_xcc: k = max(1, round(x / v)), half to even;
    numpy.percentile(doses, 100 − k/n·100), so not the k-th hottest voxel but near the next one; with k ≥ n the minimum.
    DC_x% and DC_xcc at x and k/n·100. V(d) = share of voxels with dᵢ ≥ d. Whole voxels only.
``doserad``
    D_x% = numpy.percentile(doses, (1 − x/100)·100); V(d) = mean(doses ≥ d). Whole voxels only. The challenge asks for
    no D_xcc; here it is that of the share x/V.

In all of them Mean, Min and Max are those of the voxels, CV(d) = V − V(d), D_x of a volume larger than the structure is
the minimum and DC_x the maximum, with a flag.
"""

RULES: tuple[Rule, ...] = get_args(Rule)
LEEWAY = 1e-9


def dose_at(dvh: DVH, request: Request, rule: Rule) -> tuple[float, bool]:
    """The dose, Gy, that D or DC asks for, and whether the structure is smaller than the volume asked for."""
    assert request.at is not None
    _check(dvh, rule)
    if not dvh.doses.size:
        return math.nan, True
    cold = request.kind == "DC"
    if rule in ("exact", "partial-volume"):
        wanted = request.at if request.at_unit == "cc" else request.at / 100 * dvh.volume
        small = wanted > dvh.volume * (1 + LEEWAY)
        at = min(wanted, dvh.volume)
        return (_step_dose if rule == "exact" else _line_dose)(dvh, at, cold=cold), small
    size = dvh.doses.size
    if request.at_unit == "cc":
        counted = voxels_in(request.at, dvh.voxel_volume)
        share = counted / size if rule == "openkbp" else request.at / dvh.volume
        small = share > 1 if rule == "openkbp" else share > 1 + LEEWAY
        per_cent = min(share * 100, 100.0)
    else:
        small, per_cent = False, request.at
    # The same in arithmetic, not in floating point: each as its challenge writes it.
    q = 100 - per_cent if rule == "openkbp" else (1 - per_cent / 100) * 100
    return percentile(dvh.doses[::-1], per_cent if cold else q), small


def volume_at(dvh: DVH, dose: float, rule: Rule) -> float:
    """The volume, cc, that receives at least a dose in Gy."""
    _check(dvh, rule)
    count = dvh.doses.size - int(np.searchsorted(dvh.doses[::-1], dose, side="left"))
    if count == 0:
        return 0.0
    if rule != "partial-volume" or count == dvh.doses.size:
        return float(dvh.volumes[count - 1])
    middles = _middles(dvh.volumes[: count + 1])
    above, below = dvh.doses[count - 1], dvh.doses[count]
    return float(middles[-2] + (above - dose) / (above - below) * (middles[-1] - middles[-2]))


def voxels_in(cc: float, voxel_volume: float) -> int:
    """How many voxels, mm³ each, OpenKBP takes for a volume in cc: the nearest number, half to even, at least 1.

    Examples
    --------
    >>> [voxels_in(0.1, volume) for volume in (38.1, 40.0, 256.0)]  # 2.6, 2.5 and 0.4 voxels
    [3, 2, 1]
    """
    return max(1, round(cc * 1000 / voxel_volume))


def percentile(ascending: NDArray[np.float64], q: float) -> float:
    """numpy.percentile of sorted doses, linear interpolation, in the same floating-point steps."""
    place = (ascending.size - 1) * (q / 100)
    below = math.floor(place)
    above = min(below + 1, ascending.size - 1)
    return between(float(ascending[below]), float(ascending[above]), place - below)


def between(low: float, high: float, share: float) -> float:
    """Linear interpolation from whichever end is nearer, as numpy does it."""
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


def _step_dose(dvh: DVH, volume: float, *, cold: bool) -> float:
    slack = LEEWAY * dvh.volume
    if cold:  # the last voxel that, with all colder ones, still has the volume
        hotter = dvh.volumes - np.diff(dvh.volumes, prepend=0.0)
        index = int(np.searchsorted(hotter, dvh.volume - volume + slack, side="right")) - 1
        return float(dvh.doses[max(index, 0)])
    index = int(np.searchsorted(dvh.volumes, volume - slack, side="left"))
    return float(dvh.doses[min(index, dvh.doses.size - 1)])


def _line_dose(dvh: DVH, volume: float, *, cold: bool) -> float:
    at = dvh.volume - volume if cold else volume
    return float(np.interp(at, _middles(dvh.volumes), dvh.doses))


def _middles(volumes: NDArray[np.float64]) -> NDArray[np.float64]:
    return volumes - np.diff(volumes, prepend=0.0) / 2


def _check(dvh: DVH, rule: Rule) -> None:
    if rule not in RULES:
        msg = f"there is no rule {rule!r}; rules are {', '.join(RULES)}"
        raise ValueError(msg)
    if not dvh.whole and rule in ("openkbp", "doserad"):
        msg = f'the rule "{rule}" counts whole voxels, and these have weights; read them by "exact" or "partial-volume"'
        raise ValueError(msg)
