"""Matching the candidates of one case in memory, and scoring cohorts from files, against picai_eval."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
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


def whole_processes(folder: Path, *, cases: int = 200, repeat: int = 3) -> None:
    """Score a cohort from its files in a process of its own, with all that it imports: ours and picai_eval by turns.

    The exams are the first real ones where they are at hand, with an algorithm's masks as maps; else synthetic ones of
    their size. Lesion rows must be equal.
    """
    named = os.environ.get("ISOCENTER_TEST_DATA")
    real = (Path(named) if named else Path(__file__).parents[2] / "shared" / "data") / "picai"
    sides = {side: folder / side for side in ("reference", "submission")}
    for side, home in sides.items():
        home.mkdir()
        for path in sorted((real / "reference").glob("*.nii.gz"))[:cases]:
            shutil.copyfile(real / ("ai_bosma22a" if side == "submission" else side) / path.name, home / path.name)
    if not any(sides["reference"].iterdir()):
        write_exams(sides["reference"], sides["submission"], (20, 384, 384), ".nii.gz", cases)
    print(f"\n{cases} {'real' if real.is_dir() else 'synthetic'} exams of PI-CAI from files, a process for each run")
    took: dict[str, list[float]] = {}
    rows: dict[str, object] = {}
    ways = {"picai_eval": "off", "nothing prepared": "off", "references prepared": str(folder / "cache")}
    for _ in range(repeat):
        for title, cache in ways.items():
            program = _THEIRS if title == "picai_eval" else _OURS
            command = [sys.executable, "-c", program, str(sides["reference"]), str(sides["submission"])]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            environment = {**os.environ, "ISOCENTER_CACHE": cache}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took.setdefault(title, []).append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            rows[title] = json.loads(done.stdout.splitlines()[-1])
            assert rows[title] == rows["picai_eval"], title
    for title, seconds in took.items():
        ratio = "" if title == "picai_eval" else f"   {min(took['picai_eval']) / min(seconds):5.1f}×"
        print(f"  {title:<32} {min(seconds) * 1e3:9.1f} ms CPU{ratio}")


# Each prints its lesion rows by case: whether it is a lesion, confidence, overlap.
_THEIRS = """
import json, sys
from pathlib import Path
from picai_eval import evaluate
truth = sorted(Path(sys.argv[1]).iterdir())
maps = [Path(sys.argv[2], path.name) for path in truth]
names = [path.name.removesuffix(".nii.gz") for path in truth]
found = evaluate(y_det=maps, y_true=truth, subject_list=names, num_parallel_calls=1, verbose=0)
rows = {name: [[int(a), float(b), float(c)] for a, b, c in found.lesion_results[name]] for name in names}
print(json.dumps({name: sorted(its) for name, its in rows.items() if its}))
"""
_OURS = """
import json, sys
import isocenter
table = isocenter.evaluate(
    "picai2022-from-maps", reference=sys.argv[1], submission=sys.argv[2], grid="trust-index"
)
parts = {}
for case, part, metric, value in table.select("case", "part", "metric", "value").rows():
    if part:
        parts.setdefault((case, part), {})[metric] = value
rows = {}
for (case, _), its in parts.items():
    lesion = its["lesion"] == 1
    rows.setdefault(case, []).append([int(lesion), its["lesion_confidence"], its["lesion_iou"]])
print(json.dumps({name: sorted(its) for name, its in rows.items()}))
"""


def from_files(folder: Path, *, cases: int = 24) -> None:
    """A third of the exams have a lesion, all of them three candidates; the likelihood is the maximum of the map."""
    for shape in ((23, 320, 320), (21, 640, 640)):
        for suffix in (".nii.gz", ".mha"):
            home = folder / f"{shape[1]}{suffix.replace('.', '-')}"
            for side in ("reference", "submission"):
                (home / side).mkdir(parents=True)
            write_exams(home / "reference", home / "submission", shape, suffix, cases)

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


def write_exams(reference: Path, submission: Path, shape: tuple[int, int, int], suffix: str, cases: int) -> None:
    rng = np.random.default_rng(0)
    grid = Grid(shape[::-1], spacing=SPACING[::-1])
    for number in range(cases):
        heat = balls(shape, moved(CANDIDATES, rng), tuple(rng.uniform(0.1, 1.0, 3)))
        spots = moved(LESION, rng) if number % 3 == 0 else ()
        label = balls(shape, spots, (1.0,) * len(spots)).astype(np.uint8)
        write(Volume(heat.T, grid), submission / f"case{number:03d}{suffix}")
        write(Volume(label.T, grid), reference / f"case{number:03d}.nii.gz")


def moved(spots: tuple[Spot, ...], rng: np.random.Generator) -> tuple[Spot, ...]:
    """The same spots, each a little elsewhere."""
    shifts = rng.uniform(-0.02, 0.02, (len(spots), 3))
    return tuple(
        (a + i, b + j, c + k, radius) for (a, b, c, radius), (i, j, k) in zip(spots, shifts.tolist(), strict=True)
    )
