"""An algorithm against the radiologists of the clinic, on 400 exams of PI-CAI: from masks and marksheet to a sentence.

The masks have no likelihoods; here a part is the more likely the larger it is. They are no blind prediction: no patient
without cancer has one, so that what they reach says nothing of an algorithm. What is checked is the way through the
house, by plain counting. The PSA of the same patients, which knows no answer, is put in the algorithm's place as well;
the 14 of whom none is known count as 0.
"""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import SimpleITK as sitk
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import isocenter
from isocenter import scores
from isocenter.cli import app
from isocenter.detections import detections_of
from isocenter.readers import open_reference, read_reads, score_reads
from isocenter.stats import MatchedBootstrap, ai_against_panel, match_operating_point, matched_bootstrap
from isocenter.volumes import read_labels

REPLICATES = 2000

Asked = tuple[str, str, int]
"""What stands for the algorithm, the measure that is matched, and the PI-RADS from which on the routine calls."""


@dataclass(frozen=True)
class Exams:
    """By exam: cancer and PI-RADS by the marksheet, calls by the table of reads, and what is compared with them."""

    names: list[str]
    ill: np.ndarray
    pirads: np.ndarray
    scores: dict[str, np.ndarray]
    calls: dict[int, np.ndarray]
    table: Path


@pytest.fixture(scope="module")
def exams(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Exams:
    folder = tmp_path_factory.mktemp("comparison")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISOCENTER_CACHE", str(folder / "cache"))
        table = isocenter.evaluate(
            "picai2022-from-maps",
            reference=data / "picai" / "reference",
            submission=by_volume(data / "picai" / "ai_bosma22a", folder / "maps"),
            grid="trust-index",
        )
    scores.write(table, folder / "masks.parquet", record={"challenge": "picai2022-from-maps", "reference": "r"})
    found = detections_of(table)[""]
    with (data / "picai" / "marksheet.csv").open(newline="") as stream:
        sheet = {f"{row['patient_id']}_{row['study_id']}": row for row in csv.DictReader(stream)}
    pirads = {case: max(int(q) for q in row["lesion_PIRADS"].split(",") if q.isdigit()) for case, row in sheet.items()}
    reads = folder / "reads.csv"
    reads.write_text("reader,case,pirads\n" + "".join(f"routine,{case},{q}\n" for case, q in pirads.items()))
    opened = read_reads(reads)
    reference = open_reference(isocenter.challenge("picai2022"), data / "picai" / "reference", cases=opened.cases)
    scored = {one.read.case: one for one in score_reads(opened, reference).reads}
    return Exams(
        names=list(found.cases),
        ill=np.array([sheet[case]["case_csPCa"] == "YES" for case in found.cases]),
        pirads=np.array([pirads[case] for case in found.cases]),
        scores={
            "masks": np.asarray(found.likelihood),
            "PSA": np.array([float(sheet[case]["psa"] or 0) for case in found.cases]),
        },
        calls={t: np.array([scored[case].read.calls(t) for case in found.cases]) for t in (3, 4)},
        table=folder / "masks.parquet",
    )


def by_volume(masks: Path, out: Path) -> Path:
    """The masks, each part with a likelihood of its volume over 20 ml, at most 1."""
    out.mkdir()
    for mask in masks.iterdir():
        if not read_labels(mask).labels:
            shutil.copy(mask, out)
            continue
        image = sitk.ReadImage(str(mask))
        parts = sitk.GetArrayFromImage(sitk.ConnectedComponent(image != 0, True))
        millilitres = np.bincount(parts.ravel()) * np.prod(image.GetSpacing()) / 1000
        millilitres[0] = 0
        soft = np.minimum(millilitres / 20, 1).astype(np.float32)[parts]
        written = sitk.GetImageFromArray(soft)
        written.CopyInformation(image)
        sitk.WriteImage(written, str(out / mask.name), useCompression=True)
    return out


def counted(exams: Exams, asked: Asked, draw: np.ndarray | None = None) -> tuple[float, float, float]:
    """Of the routine the measure to match and the other one, and the other one of the algorithm where it matches."""
    who, match, threshold = asked
    at = np.arange(exams.ill.size) if draw is None else draw
    ill, pirads, score = exams.ill[at], exams.pirads[at], exams.scores[who][at]
    own, other = (ill, ~ill) if match == "sensitivity" else (~ill, ill)

    def rates(called: np.ndarray) -> tuple[float, float]:
        right = called == ill
        return float(right[own].mean()), float(right[other].mean())

    target, conjugate = rates(pirads >= threshold)
    curve = np.array([rates(score >= cut) for cut in (*np.unique(score), np.inf)])
    apart = np.abs(curve[:, 0] - target)
    nearest = curve[apart <= apart.min() + 1e-12, 1]
    return target, conjugate, float((nearest.min() + nearest.max()) / 2)


@pytest.fixture(scope="module", params=product(("masks", "PSA"), ("sensitivity", "specificity"), (3, 4)), ids=str)
def compared(request: pytest.FixtureRequest, exams: Exams) -> tuple[Asked, MatchedBootstrap]:
    who, match, threshold = request.param
    found = matched_bootstrap(
        exams.ill, exams.calls[threshold], exams.scores[who], match=match, replicates=REPLICATES, seed=1
    )
    return request.param, found


def test_the_routine_and_the_matched_algorithm_are_those_of_plain_counting(
    exams: Exams, compared: tuple[Asked, MatchedBootstrap]
) -> None:
    asked, found = compared
    target, conjugate, algorithm = counted(exams, asked)
    assert (found.cases, found.positives, found.instances) == (400, 99, 1)
    assert found.routine_matched == pytest.approx(target, abs=1e-12)
    assert found.routine_conjugate == pytest.approx(conjugate, abs=1e-12)
    assert found.instance_conjugates == pytest.approx((algorithm,), abs=1e-12)
    assert found.difference == pytest.approx(algorithm - conjugate, abs=1e-12)


def test_interval_and_probability_are_those_of_other_draws_counted_plainly(
    exams: Exams, compared: tuple[Asked, MatchedBootstrap]
) -> None:
    asked, found = compared
    rng = np.random.default_rng(2)
    plain = np.array([counted(exams, asked, rng.integers(0, 400, 400)) for _ in range(200)])
    ahead = plain[:, 2] - plain[:, 1]
    assert found.low == pytest.approx(np.quantile(ahead, 0.025), abs=0.6 * ahead.std())
    assert found.high == pytest.approx(np.quantile(ahead, 0.975), abs=0.6 * ahead.std())
    assert found.prob_ai_at_least == pytest.approx((ahead >= -1e-12).mean(), abs=0.1)


def test_the_sentence_has_the_numbers(exams: Exams) -> None:
    found = matched_bootstrap(exams.ill, exams.calls[3], exams.scores["PSA"], replicates=100)
    target, conjugate, algorithm = counted(exams, ("PSA", "sensitivity", 3))
    assert f"At the sensitivity of the routine, {target:.3f}" in str(found)
    assert f"specificity is {algorithm:.3f} and the routine's {conjugate:.3f}" in str(found)


def test_masks_that_spare_all_the_healthy_cannot_be_set_to_a_specificity(exams: Exams) -> None:
    masks = exams.scores["masks"]
    assert (np.count_nonzero(masks[~exams.ill]), np.count_nonzero(masks[exams.ill])) == (0, 97)
    specificity = float((exams.pirads[~exams.ill] < 3).mean())
    found = match_operating_point(exams.ill, masks, specificity, match="specificity")
    assert found.gap == pytest.approx(1 - specificity, abs=1e-12)
    assert (found.worst, found.best) == (0.0, pytest.approx(97 / 99))


def test_the_same_as_a_reader_study_on_the_command_line(exams: Exams, tmp_path: Path) -> None:
    rows = [
        (reader, modality, case, int(ill), float(score))
        for reader, modality, scores in (("bosma22a", "AI", exams.scores["masks"]), ("routine", "clinic", exams.pirads))
        for case, ill, score in zip(exams.names, exams.ill, scores, strict=True)
    ]
    table = pl.DataFrame(rows, schema=["reader_id", "modality_id", "case_id", "truth", "score"], orient="row")
    table.write_csv(tmp_path / "reads.csv")
    arguments = ["mrmc", str(tmp_path / "reads.csv"), "--reference", "clinic", "--margin", "0.05", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    areas = {"AI": roc_auc_score(exams.ill, exams.scores["masks"]), "clinic": roc_auc_score(exams.ill, exams.pirads)}
    assert {name: one["estimate"] for name, one in found["modalities"].items()} == pytest.approx(areas, abs=1e-12)
    (pair,) = found["pairs"]
    assert pair["difference"] == pytest.approx(areas["AI"] - areas["clinic"], abs=1e-12)
    (verdict,) = found["non_inferiority"]
    assert verdict["low"] == pytest.approx(pair["low"], abs=1e-12)
    assert sum("has one reader, taken as fixed" in note for note in found["notes"]) == 2


def test_areas_and_operating_points_of_a_panel_of_one_are_those_of_plain_counting(exams: Exams) -> None:
    rows = [
        (reader, modality, case, int(ill), float(score), float(score) if modality == "clinic" else None)
        for reader, modality, scores in (("PSA", "blood", exams.scores["PSA"]), ("routine", "clinic", exams.pirads))
        for case, ill, score in zip(exams.names, exams.ill, scores, strict=True)
    ]
    columns = ["reader_id", "modality_id", "case_id", "truth", "score", "rating"]
    reads = pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)
    found = ai_against_panel(reads, ai="blood", panel="clinic", points=[3, 4])
    areas = [roc_auc_score(exams.ill, scores) for scores in (exams.scores["PSA"], exams.pirads)]
    assert found.verdict is not None
    assert found.verdict.difference == pytest.approx(areas[0] - areas[1], abs=1e-12)
    assert (found.verdict.label, found.verdict.accepted) == ("inferior", False)
    assert len(found.points) == 4
    for one in found.points:
        _, conjugate, algorithm = counted(exams, ("PSA", one.comparison.match, int(one.point)))
        assert one.comparison.reader_conjugates == pytest.approx((conjugate,), abs=1e-12)
        # Plain counting takes a threshold; the comparison goes on along the curve to the very point of the reader.
        step = 1 / min(exams.ill.sum(), (~exams.ill).sum())
        assert one.comparison.instance_conjugates == (pytest.approx((algorithm,), abs=step),)
        # One of each: the better of the two is the better one in one of two labellings.
        assert one.comparison.published.p_value == (0.5 if algorithm > conjugate else 1.0)


def test_one_command_compares_with_the_marksheet_as_plain_counting_does(exams: Exams, data: Path) -> None:
    arguments = [
        "compare-readers", "picai2022-from-maps", f"masks={exams.table}", "--replicates", str(REPLICATES),
        "--seed", "1",
        "--routine", str(data / "picai" / "marksheet.csv"), "--json",
    ]  # fmt: skip
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    tests = json.loads(result.stdout)["tests"]
    asked: list[Asked] = [("masks", match, point) for point in (3, 4) for match in ("sensitivity", "specificity")]
    assert [(test["family"], test["a"], test["b"], test["cases"]) for test in tests] == [
        ("routine", "masks", "routine", 400)
    ] * len(asked)
    for test, question in zip(tests, asked, strict=True):
        _, conjugate, algorithm = counted(exams, question)
        assert test["point"] == question[2]
        assert test["measure"].endswith(f"at equal {question[1]}")
        assert test["value_b"] == pytest.approx(conjugate, abs=1e-12)
        assert test["value_a"] == pytest.approx(algorithm, abs=1e-12)
        calls, match = exams.calls[question[2]], "specificity" if question[1] == "specificity" else "sensitivity"
        alone = matched_bootstrap(exams.ill, calls, exams.scores["masks"], match=match, replicates=REPLICATES, seed=1)
        assert (test["low"], test["high"], test["p"]) == (alone.low, alone.high, alone.p_value)
