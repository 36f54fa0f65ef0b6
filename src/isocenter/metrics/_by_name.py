"""Metrics of two masks by their names in the catalogue: overlap, surfaces, and those of other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from isocenter.metrics import catalogue
from isocenter.metrics._masks import Mask, cropped
from isocenter.metrics._overlap import count_overlap
from isocenter.metrics._s_score import s_score
from isocenter.metrics._surface import _BY_NAME as _SURFACES
from isocenter.metrics._surface import surface_scores

Spacing = tuple[float, float, float]
MaskMetric = Callable[[Mask, Mask, Spacing], float]
"""A number of two masks, the truth first, on a grid of this spacing, mm."""

_OVERLAPS = ("dice", "jaccard", "precision", "recall", "volume_similarity")
_REGISTERED: dict[str, MaskMetric] = {}


def register_mask_metric(name: str, function: MaskMetric) -> None:
    """Let commands on masks measure a metric of another package, which is in the catalogue already.

    Raises
    ------
    KeyError
        The catalogue does not have it.
    ValueError
        Another function has the name.
    """
    catalogue.get(name)
    if _REGISTERED.get(name, function) is not function or name in (*_OVERLAPS, "s_score", *_SURFACES):
        msg = f"there is already a function for the metric {name!r}"
        raise ValueError(msg)
    _REGISTERED[name] = function


def mask_metrics() -> tuple[str, ...]:
    """The metrics of the catalogue that are functions of two masks and the size of their voxels."""
    known = catalogue.names()
    return tuple(name for name in (*_OVERLAPS, "s_score", *_SURFACES, *_REGISTERED) if name in known)


def measure_masks(
    truth: Mask, prediction: Mask, names: Iterable[str], *, spacing: Spacing, tolerance_mm: float | None = None
) -> dict[str, float]:
    """Metrics of two masks by name; surfaces are found once, however many metrics ask for them.

    Parameters
    ----------
    names
        Some of `mask_metrics`.
    spacing
        Of the voxels along the axes of the masks, mm.
    tolerance_mm
        Of surface Dice ("nsd" and its kin), which needs one.

    Examples
    --------
    >>> import numpy as np
    >>> truth, prediction = np.zeros((2, 9, 9, 9), bool)
    >>> truth[2:6, 2:6, 2:6] = prediction[3:7, 2:6, 2:6] = True
    >>> measure_masks(truth, prediction, ["dice", "hd"], spacing=(2.0, 1.0, 1.0))
    {'dice': 0.75, 'hd': 2.0}
    """
    names = list(names)
    if unknown := [name for name in names if name not in mask_metrics()]:
        msg = f"{', '.join(unknown)} is not a function of two masks; those that are: {', '.join(mask_metrics())}"
        raise ValueError(msg)
    truth, prediction = cropped(truth, prediction)
    surfaces = [name for name in names if name in _SURFACES]
    found = surface_scores(truth, prediction, surfaces, spacing=spacing, tolerance_mm=tolerance_mm) if surfaces else {}
    if any(name in _OVERLAPS for name in names):
        overlap = count_overlap(truth, prediction)
        found |= {name: getattr(overlap, name)() for name in names if name in _OVERLAPS}
    if "s_score" in names:
        found["s_score"] = s_score(truth, prediction, spacing=spacing)
    found |= {name: float(_REGISTERED[name](truth, prediction, spacing)) for name in names if name in _REGISTERED}
    return {name: found[name] for name in names}


def needs_tolerance(name: str) -> bool:
    """Whether a metric of two masks is a share within a tolerance, which somebody has to name."""
    return name in _SURFACES and _SURFACES[name][1] == "nsd"
