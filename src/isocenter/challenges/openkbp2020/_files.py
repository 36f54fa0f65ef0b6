"""The files of OpenKBP: a folder per reference patient, and one CSV per patient of a submission."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics import SparseDose
from isocenter.submissions import GridPolicy, Reading
from isocenter.volumes import File, Folder, Grid, VolumeError
from isocenter.volumes.sparse import (
    HEADER,
    SHAPE,
    SparseVolume,
    first_line,
    read_mask,
    read_sparse,
    read_voxel_dimensions,
)

ORGANS = ("Brainstem", "SpinalCord", "RightParotid", "LeftParotid", "Esophagus", "Larynx", "Mandible")
TARGETS = ("PTV56", "PTV63", "PTV70")

Criterion = tuple[str, str]
"""Structure and criterion, such as ("PTV70", "D_99")."""

_POINTS = ("structure", "criterion", "value")
_MOST_GY = 1e9  # far more than any dose; sums of squares stay finite
_MOST_POINTS = 10_000  # bytes of a list of DVH points; the longest has 23 lines


@dataclass(frozen=True, eq=False)
class Patient:
    """A reference patient as it lies on disk."""

    dose: SparseVolume
    possible: SparseVolume
    spacing: tuple[float, float, float]
    structures: dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class PatientFolder:
    """A reference patient: ``pt_<n>/`` with dose, possible_dose_mask, voxel_dimensions and structures, each a .csv.

    A structure without a file, or with a file that lists no voxel, is not contoured. Other files are ignored.
    """

    suffixes: tuple[str, ...] = ()
    grid_of: str | None = None
    most_bytes: int | None = None
    most_files: int = 13

    def name(self, case: str, suffix: str) -> str:
        """The folder has the patient's name."""
        return case + suffix

    def wants(self, name: str) -> bool:
        """Dose, where it can be, the size of a voxel, and the ten structures."""
        stem, dot, suffix = name.rpartition(".")
        return (dot + suffix) == ".csv" and stem in {*_REQUIRED, *ORGANS, *TARGETS}

    def expected(self, case: str) -> str:
        """The folder of the case."""
        return f"a folder {case}/"

    def read(self, file: File, *, grid: Grid | None, policy: GridPolicy) -> Reading:  # noqa: ARG002 (the format has no grid)
        """Read all files of a patient, and name all that are wrong."""
        assert isinstance(file, Folder)
        troubles = [f"{name}.csv is missing" for name in _REQUIRED if f"{name}.csv" not in file.files]
        found: dict[str, SparseVolume] = {}
        spacing = (0.0, 0.0, 0.0)
        for name, member in file.files.items():
            stem = name.removesuffix(".csv")
            try:
                if stem == "voxel_dimensions":
                    spacing = read_voxel_dimensions(member)
                else:
                    found[stem] = read_sparse(member) if stem == "dose" else read_mask(member)
            except (VolumeError, OSError) as error:
                troubles.append(f"{name}: {error}")
        structures = {
            name: found[name].index for name in (*ORGANS, *TARGETS) if name in found and len(found[name].index)
        }
        if not structures:
            troubles.append(f"none of the structures is contoured: {', '.join((*ORGANS, *TARGETS))}")
        if "possible_dose_mask" in found and not len(found["possible_dose_mask"].index):
            troubles.append("possible_dose_mask.csv lists no voxel")
        if troubles:
            raise VolumeError("; ".join(troubles))
        return Reading(Patient(found["dose"], found["possible_dose_mask"], spacing, structures))


@dataclass(frozen=True)
class Prediction:
    """The dose of the patient in Gy: the line ``,data``, then ``index,dose`` for every voxel that has any. The index is
    (x·128 + y)·128 + z, as in the files of the patients.

    Or points of the DVHs, which compete in the DVH stream only: the line ``structure,criterion,value``, then a line
    such as ``PTV70,D_99,66.5`` for each.

    Read as a `SparseDose`, or as a mapping from `Criterion` to Gy.
    """

    suffixes: tuple[str, ...] = (".csv",)
    grid_of: str | None = None
    most_bytes: int | None = 32 * math.prod(SHAPE)

    def name(self, case: str, suffix: str) -> str:
        """One file per patient."""
        return case + suffix

    def read(self, file: File, *, grid: Grid | None, policy: GridPolicy) -> Reading:  # noqa: ARG002 (the format has no grid)
        """Read a dose or DVH points, whichever the first line announces."""
        first = first_line(file).strip()
        if tuple(word.strip() for word in first.lower().split(",")) == _POINTS:
            return Reading(_points(file))
        if first != HEADER.decode():
            msg = f"the first line is {first!r}; a dose begins with ',data', DVH points with {','.join(_POINTS)!r}"
            raise VolumeError(msg)
        volume = read_sparse(file, repeated="last")
        assert volume.values is not None
        _refuse_absurd(volume.values)
        remarks: list[tuple[Literal["warning", "note"], str]] = []
        if volume.repeated:
            remarks.append(
                ("warning", f"{volume.repeated:,} lines are for a voxel that has one already; the last counts")
            )
        if negative := int((volume.values < 0).sum()):
            lowest = volume.values.min()
            remarks.append(
                ("warning", f"{negative:,} voxels have a negative dose, down to {lowest:g} Gy; it counts as it is")
            )
        if not volume.values.any():
            remarks.append(("warning", "there is no dose in this file"))
        return Reading(SparseDose(volume.index, volume.values), tuple(remarks))


_REQUIRED = ("dose", "possible_dose_mask", "voxel_dimensions")


def _refuse_absurd(doses: NDArray[np.float64]) -> None:
    """Numbers that are no dose in any unit, and whose squares would overflow."""
    if len(doses) and (largest := float(np.abs(doses).max())) > _MOST_GY:
        msg = f"holds {largest:g}; no dose is larger than {_MOST_GY:g} Gy"
        raise VolumeError(msg)


def _points(file: File) -> dict[Criterion, float]:
    if file.size() > _MOST_POINTS:
        msg = f"{file.size():,} bytes; a list of DVH points has at most {_MOST_POINTS:,}"
        raise VolumeError(msg)
    with file.open() as stream:
        text = stream.read(_MOST_POINTS + 1).decode("utf-8-sig", "replace")
    points: dict[Criterion, float] = {}
    troubles = []
    for line, row in enumerate(csv.reader(io.StringIO(text, newline="")), start=1):
        if line == 1 or not row:
            continue
        words = [word.strip() for word in row]
        try:
            structure, criterion, number = words
            value = float(number)
        except ValueError:
            troubles.append(f"line {line} is no structure, criterion and number")
            continue
        if not math.isfinite(value):
            troubles.append(f"line {line} holds {number}, which is not finite")
        elif (structure, criterion) in points:
            troubles.append(f"line {line} gives {structure}, {criterion} again")
        else:
            points[structure, criterion] = value
    if troubles:
        more = f"; and {len(troubles) - 5} more" if len(troubles) > 5 else ""
        raise VolumeError("; ".join(troubles[:5]) + more)
    _refuse_absurd(np.array(list(points.values())))
    return points
