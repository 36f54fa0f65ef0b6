"""How an exam of the prostate looks in each MR sequence: tissue painted over tissue, then fading and noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from isocenter.phantoms._fields import Array, Box, box_around, coordinates, middle
from isocenter.phantoms._prostate_findings import Finding, Gland, Shape, draw_shape
from isocenter.volumes import Grid, Volume

# Each has a random stream of its own, so that no image depends on another; 0 is the anatomy's.
_NODULES, _T2W, _ADC, _HBV, _DCE = range(1, 6)

B_VALUE = 1400.0
"""Of the image of diffusion with a high b value, s/mm²."""


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
_DCE_SEQUENCE = _Sequence(_DCE, 240.0, 60.0, 330.0, 400.0, 760.0, noise=20.0, fading=0.12)
# The levels without diffusion, S0. They are one all over the gland: only diffusion makes a contrast in it.
_HBV_SEQUENCE = _Sequence(_HBV, 350.0, 60.0, 1000.0, 1000.0, 1000.0, noise=12.0, fading=0.0)


@dataclass(frozen=True, slots=True)
class Scene:
    """What lies in front of the scanner, made by `look_at`: for each thing the share that it has of every voxel.

    Attributes
    ----------
    points
        The voxels, mm from the middle of the image, LPS.
    rectum, gland, transition
        The shares of the tissues, each painted over the one before.
    nodules
        Harmless, in the transition zone: a box, the shares in it, and a shade relative to the zone.
    findings
        A box and the shares in it.
    stream, noise
        Of the random numbers of the images, and how noisy the scanner is, relative to the quietest.
    """

    grid: Grid
    points: Array
    rectum: Array
    gland: Array
    transition: Array
    nodules: tuple[tuple[Box, Array, float], ...]
    findings: tuple[tuple[Box, Array], ...]
    stream: tuple[int, ...]
    noise: float


def look_at(grid: Grid, gland: Gland, findings: tuple[Finding, ...], *, stream: tuple[int, ...], noise: float) -> Scene:
    """The scene of an exam: with it, several images cost little more than one."""
    centre = middle(grid)
    points = coordinates(grid, (slice(0, grid.shape[0]), slice(0, grid.shape[1]), slice(0, grid.shape[2])))
    points -= centre[:, None, None, None]
    rectum = Shape(np.array([0.0, gland.whole.axes[1] + 12.0, 0.0]), np.array([13.0, 9.0, 60.0]))
    whole = gland.whole.share(points)

    def within(shape: Shape, strength: float) -> tuple[Box, Array]:
        box = box_around(grid, centre + shape.centre, 1.5 * float(shape.axes.max()) + max(grid.spacing))
        return box, strength * shape.share(points[:, *box]) * whole[box]

    rng = np.random.default_rng([*stream, _NODULES])
    nodules = []
    for _ in range(int(rng.integers(4, 9))):
        shape = draw_shape(rng, gland, radius=float(rng.uniform(3.0, 6.0)), central=True)
        nodules.append((*within(shape, 0.8), float(rng.uniform(0.75, 1.5))))
    found = []
    for finding in findings:
        strength = (0.3 if finding.mimic else 0.45) + 0.15 * min(max(finding.conspicuity, -1.5), 2.5)
        found.append(within(finding.shape, strength))
    shares = rectum.share(points), whole, gland.transition.share(points)
    return Scene(grid, points, *shares, tuple(nodules), tuple(found), stream, noise)


def t2w(scene: Scene) -> Volume:
    """The T2-weighted image: bright peripheral zone, darker transition zone with nodules, lesions dark."""
    return _taken(scene, _painted(scene, _T2W_SEQUENCE), _T2W_SEQUENCE)


def adc(scene: Scene) -> Volume:
    """The apparent diffusion coefficient, 10⁻⁶ mm²/s: low in lesions."""
    return _taken(scene, _painted(scene, _ADC_SEQUENCE), _ADC_SEQUENCE)


def hbv(scene: Scene) -> Volume:
    """Diffusion with a high b value, S = S0·exp(−b·ADC), of the coefficient before its noise: lesions bright."""
    diffusion = np.exp(-1e-6 * B_VALUE * _painted(scene, _ADC_SEQUENCE))
    return _taken(scene, _tissues(scene, _HBV_SEQUENCE) * diffusion, _HBV_SEQUENCE)


def dce(scene: Scene) -> Volume:
    """The T1-weighted image soon after contrast: lesions enhance early, and some nodules do."""
    return _taken(scene, _painted(scene, _DCE_SEQUENCE), _DCE_SEQUENCE)


IMAGES: Mapping[str, Callable[[Scene], Volume]] = {"t2w": t2w, "adc": adc, "hbv": hbv, "dce": dce}
"""What makes each image of an exam, by the name that its files have."""


def _tissues(scene: Scene, sequence: _Sequence) -> Array:
    """The levels of the tissues, as if they were healthy and even."""
    values = np.full(scene.grid.shape, sequence.outside)
    for share, level in (
        (scene.rectum, sequence.rectum),
        (scene.gland, sequence.peripheral),
        (scene.transition, sequence.transition),
    ):
        values += share * (level - values)
    return values


def _painted(scene: Scene, sequence: _Sequence) -> Array:
    """The tissues with nodules, of all shades and in the same places in every sequence, and with findings."""
    values = _tissues(scene, sequence)
    for box, share, shade in scene.nodules:
        values[box] += share * (sequence.transition * shade - values[box])
    for box, share in scene.findings:
        values[box] += share * (sequence.cancer - values[box])
    return values


def _taken(scene: Scene, values: Array, sequence: _Sequence) -> Volume:
    """An image, float32, of what a noisy scanner takes that is more sensitive on one side than on the other."""
    rng = np.random.default_rng([*scene.stream, sequence.stream])
    slope = sequence.fading * rng.normal(size=3)
    if sequence.fading:
        x, y, z = scene.points
        values *= np.exp((slope[0] * x + slope[1] * y + slope[2] * z) / 30.0)
    values += sequence.noise * scene.noise * rng.standard_normal(values.shape, np.float32)
    return Volume(values.clip(0.0).astype(np.float32), scene.grid)
