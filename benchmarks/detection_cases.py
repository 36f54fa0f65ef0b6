"""Matching the candidates of one case in memory, against picai_eval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from picai_eval.eval import evaluate_case

from benchmarks.timing import compare
from isocenter.metrics import match_lesions

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
