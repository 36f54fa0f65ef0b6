"""Surface metrics against the package that defined them, and against brute force."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isocenter.metrics import _surface as surface
from isocenter.metrics import average_surface_distance, cropped, hausdorff_distance, surface_dice
from isocenter.metrics._surface import surface_distances
from isocenter.volumes import read

GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"
PAIRS = sorted(path.name[5:-13] for path in GOLDEN.glob("pair_*_truth.nii.gz"))
EMPTY = {"empty_pred", "empty_truth", "both_empty"}

spacings = st.tuples(*[st.sampled_from([0.5, 1.0, 1.25, 3.0])] * 3)
masks = hnp.array_shapes(min_dims=3, max_dims=3, max_side=6).flatmap(
    lambda shape: st.tuples(*[hnp.arrays(bool, shape)] * 2)
)


def golden(pair: str) -> tuple[np.ndarray, np.ndarray, tuple[float, float, float]]:
    """Masks in (z, y, x), as the peers were given them."""
    truth, prediction = (read(GOLDEN / f"pair_{pair}_{side}.nii.gz") for side in ("truth", "pred"))
    return truth.array.T > 0, prediction.array.T > 0, (3.0, 1.25, 1.25)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair not in EMPTY])
def test_the_golden_pairs(pair: str, golden_segmentation: dict[str, Any]) -> None:
    expected = golden_segmentation["pairs"][pair]["surface_distance"]
    truth, prediction, spacing = golden(pair)
    both = surface_distances(truth, prediction, spacing=spacing)
    assert [both.truth_areas.size, both.prediction_areas.size] == expected["n_surfels"]
    assert [both.truth_areas.sum(), both.prediction_areas.sum()] == pytest.approx(expected["area_mm2"], abs=1e-9)
    for percentile, key in ((50, "hd50"), (95, "hd95"), (100, "hd100")):
        found = hausdorff_distance(truth, prediction, spacing=spacing, percentile=percentile)
        assert found == pytest.approx(expected[key], abs=1e-12)
    found = average_surface_distance(truth, prediction, spacing=spacing)
    assert found == pytest.approx(tuple(expected["avg_surface_distance"]), abs=1e-12)
    for tolerance, value in expected["nsd"].items():
        found = surface_dice(truth, prediction, spacing=spacing, tolerance_mm=float(tolerance))
        assert found == pytest.approx(value, abs=1e-12)


def test_one_empty_mask_is_infinitely_far_away_and_two_agree(golden_segmentation: dict[str, Any]) -> None:
    truth, prediction, spacing = golden("empty_pred")
    assert hausdorff_distance(truth, prediction, spacing=spacing) == math.inf
    assert surface_dice(truth, prediction, spacing=spacing, tolerance_mm=1e9) == 0
    forth, back = average_surface_distance(truth, prediction, spacing=spacing)
    assert forth == math.inf
    assert math.isnan(back)
    assert golden_segmentation["pairs"]["empty_pred"]["surface_distance"]["avg_surface_distance"] == ["inf", "nan"]
    # Both empty: undefined there, perfect agreement by our definition.
    truth, prediction, spacing = golden("both_empty")
    assert hausdorff_distance(truth, prediction, spacing=spacing) == 0
    assert surface_dice(truth, prediction, spacing=spacing, tolerance_mm=0) == 1
    assert average_surface_distance(truth, prediction, spacing=spacing) == (0, 0)


def brute_force(start: np.ndarray, target: np.ndarray, spacing: tuple[float, float, float]) -> np.ndarray:
    """The distance of every point to every other, and the smallest of them."""
    if not len(target):
        return np.full(len(start), math.inf)
    away = ((start[:, None] - target[None]) * np.asarray(spacing)) ** 2
    return np.sqrt((away[..., 0] + away[..., 1] + away[..., 2]).min(axis=1))


@given(masks, spacings)
@settings(deadline=None)
def test_all_ways_of_finding_the_nearest_element_are_exact(
    pair: tuple[np.ndarray, np.ndarray], spacing: tuple[float, float, float]
) -> None:
    from isocenter.metrics._surface_kernels import pad

    table = surface.areas(spacing)
    (a, _), (b, _) = (surface._elements(pad(mask), table) for mask in pair)
    shape = tuple(n + 1 for n in pair[0].shape)
    expected = brute_force(a, b, spacing)
    # By a tree; nearby as far as that is enough; nearby with too few lines; in the box alone.
    for sparse, visits, reach in ((0, 4, 12), (10**9, 10**6, 12), (10**9, 4, 1), (10**9, 0, 12)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(surface, "_SPARSE", sparse)
            patch.setattr(surface, "_VISITS", visits)
            patch.setattr(surface, "_REACH", reach)
            surface._nearest_lines.cache_clear()
            np.testing.assert_allclose(surface._nearest(a, b, shape, np.asarray(spacing)), expected, rtol=1e-14)
    surface._nearest_lines.cache_clear()


@pytest.mark.parametrize("seed", range(6))
def test_surfaces_far_apart_and_close_together_have_exact_distances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape, spacing = (40, 33, 27), tuple(rng.choice([0.3, 0.98, 1.25, 5.0], 3))
    pair = np.zeros((2, *shape), bool)
    for mask in pair:
        for _ in range(3):
            low = [rng.integers(0, n - 4) for n in shape]
            mask[tuple(slice(start, start + rng.integers(2, 14)) for start in low)] = True
    both = surface_distances(*pair, spacing=spacing)
    table = surface.areas(spacing)
    (a, _), (b, _) = (surface._elements(np.pad(mask, 1).view(np.uint8), table) for mask in cropped(*pair))
    np.testing.assert_allclose(both.truth_distances, brute_force(a, b, spacing), rtol=1e-14)
    np.testing.assert_allclose(both.prediction_distances, brute_force(b, a, spacing), rtol=1e-14)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), min_size=1, max_size=200),
    st.one_of(st.integers(0, 100), st.floats(0, 100)),
)
@settings(deadline=None, max_examples=300)
def test_the_percentile_is_that_of_the_definition_also_where_shares_tie(
    elements: list[tuple[int, int]], percentile: float
) -> None:
    distances, weights = np.array([(np.sqrt(d), w / 10) for d, w in elements]).T
    expected = surface._percentile_in_order(distances, weights, percentile)
    assert surface._percentile(distances, weights, percentile) == expected


def test_a_mask_that_was_changed_in_place_is_measured_again() -> None:
    truth, prediction = np.zeros((2, 20, 20, 20), bool)
    truth[5:10, 5:10, 5:10] = prediction[5:10, 5:10, 5:10] = True
    asked = {"spacing": (1.0, 1.0, 1.0), "percentile": 100}
    assert hausdorff_distance(truth, prediction, **asked) == 0
    prediction[10, 5:10, 5:10] = True  # grows the box
    assert hausdorff_distance(truth, prediction, **asked) == 1
    prediction[10, 5:10, 5:10] = False
    truth[7, 7, 7] = False  # inside the box
    assert hausdorff_distance(truth, prediction, **asked) == hausdorff_distance(prediction, truth, **asked) > 1
    assert hausdorff_distance(truth, prediction, spacing=(3.0, 3.0, 3.0), percentile=100) == 6
    truth[7, 7, 7] = True
    assert hausdorff_distance(truth, prediction, **asked) == 0


def test_plain_calls_find_the_surfaces_once_and_keep_little(monkeypatch: pytest.MonkeyPatch) -> None:
    surface._recent.clear()
    measured: list[int] = []
    measure = surface._measure
    monkeypatch.setattr(surface, "_measure", lambda *given: (measured.append(1), measure(*given))[1])
    truth, prediction = np.zeros((2, 30, 30, 30), bool)
    truth[5:10, 5:10, 5:10] = prediction[6:11, 5:10, 5:10] = True
    hausdorff_distance(truth, prediction, spacing=(1, 1, 1))
    surface_dice(truth.copy(), np.asfortranarray(prediction), spacing=(1.0, 1.0, 1.0), tolerance_mm=2)
    average_surface_distance(truth, prediction, spacing=(1, 1, 1))
    assert len(measured) == 1
    hausdorff_distance(truth, prediction, spacing=(1, 1, 1), convention="medpy")
    hausdorff_distance(truth, prediction, spacing=(1, 1, 1), convention="monai")
    assert len(measured) == 2
    for step in range(1, 20):
        surface_dice(truth, np.roll(prediction, step, axis=2), spacing=(1, 1, 1), tolerance_mm=2)
    assert len(surface._recent._kept) == 8
    small = surface._RecentDistances(entries=8, nbytes=1000)
    small.keep("key", surface_distances(truth, prediction, spacing=(1, 1, 1)))
    assert small.get("key") is None


def test_what_is_shared_cannot_be_written_to() -> None:
    truth, prediction = np.zeros((2, 6, 6, 6), bool)
    truth[2, 2, 2] = prediction[3, 3, 3] = True
    both = surface_distances(truth, prediction, spacing=(1, 1, 1))
    with pytest.raises(ValueError, match="read-only"):
        both.truth_distances[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        surface.areas((1.0, 1.0, 1.0))[0] = 0


def test_many_threads_get_the_numbers_of_one() -> None:
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(1)
    pairs = [rng.random((2, 12, 12, 12)) < 0.1 for _ in range(12)]
    plain = [hausdorff_distance(*pair, spacing=(1, 2, 3)) for pair in pairs]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: hausdorff_distance(*pairs[n % 12], spacing=(1, 2, 3)), range(240)))
    assert results == plain * 20


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@given(masks, spacings)
@settings(deadline=None, max_examples=50)
def test_the_peer_agrees_on_any_pair_that_is_not_empty(
    pair: tuple[np.ndarray, np.ndarray], spacing: tuple[float, float, float]
) -> None:
    import surface_distance as peer

    if not (pair[0].any() and pair[1].any()):
        return
    theirs = peer.compute_surface_distances(*pair, spacing)
    both = surface_distances(*pair, spacing=spacing)
    for percentile in (0, 30, 95, 100):
        assert both.hausdorff(percentile) == pytest.approx(peer.compute_robust_hausdorff(theirs, percentile), abs=1e-9)
    assert both.average() == pytest.approx(peer.compute_average_surface_distance(theirs), abs=1e-9)
    for tolerance in (0, 0.5, 1, 3):
        assert both.dice(tolerance) == pytest.approx(
            peer.compute_surface_dice_at_tolerance(theirs, tolerance), abs=1e-9
        )


@given(masks, spacings)
@settings(deadline=None)
def test_memory_order_and_room_around_the_masks_change_nothing(
    pair: tuple[np.ndarray, np.ndarray], spacing: tuple[float, float, float]
) -> None:
    plain = surface_distances(*pair, spacing=spacing)
    fortran = surface_distances(*(np.asfortranarray(mask) for mask in pair), spacing=spacing)
    wider = surface_distances(*(np.pad(mask, 3) for mask in pair), spacing=spacing)
    cut = surface_distances(*cropped(*pair), spacing=spacing)
    strided = surface_distances(*(np.repeat(mask, 2, axis=1)[:, ::2] for mask in pair), spacing=spacing)
    for other in (fortran, wider, strided, cut):
        np.testing.assert_array_equal(np.sort(other.truth_distances), np.sort(plain.truth_distances))
        assert other.dice(1.0) == pytest.approx(plain.dice(1.0), abs=1e-12)


@given(masks, spacings)
@settings(deadline=None)
def test_truth_and_prediction_may_change_places(
    pair: tuple[np.ndarray, np.ndarray], spacing: tuple[float, float, float]
) -> None:
    forth, back = (surface_distances(*masks, spacing=spacing) for masks in (pair, pair[::-1]))
    assert forth.hausdorff(95) == back.hausdorff(95)
    assert forth.dice(1) == pytest.approx(back.dice(1), abs=1e-12)
    np.testing.assert_equal(forth.average(), back.average()[::-1])


@pytest.mark.parametrize("radius", [4.0, 7.5])
def test_a_ball_grown_by_a_few_millimetres_is_that_far_away(radius: float) -> None:
    x, y, z = np.ix_(*[np.arange(-15, 16)] * 3)
    distance = np.sqrt(x**2 + y**2 + z**2)
    found = hausdorff_distance(distance <= radius, distance <= radius + 3, spacing=(1, 1, 1), percentile=50)
    assert found == pytest.approx(3, abs=0.6)


def test_the_spacing_belongs_to_the_axes_it_is_given_for() -> None:
    truth, prediction = np.zeros((2, 8, 8, 8), bool)
    truth[2, 4, 4] = prediction[5, 4, 4] = True
    far = [hausdorff_distance(truth, prediction, spacing=s, percentile=100) for s in [(5, 1, 1), (1, 5, 1), (1, 1, 5)]]
    assert far == [15, 3, 3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"spacing": (1, 1)}, "three positive lengths"),
        ({"spacing": (1, 0, 1)}, "three positive lengths"),
        ({"spacing": (1, math.nan, 1)}, "three positive lengths"),
        ({"spacing": (1, 1, 1), "percentile": 101}, "between 0 and 100"),
    ],
)
def test_impossible_questions_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hausdorff_distance(np.ones((2, 2, 2), bool), np.ones((2, 2, 2), bool), **arguments)
    with pytest.raises(ValueError, match="have three axes, not 2; surfaces of two-dimensional slices"):
        hausdorff_distance(np.ones((2, 2), bool), np.ones((2, 2), bool), spacing=(1, 1, 1))
    with pytest.raises(ValueError, match="tolerance"):
        surface_dice(np.ones((2, 2, 2), bool), np.ones((2, 2, 2), bool), spacing=(1, 1, 1), tolerance_mm=-1)


def test_the_areas_are_those_of_the_peer() -> None:
    from surface_distance.lookup_tables import create_table_neighbour_code_to_surface_area as table

    for spacing in [(1, 1, 1), (1.25, 1.25, 3), (0.3, 2, 5)]:
        np.testing.assert_allclose(surface.areas(spacing), table(spacing), rtol=1e-14)
