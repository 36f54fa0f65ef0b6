"""Golden masks, and votes on masks that a test writes down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from isocenter.ensembles import CaseVotes, Patterns, Roll, Turnout, Votes, count_patterns, pack
from isocenter.evaluation import Challenge, load_challenge
from isocenter.volumes import LabelMap, read_labels

GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"

Masks = Mapping[str, np.ndarray]


@pytest.fixture(scope="session")
def golden_map() -> Callable[[str, str], LabelMap]:
    return lambda case, name: read_labels(GOLDEN / f"ensemble_{case}_{name}.nii.gz")


@pytest.fixture(scope="session")
def golden_patterns(golden_map: Callable[[str, str], LabelMap]) -> Callable[[str], Patterns]:
    def patterns(case: str) -> Patterns:
        truth = golden_map(case, "truth")
        ballots = {f"s{i}": pack(golden_map(case, f"s{i}")) for i in range(5)}
        return count_patterns(ballots, pack(truth), voxel_volume=truth.grid.voxel_volume)

    return patterns


@pytest.fixture(scope="session")
def row() -> Callable[..., np.ndarray]:
    """A mask that is a row of ten voxels, given by those that are marked: row(0, 1, 2)."""

    def mask(*marked: int) -> np.ndarray:
        voxels = np.zeros((10, 1, 1), dtype=bool)
        voxels[list(marked)] = True
        return voxels

    return mask


@pytest.fixture(scope="session")
def votes_of() -> Callable[..., Votes]:
    """Votes on cases that are given as (truth, masks by voter)."""

    def votes(
        cases: Mapping[str, tuple[np.ndarray, Masks]],
        *,
        holdout: bool = False,
        weights: Mapping[str, float] | None = None,
    ) -> Votes:
        found = []
        for case, (truth, masks) in cases.items():
            patterns = count_patterns({voter: pack(mask) for voter, mask in masks.items()}, pack(truth))
            roll = Roll(states=dict.fromkeys(masks, "voted"))
            found.append(CaseVotes(case, (weights or {}).get(case, 1.0), patterns, roll))
        return Votes(found[0].patterns.voters, tuple(found), Turnout({}, {}, ()), holdout)

    return votes


@pytest.fixture(scope="session")
def hecktor() -> Challenge:
    return load_challenge("hecktor2020")
