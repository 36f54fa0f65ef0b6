"""A cohort of four exams: two lesions of different grades, one lesion, and two healthy patients."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from isocenter.volumes import Grid, Volume, write

GRID = Grid((20, 18, 6), spacing=(0.5, 0.5, 3.0), origin=(-12.0, 40.0, 7.0))
LESIONS = {
    "P1": [((2, 2, 1), (8, 8, 3), 3), ((14, 12, 4), (17, 15, 5), 2)],
    "P2": [((5, 5, 2), (11, 10, 4), 5)],
    "P3": [],
    "P4": [],
}
FOUND = {
    "P1": [((3, 2, 1), (9, 8, 3), 0.75), ((10, 1, 5), (12, 3, 6), 0.25)],
    "P2": [((5, 5, 2), (11, 10, 3), 0.5)],
    "P3": [((1, 1, 1), (3, 3, 3), 0.125)],
    "P4": [],
}
LIKELIHOODS = {"P1": 0.9, "P2": 0.3, "P3": 0.4, "P4": 0.05}


def painted(boxes: list[tuple[tuple[int, ...], tuple[int, ...], float]], dtype: type) -> Volume:
    array = np.zeros(GRID.shape, dtype)
    for low, high, value in boxes:
        array[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = value
    return Volume(array, GRID)


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    folder = tmp_path / "reference"
    folder.mkdir()
    for case, boxes in LESIONS.items():
        write(painted(boxes, np.uint8), folder / f"{case}.nii.gz")
    return folder


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "team"
    hand_in(folder)
    return folder


def hand_in(folder: Path, *, suffix: str = ".nii.gz") -> None:
    folder.mkdir(parents=True)
    for case, boxes in FOUND.items():
        write(painted(boxes, np.float32), folder / f"{case}{suffix}")
    (folder / "likelihoods.json").write_text(json.dumps(LIKELIHOODS))
