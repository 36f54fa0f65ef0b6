from __future__ import annotations

import csv
import math
from collections import defaultdict
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics._roc import auroc
from isocenter.stats._delong import DeLong, delong

READINGS = Path(__file__).parents[1] / "golden" / "mrmc" / "sim_ordinal_3mod" / "data.csv"


def test_the_mean_variance_of_a_reader_study_is_that_of_mrmcaov() -> None:
    read = defaultdict(list)
    with READINGS.open() as file:
        for row in csv.DictReader(file):
            read[row["reader_id"], row["modality_id"]].append((int(row["truth"]), float(row["score"])))
    variances = [delong(*zip(*rows, strict=True)).variance for rows in read.values()]
    assert len(variances) == 18
    assert np.mean(variances) == pytest.approx(0.00165162552823584, rel=1e-12)  # MRMCaov 0.3.0, DeLong, "Error"


@given(st.lists(st.integers(0, 5), min_size=2, max_size=8), st.lists(st.integers(0, 5), min_size=2, max_size=8))
@settings(deadline=None)
def test_the_variance_is_that_of_the_table_of_all_pairs(positive: list[int], negative: list[int]) -> None:
    truth, score = [1] * len(positive) + [0] * len(negative), positive + negative
    pairs = np.array([[1.0 if p > n else 0.5 if p == n else 0.0 for n in negative] for p in positive])
    variance = pairs.mean(axis=1).var(ddof=1) / len(positive) + pairs.mean(axis=0).var(ddof=1) / len(negative)
    found = delong(truth, score)
    assert found.variance == pytest.approx(variance, abs=1e-15)
    assert found.auroc == pytest.approx(auroc(truth, score))


def test_the_order_of_the_cases_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    truth, score = rng.integers(0, 2, 60), rng.integers(0, 20, 60)
    order = rng.permutation(60)
    assert delong(truth[order], score[order]) == delong(truth, score)


def test_the_plain_interval_is_symmetric_and_ends_at_0_and_1() -> None:
    z = NormalDist().inv_cdf(0.975)
    assert DeLong(0.8, 0.0025).interval() == pytest.approx((0.8 - z * 0.05, 0.8 + z * 0.05))
    assert DeLong(0.95, 0.0025).interval() == (pytest.approx(0.95 - z * 0.05), 1.0)
    assert DeLong(0.05, 0.0025).interval() == (0.0, pytest.approx(0.05 + z * 0.05))
    narrow, wide = DeLong(0.8, 0.0025).interval(0.5), DeLong(0.8, 0.0025).interval(0.9)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_the_logit_interval_is_symmetric_in_log_odds_and_stays_inside() -> None:
    low, high = DeLong(0.95, 0.0025).interval(scale="logit")
    odds = [math.log(x / (1 - x)) for x in (low, 0.95, high)]
    assert odds[1] - odds[0] == pytest.approx(odds[2] - odds[1])
    assert odds[1] - odds[0] == pytest.approx(NormalDist().inv_cdf(0.975) * 0.05 / (0.95 * 0.05))
    assert high < 1


def test_perfect_separation_has_no_variance_and_no_log_odds() -> None:
    found = delong([0, 0, 1, 1], [1, 2, 3, 4])
    assert found == DeLong(1.0, 0.0)
    assert found.interval() == (1.0, 1.0)
    assert all(map(math.isnan, found.interval(scale="logit")))


def test_one_case_of_a_class_has_an_area_but_no_variance() -> None:
    found = delong([1, 0, 0], [2, 1, 3])
    assert found.auroc == 0.5
    assert math.isnan(found.variance)
    assert all(map(math.isnan, found.interval()))
    assert math.isnan(delong([0, 0], [1, 2]).auroc)


def test_impossible_input_is_refused() -> None:
    with pytest.raises(ValueError, match="only 0 and 1"):
        delong([0, 3], [1, 2])
    with pytest.raises(ValueError, match="not at 95"):
        DeLong(0.8, 0.01).interval(95)
    with pytest.raises(ValueError, match="not 'log'"):
        DeLong(0.8, 0.01).interval(scale="log")


def test_weighted_cases_have_the_variance_of_a_bootstrap_of_cases() -> None:
    from isocenter.metrics import auroc
    from isocenter.stats import bootstrap_ci

    rng = np.random.default_rng(4)
    truth = rng.random(300) < 0.4
    weight = np.where(rng.random(300) < 0.3, 4.0, 1.0)
    score = (truth * 1.3 * (weight < 2) + rng.normal(size=300)).round(1)
    found = delong(truth, score, weight=weight)
    assert found.auroc == pytest.approx(auroc(truth, score, weight=weight))
    drawn = bootstrap_ci(truth, score, weight=weight, replicates=4000, strata=truth).samples[:, 0].std()
    assert found.standard_error == pytest.approx(drawn, rel=0.05)
    assert abs(delong(truth, score).standard_error / drawn - 1) > 0.1


def test_equal_weights_change_nothing_and_whole_ones_are_no_copies() -> None:
    rng = np.random.default_rng(5)
    truth, score = np.repeat([0, 1], 20), rng.normal(size=40)
    plain = delong(truth, score)
    assert delong(truth, score, weight=np.full(40, 3.0)) == plain
    nearly = delong(truth, score, weight=np.where(np.arange(40) == 0, 1 + 1e-9, 1.0))
    assert (nearly.auroc, nearly.variance) == pytest.approx((plain.auroc, plain.variance), rel=1e-6)
    twice = delong(truth, score, weight=np.where(np.arange(40) % 2, 2.0, 1.0))
    assert twice.variance > plain.variance / 2


def test_a_class_of_a_single_weighted_case_has_no_variance() -> None:
    assert np.isnan(delong([0, 0, 1, 1], [1, 2, 3, 4], weight=[1, 2, 1, 0]).variance)
    assert np.isnan(delong([0, 0, 1], [1, 2, 3], weight=[1, 2, 0]).auroc)
