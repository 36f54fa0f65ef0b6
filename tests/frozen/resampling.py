"""The public functions that resample, on made-up data with fixed seeds: every draw is in the numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.frozen.tools import GOLDEN, Items, attempt

from isocenter import ranking, stats
from isocenter.detections import Detections
from isocenter.scores import Row, frame
from isocenter.stats import mrmc

Calls = dict[str, Callable[[], Any]]

RNG = np.random.default_rng(20261)
PAIRS = {
    size: (RNG.normal(0.8, 0.1, size).round(3), RNG.normal(0.75, 0.12, size).round(3)) for size in (1, 2, 6, 14, 40)
}
TEAMS = {
    team: (RNG.normal(mean, 0.08, 25).round(3)).clip(0, 1)
    for team, mean in (("a", 0.80), ("b", 0.79), ("c", 0.72), ("d", 0.60), ("e", 0.79))
}
CLUSTERS = [f"k{number % 7}" for number in range(40)]
TRUTH = np.arange(40) % 3 == 0
BELIEFS = (0.9 * TRUTH + RNG.normal(0, 0.7, (6, 40))).round(3)
WEIGHT = 1.0 + np.arange(40) % 3
CALLS = (0.9 * TRUTH + RNG.normal(0, 0.6, (5, 40)) > 0.5).astype(float)
SPLIT = np.where(np.arange(40) % 2 == (np.arange(5) % 2)[:, None], CALLS, np.nan)


def detections(seed: int, *, weights: bool = False) -> Detections:
    """A cohort that is the same for all seeds, and an algorithm that is not."""
    cases, rng = 36, np.random.default_rng(seed)
    truth, case = np.arange(cases) % 3 == 0, np.repeat(np.arange(cases), 2)
    is_lesion = truth[case] & (np.arange(2 * cases) % 2 == 0)
    confidence = np.clip(rng.normal(0.3 + 0.3 * is_lesion, 0.2), 0.001, 1).round(3)
    return Detections(
        cases=tuple(f"c{number:03d}" for number in range(cases)),
        truth=truth,
        likelihood=rng.normal(truth, 1.0).round(3),
        weight=1.0 + (np.arange(cases) % 2) if weights else np.ones(cases),
        case=case,
        is_lesion=is_lesion,
        confidence=confidence,
        iou=np.where(is_lesion, 0.5, 0.0),
        grade=np.where(is_lesion, 2.0 + case % 2, np.nan),
    )


def lesions(seed: int) -> stats.LesionRows:
    """The lesions and false positives of one algorithm in 36 cases."""
    one = detections(seed)
    return stats.LesionRows(one.case, one.is_lesion, one.confidence)


def table(*, parts: bool = False, missing: bool = False, weights: bool = False) -> pl.DataFrame:
    """Scores of five teams in 25 cases, whole or in three parts; one lacks a case; cases count once or twice."""
    tables = []
    for team, values in TEAMS.items():
        rows: list[Row] = []
        for number, value in enumerate(values.tolist()):
            case, weight = f"c{number:02}", 1.0 + number % 2 * weights
            if missing and (team, number) == ("c", 4):
                rows += [Row(case, "", metric, None, weight) for metric in ("dice", "recall")]
                rows.append(Row(case, "", "missing", 1.0, weight))
                continue
            for part in ("x", "y", "z") if parts else ("",):
                shift = 0.01 * "xyz".find(part) if part else 0.0
                rows.append(Row(case, part, "dice", round(value - shift, 4), weight))
                rows.append(Row(case, part, "recall", round(1 - (1 - value) * (1 + number % 3) / 3, 4), weight))
        tables.append(frame(rows).select(pl.lit(team).alias("submission"), pl.all()))
    return pl.concat(tables)


ZERO = ranking.FixedValue(0.0)
PAIR = (("dice", 1.0), ("recall", 2.0))
RULES: dict[str, Any] = {
    "mean": ranking.MeanThenRank("dice", missing=ZERO),
    "mean over parts": ranking.MeanThenRank("dice", missing=ZERO, over="parts"),
    "mean, left out": ranking.MeanThenRank("dice", missing=ranking.LeaveOut(), ties="average"),
    "median": ranking.QuantileThenRank("dice", missing=ZERO),
    "quantile": ranking.QuantileThenRank("dice", missing=ZERO, q=0.2, ties="dense"),
    "trimmed": ranking.TrimmedMeanThenRank("dice", missing=ZERO, proportion=0.2),
    "rank then mean": ranking.RankThenMean(metrics=PAIR, missing=ranking.RankLast(), ties="average"),
    "weighted ranks": ranking.WeightedRanks(PAIR, missing=ZERO, tie_breaks=("dice",)),
    "tests": ranking.TestThenRank("dice", missing=ZERO, adjust="holm"),
    "normalised sum": ranking.NormalisedSum(metrics=PAIR, missing=ZERO),
}


def details(scores: pl.DataFrame, rule: Any, **options: Any) -> Any:
    """All that is known of the ranks, and every draw of the scores."""
    uncertainty = ranking.bootstrap_ranks(scores, rule, **{"replicates": 150, "seed": 3, **options})
    drawn = uncertainty.drawn
    return {
        "dict": uncertainty.to_dict(),
        "scores": drawn.scores,
        "full": drawn.full,
        "full_ranks": uncertainty.full_ranks,
        "groups": uncertainty.groups,
        "p_top": uncertainty.p_top(2),
        "p_better": uncertainty.p_better,
        "rank_intervals": uncertainty.rank_intervals,
        "redrawn": uncertainty.redrawn,
    }


def rank_calls() -> Calls:
    """Bootstraps of ranks and their draws."""
    strata = {f"c{number:02}": "ab"[number % 2] for number in range(25)}
    indices = np.random.default_rng(5).integers(0, 25, (60, 25))
    calls: Calls = {}
    for name, rule in RULES.items():
        for missing in (False, True):
            scores = table(parts="parts" in name, missing=missing)
            title = f"bootstrap_ranks, {name}{', a case missing' * missing}"
            calls[title] = lambda rule=rule, scores=scores: details(scores, rule)
    calls |= {
        f"bootstrap_ranks, {name}": lambda options=options: details(table(), RULES["mean"], **options)
        for name, options in {
            "another seed": {"seed": 8},
            "strata": {"strata": strata},
            "BCa": {"interval": "bca"},
            "level": {"level": 0.8},
            "roles": {"roles": {"a": "organiser", "e": "benchmark"}},
            "indices": {"indices": indices},
            "weights": {"weights": np.stack([np.bincount(row, minlength=25) for row in indices])},
        }.items()
    }
    calls |= {
        f"bootstrap_ranks, {name}, weights": lambda rule=RULES[name]: details(table(missing=True, weights=True), rule)
        for name in ("mean", "mean, left out", "rank then mean", "weighted ranks", "normalised sum")
    }
    calls |= {
        "case_draws": lambda: ranking.case_draws(9, replicates=40, seed=1).counts,
        "case_draws, many": lambda: ranking.case_draws(30, replicates=600, seed=1).counts,
        "case_draws, strata": lambda: ranking.case_draws(9, replicates=40, seed=1, strata=[0, 1, 2] * 3).counts,
        "case_draws, skip": lambda: ranking.case_draws(9, replicates=40, seed=1, skip=256).counts,
        "case_draws, reject": lambda: (
            ranking.case_draws(6, replicates=40, seed=1, reject=lambda picks: (picks == 0).sum(axis=1) > 1).counts
        ),
        "rank_sets of scores": lambda: ranking.rank_sets(table(), RULES["mean"], replicates=300),
        "rank_sets of numbers": lambda: ranking.rank_sets(
            {team: values.tolist() for team, values in TEAMS.items()}, replicates=300, level=0.8
        ),
        "rank_sets, lower": lambda: ranking.rank_sets(
            {team: values.tolist() for team, values in TEAMS.items()}, better="lower", replicates=300, seed=6
        ),
        "plan_cases": lambda: ranking.plan_cases(
            np.stack(list(TEAMS.values())), better="higher", sizes=[5, 60], trials=60, seed=2
        ),
        "plan_cases, weights": lambda: ranking.plan_cases(
            np.stack(list(TEAMS.values())), better="lower", sizes=[20], trials=40, weight=1.0 + np.arange(25) % 2
        ),
        "multiverse": lambda: ranking.multiverse(
            table(missing=True), ranking.alternatives(RULES["mean"], table(missing=True))
        ),
        "multiverse without a centre": lambda: ranking.multiverse(
            table(),
            ranking.alternatives(
                RULES["mean"], table(), facts={case: {"centre": at} for case, at in strata.items()}, by="centre"
            ),
        ),
        "shake_up": lambda: ranking.shake_up(
            {"a": 0.9, "b": 0.8, "c": 0.7, "x": 1.0}, {"a": 0.75, "b": 0.8, "c": 0.7, "y": 0.2}, better="higher"
        ),
        "compare_rankings": lambda: ranking.compare_rankings(TEAMS["a"], TEAMS["b"], better=("higher", "lower")),
        "compare_rankings, dense": lambda: ranking.compare_rankings(
            TEAMS["a"], TEAMS["c"], better="higher", ties="dense", tolerance=0.05
        ),
        "ladder, step": lambda: ranking.ladder_scores(np.stack(list(TEAMS.values())), ranking.Ladder(0.01, "higher")),
        "ladder, parameter-free": lambda: ranking.ladder_scores(
            np.stack(list(TEAMS.values())), ranking.Ladder(None, "lower")
        ),
    }
    for test in ("wilcoxon", "t", "sign-flip"):
        for family in ("winner-vs-rest", "all-ordered", "all-unordered"):
            calls[f"significance, {test}, {family}"] = lambda test=test, family=family: ranking.significance(
                table(missing=True), RULES["mean"], test=test, family=family, replicates=500, seed=4
            )
        calls[f"significance, {test}, clustered"] = lambda test=test: ranking.significance(
            table(parts=True), RULES["mean over parts"], test=test, over="parts", clustered=True, replicates=500
        )
    return calls


def paired_calls() -> Calls:
    """Paired tests, permutations and their kin."""
    calls: Calls = {}
    common: dict[str, Any] = {"better": "higher", "decimals": None}
    for size, (a, b) in PAIRS.items():
        for alternative in ("better", "worse", "two-sided"):
            options = {**common, "alternative": alternative}
            for function in (stats.sign_flip, stats.signed_rank, stats.paired_t):
                name = f"{function.__name__}, {size} pairs, {alternative}"
                calls[name] = lambda f=function, a=a, b=b, o=options: f(a, b, **o)
        calls[f"sign_flip, {size} pairs, median"] = lambda a=a, b=b: stats.sign_flip(a, b, statistic="median", **common)
        calls[f"sign_flip, {size} pairs, drawn"] = lambda a=a, b=b: stats.sign_flip(
            a, b, exact=False, replicates=700, seed=2, **common
        )
        calls[f"sign_flip, {size} pairs, decimals"] = lambda a=a, b=b: stats.sign_flip(a, b, better="lower", decimals=1)
        calls[f"signed_rank, {size} pairs, pratt"] = lambda a=a, b=b: stats.signed_rank(
            a, b, better="higher", decimals=1, zeros="pratt", correction=False
        )
        calls[f"shifted_mann_whitney, {size} pairs"] = lambda a=a, b=b: stats.shifted_mann_whitney(
            a, b, margin=0.05, **common
        )
        for statistic in ("rank", "difference"):
            for alternative in ("greater", "less", "two-sided"):
                calls[f"permutation_test, {size}, {statistic}, {alternative}"] = (
                    lambda a=a, b=b, s=statistic, alt=alternative: stats.permutation_test(
                        a, b[: max(1, len(b) // 2)], statistic=s, alternative=alt, replicates=900, seed=7
                    )
                )
    a, b = PAIRS[40]
    calls["sign_flip, clustered"] = lambda: stats.sign_flip(a, b, cluster=CLUSTERS, **common)
    calls["sign_flip, clustered, drawn"] = lambda: stats.sign_flip(
        a, b, cluster=[f"k{number % 20}" for number in range(40)], replicates=600, seed=5, **common
    )
    calls["sign_flip, clustered, median"] = lambda: stats.sign_flip(
        a, b, cluster=CLUSTERS, statistic="median", exact=False, replicates=400, **common
    )
    for alternative in ("better", "worse", "two-sided"):
        calls[f"clustered_signed_rank, {alternative}"] = lambda alt=alternative: stats.clustered_signed_rank(
            a, b, CLUSTERS, alternative=alt, **common
        )
    calls["signed_rank_matrix"] = lambda: stats.signed_rank_matrix(np.stack(list(TEAMS.values())), **common)
    for test in ("wilcoxon", "t", "sign-flip"):
        calls[f"compare, {test}"] = lambda test=test: stats.compare(
            TEAMS, test=test, replicates=500, seed=3, family="all-ordered", **common
        )
    for method in ("holm", "bonferroni", "bh", "none"):
        calls[f"adjust, {method}"] = lambda method=method: stats.adjust([0.01, 0.2, 0.03, 0.03, 0.9], method)
    return calls


def detection_calls() -> Calls:
    """Bootstraps of findings, instances, operating points and panels."""
    one, weighted, several = detections(1), detections(2, weights=True), [detections(seed) for seed in range(3)]
    rows, options = lesions(1), {"replicates": 300, "seed": 7}
    calls: Calls = {
        "bootstrap_ci": lambda: stats.bootstrap_ci(one.truth, one.likelihood, **options),
        "bootstrap_ci, lesions": lambda: stats.bootstrap_ci(one.truth, one.likelihood, lesions=rows, **options),
        "bootstrap_ci, as PI-CAI drew": lambda: stats.bootstrap_ci(
            one.truth, one.likelihood, lesions=rows, draws="picai", **options
        ),
        "bootstrap_ci, strata and weight": lambda: stats.bootstrap_ci(
            one.truth, one.likelihood, lesions=rows, strata=one.truth, weight=weighted.weight, level=0.9, **options
        ),
        "bootstrap_ci, two workers": lambda: stats.bootstrap_ci(one.truth, one.likelihood, workers=2, **options),
        "delong": lambda: stats.delong(one.truth, one.likelihood),
        "detection_intervals": lambda: stats.detection_intervals([one], **options),
        "detection_intervals, three instances": lambda: stats.detection_intervals(several, **options),
        "detection_intervals, strata": lambda: stats.detection_intervals(several, strata="truth", **options),
        "detection_intervals, weights": lambda: stats.detection_intervals([weighted], **options),
        "detection_draws": lambda: stats.detection_draws(one, ranking.case_draws(36, replicates=60, seed=2).by_case),
        "summarise_detections": lambda: stats.summarise_detections(several, replicates=100),
    }
    for measure in ("auroc", "average_precision", "score"):
        for alternative in ("greater", "two-sided"):
            calls[f"compare_instances, {measure}, {alternative}"] = lambda measure=measure, alternative=alternative: (
                stats.compare_instances(
                    one.truth,
                    [detections(seed).likelihood for seed in (1, 2, 3)],
                    [detections(seed).likelihood for seed in (4, 5)],
                    measure=measure,
                    alternative=alternative,
                    lesions_a=None if measure == "auroc" else [lesions(seed) for seed in (1, 2, 3)],
                    lesions_b=None if measure == "auroc" else [lesions(seed) for seed in (4, 5)],
                    **options,
                )
            )
    for match in ("sensitivity", "specificity"):
        for flavour in ("rematch", "published"):
            for tie in ("mean", "best", "worst"):
                calls[f"matched_bootstrap, {match}, {flavour}, {tie}"] = lambda match=match, flavour=flavour, tie=tie: (
                    stats.matched_bootstrap(
                        TRUTH, CALLS[0], BELIEFS[:3], match=match, flavour=flavour, tie=tie, **options
                    )
                )
        calls[f"matched_bootstrap, {match}, weights"] = lambda match=match: stats.matched_bootstrap(
            TRUTH, CALLS[1], BELIEFS[:2], match=match, weight=WEIGHT, **options
        )
        for statistic in ("difference", "rank"):
            for name, readers in (("all", CALLS), ("split", SPLIT)):
                calls[f"compare_with_panel, {match}, {statistic}, {name}"] = (
                    lambda match=match, statistic=statistic, readers=readers: stats.compare_with_panel(
                        TRUTH, readers, BELIEFS, match=match, statistic=statistic, weight=WEIGHT
                    )
                )
    for match in ("recall", "precision"):
        calls[f"matched_lesion_bootstrap, {match}"] = lambda match=match: stats.matched_lesion_bootstrap(
            lesions(9)._replace(confidence=(lesions(9).confidence > 0.4).astype(float)),
            [lesions(1), lesions(2)],
            cases=36,
            match=match,
            **options,
        )
    for target in (0.0, 0.5, 0.8, 1.0):
        calls[f"match_operating_point, {target}"] = lambda target=target: stats.match_operating_point(
            TRUTH, BELIEFS[0], target, weight=WEIGHT
        )
    for alternative in ("two-sided", "greater"):
        calls[f"compare_panels, disjoint, {alternative}"] = lambda alt=alternative: stats.compare_panels(
            {"a": 0.8, "b": 0.7, "c": 0.9}, {"d": 0.6, "e": 0.75, "f": 0.7, "g": 0.5}, alternative=alt
        )
        calls[f"compare_panels, same, {alternative}"] = lambda alt=alternative: stats.compare_panels(
            {"a": 0.8, "b": 0.7, "c": 0.9}, {"a": 0.6, "b": 0.75, "c": 0.7}, alternative=alt
        )
    return calls


def study() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Reads and lesions: four readers in two modalities, and two instances of an algorithm."""
    rng, reads, marks = np.random.default_rng(0), [], []
    people = [(name, modality) for modality in ("bpMRI", "mpMRI") for name in ("Ann", "Bob", "Cid", "Dan")]
    for name, modality in [*people, ("n1", "net"), ("n2", "net")]:
        for number in range(30):
            ill, human = int(number % 3 == 0), modality != "net"
            belief = float(rng.normal(1.5 * ill, 1.0))
            rating = float(np.clip(round(belief + 2.5), 1, 5)) if human else None
            reads.append((name, modality, f"c{number:02}", ill, round(belief, 2), 1.0 + number % 2, rating))
            marks += [
                (name, modality, f"c{number:02}", lesion, float(rng.integers(2, 6)) if human else float(rng.random()))
                for lesion in ([1] * ill + [0])
            ]
    columns = ["reader_id", "modality_id", "case_id", "truth", "score", "weight", "rating"]
    names = ["reader_id", "modality_id", "case_id", "is_lesion", "confidence"]
    return (
        pl.DataFrame(reads, schema=columns, orient="row", infer_schema_length=None),
        pl.DataFrame(marks, schema=names, orient="row"),
    )


