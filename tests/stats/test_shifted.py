"""What OpenKBP's paper tests: DVH criteria that are not worse by a margin, as a function and as a command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from typer.testing import CliRunner, Result

from isocenter import scores
from isocenter.cli import app
from isocenter.scores import Row
from isocenter.stats import adjust, permutation_test, shifted_mann_whitney

# A made-up DVH criterion, Gy, with two decimals, of two groups of patients. R 4.2.2 (base `stats`) made the numbers of
# the first test of it: Mann-Whitney tests of the first group, shifted by 2.1 Gy, with and without continuity.
SYNTHETIC = """
26.07 26.28 31.72 30.6 23.21 16.53 22.09 25.3 22.79 20.53 25.52 20.98 20.23 25.87 21.59 25.46 25.64 17.16 21.11 32.63
17.03 11.3 12.83 24.17 24.19 23.29 31.29 7.96 26.38 33.37 17.23 21.72 19.48 18.63 22.04 32.56 35.02 21.98 35.43 24.21
34.52 23.44 24.79 26.19 43.07 29.11 19.76 29.81 21.83 21.06 29.45 24.19 25.67 24.08 26.02 26.55 12.38 28.0 18.11 15.35
23.65 24.5 19.84 28.99 15.95 21.56 20.49 23.72 25.67 17.95 28.35 24.38 12.65 12.25 23.93 22.67 23.38 23.83 25.35 29.69
17.33 16.97 17.44 25.73 31.47 21.41 8.99 13.78 19.0 20.65 21.55 24.23 22.13 30.3 19.94 18.83 26.87 14.79 26.34 24.62
23.12 33.53 20.27 36.36 22.65 16.34 24.42 17.54 19.49 26.38 27.33 20.27 29.92 30.95 32.62 27.18 32.18 12.72 22.09 18.8
24.72 20.57 23.0 35.29 22.98 26.48 22.61 24.45 24.04 26.69 30.99 33.88 25.86 27.54 17.09 23.47 29.64 29.2
"""
CLINICAL = """
24.58 28.96 26.39 31.0 25.08 20.89 25.38 4.15 25.69 -0.51 12.0 26.14 26.3 15.64 18.57 32.11 20.05 37.78 23.19 25.85
33.71 24.05 16.68 22.49 22.97 14.33 21.54 18.38 29.21 23.42 21.36 22.51 24.65 27.21 16.7 16.43 30.38 20.52 13.99 26.08
26.21 13.25 24.69 27.98 25.63 27.31 14.07 25.35 21.23 20.06 28.86 32.82 34.86 31.75 22.49 25.49 28.18 23.99 24.05
28.55 22.81 18.46 20.51 27.32 23.22 25.41 27.56 20.76 28.12 25.66 15.17 32.57 19.95 12.44 16.41 16.56 23.54 21.42
21.01 27.23 25.41 25.25 25.86 27.2 9.5 20.83 9.03 23.43 23.17 30.0 30.92 24.52 19.95 26.35 19.77 23.19 29.61 19.57
28.44 27.6 16.99 29.53 27.74 23.86 18.24 17.62 19.71 26.73 16.99 26.04 15.13 21.87 23.91 39.09 14.25 32.77 24.17 25.87
23.97 26.09 22.2 32.65 20.23 30.56 19.01 22.81 16.23 26.16 32.59 22.7 21.92 15.95 21.71 12.85 17.27 24.67 31.77 41.46
19.39 32.53 24.78 22.22 26.01 23.6 23.92 20.55 14.11 13.17 27.45 21.4 19.33 23.26 28.37 24.37 18.94 31.17 33.46 26.41
29.53 31.27 30.55 27.19 27.09 26.58 16.07 27.75 14.39 18.04 31.67 28.66 32.87 21.43 15.71 21.64 23.86 23.71 30.57
20.85 25.49 16.77 26.13 23.22 18.33 21.67 22.0 21.44 34.71 22.56 21.61 9.57 17.39 21.49 18.74 32.18 22.13 31.57 23.6
23.44 22.62 23.22 34.37 8.12 10.19 19.67 23.29 27.69 26.28 20.7 29.82 29.9 24.4 29.46 24.97 19.55 27.74 23.92 23.21
"""


def doses(text: str) -> np.ndarray:
    return np.array(text.split(), dtype=float)


@pytest.mark.parametrize(
    ("better", "statistic", "corrected", "plain"),
    [
        ("lower", 11993.5, 0.000787261572338278, 0.000785829173975644),
        ("higher", 18205.5, 0.000302897122228349, 0.000302305634473876),
    ],
)
def test_it_is_that_of_r(better: Any, statistic: float, corrected: float, plain: float) -> None:
    for correction, p in ((True, corrected), (False, plain)):
        found = shifted_mann_whitney(
            doses(SYNTHETIC), doses(CLINICAL), margin=2.1, better=better, decimals=None, correction=correction
        )
        assert (found.size_a, found.size_b, found.statistic, found.method) == (138, 217, statistic, "normal")
        assert found.p == pytest.approx(p, rel=1e-11)
        assert found.correction == correction


def test_noise_of_the_shift_breaks_no_tie() -> None:
    """26.4 − 2.1 is a float below 24.3. R ranks it there; with the two decimals that the doses have they are tied."""
    found = shifted_mann_whitney(doses(SYNTHETIC), doses(CLINICAL), margin=2.1, better="lower", decimals=2)
    moved, fixed = (np.rint(100 * doses(text)) for text in (SYNTHETIC, CLINICAL))
    above = (moved[:, None] - 210 > fixed) + 0.5 * (moved[:, None] - 210 == fixed)
    assert found.statistic == above.sum() == 11998.0
    assert shifted_mann_whitney([26.4], [24.3], margin=2.1, better="lower", decimals=1).statistic == 0.5


@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=12, unique=True),
    st.lists(st.integers(-40, 40), min_size=1, max_size=12, unique=True),
    st.integers(1, 20),
)
@settings(deadline=None)
def test_small_groups_without_ties_are_counted_and_all_others_approximated(
    a: list[int], b: list[int], margin: int
) -> None:
    found = shifted_mann_whitney(a, b, margin=margin, better="lower", decimals=0)
    moved = [value - margin for value in a]
    tied = bool(set(moved) & set(b))
    if len({*moved, *b}) == 1:
        assert (found.p, found.method) == (1.0, "none")
        return
    assert found.method == ("normal" if tied else "exact")
    method: Any = "asymptotic" if tied else "exact"
    expected = mannwhitneyu(moved, b, alternative="less", method=method)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-11)
    assert found.statistic == expected.statistic
    counted = shifted_mann_whitney(a, b, margin=margin, better="lower", decimals=0, exact=True)
    assert counted.p == pytest.approx(permutation_test(moved, b, alternative="less").p_value, rel=1e-12)


@pytest.mark.parametrize(("size", "method"), [(49, "exact"), (50, "normal")])
def test_the_size_from_which_it_approximates_is_that_of_r(size: int, method: str) -> None:
    values = np.random.default_rng(0).normal(size=(2, size))
    assert shifted_mann_whitney(values[0], values[1, :20], margin=0.1, better="lower", decimals=None).method == method
    assert shifted_mann_whitney(values[0, :20], values[1], margin=0.1, better="lower", decimals=None).method == method


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.lists(st.integers(0, 30), min_size=2, max_size=60))
@settings(deadline=None)
def test_higher_is_lower_turned_over_and_more_margin_is_never_harder(a: list[int], b: list[int]) -> None:
    options: dict[str, Any] = {"decimals": 0, "exact": False}
    found = [shifted_mann_whitney(a, b, margin=margin, better="lower", **options) for margin in (1, 5, 40)]
    turned = shifted_mann_whitney(-np.array(a), -np.array(b), margin=1, better="higher", **options)
    assert turned.p == pytest.approx(found[0].p, rel=1e-12)
    assert found[0].statistic >= found[1].statistic >= found[2].statistic == 0
    assert all(0 <= one.p <= 1 for one in found)


def test_what_is_called_exact_was_counted_however_many_ties_there_are() -> None:
    values = np.round(np.random.default_rng(0).normal(size=400), 2)
    a, b = values[:200], values[200:]
    assert permutation_test(a, b, decimals=2).method == "exact"
    found, normal = (
        shifted_mann_whitney(a, b, margin=0.01, better="higher", decimals=2, exact=exact) for exact in (True, False)
    )
    assert found.method == "exact"
    assert found.p == pytest.approx(normal.p, rel=1e-3)
    with pytest.raises(ValueError, match="the relabellings of 401 values are too many"):
        shifted_mann_whitney(a, np.append(b, 0), margin=0.01, better="higher", decimals=2, exact=True)


def test_nothing_is_claimed_of_values_that_are_all_equal() -> None:
    found = shifted_mann_whitney([5.1, 5.1], [3.0, 3.0, 3.0], margin=2.1, better="lower", decimals=1)
    assert (found.p, found.method, found.statistic) == (1.0, "none", 3.0)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(
        ValueError, match=r"a has nan at 1, counting from 0; b has no values; a margin is finite.*not 0"
    ):
        shifted_mann_whitney([1, math.nan], [], margin=0, better="lower", decimals=None)
    with pytest.raises(ValueError, match=r"a is an array of shape \(1, 2\)"):
        shifted_mann_whitney([[1, 2]], [1], margin=1, better="lower", decimals=None)
    with pytest.raises(ValueError, match="b has inf at 0"):
        shifted_mann_whitney([1], [math.inf], margin=1, better="lower", decimals=None)
    with pytest.raises(ValueError, match="better is one of"):
        shifted_mann_whitney([1], [1], margin=1, better="less", decimals=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="relabellings of 402 values are too many"):
        shifted_mann_whitney(range(201), range(201), margin=1, better="lower", decimals=0, exact=True)


def test_it_reads_as_a_sentence_and_exports_json() -> None:
    found = shifted_mann_whitney(doses(SYNTHETIC), doses(CLINICAL), margin=2.1, better="lower", decimals=2)
    assert str(found) == (
        "Median 23.88 of 138 values against 23.71 of 217, lower is better, margin 2.1: Mann–Whitney test of values "
        "shifted by the margin (normal approximation with continuity correction, values rounded to 2 decimals), "
        "U = 11998, one-sided p of non-inferiority = 0.0008."
    )
    assert json.loads(json.dumps(found.to_dict()))["p"] == found.p


# The command.

REFERENCE = {"PTV70|D_99": 66.0, "PTV70|D_95": 68.0, "PTV70|D_1": 73.0, "Larynx|mean": 30.0, "Larynx|D_0.1_cc": 50.0}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["criteria", *(str(argument) for argument in arguments)])


def table(path: Path, *, shift: float, patients: int = 12, rows: list[Row] | None = None, **record: str) -> str:
    """A team whose doses are all higher than the reference's by so much, and a little different in each patient."""
    found = list(rows or ())
    for at in range(patients):
        for part, dose in REFERENCE.items():
            truth, value = dose + 0.31 * at, dose + shift + 0.29 * ((5 * at) % patients)
            values = {"dvh_error": abs(value - truth), "dvh_value": value, "dvh_reference": truth}
            found += [Row(f"pt_{at}", part, metric, number) for metric, number in values.items()]
    scores.write(scores.frame(found), path, record={"challenge": "openkbp2020"} | record)
    return f"{path.stem}={path}"


