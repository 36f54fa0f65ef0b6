"""Designs at the edge: one reader, one algorithm, nothing that varies, and options that do not go together."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from isocenter.stats.mrmc import analyse


def simulated(seed: int, readers: int = 3, cases: int = 12) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    truth = np.arange(cases) % 2
    rows = [
        (f"r{r}", modality, f"c{c:03}", int(truth[c]), float(score))
        for modality in "AB"
        for r in range(readers)
        for c, score in enumerate(np.round(2 * chance.normal(size=cases) + 2 * truth))
    ]
    return pl.DataFrame(rows, schema=["reader_id", "modality_id", "case_id", "truth", "score"], orient="row")


@pytest.fixture(scope="module")
def negative() -> pl.DataFrame:
    """A study whose unbiased variance of the difference is negative."""
    return next(r for r in map(simulated, range(100)) if analyse(r).pairs["A", "B"].variances["unbiased"] < -1e-4)


def test_names_of_modalities_are_matched_whole(study) -> None:
    names = {"T1": "MRI", "T2": "bpMRI"}
    reads = study("vandyke")
    renamed = analyse(reads.with_columns(pl.col("modality_id").replace(names)))
    assert renamed.modalities["MRI"].auc == pytest.approx(0.897037037, abs=1e-9)
    assert renamed.pairs["MRI", "bpMRI"].variance == analyse(reads).pairs["T1", "T2"].variance


def test_a_reader_and_a_modality_may_have_one_name(make) -> None:
    scores = {("r", "r"): [1, 2, 2, 3], ("s", "r"): [1, 3, 2, 4], ("r", "s"): [1, 2, 4, 3], ("s", "s"): [2, 1, 1, 3]}
    found = analyse(make(scores, "0011"))
    assert found.modalities["r"].readers["s"].auc == pytest.approx(3 / 4)


def test_equal_weights_average_readers_and_pairs_weigh_them_by_the_cases_they_read(make) -> None:
    reads = make({("r", "CT"): [1, 2, 3, 4, 5, 6], ("s", "CT"): [4, 3, None, None, 2, 1]}, "000111"[:2] + "01" + "11")
    equal, pairs = (analyse(reads, reader_weight=w).modalities["CT"] for w in ("equal", "pairs"))
    assert {name: reader.auc for name, reader in equal.readers.items()} == {"r": 1.0, "s": 0.0}
    assert equal.auc == pytest.approx(1 / 2)
    assert pairs.auc == pytest.approx(9 / (9 + 4))
    assert (equal.readers["s"].normal, equal.readers["s"].diseased) == (2, 2)


def test_a_negative_variance_is_replaced_and_named(negative) -> None:
    analysis = analyse(negative)
    pair = analysis.pairs["A", "B"]
    assert pair.variances["unbiased"] < 0
    assert pair.variance == pair.variances["mle"] > 0
    assert pair.status == "unbiased not positive, mle used"
    assert "[variance: unbiased not positive, mle used]" in str(analysis)


def test_a_negative_covariance_of_the_anova_is_clipped_and_named(negative) -> None:
    pair = analyse(negative, method="or").pairs["A", "B"]
    components = pair.tables["or"]["components"]
    assert components["cov2"] < components["cov3"]
    assert pair.status == "clipped"
    assert pair.variance == pytest.approx(2 / 3 * components["MS(TR)"])
    assert pair.df == pytest.approx(2)


def test_two_modalities_with_the_same_reads_do_not_differ(make) -> None:
    scores = [1, 3, 2, 2, 4, 3, 1, 5]
    reads = make({(r, m): [s + (r == "s") * (s % 2) for s in scores] for r in "rs" for m in "AB"}, "00001111")
    pair = analyse(reads).pairs["A", "B"]
    assert (pair.difference, pair.p, pair.variances["unbiased"]) == pytest.approx((0, 1, 0), abs=1e-15)
    assert pair.status == "unbiased not positive, readers used, with the df of their spread"
    assert pair.low < 0 < pair.high
    # Each half of V has the spread of two readers, MS/2, on one degree of freedom: df = V² / (2 (MS/2)²).
    spread = np.var([one.auc for one in analyse(reads).modalities["A"].readers.values()], ddof=1) / 2
    assert pair.df == pytest.approx(pair.variance**2 / (2 * spread**2))
    anova = analyse(reads, method="or").pairs["A", "B"]
    assert anova.status == "or not positive, independent used, with the df of their spread"
    assert (anova.variance, anova.df) == pytest.approx((pair.variance, pair.df))


def test_a_variance_from_the_spread_of_three_readers_has_two_degrees_of_freedom(make) -> None:
    reads = make(
        {
            ("r", "A"): [None, 0, 1, None, 2, 1],
            ("s", "A"): [0, None, 2, 2, None, 1],
            ("t", "A"): [None, 1, 0, 2, None, 1],
        },
        "000111",
    )
    analysis = analyse(reads)
    found = analysis.modalities["A"]
    assert found.variances["unbiased"] < found.variances["mle"] < 0
    assert [one.auc for one in found.readers.values()] == [0.875, 0.625, 0.875]
    assert (found.variance, found.df) == pytest.approx((0.25**2 / 9, 2))
    assert "[variance: unbiased not positive, readers used, with the df of their spread]" in str(analysis)


@pytest.mark.parametrize("method", ["ustat", "or"])
def test_readers_without_any_error_leave_the_whole_range(make, method) -> None:
    reads = make({(r, m): [1, 2, 3, 4] if m == "A" else [1, 1, 1, 1] for r in "rs" for m in "AB"}, "0011")
    analysis = analyse(reads, method=method)
    perfect, pair = analysis.modalities["A"], analysis.pairs["A", "B"]
    assert (perfect.auc, perfect.variance, perfect.low, perfect.high, perfect.status) == (1.0, 0.0, 0.0, 1.0, "zero")
    assert (pair.difference, pair.low, pair.high, pair.p, pair.status) == (0.5, -1.0, 1.0, 1.0, "zero")


def test_a_reader_with_one_score_for_all_is_named(make) -> None:
    reads = make({("r", "CT"): [1, 2, 2, 3], ("s", "CT"): [7, 7, 7, 7]}, "0011")
    analysis = analyse(reads)
    assert analysis.modalities["CT"].readers["s"].auc == 0.5
    assert "reader s gave the score 7 to every case in modality CT" in analysis.notes


def test_a_single_reader_is_fixed_and_the_result_says_so(make) -> None:
    reads = make({("r", "A"): [1, 3, 2, 2, 4, 3], ("r", "B"): [1, 2, 3, 1, 3, 4]}, "000111")
    for method in ("ustat", "or"):
        analysis = analyse(reads, method=method)
        assert analysis.modalities["A"].variance == pytest.approx(analysis.modalities["A"].readers["r"].variance)
        assert analysis.notes[0].startswith("modality A has one reader, taken as fixed")
    u, anova = (analyse(reads, method=method).pairs["A", "B"].variance for method in ("ustat", "or"))
    assert u == pytest.approx(anova)


def test_a_single_reader_of_fixed_cases_has_no_variance(make) -> None:
    reads = make({("r", "A"): [1, 3, 2, 2, 4, 3], ("r", "B"): [1, 2, 3, 1, 3, 4]}, "000111")
    pair = analyse(reads, method="or", cases="fixed").pairs["A", "B"]
    assert (pair.variance, pair.low, pair.high, pair.p, pair.status) == (0.0, -1.0, 1.0, 1.0, "zero")


def test_several_instances_of_an_algorithm_may_be_fixed_or_a_sample(study) -> None:
    reads = study("sim_ai_instances_vs_readers")
    sample, fixed = analyse(reads), analyse(reads, fixed=["AI"])
    assert fixed.pairs["AI", "READERS"].variance < sample.pairs["AI", "READERS"].variance
    assert fixed.modalities["AI"].variance < sample.modalities["AI"].variance
    assert fixed.modalities["READERS"].variance == sample.modalities["READERS"].variance
    anova = analyse(reads, method="or", fixed=["AI"])
    assert anova.pairs["AI", "READERS"].variance == pytest.approx(fixed.pairs["AI", "READERS"].variance, rel=1e-11)


def test_an_algorithm_against_a_split_plot_panel_is_analysed_by_both_methods(study) -> None:
    reads = study("sim_ai_vs_splitplot_readers")
    first = reads.filter(modality_id="AI")["reader_id"].min()
    once = reads.filter((pl.col("modality_id") != "AI") | (pl.col("reader_id") == first))
    u, anova = (analyse(once, method=method).pairs["AI", "READERS"] for method in ("ustat", "or"))
    assert u.df > 20
    assert math.sqrt(anova.variance) == pytest.approx(math.sqrt(u.variance), rel=0.15)


def test_case_weights_of_two_are_not_two_cases_but_move_the_auc_as_much(make) -> None:
    reads = make({("r", "CT"): [1, 2, 2, 3], ("s", "CT"): [1, 4, 3, 2]}, "0011")
    weighted = analyse(reads.with_columns(weight=pl.when(case_id="c01").then(2.0).otherwise(1.0)))
    again = pl.concat([reads, reads.filter(case_id="c01").with_columns(case_id=pl.lit("c99"))])
    assert weighted.modalities["CT"].auc == pytest.approx(analyse(again).modalities["CT"].auc)
    assert weighted.modalities["CT"].variances["unbiased"] != analyse(again).modalities["CT"].variances["unbiased"]


def test_pairs_of_three_modalities_are_adjusted_by_holm(study) -> None:
    analysis = analyse(study("sim_ordinal_3mod"))
    p = sorted(pair.p for pair in analysis.pairs.values())
    assert sorted(pair.adjusted for pair in analysis.pairs.values()) == pytest.approx(
        [3 * p[0], max(3 * p[0], 2 * p[1]), max(3 * p[0], 2 * p[1], p[2])]
    )


def test_a_decision_that_hangs_on_the_variance_is_noted(study) -> None:
    analysis = analyse(study("sim_ordinal_3mod"), level=0.9999)
    assert not analysis.notes
    pair = analysis.pairs["M1", "M3"]
    t = [abs(pair.difference) / math.sqrt(pair.variances[kind]) for kind in ("unbiased", "mle")]
    between = 2 * (1 - _student(sum(t) / 2, pair.df))
    noted = analyse(study("sim_ordinal_3mod"), level=1 - between).notes
    assert any(note.startswith("M1 and M3 differ at the level of") for note in noted)


def _student(t: float, df: float) -> float:
    from scipy.stats import t as student

    return float(student.cdf(t, df))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"method": "anova"}, "method"),
        ({"endpoint": "sensitivity"}, "sensitivity needs a finite threshold, not None"),
        ({"threshold": 3.0}, "an AUC has no threshold"),
        ({"level": 95}, "a confidence level lies between 0 and 1, not at 95"),
        ({"cases": "fixed"}, "cases='fixed' is not for method='ustat'"),
        ({"covariance": "delong", "pooled": True}, "covariance='delong' is not for method='ustat'; pooled=True is not"),
        ({"method": "or", "variance": "mle"}, "variance='mle' is not for method='or'"),
        ({"method": "or", "compat": "imrmc-4.0.3"}, "compat='imrmc-4.0.3' is not for method='or'"),
        ({"method": "or", "readers": "fixed", "cases": "fixed"}, "readers and cases cannot both be fixed"),
        (
            {"method": "or", "endpoint": "sensitivity", "threshold": 1, "covariance": "delong"},
            "are 'unbiased', not 'delong'",
        ),
        ({"fixed": ["CT"]}, r"fixed modality 'CT' is not in the study, which has \['T1', 'T2'\]"),
        ({"fixed": ["T1"]}, "readers of 'T1' are fixed, but some of them are random readers of 'T2'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(study, options, problem) -> None:
    with pytest.raises(ValueError, match=problem):
        analyse(study("vandyke"), **options)


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("sim_missing", {"df": "hillis"}, "df='hillis' needs a fully crossed design"),
        ("sim_unpaired_readers", {"method": "or", "blocks": True}, "blocks=True needs the same readers"),
        (
            "sim_unpaired_readers",
            {"method": "or", "pooled": True, "readers": "fixed"},
            "no error term for fixed readers",
        ),
        (
            "sim_missing",
            {"method": "or", "covariance": "delong"},
            "166 reads are missing .reader R01, modality M1, case c0006",
        ),
    ],
)
def test_options_that_do_not_fit_the_design_are_refused(study, name, options, problem) -> None:
    with pytest.raises(ValueError, match=problem):
        analyse(study(name), **options)


def test_a_name_is_not_a_collection_of_names(study) -> None:
    with pytest.raises(TypeError, match=r"write \['AI'\]"):
        analyse(study("nico_cad_vs_rad"), fixed="AI")


def test_readers_who_read_in_some_modalities_only_need_u_statistics(study) -> None:
    reads = study("vandyke").filter((pl.col("modality_id") == "T1") | (pl.col("reader_id") != "R01"))
    assert analyse(reads).pairs["T1", "T2"].variance > 0
    with pytest.raises(ValueError, match="R02, R03, R04, R05 read in both and others in one: take method='ustat'"):
        analyse(reads, method="or")
    with pytest.raises(
        ValueError, match="pooled=True needs random readers, the same in all modalities or others in each"
    ):
        analyse(reads, method="or", pooled=True)


@pytest.mark.parametrize("covariance", ["delong", "jackknife"])
def test_covariances_that_know_no_weights_refuse_them(study, covariance) -> None:
    weighted = study("vandyke").with_columns(weight=1.0 + pl.col("truth"))
    with pytest.raises(ValueError, match=f"covariances of '{covariance}' know no case weights: take 'unbiased'"):
        analyse(weighted, method="or", covariance=covariance)


def test_many_cases_take_memory_in_proportion() -> None:
    import tracemalloc

    def peak(cases: int) -> int:
        reads = simulated(0, cases=cases)
        tracemalloc.start()
        analyse(reads)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(20)
    # A matrix of normal by diseased cases would grow sixteenfold.
    assert peak(8000) < 6 * peak(2000)
