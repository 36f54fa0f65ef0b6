"""Intensity-modulated photon fields: the dose that nine beams could give to a synthetic patient.

No physics beyond the rule of thumb: along a ray the dose builds up, falls off exponentially with the mass in its way
and with the square of the distance; across it the edge of a field is blurred, and a little is scattered further. What
makes the dose look like a plan is that the fluence is found as planning systems find it, by weighing targets against
organs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._dose_rays import SAD, Array32, Rays, Triple, bilinear, line, rays
from isocenter.phantoms._fields import Array

_BIXEL = 5.0  # mm, edge of the pencils into which a field is cut
_STEP = 4.0  # mm, between rays and along them
_ATTENUATION = 0.0046  # per mm of water, for 6 MV
_BUILD_UP = (0.55, 5.0)  # what is missing at the skin, and the depth in mm that brings it down to a third
_EDGE, _SCATTER = 4.6, 18.0  # mm, σ of the blur of an edge and of the scatter
_SCATTERED = 0.07  # the share of the latter
_ROUNDS = 80
_LEVELS = 20  # steps of a field's intensity: a few segments are shot one after the other, not a smooth fluence


@dataclass(frozen=True, eq=False, slots=True)
class Aim:
    """What the dose in some voxels should be.

    Attributes
    ----------
    where
        Their positions in the flat array.
    at_least, at_most
        Gy, the same for all or one value for each.
    weight
        Of all of them together.
    """

    where: NDArray[np.intp]
    at_least: float
    at_most: float | Array
    weight: float


def plan(density: Array, aims: list[Aim], *, spacing: Triple, isocentre: Triple, beams: int = 9) -> Array32:
    """The dose of coplanar fields, Gy, as large as `density`.

    Parameters
    ----------
    density
        Of the patient relative to water, axes to the back, to the left and along the body.
    aims
        What is asked for.
    isocentre
        Voxel index, not necessarily whole.
    """
    from scipy import sparse

    fields, comes = [], []
    for beam in range(beams):
        angle = 2.0 * math.pi * beam / beams
        direction = (math.cos(angle), -math.sin(angle))  # at 0 from front to back, as a gantry has it
        fields.append(rays(density, direction, spacing=spacing, isocentre=isocentre, step=_STEP))
        comes.append(through(fields[-1]))
    where = np.concatenate([aim.where for aim in aims])
    reach = max(float(np.abs(field.across).max()) for field in fields) + _BIXEL
    columns, rows = 2 * math.ceil(reach / _BIXEL) + 1, math.ceil(density.shape[2] * spacing[2] / _BIXEL) + 2
    pixel, height = np.divmod(where, density.shape[2])
    heights = np.asarray(np.arange(density.shape[2]) * spacing[2] / _BIXEL + 0.5, np.float64)
    blocks = []
    for field, factor in zip(fields, comes, strict=True):
        weights = bilinear(field.across[pixel] / _BIXEL + columns // 2, heights[height], (columns, rows))
        blocks.append(sparse.diags_array(factor[pixel, height]) @ weights)
    fluence = _optimise(sparse.hstack(blocks, format="csr"), aims, (beams, columns, rows))
    dose = np.zeros((density.shape[0] * density.shape[1], density.shape[2]), np.float32)
    for field, factor, opening in zip(fields, comes, _blur(_stepped(fluence)), strict=True):
        tall = line(heights, rows) @ opening.T
        dose += factor * (line(field.across / _BIXEL + columns // 2, columns) @ tall.T)
    return dose.reshape(density.shape)


def through(beam: Rays) -> Array32:
    """What is left of a photon beam in each voxel: build-up, attenuation and distance from the source."""
    missing, length = _BUILD_UP
    left = (1.0 - missing * np.exp(-beam.depth / length)) * np.exp(-_ATTENUATION * beam.depth)
    return np.asarray(left * ((SAD / (SAD + beam.along)) ** 2)[:, None], np.float32)


def _optimise(matrix: Any, aims: list[Aim], shape: tuple[int, int, int]) -> Array:
    """The fluence of all fields, before it is blurred, that meets the aims best."""
    turned = matrix.T.tocsr()

    def forth(fluence: Array) -> Array:
        return np.asarray(matrix @ _blur(fluence).ravel())

    def back(values: Array) -> Array:
        return _blur((turned @ values).reshape(shape))

    return fit(forth, back, aims, rounds=_ROUNDS)


def fit(
    forth: Callable[[Array], Array],
    back: Callable[[Array], Array],
    aims: list[Aim],
    *,
    rounds: int,
    least: float = 0.0,
) -> Array:
    """Weights, never negative, that miss the aims the least in the sense of weighted squares.

    Gradient steps with momentum. Each weight has its own step length, short enough that the misses never grow. No sum
    runs over more than a row of a sparse matrix, so the result is the same on any number of threads.

    Parameters
    ----------
    forth, back
        From weights to doses, and its transpose; both without negative entries.
    least
        What no weight falls below, as a share of the weight that all would have if they had the same.
    """
    size = [len(aim.where) for aim in aims]
    low = np.repeat([aim.at_least for aim in aims], size)
    high = np.concatenate([np.broadcast_to(aim.at_most, n) for aim, n in zip(aims, size, strict=True)])
    share = np.repeat([aim.weight / n for aim, n in zip(aims, size, strict=True)], size)
    target = low > 0.0
    seen = back(share * target)
    useful = np.where(seen > 1e-3 * float(seen.max()), 1.0, 0.0)  # what hits a target
    flat = forth(useful)
    length = useful / np.maximum(back(share * flat), 1e-30)
    even = useful * float(low[target].mean() / flat[target].mean())
    weights = previous = even
    for turn in range(rounds):
        ahead = weights + (weights - previous) * turn / (turn + 3.0)
        dose = forth(ahead)
        miss = np.maximum(dose - high, 0.0) - np.maximum(low - dose, 0.0)
        previous, weights = weights, np.asarray(np.maximum(ahead - length * back(share * miss), least * even))
    return weights


def _stepped(fluence: Array) -> Array:
    """Each field in a few equal steps of intensity."""
    top = fluence.max(axis=(1, 2), keepdims=True) + 1e-9
    return np.asarray(np.rint(fluence / top * _LEVELS) / _LEVELS * top)


def _blur(fluence: Array) -> Array:
    """The edge of a field, and the scatter around it."""
    from scipy import ndimage

    sharp, wide = ((0.0, s / _BIXEL, s / _BIXEL) for s in (_EDGE, _SCATTER))
    edge = ndimage.gaussian_filter(fluence, sharp, mode="constant")
    return np.asarray((1.0 - _SCATTERED) * edge + _SCATTERED * ndimage.gaussian_filter(fluence, wide, mode="constant"))