def study_calls(folder: Path) -> Calls:
    """Reader studies: analysis, draws, panels, power."""
    for name, one in zip(("reads", "lesions"), study(), strict=True):
        one.write_csv(folder / f"{name}.csv")
    reads, marks = mrmc.read_csv(folder / "reads.csv"), stats.read_lesions(folder / "lesions.csv")
    humans = reads.filter(pl.col("modality_id") != "net")
    calls: Calls = {
        "analyse": lambda: mrmc.analyse(humans).to_dict(),
        "bootstrap_check": lambda: mrmc.bootstrap_check(humans, replicates=150, seed=3),
        "bootstrap_check, fixed readers": lambda: mrmc.bootstrap_check(humans, replicates=150, readers="fixed"),
        "bootstrap_check, a fixed modality": lambda: mrmc.bootstrap_check(reads, replicates=100, fixed=["net"]),
        "ai_against_panel": lambda: stats.ai_against_panel(
            reads, marks, ai="net", panel="bpMRI", points=[3, 4], bootstrap=100
        ).to_dict(),
        "ai_against_panel, ranks": lambda: stats.ai_against_panel(
            reads, ai="net", panel="mpMRI", points=[3], statistic="rank", tie="best", preset=None
        ).to_dict(),
        "compare_readers": lambda: stats.compare_readers(
            humans, panels={"all": ("Ann", "Bob", "Cid", "Dan"), "two": ("Ann", "Bob")}, points=[3]
        ).to_dict(),
    }
    for name in ("vandyke", "sim_splitplot", "sim_missing"):
        path = GOLDEN / "mrmc" / name / "data.csv"
        calls[f"bootstrap_check, {name}"] = lambda path=path: mrmc.bootstrap_check(
            mrmc.read_csv(path), replicates=60, seed=1
        )
    components = stats.VarianceComponents(n=0.02, d=0.03, nd=0.01, r=0.001, nr=0.002, dr=0.003, rnd=0.05)
    for readers, blocks in ((4, 1), (8, 2), (20, 4)):
        design = stats.Design(readers, 60, 40, blocks=blocks)
        calls[f"power, {readers} readers"] = lambda design=design: stats.power(components, design, effect=0.05)
        for options in ({"effect": 0.05}, {"margin": 0.05}):
            name = f"simulated_power, {readers} readers, {next(iter(options))}"
            calls[name] = lambda design=design, options=options: stats.simulated_power(
                components, design, replicates=150, seed=9, **options
            )
    return calls


def make(folder: Path) -> Items:
    """What all these functions return."""
    groups = {
        "ranks": rank_calls(),
        "tests": paired_calls(),
        "detections": detection_calls(),
        "studies": study_calls(folder),
    }
    return {
        f"resampling/{group}.json{'.gz' * (group != 'tests')}": {name: attempt(call) for name, call in calls.items()}
        for group, calls in groups.items()
    }
