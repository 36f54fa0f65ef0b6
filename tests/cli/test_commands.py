"""The command line as a person or a script meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import isocenter
from isocenter import scores
from isocenter.cli import app

EXECUTABLE = Path(sys.executable).with_name("isocenter")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def isocenter_process(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(EXECUTABLE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


@pytest.fixture
def where(reference: Path, submission: Path) -> list[Any]:
    return ["hecktor2020", "--reference", reference, "--submission", submission]


def test_check_of_a_good_submission_says_so_and_exits_0(where: list[Any]) -> None:
    result = run("check", *where)
    assert result.exit_code == 0
    assert "complete and well-formed" in result.stdout


def test_check_lists_all_problems_and_exits_1(where: list[Any], submission: Path) -> None:
    (submission / "CHUV001.nii.gz").unlink()
    (submission / "CHUV002.nii.gz").write_bytes(b"x")
    (submission / "CHUV099.nii.gz").write_bytes(b"x")
    result = run("check", *where)
    assert result.exit_code == 1
    assert "3 problems" in result.stdout
    for line in ("missing", "CHUV001", "CHUV002.nii.gz", "CHUV099"):
        assert line in result.stdout
    data = json.loads(run("check", *where, "--json").stdout)
    assert data["ok"] is False
    assert {p["case"] for p in data["problems"]} == {"CHUV001", "CHUV002", "CHUV099"}


def test_a_note_alone_is_no_problem(where: list[Any], submission: Path) -> None:
    (submission / "notes.txt").write_text("x")
    result = run("check", *where)
    assert result.exit_code == 0
    assert "notes.txt" in result.stdout


@pytest.mark.parametrize("workers", [1, 2])
def test_score_writes_the_table_and_its_record(where: list[Any], tmp_path: Path, workers: int) -> None:
    out = tmp_path / "new folder" / "team.parquet"
    result = run("score", *where, "--out", out, "--workers", workers)
    assert result.exit_code == 0, result.output
    assert "4 measured" in result.stdout
    assert scores.read(out).height == 4
    record = scores.read_record(out)
    assert record["challenge"] == "hecktor2020"
    assert record["policies"] == {"grid": "refuse"}
    assert sorted(p.name for p in out.parent.iterdir()) == ["team.parquet"]


def test_score_of_a_submission_with_a_bad_case_writes_the_others_and_exits_1(
    where: list[Any], submission: Path, tmp_path: Path
) -> None:
    (submission / "CHUV002.nii.gz").write_bytes(b"x")
    result = run("score", *where, "--out", tmp_path / "t.parquet", "--workers", 1)
    assert result.exit_code == 1
    assert "CHUV002.nii.gz" in result.stdout
    assert scores.read(tmp_path / "t.parquet").filter(metric="dice")["value"].null_count() == 1


def test_one_submission_is_scored_on_several_cohorts_in_one_run(
    where: list[Any], reference: Path, submission: Path, tmp_path: Path
) -> None:
    holdout = tmp_path / "holdout"
    holdout.mkdir()
    for name in ("CHUV003.nii.gz", "CHUV004.nii.gz"):
        (reference / name).rename(holdout / name)
    out = tmp_path / "edition" / "scores" / "team" / "1.parquet"
    ran = run("score", *where, "--reference", f"holdout={holdout}", "--out", out, "--workers", 1)
    assert ran.exit_code == 0, ran.output
    further = tmp_path / "edition" / "cohorts" / "holdout" / "scores" / "team" / "1.parquet"
    assert sorted(set(scores.read(out)["case"])) == ["CHUV001", "CHUV002"]
    assert sorted(set(scores.read(further)["case"])) == ["CHUV003", "CHUV004"]
    assert scores.read_record(out)["reference"] != scores.read_record(further)["reference"]
    assert "Cohort holdout" in ran.stdout
    assert "no case of the challenge has this name" not in ran.stdout
    # The numbers are those of a run against that reference alone.
    only = tmp_path / "only"
    only.mkdir()
    for name in ("CHUV003.nii.gz", "CHUV004.nii.gz"):
        (only / name).write_bytes((submission / name).read_bytes())
    alone = tmp_path / "alone.parquet"
    assert run("score", "hecktor2020", "--reference", holdout, "--submission", only, "--out", alone).exit_code == 0
    assert scores.read(alone).equals(scores.read(further))
    told = json.loads(run("score", *where, "--reference", f"holdout={holdout}", "--out", out, "--json").stdout)
    assert told["cohorts"]["holdout"]["out"] == str(further)
    # A file of no cohort is still a mistake.
    (submission / "CHUV099.nii.gz").write_bytes(b"x")
    assert "CHUV099" in run("score", *where, "--reference", f"holdout={holdout}", "--out", out).stdout


def test_outputs_for_a_further_cohort_may_lie_elsewhere(where: list[Any], submission: Path, tmp_path: Path) -> None:
    (tmp_path / "external").mkdir()
    (tmp_path / "outputs").mkdir()
    content = (submission / "CHUV001.nii.gz").read_bytes()
    for folder in ("external", "outputs"):
        (tmp_path / folder / "EXT1.nii.gz").write_bytes(content)
    further = ["--reference", f"external={tmp_path / 'external'}", "--submission", f"external={tmp_path / 'outputs'}"]
    ran = run("score", *where, *further, "--out", tmp_path / "t.parquet", "--workers", 1)
    assert ran.exit_code == 0, ran.output
    assert scores.read(tmp_path / "cohorts" / "external" / "scores" / "t.parquet")["value"].to_list() == [1.0]


def test_a_cohort_that_cannot_be_scored_leaves_no_table_of_any(
    where: list[Any], submission: Path, tmp_path: Path
) -> None:
    (tmp_path / "external").mkdir()
    (tmp_path / "external" / "EXT1.nii.gz").write_bytes((submission / "CHUV001.nii.gz").read_bytes())
    (tmp_path / "nothing").mkdir()
    further = ["--reference", f"external={tmp_path / 'external'}", "--submission", f"external={tmp_path / 'nothing'}"]
    assert run("score", *where, *further, "--out", tmp_path / "t.parquet", "--workers", 1).exit_code == 1
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--reference", "holdout=nowhere"], "does not exist"),
        (["--reference", "."], "two paths have no name"),
        (["--submission", "holdout=."], "there is no reference holdout"),
    ],
)
def test_a_cohort_that_is_named_wrongly_is_said(
    where: list[Any], tmp_path: Path, more: list[str], message: str
) -> None:
    ran = run("score", *where, *more, "--out", tmp_path / "t.parquet")
    assert ran.exit_code == 2
    assert message in ran.output


def test_score_of_a_refused_submission_writes_nothing(where: list[Any], submission: Path, tmp_path: Path) -> None:
    for path in submission.iterdir():
        path.unlink()
    result = run("score", *where, "--out", tmp_path / "t.parquet")
    assert result.exit_code == 1
    assert "nothing was scored" in result.output
    assert not (tmp_path / "t.parquet").exists()
    data = json.loads(run("score", *where, "--out", tmp_path / "t.parquet", "--json").stdout)
    assert data["problems"][0]["severity"] == "refused"


def test_rank_prints_a_board_and_writes_json_and_a_page(where: list[Any], tmp_path: Path, submission: Path) -> None:
    run("score", *where, "--out", tmp_path / "a.parquet")
    (submission / "CHUV001.nii.gz").unlink()
    run("score", *where, "--out", tmp_path / "b.parquet")
    tables = [f"alpha={tmp_path / 'a.parquet'}", f"beta={tmp_path / 'b.parquet'}", f"org={tmp_path / 'a.parquet'}"]
    result = run("rank", "hecktor2020", *tables, "--organiser", "org", "--out", tmp_path / "board.json")
    assert result.exit_code == 0, result.output
    assert result.stdout.index("alpha") < result.stdout.index("beta")
    assert "org" not in (tmp_path / "board.json").read_text()
    data = json.loads((tmp_path / "board.json").read_text())
    assert [(row["submission"], row["rank"], row["missing"]) for row in data["rows"]] == [
        ("alpha", 1, 0),
        ("beta", 2, 1),
    ]
    assert json.loads(run("rank", "hecktor2020", *tables, "--organiser", "org", "--json").stdout) == data
    run("rank", "hecktor2020", *tables, "--organiser", "org", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "alpha" in page


def test_a_team_named_again_adds_a_later_submission(where: list[Any], tmp_path: Path, submission: Path) -> None:
    run("score", *where, "--out", tmp_path / "1.parquet")
    (submission / "CHUV001.nii.gz").unlink()
    run("score", *where, "--out", tmp_path / "2.parquet")
    first, second = (f"a={tmp_path / name}" for name in ("1.parquet", "2.parquet"))
    assert json.loads(run("rank", "hecktor2020", first, second, "--json").stdout)["rows"][0]["missing"] == 1
    assert json.loads(run("rank", "hecktor2020", second, first, "--json").stdout)["rows"][0]["missing"] == 0
    over = json.loads(run("rank", "hecktor2020", *[first] * 5, second, "--json").stdout)
    assert over["rows"][0]["missing"] == 0
    assert "quota admits 5" in over["notes"][0]


def test_tables_of_different_references_are_not_ranked_together(
    where: list[Any], tmp_path: Path, reference: Path, submission: Path
) -> None:
    run("score", *where, "--out", tmp_path / "a.parquet")
    (reference / "CHUV001.nii.gz").write_bytes((reference / "CHUV002.nii.gz").read_bytes())
    run("score", *where, "--out", tmp_path / "b.parquet")
    result = run("rank", "hecktor2020", f"a={tmp_path / 'a.parquet'}", f"b={tmp_path / 'b.parquet'}")
    assert result.exit_code == 1
    assert "one and the same reference" in result.stderr


def test_an_edition_is_started_validated_and_used_in_place_of_a_name(where: list[Any], tmp_path: Path) -> None:
    assert run("init", "hecktor2020", tmp_path / "edition").exit_code == 0
    text = (tmp_path / "edition" / "challenge.toml").read_text()
    assert text.count("#") > 10
    assert run("validate", tmp_path / "edition").exit_code == 0
    assert run("check", tmp_path / "edition", *where[1:]).exit_code == 0
    (tmp_path / "edition" / "challenge.toml").write_text(text.replace('counts = "last"', 'counts = "lst"'))
    result = run("validate", tmp_path / "edition")
    assert result.exit_code == 1
    line = next(i for i, line in enumerate(text.splitlines(), 1) if line.startswith("counts"))
    assert f"challenge.toml:{line}" in result.stdout
    assert '"last"' in result.stdout
    assert json.loads(run("validate", tmp_path / "edition", "--json").stdout)["problems"][0]["line"] == line


def test_the_grid_policy_of_an_edition_is_in_force(where: list[Any], tmp_path: Path) -> None:
    run("init", "hecktor2020", tmp_path / "edition")
    path = tmp_path / "edition" / "challenge.toml"
    path.write_text(path.read_text().replace('grid = "refuse"', 'grid = "resample"'))
    run("score", tmp_path / "edition", *where[1:], "--out", tmp_path / "a.parquet")
    assert scores.read_record(tmp_path / "a.parquet")["policies"]["grid"] == "resample"
    run("score", tmp_path / "edition", *where[1:], "--out", tmp_path / "a.parquet", "--grid", "trust-index")
    assert scores.read_record(tmp_path / "a.parquet")["policies"]["grid"] == "trust-index"


def test_a_challenge_that_does_not_rank_by_run_time_takes_none(where: list[Any], tmp_path: Path) -> None:
    run("score", *where, "--out", tmp_path / "a.parquet")
    (tmp_path / "times.csv").write_text("submission,seconds\n")
    result = run("rank", "hecktor2020", f"a={tmp_path / 'a.parquet'}", "--run-times", tmp_path / "times.csv")
    assert result.exit_code == 2
    assert "does not rank by run time" in " ".join(result.output.replace("│", " ").split())


def test_the_demo_does_not_touch_a_folder_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("precious")
    result = run("demo", tmp_path)
    assert result.exit_code == 2
    assert os.listdir(tmp_path) == ["thesis.doc"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "hektor2020", "--reference", ".", "--submission", "."], "did you mean hecktor2020"),
        (["check", "hecktor2020", "--reference", "nowhere", "--submission", "."], "nowhere"),
        (["check", "hecktor2020", "--reference", ".", "--submission", ".", "--grid", "maybe"], "trust-index"),
        (["score", "hecktor2020", "--reference", ".", "--submission", ".", "--out", "x.csv"], ".parquet"),
        (["rank", "hecktor2020", "team.parquet"], "TEAM=TABLE"),
        (["rank", "hecktor2020", "a=nowhere.parquet"], "nowhere.parquet"),
        (["init", "hektor", "x"], "no challenge is called 'hektor'"),
        (["frobnicate"], "frobnicate"),
        (["validate", "nowhere"], "nowhere"),
    ],
)
def test_wrong_usage_exits_2_with_a_sentence_and_no_traceback(arguments: list[str], words: str, tmp_path: Path) -> None:
    result = isocenter_process(*arguments)
    assert result.returncode == 2, result
    assert words in result.stderr.replace("\n", "").replace("│", "") or words in result.stderr
    assert "Traceback" not in result.stderr


def test_version_help_and_the_list_of_challenges() -> None:
    assert isocenter_process("--version").stdout == f"isocenter {isocenter.__version__}\n"
    for command in ("check", "score", "rank", "init", "validate", "demo"):
        assert "Example: isocenter" in isocenter_process(command, "--help", COLUMNS="200").stdout
    assert json.loads(run("challenges", "--json").stdout)["hecktor2020"].startswith("HECKTOR 2020")
    assert "hecktor2020" in run("challenges").stdout


def test_shells_can_complete_commands_and_challenges() -> None:
    words = {"_ISOCENTER_COMPLETE": "complete_bash", "COMP_WORDS": "isocenter check heck", "COMP_CWORD": "2"}
    assert isocenter_process(**words).stdout.split() == ["hecktor2020"]
    words |= {"COMP_WORDS": "isocenter val", "COMP_CWORD": "1"}
    assert isocenter_process(**words).stdout.split() == ["validate"]


@pytest.mark.parametrize("what", ["import isocenter", "from isocenter.cli import app"])
def test_nothing_heavy_is_imported_before_it_is_needed(what: str) -> None:
    heavy = "{'numpy', 'polars', 'pydantic', 'SimpleITK', 'jinja2', 'numba', 'scipy', 'zlib_ng'}"
    code = f"import sys; {what}; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_a_board_is_never_written_over_a_table(where: list[Any], tmp_path: Path) -> None:
    table = tmp_path / "a.parquet"
    run("score", *where, "--out", table)
    before = table.read_bytes()
    for option in ("--out", "--html"):
        assert run("rank", "hecktor2020", f"a={table}", option, table).exit_code == 2
    assert table.read_bytes() == before
    result = run("rank", "hecktor2020", f"a={table}", "--out", tmp_path / "b.json", "--html", tmp_path / "b.html")
    assert f"Written to {tmp_path / 'b.json'}" in result.stdout


def test_boards_and_teams_that_there_are_not_are_wrong_usage(where: list[Any], tmp_path: Path) -> None:
    run("score", *where, "--out", tmp_path / "a.parquet")
    for wrong in (["--board", "gold"], ["--organiser", "nobody"], ["--benchmark", "nobody"]):
        assert run("rank", "hecktor2020", f"a={tmp_path / 'a.parquet'}", *wrong).exit_code == 2


def test_different_policies_are_noted(where: list[Any], tmp_path: Path) -> None:
    run("score", *where, "--out", tmp_path / "a.parquet")
    run("score", *where, "--out", tmp_path / "b.parquet", "--grid", "resample")
    result = run("rank", "hecktor2020", *(f"{n}={tmp_path / n}.parquet" for n in "ab"))
    assert result.exit_code == 0
    assert "under different policies" in result.stderr


def test_a_folder_with_the_name_of_a_challenge_does_not_hide_it(
    where: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hecktor2020").mkdir()
    assert run("check", *where).exit_code == 0


def test_a_missing_value_that_would_win_is_refused(tmp_path: Path) -> None:
    run("init", "hecktor2020", tmp_path)
    path = tmp_path / "challenge.toml"
    path.write_text(path.read_text().replace("missing = 0", "missing = 1"))
    result = run("validate", tmp_path)
    assert result.exit_code == 1
    assert "a missing case would beat every other" in result.stdout
