from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isocenter.metrics import auroc, average_precision
from isocenter.stats._bootstrap import LesionRows
from isocenter.stats._delong import delong
from isocenter.stats._instances import compare_instances
from isocenter.stats._matching import match_operating_point
from isocenter.stats._panels import compare_with_panel
from isocenter.stats._permutation import permutation_test
from isocenter.stats._two_panels import compare_panels

GOLDEN = Path(__file__).parents[1] / "golden" / "detection" / "expected_statistics.json"
MATCHED = json.loads(GOLDEN.read_text())["matched_permutation"]
STATISTICS = ("difference", "rank")


def study(readers: int, instances: int, *, cases: int = 100, seed: int = 0, split: bool = False) -> dict[str, Any]:
    """Readers and instances of the same kind: none is better than the others but by chance."""
    rng = np.random.default_rng(seed)
    truth = np.arange(cases) % 5 < 2
    skill = rng.normal(1.2, 0.15, size=(readers + instances, 1))
    latent = skill * truth + 0.6 * rng.normal(size=cases) + 0.8 * rng.normal(size=(readers + instances, cases))
    calls = (latent[:readers] > rng.normal(0.6, 0.2, size=(readers, 1))).astype(float)
    if split:
        block = np.arange(cases) // 5 % 2
        calls[block != (np.arange(readers) % 2)[:, None]] = np.nan
    return {"truth": truth, "calls": calls, "scores": latent[readers:]}


@pytest.mark.parametrize("row", MATCHED)
def test_by_ranks_it_is_the_test_of_picai_eval(row: dict[str, Any]) -> None:
    found = compare_with_panel(
        row["y_true"], row["y_pred_readers"], row["y_pred_ai"], match=row["match"], statistic="rank"
    )
    assert found.published.p_value == pytest.approx(row["p"], rel=1e-12)
    assert found.published.method == "exact"


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("match", ["sensitivity", "specificity"])
def test_everybody_is_worth_what_they_are_among_the_others(match: Any, statistic: Any, split: bool) -> None:
    given = study(4, 3, split=split)
    weight = np.random.default_rng(1).uniform(0.5, 2, 100)
    found = compare_with_panel(**given, match=match, weight=weight, statistic=statistic, method="published")
    truth, calls, scores = given.values()

    def worth(own: float, others: list[float]) -> float:
        if statistic == "difference":
            return own - float(np.mean(others))
        return float(np.mean([0.5 if abs(own - x) < 1e-12 else float(own > x) for x in others]))

    of_readers, of_instances = [], np.zeros((4, 3))
    for j, call in enumerate(calls):
        read = ~np.isnan(call)
        t, c, w = truth[read], call[read] == 1, weight[read]
        rates = [float(w[t & c].sum() / w[t].sum()), float(w[~t & ~c].sum() / w[~t].sum())]
        target, own = rates if match == "sensitivity" else rates[::-1]
        theirs = [match_operating_point(t, s[read], target, match=match, weight=w).value for s in scores]
        of_readers.append(worth(own, theirs))
        of_instances[j] = [worth(theirs[k], [own, *theirs[:k], *theirs[k + 1 :]]) for k in range(3)]
        assert found.reader_conjugates[j] == pytest.approx(own)
        assert found.instance_conjugates[j] == pytest.approx(theirs)
    assert found.reader_values == pytest.approx(of_readers)
    assert found.instance_values == pytest.approx(of_instances.mean(axis=0))
    gaps = np.mean(found.instance_conjugates, axis=1) - np.array(found.reader_conjugates)
    assert found.difference == pytest.approx(gaps.mean())


def test_cases_that_nobody_read_make_no_difference() -> None:
    given = study(6, 4, split=True)
    found = compare_with_panel(**given)
    more = {
        "truth": np.append(given["truth"], [True, False]),
        "calls": np.column_stack([given["calls"], np.full((6, 2), np.nan)]),
        "scores": np.column_stack([given["scores"], np.full((4, 2), 9.0)]),
    }
    assert compare_with_panel(**more) == found


