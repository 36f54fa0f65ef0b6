"""The chapter of OpenKBP 2020: the numbers of its paper, from tables made by hand; and what must not be shown."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from isocenter import editions, scores
from isocenter.evaluation import load_challenge
from isocenter.papers import Settings, Study, open_folder, read_rows
from isocenter.papers._patients import difficulty
from isocenter.papers.openkbp2020 import chapter
from isocenter.phantoms import (
    TEAMS_OPENKBP,
    openkbp_patient,
    predict_dose,
    write_openkbp,
    write_openkbp_people,
    write_openkbp_predictions,
)
from isocenter.report import Chart, Column, Paragraph, Report, Section, Table, report_csvs, report_html, report_json
from isocenter.scores import Row
from isocenter.stats import clustered_signed_rank, shifted_mann_whitney, signed_rank

GOLDEN = Path(__file__).parents[1] / "golden" / "ranking"
PARTS = ("PTV70|D_99", "PTV70|D_1", "Larynx|mean")
SECTIONS = ["people", "progress", "lead", "squared", "criteria", "survey-section"]
Errors = Mapping[str, tuple[float, list[float]]]
"""By case the dose error, and the differences of the DVH criteria from the reference."""


def table_of(errors: Errors, *, missing: str = "") -> list[Row]:
    """The score table of a submission that makes these errors."""
    rows = []
    for number, (case, (dose, differences)) in enumerate(errors.items()):
        lost = case == missing
        found: list[tuple[str, str, float | None]] = [
            ("", "dose_error", dose),
            ("", "dose_squared_error", 3.0 * dose**2),
            ("", "leaked_dose", 0.0),
        ]
        for part, difference in zip(PARTS, differences, strict=False):
            truth = 20.0 + 10.0 * PARTS.index(part) + number
            found += [
                (part, "dvh_error", abs(difference)),
                (part, "dvh_squared_error", difference**2),
                (part, "dvh_value", truth + difference),
                (part, "dvh_reference", truth),
            ]
        rows += [Row(case, part, metric, None if lost else value) for part, metric, value in found]
        rows += [Row(case, "", "missing", 1.0)] * lost
    return rows


def errors_of(team: int, *, cases: int = 6, seed: int = 0) -> dict[str, tuple[float, list[float]]]:
    """The higher the number, the worse the team; every patient is of its own difficulty."""
    rng = np.random.default_rng([seed, team])
    return {
        f"pt_{n}": (float((2 + team) * rng.uniform(0.8, 1.2)), ((1 + team) * rng.normal(size=len(PARTS))).tolist())
        for n in range(1, cases + 1)
    }


class Home:
    """The folder of an edition that a test fills."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, list[dict[str, str]]()
        (path / "scores").mkdir(parents=True)
        editions.write(editions.new(load_challenge("openkbp2020")), path)

    def submit(self, team: str, rows: list[Row], *, phase: str = "test", **more: str) -> None:
        name = f"scores/{len(self.rows)}.parquet"
        scores.write(scores.frame(rows), self.path / name, record={"challenge": "openkbp2020", "reference": phase})
        self.rows.append({"team": team, "table": name, "phase": phase, **more})

    def put(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")

    def study(self) -> Study:
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        with (self.path / "submissions.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(self.rows)
        return Study(open_folder(self.path), Settings(replicates=0))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "edition")


@pytest.fixture
def played(home: Home) -> Home:
    """Three teams, none of them with anything else in the folder."""
    for number, team in enumerate(("Thun", "Zug", "Biel")):
        home.submit(team, table_of(errors_of(number)))
    return home


def section(study: Study, name: str) -> Section:
    return next(part for part in chapter(study) if part.name == f"kbp-{name}")


def told(part: Section) -> str:
    """All sentences, captions and cells of a section."""
    texts = []
    for block in part.blocks:
        if isinstance(block, Paragraph):
            texts.append(block.text)
        if isinstance(block, Table | Chart):
            texts.append(block.caption)
        if isinstance(block, Table):
            cells = [cell if isinstance(cell, str) else cell.text for row in block.rows for cell in row]
            texts += [*cells, *block.notes]
    return "\n".join(texts)


def rows_of(part: Section, name: str) -> list[list[str]]:
    found = next(block for block in part.blocks if isinstance(block, Table) and block.name == name)
    return [[cell if isinstance(cell, str) else cell.text for cell in row] for row in found.rows]


def whole(study: Study) -> str:
    """Everything that leaves the house."""
    report = Report("t", "", tuple(chapter(study)))
    return report_html(report) + report_json(report) + "".join(report_csvs(report).values())


class TestChapter:
    def test_has_a_section_for_each_figure_and_table_of_the_paper(self, played: Home) -> None:
        assert [part.name for part in chapter(played.study())] == [f"kbp-{name}" for name in SECTIONS]

    def test_without_files_it_says_which_file_would_show_what(self, played: Home) -> None:
        text = "\n".join(map(told, chapter(played.study())))
        for file in ("participants.csv", "survey.csv", "submissions.csv", "cases.csv"):
            assert file in text

    def test_is_the_same_text_twice(self, played: Home) -> None:
        assert whole(played.study()) == whole(played.study())

    @pytest.mark.parametrize("teams", [1, 2])
    @pytest.mark.parametrize("cases", [1, 2])
    def test_a_tiny_edition_is_reported(self, home: Home, teams: int, cases: int) -> None:
        for team in range(teams):
            home.submit(f"T{team}", table_of(errors_of(team, cases=cases)))
        assert "T0" in whole(home.study())

    def test_equal_teams_share_the_first_rank(self, home: Home) -> None:
        for team in ("Aare", "Inn"):
            home.submit(team, table_of(errors_of(0)))
        assert "Aare and Inn share the first rank" in told(section(home.study(), "lead"))

    def test_when_nobody_is_ranked_there_is_nothing_but_sentences(self, home: Home) -> None:
        home.submit("Thun", table_of(errors_of(0), missing="pt_1"))
        assert "Thun" not in whole(home.study())

    def test_a_phase_that_keeps_scores_back_tells_nothing_by_case(self, played: Home) -> None:
        file = played.path / "challenge.toml"
        head, _, last = file.read_text().rpartition("[[phases]]\n")
        file.write_text(f"{head}[[phases]]\ndecimals = 1\n{last}")
        sections = chapter(played.study())
        assert not any(isinstance(block, Chart) for part in sections for block in part.blocks)

    def test_boards_that_an_edition_does_not_have_are_told(self, played: Home) -> None:
        study = played.study()
        for name in ("dvh", "dose-squared"):
            study.boards.pop(name)
        assert "The edition has no board dvh." in told(section(study, "lead"))
        assert "no boards dose and dose-squared to be compared" in told(section(study, "squared"))

    def test_hostile_names_are_text(self, home: Home) -> None:
        names = ("<script>alert(1)</script>", "x" * 200, '🩻 & "co"')
        for number, team in enumerate(names):
            home.submit(team, table_of(errors_of(number)))
        home.put("participants.csv", "team,area,experience,country\n" + "<b>,<i>a</i>,yes,<u>\n" * 9)
        home.put("survey.csv", f"team,<h1>\n{names[0]},<s>y</s>\n{names[1]},<s>y</s>\n")
        page = report_html(Report("t", "", tuple(chapter(home.study()))))
        assert "&lt;script&gt;alert(1)" in page
        assert not any(tag in page for tag in ("<script>alert", "<h1>,", "<s>y", "<u>", "<i>a"))


class TestUnlisted:
    """Who stands on no board is in no number, no table and no picture."""

    @pytest.fixture
    def study(self, played: Home) -> Study:
        for _ in range(22):
            played.submit("Secret", table_of(errors_of(5)), phase="validation", role="organiser")
            played.submit("Lost", table_of(errors_of(6)), phase="validation")
        played.submit("Thun", table_of(errors_of(1)), phase="validation")
        played.submit("Secret", table_of(errors_of(0, seed=9)), role="organiser")
        played.submit("Lost", table_of(errors_of(1, seed=9), missing="pt_2"))
        people = "Secret,Sailing,yes,Atlantis\n" * 7 + "Lost,Chess,no,Elbonia\n" * 7 + "Thun,Physics,yes,Chile\n" * 7
        played.put("participants.csv", f"team,area,experience,country\n{people}")
        played.put("survey.csv", "team,model\nSecret,Magic\nLost,Magic\nThun,U-Net\nZug,U-Net\n")
        return played.study()

    def test_leaves_no_trace(self, study: Study) -> None:
        page = whole(study)
        for word in ("Secret", "Lost", "Sailing", "Chess", "Atlantis", "Elbonia", "Magic"):
            assert word not in page

    def test_is_not_counted(self, study: Study) -> None:
        rows = rows_of(section(study, "people"), "kbp-phases")
        assert [row[1:] for row in rows] == [["7", "1", "–"], ["7", "1", "1"], ["7", "3", "3"]]


class TestProgress:
    @pytest.fixture
    def study(self, home: Home) -> Study:
        """Thun halves its error of 8 over 40 submissions; Zug begins at 6 and leads until Thun passes 5."""
        for n in range(40):
            for team, error in (("Thun", 8.0 - n / 10), ("Zug", 6.0 if n < 20 else 5.0)):
                when = f"2020-03-{1 + n // 2:02d}T{12 + 3 * (n % 2):02d}:{'00' if team == 'Thun' else '30'}:00Z"
                rows = table_of({"pt_1": (error, [error] * 3)})
                home.submit(team, rows, phase="validation", time=when)
        home.submit("Biel", table_of({"pt_1": (9.0, [1.0] * 3)}), phase="validation", time="2020-02-22T00:00:00Z")
        for team in ("Thun", "Zug", "Biel"):
            home.submit(team, table_of(errors_of(1)), time="2020-05-30T00:00:00Z")
        return home.study()

    def test_curves_of_both_streams(self, study: Study) -> None:
        charts = {b.name: b for b in section(study, "progress").blocks if isinstance(b, Chart)}
        assert list(charts) == ["kbp-progress-validation-dose", "kbp-progress-validation-dvh"]
        data = charts["kbp-progress-validation-dose"].data
        assert data is not None
        assert data["share"].to_list() == pytest.approx([n / 20 for n in range(1, 21)])
        assert data["best"].to_list()[-1] == pytest.approx(4.1)
        assert data["mean"].to_list()[0] == pytest.approx((7.9 + 6.0) / 2)
        assert data["best_team"].to_list()[0] == "Zug"

    def test_improvement_by_its_three_definitions(self, study: Study) -> None:
        text = told(section(study, "progress"))
        assert f"by a factor of {14 / 9.1:.2f}" in text
        assert f"{(8 / 4.1 + 6 / 5) / 2:.2f} is the mean of the teams' own factors" in text
        assert f"{(7.9 + 6.0) / 9.1:.2f} the factor along the mean curve" in text

    def test_lead_changes(self, study: Study) -> None:
        rows = rows_of(section(study, "progress"), "kbp-lead-validation-dose")
        assert [row[1:] for row in rows] == [
            ["Thun", "Biel", "8.000"],
            ["Zug", "Thun", "6.000"],
            ["Thun", "Zug", "4.900"],
        ]

    def test_who_has_too_few_is_said(self, study: Study) -> None:
        text = told(section(study, "progress"))
        assert "20 submissions or fewer: Biel (1)" in text
        assert "Testing: 100 patients, hidden: nobody has more than 20 submissions (the most are 1)" in text

    def test_without_times_there_are_curves_but_no_leaders(self, home: Home) -> None:
        for n in range(21):
            home.submit("Thun", table_of({"pt_1": (8.0 - n / 10, [1.0] * 3)}), phase="validation")
        home.submit("Thun", table_of(errors_of(1)))
        part = section(home.study(), "progress")
        assert sum(isinstance(block, Chart) for block in part.blocks) == 2
        assert "not every submission has a time" in told(part)
        assert not any(isinstance(block, Table) for block in part.blocks)

    def test_submissions_without_a_score_are_counted_out(self, home: Home) -> None:
        for n in range(22):
            lost = "pt_1" if n == 3 else ""
            home.submit("Thun", table_of(errors_of(1), missing=lost), phase="validation")
        home.submit("Thun", table_of(errors_of(1)))
        assert "1 submission of 22 had no score on the board dose" in told(section(home.study(), "progress"))


class TestLead:
    def test_p_values_are_those_of_the_tests(self, home: Home) -> None:
        values = {team: errors_of(n, cases=12) for n, team in enumerate(("Thun", "Zug"))}
        for team, errors in values.items():
            home.submit(team, table_of(errors))
        part = section(home.study(), "lead")
        a, b = ([abs(d) for case in sorted(values[t]) for d in values[t][case][1]] for t in ("Thun", "Zug"))
        cases = [case for case in sorted(values["Thun"]) for _ in PARTS]
        plain = signed_rank(a, b, better="lower", decimals=3).p
        grouped = clustered_signed_rank(a, b, cases, better="lower", decimals=3).p
        won = np.mean(np.array(a) < np.array(b))
        (row,) = rows_of(part, "kbp-tests-dvh")
        assert row[0] == "Zug"
        assert row[2] == f"{100 * won:.1f} %"
        assert [row[3], row[5]] == [f"{p:.3f}" if p >= 0.0005 else "<0.001" for p in (plain, grouped)]

    def test_boxes_are_of_the_winner_less_the_others(self, played: Home) -> None:
        charts = [b for b in section(played.study(), "lead").blocks if isinstance(b, Chart)]
        data = charts[0].data
        assert data is not None
        first, last = ([dose for dose, _ in errors_of(team).values()] for team in (0, 2))
        expected = np.array(first) - np.array(last)
        row = data.row(by_predicate=pl.col("team") == "Biel", named=True)
        assert row["mean"] == pytest.approx(expected.mean())
        assert row["median"] == pytest.approx(np.median(expected))
        assert row["won"] == (expected < 0).mean()

    def test_twenty_four_teams_are_drawn_and_all_are_tested(self, home: Home) -> None:
        for number in range(26):
            home.submit(f"Team {number}", table_of(errors_of(number, cases=3)))
        part = section(home.study(), "lead")
        assert "The first 24 of 26 teams" in told(part)
        assert len(rows_of(part, "kbp-tests-dose")) == 25


@pytest.fixture(scope="module")
def table5(tmp_path_factory: pytest.TempPathFactory) -> Section:
    """One patient with one criterion, whose errors are the printed scores."""
    home = Home(tmp_path_factory.mktemp("table5") / "edition")
    with (GOLDEN / "openkbp_table5.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found = {name: float(text) for name, text in row.items()}
            rows = [
                Row("pt_1", "", "dose_error", found["dose_mae"]),
                Row("pt_1", "", "dose_squared_error", found["dose_mse"]),
                Row("pt_1", PARTS[0], "dvh_error", found["dvh_mae"]),
                Row("pt_1", PARTS[0], "dvh_squared_error", found["dvh_mse"]),
            ]
            home.submit(f"Team {row['team']}", rows)
    return section(home.study(), "squared")


class TestSquared:
    def test_spearman_and_rank_changes_are_the_papers(self, table5: Section) -> None:
        dose, dvh = (block.text for block in table5.blocks if isinstance(block, Paragraph))
        assert "by 1.00 on average and by 4 at most, over 28 teams" in dose
        assert "Spearman's rank correlation is 0.983 (p <0.001)" in dose
        assert "by 0.86 on average and by 5 at most" in dvh
        assert "Spearman's rank correlation is 0.981 (p <0.001)" in dvh
        assert "The winner by squared errors would be the same." in dose

    @pytest.mark.parametrize("stream", ["dose", "dvh"])
    def test_every_row_is_the_papers(self, table5: Section, stream: str) -> None:
        found = {row[0]: row for row in rows_of(table5, f"kbp-mae-mse-{stream}")}
        with (GOLDEN / "openkbp_table5.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                mine = found[f"Team {row['team']}"]
                assert float(mine[1]) == float(row[f"{stream}_mae"])
                assert [mine[2], mine[4]] == [row[f"{stream}_mae_rank"], row[f"{stream}_mse_rank"]]
                assert int(mine[5].replace("−", "-")) == int(row[f"{stream}_rank_diff"])


class TestCriteria:
    def test_the_winner_against_the_reference(self, played: Home) -> None:
        part = section(played.study(), "criteria")
        errors = [differences[0] for _, differences in errors_of(0).values()]
        truth = [20.0 + number for number in range(6)]
        expected = shifted_mann_whitney(
            [t + e for t, e in zip(truth, errors, strict=True)], truth, margin=2.1, better="higher", decimals=3
        )
        row = next(row for row in rows_of(part, "kbp-criteria-winner") if row[0] == "PTV70 D_99")
        assert row[1:4] == ["higher", "6", "6"]
        assert row[-1] == f"{expected.p:.3f}"
        assert len([block for block in part.blocks if isinstance(block, Chart)]) == 2

    def test_two_populations_of_patients(self, played: Home) -> None:
        lines = "\n".join(f"pt_{n},{'clinical' if n < 4 else 'synthetic'}" for n in range(1, 7))
        played.put("cases.csv", f"case,population\n{lines}\n")
        part = section(played.study(), "criteria")
        rows = {row[0]: row for row in rows_of(part, "kbp-criteria-populations")}
        p = shifted_mann_whitney([23, 24, 25], [20, 21, 22], margin=2.1, better="higher", decimals=3).p
        assert rows["PTV70 D_99"][2:] == ["3", "3", "21.00", "24.00", "+3.00", f"{p:.3f}"]
        assert "synthetic is non-inferior to clinical (p < 0.05) in" in told(part)

    @pytest.mark.parametrize("names", ["abc", "aaa"])
    def test_other_numbers_of_populations_are_not_compared(self, played: Home, names: str) -> None:
        lines = "\n".join(f"pt_{n},{names[n % 3]}" for n in range(1, 7))
        played.put("cases.csv", f"case,population\n{lines}\n")
        assert f"it names {len(set(names))}" in told(section(played.study(), "criteria"))


class TestPictures:
    def test_the_hardest_and_the_easiest_patient(self, home: Home) -> None:
        from isocenter.evaluation import evaluate

        patients = [openkbp_patient(number) for number in (1, 2)]
        write_openkbp(home.path / "reference", patients)
        folder = home.path / "submissions" / "Thun"
        folder.mkdir(parents=True)
        write_openkbp_predictions(folder, {p.name: predict_dose(p, TEAMS_OPENKBP[0]) for p in patients})
        result = evaluate(load_challenge("openkbp2020"), reference=home.path / "reference", submission=folder)
        home.submit("Thun", [Row(*row) for row in result.scores.select("case", "part", "metric", "value").iter_rows()])
        errors = dict(result.scores.filter(metric="dose_error").select("case", "value").iter_rows())
        part = difficulty(home.study())
        charts = [block for block in part.blocks if isinstance(block, Chart)]
        assert [chart.name for chart in charts[1:]] == [
            f"picture-{which}-case-{kind}" for which in ("hardest", "easiest") for kind in ("dvh", "slice")
        ]
        easy, hard = min(errors, key=errors.__getitem__), max(errors, key=errors.__getitem__)
        assert f"The hardest case. {hard}: dose-volume histograms of Thun" in charts[1].caption
        assert f"The easiest case. {easy}: where Thun differs from the reference" in charts[-1].caption

    def test_files_that_cannot_be_drawn_are_named(self, played: Home) -> None:
        for folder in ("reference/pt_1", "submissions/Thun"):
            (played.path / folder).mkdir(parents=True)
        assert "cannot be drawn" in told(difficulty(played.study()))


class TestPeople:
    HEAD = "team,area,experience,country,equity_gender,equity:sight\n"

    def test_areas_by_experience_with_shares(self, played: Home) -> None:
        people = (
            "Thun,Physics,yes,Chile,a,a\n" * 6 + "Zug,Learning,yes,Chile,a,a\n" * 5 + ",Learning,no,Chile,a,a\n" * 9
        )
        played.put("participants.csv", self.HEAD + people)
        rows = rows_of(section(played.study(), "people"), "kbp-areas")
        assert rows == [
            ["Learning", "9 (45.0 %)", "5 (25.0 %)", "14 (70.0 %)"],
            ["Physics", "0 (0.0 %)", "6 (30.0 %)", "6 (30.0 %)"],
            ["All", "9 (45.0 %)", "11 (55.0 %)", "20 (100.0 %)"],
        ]

    def test_small_countries_are_named_together(self, played: Home) -> None:
        people = "".join(f",P,yes,{c},a,a\n" * n for c, n in (("Chile", 9), ("Laos", 4), ("Mali", 1), ("Oman", 3)))
        played.put("participants.csv", self.HEAD + people)
        rows = rows_of(section(played.study(), "people"), "kbp-country")
        assert rows == [["Chile", "9 (52.9 %)"], ["Laos, Mali, Oman, together", "8 (47.1 %)"]]

    def test_equity_names_no_small_answer_and_crosses_nothing(self, played: Home) -> None:
        people = "Thun,P,yes,Chile,woman,no\n" * 12 + "Zug,P,yes,Chile,man,no\n" * 6 + "Zug,P,yes,Chile,other,no\n"
        played.put("participants.csv", self.HEAD + people)
        part = section(played.study(), "people")
        assert rows_of(part, "kbp-equity") == [
            ["Gender", "woman", "12 (63.2 %)"],
            ["Gender", "all other answers", "7 (36.8 %)"],
            ["Sight", "no", "19 (100.0 %)"],
        ]
        assert "other\n" not in told(part).replace("all other answers", "")

    def test_headings_are_the_labels_of_the_registration_form(self, played: Home) -> None:
        toml = played.path / "challenge.toml"
        text = toml.read_text(encoding="utf-8")
        for old, new in (
            ('label = "Primary research area"', 'label = "What KBP means to you #"'),
            ('label = "Gender identity"', 'label = "Gender <b>"'),
            ('label = "Loss function"', 'label = "Loss <i>"'),
        ):
            assert old in text
            text = text.replace(old, new)
        toml.write_text(text, encoding="utf-8")
        people = "Thun,P,yes,Chile,a,a\n" * 9
        played.put("participants.csv", "team,area,experience,country,equity_Gender_identity,equity:sight\n" + people)
        played.put("survey.csv", "team,loss,framework\nThun,MAE,x\nZug,MAE,x\nBiel,MSE,y\n")
        study = played.study()
        part = section(study, "people")
        areas = next(block for block in part.blocks if isinstance(block, Table) and block.name == "kbp-areas")
        assert areas.columns[0] == Column("What KBP means to you #")
        assert "Rows: What KBP means to you #; columns: Experience with knowledge-based planning." in areas.caption
        assert [row[0] for row in rows_of(part, "kbp-equity")] == ["Gender <b>", "Sight"]
        found = {row[0] for row in rows_of(section(study, "survey-section"), "kbp-survey")}
        assert found == {"Loss <i>", "framework"}
        page = report_html(Report("t", "", tuple(chapter(study))))
        assert "Gender &lt;b&gt;" in page
        assert "Gender <b>" not in page

    def test_too_few_people_are_not_published(self, played: Home) -> None:
        played.put("participants.csv", self.HEAD + "Thun,P,yes,Chile,woman,no\nZug,Q,no,Mali,man,no\n")
        part = section(played.study(), "people")
        assert "too few people" in told(part)
        assert [block.name for block in part.blocks if isinstance(block, Table)] == ["kbp-phases"]

    @pytest.mark.parametrize("text", ["", "team\n", "team\nThun\n", "name\nx\n"])
    def test_files_without_columns_or_rows_are_told(self, played: Home, text: str) -> None:
        played.put("participants.csv", text)
        played.put("survey.csv", text)
        assert all(part.blocks for part in chapter(played.study()))


class TestSurvey:
    def test_answers_are_counted_whatever_their_capitals(self, played: Home) -> None:
        long = "x" * 61
        played.put(
            "survey.csv",
            "team;net;why;mail\n"
            f'Thun;"U-Net; GAN";{long};a@b.c\nZug;u-net;;d@e.f\nBiel;"V-Net;{long}";;g@h.i\nNobody;Magic;;\n',
        )
        part = section(played.study(), "survey-section")
        assert rows_of(part, "kbp-survey") == [
            ["net", "U-Net", "2 (67 %)", "2"],
            ["net", "GAN", "1 (33 %)", "1"],
            ["net", "V-Net", "1 (33 %)", "1"],
            ["net", "in their own words", "1 (33 %)", "1"],
        ]
        assert long not in told(part)
        assert "@" not in told(part)
        assert "why: 1 team answered, in their own words." in told(part)

    def test_a_question_without_two_equal_answers_is_not_listed(self, played: Home) -> None:
        played.put("survey.csv", "team,hours\nThun,5\nZug,70\nBiel,9\n")
        part = section(played.study(), "survey-section")
        assert told(part) == "hours: 3 teams answered, in their own words."


class TestDemoPeople:
    def test_the_demo_has_small_numbers_that_are_not_published(self, played: Home) -> None:
        people, survey = write_openkbp_people(played.path, teams=["Thun", "Zug", "Biel"], seed=0)
        rows = read_rows(people)
        assert len(rows) == 60
        assert {"Thun", "Zug", "Biel"} <= {row["team"] for row in rows}
        numbers = [[row[name] for row in rows].count(text) for name in rows[0] for text in {row[name] for row in rows}]
        assert any(0 < number < editions.LEAST for number in numbers)
        assert {row["team"] for row in read_rows(survey)} == {"Thun", "Zug", "Biel"}
        text = told(section(played.study(), "people"))
        assert "are not told" in text

    def test_the_same_seed_gives_the_same_people(self, tmp_path: Path) -> None:
        def made(name: str, seed: int) -> str:
            (tmp_path / name).mkdir()
            return "".join(p.read_text() for p in write_openkbp_people(tmp_path / name, teams=["Thun"], seed=seed))

        assert made("a", 1) == made("b", 1) != made("c", 2)
