"""150 prostates segmented by two algorithms: one as the reference, the other as the submission."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import SimpleITK as sitk

import isocenter
from isocenter import evaluation
from isocenter.scores import write
from isocenter.volumes import read_header


def folders(data: Path) -> dict[str, Path]:
    return {"reference": data / "prostate" / "bosma22b", "submission": data / "prostate" / "guerbet23"}


def test_all_are_scored_and_two_workers_write_the_same_bytes(data: Path, tmp_path: Path) -> None:
    challenge = isocenter.challenge("hecktor2020")
    alone = evaluation.evaluate(challenge, **folders(data))
    with evaluation.worker_pool(2) as pool:
        shared = evaluation.evaluate(challenge, **folders(data), executor=pool)
    assert alone.record["cases"] == {"measured": 150, "missing": 0, "failed": 0}
    assert alone.scores["value"].null_count() == 0
    for name, result in (("alone", alone), ("shared", shared)):
        write(result.scores, tmp_path / name, record=result.record)
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "shared").read_bytes()


def test_dice_is_what_simpleitk_counts(data: Path) -> None:
    table = isocenter.evaluate("hecktor2020", **folders(data))
    overlap = sitk.LabelOverlapMeasuresImageFilter()
    for case, value in table.select("case", "value").sample(12, seed=1).iter_rows():
        truth, prediction = (sitk.ReadImage(str(folder / f"{case}.nii.gz")) for folder in folders(data).values())
        prediction.CopyInformation(truth)
        overlap.Execute(truth, prediction)
        assert value == pytest.approx(overlap.GetDiceCoefficient(), abs=1e-12)


def test_every_pair_of_headers_is_one_grid_though_their_quaternions_were_rounded(data: Path) -> None:
    shifts = {}
    for path in sorted(folders(data)["reference"].iterdir()):
        grids = [read_header(folder / path.name).grid for folder in folders(data).values()]
        assert grids[0].same_as(grids[1])
        shifts[path.name] = grids[0].deviation(grids[1]) / min(grids[0].spacing)
    assert 0.2 < max(shifts.values()) < 0.3  # of a voxel


def test_our_geometry_is_that_of_itk(data: Path) -> None:
    reader = sitk.ImageFileReader()
    for folder in folders(data).values():
        for path in sorted(folder.iterdir()):
            reader.SetFileName(str(path))
            reader.ReadImageInformation()
            grid = read_header(path).grid
            assert reader.GetSize() == grid.shape
            itk = isocenter.volumes.Grid(
                reader.GetSize(), reader.GetSpacing(), reader.GetOrigin(), reader.GetDirection()
            )
            assert grid.deviation(itk) < 1e-3  # mm


def test_of_400_label_files_the_two_with_wrong_directions_are_found(data: Path) -> None:
    wrong = []
    for path in sorted((data / "picai" / "reference").iterdir()):
        label = read_header(path).grid
        prediction = read_header(data / "picai" / "ai_bosma22a" / path.name).grid
        if not label.same_as(prediction):
            wrong.append((path.name.partition("_")[0], label.deviation(prediction)))
    assert [name for name, _ in wrong] == ["10057", "10161"]
    assert all(4 < shift < 8 for _, shift in wrong)  # mm


def test_a_whole_submission_is_read_without_holding_its_background(data: Path) -> None:
    path = folders(data)["reference"] / "10099_1000099.nii.gz"
    labels = isocenter.volumes.read_labels(path)
    assert labels.box.nbytes < 0.1 * labels.grid.voxels
    assert np.count_nonzero(labels.box) == np.count_nonzero(isocenter.volumes.read(path).array)


def test_the_board_of_the_real_cohort(data: Path) -> None:
    table = isocenter.evaluate("hecktor2020", **folders(data))
    board = isocenter.rank("hecktor2020", {"guerbet23": table})
    assert board["guerbet23"].score == pytest.approx(table.select(pl.col("value").mean()).item(), rel=1e-12)
    assert board["guerbet23"].cases == 150


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_surface_metrics_are_those_of_surface_distance(data: Path) -> None:
    import surface_distance as peer

    for path in sorted(folders(data)["reference"].iterdir())[::30]:
        files = [folder / path.name for folder in folders(data).values()]
        pair = isocenter.volumes.side_by_side(*(isocenter.volumes.read_labels(file) for file in files))
        spacing = read_header(path).grid.spacing
        ours = isocenter.metrics.surface_distances(*pair, spacing=spacing)
        theirs = peer.compute_surface_distances(*pair, spacing)
        assert ours.hausdorff(95) == pytest.approx(peer.compute_robust_hausdorff(theirs, 95), abs=1e-9)
        assert ours.average() == pytest.approx(peer.compute_average_surface_distance(theirs), abs=1e-9)
        assert ours.dice(2.0) == pytest.approx(peer.compute_surface_dice_at_tolerance(theirs, 2.0), abs=1e-9)