def test_a_whole_panel_is_exact_by_differences_and_by_ranks() -> None:
    for statistic in STATISTICS:
        found = compare_with_panel(**study(62, 10, cases=400, split=True), statistic=statistic, replicates=100)  # type: ignore[arg-type]
        assert found.published.method == "exact"
        assert (found.published.size_a, found.published.size_b) == (10, 62)


def test_a_better_algorithm_is_found_to_be_better() -> None:
    given = study(8, 5)
    given["scores"] = given["scores"] + 1.5 * given["truth"]
    for statistic in STATISTICS:
        assert compare_with_panel(**given, statistic=statistic).p_value < 0.01  # type: ignore[arg-type]
        assert compare_with_panel(**given, statistic=statistic, alternative="less").p_value > 0.9  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("readers", "instances", "split"), [(12, 5, False), (12, 5, True), (6, 6, False)])
def test_no_algorithm_is_called_better_too_often_that_is_not(readers: int, instances: int, split: bool) -> None:
    sets = 300
    claims = dict.fromkeys(STATISTICS, 0)
    for number in range(sets):
        given = study(readers, instances, seed=number, split=split)
        for statistic in STATISTICS:
            claims[statistic] += compare_with_panel(**given, statistic=statistic).p_value <= 0.05  # type: ignore[arg-type]
    for statistic in STATISTICS:
        assert claims[statistic] / sets < 0.05 + 2 * (0.05 * 0.95 / sets) ** 0.5, statistic


def test_everything_that_is_wrong_with_a_panel_is_said_at_once() -> None:
    given = study(3, 2)
    given["calls"][0] = np.where(given["truth"], 1.0, np.nan)
    given["calls"][2, 5] = 3
    given["scores"][1, 7] = np.nan
    complaint = r"instance 1 has no finite score.*reader 0 read no negative case.*reader 2 has calls other than 0 and 1"
    with pytest.raises(ValueError, match=complaint):
        compare_with_panel(**given)
    with pytest.raises(ValueError, match=r"their shapes are \(2,\), \(2,\), \(1, 3\) and \(1, 2\)"):
        compare_with_panel([0, 1], [0, 1, 1], [1, 2])
    with pytest.raises(ValueError, match=r"truth is not 0 or 1 everywhere; weights are not finite"):
        compare_with_panel([0, 1, 2], [0, 1, 1], [1, 2, 3], weight=[1, 1, -1])


def test_disjoint_panels_are_relabelled() -> None:
    a, b = {"r1": 0.81, "r2": 0.77, "r3": 0.9}, {"r4": 0.7, "r5": 0.75, "r6": 0.76, "r7": 0.78}
    found = compare_panels(a, b, alternative="greater")
    pooled = [*a.values(), *b.values()]
    sums = [sum(some) for some in combinations(pooled, 3)]
    assert found.p_value == pytest.approx(np.mean(np.array(sums) >= sum(a.values()) - 1e-9))
    assert (found.design, found.published.method, found.readers_a, found.readers_b) == ("disjoint", "exact", 3, 4)


def test_the_same_readers_swap_their_own_values() -> None:
    a, b = {"r1": 0.81, "r2": 0.77, "r3": 0.9, "r4": 0.6}, {"r4": 0.62, "r3": 0.8, "r2": 0.75, "r1": 0.75}
    d = [a[name] - b[name] for name in a]
    flips = [sum(s * x for s, x in zip(signs, d, strict=True)) for signs in product((1, -1), repeat=4)]
    for side, reached in (("greater", np.array(flips)), ("two-sided", np.abs(flips)), ("less", -np.array(flips))):
        found = compare_panels(a, b, alternative=side)  # type: ignore[arg-type]
        bar = {"greater": sum(d), "two-sided": abs(sum(d)), "less": -sum(d)}[side]
        assert found.p_value == pytest.approx(np.mean(reached >= bar - 1e-9))
        assert found.design == "same"
        assert found.difference == pytest.approx(np.mean(d))


