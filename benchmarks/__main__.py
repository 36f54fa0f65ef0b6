"""`make bench`: reading masks, scoring a pair of files, scoring cohorts, gamma, starting up."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np
import SimpleITK as sitk

import isocenter
from benchmarks import (
    bootstrap,
    detection_cases,
    ensembles,
    gamma,
    masks,
    openkbp,
    paired,
    ranks,
    reader_studies,
    reports,
    site,
    surfaces,
)
from benchmarks.timing import best, compare
from isocenter.evaluation import Evaluation, evaluate
from isocenter.metrics import dice
from isocenter.volumes import Grid, Volume, read_labels, side_by_side, write

CT = Grid((512, 512, 150), spacing=(0.98, 0.98, 3.0))
BOX = Grid((144, 144, 144))


def tumour(grid: Grid, *, centre: tuple[float, float, float], radius: float) -> np.ndarray:
    """A ball of a radius in mm, its centre in parts of the grid's size."""
    axes = [(np.arange(n) - c * n) * s for n, c, s in zip(grid.shape, centre, grid.spacing, strict=True)]
    x, y, z = np.ix_(*axes)
    return (x**2 + y**2 + z**2 < radius**2).astype(np.uint8)


def reading_and_scoring(folder: Path) -> None:
    truth, prediction = folder / "truth.nii.gz", folder / "prediction.nii.gz"
    write(Volume(tumour(CT, centre=(0.5, 0.5, 0.5), radius=20), CT), truth)
    write(Volume(tumour(CT, centre=(0.505, 0.5, 0.5), radius=19), CT), prediction)

    def ours() -> float:
        return dice(*side_by_side(read_labels(truth), read_labels(prediction)))

    def simpleitk() -> float:
        overlap = sitk.LabelOverlapMeasuresImageFilter()
        overlap.Execute(*(sitk.ReadImage(str(path)) for path in (truth, prediction)))
        return float(overlap.GetDiceCoefficient())

    def nibabel() -> float:
        a, b = (np.asarray(nib.load(path).dataobj) > 0 for path in (truth, prediction))
        return float(2 * (a & b).sum() / (a.sum() + b.sum()))

    assert abs(ours() - simpleitk()) < 1e-12
    assert abs(ours() - nibabel()) < 1e-12
    compare(
        "Read one mask of 512×512×150 (.nii.gz)",
        lambda: read_labels(truth),
        {
            "SimpleITK ReadImage": lambda: sitk.ReadImage(str(truth)),
            "nibabel dataobj": lambda: np.asarray(nib.load(truth).dataobj),
            "nibabel get_fdata": lambda: nib.load(truth).get_fdata(),
        },
    )
    peers = {"SimpleITK LabelOverlap": simpleitk, "nibabel + numpy": nibabel}
    compare("Two files in, Dice out, 512×512×150", ours, peers)


def cohort(folder: Path, *, cases: int = 46) -> None:
    """HECKTOR's size: 46 patients in 144 mm boxes."""
    rng = np.random.default_rng(0)
    for side in ("reference", "submission"):
        (folder / side).mkdir()
        for number in range(cases):
            mask = tumour(BOX, centre=tuple(rng.uniform(0.45, 0.55, 3)), radius=15)
            write(Volume(mask, BOX), folder / side / f"case{number:03d}.nii.gz")

    def ours() -> Evaluation:
        challenge = isocenter.challenge("hecktor2020")
        return evaluate(challenge, reference=folder / "reference", submission=folder / "submission")

    def plain() -> list[float]:
        scores = []
        for path in sorted((folder / "reference").iterdir()):
            overlap = sitk.LabelOverlapMeasuresImageFilter()
            pair = [sitk.ReadImage(str(p)) for p in (path, folder / "submission" / path.name)]
            overlap.Execute(*pair)
            scores.append(overlap.GetDiceCoefficient())
        return scores

    np.testing.assert_allclose(ours().scores["value"].to_numpy(), plain(), atol=1e-12)
    os.environ["ISOCENTER_CACHE"] = "off"
    peers = {"plain SimpleITK loop": plain}
    compare(f"{cases} cases of 144³, checked and scored, nothing prepared", ours, peers, repeat=3)
    os.environ["ISOCENTER_CACHE"] = str(folder / "cache")
    ours()
    compare(f"{cases} cases of 144³, references prepared", ours, peers, repeat=3)


def starting() -> None:
    print("\nStarting up (wall)")
    command = Path(sys.executable).with_name("isocenter")
    for title, arguments in {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import isocenter": [sys.executable, "-c", "import isocenter"],
        "isocenter --help": [command, "--help"],
    }.items():
        took = best(lambda arguments=arguments: subprocess.run(arguments, capture_output=True, check=True))
        print(f"  {title:<32} {took.wall * 1e3:9.1f} ms")


if __name__ == "__main__":
    for benchmark in (
        reading_and_scoring,
        masks.run,
        cohort,
        surfaces.run,
        ensembles.run,
        gamma.run,
        openkbp.run,
        detection_cases.run,
        detection_cases.from_files,
        detection_cases.whole_processes,
        bootstrap.run,
        paired.run,
        ranks.run,
        reader_studies.run,
        reports.run,
        site.run,
    ):
        with tempfile.TemporaryDirectory() as name:
            os.environ["ISOCENTER_CACHE"] = str(Path(name, "cache"))
            benchmark(Path(name))
    starting()
