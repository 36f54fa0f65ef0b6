"""The targets of a synthetic head and neck: where 70, 63 and 56 Gy are prescribed."""

from __future__ import annotations

import math

import numpy as np

from isocenter.phantoms._dose_frame import FAR, Frame, Knots
from isocenter.phantoms._dose_neck import SHAPE, Neck
from isocenter.phantoms._fields import Array, Mask, ripple

TARGETS = {"PTV56": 56.0, "PTV63": 63.0, "PTV70": 70.0}
"""The targets and what is prescribed to them, Gy."""

_PRESCRIBED = {"PTV56": 0.92, "PTV63": 0.55}  # how often there is such a target
_SKIN = 4.0  # mm below the skin that no target reaches
_CORD_GAP = 7.0  # mm between the spinal cord and a target

# The nodes of the left side, along the great vessels; those of the right mirror them. See `Frame.tube`.
_NODES: Knots = (
    (-125.0, 50.0, 16.0, 29.0, 15.0),
    (-75.0, 37.0, 14.0, 27.0, 16.0),
    (-20.0, 38.0, 22.0, 28.0, 15.5),
    (20.0, 38.0, 24.0, 26.0, 14.0),
    (48.0, 36.0, 20.0, 16.0, 11.0),
)
_TILT = 0.72  # radians; the nodes lie flat on the muscle that runs from the ear to the breastbone


def targets(patient: Neck, rng: np.random.Generator) -> dict[str, Mask]:
    """PTV70 around the tumour and the involved nodes, PTV63 next to it, PTV56 around the nodes of both sides.

    PTV70 is always there. The masks are disjoint: a lower level has what the higher ones leave to it.
    """
    box = patient.frame.box(np.array([-95.0, -75.0, -130.0]), np.array([95.0, 80.0, 75.0]))
    frame = patient.frame.part(box)
    allowed = (patient.depth[box] > _SKIN) & ~_around(patient.organs["SpinalCord"][box], patient.spacing)
    found = {}
    taken = np.zeros(frame.shape, np.bool_)
    wanted = _wanted(frame, rng)
    for name in sorted(wanted, reverse=True):
        mask = np.zeros(SHAPE, np.bool_)
        mask[box] = wanted[name] & allowed & ~taken
        taken |= wanted[name]
        if mask.any():
            found[name] = mask
    return dict(sorted(found.items()))


def _wanted(frame: Frame, rng: np.random.Generator) -> dict[str, Mask]:
    """The targets as if they could overlap, and lie in the skin and in the cord."""
    side = float(rng.choice((-1.0, 1.0)))
    bumps = ripple(rng, (35.0, 110.0))(np.stack(np.broadcast_arrays(*frame.points())))
    tumour = _tumour(frame, side, rng) + 3.0 * bumps
    nodes = {flank: frame.tube(_NODES, mirror=flank, tilt=_TILT) + 2.0 * bumps for flank in (side, -side)}
    elective = frame.between(float(rng.uniform(-120.0, -85.0)), float(rng.uniform(22.0, 42.0)))
    involved = frame.between(float(rng.uniform(-75.0, -30.0)), float(rng.uniform(5.0, 30.0)))
    high = tumour > 0.0
    if rng.random() < 0.75:
        high |= (nodes[side] > -1.0) & involved
    # A rim around the tumour, or what is left of the nodes of the involved side.
    middle = tumour > -8.0 if rng.random() < 0.5 else (nodes[side] > 0.0) & elective
    low = (np.maximum(nodes[side], nodes[-side]) > 0.0) & elective
    levels = {"PTV63": middle, "PTV56": low}
    chosen = {name: mask for name, mask in levels.items() if rng.random() < _PRESCRIBED[name]}
    return {"PTV70": high if "PTV56" in chosen else high | low, **chosen}


def _tumour(frame: Frame, side: float, rng: np.random.Generator) -> Array:
    """Depth in a tumour of the throat with its margin, or in one case of five of the larynx, mm."""
    height = -46.0 if rng.random() < 0.2 else 4.0
    centre = rng.normal((side * 10.0, -8.0, height), (7.0, 5.0, 9.0))
    radius = float(rng.lognormal(math.log(29.0), 0.22))
    depth = np.full(frame.shape, FAR)
    for _ in range(3):
        lobe = centre + rng.normal(0.0, 0.3 * radius, size=3)
        np.maximum(depth, frame.ball(lobe, radius * rng.uniform(0.7, 1.15, size=3)), out=depth)
    return depth


def _around(cord: Mask, spacing: tuple[float, float, float]) -> Mask:
    """The spinal cord and what is too near to it."""
    from scipy import ndimage

    if not cord.any():
        return cord
    return np.asarray(ndimage.distance_transform_edt(~cord, sampling=spacing) < _CORD_GAP)
