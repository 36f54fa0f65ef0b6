"""Case weights: standard errors that are right whatever weights have to do with scores, and a check by draws."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.stats.mrmc import analyse, bootstrap_check

COLUMNS = ["reader_id", "modality_id", "case_id", "truth", "score", "weight"]


def simulated(seed: int, *, readers: int = 5, cases: int = 120, split: bool = False) -> pl.DataFrame:
    """Two modalities, other readers in each. A fifth of the cases is hard, and each of these stands for four."""
    rng = np.random.default_rng(seed)
    truth = np.arange(cases) % 5 < 2
    hard = rng.random(cases) < 0.2
    shared = 0.7 * rng.normal(size=cases)
    rows = []
    for modality in "AB":
        own = 0.4 * rng.normal(size=cases)
        for r in range(readers):
            signal = np.where(hard, 0.6, 2.0) + rng.normal(0, 0.2)
            scores = np.round(truth * signal + shared + own + 0.6 * rng.normal(size=cases), 2)
            rows += [
                (f"{modality}{r}", modality, f"c{c:03}", int(truth[c]), float(scores[c]), 4.0 if hard[c] else 1.0)
                for c in range(cases)
                if not split or c // 5 % 2 == r % 2
            ]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"method": "or"}, {"endpoint": "sensitivity", "threshold": 0.8}], ids=str)
def test_standard_errors_are_the_spread_over_studies_and_intervals_cover(options) -> None:
    """Standard errors within 15 % and coverage within 0.90 and 0.99, of 200 studies whose true difference is 0."""
    studies = [analyse(simulated(1000 + number), **options) for number in range(200)]
    pairs = [study.pairs["A", "B"] for study in studies]
    means = [study.modalities["A"] for study in studies]
    for estimates, of in (([p.difference for p in pairs], pairs), ([m.estimate for m in means], means)):
        error = math.sqrt(np.mean([one.variance for one in of]))
        assert error == pytest.approx(np.std(estimates), rel=0.15)
    assert 0.90 <= np.mean([p.low <= 0 <= p.high for p in pairs]) <= 0.99
    centre = np.mean([m.estimate for m in means])
    assert 0.90 <= np.mean([m.low <= centre <= m.high for m in means]) <= 0.99


def test_where_heavy_cases_are_the_hard_ones_the_products_of_kernels_are_not_enough() -> None:
    """Of a proportion, by hand: Σw²(x − p)² over all pairs of two cases, and not Σw²x² − p²Σw²."""
    reads = simulated(7)
    found = analyse(reads, endpoint="sensitivity", threshold=0.8).modalities["A"].readers["A0"]
    ill = reads.filter(modality_id="A", reader_id="A0", truth=1)
    w, x = ill["weight"].to_numpy(), (ill["score"].to_numpy() >= 0.8).astype(float)
    p = np.average(x, weights=w)
    pairs = w.sum() ** 2 - (w**2).sum()
    assert found.variance == pytest.approx((w**2 * (x - p) ** 2).sum() / pairs)
    assert found.variance > 2 * ((w**2 * x**2).sum() - p**2 * (w**2).sum()) / pairs


@settings(max_examples=20, deadline=None)
@given(st.floats(0.1, 10), st.floats(0.1, 10), st.sampled_from(["ustat", "or"]))
def test_what_all_cases_of_a_class_weigh_is_of_no_consequence(normal, diseased, method) -> None:
    reads = simulated(3, cases=30, split=True).drop("weight")
    scaled = reads.with_columns(weight=pl.when(pl.col("truth") == 1).then(diseased).otherwise(normal))
    one, two = (analyse(rows, method=method).pairs["A", "B"] for rows in (reads, scaled))
    assert (one.difference, one.variance, one.df) == pytest.approx((two.difference, two.variance, two.df), rel=1e-9)


def test_weights_are_told_with_what_the_cases_are_worth() -> None:
    reads = simulated(3, cases=30)
    (note,) = analyse(reads).notes
    worth = [
        w.sum() ** 2 / (w**2).sum()
        for truth in (0, 1)
        for w in (reads.filter(truth=truth).unique("case_id")["weight"].to_numpy(),)
    ]
    assert note == (
        f"cases are weighted: 18 normal ones are worth {worth[0]:.1f}, 12 diseased ones are worth {worth[1]:.1f} of "
        "equal weight"
    )
    assert analyse(reads.drop("weight")).notes == ()


@pytest.mark.parametrize(("name", "most"), [("sim_missing", 1.25), ("sim_splitplot", 1.0), ("vandyke", 1.0)])
def test_weights_that_are_almost_equal_are_another_estimate_where_reads_are_missing_and_it_says_so(
    study, name, most
) -> None:
    reads = study(name)
    weights = {case: 1 + 1e-9 * (n % 7) for n, case in enumerate(reads["case_id"].unique().sort())}
    weighted = reads.with_columns(weight=pl.col("case_id").replace_strict(weights))
    one, two = analyse(reads), analyse(weighted)
    ratios = [math.sqrt(pair.variance / one.pairs[names].variance) for names, pair in two.pairs.items()]
    assert max(ratios) == pytest.approx(most, abs=0.006)
    told = any("another estimate than the one of reads without weights" in note for note in two.notes)
    assert told == (name != "vandyke")
    assert not any("ratio" in note for note in one.notes)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("readers", ["random", "fixed"])
def test_draws_find_the_standard_errors_of_the_v_statistics(weighted, readers) -> None:
    reads = simulated(5, cases=200) if weighted else simulated(5, cases=200).drop("weight")
    check = bootstrap_check(reads, readers=readers, replicates=3000, seed=1)
    assert [(row.a, row.b) for row in check.rows] == [("A", None), ("B", None), ("A", "B")]
    for row in check.rows:
        assert row.bootstrap_error == pytest.approx(row.mle_error, rel=0.08)
        assert row.low < row.estimate < row.high
    assert check.effective_cases < check.cases if weighted else check.effective_cases == check.cases == 200


def test_the_same_readers_are_drawn_together_in_all_their_modalities() -> None:
    """So that two modalities with the same scores differ in no draw."""
    reads = simulated(2, cases=40).filter(modality_id="A")
    twice = pl.concat([reads, reads.with_columns(modality_id=pl.lit("B"))])
    row = bootstrap_check(twice, replicates=50).rows[-1]
    assert (row.estimate, row.bootstrap_error, row.low, row.high) == pytest.approx((0, 0, 0, 0), abs=1e-12)
    apart = twice.with_columns(reader_id=pl.col("modality_id") + pl.col("reader_id"))
    assert bootstrap_check(apart, replicates=50).rows[-1].bootstrap_error > 0.005


def test_an_area_in_a_draw_is_that_of_the_copied_cases() -> None:
    reads = simulated(4, readers=1, cases=25)
    check = bootstrap_check(reads, replicates=2, seed=9)
    rng = np.random.default_rng(np.random.SeedSequence(9, spawn_key=(0,)))
    draws = rng.multinomial(25, np.full(25, 1 / 25), size=2)
    areas = []
    for counts in draws:
        copies = pl.concat(
            [
                reads.filter(case_id=f"c{c:03}").with_columns(case_id=pl.lit(f"c{c:03}-{n}"))
                for c in range(25)
                for n in range(counts[c])
            ]
        )
        areas.append(analyse(copies).modalities["A"].auc)
    row = check.rows[0]
    assert row.bootstrap_error == pytest.approx(np.std(areas, ddof=1))
    assert (row.low, row.high) == pytest.approx(np.percentile(areas, [2.5, 97.5]))


def test_draws_without_a_class_are_made_again_and_counted() -> None:
    truth = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    rows = [(f"r{r}", "A", f"c{c}", t, float((c * (r + 3)) % 7)) for r in range(2) for c, t in enumerate(truth)]
    reads = pl.DataFrame(rows, schema=COLUMNS[:5], orient="row")
    calls: list[tuple[int, int]] = []
    check = bootstrap_check(reads, replicates=400, progress=lambda done, of: calls.append((done, of)))
    # Without one of two cases of ten: (8/10)^10.
    assert check.redrawn / (400 + check.redrawn) == pytest.approx(0.8**10, abs=0.05)
    assert calls == [(256, 400), (400, 400)]
    assert bootstrap_check(reads, replicates=400) == check
    assert bootstrap_check(reads, replicates=400, seed=1) != check


def test_the_check_reads_as_sentences_and_goes_into_json() -> None:
    check = bootstrap_check(simulated(1, cases=40), fixed=["B"], replicates=20)
    lines = str(check).splitlines()
    assert lines[0].startswith("Bootstrap of readers and cases (20 replicates of 40 cases, worth ")
    assert lines[3].startswith("A − B: standard error 0.")
    assert check.fixed == ("B",)
    told = json.loads(json.dumps(check.to_dict(), allow_nan=False))
    assert (told["rows"][2]["a"], told["rows"][2]["b"], told["seed"]) == ("A", "B", 0)
    with pytest.raises(ValueError, match="at least 2 replicates, not 1"):
        bootstrap_check(simulated(1, cases=40), replicates=1)
    with pytest.raises(ValueError, match="'C' is not in the study"):
        bootstrap_check(simulated(1, cases=40), fixed=["C"])


def test_two_readers_alike_in_a_sample_are_named() -> None:
    reads = simulated(1, readers=3, cases=20)
    again = reads.filter(reader_id="A1").with_columns(reader_id=pl.lit("A9"))
    (note,) = (n for n in analyse(pl.concat([reads, again])).notes if "same score" in n)
    assert note == (
        "readers A1 and A9 gave the same score to every case in modality A: if they are one reader, variances are too "
        "small"
    )