def test_every_criterion_is_tested_in_its_own_direction(tmp_path: Path) -> None:
    hot = table(tmp_path / "hot.parquet", shift=6.0)
    result = run("openkbp2020", hot, "--json", "--adjust", "holm")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    rows = {f"{row['structure']}|{row['criterion']}": row for row in data["rows"]}
    assert list(rows) == ["PTV70|D_99", "PTV70|D_95", "PTV70|D_1", "Larynx|D_0.1_cc", "Larynx|mean"]
    assert [row["better"] for row in rows.values()] == ["higher", "higher", "lower", "lower", "lower"]
    for part, row in rows.items():
        at = np.arange(12)
        given, truth = REFERENCE[part] + 6 + 0.29 * ((5 * at) % 12), REFERENCE[part] + 0.31 * at
        found = shifted_mann_whitney(given, truth, margin=2.1, better=row["better"], decimals=3)
        assert (row["p"], row["n"], row["method"]) == (found.p, 12, found.method)
        assert (row["reference"], row["submission"]) == pytest.approx((np.median(truth), np.median(given)), rel=1e-12)
        assert row["difference"] == pytest.approx(np.median(given) - np.median(truth), rel=1e-9)
        assert (row["p"] < 1e-4) == (row["better"] == "higher")
    assert [row["adjusted_p"] for row in rows.values()] == adjust([row["p"] for row in rows.values()]).tolist()
    assert (data["margin"], data["unit"], data["adjust"]) == (2.1, "Gy", "holm")
    assert set(data["versions"]) == {"isocenter", "numpy", "python", "scipy"}


