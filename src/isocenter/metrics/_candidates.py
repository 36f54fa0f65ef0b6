"""Lesion candidates: the blobs of a detection map, each with one likelihood; and how to get them from a soft map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics._blobs import Blobs, as_volume, connect, foreground
from isocenter.metrics._lesions import Connectivity

ExtractionRule = Literal["dynamic-v2", "dynamic", "dynamic-fast"]
Likelihood = Literal["max", "mean"]
Checks = Literal["strict", "picai"]

# The published rules: a part of up to ten voxels is noise, a part ends where the map falls below its peak over 2.5, and
# at most five parts are taken, as long as something of at least 0.01 is left.
_TOO_SMALL = 10
_FALL = 2.5
_MOST = 5
_FAINTEST = 0.01

_NAMED = 5  # as many bad components are named in an error


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of a case, in the order of their first voxel, made by `candidates` or `extract_candidates`.

    Attributes
    ----------
    blobs
        Where they are.
    confidences
        The likelihood of each, as it is in single precision: 0.7 is 0.699999988079071.
    """

    blobs: Blobs
    confidences: NDArray[np.float64]

    def detection_map(self) -> NDArray[np.float32]:
        """A volume with the likelihood of a candidate in each of its voxels and 0 elsewhere."""
        volume = np.zeros(math.prod(self.blobs.shape), np.float32)
        volume[self.blobs.voxels] = self.confidences[self.blobs.parts - 1]
        return volume.reshape(self.blobs.shape)


def candidates(detection_map: Any, *, connectivity: Connectivity = 26, checks: Checks = "strict") -> Candidates:
    """The candidates of a detection map: connected parts of what is not 0, each with one value in (0, 1].

    Values are compared in single precision, whatever the type of the map: so they are in the files, and so ties are
    judged.

    Parameters
    ----------
    connectivity
        See `components`. Candidates that touch in this sense must have been given one likelihood.
    checks
        "strict": what is said above, of each component. "picai": what picai_eval 1.4.13 lets pass, too. There a value
        may be above 1, and a component may have several values, of which the largest counts, as long as the whole map
        has no more distinct values than components.

    Raises
    ------
    ValueError
        Names the components that are not candidates, with a voxel and what was found there: NaN or infinite, negative,
        above 1, or more than one value. The last usually means that a soft map was given.

    Examples
    --------
    >>> heat = np.zeros((4, 5, 6), np.float32)
    >>> heat[0, 0, :2] = 0.25
    >>> heat[3, 3, 3] = 0.5
    >>> candidates(heat).confidences.tolist()
    [0.25, 0.5]
    """
    array = as_volume(detection_map, "detection map")
    return candidates_of_voxels(*foreground(array), array.shape, connectivity=connectivity, checks=checks)


def candidates_of_voxels(
    voxels: NDArray[np.int64],
    found: NDArray[Any],
    shape: tuple[int, ...],
    *,
    connectivity: Connectivity = 26,
    checks: Checks = "strict",
) -> Candidates:
    """The candidates of a map of which only what is not 0 is known; see `candidates`.

    Parameters
    ----------
    voxels
        Where it is not 0, ascending in the flattened map (last axis fastest).
    found
        The values there.
    shape
        Of the map.
    """
    if checks not in ("strict", "picai"):
        msg = f"checks must be 'strict' or 'picai', not {checks!r}"
        raise ValueError(msg)
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large becomes infinite, and is named as such
        values = found.astype(np.float32)
    if not values.all():  # too small for single precision is 0
        voxels, values = voxels[values != 0], values[values != 0]
    blobs = connect(voxels, shape, connectivity=connectivity)
    peaks = np.full(blobs.count, -np.inf, np.float32)
    with np.errstate(invalid="ignore"):  # NaN is named below
        np.maximum.at(peaks, blobs.parts - 1, values)
    bad = ~np.isfinite(values) | (values < 0)
    if checks == "strict":
        bad |= (values > 1) | (values != peaks[blobs.parts - 1])
    elif np.unique(values).size > blobs.count:
        bad |= values != peaks[blobs.parts - 1]
    if bad.any():
        limit = 1.0 if checks == "strict" else math.inf
        raise ValueError(_complaints(blobs, values, np.unique(blobs.parts[bad]), limit=limit))
    return Candidates(blobs, peaks.astype(np.float64))


