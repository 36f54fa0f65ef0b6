"""ROC curves of readers and their averages."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.stats.mrmc import analyse, average_curves, reader_curves

PRESERVING = ("diagonal", "vertical", "horizontal")
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
# Where its diagonal average has not the mean AUC of the readers as its area, by up to 2e-4.
NOT_PRESERVED_BY_IMRMC = {
    ("sim_ai_instances_vs_readers", "AI"),
    ("sim_missing", "M1"),
    ("sim_perfect_reader", "M2"),
    ("sim_unpaired_readers", "M1"),
}


def mean_auc(reads: pl.DataFrame, modality: str) -> float:
    return float(np.mean([reader.auc for reader in analyse(reads).modalities[modality].readers.values()]))


def test_the_curve_of_a_reader_has_a_corner_for_every_score(make) -> None:
    curve = reader_curves(make({("r", "CT"): [1, 2, 2, 3]}, "0011"))["CT"]["r"]
    assert curve.fpf.tolist() == [0, 0, 0.5, 1]
    assert curve.tpf.tolist() == [0, 0.5, 1, 1]
    assert curve.area == 0.875


def test_the_area_of_a_curve_is_the_auc_of_its_reader(study) -> None:
    analysis = analyse(study("sim_missing"))
    for modality, curves in reader_curves(study("sim_missing")).items():
        assert {name: curve.area for name, curve in curves.items()} == pytest.approx(
            {name: reader.auc for name, reader in analysis.modalities[modality].readers.items()}
        )


@pytest.mark.parametrize("name", ["vandyke", "sim_missing", "sim_splitplot", "sim_perfect_reader", "kundel_partial"])
@pytest.mark.parametrize("kind", PRESERVING)
def test_the_area_of_an_average_is_the_mean_auc(study, name, kind) -> None:
    for modality, curve in average_curves(study(name), kind).items():
        assert curve.area == pytest.approx(mean_auc(study(name), modality), abs=1e-12)
        for fractions in (curve.fpf, curve.tpf):
            assert (fractions[0], fractions[-1]) == (0, 1)
            assert (np.diff(fractions) >= -1e-15).all()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_area_of_an_average_is_the_mean_auc_with_ties_and_weights(data) -> None:
    truth, scores = [0, 0, 0, 1, 1, 1], st.lists(st.integers(0, 3), min_size=6, max_size=6)
    weight = data.draw(st.lists(st.floats(0.2, 5), min_size=6, max_size=6))
    rows = [
        (reader, "CT", f"c{n}", truth[n], score, weight[n])
        for reader in "rst"
        for n, score in enumerate(data.draw(scores))
    ]
    columns = ["reader_id", "modality_id", "case_id", "truth", "score", "weight"]
    reads = pl.DataFrame(rows, schema=columns, orient="row")
    for kind in PRESERVING:
        assert average_curves(reads, kind)["CT"].area == pytest.approx(mean_auc(reads, "CT"), abs=1e-12)


@pytest.mark.parametrize("name", STUDIES)
def test_areas_are_those_of_imrmc(study, expected, name) -> None:
    areas = expected(name)["imrmc_r"]["roc_area"]
    for kind in (*PRESERVING, "pooled"):
        for modality, curve in average_curves(study(name), kind).items():
            theirs = areas[f"{modality}.{kind if kind == 'pooled' else f'{kind}Avg'}"]["area"]
            if kind == "diagonal" and (name, modality) in NOT_PRESERVED_BY_IMRMC:
                assert abs(theirs - mean_auc(study(name), modality)) > 1e-6
            else:
                assert curve.area == pytest.approx(theirs, rel=1e-11), (kind, modality)


def test_the_diagonal_average_goes_through_the_points_of_imrmc(study, expected) -> None:
    for modality, curve in average_curves(study("vandyke")).items():
        theirs = expected("vandyke")["imrmc_r"]["roc_diagonal"][f"{modality}.diagonalAvg"]
        fpf, tpf = (np.array(theirs[name], dtype=float) for name in ("fpf", "tpf"))
        height = np.interp((fpf + tpf) / 2, (curve.fpf + curve.tpf) / 2, (curve.tpf - curve.fpf) / 2)
        assert height == pytest.approx((tpf - fpf) / 2, abs=1e-12)


def test_the_average_of_equal_readers_is_their_curve(make) -> None:
    reads = make({(r, "CT"): [1, 2, 2, 3, 1, 4] for r in "rs"}, "000111")
    one = reader_curves(reads)["CT"]["r"]
    for kind in (*PRESERVING, "pooled"):
        curve = average_curves(reads, kind)["CT"]
        u = np.linspace(0, 1, 50)
        drawn = [np.interp(u, (c.fpf + c.tpf) / 2, (c.tpf - c.fpf) / 2) for c in (one, curve)]
        assert drawn[1] == pytest.approx(drawn[0], abs=1e-12), kind


def test_an_unknown_average_is_refused(study) -> None:
    with pytest.raises(ValueError, match="the kind of average"):
        average_curves(study("vandyke"), "geometric")
