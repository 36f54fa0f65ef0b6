"""The report of any challenge: what it shows, what it says it cannot show, and whom it never names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.papers.conftest import MakeEdition, teams
from typer.testing import CliRunner

from isocenter import scores
from isocenter.cli import app
from isocenter.papers import Settings, Study, make_report, open_folder, write_report
from isocenter.report import Chart, Facts, Paragraph, Report, Table, report_html, report_json, report_pdf

QUICK = Settings(replicates=200)


def made(folder: Path, *, settings: Settings = QUICK, phase: str | None = None) -> Report:
    return make_report(Study(open_folder(folder, phase=phase), settings), command="isocenter report edition")


def block(report: Report, name: str) -> Table | Chart:
    found = next(block for block in report.named() if block.name == name)
    assert isinstance(found, Table | Chart)
    return found


def section(report: Report, name: str) -> str:
    found = next(section for section in report.sections if section.name == name)
    return " ".join(block.text for block in found.blocks if isinstance(block, Paragraph))


def cells(table: Table | Chart) -> list[list[str]]:
    assert isinstance(table, Table)
    return [[cell if isinstance(cell, str) else cell.text for cell in row] for row in table.rows]


def test_a_report_has_every_section_and_says_who_won(make_edition: MakeEdition) -> None:
    report = made(make_edition())
    names = [section.name for section in report.sections]
    wanted = ["challenge", "rules", "participation", "results", "teams", "certainty", "multiverse", "cases", "methods"]
    assert [name for name in names if name in wanted] == wanted
    assert "team-0 is first of 4 teams with Dice" in section(report, "results")
    assert "mean dice over all cases" in section(report, "rules")
    assert [row[:2] for row in cells(block(report, "board-dice"))] == [
        ["1", "team-0"],
        ["2", "team-1"],
        ["3", "team-2"],
        ["4", "team-3"],
    ]


def test_the_card_has_what_the_description_of_the_challenge_says(make_edition: MakeEdition) -> None:
    folder = make_edition()
    path = folder / "challenge.toml"
    text = path.read_text("utf-8")
    assert open_folder(folder).edition.mission.modality == "FDG-PET/CT"
    card = next(part for part in made(folder).named() if part.name == "card")
    assert isinstance(card, Facts)
    assert dict(card.pairs)["Imaging"] == "FDG-PET/CT"
    path.write_text(text.replace('modality = "FDG-PET/CT"', 'modality = "a <b>scan</b>"'), "utf-8")
    assert "a &lt;b&gt;scan&lt;/b&gt;" in report_html(made(folder))


def test_the_same_folder_gives_the_same_bytes_and_another_seed_others(make_edition: MakeEdition) -> None:
    folder = make_edition()
    first, second = made(folder), made(folder)
    assert report_html(first) == report_html(second)
    assert report_pdf(first) == report_pdf(second)
    other = make_report(
        Study(open_folder(folder), Settings(replicates=200, seed=1)), command="isocenter report edition"
    )
    assert report_json(first) != report_json(other)


def test_missing_cases_are_counted_and_score_as_the_rule_says(make_edition: MakeEdition) -> None:
    values = teams() | {"late": [0.9, None, None, 0.9, 0.9, 0.9, 0.9, 0.9]}
    report = made(make_edition(values))
    assert cells(block(report, "missing")) == [["late", "2", "0"]]


def test_a_team_that_no_board_lists_is_nowhere(make_edition: MakeEdition) -> None:
    rows = [f"team-{n},scores/team-{n}.parquet,{'organiser' if n == 2 else 'team'}" for n in range(4)]
    report = made(make_edition(submissions_csv="\n".join(["team,table,role", *rows])))
    assert "team-1" in report_html(report)
    for text in (report_html(report), report_json(report)):
        assert "team-2" not in text
    assert cells(block(report, "participation-by-phase"))[0][2:] == ["3", "3"]


def test_a_phase_that_shows_little_has_its_board_and_nothing_else(make_edition: MakeEdition) -> None:
    folder = make_edition()
    path = folder / "challenge.toml"
    path.write_text(path.read_text("utf-8").replace("# decimals = 3", "decimals = 1"), "utf-8")
    report = made(folder)
    assert [section.name for section in report.sections] == [
        "challenge",
        "rules",
        "participation",
        "results",
        "methods",
    ]
    exact = {f"{value:.4f}" for dice in teams().values() for value in dice if value is not None}
    assert not exact & set(re.findall(r"\d\.\d{4}", report_html(report)))


def test_subgroups_by_every_fact_that_forms_groups(make_edition: MakeEdition) -> None:
    lines = [f"CHUV{n:03d},{'A' if n < 6 else 'B' if n < 8 else 'C'},{n * 10},note {n}" for n in range(1, 9)]
    report = made(make_edition(cases_csv="\n".join(["case,centre,volume,remark", *lines])))
    table = block(report, "subgroup-means-centre-1")
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == ["Team", "A", "B", "C"]
    assert cells(table)[0][3].endswith("(–, 1)")  # a group of one has no error
    assert "group of one case" in block(report, "subgroup-centre-1").caption
    names = {part.name for part in report.named()}
    assert "subgroup-volume-2" in names  # eight values form eight groups
    rules = cells(block(report, "rules-compared"))
    assert any("without" in row[0] for row in rules)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param({"alone": [0.5, 0.6, 0.7]}, "alone is first of 1 team", id="one-team"),
        pytest.param({"a": [0.5], "b": [0.6]}, "b is first of 2 teams", id="one-case"),
        pytest.param({"alone": [0.5]}, "alone is first of 1 team", id="one-of-each"),
        pytest.param({"a": [None, None], "b": [None, None]}, "share the first rank", id="all-missing"),
        pytest.param({"a": [0.5, 0.5], "b": [0.5, 0.5]}, "share the first rank", id="all-equal"),
        pytest.param(
            {"<script>alert(1)</script>": [0.5, 0.6], "😀" * 20: [0.4, 0.4], "x" * 200: [0.3, 0.2]},
            "<script>alert(1)</script> is first of 3 teams",
            id="names",
        ),
    ],
)
def test_a_poor_challenge_still_has_a_report(
    make_edition: MakeEdition, values: dict[str, list[float | None]], said: str
) -> None:
    folder = make_edition({})
    rows = []
    for number, dice in enumerate(values.values()):
        from tests.papers.conftest import write_scores

        write_scores(folder, f"t{number}", dice)
    rows = [f'"{team}",scores/t{number}.parquet' for number, team in enumerate(values)]
    (folder / "submissions.csv").write_text("\n".join(["team,table", *rows]), encoding="utf-8")
    report = made(folder)
    assert said in section(report, "results")
    page = report_html(report)
    assert "<script>alert(1)" not in page
    assert report_pdf(report).startswith(b"%PDF")


def test_a_metric_that_is_undefined_for_everybody_is_said(make_edition: MakeEdition) -> None:
    folder = make_edition({})
    rows = [scores.Row(f"c{n}", "", "dice", None) for n in range(3)]
    rows += [scores.Row(f"c{n}", "", "failed", 1.0) for n in range(3)]
    for team in ("a", "b"):
        record = {"challenge": "hecktor2020", "reference": "r" * 64}
        scores.write(scores.frame(rows), folder / "scores" / f"{team}.parquet", record=record)
    report = made(folder)
    assert "nothing to draw" in section(report, "teams")
    assert report_pdf(report).startswith(b"%PDF")


def test_files_are_written_whole_and_numbers_lie_beside_them(make_edition: MakeEdition, tmp_path: Path) -> None:
    out = tmp_path / "out"
    written = write_report(made(make_edition()), out)
    assert [path.name for path in written] == ["report.html", "report.pdf", "report.json"]
    assert json.loads((out / "report.json").read_text("utf-8"))["record"]["seed"] == 0
    assert (out / "data" / "board-dice.csv").read_text("utf-8").startswith("Rank,Team,Dice")


def test_the_command_writes_the_report_and_prints_where(make_edition: MakeEdition) -> None:
    folder = make_edition()
    result = CliRunner().invoke(app, ["report", str(folder), "--replicates", "100", "--no-pdf"])
    assert result.exit_code == 0, result.output
    assert (folder / "report" / "report.html").is_file()
    assert not (folder / "report" / "report.pdf").exists()
    page = (folder / "report" / "report.html").read_text("utf-8")
    assert "isocenter report edition --phase test --replicates 100 --level 0.95 --seed 0" in page


def test_a_benchmark_is_no_team(make_edition: MakeEdition) -> None:
    text = "team,table,role\na,scores/a.parquet,\nb,scores/b.parquet,\nbench,scores/bench.parquet,benchmark\n"
    values = {"a": [0.9, 0.9], "b": [0.8, 0.8], "bench": [0.1, 0.1]}
    report = made(make_edition(values, submissions_csv=text))
    assert cells(block(report, "hardest"))[0][1:] == ["0.8500", "0.8000", "0.9000", "2"]
    assert "first of 2 teams" in section(report, "results")


def test_groups_keep_every_case_whatever_they_are_called(make_edition: MakeEdition) -> None:
    sexes = ["unknown", "F", "M", "", "F", "M", "unknown", "F"]
    dates = [20200101 + n for n in range(8)]
    volumes = [1.5, 2.5, "NA", 4.5, 5.5, 6.5, 7.5, 8.5]
    lines = [f"CHUV{n + 1:03d},{sexes[n]},{dates[n]},{volumes[n]},x" for n in range(8)]
    header = "case,sex,date,Sex,中心"
    report = made(make_edition(cases_csv="\n".join([header, *lines])))
    for name in ("sex-1", "date-2", "sex-3"):
        assert "of the 8 cases" in block(report, f"subgroup-{name}").caption
    table = block(report, "subgroup-means-sex-1")
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == ["Team", "F", "M", "unknown", "not known"]


def test_numbers_are_in_their_order_and_in_quarters_where_they_are_many(make_edition: MakeEdition) -> None:
    ages = [5, 10, 20, 100, 5, 10, 20, 100, 5, 10, 20, 100]
    lines = [f"CHUV{n + 1:03d},{age},{20200101 + n}" for n, age in enumerate(ages)]
    values = {"a": [0.5] * 12, "b": [0.6] * 12}
    report = made(make_edition(values, cases_csv="\n".join(["case,age,date", *lines])))
    by_age, by_date = block(report, "subgroup-means-age-1"), block(report, "subgroup-means-date-2")
    assert isinstance(by_age, Table)
    assert isinstance(by_date, Table)
    assert [column.title for column in by_age.columns[1:]] == ["5", "10", "20", "100"]
    assert len(by_date.columns) == 5
    assert "of the 12 cases" in block(report, "subgroup-date-2").caption


def test_cases_that_do_not_fit_are_said(make_edition: MakeEdition) -> None:
    text = "case,centre\nCHUV001,A\nCHUV002,B\nelsewhere,A\n"
    report = made(make_edition(cases_csv=text))
    said = section(report, "subgroups")
    assert "1 case of no submission (elsewhere)" in said
    assert "6 cases not in it" in said


def test_a_weighted_case_weighs_in_its_group_too(make_edition: MakeEdition) -> None:
    import polars as pl

    folder = make_edition({"a": [1.0, 1.0, 0.0, 0.0]}, cases_csv="case,g\nCHUV001,x\nCHUV002,y\nCHUV003,x\nCHUV004,y\n")
    path = folder / "scores" / "a.parquet"
    weights = pl.Series("weight", [10.0, 10.0, 1.0, 1.0])
    scores.write(scores.read(path).with_columns(weights), path, record=scores.read_record(path))
    report = made(folder)
    assert [text.split()[0] for text in cells(block(report, "subgroup-means-g-1"))[0][1:]] == ["0.9091", "0.9091"]


def test_who_won_is_not_said_by_another_board_than_the_one_that_decides(tmp_path: Path) -> None:
    from isocenter import editions
    from isocenter.evaluation import load_challenge

    folder = tmp_path / "edition"
    editions.write(editions.new(load_challenge("openkbp2020")), folder)
    for team, dose in (("a", 2.0), ("b", float("inf"))):
        rows = [scores.Row("pt_1", "", name, 3.0) for name in ("dose_squared_error", "leaked_dose")]
        rows += [scores.Row("pt_1", "", "dose_error", dose)]
        rows += [
            scores.Row("pt_1", "PTV70 D_95", name, 1.0)
            for name in ("dvh_error", "dvh_squared_error", "dvh_value", "dvh_reference")
        ]
        scores.write(scores.frame(rows), folder / "scores" / f"{team}.parquet", record={"challenge": "openkbp2020"})
    study = Study(open_folder(folder), QUICK)
    assert "dose" in study.unmade
    said = section(make_report(study), "results")
    assert "who won is not known" in said
    assert "is first of" not in said


def test_a_void_submission_hides_its_team_from_its_own_phase_only(tmp_path: Path) -> None:
    from tests.papers.conftest import write_scores

    from isocenter import editions
    from isocenter.evaluation import load_challenge

    folder = tmp_path / "edition"
    path = editions.write(editions.new(load_challenge("hecktor2020")), folder)
    text = path.read_text("utf-8")
    start = text.index("[[phases]]")
    preview = (
        '[[phases]]\nname = "preview"\ntitle = "Preview"\nopens = 2020-08-01T00:00:00+02:00\n'
        "closes = 2020-08-10T00:00:00+02:00\nresults = 2020-08-11T00:00:00+02:00\n\n"
    )
    path.write_text(text[:start] + preview + text[start:], encoding="utf-8")
    rows = []
    for team in ("a", "b", "c"):
        write_scores(folder, f"{team}-preview", [0.5, 0.6])
        write_scores(folder, team, [0.5, 0.6])
        rows += [f"{team},scores/{team}-preview.parquet,preview,,", f"{team},scores/{team}.parquet,test,,"]
    rows[3] += "yes"
    (folder / "submissions.csv").write_text("\n".join(["team,table,phase,role,void", *rows]), encoding="utf-8")
    table = cells(block(made(folder), "participation-by-phase"))
    assert [row[2:] for row in table] == [["3", "3"], ["2", "2"]]


def test_a_second_report_leaves_nothing_of_the_first_that_it_does_not_show(make_edition: MakeEdition) -> None:
    folder = make_edition()
    out = folder / "report"
    write_report(made(folder), out)
    (out / "data" / "mine.csv").write_text("kept", encoding="utf-8")
    assert (out / "data" / "by-team-dice.csv").exists()
    path = folder / "challenge.toml"
    path.write_text(path.read_text("utf-8").replace("# decimals = 3", "decimals = 1"), "utf-8")
    write_report(made(folder), out, pdf=False)
    assert sorted(path.name for path in (out / "data").iterdir()) == [
        "board-dice.csv",
        "metrics.csv",
        "mine.csv",
        "participation-by-phase.csv",
    ]
    assert not (out / "report.pdf").exists()


def test_methods_tell_of_tests_only_where_there_are_some(make_edition: MakeEdition) -> None:
    assert "Wilcoxon" in section(made(make_edition()), "methods")
    assert "Wilcoxon" not in section(made(make_edition({"alone": [0.5, 0.6]}, name="one")), "methods")


def test_without_cases_nothing_tells_of_one_and_the_boards_stay(make_edition: MakeEdition) -> None:
    facts = "case,centre,grade\n" + "".join(f"CHUV{at:03d},{'AB'[at % 2]},G{at % 3 + 1}\n" for at in range(1, 9))
    folder = make_edition(cases_csv=facts)
    result = CliRunner().invoke(app, ["report", str(folder), "--replicates", "200", "--no-pdf", "--no-cases"])
    assert result.exit_code == 0, result.output
    texts = {path.name: path.read_text("utf-8") for path in (folder / "report").rglob("*") if path.is_file()}
    for name, text in texts.items():
        assert "CHUV" not in text, name
        assert "G2" not in text, name
    values = {f"{value}" for many in teams().values() for value in many}
    told = {cell for name, text in texts.items() if name.endswith(".csv") for cell in re.split(r"[,\n]", text)}
    assert not values & told
    assert not [cell for cell in told if re.fullmatch(r"0\.\d{5,}", cell) and float(cell) > 0.1]
    assert {"board-dice.csv", "blobs-dice.csv", "significance.csv", "winner-tests.csv"} <= texts.keys()
    assert "winner-differences.csv" not in texts
    assert "--no-cases" in texts["report.html"]
    assert "Results of single cases are not told" in texts["report.html"]


def test_a_phase_of_which_no_submission_is_listed_is_not_said_to_have_had_none(make_edition: MakeEdition) -> None:
    folder = make_edition()
    path = folder / "challenge.toml"
    text = path.read_text("utf-8")
    start = text.index("[[phases]]")
    secret = (
        '[[phases]]\nname = "secret"\ntitle = "Hidden from all"\nopens = 2020-08-01T00:00:00+02:00\n'
        "closes = 2020-08-10T00:00:00+02:00\nresults = 2030-08-11T00:00:00+02:00\n\n"
    )
    path.write_text(text[:start] + secret + text[start:], encoding="utf-8")
    hidden, reported = cells(block(made(folder), "participation-by-phase"))
    assert (hidden[0], hidden[2:]) == ("Hidden from all", ["–", "–"])
    assert reported[2:] == ["4", "4"]
