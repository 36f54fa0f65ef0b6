from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isocenter.stats import Comparison, adjust, clustered_signed_rank, compare, paired_t, sign_flip, signed_rank

GOLDEN = Path(__file__).parents[1] / "golden" / "paired"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
DICE = {
    "alpha": [0.81, 0.77, 0.90, 0.72, 0.85, 0.79],
    "beta": [0.80, 0.75, 0.87, 0.68, 0.80, 0.73],
    "gamma": [0.82, 0.75, 0.90, 0.74, 0.83, 0.77],
}


@pytest.fixture
def errors() -> dict[str, np.ndarray]:
    scores: dict[str, list[float]] = {}
    with (GOLDEN / "scores.csv").open() as file:
        for row in csv.DictReader(file):
            scores.setdefault(row["team"], []).append(float(row["error"]))
    return {team: np.array(values) for team, values in scores.items()}


def test_the_winner_against_the_rest_is_the_table_of_r(errors: dict[str, np.ndarray]) -> None:
    found = compare(errors, better="lower", decimals=None, adjust="bonferroni")
    expected = EXPECTED["best_vs_others"]
    assert [(row.a, row.b, row.n) for row in found.rows] == [("team1", row["other"], 100) for row in expected]
    assert [row.p for row in found.rows] == pytest.approx([row["p_less_default"] for row in expected], rel=1e-12)
    assert [row.adjusted for row in found.rows] == pytest.approx([5 * row["p_less_default"] for row in expected])
    assert [row.difference for row in found.rows] == pytest.approx([row["mean_diff"] for row in expected])


def test_hecktor_s_analysis_is_the_paired_t_test_with_two_sides(errors: dict[str, np.ndarray]) -> None:
    found = compare(errors, better="lower", decimals=2, test="t", adjust="bonferroni", alternative="two-sided")
    expected = [min(1, 5 * row["t_p_two_sided"]) for row in EXPECTED["best_vs_others"]]
    assert [row.adjusted for row in found.rows] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("family", "pairs", "side"),
    [
        ("winner-vs-rest", ["alpha beta", "alpha gamma"], "better"),
        ("all-unordered", ["alpha beta", "alpha gamma", "beta gamma"], "two-sided"),
        (
            "all-ordered",
            ["alpha beta", "alpha gamma", "beta alpha", "beta gamma", "gamma alpha", "gamma beta"],
            "better",
        ),
    ],
)
@pytest.mark.parametrize("test", ["wilcoxon", "t", "sign-flip"])
@pytest.mark.parametrize("method", ["holm", "bonferroni", "bh", "none"])
def test_a_family_is_all_its_tests_adjusted_together(
    family: Any, pairs: list[str], side: Any, test: Any, method: Any
) -> None:
    found = compare(DICE, better="higher", decimals=2, family=family, test=test, adjust=method)
    assert [f"{row.a} {row.b}" for row in found.rows] == pairs
    assert found.alternative == side
    function: Any = {"wilcoxon": signed_rank, "t": paired_t, "sign-flip": sign_flip}[test]
    p = [function(DICE[row.a], DICE[row.b], better="higher", decimals=2, alternative=side).p for row in found.rows]
    assert [row.p for row in found.rows] == p
    assert [row.adjusted for row in found.rows] == adjust(p, method).tolist()
    assert all(row.significant == (row.adjusted <= 0.05) for row in found.rows)


def test_significant_is_an_adjusted_p_of_at_most_alpha() -> None:
    p = compare(DICE, better="higher", decimals=2).rows[0].adjusted
    assert compare(DICE, better="higher", decimals=2, alpha=p).rows[0].significant
    assert not compare(DICE, better="higher", decimals=2, alpha=p * 0.999).rows[0].significant


def test_patients_count_where_clusters_are_given(errors: dict[str, np.ndarray]) -> None:
    patient = [f"p{number // 4}" for number in range(100)]
    a, b = errors["team1"], errors["team2"]
    ranked = compare(errors, better="lower", decimals=2, cluster=patient)
    assert ranked.clusters == 25
    assert ranked.rows[0].p == clustered_signed_rank(a, b, patient, better="lower", decimals=2).p
    flipped = compare(errors, better="lower", decimals=2, cluster=patient, test="sign-flip")
    assert flipped.rows[0].p == sign_flip(a, b, better="lower", decimals=2, cluster=patient).p
    assert "Wilcoxon signed-rank test of Rosner, Glynn and Lee for 25 clusters, one-sided" in str(ranked)
    assert "p by normal approximation, adjusted" in str(ranked)
    assert "Sign-flip permutation test of the mean for 25 clusters" in str(flipped)


def test_the_winner_is_who_has_the_best_mean_or_is_named() -> None:
    assert compare(DICE, better="lower", decimals=2).rows[0][:2] == ("beta", "alpha")
    named = compare(DICE, better="higher", decimals=2, winner="gamma")
    assert [row[:2] for row in named.rows] == [("gamma", "alpha"), ("gamma", "beta")]
    tied = {"alpha": [0.1, 0.2, 0.3], "beta": [0.3, 0.1, 0.2], "gamma": [0.0, 0.0, 0.0]}
    with pytest.raises(ValueError, match=r"alpha and beta have the best mean, 0\.2: name the winner"):
        compare(tied, better="higher", decimals=1)
    assert len(compare(tied, better="higher", decimals=1, winner="beta").rows) == 2
    with pytest.raises(ValueError, match="alpha and beta have the best mean"):
        compare({"alpha": [0.1 + 0.2], "beta": [0.3]}, better="higher", decimals=1)


