"""The organs that lie closest to the target."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Voxels = NDArray[np.intp]
"""Indices of the voxels of a structure, one row each: n × 3."""


def closest(
    target: Voxels, organs: Mapping[str, Voxels], *, spacing: tuple[float, float, float], count: int = 3
) -> list[str]:
    """Names of the organs whose centroids are closest to that of the target, the closest first.

    Empty organs are left out; of organs at the same distance the first one listed comes first. If there are fewer than
    `count`, all are given.

    Parameters
    ----------
    spacing
        Lengths of a voxel along the axes. With (1, 1, 1) the distance is in voxels, which is not one in the patient
        where voxels are no cubes: the challenge measures so, and on 1 × 1 × 3 mm other organs are chosen than in mm.
    """
    centre = target.mean(axis=0) * spacing
    away = {
        name: float(np.linalg.norm(voxels.mean(axis=0) * spacing - centre))
        for name, voxels in organs.items()
        if len(voxels)
    }
    return sorted(away, key=lambda name: away[name])[:count]
