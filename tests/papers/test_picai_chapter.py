"""The chapter of PI-CAI 2022: curves, algorithms, readers and routine; and what must not be shown."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given as example
from hypothesis import settings as limits
from hypothesis import strategies as st
from numpy.typing import NDArray

import isocenter
from isocenter import editions, scores
from isocenter.detections import Detections, Finding, detections_of, findings
from isocenter.evaluation import load_challenge
from isocenter.papers import Settings, Study, open_folder
from isocenter.papers.picai2022 import chapter
from isocenter.papers.picai2022._bands import bands
from isocenter.papers.picai2022._given import given, panels
from isocenter.papers.picai2022._nulls import null_values
from isocenter.papers.picai2022._power import components
from isocenter.phantoms import ROUTINE_READERS, write_picai_cohort, write_picai_routine
from isocenter.ranking import case_draws
from isocenter.report import Band, Chart, Paragraph, Report, Section, Table, report_csvs, report_html, report_json
from isocenter.stats import Design, PermutationTest, ai_against_panel, matched_bootstrap, permutation_test, power
from isocenter.stats.mrmc import analyse

SECTIONS = [
    "cohort", "curves", "algorithms", "routine", "readers", "configurations", "panels", "power", "groups", "lesions",
    "disqualified",
]  # fmt: skip
RECORD = {"challenge": "picai2022", "isocenter": "0", "reference": "r" * 64, "policies": {}}
CASES = 24


def ill(case: int) -> bool:
    return case % 3 == 0


@dataclass
class Home:
    """The folder of an edition that a test fills. Every third case is positive, with a lesion of grade 2 or 4."""

    path: Path
    cases: int = CASES
    replicates: int = 200
    _made: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.path / "scores").mkdir(parents=True)
        editions.write(editions.new(load_challenge("picai2022")), self.path)

    def team(
        self, name: str, skill: float, *, instances: int = 1, without: int | None = None, noise: float = 1.0
    ) -> None:
        """A team whose likelihoods differ by `skill` between classes; it may leave out a case."""
        rows = []
        self._made[name] = len(self._made)
        for instance in range(instances):
            rng = np.random.default_rng([self._made[name], instance])
            label = f"instance-{instance + 1}" if instances > 1 else ""
            for case in range(self.cases):
                likelihood = float(1 / (1 + math.exp(-(skill * (ill(case) - 0.5) + noise * rng.normal()))))
                found = [Finding(True, likelihood, 0.5, 2.0 + 2 * (case % 2))] if ill(case) else []
                if found and rng.random() < 0.2:
                    found = [Finding(True, 0.0, 0.0, 2.0 + 2 * (case % 2))]
                if rng.random() < 0.5:
                    found.append(Finding(False, likelihood * float(rng.uniform(0.2, 0.9)), 0.0))
                if case == without:
                    lost = {"case_positive": None, "case_likelihood": None, "missing": 1.0}
                    rows += [scores.Row(f"C{case:03d}", "", *one) for one in lost.items() if instance == 0]
                    continue
                rows += [
                    scores.Row(f"C{case:03d}", part, metric, value)
                    for metric, value, part in findings(ill(case), likelihood, found, instance=label)
                ]
        scores.write(scores.frame(rows), self.path / "scores" / f"{name}.parquet", record=RECORD)

    def reads(self, readers: Sequence[str], *, score: bool = True, modalities: Sequence[str] = ("bpMRI",)) -> None:
        """Reads of patients only, of all cases."""
        lines = ["reader,modality,case,score,pirads"]
        for number, reader in enumerate(readers):
            for at, modality in enumerate(modalities):
                rng = np.random.default_rng([7, number, at])
                for case in range(self.cases):
                    sure = 1.5 * ill(case) + 0.2 * number + float(rng.normal())
                    pirads = int(np.clip(round(2.2 + sure), 1, 5))
                    said = str(int(np.clip(30 + 20 * sure, 0, 100))) if score else ""
                    lines.append(f"{reader},{modality},C{case:03d},{said},{pirads}")
        (self.path / "reads.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def routine(self, pirads: Sequence[int]) -> None:
        """The PI-RADS of the first cases."""
        lines = ["case,pirads", *(f"C{case:03d},{rating}" for case, rating in enumerate(pirads))]
        (self.path / "routine.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    @property
    def study(self) -> Study:
        """The edition as it is now."""
        return Study(open_folder(self.path), Settings(replicates=self.replicates))

    def sections(self) -> dict[str, Section]:
        """The chapter, which every writer must be able to write."""
        return written(self.study)


def written(study: Study) -> dict[str, Section]:
    found = chapter(study)
    report = Report("t", "", tuple(found))
    report_html(report)
    report_json(report)
    report_csvs(report)
    return {section.name: section for section in found}


def table(section: Section, name: str) -> list[dict[str, str]]:
    found = next(block for block in section.blocks if isinstance(block, Table) and block.name == name)
    heads = [column.title for column in found.columns]
    return [
        dict(zip(heads, (cell if isinstance(cell, str) else cell.text for cell in row), strict=True))
        for row in found.rows
    ]


def charts(section: Section) -> dict[str, Chart]:
    return {block.name: block for block in section.blocks if isinstance(block, Chart)}


def notes(section: Section) -> str:
    return "\n".join(block.text for block in section.blocks if isinstance(block, Paragraph))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "edition")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Synthetic exams with all that an edition can have: reference, outputs, reads and routine."""
    folder = tmp_path_factory.mktemp("picai")
    files = write_picai_cohort(folder, cases=12)
    write_picai_routine(folder, cases=12)
    challenge = load_challenge("picai2022")
    editions.write(editions.new(challenge), folder)
    for team, outputs in files.submissions.items():
        rows = isocenter.evaluate(challenge, reference=files.reference, submission=outputs)
        scores.write(rows, folder / "scores" / f"{team}.parquet", record=RECORD)
    return folder


