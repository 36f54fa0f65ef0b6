"""RTDOSE: the right gray at the right millimetre, or a refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk

from isocenter.volumes import Volume
from isocenter.volumes.dicom import DicomError, read_dose

CORONAL = [1.0, 0.0, 0.0, 0.0, 0.0, -1.0]
FEET_FIRST = [-1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
OBLIQUE = [0.8, 0.6, 0.0, -0.6, 0.8, 0.0]


def at(volume: Volume, *index: int) -> tuple[float, float, float]:
    """Where a voxel lies, LPS mm."""
    x, y, z = (volume.grid.affine @ [*index, 1.0])[:3]
    return (float(x), float(y), float(z))


def test_dose_is_the_stored_number_times_the_scaling_in_gray(make: Any) -> None:
    dose = read_dose(make.dose())
    assert dose.array.dtype == np.float64
    # 3 frames of 4 rows of 5 columns, counting up: column 4 of row 1 of frame 2 holds 2·20 + 1·5 + 4.
    assert dose.array.shape == (5, 4, 3)
    assert dose.array[4, 1, 2] == (2 * 20 + 1 * 5 + 4) * 0.5


def test_pixel_spacing_is_rows_first_and_axes_are_columns_first(make: Any) -> None:
    dose = read_dose(make.dose())
    assert dose.grid.spacing == (3.0, 2.0, 4.0)
    assert at(dose, 0, 0, 0) == (-10.0, 20.0, 30.0)
    assert at(dose, 1, 2, 2) == (-10.0 + 3.0, 20.0 + 2 * 2.0, 30.0 + 2 * 4.0)


def test_32_bits_keep_their_precision(make: Any) -> None:
    stored = np.array([[[4_000_000_001, 7]], [[0, 1]]], dtype=np.uint32)
    dose = read_dose(make.dose(stored, DoseGridScaling="1e-8"))
    assert dose.array[0, 0, 0] == pytest.approx(40.00000001, rel=1e-15)
    assert dose.array[1, 0, 0] == pytest.approx(7e-8, rel=1e-15)


def test_absolute_offsets_are_z_coordinates(make: Any) -> None:
    relative = read_dose(make.dose())
    absolute = read_dose(make.dose(offsets=[30.0, 34.0, 38.0]))
    assert absolute.grid == relative.grid
    np.testing.assert_array_equal(absolute.array, relative.array)


@pytest.mark.parametrize("offsets", [[0.0, -4.0, -8.0], [30.0, 26.0, 22.0]], ids=["relative", "absolute"])
def test_descending_offsets_put_every_frame_where_it_belongs(make: Any, offsets: list[float]) -> None:
    dose = read_dose(make.dose(offsets=offsets))
    assert dose.grid.spacing[2] == 4.0
    assert at(dose, 0, 0, 2) == (-10.0, 20.0, 30.0)
    assert at(dose, 0, 0, 0) == (-10.0, 20.0, 22.0)
    assert dose.array[0, 0, 2] == 0.0  # the first frame of the file is now the last
    assert dose.array[0, 0, 0] == 40 * 0.5
    assert np.linalg.det(np.reshape(dose.grid.direction, (3, 3))) == pytest.approx(1.0)


def test_offsets_of_a_feet_first_dose_run_along_its_normal(make: Any) -> None:
    # The cross product of (-1, 0, 0) and (0, 1, 0) points to the feet.
    relative = read_dose(make.dose(ImageOrientationPatient=FEET_FIRST))
    assert at(relative, 1, 1, 1) == (-13.0, 22.0, 26.0)
    # z coordinates mean the same whichever way the normal points.
    absolute = read_dose(make.dose(ImageOrientationPatient=FEET_FIRST, offsets=[30.0, 34.0, 38.0]))
    assert at(absolute, 0, 0, 2) == (-10.0, 20.0, 30.0)
    assert at(absolute, 0, 0, 0) == (-10.0, 20.0, 38.0)
    assert absolute.array[0, 0, 2] == 0.0


@pytest.mark.parametrize("orientation", [CORONAL, FEET_FIRST, OBLIQUE], ids=["coronal", "feet-first", "oblique"])
def test_any_orientation_lies_where_itk_says(make: Any, orientation: list[float]) -> None:
    path = make.dose(ImageOrientationPatient=orientation)
    dose, itk = read_dose(path), sitk.ReadImage(str(path))
    assert dose.grid.shape == itk.GetSize()
    for index in [(0, 0, 0), (4, 0, 0), (0, 3, 0), (0, 0, 2), (4, 3, 2)]:
        assert at(dose, *index) == pytest.approx(itk.TransformIndexToPhysicalPoint(index), abs=1e-9)
    # ITK places the stored numbers; it leaves the scaling to others.
    np.testing.assert_array_equal(dose.array, sitk.GetArrayFromImage(itk).T * 0.5)


def test_absolute_offsets_of_a_coronal_dose_mean_nothing(make: Any) -> None:
    path = make.dose(ImageOrientationPatient=CORONAL, offsets=[30.0, 34.0, 38.0])
    with pytest.raises(DicomError, match="only for transverse planes"):
        read_dose(path)


def test_irregular_frames_are_refused_unless_resampled_by_name(make: Any) -> None:
    # 60 numbers in frames at 0, 2, 4 and 8 mm: dose in a frame is 10 × its place, plus 1 at one voxel.
    stored = np.stack([np.full((4, 5), v, dtype=np.uint16) for v in (0, 40, 80, 160)])
    path = make.dose(stored, offsets=[0.0, 2.0, 4.0, 8.0])
    with pytest.raises(DicomError, match=r"usually 2 mm, but 4 mm between 4 mm and 8 mm.*irregular=\"resample\""):
        read_dose(path)
    dose = read_dose(path, irregular="resample")
    assert dose.grid.spacing[2] == 2.0
    np.testing.assert_allclose(dose.array[2, 2], [0.0, 20.0, 40.0, 60.0, 80.0])


def test_resampling_keeps_both_ends(make: Any) -> None:
    stored = np.stack([np.full((1, 1), v, dtype=np.uint16) for v in (0, 2, 5, 7, 10)])
    dose = read_dose(make.dose(stored, offsets=[0.0, 2.0, 5.0, 7.0, 10.0], DoseGridScaling=1), irregular="resample")
    assert at(dose, 0, 0, 0)[2] == 30.0
    assert at(dose, 0, 0, dose.grid.shape[2] - 1)[2] == pytest.approx(40.0)
    # A linear dose stays linear.
    places = dose.grid.spacing[2] * np.arange(dose.grid.shape[2])
    np.testing.assert_allclose(dose.array[0, 0], places)


def test_rounded_positions_are_still_regular(make: Any) -> None:
    dose = read_dose(make.dose(offsets=[0.0, 4.01, 7.99]))
    assert dose.grid.spacing[2] == pytest.approx(3.995)


def test_a_single_frame_needs_a_thickness(make: Any) -> None:
    frame = np.ones((1, 4, 5), dtype=np.uint16)
    path = make.dose(frame, GridFrameOffsetVector=None, NumberOfFrames=None, FrameIncrementPointer=None)
    with pytest.raises(DicomError, match="slice_mm"):
        read_dose(path)
    assert read_dose(path, slice_mm=2.5).grid.spacing[2] == 2.5
    thick = make.dose(frame, GridFrameOffsetVector=None, SliceThickness=5.0)
    assert read_dose(thick).grid.spacing[2] == 5.0


def test_relative_doses_need_their_unit(make: Any) -> None:
    path = make.dose(DoseUnits="RELATIVE")
    with pytest.raises(DicomError, match=r"RELATIVE; GY was expected\. Export .* from Python only, .*relative_unit_gy"):
        read_dose(path)
    assert read_dose(path, relative_unit_gy=2.0).array.max() == 59 * 0.5 * 2.0
    with pytest.raises(DicomError, match="DoseUnits is GY"):
        read_dose(make.dose(), relative_unit_gy=2.0)


def test_big_endian_and_signed_pixels(make: Any, tmp_path: Any) -> None:
    import pydicom

    path = make.dose(np.array([[[-2, 300]]], dtype=np.int16), offsets=[0.0], PixelRepresentation=1, SliceThickness=1)
    assert read_dose(path).array.ravel().tolist() == [-1.0, 150.0]
    big = pydicom.dcmread(path)
    big.PixelData = np.array([[[-2, 300]]], dtype=">i2").tobytes()
    big.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRBigEndian
    pydicom.dcmwrite(tmp_path / "big.dcm", big)
    assert read_dose(tmp_path / "big.dcm").array.ravel().tolist() == [-1.0, 150.0]


def test_bits_above_those_stored_do_not_count(make: Any) -> None:
    # 12 bits stored in 16: the upper four held overlays once.
    stored = np.array([[[0xF001, 0x0FFF]]], dtype=np.uint16)
    dose = read_dose(make.dose(stored, BitsStored=12, HighBit=11, SliceThickness=1, DoseGridScaling=1))
    assert dose.array.ravel().tolist() == [1.0, 4095.0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"DoseGridScaling": None}, "DoseGridScaling is missing"),
        ({"DoseGridScaling": 0}, "DoseGridScaling must be positive"),
        ({"DoseGridScaling": "1e308"}, "beyond all bounds"),
        ({"DoseUnits": None}, "DoseUnits is missing"),
        ({"DoseUnits": "CGY"}, "DoseUnits is CGY; GY or RELATIVE was expected"),
        ({"GridFrameOffsetVector": None}, "no values for 3 frames"),
        ({"GridFrameOffsetVector": [0, 4]}, "2 values for 3 frames"),
        ({"GridFrameOffsetVector": [0, 4, 4]}, "neither ascends nor descends"),
        ({"GridFrameOffsetVector": [0, 4, -4]}, "neither ascends nor descends"),
        ({"GridFrameOffsetVector": [7, 11, 15]}, r"starts at 7; 0 \(relative\) or 30"),
        ({"ImagePositionPatient": None}, "ImagePositionPatient has no values"),
        ({"ImageOrientationPatient": [1, 0, 0, 1, 0, 0]}, "perpendicular"),
        ({"ImageOrientationPatient": [1, 0, 0, 0, 1]}, "5 values; 6 were expected"),
        ({"ImagePositionPatient": ["1e10", 0, 0]}, "origin must be three finite numbers"),
        ({"PixelSpacing": [0, 3]}, "PixelSpacing must be positive"),
        ({"PixelSpacing": None}, "PixelSpacing has no values"),
        ({"Rows": 5}, "PixelData: 120 bytes; 150 bytes were expected"),
        ({"NumberOfFrames": 60_000}, "PixelData"),
        ({"NumberOfFrames": 0}, "at least one"),
        ({"Rows": 65535, "Columns": 65535}, "would take more than"),
        ({"PixelData": None}, "PixelData: missing"),
        ({"BitsAllocated": 12}, "8, 16 or 32"),
        ({"SamplesPerPixel": 3}, "one sample"),
        ({"Modality": "MR"}, "modality MR; RTDOSE was expected"),
    ],
    ids=lambda value: "" if isinstance(value, str) else "-".join(f"{k}={v}" for k, v in value.items()),
)
def test_what_is_wrong_is_said_with_the_file(make: Any, wrong: dict[str, Any], message: str) -> None:
    path = make.dose(**wrong)
    with pytest.raises(DicomError, match=message) as caught:
        read_dose(path)
    assert str(caught.value).startswith("dose.dcm: ")
