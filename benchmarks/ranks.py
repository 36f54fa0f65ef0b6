"""Ranks in every draw of cases, against a loop that copies, averages and ranks; and a submission that comes late."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import kendalltau, rankdata, trim_mean

from benchmarks.timing import best, compare
from isocenter.ranking._agreement import kendall_draws
from isocenter.ranking._rank_draws import ranks_of
from isocenter.ranking._rank_sets import rank_sets_of_cases
from isocenter.resampling.counts import Resamples, resample_cases
from isocenter.resampling.estimates import resample_means, resample_quantiles, resample_trimmed_means

REPLICATES = 2000


def board(submissions: int, cases: int) -> np.ndarray:
    """Dice of submissions that get better by little, on cases some of which are hard for all."""
    rng = np.random.default_rng(0)
    skill = np.linspace(0.7, 0.75, submissions).reshape(-1, 1)
    return np.clip(skill + rng.normal(0, 0.1, cases) + rng.normal(0, 0.05, (submissions, cases)), 0, 1)


def run(_folder: Path) -> None:
    for submissions, cases in ((28, 100), (50, 1000)):
        means_and_ranks(board(submissions, cases))
    others(board(28, 100))
    late(board(51, 1000))
    took = best(lambda: rank_sets_of_cases(board(28, 100), better="higher"), repeat=3)
    print(f"\nJoint rank sets of 28 submissions, 20 000 simulations\n  {took.cpu * 1e3:.1f} ms CPU")


def means_and_ranks(x: np.ndarray) -> None:
    cases = x.shape[1]

    def ours() -> np.ndarray:
        draws = resample_cases(cases, replicates=REPLICATES, seed=0)
        return ranks_of(resample_means(x, draws), better="higher", ties="min")

    def loop() -> np.ndarray:
        rng = np.random.default_rng(0)
        rows = (rng.integers(0, cases, size=cases) for _ in range(REPLICATES))
        return np.array([rankdata(-x[:, row].mean(axis=1), method="min") for row in rows])

    rng = np.random.default_rng(0)
    same = Resamples.of_indices([rng.integers(0, cases, size=cases) for _ in range(REPLICATES)], cases=cases)
    np.testing.assert_array_equal(ranks_of(resample_means(x, same), better="higher", ties="min").T, loop())
    compare(
        f"Draw, average, rank: {len(x)} submissions, {cases} cases, {REPLICATES} draws",
        ours,
        {"numpy and scipy, cases copied": loop},
        repeat=3,
    )


def others(x: np.ndarray) -> None:
    draws = resample_cases(x.shape[1], replicates=REPLICATES, seed=0)
    picks = [np.repeat(np.arange(draws.cases), count) for count in draws.counts]
    ranks = ranks_of(resample_means(x, draws), better="higher", ties="min")
    for title, ours, theirs in (
        ("Medians", lambda: resample_quantiles(x, draws), lambda: [np.median(x[:, pick], axis=1) for pick in picks]),
        (
            "Trimmed means",
            lambda: resample_trimmed_means(x, draws, proportion=0.1),
            lambda: [trim_mean(x[:, pick], 0.1, axis=1) for pick in picks],
        ),
        (
            "Kendall's tau with the first draw",
            lambda: kendall_draws(ranks[:, 0], ranks).tau,
            lambda: [kendalltau(ranks[:, 0], column).statistic for column in ranks.T],
        ),
    ):
        np.testing.assert_allclose(np.transpose(ours()), theirs(), rtol=0, atol=1e-12)
        what = f"{title} of {len(x)} submissions, {x.shape[1]} cases, {REPLICATES} draws"
        compare(what, ours, {"numpy and scipy, cases copied": theirs}, repeat=3)


def late(x: np.ndarray) -> None:
    draws = resample_cases(x.shape[1], replicates=10_000, seed=0)
    known = resample_means(x[:-1], draws)

    def add() -> np.ndarray:
        scores = np.vstack((known, resample_means(x[-1:], draws)))
        return ranks_of(scores, better="higher", ties="min")

    add()
    took = best(add)
    title = f"One more submission to {len(known)}, {x.shape[1]} cases, 10 000 draws: its scores, and all ranks"
    print(f"\n{title}\n  {'isocenter':<32} {took.cpu * 1e3:9.1f} ms CPU {took.wall * 1e3:9.1f} ms wall")
