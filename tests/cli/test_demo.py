"""The demo: five challenges from nothing to their boards and reports, made twice in one folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

import isocenter
from isocenter.cli import app
from isocenter.cli._demo_editions import PHASES

CHALLENGES = ("hecktor2020", "lung2019", "openkbp2020", "doserad2026", "picai2022")


class Demo(NamedTuple):
    """Where it lies, and what the second run printed."""

    folder: Path
    printed: str


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo") / "demo"
    first = CliRunner().invoke(app, ["demo", str(folder), "--cases", "1"])
    assert first.exit_code == 0, first.output
    (folder / "hecktor2020" / "mine.parquet").write_text("mine")
    (folder / "lung2019" / "submissions" / "stray.txt").write_text("not of this cohort")
    again = CliRunner().invoke(app, ["demo", str(folder), "--cases", "2"])
    assert again.exit_code == 0, again.output
    return Demo(folder, again.stdout)


def board_of(demo: Demo, name: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads((demo.folder / name / "board.json").read_text())["rows"]
    return rows


@pytest.mark.parametrize(
    ("name", "teams", "unlisted"),
    [
        ("hecktor2020", 5, 1),
        ("lung2019", 5, 0),
        ("openkbp2020", 6, 0),
        ("doserad2026", 6, 0),
        ("picai2022", 5, 1),
    ],
)
def test_every_challenge_has_its_board(demo: Demo, name: str, teams: int, unlisted: int) -> None:
    rows = board_of(demo, name)
    ranks = [row["rank"] for row in rows if row["role"] == "team"]
    assert len(ranks) == teams
    assert ranks == sorted(ranks, key=str)
    assert ranks[0] == 1
    assert (demo.folder / name / "leaderboard.html").read_text().lower().startswith("<!doctype html>")
    assert len(list((demo.folder / name / "scores").glob("*.parquet"))) == len(rows) + unlisted
    assert isocenter.challenge(name).title in demo.printed
    assert f'href="{name}/leaderboard.html"' in (demo.folder / "index.html").read_text()


@pytest.mark.parametrize("name", CHALLENGES)
def test_every_challenge_has_its_report(demo: Demo, name: str) -> None:
    report = demo.folder / name / "report"
    assert (report / "report.pdf").read_bytes().startswith(b"%PDF")
    page = (report / "report.html").read_text("utf-8")
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert f'href="{name}/report/report.html"' in (demo.folder / "index.html").read_text()
    unlisted = {"hecktor2020": "Sarine"}.get(name)
    assert unlisted is None or unlisted not in page


@pytest.mark.parametrize("name", CHALLENGES)
def test_every_folder_is_an_edition_that_gives_the_same_report_again(demo: Demo, name: str, tmp_path: Path) -> None:
    command = ["report", str(demo.folder / name), "--out", str(tmp_path), "--no-pdf"]
    phase = ["--phase", PHASES[name]] if name in PHASES else []
    result = CliRunner().invoke(app, [*command, *phase])
    assert result.exit_code == 0, result.output
    made, first = (
        json.loads((path / "report.json").read_text("utf-8")) for path in (tmp_path, demo.folder / name / "report")
    )
    assert [s for s in made["sections"] if s["name"] != "methods"] == [
        s for s in first["sections"] if s["name"] != "methods"
    ]


def test_the_other_stream_and_pictures_of_doses(demo: Demo) -> None:
    index = (demo.folder / "index.html").read_text()
    for page in ("openkbp2020/leaderboard-dvh.html", "doserad2026/leaderboard-as-described.html"):
        assert f'href="{page}"' in index
        text = (demo.folder / page).read_text()
        assert text.count("dose-volume histograms of") == 2
        assert text.count("data:image/png") >= 6
    board = json.loads((demo.folder / "doserad2026" / "board.json").read_text())
    weights = {"run_time": 2.0}
    for row in board["rows"]:
        ranks = {part["metric"]: part["rank"] for part in row["components"]}
        total = sum(weights.get(metric, 1.0) * rank for metric, rank in ranks.items())
        assert row["score"] == pytest.approx(total / 7)
    assert "Where the rank comes from" in (demo.folder / "doserad2026" / "leaderboard.html").read_text()


def test_run_times_are_ranked_with_the_tables(demo: Demo, tmp_path: Path) -> None:
    home = demo.folder / "doserad2026"
    tables = [f"{path.stem}={path}" for path in sorted((home / "scores").glob("*.parquet"))]
    rank = ["rank", "doserad2026", *tables]
    times, out = str(home / "run_times.csv"), tmp_path / "board.json"
    result = CliRunner().invoke(app, [*rank, "--run-times", times, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_text() == (home / "board.json").read_text()
    without = CliRunner().invoke(app, rank)
    assert without.exit_code == 1
    assert "--run-times" in without.output
    (tmp_path / "bad.csv").write_text("submission,modality,seconds,images,beams\nGotthard,photon,-3,1,1\n")
    bad = CliRunner().invoke(app, [*rank, "--run-times", str(tmp_path / "bad.csv")])
    assert bad.exit_code == 1
    assert "line 2: seconds '-3'; expected a positive time" in bad.output


def test_benchmarks_have_no_rank(demo: Demo) -> None:
    rows = board_of(demo, "lung2019")
    assert [row["submission"] for row in rows if row["role"] == "benchmark"] == ["Observer B", "Region growing"]
    assert all((row["rank"] is None) == (row["role"] == "benchmark") for row in rows)


def test_the_lung_contest_has_bonuses_on_the_way_and_second_passes(demo: Demo) -> None:
    data = json.loads((demo.folder / "lung2019" / "report" / "report.json").read_text("utf-8"))
    tables = {block.get("name"): block for section in data["sections"] for block in section["blocks"]}
    won = {row[2]: row[1] for row in tables["awards"]["rows"]}
    # Titlis and Rigi come late, so that others led before.
    assert won["Best solution after the first week"] in {"Finsteraar", "Bernina"}
    assert won["Best solution after the second week"] in {"Finsteraar", "Bernina", "Titlis"}
    assert "nobody is known to have led" not in json.dumps(data)
    within = next(row for row in tables["in-brackets"]["rows"] if row[0] == "Within observers")
    assert "n = 2" in str(within[1])


def test_what_a_user_added_outlives_the_next_demo(demo: Demo) -> None:
    assert (demo.folder / "hecktor2020" / "mine.parquet").read_text() == "mine"
    assert not (demo.folder / "lung2019" / "submissions" / "stray.txt").exists()


def test_teams_of_openkbp_come_on_in_the_validation_phase(demo: Demo) -> None:
    data = json.loads((demo.folder / "openkbp2020" / "report" / "report.json").read_text("utf-8"))
    blocks = {block.get("name"): block for section in data["sections"] for block in section["blocks"]}
    curve = blocks["kbp-progress-validation-dose"]
    at = {name: position for position, name in enumerate(curve["columns"])}
    means = [row[at["mean"]] for row in curve["rows"]] if "mean" in at else []
    assert means == sorted(means, reverse=True)
    assert means[0] > 2 * means[-1]
