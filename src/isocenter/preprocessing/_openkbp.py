"""OpenKBP's sparse CSV files to NIfTI and back: a patient, a cohort of patients, or a folder of predictions.

The CSV says nothing of where the patient lies, so the NIfTI has its origin at 0 and its axes along those of the array:
voxel (x, y, z) stays voxel (x, y, z), and only the voxel sizes are real. What comes back from NIfTI is the array, so a
round trip is exact.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from isocenter.volumes import Grid, Volume, VolumeError, read, suffix_of, write
from isocenter.volumes.sparse import (
    SHAPE,
    read_mask,
    read_sparse,
    read_voxel_dimensions,
    write_mask,
    write_sparse,
    write_voxel_dimensions,
)

_DIMENSIONS = "voxel_dimensions.csv"
_POSSIBLE = "possible_dose_mask"
_NUMBERS = ("dose", "ct")
_MASKS = {
    _POSSIBLE, "Brainstem", "SpinalCord", "RightParotid", "LeftParotid", "Esophagus", "Larynx", "Mandible",
    "PTV56", "PTV63", "PTV70",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conversion:
    """One file that was converted, or why it could not be."""

    source: str
    target: str
    problem: str = ""


def openkbp_to_nifti(
    source: str | os.PathLike[str], out: str | os.PathLike[str], *, patients: str | os.PathLike[str] | None = None
) -> Iterator[Conversion]:
    """Convert every sparse CSV below a folder to ``.nii.gz``, file by file.

    Parameters
    ----------
    source
        A patient's folder, a folder of them, or a folder of predictions ``pt_<n>.csv``.
    patients
        For predictions: the folder of the patients, ``pt_<n>/``, whose voxel sizes they have.
    """
    source, out = Path(source), Path(out)
    for path in sorted(source.rglob("*.csv")):
        name = path.relative_to(source).as_posix()
        if path.name == _DIMENSIONS or any(part.startswith(".") for part in path.relative_to(source).parts):
            continue
        target = (out / name).with_suffix(".nii.gz")
        try:
            volume = _volume(path, _spacing(path, patients))
            target.parent.mkdir(parents=True, exist_ok=True)
            write(volume, target)
        except (VolumeError, OSError) as error:
            yield Conversion(name, "", str(error))
        else:
            yield Conversion(name, target.relative_to(out).as_posix())


def nifti_to_openkbp(source: str | os.PathLike[str], out: str | os.PathLike[str]) -> Iterator[Conversion]:
    """Convert every volume below a folder to a sparse CSV, file by file, with the voxel sizes beside patients' files.

    A volume of whole numbers 0 and 1 that is neither ``dose`` nor ``ct`` becomes a mask. A dose beside a
    ``possible_dose_mask`` gets a line for every voxel of that mask, zeros too, as in the published files; any other
    volume for every voxel that is not 0.
    """
    source, out = Path(source), Path(out)
    for path in sorted(path for path in source.rglob("*") if path.is_file() and suffix_of(path.name)):
        name = path.relative_to(source).as_posix()
        stem = path.name[: -len(suffix_of(path.name))]
        target = (out / name).with_name(f"{stem}.csv")
        try:
            volume = read(path)
            _refuse_other_shapes(volume)
            target.parent.mkdir(parents=True, exist_ok=True)
            binary = bool(np.isin(volume.array, (0, 1)).all())
            if stem in _MASKS and not binary:
                msg = f"holds values from {volume.array.min():g} to {volume.array.max():g}; {stem} is a mask of 0 and 1"
                raise VolumeError(msg, code="bad_values")
            if stem in _MASKS or (binary and stem not in _NUMBERS and volume.array.dtype.kind in "bui"):
                write_mask(target, volume.array > 0)
            else:
                write_sparse(target, _numbers(volume), where=_possible(path) if stem == "dose" else None)
            if path.parent != source or stem in _NUMBERS:
                write_voxel_dimensions(target.with_name(_DIMENSIONS), _as_stored(volume.grid.spacing))
        except (ValueError, OSError) as error:
            yield Conversion(name, "", str(error))
        else:
            yield Conversion(name, target.relative_to(out).as_posix())


def _spacing(path: Path, patients: str | os.PathLike[str] | None) -> tuple[float, float, float]:
    candidates = [path.with_name(_DIMENSIONS)]
    if patients is not None:
        candidates.append(Path(patients) / path.stem / _DIMENSIONS)
    for candidate in candidates:
        if candidate.is_file():
            return read_voxel_dimensions(candidate)
    msg = f"how large its voxels are is not known: there is no {' or '.join(map(str, candidates))}"
    raise VolumeError(msg, code="bad_geometry")


def _volume(path: Path, spacing: tuple[float, float, float]) -> Volume:
    with path.open("rb") as stream:
        first = [stream.readline(100) for _ in range(2)][1]
    sparse = read_mask(path) if first.rstrip().endswith(b",") else read_sparse(path)
    array = sparse.dense()
    return Volume(array.astype(np.uint8) if sparse.values is None else array, Grid(SHAPE, spacing=spacing))


def _numbers(volume: Volume) -> np.ndarray:
    array = volume.array
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _as_stored(spacing: tuple[float, float, float]) -> tuple[float, float, float]:
    """The shortest numbers that are these in single precision, which is what NIfTI keeps: 5.422, not 5.42199993."""
    x, y, z = (float(str(np.float32(edge))) for edge in spacing)
    return x, y, z


def _possible(dose: Path) -> np.ndarray | None:
    """Where the patient's dose can be, if a mask beside the dose says so."""
    for path in dose.parent.iterdir():
        if suffix_of(path.name) and path.name[: -len(suffix_of(path.name))] == _POSSIBLE:
            mask = read(path)
            _refuse_other_shapes(mask)
            return mask.array > 0
    return None


def _refuse_other_shapes(volume: Volume) -> None:
    if volume.grid.shape != SHAPE:
        found, expected = ("×".join(map(str, shape)) for shape in (volume.grid.shape, SHAPE))
        msg = f"has {found} voxels; a sparse CSV counts those of {expected} ({math.prod(SHAPE):,})"
        raise VolumeError(msg, code="bad_shape")
