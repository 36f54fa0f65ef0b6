"""Seed points: inside, away from the boundary, and the same for ever."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stnp
from scipy import ndimage, stats

from isocenter.phantoms._lung import lung_tumour
from isocenter.preprocessing import seed_points
from isocenter.volumes import Grid, LabelMap, Volume

masks = stnp.arrays(np.bool_, stnp.array_shapes(min_dims=3, max_dims=3, max_side=6))
spacings = st.tuples(*[st.sampled_from([0.5, 1.0, 3.0])] * 3)
seeds = st.integers(0, 2**32)


def volume(mask, spacing=(1.0, 1.0, 1.0), **geometry):
    return Volume(mask, Grid(mask.shape, spacing, **geometry))


def ball(radius, spacing=(1.0, 1.0, 1.0)):
    half = [math.ceil(radius / step) + 1 for step in spacing]
    offsets = np.stack(
        np.meshgrid(*[np.arange(-n, n + 1) * s for n, s in zip(half, spacing, strict=True)], indexing="ij")
    )
    return (offsets**2).sum(axis=0) < radius**2


def pieces(mask):
    """Sets of indices that touch, by flooding; numbered by their first voxel with x running fastest."""
    left = {tuple(int(i) for i in index) for index in np.argwhere(mask)}
    found = []
    while left:
        start = min(left, key=lambda index: index[::-1])
        piece, edge = {start}, [start]
        left.remove(start)
        while edge:
            at = edge.pop()
            near = {tuple(np.add(at, step).tolist()) for step in itertools.product((-1, 0, 1), repeat=3)} & left
            left -= near
            piece |= near
            edge += near
        found.append(piece)
    return found


def depth(piece, index, spacing):
    """The distance to the nearest voxel that does not belong to the piece, less half the smallest edge."""
    reach = [range(-1, max(p[a] for p in piece) + 2) for a in range(3)]
    outside = [at for at in itertools.product(*reach) if at not in piece]
    gap = (np.array(outside) - index) * spacing
    return float(np.sqrt((gap**2).sum(axis=1)).min()) - 0.5 * min(spacing)


@settings(max_examples=60, deadline=None)
@given(masks, spacings, seeds, st.floats(0.0, 4.0), st.floats(0.0, 1.0))
def test_every_component_has_one_point_inside_it_and_deep_enough(mask, spacing, seed, margin, alpha):
    found = seed_points(volume(mask, spacing), seed=seed, margin_mm=margin, alpha=alpha)
    components = pieces(mask)
    assert [point.component for point in found] == list(range(1, len(components) + 1))
    for point, piece in zip(found, components, strict=True):
        assert point.index in piece
        assert depth(piece, point.index, spacing) >= point.threshold - 1e-9
        assert point.inradius == pytest.approx(max(depth(piece, index, spacing) for index in piece))
        assert point.threshold == pytest.approx(min(margin, alpha * point.inradius))


@settings(max_examples=40, deadline=None)
@given(masks, seeds)
def test_the_same_mask_and_seed_give_the_same_points(mask, seed):
    assert seed_points(volume(mask), seed=seed) == seed_points(volume(mask.copy(order="F")), seed=seed)
    labels = LabelMap.from_array(mask.astype(np.uint8) * 3, Grid(mask.shape))
    assert seed_points(labels, seed=seed) == seed_points(volume(mask), seed=seed)


@settings(max_examples=40, deadline=None)
@given(masks, spacings, seeds, st.tuples(*[st.integers(0, 4)] * 3), st.tuples(*[st.integers(0, 4)] * 3))
def test_more_background_around_it_changes_nothing(mask, spacing, seed, before, after):
    origin = (-80.5, 12.25, 300.0)
    padded = np.pad(mask, list(zip(before, after, strict=True)))
    start = tuple(o - n * s for o, n, s in zip(origin, before, spacing, strict=True))
    plain = seed_points(volume(mask, spacing, origin=origin), seed=seed)
    moved = seed_points(volume(padded, spacing, origin=start), seed=seed)
    assert [point.point_mm for point in moved] == [pytest.approx(point.point_mm) for point in plain]
    assert [point.index for point in moved] == [tuple(np.add(point.index, before).tolist()) for point in plain]


@pytest.mark.parametrize("place", [(0, 0, 0), (0, 0, 30), (30, 25, 30)], ids=["before", "between", "after"])
def test_another_component_does_not_change_the_points_of_the_others(place):
    mask = np.zeros((50, 40, 50), bool)
    for (x, y, z), radius in (((12, 20, 14), 9.0), ((32, 12, 36), 6.0)):
        piece = ball(radius)
        mask[tuple(slice(c - n // 2, c + n // 2 + 1) for c, n in zip((x, y, z), piece.shape, strict=True))] |= piece
    more = mask.copy()
    more[tuple(slice(c, c + 3) for c in place)] = True
    for seed in range(20):
        points = {point.index for point in seed_points(volume(mask), seed=seed)}
        with_another = {point.index for point in seed_points(volume(more), seed=seed)}
        assert len(with_another) == 3
        assert points < with_another


def test_voxels_that_share_a_corner_are_one_component():
    mask = np.zeros((4, 4, 4), bool)
    mask[0, 0, 0] = mask[1, 1, 1] = mask[3, 3, 3] = True
    assert [point.component for point in seed_points(volume(mask), seed=0)] == [1, 2]


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.5, 2.0, 3.0)])
def test_a_component_of_one_voxel_has_its_point_there(spacing):
    mask = np.zeros((3, 3, 3), bool)
    mask[1, 2, 0] = True
    (point,) = seed_points(volume(mask, spacing), seed=9)
    assert point.index == (1, 2, 0)
    assert point.inradius == 0.5 * min(spacing)
    assert point.threshold == 0.25 * min(spacing)


def test_an_image_that_is_all_tumour_still_has_a_boundary():
    (point,) = seed_points(volume(np.ones((9, 9, 9), bool)), seed=0, margin_mm=100.0, alpha=1.0)
    assert point.index == (4, 4, 4)
    assert point.inradius == 4.5


def test_an_empty_mask_has_no_points():
    assert seed_points(volume(np.zeros((4, 4, 4), bool)), seed=0) == []
    assert seed_points(LabelMap.from_array(np.zeros((4, 4, 4), np.uint8), Grid((4, 4, 4))), seed=0) == []


def test_points_are_drawn_uniformly_from_the_voxels_that_are_deep_enough():
    """A chi-square test with fixed seeds: 1500 draws over all candidates of one ball."""
    mask = ball(7.0)
    deep = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1, 1:-1] - 0.5 >= 3.0
    drawn = [seed_points(volume(mask), seed=seed)[0].index for seed in range(1500)]
    cells = {tuple(index): 0 for index in np.argwhere(deep).tolist()}
    for index in drawn:
        cells[index] += 1
    assert len(cells) > 50
    assert stats.chisquare(list(cells.values())).pvalue > 0.01


def test_a_large_tumour_keeps_the_margin_and_a_small_one_its_part():
    large, small = (seed_points(volume(ball(radius)), seed=0)[0] for radius in (15.0, 3.0))
    assert large.threshold == 3.0
    assert small.threshold == 0.5 * small.inradius < 3.0


def test_places_are_lps_millimetres_also_on_a_turned_grid():
    mask = np.zeros((5, 6, 7), bool)
    mask[2, 3, 4] = True
    grid = Grid(mask.shape, (1.0, 2.0, 3.0), (10.0, 20.0, 30.0), (0, 1, 0, -1, 0, 0, 0, 0, -1))
    (point,) = seed_points(Volume(mask, grid), seed=0)
    assert point.point_mm == pytest.approx(tuple(grid.affine[:3] @ (2, 3, 4, 1)))
    assert point.point_mm == pytest.approx((10.0 + 3 * 2.0, 20.0 - 2 * 1.0, 30.0 - 4 * 3.0))


def test_every_synthetic_lung_tumour_has_one_point_in_it():
    for number in range(1, 6):
        mask = lung_tumour(number)
        (point,) = seed_points(mask, seed=7)
        assert mask.array[point.index] == 1


@pytest.mark.parametrize("wrong", [{"alpha": 1.1}, {"alpha": -0.1}, {"margin_mm": -1.0}, {"seed": -1}])
def test_numbers_without_a_meaning_are_refused(wrong):
    with pytest.raises(ValueError, match="negative"):
        seed_points(volume(np.ones((2, 2, 2), bool)), **{"seed": 0, **wrong})
