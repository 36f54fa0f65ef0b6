"""Synthetic exams of the prostate: T2-weighted images, diffusion, and the cancer in them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from isocenter.phantoms._fields import Array, coordinates, middle
from isocenter.phantoms._prostate_findings import (
    Finding,
    Gland,
    Shape,
    draw_findings,
    draw_gland,
    draw_shape,
    near,
    voxels_apart,
)
from isocenter.volumes import Grid, Volume

_STREAM = zlib.crc32(
    b"prostate"
)  # marks the random stream: patient 1 of one kind tells nothing of patient 1 of another
_ANATOMY, _NODULES, _T2W, _ADC = range(4)
_SHAPE, _SPACING = (120, 120, 20), (0.5, 0.5, 3.0)
_CENTERS = {"Alder": 0.25, "Birch": 0.85, "Cedar": 0.5}  # the share of exams on a scanner of vendor A
_NOISE = {"A": 1.0, "B": 1.5}  # of an image
_BLUR = {"A": 0.0, "B": 0.3}  # by how much less conspicuous a lesion is


@dataclass(frozen=True, slots=True)
class _Sequence:
    """What an MR sequence shows: the level of each tissue, the noise, and by how much it fades across the image."""

    stream: int
    outside: float
    rectum: float
    peripheral: float
    transition: float
    cancer: float
    noise: float
    fading: float


_T2W_SEQUENCE = _Sequence(_T2W, 330.0, 60.0, 780.0, 430.0, 230.0, noise=28.0, fading=0.18)
_ADC_SEQUENCE = _Sequence(_ADC, 1100.0, 250.0, 1650.0, 1250.0, 600.0, noise=80.0, fading=0.0)


@dataclass(frozen=True, eq=False)
class ProstateExam:
    """A biparametric exam of a synthetic patient, made by `prostate_exam`. All volumes are on one grid.

    Attributes
    ----------
    lesions
        uint8: the ISUP grade, 2 to 5, of the significant lesion that a voxel belongs to, or 0. The reference.
    mimics
        uint8: what lies there that is not significant but may seem so: 1 prostatitis, 2 a benign nodule, 3 cancer of
        ISUP grade 1; or 0. No mimic touches a lesion. Not part of the reference.
    facts
        About the patient and the scanner: `center`, `vendor`, `isup` (the highest grade, 0 to 5), `psa` (ng/ml) and
        `age` (years).
    gland, findings
        The same as shapes, and how conspicuous each is: what those who look at the exam never get to see.
    stream
        Of the images, which are made when first asked for.
    """

    lesions: Volume
    mimics: Volume
    facts: Mapping[str, str]
    gland: Gland = field(repr=False)
    findings: tuple[Finding, ...] = field(repr=False)
    stream: tuple[int, ...] = field(repr=False)

    @property
    def grid(self) -> Grid:
        """Where the voxels of all volumes lie."""
        return self.lesions.grid

    @cached_property
    def t2w(self) -> Volume:
        """The T2-weighted image, float32: bright peripheral zone, darker transition zone with nodules, lesions dark."""
        return _image(self, _T2W_SEQUENCE)

    @cached_property
    def adc(self) -> Volume:
        """The apparent diffusion coefficient, float32, 10⁻⁶ mm²/s: low in lesions."""
        return _image(self, _ADC_SEQUENCE)


def prostate_exam(number: int, *, seed: int = 0) -> ProstateExam:
    """The exam of synthetic patient `number`.

    A picture of the axial plane, the patient seen from the feet::

        right ┌────────────────┐ left
              │    ▗▄▄▆▆▄▄▖    │   transition zone: dark, with nodules
              │   ▟▒▒░▓▒░▒▒▙   │
              │  ▐███▒▒▒▒███▌  │   peripheral zone: bright
              │   ▜█ ✹ ████▛   │   in about 35 % of the exams one to three significant lesions, most of them here
              │     ▀▀▀▀▀▀     │   in most exams some mimics
              └────────────────┘

    Parameters
    ----------
    number
        Which patient. An exam is a function of `number` and `seed` alone. It has 120×120×20 voxels of 0.5×0.5×3 mm,
        slightly oblique, somewhere in a scanner. A lesion is harder to see on scanners of vendor B.

    Examples
    --------
    >>> exam = prostate_exam(1)
    >>> exam.lesions.array.shape, exam.t2w.array.dtype, sorted(exam.facts)
    ((120, 120, 20), dtype('float32'), ['age', 'center', 'isup', 'psa', 'vendor'])
    """
    stream = (seed, number, _STREAM)
    rng = np.random.default_rng([*stream, _ANATOMY])
    center = str(rng.choice(list(_CENTERS)))
    vendor = "A" if rng.random() < _CENTERS[center] else "B"
    grid, gland = _grid(rng), draw_gland(rng)
    findings = draw_findings(rng, gland, blur=_BLUR[vendor])
    grade = max((finding.grade for finding in findings), default=0)
    psa = max(float(rng.lognormal(math.log(6.0) + 0.14 * grade, 0.5)), 1.0)
    age = min(max(float(rng.normal(65.0 + 0.6 * grade, 6.5)), 45.0), 85.0)
    facts = {"center": center, "vendor": vendor, "isup": str(grade), "psa": f"{psa:.1f}", "age": f"{age:.0f}"}
    lesions, mimics = np.zeros((2, *grid.shape), np.uint8)
    for finding in findings:
        box, inside = voxels_apart((lesions > 0) | (mimics > 0), grid, shape=finding.shape, gland=gland)
        (mimics if finding.mimic else lesions)[box][inside] = finding.mimic or finding.grade
    return ProstateExam(Volume(lesions, grid), Volume(mimics, grid), facts, gland, findings, stream)


def _grid(rng: np.random.Generator) -> Grid:
    """Slices tilted forwards or backwards by some degrees and turned by fewer, around a point near the isocentre."""
    tilt, turn = np.radians(rng.normal((0.0, 0.0), (6.0, 2.0)).clip(-12.0, 12.0))
    forwards = np.array([[1, 0, 0], [0, math.cos(tilt), -math.sin(tilt)], [0, math.sin(tilt), math.cos(tilt)]])
    sideways = np.array([[math.cos(turn), -math.sin(turn), 0], [math.sin(turn), math.cos(turn), 0], [0, 0, 1]])
    # einsum, as a product of matrices may differ in the last bit between libraries of linear algebra
    direction = np.einsum("ij,jk->ik", sideways, forwards)
    target = rng.normal((0.0, 15.0, -20.0), (6.0, 12.0, 30.0))
    half = (np.array(_SHAPE) - 1) / 2 * _SPACING
    x, y, z = (target - np.einsum("ij,j->i", direction, half)).round(2).tolist()
    return Grid(_SHAPE, _SPACING, (x, y, z), tuple(direction.ravel().tolist()))


def _image(exam: ProstateExam, sequence: _Sequence) -> Volume:
    """An exam as a sequence shows it."""
    grid, gland = exam.grid, exam.gland
    whole = (slice(0, grid.shape[0]), slice(0, grid.shape[1]), slice(0, grid.shape[2]))
    points = coordinates(grid, whole) - middle(grid)[:, None, None, None]
    rectum = Shape(np.array([0.0, gland.whole.axes[1] + 12.0, 0.0]), np.array([13.0, 9.0, 60.0]))
    values = np.full(grid.shape, sequence.outside)
    for shape, level in (
        (rectum, sequence.rectum),
        (gland.whole, sequence.peripheral),
        (gland.transition, sequence.transition),
    ):
        values += _edge(shape, points) * (level - values)
    _nodules(values, exam, sequence)
    for finding in exam.findings:
        strength = (0.3 if finding.mimic else 0.45) + 0.15 * min(max(finding.conspicuity, -1.5), 2.5)
        _blend(values, exam, finding.shape, level=sequence.cancer, strength=strength)
    rng = np.random.default_rng([*exam.stream, sequence.stream])
    slope = sequence.fading * rng.normal(size=3)
    values *= np.exp((slope[0] * points[0] + slope[1] * points[1] + slope[2] * points[2]) / 30.0)
    noise = sequence.noise * _NOISE[exam.facts["vendor"]]
    values += noise * rng.standard_normal(values.shape, np.float32)
    return Volume(values.clip(0.0).astype(np.float32), grid)


def _nodules(values: Array, exam: ProstateExam, sequence: _Sequence) -> None:
    """Harmless nodules of all shades in the transition zone, in the same places in every sequence."""
    rng = np.random.default_rng([*exam.stream, _NODULES])
    for _ in range(int(rng.integers(4, 9))):
        shape = draw_shape(rng, exam.gland, radius=float(rng.uniform(3.0, 6.0)), central=True)
        _blend(values, exam, shape, level=sequence.transition * float(rng.uniform(0.75, 1.5)), strength=0.8)


def _blend(values: Array, exam: ProstateExam, shape: Shape, *, level: float, strength: float) -> None:
    """Mix the voxels of a shape with a level, within the gland."""
    box, points = near(exam.grid, shape, reach=1.5)
    weight = strength * _edge(shape, points) * _edge(exam.gland.whole, points)
    values[box] += weight * (level - values[box])


def _edge(shape: Shape, points: Array) -> Array:
    """1 inside a shape and 0 outside, with an edge about 2 mm wide."""
    return np.asarray((0.5 + shape.depth(points) * float(shape.axes.min()) / 2.0).clip(0.0, 1.0))