def test_a_team_that_a_spreadsheet_would_run_is_a_text_in_the_csv(tmp_path: Path) -> None:
    team = table(tmp_path / "hot.parquet", shift=6.0)
    assert run("openkbp2020", f"+{team}", "--out", tmp_path / "o.csv").exit_code == 0
    assert set(pl.read_csv(tmp_path / "o.csv")["team"]) == {"'+hot"}


def test_a_larger_margin_forgives_more(tmp_path: Path) -> None:
    hot = table(tmp_path / "hot.parquet", shift=6.0)
    p = {
        margin: [row["p"] for row in json.loads(run("openkbp2020", hot, "--json", "--margin", margin).stdout)["rows"]]
        for margin in (2.1, 12)
    }
    assert p[2.1][2] > 0.99
    assert p[12][2] < 1e-4


def test_the_table_names_unit_margin_and_test(tmp_path: Path) -> None:
    good, hot = (table(tmp_path / f"{name}.parquet", shift=shift) for name, shift in (("good", 0.0), ("hot", 6.0)))
    result = run("openkbp2020", good, hot, "--out", tmp_path / "found.csv")
    assert result.exit_code == 0, result.output
    assert "OpenKBP 2020: dose prediction for head and neck radiotherapy: good" in result.stdout
    assert "reference [Gy]" in result.stdout
    assert "adjusted p" not in result.stdout
    words = [line.split() for line in result.stdout.splitlines()]
    assert ["PTV70", "D_1", "lower", "12", "74.70", "80.59", "+5.89", "1.0000"] in words
    assert "margin of 2.1 Gy" in result.stdout
    assert "same patients" in result.stdout
    written = pl.read_csv(tmp_path / "found.csv")
    assert written["team"].to_list() == ["good"] * 5 + ["hot"] * 5
    assert written.columns[:3] == ["challenge", "margin", "adjust"]