# Everything at hand


def test_a_full_folder_has_every_section_and_picture(demo: Path) -> None:
    found = written(Study(open_folder(demo), Settings(replicates=100)))
    assert list(found) == SECTIONS
    assert list(charts(found["curves"])) == ["roc", "precision-recall", "froc", "auroc-and-average-precision"]
    assert "average-curve" in charts(found["readers"])
    assert {row["Of"] for row in table(found["readers"], "operating-points")} == {"Patients", "Lesions"}
    assert len(table(found["routine"], "matched-routine")) == 5 * 4
    captions = [chart.caption for chart in charts(found["lesions"]).values()]
    assert [any(f" {which}, in case" in caption for caption in captions) for which in ("found", "missed")] == [
        True,
        True,
    ]
    assert "Routine, PI-RADS ≥ 3" in charts(found["curves"])["roc"].picture


def test_neither_readers_nor_the_disqualified_are_named(demo: Path, tmp_path: Path) -> None:
    copied = tmp_path / "edition"
    copied.mkdir()
    for name in ("challenge.toml", "scores", "reference", "submissions"):
        (copied / name).symlink_to(demo / name)
    text = (demo / "reads.csv").read_text(encoding="utf-8").replace("Reader A", "Ann Quist")
    (copied / "reads.csv").write_text(text, encoding="utf-8")
    study = Study(open_folder(copied), Settings(replicates=0))
    (out,) = [row.submission for row in study.disqualified]
    found = written(study)
    page = report_html(Report("t", "", tuple(found.values())))
    assert "Ann Quist" not in page
    assert "Reader 1" in page
    assert out not in page
    assert notes(found["disqualified"]) == (
        "Disqualified, and on no board: 1 submission. Without an output for at least one case: 1; with an output that "
        "could not be measured: 0."
    )


def test_files_that_do_not_fit_the_scores_are_a_note(demo: Path, tmp_path: Path) -> None:
    copied = tmp_path / "edition"
    shutil.copytree(demo, copied)
    for path in (copied / "scores").glob("*.parquet"):
        rows = scores.read(path)
        turned = pl.when((pl.col("metric") == "case_positive") & (pl.col("case") == _healthy(demo))).then(1.0)
        scores.write(rows.with_columns(turned.otherwise("value").alias("value")), path, record=RECORD)
    for path in (copied / "submissions").rglob("PCA*.*"):
        path.write_bytes(b"no image")
    found = written(Study(open_folder(copied), Settings(replicates=0)))
    assert f"it says something else of {_healthy(demo)}" in notes(found["curves"])
    assert notes(found["lesions"]).count("cannot be drawn") == 2


def _healthy(demo: Path) -> str:
    truth = scores.read(next((demo / "scores").glob("*.parquet"))).filter(pl.col("metric") == "case_positive")
    return str(truth.filter(pl.col("value") == 0)["case"].sort()[0])


# Curves


