"""`isocenter multiverse`: what the ranking would have been under other rules."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

import isocenter
from isocenter import scores
from isocenter.cli import app
from isocenter.scores import Row

VALUES: dict[str, list[float | None]] = {
    "steady": [0.6, 0.61, 0.62, 0.63, 0.64],
    "wild": [0.9, 0.91, 0.92, 0.1, 0.11],
    "poor": [0.5, 0.4, 0.51, 0.52, None],
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    """Three teams, of which poor lacks a case; and cases.csv, of two centres."""
    for team, values in VALUES.items():
        rows = []
        for at, value in enumerate(values):
            rows.append(Row(f"c{at}", "", "dice", value))
            if value is None:
                rows.append(Row(f"c{at}", "", "missing", 1.0))
        scores.write(scores.frame(rows), tmp_path / f"{team}.parquet")
    (tmp_path / "cases.csv").write_text("case,center\nc0,north\nc1,north\nc2,north\nc3,south\nc4,south\n")
    return [f"{team}={tmp_path / team}.parquet" for team in VALUES]


def test_who_wins_under_which_rule(tables: list[str], tmp_path: Path) -> None:
    result = run("multiverse", "hecktor2020", *tables, "--cases", tmp_path / "cases.csv", "--by", "center")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:2] == ["HECKTOR 2020: head and neck tumour segmentation in PET/CT", "Board dice"]
    assert "steady is first in 9 of 11 universes, in 1 of them with others." in lines
    winners = {line[:60].split("  ")[0]: line.split()[-1] for line in lines if line}
    assert winners["median"] == winners["without center south"] == "wild"
    assert winners["trimmed mean"] == winners["without center north"] == "steady"
    (wild,) = [line.split() for line in lines if line.startswith("wild")]
    # First by the median and without the south, shared by the mean rank (8 and 8); last without the north.
    assert wild[1:] == ["2", "3", "(27", "%)", "1–3", "2"]


def test_everything_is_written(tables: list[str], tmp_path: Path) -> None:
    result = run("multiverse", "hecktor2020", *tables, "--out", tmp_path / "m.json", "--json")
    data = json.loads(result.stdout)
    assert json.loads((tmp_path / "m.json").read_text()) == data
    assert (data["challenge"], data["board"], data["winners"]) == ("hecktor2020", "dice", ["steady"])
    assert [row["team"] for row in data["teams"]] == ["steady", "wild", "poor"]
    assert data["undefined"] == {}
    shown = run("multiverse", "hecktor2020", *tables, "--out", tmp_path / "m.csv")
    assert f"Written to {tmp_path / 'm.csv'}" in shown.stdout
    ranks = pl.read_csv(tmp_path / "m.csv")
    assert ranks.height == 3 * len(data["universes"])
    strict = ranks.filter(pl.col("universe") == "missing disqualifies the submission")
    assert dict(strict.select("team", "rank").iter_rows()) == {"steady": 1, "wild": 2, "poor": None}


def test_run_times_that_were_metered_elsewhere_are_taken(tmp_path: Path) -> None:
    names = ("beam_mae", "idd_distance", "idd_distance_z", "plan_mae", "dvh_score", "dvh_score_relative")
    isocenter.challenge("doserad2026")  # which brings its metrics along
    for team, factor in (("a", 1.0), ("b", 2.0)):
        rows = [Row(case, "", name, factor) for case in ("p1", "p2") for name in names]
        rows += [
            Row(case, "", name, 90 - factor)
            for case in ("p1", "p2")
            for name in ("gamma_pass_rate", "gamma_pass_rate_rx")
        ]
        scores.write(scores.frame(rows), tmp_path / f"{team}.parquet")
    given = [f"{team}={tmp_path / team}.parquet" for team in ("a", "b")]
    lost = run("multiverse", "doserad2026", *given)
    assert lost.exit_code == 1
    assert "there is no run_time of a, b" in lost.output
    times = tmp_path / "times.csv"
    lines = [
        f"{team},photon,{5 + images + factor * beams / 10},{images},{beams}"
        for team, factor in (("a", 1), ("b", 2))
        for images, beams in ((1, 180), (5, 900), (10, 900))
    ]
    times.write_text("\n".join(["submission,modality,seconds,images,beams", *lines]))
    found = run("multiverse", "doserad2026", *given, "--run-times", times, "--json")
    assert found.exit_code == 0, found.output
    data = json.loads(found.stdout)
    assert {"by dvh_score_relative", "by gamma_pass_rate_rx"} < {one["name"] for one in data["universes"]}


def test_who_stands_beside_is_ranked_nowhere(tables: list[str]) -> None:
    found = run("multiverse", "hecktor2020", *tables, "--benchmark", "steady", "--organiser", "poor", "--json")
    data = json.loads(found.stdout)
    assert data["winners"] == ["wild"]
    assert {team for one in data["universes"] for team in one["ranks"]} == {"wild"}
    assert not [one["name"] for one in data["universes"] if one["name"].startswith("missing")]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--by", "center"], 2, "groups need both"),
        (["--cases", "cases.csv"], 2, "groups need both"),
        (["--cases", "cases.csv", "--by", "vendor"], 1, "no case has a 'vendor'; there are center"),
        (["--board", "score"], 2, "hecktor2020 has no board 'score'"),
        (["--out", "m.parquet"], 2, "should be a file of its own that ends in .csv or .json"),
        (["--cases", "cases.csv", "--by", "center", "--out", "cases.csv"], 2, "should be a file of its own"),
        (["--organiser", "nobody"], 2, "no table is given for nobody"),
        (["--run-times", "cases.csv"], 2, "hecktor2020 does not rank by run time"),
    ],
)
def test_what_is_wrong_is_said(
    tables: list[str], tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    before = (tmp_path / "cases.csv").read_text()
    places = [tmp_path / one if one.startswith(("cases.", "m.")) else one for one in arguments]
    result = run("multiverse", "hecktor2020", *tables, *places)
    assert result.exit_code == code
    assert message in " ".join(result.output.replace("│", " ").split())
    assert (tmp_path / "cases.csv").read_text() == before


def test_a_ranking_that_nobody_has_has_no_multiverse(tables: list[str], tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("case,center\nc0,north\n")
    result = run("multiverse", "hecktor2020", *tables, "--cases", tmp_path / "cases.csv", "--by", "center")
    assert result.exit_code == 1
    assert "nothing is said of c1, c2, c3, c4" in result.output
    for path in tmp_path.glob("*.parquet"):
        scores.write(scores.frame([Row("c0", "", "dose_error", None), Row("c0", "", "missing", 1.0)]), path)
    lost = run("multiverse", "openkbp2020", *tables)
    assert lost.exit_code == 1
    assert "nobody is ranked by the rule: mean dose_error" in lost.output
