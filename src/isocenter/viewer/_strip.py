"""What is wrong in each slice of a case, or what there is in it, as numbers for a strip of bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes import Grid

LEAST_SHARE = 0.05
"""Of the highest dose; what is below is no dose to look at."""


@dataclass(frozen=True, slots=True)
class Strip:
    """One bar per slice of the third array axis.

    Attributes
    ----------
    unit
        Of the bars.
    series
        By name, the numbers of all slices; they are stacked.
    said
        Each slice in words.
    """

    unit: str
    series: Mapping[str, tuple[float, ...]]
    said: tuple[str, ...]

    @property
    def worst(self) -> int:
        """The slice with the highest bar, the first of several; the middle one if nothing is wrong anywhere."""
        total = np.sum([*self.series.values()], axis=0)
        return int(total.argmax()) if total.any() else len(self.said) // 2


def mask_strip(reference: NDArray[np.bool_], output: NDArray[np.bool_], *, grid: Grid) -> Strip:
    """Areas in mm² that were missed (in the reference only) and that are extra (in the output only), and Dice.

    The Dice of a slice is 2|T∩P| / (|T|+|P|) of its pixels; a slice without either has none.
    """
    pixel = grid.spacing[0] * grid.spacing[1]
    both, missed, extra = (
        np.count_nonzero(mask, axis=(0, 1)) for mask in (reference & output, reference & ~output, output & ~reference)
    )
    said = []
    for tp, fn, fp in zip(both.tolist(), missed.tolist(), extra.tolist(), strict=True):
        if tp + fn + fp == 0:
            said.append("nothing in the reference, nothing in the submission")
        else:
            areas = f"missed {fn * pixel:,.0f} mm², extra {fp * pixel:,.0f} mm²"
            said.append(f"Dice {2 * tp / (2 * tp + fn + fp):.3f}, {areas}")
    series = {"missed": tuple((missed * pixel).tolist()), "extra": tuple((extra * pixel).tolist())}
    return Strip("mm²", series, tuple(said))


def dose_strip(reference: NDArray[np.floating], output: NDArray[np.floating]) -> Strip:
    """Mean absolute difference in Gy, where either dose has at least a twentieth of the highest of both."""
    level = LEAST_SHARE * max(float(reference.max()), float(output.max()))
    seen = (reference >= level) | (output >= level) if level > 0 else np.zeros(reference.shape, np.bool_)
    count = np.count_nonzero(seen, axis=(0, 1))
    difference = output - reference
    total = np.where(seen, abs(difference), 0.0).sum(axis=(0, 1))
    mean = total / np.maximum(count, 1)
    said = []
    for k, (value, voxels) in enumerate(zip(mean.tolist(), count.tolist(), strict=True)):
        part = difference[:, :, k][seen[:, :, k]]
        worst = f", at most {abs(part).max():.1f} Gy" if voxels else ""
        said.append(f"differs by {value:.2f} Gy on average{worst}" if voxels else "no dose to compare")
    return Strip("Gy", {"difference": tuple(mean.tolist())}, tuple(said))


def area_strip(output: NDArray[np.bool_], *, grid: Grid) -> Strip:
    """Areas in mm² that are outlined, whether rightly or not."""
    areas = (np.count_nonzero(output, axis=(0, 1)) * (grid.spacing[0] * grid.spacing[1])).tolist()
    said = tuple(f"outlined {area:,.0f} mm²" if area else "nothing outlined" for area in areas)
    return Strip("mm²", {"output": tuple(areas)}, said)


def mean_dose_strip(output: NDArray[np.floating]) -> Strip:
    """Mean dose in Gy, where it has at least a twentieth of its highest."""
    level = LEAST_SHARE * float(output.max())
    seen = output >= level if level > 0 else np.zeros(output.shape, np.bool_)
    count = np.count_nonzero(seen, axis=(0, 1))
    mean = np.where(seen, output, 0.0).sum(axis=(0, 1)) / np.maximum(count, 1)
    highest = output.max(axis=(0, 1))
    said = tuple(
        f"{value:.1f} Gy on average, at most {most:.1f} Gy" if voxels else "no dose"
        for value, most, voxels in zip(mean.tolist(), highest.tolist(), count.tolist(), strict=True)
    )
    return Strip("Gy", {"output": tuple(mean.tolist())}, said)
