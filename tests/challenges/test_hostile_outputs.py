"""No output, however hostile, is ever taken for a fault of the evaluator, the reference or the machine.

Else a team could stop the evaluation of a challenge by what it hands in.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isocenter
from isocenter.evaluation import evaluate, watch_stages
from isocenter.problems import Problem, SubmissionRefused
from isocenter.volumes import Grid, Volume, write
from isocenter.volumes.sparse import write_mask, write_sparse, write_voxel_dimensions

GRID = Grid((14, 12, 8), spacing=(2.0, 2.0, 2.0), origin=(-13.0, -11.0, 50.0))
HOME = Path(tempfile.mkdtemp(prefix="hostile-"))


def block(low: tuple[int, int, int], high: tuple[int, int, int]) -> np.ndarray:
    mask = np.zeros(GRID.shape, bool)
    mask[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = True
    return mask


@dataclass(frozen=True)
class World:
    """A challenge with one case: its reference, and a good output as files by name. The first of them is spoilt."""

    challenge: str
    reference: Path
    good: Mapping[str, bytes]

    def problems(self, files: Mapping[str, bytes], *, grid: str = "refuse") -> tuple[Problem, ...]:
        """What is wrong with a submission of these files; whatever is not about the output is raised."""
        with tempfile.TemporaryDirectory(dir=HOME) as folder:
            for name, content in files.items():
                path = Path(folder, "team", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            try:
                return evaluate(
                    isocenter.challenge(self.challenge),
                    reference=self.reference,
                    submission=Path(folder, "team"),
                    grid=grid,  # type: ignore[arg-type]
                ).problems
            except SubmissionRefused as refusal:
                return refusal.problems

    def spoilt(self, content: bytes) -> dict[str, bytes]:
        """The good output with another content of its first file."""
        return {**self.good, next(iter(self.good)): content}


def volume(array: np.ndarray, grid: Grid = GRID, *, suffix: str = ".mha") -> bytes:
    """A volume as the bytes of its file."""
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        path = Path(folder, f"volume{suffix}")
        write(Volume(array, grid), path)
        return path.read_bytes()


def masks(challenge: str) -> World:
    folder = HOME / challenge
    folder.mkdir()
    truth = block((2, 2, 2), (8, 8, 6)).astype(np.uint8)
    (folder / "A.mha").write_bytes(volume(truth))
    return World(challenge, folder, {"A.mha": volume(np.roll(truth, 1, axis=0))})


def lesions() -> World:
    folder = HOME / "picai2022"
    folder.mkdir()
    truth = block((2, 2, 2), (8, 8, 6)).astype(np.uint8) * 3
    (folder / "A.mha").write_bytes(volume(truth))
    found = block((2, 2, 2), (7, 8, 6)).astype(np.float32) * 0.75
    return World("picai2022", folder, {"A.mha": volume(found), "likelihoods.json": b'{"A": 0.75}'})


def sparse_dose() -> World:
    folder = HOME / "openkbp2020" / "pt_1"
    folder.mkdir(parents=True)
    target = np.zeros((128, 128, 128), bool)
    target[60:64, 60:64, 60:64] = True
    around = np.zeros_like(target)
    around[56:68, 56:68, 56:68] = True
    write_sparse(folder / "dose.csv", np.where(around, 30.0, 0.0) + np.where(target, 40.0, 0.0))
    write_mask(folder / "possible_dose_mask.csv", around)
    write_mask(folder / "PTV70.csv", target)
    write_mask(folder / "Brainstem.csv", around & ~target)
    write_voxel_dimensions(folder / "voxel_dimensions.csv", (3.5, 3.5, 2.0))
    write_sparse(HOME / "pt_1.csv", np.where(target, 69.0, 0.0))
    return World("openkbp2020", folder.parent, {"pt_1.csv": (HOME / "pt_1.csv").read_bytes()})


def beams() -> World:
    folder = HOME / "doserad2026" / "C1"
    (folder / "beams").mkdir(parents=True)
    target = block((5, 4, 2), (9, 8, 6))
    doses = {"b0": block((5, 0, 2), (9, 10, 6)), "b1": block((0, 4, 2), (9, 8, 6))}
    points = [{"cp_idx": i, "cp_uuid": u, "gantry_angle": 90.0 * i} for i, u in enumerate(doses)]
    plan = {"beams": [{"beam_idx": 0, "SAD": 1000, "iso_center": [0, 0, 0], "control_points": points}]}
    case = {
        "prescription_dose_gy": 60.0,
        "structure_names": ["PTV", "Near"],
        "ptv_index": 0,
        "beams": [{"uuid": uuid, "weight": 30_000.0} for uuid in doses],
    }
    (folder / "case.json").write_text(json.dumps(case))
    (folder / "C1.json").write_text(json.dumps(plan))
    structures = np.stack([target.T, block((5, 0, 2), (9, 3, 6)).T], axis=-1).astype(np.uint8)
    np.save(folder / "structures.npy", np.ascontiguousarray(structures))
    files = {f"C1/{uuid}.mha": volume(dose.astype(np.float32) * 1e-3) for uuid, dose in doses.items()}
    for name, content in files.items():
        (folder / "beams" / name.rpartition("/")[2]).write_bytes(content)
    return World("doserad2026", folder.parent, files)


MAKE: dict[str, Callable[[], World]] = {
    "hecktor2020": lambda: masks("hecktor2020"),
    "lung2019": lambda: masks("lung2019"),
    "picai2022": lesions,
    "openkbp2020": sparse_dose,
    "doserad2026": beams,
}
VOLUMES = [name for name in MAKE if name != "openkbp2020"]


@cache
def world(name: str) -> World:
    return MAKE[name]()


def one_voxel(value: float, dtype: type = np.float32) -> np.ndarray:
    array = np.zeros(GRID.shape, dtype)
    array[3, 3, 3] = value
    return array


CONTENTS: dict[str, np.ndarray] = {
    "nothing": np.zeros(GRID.shape, np.uint8),
    "nothing, as numbers": np.zeros(GRID.shape, np.float32),
    "ones": np.ones(GRID.shape, np.uint8),
    "a constant": np.full(GRID.shape, 0.5, np.float32),
    "a label that is not asked for": np.full(GRID.shape, 200, np.uint8),
    "NaN": np.full(GRID.shape, np.nan, np.float32),
    "one NaN": one_voxel(np.nan),
    "one infinity": one_voxel(np.inf),
    "one infinity below": one_voxel(-np.inf),
    "one voxel": one_voxel(1.0),
    "the largest single": one_voxel(np.finfo(np.float32).max),
    "the largest double": one_voxel(np.finfo(np.float64).max, np.float64),
    "huge everywhere": np.full(GRID.shape, 1e300, np.float64),
    "the smallest number there is": one_voxel(5e-324, np.float64),
    "negative": np.full(GRID.shape, -1.0, np.float32),
    "very negative": np.full(GRID.shape, -1e9, np.float32),
    "a checkerboard": (np.indices(GRID.shape).sum(axis=0) % 2).astype(np.uint8),
    "noise": np.random.default_rng(0).random(GRID.shape, np.float32),
}
GRIDS = {
    "one voxel": Grid((1, 1, 1)),
    "another size": Grid((14, 12, 7), spacing=GRID.spacing, origin=GRID.origin),
    "axes swapped": Grid((8, 12, 14), spacing=GRID.spacing, origin=GRID.origin),
    "far away": Grid(GRID.shape, spacing=GRID.spacing, origin=(1e6, 1e6, 1e6)),
    "mirrored": Grid(GRID.shape, spacing=GRID.spacing, origin=GRID.origin, direction=(-1, 0, 0, 0, -1, 0, 0, 0, 1)),
    "a hundred times finer": Grid(GRID.shape, spacing=(0.02, 0.02, 0.02), origin=GRID.origin),
}


def about_the_output(problems: tuple[Problem, ...]) -> bool:
    return {problem.origin for problem in problems} <= {"output"}


@pytest.mark.parametrize("name", MAKE)
def test_a_good_output_has_no_problem(name: str) -> None:
    assert [p for p in world(name).problems(world(name).good) if p.severity not in ("warning", "note")] == []


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("name", VOLUMES)
def test_hostile_values_are_the_outputs_own_fault(name: str, content: str) -> None:
    here = world(name)
    assert about_the_output(here.problems(here.spoilt(volume(CONTENTS[content]))))


@pytest.mark.parametrize("policy", ["refuse", "resample", "trust-index"])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", VOLUMES)
def test_hostile_grids_are_the_outputs_own_fault(name: str, grid: str, policy: str) -> None:
    here = world(name)
    content = volume(np.ones(GRIDS[grid].shape, np.uint8), GRIDS[grid])
    assert about_the_output(here.problems(here.spoilt(content), grid=policy))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",data",
        ",data\n",
        ",data\n0,0\n",
        ",data\n0,nan\n",
        ",data\n0,1e400\n",
        ",data\n0,1e9\n1,-1e9\n",
        ",data\n2097151,5e-324\n",
        ",data\n2097152,1\n",
        ",data\n-1,1\n",
        ",data\n0,1\n0,2\n",
        ",data\nx,y\n",
        ",data\n0,1,2,3\n",
        ",data\n\0,\0\n",
        "structure,criterion,value\n",
        "structure,criterion,value\nPTV70,D_99,nan\n",
        "structure,criterion,value\nPTV70,D_99,1e300\n",
        'structure,criterion,value\n"PTV70,D_99\n',
        "structure,criterion,value\n\0\r\0,,\n",
        "structure,criterion,value\nPTV70,D_99,66\nPTV70,D_99,66\nLiver,mean,1\n",
        "structure,criterion,value\n" + "PTV70,D_99,1\n" * 1000,
    ],
)
def test_hostile_tables_are_the_outputs_own_fault(text: str) -> None:
    here = world("openkbp2020")
    assert about_the_output(here.problems(here.spoilt(text.encode())))


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '"max"', '"min"', '{"A": NaN}', '{"A": 1e999}', '{"A": [0.5]}', "[" * 100_000]
)
def test_hostile_likelihoods_are_the_outputs_own_fault(text: str) -> None:
    here = world("picai2022")
    assert about_the_output(here.problems({**here.good, "likelihoods.json": text.encode()}))


@pytest.mark.parametrize(
    "metadata", ["", "[]", "{}", "[1]", '[{"beams": 1}]', '[{"beams": [{"control_points": [1]}]}]', "[" * 100_000]
)
def test_hostile_metadata_are_the_outputs_own_fault(metadata: str) -> None:
    here = world("doserad2026")
    files = {"job/stacked-photon-beam-level-metadata.json": metadata.encode(), **here.good}
    assert about_the_output(here.problems(files))


def in_a_stack(frames: int) -> dict[str, bytes]:
    """The beams of the case as the last two doses of a compressed stack of zeros."""
    points = [
        {"cp_uuid": f"b{i}", "gantry_angle": 90.0 * i, "output_info": {"output_file_idx": 0, "idx_in_output": at}}
        for i, at in enumerate((frames - 1, frames - 2))
    ]
    metadata = json.dumps([{"beams": [{"control_points": points}]}])
    header = (
        "ObjectType = Image\nNDims = 4\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = True\n"
        f"TransformMatrix = 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1\nOffset = {' '.join(map(str, GRID.origin))} 0\n"
        f"ElementSpacing = 2 2 2 1\nDimSize = {' '.join(map(str, GRID.shape))} {frames}\nElementType = MET_FLOAT\n"
        "ElementDataFile = LOCAL\n"
    )
    return {
        "job/stacked-photon-beam-level-metadata.json": metadata.encode(),
        "job/images/stacked-radiation-dose-map-1/doses.mha": header.encode()
        + zlib.compress(bytes(4 * GRID.voxels * frames), 9),
    }


def test_a_stack_of_far_too_many_doses_is_refused_by_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    here = world("doserad2026")
    assert {p.severity for p in here.problems(in_a_stack(1100))} == {"warning", "note"}
    monkeypatch.setattr("isocenter.challenges.doserad2026._output.read_frames", lambda *_: 1 / 0)
    [problem] = here.problems(in_a_stack(1101))
    assert (problem.severity, problem.code, problem.origin) == ("unusable", "too_large", "output")
    assert "holds 1,101 doses; a stack with the 2 beams of this case and those of others has at most 1,100" in (
        problem.message
    )


def test_memory_and_time_that_reading_doses_takes_are_the_outputs_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    here = world("doserad2026")
    stages: list[str] = []
    during: list[str] = []

    def read_frames(*_: object) -> Iterator[None]:
        during.append(stages[-1])
        raise MemoryError
        yield

    monkeypatch.setattr("isocenter.challenges.doserad2026._output.read_frames", read_frames)
    watch_stages(stages.append)
    try:
        [problem] = here.problems(here.good)
    finally:
        watch_stages(None)
    assert (problem.severity, problem.code, problem.origin) == ("unusable", "out_of_memory", "output")
    assert "b0.mha: takes more memory to read than there is" in problem.message
    assert during == ["read", "read"]
    assert stages[-1] == "inspect"


@pytest.mark.parametrize("name", MAKE)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_a_file_that_was_damaged_anywhere_is_the_outputs_own_fault(name: str, data: st.DataObject) -> None:
    here = world(name)
    good = next(iter(here.good.values()))
    # Headers are where a byte matters most.
    place = data.draw(st.one_of(st.integers(0, min(len(good), 500) - 1), st.integers(0, len(good) - 1)))
    spoilt = data.draw(
        st.one_of(
            st.just(good[:place]),
            st.binary(min_size=1, max_size=8).map(lambda new: good[:place] + new + good[place + len(new) :]),
            st.binary(max_size=8).map(lambda new: good[:place] + new + good[place:]),
        )
    )
    assert about_the_output(here.problems(here.spoilt(spoilt)))


@pytest.mark.parametrize("name", VOLUMES)
@given(
    value=st.floats(width=64, allow_nan=True, allow_infinity=True),
    inside=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=25, deadline=None)
def test_any_number_in_a_voxel_is_the_outputs_own_fault(name: str, value: float, inside: bool, dtype: type) -> None:
    here = world(name)
    with np.errstate(over="ignore"):
        array = np.full(GRID.shape, value, dtype) if inside else one_voxel(value, dtype)
    assert about_the_output(here.problems(here.spoilt(volume(array))))
