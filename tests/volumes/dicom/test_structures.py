"""RTSTRUCT: what is kept, what is left out with a remark, what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pydicom
import pytest

from isocenter.volumes import Grid
from isocenter.volumes.dicom import AmbiguousStudyError, DicomError, partial_volumes, read_structures, roi_mask


def square(low: float, high: float, z: float) -> np.ndarray:
    return np.array([[low, low, z], [high, low, z], [high, high, z], [low, high, z]], dtype=float)


def test_contours_are_kept_as_drawn(make: Any) -> None:
    path = make.structures({"PTV": [square(0, 10, 0), square(0, 12.25, 3)], "Cord": [square(-3, 3, 0)]})
    drawn = read_structures(path)
    assert [roi.label for roi in drawn] == ["PTV", "Cord"]
    np.testing.assert_array_equal(drawn["PTV"].contours[1], square(0, 12.25, 3))
    assert drawn[2].name == "Cord"
    assert len(drawn) == 2


def test_an_unknown_name_is_an_error_that_lists_what_there_is(make: Any) -> None:
    drawn = read_structures(make.structures({"PTV": [square(0, 1, 0)], "Cord": []}))
    with pytest.raises(DicomError, match="no structure 'ptv'; it has PTV, Cord"):
        drawn["ptv"]


def test_two_rois_of_one_name_are_told_apart_by_number(make: Any) -> None:
    drawn = read_structures(make.structures([("PTV", [square(0, 1, 0)]), ("PTV", [square(0, 2, 0)]), ("Cord", [])]))
    assert [roi.label for roi in drawn] == ["PTV (ROI 1)", "PTV (ROI 2)", "Cord"]
    with pytest.raises(AmbiguousStudyError, match=r"2 structures 'PTV': PTV \(ROI 1\), PTV \(ROI 2\)"):
        drawn["PTV"]
    assert drawn["PTV (ROI 2)"] is drawn[2]


@pytest.mark.parametrize("kind", ["POINT", "OPEN_PLANAR", "OPEN_NONPLANAR", "SPLINE"])
def test_what_encloses_nothing_is_left_out_with_a_remark(make: Any, kind: str) -> None:
    (roi,) = read_structures(make.structures({"Isocenter": [square(0, 1, 0)]}, kind=kind))
    assert roi.contours == ()
    assert roi.remarks == (f"1 contour of type {kind} left out", "has no closed contour")


def test_an_empty_roi_is_kept_and_says_so(make: Any) -> None:
    (roi,) = read_structures(make.structures({"Planned": []}))
    assert roi.contours == ()
    assert roi.remarks == ("has no closed contour",)


def test_fewer_than_three_different_points_are_no_contour(make: Any) -> None:
    line = np.array([[0.0, 0, 0], [5, 5, 0], [0, 0, 0], [5, 5, 0]])
    (roi,) = read_structures(make.structures({"PTV": [line, square(0, 9, 0), line[:1]]}))
    assert len(roi.contours) == 1
    assert roi.remarks == ("2 contours of fewer than three points left out",)


def test_a_contour_drawn_twice_counts_once(make: Any) -> None:
    """By the even-odd rule it would otherwise erase itself."""
    first = square(0, 9, 0)
    again = np.roll(first[::-1], 1, axis=0)  # other start, other way round
    closed = np.vstack([first, first[:1]])
    other = first[[0, 2, 1, 3]]  # the same points in another order are another shape
    (roi,) = read_structures(make.structures({"PTV": [first, again, closed, other, square(0, 9, 3)]}))
    assert len(roi.contours) == 3
    assert roi.remarks == ("2 contours drawn twice left out",)


def test_the_usual_distance_of_planes_is_that_of_the_roi(make: Any) -> None:
    def stack(*places: float) -> list[np.ndarray]:
        return [square(0, 9, z) for z in places]

    drawn = read_structures(
        make.structures(
            {
                "every slice": stack(0, 3, 6, 9, 12),
                "every second": stack(0, 6, 12, 18),
                "with a gap": stack(0, 3, 6, 30, 33, 36),
                "two planes": stack(0, 3),
                "two far planes": stack(0, 60),
                "one plane": stack(0),
                "none": [],
            }
        )
    )
    assert {roi.name: roi.spacing_mm for roi in drawn} == {
        "every slice": 3.0,
        "every second": 6.0,
        "with a gap": 3.0,
        "two planes": 3.0,
        "two far planes": 3.0,  # that of the structure set
        "one plane": 3.0,
        "none": 3.0,
    }


def test_a_single_plane_in_the_whole_set_has_no_distance(make: Any) -> None:
    (roi,) = read_structures(make.structures({"PTV": [square(0, 9, 0), square(20, 29, 0)]}))
    assert roi.spacing_mm is None


def test_names_are_decoded_as_the_file_says(make: Any) -> None:
    drawn = read_structures(make.structures({"Rückenmark": []}, SpecificCharacterSet="ISO_IR 192"))
    assert drawn.rois[0].name == "Rückenmark"


def test_kinds_of_rois_are_those_of_the_observations(make: Any) -> None:
    observation = pydicom.Dataset()
    observation.ObservationNumber, observation.ReferencedROINumber = 1, 1
    observation.RTROIInterpretedType = "PTV"
    drawn = read_structures(make.structures({"a": [], "b": []}, RTROIObservationsSequence=[observation]))
    assert [roi.kind for roi in drawn] == ["PTV", ""]


def damaged(path: Any, change: Any) -> Any:
    dataset = pydicom.dcmread(path)
    change(dataset)
    dataset.save_as(path)
    return path


def test_contours_of_an_unknown_roi_are_refused(make: Any) -> None:
    path = make.structures({"PTV": [square(0, 9, 0)]})
    damaged(path, lambda d: setattr(d.ROIContourSequence[0], "ReferencedROINumber", 7))
    with pytest.raises(DicomError, match=r"structures.dcm: contours of ROI 7, which"):
        read_structures(path)


def test_a_number_twice_is_refused(make: Any) -> None:
    path = make.structures({"PTV": [], "Cord": []})
    damaged(path, lambda d: setattr(d.StructureSetROISequence[1], "ROINumber", 1))
    with pytest.raises(DicomError, match="ROI number 1 stands in StructureSetROISequence twice"):
        read_structures(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"1234.5", b"12x4.5", "ContourData has the value '12x4.5'"),
        (b"1234.5", b"   nan", "ContourData has the value '   nan'"),
        (b"1234.5", b"1_34.5", "ContourData has the value '1_34.5'"),
        (b"1234.5", b"1e9999", "not finite"),
        (b"1234.5", b"1e0009", "1e[+]09 mm away from the origin"),
        (b"1234.5", b"1\\34.5", "13 numbers, which are not triples"),
    ],
)
def test_a_contour_that_is_not_triples_of_plain_numbers_costs_its_roi_and_no_other(
    make: Any, old: bytes, new: bytes, message: str
) -> None:
    contour = square(0, 9, 0)
    contour[2, 0] = 1234.5
    path = make.structures({"PTV": [square(0, 9, 3), contour], "Cord": [square(0, 4, 0)]})
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))
    ptv, cord = read_structures(path)
    assert re.search(message, ptv.problem)
    assert ptv.contours == ()
    for paint in (roi_mask, partial_volumes):
        with pytest.raises(DicomError, match=f"'PTV': .*{message}"):
            paint(ptv, Grid((4, 4, 4)))
    assert (cord.problem, len(cord.contours)) == ("", 1)
    assert roi_mask(cord, Grid((4, 4, 4))).weights.any()


@pytest.mark.parametrize(
    "start", [b"", b"\xfe\xff\0\xe0\0\0\0\0", b"\xfe\xff\0\xe0\0\x09\x3d\0"], ids=["none", "one", "in one"]
)
def test_a_sequence_of_zeros_is_refused_and_not_taken_for_items(make: Any, start: bytes) -> None:
    path = make.structures({"PTV": []}, StructureSetROISequence=None, ROIContourSequence=None)
    sequence = start + b"\0" * 4_000_000
    path.write_bytes(path.read_bytes() + b"\x06\x30\x20\0" + len(sequence).to_bytes(4, "little") + sequence)
    with pytest.raises(DicomError, match="StructureSetROISequence is damaged: it holds something that is not an item"):
        read_structures(path)


def test_another_modality_is_refused(make: Any) -> None:
    with pytest.raises(DicomError, match=r"dose.dcm: modality RTDOSE; RTSTRUCT was expected"):
        read_structures(make.dose())