def test_a_band_is_made_of_the_curves_of_weighted_cases(home: Home) -> None:
    home.team("Aare", 1.5)
    (found,) = given(home.study).teams["Aare"]
    made = bands(found, replicates=40, level=0.9, seed=3)
    lesion = np.isin(np.arange(home.cases), found.case[found.is_lesion])
    kinds = np.array([found.truth, ~found.truth, lesion]).T.astype(np.int64)
    drawn = case_draws(home.cases, replicates=40, seed=3, reject=lambda counts: ((counts @ kinds) == 0).any(axis=1))
    again = [replace(found, weight=found.weight * counts) for counts in drawn.by_case.T]
    assert made.roc is not None
    assert made.precision_recall is not None
    assert made.froc is not None
    at = np.asarray(made.roc.x)
    curves = [one.roc() for one in again]
    sensitivity = [np.interp(at, curve.false_positive_rate, curve.sensitivity) for curve in curves]
    assert_band(made.roc, np.array(sensitivity))
    at = np.asarray(made.froc.x)
    attained = [[one.froc().sensitivity_at(rate) for rate in at] for one in again]
    assert_band(made.froc, np.array(attained))
    at = np.asarray(made.precision_recall.x)
    precision = [[_precision_at(one, recall) for recall in at] for one in again]
    assert_band(made.precision_recall, np.array(precision))


def assert_band(band: Band, values: NDArray[np.float64]) -> None:
    low, high = np.percentile(values, [5, 95], axis=0)
    np.testing.assert_allclose(np.asarray(band.low, dtype=np.float64), low)
    np.testing.assert_allclose(np.asarray(band.high, dtype=np.float64), high)


def _precision_at(found: Detections, recall: float) -> float:
    curve = found.precision_recall()
    reached = np.flatnonzero((curve.recall >= recall - 1e-9) & (curve.precision > 0))
    return float(curve.precision[reached[-1]]) if reached.size else 0.0


def test_teams_on_an_iso_line_have_the_same_score(home: Home) -> None:
    home.team("Aare", 2.5)
    home.team("Inn", 1.0)
    data = charts(home.sections()["curves"])["auroc-and-average-precision"].data
    assert data is not None
    for team, auroc, precision, score in data.iter_rows():
        assert score == pytest.approx((auroc + precision) / 2)
        assert score == pytest.approx(home.study.main.board[team].score)


# Algorithms


def test_separated_instances_have_the_smallest_p_there_is(home: Home) -> None:
    home.team("Aare", 9.0, instances=3)
    home.team("Inn", 0.0, instances=3)
    found = home.sections()["algorithms"]
    data = charts(found)["pairs-by-trainings"].data
    assert data is not None
    p = {(better, than): value for better, than, _, value in data.iter_rows()}
    assert p["Aare", "Inn"] == pytest.approx(1 / 20)
    assert p["Inn", "Aare"] == 1
    assert "permutation-algorithms" in charts(found)
    assert [(row["Team"], row["Other team"]) for row in table(found, "instances")] == [("Aare", "Inn")]


def test_the_first_five_are_all_compared_with_each_other(home: Home) -> None:
    for number in range(6):
        home.team(f"team-{number}", 4.0 - number / 2, instances=2)
    first = home.study.main.ranked[:5]
    rows = table(home.sections()["algorithms"], "instances")
    assert [(row["Team"], row["Other team"]) for row in rows] == list(combinations(first, 2))
    p = [float(row["Holm"]) for row in rows]
    assert all(holm >= float(row["p"]) - 1e-9 for holm, row in zip(p, rows, strict=True))


def test_teams_that_were_trained_once_are_compared_by_draws_of_the_cases_only(home: Home) -> None:
    home.team("Aare", 3.0)
    home.team("Inn", 0.5)
    found = home.sections()["algorithms"]
    assert list(charts(found)) == ["pairs-by-cases"]
    assert "here 0 teams had their algorithm trained more than once" in notes(found)
    data, drawn = charts(found)["pairs-by-cases"].data, home.study.main.uncertainty
    assert data is not None
    assert drawn is not None
    a, b = (drawn.drawn.scores[drawn.drawn.submissions.index(team)] for team in ("Aare", "Inn"))
    assert data.row(0)[3] == pytest.approx((np.count_nonzero(a < b) + 0.5 * np.count_nonzero(a == b) + 1) / 201)


_values = st.lists(st.integers(0, 8).map(lambda n: n / 8), min_size=1, max_size=5)


