"""400 exams of PI-CAI: an algorithm's masks and the routine reads, scored as picai_eval scores the same files."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import SimpleITK as sitk

import isocenter
from isocenter.detections import detections_of
from isocenter.metrics import operating_point
from isocenter.volumes import read, read_labels

with contextlib.redirect_stdout(io.StringIO()):  # it prints a banner
    from picai_eval import Metrics, evaluate
    from picai_eval.eval import evaluate_case

WRONG = {"10057_1000057": 7.44, "10161_1000164": 6.0}
"""Exams whose label map has another direction than the algorithm's mask; how far apart their corners lie, mm."""


@pytest.fixture(scope="module")
def picai(data: Path) -> Path:
    return data / "picai"


@pytest.fixture(scope="module")
def cases(picai: Path) -> list[str]:
    return sorted(path.name.removesuffix(".nii.gz") for path in (picai / "reference").iterdir())


@pytest.fixture(scope="module")
def peer(picai: Path, cases: list[str]) -> Metrics:
    """What picai_eval makes of the masks, with likelihood 1.

    Of exams in which both are empty it is shown a few only: it takes a second for each of the large ones.
    """
    empty = [case for case in cases if not any(read_labels(path).labels for path in files(picai, case))]
    shown = sorted({*cases} - {*empty[20:]})
    found = evaluate(
        y_det=[files(picai, case)[0] for case in shown],
        y_true=[files(picai, case)[1] for case in shown],
        subject_list=shown,
        num_parallel_calls=1,
        verbose=0,
    )
    assert len(empty) > 250
    assert all(found.lesion_results[case] == [] for case in empty[:20])
    rest = empty[20:]
    return Metrics(
        lesion_results={**found.lesion_results, **{case: [] for case in rest}},
        case_target={**found.case_target, **dict.fromkeys(rest, 0)},
        case_pred={**found.case_pred, **dict.fromkeys(rest, 0.0)},
    )


def files(picai: Path, case: str) -> tuple[Path, Path]:
    """The algorithm's mask and the label map."""
    return picai / "ai_bosma22a" / f"{case}.nii.gz", picai / "reference" / f"{case}.nii.gz"


@pytest.fixture(scope="module")
def ours(picai: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISOCENTER_CACHE", str(tmp_path_factory.mktemp("cache")))
        return isocenter.evaluate(
            "picai2022-from-maps",
            reference=picai / "reference",
            submission=picai / "ai_bosma22a",
            grid="trust-index",
        )


def test_the_check_names_the_two_files_with_wrong_directions(picai: Path) -> None:
    found = isocenter.check(
        "picai2022-from-maps", reference=picai / "reference", submission=picai / "ai_bosma22a", grid="refuse"
    )
    assert [problem.severity for problem in found] == ["unusable", "unusable"]
    for problem, (case, apart) in zip(found, WRONG.items(), strict=True):
        assert problem.case == case
        assert f"corners lie up to {apart:.2f} mm apart" in problem.message


def test_all_are_measured_once_the_index_is_trusted_and_the_table_says_where(ours: pl.DataFrame) -> None:
    trusted = dict(ours.filter(metric="index_trusted").select("case", "value").iter_rows())
    assert trusted == pytest.approx(WRONG, abs=0.005)
    assert ours.filter(metric="failed").is_empty()
    assert ours["case"].n_unique() == 400


def test_every_row_and_score_is_that_of_picai_eval(ours: pl.DataFrame, peer: Metrics) -> None:
    found = detections_of(ours)[""]
    for at, case in enumerate(found.cases):
        mine = found.case == at
        rows = zip(
            found.is_lesion[mine].tolist(), found.confidence[mine].tolist(), found.iou[mine].tolist(), strict=True
        )
        expected = [(bool(a), float(b), float(c)) for a, b, c in peer.lesion_results[case]]
        assert sorted(rows) == sorted(expected), case
    assert found.auroc == pytest.approx(peer.auroc, abs=1e-12)
    assert found.average_precision == pytest.approx(peer.AP, abs=1e-12)
    board = isocenter.rank("picai2022-from-maps", {"bosma22a": ours})
    assert board["bosma22a"].score == pytest.approx(peer.score, abs=1e-12)


@pytest.fixture(scope="module")
def by_volume(picai: Path, cases: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same masks, larger parts more likely, with the routine reads as likelihoods of the patients."""
    folder = tmp_path_factory.mktemp("by-volume")
    for case in cases:
        mask = files(picai, case)[0]
        if not read_labels(mask).labels:
            shutil.copy(mask, folder)
            continue
        image = sitk.ReadImage(str(mask))
        parts = sitk.GetArrayFromImage(sitk.ConnectedComponent(image != 0, True))
        millilitres = np.bincount(parts.ravel()) * np.prod(image.GetSpacing()) / 1000
        likelihood = np.minimum(millilitres / 20, 1).astype(np.float32)
        likelihood[0] = 0
        soft = sitk.GetImageFromArray(likelihood[parts])
        soft.CopyInformation(image)
        sitk.WriteImage(soft, str(folder / f"{case}.mha"), useCompression=True)
    (folder / "likelihoods.json").write_text(json.dumps({case: read_ / 5 for case, read_ in pirads(picai).items()}))
    return folder


def pirads(picai: Path) -> dict[str, int]:
    """By exam the highest PI-RADS of the routine read; a read without any suspicious lesion is a 1."""
    with (picai / "marksheet.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    scores = {f"{row['patient_id']}_{row['study_id']}": row["lesion_PIRADS"].split(",") for row in rows}
    return {case: max([int(s) for s in found if s.isdigit()], default=1) for case, found in scores.items()}


def test_lesions_by_volume_and_patients_by_routine_reads_are_scored_as_by_picai_eval(
    picai: Path, cases: list[str], by_volume: Path
) -> None:
    table = isocenter.evaluate("picai2022", reference=picai / "reference", submission=by_volume, grid="trust-index")
    found = detections_of(table)[""]
    results: dict[str, Any] = {case: [] for case in cases}
    for case in (case for case in cases if any(read_labels(path).labels for path in files(picai, case))):
        truth = sitk.GetArrayFromImage(sitk.ReadImage(str(picai / "reference" / f"{case}.nii.gz")))
        (found_map,) = by_volume.glob(f"{case}.*")
        results[case] = evaluate_case(y_det=read(found_map).array.T, y_true=truth)[0]
    reads = {case: score / 5 for case, score in pirads(picai).items()}
    peer = Metrics(
        lesion_results=results,
        case_target={case: int(any(row[0] for row in rows)) for case, rows in results.items()},
        case_pred=reads,
    )
    assert found.auroc == pytest.approx(peer.auroc, abs=1e-12)
    assert found.average_precision == pytest.approx(peer.AP, abs=1e-12)
    assert found.detection_score == pytest.approx(peer.score, abs=1e-12)
    assert len(set(found.confidence)) > 100
    for threshold in (3, 4, 5):
        ours = operating_point(found.truth, found.likelihood, threshold=threshold / 5)
        called = np.array([reads[case] >= threshold / 5 for case in found.cases])
        assert ours.sensitivity == pytest.approx(called[found.truth].mean())
        assert ours.specificity == pytest.approx(1 - called[~found.truth].mean())
        point = np.flatnonzero(np.isclose(peer.case_TPR, ours.sensitivity, atol=1e-12))
        assert np.isclose(peer.case_FPR[point], 1 - ours.specificity, atol=1e-12).any()
