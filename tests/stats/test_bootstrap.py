from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isocenter.metrics._average_precision import average_precision
from isocenter.metrics._roc import auroc
from isocenter.stats import _bootstrap
from isocenter.stats._bootstrap import Bootstrap, LesionRows, bootstrap_ci
from isocenter.stats._delong import delong

GOLDEN = Path(__file__).parents[1] / "golden" / "detection"
VOLUMES = json.loads((GOLDEN / "expected_volumes.json").read_text())
TABLES = json.loads((GOLDEN / "expected_tables.json").read_text())
COHORTS = {name: cohort for name, cohort in TABLES.items() if "bootstrap" in cohort}
COHORTS["volumes"] = VOLUMES["configs"]["default"] | {"bootstrap": VOLUMES["bootstrap_default"]}


def columns(cohort: dict[str, Any]) -> dict[str, Any]:
    names = sorted(cohort["case_pred"])
    rows = [(i, row[0], row[1]) for i, name in enumerate(names) for row in cohort["lesion_results"][name]]
    truth, score, weight = ([cohort[key][n] for n in names] for key in ("case_target", "case_pred", "case_weight"))
    lesions = LesionRows(*(list(column) for column in zip(*rows, strict=True)))
    return {"truth": truth, "score": score, "weight": weight, "lesions": lesions}


@pytest.fixture
def cohort() -> dict[str, Any]:
    return columns(TABLES["n120_weighted"])


@pytest.mark.parametrize("name", COHORTS)
def test_with_its_draws_the_intervals_are_those_of_picai_eval(name: str) -> None:
    expected = COHORTS[name]["bootstrap"]
    found = bootstrap_ci(
        **columns(COHORTS[name]), replicates=expected["n_bootstraps"], seed=expected["seed"], draws="picai"
    )
    assert found.redrawn == 0
    assert found.average_precision is not None
    assert found.score is not None
    for interval, key, value in (
        (found.auroc, "auroc_95_ci", "auroc"),
        (found.average_precision, "ap_95_ci", "AP"),
        (found.score, "score_95_ci", "score"),
    ):
        assert interval[1:] == pytest.approx(expected[key], rel=0, abs=1e-9)
        assert interval.value == pytest.approx(COHORTS[name][value], rel=0, abs=1e-12)


def recomputed(truth: Any, score: Any, *, lesions: LesionRows, weight: Any, drawn: np.ndarray) -> tuple[float, float]:
    """The scores of one replicate, from a cohort in which drawn cases are really repeated."""
    truth, score, weight = np.array(truth), np.array(score), np.array(weight)
    case, is_lesion, confidence = (np.array(column) for column in lesions)
    rows = np.concatenate([np.flatnonzero(case == c) for c in drawn])
    area = auroc(truth[drawn], score[drawn], weight=weight[drawn])
    return area, average_precision(is_lesion[rows], confidence[rows], weight=weight[case[rows]])


def test_a_replicate_is_the_score_of_the_cases_drawn(cohort: dict[str, Any]) -> None:
    found = bootstrap_ci(**cohort, replicates=70, seed=5, draws="picai").samples
    rng = np.random.default_rng(5)
    for sample in found:
        drawn = rng.integers(0, 120, size=120)
        assert tuple(sample) == pytest.approx(recomputed(**cohort, drawn=drawn), rel=0, abs=1e-12)


@pytest.mark.parametrize("draws", ["blocks", "picai"])
def test_the_seed_alone_decides(cohort: dict[str, Any], draws: Any) -> None:
    def run(seed: int) -> np.ndarray:
        return bootstrap_ci(**cohort, replicates=300, seed=seed, draws=draws).samples

    np.testing.assert_array_equal(run(1), run(1))
    assert (run(1) != run(2)).all(axis=1).any()


@pytest.mark.parametrize("workers", [2, 5])
def test_any_number_of_workers_gives_the_same_numbers(cohort: dict[str, Any], workers: int) -> None:
    alone = bootstrap_ci(**cohort, replicates=1500, strata=cohort["truth"])
    together = bootstrap_ci(**cohort, replicates=1500, strata=cohort["truth"], workers=workers)
    np.testing.assert_array_equal(alone.samples, together.samples)
    assert alone.score == together.score


def test_blocks_differ_and_more_replicates_begin_with_the_same_blocks(cohort: dict[str, Any]) -> None:
    few, many = (bootstrap_ci(**cohort, replicates=n).samples for n in (512, 700))
    np.testing.assert_array_equal(few, many[:512])
    assert not np.array_equal(few[:256], few[256:])


def test_both_ways_to_draw_agree_with_each_other_and_with_delong() -> None:
    rng = np.random.default_rng(8)
    truth = rng.random(300) < 0.4
    score = rng.normal(truth * 1.2)
    ours, peer = (bootstrap_ci(truth, score, replicates=4000, draws=draws) for draws in ("blocks", "picai"))
    error = delong(truth, score).standard_error
    for found in (ours, peer):
        # The standard deviation of 4000 replicates is known to about 1.1 %.
        assert found.samples.std() == pytest.approx(error, rel=0.06)
        assert found.samples.mean() == pytest.approx(found.auroc.value, abs=0.1 * error)


