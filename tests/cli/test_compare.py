"""`isocenter compare`: the teams of a board against each other, in paired tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from isocenter import scores
from isocenter.cli import app
from isocenter.scores import Row
from isocenter.stats import clustered_signed_rank, paired_t, signed_rank

DICE = {
    "alpha": [0.81, 0.77, 0.90, 0.72, 0.85, 0.79],
    "beta": [0.80, 0.75, 0.87, 0.68, 0.80, 0.73],
    "gamma": [0.82, 0.75, 0.90, 0.74, 0.83, None],
}
DVH = {
    "good": {"pt_1": [1.0, 2.0, 1.5], "pt_2": [0.5, 1.5], "pt_3": [2.5]},
    "poor": {"pt_1": [1.4, 2.1, 2.5], "pt_2": [1.1, 1.3], "pt_3": [2.8]},
}


PICKED = "The winner was picked on these very scores, which the tests do not know: p is too small.\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def dice(tmp_path: Path) -> list[str]:
    """The tables of three teams; gamma lacks a case."""
    for team, values in DICE.items():
        rows = []
        for at, value in enumerate(values):
            rows.append(Row(f"CHUV{at:03d}", "", "dice", value))
            if value is None:
                rows.append(Row(f"CHUV{at:03d}", "", "missing", 1.0))
        scores.write(scores.frame(rows), tmp_path / f"{team}.parquet", record={"challenge": "hecktor2020"})
    return [f"{team}={tmp_path / team}.parquet" for team in DICE]


@pytest.fixture
def dvh(tmp_path: Path) -> list[str]:
    for team, cases in DVH.items():
        rows = [
            Row(case, f"OAR {at}", "dvh_error", value)
            for case, found in cases.items()
            for at, value in enumerate(found)
        ]
        rows += [Row(case, "", "dose_error", sum(found)) for case, found in cases.items()]
        scores.write(scores.frame(rows), tmp_path / f"{team}.parquet")
    return [f"{team}={tmp_path / team}.parquet" for team in DVH]


def test_the_table_is_the_one_of_a_paper(dice: list[str]) -> None:
    result = run("compare", "hecktor2020", *dice)
    assert result.exit_code == 0, result.output
    p = signed_rank(DICE["alpha"], [*DICE["gamma"][:5], 0.0], better="higher", decimals=4).p
    assert result.stdout.splitlines() == [
        "HECKTOR 2020: head and neck tumour segmentation in PET/CT",
        "Board dice: dice of 6 cases",
        "",
        "Wilcoxon signed-rank test, one-sided (a better than b); higher scores are better.",
        "Family: the winner against each of the others, 2 tests; p by normal approximation with continuity correction "
        "or exact, adjusted by Holm's method; * significant at 0.05.",
        "",
        "a      b      n     a − b      p  adjusted p",
        "alpha  beta   6  +0.03500  0.016       0.031  *",
        f"alpha  gamma  6  +0.13333  {p:.3f}       {p:.3f}",
    ]


def test_a_t_test_has_intervals(dice: list[str], tmp_path: Path) -> None:
    options = ("--test", "t", "--adjust", "bonferroni", "--two-sided", "--alpha", 0.1)
    result = run("compare", "hecktor2020", *dice, *options, "--out", tmp_path / "t.json")
    reading: Any = {"better": "higher", "alternative": "two-sided", "level": 0.9}
    expected = paired_t(DICE["alpha"], DICE["beta"], **reading)
    (head,) = [line for line in result.stdout.splitlines() if line.startswith("a  ")]
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("alpha  beta")]
    assert head.endswith("90 % interval of a − b, not adjusted")
    assert line.endswith(f"[{expected.low:+.5f}, {expected.high:+.5f}]")
    data = json.loads((tmp_path / "t.json").read_text())
    assert (data["test"], data["alternative"], data["adjust"], data["alpha"]) == ("t", "two-sided", "bonferroni", 0.1)
    row = data["tests"][0]["rows"][0]
    assert row["p"] == expected.p
    assert row["adjusted"] == min(1, 2 * expected.p)
    assert (row["low"], row["high"]) == (expected.low, expected.high)


def test_beside_a_test_of_all_parts_stands_the_one_of_patients(dvh: list[str]) -> None:
    result = run("compare", "openkbp2020", *dvh, "--board", "dvh")
    assert result.exit_code == 0, result.output
    assert "Board dvh: dvh_error [Gy] of 6 parts of 3 cases" in result.stdout
    assert "Wilcoxon signed-rank test, one-sided" in result.stdout
    assert "Wilcoxon signed-rank test of Rosner, Glynn and Lee for 3 clusters, one-sided" in result.stdout
    plain, clustered = json.loads(run("compare", "openkbp2020", *dvh, "--board", "dvh", "--json").stdout)["tests"]
    a, b = ([x for found in DVH[team].values() for x in found] for team in ("good", "poor"))
    patient = [case for case, found in DVH["good"].items() for _ in found]
    assert plain["clusters"] is None
    assert plain["rows"][0]["p"] == signed_rank(a, b, better="lower", decimals=3).p
    assert clustered["clusters"] == 3
    assert clustered["rows"][0]["p"] == clustered_signed_rank(a, b, patient, better="lower", decimals=3).p
    cases = run("compare", "openkbp2020", *dvh, "--board", "dvh", "--over", "cases")
    assert "Board dvh: dvh_error [Gy] of 3 cases" in cases.stdout
    assert "clusters" not in cases.stdout
    student = run("compare", "openkbp2020", *dvh, "--board", "dvh", "--test", "t")
    assert "Parts were taken for independent" in student.stdout


def test_who_stands_beside_or_is_not_ranked_is_in_no_test(dice: list[str], tmp_path: Path) -> None:
    beside = run("compare", "hecktor2020", *dice, "--benchmark", "gamma", "--organiser", "alpha")
    assert beside.exit_code == 1
    assert "a comparison needs two teams that compete by dice; only beta does" in beside.output
    result = run("compare", "hecktor2020", *dice, "--benchmark", "alpha", "--json")
    assert result.stderr == PICKED
    data = json.loads(result.stdout)
    assert [(row["a"], row["b"]) for row in data["tests"][0]["rows"]] == [("beta", "gamma")]
    rows = [Row("pt_1", "", "dose_error", None), Row("pt_1", "", "missing", 1.0)]
    scores.write(scores.frame(rows), tmp_path / "lost.parquet")
    for team, value in (("a", 1.0), ("b", 2.0)):
        scores.write(scores.frame([Row("pt_1", "", "dose_error", value)]), tmp_path / f"{team}.parquet")
    lost = run("compare", "openkbp2020", *(f"{team}={tmp_path / team}.parquet" for team in ("a", "b", "lost")))
    assert lost.exit_code == 0, lost.output
    assert "lost is not ranked on this board, and in no test." in lost.stderr
    assert "lost" not in lost.stdout


def test_tests_are_written_as_a_table(dvh: list[str], tmp_path: Path) -> None:
    out = tmp_path / "tests.csv"
    result = run("compare", "openkbp2020", *dvh, "--board", "dvh", "--family", "all-ordered", "--out", out)
    assert f"Written to {out}" in result.stdout
    table = pl.read_csv(out)
    assert table.height == 4
    assert table["clusters"].to_list() == [None, None, 3, 3]
    assert set(table["family"]) == {"all-ordered"}
    assert table.columns[-7:] == ["a", "b", "n", "difference", "p", "adjusted", "significant"]


def test_a_team_that_a_spreadsheet_would_run_is_a_text_in_the_table(dvh: list[str], tmp_path: Path) -> None:
    out = tmp_path / "tests.csv"
    result = run("compare", "openkbp2020", f"@{dvh[0]}", dvh[1], "--board", "dvh", "--out", out)
    assert result.exit_code == 0, result.output
    assert pl.read_csv(out)["a"].to_list() == ["'@good", "'@good"]


def test_the_json_says_how_it_was_found_and_by_which_software(dvh: list[str]) -> None:
    data = json.loads(run("compare", "openkbp2020", *dvh, "--board", "dvh", "--json").stdout)
    assert set(data["versions"]) == {"isocenter", "numpy", "python", "scipy"}
    assert [one["methods"] for one in data["tests"]] == [["exact"], ["from all flips of clusters"]]
    assert [one["seed"] for one in data["tests"]] == [None, None]
    assert "p from all flips of clusters, adjusted" in run("compare", "openkbp2020", *dvh, "--board", "dvh").stdout


def test_a_test_of_one_case_is_undefined_and_said_so(tmp_path: Path) -> None:
    for team, value in (("a", 0.8), ("b", 0.7)):
        scores.write(scores.frame([Row("CHUV001", "", "dice", value)]), tmp_path / f"{team}.parquet")
    tables = [f"{team}={tmp_path / team}.parquet" for team in ("a", "b")]
    result = run("compare", "hecktor2020", *tables, "--test", "t")
    assert result.stdout.splitlines()[-1].split() == ["a", "b", "1", "+0.10000", "–", "–", "–"]
    (row,) = json.loads(run("compare", "hecktor2020", *tables, "--test", "t", "--json").stdout)["tests"][0]["rows"]
    assert [row[name] for name in ("p", "adjusted", "low", "high")] == [None] * 4


def test_the_submission_that_counts_is_tested(dice: list[str]) -> None:
    poor = dice[1].replace("beta=", "alpha=")
    result = run("compare", "hecktor2020", *dice, poor)  # the last of alpha is what beta has
    assert result.exit_code == 1
    assert "alpha and beta share the first rank" in result.output


def test_what_came_after_the_phase_closed_is_not_tested(dice: list[str], tmp_path: Path) -> None:
    edition = tmp_path / "edition"
    assert run("init", "hecktor2020", edition).exit_code == 0
    late = dice[1].replace("beta=", "alpha@2999-01-01T00:00:00Z=")
    early = dice[0].replace("alpha=", "alpha@2020-09-05T00:00:00Z=")
    result = run("compare", edition, early, late, *dice[1:], "--phase", "test", "--json")
    assert result.stderr == f"alpha: the submission of 2999-01-01T00:00:00+00:00 is not of the phase test.\n{PICKED}"
    assert json.loads(result.stdout)["tests"][0]["rows"][0]["a"] == "alpha"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--family", "everybody"], 2, "Invalid value for '--family'"),
        (["--test", "anova"], 2, "Invalid value for '--test'"),
        (["--alpha", "1.5"], 2, "a level of significance is within 0 and 1, not 1.5"),
        (["--two-sided", "--family", "all-ordered"], 2, "take --family all-unordered"),
        (["--board", "jaccard"], 2, "hecktor2020 has no board 'jaccard'"),
        (["--benchmark", "delta"], 2, "no table is given for delta"),
        (["--out", "tests.txt"], 2, "tests.txt should be a file of its own that ends in .csv or .json"),
        (["--over", "parts"], 1, "dice is not measured in parts of the cases"),
    ],
)
def test_what_is_wrong_is_said(dice: list[str], arguments: list[str], code: int, message: str) -> None:
    result = run("compare", "hecktor2020", *dice, *arguments)
    assert result.exit_code == code
    assert message in " ".join(result.output.replace("│", " ").split())


def test_numbers_of_the_whole_cohort_cannot_be_compared_so(dice: list[str], tmp_path: Path) -> None:
    rows = [Row("a", "", "case_positive", 1.0), Row("a", "", "case_likelihood", 0.5)]
    scores.write(scores.frame(rows), tmp_path / "x.parquet")
    result = run("compare", "picai2022", f"x={tmp_path}/x.parquet")
    assert result.exit_code == 1
    assert "detection_score has no value per case" in result.output
    other = run("compare", "lung2019", *dice)
    assert other.exit_code == 1
    assert "holds scores of hecktor2020, not of lung2019" in other.output
