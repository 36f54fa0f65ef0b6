"""The U-statistics against iMRMC, in Java and in R, on every golden study."""

from __future__ import annotations

import math

import pytest

from isocenter.stats.mrmc import Modality, Pair, analyse

STUDIES = (
    "kundel_partial",
    "nico_cad_vs_rad",
    "sim_ai_instances_vs_readers",
    "sim_ai_vs_splitplot_readers",
    "sim_missing",
    "sim_ordinal_3mod",
    "sim_perfect_reader",
    "sim_splitplot",
    "sim_unpaired_readers",
    "vandyke",
    "viper_screening_highp",
)
# Where readers or cases differ between modalities the degrees of freedom of R are wrong, those of Java right.
PAIRED = (
    "sim_missing",
    "sim_ordinal_3mod",
    "sim_perfect_reader",
    "sim_splitplot",
    "vandyke",
    "viper_screening_highp",
)
FULLY_CROSSED = ("sim_ordinal_3mod", "sim_perfect_reader", "vandyke")
JAVA = 1e-8
R = 1e-11
# Tables are printed with six digits, and small components are differences of moments around 1.
TABLES = {"rel": 1e-5, "abs": 1e-9}


def found(analysis, row: dict) -> tuple[Modality | Pair, float, str]:
    """What belongs to a row, its estimate, and what the row calls the variance."""
    if row["modalityB"] == "NO_MOD":
        modality = analysis.modalities[row["modalityA"]]
        return modality, modality.auc, "A"
    pair = analysis.pairs[row["modalityA"], row["modalityB"]]
    return pair, pair.difference, "AminusAUCB"


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize(("variance", "block"), [("unbiased", "Ustat"), ("mle", "MLE")])
def test_as_imrmc_in_java_to_its_last_digit(study, expected, name, variance, block) -> None:
    analysis = analyse(study(name), variance=variance, compat="imrmc-4.0.3")
    rows = expected(name)["imrmc_java"][block]
    assert len(rows) == len(analysis.modalities) + len(analysis.pairs)
    for row in rows:
        one, estimate, suffix = found(analysis, row)
        assert estimate == pytest.approx(row[f"AUC{suffix}"], rel=JAVA)
        assert one.variance == pytest.approx(row[f"varAUC{suffix}"], rel=JAVA)
        assert one.variances[variance] == one.variance
        assert one.df == (pytest.approx(math.floor(row["dfBDG"])) if row["dfBDG"] < 50 else math.inf)
        low, high = row["botCIBDG"], row["topCIBDG"]
        if isinstance(one, Modality):
            low, high = max(low, 0), min(high, 1)
        else:
            assert one.p == pytest.approx(row["pValueBDG"], rel=1e-7, abs=1e-15)
        assert (one.low, one.high) == pytest.approx((low, high), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize(("variance", "block"), [("unbiased", "Ustat"), ("mle", "MLE")])
def test_degrees_of_freedom_of_java_are_fractional_without_compatibility(
    study, expected, name, variance, block
) -> None:
    analysis = analyse(study(name), variance=variance, reader_weight="pairs")
    for row in expected(name)["imrmc_java"][block]:
        assert found(analysis, row)[0].df == pytest.approx(row["dfBDG"], rel=JAVA)


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize(("variance", "block"), [("unbiased", "Ustat"), ("mle", "MLEstat")])
def test_as_imrmc_in_r_to_eleven_digits(study, expected, name, variance, block) -> None:
    analysis = analyse(study(name), variance=variance, reader_weight="pairs")
    for row in expected(name)["imrmc_r"][block]:
        one, estimate, suffix = found(analysis, row)
        assert estimate == pytest.approx(row[f"AUC{suffix}"], rel=R)
        assert one.variance == pytest.approx(row[f"varAUC{suffix}"], rel=R)
        if name in PAIRED or row["modalityB"] == "NO_MOD":
            assert one.df == pytest.approx(row["dfBDG"], rel=1e-10)


@pytest.mark.parametrize("name", STUDIES)
def test_moments_and_coefficients_are_those_of_r(study, expected, name) -> None:
    analysis = analyse(study(name), reader_weight="pairs")
    for row in expected(name)["imrmc_r"]["full"]:
        a, b = row["modalityID.1"], row["modalityID.2"]
        tables = (analysis.modalities[a] if a == b else analysis.pairs[a, b]).tables["bdg"]
        for moment, value in tables["unbiased"].items():
            assert value == pytest.approx(row[moment], rel=R), moment


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("kind", ["unbiased", "mle"])
@pytest.mark.parametrize("table", ["bdg", "bck"])
def test_moments_and_components_are_those_of_java(study, expected, name, kind, table) -> None:
    column, label = "compOrCoeff" if table == "bdg" else "Moments", {"unbiased": "Ustat", "mle": "MLE"}[kind]
    analysis = analyse(study(name), reader_weight="pairs")
    compared = 0
    for row in expected(name)["imrmc_java"][table.upper()]:
        if row["UstatOrMLE"] != label or row[column] not in ("comp_A", "coeff_A", "comp_product"):
            continue
        if row[column] == "comp_product":
            tables = analysis.pairs[row["modalityA"], row["modalityB"]].tables[table]
        else:
            tables = analysis.modalities[row["modalityA"]].tables[table]
        for entry, value in tables["coefficients" if row[column] == "coeff_A" else kind].items():
            assert value == pytest.approx(row[entry], **TABLES), (row[column], entry)
            compared += 1
    assert compared >= 7 * 3


@pytest.mark.parametrize("name", FULLY_CROSSED)
@pytest.mark.parametrize(("kind", "label"), [("unbiased", "Ustat"), ("mle", "MLE")])
def test_dbm_and_or_components_are_those_of_java(study, expected, name, kind, label) -> None:
    analysis = analyse(study(name))
    words = {"error": "ERROR", "cov1": "COV1", "cov2": "COV2", "cov3": "COV3"}
    for table in ("dbm", "or"):
        rows = [r for r in expected(name)["imrmc_java"][table.upper()] if r["Components"] == "components"]
        rows = [row for row in rows if row["UstatOrMLE"] == label]
        assert len(rows) == len(analysis.modalities) + len(analysis.pairs)
        for row in rows:
            for entry, value in found(analysis, row)[0].tables[table][kind].items():
                assert value == pytest.approx(row[words.get(entry, entry)], **TABLES), (table, entry)


def test_dbm_and_or_components_are_only_for_fully_crossed_studies(study) -> None:
    assert set(analyse(study("sim_missing")).pairs["M1", "M2"].tables) == {"bdg", "bck"}


@pytest.mark.parametrize("name", FULLY_CROSSED)
def test_the_degrees_of_freedom_of_hillis_are_those_of_java(study, expected, name) -> None:
    analysis = analyse(study(name), df="hillis")
    for row in expected(name)["imrmc_java"]["Ustat"]:
        assert found(analysis, row)[0].df == pytest.approx(row["dfHillis"], rel=JAVA)
    assert "Hillis" in analysis.df_rule


@pytest.mark.parametrize("name", ["vandyke", "sim_missing"])
def test_variances_of_single_readers_are_those_of_java(study, expected, name) -> None:
    analysis = analyse(study(name))
    java = expected(name)["imrmc_java"]
    for modality, one in analysis.modalities.items():
        matrix = java["reader_covariance"][f"{modality} VS {modality}"]
        for n, reader in enumerate(java["reader_order"]):
            assert one.readers[reader].variance == pytest.approx(matrix[reader][n], rel=JAVA)
