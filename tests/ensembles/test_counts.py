"""Scores from counts are the scores of `isocenter.metrics`, for many at once."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter import metrics
from isocenter.ensembles import METRICS, SYMMETRIC, EnsembleError, _scores
from isocenter.metrics import Overlap, catalogue

counts = st.integers(0, 10**7)


def by_the_metrics(metric: str, overlap: Overlap, *, volume: float) -> float:
    """The number as the room of metrics gives it, from masks with these counts."""
    tp, fp, fn = (int(n) for n in (overlap.tp, overlap.fp, overlap.fn))
    truth = np.repeat([True, False, True], [tp, fp, fn])
    prediction = np.repeat([True, True, False], [tp, fp, fn])
    if metric == "s_score":
        return metrics.s_score(truth, prediction, spacing=[volume])
    value: float = getattr(metrics, metric)(truth, prediction)
    return value


@pytest.mark.parametrize("metric", METRICS)
def test_small_counts_and_every_kind_of_empty_mask(metric: str) -> None:
    every = np.array(list(itertools.product([0, 1, 2, 30], repeat=3)))
    scores = _scores.scores_from_counts(metric, *every.T, voxel_volume=2.5)
    for (tp, fp, fn), score in zip(every.tolist(), scores.tolist(), strict=True):
        expected = by_the_metrics(metric, Overlap(tp, fp, fn), volume=2.5)
        assert score == pytest.approx(expected, rel=1e-14, nan_ok=True), (tp, fp, fn)
        assert _scores.score_from_counts(metric, Overlap(tp, fp, fn), voxel_volume=2.5) == pytest.approx(
            expected, rel=1e-14, nan_ok=True
        )


@given(st.sampled_from(METRICS), counts, counts, counts, st.floats(1e-3, 1e3))
def test_large_counts(metric: str, tp: int, fp: int, fn: int, volume: float) -> None:
    one = _scores.score_from_counts(metric, Overlap(tp, fp, fn), voxel_volume=volume)
    (many,) = _scores.scores_from_counts(metric, *np.array([[tp], [fp], [fn]]), voxel_volume=volume)
    assert many == pytest.approx(one, rel=1e-12, abs=1e-300, nan_ok=True)
    assert math.isnan(one) or catalogue.get(metric).admits(one)


def test_symmetric_metrics_do_not_ask_who_is_the_truth_and_the_others_do() -> None:
    for metric in METRICS:
        there = _scores.score_from_counts(metric, Overlap(5, 3, 1), voxel_volume=1.0)
        back = _scores.score_from_counts(metric, Overlap(5, 1, 3), voxel_volume=1.0)
        assert (there == back) == (metric in SYMMETRIC)


def test_more_is_better_in_all_of_them() -> None:
    assert {catalogue.get(metric).better for metric in METRICS} == {"higher"}


def test_a_metric_of_surfaces_is_not_made_of_counts() -> None:
    with pytest.raises(EnsembleError, match="hd95 is not made of overlap counts"):
        _scores.scores_from_counts("hd95", *np.ones((3, 1), dtype=np.int64), voxel_volume=1.0)
    with pytest.raises(EnsembleError, match="hd95 is not made of overlap counts"):
        _scores.score_from_counts("hd95", Overlap(1, 1, 1), voxel_volume=1.0)
