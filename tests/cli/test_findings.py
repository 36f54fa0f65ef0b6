"""`isocenter findings`, and `isocenter rank` of findings: intervals, times, choices, phases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isocenter import phantoms
from isocenter.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cohort of 24 exams, with the tables of two teams."""
    home = tmp_path_factory.mktemp("picai")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISOCENTER_CACHE", str(home / "cache"))
        cohort = phantoms.write_picai_cohort(home, cases=24)
        for team in ("Limmat", "Ticino", "Kander"):
            result = run(
                *("score", "picai2022", "--reference", cohort.reference, "--submission", cohort.submissions[team]),
                *("--out", home / f"{team}.parquet", "--workers", 1),
            )
            assert result.exit_code == 0, result.output
    return home


def test_everything_is_said_of_one_submission(scored: Path, tmp_path: Path) -> None:
    result = run(
        *("findings", "picai2022", scored / "Limmat.parquet", "--cases", scored / "reference" / "cases.csv"),
        *("--by", "center", "--by", "grade", "--replicates", 500, "--out", tmp_path / "f.json"),
        *("--html", tmp_path / "f.html"),
    )
    assert result.exit_code == 0, result.output
    for said in ("24 cases", "center Alder", "grade 3", "DeLong", "500 draws", "CPM", "IoU of"):
        assert said in result.stdout
    data = json.loads((tmp_path / "f.json").read_text())
    assert data["groups"]["all cases"]["cases"] == 24
    assert sum(group["cases"] for name, group in data["groups"].items() if name.startswith("center")) == 24
    assert (tmp_path / "f.html").read_text().count("<figure") == 3


