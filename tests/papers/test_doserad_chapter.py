"""The chapter of DoseRAD2026: numbers worked out by hand, pictures of a small cohort, and what must not be shown."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter import editions, scores
from isocenter.challenges.doserad2026 import challenge
from isocenter.contest import Contest, Entry
from isocenter.evaluation import evaluate
from isocenter.papers import Settings, Study, open_folder
from isocenter.papers.doserad2026 import chapter
from isocenter.papers.doserad2026._gamma import _gamma
from isocenter.papers.doserad2026._ranks import Weighted, ranks
from isocenter.phantoms import TEAMS_DOSERAD, doserad_patient, predict_beams, write_doserad, write_doserad_predictions
from isocenter.ranking import WeightedRanks
from isocenter.report import Chart, Paragraph, Report, Section, Table, report_csvs, report_html, report_json, report_pdf
from isocenter.scores import Row

SECTIONS = ["doserad-ranks", "doserad-time", "doserad-errors", "doserad-beams", "doserad-gamma", "doserad-tasks"]
ERRORS = ("beam_mae", "idd_distance", "idd_distance_z", "plan_mae", "dvh_score", "dvh_score_relative")
GAMMA = ("gamma_pass_rate", "gamma_pass_rate_rx")
STRATA = {"high": 0.5, "mid": 1.0, "low": 1.5}
PHASE = "photon-ct"


def table_of(
    error: float = 0.1,
    *,
    gamma: float = 99.0,
    seconds: float | None = 0.5,
    cases: Iterable[str] = ("A", "B"),
    failed: bool = False,
    **more: float,
) -> list[Row]:
    """A team that has the same errors in every case; of plans, half of it at high dose and one and a half at low."""
    values = dict.fromkeys(ERRORS, error) | dict.fromkeys(GAMMA, gamma) | more
    rows = []
    for case in cases:
        found = [("", name, value) for name, value in values.items()]
        found += [(part, "plan_mae", share * values["plan_mae"]) for part, share in STRATA.items()]
        rows += [Row(case, part, name, None if failed else value) for part, name, value in found]
        rows += [Row(case, "", "failed", 1.0)] * failed
    if seconds is not None:
        rows += [Row("", "", name, seconds) for name in ("run_time", "run_time_mean")]
    return rows


class Home:
    """The folder of an edition that a test fills."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, list[dict[str, str]]()
        (path / "scores").mkdir(parents=True)
        editions.write(editions.new(challenge), path)

    def submit(self, team: str, rows: Sequence[Row] | pl.DataFrame, *, phase: str = PHASE, **more: str) -> None:
        name = f"scores/{len(self.rows)}.parquet"
        found = rows if isinstance(rows, pl.DataFrame) else scores.frame(rows)
        scores.write(found, self.path / name, record={"challenge": "doserad2026", "reference": phase})
        self.rows.append({"team": team, "table": name, "phase": phase, **more})

    def study(self, phase: str = PHASE) -> Study:
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        with (self.path / "submissions.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(self.rows)
        return Study(open_folder(self.path, phase=phase), Settings(replicates=0))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "edition")


def section(sections: Iterable[Section], name: str) -> Section:
    return next(part for part in sections if part.name == f"doserad-{name}")


def block(sections: Iterable[Section], name: str) -> Chart | Table:
    found = [
        b for part in sections for b in part.blocks if isinstance(b, Chart | Table) and b.name == f"doserad-{name}"
    ]
    assert len(found) == 1, f"{len(found)} blocks are called doserad-{name}"
    return found[0]


def cells(table: Chart | Table) -> list[list[str]]:
    assert isinstance(table, Table)
    return [[cell if isinstance(cell, str) else cell.text for cell in row] for row in table.rows]


def data(chart: Chart | Table) -> pl.DataFrame:
    assert isinstance(chart, Chart)
    assert chart.data is not None
    return chart.data


def told(part: Section) -> str:
    """All sentences of a section."""
    return " ".join(block.text for block in part.blocks if isinstance(block, Paragraph))


def whole(sections: Sequence[Section]) -> str:
    """Everything that leaves the house, but the PDF."""
    report = Report("A report", "", tuple(sections))
    return "\n".join([report_html(report), report_json(report), *report_csvs(report).values()])


# --- ranks


