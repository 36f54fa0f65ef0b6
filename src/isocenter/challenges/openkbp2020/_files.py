"""The files of OpenKBP: a folder per reference patient, and one CSV per patient of a submission."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics import SparseDose
from isocenter.problems import Remark, Trouble
from isocenter.submissions import GridPolicy, Reading
from isocenter.volumes import File, Folder, Grid, VolumeError, read_bytes
from isocenter.volumes.sparse import (
    SHAPE,
    SparseVolume,
    first_line,
    is_header,
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
        troubles = [
            Trouble(f"{name}.csv is missing", "reference") for name in _REQUIRED if f"{name}.csv" not in file.files
        ]
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
                troubles.append(Trouble.of_error(error, prefix=f"{name}: "))
        structures = {
            name: found[name].index for name in (*ORGANS, *TARGETS) if name in found and len(found[name].index)
        }
        if not structures:
            text = f"none of the structures is contoured: {', '.join((*ORGANS, *TARGETS))}"
            troubles.append(Trouble(text, "reference"))
        if "possible_dose_mask" in found and not len(found["possible_dose_mask"].index):
            troubles.append(Trouble("possible_dose_mask.csv lists no voxel", "bad_values"))
        if troubles:
            raise VolumeError("; ".join(trouble.text for trouble in troubles), code=troubles[0].code)
        return Reading(Patient(found["dose"], found["possible_dose_mask"], spacing, structures))


@dataclass(frozen=True)
class Prediction:
    """The dose of the patient in Gy: the line ``,data``, then ``index,dose`` for every voxel that has any. The index is
    (x·128 + y)·128 + z, as in the files of the patients. Fields may stand in quotes.

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
        if tuple(word.strip().strip('"') for word in first.lower().split(",")) == _POINTS:
            return Reading(_points(file))
        if not is_header(first):
            msg = f"the first line is {first!r}; a dose begins with ',data', DVH points with {','.join(_POINTS)!r}"
            raise VolumeError(msg, code="bad_format")
        volume = read_sparse(file, repeated="last")
        assert volume.values is not None
        lowest, highest = _refuse_absurd(volume.values)
        remarks: list[Remark] = []
        if volume.repeated:
            text = f"{volume.repeated:,} lines are for a voxel that has one already; the last counts"
            remarks.append(Remark("warning", text))
        if lowest < 0:
            negative = np.count_nonzero(volume.values < 0)
            text = f"{negative:,} voxels have a negative dose, down to {lowest:g} Gy; it counts as it is"
            remarks.append(Remark("warning", text))
        if lowest == highest == 0:
            remarks.append(Remark("warning", "there is no dose in this file"))
        return Reading(SparseDose(volume.index, volume.values), tuple(remarks))


_REQUIRED = ("dose", "possible_dose_mask", "voxel_dimensions")


def _refuse_absurd(doses: NDArray[np.float64]) -> tuple[float, float]:
    """Refuse numbers that are no dose in any unit, and whose squares would overflow; returns the range of the others.

    Without any number it is that of the voxels that have none: 0 Gy.
    """
    if not len(doses):
        return 0.0, 0.0
    lowest, highest = float(doses.min()), float(doses.max())
    if (largest := max(-lowest, highest)) > _MOST_GY:
        msg = f"holds {largest:g}; no dose is larger than {_MOST_GY:g} Gy"
        raise VolumeError(msg, code="bad_values")
    return lowest, highest


def _points(file: File) -> dict[Criterion, float]:
    if file.size() > _MOST_POINTS:
        msg = f"{file.size():,} bytes; a list of DVH points has at most {_MOST_POINTS:,}"
        raise VolumeError(msg, code="too_large")
    text = read_bytes(file, most=_MOST_POINTS).decode("utf-8-sig", "replace")
    points: dict[Criterion, float] = {}
    troubles = []
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        msg = f"is not a table: {error}"
        raise VolumeError(msg, code="bad_format") from error
    for line, row in enumerate(rows, start=1):
        if line == 1 or not row:
            continue
        words = [word.strip() for word in row]
        try:
            structure, criterion, number = words
            value = float(number)
        except ValueError:
            troubles.append(Trouble(f"line {line} is no structure, criterion and number", "bad_values"))
            continue
        if not math.isfinite(value):
            troubles.append(Trouble(f"line {line} holds {number}, which is not finite", "nan"))
        elif (structure, criterion) in points:
            troubles.append(Trouble(f"line {line} gives {structure}, {criterion} again", "bad_values"))
        else:
            points[structure, criterion] = value
    if troubles:
        more = f"; and {len(troubles) - 5} more" if len(troubles) > 5 else ""
        raise VolumeError("; ".join(trouble.text for trouble in troubles[:5]) + more, code=troubles[0].code)
    _refuse_absurd(np.array(list(points.values())))
    return points
