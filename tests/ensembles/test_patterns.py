"""The pattern histogram: masks as bits, and combinations of votes counted in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.ensembles import EnsembleError, Patterns, _ballots, _patterns, count_patterns, pack
from isocenter.volumes import Grid, LabelMap


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Masks of one to six voters and a truth: empty, full, sparse or dense, some of them wider than a word of bits."""
    shape = draw(st.sampled_from([(5, 4, 3), (70, 3, 2), (64, 2, 2), (130, 2, 1), (1, 1, 1)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shares = draw(st.lists(st.sampled_from([0.0, 0.03, 0.5, 1.0]), min_size=2, max_size=7))
    masks = [np.asfortranarray(rng.random(shape) < share) for share in shares]
    return {f"v{i}": mask for i, mask in enumerate(masks[1:])}, masks[0]


def by_voxel(masks: dict[str, np.ndarray], truth: np.ndarray) -> Counter[tuple[int, bool]]:
    """The combinations of votes, gone through voxel by voxel."""
    codes = sum(mask.astype(int) << i for i, (_, mask) in enumerate(sorted(masks.items())))
    return Counter(zip(np.asarray(codes).ravel().tolist(), truth.ravel().tolist(), strict=True))


def as_counter(patterns: Patterns) -> Counter[tuple[int, bool]]:
    inside = {(int(c), True): int(n) for c, n in zip(patterns.codes, patterns.inside, strict=True) if n}
    outside = {(int(c), False): int(n) for c, n in zip(patterns.codes, patterns.outside, strict=True) if n}
    return Counter(inside | outside)


@given(cases())
@settings(deadline=None)
def test_counts_are_those_of_going_through_the_voxels(case: tuple[dict[str, np.ndarray], np.ndarray]) -> None:
    masks, truth = case
    patterns = count_patterns({name: pack(mask) for name, mask in masks.items()}, pack(truth))
    assert as_counter(patterns) == by_voxel(masks, truth)
    assert (np.diff(patterns.codes.astype(int)) > 0).all()
    assert patterns.positives == truth.sum()


@given(cases())
@settings(deadline=None)
def test_large_masks_that_are_deflated_and_scans_in_many_slabs_count_the_same(
    case: tuple[dict[str, np.ndarray], np.ndarray],
) -> None:
    masks, truth = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ballots, "_SMALL", -1)
        patch.setattr(_ballots.math, "prod", lambda _: 0)
        patch.setattr(_patterns, "_SLAB", 1)
        ballots = {name: pack(mask) for name, mask in masks.items()}
        assert all(isinstance(ballot.words, dict) for ballot in ballots.values() if not ballot.empty)
        assert as_counter(count_patterns(ballots, pack(truth))) == by_voxel(masks, truth)


@given(cases())
@settings(deadline=None)
def test_a_label_map_and_its_whole_array_are_one_ballot(case: tuple[dict[str, np.ndarray], np.ndarray]) -> None:
    _, mask = case
    labels = LabelMap.from_array(mask.astype(np.uint8), Grid(mask.shape))
    for other in (labels, np.ascontiguousarray(mask), mask.astype(np.int16)):
        ballot = pack(other)
        assert (ballot.low, ballot.high) == (pack(mask).low, pack(mask).high)
        assert ballot.digest() == pack(mask).digest()
        assert as_counter(count_patterns({"a": pack(mask), "b": ballot})) == by_voxel(
            {"a": mask, "b": mask}, np.zeros_like(mask)
        )


@given(cases(), st.data())
@settings(deadline=None)
def test_voxels_in_a_box_are_counted_from_bits(
    case: tuple[dict[str, np.ndarray], np.ndarray], data: st.DataObject
) -> None:
    _, mask = case
    low = [data.draw(st.integers(0, n)) for n in mask.shape]
    high = [data.draw(st.integers(a, n)) for a, n in zip(low, mask.shape, strict=True)]
    inside = mask[tuple(slice(a, b) for a, b in zip(low, high, strict=True))].sum()
    assert pack(mask).inside(tuple(low), tuple(high)) == inside


def test_a_digest_tells_masks_apart_that_differ_in_one_voxel_or_in_place() -> None:
    mask = np.zeros((70, 4, 3), dtype=bool)
    mask[3:9, 1:3, 1] = True
    changed, moved = mask.copy(), np.roll(mask, 1, axis=0)
    changed[5, 1, 1] = False
    assert len({pack(m).digest() for m in (mask, changed, moved, np.zeros_like(mask))}) == 4


def test_only_named_labels_are_foreground() -> None:
    labels = np.array([0, 1, 2, 3, 2], dtype=np.uint8).reshape(5, 1, 1)
    lm = LabelMap.from_array(labels, Grid((5, 1, 1)))
    assert pack(lm, labels=[2, 3]).inside((0, 0, 0), (5, 1, 1)) == 3
    assert pack(lm).inside((0, 0, 0), (5, 1, 1)) == 4
    assert pack(lm, labels=[7]).empty


def test_the_box_is_that_of_the_voters_and_not_of_the_truth(row: Callable[..., np.ndarray]) -> None:
    patterns = count_patterns({"a": pack(row(2, 3)), "b": pack(row(5))}, pack(row(0, 3, 4, 9)))
    assert (patterns.box_voxels, patterns.box_truth) == (4, 2)


def test_voters_are_in_alphabetical_order_whoever_is_named_first(row: Callable[..., np.ndarray]) -> None:
    patterns = count_patterns({"b": pack(row(1)), "a": pack(row(0))})
    assert patterns.voters == ("a", "b")
    assert patterns.codes.tolist() == [0, 1, 2]
    assert patterns.outside.tolist() == [8, 1, 1]


def test_golden_masks_fill_their_image(golden_segmentation: dict[str, Any], golden_patterns: Any) -> None:
    for case, expected in golden_segmentation["ensembles"].items():
        patterns = golden_patterns(case)
        assert patterns.inside.sum() + patterns.outside.sum() == expected["voxels"]
        assert patterns.voxel_volume == pytest.approx(expected["voxel_volume_mm3"])


def test_nobody_and_too_many_cannot_vote_and_masks_have_one_shape(row: Callable[..., np.ndarray]) -> None:
    with pytest.raises(EnsembleError, match="0 voters"):
        count_patterns({})
    with pytest.raises(EnsembleError, match="21 voters"):
        count_patterns({f"v{i}": pack(row(i % 9)) for i in range(21)})
    assert count_patterns({f"v{i:02}": pack(row(0)) for i in range(20)}).codes.tolist() == [0, 2**20 - 1]
    with pytest.raises(EnsembleError, match="different shapes"):
        count_patterns({"a": pack(row(1)), "b": pack(np.zeros((3, 3, 3), bool))})
    with pytest.raises(EnsembleError, match="float64"):
        pack(np.zeros((3, 3, 3)))