def test_the_parts_of_a_score_are_weight_times_rank_by_the_sum_of_weights(home: Home) -> None:
    home.submit("exact", table_of(0.01, gamma=99.0, seconds=0.2))
    home.submit("quick", table_of(0.02, gamma=98.0, seconds=0.1))
    sections = chapter(home.study())
    assert [part.name for part in sections] == SECTIONS
    order = ["beam_mae", "idd_distance", "plan_mae", "gamma_pass_rate", "dvh_score", "run_time"]
    assert data(block(sections, "rank-map")).rows() == [("exact", 1, 1, 1, 1, 1, 2), ("quick", 2, 2, 2, 2, 2, 1)]
    assert data(block(sections, "rank-map")).columns == ["team", *order]
    shares = data(block(sections, "rank-shares"))
    exact = dict(shares.filter(pl.col("team") == "exact").select("metric", "share").iter_rows())
    assert exact == pytest.approx({**dict.fromkeys(order, 1 / 7), "run_time": 4 / 7})
    sums = dict(shares.group_by("team").agg(pl.col("share").sum()).iter_rows())
    assert sums == pytest.approx({"exact": 9 / 7, "quick": 12 / 7})


_VALUES = st.floats(0.0, 0.9, allow_subnormal=False)


@given(st.lists(st.tuples(_VALUES, _VALUES, _VALUES), min_size=1, max_size=6))
def test_the_parts_sum_up_to_the_score_whoever_takes_part(teams: list[tuple[float, float, float]]) -> None:
    rule = challenge.boards["as-run"]
    assert isinstance(rule, WeightedRanks)
    entries = [
        Entry(
            team=f"team {number}",
            table=scores.frame(table_of(low, plan_mae=plan, gamma=100 * low, seconds=seconds + 0.01)),
        )
        for number, (low, plan, seconds) in enumerate(teams)
    ]
    decision = Contest(challenge, entries).decide("as-run", resamples=0)
    sections = [ranks([Weighted("as-run", decision, rule)])]
    sums = dict(data(block(sections, "rank-shares")).group_by("team").agg(pl.col("share").sum()).iter_rows())
    assert sums == pytest.approx({row.submission: row.score for row in decision.board.rows})


def ties(home: Home) -> list[list[str]]:
    """The log of the main board, without its name and without scores."""
    return [row[1:3] + row[4:] for row in cells(block(chapter(home.study()), "ties")) if row[0] == "as-run"]


def test_a_tie_is_broken_by_run_time_first(home: Home) -> None:
    # Time has twice the weight of a metric: faster, but worse in two of five, is as good: 9/7 each.
    home.submit("exact", table_of(seconds=0.5))
    home.submit("fast", table_of(seconds=0.25, beam_mae=0.2, idd_distance=0.2, idd_distance_z=0.2))
    assert home.study().main.board["fast"].score == pytest.approx(9 / 7)
    assert ties(home) == [["fast", "exact", "run_time", "0.25", "0.5"]]


def test_then_by_the_error_of_the_plan(home: Home) -> None:
    home.submit("beams", table_of(plan_mae=0.2))
    home.submit("plans", table_of(beam_mae=0.2))
    assert ties(home) == [["plans", "beams", "plan_mae", "0.1", "0.2"]]


def test_and_twins_share_their_rank(home: Home) -> None:
    home.submit("twin a", table_of())
    home.submit("twin b", table_of())
    assert ties(home) == [["twin a", "twin b", "nothing: they share the rank", "–", "–"]]


def test_without_equal_scores_the_log_says_so(home: Home) -> None:
    home.submit("a", table_of(0.1))
    home.submit("b", table_of(0.2))
    assert "no tie had to be broken" in told(section(chapter(home.study()), "ranks"))


@pytest.mark.parametrize(("gamma_rx", "changed"), [(98.0, "no team"), (100.0, "2 teams")])
def test_readings_that_rank_otherwise_are_counted(home: Home, gamma_rx: float, changed: str) -> None:
    # As run, a wins by 9/7 to 12/7. As described b also has the better DVH points; with gamma it wins by 10/7 to 11/7.
    home.submit("a", table_of(0.1, gamma=99.0, seconds=0.2, dvh_score_relative=0.9))
    home.submit("b", table_of(0.2, gamma=98.0, seconds=0.1, gamma_pass_rate_rx=gamma_rx))
    chart = block(chapter(home.study()), "readings")
    assert f"{changed} of 2 would have another rank" in chart.caption
    first = dict(data(chart).filter(pl.col("rank") == 1).select("board", "team").iter_rows())
    expected = "a" if changed == "no team" else "b"
    assert first == {"as-run": "a", "as-described": expected, "as-run-until-august": "a"}


# --- run times


