"""The anatomy of a synthetic chest or abdomen: density, image, organs and target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._dose_frame import Frame, Knots
from isocenter.phantoms._fields import Array, Mask, middle, ripple
from isocenter.volumes import Grid

Region = Literal["thorax", "abdomen"]
Image = Literal["ct", "mr"]

_WIDTH, _DEPTH = 352.0, 236.0  # mm, the body of an adult with some air around it
_BODY: Knots = ((-1000.0, 0.0, 0.0, 166.0, 108.0), (1000.0, 0.0, 0.0, 166.0, 108.0))
_SPINE: Knots = ((-1000.0, 0.0, 58.0, 23.0, 19.0), (1000.0, 0.0, 58.0, 23.0, 19.0))
_ARCH: Knots = ((-1000.0, 0.0, 86.0, 22.0, 15.0), (1000.0, 0.0, 86.0, 22.0, 15.0))
_CORD: Knots = ((-1000.0, 0.0, 82.0, 10.0, 9.0), (1000.0, 0.0, 82.0, 10.0, 9.0))
_OESOPHAGUS: Knots = ((-1000.0, 8.0, 28.0, 13.0, 9.0), (1000.0, 8.0, 28.0, 13.0, 9.0))

# Density relative to water, CT number in HU, and brightness on MR, of what the body is made of.
_TISSUES = {
    "air": (0.001, -1000.0, 0.0),
    "fat": (0.93, -95.0, 900.0),
    "muscle": (1.05, 45.0, 420.0),
    "lung": (0.26, -760.0, 60.0),
    "heart": (1.06, 50.0, 520.0),
    "organ": (1.06, 60.0, 480.0),
    "fluid": (1.01, 12.0, 650.0),
    "cord": (1.04, 35.0, 600.0),
    "bone": (1.38, 420.0, 260.0),
    "tumour": (1.04, 40.0, 620.0),
}


@dataclass(frozen=True, eq=False, slots=True)
class Trunk:
    """A part of a body before anybody treats it.

    Attributes
    ----------
    region
        Chest or abdomen.
    grid
        Where it is; axes to the patient's left, back and head.
    density
        Relative to water.
    image
        int16, as the scanner shows it.
    structures
        The target, "PTV", first, then the organs at risk, none of them empty.
    """

    region: Region
    grid: Grid
    density: Array
    image: NDArray[np.int16]
    structures: dict[str, Mask]


def trunk(rng: np.random.Generator, grid: Grid, image: Image) -> Trunk:
    """A random chest or abdomen. It is scaled down until it fits into the plane of the grid."""
    region: Region = "thorax" if rng.random() < 0.5 else "abdomen"
    extent = [n * step for n, step in zip(grid.shape, grid.spacing, strict=True)]
    scale = min(1.0, extent[0] / _WIDTH, extent[1] / _DEPTH) * float(rng.uniform(0.94, 1.0))
    centre = middle(grid)
    left, back, up = (
        (grid.origin[axis] + np.arange(grid.shape[axis]) * grid.spacing[axis] - centre[axis]) / scale
        for axis in range(3)
    )
    frame = Frame(left, back, up, ("left", "back", "up"))
    side = float(rng.choice((-1.0, 1.0)))
    tissue, organs = _chest(frame, side, rng) if region == "thorax" else _abdomen(frame, rng)
    target = _target(frame, region, side, rng)
    depth = frame.tube(_BODY)
    painted = np.where(depth > 0.0, np.where(depth > 9.0, 2, 1), 0)  # numbers of the rows of the table of tissues
    names = list(_TISSUES)
    for name, mask in tissue.items():
        painted[mask] = names.index(name.split()[0])
    painted[target > 5.0] = names.index("tumour")
    table = np.array(list(_TISSUES.values()))
    grain = rng.normal(0.0, 1.0, size=grid.shape)
    if image == "ct":
        shown = table[painted, 1] + 14.0 * grain
    else:
        shade = 1.0 + 0.12 * ripple(rng, (250.0, 700.0))(np.stack(np.broadcast_arrays(*frame.points())))
        shown = np.abs(table[painted, 2] * shade + 16.0 * grain)
    structures = {"PTV": target > 0.0} | {name: mask for name, mask in organs.items() if mask.any()}
    return Trunk(region, grid, table[painted, 0], np.rint(shown).astype(np.int16), structures)


def _chest(frame: Frame, side: float, rng: np.random.Generator) -> tuple[dict[str, Mask], dict[str, Mask]]:
    """What is in a chest: tissues, in the order in which they cover each other, and organs at risk."""
    size = float(rng.normal(1.0, 0.04))
    heart = frame.ball((22.0, -34.0, -40.0), np.array([52.0, 44.0, 58.0]) * size) > 0.0
    lungs = {}
    for flank, name in ((-1.0, "Lung_R"), (1.0, "Lung_L")):
        lungs[name] = (frame.ball((flank * 80.0, 0.0, 0.0), np.array([58.0, 78.0, 150.0]) * size) > 0.0) & ~heart
    oesophagus = frame.tube(_OESOPHAGUS) > 0.0
    tissue = {"lung right": lungs["Lung_R"], "lung left": lungs["Lung_L"], "heart": heart, "organ": oesophagus}
    near, far = ("Lung_R", "Lung_L") if side < 0.0 else ("Lung_L", "Lung_R")
    organs = {"Heart": heart, "Esophagus": oesophagus, near: lungs[near], far: lungs[far]}
    bones, cord = _spine(frame), frame.tube(_CORD) > 0.0
    return tissue | {"bone": bones, "cord": cord}, {"SpinalCord": cord, **organs}


def _abdomen(frame: Frame, rng: np.random.Generator) -> tuple[dict[str, Mask], dict[str, Mask]]:
    """What is in an abdomen, likewise."""
    size = float(rng.normal(1.0, 0.04))
    liver = frame.ball((-82.0, -18.0, 20.0), np.array([74.0, 70.0, 85.0]) * size) > 0.0
    stomach = (frame.ball((78.0, -42.0, 10.0), np.array([48.0, 40.0, 60.0]) * size) > 0.0) & ~liver
    kidneys = {}
    for flank, name in ((-1.0, "Kidney_R"), (1.0, "Kidney_L")):
        kidneys[name] = (frame.ball((flank * 66.0, 56.0, -28.0), np.array([28.0, 26.0, 52.0]) * size) > 0.0) & ~liver
    bowel = (frame.ball((0.0, -55.0, -70.0), np.array([100.0, 36.0, 48.0]) * size) > 0.0) & ~liver & ~stomach
    cord = frame.tube(_CORD) > 0.0
    tissue = {
        "organ liver": liver,
        "fluid stomach": stomach,
        "organ right": kidneys["Kidney_R"],
        "organ left": kidneys["Kidney_L"],
        "fluid bowel": bowel,
        "bone": _spine(frame),
        "cord": cord,
    }
    return tissue, {"SpinalCord": cord, "Liver": liver, "Stomach": stomach, "Bowel": bowel, **kidneys}


def _spine(frame: Frame) -> Mask:
    return np.asarray((frame.tube(_SPINE) > 0.0) | (frame.tube(_ARCH) > 0.0))


def _target(frame: Frame, region: Region, side: float, rng: np.random.Generator) -> Array:
    """Depth in the target, mm: two lobes of a tumour with their margin, clear of the spine."""
    where = (side * 58.0, 4.0, 8.0) if region == "thorax" else (6.0, -4.0, 4.0)
    centre = rng.normal(where, (7.0, 6.0, 5.0))
    radius = float(rng.lognormal(math.log(31.0), 0.1))
    lobes = [centre, centre + rng.normal(0.0, 0.35 * radius, size=3)]
    depth = np.max([frame.ball(at, radius * rng.uniform(0.8, 1.1, size=3)) for at in lobes], axis=0)
    return np.asarray(np.minimum(depth, -5.0 - frame.tube(_SPINE)))