def test_a_missing_case_is_named_and_in_no_test(tmp_path: Path) -> None:
    missing = [Row("pt_99", "", name, None) for name in ("dvh_error", "dvh_value", "dvh_reference")]
    team = table(tmp_path / "team.parquet", shift=0.0, rows=[*missing, Row("pt_99", "", "missing", 1.0)])
    result = run("openkbp2020", team, "--json")
    assert result.exit_code == 0, result.output
    assert {row["n"] for row in json.loads(result.stdout)["rows"]} == {12}
    assert "team: pt_99 missing or failed, and in no test." in result.stderr


def test_tables_that_cannot_be_tested_are_all_named(tmp_path: Path) -> None:
    strange = [Row("pt_0", "Heart|mean", "dvh_value", 1.0), Row("pt_0", "PTV70|D_50", "dvh_reference", 1.0)]
    odd = table(tmp_path / "odd.parquet", shift=0.0, rows=strange)
    scores.write(scores.frame([Row("pt_0", "", "dose_error", 1.0)]), tmp_path / "bare.parquet")
    out = tmp_path / "found.json"
    result = run("openkbp2020", odd, f"bare={tmp_path / 'bare.parquet'}", "--out", out)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "odd: 1 criteria have no dvh_value, the first is PTV70|D_50 of pt_0",
        "odd: 1 criteria have no dvh_reference, the first is Heart|mean of pt_0",
        "odd: Heart|mean, PTV70|D_50: no criterion of OpenKBP, such as PTV56|D_99",
        "bare: the table has no values of dvh_value and dvh_reference; score the submission again",
    ]
    assert not out.exists()
    many = [Row("pt_0", f"\x1b{k}|mean", metric, 1.0) for k in range(9) for metric in ("dvh_value", "dvh_reference")]
    told = run("openkbp2020", table(tmp_path / "many.parquet", shift=0.0, rows=many)).stderr
    assert "\x1b" not in told
    assert "4|mean …: no criterion" in told


def test_wrong_usage_is_said(tmp_path: Path) -> None:
    team = table(tmp_path / "team.parquet", shift=0.0)
    other = table(tmp_path / "other.parquet", shift=0.0, challenge="hecktor2020")
    assert run("openkbp2020", other).exit_code == 1
    assert "holds scores of hecktor2020" in run("openkbp2020", other).stderr
    assert run("hecktor2020", other).exit_code == 2
    assert "no DVH criteria" in run("hecktor2020", other).stderr
    for margin in ("0", "-1", "nan", "inf"):
        assert run("openkbp2020", team, "--margin", margin).exit_code == 2
    assert run("openkbp2020", team, "--out", tmp_path / "team.parquet").exit_code == 2
    assert run("openkbp2020", team, "--adjust", "fdr").exit_code == 2