def test_who_is_at_the_limit_is_excluded_as_run_and_ranked_as_described(home: Home) -> None:
    home.submit("fast", table_of(0.02, seconds=0.25))
    home.submit("at the limit", table_of(0.01, seconds=1.0))
    sections = chapter(home.study())
    assert cells(block(sections, "run-times")) == [
        ["fast", "0.250", "0.250", "ranked", "ranked", "ranked"],
        ["at the limit", "1.000", "1.000", "excluded", "ranked", "excluded"],
    ]
    assert "Too slow to be ranked on a board: at the limit." in told(section(sections, "time"))
    points = data(block(sections, "time-plan-mae"))
    assert set(points.rows()) == {("fast", 0.25, 0.02, "ranked"), ("at the limit", 1.0, 0.01, "excluded")}
    assert "run_time of 1 s or more is excluded" in block(sections, "time-plan-mae").caption
    assert data(block(sections, "rank-map"))["team"].to_list() == ["fast"]


def test_a_team_called_excluded_is_not(home: Home) -> None:
    home.submit("excluded", table_of(0.02, seconds=0.25))
    home.submit("other", table_of(0.01, seconds=0.5))
    assert "Nobody is too slow to be ranked." in told(section(chapter(home.study()), "time"))


def test_a_benchmark_stands_beside_the_teams_under_its_own_name(home: Home) -> None:
    home.submit("team", table_of(0.02, seconds=0.25))
    home.submit("baseline", table_of(0.01, seconds=2.0), role="benchmark")
    sections = chapter(home.study())
    rows = cells(block(sections, "run-times"))
    assert ["baseline (benchmark)", "2.000", "2.000", *["benchmark"] * 3] in rows
    assert "Nobody is too slow" in told(section(sections, "time"))


def test_without_run_times_the_chapter_says_which_file_would_show_what(home: Home) -> None:
    home.submit("a", table_of(seconds=None))
    home.submit("kept back", table_of(seconds=None), role="organiser")
    study = home.study()
    sections = chapter(study)
    assert "run_times.csv" in told(section(sections, "ranks"))
    assert "kept back" not in whole(sections)
    assert set(study.boards) >= {"plan_mae"}
    assert all("run" in reason for reason in study.unmade.values())


def test_an_edition_without_weighted_boards_needs_no_run_times(home: Home) -> None:
    home.submit("a", table_of(seconds=None))
    study = home.study()
    boards = {"plan_mae": challenge.boards["plan_mae"]}
    study = replace(study, folder=replace(study.folder, challenge=replace(study.challenge, boards=boards)))
    sections = chapter(study)
    assert [part.name for part in sections] == SECTIONS
    assert "No board of this phase weighs ranks" in told(section(sections, "ranks"))
    assert "run_times.csv" in told(section(sections, "time"))
    assert data(block(sections, "strata"))["plan_mae"].to_list() == pytest.approx([0.05, 0.05, 0.1, 0.1, 0.15, 0.15])


# --- who and what may be absent


def test_one_team_alone(home: Home) -> None:
    home.submit("alone", table_of(0.0, gamma=100.0, cases=["A"], seconds=0.5))
    sections = chapter(home.study())
    assert data(block(sections, "rank-shares"))["share"].sum() == pytest.approx(1.0)
    assert report_pdf(Report("A report", "", tuple(sections))).startswith(b"%PDF")


def test_when_every_case_of_every_team_failed_nobody_is_drawn_and_nothing_breaks(home: Home) -> None:
    for team in ("lost one", "lost two"):
        home.submit(team, table_of(failed=True))
    study = home.study()
    assert not study.main.board.rows
    sections = chapter(study)
    assert not [b for part in sections for b in part.blocks if isinstance(b, Chart)]
    assert "lost" not in whole(sections)


def test_teams_that_no_board_lists_are_nowhere_in_no_task(home: Home) -> None:
    for number, team in enumerate(("shown", "also shown")):
        for phase in (PHASE, "photon-mr"):
            home.submit(team, table_of(0.1 + 0.1 * number), phase=phase)
    home.submit("Geheim-1", table_of(failed=True, seconds=0.01))
    home.submit("Geheim-1", table_of(0.001, seconds=0.01), phase="photon-mr")
    home.submit("Geheim-2", table_of(0.001, seconds=0.01), role="organiser")
    study = home.study()
    assert not {"Geheim-1", "Geheim-2"} & {row.submission for row in study.main.board.rows}
    assert "Geheim" not in whole(chapter(study))