def test_instances_are_averaged_and_counted(scored: Path) -> None:
    result = run("findings", "picai2022", scored / "Ticino.parquet", "--replicates", 100, "--json")
    summary = json.loads(result.stdout)["groups"]["all cases"]
    assert summary["instances"] == 5
    assert summary["intervals"]["delong"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("picai2022", "Kander.parquet"), 1, "there is no likelihood in PCA005: a score of the rest would hide that"),
        (("hecktor2020", "Limmat.parquet"), 2, "hecktor2020 is no challenge of detection"),
        (("picai2022", "Limmat.parquet", "--by", "center"), 1, "nothing is said of PCA001"),
        (("picai2022", "Limmat.parquet", "--by", "weather", "--cases", "cases.csv"), 1, "no case has a 'weather'"),
        (("picai2022", "Limmat.parquet", "--cases", "reads.csv", "--by", "age"), 1, "lists the case again"),
        (("picai2022", "Limmat.parquet", "--out", "f.csv"), 2, "should be a file that ends in .json"),
    ],
)
def test_what_cannot_be_said_says_why(scored: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    places = {"cases.csv": scored / "reference" / "cases.csv", "reads.csv": scored / "reads.csv"}
    places |= {f"{team}.parquet": scored / f"{team}.parquet" for team in ("Limmat", "Kander")}
    result = run("findings", *(places.get(argument, argument) for argument in arguments))
    assert result.exit_code == code
    assert message in " ".join(result.output.split())


def test_a_board_has_intervals_that_depend_on_the_seed_alone(scored: Path, tmp_path: Path) -> None:
    tables = [f"{team}={scored / team}.parquet" for team in ("Limmat", "Ticino", "Kander")]
    boards = []
    for seed in (3, 3, 4):
        out = tmp_path / "board.json"
        assert run("rank", "picai2022", *tables, "--seed", seed, "--replicates", 400, "--out", out).exit_code == 0
        boards.append(json.loads(out.read_text()))
    assert boards[0] == boards[1]
    assert boards[0] != boards[2]
    for row in boards[0]["rows"]:
        assert row["low"] < row["score"] < row["high"]
        assert [part["low"] < part["score"] for part in row["components"]] == [True, True]
    assert "Kander" not in json.dumps(boards)
    plain = run("rank", "picai2022", *tables, "--replicates", 0)
    assert "[" not in plain.stdout.partition("Rule")[0]
    assert "Kander is disqualified: 1 missing" in plain.output


def test_details_tell_who_beats_whom(scored: Path, tmp_path: Path) -> None:
    tables = [f"{team}={scored / team}.parquet" for team in ("Limmat", "Ticino")]
    details = tmp_path / "details.json"
    run("rank", "picai2022", *tables, "--organiser", "Ticino", "--replicates", 300, "--details", details)
    assert json.loads(details.read_text())["p_better"] == {"Limmat": {}}
    run("rank", "picai2022", *tables, "--replicates", 300, "--details", details)
    known = json.loads(details.read_text())
    assert known["p_better"]["Limmat"]["Ticino"] + known["p_better"]["Ticino"]["Limmat"] == pytest.approx(1)
    assert sum(known["teams"]["Limmat"]["ranks"].values()) == pytest.approx(1)
    assert known["kendall_tau"]["undefined"] == 0


def test_a_page_of_findings_has_the_curves_and_the_intervals(scored: Path, tmp_path: Path) -> None:
    page = tmp_path / "board.html"
    run("rank", "picai2022", f"Limmat={scored}/Limmat.parquet", "--replicates", 100, "--html", page)
    text = page.read_text()
    assert text.count("<figure") == 3
    assert 'class="bounds"' in text
    assert 'class="reach"' in text
    assert "How consistent each team is" not in text  # there is nothing to say case by case


def test_of_several_the_chosen_one_counts(scored: Path) -> None:
    several = [f"a={scored}/Limmat.parquet", f"a={scored}/Ticino.parquet"]
    lost = run("rank", "picai2022", *several)
    assert lost.exit_code == 1
    assert "a: of 2 submissions the one counts that the team chose, and none is named" in lost.output
    found = run("rank", "picai2022", *several, "--chosen", f"a={scored}/Ticino.parquet")
    assert "a: mean over 5 trained instances" in found.stdout
    wrong = run("rank", "picai2022", *several, "--chosen", "a=other.parquet")
    assert wrong.exit_code == 2
    assert "is none of the tables of a" in " ".join(wrong.output.split())


def test_the_rules_of_a_phase_hold_where_it_is_named(scored: Path, tmp_path: Path) -> None:
    assert run("init", "picai2022", tmp_path / "edition").exit_code == 0
    toml = tmp_path / "edition" / "challenge.toml"
    table = f"{scored}/Limmat.parquet"
    other = run("rank", tmp_path / "edition", f"a={table}", "--phase", "tuning")
    assert other.exit_code == 1
    assert "The phase tuning has 100 cases, the tables of a 24." in other.output
    toml.write_text(toml.read_text().replace("cases = 100\n", "cases = 24\n"))
    late = run("rank", tmp_path / "edition", f"a@2025-06-01T12:00:00Z={table}", "--phase", "tuning")
    assert "a: the submission of 2025-06-01T12:00:00+00:00 is not of the phase tuning." in late.output
    assert "0.8" not in late.stdout
    two = [f"a@2022-06-01T12:00:00Z={table}", f"a@2022-06-05T12:00:00Z={table}"]
    weekly = run("rank", tmp_path / "edition", *two, "--phase", "tuning", "--replicates", 0)
    assert "a: 2 submissions, of which the quota admits 1; the others do not count" in weekly.stdout
    undated = run("rank", tmp_path / "edition", f"a={table}", f"a={table}", "--phase", "tuning", "--replicates", 0)
    assert "the quota is 1 per week; it is not enforced" in " ".join(undated.output.split())
    lost = run("rank", tmp_path / "edition", f"a={table}", "--phase", "last")
    assert 'there is no phase "last"; there are tuning, testing, closed-testing' in str(lost.exception)
    none = run("rank", "picai2022", f"a={table}", "--phase", "tuning")
    assert "is no edition, so it has no phases" in " ".join(none.output.split())


@pytest.mark.parametrize("command", ["check", "score"])
def test_nobody_is_scored_on_the_cohort_of_another_phase(scored: Path, tmp_path: Path, command: str) -> None:
    run("init", "picai2022", tmp_path / "edition")
    out = ("--out", tmp_path / "t.parquet") if command == "score" else ()
    result = run(
        *(command, tmp_path / "edition", "--reference", scored / "reference"),
        *("--submission", scored / "submissions" / "Limmat", "--phase", "tuning", *out, "--workers", 1),
    )
    assert result.exit_code != 0
    assert "has 24 cases; the phase has 100" in " ".join(f"{result.output} {result.exception}".split())


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("a@2022-06-01T12:00:00={}", "has no zone"),
        ("a@2022-06-01T12:00Z={}", "some have none"),
        ("a@2022-06-31T12:00Z={}", "2022-06-31T12:00Z is no time"),
    ],
)
def test_times_are_told_whole_or_not_at_all(scored: Path, argument: str, message: str) -> None:
    table = f"{scored}/Limmat.parquet"
    result = run("rank", "picai2022", f"a={table}", argument.format(table))
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_an_at_sign_may_be_part_of_a_name(scored: Path) -> None:
    result = run("rank", "picai2022", f"us@home={scored}/Limmat.parquet", "--replicates", 0)
    assert "us@home" in result.stdout


def test_lesions_can_be_looked_at(scored: Path, tmp_path: Path) -> None:
    result = run(
        *("show", "picai2022", "--reference", scored / "reference", "--submission", scored / "submissions" / "Limmat"),
        *("--case", "PCA001", "--out", tmp_path / "show.html"),
    )
    assert result.exit_code == 0, result.output
    assert "what Limmat found" in (tmp_path / "show.html").read_text()
