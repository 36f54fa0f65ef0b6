"""All ensembles of five submissions and STAPLE on masks of real size, against a plain loop and against SimpleITK."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import SimpleITK as sitk

from benchmarks.timing import best, compare
from isocenter import ensembles
from isocenter.ensembles import Patterns, StapleRule, count_patterns, fuse, overlaps, pack
from isocenter.volumes import Grid, LabelMap, Volume, read_labels, write

CT = Grid((512, 512, 150), spacing=(0.98, 0.98, 3.0))
Counts = list[tuple[int, int, int]]


def tumour(shift: Sequence[float], radius: float, *, strays: int = 0, seed: int = 0) -> np.ndarray:
    """A ball of a radius in mm about the middle, and boxes of 27 voxels strewn over the scan."""
    axes = [(np.arange(n) - n / 2) * s - move for n, s, move in zip(CT.shape, CT.spacing, shift, strict=True)]
    x, y, z = np.ix_(*axes)
    mask = np.asfortranarray((x**2 + y**2 + z**2 < radius**2).astype(np.uint8))
    rng = np.random.default_rng(seed)
    for i, j, k in zip(*(rng.integers(0, n - 3, strays) for n in CT.shape), strict=True):
        mask[i : i + 3, j : j + 3, k : k + 3] = 1
    return mask


def masks(*, strays: int) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(1)
    voters = [tumour(rng.uniform(-4, 4, 3), rng.uniform(17, 23), strays=strays, seed=i) for i in range(5)]
    return tumour((0, 0, 0), 20), voters


def plain(truth: np.ndarray, voters: list[np.ndarray]) -> Counts:
    """What one writes down first: for every subset and threshold, add, compare, count."""
    counts = []
    positive = truth > 0
    for size in range(1, len(voters) + 1):
        for members in combinations(voters, size):
            for threshold in range(1, size + 1):
                mask = sum(members) >= threshold
                counts.append(
                    (int((mask & positive).sum()), int((mask & ~positive).sum()), int((positive & ~mask).sum()))
                )
    return counts


def careful(truth: np.ndarray, voters: list[np.ndarray]) -> Counts:
    """The same loop by somebody who has thought about it: votes are added once per subset, FP and FN subtracted."""
    counts = []
    positive = truth > 0
    positives = int(np.count_nonzero(positive))
    for size in range(1, len(voters) + 1):
        for members in combinations(voters, size):
            votes = sum(members)
            for threshold in range(1, size + 1):
                mask = votes >= threshold
                tp = int(np.count_nonzero(mask & positive))
                counts.append((tp, int(np.count_nonzero(mask)) - tp, positives - tp))
    return counts


def counted(truth: np.ndarray | LabelMap, voters: Sequence[np.ndarray | LabelMap]) -> Patterns:
    return count_patterns({f"s{i}": pack(mask) for i, mask in enumerate(voters)}, pack(truth))


def ours(truth: np.ndarray | LabelMap, voters: Sequence[np.ndarray | LabelMap]) -> Counts:
    patterns = counted(truth, voters)
    tp, fp = overlaps(patterns)
    return list(zip(tp.tolist(), fp.tolist(), (patterns.positives - tp).tolist(), strict=True))


def eighty(folder: Path) -> None:
    for title, strays in (("one tumour", 0), ("a tumour and 40 stray boxes in every mask", 40)):
        truth, voters = masks(strays=strays)
        assert sorted(ours(truth, voters)) == sorted(plain(truth, voters)) == sorted(careful(truth, voters))
        compare(
            f"All 80 ensembles of 5 masks of 512×512×150, {title}: whole arrays in, TP, FP and FN out",
            lambda truth=truth, voters=voters: ours(truth, voters),
            {
                "loop over subsets and thresholds": lambda truth=truth, voters=voters: plain(truth, voters),
                "a more careful loop": lambda truth=truth, voters=voters: careful(truth, voters),
            },
            repeat=3,
        )
        paths = [folder / f"{strays}-{i}.nii.gz" for i in range(6)]
        for path, mask in zip(paths, [truth, *voters], strict=True):
            write(Volume(mask, CT), path)
        maps = [read_labels(path) for path in paths]

        def from_files(paths: list[Path] = paths) -> Counts:
            first, *rest = (read_labels(path) for path in paths)
            return ours(first, rest)

        def peer(paths: list[Path] = paths) -> Counts:
            first, *rest = (sitk.GetArrayFromImage(sitk.ReadImage(str(path))).T for path in paths)
            return careful(first, rest)

        compare(
            f"The same, {title}: six .nii.gz files in",
            from_files,
            {"SimpleITK, then the careful loop": peer},
            repeat=3,
        )
        took = best(lambda maps=maps: ours(maps[0], maps[1:]), repeat=7)
        print(f"  of which, once the files are read {took.cpu * 1e3:9.2f} ms CPU")


def staple() -> None:
    _, voters = masks(strays=0)
    names = tuple(f"s{i}" for i in range(5))
    images = [sitk.GetImageFromArray(np.ascontiguousarray(mask.T)) for mask in voters]

    def here() -> np.ndarray:
        ballots = dict(zip(names, map(pack, voters), strict=True))
        return fuse(StapleRule(names), ballots, CT).array

    def peer() -> np.ndarray:
        found = sitk.STAPLEImageFilter()
        return sitk.GetArrayFromImage(found.Execute(images)).T >= 0.5

    assert np.array_equal(here() > 0, peer())
    compare("STAPLE of 5 masks of 512×512×150: arrays in, mask out", here, {"SimpleITK STAPLE": peer}, repeat=2)


def many() -> None:
    """How the tables of all ensembles grow with the number of solutions; the counts are those of random masks."""
    print("\nAll ensembles over a test set, once the files are read (wall)")
    rng = np.random.default_rng(0)
    for solutions, cases in ((5, 46), (10, 50), (16, 20)):
        names = tuple(f"s{i:02d}" for i in range(solutions))
        kinds = min(1 << solutions, 4000)
        case_votes = []
        for case in range(cases):
            codes = np.sort(rng.choice(1 << solutions, kinds, replace=False)).astype(np.uint32)
            patterns = Patterns(names, codes, *rng.integers(1, 99, (2, kinds)), 0, 0, 1.0, str(case))
            case_votes.append(ensembles.CaseVotes(f"case{case:02d}", 1.0, patterns, ensembles.Roll()))
        votes = ensembles.Votes(names, tuple(case_votes), ensembles.Turnout({}, {}, ()))
        start = time.perf_counter()
        choice = ensembles.select(votes, metric="dice")
        took = time.perf_counter() - start
        print(f"  {solutions:>2} solutions × {cases} cases {choice.candidates:>9,} ensembles {took * 1e3:9.1f} ms")


def run(folder: Path) -> None:
    ours(*masks(strays=0))  # compiles
    eighty(folder)
    staple()
    many()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        run(Path(name))
