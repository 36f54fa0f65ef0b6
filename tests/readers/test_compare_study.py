"""Algorithms, clinical routine and readers, compared in one call and in one command."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from isocenter import scores
from isocenter.cli import app
from isocenter.detections import Detections, Finding, detections_of, findings
from isocenter.metrics import Mark
from isocenter.readers import (
    Read,
    ReaderScores,
    Reads,
    ReadsError,
    ReferenceCase,
    StudyComparisons,
    compare_study,
    read_routine,
    score_patients,
    score_reads,
)
from isocenter.stats import (
    LesionRows,
    adjust,
    ai_against_panel,
    compare_instances,
    compare_readers,
    matched_bootstrap,
    matched_lesion_bootstrap,
)
from isocenter.volumes import Grid

CASES = 30
READERS = {"Ann": "expert", "Bob": "expert", "Cid": "other", "Dee": "other"}
MODALITIES = ("bpMRI", "mpMRI")
PANELS = {panel: [name for name, of in READERS.items() if of == panel] for panel in ("expert", "other")}
RECORD = {"challenge": "picai2022", "isocenter": "0", "reference": "r" * 64, "policies": {}}
GRID = Grid((20, 20, 5))


def ill(case: int) -> bool:
    return case % 3 == 0


def table_of(number: int, skill: float, instances: int) -> pl.DataFrame:
    """A score table: every third case is positive with one lesion, some are found and some candidates made up."""
    rows = []
    for instance in range(instances):
        rng = np.random.default_rng([number, instance])
        label = f"instance-{instance + 1}" if instances > 1 else ""
        for case in range(CASES):
            likelihood = float(1 / (1 + math.exp(-(skill * (ill(case) - 0.5) + rng.normal()))))
            found = [Finding(True, likelihood if rng.random() < 0.8 else 0.0, 0.5, 2.0)] if ill(case) else []
            if rng.random() < 0.5:
                found.append(Finding(False, likelihood * float(rng.uniform(0.2, 0.9)), 0.0))
            rows += [
                scores.Row(f"C{case:03d}", part, metric, value)
                for metric, value, part in findings(ill(case), likelihood, found, instance=label)
            ]
    return scores.frame(rows)


TABLES = {"Aare": table_of(0, 2.5, 3), "Inn": table_of(1, 1.5, 3), "Rhone": table_of(2, 0.8, 1)}


def read_of(reader: str, modality: str, case: int, rng: np.random.Generator) -> Read:
    sure = 1.4 * ill(case) + float(rng.normal())
    marks = []
    if ill(case) and sure > 0.2:
        marks.append(Mark((6.0, 6.0, 2.0), int(np.clip(round(3 + sure), 3, 5))))
    if rng.random() < 0.3:
        marks.append(Mark((17.0, 17.0, 2.0), int(rng.integers(3, 6))))
    return Read(reader, f"C{case:03d}", tuple(marks), None, float(np.clip(30 + 25 * sure, 0, 100)), modality)


def reference() -> dict[str, ReferenceCase]:
    empty = np.zeros(GRID.shape, np.uint8)
    lesion = empty.copy()
    lesion[5:8, 5:8, 2] = 1
    return {f"C{case:03d}": ReferenceCase(lesion if ill(case) else empty, GRID) for case in range(CASES)}


def reads_of(readers: Sequence[str], modalities: Sequence[str]) -> Reads:
    return Reads(
        tuple(
            read_of(reader, modality, case, np.random.default_rng([9, number, at, case]))
            for number, reader in enumerate(readers)
            for at, modality in enumerate(modalities)
            for case in range(CASES)
        )
    )


@dataclass(frozen=True)
class Study:
    teams: dict[str, list[Detections]]
    readers: ReaderScores
    routine: ReaderScores

    def compared(self) -> StudyComparisons:
        return compare_study(self.teams, readers=self.readers, routine=self.routine, panels=PANELS, replicates=300)


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(
        {team: list(detections_of(table).values()) for team, table in TABLES.items()},
        score_reads(reads_of(list(READERS), MODALITIES), reference()),
        score_reads(reads_of(["routine"], [""]), reference()),
    )


@pytest.fixture(scope="module")
def compared(study: Study) -> StudyComparisons:
    return study.compared()


def test_every_team_meets_18_configurations_of_readers_for_patients_and_12_for_lesions(
    compared: StudyComparisons,
) -> None:
    levels = [one.level for one in compared.configurations]
    assert (levels.count("patients"), levels.count("lesions")) == (18, 12)
    wanted = {(one.panel, one.modality, one.point) for one in compared.configurations}
    for team in TABLES:
        for level, count in (("patients", 18), ("lesions", 12)):
            met = {test.configuration for test in compared.of_family("readers", level) if test.a == team}
            assert len(met) == count
            assert met <= wanted


def test_the_four_comparisons_have_all_their_tests(compared: StudyComparisons) -> None:
    # Three pairs of teams; per team two points with two measures of patients and two of lesions; per team and panel in
    # a modality one area and eight tests at points; panels: bp v mp of three, expert v other in two modalities.
    counts = {name: len(compared.of_family(name)) for name in ("algorithms", "routine", "readers", "panels")}
    assert counts == {"algorithms": 3, "routine": 3 * 8, "readers": 3 * 6 * 9, "panels": 5 * 9}


def test_algorithms_are_compared_as_the_statistics_do(study: Study, compared: StudyComparisons) -> None:
    one, two = study.teams["Aare"], study.teams["Inn"]
    expected = compare_instances(
        one[0].truth,
        [found.likelihood for found in one],
        [found.likelihood for found in two],
        measure="score",
        lesions_a=[LesionRows(found.case, found.is_lesion, found.confidence) for found in one],
        lesions_b=[LesionRows(found.case, found.is_lesion, found.confidence) for found in two],
        weight=one[0].weight,
        replicates=300,
    )
    test = compared.of_family("algorithms")[0]
    assert (test.a, test.b, test.p, test.low, test.high) == (
        "Aare", "Inn", expected.p_value, expected.low, expected.high,
    )  # fmt: skip
    assert test.difference == pytest.approx(test.value_a - test.value_b)
    assert test.published_p == getattr(expected, "published", expected).p_value


@pytest.mark.parametrize("match", ["sensitivity", "specificity", "recall", "precision"])
def test_the_routine_is_matched_as_the_statistics_do(study: Study, compared: StudyComparisons, match: str) -> None:
    mine, reads = study.teams["Aare"], study.routine.reads
    options = {"match": match, "replicates": 300}
    if match in ("sensitivity", "specificity"):
        calls = [one.read.calls(4) for one in reads]
        likelihoods = np.array([found.likelihood for found in mine])
        expected = matched_bootstrap(mine[0].truth, calls, likelihoods, **options)  # type: ignore[arg-type]
    else:
        rows = [
            (at, is_lesion, sure)
            for at, one in enumerate(reads)
            if one.hits
            for is_lesion, sure, count in (
                (True, 1.0, one.hits[4].tp), (True, 0.0, one.hits[4].fn), (False, 1.0, one.hits[4].fp),
            )
            for _ in range(count)
        ]  # fmt: skip
        routine = LesionRows(*(np.array(column) for column in zip(*rows, strict=True)))
        instances = [LesionRows(found.case, found.is_lesion, found.confidence) for found in mine]
        expected = matched_lesion_bootstrap(routine, instances, cases=CASES, **options)  # type: ignore[arg-type]
    (test,) = [
        one for one in compared.of_family("routine")
        if (one.a, one.point, one.measure) == ("Aare", 4, f"{expected.conjugate} at equal {match}")
    ]  # fmt: skip
    assert (test.difference, test.low, test.high, test.p) == (
        expected.difference, expected.low, expected.high, expected.p_value,
    )  # fmt: skip
    assert test.value_b == expected.routine_conjugate


def test_readers_are_compared_as_the_statistics_do(study: Study, compared: StudyComparisons) -> None:
    rows: list[tuple[object, ...]] = [
        (
            one.read.reader,
            "panel",
            one.read.case,
            int(one.positive),
            one.read.score,
            float(max((mark.pirads for mark in one.read.marks or ()), default=1)),
        )
        for one in study.readers.reads
        if one.read.modality == "mpMRI" and READERS[one.read.reader] == "other"
    ]
    rows += [
        (f"net {number}", "net", case, int(positive), score, None)
        for number, found in enumerate(study.teams["Inn"])
        for case, positive, score in zip(found.cases, found.truth, found.likelihood.tolist(), strict=True)
    ]
    columns = ["reader_id", "modality_id", "case_id", "truth", "score", "rating"]
    frame = pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)
    expected = ai_against_panel(frame, ai="net", panel="panel", points=[3, 4])
    mine = [
        test for test in compared.of_family("readers", "patients")
        if (test.a, test.b, test.modality) == ("Inn", "other", "mpMRI")
    ]  # fmt: skip
    assert [test.point for test in mine] == [None, 3, 3, 4, 4]
    assert mine[0].difference == pytest.approx(expected.study.pairs["net", "panel"].difference)
    assert mine[0].verdict is not None
    assert expected.verdict is not None
    assert (mine[0].verdict.label, mine[0].verdict.accepted) == (expected.verdict.label, expected.verdict.accepted)
    assert [test.p for test in mine[1:]] == pytest.approx([one.comparison.p_value for one in expected.points])


def test_a_difference_that_is_not_that_of_its_columns_is_explained(compared: StudyComparisons) -> None:
    at_points = [test for test in compared.tests if test.family == "readers" and test.point is not None]
    off = max(abs(test.value_a - test.value_b - test.difference) for test in at_points)
    assert off > 0.0005
    (note,) = [note for note in compared.notes["readers"] if note.startswith("At the operating points")]
    assert f"off by up to {off:.3f}" in note


def test_panels_are_compared_as_the_statistics_do(study: Study, compared: StudyComparisons) -> None:
    frame = study.readers.frame().with_columns(
        rating=pl.Series(
            [float(max((mark.pirads for mark in one.read.marks or ()), default=1)) for one in study.readers.reads]
        )
    )
    expected = compare_readers(frame, panels={"all": list(READERS), **PANELS}, points=[3, 4])
    mine = compared.of_family("panels", "patients")
    assert [(test.a, test.b, test.point) for test in mine] == [(t.a, t.b, t.point) for t in expected.tests]
    assert [test.p for test in mine] == pytest.approx([test.p for test in expected.tests])
    assert [test.adjusted for test in mine] == pytest.approx([test.adjusted for test in expected.tests])
    for test in mine:
        assert test.difference == pytest.approx(test.value_a - test.value_b)


def test_p_is_adjusted_by_holm_within_each_family_patients_and_lesions_apart(compared: StudyComparisons) -> None:
    for family in ("algorithms", "routine", "readers", "panels"):
        for level in ("patients", "lesions", "both"):
            tests = compared.of_family(family, level)
            together = adjust([test.p for test in tests], "holm")
            assert [test.adjusted for test in tests] == pytest.approx(together.tolist())
    verdicts = [test for test in compared.of_family("readers") if test.verdict]
    together = adjust([test.verdict.p_one_sided for test in verdicts if test.verdict], "holm")
    assert [test.verdict_adjusted for test in verdicts] == pytest.approx(together.tolist())


def test_the_result_is_the_same_for_any_number_of_workers_and_any_order_of_reads(
    study: Study, compared: StudyComparisons
) -> None:
    turned = ReaderScores(
        study.readers.readers, study.readers.panels, tuple(reversed(study.readers.reads)), study.readers.remarks
    )
    again = compare_study(
        study.teams, readers=turned, routine=study.routine, panels=PANELS, replicates=300, workers=2
    ).table()
    keys = ["family", "level", "a", "b", "modality", "point", "measure"]
    numbers = ["difference", "low", "high", "p", "adjusted"]
    one, two = (table.sort(keys).select(*keys, *numbers) for table in (compared.table(), again))
    # Sums over readers in another order differ by rounding only.
    assert one.select(keys).equals(two.select(keys))
    np.testing.assert_allclose(one.select(numbers).to_numpy(), two.select(numbers).to_numpy(), rtol=0, atol=1e-9)


def test_without_marks_or_draws_it_is_said_what_is_not_compared(study: Study) -> None:
    reads = Reads(tuple(one.read for one in study.readers.reads))
    plain = score_patients(reads, study.teams["Aare"][0])
    found = compare_study(study.teams, readers=plain, routine=study.routine, replicates=0)
    assert {test.family for test in found.tests} == {"readers", "panels"}
    assert {test.level for test in found.tests} == {"patients"}
    assert {family: notes[:1] for family, notes in found.notes.items()} == {
        "algorithms": ("Algorithms are not compared with each other, as no replicates were asked for.",),
        "routine": ("Clinical routine is not compared, as no replicates were asked for.",),
        "readers": ("Lesions are not compared: the reads say nothing of places.",),
        "panels": (),
    }


def test_a_reader_of_a_panel_who_read_nothing_is_named(study: Study) -> None:
    with pytest.raises(ValueError, match="no read is by 'Zoe' of panel 'expert'"):
        compare_study(study.teams, readers=study.readers, panels={"expert": ["Ann", "Zoe"]}, replicates=10)


def test_only_pirads_3_to_5_are_operating_points(study: Study) -> None:
    with pytest.raises(ValueError, match="operating points are PI-RADS 3, 4, 5, not 2"):
        compare_study(study.teams, points=(2, 3), replicates=10)


# Clinical routine as a file


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_highest_pirads_of_a_marksheet_is_that_of_the_patient(tmp_path: Path) -> None:
    text = 'patient_id,study_id,psa,lesion_PIRADS\n1,10,7,"2,4"\n2,20,,"5,N/A"\n3,30,9,N/A\n'
    reads = read_routine(write(tmp_path / "marksheet.csv", text))
    assert {read.case: read.pirads for read in reads} == {"1_10": 4, "2_20": 5}


def test_facts_about_cases_may_have_a_column_of_their_own_name(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.csv", "case,age,first read\nA,60,3\nB,70,\n")
    assert {read.case: read.pirads for read in read_routine(path, column="first read")} == {"A": 3}


def test_a_routine_may_have_semicolons(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.csv", "case;pirads\nA;2,4\nB;1\n")
    assert {read.case: read.pirads for read in read_routine(path)} == {"A": 4, "B": 1}


def test_routine_with_places_keeps_its_marks(tmp_path: Path) -> None:
    text = "case,pirads,x,y,z\nA,4,1,2,3\nA,3,9,2,3\nB,,,,\n"
    reads = {read.case: read for read in read_routine(write(tmp_path / "routine.csv", text))}
    assert [mark.pirads for mark in reads["A"].marks or ()] == [4, 3]
    assert reads["B"].marks == ()


@pytest.mark.parametrize(
    ("text", "column", "problems"),
    [
        ("case,pirads\nA,6\nA,x\n,3\n", None, ["PI-RADS 6 of the patient", "'x' is not a number", "names no case"]),
        ("case,pirads\nA,3\nA,4\n", None, ["names a case again"]),
        ("case,first_read\nA,3\n", "frist_read", ["there is no column 'frist_read'; did you mean 'first_read'?"]),
        ("name,age\nA,3\n", None, ["there is no column of cases", "there is no column of PI-RADS"]),
        ("case,pirads\nA,\n", None, ["there is no row with a PI-RADS"]),
        ("case;pirads\nA;3;1\n", None, ["has 3 values; the header has 2 columns"]),
        ("case,reader,pirads,x,y,z\nA,a,3,1,1,1\nA,b,4,1,1,1\n", None, ["has two reads"]),
    ],
)  # fmt: skip
def test_all_that_is_wrong_with_a_routine_is_said_at_once(
    tmp_path: Path, text: str, column: str | None, problems: list[str]
) -> None:
    with pytest.raises(ReadsError) as error:
        read_routine(write(tmp_path / "routine.csv", text), column=column)
    assert all(problem in str(error.value) for problem in problems)


# The command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("compare")
    for team, table in TABLES.items():
        scores.write(table, home / f"{team}.parquet", record=RECORD)
    lines = ["reader,modality,case,score,pirads"]
    for read in reads_of(list(READERS), MODALITIES):
        pirads = max((int(mark.pirads) for mark in read.marks or ()), default=1)
        lines.append(f"{read.reader},{read.modality},{read.case},{read.score:g},{pirads}")
    write(home / "reads.csv", "\n".join(lines) + "\n")
    write(home / "panels.csv", "reader_id,panel\n" + "".join(f"{name},{of}\n" for name, of in READERS.items()))
    write(home / "cases.csv", "case,pirads\n" + "".join(f"C{n:03d},{3 + ill(n) - n % 2}\n" for n in range(CASES)))
    return home


def run(folder: Path, *options: str, code: int = 0) -> str:
    tables = [f"{team}={folder / team}.parquet" for team in ("Rhone", "Inn", "Aare")]
    result = CliRunner().invoke(app, ["compare-readers", "picai2022", *tables, "--replicates", "100", *options])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.output


def files(folder: Path) -> list[str]:
    names = {"--reads": "reads.csv", "--panels": "panels.csv", "--routine": "cases.csv"}
    return [text for option, name in names.items() for text in (option, str(folder / name))]


def test_one_command_makes_the_four_comparisons(folder: Path, tmp_path: Path) -> None:
    found = json.loads(run(folder, *files(folder), "--json", "--out", str(tmp_path / "tests.csv")))
    families = [test["family"] for test in found["tests"]]
    assert list(dict.fromkeys(families)) == ["algorithms", "routine", "readers", "panels"]
    assert {test["a"] for test in found["tests"] if test["family"] == "routine"} == set(TABLES)
    for test in found["tests"]:
        assert 0 < test["p"] <= test["adjusted"] <= 1
        assert (test["published_p"] is None) == (test["measure"] == "AUROC")
    written = pl.read_csv(tmp_path / "tests.csv")
    assert written.height == len(families)
    assert written["p"].to_list() == pytest.approx([test["p"] for test in found["tests"]])


def test_teams_are_those_of_the_top_of_the_board(folder: Path) -> None:
    found = json.loads(run(folder, "--top", "2", "--measure", "auroc", "--measure", "average_precision", "--json"))
    assert [(test["a"], test["b"], test["level"]) for test in found["tests"]] == [
        ("Aare", "Inn", "patients"),
        ("Aare", "Inn", "lesions"),
    ]
    assert found["remarks"] == ["Compared are the first 2 of 3 teams (--top); not Rhone."]


def test_the_terminal_has_a_table_for_each_comparison(folder: Path) -> None:
    text = run(folder, *files(folder))
    for title in (
        "Algorithm against algorithm: 3 tests",
        "Algorithm against clinical routine: 12 tests",
        "Algorithm against readers: 18 tests",
        "Aare against readers, at their operating points: 24 tests",
        "Readers against readers: 5 tests",
    ):
        assert title in text
    assert "Configurations of readers: 18 for patients, 0 for lesions." in text
    assert "Lesions are not compared: the reads say nothing of places." in text


@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        (["--panels", "panels.csv"], 2, "about what is in --reads"),
        (["--routine-column", "pirads"], 2, "about what is in --routine"),
        (["--margin", "0"], 2, "a margin is finite and above 0"),
        (["--points", "2"], 2, "one or more of the PI-RADS 3, 4 and 5"),
        (["--routine", "cases.csv", "--routine-column", "pirad"], 1, "did you mean 'pirads'?"),
        (["--routine", "other.csv"], 1, "no read is of a case of the score tables"),
        (["--reads", "reads.csv", "--panels", "strangers.csv"], 1, "no read is by 'Zoe' of panel 'expert'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_compared(
    folder: Path, options: list[str], code: int, expected: str
) -> None:
    write(folder / "other.csv", "case,pirads\nZ1,3\n")
    write(folder / "strangers.csv", "reader_id,panel\nZoe,expert\n")
    given = [str(folder / text) if text.endswith(".csv") else text for text in options]
    assert expected in " ".join(run(folder, *given, code=code).replace("│", " ").split())
