"""The folder of an edition: what is found in it, and what is said of one that no report can be made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.papers.conftest import MakeEdition, write_scores

from isocenter.editions import EditionError
from isocenter.papers import FolderError, Settings, Study, open_folder, read_rows


def test_without_a_list_every_table_is_the_submission_of_a_team(make_edition: MakeEdition) -> None:
    found = open_folder(make_edition())
    assert [entry.team for entry in found.entries] == ["team-0", "team-1", "team-2", "team-3"]
    assert found.phase == "test"


def test_a_folder_of_tables_holds_the_submissions_of_one_team_in_their_order(make_edition: MakeEdition) -> None:
    home = make_edition({"alone": [0.5, 0.6]})
    for number in (2, 1):
        write_scores(home, f"many/{number}", [0.1 * number, 0.2])
    entries = [entry for entry in open_folder(home).entries if entry.team == "many"]
    assert [entry.table.stem for entry in entries] == ["1", "2"]


def test_a_list_says_who_submitted_what_when_and_as_what(make_edition: MakeEdition) -> None:
    text = (
        "team,table,phase,time,role,void,builds_on\n"
        "team-0,scores/team-0.parquet,test,2020-09-02T12:00:00+02:00,,,\n"
        "team-1,scores/team-1.parquet,,,benchmark,yes,team-0; team-3\n"
    )
    first, second = open_folder(make_edition(submissions_csv=text)).entries
    assert first.moment is not None
    assert first.moment.isoformat() == "2020-09-02T12:00:00+02:00"
    assert (second.phase, second.role, second.void, second.builds_on) == (
        "test",
        "benchmark",
        True,
        ("team-0", "team-3"),
    )


def test_everything_that_is_wrong_with_a_list_is_said_at_once(make_edition: MakeEdition) -> None:
    text = (
        "team,table,phase,time,role,void\n"
        "team-0,scores/nothing.parquet,test,,,\n"
        "team-1,scores/team-1.parquet,final,yesterday,king,perhaps\n"
        ",scores/team-2.parquet,test,2020-09-02T12:00:00,,\n"
    )
    with pytest.raises(FolderError) as error:
        open_folder(make_edition(submissions_csv=text))
    said = str(error.value)
    for part in (
        "no score table",
        "'final'; there are test",
        "'yesterday' is no time",
        "'king' is none of team, organiser, benchmark",
        "'perhaps' is neither yes nor no",
        "row 3: a submission has a team and a table",
        "has no time zone",
    ):
        assert part in said, part


def test_a_column_that_nobody_knows_is_named(make_edition: MakeEdition) -> None:
    with pytest.raises(FolderError, match="'teem' is none of its columns"):
        open_folder(make_edition(submissions_csv="teem,team,table\na,b,c\n"))


def test_tables_of_two_references_do_not_belong_together(make_edition: MakeEdition) -> None:
    from isocenter import scores

    home = make_edition()
    table = scores.read(home / "scores" / "team-1.parquet")
    scores.write(table, home / "scores" / "team-1.parquet", record={"challenge": "hecktor2020", "reference": "s" * 64})
    with pytest.raises(FolderError, match="against another"):
        open_folder(home)


def test_a_folder_without_tables_says_how_to_make_one(make_edition: MakeEdition) -> None:
    with pytest.raises(FolderError, match="isocenter score"):
        open_folder(make_edition({}))


def test_a_folder_without_an_edition_and_an_unknown_phase_are_said(make_edition: MakeEdition, tmp_path: Path) -> None:
    with pytest.raises((EditionError, OSError), match=r"challenge\.toml"):
        open_folder(tmp_path)
    with pytest.raises(EditionError, match='no phase "final"'):
        open_folder(make_edition(), phase="final")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("\ufeffcase;centre\r\nA ; CHUV\r\n\r\n", [{"case": "A", "centre": "CHUV"}]),
        ('case,centre\n"A, B",x\n', [{"case": "A, B", "centre": "x"}]),
        ("", []),
    ],
)
def test_tables_of_spreadsheets_are_read_as_they_come(tmp_path: Path, text: str, rows: list[dict[str, str]]) -> None:
    path = tmp_path / "cases.csv"
    path.write_bytes(text.encode())
    assert read_rows(path) == rows


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"case,centre\nA\n", "line 2: 1 cells, the heading has 2"),
        (b"case,case\nA,B\n", "two columns are called 'case'"),
        ("case\nä\n".encode("latin-1"), "not a text in UTF-8"),
    ],
)
def test_a_broken_table_is_named_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "cases.csv"
    path.write_bytes(content)
    with pytest.raises(FolderError, match=said):
        read_rows(path)


def test_facts_are_those_beside_the_edition(make_edition: MakeEdition) -> None:
    found = open_folder(make_edition(cases_csv="case,centre\nCHUV001,A\nCHUV002,B\n"))
    assert found.facts() == {"CHUV001": {"centre": "A"}, "CHUV002": {"centre": "B"}}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,scores/team-0.parquet,,2019-01-01T00:00:00Z,,", "is not in the phase test"),
        ("a,scores/team-0.parquet,,,,yes\na,scores/team-1.parquet,,,,yes", "a chose 2 submissions of test, not one"),
        ("a,scores/team-0.parquet,,,yes,yes", "cannot be the chosen one"),
        ("a,scores/team-0.parquet,,,,\na,scores/team-0.parquet,,,,", "team-0.parquet is listed 2 times in test"),
    ],
)
def test_a_list_that_contradicts_itself_or_its_phase_is_refused(
    make_edition: MakeEdition, rows: str, said: str
) -> None:
    with pytest.raises(FolderError, match=said):
        open_folder(make_edition(submissions_csv=f"team,table,phase,time,void,chosen\n{rows}\n"))


def test_a_team_has_one_role(make_edition: MakeEdition) -> None:
    text = "team,table,role\na,scores/team-0.parquet,organiser\na,scores/team-1.parquet,team\n"
    with pytest.raises(FolderError, match="a is organiser and team in test: a team has one role"):
        open_folder(make_edition(submissions_csv=text))


def test_what_came_too_late_may_be_listed_as_void(make_edition: MakeEdition) -> None:
    text = (
        "team,table,time,void\na,scores/team-0.parquet,2020-09-02T12:00:00Z,\n"
        "a,scores/team-1.parquet,2021-01-01T00:00:00Z,yes\n"
    )
    assert [entry.void for entry in open_folder(make_edition(submissions_csv=text)).entries] == [False, True]


@pytest.mark.parametrize("team", ["../reference", "..", "/etc", "x" * 300])
def test_the_name_of_a_team_is_no_path(make_edition: MakeEdition, team: str) -> None:
    home = make_edition(submissions_csv=f"team,table\n{team},scores/team-0.parquet\n")
    (home / "submissions").mkdir()
    (home / "reference").mkdir()
    assert open_folder(home).entries[0].outputs is None


def test_the_name_of_a_table_is_no_pattern(make_edition: MakeEdition) -> None:
    from isocenter import scores

    home = make_edition({"Team A": [0.9, 0.9], "Team [A]": [0.5, 0.5]})
    assert scores.read(home / "scores" / "Team [A].parquet")["value"].to_list() == [0.5, 0.5]


def test_a_case_with_two_lines_is_named(make_edition: MakeEdition) -> None:
    with pytest.raises(FolderError, match="'CHUV001' has more than one line"):
        open_folder(make_edition(cases_csv="case,centre\nCHUV001,A\nCHUV001,B\n"))


def test_a_line_break_within_quotes_is_kept_and_an_open_quote_is_named(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text('team,answer\na,"first\nsecond"\n', encoding="utf-8")
    assert read_rows(path) == [{"team": "a", "answer": "first\nsecond"}]
    path.write_text('team,answer\n\na,"open\n', encoding="utf-8")
    with pytest.raises(FolderError, match=r"survey\.csv, line \d"):
        read_rows(path)


def _score_cohort(home: Path, cohort: str, values: dict[str, list[float | None]]) -> None:
    for team, dice in values.items():
        write_scores(home / "cohorts" / cohort, team, dice)


def test_further_cohorts_are_the_same_submissions_with_other_tables(make_edition: MakeEdition) -> None:
    home = make_edition(
        submissions_csv="team,table,time,role\n"
        "team-0,scores/team-0.parquet,2020-09-02T12:00:00+02:00,\n"
        "team-1,scores/team-1.parquet,,benchmark\n"
        "team-2,scores/team-2.parquet,,\n"
    )
    _score_cohort(home, "holdout", {"team-0": [0.1, 0.2], "team-1": [0.3, 0.4]})
    _score_cohort(home, "external", {"team-0": [0.9]})
    (home / "cohorts" / "external" / "cases.csv").write_text("case,centre\nCHUV001,elsewhere\n")
    folder = open_folder(home)
    assert sorted(folder.cohorts) == ["external", "holdout"]
    holdout = folder.cohorts["holdout"]
    assert [(entry.team, entry.role) for entry in holdout.entries] == [("team-0", "team"), ("team-1", "benchmark")]
    assert holdout.entries[0].moment == folder.entries[0].moment
    assert holdout.entries[0].table == home / "cohorts" / "holdout" / "scores" / "team-0.parquet"
    assert folder.cohorts["external"].facts() == {"CHUV001": {"centre": "elsewhere"}}
    assert holdout.facts() == {}
    boards = {name: study.main.board for name, study in Study(folder, Settings(replicates=0)).cohorts.items()}
    assert [(row.submission, row.score) for row in boards["holdout"].rows if row.rank] == [
        ("team-0", pytest.approx(0.15))
    ]


def test_a_folder_without_further_cohorts_has_none(make_edition: MakeEdition) -> None:
    assert open_folder(make_edition()).cohorts == {}


def test_tables_of_a_cohort_that_belong_to_no_submission_and_empty_cohorts_are_named(make_edition: MakeEdition) -> None:
    home = make_edition()
    _score_cohort(home, "holdout", {"team-0": [0.1], "stranger": [0.2]})
    (home / "cohorts" / "external").mkdir()
    with pytest.raises(FolderError) as error:
        open_folder(home)
    assert "cohorts/holdout/scores/stranger.parquet is the table of no submission" in str(error.value)
    assert "cohorts/external has no score table of a submission" in str(error.value)


def test_tables_of_one_cohort_have_one_reference(make_edition: MakeEdition) -> None:
    from isocenter import scores

    home = make_edition()
    _score_cohort(home, "holdout", {"team-0": [0.1], "team-1": [0.2]})
    path = home / "cohorts" / "holdout" / "scores" / "team-1.parquet"
    scores.write(scores.read(path), path, record={"challenge": "hecktor2020", "reference": "s" * 64})
    with pytest.raises(FolderError, match="against another"):
        open_folder(home)


def test_the_submission_that_counts_is_chosen_on_the_main_cohort_and_never_on_the_further_one(
    make_edition: MakeEdition,
) -> None:
    home = make_edition({"other": [0.2, 0.2]})
    toml = home / "challenge.toml"
    toml.write_text(toml.read_text().replace('counts = "last"', 'counts = "best"'))
    for number, value in ((1, 0.9), (2, 0.5)):
        write_scores(home, f"many/{number}", [value, value])
    # The second submission is worse on the main cohort and better on the holdout cases.
    _score_cohort(home, "holdout", {"many/1": [0.3], "many/2": [0.8], "other": [0.4]})
    board = Study(open_folder(home), Settings(replicates=0)).cohorts["holdout"].main.board
    assert {row.submission: row.score for row in board.rows} == {
        "other": pytest.approx(0.4),
        "many": pytest.approx(0.3),
    }
