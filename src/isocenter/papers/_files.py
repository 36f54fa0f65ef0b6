"""What chapters must know to read the files of teams: under which policy they were scored, and what went wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from numpy.typing import NDArray

from isocenter import scores
from isocenter.papers._study import Study
from isocenter.submissions import GridPolicy
from isocenter.volumes import SUFFIXES, Grid, read, resample

_IMAGES = {"CT": "ct", "PET": "pt"}
_SOFT_TISSUE = (-160, 240)  # HU


def grid_policy(study: Study) -> GridPolicy:
    """What happened to masks on another grid when the teams were scored."""
    for entry in study.outputs.values():
        policies = scores.read_record(entry.table).get("policies")
        for policy in get_args(GridPolicy):
            if isinstance(policies, dict) and policies.get("grid") == policy:
                found: GridPolicy = policy
                return found
    return "refuse"


def first_line(error: Exception, study: Study | None = None) -> str:
    """What went wrong, as a sentence; with a study, files are named from the folder of the edition on."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if study is not None:
        line = line.replace(f"{study.folder.path}{os.sep}", "").replace(str(study.folder.path), "this folder")
    return f"{line.rstrip('.: ')}."


def name_of_masks(path: Path) -> str:
    """Whose masks a folder or a zip holds; "" of other files, which are none."""
    if path.name.startswith("."):
        return ""
    return path.name if path.is_dir() else path.stem if path.suffix == ".zip" else ""


def find_masks(folder: Path, name: str) -> Path | None:
    """The folder or the zip with the masks of a name; None if there is neither."""
    return next((path for path in (folder / name, folder / f"{name}.zip") if path.exists()), None)


def read_images(study: Study, case: str, grid: Grid) -> Mapping[str, NDArray[Any]]:
    """The images of a case on the grid of its reference, as far as images/CASE_ct and CASE_pt are there."""
    found = {}
    for label, ending in _IMAGES.items():
        paths = (study.folder.file(f"images/{case}_{ending}{suffix}") for suffix in SUFFIXES)
        path = next(filter(None, paths), None)
        if path is not None:
            volume = read(path)
            volume = volume if volume.grid == grid else resample(volume, grid, interpolation="linear")
            found[label] = volume.array.clip(*_SOFT_TISSUE) if label == "CT" else volume.array
    return found
