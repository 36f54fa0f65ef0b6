"""How masks and images are read against the grid they must lie on."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import nibabel as nib
import numpy as np
import pytest

from isocenter.submissions import ImageFile, MaskFile
from isocenter.volumes import DiskFile, File, Grid, Volume, VolumeError, read_header, write

GRID = Grid((6, 5, 4), spacing=(1, 1, 3))
GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"


def saved(path: Path, array: np.ndarray, grid: Grid = GRID) -> DiskFile:
    write(Volume(array, grid), path)
    return DiskFile(path)


def ones(grid: Grid = GRID, dtype: type = np.uint8) -> np.ndarray:
    return np.ones(grid.shape, dtype)


MOVED = Grid(GRID.shape, GRID.spacing, origin=(0, 0, 1.0))


def test_a_mask_on_another_grid_is_refused_with_the_deviation_in_mm(tmp_path: Path) -> None:
    file = saved(tmp_path / "x.nii.gz", ones(), MOVED)
    with pytest.raises(VolumeError, match=r"grid differs: .* corners lie up to 1\.00 mm apart, allowed 0\.50 mm"):
        MaskFile().read(file, grid=GRID, policy="refuse")


def test_trusting_the_index_keeps_the_voxels_and_says_so(tmp_path: Path) -> None:
    reading = MaskFile().read(saved(tmp_path / "x.nii.gz", ones(), MOVED), grid=GRID, policy="trust-index")
    assert reading.value.grid == GRID
    assert reading.value.array.all()
    assert reading.observations == (("index_trusted", pytest.approx(1.0)),)
    assert reading.remarks[0][0] == "warning"


def test_the_index_of_another_shape_cannot_be_trusted(tmp_path: Path) -> None:
    other = Grid((7, 5, 4), spacing=(1, 1, 3))
    with pytest.raises(VolumeError, match="grid differs"):
        MaskFile().read(saved(tmp_path / "x.nii.gz", ones(other), other), grid=GRID, policy="trust-index")


def test_resampling_the_golden_mask_gives_the_golden_voxels(golden_segmentation: dict[str, Any]) -> None:
    expected = golden_segmentation["resample"]
    grid = read_header(GOLDEN / expected["reference"]).grid
    reading = MaskFile().read(DiskFile(GOLDEN / expected["prediction"]), grid=grid, policy="resample")
    assert reading.observations[0][0] == "resampled"
    array = reading.value.array
    assert np.count_nonzero(array) == expected["n_foreground_after"]
    voxels = np.ascontiguousarray(array.T.astype(np.uint8)).tobytes()
    assert hashlib.sha256(voxels).hexdigest() == expected["sha256_uint8_zyx"]


def test_the_same_grid_leaves_no_trace_under_any_policy(tmp_path: Path) -> None:
    file = saved(tmp_path / "x.nii.gz", ones())
    for policy in ("refuse", "resample", "trust-index"):
        assert MaskFile().read(file, grid=GRID, policy=policy).observations == ()


def test_a_mask_holds_only_the_labels_that_were_agreed(tmp_path: Path) -> None:
    array = ones()
    array[0, 0, 0], array[1, 0, 0] = 7, 9
    with pytest.raises(VolumeError, match=r"labels 7, 9; a mask may hold only 0, 1 \(tumour\), 2 \(nodes\)"):
        MaskFile(labels=(("tumour", 1), ("nodes", 2))).read(
            saved(tmp_path / "x.mha", array), grid=GRID, policy="refuse"
        )


def test_an_empty_mask_is_a_warning_where_every_case_has_something_to_find(tmp_path: Path) -> None:
    file = saved(tmp_path / "x.mha", np.zeros(GRID.shape, np.uint8))
    assert MaskFile().read(file, grid=GRID, policy="refuse").remarks == ()
    ((severity, text, code),) = MaskFile(warn_if_empty=True).read(file, grid=GRID, policy="refuse").remarks
    assert (severity, code) == ("warning", "empty_mask")
    assert "empty" in text


def test_whole_numbers_in_a_wide_type_are_taken_with_a_note(tmp_path: Path) -> None:
    reading = MaskFile().read(saved(tmp_path / "x.mha", ones(dtype=np.float64)), grid=GRID, policy="refuse")
    assert reading.value.labels == (1,)
    assert "float64 is slow" in reading.remarks[0][1]


def test_an_image_is_finite_and_in_bounds(tmp_path: Path) -> None:
    array = ones(dtype=np.float32)
    spec = ImageFile(bounds=(0, 100))
    assert spec.read(saved(tmp_path / "x.mha", array), grid=GRID, policy="refuse").value.array.dtype == np.float32
    array[1, 2, 3] = np.nan
    with pytest.raises(VolumeError, match=r"nan at voxel \(1, 2, 3\)"):
        spec.read(saved(tmp_path / "x.mha", array), grid=GRID, policy="refuse")
    array[1, 2, 3] = -4
    with pytest.raises(VolumeError, match=r"from -4 to 1; they must lie in \[0, 100\]"):
        spec.read(saved(tmp_path / "x.mha", array), grid=GRID, policy="refuse")


def test_an_image_is_resampled_linearly_and_that_is_recorded(tmp_path: Path) -> None:
    ramp = np.broadcast_to(np.arange(6.0)[:, None, None], GRID.shape).copy()
    half = Grid(GRID.shape, GRID.spacing, origin=(0.6, 0, 0))
    reading = ImageFile().read(saved(tmp_path / "x.mha", ramp, half), grid=GRID, policy="resample")
    np.testing.assert_allclose(reading.value.array[1:, 0, 0], np.arange(1, 6) - 0.6)
    assert reading.observations == (("resampled", pytest.approx(0.6)),)


def with_two_places(path: Path, array: np.ndarray, shift: float) -> DiskFile:
    """A NIfTI whose sform is `GRID` and whose qform lies `shift` mm away."""
    affine = np.diag([-1.0, -1.0, 1.0, 1.0]) @ GRID.affine
    image = nib.Nifti1Image(array, affine)
    image.set_sform(affine, code=1)
    image.set_qform(affine + shift * np.eye(4, k=3), code=1)
    nib.save(image, path)
    return DiskFile(path)


@pytest.mark.parametrize("spec", [MaskFile(), ImageFile()])
def test_a_header_with_two_places_is_a_warning(spec: Any, tmp_path: Path) -> None:
    reading = spec.read(with_two_places(tmp_path / "x.nii.gz", ones(), 4.0), grid=GRID, policy="refuse")
    (remark,) = reading.coded_remarks
    assert (remark.severity, remark.code) == ("warning", "two_places")
    assert remark.text == "sform and qform of the header lie up to 4.00 mm apart; the sform is used"
    assert not spec.read(with_two_places(tmp_path / "y.nii.gz", ones(), 0.1), grid=GRID, policy="refuse").remarks


def test_a_refused_grid_says_that_the_qform_would_fit(tmp_path: Path) -> None:
    moved = Grid(GRID.shape, GRID.spacing, origin=(-4.0, 0, 0))
    with pytest.raises(VolumeError, match=r"corners lie up to 4\.00 mm apart.*the qform of the header would fit"):
        MaskFile().read(with_two_places(tmp_path / "x.nii.gz", ones(), 4.0), grid=moved, policy="refuse")


@dataclass(frozen=True)
class CountedFile:
    """A file that counts how often it is opened."""

    content: bytes
    name: str = "mask.nii.gz"
    opened: list[str] = field(default_factory=list)

    def size(self) -> int:
        return len(self.content)

    def open(self) -> BinaryIO:
        self.opened.append(self.name)
        return io.BytesIO(self.content)

    def beside(self, name: str) -> File:
        raise FileNotFoundError(name)


@pytest.mark.parametrize("make", [MaskFile, ImageFile, lambda: ImageFile(sparse=True)])
def test_header_and_voxels_are_read_by_opening_the_file_once(
    make: Callable[[], MaskFile | ImageFile], tmp_path: Path
) -> None:
    write(Volume(np.eye(4, dtype=np.uint8)[:, :, None], Grid((4, 4, 1))), tmp_path / "mask.nii.gz")
    file = CountedFile((tmp_path / "mask.nii.gz").read_bytes())
    make().read(file, grid=Grid((4, 4, 1)), policy="refuse")
    assert file.opened == ["mask.nii.gz"]


@pytest.mark.parametrize("suffix", [".nii.gz", ".mha", ".nrrd"])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
def test_a_sparse_image_holds_what_is_not_0_in_the_whole_one(
    tmp_path: Path, suffix: str, kind: type, share: float
) -> None:
    rng = np.random.default_rng(3)
    grid = Grid((70, 61, 19), spacing=(0.5, 0.5, 3.0))
    array = np.where(rng.random(grid.shape) < share, rng.integers(1, 9, grid.shape) / 8, 0)
    array = (array * 8 if kind is np.uint8 else array).astype(kind)
    if kind is not np.uint8:
        array[0, 0, 0] = -0.0
    write(Volume(array, grid), tmp_path / f"map{suffix}")
    file = DiskFile(tmp_path / f"map{suffix}")
    sparse = ImageFile(sparse=True).read(file, grid=grid, policy="refuse").value
    whole = ImageFile().read(file, grid=grid, policy="refuse").value.array.ravel(order="F")
    assert sparse.voxels.tolist() == np.flatnonzero(whole).tolist()
    assert sparse.values.tolist() == whole[whole != 0].tolist()
    assert sparse.values.dtype == whole.dtype
    assert sparse.grid == grid


@pytest.mark.parametrize(("slope", "intercept"), [(0.5, 0.0), (2.0, 1.0), (1.0, -3.0)])
def test_a_sparse_image_is_scaled_before_its_zeros_are_left_out(tmp_path: Path, slope: float, intercept: float) -> None:
    stored = np.zeros((400, 400, 2), np.int16)  # more than one block
    stored[3:9, 5, 1] = np.arange(6)
    image = nib.Nifti1Image(stored, np.eye(4))
    image.header.set_slope_inter(slope, intercept)
    image.to_filename(tmp_path / "map.nii.gz")
    file = DiskFile(tmp_path / "map.nii.gz")
    sparse = ImageFile(sparse=True).read(file, grid=None, policy="refuse").value
    whole = ImageFile().read(file, grid=None, policy="refuse").value.array.ravel(order="F")
    assert np.array_equal(sparse.voxels, np.flatnonzero(whole))
    assert np.array_equal(sparse.values, whole[whole != 0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -0.25, 1.5])
def test_a_sparse_image_is_refused_with_the_words_of_a_whole_one(tmp_path: Path, bad: float) -> None:
    grid = Grid((9, 8, 7))
    for filled in (0.0, 0.5):
        array = np.full(grid.shape, filled, np.float32)
        array[4, 1, 0] = array[2, 3, 5] = bad
        write(Volume(array, grid), tmp_path / "map.mha")
        messages = []
        for sparse in (False, True):
            with pytest.raises(VolumeError) as refused:
                ImageFile(bounds=(0.0, 1.0), sparse=sparse).read(
                    DiskFile(tmp_path / "map.mha"), grid=grid, policy="refuse"
                )
            messages.append((str(refused.value), refused.value.code))
        assert messages[0] == messages[1]


def test_a_sparse_image_is_resampled_as_a_whole_one_is(tmp_path: Path) -> None:
    grid, other = Grid((9, 8, 7)), Grid((9, 8, 7), origin=(1.0, 0.0, 2.0))
    array = np.zeros(grid.shape, np.float32)
    array[3:6, 2:5, 1:4] = 0.5
    write(Volume(array, grid), tmp_path / "map.mha")
    readings = [
        ImageFile(interpolation="nearest", sparse=sparse).read(
            DiskFile(tmp_path / "map.mha"), grid=other, policy="resample"
        )
        for sparse in (False, True)
    ]
    whole = readings[0].value.array.ravel(order="F")
    assert np.array_equal(readings[1].value.voxels, np.flatnonzero(whole))
    assert readings[1].observations == readings[0].observations


def test_a_refused_grid_does_not_point_to_a_qform_that_would_not_fit_either(tmp_path: Path) -> None:
    moved = Grid(GRID.shape, GRID.spacing, origin=(9.0, 0, 0))
    with pytest.raises(VolumeError, match="grid differs") as refused:
        MaskFile().read(with_two_places(tmp_path / "x.nii.gz", ones(), 4.0), grid=moved, policy="refuse")
    assert "qform" not in str(refused.value)