def test_a_team_that_no_board_lists_leaves_no_hole_in_another_task(home: Home) -> None:
    for number, team in enumerate(("first", "second")):
        for phase in (PHASE, "photon-mr"):
            home.submit(team, table_of(0.1 + 0.1 * number, seconds=0.5 + 0.1 * number), phase=phase)
    without = section(chapter(home.study()), "tasks")
    home.submit("Geheim", table_of(0.001, seconds=0.01), role="organiser")
    home.submit("Geheim", table_of(0.001, seconds=0.01), phase="photon-mr")
    home.submit("Geheim", table_of(0.001, seconds=0.01), phase="proton-mr")
    sections = chapter(home.study())
    assert data(block(sections, "task-ranks")).filter(pl.col("phase") == "photon-mr").rows() == [
        ("photon-mr", "first", 1), ("photon-mr", "second", 2)
    ]  # fmt: skip
    assert whole([section(sections, "tasks")]) == whole([without])


def test_what_reference_and_submissions_would_show_is_said(home: Home) -> None:
    home.submit("a", table_of())
    sections = chapter(home.study())
    for name in ("beams", "gamma"):
        assert "in reference/ and those of teams in submissions/" in told(section(sections, name))
    assert "submissions.csv lists score tables of several phases" in told(section(sections, "tasks"))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "Ä" * 200, "🏔️ team", "Reference", "a & b"])
def test_any_name_can_be_drawn_and_is_text(home: Home, name: str) -> None:
    home.submit(name, table_of(0.1))
    home.submit("other", table_of(0.2, seconds=0.6))
    page = report_html(Report("A report", "", tuple(chapter(home.study()))))
    assert "<script>alert" not in page


def test_fifty_teams_stay_small(home: Home) -> None:
    rng = np.random.default_rng(0)
    for number in range(50):
        errors = dict(zip(ERRORS, rng.uniform(0.01, 0.2, len(ERRORS)), strict=True))
        seconds = float(rng.uniform(0.05, 1.5))
        home.submit(f"team {number:02d}", table_of(cases=[f"{i}" for i in range(8)], seconds=seconds, **errors))
    sections = chapter(home.study())
    sizes = {b.name: len(b.picture) for part in sections for b in part.blocks if isinstance(b, Chart)}
    assert max(sizes.values()) < 300_000
    assert "The first 20 of the board are shown." in block(sections, "strata").caption


# --- tasks


def test_ranks_of_every_task_and_gaps_where_a_team_took_no_part(home: Home) -> None:
    home.submit("a", table_of(0.1))
    home.submit("b", table_of(0.2, seconds=0.6))
    home.submit("a", table_of(0.4, seconds=0.6), phase="proton-ct")
    home.submit("b", table_of(0.3), phase="proton-ct")
    home.submit("b", table_of(0.3), phase="proton-mr")
    chart = block(chapter(home.study()), "task-ranks")
    assert data(chart).rows() == [
        (PHASE, "a", 1), (PHASE, "b", 2), ("proton-ct", "a", 2), ("proton-ct", "b", 1), ("proton-mr", "b", 1)
    ]  # fmt: skip
    assert "n = 2 teams, 1 of them ranked in all 3 tasks" in chart.caption
    boxes = data(block(chapter(home.study()), "tasks-plan-mae"))
    assert boxes.filter(pl.col("phase") == "proton-ct", pl.col("team") == "a")["plan_mae"].to_list() == [0.4, 0.4]


def jobs(**seconds: float) -> str:
    """Run times of so many seconds per beam, whatever the job."""
    lines = [
        f"{team},photon,{per_beam * beams},{images},{beams}"
        for team, per_beam in seconds.items()
        for images, beams in ((1, 181), (2, 181), (1, 500))
    ]
    return "\n".join(["submission,modality,seconds,images,beams", *lines]) + "\n"


def test_run_times_of_one_task_are_not_taken_for_those_of_another(home: Home) -> None:
    for phase in (PHASE, "photon-mr"):
        home.submit("a", table_of(0.1, seconds=None), phase=phase)
        home.submit("b", table_of(0.2, seconds=None), phase=phase)
    (home.path / "run_times.csv").write_text(jobs(a=0.1, b=0.2), encoding="utf-8")
    part = section(chapter(home.study()), "tasks")
    assert "Task 2: photons on MR is not compared" in told(part)
    assert "run_times-photon-mr.csv" in told(part)
    (home.path / "run_times-photon-mr.csv").write_text(jobs(a=2.0, b=0.2), encoding="utf-8")
    found = data(block(chapter(home.study()), "task-ranks")).rows()
    assert found == [(PHASE, "a", 1), (PHASE, "b", 2), ("photon-mr", "b", 1)]