def test_nested_panels_are_refused() -> None:
    everybody = {"r1": 0.8, "r2": 0.7, "r3": 0.9}
    with pytest.raises(ValueError, match=r"share some readers and not all \(r1, r3\)"):
        compare_panels(everybody, {"r1": 0.8, "r3": 0.9})
    with pytest.raises(ValueError, match="b has no values"):
        compare_panels(everybody, {})
    with pytest.raises(ValueError, match="alternative is one of"):
        compare_panels(everybody, everybody, alternative="better")  # type: ignore[arg-type]


def test_areas_of_instances_are_relabelled_and_drawn() -> None:
    given = study(0, 9)
    truth, scores = given["truth"], given["scores"]
    weight = np.random.default_rng(2).uniform(0.5, 2, 100)
    options: dict[str, Any] = {"weight": weight, "replicates": 200, "seed": 3, "method": "published"}
    found = compare_instances(truth, scores[:4], scores[4:], **options)
    areas = [auroc(truth, row, weight=weight) for row in scores]
    assert [*found.values_a, *found.values_b] == pytest.approx(areas, rel=1e-12)
    assert found.p_value == permutation_test(areas[:4], areas[4:]).p_value
    assert found.difference == pytest.approx(np.mean(areas[:4]) - np.mean(areas[4:]))
    assert found.low < found.difference < found.high
    again = compare_instances(truth, scores[:4], scores[4:], workers=2, **options)
    assert again.to_dict() == found.to_dict()
    assert compare_instances(truth, scores[:4], scores[4:], weight=weight).published == found.published


def test_instances_meet_on_the_same_drawn_cases() -> None:
    """So that an algorithm differs in no draw from itself, if it was trained once."""
    given = study(0, 1)
    same = compare_instances(given["truth"], given["scores"], 2 * given["scores"], replicates=300)
    assert (same.difference, same.low, same.high) == (0.0, 0.0, 0.0)


def test_lesions_count_if_they_are_asked_for() -> None:
    given = study(0, 4)
    rng = np.random.default_rng(4)
    case = np.append(np.flatnonzero(given["truth"]), rng.integers(0, 100, 30))
    is_lesion = np.append(np.ones(40), np.zeros(30))
    rows = [LesionRows(case, is_lesion, rng.random(70).round(2) * (rng.random(70) < 0.9)) for _ in range(4)]
    options: dict[str, Any] = {"lesions_a": rows[:2], "lesions_b": rows[2:], "replicates": 100}
    found = compare_instances(given["truth"], given["scores"][:2], given["scores"][2:], measure="score", **options)
    expected = [
        (auroc(given["truth"], s) + average_precision(r.is_lesion, r.confidence)) / 2
        for s, r in zip(given["scores"], rows, strict=True)
    ]
    assert [*found.values_a, *found.values_b] == pytest.approx(expected, abs=1e-6)
    only = compare_instances(
        given["truth"], given["scores"][:2], given["scores"][2:], measure="average_precision", **options
    )
    assert only.values_a[0] == pytest.approx(average_precision(rows[0].is_lesion, rows[0].confidence), abs=1e-6)
    with pytest.raises(ValueError, match="a has 2 instances and lesions of 1; b has 2 instances and lesions of none"):
        compare_instances(given["truth"], given["scores"][:2], given["scores"][2:], measure="score", lesions_a=rows[:1])
    fewer = [rows[2], LesionRows(case[1:], is_lesion[1:], np.ones(69))]
    with pytest.raises(ValueError, match=r"b\[1\] has other numbers of them per case than a\[0\]"):
        compare_instances(
            given["truth"],
            given["scores"][:2],
            given["scores"][2:],
            measure="score",
            lesions_a=rows[:2],
            lesions_b=fewer,
        )


def test_no_training_is_called_better_too_often_and_the_interval_covers() -> None:
    sets, claims, covered = 500, 0, 0
    for number in range(sets):
        given = study(0, 10, seed=1000 + number)
        found = compare_instances(given["truth"], given["scores"][:5], given["scores"][5:], replicates=200, seed=number)
        claims += found.p_value <= 0.05
        covered += found.low <= 0 <= found.high
    assert claims / sets < 0.05 + 2 * (0.05 * 0.95 / sets) ** 0.5
    assert covered / sets > 0.95


