"""Synthetic patients of DoseRAD: a chest or an abdomen, single beams, and the plan that they make up."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._dose_delivery import photons, protons
from isocenter.phantoms._dose_imrt import Aim, fit
from isocenter.phantoms._dose_rays import Array32, Triple
from isocenter.phantoms._dose_trunk import Image, Region, trunk
from isocenter.phantoms._fields import Array, Mask
from isocenter.volumes import Grid

Modality = Literal["photon", "proton"]

_STREAM = zlib.crc32(b"doserad")  # marks the random stream: patient 1 of one kind tells nothing of patient 1 of another
_GRIDS: dict[Modality, tuple[tuple[int, int, int], Triple]] = {
    "photon": ((60, 50, 40), (2.0, 2.0, 2.0)),
    "proton": ((100, 90, 30), (1.0, 1.0, 3.0)),
}
_BEAMS: dict[Modality, int] = {"photon": 12, "proton": 96}
_PRESCRIPTION: dict[Region, float] = {"thorax": 70.0, "abdomen": 60.0}
_ROUNDS = 250


@dataclass(frozen=True, eq=False, slots=True)
class BeamPatient:
    """A patient with the dose of every single beam.

    Attributes
    ----------
    name
        TH001 for a chest, AB001 for an abdomen.
    modality, image_kind
        Photons or protons; CT or MR.
    grid
        Axes to the patient's left, back and head.
    image
        int16, HU or brightness.
    beams
        By uuid: float32, Gy per unit of weight.
    weights
        By uuid; the plan, the sum of weight times beam, is in Gy.
    directions
        By uuid: where the beam goes, a unit vector, LPS. All lie in the axial plane.
    structures
        The target and the organs at risk.
    target
        The name of the target.
    prescription
        To the target, Gy.
    plan
        What the published JSON file of a patient says of its beams, with their uuids.
    """

    name: str
    modality: Modality
    image_kind: Image
    grid: Grid
    image: NDArray[np.int16]
    beams: Mapping[str, Array32]
    weights: Mapping[str, float]
    directions: Mapping[str, Triple]
    structures: Mapping[str, Mask]
    target: str
    prescription: float
    plan: Mapping[str, Any]

    @property
    def region(self) -> Region:
        """Chest or abdomen."""
        return "thorax" if self.name.startswith("TH") else "abdomen"

    def plan_dose(self) -> Array:
        """The dose of the whole plan, Gy."""
        return total(self.beams, self.weights)


def doserad_patient(
    number: int,
    *,
    modality: Modality = "photon",
    image: Image = "ct",
    seed: int = 0,
    size: tuple[int, int, int] | None = None,
    beams: int | None = None,
) -> BeamPatient:
    """Synthetic patient `number`: the dose of each of its beams, and weights that make a plan of them.

    ::

             gantry 0°
                 │
           ▗▄▆▇██▼█▇▆▄▖           photons: segments of arcs, shaped by leaves to the target
          ▟█▘ ▝█▒▒▒█▘ ▝█▙         protons: pencil beams of three fields, ray by ray and energy by energy
          ██   ▐▒█▒▌   ██ ◀─ 90°
          ▝█▙▖ ▗█▒█▖  ▟█▘
            ▀▀▜██▇▇██▛▀▀

    Parameters
    ----------
    number, seed
        Which patient. With `modality` they decide everything; CT and MR show the same one.
    modality
        "photon" has voxels of 2×2×2 mm, "proton" of 1×1×3 mm.
    size
        Voxels; by default a box for demonstrations, into which the body is scaled down. From about 180×120 (photon) or
        360×240 (proton) on, it is as large as an adult.
    beams
        How many segments, by default 12; or how many pencils at most, by default 96: the finest lattice is taken that
        has no more, of which there are at least 3. An adult's target takes a thousand to be covered evenly.

    Notes
    -----
    Photons build up, and fall off with the water in their way and the distance from the source; protons follow
    Bortfeld's Bragg curve and spread by scattering. The weights come from a least-squares fit that knows no negative
    ones; the mean dose of the target is 1.02 of the prescription.

    Examples
    --------
    >>> patient = doserad_patient(1, beams=6)
    >>> len(patient.beams), patient.grid.spacing, patient.target
    (6, (2.0, 2.0, 2.0), 'PTV')
    """
    shape, spacing = _GRIDS[modality]
    shape, count = size or shape, _BEAMS[modality] if beams is None else beams
    if count < (fewest := {"photon": 1, "proton": 3}[modality]):
        msg = f"a {modality} plan has at least {fewest} beams, not {count}"
        raise ValueError(msg)
    if min(shape) < 16:
        msg = f"a patient needs 16 voxels along each axis, not {'×'.join(map(str, shape))}"
        raise ValueError(msg)
    rng = np.random.default_rng([seed, number, _STREAM, zlib.crc32(modality.encode())])
    corner = [round(-0.5 * (n - 1) * step, 3) for n, step in zip(shape, spacing, strict=True)]
    grid = Grid(shape, spacing, (corner[0], corner[1], corner[2] - float(rng.integers(0, 400))))
    body = trunk(rng.spawn(1)[0], grid, image)
    target = body.structures["PTV"]
    centre = np.argwhere(target).mean(axis=0)
    isocentre = (float(centre[0]), float(centre[1]), float(centre[2]))
    at = [round(float(o + s * c), 3) for o, s, c in zip(grid.origin, spacing, centre, strict=True)]
    made, plan = (photons if modality == "photon" else protons)(body, isocentre, at, count, rng)
    weights = _weights([beam.dose for beam in made], target, _PRESCRIPTION[body.region], rng)
    return BeamPatient(
        name=f"{'TH' if body.region == 'thorax' else 'AB'}{number:03d}",
        modality=modality,
        image_kind=image,
        grid=grid,
        image=body.image,
        beams={beam.uuid: beam.dose for beam in made},
        weights={beam.uuid: weight for beam, weight in zip(made, weights, strict=True)},
        directions={beam.uuid: beam.direction for beam in made},
        structures=body.structures,
        target="PTV",
        prescription=_PRESCRIPTION[body.region],
        plan=plan,
    )


def total(beams: Mapping[str, Array32], weights: Mapping[str, float]) -> Array:
    """The sum of weight times beam, float64."""
    dose: Array = np.zeros(next(iter(beams.values())).shape)
    for name, beam in beams.items():
        dose += weights[name] * beam
    return dose


def _weights(doses: list[Array32], target: Mask, prescription: float, rng: np.random.Generator) -> list[float]:
    """Weights that bring the target to the prescription, spare the rest and heat no part of it."""
    from scipy import ndimage, sparse

    inside, near = np.flatnonzero(target), np.flatnonzero(ndimage.binary_dilation(target, iterations=6) & ~target)
    far = np.flatnonzero(sum(doses, start=np.zeros(target.shape, np.float32)) * ~target)
    inside, near, far = (
        np.sort(rng.choice(a, min(n, len(a)), replace=False)) for a, n in ((inside, 2500), (near, 1500), (far, 1500))
    )
    aims = [
        Aim(inside, 1.02 * prescription, 1.02 * prescription, 100.0),
        Aim(near, 0.0, 0.9 * prescription, 30.0),
        Aim(far, 0.0, 0.4 * prescription, 3.0),
    ]
    where = np.concatenate([aim.where for aim in aims])
    matrix = sparse.csr_array(np.stack([dose.ravel()[where] for dose in doses], axis=1).astype(np.float64))
    turned = matrix.T.tocsr()
    weights = fit(lambda weights: matrix @ weights, lambda values: turned @ values, aims, rounds=_ROUNDS, least=0.1)
    weights = np.maximum(weights, weights[weights > 0.0].min())  # a beam that the target hardly sees is there as well
    mean = float((matrix @ weights)[: len(inside)].mean())
    return [float(f"{value:.9g}") for value in weights * 1.02 * prescription / mean]
