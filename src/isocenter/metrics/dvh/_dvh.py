"""The dose-volume histogram of one structure, kept exactly: every voxel, hottest first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics.dvh._curve import Curve, Differential, cumulative, differential
from isocenter.metrics.dvh._request import Request
from isocenter.metrics.dvh._rules import Rule, dose_at, volume_at

Flag = Literal["empty", "smaller-than-asked", "outside-dose-grid", "negative-dose"]


@dataclass(frozen=True, slots=True)
class Reading:
    """One number read from a dose-volume histogram, and what a reader should know of it.

    Attributes
    ----------
    value
        In the unit of the request; NaN where the structure is empty and the number would need a voxel.
    request, rule
        What was asked, and how the curve was read.
    flags
        "empty": the structure has no volume. "smaller-than-asked": the volume at which the curve is read is larger than
        the structure; the answer is that for the whole of it. "outside-dose-grid": part of the structure lies outside
        the dose, and counts with 0 Gy or not at all, as was said when the histogram was made. "negative-dose": the
        structure holds doses below 0.
    """

    value: float
    request: Request
    rule: Rule
    flags: tuple[Flag, ...] = ()

    @property
    def unit(self) -> str:
        """Of the value."""
        return self.request.unit

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.request} = {self.value:.4g} {self.unit}" + (f" ({', '.join(self.flags)})" if self.flags else "")


@dataclass(frozen=True, eq=False)
class DVH:
    """The doses of a structure, and how much of it receives at least each of them. Made by `dvh_of` or `dvh_in`.

    Attributes
    ----------
    doses
        Dose of each voxel, Gy, hottest first.
    volumes
        Volume of the voxels up to and including this one, cc; so `volumes[i]` receives at least `doses[i]`.
    voxel_volume
        Of a whole voxel, mm³.
    whole
        Whether every voxel counts as a whole; False where voxels have weights other than 1.
    outside
        Share of the structure that lies outside the dose grid, from 0 to 1.
    """

    doses: NDArray[np.float64]
    volumes: NDArray[np.float64]
    voxel_volume: float
    whole: bool = True
    outside: float = 0.0

    @property
    def volume(self) -> float:
        """Volume of the structure, cc; without what lies outside the dose grid, if that was excluded."""
        return float(self.volumes[-1]) if self.volumes.size else 0.0

    @cached_property
    def mean(self) -> float:
        """Mean dose, Σ wᵢdᵢ / Σ wᵢ over the voxels, Gy; NaN of an empty structure."""
        if not self.doses.size:
            return math.nan
        if self.whole:
            return float(self.doses.mean())
        weights = np.diff(self.volumes, prepend=0.0)
        # Rounding must not carry the mean out of the range of the doses.
        return float(np.clip(self.doses @ weights / weights.sum(), self.doses[-1], self.doses[0]))

    @property
    def min(self) -> float:
        """Dose of the coldest voxel, Gy; NaN of an empty structure."""
        return float(self.doses[-1]) if self.doses.size else math.nan

    @property
    def max(self) -> float:
        """Dose of the hottest voxel, Gy; NaN of an empty structure."""
        return float(self.doses[0]) if self.doses.size else math.nan

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What holds for every number read from this histogram; see `Reading`."""
        found: list[Flag] = []
        if not self.doses.size:
            found.append("empty")
        if self.outside > 0:
            found.append("outside-dose-grid")
        if self.doses.size and self.doses[-1] < 0:
            found.append("negative-dose")
        return tuple(found)

    def evaluate(self, request: str | Request, *, prescription: float | None = None, rule: Rule = "exact") -> Reading:
        """The answer to a request such as ``"D0.1cc[Gy]"``.

        Parameters
        ----------
        request
            A text as `Request` describes it, or a request.
        prescription
            The prescribed dose, Gy. Needed if a per cent of it is asked or answered; there is no default.
        rule
            How the curve is read; see `Rule`.

        Returns
        -------
        Reading
            Of an empty structure every absolute volume is 0, and everything else NaN.

        Examples
        --------
        >>> dvh = dvh_of(np.array([10.0, 20.0, 30.0]), voxel_volume=20.0)
        >>> print(dvh.evaluate("D0.1cc[Gy]"))
        D0.1cc[Gy] = 10 Gy (smaller-than-asked)
        >>> print(dvh.evaluate("V95%[%]", prescription=20.0))
        V95%[%] = 66.67 %
        """
        asked = Request.parse(request) if isinstance(request, str) else request
        if asked.needs_prescription and prescription is None:
            msg = f"{asked} needs the prescribed dose: prescription=…, in Gy"
            raise ValueError(msg)
        if prescription is not None and not 0 < prescription < math.inf:
            msg = f"a prescription is a positive number of Gy, not {prescription}"
            raise ValueError(msg)
        prescribed = math.nan if prescription is None else float(prescription)
        flags = self.flags
        if asked.kind in ("V", "CV", "Volume"):
            value = self._volume(asked, rule, prescribed)
            if asked.unit == "%":
                value = value / self.volume * 100 if self.volume else math.nan
            return Reading(value, asked, rule, flags)
        if asked.kind in ("D", "DC"):
            value, small = dose_at(self, asked, rule)
            flags += ("smaller-than-asked",) if small and self.doses.size else ()
        else:
            value = {"Mean": self.mean, "Min": self.min, "Max": self.max}[asked.kind]
        if asked.unit != "Gy":
            value = value * 100 / (prescribed if asked.unit == "%" else 1.0)
        return Reading(value, asked, rule, flags)

    def _volume(self, asked: Request, rule: Rule, prescribed: float) -> float:
        """What V, CV or Volume asks for, cc."""
        if asked.at is None:
            return self.volume
        dose = asked.at if asked.at_unit == "Gy" else asked.at / 100  # of cGy, or of the prescription
        reached = volume_at(self, dose * prescribed if asked.at_unit == "%" else dose, rule)
        return reached if asked.kind == "V" else self.volume - reached

    def curve(self, *, relative: bool = True, resolution: int = 1000) -> Curve:
        """The cumulative histogram as a line to draw; see `Curve`."""
        return cumulative(self.doses, self.volumes, relative=relative, resolution=resolution)

    def differential(self, *, width: float = 0.5, relative: bool = True) -> Differential:
        """The volume between one dose and the next; see `Differential`."""
        return differential(self.doses, self.volumes, width=width, relative=relative)


