"""A reader study from its tables of reads and lesions: an algorithm against a panel, and panels against each other."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from isocenter import scores
from isocenter.detections import Finding, findings
from isocenter.metrics import Mark
from isocenter.readers import Read, Reads, ReferenceCase, score_reads
from isocenter.scores import Row, frame
from isocenter.stats import (
    adjust,
    ai_against_panel,
    compare_panels,
    compare_readers,
    compare_with_panel,
    match_operating_point,
    non_inferiority,
    permutation_test,
    read_lesions,
)
from isocenter.stats.mrmc import ReadsError, analyse, bootstrap_check, read_csv
from isocenter.volumes import Grid

READS = ["reader_id", "modality_id", "case_id", "truth", "score", "weight", "rating"]
LESIONS = ["reader_id", "modality_id", "case_id", "is_lesion", "confidence"]
HUMANS = ("bpMRI", "mpMRI")
GOLDEN = Path(__file__).parents[1] / "golden" / "detection" / "expected_statistics.json"
MATCHED = json.loads(GOLDEN.read_text())["matched_permutation"]
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "compare-with-readers.md"


def study(
    readers: int = 6, instances: int = 3, *, cases: int = 80, seed: int = 0, split: bool = False, gain: float = 0.0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Reads and lesions of readers in two modalities and of an algorithm, all of the same kind but for the gain."""
    rng = np.random.default_rng(seed)
    truth = np.arange(cases) % 5 < 2
    lesions = np.where(truth, 1 + np.arange(cases) % 2, 0)
    weight = 1.0 + np.arange(cases) % 3
    hard = 0.6 * rng.normal(size=cases)
    of_lesion = {(c, n): 0.6 * rng.normal() for c in range(cases) for n in range(lesions[c])}
    rows: list[tuple[Any, ...]] = []
    marks: list[tuple[Any, ...]] = []
    people = [(f"R{j}", m) for m in HUMANS for j in range(readers)] + [(f"N{k}", "net") for k in range(instances)]
    for number, (name, modality) in enumerate(people):
        human = modality in HUMANS
        skill = rng.normal(1.3, 0.15) + (0.0 if human else gain)
        latent = skill * truth + hard + 0.8 * rng.normal(size=cases)
        for c in range(cases):
            if split and human and c // 5 % 2 != number % 2:
                continue
            found = [(True, skill + of_lesion[c, n] + 0.8 * rng.normal() - 0.4) for n in range(lesions[c])] + [
                (False, 0.8 * rng.normal() - 0.6) for _ in range(rng.integers(0, 3))
            ]
            for is_lesion, belief in found:
                if human:
                    said = float(np.clip(np.floor(belief * 1.5 + 2.6), 0, 5))
                    said = said if said >= 3 else 0.0
                else:
                    said = float(np.round(1 / (1 + math.exp(-2 * belief)), 4)) if belief > -1 else 0.0
                if is_lesion or said:
                    marks.append((name, modality, f"c{c:03}", int(is_lesion), said))
            score = float(np.round(50 + 20 * latent[c])) if human else float(latent[c])
            rating = float(np.clip(np.floor(latent[c] * 1.3 + 2.6), 1, 5)) if human else None
            rows.append((name, modality, f"c{c:03}", int(truth[c]), score, float(weight[c]), rating))
    schema = dict(zip(READS, [pl.String] * 3 + [pl.Int64] + [pl.Float64] * 3, strict=True))
    return pl.DataFrame(rows, schema=schema, orient="row"), pl.DataFrame(marks, schema=LESIONS, orient="row")


def arrays(reads: pl.DataFrame, modality: str, column: str) -> tuple[list[str], np.ndarray]:
    """Readers, and readers × cases with NaN where a case was not read, all cases in order."""
    wide = reads.filter(modality_id=modality).pivot("case_id", index="reader_id", values=column).sort("reader_id")
    cases = sorted(reads["case_id"].unique())
    for case in (case for case in cases if case not in wide.columns):
        wide = wide.with_columns(pl.lit(None, pl.Float64).alias(case))
    return wide["reader_id"].to_list(), wide.select(cases).cast(pl.Float64).fill_null(np.nan).to_numpy()


