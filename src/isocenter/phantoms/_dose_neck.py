"""The anatomy of a synthetic head and neck, from the crown to the shoulders: CT and organs at risk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isocenter.phantoms._dose_frame import Frame, Knots
from isocenter.phantoms._fields import Array, Mask

SHAPE = (128, 128, 128)
ORGANS = ("Brainstem", "SpinalCord", "RightParotid", "LeftParotid", "Esophagus", "Larynx", "Mandible")

# Tubes along the patient: height over a place in the throat, centre to the left and to the back, half width, half
# depth; millimetres.
_BODY: Knots = (
    (-230.0, 0.0, 18.0, 215.0, 112.0),
    (-150.0, 0.0, 16.0, 205.0, 100.0),
    (-118.0, 0.0, 14.0, 160.0, 82.0),
    (-98.0, 0.0, 12.0, 92.0, 66.0),
    (-75.0, 0.0, 10.0, 66.0, 58.0),
    (-40.0, 0.0, 8.0, 60.0, 60.0),
    (-18.0, 0.0, 8.0, 65.0, 66.0),
    (10.0, 0.0, 12.0, 70.0, 72.0),
    (45.0, 0.0, 18.0, 74.0, 86.0),
    (95.0, 0.0, 16.0, 77.0, 98.0),
    (130.0, 0.0, 18.0, 70.0, 88.0),
    (155.0, 0.0, 18.0, 46.0, 60.0),
    (166.0, 0.0, 18.0, 10.0, 12.0),
)
_FACE: Knots = (
    (-32.0, 0.0, -34.0, 30.0, 30.0),
    (-18.0, 0.0, -36.0, 48.0, 50.0),
    (20.0, 0.0, -36.0, 54.0, 54.0),
    (60.0, 0.0, -30.0, 58.0, 60.0),
    (90.0, 0.0, -20.0, 50.0, 50.0),
)
_CORD: Knots = ((-175.0, 0.0, 52.0, 7.0, 6.0), (-60.0, 0.0, 40.0, 7.0, 6.0), (40.0, 0.0, 42.0, 7.0, 6.5))
_VERTEBRAE: Knots = ((-230.0, 0.0, 34.0, 19.0, 16.0), (-60.0, 0.0, 22.0, 15.0, 12.0), (36.0, 0.0, 26.0, 14.0, 10.0))
_ARCHES: Knots = ((-230.0, 0.0, 58.0, 24.0, 20.0), (-60.0, 0.0, 46.0, 20.0, 17.0), (36.0, 0.0, 46.0, 22.0, 15.0))
_AIRWAY: Knots = (
    (-230.0, 0.0, 4.0, 8.0, 8.0),
    (-70.0, 0.0, -8.0, 8.0, 9.0),
    (-20.0, 0.0, 4.0, 8.0, 5.0),
    (40.0, 0.0, -6.0, 9.0, 9.0),
)
_OESOPHAGUS: Knots = ((-125.0, 3.0, 17.0, 9.0, 7.0), (-68.0, 0.0, 8.0, 9.0, 6.0))
_BRAIN = ((0.0, 22.0, 102.0), (70.0, 84.0, 60.0))
_FAT = 7.0  # mm of it below the skin


@dataclass(frozen=True, eq=False, slots=True)
class Neck:
    """A head and neck before anybody treats it.

    Attributes
    ----------
    spacing
        Voxels, mm. Array axes run to the back, to the patient's left and to the feet, as in the public data.
    frame
        Where the voxels are in a patient of average size.
    depth
        Below the skin, mm, roughly; negative outside.
    ct
        HU + 1000, whole numbers, 0 outside the body.
    organs
        All seven.
    """

    spacing: tuple[float, float, float]
    frame: Frame
    depth: Array
    ct: Array
    organs: dict[str, Mask]


def neck(rng: np.random.Generator) -> Neck:
    """A random head and neck."""
    spacing = _spacing(rng)
    size = rng.normal(1.02, 0.07, size=3).clip(0.88, 1.2)
    middle = rng.normal((60.0, 62.0, 60.0), (2.0, 3.0, 4.0))  # the voxel of the place in the throat
    frame = Frame(
        left=(np.arange(SHAPE[1]) - middle[1]) * spacing[1] / size[0],
        back=(np.arange(SHAPE[0]) - middle[0]) * spacing[0] / size[1],
        up=(middle[2] - np.arange(SHAPE[2])) * spacing[2] / size[2],
        order=("back", "left", "up"),
    )
    depth = np.maximum(frame.tube(_BODY), frame.tube(_FACE))
    organs = _organs(frame, depth, rng)
    return Neck(spacing, frame, depth, _ct(frame, depth, organs["Mandible"], rng), organs)


def _spacing(rng: np.random.Generator) -> tuple[float, float, float]:
    """Voxels as in the public data: 3.906 mm more often than anything else, slices of mostly 2.5 or 3 mm."""
    other = rng.uniform(3.5, 4.1) if rng.random() < 0.4 else rng.uniform(4.3, 5.4)
    plane = 3.906 if rng.random() < 0.5 else round(float(other), 3)
    return plane, plane, float(rng.choice((1.5, 2.0, 2.5, 3.0, 3.27), p=(0.05, 0.05, 0.42, 0.44, 0.04)))


def _organs(frame: Frame, depth: Array, rng: np.random.Generator) -> dict[str, Mask]:
    """The seven organs at risk."""
    swell = rng.lognormal(0.0, 0.08, size=4)
    shift = rng.normal(0.0, 2.0, size=3)
    brainstem = frame.ball((0.0, 34.0, 64.0), np.array([15.0, 14.0, 28.0]) * swell[0]) > 0.0
    parotids = {}
    for side, name, grown in ((-1.0, "RightParotid", swell[1]), (1.0, "LeftParotid", swell[2])):
        centre = np.array([side * 57.0, 16.0, 26.0]) + shift
        parotids[name] = (frame.ball(centre, np.array([13.0, 19.0, 29.0]) * grown) > 0.0) & (depth > 3.0)
    larynx = frame.ball(np.array([0.0, -10.0, -58.0]) + shift, np.array([18.0, 19.0, 22.0]) * swell[3]) > 0.0
    return {
        "Brainstem": brainstem,
        "SpinalCord": (frame.tube(_CORD) > 0.0) & ~brainstem,
        **parotids,
        "Esophagus": frame.tube(_OESOPHAGUS) > 0.0,
        "Larynx": larynx & (depth > 3.0),
        "Mandible": _mandible(frame) & (depth > 3.0),
    }


def _mandible(frame: Frame) -> Mask:
    """A horseshoe, and two rami that rise from its ends."""
    left, back, _ = frame.points()
    body = (frame.bent((51.0, 80.0), centre=2.0, thickness=8.0) > 0.0) & frame.between(-24.0, 4.0)
    ramus = (abs(abs(left) - 46.5) < 4.5) & (abs(back + 2.0) < 13.0) & frame.between(-20.0, 42.0)
    return np.asarray(body | ramus)


def _ct(frame: Frame, depth: Array, mandible: Mask, rng: np.random.Generator) -> Array:
    """HU + 1000, with the texture of tissue, metal in some teeth, and noise; 0 outside the body."""
    from scipy import ndimage

    inside = depth > 0.0
    ct = np.where(depth > _FAT, 1045.0, 930.0)
    skull = frame.ball(*_BRAIN)
    ct[skull > 0.0] = 1035.0
    bone = mandible | _spine(frame) | ((skull > 0.0) & (skull < 6.0))
    teeth = (frame.bent((44.0, 56.0), centre=-20.0, thickness=9.0) > 0.0) & frame.between(6.0, 30.0)
    for side in (-1.0, 1.0):
        bone |= frame.ball((side * 168.0, 20.0, -150.0), (24.0, 24.0, 26.0)) > 0.0
    ct[bone & (depth > 3.0)] = 1750.0
    ct[teeth & (depth > 3.0)] = 2300.0
    if rng.random() < 0.4:  # a filling
        at = (float(rng.choice((-38.0, 38.0))), float(rng.uniform(-45.0, -25.0)), float(rng.uniform(10.0, 24.0)))
        ct[frame.ball(at, (7.0, 7.0, 5.0)) > 0.0] = 3976.0
    ct[frame.tube(_AIRWAY) > 0.0] = 20.0
    for side in (-1.0, 1.0):
        ct[frame.ball((side * 20.0, -52.0, 52.0), (14.0, 16.0, 15.0)) > 0.0] = 40.0
    ct[~inside] = 0.0
    ct = ndimage.gaussian_filter(ct, 0.55)
    grain = ndimage.gaussian_filter(rng.normal(0.0, 55.0, size=SHAPE), 0.7)
    return np.where(inside, np.rint(ct + grain).clip(0.0, 4095.0), 0.0)


def _spine(frame: Frame) -> Mask:
    """Vertebrae with discs between them, and their arches around the canal."""
    up = frame.points()[2]
    beat = np.abs((up + 6.0) % 17.0 - 8.5)  # mm from the middle of a disc
    bone = (frame.tube(_VERTEBRAE) > 0.0) & (beat > 2.5)
    bone |= (frame.tube(_ARCHES) > 0.0) & (beat > 4.5)
    return np.asarray(bone & (frame.tube(_CORD) < -3.0))
