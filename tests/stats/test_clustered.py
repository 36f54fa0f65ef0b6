from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from isocenter.stats import ClusteredSignedRank, clustered_signed_rank, signed_rank


def correlated(rng: np.random.Generator, sizes: np.ndarray, *, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Differences without a preference, of which patients have so much of the variance in common; and the patients."""
    patient = np.repeat(np.arange(sizes.size), sizes)
    own, common = rng.normal(size=patient.size), rng.normal(size=sizes.size)
    return math.sqrt(share) * common[patient] + math.sqrt(1 - share) * own, patient


def as_published(d: np.ndarray, cluster: np.ndarray) -> float:
    """The statistic for clusters of any size, as the sum of weighted means of signed ranks."""
    cluster, d = cluster[d != 0], d[d != 0]
    signed = np.sign(d) * rankdata(np.abs(d))
    groups = [signed[cluster == label] for label in np.unique(cluster)]
    m, g = len(groups), np.array([len(group) for group in groups])
    means = np.array([group.mean() for group in groups])
    error = sum(((group - group.mean()) ** 2).sum() for group in groups)
    total = ((signed - signed.mean()) ** 2).sum()
    within, between = error / (g.sum() - m), (total - error) / (m - 1)
    g0 = (g.sum() - (g**2).sum() / g.sum()) / (m - 1)
    rho = max(0.0, (between - within) / (between + (g0 - 1) * within))
    rho = min(1.0, rho * (1 + (1 - rho**2) / (m - 2.5)))
    weight = g / (total / (g.sum() - 1) * (1 + (g - 1) * rho))
    return float((weight * means).sum() / np.sqrt((weight**2 * means**2).sum()))


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=30), st.sampled_from(["better", "worse", "two-sided"]))
@settings(deadline=None)
def test_with_one_member_per_cluster_it_is_the_plain_test(d: list[int], side: Any) -> None:
    options: dict[str, Any] = {"better": "higher", "decimals": 0, "alternative": side}
    found = clustered_signed_rank(d, [0] * len(d), range(len(d)), **options)
    counts = sum(value != 0 for value in d) <= 20
    plain = signed_rank(d, [0] * len(d), exact=counts, correction=False, **options)
    assert (found.p, found.method) == (pytest.approx(plain.p, rel=1e-12), plain.method)
    assert (found.n, found.zeros) == (plain.n, plain.zeros)
    assert found.clusters == found.n


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_clusters_of_any_size_give_the_published_statistic(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    d, patient = correlated(rng, rng.integers(1, 7, 25), share=share)
    d = np.round(d, 1)  # with ties and zeros
    order = rng.permutation(d.size)
    found = clustered_signed_rank(d[order], 0 * d, patient[order], better="higher", decimals=1)
    assert found.z == pytest.approx(as_published(d, patient), rel=1e-10)
    assert found.p == pytest.approx(norm.sf(found.z), rel=1e-12)


def test_clusters_of_one_size_by_hand() -> None:
    # Ranks of |d|: 1, 2, 3, 4, 5, 6; signed sums of the pairs −1 + 2, 3 + 4, −5 + 6.
    d = [-0.1, 0.2, 0.3, 0.4, -0.5, 0.6]
    found = clustered_signed_rank(d, [0] * 6, [1, 1, 2, 2, 3, 3], better="higher", decimals=1)
    assert found.z == pytest.approx(9 / math.sqrt(1 + 49 + 1))
    assert found[1:4] == (6, 0, 3)


def by_listing(d: np.ndarray, patient: np.ndarray) -> float:
    """The share of flips of whole patients whose statistic, made anew from the flipped differences, is as large."""
    number = int(patient.max()) + 1
    found = as_published(d, patient)
    flips = [np.array(signs)[patient] for signs in itertools.product([1, -1], repeat=number)]
    return float(np.mean([as_published(flip * d, patient) >= found - 1e-9 for flip in flips]))


@pytest.mark.parametrize("seed", range(4))
def test_few_clusters_are_flipped_and_the_statistic_made_anew(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, patient = correlated(rng, rng.permutation([1, 1, 2, 3, 4, 5, 9]), share=0.6)
    found = clustered_signed_rank(d, 0 * d, patient, better="higher", decimals=None)
    assert found.p == by_listing(d, patient)
    assert found.method == "exact"
    worse = clustered_signed_rank(-d, 0 * d, patient, better="higher", decimals=None, alternative="worse")
    assert worse.p == found.p
    either = clustered_signed_rank(d, 0 * d, patient, better="higher", decimals=None, alternative="two-sided")
    assert either.p == pytest.approx(2 * min(by_listing(d, patient), by_listing(-d, patient)))


@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_few_clusters_cannot_show_more_than_their_flips(clusters: int) -> None:
    d = np.arange(1.0, 4 * clusters + 1)
    found = clustered_signed_rank(d, 0 * d, np.arange(d.size) % clusters, better="higher", decimals=0)
    assert found.p == 2.0**-clusters


@pytest.mark.parametrize(("clusters", "method"), [(20, "exact"), (21, "normal")])
def test_it_says_how_p_was_found(clusters: int, method: str) -> None:
    d, patient = correlated(np.random.default_rng(8), np.repeat([1, 3], [1, clusters - 1]), share=0.5)
    found = clustered_signed_rank(d, 0 * d, patient, better="higher", decimals=None)
    assert found.method == method
    assert found.p == pytest.approx(norm.sf(found.z), abs=0.01)
    assert {"exact": "; all flips of clusters)", "normal": "; normal approximation)"}[method] in str(found)


def test_it_keeps_its_level_where_the_plain_test_does_not() -> None:
    rng = np.random.default_rng(0)
    clustered = plain = 0
    runs = 2000
    for _ in range(runs):
        d, patient = correlated(rng, rng.integers(1, 12, 40), share=0.5)
        clustered += clustered_signed_rank(d, 0 * d, patient, better="higher", decimals=None).p <= 0.05
        plain += signed_rank(d, 0 * d, better="higher", decimals=None).p <= 0.05
    # Of 2000 runs at 0.05 the share is known to 0.005.
    assert clustered / runs == pytest.approx(0.05, abs=0.015)
    assert plain / runs > 0.15


def test_copies_of_the_same_patients_are_no_new_evidence() -> None:
    d = np.random.default_rng(1).normal(0.4, 1, 30)
    once = clustered_signed_rank(d, 0 * d, range(30), better="higher", decimals=None)
    often = clustered_signed_rank(
        np.repeat(d, 10), np.zeros(300), np.repeat(range(30), 10), better="higher", decimals=None
    )
    assert often.z == pytest.approx(once.z, rel=0.02)
    assert often.correlation == pytest.approx(1)
    copied = signed_rank(np.repeat(d, 10), np.zeros(300), better="higher", decimals=None)
    assert copied.p < once.p / 100


def test_names_and_order_of_clusters_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    d, patient = correlated(rng, rng.integers(1, 6, 20), share=0.3)
    order, names = rng.permutation(d.size), rng.permutation(20)
    here = clustered_signed_rank(d, 0 * d, patient, better="lower", decimals=None)
    named = [f"patient {names[p]}" for p in patient[order]]
    assert clustered_signed_rank(d[order], 0 * d, named, better="lower", decimals=None) == here
    there = clustered_signed_rank(d, 0 * d, patient, better="higher", decimals=None, alternative="worse")
    assert there.p == pytest.approx(here.p, rel=1e-12)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=1, max_size=12))
@settings(deadline=None)
def test_whatever_the_clusters_are_p_is_a_probability(members: list[tuple[int, int]]) -> None:
    d, cluster = (list(column) for column in zip(*members, strict=True))
    assume(any(d))
    for side in ("better", "worse", "two-sided"):
        found = clustered_signed_rank(d, [0] * len(d), cluster, better="higher", decimals=0, alternative=side)
        assert 0 <= found.p <= 1
        assert 0 <= found.correlation <= 1
        assert abs(found.z) <= math.sqrt(found.clusters) * (1 + 1e-12)


def test_nothing_to_flip_is_no_evidence() -> None:
    nothing = clustered_signed_rank([1, 2], [1, 2], ["a", "b"], better="higher", decimals=0)
    assert nothing == ClusteredSignedRank(0.0, 0, 2, 0, 0.0, 1.0, "none")
    cancels = clustered_signed_rank([1, 2, 3, 4], [2, 1, 4, 3], list("aabb"), better="higher", decimals=0)
    assert (cancels.z, cancels.p, cancels.n, cancels.method) == (0.0, 1.0, 4, "none")
    alone = clustered_signed_rank([1, 2, 4], [0, 0, 0], list("aaa"), better="higher", decimals=0)
    assert (alone.z, alone.clusters, alone.p) == (1.0, 1, 0.5)


def test_a_member_needs_a_cluster() -> None:
    with pytest.raises(ValueError, match="one label per case: 2 of them, not 3"):
        clustered_signed_rank([1, 2], [2, 2], "abc", better="higher", decimals=0)
    with pytest.raises(ValueError, match=r"those at 0, 1, 2, 3, 4 … \(counting from 0\) have no label"):
        clustered_signed_rank([1] * 6, [2] * 6, [None] * 6, better="higher", decimals=0)
    with pytest.raises(ValueError, match="not 'less'"):
        clustered_signed_rank([1], [2], "a", better="higher", decimals=0, alternative="less")  # type: ignore[arg-type]
