"""Who is better than whom among 28 submissions, in bootstrap draws of 100 cases, against scipy's signed-rank test."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from benchmarks.timing import best, compare
from isocenter.stats import signed_rank_matrix

SUBMISSIONS, CASES, DRAWS = 28, 100, 1000
DECIMALS = 3


def board() -> np.ndarray:
    """A board of OpenKBP's size: cases differ more than submissions do."""
    rng = np.random.default_rng(0)
    effects = rng.normal(2.8, 0.8, CASES) + np.linspace(0, 0.6, SUBMISSIONS)[:, None]
    return np.round(effects + rng.normal(0, 0.4, (SUBMISSIONS, CASES)), DECIMALS)


def run(_folder: Path) -> None:
    x, rng = board(), np.random.default_rng(1)
    drawn = rng.integers(0, CASES, (DRAWS, CASES))
    weights = np.stack([np.bincount(row, minlength=CASES) for row in drawn]).astype(np.uint8)
    pairs = list(permutations(range(SUBMISSIONS), 2))
    i, j = np.transpose(pairs)

    def ours(draws: int = DRAWS) -> np.ndarray:
        return signed_rank_matrix(x, better="lower", decimals=DECIMALS, weights=weights[:draws])

    def differences(draw: np.ndarray) -> np.ndarray:
        copied = x[:, draw]
        return np.round(copied[j] - copied[i], DECIMALS)

    def loop(draws: int = 1) -> np.ndarray:
        options = {"alternative": "greater", "correction": True, "method": "asymptotic"}
        return np.array([[wilcoxon(d, **options).pvalue for d in differences(draw)] for draw in drawn[:draws]])

    def at_once(draws: int = 1) -> np.ndarray:
        options = {"alternative": "greater", "correction": True, "method": "asymptotic", "axis": 1}
        return np.array([wilcoxon(differences(draw), **options).pvalue for draw in drawn[:draws]])

    np.testing.assert_allclose(ours(2)[:, i, j], loop(2), atol=1e-12)
    np.testing.assert_allclose(ours(5)[:, i, j], at_once(5), atol=1e-12)
    peers = {"scipy, pair by pair": loop, "scipy, all pairs at once": at_once}
    compare(f"Signed-rank test of {len(pairs)} pairs, {CASES} cases, one draw", lambda: ours(1), peers, repeat=3)
    mine = best(ours, repeat=3)
    print(f"\nThe same in {DRAWS} draws, per draw\n  {'isocenter':<32} {mine.cpu / DRAWS * 1e6:9.1f} µs CPU")
    for name, work in peers.items():
        theirs = best(work, repeat=3)
        ratio = f"{theirs.cpu / mine.cpu * DRAWS:5.0f}× CPU"
        print(f"  {name:<32} {theirs.cpu * 1e6:9.1f} µs CPU   {ratio}")