def of_cases(reads: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    cases = reads.select("case_id", "truth", "weight").unique().sort("case_id")
    return cases["truth"].to_numpy(), cases["weight"].to_numpy()


@pytest.fixture(scope="module", params=[False, True], ids=["crossed", "split"])
def tables(request: pytest.FixtureRequest) -> tuple[pl.DataFrame, pl.DataFrame]:
    return study(split=request.param)


def test_areas_are_those_of_the_analysis_and_the_verdict_that_of_its_difference(tables) -> None:
    reads, _ = tables
    found = ai_against_panel(reads, ai="net", panel="bpMRI")
    both = reads.filter(pl.col("modality_id").is_in(["net", "bpMRI"]))
    pair = analyse(both).pairs["net", "bpMRI"]
    assert found.study.pairs["net", "bpMRI"] == pair
    assert found.verdict == non_inferiority(pair.difference, math.sqrt(pair.variance), pair.df, preset="picai")
    assert found.verdict.margin == 0.05
    other = ai_against_panel(reads, ai="net", panel="bpMRI", margin=0.1, preset=None, level=0.9)
    assert (other.verdict.margin, other.verdict.level, other.verdict.needs_gain) == (0.1, 0.9, False)
    held = ai_against_panel(reads, ai="net", panel="bpMRI", fixed=True)
    assert held.study.pairs["net", "bpMRI"] == analyse(both, fixed=["net"]).pairs["net", "bpMRI"]
    assert (found.points, found.bootstrap, found.cases) == ((), None, 80)
    assert ai_against_panel(reads, ai="net", panel="bpMRI", preset=None).verdict is None
    weight = of_cases(reads)[1]
    assert found.effective_cases == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


@pytest.mark.parametrize("row", MATCHED)
def test_by_ranks_the_test_of_patients_is_that_of_picai_eval(row: dict[str, Any]) -> None:
    rows = [
        (f"{modality}{n}", modality, f"c{case:03}", row["y_true"][case], float(value))
        for modality, given in (("panel", row["y_pred_readers"]), ("net", row["y_pred_ai"]))
        for n, values in enumerate(given)
        for case, value in enumerate(values)
    ]
    found = ai_against_panel(
        pl.DataFrame(rows, schema=READS[:5], orient="row"), ai="net", panel="panel", points=[1], statistic="rank"
    )
    (same,) = (one.comparison for one in found.points if one.comparison.match == row["match"])
    assert same.published.p_value == pytest.approx(row["p"], rel=1e-12)


@pytest.mark.parametrize(("statistic", "tie"), [("difference", "mean"), ("rank", "mean"), ("difference", "worst")])
def test_patients_are_compared_at_the_rating_of_each_reader(tables, statistic, tie) -> None:
    reads, _ = tables
    found = ai_against_panel(reads, ai="net", panel="mpMRI", points=[3, 4], statistic=statistic, tie=tie)
    truth, weight = of_cases(reads)
    _, ratings = arrays(reads, "mpMRI", "rating")
    _, scores = arrays(reads, "net", "score")
    assert [(one.level, one.point, one.comparison.match) for one in found.points] == [
        ("patients", point, match) for point in (3, 4) for match in ("sensitivity", "specificity")
    ]
    for one in found.points:
        calls = np.where(np.isnan(ratings), np.nan, ratings >= one.point)
        plain = compare_with_panel(
            truth, calls, scores, match=one.comparison.match, weight=weight, statistic=statistic, tie=tie
        )
        assert one.comparison == plain
    p = [one.comparison.p_value for one in found.points]
    assert [one.adjusted for one in found.points] == pytest.approx(adjust(p, "holm").tolist())


def test_without_ratings_readers_call_by_their_score(tables) -> None:
    reads, _ = tables
    (found, _) = ai_against_panel(reads.drop("rating"), ai="net", panel="bpMRI", points=[60]).points
    truth, weight = of_cases(reads)
    _, given = arrays(reads, "bpMRI", "score")
    calls = np.where(np.isnan(given), np.nan, given >= 60)
    _, scores = arrays(reads, "net", "score")
    assert found.comparison == compare_with_panel(truth, calls, scores, weight=weight)


def rows_of(lesions: pl.DataFrame, reads: pl.DataFrame, name: str, modality: str) -> tuple[np.ndarray, ...]:
    mine = lesions.filter(reader_id=name, modality_id=modality).join(
        reads.select("case_id", "weight").unique(), on="case_id"
    )
    return tuple(mine[column].to_numpy() for column in ("case_id", "is_lesion", "confidence", "weight"))


@pytest.mark.parametrize("point", [3, 4])
def test_lesions_are_compared_at_the_recall_and_the_precision_of_each_reader(tables, point) -> None:
    reads, lesions = tables
    found = ai_against_panel(reads, lesions, ai="net", panel="bpMRI", points=[point])
    by_match = {one.comparison.match: one.comparison for one in found.points if one.level == "lesions"}
    assert list(by_match) == ["recall", "precision"]
    for match, comparison in by_match.items():
        own, theirs = [], []
        for name in sorted(reads.filter(modality_id="bpMRI")["reader_id"].unique()):
            _, lesion, said, w = rows_of(lesions, reads, name, "bpMRI")
            hit, called = (w * lesion * (said >= point)).sum(), (w * (said >= point)).sum()
            rates = {"recall": hit / (w * lesion).sum(), "precision": hit / called}
            target = rates.pop(match)
            own.append(*rates.values())
            mine = reads.filter(modality_id="bpMRI", reader_id=name)["case_id"].to_list()
            theirs.append([])
            for k in range(3):
                case, lesion, said, w = rows_of(lesions, reads, f"N{k}", "net")
                at = np.isin(case, mine)
                point_of = match_operating_point(lesion[at], said[at], target, match=match, weight=w[at])
                theirs[-1].append(point_of.value)
        assert comparison.reader_conjugates == pytest.approx(own)
        assert np.array(comparison.instance_conjugates) == pytest.approx(np.array(theirs))
        a, b = comparison.instance_values, comparison.reader_values
        assert comparison.published.p_value == permutation_test(a, b, statistic="difference", decimals=4).p_value
        ahead = np.mean(theirs, axis=1) - own
        assert comparison.difference + comparison.bias == pytest.approx(ahead.mean())


def test_only_what_a_correction_makes_better_is_corrected_for_the_bias_of_matching(tables) -> None:
    reads, lesions = tables
    found = ai_against_panel(reads, lesions, ai="net", panel="bpMRI", points=[3])
    by_match = {one.comparison.match: one.comparison for one in found.points}
    assert [match for match, one in by_match.items() if one.bias] == ["sensitivity", "specificity", "recall"]
    assert "without a bias" not in str(by_match["precision"])
    assert "without a bias" in str(by_match["recall"])


def test_a_better_algorithm_is_found_to_be_better_and_by_no_more_than_all_relabellings() -> None:
    reads, lesions = study(8, 5, cases=150, gain=1.5)
    found = ai_against_panel(reads, lesions, ai="net", panel="bpMRI", points=[3, 4])
    assert found.verdict.label == "superior"
    assert all(one.comparison.difference > 0 for one in found.points)
    assert [one.comparison.published.relabellings for one in found.points] == [math.comb(13, 5)] * 8
    assert max(one.comparison.p_value for one in found.points) < 0.05
    worse = study(8, 5, cases=150, gain=-0.9)
    assert (
        min(one.comparison.p_value for one in ai_against_panel(*worse, ai="net", panel="bpMRI", points=[3]).points)
        > 0.5
    )


@pytest.mark.slow
def test_of_lesions_no_algorithm_is_called_better_too_often_that_is_not() -> None:
    sets, claims = 120, dict.fromkeys(("recall", "precision"), 0)
    for number in range(sets):
        reads, lesions = study(6, 6, cases=60, seed=100 + number)
        # The readers of one modality against those of another, who have the same grades of confidence.
        humans = reads.filter(pl.col("modality_id").is_in(HUMANS))
        name = pl.when(pl.col("modality_id") == "mpMRI").then("M" + pl.col("reader_id")).otherwise("reader_id")
        found = ai_against_panel(
            humans.with_columns(reader_id=name),
            lesions.filter(pl.col("modality_id").is_in(HUMANS)).with_columns(reader_id=name),
            ai="mpMRI",
            panel="bpMRI",
            points=[4],
        )
        for one in found.points:
            if one.level == "lesions":
                claims[one.comparison.match] += one.comparison.p_value <= 0.05
    for match, count in claims.items():
        assert count / sets < 0.05 + 2.5 * (0.05 * 0.95 / sets) ** 0.5, match


def test_some_readers_of_a_panel_may_be_compared_alone(tables) -> None:
    reads, lesions = tables
    experts = ["R0", "R1", "R4"]
    found = ai_against_panel(reads, lesions, ai="net", panel="bpMRI", readers=experts, points=[3])
    alone = reads.filter((pl.col("modality_id") == "net") | pl.col("reader_id").is_in(experts))
    rows = lesions.join(alone, on=LESIONS[:3], how="semi")
    assert found == ai_against_panel(alone, rows, ai="net", panel="bpMRI", points=[3])


def test_the_order_of_rows_is_of_no_consequence(tables) -> None:
    reads, lesions = tables
    options: dict[str, Any] = {"ai": "net", "panel": "bpMRI", "points": [3, 4], "bootstrap": 30, "seed": 2}
    turned = ai_against_panel(reads.reverse(), lesions.reverse(), **options)
    assert turned == ai_against_panel(reads, lesions, **options)


def test_the_draws_are_those_of_the_check(tables) -> None:
    reads, _ = tables
    both = reads.filter(pl.col("modality_id").is_in(["net", "bpMRI"]))
    calls: list[tuple[int, int]] = []
    found = ai_against_panel(
        reads, ai="net", panel="bpMRI", bootstrap=300, seed=4, progress=lambda done, of: calls.append((done, of))
    )
    assert found.bootstrap == bootstrap_check(both, replicates=300, seed=4)
    assert calls == [(256, 300), (300, 300)]


def scene() -> tuple[Reads, dict[str, ReferenceCase]]:
    """Ann's mark of PI-RADS 3 lies nearer to the lesion than that of 4: at 3 it is the hit, at 4 the other is."""
    grid = Grid((40, 40, 10))
    empty = np.zeros(grid.shape, np.uint8)
    ill = empty.copy()
    ill[5:10, 5:10, 4] = 1
    reference = {name: ReferenceCase(ill if name < "c" else empty, grid) for name in "abcd"}
    near, beside, far = Mark((7.0, 7.0, 4.0), 3), Mark((12.0, 7.0, 4.0), 4), Mark((30.0, 30.0, 4.0), 4)
    marks = {
        ("Ann", "a"): (near, beside),
        ("Ann", "b"): (far,),
        ("Ann", "d"): (Mark((20.0, 20.0, 4.0), 3),),
        ("Bob", "a"): (beside,),
        ("Bob", "b"): (near,),
        ("Bob", "c"): (far,),
    }
    reads = [
        Read(reader, case, marks.get((reader, case), ()), score=80.0 - 20 * "abcd".index(case), modality="bpMRI")
        for reader in ("Ann", "Bob")
        for case in "abcd"
    ]
    return Reads(tuple(reads)), reference


def test_the_snippets_of_the_documentation_make_both_tables(tmp_path, monkeypatch) -> None:
    scored = score_reads(*scene())
    table = [
        Row(case, part, metric, value)
        for case, positive, likelihood in (("a", 1, 0.9), ("b", 1, 0.3), ("c", 0, 0.4), ("d", 0, 0.1))
        for metric, value, part in findings(
            bool(positive), likelihood, [Finding(bool(positive), likelihood, 0.5), Finding(False, 0.2, 0.0)]
        )
    ]
    monkeypatch.chdir(tmp_path)
    scores.write(frame(table), "team.parquet")
    shown = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    space: dict[str, Any] = {"readers": scored}
    for snippet in shown[:1] + [text for text in shown if "hits.tp" in text]:
        exec(snippet, space)
    reads, lesions = read_csv("reads.csv"), read_lesions("lesions.csv")
    assert set(reads["reader_id"]) == {"Ann", "Bob", "net"}
    found = compare_readers(reads, lesions, panels={"both": ["Ann", "Bob"]}, points=[3, 4])
    (panel,) = scored.panels
    for one in found.configurations:
        if one.point is not None:
            expected = panel.points[int(one.point)]._asdict()
            assert one.values == pytest.approx({name: expected[name] for name in one.values})
    at_points = ai_against_panel(reads, lesions, ai="algorithm", panel="bpMRI", points=[3, 4]).points
    assert [one.level for one in at_points] == ["patients"] * 4 + ["lesions"] * 4
    # At 5 nobody marks anything, which has no precision.
    with pytest.raises(ReadsError, match="reader Ann, modality bpMRI: marks nothing at 5 or above"):
        compare_readers(reads, lesions, panels={"both": ["Ann", "Bob"]}, points=[5])


PANELS = {"all": [f"R{j}" for j in range(6)], "experts": ["R0", "R2", "R4"], "others": ["R1", "R3", "R5"]}


def test_three_panels_two_modalities_and_two_points_are_18_and_12_configurations(tables) -> None:
    reads, lesions = tables
    found = compare_readers(reads, lesions, panels=PANELS, points=[3, 4])
    of_patients = [one for one in found.configurations if one.level == "patients"]
    of_lesions = [one for one in found.configurations if one.level == "lesions"]
    assert (len(of_patients), len(of_lesions)) == (18, 12)
    assert {(one.panel, one.modality, one.point) for one in of_patients} == {
        (panel, modality, point) for panel in PANELS for modality in HUMANS for point in (3, 4, None)
    }
    truth, weight = of_cases(reads)
    for one in found.configurations:
        names, ratings = arrays(reads, one.modality, "rating")
        if one.point is None:
            mine = reads.filter(pl.col("modality_id") == one.modality, pl.col("reader_id").is_in(PANELS[one.panel]))
            assert one.values == {"AUC": pytest.approx(analyse(mine).modalities[one.modality].auc)}
            continue
        values = []
        for name in PANELS[one.panel]:
            if one.level == "patients":
                given = ratings[names.index(name)]
                right = (given >= one.point) == truth
                classes = [(truth == c) & ~np.isnan(given) for c in (1, 0)]
                values.append([np.average(right[c], weights=weight[c]) for c in classes])
            else:
                _, lesion, said, w = rows_of(lesions, reads, name, one.modality)
                hit = (w * lesion * (said >= one.point)).sum()
                values.append([hit / (w * lesion).sum(), hit / (w * (said >= one.point)).sum()])
        assert list(one.values.values()) == pytest.approx(np.mean(values, axis=0))


def test_modalities_are_compared_within_panels_and_panels_within_modalities(tables) -> None:
    reads, lesions = tables
    found = compare_readers(reads, lesions, panels=PANELS, points=[3, 4])
    within = {(f"{panel}, bpMRI", f"{panel}, mpMRI") for panel in PANELS}
    between = {(f"experts, {modality}", f"others, {modality}") for modality in HUMANS}
    by_kind: dict[tuple[Any, ...], set[tuple[str, str]]] = {}
    for test in found.tests:
        by_kind.setdefault((test.level, test.point, test.measure), set()).add((test.a, test.b))
    assert set(by_kind) == {
        ("patients", None, "AUC"),
        *(("patients", point, measure) for point in (3, 4) for measure in ("sensitivity", "specificity")),
        *(("lesions", point, measure) for point in (3, 4) for measure in ("recall", "precision")),
    }
    assert all(pairs == within | between for pairs in by_kind.values())
    assert "panels all and experts have readers in common and are not compared" in found.notes
    # In the split study experts read one block and the others another.
    split = reads.filter(modality_id="bpMRI", reader_id="R0").height < 80
    assert split == any(
        note.startswith("experts, bpMRI and others, bpMRI did not read the same cases") for note in found.notes
    )
    for level in ("patients", "lesions"):
        family = [test for test in found.tests if test.level == level]
        assert [t.adjusted for t in family] == pytest.approx(adjust([t.p for t in family], "holm").tolist())


def test_readers_swap_their_values_between_modalities_and_panels_are_relabelled(tables) -> None:
    reads, _ = tables
    found = compare_readers(reads, panels=PANELS, points=[4])
    truth, weight = of_cases(reads)

    def sensitivity(modality: str, names: list[str]) -> dict[str, float]:
        readers, ratings = arrays(reads, modality, "rating")
        rows = {name: ratings[readers.index(name)] for name in names}
        ill = truth == 1
        return {
            name: float((weight * (row >= 4))[ill].sum() / weight[ill & ~np.isnan(row)].sum())
            for name, row in rows.items()
        }

    tests = {(t.a, t.b): t for t in found.tests if t.measure == "sensitivity"}
    swapped = compare_panels(sensitivity("bpMRI", PANELS["all"]), sensitivity("mpMRI", PANELS["all"]))
    one = tests["all, bpMRI", "all, mpMRI"]
    assert (one.how, one.readers_a, one.readers_b) == ("two-way", 6, 6)
    assert (one.published, one.difference) == pytest.approx((swapped.p_value, swapped.difference))
    apart = compare_panels(sensitivity("mpMRI", PANELS["experts"]), sensitivity("mpMRI", PANELS["others"]))
    two = tests["experts, mpMRI", "others, mpMRI"]
    assert (two.how, two.readers_a, two.readers_b) == ("two-way", 3, 3)
    assert (two.published, two.difference) == pytest.approx((apart.p_value, apart.difference))


def test_areas_of_panels_hold_for_other_readers_and_cases(tables) -> None:
    reads, _ = tables
    found = compare_readers(reads, panels=PANELS, margin=0.1, preset=None)
    tests = {(t.a, t.b): t for t in found.tests}
    humans = reads.filter(pl.col("modality_id").is_in(HUMANS))
    pair = analyse(humans).pairs["bpMRI", "mpMRI"]
    one = tests["all, bpMRI", "all, mpMRI"]
    assert (one.how, one.difference, one.p, one.low, one.high) == ("mrmc", pair.difference, pair.p, pair.low, pair.high)
    assert one.verdict == pair.non_inferiority(margin=0.1)
    sides = pl.when(pl.col("reader_id").is_in(PANELS["experts"])).then(pl.lit("e")).otherwise(pl.lit("o"))
    apart = analyse(reads.filter(modality_id="mpMRI").with_columns(modality_id=sides)).pairs["e", "o"]
    assert tests["experts, mpMRI", "others, mpMRI"].p == pytest.approx(apart.p)


def test_readers_of_one_modality_only_are_left_out_and_named() -> None:
    reads, _ = study()
    some = reads.filter(
        (pl.col("modality_id") == "bpMRI") | ((pl.col("modality_id") == "mpMRI") & (pl.col("reader_id") != "R5"))
    )
    found = compare_readers(some, points=[3])
    assert (
        "R5 read in one of all, bpMRI and all, mpMRI only and have no part in their tests at operating points"
        in found.notes
    )
    by_measure = {t.measure: t for t in found.tests}
    assert (by_measure["AUC"].readers_a, by_measure["AUC"].readers_b) == (6, 5)
    assert (by_measure["sensitivity"].readers_a, by_measure["sensitivity"].readers_b) == (5, 5)
    assert by_measure["sensitivity"].how == "two-way"


def test_they_read_as_sentences_and_tables_and_go_into_json(tables) -> None:
    reads, lesions = tables
    found = ai_against_panel(reads, lesions, ai="net", panel="bpMRI", points=[3], bootstrap=20)
    text = str(found)
    assert "net − bpMRI: Difference " in text
    assert "net against bpMRI, 4 tests at operating points, adjusted by Holm's method:" in text
    assert (
        "Lesions at 3 or above: At the recall of each of 6 readers of bpMRI, the precision of 3 readers of net is"
        in text
    )
    assert "Bootstrap of readers and cases (20 replicates of 80 cases, worth" in text
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [(one["level"], one["match"]) for one in told["points"]] == [
        *(("patients", m) for m in ("sensitivity", "specificity")),
        *(("lesions", m) for m in ("recall", "precision")),
    ]
    assert told["verdict"]["margin"] == 0.05
    assert (told["study"]["pairs"][0]["a"], told["study"]["pairs"][0]["b"]) == ("net", "bpMRI")
    panels = compare_readers(reads, lesions, panels=PANELS, points=[3])
    assert str(panels).startswith("3 panels, 2 modalities, 18 configurations on 80 cases, worth ")
    assert json.loads(json.dumps(panels.to_dict(), allow_nan=False))["tests"][0]["verdict"]["margin"] == 0.05


def test_all_that_is_wrong_with_lesions_is_said_at_once() -> None:
    reads, lesions = study(2, 1, cases=20)
    wrong = lesions.with_columns(pl.col("is_lesion").cast(pl.Float64))
    rows = [
        ("R0", "bpMRI", "c000", 0.5, 3.0),
        ("R0", "bpMRI", "c000", 1.0, -1.0),
        ("R0", "bpMRI", "c000", 1.0, math.nan),
        ("R9", "bpMRI", "c000", 0.0, 3.0),
        ("R0", "bpMRI", "nobody", 0.0, 3.0),
        (None, "bpMRI", "c000", 0.0, 3.0),
    ]
    more = pl.DataFrame(rows, schema=wrong.schema, orient="row")
    with pytest.raises(ReadsError) as error:
        ai_against_panel(reads, pl.concat([more, wrong]), ai="net", panel="bpMRI", points=[3])
    assert error.value.problems == (
        "row 6: reader_id, modality_id and case_id are names",
        "row 1: is_lesion is 0 or 1",
        "row 2: a confidence is finite and from 0 on",
        "row 3: a confidence is finite and from 0 on",
        "reader R0, modality bpMRI, case nobody: has rows of lesions, but is not among the reads",
        "reader R9, modality bpMRI, case c000: has rows of lesions, but is not among the reads",
    )
    with pytest.raises(ReadsError, match="column 'confidence' is missing"):
        ai_against_panel(reads, lesions.drop("confidence"), ai="net", panel="bpMRI", points=[3])


def test_everybody_has_the_same_lesions_to_find() -> None:
    reads, lesions = study(2, 1, cases=20)
    first = lesions.with_row_index().filter(modality_id="net", case_id="c001", is_lesion=1)["index"][0]
    fewer = lesions.with_row_index().filter(pl.col("index") != first).drop("index")
    with pytest.raises(ReadsError, match=r"case c001: the number of lesions differs, 1 for reader N0 in net and 2 for"):
        ai_against_panel(reads, fewer, ai="net", panel="bpMRI", points=[3])
    only_at_3 = lesions.with_columns(point=pl.when(pl.col("modality_id") == "bpMRI").then(3.0))
    assert ai_against_panel(reads, only_at_3, ai="net", panel="bpMRI", points=[3]) == ai_against_panel(
        reads, lesions, ai="net", panel="bpMRI", points=[3]
    )
    with pytest.raises(ReadsError, match="lesions at 4: 8 problems"):
        ai_against_panel(reads, only_at_3, ai="net", panel="bpMRI", points=[4])


def test_what_cannot_be_compared_is_refused_by_name() -> None:
    reads, lesions = study(2, 2, cases=20)
    with pytest.raises(ValueError, match=r"'CT' is not a modality.*reader 'Eve' has not read in 'bpMRI'"):
        ai_against_panel(reads, ai="CT", panel="bpMRI", readers=["R0", "Eve"])
    with pytest.raises(ValueError, match="an operating point is a finite number, not nan"):
        ai_against_panel(reads, ai="net", panel="bpMRI", points=[math.nan])
    with pytest.raises(ValueError, match="R0, R1 read in both modalities, so neither is an algorithm"):
        ai_against_panel(reads, ai="mpMRI", panel="bpMRI")
    gaps = reads.filter((pl.col("reader_id") != "N1") | (pl.col("case_id") > "c006"))
    with pytest.raises(ReadsError, match=r"reader N1, modality net: no score for 7 of 20 cases .*\(c000, c001, .* …\)"):
        ai_against_panel(gaps, ai="net", panel="bpMRI", points=[3])
    unrated = reads.with_columns(rating=pl.when(pl.col("case_id") != "c003").then("rating"))
    with pytest.raises(ReadsError, match="reader R0, modality bpMRI, case c003: no rating, and other reads have one"):
        ai_against_panel(unrated, ai="net", panel="bpMRI", points=[3])
    silent = lesions.with_columns(confidence=pl.when(pl.col("reader_id") == "N1").then(0.0).otherwise("confidence"))
    with pytest.raises(ReadsError, match="instance N1 has no candidate in the cases of 2 readers"):
        ai_against_panel(reads, silent, ai="net", panel="bpMRI", points=[3])
    with pytest.raises(ValueError, match=r"reader 'Eve' of panel 'e' is not in the study; panel 'f' has no readers"):
        compare_readers(reads, panels={"e": ["Eve"], "f": []})


def test_both_tables_come_from_files_as_they_are(tmp_path) -> None:
    reads, lesions = study(3, 2, cases=30)
    reads.write_csv(tmp_path / "reads.csv")
    lesions.with_columns(point=pl.lit(None, pl.Float64)).write_csv(tmp_path / "lesions.csv")
    options: dict[str, Any] = {"ai": "net", "panel": "bpMRI", "points": [3]}
    again = ai_against_panel(read_csv(tmp_path / "reads.csv"), read_lesions(tmp_path / "lesions.csv"), **options)
    assert again == ai_against_panel(reads, lesions, **options)
    (tmp_path / "lesions.csv").write_text("reader_id,modality_id,case_id,lesion,confidence\n")
    with pytest.raises(ReadsError) as error:
        read_lesions(tmp_path / "lesions.csv")
    assert error.value.problems == ("column 'is_lesion' is missing", "column 'lesion' is not known")
    (tmp_path / "reads.csv").write_text(
        "reader_id,modality_id,case_id,truth,score,rating\nr,CT,a,0,1,many\nr,CT,b,1,1,\n"
    )
    with pytest.raises(ReadsError, match="reader r, modality CT, case a: rating 'many' is not a finite number"):
        read_csv(tmp_path / "reads.csv")
