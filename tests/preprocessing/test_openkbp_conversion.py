"""OpenKBP's CSV to NIfTI and back, without losing a bit."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path

import numpy as np
import pytest

from isocenter.preprocessing import nifti_to_openkbp, openkbp_to_nifti
from isocenter.volumes import Grid, Volume, read, write
from isocenter.volumes.sparse import read_mask, read_sparse

GOLDEN = Path(__file__).parents[1] / "golden" / "dose" / "openkbp"


def test_a_patient_keeps_its_voxels_and_gets_its_spacing(tmp_path: Path) -> None:
    patient = GOLDEN / "reference" / "pt_366"
    assert not [found for found in openkbp_to_nifti(patient, tmp_path / "nifti") if found.problem]
    dose = read(tmp_path / "nifti" / "dose.nii.gz")
    np.testing.assert_array_equal(dose.array, read_sparse(patient / "dose.csv").dense())
    assert dose.grid.spacing == pytest.approx(np.loadtxt(patient / "voxel_dimensions.csv"))
    larynx = read(tmp_path / "nifti" / "Larynx.nii.gz")
    assert larynx.array.dtype == np.uint8
    np.testing.assert_array_equal(larynx.array > 0, read_mask(patient / "Larynx.csv").dense())


def test_there_and_back_gives_the_same_volumes(tmp_path: Path) -> None:
    list(openkbp_to_nifti(GOLDEN / "reference", tmp_path / "nifti"))
    done = list(nifti_to_openkbp(tmp_path / "nifti", tmp_path / "csv"))
    assert not [found for found in done if found.problem]
    for path in sorted((GOLDEN / "reference").rglob("*.csv")):
        back = tmp_path / "csv" / path.relative_to(GOLDEN / "reference")
        if path.name == "voxel_dimensions.csv":
            np.testing.assert_allclose(np.loadtxt(back), np.loadtxt(path), rtol=1e-7)  # NIfTI stores single precision
        elif path.name == "dose.csv":
            np.testing.assert_array_equal(read_sparse(back).dense(), read_sparse(path).dense())
        else:
            np.testing.assert_array_equal(read_mask(back).index, read_mask(path).index)


def test_a_dose_beside_its_mask_gets_explicit_zeros(tmp_path: Path) -> None:
    grid, dose = Grid((128,) * 3, spacing=(3.0, 3.0, 2.0)), np.zeros((128,) * 3)
    possible = np.zeros(dose.shape, np.uint8)
    dose[1, 2, 3], possible[1, 2, 3:6] = 5.5, 1
    (tmp_path / "nifti").mkdir()
    write(Volume(dose, grid), tmp_path / "nifti" / "dose.nii.gz")
    write(Volume(possible, grid), tmp_path / "nifti" / "possible_dose_mask.nii.gz")
    list(nifti_to_openkbp(tmp_path / "nifti", tmp_path / "csv"))
    first = (1 * 128 + 2) * 128 + 3
    assert (tmp_path / "csv" / "dose.csv").read_text() == f",data\n{first},5.5\n{first + 1},0.0\n{first + 2},0.0\n"


def test_predictions_take_the_voxels_of_their_patients(tmp_path: Path) -> None:
    done = list(openkbp_to_nifti(GOLDEN / "prediction", tmp_path / "nifti", patients=GOLDEN / "reference"))
    assert {found.source for found in done if found.problem} == {"pt_367.csv"}  # it has voxels twice
    assert read(tmp_path / "nifti" / "pt_366.nii.gz").grid.spacing == pytest.approx(
        np.loadtxt(GOLDEN / "reference" / "pt_366" / "voxel_dimensions.csv")
    )
    back = list(nifti_to_openkbp(tmp_path / "nifti", tmp_path / "csv"))
    assert [found.target for found in back] == ["pt_365.csv", "pt_366.csv"]
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == ["pt_365.csv", "pt_366.csv"]
    for name in ("pt_365.csv", "pt_366.csv"):
        np.testing.assert_array_equal(
            read_sparse(tmp_path / "csv" / name).dense(), read_sparse(GOLDEN / "prediction" / name).dense()
        )


def test_what_cannot_be_converted_is_named_and_costs_only_itself(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "reference" / "pt_365", tmp_path / "pt_365")
    (tmp_path / "pt_365" / "Larynx.csv").write_text("nonsense\n")
    (tmp_path / "pt_9").mkdir()
    shutil.copy(tmp_path / "pt_365" / "dose.csv", tmp_path / "pt_9" / "dose.csv")
    found = {c.source: c for c in openkbp_to_nifti(tmp_path, tmp_path.with_name("nifti"))}
    assert "a sparse CSV begins with" in found["pt_365/Larynx.csv"].problem
    assert "how large its voxels are is not known" in found["pt_9/dose.csv"].problem
    assert found["pt_365/dose.csv"].target == "pt_365/dose.nii.gz"


def test_other_shapes_have_no_place_in_the_format(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(Volume(np.zeros((4, 5, 6)), Grid((4, 5, 6))), tmp_path / "in" / "dose.nii.gz")
    (found,) = nifti_to_openkbp(tmp_path / "in", tmp_path / "out")
    assert found.problem == "has 4×5×6 voxels; a sparse CSV counts those of 128×128×128 (2,097,152)"
    assert not (tmp_path / "out" / "dose.csv").exists()


def test_a_structure_is_a_mask_whatever_type_it_is_stored_in(tmp_path: Path) -> None:
    grid = Grid((128,) * 3, spacing=(5.422, 5.422, 2.5))
    mask = np.zeros(grid.shape, np.float32)
    mask[3, 4, 5:7] = 1.0
    (tmp_path / "in" / "pt_1").mkdir(parents=True)
    write(Volume(mask, grid), tmp_path / "in" / "pt_1" / "Brainstem.nii.gz")
    write(Volume(7 * mask, grid), tmp_path / "in" / "pt_1" / "PTV70.nii.gz")
    found = {c.source: c.problem for c in nifti_to_openkbp(tmp_path / "in", tmp_path / "out")}
    assert found["pt_1/Brainstem.nii.gz"] == ""
    assert read_mask(tmp_path / "out" / "pt_1" / "Brainstem.csv").dense().sum() == 2
    assert found["pt_1/PTV70.nii.gz"] == "holds values from 0 to 7; PTV70 is a mask of 0 and 1"
    assert np.loadtxt(tmp_path / "out" / "pt_1" / "voxel_dimensions.csv").tolist() == [5.422, 5.422, 2.5]


def test_single_precision_is_written_with_its_own_digits(tmp_path: Path) -> None:
    array = np.zeros((128,) * 3, np.float32)
    array[0, 0, 1] = 0.1
    (tmp_path / "in").mkdir()
    write(Volume(array, Grid(array.shape)), tmp_path / "in" / "pt_1.nii.gz")
    list(nifti_to_openkbp(tmp_path / "in", tmp_path / "out"))
    assert (tmp_path / "out" / "pt_1.csv").read_text() == ",data\n1,0.1\n"
    assert not filecmp.dircmp(tmp_path / "in", tmp_path / "out").common