@limits(max_examples=60)
@example(a=_values, b=_values, statistic=st.sampled_from(["rank", "difference"]))
def test_the_null_that_is_drawn_is_the_one_that_p_comes_from(a: list[float], b: list[float], statistic: str) -> None:
    test = permutation_test(a, b, statistic="rank" if statistic == "rank" else "difference")
    null = null_values(a, b, test)
    assert null.size == math.comb(len(a) + len(b), len(a)) == test.relabellings
    assert np.mean(null >= test.value - 1e-9) == pytest.approx(test.p_value)


def test_of_many_relabellings_a_sample_is_drawn() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.3, 1, 12).round(3).tolist(), rng.normal(0, 1, 14).round(3).tolist()
    test: PermutationTest = permutation_test(a, b)
    null = null_values(a, b, test)
    assert null.size == 20_000
    assert np.mean(null >= test.value - 1e-9) == pytest.approx(test.p_value, abs=0.02)


# Readers


def test_the_numbers_of_the_readers_are_those_of_the_statistics(home: Home) -> None:
    home.team("Aare", 2.0, instances=4)
    home.reads(["Ann", "Bob", "Cid"])
    found = home.sections()["readers"]
    (panel,) = panels(given(home.study))
    expected = ai_against_panel(panel.reads, ai="algorithm", panel="readers", points=(3.0, 4.0))
    assert expected.verdict is not None
    (row,) = table(found, "non-inferiority")
    assert row["Margin"] == "0.05"
    assert row["Verdict"] == expected.verdict.label
    assert row["By PI-CAI's rule"] == ("accepted" if expected.verdict.accepted else "not accepted")
    areas = {row["Who"]: row["AUROC"] for row in table(found, "reader-areas")}
    assert areas["Aare"] == f"{expected.study.modalities['algorithm'].auc:.3f}"
    assert areas["3 readers of bpMRI"] == f"{expected.study.modalities['readers'].auc:.3f}"
    rows = table(found, "operating-points")
    assert [row["p"] for row in rows] == [f"{one.comparison.p_value:.3f}" for one in expected.points]
    tests = [test for test in given(home.study).compared.of_family("readers") if test.point is not None]
    assert [row["Holm"] for row in rows] == [f"{test.adjusted:.3f}" for test in tests]
    assert [row["Published p"] for row in rows] == [f"{test.published_p:.3f}" for test in tests]
    assert "permutation-readers" in charts(found)
    assert "Lesions are not compared: the reads say nothing of places." in notes(found)


def test_the_average_curve_has_the_mean_area_of_the_readers(home: Home) -> None:
    home.team("Aare", 2.0)
    home.reads(["Ann", "Bob"])
    study = given(home.study)
    assert study.readers is not None
    mean = np.mean([one.auroc.value for one in study.readers.readers])
    data = charts(home.sections()["readers"])["average-curve"].data
    assert data is not None
    mine = data.filter(data["who"] != "Aare")
    assert np.trapezoid(mine["sensitivity"], mine["false_positive_rate"]) == pytest.approx(mean)


def test_without_scores_readers_are_compared_by_pirads(home: Home) -> None:
    home.team("Aare", 2.0)
    home.reads(["Ann", "Bob"], score=False)
    assert "readers are scored by their PI-RADS" in charts(home.sections()["readers"])["average-curve"].caption


def test_every_modality_has_its_own_comparison(home: Home) -> None:
    home.team("Aare", 2.0)
    home.reads(["Ann", "Bob"], modalities=("T2", "t2"))
    found = home.sections()
    assert [name for name in charts(found["readers"]) if name.startswith("average")] == [
        "average-curve",
        "average-curve-2",
    ]
    assert [block.name for block in found["power"].blocks if isinstance(block, Table)] == [
        "power-table",
        "power-table-2",
    ]


def test_one_reader_is_compared_but_gives_no_power(home: Home) -> None:
    home.team("Aare", 2.0)
    home.reads(["Ann"])
    found = home.sections()
    assert "There is one reader: the result holds for this reader, not for others." in notes(found["readers"])
    assert "1 reader of bpMRI has an AUROC" in notes(found["readers"])
    assert notes(found["power"]) == (
        "One reader of bpMRI shows no variance between readers, so no power can be worked out."
    )


