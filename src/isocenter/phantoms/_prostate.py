"""Synthetic exams of the prostate: what MR images show, and the cancer in them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from isocenter.phantoms._prostate_findings import Finding, Gland, draw_findings, draw_gland, voxels_apart
from isocenter.phantoms._prostate_images import IMAGES, Scene, look_at
from isocenter.volumes import Grid, Volume

_STREAM = zlib.crc32(
    b"prostate"
)  # marks the random stream: patient 1 of one kind tells nothing of patient 1 of another
_ANATOMY = 0  # the images follow
_SHAPE, _SPACING = (120, 120, 20), (0.5, 0.5, 3.0)
_CENTERS = {"Alder": 0.25, "Birch": 0.85, "Cedar": 0.5}  # the share of exams on a scanner of vendor A
_NOISE = {"A": 1.0, "B": 1.5}  # of an image
_BLUR = {"A": 0.0, "B": 0.3}  # by how much less conspicuous a lesion is


@dataclass(frozen=True, eq=False)
class ProstateExam:
    """A multiparametric exam of a synthetic patient, made by `prostate_exam`. All volumes are on one grid.

    `t2w`, `adc` and `hbv` are a biparametric exam; with `dce` it is multiparametric.

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

    @property
    def gland_volume(self) -> float:
        """Of the prostate, ml: 4/3·π·a·b·c of its half axes in cm."""
        return 4.0 / 3.0 * math.pi * float(self.gland.whole.axes.prod()) / 1000.0

    @cached_property
    def t2w(self) -> Volume:
        """The T2-weighted image, float32: bright peripheral zone, darker transition zone with nodules, lesions dark."""
        return IMAGES["t2w"](self._scene())

    @cached_property
    def adc(self) -> Volume:
        """The apparent diffusion coefficient, float32, 10⁻⁶ mm²/s: low in lesions."""
        return IMAGES["adc"](self._scene())

    @cached_property
    def hbv(self) -> Volume:
        """Diffusion with b = 1400 s/mm², float32: lesions bright, S = S0·exp(−b·ADC) with one S0 all over the gland."""
        return IMAGES["hbv"](self._scene())

    @cached_property
    def dce(self) -> Volume:
        """The T1-weighted image soon after contrast, float32: lesions bright, as they enhance early."""
        return IMAGES["dce"](self._scene())

    def images(self) -> dict[str, Volume]:
        """The four images by name, made anew and not kept: less work than to ask for one after the other."""
        scene = self._scene()
        return {name: make(scene) for name, make in IMAGES.items()}

    def _scene(self) -> Scene:
        """What all images show."""
        noise = _NOISE[self.facts["vendor"]]
        return look_at(self.grid, self.gland, self.findings, stream=self.stream, noise=noise)


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
