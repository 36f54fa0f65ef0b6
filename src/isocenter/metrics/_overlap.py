"""Overlap of two masks: counted once, scored in many ways.

    truth T  ┌──────────────┐
             │  fn  ┌───────┼──────┐
             │      │  tp   │  fp  │
             └──────┼───────┘      │
                    └──────────────┘  prediction P

Every score here is a ratio of these three counts. What is left of one when a mask is empty is said in each docstring,
and both masks empty, a perfect answer to an empty question or no question at all, is for the caller to decide:
`both_empty` is 1 unless said otherwise, and NaN says "undefined".
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from isocenter.metrics._masks import Mask, as_pair, as_words, flat_voxels, in_one_order

# Voxels that are counted together: two pieces stay in the processor's cache.
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of two masks is in both, and in either alone: in voxels, or in any one unit of volume.

    Who has the counts but not the masks (an ensemble, a sum over cases) asks here; the functions of this module, which
    take masks, do so too, and say what each score means.

    Attributes
    ----------
    tp, fp, fn
        |T∩P|, |P∖T| and |T∖P|.
    """

    tp: float
    fp: float
    fn: float

    @property
    def truth(self) -> float:
        """|T|."""
        return self.tp + self.fn

    @property
    def prediction(self) -> float:
        """|P|."""
        return self.tp + self.fp

    @property
    def size(self) -> float:
        """|T| + |P|."""
        return self.truth + self.prediction

    def dice(self, *, both_empty: float = 1.0) -> float:
        """See `isocenter.metrics.dice`."""
        return 2 * self.tp / self.size if self.size else both_empty

    def jaccard(self, *, both_empty: float = 1.0) -> float:
        """See `isocenter.metrics.jaccard`."""
        return self.tp / (self.tp + self.fp + self.fn) if self.size else both_empty

    def precision(self, *, both_empty: float = 1.0) -> float:
        """See `isocenter.metrics.precision`."""
        if self.size == 0:
            return both_empty
        return self.tp / self.prediction if self.prediction else 0.0

    def recall(self, *, both_empty: float = 1.0) -> float:
        """See `isocenter.metrics.recall`."""
        if self.size == 0:
            return both_empty
        return self.tp / self.truth if self.truth else math.nan

    def volume_similarity(self, *, both_empty: float = 1.0) -> float:
        """See `isocenter.metrics.volume_similarity`."""
        return 1 - abs(self.fn - self.fp) / self.size if self.size else both_empty


def count_overlap(truth: Mask, prediction: Mask) -> Overlap:
    """Count the voxels that are in both masks, and in either alone.

    Parameters
    ----------
    truth, prediction
        Boolean arrays of one shape. Integer arrays are taken if they hold only 0 and 1; of a map with several labels,
        say which one is meant: ``labels == 2``.

    Examples
    --------
    >>> count_overlap(np.array([True, True, False]), np.array([True, False, True]))
    Overlap(tp=1, fp=1, fn=1)
    """
    truth, prediction = in_one_order(*as_pair(truth, prediction))
    both, in_truth, in_prediction = _count(truth, prediction)
    return Overlap(both, in_prediction - both, in_truth - both)


def _count(truth: Mask, prediction: Mask) -> tuple[int, int, int]:
    """Voxels in both masks, in the truth, in the prediction; memory is read once."""
    if "numba" in sys.modules and truth.size > _PIECE:  # importing it would cost more than it saves
        from isocenter.metrics._mask_kernels import count_foreground

        both, in_truth, in_prediction = count_foreground(as_words(truth), as_words(prediction))
        return int(both), int(in_truth), int(in_prediction)
    both = in_truth = in_prediction = 0
    truth, prediction = flat_voxels(truth), flat_voxels(prediction)
    for start in range(0, truth.size, _PIECE):
        t, p = (mask[start : start + _PIECE] for mask in (truth, prediction))
        some, others = (int(np.count_nonzero(mask)) if mask.any() else 0 for mask in (t, p))
        in_truth, in_prediction = in_truth + some, in_prediction + others
        if some and others:  # where one mask is empty, as nearly everywhere, there is no overlap
            both += int(np.count_nonzero(t & p))
    return both, in_truth, in_prediction


def dice(truth: Mask, prediction: Mask, *, both_empty: float = 1.0) -> float:
    """Dice similarity coefficient, ``2|T∩P| / (|T|+|P|)``, in [0, 1]; higher is better.

    Two empty masks agree perfectly about nothing and give 1.0, or what `both_empty` says; whether such a case may
    occur is for the challenge to say. One empty mask against one that is not gives 0.0.

    Parameters
    ----------
    truth, prediction
        As `count_overlap` takes them.

    References
    ----------
    Dice LR. Measures of the amount of ecologic association between species. Ecology 26 (1945) 297-302.

    Examples
    --------
    >>> dice(np.array([True, True, False]), np.array([True, False, False]))
    0.6666666666666666
    """
    return count_overlap(truth, prediction).dice(both_empty=both_empty)