def test_power_rises_with_readers_and_with_cases(home: Home) -> None:
    home.team("Aare", 2.0)
    home.reads(["Ann", "Bob", "Cid", "Dan"])
    found = next(block for block in home.sections()["power"].blocks if isinstance(block, Table))
    powers = np.array([[cell.value for cell in row[1:] if not isinstance(cell, str)] for row in found.rows], float)
    assert powers.shape == (5, 4)
    assert (np.diff(powers, axis=0) >= -1e-9).all()
    assert (np.diff(powers, axis=1) >= -1e-9).all()
    assert found.columns[1].title == "100 cases, 33 positive"


def test_the_components_give_the_standard_error_of_the_study_itself(home: Home) -> None:
    home.team("Aare", 2.0, instances=3)
    home.reads(["Ann", "Bob", "Cid"])
    (panel,) = panels(given(home.study))
    unbiased, _ = components(panel)
    pair = analyse(panel.reads, fixed=["algorithm"]).pairs["algorithm", "readers"]
    found = power(unbiased, Design(3, CASES - CASES // 3, CASES // 3), margin=0.05)
    assert found.standard_error**2 == pytest.approx(pair.variances["unbiased"])


def test_reads_of_other_cases_are_left_out_and_counted(home: Home) -> None:
    home.team("Aare", 2.0)
    home.reads(["Ann", "Bob"])
    with (home.path / "reads.csv").open("a", encoding="utf-8") as file:
        file.write("Ann,bpMRI,X1,50,3\n")
    assert "Left out of reads.csv: 1 read of cases that are not in the score tables." in notes(
        home.sections()["curves"]
    )


def test_marks_without_a_reference_speak_of_patients_only(home: Home) -> None:
    home.team("Aare", 2.0)
    lines = ["reader,modality,case,score,x,y,z,pirads"]
    lines += [f"{r},,C{c:03d},{70 * ill(c) + c},{'1,2,3,4' if ill(c) else ',,,'}" for r in "ab" for c in range(CASES)]
    (home.path / "reads.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = home.sections()
    assert "not of lesions: the organisers' files are not in reference/." in notes(found["curves"])
    assert {row["Of"] for row in table(found["readers"], "operating-points")} == {"Patients"}
    assert {row["Readers"] for row in table(found["readers"], "operating-points")} == {"1.000"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reader,case,pirads\nAnn,C000,9\n", "PI-RADS 9"),
        ("reader,case,pirads\nAnn,Z,3\n", "no read is of a case of this phase"),
        ("who,what\n1,2\n", "No reader is shown"),
    ],
)
def test_reads_that_cannot_be_used_are_a_note(home: Home, text: str, expected: str) -> None:
    home.team("Aare", 2.0)
    (home.path / "reads.csv").write_text(text, encoding="utf-8")
    found = home.sections()
    assert expected in notes(found["readers"])
    assert "at least two readers in reads.csv" in notes(found["power"])


def test_perfect_readers_and_a_perfect_algorithm_leave_nothing_to_decide(home: Home) -> None:
    home.team("Aare", 9.0, noise=0.0)
    lines = [f"{reader},C{case:03d},{90 * ill(case)},{1 + 3 * ill(case)}" for reader in "ab" for case in range(CASES)]
    (home.path / "reads.csv").write_text("\n".join(["reader,case,score,pirads", *lines]) + "\n", encoding="utf-8")
    found = home.sections()
    assert "Non-inferiority is not decided, as the difference has no variance." in notes(found["readers"])
    assert [row["Standard error"] for row in table(found["readers"], "reader-areas")] == ["–"] * 3
    assert "do not show how they vary" in notes(found["power"])


def test_readers_of_one_class_only_are_a_note(home: Home) -> None:
    home.team("Aare", 2.0)
    (home.path / "reads.csv").write_text("reader,case,score,pirads\nAnn,C000,50,3\nBob,C003,60,4\n", encoding="utf-8")
    found = home.sections()
    assert "Readers are not compared" in notes(found["readers"])
    assert "No power can be worked out" in notes(found["power"])


# Clinical routine


def test_the_routine_is_matched_at_both_operating_points(home: Home) -> None:
    home.team("Aare", 2.0)
    pirads = [4 if ill(case) else (3 if case % 2 else 1) for case in range(CASES)]
    pirads[0] = 2
    home.routine(pirads)
    rows = table(home.sections()["routine"], "matched-routine")
    assert [(row["Routine calls at"], row["Compared"]) for row in rows] == [
        ("PI-RADS ≥ 3", "specificity at equal sensitivity"),
        ("PI-RADS ≥ 3", "sensitivity at equal specificity"),
        ("PI-RADS ≥ 4", "specificity at equal sensitivity"),
        ("PI-RADS ≥ 4", "sensitivity at equal specificity"),
    ]
    (found,) = given(home.study).teams["Aare"]
    expected = matched_bootstrap(found.truth, np.array(pirads) >= 3, found.likelihood, replicates=200)
    assert rows[0]["Team's"] == f"{expected.instance_conjugates[0]:.3f}"
    assert (rows[0]["Routine's"], rows[1]["Routine's"]) == ("0.500", "0.875")
    assert rows[0]["p"] == f"{expected.p_value:.3f}"
    assert rows[0]["P(as good)"] == f"{expected.prob_ai_at_least:.3f}"


def test_each_of_the_first_five_is_compared_with_the_routine(home: Home) -> None:
    for number in range(6):
        home.team(f"team-{number}", 4.0 - number / 2)
    home.routine([4 if ill(case) else 1 + case % 3 for case in range(CASES)])
    rows = table(home.sections()["routine"], "matched-routine")
    assert list(dict.fromkeys(row["Team"] for row in rows)) == home.study.main.ranked[:5]
    assert len(rows) == 5 * 4


def test_a_routine_with_places_is_compared_by_its_lesions(demo: Path, tmp_path: Path) -> None:
    copied = tmp_path / "edition"
    copied.mkdir()
    for name in ("challenge.toml", "scores", "reference"):
        (copied / name).symlink_to(demo / name)
    lines = (demo / "reads.csv").read_text(encoding="utf-8").splitlines()
    mine = [line.replace("Reader A,bpMRI", "Clinic,") for line in lines[1:] if line.startswith("Reader A,bpMRI")]
    (copied / "routine.csv").write_text("\n".join([lines[0], *mine]) + "\n", encoding="utf-8")
    found = written(Study(open_folder(copied), Settings(replicates=50)))["routine"]
    rows = table(found, "matched-routine-lesions")
    assert {row["Compared"] for row in rows} <= {"precision at equal recall", "recall at equal precision"}
    assert rows


def test_a_routine_that_an_algorithm_cannot_meet_is_said(home: Home) -> None:
    home.team("Aare", 0.0, noise=0.0)
    home.routine([4 if ill(case) and case % 2 else 1 for case in range(CASES)])
    found = home.sections()["routine"]
    assert "Aare has no threshold at which its sensitivity is that of the routine; it stays off by 0.500" in notes(
        found
    )


def test_cases_without_a_routine_read_are_left_out_and_counted(home: Home) -> None:
    home.team("Aare", 2.0)
    home.routine([5 if ill(case) else 1 for case in range(CASES - 4)])
    found = home.sections()["routine"]
    assert "Not compared with the routine: 4 cases that routine.csv does not have." in notes(found)
    assert any("20 cases, 7 positive" in block.caption for block in found.blocks if isinstance(block, Table))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("case\nC000\n", "there is no column of PI-RADS"),
        ("case,pirads\nC000,6\nC000,3\nC000,3\n", "PI-RADS 6 of the patient; expected 1, 2, 3, 4 or 5"),
        ("case,pirads\nC000,6\nC000,3\nC000,3\n", "names a case again; the routine has one PI-RADS per case"),
        ("case,pirads\n", "there is no row with a PI-RADS"),
        ("case,pirads\nC000,3,1\n", "has 3 values; the header has 2 columns"),
        ("case,pirads\nC000,3\nC003,4\n", "PI-RADS ≥ 3, equal sensitivity: not compared"),
    ],
)
def test_a_routine_that_cannot_be_used_is_a_note(home: Home, text: str, expected: str) -> None:
    home.team("Aare", 2.0)
    (home.path / "routine.csv").write_text(text, encoding="utf-8")
    assert expected in notes(home.sections()["routine"])


