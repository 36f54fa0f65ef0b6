from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics._blobs import Blobs, lesions
from isocenter.metrics._point_hits import Mark, _distances, _indices, match_points, patient_call
from isocenter.volumes import Grid

GOLDEN = Path(__file__).parents[1] / "golden" / "detection"
GRID = Grid((40, 40, 10), spacing=(0.5, 0.5, 3.0), origin=(-10.0, 20.0, -7.0))


def label(*boxes: Any, grid: Grid = GRID) -> np.ndarray:
    array = np.zeros(grid.shape, np.uint8)
    for box in boxes:
        array[box] = 1
    return array


def at(*index: float, grid: Grid = GRID, pirads: int = 4) -> Mark:
    x, y, z = grid.affine[:3, :3] @ index + grid.affine[:3, 3]
    return Mark((x, y, z), pirads)


def test_inside_is_no_distance_and_outside_it_is_that_to_the_boundary() -> None:
    lesion = label(np.s_[10:20, 10:20, 4])
    for index, distance in {
        (15, 15, 4): 0.0,
        (15.3, 19.5, 4.5): 0.0,  # on the boundary
        (15, 15, 5): 1.5,  # the next slice: half of it
        (15, 21.5, 4): 1.0,
        (21.5, 21.5, 4): math.sqrt(2.0),
        (25.5, 15, 5.5): math.hypot(3.0, 3.0),
    }.items():
        assert match_points([at(*index)], lesion, grid=GRID) == [(1, 4.0, pytest.approx(distance, abs=1e-9))]


def test_five_millimetres_are_a_hit_and_a_hair_more_is_not() -> None:
    lesion = label(np.s_[10:20, 10:20, 4])
    assert match_points([at(29.5, 15, 4)], lesion, grid=GRID) == [(1, 4.0, pytest.approx(5.0))]
    assert match_points([at(29.5 + 1e-6, 15, 4)], lesion, grid=GRID)[0].confidence == 4.0
    assert match_points([at(29.5 + 1e-5, 15, 4)], lesion, grid=GRID) == [(1, 0.0, math.inf), (0, 4.0, math.inf)]
    assert match_points([at(29.5, 15, 4)], lesion, grid=GRID, margin_mm=4.9)[0].confidence == 0.0


def test_the_closest_mark_counts_and_the_others_on_the_lesion_are_dropped() -> None:
    lesion = label(np.s_[10:20, 10:20, 4])
    marks = [at(24, 15, 4, pirads=5), at(21, 15, 4, pirads=3), at(39, 39, 9, pirads=3)]
    assert match_points(marks, lesion, grid=GRID) == [(1, 3.0, pytest.approx(0.75)), (0, 3.0, math.inf)]


def test_of_equally_close_marks_the_higher_pirads_counts() -> None:
    lesion = label(np.s_[10:20, 10:20, 4])
    for marks in itertools.permutations([at(12, 12, 4, pirads=q) for q in (3, 5, 4)]):
        assert match_points(list(marks), lesion, grid=GRID) == [(1, 5.0, 0.0)]


def test_two_lesions_are_found_if_two_marks_can_find_them() -> None:
    # The first mark is inside one lesion and near the other; the second is near the first lesion only.
    lesion = label(np.s_[10:14, 10:14, 4], np.s_[16:20, 10:14, 4])
    found = match_points([at(13, 12, 4, pirads=5), at(5.5, 12, 4, pirads=3)], lesion, grid=GRID)
    assert found == [(1, 3.0, pytest.approx(2.0)), (1, 5.0, pytest.approx(1.25))]


def test_marks_below_the_operating_point_are_gone_before_anything_is_matched() -> None:
    lesion = label(np.s_[10:20, 10:20, 4])
    marks = [at(15, 15, 4, pirads=3), at(24, 15, 4, pirads=4), at(39, 39, 9, pirads=3)]
    found = {t: match_points(marks, lesion, grid=GRID, threshold=t) for t in (3, 4, 5)}
    assert found[3] == [(1, 3.0, 0.0), (0, 3.0, math.inf)]
    assert found[4] == [(1, 4.0, pytest.approx(2.25))]
    assert found[5] == [(1, 0.0, math.inf)]
    assert [patient_call(marks, threshold=t) for t in (3, 4, 5)] == [True, True, False]
    assert not patient_call([])


