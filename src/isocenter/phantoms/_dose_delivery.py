"""How beams are laid on a target: control points of arcs, pencils of proton fields, and what a plan says of them."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np

from isocenter.phantoms._dose_beams import LEAF, LEAVES, Pencil, pencil_dose, proton_energy, segment_dose
from isocenter.phantoms._dose_rays import SAD, Array32, Rays, Triple, rays
from isocenter.phantoms._dose_trunk import Trunk
from isocenter.phantoms._fields import Array

_MARGIN = 5.0  # mm by which a segment is larger than what it aims at
_SPILL = 3.0  # mm around the target in which pencils end as well
_TURNS = (0.0, 75.0, 210.0)  # degrees from the first of the proton fields to each of them
_PITCHES = np.geomspace(80.0, 3.0, 70)  # mm, between the pencils of a field


@dataclass(frozen=True, eq=False, slots=True)
class Beam:
    """A beam: its uuid, its dose in Gy per unit of weight, and where it goes."""

    uuid: str
    dose: Array32
    direction: Triple


def _aim(body: Trunk, gantry: float, isocentre: Triple) -> tuple[Triple, Rays, Array]:
    """The rays of a gantry angle (degrees), and how far the slices lie above the isocentre."""
    angle = math.radians(gantry)
    direction = (-math.sin(angle), math.cos(angle))
    spacing = body.grid.spacing
    beam = rays(body.density, direction, spacing=spacing, isocentre=isocentre, step=max(spacing[:2]))
    heights = np.asarray((np.arange(body.grid.shape[2]) - isocentre[2]) * spacing[2], np.float64)
    return (*direction, 0.0), beam, heights


def _in_body(dose: Array32, body: Trunk) -> Array32:
    """Dose of a beam as a volume; none in the air around the patient."""
    return np.where(body.density > 0.01, dose.reshape(body.grid.shape), np.float32(0.0))


def photons(
    body: Trunk, isocentre: Triple, at: list[float], count: int, rng: np.random.Generator
) -> tuple[list[Beam], dict[str, Any]]:
    """Two arcs; their control points alternate around the patient."""
    made: list[Beam] = []
    arcs: list[list[dict[str, Any]]] = [[], []]
    pixel, height = np.divmod(np.flatnonzero(body.structures["PTV"]), body.grid.shape[2])
    start = float(rng.uniform(0.0, 360.0 / count))
    for number in range(count):
        gantry = round((start + 360.0 * number / count) % 360.0, 1)
        direction, beam, heights = _aim(body, gantry, isocentre)
        left, right = _leaves(beam.across[pixel], heights[height], rng)
        arc = arcs[number % 2]
        name = _uuid(rng)
        point = {
            "cp_idx": len(arc),
            "gantry_angle": gantry,
            "mlc_left_int_mm": left,
            "mlc_right_int_mm": right,
            "cp_uuid": name,
        }
        arc.append(point)
        dose = segment_dose(beam, heights, np.array(left, float), np.array(right, float))
        made.append(Beam(name, _in_body(dose, body), direction))
    common = {"SAD": SAD, "iso_center": at, "num_mlc_leaf_pairs": LEAVES}
    beams = [{"beam_idx": n, **common, "control_points": arc} for n, arc in enumerate(arcs) if arc]
    return made, {"beams": beams}


def _leaves(across: Array, height: Array, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """An opening around the target, of which one side is covered up to a random part, as arcs do to modulate."""
    left, right = [0] * LEAVES, [0] * LEAVES
    covered, side = float(rng.uniform(0.0, 0.4)), int(rng.integers(2))
    for pair in range(LEAVES):
        low = (pair - LEAVES / 2.0) * LEAF
        seen = across[(height > low - _MARGIN) & (height < low + LEAF + _MARGIN)]
        if not seen.size:
            continue
        first, last = float(seen.min()) - _MARGIN, float(seen.max()) + _MARGIN
        cover = covered * (last - first)
        left[pair] = round(first + (cover if side else 0.0))
        right[pair] = round(last - (0.0 if side else cover))
    return left, right


def protons(
    body: Trunk, isocentre: Triple, at: list[float], count: int, rng: np.random.Generator
) -> tuple[list[Beam], dict[str, Any]]:
    """Three fields, each with pencils that end all over the target."""
    from scipy import ndimage

    start = float(rng.uniform(0.0, 360.0))
    fields = []
    outside = ndimage.distance_transform_edt(~body.structures["PTV"], sampling=body.grid.spacing)
    pixel, height = np.divmod(np.flatnonzero(outside <= _SPILL), body.grid.shape[2])
    for turn in _TURNS:
        gantry = round((start + turn) % 360.0, 1)
        direction, beam, heights = _aim(body, gantry, isocentre)
        ends = (beam.across[pixel], heights[height], beam.depth[pixel, height].astype(np.float64))
        fields.append((gantry, direction, beam, heights, ends))
    coarse, fine = 0, len(_PITCHES) - 1
    while coarse < fine:  # the finest lattice that has not too many
        between = (coarse + fine + 1) // 2
        if sum(len(_spots(ends, _PITCHES[between])) for *_, ends in fields) > count:
            fine = between - 1
        else:
            coarse = between
    spots = [_spots(ends, _PITCHES[coarse]) for *_, ends in fields]
    made, beams = [], []
    for index, ((gantry, direction, beam, heights, _), pencils) in enumerate(zip(fields, spots, strict=True)):
        lines: dict[tuple[float, float], list[dict[str, Any]]] = {}
        for pencil in pencils:
            beamlets = lines.setdefault((pencil.across, pencil.height), [])
            name = _uuid(rng)
            beamlets.append({"beamlet_idx": len(beamlets), "energy": pencil.energy, "beamlet_uuid": name})
            dose = _in_body(pencil_dose(beam, heights, pencil), body)
            made.append(Beam(name, dose, _way(at, direction, pencil.across)))
        listed = [
            {"ray_idx": n, **_ray(at, direction, *place), "beamlets": beamlets}
            for n, (place, beamlets) in enumerate(lines.items())
        ]
        beams.append({"beam_idx": index, "gantry_angle": gantry, "iso_center": at, "rays": listed})
    return made, {"SAD": SAD, "beams": beams}


def _spots(ends: tuple[Array, Array, Array], pitch: float) -> list[Pencil]:
    """Pencils on a lattice in the beam's eye view, each with energies from the near to the far side of the target."""
    across, height, depth = ends
    u, v = np.rint(across / pitch).astype(int), np.rint(height / pitch).astype(int)
    found = []
    for place in np.unique(u * 4096 + v):
        inside = u * 4096 + v == place
        column, row, reach = int(u[inside][0]), int(v[inside][0]), depth[inside]
        near, far = np.percentile(reach, (2.0, 98.0))
        layers = max(1, math.ceil((far - near) / (0.75 * pitch)))  # a peak is narrower than a spot
        for at in np.linspace(far, near, layers) if layers > 1 else (0.5 * (near + far),):
            energy = round(proton_energy(max(float(at) + 1.0, 10.0)), 2)
            found.append(Pencil(round(column * pitch, 3), round(row * pitch, 3), energy))
    return found


def _ray(at: list[float], direction: Triple, across: float, height: float) -> dict[str, list[float]]:
    """Where a ray comes from and the point in the plane of the isocentre that it goes to, LPS, mm.

    The source moves up and down with the ray, so that every ray stays in its axial plane.
    """
    dx, dy, _ = direction
    z = at[2] + height
    return {
        "ray_source": [at[0] - SAD * dx, at[1] - SAD * dy, z],
        "ray_target": [at[0] + across * dy, at[1] - across * dx, z],
    }


def _way(at: list[float], direction: Triple, across: float) -> Triple:
    """The unit vector of a ray."""
    ends = _ray(at, direction, across, 0.0)
    x, y, _ = (b - a for a, b in zip(ends["ray_source"], ends["ray_target"], strict=True))
    return x / math.hypot(x, y), y / math.hypot(x, y), 0.0


def _uuid(rng: np.random.Generator) -> str:
    return str(uuid.UUID(bytes=rng.bytes(16), version=4))