# --- pictures, of a cohort on disk


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Two patients of four beams, and three teams, one of which hands in the platform's stacks."""
    home = Home(tmp_path_factory.mktemp("doserad") / "edition")
    patients = [doserad_patient(number, beams=4, size=(36, 28, 16)) for number in (1, 2)]
    write_doserad(home.path / "reference", patients)
    for number, team in enumerate(TEAMS_DOSERAD[:3]):
        made = [(patient, predict_beams(patient, team)) for patient in patients]
        folder = home.path / "submissions" / team.name
        write_doserad_predictions(folder, made, layout="platform" if number == 1 else "plain")
        found = evaluate(challenge, reference=home.path / "reference", submission=folder).scores
        times = [Row("", "", name, team.seconds_per_beam) for name in ("run_time", "run_time_mean")]
        home.submit(team.name, pl.concat([found, scores.frame(times)]))
    return home


@pytest.fixture(scope="module")
def drawn(played: Home) -> tuple[Study, list[Section]]:
    study = played.study()
    return study, chapter(study)


@pytest.mark.parametrize(("which", "place"), [("best", 0), ("worst", -1)])
def test_the_beams_that_the_winner_meets_best_and_worst(
    drawn: tuple[Study, list[Section]], which: str, place: int
) -> None:
    study, sections = drawn
    winner = study.main.ranked[0]
    beams = study.main.scores.filter(pl.col("metric") == "idd_distance", pl.col("part") != "")
    mine = beams.filter(pl.col("submission") == winner).sort("value").row(place, named=True)
    chart = block(sections, f"beam-{which}")
    assert f"of case {mine['case']} ({mine['part']})" in chart.caption
    # What is drawn is what was scored, of teams that hand in single files and of those with stacks.
    for team in study.main.ranked:
        row = beams.filter(pl.col("submission") == team, pl.col("case") == mine["case"], pl.col("part") == mine["part"])
        assert f"{team} {row['value'][0]:.4f}" in chart.caption
    curves = data(chart)
    assert curves["reference"].max() == pytest.approx(100.0)
    assert curves["along_mm"].to_list() == [2.0 * i for i in range(curves.height)]
    assert block(sections, f"beam-{which}-difference")


def test_the_maps_of_gamma_are_of_the_cases_with_most_and_least_that_passes(
    drawn: tuple[Study, list[Section]], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, sections = drawn
    rates = study.main.scores.filter(
        pl.col("metric") == "gamma_pass_rate", pl.col("submission") == study.main.ranked[0]
    ).sort("value", descending=True)
    for which, row in zip(("best", "worst"), rates.iter_rows(named=True), strict=True):
        caption = block(sections, f"gamma-{which}").caption
        assert f"Gamma of case {row['case']}, " in caption
        assert f"in which {row['value']:.2f} % pass" in caption
        assert block(sections, f"{which}-dvh")
    maps = []
    monkeypatch.setattr(
        "isocenter.papers.doserad2026._gamma._gamma", lambda picture: maps.append(_gamma(picture)) or maps[-1]
    )
    chapter(study)
    passing = [100 * float((found[~np.isnan(found)] <= 1).mean()) for found in maps]
    assert passing == pytest.approx(rates["value"].to_list())


def test_the_chapter_is_the_same_when_it_is_made_again(drawn: tuple[Study, list[Section]], played: Home) -> None:
    assert whole(chapter(played.study())) == whole(drawn[1])


def test_outputs_that_changed_or_went_since_they_were_scored_are_said_not_drawn(played: Home, tmp_path: Path) -> None:
    home = Home(tmp_path / "other")
    for name in ("reference", "submissions", "scores"):
        shutil.copytree(played.path / name, home.path / name, dirs_exist_ok=True)
    home.rows = played.rows
    winner, second, third = home.study().main.ranked
    shutil.rmtree(home.path / "submissions" / third)
    for file in (home.path / "submissions" / winner).rglob("*.mha"):
        file.write_bytes(b"no dose")
    sections = chapter(home.study())
    assert f"Not drawn, as there is no usable dose: {winner}." in block(sections, "beam-worst").caption
    assert second in block(sections, "beam-worst").caption
    assert third not in block(sections, "beam-worst").caption
    assert f"of {winner} cannot be drawn" in told(section(sections, "gamma"))
    shutil.rmtree(home.path / "reference" / "TH001", ignore_errors=True)
    shutil.rmtree(home.path / "reference")
    (home.path / "reference").mkdir()
    sections = chapter(home.study())
    assert "cannot be drawn" in told(section(sections, "beams"))
    assert str(home.path) not in whole(sections)
