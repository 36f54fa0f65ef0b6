"""What a result says of itself."""

from __future__ import annotations

import json

import pytest

from isocenter import __version__
from isocenter.stats.mrmc import analyse


def test_a_result_prints_as_sentences_for_a_paper(study) -> None:
    assert str(analyse(study("vandyke"))) == (
        "5 readers read 69 normal and 45 diseased cases in 2 modalities (1140 reads); empirical AUC, U-statistic "
        "variance (unbiased), random readers, random cases, readers weighted equally; degrees of freedom by "
        "Satterthwaite over readers and cases (BDG).\n"
        "T1: AUC 0.897 (95% CI 0.825 to 0.969).\n"
        "T2: AUC 0.941 (95% CI 0.894 to 0.988).\n"
        "T1 − T2: −0.044 (95% CI −0.089 to +0.001; t with 12.8 df, p = 0.054)."
    )


def test_a_result_of_three_modalities_has_adjusted_p_values_and_an_overall_test(study) -> None:
    lines = str(analyse(study("sim_ordinal_3mod"), method="or", covariance="jackknife", pooled=True)).splitlines()
    assert "Obuchowski–Rockette analysis with jackknife covariances" in lines[0]
    assert lines[5] == (
        "M1 − M3: −0.155 (95% CI −0.243 to −0.068; t with 59.0 df, p < 0.001, by Holm's method = 0.002)."
    )
    assert lines[-1] == "All modalities equal: F 6.83 on 2 and 59.0 df, p = 0.002."


def test_fixed_readers_are_compared_by_chi_square_and_the_normal_distribution(study) -> None:
    lines = str(analyse(study("sim_ordinal_3mod"), method="or", readers="fixed", pooled=True)).splitlines()
    assert "; normal, p" in lines[4]
    assert lines[-1] == "All modalities equal: X² 19.78 on 2 df, p < 0.001."


def test_a_pair_is_found_in_either_order_with_its_sign(study) -> None:
    pairs = analyse(study("vandyke")).pairs
    ahead, back = pairs["T1", "T2"], pairs["T2", "T1"]
    assert (back.a, back.b, back.difference) == ("T2", "T1", -ahead.difference)
    assert (back.low, back.high, back.p) == (-ahead.high, -ahead.low, ahead.p)
    assert list(pairs) == [("T1", "T2")]
    assert len(pairs) == 1
    with pytest.raises(KeyError):
        pairs["T1", "T3"]


@pytest.mark.parametrize("options", [{}, {"readers": "fixed"}, {"method": "or", "readers": "fixed"}])
def test_a_result_is_json_with_the_numbers_it_has(study, options) -> None:
    analysis = analyse(study("sim_ordinal_3mod"), **options)
    told = json.loads(json.dumps(analysis.to_dict(), allow_nan=False))
    assert told["modalities"]["M1"]["estimate"] == analysis.modalities["M1"].auc
    assert told["modalities"]["M1"]["readers"]["R01"]["estimate"] == analysis.modalities["M1"].readers["R01"].auc
    assert [(pair["a"], pair["b"], pair["p"]) for pair in told["pairs"]] == [
        (*names, pair.p) for names, pair in analysis.pairs.items()
    ]
    assert (told["pairs"][0]["df"] is None) == (options.get("method") == "or")
    assert told["versions"]["isocenter"] == __version__
    assert told["counts"] == {"readers": 6, "normal": 60, "diseased": 40, "reads": 1800}


def test_a_result_names_method_and_rule_of_the_degrees_of_freedom(study) -> None:
    analysis = analyse(study("vandyke"), compat="imrmc-4.0.3", variance="mle")
    assert "V-statistic variance (mle)" in analysis.method
    assert "weighted by pairs of cases" in analysis.method
    assert analysis.df_rule.endswith("rounded down, normal from 50 on, as iMRMC 4.0.3")