def test_as_text_it_is_a_table_that_says_how_it_was_made() -> None:
    found = compare(DICE, better="higher", decimals=2, alpha=0.1)
    assert str(found).splitlines() == [
        "Wilcoxon signed-rank test, one-sided (a better than b); higher scores are better; "
        "differences rounded to 2 decimals.",
        "Family: the winner against each of the others, 2 tests; p by normal approximation with continuity correction "
        "or exact, adjusted by Holm's method; * significant at 0.1.",
        "",
        "a      b      n   a − b      p  adjusted p",
        "alpha  beta   6  +0.035  0.016       0.031  *",
        "alpha  gamma  6  +0.005  0.240       0.240",  # W⁺ = 10.5 of 5 differences, z = (10.5 − 7.5 − 0.5)/√12.5
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": "t", "adjust": "none"}, "; p from the t distribution, not adjusted; "),
        ({"test": "sign-flip", "adjust": "bh"}, "; p from all flips, adjusted by Benjamini and Hochberg's method; "),
        ({"family": "all-unordered", "adjust": "bonferroni"}, "Family: all pairs, 3 tests; "),
        ({"family": "all-ordered"}, "Family: all ordered pairs, 6 tests; "),
        ({"alternative": "two-sided"}, "Wilcoxon signed-rank test, two-sided; "),
        ({"decimals": None}, "higher scores are better.\n"),
    ],
)
def test_the_text_names_test_family_and_adjustment(options: dict[str, Any], words: str) -> None:
    assert words in str(compare(DICE, **{"better": "higher", "decimals": 2} | options))


def test_drawn_flips_are_told_with_their_seed() -> None:
    rng = np.random.default_rng(0)
    scores = {"a": rng.normal(1, 1, 50), "b": rng.normal(0, 1, 50)}
    found = compare(scores, better="higher", decimals=None, test="sign-flip", replicates=99, seed=7)
    assert (
        found.rows[0].p == sign_flip(scores["a"], scores["b"], better="higher", decimals=None, replicates=99, seed=7).p
    )
    assert "p from 99 drawn flips (seed 7)" in str(found)


def test_a_single_submission_has_nobody_to_be_compared_with() -> None:
    found = compare({"alone": [0.8, 0.9]}, better="higher", decimals=2)
    assert found.rows == ()
    assert str(found).splitlines()[1:] == [
        "Family: the winner against each of the others, 0 tests; p adjusted by Holm's method; * significant at 0.05.",
        "",
        "a  b  n  a − b  p  adjusted p",
    ]


def test_a_test_without_an_answer_is_left_out_of_the_family() -> None:
    found = compare({"a": [0.8], "b": [0.7]}, better="higher", decimals=1, test="t")
    (row,) = found.rows
    assert isinstance(row, Comparison)
    assert row.difference == pytest.approx(0.1)
    assert math.isnan(row.p)
    assert math.isnan(row.adjusted)
    assert not row.significant
    assert str(found).splitlines()[-1] == "a  b  1  +0.10  –           –"


def test_equal_submissions_are_never_significant() -> None:
    for test in ("wilcoxon", "t", "sign-flip"):
        found = compare({"a": [0.1 + 0.2] * 9, "b": [0.3] * 9}, better="higher", decimals=3, winner="a", test=test)
        assert found.rows[0].p == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": {}}, "no submissions"),
        ({"scores": {"a": [1, 2], "b": [1]}}, "the numbers of cases differ: a 2, b 1"),
        ({"scores": {"a": [1, math.nan], "b": [math.inf, 1]}}, r"a has no score in cases 1 \(nan\).*; b has no score"),
        ({"scores": {"a": [], "b": []}}, "there are no cases"),
        ({"scores": {"a": [1]}, "decimals": 20}, "not 20"),
        ({"scores": {"a": [1]}, "better": "up"}, "not 'up'"),
        ({"family": "all"}, "family is one of 'winner-vs-rest', 'all-ordered', 'all-unordered'; not 'all'"),
        ({"test": "anova"}, "not 'anova'"),
        ({"adjust": "fdr"}, "not 'fdr'"),
        ({"alternative": "worse"}, "family 'winner-vs-rest' is 'better' or 'two-sided', not 'worse'"),
        ({"family": "all-ordered", "alternative": "two-sided"}, "'all-ordered' is 'better', not 'two-sided'"),
        ({"family": "all-unordered", "alternative": "better"}, "'all-unordered' is 'two-sided', not 'better'"),
        ({"winner": "delta"}, "'delta' cannot be the winner: the family is 'winner-vs-rest', of alpha, beta, gamma"),
        ({"family": "all-ordered", "winner": "alpha"}, "the family is 'all-ordered'"),
        ({"alpha": 5}, "alpha is within 0 and 1, not 5"),
        ({"cluster": list("aabbcc"), "test": "t"}, "no t test for clusters"),
        ({"cluster": list("aabb")}, "6 of them, not 4"),
        ({"test": "sign-flip", "replicates": 0}, "at least 1 flip"),
    ],
)
def test_what_is_no_family_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(**{"scores": DICE, "better": "higher", "decimals": 2} | changes)
