"""CT series: Hounsfield units in the right order, or the names of the files that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk

from isocenter.volumes.dicom import DicomError, read_ct


def test_slices_are_sorted_along_the_normal_and_rescaled(make: Any) -> None:
    files = make.ct([6.0, 0.0, 3.0])  # slice k holds the stored number k
    ct = read_ct(files)
    assert ct.array.dtype == np.float32
    assert ct.array.shape == (5, 4, 3)
    assert ct.array[0, 0].tolist() == [2 * 1 - 1000, 2 * 2 - 1000, 2 * 0 - 1000]
    assert ct.grid.spacing == (3.0, 2.0, 3.0)
    assert ct.grid.origin == (-10.0, 20.0, 0.0)


def test_the_order_of_the_files_does_not_matter(make: Any) -> None:
    files = make.ct([0.0, 3.0, 6.0, 9.0])
    one, other = read_ct(files), read_ct(files[::-1])
    assert one.grid == other.grid
    np.testing.assert_array_equal(one.array, other.array)


@pytest.mark.parametrize(
    "orientation", [[-1.0, 0, 0, 0, 1, 0], [0.0, 1, 0, 0, 0, -1], [0.8, 0.6, 0, -0.6, 0.8, 0]], ids=str
)
def test_any_orientation_lies_where_itk_says(make: Any, orientation: list[float]) -> None:
    row, column = np.array(orientation[:3]), np.array(orientation[3:])
    normal = np.cross(row, column)
    files = []
    for k in range(4):
        position = (np.array([-10.0, 20.0, 5.0]) + 2.5 * k * normal).tolist()
        files += make.ct([0.0], prefix=f"k{k}-", ImagePositionPatient=position, ImageOrientationPatient=orientation)
    ct = read_ct(files[::-1])
    itk = sitk.ReadImage([str(file) for file in files])
    for index in [(0, 0, 0), (4, 3, 3)]:
        ours = (ct.grid.affine @ [*index, 1.0])[:3]
        assert tuple(ours) == pytest.approx(itk.TransformIndexToPhysicalPoint(index), abs=1e-4)
    np.testing.assert_allclose(ct.array, sitk.GetArrayFromImage(itk).T)


def test_a_missing_slice_is_named_by_its_neighbours_or_filled_by_name(make: Any) -> None:
    files = make.ct([0.0, 3.0, 6.0, 12.0, 15.0])
    with pytest.raises(DicomError, match=r"5 planes .* usually 3 mm, but 6 mm between ct2\.dcm and ct3\.dcm"):
        read_ct(files)
    ct = read_ct(files, irregular="resample")
    assert ct.grid.shape[2] == 6
    # Stored 0, 1, 2, 3, 4: half way between the third and the fourth lies 2.5.
    np.testing.assert_allclose(ct.array[0, 0], [2 * v - 1000 for v in (0, 1, 2, 2.5, 3, 4)])


def test_two_slices_at_one_place_are_always_refused(make: Any) -> None:
    files = make.ct([0.0, 3.0, 3.0, 6.0])
    for irregular in ("refuse", "resample"):
        with pytest.raises(DicomError, match=r"ct1\.dcm and ct2\.dcm lie at the same place"):
            read_ct(files, irregular=irregular)


def test_all_slices_that_do_not_fit_are_named_at_once(make: Any) -> None:
    good = make.ct([0.0, 3.0])
    bad = [
        *make.ct([6.0], prefix="size", shape=(4, 6)),
        *make.ct([9.0], prefix="spacing", PixelSpacing=[2.0, 3.1]),
        *make.ct([12.0], prefix="turned", ImageOrientationPatient=[1, 0, 0, 0, 0.8, 0.6]),
        *make.ct([15.0], prefix="series", SeriesInstanceUID="1.2.3.4.7"),
        *make.ct([18.0], prefix="frame", FrameOfReferenceUID="1.2.3.4.8"),
    ]
    with pytest.raises(DicomError) as caught:
        read_ct([*good, *bad])
    for words in (
        "frame0.dcm lies in frame of reference 1.2.3.4.8, not 1.2.3.4.999",
        "size0.dcm has 6×4 pixels, not 5×4",
        "spacing0.dcm has pixels of 3.1×2 mm, not 3×2 mm",
        "turned0.dcm is oriented differently",
        "series0.dcm belongs to series 1.2.3.4.7",
    ):
        assert words in str(caught.value)


def test_a_stack_that_leans_is_refused(make: Any) -> None:
    files = [make.ct([0.0], prefix=f"s{k}", ImagePositionPatient=[-10.0, 20.0 + k, 3.0 * k])[0] for k in range(3)]
    with pytest.raises(DicomError, match=r"s20\.dcm is shifted by 2 mm in its plane"):
        read_ct(files)


def test_a_single_slice_has_the_thickness_of_its_header(make: Any) -> None:
    assert read_ct(make.ct([5.0])).grid.spacing[2] == 3.0
    thin = make.ct([5.0], prefix="thin", SliceThickness=None)
    with pytest.raises(DicomError, match="slice_mm"):
        read_ct(thin)
    assert read_ct(thin, slice_mm=1.5).grid.spacing[2] == 1.5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"RescaleIntercept": None}, "RescaleIntercept is missing"),
        ({"RescaleSlope": "1e39", "PixelData": np.ones((4, 5), np.int16).tobytes()}, "beyond all bounds"),
        ({"ImagePositionPatient": None}, "ImagePositionPatient has no values"),
        ({"NumberOfFrames": 2}, "2 frames in one file"),
        ({"PixelData": b"\0\0"}, "PixelData: 2 bytes; 40 bytes"),
        ({"Modality": "MR"}, "modality MR; CT was expected"),
    ],
    ids=["intercept", "slope", "position", "frames", "pixels", "modality"],
)
def test_what_is_wrong_is_said_with_the_file(make: Any, wrong: dict[str, Any], message: str) -> None:
    files = [*make.ct([0.0, 3.0], prefix="good"), *make.ct([6.0], prefix="bad", **wrong)]
    with pytest.raises(DicomError, match=f"^bad0.dcm: .*{message}"):
        read_ct(files)


def test_no_files_are_no_series() -> None:
    with pytest.raises(DicomError, match="without files"):
        read_ct([])


def test_compressed_pixels_are_refused_by_their_syntax(make: Any, tmp_path: Path) -> None:
    import pydicom

    (path,) = make.ct([0.0])
    dataset = pydicom.dcmread(path)
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.JPEGLosslessSV1
    dataset.PixelData = pydicom.encaps.encapsulate([b"\xff\xd8\xff\xd9"])
    dataset["PixelData"].VR = "OB"
    dataset.save_as(tmp_path / "jpeg.dcm")
    with pytest.raises(
        DicomError, match=r"jpeg.dcm: pixel data is compressed \(transfer syntax 1.2.840.10008.1.2.4.70\)"
    ):
        read_ct([tmp_path / "jpeg.dcm"])
