"""The scans that belong to the cases, to show the rest on.

A challenge asks for no scans, so they are found by name: a volume in the folder of a case, or with the name of the case
before its own, that calls itself after a modality: `CHUV001_ct.nii.gz`, `AB001/image/ct.mha`, `10005_1000005_t2w.mha`.
In a folder that holds nothing but scans, `CHUV001.nii.gz` does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from isocenter.submissions import is_junk, list_files
from isocenter.volumes import File, Grid, Volume, read, resample, suffix_of
from isocenter.volumes.sparse import SHAPE, read_sparse

MODALITIES = (
    *("ct", "cbct", "pt", "pet", "suv"),
    *("mr", "mri", "t1", "t1w", "t2", "t2w", "adc", "hbv", "dwi", "dce", "flair"),
)
_MOST = 6  # of one case
_SPARSE = "ct.csv"  # the scan of an OpenKBP patient: a list of voxels


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan of a case: what it calls itself, and where it is."""

    name: str
    file: File

    def read(self, grid: Grid) -> Volume:
        """The scan on the grid of the case, interpolated linearly if it has another; `ValueError` if it cannot be."""
        if self.file.name.endswith(".csv"):
            if grid.shape != SHAPE:
                msg = f"{self.name} has {'×'.join(map(str, SHAPE))} voxels, the case {grid}"
                raise ValueError(msg)
            # As in the pictures of OpenKBP the first two axes are swapped, so that the patient lies upright.
            return Volume(read_sparse(self.file).dense().swapaxes(0, 1), grid)
        volume = read(self.file)
        return volume if volume.grid.same_as(grid) else resample(volume, grid, interpolation="linear")


def find_scans(
    path: str | os.PathLike[str], cases: Iterable[str], *, scans_only: bool = False
) -> dict[str, tuple[Scan, ...]]:
    """The scans of every case in a folder or zip, in the order of `MODALITIES`; cases without any are left out.

    Parameters
    ----------
    scans_only
        Whether every volume in the folder is a scan, also one that calls itself after no modality.
    """
    names = sorted(cases, key=len, reverse=True)
    found: dict[str, list[tuple[int, Scan]]] = {}
    for entry in list_files(path, trusted=True).entries:
        if entry.trouble or is_junk(entry.name):
            continue
        owner = next((rest for case in names if (rest := _of(entry.name, case)) is not None), None)
        if owner is None:
            continue
        case, said = owner
        words = re.split(r"[^a-z0-9]+", said.lower())
        modality = next((word for word in words if word in MODALITIES), "")
        if modality or scans_only:
            place = MODALITIES.index(modality) if modality else len(MODALITIES)
            found.setdefault(case, []).append((place, Scan(modality.upper() or said or "Scan", entry.file)))
    return {
        case: tuple(scan for _, scan in sorted(scans, key=lambda item: item[0])[:_MOST])
        for case, scans in sorted(found.items())
    }


def _of(name: str, case: str) -> tuple[str, str] | None:
    """The case and what a file calls itself beside it; None if it is no volume, or of another case."""
    path = PurePosixPath(name)
    suffix = suffix_of(path.name)
    if case in path.parts[:-1] and path.name == _SPARSE:
        return case, "ct"
    if not suffix:
        return None
    stem = path.name[: -len(suffix)]
    if case in path.parts[:-1]:
        return case, stem
    rest = stem.removeprefix(case)
    return (case, rest.strip("_-. ")) if stem.startswith(case) and not rest[:1].isalnum() else None