# Panels, and the cohort


def full_study(home: Home) -> dict[str, Section]:
    home.team("Aare", 2.5, instances=2)
    home.team("Inn", 1.0)
    home.reads(["Ann", "Bob", "Cid", "Dee"], modalities=("bpMRI", "mpMRI"))
    lines = ["reader_id,panel", "Ann,expert", "Bob,expert", "Cid,other", "Dee,other", "Eve,other"]
    (home.path / "panels.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return home.sections()


def test_every_team_meets_every_configuration_of_readers(home: Home) -> None:
    found = full_study(home)["configurations"]
    areas = table(found, "configurations-auroc")
    assert [(row["Team"], row["Readers"], row["Modality"]) for row in areas] == [
        (team, panel, modality)
        for team in ("Aare", "Inn")
        for modality in ("bpMRI", "mpMRI")
        for panel in ("all", "expert", "other")
    ]
    for number in (1, 2):
        rows = table(found, f"configurations-{number}")
        assert len({(row["Readers"], row["Modality"], row["At"]) for row in rows}) == 12  # and six on the full scale
    assert list(charts(found)) == ["configurations-patients", "configurations-patients-2"]
    data = charts(found)["configurations-patients"].data
    assert data is not None
    tests = given(home.study).compared.of_family("readers", "patients")
    assert data["difference"].to_list() == [test.difference for test in tests if test.modality == "bpMRI"]
    assert "Left out of panels.csv: 1 reader without a read of this phase." in notes(found)


def test_readers_are_compared_with_readers_and_nobody_is_named(home: Home) -> None:
    sections = full_study(home)
    found = sections["panels"]
    means = table(found, "configurations-readers")
    assert len(means) == 18
    assert {row["At"] for row in means} == {"full scale", "PI-RADS ≥ 3", "PI-RADS ≥ 4"}
    pairs = {(row["First panel"], row["Second panel"]) for row in table(found, "panel-tests")}
    assert pairs == {
        ("all, bpMRI", "all, mpMRI"),
        ("expert, bpMRI", "expert, mpMRI"),
        ("other, bpMRI", "other, mpMRI"),
        ("expert, bpMRI", "other, bpMRI"),
        ("expert, mpMRI", "other, mpMRI"),
    }
    page = report_html(Report("t", "", tuple(sections.values())))
    assert not any(name in page for name in ("Ann", "Bob", "Cid", "Dee"))


def test_without_panels_it_is_said_what_would_show_them(home: Home) -> None:
    home.team("Aare", 2.0)
    home.reads(["Ann", "Bob"])
    found = home.sections()
    assert "from a file panels.csv" in notes(found["configurations"])
    assert {row["Panel"] for row in table(found["panels"], "configurations-readers")} == {"all"}


@pytest.mark.parametrize("text", ["who,panel\nAnn,expert\n", "reader_id,panel\nAnn,\n", ""])
def test_panels_that_cannot_be_used_are_a_note(home: Home, text: str) -> None:
    home.team("Aare", 2.0)
    home.reads(["Ann", "Bob"])
    (home.path / "panels.csv").write_text(text, encoding="utf-8")
    assert "Panels of readers are not compared" in notes(home.sections()["configurations"])


def test_the_table_of_the_cohort_counts_cases_lesions_and_facts(home: Home) -> None:
    home.team("Aare", 2.0)
    home.routine([4 if ill(case) else 2 for case in range(CASES - 1)])
    rows = [f"C{case:03d},{50 + case},{'AB'[case % 2]},{'' if case else 'x'}" for case in range(CASES)]
    (home.path / "cases.csv").write_text("\n".join(["case,age,site,note", *rows]) + "\n", encoding="utf-8")
    found = {row[""]: row for row in table(home.sections()["cohort"], "cohort-table")}
    assert found["Cases"] == {
        "": "Cases", "All": "24 (100 %)", "Benign or indolent": "16 (67 %)", "Significant cancer": "8 (33 %)",
    }  # fmt: skip
    assert (found["Lesions"]["All"], found["– of grade 4"]["Significant cancer"]) == ("8", "4 (50 %)")
    assert found["age, median (quartiles)"]["All"] == "61.5 (55.8 to 67.2)"
    assert found["site: A"]["Significant cancer"] == "4 (50 %)"
    assert found["PI-RADS 4 in routine"]["Significant cancer"] == "8 (100 %)"
    assert found["PI-RADS 2 in routine"]["Benign or indolent"] == "15 (94 %)"
    assert found["– note unknown"]["All"] == "23 (96 %)"


# Groups, little data, hostile names


def test_grades_have_the_numbers_of_their_patients(home: Home) -> None:
    home.team("Aare", 2.0)
    (row,) = table(home.sections()["groups"], "groups-grade")
    found = next(iter(detections_of(scores.read(home.path / "scores" / "Aare.parquet")).values()))
    expected = found.of_grade(2.0)
    assert row["2 (4 of 20 ill)"] == f"{expected.auroc:.3f} / {expected.average_precision:.3f}"


def test_facts_that_are_the_truth_itself_form_no_groups(home: Home) -> None:
    home.team("Aare", 2.0)
    rows = [f"C{case:03d},{4 if ill(case) else 0},{'AB'[case % 2]}" for case in range(CASES)]
    (home.path / "cases.csv").write_text("\n".join(["case,isup,site", *rows]) + "\n", encoding="utf-8")
    names = [block.name for block in home.sections()["groups"].blocks if isinstance(block, Table)]
    assert names == ["groups-grade", "groups-2-site"]


def test_facts_must_be_known_of_every_case(home: Home) -> None:
    home.team("Aare", 2.0)
    rows = [f"C{case:03d},{'AB'[case % 2]}" for case in range(CASES - 1)]
    (home.path / "cases.csv").write_text("\n".join(["case,site", *rows]) + "\n", encoding="utf-8")
    assert "No groups by site: groups by 'site' need a table" in notes(home.sections()["groups"])


def test_teams_with_cases_of_their_own_are_compared_by_their_instances_only(home: Home) -> None:
    home.team("Aare", 4.0, instances=3)
    home.team("Inn", 1.0, instances=3, without=1)
    text = (home.path / "challenge.toml").read_text(encoding="utf-8")
    (home.path / "challenge.toml").write_text(
        text.replace('missing = "disqualify"', 'missing = "leave-out"'), encoding="utf-8"
    )
    found = home.sections()["algorithms"]
    assert list(charts(found)) == ["pairs-by-trainings", "permutation-algorithms"]
    assert "they have cases of their own" in notes(found)


def test_of_many_teams_the_first_ten_have_curves(home: Home) -> None:
    home.replicates = 0
    for number in range(12):
        home.team(f"team-{number:02d}", 1.0 + number / 4)
    curves = charts(home.sections()["curves"])
    assert "The first 10 of 12 teams." in curves["roc"].caption
    data, parts = curves["roc"].data, curves["auroc-and-average-precision"].data
    assert data is not None
    assert parts is not None
    assert data["team"].n_unique() == 10
    assert parts.height == 12


def test_a_bare_folder_says_what_would_show_what(home: Home) -> None:
    home.team("Aare", 2.0)
    found = home.sections()
    assert list(found) == SECTIONS
    assert "reads.csv" in notes(found["readers"])
    assert "reads.csv" in notes(found["power"])
    assert "routine.csv" in notes(found["routine"])
    assert "reference/" in notes(found["lesions"])
    assert "fewer than two ranked teams" in notes(found["algorithms"])
    assert notes(found["disqualified"]).startswith("Nobody is disqualified")


def test_where_everybody_is_disqualified_only_that_is_said(home: Home) -> None:
    home.team("Aare", 2.0, without=1)
    assert list(home.sections()) == ["disqualified"]


def test_without_replicates_nothing_is_drawn(home: Home) -> None:
    home.replicates = 0
    home.team("Aare", 2.0, instances=2)
    home.team("Inn", 1.0, instances=2)
    home.routine([4] * CASES)
    found = home.sections()
    assert "no cases were drawn" in notes(found["algorithms"])
    assert "no replicates were asked for" in notes(found["routine"])
    assert "Shaded" not in charts(found["curves"])["roc"].caption


def test_hostile_names_are_text(home: Home) -> None:
    home.team("<script>alert(1)<", 2.0)
    home.team("Ж🩻" + "x" * 150, 1.0)
    home.reads(["<b>Ann", "<i>Bob"], modalities=("<u>T2",))
    page = report_html(Report("t", "", tuple(home.sections().values())))
    assert "<script>alert" not in page
    assert "<u>T2" not in page


# Synthetic routine


def test_a_larger_synthetic_routine_begins_with_a_smaller_one(tmp_path: Path) -> None:
    small = write_picai_routine(tmp_path / "a", cases=4).read_text(encoding="utf-8")
    large = write_picai_routine(tmp_path / "b", cases=6).read_text(encoding="utf-8")
    assert large.startswith(small)
    rows = [line.split(",") for line in large.splitlines()]
    assert rows[0] == ["case", "pirads", "reader"]
    assert {row[1] for row in rows[1:]} <= set("12345")
    assert [row[2] for row in rows[1:4]] == [reader.name for reader in ROUTINE_READERS]
    with pytest.raises(FileExistsError, match=r"routine\.csv is already there"):
        write_picai_routine(tmp_path / "a", cases=4)
