"""Agreement of readers: kappa and intraclass correlation against scikit-learn and the tables of the papers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from isocenter.stats import cohen_kappa, fleiss_kappa, intraclass_correlation

# Shrout and Fleiss (1979), table 2: six targets, four judges.
JUDGES = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
# Fleiss (1971), table 1: how many of six psychiatrists gave each of five diagnoses to each of 30 patients.
DIAGNOSES = (
    "00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031 "
    "00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006"
)


def ratings(counts: str) -> np.ndarray:
    return np.array([[k for k, n in enumerate(row) for _ in range(int(n))] for row in counts.split()], float)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_cohens_kappa_is_that_of_scikit_learn(weights: Any) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for _ in range(20):
        a = rng.integers(1, 6, 60)
        b = np.clip(a + rng.integers(-1, 2, 60), 1, 5)
        expected = metrics.cohen_kappa_score(a, b, weights=None if weights == "none" else weights)
        assert cohen_kappa(a, b, weights=weights).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_the_interval_of_cohens_kappa_is_as_wide_as_that_of_a_bootstrap(weights: Any) -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(1, 6, 400)
    b = np.clip(a + rng.choice([-2, -1, 0, 0, 0, 1], 400), 1, 5)
    found = cohen_kappa(a, b, weights=weights)
    drawn = [cohen_kappa(a[at], b[at], weights=weights).value for at in rng.integers(0, 400, (600, 400))]
    assert (found.high - found.low) / 3.92 == pytest.approx(np.std(drawn), rel=0.1)


def test_fleiss_kappa_of_his_own_table() -> None:
    table = ratings(DIAGNOSES)
    shares = [np.mean(table == category) for category in range(5)]
    assert np.round(shares, 3).tolist() == [0.144, 0.144, 0.167, 0.306, 0.239]
    found = fleiss_kappa(table, seed=1)
    assert round(found.value, 3) == 0.430
    assert found.low < 0.43 < found.high
    assert (found.readers, found.cases, found.left_out, found.seed) == (6, 30, 0, 1)
    assert fleiss_kappa(table, seed=1) == found


def test_fleiss_kappa_takes_missing_reads() -> None:
    table = ratings(DIAGNOSES)
    table[0, 2:] = np.nan
    table[1, 1:] = np.nan
    found = fleiss_kappa(table, replicates=200)
    assert (found.cases, found.left_out) == (29, 1)
    agree = [1.0] + [sum(n * (n - 1) for n in map(int, row)) / 30 for row in DIAGNOSES.split()[2:]]
    kept = table[[0, *range(2, 30)]]
    share = np.array([(kept == category).sum() for category in range(5)]) / np.count_nonzero(~np.isnan(kept))
    expected = (np.mean(agree) - (share**2).sum()) / (1 - (share**2).sum())
    assert found.value == pytest.approx(expected)


def test_intraclass_correlations_are_those_of_shrout_and_fleiss() -> None:
    agreement, consistency = (intraclass_correlation(JUDGES, model=model) for model in ("ICC(2,1)", "ICC(3,1)"))
    assert (round(agreement.value, 4), round(consistency.value, 4)) == (0.2898, 0.7148)
    # The intervals that McGraw and Wong's formulas give for this table, as R's irr and psych print them.
    assert (round(agreement.low, 3), round(agreement.high, 3)) == (0.019, 0.761)
    assert (round(consistency.low, 3), round(consistency.high, 3)) == (0.342, 0.946)
    for same, other in (("ICC(A,1)", agreement), ("ICC(C,1)", consistency)):
        assert intraclass_correlation(JUDGES, model=same).value == other.value  # type: ignore[arg-type]


def test_an_intraclass_correlation_leaves_cases_out_that_somebody_did_not_read() -> None:
    more = [*map(list, JUDGES), [np.nan, 3, 4, 5]]
    found = intraclass_correlation(more)
    assert (found.value, found.cases, found.left_out) == (intraclass_correlation(JUDGES).value, 6, 1)
    assert "1 left out for missing reads" in str(found)


def test_the_interval_of_absolute_agreement_covers() -> None:
    rng, covered = np.random.default_rng(2), 0
    for _ in range(400):
        table = rng.normal(size=(30, 1)) + 0.5 * rng.normal(size=(1, 4)) + 0.8 * rng.normal(size=(30, 4))
        found = intraclass_correlation(table)
        covered += found.low <= 1 / (1 + 0.25 + 0.64) <= found.high
    assert covered / 400 > 0.95 - 3 * (0.05 * 0.95 / 400) ** 0.5


def test_perfect_and_undefined_agreement() -> None:
    assert cohen_kappa([1, 2, 3], [1, 2, 3]).value == 1.0
    assert np.isnan(cohen_kappa([3, 3], [3, 3]).value)
    assert np.isnan(fleiss_kappa([[1, 1], [1, 1]]).value)
    assert intraclass_correlation([[1, 1], [2, 2], [4, 4]]).value == 1.0
    told = json.loads(json.dumps(cohen_kappa([3, 3], [3, 3]).to_dict(), allow_nan=False))
    assert (told["value"], told["statistic"]) == (None, "Cohen's kappa")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cohen_kappa([1, 2], [1]), "ratings are cases × readers"),
        (lambda: cohen_kappa([1, np.nan], [np.nan, 2]), "no case in common"),
        (lambda: cohen_kappa([1, 2], [1, 2], weights="cubic"), "weights is one of"),  # type: ignore[arg-type]
        (lambda: fleiss_kappa([[1, np.nan], [np.nan, 2]]), "no case was read by two readers"),
        (lambda: intraclass_correlation([[1, 2], [np.nan, 2]]), "needs two cases that all"),
        (
            lambda: intraclass_correlation([[1, 2], [np.inf, 2]], level=2),
            "between 0 and 1, not at 2; a rating is a number",
        ),
    ],
)
def test_what_cannot_be_measured_is_said(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
