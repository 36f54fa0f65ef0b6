"""Patients of the demo to train on: synthetic, with scans and reference, and none of those that teams are scored on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isocenter.volumes import Volume

_OTHER_PATIENTS = 1000  # added to the seed of the demo: the reference of its own patients is not given away


def write_training(challenge: str, folder: Path, *, seed: int) -> bool:
    """Write two patients of a challenge as its organisers would release them; whether there is anything to write.

    ::

        images/TRAIN001_ct.nii.gz, images/TRAIN001_pt.nii.gz, labels/TRAIN001.nii.gz     of HECKTOR
        images/TRAIN001_t2w.nii.gz, images/TRAIN001_adc.nii.gz, labels/TRAIN001.nii.gz   of PI-CAI
        pt_1/ct.csv, pt_1/dose.csv, pt_1/PTV70.csv …                                     of OpenKBP
    """
    write = {"hecktor2020": _neck, "picai2022": _prostate, "openkbp2020": _plan}.get(challenge)
    for number in (1, 2):
        if write is not None:
            write(folder, number, seed + _OTHER_PATIENTS)
    return write is not None


def _neck(folder: Path, number: int, seed: int) -> None:
    from isocenter import phantoms

    made = phantoms.pet_ct(number, seed=seed)
    _write_case(folder, number, made.labels, ct=made.ct, pt=made.pet)


def _prostate(folder: Path, number: int, seed: int) -> None:
    """One that is ill: of the patients with odd numbers, or of those with even ones, the first."""
    from isocenter import phantoms

    exams = (phantoms.prostate_exam(one, seed=seed) for one in range(number, 1000, 2))
    made = next(exam for exam in exams if exam.lesions.array.any())
    _write_case(folder, number, made.lesions, t2w=made.t2w, adc=made.adc)


def _plan(folder: Path, number: int, seed: int) -> None:
    from isocenter import phantoms

    phantoms.write_openkbp(folder, [phantoms.openkbp_patient(number, seed=seed)])


def _write_case(folder: Path, number: int, label: Volume, **scans: Volume) -> None:
    from isocenter.volumes import write

    (folder / "images").mkdir(parents=True, exist_ok=True)
    (folder / "labels").mkdir(exist_ok=True)
    write(label, folder / "labels" / f"TRAIN{number:03d}.nii.gz")
    for modality, volume in scans.items():
        write(volume, folder / "images" / f"TRAIN{number:03d}_{modality}.nii.gz")
