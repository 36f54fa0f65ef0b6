from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.stats._bootstrap import LesionRows
from isocenter.stats._matched import MatchedBootstrap, matched_bootstrap, matched_lesion_bootstrap
from isocenter.stats._matching import CONJUGATES, match_operating_point

GOLDEN = Path(__file__).parents[1] / "golden" / "detection" / "expected_statistics.json"
EXPECTED = json.loads(GOLDEN.read_text())
TIES = ("mean", "best", "worst")


@pytest.mark.parametrize("row", [row for row in EXPECTED["match_reader"] if row["also_unique_and_equal_on_full_roc"]])
def test_operating_points_are_those_of_picai_eval_where_there_is_one_only(row: dict[str, Any]) -> None:
    match = row["match"]
    found = match_operating_point(
        row["y_true"], row["y_pred_ai"], row[f"reader_{match}"], match=match, weight=row["sample_weight"]
    )
    assert found.tied == 1
    assert found.value == found.best == found.worst == pytest.approx(row[CONJUGATES[match]], abs=1e-12)
    assert found.threshold_best == row["threshold"]
    assert found.gap == pytest.approx(row["gap_full_roc"], abs=1e-12)


@pytest.mark.parametrize("row", EXPECTED["match_reader"])
def test_the_full_curve_is_never_farther_from_the_target(row: dict[str, Any]) -> None:
    match = row["match"]
    found = match_operating_point(
        row["y_true"], row["y_pred_ai"], row[f"reader_{match}"], match=match, weight=row["sample_weight"]
    )
    assert found.gap == pytest.approx(row["gap_full_roc"], abs=1e-12)
    assert found.gap <= row["gap_reduced_roc"] + 1e-12


def by_search(truth: np.ndarray, score: np.ndarray, target: float, *, match: str, weight: np.ndarray) -> list[float]:
    """The conjugate measures of all nearest thresholds, one threshold after another."""
    lesions = match in ("recall", "precision")
    points = []
    for threshold in [*np.unique(score), np.inf]:
        called = score >= threshold
        if lesions and not (called & (score > 0) & (weight > 0)).any():
            continue
        if lesions and threshold == 0:
            continue
        found = float(weight[truth & called].sum() / weight[truth].sum())
        other = weight[~truth & ~called].sum() / weight[~truth].sum() if not lesions else 0.0
        precise = weight[truth & called].sum() / weight[called].sum() if lesions else 0.0
        both = {"sensitivity": (found, other), "recall": (found, precise)}
        points.append(both.get(match) or both[CONJUGATES[match]][::-1])  # type: ignore[index]
    nearest = min(abs(m - target) for m, _ in points)
    return [float(c) for m, c in points if abs(m - target) <= nearest + 1e-12]


cohorts = st.lists(
    st.tuples(st.booleans(), st.integers(0, 4), st.sampled_from([0.5, 1.0, 3.0])), min_size=2, max_size=9
)


@given(cohorts, st.sampled_from(list(CONJUGATES)), st.sampled_from([0.0, 0.25, 0.5, 2 / 3, 1.0]), st.sampled_from(TIES))
@settings(deadline=None, max_examples=200)
def test_all_thresholds_are_looked_at(rows: Any, match: Any, target: float, tie: Any) -> None:
    truth, score, weight = (np.array(column) for column in zip(*rows, strict=True))
    truth, score = truth.astype(bool), score.astype(float)
    if not truth.any() or (truth.all() if match in ("sensitivity", "specificity") else not (score > 0).any()):
        with pytest.raises(ValueError, match="an operating point needs"):
            match_operating_point(truth, score, target, match=match, weight=weight)
        return
    expected = by_search(truth, score, target, match=match, weight=weight)
    found = match_operating_point(truth, score, target, match=match, weight=weight, tie=tie)
    assert found.best == pytest.approx(max(expected))
    assert found.worst == pytest.approx(min(expected))
    middle = max(expected) if match == "precision" else (max(expected) + min(expected)) / 2
    assert found.value == pytest.approx({"mean": middle, "best": max(expected), "worst": min(expected)}[tie])


