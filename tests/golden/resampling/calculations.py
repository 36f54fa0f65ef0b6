"""The calculations behind `expected.json`: every public function that resamples, permutes, flips or simulates.

Data are made up and small; weights are powers of 2, so that weighted sums have no rounding. Run as a program, this
writes `expected.json`; see the README for which code it was run with.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from isocenter import stats
from isocenter.detections import Detections
from isocenter.ranking import (
    CaseDraws,
    DetectThenRank,
    Disqualify,
    FixedValue,
    MeanThenRank,
    NormalisedSum,
    QuantileThenRank,
    RankThenMean,
    TestThenRank,
    TrimmedMeanThenRank,
    WeightedRanks,
    bootstrap_ranks,
    case_draws,
    plan_cases,
    rank_sets,
    significance,
)
from isocenter.scores import Row, frame
from isocenter.stats import mrmc

# Arrays of more numbers are recorded by their shape and the digest of their bytes.
MOST_LISTED = 24


def as_record(value: Any) -> Any:
    """JSON values with every float at full precision; long arrays as a digest."""
    if isinstance(value, np.ndarray):
        if value.size <= MOST_LISTED:
            return as_record(value.tolist())
        plain = np.ascontiguousarray(value)
        digest = hashlib.sha256(plain.astype(plain.dtype.newbyteorder("<")).tobytes()).hexdigest()
        return {"shape": list(plain.shape), "dtype": plain.dtype.name, "sha256": digest}
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_record(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return as_record(value._asdict())
    if isinstance(value, dict):
        return {str(name): as_record(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_record(one) for one in value]
    return value


def in_twelve_digits(value: Any) -> Any:
    """Numbers that went through a linear algebra library, whose last bits depend on the processor."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {name: in_twelve_digits(one) for name, one in value.items()}
    if isinstance(value, list):
        return [in_twelve_digits(one) for one in value]
    return value