def test_they_read_as_sentences_and_export_json() -> None:
    given = study(3, 2)
    panel = compare_with_panel(**given)
    assert str(panel).startswith("At the sensitivity of each of 3 readers, the specificity of 2 instances is")
    assert json.loads(json.dumps(panel.to_dict()))["published"]["p_value"] == panel.published.p_value
    panels = compare_panels({"r1": 0.8, "r2": 0.7}, {"r1": 0.7, "r2": 0.7})
    assert str(panels) == (
        "Difference of means +0.0500; permutation test (exact) of 2 readers in both arms, swapped within readers, "
        "two-sided: p = 1, for other readers, on these cases."
    )
    assert "2 readers against 1 others, relabelled" in str(compare_panels({"r1": 0.8, "r2": 0.7}, {"r3": 0.7}))
    assert json.loads(json.dumps(panels.to_dict()))["design"] == "same"
    instances = compare_instances(given["truth"], given["scores"][:1], given["scores"][1:], replicates=20)
    assert str(instances).startswith("Mean AUROC ")
    assert "for other cases, this one training of a and b only (100 cases). Published test, on these" in str(instances)
    drawn = compare_instances(given["truth"], given["scores"], given["scores"], replicates=20, method="published")
    assert "On these 100 cases, P(a > b) + ½ P(a = b)" in str(drawn)
    assert json.loads(json.dumps(instances.to_dict()))["measure"] == "auroc"


# The two-way tests.


def sides(sizes: tuple[int, int], *, cases: int = 120, seed: int = 0, own: float = 0.55) -> tuple[Any, Any]:
    """Two sides of equal accuracy that err on cases of their own, the same ones in all instances or readers."""
    rng = np.random.default_rng(seed)
    truth = np.arange(cases) % 5 < 2
    latent = 1.2 * truth + 0.6 * rng.normal(size=cases) + 0.5 * rng.normal(size=(sum(sizes), cases))
    return truth, latent + np.repeat(own * rng.normal(size=(2, cases)), sizes, axis=0)


def test_algorithms_that_err_on_cases_of_their_own_are_not_called_different() -> None:
    claims = np.zeros((3, 2))
    for seed in range(150):
        truth, latent = sides((6, 5), seed=seed)
        calls = (latent[:6] > 0.6).astype(float)
        a, b = (
            {f"{arm}{k}": row for k, row in enumerate(latent[list(at)] > 0.6)}
            for arm, at in (("a", range(5)), ("b", range(6, 11)))
        )
        found = (
            compare_instances(truth, latent[:6], latent[6:], alternative="two-sided"),
            compare_with_panel(truth, calls, latent[6:], alternative="two-sided", replicates=100),
            compare_panels(a, b, truth, measure="specificity"),
        )
        claims += [[one.p_value <= 0.05, one.published.p_value <= 0.05] for one in found]
        for one in found:
            assert (one.p_value < 0.05) == (one.low > 0 or one.high < 0)
    rates = claims / 150
    assert rates[:, 0].max() < 0.05 + 3 * (0.05 * 0.95 / 150) ** 0.5
    assert rates[:, 1].min() > 0.1, "the published tests take the cases for all there are"


def test_the_variance_of_areas_is_that_of_obuchowski_and_rockette_for_nested_readers() -> None:
    from isocenter.stats._influence import auroc_influence

    truth, latent = sides((4, 3))
    found = compare_instances(truth, latent[:4], latent[4:])
    parts = np.array([auroc_influence(truth, row, np.ones(120))[1] for row in latent])
    covariance = parts @ parts.T
    for row, variance in zip(latent, np.diag(covariance), strict=True):
        assert variance == pytest.approx(delong(truth, row).variance)
    off = ~np.eye(7, dtype=bool)
    of_a, of_b = covariance[:4, :4][off[:4, :4]].mean(), covariance[4:, 4:][off[4:, 4:]].mean()
    between = np.var(found.values_a, ddof=1) / 4 + np.var(found.values_b, ddof=1) / 3
    expected = between + of_a + of_b - 2 * covariance[:4, 4:].mean()
    assert found.standard_error == pytest.approx(expected**0.5)


