"""One mask out of many: majority, STAPLE, the hierarchical vote, and painting what a rule says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.ensembles import (
    Ensemble,
    EnsembleError,
    Hierarchical,
    Patterns,
    StapleRule,
    count_patterns,
    fuse,
    hierarchical_vote,
    majority,
    overlap_of,
    pack,
    staple,
)
from isocenter.metrics import Overlap
from isocenter.volumes import Grid, LabelMap

Row = Callable[..., np.ndarray]


def counted(masks: Mapping[str, np.ndarray], truth: np.ndarray | None = None) -> Patterns:
    return count_patterns({v: pack(mask) for v, mask in masks.items()}, None if truth is None else pack(truth))


def as_map(labels: np.ndarray) -> LabelMap:
    return LabelMap.from_array(labels.astype(np.uint8), Grid(labels.shape))


# --- majority


def test_half_of_the_votes_is_foreground_unless_ties_are_background(row: Row) -> None:
    masks = {"a": row(0, 1), "b": row(0, 1), "c": row(0), "d": row(2)}
    grid, ballots = Grid((10, 1, 1)), {v: pack(mask) for v, mask in masks.items()}
    assert np.flatnonzero(fuse(majority(masks), ballots, grid).array).tolist() == [0, 1]
    assert np.flatnonzero(fuse(majority(masks, ties="background"), ballots, grid).array).tolist() == [0]


@pytest.mark.parametrize(
    ("voters", "foreground", "background"), [(1, 1, 1), (2, 1, 2), (3, 2, 2), (4, 2, 3), (5, 3, 3)]
)
def test_how_many_votes_are_a_majority(voters: int, foreground: int, background: int) -> None:
    names = "abcde"[:voters]
    assert majority(names).threshold == foreground
    assert majority(names, ties="background").threshold == background


def test_ties_are_foreground_or_background() -> None:
    with pytest.raises(ValueError, match="undecided"):
        majority("ab", ties="undecided")  # type: ignore[arg-type]


def test_the_majority_of_five_is_that_of_simpleitk(golden_segmentation: dict[str, Any], golden_patterns: Any) -> None:
    for case, expected in golden_segmentation["ensembles"].items():
        patterns = golden_patterns(case)
        voting = expected["simpleitk_label_voting"]
        overlap = overlap_of(majority(patterns.voters), patterns)
        assert voting["n_undecided"] == 0
        assert overlap == Overlap(*(voting["counts_vs_truth"][kind] for kind in ("tp", "fp", "fn")))
        assert overlap.prediction == voting["n_foreground"]


# --- STAPLE


def test_staple_finds_what_simpleitk_finds(golden_segmentation: dict[str, Any], golden_patterns: Any) -> None:
    for case, expected in golden_segmentation["ensembles"].items():
        patterns, wanted = golden_patterns(case), expected["staple"]
        result = staple(patterns, field_of_view="image")
        assert result.converged
        np.testing.assert_allclose(result.sensitivity, wanted["sensitivity"], atol=1e-6)
        np.testing.assert_allclose(result.specificity, wanted["specificity"], atol=1e-6)
        voxels = patterns.inside + patterns.outside
        assert voxels @ result.probability == pytest.approx(wanted["sum_W"], abs=1e-3)
        overlap = overlap_of(StapleRule(patterns.voters), patterns)
        assert overlap.prediction == wanted["n_W_ge_0_5"]
        assert overlap == Overlap(*(wanted["counts_vs_truth_W_ge_0_5"][kind] for kind in ("tp", "fp", "fn")))


def itk_staple(masks: list[np.ndarray]) -> tuple[np.ndarray, list[float], list[float]]:
    found = sitk.STAPLEImageFilter()
    image = found.Execute([sitk.GetImageFromArray(np.ascontiguousarray(mask.T).astype(np.uint8)) for mask in masks])
    return sitk.GetArrayFromImage(image).T, list(found.GetSensitivity()), list(found.GetSpecificity())


def noisy(seed: int, voters: int) -> list[np.ndarray]:
    """A ball, seen by voters who miss some of it and see some of what is not there."""
    rng = np.random.default_rng(seed)
    x, y, z = np.indices((24, 20, 16))
    ball = (x - 12) ** 2 + (y - 10) ** 2 + (z - 8) ** 2 < 30
    miss, add = rng.uniform(0.02, 0.4, voters), rng.uniform(0.0, 0.02, voters)
    return [
        np.where(ball, rng.random(ball.shape) > m, rng.random(ball.shape) < a) for m, a in zip(miss, add, strict=True)
    ]


def masks_agree(masks: list[np.ndarray], probability: np.ndarray) -> bool:
    """Whether our STAPLE mask is that of a map of probabilities."""
    named = {f"v{i}": pack(mask) for i, mask in enumerate(masks)}
    fused = fuse(StapleRule(tuple(named)), named, Grid(masks[0].shape))
    return bool(np.array_equal(fused.array.astype(bool), probability >= 0.5))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("voters", [3, 4, 6])
def test_staple_of_other_masks_is_simpleitks(seed: int, voters: int) -> None:
    masks = noisy(seed, voters)
    probability, sensitivity, specificity = itk_staple(masks)
    result = staple(counted({f"v{i}": mask for i, mask in enumerate(masks)}))
    assert result.converged
    np.testing.assert_allclose(result.sensitivity, sensitivity, atol=2e-6)
    np.testing.assert_allclose(result.specificity, specificity, atol=2e-6)
    assert masks_agree(masks, probability)


@pytest.mark.parametrize("seed", range(8))
def test_two_voters_give_the_same_mask_though_their_rates_depend_on_when_one_stops(seed: int) -> None:
    """Three independent counts cannot tell two sensitivities and two specificities; the mask does not ask for more."""
    masks = noisy(seed, 2)
    assert staple(counted({f"v{i}": mask for i, mask in enumerate(masks)})).converged
    assert masks_agree(masks, itk_staple(masks)[0])


def test_the_box_sees_what_the_image_sees_when_cut_to_it() -> None:
    masks = noisy(3, 4)
    where = np.argwhere(np.any(masks, axis=0))
    cut = tuple(slice(a, b + 1) for a, b in zip(where.min(axis=0), where.max(axis=0), strict=True))
    padded = [np.pad(mask[cut], 30) for mask in masks]
    small = counted({f"v{i}": mask[cut] for i, mask in enumerate(masks)})
    large = counted({f"v{i}": mask for i, mask in enumerate(padded)})
    here, there = staple(small, field_of_view="image"), staple(large, field_of_view="box")
    np.testing.assert_allclose(there.probability, here.probability, atol=1e-12)
    assert there.prior == pytest.approx(here.prior)
    assert staple(large, field_of_view="image").prior < 0.1 * there.prior


def test_staple_of_nothing_of_everything_and_of_one(row: Row) -> None:
    nothing = counted({"a": row(), "b": row()})
    assert overlap_of(StapleRule(("a", "b")), nothing).prediction == 0
    assert np.isnan(staple(nothing).sensitivity).all()
    everything = counted({"a": ~row(), "b": ~row()})
    assert overlap_of(StapleRule(("a", "b")), everything).prediction == 10
    assert staple(everything).prior == 1
    one = counted({"a": row(1, 2)}, row(2))
    assert overlap_of(StapleRule(("a",)), one) == Overlap(1, 1, 0)
    box = counted({"a": row(1, 2)}, row(2, 7))  # its box is all foreground
    assert overlap_of(StapleRule(("a",), "box"), box) == Overlap(1, 1, 1)


def test_an_empty_voter_has_no_sensitivity_but_does_not_stop_the_others(row: Row) -> None:
    result = staple(counted({"a": row(1, 2, 3), "b": row(1, 2), "empty": row()}))
    assert result.converged
    assert result.sensitivity[2] == 0
    assert result.specificity[2] == 1


def test_a_field_of_view_is_the_image_or_the_box(row: Row) -> None:
    with pytest.raises(ValueError, match="body"):
        staple(counted({"a": row(1)}), field_of_view="body")  # type: ignore[arg-type]
    with pytest.raises(EnsembleError, match="the votes of a"):
        StapleRule(("b",)).accept(counted({"a": row(1)}))


class EvenWhatNobodyMarked:
    """A rule as STAPLE can become one: what nobody marked is foreground, in its field of view."""

    members = ("a", "b")

    def __init__(self, field_of_view: str) -> None:
        self.field_of_view: Any = field_of_view

    def accept(self, patterns: Patterns) -> np.ndarray:
        return np.isin(patterns.codes, [0, 3])


@pytest.mark.parametrize(("view", "expected"), [("image", [0, 1, 3, 5, 6, 7, 8, 9]), ("box", [3, 5])])
def test_a_rule_takes_unmarked_voxels_in_its_field_of_view_only(row: Row, view: str, expected: list[int]) -> None:
    masks, truth = {"a": row(2, 3), "b": row(3, 4, 6)}, row(1, 3, 5, 6)
    rule = EvenWhatNobodyMarked(view)
    fused = fuse(rule, {v: pack(mask) for v, mask in masks.items()}, Grid((10, 1, 1)))
    expected = [voxel for voxel in expected if voxel != 6]
    assert np.flatnonzero(fused.array).tolist() == expected
    hits = len(set(expected) & {1, 3, 5, 6})
    assert overlap_of(rule, counted(masks, truth)) == Overlap(hits, len(expected) - hits, 4 - hits)


# --- painting


@given(
    st.integers(1, 5), st.sampled_from([0.0, 0.05, 0.5, 1.0]), st.integers(0, 2**32 - 1), st.sampled_from([1, 7, 300])
)
@settings(deadline=None)
def test_painted_masks_are_those_of_adding_up_votes(voters: int, share: float, seed: int, label: int) -> None:
    rng = np.random.default_rng(seed)
    masks = {f"v{i}": rng.random((70, 4, 3)) < share for i in range(voters)}
    rule = Ensemble(tuple(masks), int(rng.integers(1, voters + 1)))
    fused = fuse(rule, {v: pack(mask) for v, mask in masks.items()}, Grid((70, 4, 3)), label=label)
    expected = LabelMap.from_array(label * (sum(m.astype(int) for m in masks.values()) >= rule.threshold), fused.grid)
    np.testing.assert_array_equal(fused.array, expected.array)
    assert (fused.corner, fused.labels, fused.box.shape) == (expected.corner, expected.labels, expected.box.shape)


# --- hierarchical


def test_votes_for_a_severe_label_count_for_the_milder_ones() -> None:
    """Two of four say edema (1), two say core (2): nobody has a majority for one of them, but something is there."""
    votes = np.array([[1, 1, 2, 2], [0, 0, 1, 2], [2, 2, 2, 0], [0, 0, 0, 2], [1, 1, 1, 1]])
    maps = [as_map(votes[:, i].reshape(5, 1, 1)) for i in range(4)]
    grid = Grid((5, 1, 1))
    halves = hierarchical_vote(maps, severity=[1, 2], grid=grid)
    assert halves.array.ravel().tolist() == [2, 1, 2, 0, 1]
    strict = hierarchical_vote(maps, severity=[1, 2], grid=grid, ties="background")
    assert strict.array.ravel().tolist() == [1, 0, 2, 0, 1]
    reversed_order = hierarchical_vote(maps, severity=[2, 1], grid=grid)
    assert reversed_order.array.ravel().tolist() == [1, 2, 2, 0, 1]


def voxel_by_voxel(maps: list[np.ndarray], severity: list[int], ties: str) -> np.ndarray:
    """The rule as it is written: from the mildest label on, count who gives this label or a more severe one."""
    result = np.zeros_like(maps[0])
    for index in np.ndindex(result.shape):
        for level, label in enumerate(severity):
            votes = sum(one[index] in severity[level:] for one in maps)
            if votes > len(maps) / 2 or (votes == len(maps) / 2 and ties == "foreground"):
                result[index] = label
    return result


@given(
    st.integers(1, 5),
    st.permutations([1, 2, 4]),
    st.sampled_from(["foreground", "background"]),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=50)
def test_the_hierarchical_vote_is_its_rule_voxel_by_voxel(
    voters: int, severity: list[int], ties: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    arrays = [rng.choice([0, 0, 1, 2, 4], (4, 3, 3)).astype(np.uint8) for _ in range(voters)]
    fused = hierarchical_vote(map(as_map, arrays), severity=severity, grid=Grid((4, 3, 3)), ties=ties)
    expected = LabelMap.from_array(voxel_by_voxel(arrays, severity, ties), fused.grid)
    np.testing.assert_array_equal(fused.array, expected.array)
    assert (fused.corner, fused.labels) == (expected.corner, expected.labels)


def test_with_one_label_it_is_the_majority_and_a_missing_map_votes_background(row: Row) -> None:
    maps = [as_map(row(0, 1)), as_map(row(0)), None, None]
    fused = hierarchical_vote(maps, severity=[1], grid=Grid((10, 1, 1)))
    assert np.flatnonzero(fused.array).tolist() == [0]
    assert hierarchical_vote([None], severity=[1], grid=Grid((10, 1, 1))).empty


def test_severity_orders_all_labels_that_occur() -> None:
    two = as_map(np.full((2, 1, 1), 2))
    with pytest.raises(EnsembleError, match=r"labels \[2\]"):
        hierarchical_vote([two], severity=[1], grid=two.grid)
    for severity in ((), (1, 1), (0, 1)):
        with pytest.raises(ValueError, match="order of different labels"):
            Hierarchical(("a",), severity)