def test_every_case_is_drawn_equally_often(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    real = _bootstrap.draw_counts
    monkeypatch.setattr(_bootstrap, "draw_counts", lambda *args: drawn.append(real(*args)) or drawn[-1])
    bootstrap_ci([0, 1, 0, 1, 1], [1, 2, 3, 4, 5], replicates=4000)
    counts = np.concatenate(drawn).sum(axis=0)
    expected = counts.sum() / 5
    assert counts.size == 5
    assert ((counts - expected) ** 2 / expected).sum() < 18.5  # chi-squared, 4 degrees of freedom, p = 0.001


def test_strata_keep_their_sizes(monkeypatch: pytest.MonkeyPatch, cohort: dict[str, Any]) -> None:
    from isocenter.stats import _bootstrap_kernels

    seen = []
    real = _bootstrap_kernels.replicate
    monkeypatch.setattr(
        _bootstrap_kernels, "replicate", lambda counts, *rest: seen.append(counts) or real(counts, *rest)
    )
    strata = np.array(["a", "b", "c"])[np.arange(120) % 3]
    bootstrap_ci(**cohort, strata=strata, replicates=50)
    (by_case,) = seen
    assert all(sorted(np.repeat(strata, counts)) == sorted(strata) for counts in by_case.T)
    assert len({tuple(counts) for counts in by_case.T}) == 50


def test_draws_of_one_class_are_drawn_again_and_counted() -> None:
    truth, score = [1, 0, 0, 0], [0.9, 0.1, 0.2, 0.3]
    found = bootstrap_ci(truth, score, replicates=3000)
    assert np.isfinite(found.samples).all()
    assert len(found.samples) == 3000
    # Without the positive case: (3/4)⁴; with it only: (1/4)⁴.
    share = (81 + 1) / 256
    assert found.redrawn / (3000 + found.redrawn) == pytest.approx(share, abs=0.03)
    assert bootstrap_ci(truth, score, replicates=300, strata=truth).redrawn == 0
    again = bootstrap_ci(truth, score, replicates=300, draws="picai")
    assert again.redrawn > 0
    assert np.isfinite(again.samples).all()


def test_draws_without_a_lesion_are_drawn_again_too() -> None:
    lesions = LesionRows([0, 1], [1, 0], [0.8, 0.3])  # the second positive case has no annotation
    found = bootstrap_ci([1, 1, 0], [0.9, 0.1, 0.2], lesions=lesions, strata=[1, 1, 0], replicates=2000)
    assert found.redrawn / (2000 + found.redrawn) == pytest.approx(1 / 4, abs=0.04)
    assert np.isfinite(found.samples).all()


def test_missed_lesions_and_ties_count_in_every_replicate() -> None:
    lesions = LesionRows([0, 0, 1, 2], [1, 1, 0, 1], [0.5, 0.0, 0.5, 0.0])
    found = bootstrap_ci([1, 0, 1], [0.5, 0.5, 0.1], lesions=lesions, strata=[0, 1, 2], replicates=3)
    # Each stratum is one case, so each replicate is the cohort: one of three lesions found, tied with a false positive.
    assert found.samples.tolist() == [[0.25, pytest.approx(1 / 6)]] * 3
    assert found.average_precision == pytest.approx((1 / 6, 1 / 6, 1 / 6))


def test_without_rows_of_lesions_there_is_the_auroc_alone(cohort: dict[str, Any]) -> None:
    both, alone = bootstrap_ci(**cohort, replicates=200), bootstrap_ci(**cohort | {"lesions": None}, replicates=200)
    assert (alone.average_precision, alone.score) == (None, None)
    assert alone.auroc == both.auroc
    assert alone.samples.shape == (200, 1)


def test_the_bounds_are_percentiles_of_the_replicates(cohort: dict[str, Any]) -> None:
    found: Bootstrap = bootstrap_ci(**cohort, replicates=400, level=0.8)
    score = found.samples.mean(axis=1)
    assert found.score is not None
    assert found.score[1:] == pytest.approx(np.percentile(score, [10, 90]), rel=0, abs=1e-12)
    assert found.auroc[1:] == pytest.approx(np.percentile(found.samples[:, 0], [10, 90]), rel=0, abs=1e-12)


@pytest.mark.parametrize("draws", ["blocks", "picai"])
def test_progress_is_told_up_to_the_end(cohort: dict[str, Any], draws: Any) -> None:
    told: list[tuple[int, int]] = []
    bootstrap_ci(**cohort, replicates=600, draws=draws, progress=lambda done, total: told.append((done, total)))
    assert told == [(256, 600), (512, 600), (600, 600)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"truth": [1, 1, 1]}, "no negative cases"),
        ({"truth": [0, 0, 0]}, "no positive cases"),
        ({"weight": [0, 1, 1]}, "no positive cases"),
        ({"lesions": LesionRows([0], [0], [0.5])}, "no lesions"),
        ({"lesions": LesionRows([], [], [])}, "no lesions"),
        ({"lesions": LesionRows([3], [1], [0.5])}, "a position from 0 to 2; found int64 3…3"),
        ({"lesions": LesionRows([-1], [1], [0.5])}, "found int64 -1"),
        ({"lesions": LesionRows([0.0], [1], [0.5])}, "found float64"),
        ({"lesions": LesionRows([0, 1], [1], [0.5])}, "one length"),
        ({"lesions": LesionRows([0], [1], [-0.5])}, "from 0 on"),
        ({"strata": [1, 2]}, "3 of them"),
        ({"strata": [1, 2, 2], "draws": "picai"}, "no strata"),
        ({"draws": "peer"}, "not 'peer'"),
        ({"replicates": 0}, "at least 1 replicate"),
        ({"workers": 0}, "at least 1 worker"),
        ({"level": 95}, "level"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bootstrap_ci(**{"truth": [1, 0, 0], "score": [3, 2, 1], "replicates": 10} | changes)
