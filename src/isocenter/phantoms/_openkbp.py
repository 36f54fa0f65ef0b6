"""Synthetic patients of OpenKBP: head and neck, ten structures, a dose of nine fields."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._dose_imrt import Aim, plan
from isocenter.phantoms._dose_neck import ORGANS, SHAPE, Neck, neck
from isocenter.phantoms._dose_targets import TARGETS, targets
from isocenter.phantoms._fields import Array, Box, Mask, bounds
from isocenter.volumes import sparse

_STREAM = zlib.crc32(b"openkbp")  # marks the random stream: patient 1 of one kind tells nothing of patient 1 of another
_CONTOURED = dict(zip(ORGANS, (0.88, 0.92, 0.98, 0.97, 0.42, 0.55, 0.70), strict=True))  # how often somebody drew it

# What an organ should stay below, Gy, and how much that counts.
_LIMITS = {
    "SpinalCord": (30.0, 60.0),
    "Brainstem": (26.0, 30.0),
    "RightParotid": (22.0, 3.0),
    "LeftParotid": (22.0, 3.0),
    "Larynx": (58.0, 2.0),
    "Esophagus": (52.0, 2.0),
    "Mandible": (42.0, 2.0),
}


@dataclass(frozen=True, eq=False, slots=True)
class DosePatient:
    """A patient with a planned dose.

    Attributes
    ----------
    name
        pt_1 and so on.
    spacing
        Voxels, mm. Axes run to the back, to the patient's left and to the feet, as in the public data.
    ct
        HU + 1000, whole numbers from 0 to 4095; 0 outside the body.
    dose
        Gy, three decimals; 0 wherever `possible` is false.
    possible
        The voxels that may receive dose.
    structures
        Those that are contoured, by their published names.
    """

    name: str
    spacing: tuple[float, float, float]
    ct: Array
    dose: Array
    possible: Mask
    structures: Mapping[str, Mask]


def openkbp_patient(number: int, *, seed: int = 0) -> DosePatient:
    """Synthetic patient `number` on the published grid of 128×128×128 voxels.

    The axial plane, the patient seen from the feet, and what is prescribed::

                ▗▄▄▄▖
               ▟▘   ▝▙         mandible
              ▐  ▟█▙  ▌        PTV70, the tumour and involved nodes
              ▐▒███▓▒▒▌        PTV63 next to it, PTV56 the nodes of both sides
              ▐▒▒ ◎ ▒▒▌        spinal cord, spared by all nine fields
               ▝▜███▛▘

    Parameters
    ----------
    number
        Which patient. One patient is a function of `number` and `seed` alone.

    Notes
    -----
    The dose is that of nine coplanar fields, 40° apart, whose fluence was found by weighing targets against organs; its
    physics is a rule of thumb. Sizes, prescriptions and what is contoured vary as in the public data; PTV70 is
    always there, and the targets are disjoint.

    Examples
    --------
    >>> patient = openkbp_patient(1)
    >>> patient.name, patient.dose.shape, "PTV70" in patient.structures
    ('pt_1', (128, 128, 128), True)
    """
    rng = np.random.default_rng([seed, number, _STREAM])
    anatomy = neck(rng)
    treated = targets(anatomy, rng)
    possible = _possible(anatomy, treated, rng)
    contoured = [name for name in ORGANS if rng.random() < _CONTOURED[name] and anatomy.organs[name].any()]
    dose = _dose(anatomy, treated, possible, rng)
    structures = {name: anatomy.organs[name] for name in contoured} | treated
    return DosePatient(f"pt_{number}", anatomy.spacing, anatomy.ct, dose, possible, structures)


def _possible(anatomy: Neck, treated: Mapping[str, Mask], rng: np.random.Generator) -> Mask:
    """The body up to some centimetres above and below the targets."""
    (heights,) = np.nonzero(np.any([mask.any(axis=(0, 1)) for mask in treated.values()], axis=0))
    above, below = rng.uniform(5.0, (60.0, 130.0)) / anatomy.spacing[2]
    mask = anatomy.depth > 0.0
    mask[:, :, : max(0, int(heights[0] - above))] = False
    mask[:, :, int(heights[-1] + below) + 1 :] = False
    return mask


def _dose(anatomy: Neck, treated: Mapping[str, Mask], possible: Mask, rng: np.random.Generator) -> Array:
    """A plan for the targets, scaled to the prescription."""
    box = bounds(possible, (1, 1, 0))
    density = np.interp(anatomy.ct[box], (0.0, 1000.0, 1100.0, 2600.0, 4095.0), (0.0, 0.98, 1.07, 1.9, 2.4))
    aims = _aims(anatomy, {name: mask[box] for name, mask in treated.items()}, box, possible[box], rng)
    centre = np.argwhere(np.any([mask[box] for mask in treated.values()], axis=0)).mean(axis=0)
    made = plan(density, aims, spacing=anatomy.spacing, isocentre=(centre[0], centre[1], centre[2]))
    level = 70.0 * float(rng.normal(1.022, 0.015))
    made *= level / made[treated["PTV70"][box]].mean()
    dose = np.zeros(SHAPE)
    dose[box] = np.where(possible[box], made, 0.0)
    return dose.round(3)


def _aims(anatomy: Neck, treated: Mapping[str, Mask], box: Box, possible: Mask, rng: np.random.Generator) -> list[Aim]:
    """What a planner asks for: dose in the targets, little in the organs, and a fall-off around the targets."""
    from scipy import ndimage

    taken = np.any(list(treated.values()), axis=0)
    found = []
    for name, mask in treated.items():
        wanted, slack, weight = (71.0, 1.0, 160.0) if name == "PTV70" else (TARGETS[name] * 1.025, 1.1, 90.0)
        found.append(Aim(_sample(mask, rng), wanted, wanted * slack, weight))
    for name, (limit, weight) in _LIMITS.items():
        mask = anatomy.organs[name][box] & possible & ~taken
        if mask.any():
            found.append(Aim(_sample(mask, rng), 0.0, limit, weight * float(rng.lognormal(0.0, 0.4))))
    # Every other voxel of every axis is enough to know how far away the targets are.
    coarse = ndimage.distance_transform_edt(~taken[::2, ::2, ::2], sampling=[2.0 * step for step in anatomy.spacing])
    for region, weight in ((possible & ~taken, 45.0), (_rim(taken) & possible, 45.0)):
        where = _sample(region, rng, most=4000)
        i, j, k = np.unravel_index(where, possible.shape)
        found.append(Aim(where, 0.0, 9.0 + 58.0 * np.exp(-coarse[i // 2, j // 2, k // 2] / 30.0), weight))
    return found


def _rim(mask: Mask) -> Mask:
    """Three voxels around a mask: where a hot spot outside of the targets would be."""
    from scipy import ndimage

    return np.asarray(ndimage.binary_dilation(mask, iterations=3) & ~mask)


def _sample(mask: Mask, rng: np.random.Generator, most: int = 2500) -> NDArray[np.intp]:
    """Positions of the voxels of a mask, or of some of them if there are many."""
    where = np.flatnonzero(mask)
    return where if len(where) <= most else np.sort(rng.choice(where, most, replace=False))


def write_openkbp(folder: str | os.PathLike[str], patients: Iterable[DosePatient]) -> list[str]:
    """Write patients in the published layout and return their names.

    ::

        folder/pt_1/{dose,ct,possible_dose_mask,voxel_dimensions,Brainstem,…,PTV70}.csv

    The dose has a line for every voxel of the mask, zeros too, as in the public files.
    """
    names = []
    for patient in patients:
        place = Path(folder, patient.name)
        if place.exists() and any(place.iterdir()):
            msg = f"{place} is not empty; a synthetic patient is written into a new folder, so that nothing old stays"
            raise FileExistsError(msg)
        place.mkdir(parents=True, exist_ok=True)
        sparse.write_sparse(place / "dose.csv", patient.dose, where=patient.possible)
        sparse.write_sparse(place / "ct.csv", patient.ct)
        sparse.write_mask(place / "possible_dose_mask.csv", patient.possible)
        sparse.write_voxel_dimensions(place / "voxel_dimensions.csv", patient.spacing)
        for name, mask in patient.structures.items():
            sparse.write_mask(place / f"{name}.csv", mask)
        names.append(patient.name)
    return names


def write_openkbp_predictions(folder: str | os.PathLike[str], doses: Mapping[str, NDArray[np.floating]]) -> None:
    """Write what a team predicts, `pt_1.csv` and so on, from the doses by the patients' names; float32, as is usual."""
    for name, dose in doses.items():
        sparse.write_sparse(Path(folder, f"{name}.csv"), dose.astype(np.float32))
