"""Confidence intervals of AUROC and AP of a thousand cases by bootstrap, against a loop over scikit-learn's metrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.timing import best, compare
from isocenter.stats import LesionRows, bootstrap_ci

CASES = 1000
REPLICATES = 2000


def cohort() -> tuple[np.ndarray, np.ndarray, LesionRows]:
    """A test set of PI-CAI's size: a third of the patients ill, a lesion in five missed."""
    rng = np.random.default_rng(0)
    truth = rng.random(CASES) < 0.35
    score = rng.normal(truth * 1.5)
    lesions = np.repeat(np.flatnonzero(truth), rng.integers(1, 3, truth.sum()))
    wrong = np.repeat(np.arange(CASES), rng.poisson(0.8, CASES))
    confidence = np.concatenate((rng.beta(3, 2, lesions.size), rng.beta(2, 3, wrong.size))).astype(np.float32)
    confidence[: lesions.size][rng.random(lesions.size) < 0.2] = 0
    rows = LesionRows(np.append(lesions, wrong), np.arange(lesions.size + wrong.size) < lesions.size, confidence)
    return truth, score, rows


def run(_folder: Path) -> None:
    truth, score, rows = cohort()
    case, is_lesion, confidence = (np.asarray(column) for column in rows)
    of_case = [np.flatnonzero(case == number) for number in range(CASES)]
    # Behind every candidate, as a precision of 0: what a missed lesion adds to the AP of scikit-learn is taken off.
    missed = confidence == 0

    def ours() -> np.ndarray:
        return bootstrap_ci(truth, score, lesions=rows, replicates=REPLICATES).samples

    def scores(drawn: np.ndarray) -> tuple[float, float]:
        picked = np.concatenate([of_case[number] for number in drawn])
        hit, at = is_lesion[picked], confidence[picked]
        nothing = missed[picked].sum() / hit.sum() * hit.mean()
        return roc_auc_score(truth[drawn], score[drawn]), average_precision_score(hit, at) - nothing

    def loop(replicates: int = REPLICATES) -> np.ndarray:
        rng = np.random.default_rng(0)
        return np.array([scores(rng.integers(0, CASES, size=CASES)) for _ in range(replicates)])

    def weighted_loop(replicates: int = REPLICATES) -> np.ndarray:
        rng, found = np.random.default_rng(0), []
        for _ in range(replicates):
            times = np.bincount(rng.integers(0, CASES, size=CASES), minlength=CASES)
            rowwise = times[case]
            nothing = rowwise[missed].sum() / rowwise.sum()
            area = roc_auc_score(truth, score, sample_weight=times)
            found.append((area, average_precision_score(is_lesion, confidence, sample_weight=rowwise) - nothing))
        return np.array(found)

    same_draws = bootstrap_ci(truth, score, lesions=rows, replicates=100, draws="picai").samples
    np.testing.assert_allclose(same_draws, loop(100), atol=1e-12)
    np.testing.assert_allclose(same_draws, weighted_loop(100), atol=1e-12)
    peers = {"scikit-learn, cases repeated": loop, "scikit-learn, cases weighted": weighted_loop}
    compare(f"AUROC and AP of {CASES} cases, {REPLICATES} replicates", ours, peers, repeat=2)
    for workers in (1, 2):
        took = best(
            lambda n=workers: bootstrap_ci(truth, score, lesions=rows, replicates=1_000_000, workers=n), repeat=1
        )
        title = f"a million replicates, {workers} worker{'s' * (workers > 1)}"
        print(f"  {title:<32} {took.cpu:9.1f} s CPU  {took.wall:9.1f} s wall")
