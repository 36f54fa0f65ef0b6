"""Sensitivity and specificity at an operating point."""

from __future__ import annotations

import polars as pl
import pytest

from isocenter.stats.mrmc import ReadsError, analyse


@pytest.fixture(scope="module")
def recalls(golden) -> pl.DataFrame:
    return pl.read_csv(golden / "binary_endpoint" / "data.csv").rename({"call": "score"})


@pytest.mark.parametrize("endpoint", ["sensitivity", "specificity"])
def test_recall_decisions_of_viper_as_in_imrmc(recalls, expected, endpoint) -> None:
    theirs = expected("binary_endpoint")[f"{endpoint}_jointD"]
    ours = analyse(recalls, endpoint=endpoint, threshold=1, reader_weight="pairs")
    for letter, name in (("A", "FFDM"), ("B", "SFM")):
        assert ours.modalities[name].estimate == pytest.approx(theirs["mean"][letter], rel=1e-11)
        assert ours.modalities[name].variance == pytest.approx(theirs["var"][letter], rel=1e-11)
    pair = ours.pairs["FFDM", "SFM"]
    assert pair.difference == pytest.approx(theirs["mean"]["AminusB"], rel=1e-11)
    assert pair.variance == pytest.approx(theirs["var"]["AminusB"], rel=1e-11)
    order = ("c1r1", "c0r1", "c1r0", "c0r0")
    assert list(ours.modalities["FFDM"].tables["bdg"]["unbiased"].values()) == pytest.approx(
        [theirs["moments"][0][name] for name in order], rel=1e-11
    )
    assert list(pair.tables["bdg"]["unbiased"].values()) == pytest.approx(
        [theirs["moments"][2][name] for name in order], rel=1e-11
    )


def test_a_score_of_the_threshold_is_a_positive_call(make) -> None:
    reads = make({("r", "CT"): [1, 2, 3, 3, 4, 2], ("s", "CT"): [3, 1, 1, 3, 4, 3]}, "000111")
    found = analyse(reads, endpoint="sensitivity", threshold=3).modalities["CT"]
    assert {name: reader.estimate for name, reader in found.readers.items()} == pytest.approx({"r": 2 / 3, "s": 1})
    found = analyse(reads, endpoint="specificity", threshold=3).modalities["CT"]
    assert {name: reader.estimate for name, reader in found.readers.items()} == pytest.approx({"r": 2 / 3, "s": 2 / 3})


def test_one_reader_has_the_variance_of_a_proportion(make) -> None:
    reads = make({("r", "CT"): [0, 0, 1, 1, 1, 0, 1]}, "0011111")
    found = analyse(reads, endpoint="sensitivity", threshold=1).modalities["CT"]
    assert found.estimate == pytest.approx(0.8)
    assert found.variance == pytest.approx(0.8 * 0.2 / (5 - 1))


def test_sensitivity_needs_no_normal_case(make) -> None:
    reads = make({("r", "CT"): [0, 1, 1], ("s", "CT"): [1, 1, 0]}, "111")
    assert analyse(reads, endpoint="sensitivity", threshold=1).modalities["CT"].estimate == pytest.approx(2 / 3)
    with pytest.raises(ReadsError, match="reader r, modality CT: 0 normal cases read, at least 2 are needed"):
        analyse(reads, endpoint="specificity", threshold=1)


def test_the_anova_of_a_sensitivity_agrees_with_the_u_statistic_when_fully_crossed(make) -> None:
    reads = make(
        {
            ("r", "A"): [1, 1, 0, 1, 0, 1, 1, 0],
            ("s", "A"): [1, 0, 0, 1, 0, 1, 0, 0],
            ("t", "A"): [1, 1, 1, 1, 0, 0, 1, 1],
            ("r", "B"): [1, 0, 0, 0, 0, 1, 1, 0],
            ("s", "B"): [0, 0, 1, 1, 0, 1, 0, 1],
            ("t", "B"): [1, 0, 0, 1, 0, 1, 0, 0],
        },
        "11111111",
    )
    u = analyse(reads, endpoint="sensitivity", threshold=1)
    anova = analyse(reads, method="or", endpoint="sensitivity", threshold=1)
    components = anova.pairs["A", "B"].tables["or"]["components"]
    unclipped = 2 / 3 * (components["MS(TR)"] + 3 * (components["cov2"] - components["cov3"]))
    assert u.pairs["A", "B"].variances["unbiased"] == pytest.approx(unclipped, rel=1e-12)
