"""Synthetic patients of DoseRAD on disk: the ground truth as the organisers package it, and what teams hand in."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from isocenter.atomic import replacing, write_text
from isocenter.phantoms._dose_rays import Array32
from isocenter.phantoms._doserad import BeamPatient
from isocenter.volumes import Grid, Volume, write

SLOTS = 10  # images that the platform takes in one job, and stacks that it gets back
_CUTOFF = 0.0  # Gy; what a team may leave out of a beam


def write_doserad(
    folder: str | os.PathLike[str], patients: Iterable[BeamPatient], *, layout: Literal["package", "plain"] = "package"
) -> list[str]:
    """Write the ground truth of patients and return their names.

    ::

        folder/TH001/
          case.json           prescription_dose_gy, ptv_index, structure_names, oar_indices, beams: [{uuid, weight}, …]
          TH001.json          the plan as it is published: gantry angles and leaves, or rays and energies; with uuids
          gt_beam_doses.mha   all beams in one stack (beam, z, y, x); or beams/<uuid>.mha, if the layout is "plain"
          structures.npy      masks (z, y, x, structure), uint8
          image/ct.mha        or mr.mha
    """
    names = []
    for patient in patients:
        place = Path(folder, patient.name)
        if place.exists() and any(place.iterdir()):
            msg = f"{place} is not empty; a synthetic patient is written into a new folder, so that nothing old stays"
            raise FileExistsError(msg)
        (place / "image").mkdir(parents=True, exist_ok=True)
        _write_json(_case(patient), place / "case.json")
        _write_json(patient.plan, place / f"{patient.name}.json")
        masks = np.stack([mask.transpose() for mask in patient.structures.values()], axis=-1).astype(np.uint8)
        with replacing(place / "structures.npy") as partial:
            np.save(partial, np.ascontiguousarray(masks), allow_pickle=False)
        write(Volume(patient.image, patient.grid), place / "image" / f"{patient.image_kind}.mha")
        if layout == "package":
            _write_stack(list(patient.beams.values()), patient.grid, place / "gt_beam_doses.mha")
        else:
            _write_beams(patient.beams, patient.grid, place / "beams")
        names.append(patient.name)
    return names


def write_doserad_predictions(
    folder: str | os.PathLike[str],
    predictions: Sequence[tuple[BeamPatient, Mapping[str, Array32]]],
    *,
    layout: Literal["plain", "platform"] = "plain",
) -> None:
    """Write what a team makes of patients: for each, the dose of every beam by its uuid.

    ::

        plain      folder/TH001/<uuid>.mha
        platform   folder/images/stacked-radiation-dose-map-1/output.mha … stacked-radiation-dose-map-10/output.mha
                   folder/stacked-photon-beam-level-metadata.json

    The platform takes ten patients of one modality at once, and has a stack for each; where there is no patient, the
    stack has one voxel. The metadata repeat the plan of each patient and say in which stack, from 0, and where in it
    the dose of a beam is.
    """
    if layout == "plain":
        for patient, doses in predictions:
            _write_beams(doses, patient.grid, Path(folder, patient.name))
        return
    kinds = {patient.modality for patient, _ in predictions}
    if len(kinds) != 1 or len(predictions) > SLOTS:
        msg = (
            f"a job has 1 to {SLOTS} patients of one modality, not {len(predictions)} of {' and '.join(sorted(kinds))}"
        )
        raise ValueError(msg)
    metadata = []
    for slot in range(SLOTS):
        path = Path(folder, "images", f"stacked-radiation-dose-map-{slot + 1}", "output.mha")
        if slot >= len(predictions):
            _write_stack([np.zeros((1, 1, 1), np.float32)], Grid((1, 1, 1)), path)
            continue
        patient, doses = predictions[slot]
        beams = copy.deepcopy(patient.plan["beams"])
        order = []
        for place, beam in enumerate(_single(beams)):
            order.append(doses[beam["cp_uuid" if patient.modality == "photon" else "beamlet_uuid"]])
            beam["output_info"] = {"output_file_idx": slot, "idx_in_output": place, "minimum_cutoff": _CUTOFF}
        _write_stack(order, patient.grid, path)
        region = "thoracic" if patient.region == "thorax" else "abdominal"
        metadata.append({"image_file_idx": slot, "anatomical_region": region, **patient.plan, "beams": beams})
    _write_json(metadata, Path(folder, f"stacked-{kinds.pop()}-beam-level-metadata.json"))


def _case(patient: BeamPatient) -> dict[str, Any]:
    names = list(patient.structures)
    target = names.index(patient.target)
    return {
        "case_id": patient.name,
        "modality": patient.modality,
        "prescription_dose_gy": patient.prescription,
        "structure_names": names,
        "ptv_index": target,
        "oar_indices": [index for index in range(len(names)) if index != target],
        "beams": [{"uuid": name, "weight": patient.weights[name]} for name in patient.beams],
    }


def _single(beams: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The control points, or the pencil beams, of a plan in its order."""
    for beam in beams:
        yield from beam.get("control_points", ())
        for ray in beam.get("rays", ()):
            yield from ray["beamlets"]


def _write_beams(doses: Mapping[str, Array32], grid: Grid, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, dose in doses.items():
        write(Volume(dose.astype(np.float32, copy=False), grid), folder / f"{name}.mha")


def _write_stack(doses: Sequence[Array32], grid: Grid, path: Path) -> None:
    """A 4-D MetaImage, compressed; on disk x runs fastest and the beam slowest."""
    import SimpleITK as sitk

    image = sitk.GetImageFromArray(np.stack([dose.transpose() for dose in doses]).astype(np.float32), isVector=False)
    image.SetSpacing((*grid.spacing, 1.0))
    image.SetOrigin((*grid.origin, 0.0))
    axes = np.eye(4)
    axes[:3, :3] = np.asarray(grid.direction).reshape(3, 3)
    image.SetDirection(axes.ravel().tolist())
    with replacing(path) as partial:
        sitk.WriteImage(image, str(partial), useCompression=True)


def _write_json(content: Any, path: Path) -> None:
    write_text(json.dumps(content, indent=1) + "\n", path)
