"""The analysis of variance against MRMCaov, RJafroc, OR-DBM MRMC and Google-Health."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest

from isocenter.stats.mrmc import analyse

CROSSED = (
    "kundel_partial",
    "sim_missing",
    "sim_ordinal_3mod",
    "sim_perfect_reader",
    "sim_splitplot",
    "vandyke",
    "viper_screening_highp",
)
BALANCED = ("sim_ordinal_3mod", "sim_perfect_reader", "vandyke")
NESTED = ("sim_ai_instances_vs_readers", "sim_unpaired_readers")
MODELS = {
    "RRRC": {},
    "FRRC": {"readers": "fixed"},
    "RRFC": {"cases": "fixed"},
}
AOV = 1e-10


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("name", "covariance"),
    [
        (name, kind)
        for name in CROSSED
        for kind in ("jackknife", "unbiased", "DeLong")
        if kind != "DeLong" or name in BALANCED
    ],
)
def test_as_mrmcaov_where_readers_read_in_all_modalities(study, expected, name, covariance, model) -> None:
    theirs = expected(name)["mrmcaov"]["results"][f"{covariance}_{model}"]
    ours = analyse(study(name), method="or", covariance=covariance.lower(), pooled=True, **MODELS[model])

    test = theirs["test_equality"][0]
    assert ours.overall.statistic == pytest.approx(test["X2" if model == "FRRC" else "F"], rel=AOV)
    assert ours.overall.df == test["df" if model == "FRRC" else "df1"]
    assert ours.overall.error_df == pytest.approx(test.get("df2", math.inf), rel=AOV)
    assert ours.overall.p == pytest.approx(test["p-value"], rel=AOV)

    for row in theirs["test_diffs"]:
        pair = ours.pairs[tuple(row["Comparison"].split(" - "))]
        assert pair.difference == pytest.approx(row["Estimate"], rel=AOV)
        assert math.sqrt(pair.variance) == pytest.approx(row["StdErr"], rel=AOV)
        assert pair.df == pytest.approx(row.get("df", math.inf), rel=AOV)
        assert (pair.low, pair.high, pair.p) == pytest.approx(
            (row["CI.Lower"], row["CI.Upper"], row["p-value"]), rel=1e-9
        )

    for modality, row in zip(ours.modalities.values(), theirs["test_means"], strict=True):
        assert modality.auc == pytest.approx(row["Estimate"], rel=AOV)
        assert math.sqrt(modality.variance) == pytest.approx(row["StdErr"], rel=AOV)
        assert modality.df == pytest.approx(row.get("df", math.inf), rel=AOV)

    if theirs["vcov_comps"] is not None:
        components = next(iter(ours.pairs.values())).tables["or"]["components"]
        words = {
            "reader": "R",
            "modality:reader": "TR",
            "Error": "error",
            "Cov1": "cov1",
            "Cov2": "cov2",
            "Cov3": "cov3",
        }
        for theirs_name, our_name in words.items():
            assert components[our_name] == pytest.approx(theirs["vcov_comps"][theirs_name], rel=AOV), theirs_name


@pytest.mark.parametrize("name", NESTED)
def test_as_mrmcaov_where_readers_differ_and_cases_are_fixed(study, expected, name) -> None:
    theirs = expected(name)["mrmcaov"]["results"]["unbiased_RRFC"]
    ours = analyse(study(name), method="or", cases="fixed")
    test, row = theirs["test_equality"][0], theirs["test_diffs"][0]
    assert ours.overall.statistic == pytest.approx(test["F"], rel=AOV)
    assert (ours.overall.df, ours.overall.error_df) == (test["df1"], pytest.approx(test["df2"], rel=AOV))
    pair = next(iter(ours.pairs.values()))
    assert math.sqrt(pair.variance) == pytest.approx(row["StdErr"], rel=AOV)
    assert pair.p == pytest.approx(row["p-value"], rel=1e-9)


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("covariance", ["jackknife", "unbiased"])
def test_covariances_of_mrmcaov_with_the_multiplier_put_right_where_readers_differ(
    study, expected, name, covariance
) -> None:
    theirs = expected(name)["mrmcaov"]["results"][f"{covariance}_RRRC"]
    ours = analyse(study(name), method="or", covariance=covariance)
    pair = next(iter(ours.pairs.values()))
    components = pair.tables["or"]["components"]
    for ours_name, name_there in {"error": "Error", "cov2": "Cov2", "cov3": "Cov3"}.items():
        assert components[ours_name] == pytest.approx(theirs["vcov_comps"][name_there], rel=AOV)
    a, b = (len(modality.readers) for modality in ours.modalities.values())
    n0 = ((a + b) ** 2 - a**2 - b**2) / (a + b)
    denominator = components["MS(R(T))"] + n0 * (components["cov2"] - components["cov3"])
    assert pair.variance == pytest.approx((1 / a + 1 / b) * denominator, rel=1e-12)
    assert ours.overall.statistic == pytest.approx(components["MS(T)"] / denominator, rel=1e-12)


def test_with_equal_panels_of_other_readers_the_variance_is_that_of_the_u_statistic(study) -> None:
    reads = study("sim_unpaired_readers")
    six = reads.filter(pl.col("modality_id") == "M2")["reader_id"].unique().sort()[:6]
    reads = reads.filter((pl.col("modality_id") == "M1") | pl.col("reader_id").is_in(six.implode()))
    anova, ustat = analyse(reads, method="or"), analyse(reads)
    assert anova.pairs["M1", "M2"].variance == pytest.approx(ustat.pairs["M1", "M2"].variance, rel=1e-11)


@pytest.mark.parametrize("name", BALANCED)
def test_pair_by_pair_a_fully_crossed_study_has_the_variance_of_the_u_statistic(study, name) -> None:
    anova, ustat = analyse(study(name), method="or"), analyse(study(name))
    for names, pair in anova.pairs.items():
        assert pair.status == "ok"
        assert pair.variance == pytest.approx(ustat.pairs[names].variance, rel=1e-11)


@pytest.mark.parametrize("model", MODELS)
def test_as_rjafroc_on_van_dyke(study, expected, model) -> None:
    theirs = expected("vandyke")["rjafroc"]["results"][f"jackknife_{model}"]["ciDiffTrt"][0]
    pair = analyse(study("vandyke"), method="or", covariance="jackknife", **MODELS[model]).pairs["T1", "T2"]
    assert math.sqrt(pair.variance) == pytest.approx(theirs["StdErr"], rel=AOV)
    assert pair.df == pytest.approx(theirs.get("DF", math.inf), rel=AOV)
    assert (pair.low, pair.high) == pytest.approx((theirs["CILower"], theirs["CIUpper"]), rel=1e-9)


def test_as_or_dbm_mrmc_on_van_dyke(study, golden) -> None:
    published = json.loads((golden / "vandyke" / "published.json").read_text())
    analyses = {m: analyse(study("vandyke"), method="or", covariance="jackknife", **MODELS[m]) for m in MODELS}
    for model, analysis in analyses.items():
        pair, theirs = analysis.pairs["T1", "T2"], published[model]
        assert math.sqrt(pair.variance) == pytest.approx(theirs["se"], abs=5e-6)
        assert [pair.low, pair.high] == pytest.approx(theirs["ci"], abs=5e-6)
        assert pair.p == pytest.approx(theirs["p"], abs=5e-5)
    components = analyses["RRRC"].pairs["T1", "T2"].tables["or"]["components"]
    assert [components[name] for name in ("MS(T)", "MS(R)", "MS(TR)")] == pytest.approx(
        [published["ms"][name] for name in ("T", "R", "TR")], abs=5e-8
    )
    single = published["RRRC"]["single"][0]
    assert analyses["RRRC"].modalities["T1"].df == pytest.approx(single["df"], abs=5e-3)
    for modality, aucs in published["auc"].items():
        ours = [reader.auc for reader in analyses["RRRC"].modalities[modality].readers.values()]
        assert ours == pytest.approx(aucs, abs=5e-9)


@pytest.fixture(scope="module")
def one_cad(study) -> pl.DataFrame:
    """Nico with the CAD entered once."""
    reads = study("nico_cad_vs_rad")
    first = reads.filter(pl.col("modality_id") == "AI")["reader_id"].min()
    return reads.filter((pl.col("modality_id") == "READERS") | (pl.col("reader_id") == first))


def test_one_algorithm_against_a_panel_is_as_in_rjafroc_and_google_health(one_cad, expected) -> None:
    rjafroc = expected("nico_cad_vs_rad")["rjafroc"]["results"]
    pair = analyse(one_cad, method="or", covariance="jackknife").pairs["READERS", "AI"]
    theirs = rjafroc["RRRC_1T"]
    assert pair.difference == pytest.approx(theirs["avgDiffFom"], rel=AOV)
    assert [pair.low, pair.high] == pytest.approx(theirs["CIAvgDiffFom"], rel=1e-9)
    assert (pair.df, pair.p) == pytest.approx((theirs["df"], theirs["pval"]), rel=AOV)
    google = expected("nico_cad_vs_rad")["google_health"]["results"]["model_vs_readers_orh_margin0"]
    assert [-pair.high, -pair.low] == pytest.approx(google["ci"], rel=1e-6)

    fixed = analyse(one_cad, method="or", cases="fixed").pairs["READERS", "AI"]
    assert [fixed.low, fixed.high] == pytest.approx(rjafroc["RRFC_1T"]["CIAvgDiffFom"], rel=1e-9)
    assert (fixed.df, fixed.p) == pytest.approx((rjafroc["RRFC_1T"]["df"], rjafroc["RRFC_1T"]["pval"]), rel=AOV)


@pytest.mark.parametrize("options", [{}, {"method": "or"}, {"method": "or", "cases": "fixed"}], ids=str)
def test_one_algorithm_entered_once_is_as_one_entered_twice(one_cad, study, options) -> None:
    once, again = analyse(one_cad, **options), analyse(study("nico_cad_vs_rad"), **options)
    pair, twice = once.pairs["AI", "READERS"], again.pairs["AI", "READERS"]
    assert (pair.variance, pair.df, pair.p) == pytest.approx((twice.variance, twice.df, twice.p), rel=1e-12)
    assert pair.variances == pytest.approx(twice.variances, rel=1e-12, abs=1e-15)
    assert once.modalities["AI"].variance == pytest.approx(again.modalities["AI"].variance, rel=1e-12)
    (note,) = again.notes
    assert note.startswith("all 2 readers of modality AI gave the same scores to the same cases and count as one")


def test_a_split_plot_by_the_block_analysis(study) -> None:
    pair = analyse(study("sim_splitplot"), method="or", blocks=True).pairs["M1", "M2"]
    assert math.sqrt(pair.variance) == pytest.approx(0.0279, abs=5e-5)
    components = pair.tables["or"]["components"]
    denominator = components["MS(TR)"] + 24 / 4 * (components["cov2"] - components["cov3"])
    assert pair.variance == pytest.approx(2 / 24 * denominator, rel=1e-12)
    assert pair.df == pytest.approx(denominator**2 / (components["MS(TR)"] ** 2 / (24 - 4)), rel=1e-12)


def test_the_block_analysis_of_one_block_is_the_ordinary_one(study) -> None:
    blocks, ordinary = (analyse(study("vandyke"), method="or", blocks=b).pairs["T1", "T2"] for b in (True, False))
    assert (blocks.variance, blocks.df) == (ordinary.variance, ordinary.df)
