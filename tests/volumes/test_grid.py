from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.volumes import Grid

finite = st.floats(-500, 500)
spacings = st.tuples(*[st.floats(0.1, 10)] * 3)
shapes = st.tuples(*[st.integers(1, 600)] * 3)


@st.composite
def rotations(draw: st.DrawFn) -> tuple[float, ...]:
    seed = draw(st.integers(0, 2**32 - 1))
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return tuple(q.ravel())


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    return Grid(draw(shapes), draw(spacings), draw(st.tuples(finite, finite, finite)), draw(rotations()))


@given(grids())
def test_a_grid_is_the_one_of_its_own_affine(grid: Grid) -> None:
    again = Grid.from_affine(grid.affine, grid.shape)
    assert again.spacing == pytest.approx(grid.spacing)
    assert again.deviation(grid) < 1e-9
    assert again.same_as(grid)


def test_corners_are_those_of_the_voxel_boxes_not_of_their_centres() -> None:
    corners = Grid((2, 2, 2), spacing=(1, 2, 4), origin=(0.5, 1, 2)).corners()
    assert corners.min(axis=0).tolist() == [0, 0, 0]
    assert corners.max(axis=0).tolist() == [2, 4, 8]


@given(grids(), st.sampled_from([0, 1, 2]))
def test_grids_are_the_same_up_to_half_the_smallest_voxel_edge(grid: Grid, axis: int) -> None:
    edge = min(grid.spacing)
    for shift, same in ((0.49 * edge, True), (0.51 * edge, False)):
        origin = list(grid.origin)
        origin[axis] += shift
        moved = Grid(grid.shape, grid.spacing, tuple(origin), grid.direction)
        assert grid.deviation(moved) == pytest.approx(shift, abs=1e-9)
        assert grid.same_as(moved) is same
        assert moved.same_as(grid) is same


def test_a_direction_off_by_a_hair_moves_the_far_corner_by_millimetres() -> None:
    angle = np.radians(1)
    turned = (np.cos(angle), -np.sin(angle), 0, np.sin(angle), np.cos(angle), 0, 0, 0, 1)
    straight, oblique = Grid((512, 512, 100)), Grid((512, 512, 100), direction=turned)
    assert straight.deviation(oblique) == pytest.approx(2 * np.sin(angle / 2) * np.hypot(511.5, 511.5), rel=1e-6)
    assert not straight.same_as(oblique)


def test_other_shapes_are_other_grids_even_where_the_corners_agree() -> None:
    coarse = Grid((10, 10, 10), spacing=(2, 2, 2), origin=(0.5, 0.5, 0.5))
    fine = Grid((20, 20, 20), spacing=(1, 1, 1))
    assert coarse.deviation(fine) == pytest.approx(0)
    assert not coarse.same_as(fine)


@pytest.mark.parametrize(
    ("what", "arguments"),
    [
        ("three axes", {"shape": (4, 0, 4)}),
        ("positive", {"spacing": (1, -1, 1)}),
        ("positive", {"spacing": (1, float("nan"), 1)}),
        ("finite", {"origin": (0, float("inf"), 0)}),
        ("perpendicular", {"direction": (1, 0.1, 0, 0, 1, 0, 0, 0, 1)}),
        ("perpendicular", {"direction": (1, 0.002, 0, 0, 1, 0, 0, 0, 1)}),
        ("perpendicular", {"direction": (1.001, 0, 0, 0, 1, 0, 0, 0, 1)}),
        ("perpendicular", {"direction": (0,) * 9}),
        ("perpendicular", {"direction": (1, 0, 0, 0, 1, 0, 0, 0, float("nan"))}),
        ("perpendicular", {"direction": (1, 0, 0, 0, 1, 0, 0, 0, float("inf"))}),
        ("perpendicular", {"direction": (1, 0, 0)}),
    ],
)
def test_an_impossible_grid_is_refused_with_what_is_wrong(what: str, arguments: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match=what):
        Grid(**({"shape": (4, 4, 4)} | arguments))


def test_a_direction_rounded_to_three_digits_is_one() -> None:
    assert Grid((4, 4, 4), direction=(1, 0.0009, 0, 0, 1.0004, 0, 0, 0, 1)).direction[1] == 0.0009


def test_a_sheared_or_singular_affine_is_refused() -> None:
    sheared = np.eye(4)
    sheared[0, 1] = 0.2
    with pytest.raises(ValueError, match="perpendicular"):
        Grid.from_affine(sheared, (4, 4, 4))
    with pytest.raises(ValueError, match="singular"):
        Grid.from_affine(np.zeros((4, 4)), (4, 4, 4))


def test_volumes_and_names_of_a_grid() -> None:
    grid = Grid((144, 144, 48), spacing=(1, 1, 3))
    assert grid.voxel_volume == 3
    assert grid.voxels == 144 * 144 * 48
    assert str(grid) == "144×144×48 at 1×1×3 mm"
