"""Dice, HD95 and surface Dice of one pair, against surface-distance: from arrays, by plain calls, and from files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import SimpleITK as sitk
import surface_distance as peer

from benchmarks.timing import compare
from isocenter.metrics import cropped, dice, hausdorff_distance, surface_dice, surface_distances
from isocenter.metrics._surface import _recent
from isocenter.volumes import Grid, Volume, read_labels, side_by_side, write

CT = Grid((512, 512, 150), spacing=(0.98, 0.98, 3.0))


def balls(*spots: tuple[float, float, float, float]) -> np.ndarray:
    """A mask of balls: centre in voxels and radius in mm."""
    mask = np.zeros(CT.shape, bool)
    for x, y, z, radius in spots:
        axes = [(np.arange(n) - c) * s for n, c, s in zip(CT.shape, (x, y, z), CT.spacing, strict=True)]
        a, b, c = np.ix_(*axes)
        mask |= a**2 + b**2 + c**2 < radius**2
    return mask


PAIRS = {
    "17 cc": (balls((250, 260, 70, 16)), balls((252, 259, 70, 16.5))),
    "113 cc": (balls((250, 260, 70, 30)), balls((253, 258, 71, 29))),
    "primary, nodes and stray false positives": (
        balls((250, 260, 70, 16), (300, 250, 60, 8)),
        balls((252, 259, 70, 16), (299, 250, 60, 8), (60, 60, 10, 6), (450, 460, 140, 6)),
    ),
}


def run(folder: Path) -> None:
    warnings.simplefilter("ignore", DeprecationWarning)
    for name, (truth, prediction) in PAIRS.items():
        _compare(name, truth, prediction, folder=folder)


def _compare(name: str, truth: np.ndarray, prediction: np.ndarray, *, folder: Path) -> None:
    files = [folder / f"{side}.nii.gz" for side in ("truth", "prediction")]
    for mask, path in zip((truth, prediction), files, strict=True):
        write(Volume(mask.astype(np.uint8), CT), path)

    def ours(a: np.ndarray = truth, b: np.ndarray = prediction) -> tuple[float, ...]:
        _recent.clear()  # what an earlier run measured would be found again
        a, b = cropped(a, b)
        both = surface_distances(a, b, spacing=CT.spacing)
        return dice(a, b), both.hausdorff(95), both.dice(2.0)

    def plain_calls() -> tuple[float, ...]:
        _recent.clear()
        hd95 = hausdorff_distance(truth, prediction, spacing=CT.spacing)
        return (
            dice(truth, prediction),
            hd95,
            surface_dice(truth, prediction, spacing=CT.spacing, tolerance_mm=2.0),
        )

    def theirs(
        a: np.ndarray = truth, b: np.ndarray = prediction, spacing: tuple[float, ...] = CT.spacing
    ) -> tuple[float, ...]:
        both = peer.compute_surface_distances(a, b, spacing)
        hd95 = peer.compute_robust_hausdorff(both, 95)
        return peer.compute_dice_coefficient(a, b), hd95, peer.compute_surface_dice_at_tolerance(both, 2.0)

    def ours_from_files() -> tuple[float, ...]:
        return ours(*side_by_side(*(read_labels(path) for path in files)))

    prepared = read_labels(files[0])

    def ours_with_prepared_reference() -> tuple[float, ...]:
        return ours(*side_by_side(prepared, read_labels(files[1])))

    def theirs_from_files() -> tuple[float, ...]:
        arrays = [sitk.GetArrayFromImage(sitk.ReadImage(str(path))) > 0 for path in files]
        return theirs(*arrays, spacing=CT.spacing[::-1])

    np.testing.assert_allclose(ours(), theirs(), atol=1e-9)
    np.testing.assert_allclose(plain_calls(), theirs(), atol=1e-9)
    np.testing.assert_allclose(ours_from_files(), theirs_from_files(), atol=1e-9)
    repeat = 2 if "stray" in name else 5
    title = f"Dice + HD95 + surface Dice, 512×512×150, {name}"
    compare(f"{title}, arrays in memory", ours, {"surface-distance": theirs}, repeat=repeat)
    compare(f"{title}, by three plain calls", plain_calls, {"surface-distance": theirs}, repeat=repeat)
    compare(
        f"{title}, from two .nii.gz",
        ours_from_files,
        {"SimpleITK + surface-distance": theirs_from_files},
        repeat=repeat,
    )
    peers = {"SimpleITK + surface-distance": theirs_from_files}
    compare(f"{title}, reference prepared, one .nii.gz", ours_with_prepared_reference, peers, repeat=repeat)
