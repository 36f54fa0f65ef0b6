"""Intervals and summaries of findings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from isocenter.detections import Detections
from isocenter.stats import (
    LesionRows,
    bootstrap_ci,
    delong,
    detection_intervals,
    detection_subgroups,
    summarise_detections,
)


def findings(seed: int, *, cases: int = 60, weights: bool = False) -> Detections:
    """A cohort that is the same for all seeds, and an algorithm that is not."""
    truth = np.arange(cases) % 3 == 0
    rng = np.random.default_rng(seed)
    case = np.repeat(np.arange(cases), 2)
    is_lesion = truth[case] & (np.arange(2 * cases) % 2 == 0)
    grade = np.where(is_lesion, 2.0 + case % 2, np.nan)
    confidence = np.round(np.clip(rng.normal(0.3 + 0.3 * is_lesion, 0.2), 0, 1), 3).astype(np.float32).astype(float)
    confidence[~is_lesion & (confidence == 0)] = 0.001
    return Detections(
        cases=tuple(f"c{number:03d}" for number in range(cases)),
        truth=truth,
        likelihood=rng.normal(truth, 1.0),
        weight=1.0 + (np.arange(cases) % 2) if weights else np.ones(cases),
        case=case,
        is_lesion=is_lesion,
        confidence=confidence,
        iou=np.where(is_lesion & (confidence > 0), rng.uniform(0.1, 0.9, 2 * cases), 0.0),
        grade=grade,
    )


def test_one_instance_has_the_plain_bootstrap_and_delong_beside_it() -> None:
    found = findings(1)
    ours = detection_intervals([found], replicates=2000, seed=7)
    rows = LesionRows(found.case, found.is_lesion, found.confidence)
    plain = bootstrap_ci(found.truth, found.likelihood, lesions=rows, replicates=2000, seed=7)
    assert ours.auroc == pytest.approx(plain.auroc)
    assert ours.average_precision == pytest.approx(plain.average_precision)
    assert ours.score == pytest.approx(plain.score)
    assert ours.delong == pytest.approx((found.auroc, *delong(found.truth, found.likelihood).interval()))


def test_instances_share_their_draws() -> None:
    """Ten copies of one instance are no more certain than one."""
    found = findings(1)
    one, ten = (detection_intervals([found] * count, replicates=500) for count in (1, 10))
    assert ten.auroc == pytest.approx(one.auroc, abs=1e-12)
    assert ten.score == pytest.approx(one.score, abs=1e-12)
    assert ten.delong is None


def test_the_interval_of_several_is_that_of_their_mean() -> None:
    several = [findings(seed) for seed in range(5)]
    found = detection_intervals(several, replicates=500)
    assert found.auroc.value == pytest.approx(np.mean([one.auroc for one in several]))
    samples = np.mean(
        [
            bootstrap_ci(
                one.truth,
                one.likelihood,
                lesions=LesionRows(one.case, one.is_lesion, one.confidence),
                replicates=500,
            ).samples
            for one in several
        ],
        axis=0,
    )
    low, high = np.percentile(samples[:, 0], [2.5, 97.5])
    assert (found.auroc.low, found.auroc.high) == pytest.approx((low, high))


def test_workers_and_progress_change_nothing() -> None:
    seen: list[tuple[int, int]] = []
    several = [findings(1), findings(2)]
    one = detection_intervals(several, replicates=1000, workers=1, progress=lambda *at: seen.append(at))
    assert detection_intervals(several, replicates=1000, workers=3) == one
    assert seen[-1] == (1000, 1000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_strata_keep_the_number_of_positive_cases() -> None:
    found = findings(3)
    free, kept = (detection_intervals([found], replicates=3000, strata=strata) for strata in (None, "truth"))
    assert kept.average_precision != free.average_precision
    assert kept.auroc.value == free.auroc.value


def test_weights_leave_no_delong() -> None:
    assert detection_intervals([findings(1, weights=True)], replicates=50).delong is None


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(ValueError, match="there are no findings"):
        detection_intervals([])


def test_a_summary_is_json_and_agrees_with_the_curves() -> None:
    found = findings(4)
    summary = summarise_detections([found], replicates=100)
    data = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert data["auroc"] == pytest.approx(found.auroc)
    assert data["intervals"]["auroc"]["low"] <= data["auroc"] <= data["intervals"]["auroc"]["high"]
    assert data["sensitivity_at"]["0.5"] == pytest.approx(found.froc().sensitivity_at(0.5))
    assert data["cpm"] == pytest.approx(found.froc().cpm())
    assert data["specificity_at"]["0.9"] == pytest.approx(found.roc().at_sensitivity(0.9).specificity)
    iou = found.iou[found.iou > 0]
    assert data["congruence"]["median"] == pytest.approx(np.median(iou))
    assert data["congruence"]["half"] == pytest.approx((iou >= 0.5).mean())


def test_a_group_of_one_kind_is_undefined_because() -> None:
    groups = detection_subgroups(
        [findings(5)], {f"c{n:03d}": {"kind": "ill" if n % 3 == 0 else "well"} for n in range(60)}, by="kind"
    )
    summary = summarise_detections(groups["well"], replicates=100)
    assert summary.intervals is None
    assert "there is no AUROC" in summary.undefined
    assert "there is no average precision" in summary.undefined
    assert summary.to_dict()["auroc"] is None
    assert summary.to_dict()["specificity_at"]["0.9"] is None


def test_groups_come_in_the_order_of_their_numbers_and_the_unknown_last() -> None:
    facts = {f"c{n:03d}": {"age": str([70, 9, 55][n % 3])} if n < 50 else {} for n in range(60)}
    groups = detection_subgroups([findings(6)], facts, by="age")
    assert list(groups) == ["9", "55", "70", "unknown"]
    assert sum(len(found[0].cases) for found in groups.values()) == 60


def test_grades_come_from_the_reference() -> None:
    groups = detection_subgroups([findings(7)], {}, by="grade")
    assert list(groups) == ["2", "3"]
    assert all((found.grade[found.is_lesion] == float(name)).all() for name, (found,) in groups.items())


@pytest.mark.parametrize(
    ("facts", "by", "message"),
    [
        ({}, "center", "nothing is said of c000, c001, c002, c003, c004 …"),
        (
            {f"c{n:03d}": {"vendor": "A"} for n in range(60)},
            "center",
            "no case has a 'center'; there are vendor, and grade",
        ),
    ],
)
def test_facts_that_are_not_there_are_named(facts: dict[str, dict[str, str]], by: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        detection_subgroups([findings(8)], facts, by=by)