def dvh_of(doses: Any, *, voxel_volume: float, weights: Any = None) -> DVH:
    """The histogram of the doses of one structure.

    Parameters
    ----------
    doses
        Dose of each voxel of the structure, Gy, in any order and shape. NaN and infinite doses are an error; negative
        ones are kept and flagged. No voxel at all is an empty structure.
    voxel_volume
        Of one voxel, mm³.
    weights
        The share of each voxel that belongs to the structure, from 0 to 1; whole voxels if not given.

    Examples
    --------
    >>> dvh = dvh_of(np.array([1.0, 3.0, 2.0]), voxel_volume=1000.0, weights=np.array([1.0, 0.5, 0.0]))
    >>> dvh.doses, dvh.volumes
    (array([3., 1.]), array([0.5, 1.5]))
    """
    values = np.asarray(doses)
    if values.dtype.kind not in "fiu":
        msg = f"doses are numbers of Gy, not {values.dtype}"
        raise TypeError(msg)
    if not 0 < voxel_volume < math.inf:
        msg = f"a voxel has a positive volume, in mm³, not {voxel_volume}"
        raise ValueError(msg)
    check_finite(values)
    flat = values.astype(np.float64, copy=False).ravel()
    if weights is None:
        return DVH(
            doses=np.sort(flat)[::-1],
            volumes=np.arange(1, flat.size + 1) * voxel_volume / 1000,
            voxel_volume=float(voxel_volume),
        )
    shares = np.asarray(weights)
    if shares.shape != values.shape:
        msg = f"doses have shape {values.shape}, weights {shares.shape}: each voxel has one of each"
        raise ValueError(msg)
    shares = check_weights(shares).ravel()
    flat, shares = flat[shares > 0], shares[shares > 0]
    if (shares == 1).all():
        return dvh_of(flat, voxel_volume=voxel_volume)
    order = np.lexsort((shares, flat))[::-1]  # by dose; equal doses by weight, so that the order of voxels never shows
    volumes = np.cumsum(shares[order] * (voxel_volume / 1000))
    return DVH(flat[order], volumes, float(voxel_volume), whole=False)


def check_finite(values: NDArray[Any], *, what: str = "the dose") -> None:
    """Refuse NaN and infinity, with their number and the first index."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    bad = np.argwhere(~np.isfinite(values))
    first = tuple(int(i) for i in bad[0])
    where = first[0] if len(first) == 1 else first
    msg = f"{what} is not finite in {len(bad)} of {values.size} voxels, first {values[first]} at index {where}"
    raise ValueError(msg)


def check_weights(weights: NDArray[Any]) -> NDArray[np.float64]:
    """Weights as floats, or an error that names one that is not from 0 to 1."""
    shares = weights.astype(np.float64, copy=False)
    good = (shares >= 0) & (shares <= 1)
    if not good.all():
        msg = f"weights are shares of a voxel, from 0 to 1, not {shares[~good][0]:.6g}"
        raise ValueError(msg)
    return shares