def case_likelihood(
    detection_map: Any, how: Literal["max", "bayesian"] = "max", *, connectivity: Connectivity = 26
) -> float:
    """The likelihood that a patient has any lesion, from the candidates alone; 0 if there are none.

    A challenge may ask for this number as an output of its own, which may differ: then it is not computed here.

    Parameters
    ----------
    detection_map
        A map, checked as by `candidates`; or candidates, found once and used again.
    how
        "max": the likelihood of the most likely candidate. "bayesian": 1 - Π(1 - c), the chance that at least one
        candidate c is a lesion if they were independent.

    Examples
    --------
    >>> heat = np.zeros((4, 5, 6))
    >>> heat[0, 0, 0] = heat[3, 3, 3] = 0.5
    >>> case_likelihood(heat), case_likelihood(heat, "bayesian")
    (0.5, 0.75)
    """
    if how not in ("max", "bayesian"):
        msg = f"how must be 'max' or 'bayesian', not {how!r}"
        raise ValueError(msg)
    given = isinstance(detection_map, Candidates)
    likelihoods = (detection_map if given else candidates(detection_map, connectivity=connectivity)).confidences
    if likelihoods.size == 0:
        return 0.0
    return float(likelihoods.max() if how == "max" else 1.0 - np.prod(1.0 - likelihoods))


def extract_candidates(
    soft_map: Any,
    *,
    rule: ExtractionRule | float = "dynamic-v2",
    likelihood: Likelihood = "max",
    connectivity: Connectivity = 26,
) -> Candidates:
    """Candidates from a soft map, such as the output of a network: where it is high, with the peak as likelihood.

    Parts of ten voxels or fewer are never candidates.

    Parameters
    ----------
    soft_map
        Likelihoods per voxel, in [0, 1].
    rule
        A number: connected parts of what is at least as large. "dynamic-fast": the same, at the map's peak over 2.5.
        "dynamic": of the parts at the peak over 2.5 of what is left, the most likely is taken, removed, and so on,
        until five parts were taken or nothing of 0.01 is left; a part that touches one taken before is removed but not
        taken. It ends where all these parts are too small, and loses what is fainter. "dynamic-v2": the same, but such
        parts are removed, and the search goes on. Of equals, the part with the first voxel (last axis fastest) is
        taken; the published code counts voxels (z, y, x).
    likelihood
        "max": a part is as likely as its peak. "mean": as the mean of its voxels, in double precision; published as
        "dynamic-v2-mean" and so on. It also decides which part is the most likely.

    References
    ----------
    Bosma JS et al. Semisupervised learning with report-guided pseudo labels for deep learning-based prostate cancer
    detection using biparametric MRI. Radiol Artif Intell 5 (2023) e230031.

    Examples
    --------
    >>> heat = np.zeros((4, 9, 9), np.float32)
    >>> heat[1:3, 1:4, 1:4] = 0.25
    >>> heat[2, 2, 2] = 0.3125
    >>> heat[0, 8, 8] = 0.9
    >>> extract_candidates(heat).confidences.tolist(), extract_candidates(heat, rule="dynamic").confidences.tolist()
    ([0.3125], [])
    """
    array = as_volume(soft_map, "soft map").astype(np.float32)
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        where = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), array.shape))
        msg = f"a soft map lies between 0 and 1, but {np.count_nonzero(wrong)} voxels do not: "
        msg += f"{array[where]!s} at voxel {where}"
        raise ValueError(msg)
    if likelihood not in ("max", "mean"):
        msg = f"likelihood must be 'max' or 'mean', not {likelihood!r}"
        raise ValueError(msg)
    if isinstance(rule, str):
        if rule not in ("dynamic-v2", "dynamic", "dynamic-fast"):
            msg = f"rule must be 'dynamic-v2', 'dynamic', 'dynamic-fast' or a threshold, not {rule!r}"
            raise ValueError(msg)
        if rule != "dynamic-fast":
            return _one_by_one(array, likelihood, persistent=rule == "dynamic-v2", connectivity=connectivity)
        threshold = array.max(initial=0) / np.float32(_FALL)
    else:
        if not 0 < rule <= 1:
            msg = f"a threshold lies above 0 and not above 1, not at {rule}"
            raise ValueError(msg)
        threshold = np.float32(rule)
    blobs, values = _parts(array, threshold, likelihood, connectivity)
    found = np.zeros(array.size, np.float32)
    found[blobs.voxels] = values[blobs.parts - 1]
    return candidates(found.reshape(array.shape), connectivity=connectivity)


