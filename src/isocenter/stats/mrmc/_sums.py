"""What all the statistics are made of: sums of products of kernels, for each pair of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.stats.mrmc._design import Design, Floats

# Below this share of what it was subtracted from, a count of pairs is rounding.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Sums:
    """Sums over pairs of kernels, by what the two have in common.

    Attributes
    ----------
    estimate
        Per column: the AUC, sensitivity or specificity of the reader.
    size
        Per column: the sum of the weights of its kernels, N₀·N₁ without case weights.
    top, bottom
        Class × column × column: the sum of kernel products, and of the products of their weights. Classes of an AUC are
        same normal and same diseased case, same diseased only, same normal only, neither; classes of a proportion are
        same case, other case. With case weights `top` is that of centred kernels, see `_centred`.
    placements
        Of an AUC without case weights: for each column and case, the mean kernel over the cases of the other class
        that the reader read; 0 where the case was not read.
    """

    estimate: Floats
    size: Floats
    top: Floats
    bottom: Floats
    placements: Floats


def auc_sums(design: Design) -> Sums:
    """Sums of the AUC kernel, S = 1 where the diseased case has the higher score and ½ where scores are equal.

    A pair of cases weighs the product of their weights. Only the first of the four classes needs pairs of cases; the
    others come from the sums of each case over the other class. Memory is linear in the number of cases. Without case
    weights all sums are exact up to 2⁵³; beyond, a variance is good to some 1e-15, whatever its size.
    """
    from isocenter.stats.mrmc._kernels import joint_wins

    normal, diseased = ~design.positive, design.positive
    levels, order = _ranked(design)
    weighted = np.where(design.read, design.weight, 0.0)
    lost = np.zeros_like(weighted)
    for k in range(weighted.shape[0]):
        lost[k] = _outscored(levels[k], weighted[k] * normal, weighted[k] * diseased, diseased)
    size0, size1 = weighted[:, normal].sum(axis=1), weighted[:, diseased].sum(axis=1)
    raw = weighted * lost
    both = joint_wins(order, levels, diseased, design.weight**2)
    same_diseased = raw[:, diseased] @ raw[:, diseased].T
    same_normal = raw[:, normal] @ raw[:, normal].T
    won = raw[:, diseased].sum(axis=1)
    top = np.stack(
        [both, same_diseased - both, same_normal - both, np.outer(won, won) - same_diseased - same_normal + both]
    )
    shared0, apart0 = _shared(weighted[:, normal])
    shared1, apart1 = _shared(weighted[:, diseased])
    bottom = np.stack([shared0 * shared1, apart0 * shared1, shared0 * apart1, apart0 * apart1])
    estimate = won / (size0 * size1)
    if _weights_vary(design.weight[normal]) or _weights_vary(design.weight[diseased]):
        both = _wins_of_shared(levels, weighted, diseased)
        same_diseased = (raw[:, diseased] @ weighted[:, diseased].T) * size0
        same_normal = (raw[:, normal] @ weighted[:, normal].T) * size1
        rest = np.outer(won, size0 * size1) - same_diseased - same_normal + both
        single = np.stack([both, same_diseased - both, same_normal - both, rest])
        top = _centred(top, single, bottom, estimate)
    # Nothing below the line means nothing above it, but for rounding.
    top[bottom == 0] = 0.0
    placements = lost / np.where(diseased, size0[:, None], size1[:, None])
    return Sums(estimate, size0 * size1, top, bottom, placements)


def proportion_sums(design: Design, threshold: float, *, diseased: bool) -> Sums:
    """Sums of the kernel of a sensitivity (diseased) or specificity: whether a case of the class is called rightly.

    A score of at least the threshold calls a case diseased.
    """
    chosen = design.positive if diseased else ~design.positive
    weighted = np.where(design.read, design.weight, 0.0)[:, chosen]
    right = weighted * ((design.score[:, chosen] >= threshold) == diseased)
    size, hits = weighted.sum(axis=1), right.sum(axis=1)
    same = right @ right.T
    shared, apart = _shared(weighted)
    top, bottom = np.stack([same, np.outer(hits, hits) - same]), np.stack([shared, apart])
    if _weights_vary(design.weight[chosen]):
        single = right @ weighted.T
        top = _centred(top, np.stack([single, np.outer(hits, size) - single]), bottom, hits / size)
        top[bottom == 0] = 0.0
    return Sums(hits / size, size, top, bottom, np.zeros((right.shape[0], 0)))


def _weights_vary(weight: Floats) -> bool:
    """Whether cases of one class differ in weight; what all have in common has no effect."""
    return weight.size > 0 and bool((weight != weight[0]).any())


def _centred(top: Floats, single: Floats, bottom: Floats, estimate: Floats) -> Floats:
    """Sums of (Sₖ − θₖ)(Sₗ − θₗ) + θₖθₗ instead of SₖSₗ; `single` has those of Sₖ alone, over the same pairs.

    An estimate with case weights is a ratio, ΣwS / Σw. Its variance to first order is that of Σw(S − θ), whatever the
    weights have to do with the scores. Products of the kernels themselves are of cases whose weights are squared: if
    heavy cases are the hard ones, their mean is not θ, and the variance comes out far too small.

    With equal weights both are the same where everybody read everything, or all of a block. Where single reads are
    missing, the moments of products are means over other pairs of cases than θ is, and the two differ: standard errors
    of the centred one are up to 1.25 times those of iMRMC in the studies of the tests, in one with a tenth of the reads
    missing at random. So reads without weights are not centred, and weights that are almost equal do not tend to them.
    """
    towards = estimate * single
    return np.asarray(top - towards - towards.transpose(0, 2, 1) + 2 * np.outer(estimate, estimate) * bottom)


def _wins_of_shared(levels: NDArray[np.int32], weighted: Floats, diseased: NDArray[np.bool_]) -> Floats:
    """Column × column: the sum of wᵢ²wⱼ²Sₖ(i, j) over the pairs of cases that both columns have read.

    What the other column adds is which cases it has read, and of that there are few kinds.
    """
    kinds, kind = np.unique(weighted, axis=0, return_inverse=True)
    found = np.empty((levels.shape[0], kinds.shape[0]))
    for k, mine in enumerate(weighted):
        for n, other in enumerate(kinds):
            square = mine * other
            won = square * _outscored(levels[k], square * ~diseased, square * diseased, diseased)
            found[k, n] = won[diseased].sum()
    return found[:, kind.ravel()]


def _ranked(design: Design) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Dense ranks within each column, −1 where not read; and the read cases of each column by rank, then −1."""
    levels = np.full(design.score.shape, -1, dtype=np.int32)
    order = np.full(design.score.shape, -1, dtype=np.int32)
    for k, scores in enumerate(design.score):
        cases = np.flatnonzero(design.read[k])
        _, ranks = np.unique(scores[cases], return_inverse=True)
        levels[k, cases] = ranks
        order[k, : cases.size] = cases[np.argsort(ranks, kind="stable")]
    return levels, order


def _outscored(levels: NDArray[np.int32], normal: Floats, diseased: Floats, positive: NDArray[np.bool_]) -> Floats:
    """For each case read, the weight of the other class on the wrong side of it: the sum of its kernels."""
    read = levels >= 0
    size = int(levels.max()) + 1
    below, above = (np.bincount(levels[read], weights=w[read], minlength=size) for w in (normal, diseased))
    won = np.cumsum(below) - below / 2
    lost = above.sum() - np.cumsum(above) + above / 2
    return np.where(read, np.where(positive, won[levels], lost[levels]), 0.0)


def _shared(weighted: Floats) -> tuple[Floats, Floats]:
    """Per pair of columns: the weight of pairs of the same case, and that of pairs of two cases."""
    size = weighted.sum(axis=1)
    same = weighted @ weighted.T
    every = np.outer(size, size)
    apart = every - same
    return same, np.where(apart > _NOTHING * every, apart, 0.0)
