"""Matching the candidates of one case in memory, and scoring cohorts from files, against picai_eval."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import picai_eval
from picai_eval.eval import evaluate_case

import isocenter
from benchmarks.timing import compare
from isocenter.detections import detections_of
from isocenter.evaluation import evaluate
from isocenter.metrics import match_lesions
from isocenter.volumes import Grid, Volume, write

Spot = tuple[float, float, float, float]

# Slices 3 mm apart, pixels of 0.5 mm: centre in parts of the volume, radius in mm.
CANDIDATES: tuple[Spot, ...] = ((0.4, 0.45, 0.4, 6.0), (0.5, 0.6, 0.55, 4.5), (0.65, 0.35, 0.6, 3.5))
LESION: tuple[Spot, ...] = ((0.45, 0.46, 0.4, 6.5),)
SPACING = (3.0, 0.5, 0.5)


def balls(shape: tuple[int, int, int], spots: tuple[Spot, ...], values: tuple[float, ...]) -> np.ndarray:
    volume = np.zeros(shape, np.float32)
    for (*centre, radius), value in zip(spots, values, strict=True):
        axes = [(np.arange(n) - c * n) * s for n, c, s in zip(shape, centre, SPACING, strict=True)]
        a, b, c = np.ix_(*axes)
        volume[a**2 + b**2 + c**2 < radius**2] = value
    return volume


def run(folder: Path) -> None:  # noqa: ARG001  nothing is written
    for shape in ((23, 320, 320), (21, 640, 640)):
        heat = balls(shape, CANDIDATES, (0.8, 0.5, 0.2))
        for name, spots in (("with a lesion", LESION), ("benign", ())):
            label = balls(shape, spots, (1.0,) * len(spots)).astype(np.uint8)

            def ours(label: np.ndarray = label, heat: np.ndarray = heat) -> list[tuple[float, ...]]:
                return [tuple(row) for row in match_lesions(heat, label)]

            def theirs(label: np.ndarray = label, heat: np.ndarray = heat) -> list[tuple[float, ...]]:
                return [tuple(row) for row in evaluate_case(heat, label)[0]]

            assert ours() == theirs()
            compare(f"One case of {'×'.join(map(str, shape))} in memory, {name}", ours, {"picai_eval": theirs})


def from_files(folder: Path, *, cases: int = 24) -> None:
    """A third of the exams have a lesion, all of them three candidates; the likelihood is the maximum of the map."""
    rng = np.random.default_rng(0)
    for shape in ((23, 320, 320), (21, 640, 640)):
        for suffix in (".nii.gz", ".mha"):
            home = folder / f"{shape[1]}{suffix.replace('.', '-')}"
            for side in ("reference", "submission"):
                (home / side).mkdir(parents=True)
            grid = Grid(shape[::-1], spacing=SPACING[::-1])
            for number in range(cases):
                heat = balls(shape, moved(CANDIDATES, rng), tuple(rng.uniform(0.1, 1.0, 3)))
                spots = moved(LESION, rng) if number % 3 == 0 else ()
                label = balls(shape, spots, (1.0,) * len(spots)).astype(np.uint8)
                write(Volume(heat.T, grid), home / "submission" / f"case{number:03d}{suffix}")
                write(Volume(label.T, grid), home / "reference" / f"case{number:03d}.nii.gz")

            def ours(home: Path = home) -> float:
                challenge = isocenter.challenge("picai2022-from-maps")
                table = evaluate(challenge, reference=home / "reference", submission=home / "submission").scores
                return detections_of(table)[""].detection_score

            def theirs(home: Path = home) -> float:
                found = picai_eval.evaluate(
                    y_det=sorted((home / "submission").iterdir()),
                    y_true=sorted((home / "reference").iterdir()),
                    num_parallel_calls=1,
                    verbose=0,
                )
                return float(found.score)

            assert abs(ours() - theirs()) < 1e-12
            what = f"{cases} cases of {'×'.join(map(str, shape))} from {suffix}"
            os.environ["ISOCENTER_CACHE"] = "off"
            compare(f"{what}, nothing prepared", ours, {"picai_eval": theirs}, repeat=3)
            os.environ["ISOCENTER_CACHE"] = str(folder / "cache")
            ours()
            compare(f"{what}, references prepared", ours, {"picai_eval": theirs}, repeat=3)


def moved(spots: tuple[Spot, ...], rng: np.random.Generator) -> tuple[Spot, ...]:
    """The same spots, each a little elsewhere."""
    shifts = rng.uniform(-0.02, 0.02, (len(spots), 3))
    return tuple(
        (a + i, b + j, c + k, radius) for (a, b, c, radius), (i, j, k) in zip(spots, shifts.tolist(), strict=True)
    )
