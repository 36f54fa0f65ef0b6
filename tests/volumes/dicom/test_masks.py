"""Contours to voxels: the even-odd rule, whose voxel an edge is, slabs, and parts of voxels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isocenter.volumes import Grid
from isocenter.volumes.dicom import DicomError, Roi, partial_volumes, roi_mask

# Voxel centres at whole numbers in the plane, slices of 2 mm.
GRID = Grid((24, 20, 6), spacing=(1.0, 1.0, 2.0))
# Nothing here is a round number: 2.7 mm voxels somewhere in an oblique patient.
ODD = Grid(
    (24, 20, 6),
    spacing=(2.7, 0.9, 3.3),
    origin=(-17.3, 41.9, -655.1),
    direction=(0.8, -0.6, 0.0, 0.6, 0.8, 0.0, 0.0, 0.0, 1.0),
)


def roi(*contours: np.ndarray, spacing_mm: float | None = 2.0) -> Roi:
    return Roi(1, "PTV", "PTV", tuple(np.asarray(contour, dtype=float) for contour in contours), spacing_mm)


def flat(points: np.ndarray, z: float = 0.0) -> np.ndarray:
    """2-D points on a plane."""
    return np.column_stack([points, np.full(len(points), z)])


def rectangle(x0: float, y0: float, x1: float, y1: float, z: float = 0.0) -> np.ndarray:
    return flat(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], dtype=float), z)


def circle(x: float, y: float, radius: float, *, corners: int = 200, turn: float = 0.0) -> np.ndarray:
    angle = 2 * math.pi * (np.arange(corners) / corners + turn)
    return np.column_stack([x + radius * np.cos(angle), y + radius * np.sin(angle)])


def on_grid(contour: np.ndarray, grid: Grid) -> np.ndarray:
    """A contour in voxel indices, as LPS mm of a grid."""
    return contour @ grid.affine[:3, :3].T + grid.affine[:3, 3]


def shoelace(points: np.ndarray) -> float:
    x, y = points[:, 0], points[:, 1]
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def inside(points: np.ndarray, x: float, y: float) -> bool:
    """The even-odd rule in its plainest form, with exact fractions: count the edges to the left of a point."""
    from fractions import Fraction

    crossed = 0
    for (ax, ay), (bx, by) in zip(points, np.roll(points, -1, axis=0), strict=True):
        (lx, ly), (hx, hy) = sorted([(ax, ay), (bx, by)], key=lambda p: p[1])
        if ly <= y < hy:
            where = Fraction(lx) + (Fraction(y) - Fraction(ly)) * (Fraction(hx) - Fraction(lx)) / (
                Fraction(hy) - Fraction(ly)
            )
            crossed += where <= x
    return crossed % 2 == 1


eighths = st.integers(-24, 24 * 8).map(lambda n: n / 8)
polygons = st.lists(st.tuples(eighths, eighths), min_size=3, max_size=12).map(np.array)


@settings(deadline=None, max_examples=60)
@given(polygons)
def test_a_voxel_belongs_if_its_centre_is_inside(points: np.ndarray) -> None:
    mask = roi_mask(roi(flat(points)), GRID).weights[:, :, 0]
    expected = [[inside(points, i, j) for j in range(20)] for i in range(24)]
    np.testing.assert_array_equal(mask, expected)


@settings(deadline=None, max_examples=60)
@given(polygons, st.integers(-3, 3), st.integers(-3, 3))
def test_a_contour_moved_by_whole_voxels_moves_its_mask(points: np.ndarray, dx: int, dy: int) -> None:
    """Also on a grid where no coordinate of any voxel is a round number."""
    points = np.clip(points, 4, 15)
    moved = points + np.array([dx, dy])
    masks = [roi_mask(roi(on_grid(flat(p, 1), ODD), spacing_mm=3.3), ODD).weights[:, :, 1] for p in (points, moved)]
    np.testing.assert_array_equal(np.roll(masks[0], (dx, dy), axis=(0, 1)), masks[1])
    np.testing.assert_array_equal(masks[0], roi_mask(roi(flat(points)), GRID).weights[:, :, 0])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(eighths, eighths), min_size=2, max_size=6), st.booleans())
def test_parts_that_share_an_edge_share_no_voxel_and_lose_none(cut: list[tuple[float, float]], turned: bool) -> None:
    """A square cut along any path: each half drawn in its own direction."""
    path = np.array([(0.0, 10.0), *cut, (19.0, 10.0)])
    assume(len(np.unique(path, axis=0)) == len(path))
    low = np.vstack([path, [[19.0, 0.0], [0.0, 0.0]]])
    high = np.vstack([path[::-1], [[0.0, 19.0], [19.0, 19.0]]])
    halves = [roi_mask(roi(flat(p[::-1] if turned else p)), GRID).weights for p in (low, high)]
    whole = roi_mask(roi(rectangle(0, 0, 19, 19)), GRID).weights
    # The path may leave the square, cross itself and come back: by the even-odd rule that cancels in both halves.
    np.testing.assert_array_equal(halves[0] ^ halves[1], whole)


def test_a_straight_cut_gives_two_disjoint_halves() -> None:
    low = roi_mask(roi(flat(np.array([(0, 0), (19, 0), (19, 12), (0, 5)]))), GRID).weights
    high = roi_mask(roi(flat(np.array([(0, 5), (19, 12), (19, 19), (0, 19)]))), GRID).weights
    assert not (low & high).any()
    np.testing.assert_array_equal(low | high, roi_mask(roi(rectangle(0, 0, 19, 19)), GRID).weights)


@pytest.mark.parametrize("shift", [0.0, 0.5, 0.25], ids=["through centres", "along voxel edges", "between"])
def test_a_square_has_as_many_voxels_as_its_size_says(shift: float) -> None:
    mask = roi_mask(roi(rectangle(3 + shift, 4 + shift, 8 + shift, 7 + shift)), GRID).weights
    assert mask.sum() == 15


def test_a_single_voxel_drawn_along_its_edges_is_that_voxel() -> None:
    mask = roi_mask(roi(rectangle(6.5, 7.5, 7.5, 8.5)), GRID).weights
    assert np.argwhere(mask).tolist() == [[7, 8, 0]]


def test_a_contour_in_a_contour_is_a_hole_and_one_in_that_an_island() -> None:
    nested = roi(rectangle(1, 1, 13, 13), rectangle(3, 3, 11, 11), rectangle(5, 5, 8, 8))
    mask = roi_mask(nested, GRID).weights
    assert mask.sum() == 144 - 64 + 9
    assert mask[6, 6, 0]
    assert not mask[4, 4, 0]


def test_a_keyhole_is_the_ring_that_it_means() -> None:
    ring = roi(rectangle(1, 1, 13, 13), rectangle(3, 3, 11, 11))
    outer = [(1, 7), (1, 1), (13, 1), (13, 13), (1, 13), (1, 7)]
    inner = [(3, 7), (3, 11), (11, 11), (11, 3), (3, 3), (3, 7)]
    keyhole = roi(flat(np.array([*outer, *inner], dtype=float)))
    np.testing.assert_array_equal(roi_mask(keyhole, GRID).weights, roi_mask(ring, GRID).weights)
    np.testing.assert_allclose(partial_volumes(keyhole, GRID).weights, partial_volumes(ring, GRID).weights, atol=1e-12)


def test_contours_that_overlap_without_nesting_are_pointed_out() -> None:
    overlapping = roi_mask(roi(rectangle(1, 1, 6, 6), rectangle(4, 4, 9, 9)), GRID)
    assert overlapping.weights.sum() == 25 + 25 - 2 * 4
    assert overlapping.remarks == ("contours overlap on 1 plane; by the even-odd rule what two share is outside",)
    for drawn in (
        roi(rectangle(1, 1, 9, 9), rectangle(2, 2, 6, 6)),  # a hole
        roi(rectangle(1, 1, 6, 6), rectangle(6, 1, 9, 6)),  # neighbours with a common edge
        roi(rectangle(1, 1, 6, 6), rectangle(4, 4, 9, 9, 2.0)),  # on two planes
    ):
        assert roi_mask(drawn, GRID).remarks == ()


def test_contours_on_every_slice_fill_their_slices() -> None:
    mask = roi_mask(roi(*(rectangle(2, 2, 6, 6, z) for z in (2.0, 4.0, 6.0))), GRID).weights
    assert mask.any(axis=(0, 1)).tolist() == [False, True, True, True, False, False]


def test_contours_on_every_second_slice_are_twice_as_thick() -> None:
    fine = Grid((24, 20, 12), spacing=(1.0, 1.0, 1.0))
    drawn = roi(*(rectangle(2, 2, 6, 6, z) for z in (2.0, 4.0, 6.0)))
    mask = roi_mask(drawn, fine).weights
    # Slabs [1, 3), [3, 5), [5, 7): a slice half way between two contours belongs to the upper one.
    assert np.flatnonzero(mask.any(axis=(0, 1))).tolist() == [1, 2, 3, 4, 5, 6]
    assert mask.sum() * fine.voxel_volume == 16 * 6.0


def test_the_slice_between_two_contours_has_the_shape_of_the_nearer_one() -> None:
    fine = Grid((24, 20, 16), spacing=(1.0, 1.0, 0.5), origin=(0.0, 0.0, 0.25))
    mask = roi_mask(roi(rectangle(2, 2, 6, 6, 2.0), rectangle(2, 2, 9, 9, 4.0)), fine).weights
    assert mask.sum(axis=(0, 1)).tolist() == [0, 0, 16, 16, 16, 16, 49, 49, 49, 49, 0, 0, 0, 0, 0, 0]


def test_a_coarse_grid_takes_the_contour_in_whose_slab_its_centre_lies() -> None:
    coarse = Grid((24, 20, 3), spacing=(1.0, 1.0, 5.0))
    drawn = roi(*(rectangle(0, 0, 2 + z, 3, z) for z in range(11)), spacing_mm=1.0)
    assert roi_mask(drawn, coarse).weights.sum(axis=(0, 1)).tolist() == [2 * 3, 7 * 3, 12 * 3]


def test_nearest_fills_one_slice_per_contour_within_a_tolerance() -> None:
    fine = Grid((24, 20, 12), spacing=(1.0, 1.0, 1.0))
    drawn = roi(*(rectangle(2, 2, 6, 6, z) for z in (2.2, 4.2, 6.2)))
    mask = roi_mask(drawn, fine, fill="nearest").weights
    assert np.flatnonzero(mask.any(axis=(0, 1))).tolist() == [2, 4, 6]
    with pytest.raises(DicomError, match=r"'PTV': contours 0.2 mm off the nearest slice; at most 0.1 mm"):
        roi_mask(drawn, fine, fill="nearest", tolerance_mm=0.1)


def test_a_wide_gap_stays_a_gap_and_a_missed_contour_is_bridged() -> None:
    grid = Grid((10, 10, 30))
    drawn = roi(*(rectangle(2, 2, 6, 6, z) for z in (1, 2, 3, 5, 6, 20, 21)), spacing_mm=1.0)
    painted = roi_mask(drawn, grid)
    assert np.flatnonzero(painted.weights.any(axis=(0, 1))).tolist() == [1, 2, 3, 4, 5, 6, 20, 21]
    assert painted.remarks == ("drawn in 2 parts; planes up to 14 mm apart were not joined",)
    strict = roi_mask(drawn, grid, bridge=1.0)
    assert np.flatnonzero(strict.weights.any(axis=(0, 1))).tolist() == [1, 2, 3, 5, 6, 20, 21]
    joined = roi_mask(drawn, grid, bridge=20.0)
    assert np.flatnonzero(joined.weights.any(axis=(0, 1))).tolist() == list(range(1, 22))


def test_a_single_plane_is_as_thick_as_is_usual_or_as_a_slice_of_the_grid() -> None:
    grid = Grid((10, 10, 10))
    usual = roi_mask(roi(rectangle(2, 2, 6, 6, 4), spacing_mm=3.0), grid)
    assert usual.weights.sum() == 16 * 3
    alone = roi_mask(roi(rectangle(2, 2, 6, 6, 4), spacing_mm=None), grid)
    assert alone.weights.sum() == 16
    assert alone.remarks == ("drawn on a single plane; taken as 1 mm thick, as a slice of the grid",)


def test_a_structure_that_meets_no_centre_says_so_and_still_has_parts() -> None:
    small = roi(rectangle(5.1, 5.1, 5.6, 5.7, 0.0))
    painted = roi_mask(small, GRID)
    assert not painted.weights.any()
    assert painted.remarks == ("encloses the centre of no voxel",)
    parts = partial_volumes(small, GRID).weights
    assert parts.sum() == pytest.approx(0.5 * 0.6, abs=1e-4)
    assert parts[5, 5, 0] == pytest.approx(0.4 * 0.4, abs=1e-4)


def test_an_roi_without_contours_is_empty() -> None:
    for painted in (roi_mask(roi(), GRID), partial_volumes(roi(), GRID)):
        assert not painted.weights.any()
        assert painted.outside == 0.0


def test_what_lies_outside_the_grid_is_told_as_a_share() -> None:
    half = roi(*(rectangle(-10.5, 2, 9.5, 6, z) for z in (0.0, 2.0)))
    painted = roi_mask(half, GRID)
    assert painted.outside == pytest.approx(0.5)
    assert painted.weights.sum() == 10 * 4 * 2
    # Slabs from 9 to 13 mm; the grid ends at 11.
    above = roi(*(rectangle(2, 2, 6, 6, z) for z in (10.0, 12.0)))
    assert roi_mask(above, GRID).outside == pytest.approx(0.5)
    away = roi_mask(roi(rectangle(2, 2, 6, 6, 500.0)), GRID)
    assert away.outside == 1.0
    assert not away.weights.any()
    beside = roi_mask(roi(rectangle(200, 2, 206, 6)), GRID)
    assert beside.outside == 1.0
    assert roi_mask(roi(rectangle(-0.5, -0.5, 23.5, 19.5)), GRID).outside == 0.0


def test_the_share_outside_respects_holes() -> None:
    # A ring of 20×20 without 10×10 = 300, of which the grid, from x = -0.5, holds one half.
    ring = roi(rectangle(-10.5, 0, 9.5, 20), rectangle(-5.5, 5, 4.5, 15))
    assert partial_volumes(ring, Grid((24, 40, 1), spacing=(1, 1, 2))).outside == pytest.approx(0.5, abs=1e-9)


def test_a_tilted_contour_is_refused_with_its_angle() -> None:
    tilted = rectangle(2, 2, 12, 12)
    tilted[:, 2] = 0.1 * tilted[:, 0]
    with pytest.raises(DicomError, match=r"'PTV': a contour around \(7.0, 7.0, 0.7\) mm is tilted by 5.71°"):
        roi_mask(roi(tilted), GRID)


def test_a_contour_that_is_not_flat_is_refused() -> None:
    bent = rectangle(2, 2, 12, 12)
    bent[0, 2] = 1.0
    with pytest.raises(DicomError, match="is not flat: its points leave their plane by"):
        partial_volumes(roi(bent), GRID)


def test_rounding_of_contour_points_is_not_a_tilt() -> None:
    points = rectangle(2, 2, 12, 12)
    points[::2, 2] = 0.05
    assert roi_mask(roi(points), GRID).weights.sum() == 100


def test_sagittal_frames_are_painted_along_their_own_slices() -> None:
    """A dose whose frames are sagittal: its third axis is x, and axial contours lie across its second."""
    sagittal = Grid((20, 6, 24), spacing=(1.0, 2.0, 1.0), direction=(0, 0, 1, 1, 0, 0, 0, 1, 0))
    drawn = roi(rectangle(2, 3, 9, 8, 2.0), rectangle(2, 3, 9, 8, 4.0))
    expected = np.moveaxis(roi_mask(drawn, GRID).weights, (0, 1, 2), (2, 0, 1))
    np.testing.assert_array_equal(roi_mask(drawn, sagittal).weights, expected)
    parts = np.moveaxis(partial_volumes(drawn, GRID).weights, (0, 1, 2), (2, 0, 1))
    np.testing.assert_allclose(partial_volumes(drawn, sagittal).weights, parts, atol=1e-12)


def test_a_grid_that_runs_downwards_gets_the_mirrored_mask() -> None:
    down = Grid((24, 20, 6), (1.0, 1.0, 2.0), (0.0, 19.0, 10.0), (1, 0, 0, 0, -1, 0, 0, 0, -1))
    drawn = roi(rectangle(2.25, 3.25, 9.25, 8.25, 2.0), rectangle(2.25, 3.25, 5.25, 8.25, 4.0))
    np.testing.assert_array_equal(roi_mask(drawn, down).weights, roi_mask(drawn, GRID).weights[:, ::-1, ::-1])


@settings(deadline=None, max_examples=60)
@given(st.floats(3.0, 9.0), st.floats(9.0, 11.0), st.floats(8.5, 10.5), st.integers(5, 60), st.floats(0.0, 1.0))
def test_parts_of_voxels_add_up_to_the_area(radius: float, x: float, y: float, corners: int, turn: float) -> None:
    points = circle(x, y, radius, corners=corners, turn=turn)
    parts = partial_volumes(roi(flat(points)), GRID).weights
    assert parts.sum() == pytest.approx(shoelace(points), rel=1e-4)
    mask = roi_mask(roi(flat(points)), GRID).weights
    assert (parts[mask] > 0).all()
    assert (parts[~mask] < 1 - 1e-9).all()


def test_the_sum_of_parts_does_not_depend_on_the_bands_but_each_part_gets_better() -> None:
    points = circle(11.3, 9.7, 6.1)
    drawn = roi(flat(points))
    parts = {factor: partial_volumes(drawn, GRID, factor=factor).weights for factor in (1, 4, 16, 64)}
    for weights in parts.values():
        assert weights.sum() == pytest.approx(shoelace(points), rel=1e-5)
    # A truth made in another way: the mask on a grid of 32 × 32 times as many pixels.
    fine = Grid((24 * 32, 20 * 32, 1), spacing=(1 / 32, 1 / 32, 2.0), origin=(-0.5 + 1 / 64, -0.5 + 1 / 64, 0.0))
    truth = roi_mask(drawn, fine).weights.reshape(24, 32, 20, 32).mean(axis=(1, 3))
    errors = {factor: abs(weights[:, :, 0] - truth).max() for factor, weights in parts.items()}
    assert errors[16] < 0.01
    assert errors[16] < errors[1]


def test_parts_along_x_and_through_slabs_are_exact() -> None:
    # 2.25 voxels wide, on a 2 mm slice of which the 1 mm slab takes the upper half and, of the next, nothing.
    drawn = roi(rectangle(3.0, 3.5, 5.25, 4.5, 0.5), spacing_mm=1.0)
    parts = partial_volumes(drawn, GRID, factor=1).weights
    assert parts[3:6, 4, 0] == pytest.approx([0.5 * 0.5, 0.5, 0.75 * 0.5])
    assert parts.sum() == pytest.approx(2.25 * 0.5)


def test_parts_keep_the_volume_on_any_grid() -> None:
    drawn = roi(*(rectangle(2.2, 3.1, 9.4, 7.3, z) for z in np.arange(1.0, 9.0, 1.0)), spacing_mm=1.0)
    for spacing in (0.7, 1.0, 2.3, 5.0):
        grid = Grid((40, 40, 30), spacing=(spacing,) * 3, origin=(-1.7, -2.2, -3.1))
        volume = partial_volumes(drawn, grid, factor=1).weights.sum() * grid.voxel_volume
        assert volume == pytest.approx(7.2 * 4.2 * 8.0, rel=1e-4)


def test_weights_are_between_0_and_1() -> None:
    thirds = roi(*(rectangle(2.2, 3.1, 9.4, 7.3, k / 3) for k in range(12)), spacing_mm=1 / 3)
    weights = partial_volumes(thirds, Grid((12, 12, 5)), factor=3).weights
    assert weights.max() == 1.0
    assert weights.min() == 0.0


@pytest.mark.parametrize(("name", "value"), [("factor", 0), ("factor", 65), ("bridge", 0.5), ("bridge", math.nan)])
def test_settings_that_make_no_sense_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        partial_volumes(roi(rectangle(0, 0, 1, 1)), GRID, **{name: value})  # type: ignore[arg-type]


def test_contours_far_outside_cost_nothing() -> None:
    huge = roi(rectangle(-9e4, -9e4, 9e4, 9e4))
    painted = roi_mask(huge, GRID)
    assert painted.weights[:, :, 0].all()
    assert painted.outside == pytest.approx(1.0, abs=1e-4)
