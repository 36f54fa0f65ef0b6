"""`isocenter plan-cases` and `isocenter progress` as a person or a script meets them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from isocenter import scores
from isocenter.cli import app
from isocenter.ranking import plan_cases
from isocenter.scores import Row, frame

GOLDEN = Path(__file__).parents[1] / "golden" / "ranking"
CASES = [f"CHUV{number:03d}" for number in range(30)]
DICE = np.random.default_rng(1).uniform([[0.5], [0.54], [0.45]], [[0.9], [0.94], [0.85]], (3, 30))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    """Score tables of three teams; of the second the last case is missing."""
    found = []
    for team, values in zip("abc", DICE, strict=True):
        rows = [Row(case, "", "dice", value) for case, value in zip(CASES, values, strict=True)]
        if team == "b":
            rows[-1:] = [Row(CASES[-1], "", "dice", None), Row(CASES[-1], "", "missing", 1.0)]
        scores.write(frame(rows), tmp_path / f"{team}.parquet", record={"challenge": "hecktor2020", "reference": "r"})
        found.append(f"{team}={tmp_path / f'{team}.parquet'}")
    return found


def test_the_plan_is_that_of_the_values_that_rank(tables: list[str], tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    options = ("--sizes", "10,40", "--trials", 30, "--seed", 3)
    result = run("plan-cases", "hecktor2020", *tables, *options, "--out", out)
    assert result.exit_code == 0, result.output
    counted = DICE.copy()
    counted[1, -1] = 0.0
    expected = plan_cases(counted, better="higher", sizes=[10, 40], trials=30, seed=3)
    data = json.loads(out.read_text())
    assert [row["right_winner"]["value"] for row in data["rows"]] == [row.winner.value for row in expected.rows]
    assert [row["rank_set_width"]["value"] for row in data["rows"]] == [row.width.value for row in expected.rows]
    assert [row["beyond_pilot"] for row in data["rows"]] == [False, True]
    assert [one["normal"] for one in data["cases_for"]] == [expected.cases_for(p).normal for p in (0.8, 0.9, 0.95)]
    assert (data["pilot_cases"], data["teams"], data["best"]) == (30, ["a", "b", "c"], ["abc"[expected.best[0]]])
    assert "40 *" in result.stdout
    assert "More cases than the pilot has" in result.stdout
    assert json.loads(run("plan-cases", "hecktor2020", *tables, *options, "--json").stdout) == data


def test_a_board_that_is_no_mean_of_one_value_per_case_is_not_planned_for(tmp_path: Path) -> None:
    rows = [Row(case, part, "dvh_error", 1.0) for case in ("pt_1", "pt_2") for part in ("PTV70 D95", "PTV70 D99")]
    scores.write(frame(rows), tmp_path / "a.parquet", record={"challenge": "openkbp2020"})
    result = run("plan-cases", "openkbp2020", f"a={tmp_path / 'a.parquet'}", "--board", "dvh")
    assert result.exit_code == 1
    assert "the mean of one value per case; 'dvh' ranks by mean dvh_error over all parts" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "10,many"], "whole numbers with commas"),
        (["--board", "none"], "has no board 'none'"),
        (["--out", "plan.txt"], "ends in .json"),
        (["--trials", "1"], "trials"),
    ],
)
def test_wrong_options_of_a_plan_exit_2(tables: list[str], arguments: list[str], message: str) -> None:
    result = run("plan-cases", "hecktor2020", *tables, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_sizes_out_of_range_and_a_single_case_exit_1(tables: list[str], tmp_path: Path) -> None:
    result = run("plan-cases", "hecktor2020", *tables, "--sizes", "0,10")
    assert result.exit_code == 1
    assert "whole, from 1 to 65535; 0 found" in result.stderr
    scores.write(frame([Row("x", "", "dice", 0.5)]), tmp_path / "one.parquet")
    single = run("plan-cases", "hecktor2020", f"a={tmp_path / 'one.parquet'}")
    assert single.exit_code == 1
    assert "2 cases; found 1 and 1" in single.stderr


@pytest.fixture
def submissions(tmp_path: Path) -> Path:
    path = tmp_path / "submissions.csv"
    with (GOLDEN / "nsc_submissions.csv").open() as stream:
        rows = [f"{row['team']},{row['submission']},{row['dose_score']}\n" for row in csv.DictReader(stream)]
    path.write_text("team,time,score\n" + "".join(rows))
    return path


def test_progress_prints_and_writes_the_golden_curve(
    submissions: Path, tmp_path: Path, golden_ranking: dict[str, Any]
) -> None:
    golden, out = golden_ranking["nsc"], tmp_path / "p.json"
    result = run("progress", submissions, "--better", "lower", "--out", out)
    assert result.exit_code == 0, result.output
    assert "x (20)" in result.stdout
    assert "4.625" in result.stdout
    data = json.loads(out.read_text())
    assert data["mean"] == pytest.approx(golden["mean"], rel=1e-12)
    assert data["low"] == pytest.approx(golden["ci95_t_low"], rel=1e-12)
    assert data["best_team"] == golden["best_team"]
    assert data["excluded"] == {"x": 20}
    assert json.loads(run("progress", submissions, "--better", "lower", "--json").stdout) == data


def test_progress_without_a_curve_still_tells_who_led(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text(
        "score,team,time\n0.5,a,2022-06-01T12:00:00Z\n0.6,b,2022-06-02T12:00:00+02:00\n\n0.4,a,2022-06-03T00:00Z\n"
    )
    result = run("progress", path, "--better", "higher")
    assert result.exit_code == 0, result.output
    assert "Nobody has more than 20 submissions" in result.stdout
    assert "Changes of the lead: 1" in result.stdout
    data = json.loads(run("progress", path, "--better", "higher", "--json").stdout)
    assert data["mean"] == [None] * 20
    assert data["lead_changes"][0]["moment"] == "2022-06-02T12:00:00+02:00"


def test_everything_that_is_wrong_with_a_table_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("team,time,score\na,1,nan\n,2,0.5\nb,soon,0.5\nc,2022-06-01,0.5\nd,3\n")
    result = run("progress", path, "--better", "higher")
    assert result.exit_code == 1
    for text in (
        "wrong.csv:2",
        "score 'nan' is no finite number",
        "wrong.csv:3",
        "there is no team",
        "time 'soon' is neither a number",
        "wrong.csv:6",
        "2 values; expected 3",
        "numbers as in line 2, times without a zone as in line 5",
    ):
        assert text in result.stderr
    data = json.loads(run("progress", path, "--better", "higher", "--json").stdout)
    assert (data["ok"], len(data["problems"])) == (False, 5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"team,time,score\n", "no submissions"),
        (b"team;time;score\n", "expected the columns team,time,score; found team;time;score"),
        (b"team,time,score,score\n", "found team,time,score,score"),
        (b"\xff\xfet\0e\0", "is no CSV in UTF-8"),
        (b'team,time,score\n"a,1,2\n', "is no CSV in UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    result = run("progress", path, "--better", "lower")
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_direction_is_needed_and_the_table_is_not_written_over(submissions: Path) -> None:
    assert run("progress", submissions).exit_code == 2
    assert run("progress", submissions, "--better", "most").exit_code == 2
    assert run("progress", submissions, "--better", "lower", "--out", submissions).exit_code == 2
