"""`isocenter ensemble` and `isocenter agreement`, as a person or a script meets them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

import isocenter
from isocenter import scores
from isocenter.cli import app
from isocenter.volumes import Volume, read, write


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def teams(tmp_path: Path, submission: Path) -> dict[str, Path]:
    """Three teams; the second moved every mask one voxel along x, the third one along y."""
    found = {"a": submission}
    for axis, name in enumerate(["b", "c"]):
        found[name] = Path(shutil.copytree(submission, tmp_path / name))
        for path in found[name].iterdir():
            volume = read(path)
            write(Volume(np.roll(volume.array, 1, axis=axis), volume.grid), path)
    return found


@pytest.fixture
def where(reference: Path, teams: dict[str, Path]) -> list[Any]:
    return ["hecktor2020", "--reference", reference, *(f"{name}={path}" for name, path in teams.items())]


@pytest.fixture
def later(tmp_path: Path, reference: Path, teams: dict[str, Path]) -> list[Any]:
    """The same teams on other patients: everything moved by two slices."""

    def moved(folder: Path) -> Path:
        new = Path(shutil.copytree(folder, tmp_path / "holdout" / folder.name))
        for path in new.iterdir():
            volume = read(path)
            write(Volume(np.roll(volume.array[::-1], 1, axis=2), volume.grid), path)
        (new / "CHUV004.nii.gz").unlink()  # the whole grid, which does not move
        return new

    options = ["--holdout-reference", moved(reference)]
    for name, path in teams.items():
        options += ["--holdout", f"{name}={moved(path)}"]
    return options


def test_the_best_of_all_ensembles_is_shown_with_a_warning(where: list[Any]) -> None:
    result = run("ensemble", *where)
    assert result.exit_code == 0, result.output
    assert "the best of 12" in result.stdout
    assert "chosen and measured on the same cases; on others expect less" in result.stdout
    assert "1of(a)" in result.stdout


def test_json_says_the_same_and_names_every_policy(where: list[Any]) -> None:
    data = json.loads(run("ensemble", *where, "--json").stdout)
    assert data["candidates"] == 12
    assert data["policies"] == {"grid": "refuse", "missing_votes": "background"}
    best = data["combinations"][0]
    assert best["name"] == data["chosen"]
    assert best["dice"] == max(line["dice"] for line in data["combinations"])
    assert data["votes"]["b"] == {"voted": 4, "missing": 0, "failed": 0}


def test_the_choice_is_confirmed_on_the_holdout_and_its_table_and_masks_are_from_there(
    where: list[Any], later: list[Any], tmp_path: Path
) -> None:
    out, masks = tmp_path / "e.parquet", tmp_path / "masks"
    result = run("ensemble", *where, *later, "--out", out, "--write", masks, "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    table = scores.read(out)
    assert table["submission"].unique().to_list() == [data["chosen"]]
    assert table["case"].to_list() == ["CHUV001", "CHUV002", "CHUV003"]
    assert table["value"].mean() == pytest.approx(data["holdout"]["dice"])
    scored = isocenter.evaluate("hecktor2020", reference=later[1], submission=masks)
    assert table.drop("submission").equals(scored)
    assert "on the holdout, which had no part in the choice" in run("ensemble", *where, *later).stdout


def test_only_the_chosen_ensemble_and_single_submissions_are_measured_on_the_holdout(
    where: list[Any], later: list[Any]
) -> None:
    data = json.loads(run("ensemble", *where, *later, "--json").stdout)
    measured = {line["name"] for line in data["combinations"] if line["holdout"] is not None}
    assert measured == {data["chosen"], "1of(a)", "1of(b)", "1of(c)"}


def test_without_further_options_majority_and_hierarchical_vote_are_shown_too(where: list[Any]) -> None:
    shown, alone = (
        {
            line["name"]: line["dice"]
            for line in json.loads(run("ensemble", *where, *options, "--json").stdout)["combinations"]
        }
        for options in ([], ["--method", "hierarchical"])
    )
    assert alone.keys() == {"hierarchical(a,b,c)", "hierarchical(a,b,c) tumour", "hierarchical(a,b,c) nodes"}
    assert {name: shown[name] for name in alone} == alone
    assert shown["majority: 2of(a,b,c)"] is not None


def test_the_cases_of_the_choice_do_not_confirm_it(where: list[Any], reference: Path, teams: dict[str, Path]) -> None:
    again = [option for name, path in teams.items() for option in ("--holdout", f"{name}={path}")]
    result = run("ensemble", *where, "--holdout-reference", reference, *again)
    assert result.exit_code == 1
    assert "that confirms nothing" in result.output


def test_all_scores_are_a_table_that_ranks_with_those_of_teams(
    where: list[Any], reference: Path, submission: Path, tmp_path: Path
) -> None:
    run("ensemble", *where, "--out", tmp_path / "all.parquet")
    table = scores.read(tmp_path / "all.parquet")
    assert table["submission"].n_unique() == 12
    run("ensemble", *where, "--ensemble", "2of(a,b,c)", "--out", tmp_path / "one.parquet")
    run("score", "hecktor2020", "--reference", reference, "--submission", submission, "--out", tmp_path / "a.parquet")
    assert scores.read(tmp_path / "one.parquet").equals(table.filter(submission="2of(a,b,c)"))
    records = [scores.read_record(tmp_path / name) for name in ("one.parquet", "a.parquet")]
    assert records[0]["reference"] == records[1]["reference"]
    ranked = run(
        "rank", "hecktor2020", f"a={tmp_path / 'a.parquet'}", f"e={tmp_path / 'one.parquet'}", "--benchmark", "e"
    )
    assert ranked.exit_code == 0, ranked.output


@pytest.mark.parametrize(
    "combination",
    [
        (["--method", "majority"], "2of(a,b,c)", {"ties": "foreground"}),
        (["--method", "majority", "--ties", "background"], "2of(a,b,c)", {"ties": "background"}),
        (["--method", "staple"], "staple(a,b,c)", {"field_of_view": "image"}),
        (["--method", "staple", "--field-of-view", "box"], "staple(a,b,c)", {"field_of_view": "box"}),
        (
            ["--method", "hierarchical", "--severity", "nodes,tumour"],
            "hierarchical(a,b,c)",
            {"ties": "foreground", "severity": [2, 1]},
        ),
        (["--method", "hierarchical"], "hierarchical(a,b,c)", {"ties": "foreground", "severity": [2, 1]}),
        (["--ensemble", "1of(b, a)"], "1of(a,b)", {}),
    ],
    ids=str,
)
def test_one_combination_is_scored_written_and_recorded(
    where: list[Any], reference: Path, tmp_path: Path, combination: tuple[list[str], str, dict[str, Any]]
) -> None:
    options, name, policies = combination
    out, masks = tmp_path / "e.parquet", tmp_path / "masks"
    result = run("ensemble", *where, *options, "--out", out, "--write", masks, "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["chosen"] == name
    assert data["policies"] == {"grid": "refuse", "missing_votes": "background"} | policies
    assert scores.read_record(out)["policies"] == data["policies"]
    table = scores.read(out).filter(part="")
    assert table["submission"].unique().to_list() == [name]
    scored = isocenter.evaluate("hecktor2020", reference=reference, submission=masks)
    assert table.drop("submission").equals(scored)


def test_staple_reports_what_it_thinks_of_the_voters(where: list[Any]) -> None:
    data = json.loads(run("ensemble", *where, "--method", "staple", "--json").stdout)
    assert set(data["staple"]) == {"CHUV001", "CHUV002", "CHUV003", "CHUV004"}
    assert set(data["staple"]["CHUV001"]["sensitivity"]) == {"a", "b", "c"}
    assert data["staple"]["CHUV001"]["prior"] == pytest.approx(64 / 960)


def test_an_oracle_is_called_one_and_has_no_masks(where: list[Any], tmp_path: Path) -> None:
    result = run("ensemble", *where, "--method", "best-case", "--out", tmp_path / "o.parquet")
    assert result.exit_code == 0, result.output
    assert "oracle: best solution per case" in result.stdout
    assert "looks at the truth" in result.stdout
    assert scores.read(tmp_path / "o.parquet")["submission"].n_unique() == 2
    refused = run("ensemble", *where, "--method", "best-case", "--write", tmp_path / "masks")
    assert refused.exit_code == 2
    assert not (tmp_path / "masks").exists()


def test_missing_masks_are_listed_and_counted_and_unusable_ones_end_with_1(
    where: list[Any], teams: dict[str, Path]
) -> None:
    (teams["b"] / "CHUV001.nii.gz").unlink()
    result = run("ensemble", *where, "--method", "majority")
    assert result.exit_code == 0
    assert "b votes background in 1 of 4 cases (1 missing)" in result.stdout
    assert "expected CHUV001.nii.gz" in result.stdout
    (teams["b"] / "CHUV002.nii.gz").write_bytes(b"x")
    result = run("ensemble", *where, "--method", "majority")
    assert result.exit_code == 1
    assert "b votes background in 2 of 4 cases (1 missing, 1 failed)" in result.stdout


def test_a_wrong_folder_is_refused_with_its_name(where: list[Any], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = run("ensemble", *where, f"nobody={tmp_path / 'empty'}")
    assert result.exit_code == 1
    assert "nobody: empty" in result.stdout
    assert "nothing was combined" in result.output
    data = json.loads(run("ensemble", *where, f"nobody={tmp_path / 'empty'}", "--json").stdout)
    assert data["problems"][0]["severity"] == "refused"


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (["nonsense"], "should be NAME=SUBMISSION"),
        (["x=not-there"], "not-there does not exist"),
        (["a={a}"], "'a' is there twice"),
        (["--method", "magic"], "magic"),
        (["--ensemble", "2of(a,z)"], "z is not among the submissions"),
        (["--ensemble", "best"], "is not an ensemble"),
        (["--ensemble", "1of(a)", "--method", "staple"], "--method another"),
        (["--out", "table.csv"], ".parquet"),
        (["--write", "{a}"], "is not an empty folder"),
        (["--method", "hierarchical", "--severity", "nodes"], "tumour (1), nodes (2)"),
        (["--holdout", "a={a}"], "--holdout-reference"),
        (["--holdout-reference", "{a}"], "a, b, c not given"),
        (["--holdout-reference", "{a}", "--method", "majority"], "nothing is chosen here"),
        (["--grid", "guess"], "guess"),
    ],
    ids=str,
)
def test_wrong_usage_says_what_is_wrong_and_exits_2(
    where: list[Any], teams: dict[str, Path], extra: list[str], said: str
) -> None:
    result = run("ensemble", *where, *(option.format(a=teams["a"]) for option in extra))
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.replace("│", " ").split())


def test_a_name_that_cannot_stand_in_an_ensemble_is_refused(where: list[Any], teams: dict[str, Path]) -> None:
    result = run("ensemble", *where, f"x|y={teams['a']}")
    assert result.exit_code == 1
    assert "cannot be the name of a voter" in result.output


def test_workers_change_nothing(where: list[Any], tmp_path: Path) -> None:
    for workers in (1, 2):
        run("ensemble", *where, "--out", tmp_path / f"{workers}.parquet", "--workers", workers)
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()


def test_the_order_of_submissions_changes_nothing(where: list[Any], tmp_path: Path) -> None:
    run("ensemble", *where, "--out", tmp_path / "1.parquet")
    run("ensemble", *where[:3], *reversed(where[3:]), "--out", tmp_path / "2.parquet")
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()


def test_agreement_shows_the_matrix_and_the_hardest_cases(where: list[Any], teams: dict[str, Path]) -> None:
    names = where[3:]
    result = run("agreement", "hecktor2020", *names)
    assert result.exit_code == 0, result.output
    assert "against each other" in result.stdout
    data = json.loads(run("agreement", "hecktor2020", *names, "--json").stdout)
    assert data["names"] == ["a", "b", "c"]
    assert [data["mean"][i][i] for i in range(3)] == [1.0, 1.0, 1.0]
    assert data["mean"][0][1] == data["mean"][1][0] < 1
    assert data["compared"][0][1] == 4
    means = [case["mean"] for case in data["cases"]]
    assert means == sorted(means)


def test_agreement_with_a_reference_measures_against_it(where: list[Any], expected_dice: dict[str, float]) -> None:
    data = json.loads(run("agreement", *where, "--json").stdout)
    assert data["names"] == ["reference", "a", "b", "c"]
    assert data["mean"][0][1] == pytest.approx(sum(expected_dice.values()) / 4)
    assert "against the reference" in run("agreement", *where).stdout


def test_agreement_writes_all_pairs_and_counts_who_skipped_a_case(
    where: list[Any], teams: dict[str, Path], tmp_path: Path
) -> None:
    (teams["c"] / "CHUV003.nii.gz").unlink()
    result = run("agreement", *where, "--out", tmp_path / "pairs.parquet")
    assert result.exit_code == 0, result.output
    assert "c is left out in 1 of 4 cases (1 missing)" in result.stdout
    table = scores.read(tmp_path / "pairs.parquet")
    pairs = ["a|b", "a|c", "b|c", "reference|a", "reference|b", "reference|c"]
    assert sorted(table.filter(case="CHUV001")["part"]) == pairs
    assert table.filter(pl.col("value").is_null())["part"].to_list() == ["reference|c", "a|c", "b|c"]


def test_agreement_takes_two(teams: dict[str, Path]) -> None:
    assert run("agreement", "hecktor2020", f"a={teams['a']}").exit_code == 2
    assert run("agreement", "hecktor2020", f"a={teams['a']}", f"b={teams['b']}", "--out", "x.csv").exit_code == 2


def test_nothing_heavy_is_imported_before_a_command_runs() -> None:
    code = "import sys, isocenter.cli; print([m for m in ('numpy', 'polars', 'numba', 'scipy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("command", ["ensemble", "agreement"])
def test_help_has_an_example(command: str) -> None:
    assert f"Example: isocenter {command} hecktor2020" in run(command, "--help").stdout
