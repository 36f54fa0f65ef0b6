"""Distances and pieces against definitions written out by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stnp

from isocenter.phantoms._fields import bounds, box_around, coordinates, middle, pieces, ripple, signed_distance
from isocenter.volumes import Grid

masks = stnp.arrays(np.bool_, stnp.array_shapes(min_dims=3, max_dims=3, max_side=5))


@given(masks, st.tuples(*[st.sampled_from([0.5, 1.0, 3.0])] * 3))
def test_the_signed_distance_is_that_to_the_nearest_voxel_of_the_other_kind(mask, spacing):
    if mask.all() or not mask.any():
        return
    found = signed_distance(mask, spacing)
    for at in itertools.product(*map(range, mask.shape)):
        others = np.argwhere(mask != mask[at])
        nearest = min(math.dist(np.multiply(at, spacing), np.multiply(other, spacing)) for other in others)
        assert abs(found[at]) == pytest.approx(nearest - 0.5 * min(spacing))
        assert (found[at] > 0) == mask[at]


@given(masks)
def test_pieces_share_no_face_and_make_up_the_mask(mask):
    found = pieces(mask)
    assert (sum((piece.astype(int) for piece in found), np.zeros(mask.shape, int)) == mask).all()
    for one, other in itertools.combinations(found, 2):
        apart = np.abs(np.argwhere(one)[:, None] - np.argwhere(other)[None]).sum(axis=2)
        assert apart.min() > 1


def test_a_winding_piece_is_one_piece():
    mask = np.zeros((5, 5, 1), bool)
    mask[::2] = True
    mask[1, 4] = mask[3, 0] = True
    assert len(pieces(mask)) == 1
    mask[3, 0] = False
    assert len(pieces(mask)) == 2


def test_bounds_widen_by_the_margin_and_stop_at_the_border():
    mask = np.zeros((10, 10, 10), bool)
    mask[1, 5, 9] = True
    assert bounds(mask, (3, 1, 2)) == (slice(0, 5), slice(4, 7), slice(7, 10))


def test_coordinates_follow_the_direction_of_the_grid():
    grid = Grid((4, 5, 6), (1.0, 2.0, 3.0), (10.0, 20.0, 30.0), (0, 1, 0, -1, 0, 0, 0, 0, 1))
    points = coordinates(grid, (slice(1, 3), slice(2, 5), slice(0, 6)))
    assert points.shape == (3, 2, 3, 6)
    assert points[:, 1, 0, 4] == pytest.approx(grid.affine[:3] @ (2, 2, 4, 1))
    assert middle(grid) == pytest.approx(grid.affine[:3] @ (1.5, 2.0, 2.5, 1))


def test_a_box_around_a_point_outside_the_grid_is_its_nearest_voxel():
    grid = Grid((4, 5, 6))
    box = box_around(grid, np.array([-50.0, 2.0, 90.0]), 0.4)
    assert box == (slice(0, 1), slice(1, 4), slice(5, 6))


def test_a_ripple_has_mean_zero_and_variance_one_and_no_jumps():
    rng = np.random.default_rng(7)
    points = rng.uniform(-500.0, 500.0, size=(3, 4000))
    field = ripple(rng, (20.0, 60.0))
    assert field(points).mean() == pytest.approx(0.0, abs=0.1)
    assert field(points).var() == pytest.approx(1.0, abs=0.15)
    steepest = math.sqrt(2.0 * 10) * 2.0 * math.pi / 20.0
    assert np.abs(field(points + 0.01) - field(points)).max() <= steepest * 0.01 * math.sqrt(3.0)
