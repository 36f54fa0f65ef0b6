"""Which file is whose scan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isocenter.viewer._images import find_scans
from isocenter.volumes import Grid, Volume, write
from isocenter.volumes.sparse import SHAPE, write_sparse


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("CHUV001_ct.nii.gz", "CT"),
        ("CHUV001__PT.nii.gz", "PT"),
        ("scans/CHUV001_t2w.mha", "T2W"),
        ("CHUV001/image/ct.mha", "CT"),
        ("CHUV001/CT.nrrd", "CT"),
    ],
)
def test_a_scan_is_known_by_case_and_modality(tmp_path: Path, file: str, name: str) -> None:
    (scan,) = find_scans(touch(tmp_path, file), ["CHUV001", "CHUV0012"])["CHUV001"]
    assert scan.name == name


@pytest.mark.parametrize(
    "file",
    [
        "CHUV001.nii.gz",
        "CHUV001/gt_beam_doses.mha",
        "CHUV0012_ct.nii.gz",
        "XCHUV001_ct.nii.gz",
        "CHUV001_ct.png",
        "ct.nii.gz",
        "__MACOSX/CHUV001_ct.nii.gz",
    ],
)
def test_nothing_else_is(tmp_path: Path, file: str) -> None:
    assert find_scans(touch(tmp_path, file), ["CHUV001"]) == {}


def test_a_longer_name_is_another_case(tmp_path: Path) -> None:
    found = find_scans(touch(tmp_path, "A_ct.nii.gz", "A_1_ct.nii.gz"), ["A", "A_1"])
    assert {case: len(scans) for case, scans in found.items()} == {"A": 1, "A_1": 1}


def test_in_a_folder_of_scans_the_name_of_the_case_does(tmp_path: Path) -> None:
    found = find_scans(touch(tmp_path, "A.nii.gz", "A_ct.nii.gz"), ["A"], scans_only=True)
    assert [scan.name for scan in found["A"]] == ["CT", "Scan"]


def test_a_scan_on_another_grid_is_brought_onto_that_of_the_case(tmp_path: Path) -> None:
    fine = Grid((8, 8, 8), spacing=(1.0, 1.0, 1.0))
    write(Volume(np.broadcast_to(np.arange(8.0), (8, 8, 8)).T.copy(), fine), tmp_path / "A_ct.nii.gz")
    (scan,) = find_scans(tmp_path, ["A"])["A"]
    coarse = Grid((3, 4, 4), spacing=(2.0, 2.0, 2.0), origin=(0.5, 0.5, 0.5))
    np.testing.assert_allclose(scan.read(coarse).array[:, 0, 0], [0.5, 2.5, 4.5])


def test_the_sparse_ct_of_openkbp_lies_upright_like_its_doses(tmp_path: Path) -> None:
    (tmp_path / "pt_1").mkdir()
    dense = np.zeros(SHAPE)
    dense[3, 5, 7] = 1040.0
    write_sparse(tmp_path / "pt_1" / "ct.csv", dense)
    (scan,) = find_scans(tmp_path, ["pt_1"])["pt_1"]
    assert scan.read(Grid(SHAPE)).array[5, 3, 7] == 1040.0
    with pytest.raises(ValueError, match="128×128×128"):
        scan.read(Grid((2, 2, 2)))