def jaccard(truth: Mask, prediction: Mask, *, both_empty: float = 1.0) -> float:
    """Jaccard index, ``|T∩P| / |T∪P|``, in [0, 1]; higher is better.

    Of one pair of masks it says the same as Dice, J = D/(2−D); of means over cases it does not. Both masks empty gives
    `both_empty`, one of them empty 0.0.

    References
    ----------
    Jaccard P. The distribution of the flora in the alpine zone. New Phytologist 11 (1912) 37-50.

    Examples
    --------
    >>> jaccard(np.array([True, True, False]), np.array([True, False, False]))
    0.5
    """
    return count_overlap(truth, prediction).jaccard(both_empty=both_empty)


def precision(truth: Mask, prediction: Mask, *, both_empty: float = 1.0) -> float:
    """Precision or positive predictive value, ``|T∩P| / |P|``, in [0, 1]; higher is better.

    How much of what was predicted is there. An empty prediction where there is something to find has no precision by
    the formula and gives 0.0, as saying nothing must not pay; a prediction where there is nothing gives 0.0 by the
    formula. Both masks empty gives `both_empty`.

    Examples
    --------
    >>> precision(np.array([True, True, False]), np.array([True, False, False]))
    1.0
    """
    return count_overlap(truth, prediction).precision(both_empty=both_empty)


def recall(truth: Mask, prediction: Mask, *, both_empty: float = 1.0) -> float:
    """Recall or sensitivity, ``|T∩P| / |T|``, in [0, 1]; higher is better.

    How much of what is there was predicted. An empty prediction where there is something to find gives 0.0. Where
    there is nothing to find and something was predicted, recall is undefined: NaN. Both masks empty gives `both_empty`.

    Examples
    --------
    >>> recall(np.array([True, True, False]), np.array([True, False, False]))
    0.5
    """
    return count_overlap(truth, prediction).recall(both_empty=both_empty)


def volume_similarity(truth: Mask, prediction: Mask, *, both_empty: float = 1.0) -> float:
    """Similarity of the two volumes, ``1 − ||T|−|P|| / (|T|+|P|)``, in [0, 1]; higher is better.

    It compares sizes, not places: masks of one size that do not touch give 1.0. Both masks empty gives `both_empty`,
    one of them empty 0.0. Some software calls the signed ``2(|T|−|P|) / (|T|+|P|)`` by this name.

    References
    ----------
    Taha AA, Hanbury A. Metrics for evaluating 3D medical image segmentation: analysis, selection, and tool. BMC
    Medical Imaging 15 (2015) 29.

    Examples
    --------
    >>> volume_similarity(np.array([True, True, False]), np.array([False, False, True]))
    0.6666666666666667
    """
    return count_overlap(truth, prediction).volume_similarity(both_empty=both_empty)


def aggregated_dice(
    overlaps: Iterable[float], sizes: Iterable[float], *, weights: Iterable[float] | None = None
) -> float:
    """Dice of a whole cohort, ``2 Σ wᵢ|Tᵢ∩Pᵢ| / Σ wᵢ(|Tᵢ|+|Pᵢ|)``, in [0, 1]; higher is better.

    Every cubic millimetre counts the same, in whichever case it lies, so a case without the structure needs no rule of
    its own: it adds what was wrongly predicted there, or nothing. If no case has anything on either side, it is
    undefined: NaN.

    Parameters
    ----------
    overlaps, sizes
        Per case, |T∩P| and |T|+|P| in mm³. Voxels are as good only where all cases have voxels of one size.
    weights
        Per case; all 1 if not given. An integer weight is that many copies of the case.

    References
    ----------
    Andrearczyk V, Oreiller V, Abobakr M, et al. Overview of the HECKTOR challenge at MICCAI 2022: automatic head and
    neck tumor segmentation and outcome prediction in PET/CT. LNCS 13626 (2023) 1-30.

    Examples
    --------
    >>> aggregated_dice([0.0, 300.0], [40.0, 760.0])
    0.75
    """
    both, either = [float(v) for v in overlaps], [float(v) for v in sizes]
    weight = [1.0] * len(both) if weights is None else [float(w) for w in weights]
    if not len(both) == len(either) == len(weight):
        msg = f"{len(both)} overlaps, {len(either)} sizes and {len(weight)} weights are not those of the same cases"
        raise ValueError(msg)
    for tp, size, w in zip(both, either, weight, strict=True):
        # A billionth of leeway: the two volumes were rounded, each in its own way.
        if not (0 <= w < math.inf and 0 <= size < math.inf and 0 <= 2 * tp <= size * (1 + 1e-9)):
            msg = f"overlap {tp}, size {size} and weight {w} are not those of a case: all ≥ 0, overlap ≤ size / 2"
            raise ValueError(msg)
    total = math.fsum(w * size for w, size in zip(weight, either, strict=True))
    if total == 0:
        return math.nan
    return min(1.0, 2 * math.fsum(w * tp for w, tp in zip(weight, both, strict=True)) / total)


def volume_error(truth: Mask, prediction: Mask, *, spacing: tuple[float, float, float]) -> float:
    """Volume of the prediction less that of the truth, (|P| − |T|)·v, mm³; 0 is best, negative is too small.

    Defined for empty masks too: an empty prediction is too small by the whole truth. It says nothing of where the
    volumes lie: a prediction of the right size in the wrong place has no error.
    """
    overlap = count_overlap(truth, prediction)
    return (overlap.fp - overlap.fn) * math.prod(spacing)
