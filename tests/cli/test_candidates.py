"""`isocenter convert to-candidates`: soft maps of a network to what PI-CAI takes as a submission."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from isocenter.cli import _candidates, app
from isocenter.metrics import candidates
from isocenter.volumes import Grid, Volume, read, write

with contextlib.redirect_stdout(io.StringIO()):  # it greets with a banner
    from report_guided_annotation import extract_lesion_candidates

GOLDEN = Path(__file__).parents[1] / "golden" / "detection"
TURN = (0.8, -0.6, 0.0, 0.6, 0.8, 0.0, 0.0, 0.0, 1.0)
GRID = Grid((24, 20, 6), spacing=(0.5, 0.5, 3.0), origin=(-12.0, 30.5, 7.0), direction=TURN)


def soft_map(*values: float) -> np.ndarray:
    """Hills along y, each of the given height; axes (x, y, z)."""
    soft = np.zeros(GRID.shape, np.float32)
    for number, value in enumerate(values):
        soft[3:8, 1 + 5 * number : 4 + 5 * number, 1:4] = value / 2
        soft[5, 2 + 5 * number, 2] = value
    return soft


def run(*arguments: object) -> tuple[int, str]:
    """Exit code and what was said, without the breaks of boxes and lines."""
    result = CliRunner().invoke(app, ["convert", "to-candidates", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.replace("│", " ").split())


@pytest.fixture
def soft(tmp_path: Path) -> Path:
    """Three cases as volumes."""
    folder = tmp_path / "soft"
    folder.mkdir()
    write(Volume(soft_map(0.75, 0.5), GRID), folder / "B_2.nii.gz")
    write(Volume(soft_map(0.25), GRID), folder / "A_1_softmax.mha")
    write(Volume(soft_map(), GRID), folder / "C_3.nrrd")
    return folder


@pytest.fixture
def nnunet(tmp_path: Path) -> Path:
    """What nnU-Net leaves: likelihoods without geometry, masks, and files of its own."""
    folder = tmp_path / "nnunet"
    folder.mkdir()
    for case, key, heights in (("A_1", "softmax", (0.25,)), ("B_2", "probabilities", (0.75, 0.5))):
        lesion = soft_map(*heights).T
        np.savez_compressed(folder / f"{case}.npz", **{key: np.stack([1 - lesion, lesion])})
        write(Volume((soft_map(*heights) > 0).astype(np.uint8), GRID), folder / f"{case}.nii.gz")
        (folder / f"{case}.pkl").write_bytes(b"not opened")
    return folder


def test_volumes_become_a_submission(soft: Path, tmp_path: Path) -> None:
    code, said = run(soft, tmp_path / "new" / "out")
    assert code == 0, said
    assert "3 candidates in 3 cases, 1 cases without any. Written to" in said
    out = tmp_path / "new" / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "A_1.nii.gz", "B_2.nii.gz", "C_3.nii.gz", "likelihoods.json",
    ]  # fmt: skip
    likelihoods = (out / "likelihoods.json").read_text()
    assert list(json.loads(likelihoods).items()) == [("A_1", 0.25), ("B_2", 0.75), ("C_3", 0.0)]
    found = read(out / "B_2.nii.gz")
    assert found.array.dtype == np.float32
    assert found.grid.same_as(GRID)
    assert sorted(candidates(found.array).confidences) == [0.5, 0.75]
    assert np.array_equal(found.array > 0, soft_map(0.75, 0.5) > 0)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["out"]


def test_the_case_may_be_as_likely_as_that_any_candidate_is_a_lesion(soft: Path, tmp_path: Path) -> None:
    assert run(soft, tmp_path / "out", "--case-likelihood", "bayesian")[0] == 0
    assert json.loads((tmp_path / "out" / "likelihoods.json").read_text()) == {"A_1": 0.25, "B_2": 0.875, "C_3": 0.0}


@pytest.mark.parametrize("rule", ["dynamic-v2", "dynamic", "dynamic-fast"])
@pytest.mark.parametrize("likelihood", ["max", "mean"])
def test_the_golden_soft_maps_become_the_detection_maps_of_the_peer(tmp_path: Path, rule: str, likelihood: str) -> None:
    (tmp_path / "soft").mkdir()
    (tmp_path / "grids").mkdir()
    with np.load(GOLDEN / "softmax.npz") as maps:
        soft = {name: maps[name].astype(np.float32) / np.float32(1000) for name in maps if name.startswith("softmax_")}
    for name, array in soft.items():
        np.save(tmp_path / "soft" / f"{name}.npy", array)
        write(Volume(np.zeros(array.T.shape, np.uint8), Grid(array.T.shape)), tmp_path / "grids" / f"{name}.nii.gz")
    options = ("--rule", rule, "--likelihood", likelihood, "--geometry-of", tmp_path / "grids")
    assert run(tmp_path / "soft", tmp_path / "out", *options)[0] == 0
    for name, array in soft.items():
        expected, _, _ = extract_lesion_candidates(array, threshold=rule if likelihood == "max" else f"{rule}-mean")
        assert expected.any()
        assert np.array_equal(read(tmp_path / "out" / f"{name}.nii.gz").array, expected.T)


def test_of_equals_those_that_the_peer_takes_are_taken(tmp_path: Path) -> None:
    # Six equal hills, of which five are taken; which is left out depends on the order in which voxels are counted.
    soft = np.zeros((20, 24, 9), np.float32)
    for x, z in ((1, 6), (6, 0), (12, 0), (16, 6), (1, 0), (12, 6)):
        soft[x : x + 3, 4:8, z : z + 3] = 0.5
    (tmp_path / "soft").mkdir()
    write(Volume(soft, Grid(soft.shape)), tmp_path / "soft" / "A.nii.gz")
    assert run(tmp_path / "soft", tmp_path / "out")[0] == 0
    expected, _, _ = extract_lesion_candidates(np.ascontiguousarray(soft.T), threshold="dynamic-v2")
    assert np.count_nonzero(expected) == 5 * 36
    assert np.array_equal(read(tmp_path / "out" / "A.nii.gz").array, expected.T)


def test_a_threshold_and_a_mean(soft: Path, tmp_path: Path) -> None:
    assert run(soft, tmp_path / "out", "--rule", "0.3", "--likelihood", "mean")[0] == 0
    expected = float(np.float32((44 * 0.375 + 0.75) / 45))
    assert json.loads((tmp_path / "out" / "likelihoods.json").read_text()) == {"A_1": 0.0, "B_2": expected, "C_3": 0.0}


def test_the_folder_of_nnunet_gives_likelihoods_and_geometry(nnunet: Path, tmp_path: Path) -> None:
    code, said = run(nnunet, tmp_path / "out", "--geometry-of", nnunet)
    assert (code, "Files that are no soft maps: 4, ignored." in said) == (0, True)
    assert json.loads((tmp_path / "out" / "likelihoods.json").read_text()) == {"A_1": 0.25, "B_2": 0.75}
    found = read(tmp_path / "out" / "B_2.nii.gz")
    assert found.grid.same_as(GRID)
    assert np.array_equal(found.array > 0, soft_map(0.75, 0.5) > 0)


def test_without_geometry_numpy_files_are_refused_with_what_to_do(nnunet: Path, tmp_path: Path) -> None:
    for mask in nnunet.glob("*.nii.gz"):
        mask.unlink()
    code, said = run(nnunet, tmp_path / "out")
    assert code == 1
    for case in ("A_1", "B_2"):
        assert f"unusable {case} {case}.npz a numpy file says nothing of geometry; give --geometry-of" in said
    assert "2 unusable." in said
    assert not (tmp_path / "out").exists()


def test_two_files_for_a_case_are_told_apart_by_nobody(nnunet: Path, tmp_path: Path) -> None:
    code, said = run(nnunet, tmp_path / "out")
    assert code == 1
    assert "A_1.npz there is A_1.nii.gz for the case, too; which one is meant? If nnU-Net left both" in said


def test_a_zip_is_read_in_place(soft: Path, nnunet: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "soft.zip", "w") as archive:
        archive.write(soft / "C_3.nrrd", "run 1/C_3.nrrd")
        archive.write(nnunet / "B_2.npz", "run 1/B_2_softmax.npz")
        archive.writestr("__MACOSX/run 1/._C_3.nrrd", b"")
        archive.writestr("notes.txt", b"")
    with zipfile.ZipFile(tmp_path / "grids.zip", "w") as archive:
        archive.write(nnunet / "B_2.nii.gz", "B_2.nii.gz")
        archive.write(nnunet / "A_1.nii.gz", "A_1.nii.gz")
    assert run(tmp_path / "soft.zip", tmp_path / "out", "--geometry-of", tmp_path / "grids.zip")[0] == 0
    assert json.loads((tmp_path / "out" / "likelihoods.json").read_text()) == {"B_2": 0.75, "C_3": 0.0}


def test_all_problems_of_all_files_are_listed_and_nothing_is_written(soft: Path, tmp_path: Path) -> None:
    (tmp_path / "grids").mkdir()
    for case in ("D", "E", "F", "G"):
        write(Volume(soft_map(), GRID), tmp_path / "grids" / f"{case}.nii.gz")
    (tmp_path / "grids" / "F.nii.gz").write_bytes(b"")
    np.save(soft / "D.npy", soft_map(0.5).T[1:])
    np.savez(soft / "E.npz", softmax=soft_map(0.5).T.astype(object))
    np.save(soft / "F.npy", soft_map(0.5).T)
    np.save(soft / "G.npy", np.ascontiguousarray((soft_map(0.5) * 3).T))
    np.save(soft / "H.npy", soft_map(0.5).T)
    (soft / "I.nii.gz").write_bytes((soft / "B_2.nii.gz").read_bytes()[:-20])
    (soft / "J.nii").symlink_to(soft / "B_2.nii.gz")
    write(Volume(soft_map(), GRID), soft / "B_2_softmax.nii")
    (soft / "_softmax.npy").write_bytes(b"")
    code, said = run(soft, tmp_path / "out", "--geometry-of", tmp_path / "grids")
    assert code == 1
    assert "not every soft map can be converted; nothing was written." in said
    for words in (
        "B_2_softmax.nii there is B_2.nii.gz for the case, too; which one is meant? unusable",
        "D D.npy has 24×20×5 voxels along (x, y, z), expected 24×20×6",
        "E E.npz an array of Python objects, which is never unpickled",
        f"F F.npy no geometry in {tmp_path / 'grids'}: ",
        "G G.npy a soft map lies between 0 and 1, but 1 voxels do not: 1.5 at voxel (2, 2, 5), counted (z, y, x)",
        f"H H.npy no geometry in {tmp_path / 'grids'}: expected H.nii.gz (or .nii, .mha, .nrrd)",
        "I I.nii.gz damaged or cut off",
        "J J.nii a symbolic link",
        "_softmax.npy no case has this name; expected <case>.npy",
        "9 unusable.",
    ):
        assert words in said
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["grids", "soft"]


def test_a_problem_of_the_last_file_leaves_nothing_of_the_first(soft: Path, tmp_path: Path) -> None:
    write(Volume(-soft_map(0.5), GRID), soft / "Z.nii.gz")
    (tmp_path / "out").mkdir()
    assert run(soft, tmp_path / "out")[0] == 1
    assert not any((tmp_path / "out").iterdir())
    (soft / "Z.nii.gz").unlink()
    assert run(soft, tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "likelihoods.json").exists()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "refused … soft holds no soft map; expected <case>.nii.gz (or .nii, .mha, .nrrd, .npy, .npz)"),
        (["a.txt", "b.mhd"], "holds no soft map"),
        (["a.npy", "fold/b.npy"], "soft maps lie in 2 folders (., fold); which one is meant?"),
    ],
)
def test_a_folder_that_is_not_one_of_soft_maps(tmp_path: Path, names: list[str], words: str) -> None:
    for name in ["x", *names]:
        (tmp_path / "soft" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "soft" / name).write_bytes(b"")
    code, said = run(tmp_path / "soft", tmp_path / "out")
    assert (code, words in said) == (1, True), said
    assert not (tmp_path / "out").exists()


def test_archives_that_cannot_be_trusted_are_refused(soft: Path, nnunet: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("../A.npy", b"")
    (tmp_path / "cut.zip").write_bytes(b"PK")
    for name, words in (("bad.zip", "leads out of the archive"), ("cut.zip", "a damaged or cut off zip archive")):
        assert words in run(tmp_path / name, tmp_path / "out")[1]
        (nnunet / "A_1.nii.gz").unlink(missing_ok=True)
        (nnunet / "B_2.nii.gz").unlink(missing_ok=True)
        code, said = run(nnunet, tmp_path / "out", "--geometry-of", tmp_path / name)
        assert (code, words in said) == (1, True)
    assert not (tmp_path / "out").exists()


def test_names_of_strangers_are_shown_and_kept_as_they_are(tmp_path: Path) -> None:
    names = ["[red]", "ä\x1b[1m", "{case}"]
    (tmp_path / "soft").mkdir()
    for name in names:
        write(Volume(soft_map(0.5), GRID), tmp_path / "soft" / "x.nii.gz")
        (tmp_path / "soft" / "x.nii.gz").rename(tmp_path / "soft" / f"{name}.nii.gz")
    shown: list[str] = []
    how = _candidates.Extraction("dynamic-v2", "max", "max")
    _candidates.convert(
        tmp_path / "soft", tmp_path / "out", how, geometry_of=None, progress=lambda *now: shown.append(now[2])
    )
    assert shown == [r"\[red]", "{case}", r"ä\x1b[1m", ""]
    assert json.loads((tmp_path / "out" / "likelihoods.json").read_text()) == dict.fromkeys(sorted(names), 0.5)
    assert run(tmp_path / "soft", tmp_path / "again")[0] == 0


@pytest.mark.parametrize("rule", ["static", "0", "1.5", "nan", "-0.1"])
def test_an_unknown_rule_is_wrong_usage(soft: Path, tmp_path: Path, rule: str) -> None:
    code, said = run(soft, tmp_path / "out", f"--rule={rule}")
    assert code == 2
    assert f"'{rule}' is none of dynamic-v2, dynamic, dynamic-fast, and no threshold" in said


def test_nothing_is_overwritten_and_nothing_goes_into_the_input(soft: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    code, said = run(soft, tmp_path / "out")
    assert (code, "not an empty folder; name a new folder" in said) == (2, True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
    code, said = run(soft, soft / "out")
    assert (code, "converted files go elsewhere" in said) == (2, True)
    assert len(list(soft.iterdir())) == 3


def test_a_mount_point_cannot_be_replaced_and_is_refused_at_once(
    soft: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "out")
    code, said = run(soft, tmp_path / "out")
    assert (code, "is a mount point; name a new folder" in said) == (2, True)
    assert not any((tmp_path / "out").iterdir())


def test_a_link_to_an_empty_folder_is_filled(soft: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert run(soft, tmp_path / "link")[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "likelihoods.json").exists()


def test_a_full_disk_leaves_nothing(soft: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def full(volume: Any, path: Path) -> None:
        if written:
            raise OSError(28, "No space left on device")
        written.append(path)
        write(volume, path)

    monkeypatch.setattr(_candidates, "write", full)
    result = CliRunner().invoke(app, ["convert", "to-candidates", str(soft), str(tmp_path / "out")])
    assert isinstance(result.exception, OSError)
    assert [path.name for path in written] == ["A_1.nii.gz"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["soft"]


def test_a_stopped_run_leaves_nothing(soft: Path, tmp_path: Path) -> None:
    for number in range(5_000):
        os.link(soft / "B_2.nii.gz", soft / f"X{number}.nii.gz")
    command = [str(Path(sys.executable).with_name("isocenter")), "convert", "to-candidates", soft, tmp_path / "out"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not list(tmp_path.glob(".writing-*/out/*.nii.gz")):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["soft"]