def test_a_single_training_speaks_for_itself_only() -> None:
    truth, latent = sides((1, 1))
    found = compare_instances(truth, latent[:1], latent[1:])
    assert found.speaks_for == "other cases, this one training of a and b only"
    assert found.standard_error > 0
    assert compare_instances(truth, sides((1, 3))[1][:1], latent).speaks_for.startswith(
        "other cases and other trainings of b"
    )
    panel = compare_with_panel(truth, latent[:1] > 0.6, latent[1:], replicates=50)
    assert panel.speaks_for == "other cases, this reader and this training only"


@pytest.mark.parametrize("measure", ["auroc", "average_precision", "score"])
def test_what_cases_contribute_gives_the_standard_error_of_a_bootstrap_of_weighted_cases(measure: Any) -> None:
    truth, latent = sides((1, 1), cases=400)
    weight = np.random.default_rng(5).uniform(0.5, 3, 400)
    rows = [LesionRows(np.arange(400), truth, 1 / (1 + np.exp(-row))) for row in latent]
    options: dict[str, Any] = {"measure": measure, "weight": weight, "lesions_a": rows[:1], "lesions_b": rows[1:]}
    found = compare_instances(truth, latent[:1], latent[1:], **options)
    drawn = compare_instances(truth, latent[:1], latent[1:], method="published", replicates=4000, **options)
    assert (drawn.high - drawn.low) / 3.92 == pytest.approx(found.standard_error, rel=0.08)


def test_matching_on_the_compared_cases_is_corrected_for_its_bias() -> None:
    """Without differences between members the true difference is 0; the plain one is below it, by more of few cases."""
    plain, corrected = [], []
    for seed in range(300):
        truth, latent = sides((8, 4), cases=60, seed=seed, own=0.0)
        found = compare_with_panel(truth, latent[:8] > 0.6, latent[8:], replicates=60, seed=seed)
        corrected.append(found.difference)
        plain.append(found.difference + found.bias)
    error = np.std(corrected) / 300**0.5
    assert np.mean(plain) < -2.5 * error
    assert abs(np.mean(corrected)) < 2 * error


def test_a_perfect_algorithm_loses_nothing_at_the_point_of_a_reader_who_misses_nothing() -> None:
    truth = np.repeat([0, 1], [20, 10])
    calls = (np.arange(30) > 8).astype(float)
    found = compare_with_panel(truth, calls, np.arange(30.0), replicates=50)
    assert found.instance_conjugates == ((1.0,),)
    assert found.published.value < found.difference


def test_reads_of_panels_are_compared_for_other_readers_and_cases() -> None:
    truth, latent = sides((3, 3))
    latent[0, :30] = np.nan
    a, b = (
        {f"r{k}": np.where(np.isnan(row), np.nan, row > 0.6) for k, row in enumerate(rows)}
        for rows in (latent[:3], latent[3:])
    )
    same = compare_panels(a, b, truth, measure="sensitivity")
    assert (same.design, same.speaks_for) == ("same", "other readers and cases")
    values = [[np.nanmean(row[truth]) for row in arm.values()] for arm in (a, b)]
    assert same.difference == pytest.approx(np.mean(values[0]) - np.mean(values[1]))
    named = [dict(zip(a, of, strict=True)) for of in values]
    assert same.published.p_value == compare_panels(*named).p_value
    areas = compare_panels(
        dict(zip("abc", latent[:3], strict=True)), dict(zip("def", latent[3:], strict=True)), truth, measure="auroc"
    )
    assert (areas.design, areas.low < areas.difference < areas.high) == ("disjoint", True)
    with pytest.raises(ValueError, match=r"panel a cannot be compared: r0 has reads of shape \(2,\) for 120 cases"):
        compare_panels({"r0": [0, 1]}, b, truth, measure="sensitivity")
    with pytest.raises(ValueError, match="they need the truth of the cases"):
        compare_panels(named[0], named[1], measure="sensitivity")
    with pytest.raises(ValueError, match="a and b have several values per reader"):
        compare_panels(a, b)