def _parts(
    array: NDArray[np.float32], threshold: np.float32, likelihood: Likelihood, connectivity: Connectivity
) -> tuple[Blobs, NDArray[np.float32]]:
    """The connected parts above a threshold with their likelihoods; that of a part that is too small is 0."""
    flat = array.reshape(-1)
    voxels = np.flatnonzero((flat >= threshold) & (flat > 0))
    blobs = connect(voxels, array.shape, connectivity=connectivity)
    sizes, values = blobs.sizes, np.zeros(blobs.count, np.float32)
    if likelihood == "max":
        np.maximum.at(values, blobs.parts - 1, flat[voxels])
        values[sizes <= _TOO_SMALL] = 0
        return blobs, values
    ordered = flat[voxels[np.argsort(blobs.parts, kind="stable")]].astype(np.float64)
    stops = np.cumsum(sizes)
    for part in np.flatnonzero(sizes > _TOO_SMALL):
        values[part] = ordered[stops[part] - sizes[part] : stops[part]].mean()
    return blobs, values


def _one_by_one(
    array: NDArray[np.float32], likelihood: Likelihood, *, persistent: bool, connectivity: Connectivity
) -> Candidates:
    """The rules "dynamic" and, if persistent, "dynamic-v2"."""
    from scipy import ndimage

    left, found = array.copy(), np.zeros_like(array)
    taken = 0
    while taken < _MOST and left.max(initial=0) >= _FAINTEST:
        threshold = left.max() / np.float32(_FALL)
        blobs, values = _parts(left, threshold, likelihood, connectivity)
        if not values.any():
            if not persistent:
                break
            # Above, not at it: published so, and what is at the threshold may yet be part of something larger.
            left[left > threshold] = 0
            continue
        best = int(values.argmax())
        part = np.zeros(array.shape, np.bool_)
        part.reshape(-1)[blobs.voxels[blobs.parts == best + 1]] = True
        # Whatever the connectivity of the parts: two candidates that share no more than a corner would be one in a map.
        if not found[ndimage.binary_dilation(part, structure=np.ones((3, 3, 3)))].any():
            found[part] = values[best]
            taken += 1
        left[part] = 0
    return candidates(found, connectivity=connectivity)


def _complaints(blobs: Blobs, values: NDArray[np.float32], wrong: NDArray[np.int32], *, limit: float) -> str:
    lines = [_complaint(blobs, values, number, limit) for number in wrong[:_NAMED].tolist()]
    if wrong.size > _NAMED:
        lines.append(f"and {wrong.size - _NAMED} more")
    return f"{wrong.size} of the {blobs.count} components of the detection map are not candidates: " + "; ".join(lines)


def _complaint(blobs: Blobs, values: NDArray[np.float32], number: int, limit: float) -> str:
    """What is wrong with one component."""
    own = blobs.parts == number
    values, voxels = values[own], blobs.voxels[own]
    title = f"component {number} ({values.size} voxels)"
    for wrong, expected in (
        (~np.isfinite(values), "a likelihood is a finite number"),
        (values < 0, "a likelihood is not negative"),
        (values > limit, f"a likelihood is at most {limit:g}"),
    ):
        if wrong.any():
            at = int(wrong.argmax())
            return f"{title} has {values[at]:g} at voxel {blobs.index(voxels[at])}, but {expected}"
    at = int((values != values[0]).argmax())
    two = f"{values[0]:g} at voxel {blobs.index(voxels[0])} and {values[at]:g} at voxel {blobs.index(voxels[at])}"
    return f"{title} has {two}, but one candidate has one likelihood (a soft map? see extract_candidates)"
