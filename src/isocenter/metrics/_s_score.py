"""The segmentation score of the lung-tumour contest: overlap that asks more of larger tumours.

    S = exp(−(E / 2V) · (1 + (V/V₀)^⅓))

V is the volume of the truth, E an error volume, and V₀ that of a sphere of 30 mm radius. Dice cannot tell whether a
tenth of a small or of a large tumour was left out; S can, as its exponent grows with the tumour's radius.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from isocenter.metrics._masks import Mask
from isocenter.metrics._overlap import Overlap, count_overlap

Variant = Literal["corrected", "printed", "jaccard"]

V0 = 4 / 3 * math.pi * 30.0**3
"""The volume of a sphere of 30 mm radius, mm³."""


def s_score(truth: Mask, prediction: Mask, *, spacing: Sequence[float], variant: Variant = "corrected") -> float:
    """Segmentation score of Mak et al., in [0, 1]; higher is better, 1 only for equal masks.

    Parameters
    ----------
    truth, prediction
        Boolean arrays of one shape, with all tumours of the scan.
    spacing
        Edges of a voxel in mm, in the order of the arrays' axes. Only their product matters.
    variant
        Which error volume E:

        "corrected", ``V·FN/TP + FP``: the reading that this library takes;
        "printed", ``V·FN/(TP+FP)``: the formula as it stands in the running text;
        "jaccard", ``V·(FN+FP)/TP``: the same as ``V·(1/J − 1)``.

    Notes
    -----
    The text says that E diverges for masks that do not touch, and vanishes only for equal ones. The formula it prints
    does neither: it is finite for the first, and 0 for every prediction that swallows the tumour. A footnote of the
    same supplement prints ``V FN / TP + FP`` without parentheses, which does both, and agrees with the published
    means where the printed formula misses them by 0.3. The three agree where nothing but truth was predicted (FP = 0),
    and the first and the third also where all of it was (FN = 0).

    No overlap gives 0.0; by the printed formula only an empty prediction does. An empty truth has no volume to relate
    an error to: NaN, undefined, whatever was predicted.

    S is not symmetric: the truth sets the scale, and truth left out weighs more than background let in.

    References
    ----------
    Mak RH, Endres MG, Paik JH, et al. Use of crowd innovation to develop an artificial intelligence-based solution for
    radiation therapy targeting. JAMA Oncology 5 (2019) 654-661, supplement, eTable 2.

    Examples
    --------
    >>> truth = np.ones((10, 10, 10), bool)
    >>> half = truth.copy()
    >>> half[:5] = False
    >>> round(s_score(truth, half, spacing=(1, 1, 3)), 4)
    0.5225
    """
    edges = [float(edge) for edge in spacing]
    overlap = count_overlap(truth, prediction)
    dimensions = np.ndim(truth)
    if len(edges) != dimensions or not all(0 < edge < math.inf for edge in edges):
        msg = f"spacing must be {dimensions} positive numbers of mm, one per axis, not {tuple(spacing)}"
        raise ValueError(msg)
    return s_score_of(overlap, voxel_volume=math.prod(edges), variant=variant)


def s_score_of(overlap: Overlap, *, voxel_volume: float, variant: Variant = "corrected") -> float:
    """Segmentation score of an overlap counted in voxels of `voxel_volume` mm³; see `s_score`."""
    if overlap.truth == 0:
        return math.nan
    error = _relative_error(overlap, variant)
    scale = 1 + math.cbrt(overlap.truth * voxel_volume / V0)
    return math.exp(-error / 2 * scale)


def _relative_error(overlap: Overlap, variant: Variant) -> float:
    """E / V."""
    tp, fp, fn = overlap.tp, overlap.fp, overlap.fn
    match variant:
        case "corrected":
            return fn / tp + fp / overlap.truth if tp else math.inf
        case "printed":
            return fn / overlap.prediction if overlap.prediction else math.inf
        case "jaccard":
            return (fn + fp) / tp if tp else math.inf
    msg = f"the variants of the S-score are corrected, printed and jaccard, not {variant!r}"
    raise ValueError(msg)
