"""All subsets at all thresholds, from one histogram."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.ensembles import Ensemble, EnsembleError, count_patterns, every_ensemble, overlap_of, overlaps, pack


def plain_ensembles(masks: Mapping[str, np.ndarray], truth: np.ndarray) -> Iterator[tuple[Ensemble, list[int]]]:
    """Every subset and threshold with TP, FP and FN: add the masks, compare, count."""
    for size in range(1, len(masks) + 1):
        for members in combinations(masks, size):
            votes = sum(masks[member].astype(int) for member in members)
            for threshold in range(1, size + 1):
                mask = votes >= threshold
                counts = [mask & truth, mask & ~truth, truth & ~mask]
                yield Ensemble(members, threshold), [int(voxels.sum()) for voxels in counts]


@pytest.mark.parametrize("solutions", range(1, 11))
def test_there_are_n_times_two_to_the_n_minus_one_ensembles(solutions: int) -> None:
    every = list(every_ensemble([f"s{i}" for i in range(solutions)]))
    assert len(every) == len(set(every)) == solutions * 2 ** (solutions - 1)


def test_five_solutions_have_eighty_ensembles_with_golden_counts(
    golden_segmentation: dict[str, Any], golden_patterns: Any
) -> None:
    for case, expected in golden_segmentation["ensembles"].items():
        patterns = golden_patterns(case)
        tp, fp = overlaps(patterns)
        found = {}
        for ensemble, t, f in zip(every_ensemble(patterns.voters), tp.tolist(), fp.tolist(), strict=True):
            key = f"{''.join(member[1:] for member in ensemble.members)}>={ensemble.threshold}"
            found[key] = [t, f, patterns.positives - t]
        assert expected["n_ensembles"] == 80
        assert found == expected["ensembles_tp_fp_fn"]


@given(st.integers(1, 6), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_counts_are_those_of_a_loop_over_subsets_and_thresholds(voters: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.random((6, 5, 4)) < share
    masks = {f"v{i}": rng.random((6, 5, 4)) < rng.choice([0, 0.2, 0.6, 1]) for i in range(voters)}
    patterns = count_patterns({name: pack(mask) for name, mask in masks.items()}, pack(truth))
    tp, fp = overlaps(patterns)
    counts = zip(tp.tolist(), fp.tolist(), (patterns.positives - tp).tolist(), strict=True)
    fast = dict(zip(every_ensemble(masks), map(list, counts), strict=True))
    assert fast == dict(plain_ensembles(masks, truth))
    for ensemble, expected in fast.items():
        overlap = overlap_of(ensemble, patterns)
        assert [overlap.tp, overlap.fp, overlap.fn] == expected


def test_sixteen_solutions_are_half_a_million_ensembles_and_seventeen_too_many() -> None:
    rng = np.random.default_rng(0)
    masks = {f"v{i:02}": rng.random((9, 9, 9)) < 0.3 for i in range(17)}
    ballots = {name: pack(mask) for name, mask in masks.items()}
    sixteen = count_patterns({name: ballots[name] for name in list(masks)[:16]}, ballots["v16"])
    tp, fp = overlaps(sixteen)
    assert tp.size == 16 * 2**15
    for place, ensemble in enumerate(every_ensemble(sixteen.voters)):
        if place % 50_000 == 7:
            overlap = overlap_of(ensemble, sixteen)
            assert (overlap.tp, overlap.fp) == (tp[place], fp[place])
    with pytest.raises(EnsembleError, match="17 solutions"):
        overlaps(count_patterns(ballots))


def test_smaller_ensembles_come_first_then_higher_thresholds_then_the_alphabet() -> None:
    assert [str(ensemble) for ensemble in every_ensemble(["c", "a", "b"])] == [
        "1of(a)", "1of(b)", "1of(c)",
        "2of(a,b)", "2of(a,c)", "2of(b,c)", "1of(a,b)", "1of(a,c)", "1of(b,c)",
        "3of(a,b,c)", "2of(a,b,c)", "1of(a,b,c)",
    ]  # fmt: skip


def test_the_order_is_that_of_sorting_by_size_threshold_and_names() -> None:
    every = list(every_ensemble("abcdef"))
    assert every == sorted(every, key=lambda e: (len(e.members), -e.threshold, e.members))


def test_an_ensemble_is_its_name() -> None:
    assert str(Ensemble(("b", "a", "c"), 2)) == "2of(a,b,c)"
    assert Ensemble.parse(" 2of(c, b,a) ") == Ensemble(("a", "b", "c"), 2)
    for name in ("2of(a)", "0of(a)", "of(a)", "2of()", "2of(a,b", "1of(a,a)", "a", ""):
        with pytest.raises(ValueError, match=r"ensemble|agree"):
            Ensemble.parse(name)


def test_a_member_who_did_not_vote_is_named(row: Callable[..., np.ndarray]) -> None:
    patterns = count_patterns({"a": pack(row(1))})
    with pytest.raises(EnsembleError, match="z did not vote; a did"):
        Ensemble(("a", "z"), 1).accept(patterns)