def test_at_a_sensitivity_of_one_the_mean_goes_half_way_to_calling_everybody_positive() -> None:
    """Which is why the docstring sends those who compare with a routine that misses nothing to "best" as well."""
    truth = [0, 0, 0, 0, 1, 1]
    found = [match_operating_point(truth, range(6), 1.0, tie=tie) for tie in TIES]  # type: ignore[arg-type]
    assert [point.value for point in found] == [0.5, 1.0, 0.0]
    assert found[0].tied == 5


@pytest.mark.parametrize("row", EXPECTED["matched_bootstrap_mc"])
def test_the_published_flavour_is_that_of_picai_eval(row: dict[str, Any]) -> None:
    found = matched_bootstrap(
        row["y_true"],
        row["y_pred_reader"],
        row["y_pred_ai"],
        match=row["match"],
        weight=row["sample_weight"],
        flavour="published",
        replicates=20_000,
    )
    assert found.prob_ai_at_least == pytest.approx(row["p"], abs=4 * row["mc_standard_error"])


def study(cases: int = 60, instances: int = 3, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.random(cases) < 0.4
    latent = truth + rng.normal(size=(instances + 1, cases))
    scores = np.round(latent[1:], 1)
    return {"truth": truth, "routine_call": latent[0] > 0.5, "scores": scores, "weight": rng.uniform(0.5, 3, cases)}


def first_draws(cases: int, instances: int, replicates: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What a block of replicates draws, if nothing is drawn again."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    picked = rng.integers(0, cases, size=(replicates, cases), dtype=np.int32)
    return picked, rng.integers(0, instances, size=(replicates, instances), dtype=np.int32)


def summary(ahead: np.ndarray) -> tuple[float, float, float, float]:
    """Shares of replicates at least level and ahead, and the interval, from how far the drawn instances are ahead."""
    ahead = np.where(np.abs(ahead) < 1e-12, 0, ahead)
    rank = (np.sign(ahead) + 1).mean(axis=1) / 2
    return float((rank >= 0.5).mean()), float((rank > 0.5).mean()), *np.percentile(ahead.mean(axis=1), [2.5, 97.5])


@pytest.mark.parametrize("match", ["sensitivity", "specificity"])
@pytest.mark.parametrize("flavour", ["rematch", "published"])
@pytest.mark.parametrize("tie", TIES)
def test_replicates_are_those_of_cases_that_are_really_repeated(match: Any, flavour: Any, tie: Any) -> None:
    given = study()
    truth, call, scores, weight = given.values()
    found = matched_bootstrap(**given, match=match, flavour=flavour, tie=tie, replicates=100, seed=5)
    assert found.redrawn == 0

    def both(t: np.ndarray, c: np.ndarray, w: np.ndarray) -> tuple[float, float]:
        rates = float(w[t & c].sum() / w[t].sum()), float(w[~t & ~c].sum() / w[~t].sum())
        return rates if match == "sensitivity" else rates[::-1]

    fixed = [match_operating_point(truth, s, both(truth, call, weight)[0], match=match, weight=weight) for s in scores]
    ahead = []
    for drawn, picked in zip(*first_draws(60, 3, 100, 5), strict=True):
        t, w = truth[drawn], weight[drawn]
        target, own = both(t, call[drawn], w)
        values = []
        for k in picked:
            if flavour == "rematch":
                values.append(match_operating_point(t, scores[k, drawn], target, match=match, weight=w, tie=tie).value)
                continue
            high, low = (
                both(t, scores[k, drawn] >= threshold, w)[1]
                for threshold in (fixed[k].threshold_best, fixed[k].threshold_worst)
            )
            values.append({"mean": (high + low) / 2, "best": high, "worst": low}[tie])
        ahead.append(np.array(values) - own)
    expected = summary(np.array(ahead))
    better = (101 - 101 * found.p_value) / 100
    assert (found.prob_ai_at_least, better, found.low, found.high) == pytest.approx(expected, abs=1e-12)


def lesion_study(cases: int = 40, instances: int = 3, seed: int = 1) -> tuple[LesionRows, list[LesionRows]]:
    rng = np.random.default_rng(seed)
    lesion = np.repeat(np.arange(cases), rng.integers(0, 3, cases))

    def rows(chance: float, levels: int) -> LesionRows:
        wrong = rng.integers(0, cases, 25)
        hit = np.where(rng.random(lesion.size) < chance, rng.integers(2, levels + 2, lesion.size), 0)
        case = np.append(lesion, wrong)
        is_lesion = np.append(np.ones(lesion.size), np.zeros(wrong.size))
        return LesionRows(case, is_lesion, np.append(hit, rng.integers(1, levels + 1, wrong.size)) / 10)

    return rows(0.7, 1), [rows(0.8, 6) for _ in range(instances)]


@pytest.mark.parametrize("match", ["recall", "precision"])
def test_lesions_are_drawn_with_their_cases(match: Any) -> None:
    routine, instances = lesion_study()
    weight = np.random.default_rng(2).uniform(0.5, 3, 40)
    found = matched_lesion_bootstrap(
        routine, instances, cases=40, match=match, weight=weight, replicates=100, seed=6, level=0.95
    )
    assert found.redrawn == 0

    def repeated(rows: LesionRows, drawn: np.ndarray) -> tuple[np.ndarray, ...]:
        case, lesion, confidence = (np.asarray(column) for column in rows)
        at = np.concatenate([np.flatnonzero(case == c) for c in drawn])
        return lesion[at].astype(bool), confidence[at], weight[case[at]]

    ahead = []
    for drawn, picked in zip(*first_draws(40, 3, 100, 6), strict=True):
        lesion, called, w = repeated(routine, drawn)
        hit = w[lesion & (called > 0)].sum()
        rates = float(hit / w[lesion].sum()), float(hit / w[called > 0].sum())
        target, own = rates if match == "recall" else rates[::-1]
        values = []
        for k in picked:
            lesion, confidence, w = repeated(instances[k], drawn)
            values.append(match_operating_point(lesion, confidence, target, match=match, weight=w).value)
        ahead.append(np.array(values) - own)
    expected = summary(np.array(ahead))
    better = (101 - 101 * found.p_value) / 100
    assert (found.prob_ai_at_least, better, found.low, found.high) == pytest.approx(expected, abs=1e-12)
    assert found.positives == sum(np.asarray(routine.is_lesion))
    published = matched_lesion_bootstrap(
        routine, instances, cases=40, match=match, weight=weight, replicates=100, seed=6, flavour="published"
    )
    assert published.instance_conjugates == found.instance_conjugates
    assert published.difference == found.difference


def test_the_result_does_not_depend_on_the_number_of_workers() -> None:
    done: list[tuple[int, int]] = []
    alone = matched_bootstrap(**study(), replicates=1000, seed=3)
    together = matched_bootstrap(**study(), replicates=1000, seed=3, workers=3, progress=lambda *of: done.append(of))
    assert together == alone
    assert done[-1] == (1000, 1000)
    assert matched_bootstrap(**study(), replicates=1000, seed=4).low != alone.low


def test_draws_of_one_class_are_made_again_and_counted() -> None:
    truth = [1, 0, 0, 0, 0]
    found = matched_bootstrap(truth, truth, [5, 4, 3, 2, 1], replicates=5000, seed=1, tie="best")
    # all five draws negative with probability 0.8⁵ = 0.328, all positive with 0.2⁵ = 0.00032
    rejected = found.redrawn / (5000 + found.redrawn)
    assert rejected == pytest.approx(0.328, abs=4 * (0.328 * 0.672 / 5000) ** 0.5)
    assert found.prob_ai_at_least == 1.0


@pytest.mark.parametrize("instances", [1, 2, 3])
def test_an_algorithm_that_says_what_the_routine_says_is_at_least_as_good_and_not_better(instances: int) -> None:
    given = study()
    scores = np.tile(given["routine_call"] * 1.0, (instances, 1))
    found = matched_bootstrap(given["truth"], given["routine_call"], scores, replicates=500)
    assert (found.prob_ai_at_least, found.difference, found.low, found.high) == (1.0, 0.0, 0.0, 0.0)
    assert found.p_value == 1.0


def test_one_instance_ahead_and_one_behind_are_no_evidence() -> None:
    truth, call = np.repeat([0, 1], 40), np.repeat([0, 1, 0, 1], [20, 20, 10, 30])
    found = matched_bootstrap(truth, call, [truth, 1 - truth], replicates=2000, tie="best")
    # Both instances are drawn once with probability ½, the good one twice with ¼.
    assert found.prob_ai_at_least == pytest.approx(0.75, abs=0.04)
    assert found.p_value == pytest.approx(0.75, abs=0.04)


def test_a_perfect_algorithm_wins_and_one_that_is_always_wrong_loses() -> None:
    truth = np.repeat([0, 1], 40)
    call = np.tile([0, 0, 0, 1], 20) ^ truth
    won = matched_bootstrap(truth, call, truth * 1.0, replicates=500, tie="best")
    assert won.difference > 0
    assert (won.prob_ai_at_least, won.p_value) == (1.0, 1 / 501)
    lost = matched_bootstrap(truth, call, -1.0 * truth, replicates=500, tie="best")
    assert (lost.prob_ai_at_least, lost.p_value) == (0.0, 1.0)


def test_weights_count_by_their_ratios_and_say_what_the_cases_are_worth() -> None:
    given = study()
    found = matched_bootstrap(**given, replicates=300)
    weight = given.pop("weight")
    for scale in (4.0, 2.0**-1000, 2.0**1021):
        assert matched_bootstrap(**given, weight=scale * weight, replicates=300) == found
    assert found.effective_cases == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    plain = matched_bootstrap(**given, replicates=300)
    assert plain.effective_cases == 60
    for constant in (1e-320, 1e308):
        alike = matched_bootstrap(**given, weight=np.full(60, constant), replicates=300)
        assert (alike.p_value, alike.prob_ai_at_least) == (plain.p_value, plain.prob_ai_at_least)
        assert (alike.effective_cases, alike.low) == pytest.approx((60, plain.low), rel=1e-9)


def test_weights_of_lesions_count_by_their_ratios() -> None:
    routine, instances = lesion_study()
    weight = np.random.default_rng(2).uniform(0.5, 3, 40)
    plain, *scaled = (
        matched_lesion_bootstrap(routine, instances, cases=40, weight=scale * weight, replicates=50)
        for scale in (1.0, 2.0**-1000, 2.0**1021)
    )
    assert scaled == [plain, plain]


def claims(instances: int, flavour: Any, *, sets: int = 400) -> tuple[float, float]:
    """How often an algorithm is called better and worse that is neither, each at a nominal 5 %."""
    rng = np.random.default_rng(7)
    better = worse = 0
    for number in range(sets):
        truth = rng.random(200) < 0.4
        latent = 1.2 * truth + 0.6 * rng.normal(size=200) + 0.8 * rng.normal(size=(instances + 1, 200))
        found = matched_bootstrap(truth, latent[0] > 0.7, latent[1:], replicates=400, flavour=flavour, seed=number)
        better += found.p_value < 0.05
        worse += found.prob_ai_at_least < 0.05
    return better / sets, worse / sets


@pytest.mark.parametrize("instances", [1, 5])
def test_with_thresholds_matched_anew_nothing_is_claimed_too_often(instances: int) -> None:
    assert max(claims(instances, "rematch")) < 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_the_published_flavour_claims_too_much_with_one_instance() -> None:
    assert min(claims(1, "published")) > 0.09


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"truth": [0, 1, 2, 0]}, "truth is 0 or 1, but not in cases 2"),
        ({"routine_call": [0, 1, np.nan, 0]}, "the routine's call is 0 or 1, but not in cases 2"),
        ({"scores": [[1, 2, 3, 4], [1, np.inf, 3, np.nan]]}, "instance 1 has no finite score in cases 1, 3"),
        ({"scores": [1, 2, 3]}, r"their shapes are \(4,\), \(4,\), \(4,\) and \(1, 3\)"),
        ({"scores": np.empty((0, 4))}, "one row per instance"),
        ({"weight": [1, -1, 1, 1]}, "weights are finite and not negative, but not in cases 1"),
        ({"truth": [0, 0, 0, 0]}, "there are no positive cases"),
        ({"weight": [0, 1, 0, 1]}, "there are no negative cases"),
        ({"match": "recall"}, "match is one of 'sensitivity', 'specificity'"),
        ({"flavour": "picai"}, "flavour is one of"),
        ({"tie": "random"}, "tie is one of"),
        ({"replicates": 0}, "at least 1 replicate"),
    ],
)
def test_what_cannot_be_compared_is_named(change: dict[str, Any], complaint: str) -> None:
    given = {"truth": [0, 1, 0, 1], "routine_call": [0, 1, 1, 0], "scores": [1, 2, 3, 4], "replicates": 10}
    with pytest.raises(ValueError, match=complaint):
        matched_bootstrap(**(given | change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("routine", "instance", "complaint"),
    [
        (([0, 1], [1, 0], [1, 1]), ([0, 0], [1, 1], [0.5, 0.4]), "instance 0 has other numbers of lesions.*in cases 0"),
        (([0, 1], [1, 0], [0, 0]), ([0], [1], [0.5]), "the routine calls nothing"),
        (([0], [1], [1]), ([0], [1], [0]), "instance 0 has no candidates"),
        (([1], [0], [1]), ([1], [0], [1]), "there are no lesions"),
        (([2], [1], [1]), ([0], [1], [-0.5]), r"from 0 to 1; found int64 2…2.*instance 0: a confidence"),
        (([0.5], [1], [1]), ([0], [1], [1e300]), "found float64 0.5…0.5.*not in rows 0"),
        (([0], [1], [1, 2]), ([0], [3], [1]), r"columns of one length.*is_lesion is 0 or 1, but not in rows 0"),
    ],
)
def test_lesions_that_do_not_fit_are_named(routine: Any, instance: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        matched_lesion_bootstrap(LesionRows(*routine), [LesionRows(*instance)], cases=2, replicates=10)


def test_confidences_of_lesions_tie_in_single_precision() -> None:
    near = [0.3, 0.3 + 1e-9]
    assert match_operating_point([1, 0], near, 1.0, match="recall").value == 0.5
    routine = LesionRows([0, 1], [1, 0], [1, 1])
    found = matched_lesion_bootstrap(routine, [LesionRows([0, 1], [1, 0], near[::-1])], cases=2, replicates=10)
    assert found.instance_conjugates == (0.5,)


def test_a_study_without_instances_or_with_weights_of_others_is_refused() -> None:
    rows = LesionRows([0], [1], [1])
    with pytest.raises(ValueError, match=r"weights are one per case: 2.*there are no instances"):
        matched_lesion_bootstrap(rows, [], cases=2, weight=[1, 1, 1], replicates=10)
    with pytest.raises(ValueError, match="the recall to be matched lies between 0 and 1"):
        match_operating_point([1, 0], [1, 2], 1.5, match="recall")


@pytest.mark.parametrize("match", ["sensitivity", "specificity"])
def test_it_says_of_every_instance_how_far_off_it_is_and_what_tied_thresholds_give(match: Any) -> None:
    given = study()
    found = matched_bootstrap(**given, match=match, replicates=50)
    points = [
        match_operating_point(given["truth"], row, found.routine_matched, match=match, weight=given["weight"])
        for row in given["scores"]
    ]
    assert found.instance_gaps == pytest.approx([point.gap for point in points], abs=1e-12)
    assert found.instance_best == pytest.approx([point.best for point in points], abs=1e-12)
    assert found.instance_worst == pytest.approx([point.worst for point in points], abs=1e-12)
    assert found.gap == max(found.instance_gaps)
    assert found.mean_gap == pytest.approx(np.mean(found.instance_gaps))


@pytest.mark.parametrize("match", ["recall", "precision"])
def test_lesions_say_how_far_off_they_are_too(match: Any) -> None:
    routine, instances = lesion_study()
    found = matched_lesion_bootstrap(routine, instances, cases=40, match=match, replicates=50)
    points = [
        match_operating_point(rows.is_lesion, rows.confidence, found.routine_matched, match=match) for rows in instances
    ]
    assert found.instance_gaps == pytest.approx([point.gap for point in points], abs=1e-12)
    assert found.instance_best == pytest.approx([point.best for point in points], abs=1e-12)
    assert found.instance_worst == pytest.approx([point.worst for point in points], abs=1e-12)
    members = np.asarray(routine.is_lesion if match == "recall" else np.asarray(routine.confidence) > 0)
    assert found.step == pytest.approx(1 / members.sum())


def few_distinct_scores() -> dict[str, Any]:
    """40 positive and 80 negative cases, of which the routine calls half; a score of 0 or 1 has no such threshold."""
    truth = np.repeat([1, 0], [40, 80])
    coarse = np.repeat([1.0, 0.0, 1.0, 0.0], [36, 4, 8, 72])
    fine = np.concatenate([np.arange(40) + 60.0, np.arange(80)])
    return {"truth": truth, "routine_call": np.arange(120) % 2, "scores": np.stack([coarse, fine])}


def test_no_threshold_near_the_routine_is_a_warning_with_the_number() -> None:
    found = matched_bootstrap(**few_distinct_scores(), replicates=50)
    assert found.routine_matched == 0.5
    assert found.instance_gaps == pytest.approx((0.4, 0.0))
    assert (found.gap, found.mean_gap, found.step) == pytest.approx((0.4, 0.2, 1 / 40))
    assert not found.matched
    assert str(found).endswith(
        "The sensitivity is met within 0.4 (mean 0.2). Warning: the sensitivity of 1 of 2 instances stays off by up to "
        "0.400, more than one case (0.025): their operating point is not the routine's."
    )
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (told["gap"], told["mean_gap"], told["matched"]) == (found.gap, found.mean_gap, False)


def test_equally_near_thresholds_are_printed_and_are_no_warning() -> None:
    given = few_distinct_scores()
    given["scores"] = given["scores"][1]
    found = matched_bootstrap(**given, replicates=50)
    assert found.matched
    assert (found.instance_best, found.instance_worst) == ((1.0,), (1.0,))
    assert str(found).endswith("The sensitivity is met within 0 (mean 0).")
    given["routine_call"] = np.ones(120)
    found = matched_bootstrap(**given, replicates=50)
    assert (found.instance_best, found.instance_worst) == ((0.75,), (0.0,))
    assert str(found).endswith("met within 0 (mean 0); equally near thresholds give a specificity from 0.000 to 0.750.")


def test_a_gap_of_one_case_is_no_warning_and_a_gap_of_two_is() -> None:
    truth, call = np.repeat([1, 0], [10, 10]), np.tile([1, 0], 10)
    for found_too, matched in ((6, True), (7, False)):
        score = np.concatenate([np.arange(10) < found_too, np.zeros(10)])
        assert matched_bootstrap(truth, call, score, replicates=10).matched is matched


def test_with_weights_the_step_is_that_of_the_heaviest_case_of_the_class() -> None:
    weight = np.array([1.0, 1.0, 2.0, 9.0, 1.0])
    given = {"truth": [1, 1, 1, 0, 0], "routine_call": [1, 0, 0, 1, 0], "scores": [5, 4, 3, 2, 1], "replicates": 10}
    assert matched_bootstrap(**given, weight=weight).step == 2 / 4  # type: ignore[arg-type]
    assert matched_bootstrap(**given, weight=weight, match="specificity").step == 9 / 10  # type: ignore[arg-type]


def test_it_reads_as_a_sentence_and_exports_json() -> None:
    found: MatchedBootstrap = matched_bootstrap(**study(), replicates=200, seed=9)
    text = str(found)
    assert text.startswith(
        f"At the sensitivity of the routine, {found.routine_matched:.3f}, the algorithm's specificity"
    )
    assert "3 instances, 200 replicates, thresholds matched anew in every replicate" in text
    assert "seed 9" in text
    assert json.loads(json.dumps(found.to_dict()))["prob_ai_at_least"] == found.prob_ai_at_least
    point = match_operating_point([0, 0, 1], [1, 2, 3], 0.0)
    assert str(point) == "Specificity 1.0000 at a sensitivity of 0.0000, met within 0."
    assert json.loads(json.dumps(point.to_dict()))["threshold_best"] is None