def cohort(seed: int, cases: int = 40) -> tuple[np.ndarray, np.ndarray, stats.LesionRows, np.ndarray, np.ndarray]:
    """Truth, scores, lesions, weights and centres of made-up patients; scores and confidences have ties."""
    rng = np.random.default_rng(seed)
    truth = np.arange(cases) % 3 == 0
    score = np.round(rng.normal(truth * 1.2), 1)
    lesions = np.repeat(np.flatnonzero(truth), 1 + np.arange(int(truth.sum())) % 2)
    wrong = rng.integers(0, cases, cases // 2)
    confidence = np.round(np.append(rng.beta(3, 2, lesions.size), rng.beta(2, 3, wrong.size)), 1)
    confidence[: lesions.size : 5] = 0.0
    confidence[lesions.size :] = np.maximum(confidence[lesions.size :], 0.1)
    rows = stats.LesionRows(np.append(lesions, wrong), np.arange(confidence.size) < lesions.size, confidence)
    weight = 2.0 ** rng.integers(-1, 3, cases)
    return truth, score, rows, weight, np.arange(cases) % 4


def found_by(seed: int, cases: int = 40) -> Detections:
    truth, score, rows, weight, _ = cohort(seed, cases)
    case, is_lesion, confidence = (np.asarray(column) for column in rows)
    order = np.argsort(case, kind="stable")
    return Detections(
        cases=tuple(f"c{n:03d}" for n in range(cases)),
        truth=truth,
        likelihood=score,
        weight=weight,
        case=case[order],
        is_lesion=is_lesion[order],
        confidence=confidence[order],
        iou=np.where(is_lesion[order] & (confidence[order] > 0), 0.5, 0.0),
        grade=np.full(order.size, np.nan),
    )


def detection_bootstraps() -> dict[str, Any]:
    truth, score, rows, weight, centre = cohort(1)
    few = np.array([1, 1, 0, 0, 0, 0])
    options: dict[str, dict[str, Any]] = {
        "areas only": {},
        "lesions": {"lesions": rows},
        "lesions, weights, two workers": {"lesions": rows, "weight": weight, "workers": 2},
        "strata of truth": {"lesions": rows, "strata": truth},
        "strata of centres, level 0.9": {"lesions": rows, "strata": centre, "level": 0.9},
        "as picai": {"lesions": rows, "draws": "picai"},
        "part of a block": {"lesions": rows, "replicates": 100, "seed": 11},
    }
    made = {
        name: stats.bootstrap_ci(truth, score, **{"replicates": 600, "seed": 3} | kept)
        for name, kept in options.items()
    }
    made["redrawn"] = stats.bootstrap_ci(few, [3, 2, 2, 1, 0, 0], replicates=600, seed=5)
    made["redrawn as picai"] = stats.bootstrap_ci(few, [3, 2, 2, 1, 0, 0], replicates=600, seed=5, draws="picai")
    steps: list[tuple[int, int]] = []
    stats.bootstrap_ci(truth, score, replicates=600, progress=lambda done, total: steps.append((done, total)))
    return as_record(made) | {"progress": as_record(steps)}


def intervals_of_findings() -> dict[str, Any]:
    instances = [found_by(1), found_by(1)]
    counts = np.ascontiguousarray(np.random.default_rng(2).integers(1, 4, (40, 70)).astype(np.uint8))
    return as_record(
        {
            "one": stats.detection_intervals(instances[:1], replicates=300, seed=4),
            "two, strata": stats.detection_intervals(instances, replicates=300, seed=4, strata="truth", workers=2),
            "draws": stats.detection_draws(instances[0], counts),
        }
    )


def matched() -> dict[str, Any]:
    truth, _, _, weight, _ = cohort(1)
    rng = np.random.default_rng(8)
    call = rng.random(40) < 0.3 + 0.4 * truth
    scores = np.round(1.5 * truth + rng.normal(size=(3, 40)), 1)
    patients = {
        f"{match}, {flavour}, {tie}": stats.matched_bootstrap(
            truth, call, scores, match=match, flavour=flavour, tie=tie, replicates=600, seed=2, **more
        )
        for match, flavour, tie, more in (
            ("sensitivity", "rematch", "mean", {}),
            ("specificity", "rematch", "best", {"workers": 2}),
            ("sensitivity", "published", "worst", {"weight": weight}),
            ("specificity", "published", "mean", {"level": 0.8}),
        )
    }
    few = stats.matched_bootstrap([1, 1, 0, 0, 0], [1, 0, 0, 1, 0], [3, 2, 1, 2, 0], replicates=300, seed=1)
    _, _, routine, _, _ = cohort(1)
    others = [cohort(seed)[2] for seed in (2, 3)]
    lesions = {
        f"{match}, {flavour}": stats.matched_lesion_bootstrap(
            routine, others, cases=40, match=match, flavour=flavour, weight=weight, replicates=300, seed=7
        )
        for match in ("recall", "precision")
        for flavour in ("rematch", "published")
    }
    return as_record({"patients": patients, "redrawn": few, "lesions": lesions})


def groups() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    decimals, floats = np.round(rng.normal(0, 1, (2, 9)), 2), rng.normal(0, 1, (2, 9))
    ties = np.round(rng.normal(0, 1, (2, 12)), 0)
    far = rng.normal([[0.3], [0.0]], 1, (2, 14))
    tests = {
        f"{name}, {statistic}, {side}": stats.permutation_test(
            a, b, statistic=statistic, alternative=side, replicates=30_000, seed=6
        )
        for name, (a, b) in {"decimals": decimals, "floats": floats, "ties": ties, "many": far}.items()
        for statistic in ("rank", "difference")
        for side in ("greater", "less", "two-sided")
    }
    tests["sizes differ"] = stats.permutation_test(floats[0][:3], floats[1], statistic="difference", decimals=1)
    tests["larger first"] = stats.permutation_test(decimals[0], decimals[1][:2], statistic="difference")
    shifted = {
        f"{better}, {exact}": stats.shifted_mann_whitney(
            decimals[0], decimals[1], margin=0.4, better=better, decimals=1, exact=exact
        )
        for better in ("higher", "lower")
        for exact in ("auto", True, False)
    }
    names = [f"r{n}" for n in range(9)]
    a, b = (dict(zip(names, row, strict=True)) for row in decimals)
    panels = {
        "same": _old_fields(stats.compare_panels(a, b), *_PANELS),
        "disjoint": _old_fields(stats.compare_panels({f"a{name}": value for name, value in a.items()}, b), *_PANELS),
    }
    for found in panels.values():
        found["method"] = found.pop("published").method
    return as_record({"permutation": tests, "shifted": shifted, "panels": panels})


def pairs() -> dict[str, Any]:
    rng = np.random.default_rng(6)
    a, b = np.round(rng.normal([[0.7], [0.66]], 0.1, (2, 24)), 2)
    x, y = rng.normal([[0.7], [0.66]], 0.1, (2, 60))
    cluster = (np.arange(24) // 3).tolist()
    sides = ("better", "worse", "two-sided")
    flips = {
        f"{name}, {statistic}, {side}": stats.sign_flip(
            *values, better="higher", decimals=places, alternative=side, statistic=statistic, seed=3, **more
        )
        for name, values, places, more in (
            ("lattice", (a, b), 2, {}),
            ("clusters", (a, b), 2, {"cluster": cluster}),
            ("clusters without decimals", (a, b), None, {"cluster": cluster}),
            ("drawn", (x, y), None, {"replicates": 9000}),
            ("drawn on purpose", (a, b), 2, {"exact": False, "replicates": 500}),
        )
        for statistic in ("mean", "median")
        for side in sides
    }
    ranked = {
        f"{zeros}, {exact}, {side}, {correction}": stats.signed_rank(
            a, b, better="lower", decimals=2, alternative=side, zeros=zeros, exact=exact, correction=correction
        )
        for zeros in ("drop", "pratt")
        for exact in ("auto", True, False)
        for side in sides
        for correction in (True, False)
    }
    counts = rng.integers(0, 3, (70, 24))
    ranked["copies"] = stats.signed_rank(a, b, better="higher", decimals=2, weight=counts[0])
    ranked["no ties"] = stats.signed_rank(x[:20], y[:20], better="higher", decimals=None)
    student = {side: stats.paired_t(x, y, better="lower", decimals=None, alternative=side, level=0.9) for side in sides}
    clustered = {
        f"{size}, {side}": stats.clustered_signed_rank(
            x, y, (np.arange(60) // size).tolist(), better="higher", decimals=2, alternative=side
        )
        for size in (2, 7)
        for side in sides
    }
    board = np.round(rng.normal(np.linspace(0, 0.3, 5)[:, None], 0.2, (5, 24)), 2)
    p = rng.random(12) ** 2
    families = {
        test: stats.compare(
            {f"t{n}": row for n, row in enumerate(board)}, better="lower", decimals=2, family=family, test=test
        )
        for test, family in (("wilcoxon", "all-ordered"), ("t", "all-unordered"), ("sign-flip", "winner-vs-rest"))
    }
    return as_record(
        {
            "sign_flip": flips,
            "signed_rank": ranked,
            "paired_t": student,
            "clustered": clustered,
            "matrix": stats.signed_rank_matrix(board, better="higher", decimals=2, weights=counts + 1),
            "adjust": {method: stats.adjust(p, method) for method in ("holm", "bonferroni", "bh", "none")},
            "compare": families,
        }
    )


# The published tests, with the fields that results had when there was nothing else.
_PANELS = ("difference", "p_value", "alternative", "design", "readers_a", "readers_b", "published")
_INSTANCES = (
    *("measure", "values_a", "values_b", "test", "difference", "low", "high", "level", "replicates", "redrawn"),
    *("seed", "cases", "effective_cases"),
)
_WITH_PANEL = (
    *("match", "conjugate", "reader_conjugates", "instance_conjugates", "difference", "reader_values"),
    *("instance_values", "test"),
)


def _old_fields(found: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(found, "published" if name == "test" else name) for name in names}


def instances_and_panels() -> dict[str, Any]:
    truth, _, _, weight, _ = cohort(1)
    rng = np.random.default_rng(3)
    a, b = (np.round(step * truth + rng.normal(size=(3, 40)), 1) for step in (1.6, 0.9))
    rows = [cohort(seed)[2] for seed in range(1, 7)]
    calls = (rng.random((5, 40)) < 0.3 + 0.3 * truth).astype(float)
    calls[0, :6] = np.nan
    drawn: dict[str, Any] = {"replicates": 300, "method": "published"}
    lesions: dict[str, Any] = {"lesions_a": rows[:3], "lesions_b": rows[3:]}
    instances = {
        "areas": stats.compare_instances(truth, a, b, seed=2, **drawn),
        "areas, weights": stats.compare_instances(truth, a, b, weight=weight, workers=2, level=0.9, **drawn),
        "scores": stats.compare_instances(truth, a, b, measure="score", **lesions, **drawn),
        "precision": stats.compare_instances(truth, a, b, measure="average_precision", **lesions, **drawn),
    }
    made = {name: _old_fields(found, *_INSTANCES) for name, found in instances.items()}
    for match in ("sensitivity", "specificity"):
        for statistic in ("difference", "rank"):
            found = stats.compare_with_panel(
                truth, calls, a, match=match, statistic=statistic, weight=weight, method="published"
            )
            made[f"panel, {match}, {statistic}"] = _old_fields(found, *_WITH_PANEL)
    return as_record(made)


def reads_of_study(readers: int = 4, cases: int = 30) -> pl.DataFrame:
    rng = np.random.default_rng(9)
    truth = np.arange(cases) % 3 == 0
    rows = [
        (f"r{reader}", modality, f"c{case:02d}", int(truth[case]), round(float(rng.normal(gain * truth[case])), 1))
        for modality, gain in (("aided", 1.5), ("alone", 1.0))
        for reader in range(readers)
        for case in range(cases)
    ]
    return pl.DataFrame(rows, schema=["reader_id", "modality_id", "case_id", "truth", "score"], orient="row")


def reader_studies() -> dict[str, Any]:
    reads = reads_of_study()
    weighted = reads.with_columns(
        weight=pl.when(pl.col("case_id").str.ends_with("5")).then(pl.lit(2.0)).otherwise(pl.lit(1.0))
    )
    own = reads.filter(pl.col("reader_id").is_in(["r0", "r1"]) & (pl.col("modality_id") == "aided"))
    with_algorithm = pl.concat(
        [reads, own.with_columns(pl.lit("algorithm").alias("modality_id"), reader_id="ai" + pl.col("reader_id"))]
    )
    pilot = stats.VarianceComponents(n=0.012, d=0.0144, r=0.00338, dr=0.019)
    simulated = stats.simulated_power(pilot, stats.Design(10, 60, 30, blocks=2), effect=0.05, replicates=60, seed=2)
    made = {
        "random": mrmc.bootstrap_check(reads, replicates=300, seed=1),
        "fixed": mrmc.bootstrap_check(reads, readers="fixed", replicates=300, seed=1, level=0.9),
        "one fixed": mrmc.bootstrap_check(with_algorithm, fixed=["algorithm"], replicates=300, seed=1),
        "weighted": mrmc.bootstrap_check(weighted, replicates=300, seed=1),
        "few cases": mrmc.bootstrap_check(reads_of_study(3, 5), replicates=300, seed=1),
        "simulated power": simulated,
    }
    return in_twelve_digits(as_record(made))


def board_table(*, weight: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(12)
    hard = rng.uniform(0.5, 0.9, 23)
    parts = []
    for name, skill in (("a", 0.0), ("b", -0.01), ("c", -0.05), ("d", -0.2)):
        rows = []
        for n, value in enumerate(np.clip(hard + skill + rng.normal(0, 0.05, 23), 0, 1)):
            of_case = float(2 ** (n % 3)) if weight else 1.0
            rows.append(Row(f"c{n:02d}", "", "dice", round(float(value), 3), of_case))
            rows.append(Row(f"c{n:02d}", "", "jaccard", round(float(value) ** 2, 2), of_case))
        parts.append(frame(rows).select(pl.lit(name).alias("submission"), pl.all()))
    return pl.concat(parts)


def findings_table() -> pl.DataFrame:
    from isocenter.detections import Finding, findings

    parts = []
    for name, seed in (("a", 1), ("b", 2), ("c", 3)):
        truth, score, lesions, _, _ = cohort(seed, 20)
        low, high = score.min(), score.max()
        case, is_lesion, confidence = (np.asarray(column) for column in lesions)
        rows = []
        for n in range(20):
            mine = [
                Finding(bool(hit), float(sure), 0.5 if hit and sure else 0.0)
                for hit, sure in zip(is_lesion[case == n], confidence[case == n], strict=True)
            ]
            likelihood = float((score[n] - low) / (high - low))
            rows += [Row(f"c{n:02d}", part, m, v) for m, v, part in findings(bool(truth[n]), likelihood, mine)]
        parts.append(frame(rows).select(pl.lit(name).alias("submission"), pl.all()))
    return pl.concat(parts)


def boards() -> dict[str, Any]:
    table, heavy = board_table(), board_table(weight=True)
    zero, both = FixedValue(0.0), (("dice", 2.0), ("jaccard", 1.0))
    strata = {f"c{n:02d}": n % 3 for n in range(23)}
    picks = np.random.default_rng(5).integers(0, 23, (50, 23))
    mean = MeanThenRank("dice", missing=zero)
    options: dict[str, tuple[pl.DataFrame, Any, dict[str, Any]]] = {
        "mean": (table, mean, {}),
        "mean, weights of cases": (heavy, mean, {}),
        "mean, strata": (table, mean, {"strata": strata}),
        "mean, bca": (table, mean, {"interval": "bca"}),
        "mean, bca, level 0.8": (heavy, mean, {"interval": "bca", "level": 0.8, "seed": 9}),
        "mean, indices": (table, mean, {"indices": picks}),
        "median": (table, QuantileThenRank("dice", missing=zero), {"interval": "bca"}),
        "trimmed": (table, TrimmedMeanThenRank("dice", missing=zero, proportion=0.1), {}),
        "rank then mean": (table, RankThenMean(metrics="dice", missing=zero, ties="average"), {}),
        "tests": (table, TestThenRank("dice", missing=zero), {}),
        "tests, adjusted": (table, TestThenRank("dice", missing=zero, adjust="bh"), {}),
        "weighted ranks": (table, WeightedRanks(metrics=both, missing=Disqualify()), {}),
        "normalised": (table, NormalisedSum(metrics=both, missing=Disqualify()), {}),
        "detection": (findings_table(), DetectThenRank("detection_score"), {"interval": "bca"}),
    }
    made = {}
    for name, (scores, rule, more) in options.items():
        found = bootstrap_ranks(scores, rule, **{"replicates": 600, "seed": 3} | more)
        made[name] = {
            "scores": found.drawn.scores,
            "components": {part: np.asarray(values) for part, values in found.drawn.components.items()},
            "ranks": found.ranks.ranks,
            "intervals": found.intervals,
            "facts": found.to_dict(),
        }
    made["rank_sets of values"] = rank_sets({"a": [0.9, 0.8, 0.85, 0.8], "b": [0.3, 0.2, 0.2, 0.3]}, seed=2)
    made["rank_sets of a table"] = rank_sets(table, mean, replicates=300)
    made["significance"] = significance(table, mean, test="sign-flip").rows
    return as_record(made)


def resamples() -> dict[str, Any]:
    centre = np.arange(23) % 4
    made = {
        "plain": case_draws(23, replicates=600, seed=1),
        "skipped": case_draws(23, replicates=300, seed=1, skip=256),
        "strata": case_draws(23, replicates=600, seed=1, strata=centre),
        "rejected": case_draws(9, replicates=600, seed=1, reject=lambda counts: counts[:, 0] == 0),
        "many cases": case_draws(9000, replicates=300, seed=2),
        "leave one out": CaseDraws.leave_one_out(7),
    }
    counts = {name: {"counts": np.ascontiguousarray(one.counts), "redrawn": one.redrawn} for name, one in made.items()}
    pilot = np.round(np.random.default_rng(1).normal([[0.80], [0.78], [0.70]], 0.1, (3, 30)), 3)
    plan = plan_cases(pilot, better="higher", sizes=[10, 60], trials=40, seed=3, weight=2.0 ** (np.arange(30) % 2))
    return as_record({"counts": counts, "plan": in_twelve_digits(as_record(plan.rows))})


CALCULATIONS = {
    "resamples": resamples,
    "boards": boards,
    "detection_bootstraps": detection_bootstraps,
    "intervals_of_findings": intervals_of_findings,
    "matched": matched,
    "groups": groups,
    "pairs": pairs,
    "instances_and_panels": instances_and_panels,
    "reader_studies": reader_studies,
}

if __name__ == "__main__":
    expected = {name: calculate() for name, calculate in CALCULATIONS.items()}
    text = json.dumps(expected, indent=1, ensure_ascii=False, allow_nan=False)
    Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")
