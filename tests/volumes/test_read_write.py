"""Every format against SimpleITK and nibabel, which know nothing of this package."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk

from isocenter.volumes import SUFFIXES, Grid, LabelMap, Volume, ZipMember, read, read_header, read_labels, write

RNG = np.random.default_rng(7)
ROTATION = tuple(np.linalg.qr(RNG.normal(size=(3, 3)))[0].ravel())
GRID = Grid((7, 6, 5), spacing=(1.25, 0.7, 3.0), origin=(-61.5, 22.0, 7.25), direction=ROTATION)
TYPES = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.int64, np.float32, np.float64]


def numbers(dtype: type) -> np.ndarray:
    return RNG.integers(0, 100, GRID.shape).astype(dtype)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
def test_what_is_written_is_read_by_us_and_by_itk(tmp_path: Path, suffix: str, dtype: type) -> None:
    array, path = numbers(dtype), tmp_path / f"x{suffix}"
    write(Volume(array, GRID), path)
    ours, theirs = read(path), sitk.ReadImage(str(path))
    assert ours.array.dtype == dtype
    np.testing.assert_array_equal(ours.array, array)
    np.testing.assert_array_equal(sitk.GetArrayFromImage(theirs).T, array)
    # NIfTI stores geometry in single precision.
    assert ours.grid.deviation(GRID) < 1e-5
    assert theirs.GetOrigin() == pytest.approx(ours.grid.origin, abs=1e-5)
    assert theirs.GetSpacing() == pytest.approx(ours.grid.spacing, abs=1e-6)
    assert theirs.GetDirection() == pytest.approx(ours.grid.direction, abs=1e-6)
    assert read_header(path).grid == ours.grid


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("compressed", [True, False])
def test_itk_files_compressed_or_not_give_the_same_array(tmp_path: Path, suffix: str, compressed: bool) -> None:
    array, path = numbers(np.int16), tmp_path / f"x{suffix}"
    image = sitk.GetImageFromArray(array.T)
    image.SetSpacing(GRID.spacing)
    sitk.WriteImage(image, str(path), useCompression=compressed)
    np.testing.assert_array_equal(read(path).array, array)


@pytest.mark.parametrize("kind", [nib.Nifti1Image, nib.Nifti2Image], ids=["nifti-1", "nifti-2"])
@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
@pytest.mark.parametrize("form", ["sform", "qform"])
def test_nifti_of_either_version_byte_order_and_form(tmp_path: Path, kind: type, order: str, form: str) -> None:
    array, path = numbers(np.int16), tmp_path / "x.nii"
    lps_to_ras = np.diag([-1.0, -1.0, 1.0, 1.0])
    header = kind.header_class(endianness=order)
    header.set_data_dtype(np.dtype(np.int16).newbyteorder(order))
    image = kind(array, None, header)
    (image.set_sform if form == "sform" else image.set_qform)(lps_to_ras @ GRID.affine, code=1)
    nib.save(image, path)
    ours = read(path)
    np.testing.assert_array_equal(ours.array, array)
    assert ours.grid.deviation(GRID) < 1e-4


def test_the_sform_is_preferred_and_the_qform_stands_in_for_a_sheared_one(tmp_path: Path) -> None:
    image = nib.Nifti1Image(np.zeros((4, 4, 4), np.uint8), None)
    image.set_qform(np.diag([2.0, 2, 2, 1]), code=1)
    image.set_sform(np.diag([3.0, 3, 3, 1]), code=1)
    nib.save(image, tmp_path / "both.nii")
    assert read_header(tmp_path / "both.nii").grid.spacing == (3, 3, 3)
    sheared = np.diag([3.0, 3, 3, 1])
    sheared[0, 1] = 1
    image.set_sform(sheared, code=1)
    nib.save(image, tmp_path / "sheared.nii")
    assert read_header(tmp_path / "sheared.nii").grid.spacing == (2, 2, 2)


def test_nifti_in_metres_is_read_in_millimetres(tmp_path: Path) -> None:
    image = nib.Nifti1Image(np.zeros((4, 4, 4), np.uint8), np.diag([0.002, 0.002, 0.002, 1]))
    image.header.set_xyzt_units("meter")
    nib.save(image, tmp_path / "x.nii.gz")
    assert read_header(tmp_path / "x.nii.gz").grid.spacing == pytest.approx((2, 2, 2))


def test_a_half_turn_stored_in_single_precision_keeps_its_corners(tmp_path: Path) -> None:
    """b² + c² + d² rounds to almost 1, and what is left over is noise, not a rotation."""
    image = nib.Nifti1Image(np.zeros((640, 640, 23), np.uint8), None)
    image.set_qform(np.diag([0.3, 0.3, 3.6, 1]), code=1)
    nib.save(image, tmp_path / "x.nii")
    raw = bytearray((tmp_path / "x.nii").read_bytes())
    raw[256:268] = np.array([-0.0033908954, -0.10713364, 0.9942388], "<f4").tobytes()
    (tmp_path / "x.nii").write_bytes(raw)
    ours = read_header(tmp_path / "x.nii").grid
    reader = sitk.ImageFileReader()
    reader.SetFileName(str(tmp_path / "x.nii"))
    reader.ReadImageInformation()
    itk = Grid(reader.GetSize(), reader.GetSpacing(), reader.GetOrigin(), reader.GetDirection())
    assert ours.deviation(itk) < 1e-3
    lps_to_ras = np.diag([-1.0, -1.0, 1.0, 1.0])
    naive = Grid.from_affine(lps_to_ras @ nib.load(tmp_path / "x.nii").get_qform(), ours.shape)
    assert not ours.same_as(naive)


def test_scaled_numbers_are_read_as_values(tmp_path: Path) -> None:
    stored = np.arange(8, dtype=np.int16).reshape(2, 2, 2)
    image = nib.Nifti1Image(stored, np.eye(4))
    image.header.set_slope_inter(0.5, 10)
    nib.save(image, tmp_path / "x.nii.gz")
    # nibabel divides on saving when slope is set, so that the values survive.
    np.testing.assert_allclose(read(tmp_path / "x.nii.gz").array, nib.load(tmp_path / "x.nii.gz").get_fdata())


def test_a_scaled_mask_is_read_by_its_values(tmp_path: Path) -> None:
    array = np.zeros((4, 4, 4), np.uint8)
    array[1, 2, 3] = 1
    write(Volume(array, Grid((4, 4, 4))), tmp_path / "x.nii")
    raw = bytearray((tmp_path / "x.nii").read_bytes())
    raw[112:120] = np.array([2.0, 0.0], "<f4").tobytes()
    (tmp_path / "x.nii").write_bytes(raw)
    assert read_labels(tmp_path / "x.nii").labels == (2,)


@pytest.mark.parametrize("suffix", [".nii.gz", ".nii", ".mha"])
def test_four_dimensions_are_a_volume_if_the_last_has_length_one(tmp_path: Path, suffix: str) -> None:
    array, path = numbers(np.uint8), tmp_path / f"x{suffix}"
    image = sitk.JoinSeries(sitk.GetImageFromArray(array.T))
    sitk.WriteImage(image, str(path))
    np.testing.assert_array_equal(read(path).array, array)


@pytest.mark.parametrize("space", ["left-posterior-superior", "right-anterior-superior", "LAS"])
def test_nrrd_says_which_way_its_world_points(tmp_path: Path, space: str) -> None:
    header = f"NRRD0004\n# made by hand\ntype: uchar\ndimension: 3\nspace: {space}\nsizes: 2 2 2\n"
    header += "space directions: (1,0,0) (0,1,0) (0,0,2)\nencoding: raw\nspace origin: (10,20,30)\n\n"
    (tmp_path / "x.nrrd").write_bytes(header.encode() + bytes(8))
    origin = {"left": (10, 20, 30), "righ": (-10, -20, 30), "LAS": (10, -20, 30)}[space[:4]]
    assert read_header(tmp_path / "x.nrrd").grid.origin == origin


def test_nrrd_and_metaimage_without_a_place_lie_at_the_origin(tmp_path: Path) -> None:
    header = b"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nspacings: 1 2 3\nencoding: raw\n\n"
    (tmp_path / "x.nrrd").write_bytes(header + bytes(8))
    header = b"NDims = 3\nDimSize = 2 2 2\nElementSpacing = 1 2 3\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n"
    (tmp_path / "x.mha").write_bytes(header + bytes(8))
    expected = Grid((2, 2, 2), spacing=(1, 2, 3))
    assert read_header(tmp_path / "x.nrrd").grid == expected
    assert read_header(tmp_path / "x.mha").grid == expected


def test_a_gzip_of_several_members_is_one_file(tmp_path: Path) -> None:
    write(Volume(numbers(np.uint8), GRID), tmp_path / "x.nii")
    whole = (tmp_path / "x.nii").read_bytes()
    (tmp_path / "x.nii.gz").write_bytes(gzip.compress(whole[:400]) + gzip.compress(whole[400:]))
    np.testing.assert_array_equal(read(tmp_path / "x.nii.gz").array, read(tmp_path / "x.nii").array)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_zip_is_read_in_place(tmp_path: Path, suffix: str, method: int) -> None:
    array = numbers(np.uint8)
    write(Volume(array, GRID), tmp_path / f"x{suffix}")
    with zipfile.ZipFile(tmp_path / "all.zip", "w", method) as archive:
        for path in tmp_path.glob("x*"):
            archive.write(path, f"folder/{path.name}")
    member = ZipMember(tmp_path / "all.zip", f"folder/x{suffix}")
    np.testing.assert_array_equal(read(member).array, array)
    np.testing.assert_array_equal(read_labels(member).array, array)


def test_writing_leaves_the_old_file_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "x.nii.gz"
    write(Volume(numbers(np.uint8), GRID), path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="complex"):
        write(Volume(np.zeros(GRID.shape, np.complex256), GRID), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.nii.gz"]


def test_a_name_without_a_known_ending_is_refused_both_ways(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.nii\.gz"):
        write(Volume(numbers(np.uint8), GRID), tmp_path / "x.png")
    with pytest.raises(ValueError, match=r"\.nii\.gz"):
        read(tmp_path / "x.png")


def test_label_maps_and_booleans_are_written_as_volumes(tmp_path: Path) -> None:
    array = numbers(np.uint8) > 50
    write(Volume(array, GRID), tmp_path / "a.mha")
    write(LabelMap.from_array(array.astype(np.uint8), GRID), tmp_path / "b.mha")
    assert read(tmp_path / "a.mha").array.dtype == np.uint8
    np.testing.assert_array_equal(read(tmp_path / "a.mha").array, read(tmp_path / "b.mha").array)


def test_an_array_and_a_grid_of_different_shapes_are_no_volume() -> None:
    with pytest.raises(ValueError, match="shape"):
        Volume(np.zeros((2, 3, 4)), Grid((4, 3, 2)))


def test_a_qform_elsewhere_than_the_sform_is_told(tmp_path: Path) -> None:
    image = nib.Nifti1Image(np.zeros((4, 4, 4), np.uint8), None)
    image.set_sform(np.diag([3.0, 3, 3, 1]), code=1)
    moved = np.diag([3.0, 3, 3, 1])
    for shift, differs in ((0.0, False), (1.4, False), (1.6, True)):  # half a voxel is 1.5 mm
        moved[0, 3] = shift
        image.set_qform(moved, code=1)
        nib.save(image, tmp_path / "x.nii")
        header = read_header(tmp_path / "x.nii")
        assert (header.other_grid is not None) == differs
    image.set_qform(moved, code=0)  # a qform that is not in use says nothing
    nib.save(image, tmp_path / "x.nii")
    assert read_header(tmp_path / "x.nii").other_grid is None
