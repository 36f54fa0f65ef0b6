"""Small patients of DoseRAD, on disk as organisers and teams have them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import SimpleITK as sitk

from isocenter.challenges.doserad2026 import challenge
from isocenter.evaluation import Evaluation, evaluate
from isocenter.volumes import Grid, Volume, write

GRID = Grid((14, 12, 8), spacing=(2.0, 2.0, 2.0), origin=(-13.0, -11.0, 50.0))


def stack(path: Path, doses: Sequence[np.ndarray], grid: Grid, *, compressed: bool = True) -> Path:
    """Doses joined to one 4-D file."""
    images = []
    for dose in doses:
        image = sitk.GetImageFromArray(np.ascontiguousarray(dose.T))
        image.SetSpacing(grid.spacing)
        image.SetOrigin(grid.origin)
        image.SetDirection(grid.direction)
        images.append(image)
    path.parent.mkdir(parents=True, exist_ok=True)
    sitk.WriteImage(sitk.JoinSeries(images), str(path), useCompression=compressed)
    return path


@dataclass(frozen=True)
class Patient:
    """A case as it stands in a folder."""

    name: str
    beams: Mapping[str, np.ndarray]
    weights: Mapping[str, float]
    structures: Mapping[str, np.ndarray]
    plan: Mapping[str, Any]
    prescription: float = 60.0
    grid: Grid = GRID
    case: Mapping[str, Any] = field(default_factory=dict)

    def case_json(self) -> dict[str, Any]:
        names = list(self.structures)
        found = {
            "prescription_dose_gy": self.prescription,
            "structure_names": names,
            "ptv_index": names.index("PTV") if "PTV" in names else None,
            "beams": [{"uuid": uuid, "weight": weight} for uuid, weight in self.weights.items()],
        }
        return {key: value for key, value in (found | dict(self.case)).items() if value != "absent"}

    def plan_dose(self) -> np.ndarray:
        return sum(self.weights[uuid] * beam.astype(float) for uuid, beam in self.beams.items())

    def save(self, root: Path, *, as_stack: bool = False) -> Path:
        """The reference of the case below `root`, as the organisers' package has it."""
        folder = root / self.name
        folder.mkdir(parents=True)
        (folder / "case.json").write_text(json.dumps(self.case_json()))
        (folder / f"{self.name}.json").write_text(json.dumps(self.plan))
        if self.structures:
            masks = np.stack([mask.T for mask in self.structures.values()], axis=-1)
            np.save(folder / "structures.npy", np.ascontiguousarray(masks.astype(np.uint8)))
        if as_stack:
            stack(folder / "gt_beam_doses.mha", list(self.beams.values()), self.grid)
        else:
            (folder / "beams").mkdir()
            for uuid, beam in self.beams.items():
                write(Volume(beam, self.grid), folder / "beams" / f"{uuid}.mha")
        return root

    def answer(self, root: Path, beams: Mapping[str, np.ndarray], *, suffix: str = ".mha") -> Path:
        """What a team sends for the case."""
        folder = root / self.name
        folder.mkdir(parents=True)
        for uuid, beam in beams.items():
            write(Volume(beam, self.grid), folder / f"{uuid}{suffix}")
        return root


def photon_plan(uuids: Sequence[str], angles: Sequence[float]) -> dict[str, Any]:
    points = [
        {"cp_idx": i, "cp_uuid": u, "gantry_angle": a} for i, (u, a) in enumerate(zip(uuids, angles, strict=True))
    ]
    return {"beams": [{"beam_idx": 0, "SAD": 1000, "iso_center": [0, 0, 0], "control_points": points}]}


def proton_plan(uuids: Sequence[str]) -> dict[str, Any]:
    rays = [
        {
            "ray_source": [0.0, -1000.0, 0.0],
            "ray_target": [float(i), 0.0, 0.0],
            "beamlets": [{"beamlet_uuid": uuid, "energy": 100.0}],
        }
        for i, uuid in enumerate(uuids)
    ]
    return {"beams": [{"beam_idx": 0, "gantry_angle": 0.0, "rays": rays}]}


def block(start: tuple[int, int, int], stop: tuple[int, int, int], grid: Grid = GRID) -> np.ndarray:
    mask = np.zeros(grid.shape, bool)
    mask[tuple(slice(a, b) for a, b in zip(start, stop, strict=True))] = True
    return mask


def patient(name: str = "1ABB001", *, seed: int = 0, protons: bool = False) -> Patient:
    """Three beams that meet in a target, with four organs around it."""
    rng = np.random.default_rng([2026, seed])
    uuids = [f"{name}-beam{i}" for i in range(3)]
    parts = [((5, 0, 2), (9, 10, 6)), ((0, 4, 2), (9, 8, 6)), ((5, 4, 2), (14, 8, 6))]
    beams = {}
    for uuid, (start, stop) in zip(uuids, parts, strict=True):
        beam = np.zeros(GRID.shape, np.float32)
        inside = block(start, stop)
        beam[inside] = rng.uniform(0.8, 1.0, inside.sum()) * 1e-3
        beams[uuid] = beam
    plan = proton_plan(uuids) if protons else photon_plan(uuids, [0.0, 270.0, 101.3])
    structures = {
        "PTV": block((5, 4, 2), (9, 8, 6)),
        "Near": block((5, 0, 2), (9, 3, 6)),
        "Side": block((0, 4, 2), (4, 8, 6)),
        "Other": block((10, 4, 2), (14, 8, 6)),
        "Corner": block((0, 0, 0), (2, 2, 2)),
    }
    return Patient(name, beams, dict.fromkeys(uuids, 60.0 / 2.7e-3), structures, plan)


def off(beams: Mapping[str, np.ndarray], *, seed: int = 1, by: float = 0.03) -> dict[str, np.ndarray]:
    """A team's doses: the reference with some noise where there is dose."""
    rng = np.random.default_rng([7, seed])
    return {uuid: (beam * rng.normal(1.0, by, beam.shape)).astype(np.float32) for uuid, beam in beams.items()}


@pytest.fixture
def make() -> Callable[..., Patient]:
    return patient


@pytest.fixture
def one() -> Patient:
    return patient()


@pytest.fixture
def two() -> tuple[Patient, Patient]:
    return patient("1ABB001", seed=0), patient("1THB002", seed=1)


def by_part(table: pl.DataFrame, case: str = "1ABB001") -> dict[tuple[str, str], float | None]:
    """Values by metric and part."""
    return {(m, p): v for m, p, v in table.filter(case=case).select("metric", "part", "value").iter_rows()}


class Tools:
    """What the tests of this folder share, as one fixture: with importlib, conftest cannot be imported."""

    patient = staticmethod(patient)
    photon_plan = staticmethod(photon_plan)
    proton_plan = staticmethod(proton_plan)
    block = staticmethod(block)
    off = staticmethod(off)
    stack = staticmethod(stack)
    by_part = staticmethod(by_part)
    grid = GRID
    Patient = Patient
    replace = staticmethod(replace)

    @staticmethod
    def score(reference: Path, submission: Path, **more: Any) -> Evaluation:
        return evaluate(more.pop("challenge", challenge), reference=reference, submission=submission, **more)


@pytest.fixture
def tools() -> type[Tools]:
    return Tools