def test_a_reading_without_marks_or_without_lesions() -> None:
    assert match_points([], label(), grid=GRID) == []
    assert match_points([], label(np.s_[1, 1, 1]), grid=GRID) == [(1, 0.0, math.inf)]
    assert match_points([at(1, 1, 1, pirads=5)], label(), grid=GRID) == [(0, 5.0, math.inf)]


def test_too_many_marks_are_refused_even_below_the_threshold() -> None:
    marks = [at(n, n, 1, pirads=3) for n in range(5)]
    with pytest.raises(ValueError, match="at most 4 marks, not 5"):
        match_points(marks, label(), grid=GRID, threshold=5)
    assert len(match_points(marks, label(), grid=GRID, max_marks=None)) == 5


def test_all_impossible_marks_are_named() -> None:
    marks = [Mark((0.0, 0.0, 0.0), 2), Mark((0.0, 30.0, 0.0), 4), Mark((0.0, math.nan, 0.0), 4)]
    with pytest.raises(ValueError, match=r"mark 1 .* LPS.*mark 3") as error:
        match_points(marks, label(), grid=GRID)
    assert "mark 1 has PI-RADS 2, expected 3, 4 or 5" in str(error.value)
    assert "mark 1 at (0, 0, 0) mm has index (20.0, -40.0, 2.3), outside the image of 40×40×10" in str(error.value)
    assert "mark 2" not in str(error.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"threshold": 2}, "PI-RADS 3, 4 or 5, not 2"),
        ({"margin_mm": -1.0}, "distance in mm, not -1.0"),
        ({"margin_mm": math.inf}, "distance in mm, not inf"),
        ({"grid": Grid((10, 40, 40))}, r"label has shape \(40, 40, 10\), its grid \(10, 40, 40\)"),
    ],
)
def test_impossible_questions_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        match_points([at(1, 1, 1)], label(), **{"grid": GRID, **wrong})
    with pytest.raises(ValueError, match="PI-RADS 3, 4 or 5, not 6"):
        patient_call([at(1, 1, 1)], threshold=6)


# A patient who lies askew: the columns are perpendicular unit vectors.
TURNED = Grid(
    (7, 6, 5), spacing=(0.7, 1.1, 3.0), origin=(5.0, -8.0, 30.0), direction=(0.8, 0.6, 0, -0.6, 0.8, 0, 0, 0, -1)
)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=6),
    st.tuples(st.floats(-0.5, 6.5), st.floats(-0.5, 5.5), st.floats(-0.5, 4.5)),
)
@settings(deadline=None)
def test_distances_are_those_to_the_nearest_point_of_the_boxes(voxels: Any, index: Any) -> None:
    lesion = lesions(label(*voxels, grid=TURNED))
    mark = at(*index, grid=TURNED)
    matrix = TURNED.affine
    expected = [math.inf] * lesion.count
    for voxel, part in zip(lesion.voxels, lesion.parts, strict=True):
        centre = np.array(lesion.index(int(voxel)))
        nearest = matrix[:3, :3] @ np.clip(index, centre - 0.5, centre + 0.5) + matrix[:3, 3]
        expected[part - 1] = min(expected[part - 1], float(np.linalg.norm(nearest - mark.position)))
    found = _distances(lesion, _indices([mark], TURNED), TURNED)
    assert found[:, 0].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("number", range(4))
def test_without_a_margin_as_many_lesions_are_hit_as_in_monai(number: int) -> None:
    golden = json.loads((GOLDEN / "expected_froc_peers.json").read_text())["monai_points"][number]
    z, y, x = golden["mask_shape"]
    order = sorted((voxel, part) for part, voxels in enumerate(golden["mask_rle"], start=1) for voxel in voxels)
    truth = Blobs(
        (z, y, x), np.array([v for v, _ in order]), np.array([p for _, p in order], np.int32), len(golden["mask_rle"])
    )
    grid = Grid((z, y, x))
    marks = [at(*index, grid=grid) for index in golden["coords_zyx"]]
    rows = match_points(marks, truth, grid=grid, margin_mm=0.0, max_marks=None)
    assert sum(row.is_lesion == 1 and row.confidence > 0 for row in rows) == np.count_nonzero(golden["tp_probs"])
    assert sum(row.is_lesion for row in rows) == golden["num_targets"]
    assert sum(row.is_lesion == 0 for row in rows) == len(golden["fp_probs"])
