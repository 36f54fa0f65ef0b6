"""What many tests need: a small cohort on disk, and the golden numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rich.style  # noqa: F401 (draws a random number when it is imported, which must not be while hypothesis draws)
from hypothesis import settings

from isocenter.volumes import Grid, Volume, write

GOLDEN = Path(__file__).parent / "golden"

settings.register_profile("house", deadline=None)  # no test is about time
settings.load_profile("house")
GRID = Grid((12, 10, 8), spacing=(1.0, 1.0, 3.0), origin=(-20.0, 5.0, 100.0))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test prepares its own references; nobody's home is touched."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ISOCENTER_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def fresh_editions() -> Iterator[None]:
    """Keys of versions are used again by the next test of the site, in whichever folder it is."""
    yield
    if (editions := sys.modules.get("isocenter.server.editions")) is not None:
        from django.core.cache import cache

        cache.clear()
        editions.edition_of.cache_clear()
        editions.code_of.cache_clear()


@pytest.fixture(scope="session")
def golden_segmentation() -> dict[str, Any]:
    return dict(json.loads((GOLDEN / "segmentation" / "expected.json").read_text()))


@pytest.fixture(scope="session")
def golden_ranking() -> dict[str, Any]:
    return dict(json.loads((GOLDEN / "ranking" / "expected.json").read_text()))


def box(start: tuple[int, int, int], stop: tuple[int, int, int], label: int = 1) -> np.ndarray:
    """A mask that is a box of voxels."""
    array = np.zeros(GRID.shape, dtype=np.uint8)
    array[tuple(slice(a, b) for a, b in zip(start, stop, strict=True))] = label
    return array


def save(folder: Path, masks: Mapping[str, np.ndarray], *, suffix: str = ".nii.gz", grid: Grid = GRID) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for case, array in masks.items():
        write(Volume(array, grid), folder / f"{case}{suffix}")
    return folder


@pytest.fixture
def truth() -> dict[str, np.ndarray]:
    """Four patients; the third has a tumour and a node."""
    two = box((2, 2, 2), (6, 6, 6)) + box((8, 2, 2), (10, 4, 4), label=2)
    return {
        "CHUV001": box((2, 2, 2), (6, 6, 6)),
        "CHUV002": box((1, 1, 1), (9, 3, 3)),
        "CHUV003": two,
        "CHUV004": box((0, 0, 0), (12, 10, 8)),
    }


@pytest.fixture
def reference(tmp_path: Path, truth: dict[str, np.ndarray]) -> Path:
    return save(tmp_path / "reference", truth)


@pytest.fixture
def masks() -> dict[str, np.ndarray]:
    """A team's answers; `DICE` has their scores."""
    return {
        "CHUV001": box((2, 2, 2), (6, 6, 6)),
        "CHUV002": box((1, 1, 1), (5, 3, 3)),
        "CHUV003": box((2, 2, 2), (6, 6, 6)),
        "CHUV004": box((0, 0, 0), (12, 10, 4)),
    }


@pytest.fixture
def submission(tmp_path: Path, masks: dict[str, np.ndarray]) -> Path:
    return save(tmp_path / "team", masks)


DICE = {"CHUV001": 1.0, "CHUV002": 2 / 3, "CHUV003": 2 * 64 / (64 + 72), "CHUV004": 2 / 3}
"""Dice of `masks` against `truth`, counted by hand: 64 of 64+8 voxels in the third, half of the box in two others."""


@pytest.fixture
def expected_dice() -> dict[str, float]:
    return dict(DICE)
