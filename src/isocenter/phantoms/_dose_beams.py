"""Single beams in a synthetic patient: photon segments and proton pencil beams, as rules of thumb have them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._dose_imrt import through
from isocenter.phantoms._dose_rays import SAD, Rays, line
from isocenter.phantoms._fields import Array

Array32 = NDArray[np.float32]

LEAVES, LEAF = 80, 5.0  # pairs of leaves of the collimator, and how wide they are at the isocentre, mm
_EDGE, _SCATTER, _SCATTERED = 2.6, 14.0, 0.06  # mm and mm: σ of a field's edge, of the scatter; the scatter's share
_LEAKS = 0.008  # the share that closed leaves let through
_FINE = 1.0  # mm, of the opening as it is drawn before it is blurred
_SEGMENT = 8e-4  # Gy per unit of a photon segment, where nothing is in its way
_PENCIL = 2e-3  # Gy mm² per unit of a pencil beam, at the entrance
_SPOT = 4.5  # mm, σ of a pencil beam in air
_SMALLEST = 1e-4  # of a beam's maximum; what is less is no dose


@dataclass(frozen=True, eq=False, slots=True)
class Pencil:
    """A pencil beam: which ray, at which height, and its energy in MeV. Millimetres from the isocentre."""

    across: float
    height: float
    energy: float


def segment_dose(beam: Rays, heights: Array, left: Array, right: Array) -> Array32:
    """Dose of a photon segment, pixels × slices.

    Parameters
    ----------
    heights
        Of the slices above the isocentre, mm.
    left, right
        Between what the leaves are open, mm from the isocentre, one value per pair from the feet up; equal is closed.
    """
    from scipy import ndimage

    half = math.ceil((max(float(np.abs(beam.across).max()), float(np.abs(heights).max())) + 2.0 * _SCATTER) / _FINE)
    ticks = np.arange(-half, half + 1) * _FINE
    pair = np.floor(ticks / LEAF + LEAVES / 2.0).astype(int)
    behind = (pair < 0) | (pair >= LEAVES)
    pair = pair.clip(0, LEAVES - 1)
    # A bin is open as far as the gap covers it.
    opened = np.minimum(right[pair], ticks[:, None] + 0.5 * _FINE) - np.maximum(
        left[pair], ticks[:, None] - 0.5 * _FINE
    )
    opening = (opened / _FINE).clip(0.0, 1.0)
    opening[:, behind] = 0.0
    opening = _LEAKS + (1.0 - _LEAKS) * opening
    edge = ndimage.gaussian_filter(opening, _EDGE / _FINE)
    fluence = (1.0 - _SCATTERED) * edge + _SCATTERED * ndimage.gaussian_filter(opening, _SCATTER / _FINE)
    rows = line(heights / _FINE + half, len(ticks)) @ fluence.T
    dose = through(beam) * (line(beam.across / _FINE + half, len(ticks)) @ rows.T)
    return _cut(dose * _SEGMENT)


def pencil_dose(beam: Rays, heights: Array, pencil: Pencil) -> Array32:
    """Dose of a proton pencil beam, pixels × slices.

    A Bragg curve over the water in the way of the pencil's core, and across it a Gaussian that widens: σ² is that of
    the spot in air, plus the square of 2 % of the range times the 1.5th power of the share of it that lies behind.
    """
    range_ = proton_range(pencil.energy)
    core = np.exp(-2.0 * ((beam.ticks - pencil.across) / _SPOT) ** 2)
    level = np.exp(-2.0 * ((heights - pencil.height) / _SPOT) ** 2)
    (near,), (slices,) = np.nonzero(core > 1e-3), np.nonzero(level > 1e-3)
    weight = core[near, None, None] * level[None, None, slices]
    water = (beam.ways[np.ix_(near, np.arange(len(beam.ticks)), slices)] * weight).sum(axis=(0, 2)) / weight.sum()
    behind = (water / range_).clip(0.0, 1.2)
    spread = _SPOT**2 + (0.02 * range_ * behind**1.5) ** 2
    strength = _PENCIL * bragg(water, pencil.energy) / spread

    (pixels,) = np.nonzero(np.abs(beam.across - pencil.across) < 4.5 * math.sqrt(float(spread.max())))
    along = beam.along[pixels]
    scale = -0.5 / np.interp(along, beam.ticks, spread)
    off = np.exp(scale * ((beam.across[pixels] - pencil.across) * (SAD + along) / SAD) ** 2)
    high = np.exp(scale[:, None] * (heights - pencil.height)[None, :] ** 2)
    dose = np.zeros(beam.depth.shape, np.float32)
    dose[pixels] = (np.interp(along, beam.ticks, strength) * off)[:, None] * high
    return _cut(dose)


def proton_range(energy: float) -> float:
    """Range in water of protons of an energy in MeV, mm: R = 0.022 E^1.77."""
    return float(0.022 * energy**1.77)


def proton_energy(range_: float) -> float:
    """The energy, MeV, that protons need for a range in water, mm."""
    return float((range_ / 0.022) ** (1.0 / 1.77))


def bragg(depth: Array, energy: float) -> Array:
    """Dose of a broad proton beam over the depth in water (mm), relative to about 1 at the entrance.

    Bortfeld's closed form with straggling and an energy spread of 1 %; far before the peak, his formula without them.

    References
    ----------
    Bortfeld T. An analytical approximation of the Bragg curve for therapeutic proton beams. Med Phys 24 (1997).
    """
    from scipy import special

    r0 = proton_range(energy) / 10.0
    sigma = math.sqrt((0.012 * r0**0.935) ** 2 + (0.01 * energy) ** 2 * (0.0022 * 1.77) ** 2 * energy ** (2 * 1.77 - 2))
    left = r0 - np.asarray(depth) / 10.0  # cm that are left of the range
    zeta = (left / sigma).clip(-8.0, 10.0)
    norm = 1.0 + 0.012 * r0
    first, second = special.pbdv(-0.565, -zeta)[0], special.pbdv(-1.565, -zeta)[0]
    peak = np.exp(-(zeta**2) / 4.0) * sigma**0.565 * (11.26 / sigma * first + (0.157 + 1.126 / r0) * second) / norm
    before = np.maximum(left, 1e-6)
    plateau = (17.93 * before**-0.435 + (0.444 + 3.17 / r0) * before**0.565) / norm
    entrance = (17.93 * r0**-0.435 + (0.444 + 3.17 / r0) * r0**0.565) / norm
    return np.asarray(np.where(left > 10.0 * sigma, plateau, np.where(left < -8.0 * sigma, 0.0, peak)) / entrance)


def _cut(dose: Array32) -> Array32:
    """Without what is too little to be called dose, so that a beam is empty where it does not go."""
    return np.where(dose > _SMALLEST * float(dose.max()), dose, 0.0).astype(np.float32)
