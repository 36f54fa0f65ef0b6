"""Confidence sets of ranks: which ranks the data cannot exclude, for all submissions at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.matrices import Floats, case_weights, finite_matrix, finite_vector

Flags = NDArray[np.bool_]
Ranks = NDArray[np.int64]

# What is below this part of the numbers that it is a difference of is rounding.
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class RankSets:
    """Confidence sets of ranks, and the comparisons that they come from.

    Attributes
    ----------
    beats, loses_to
        Submissions × submissions: whether, in the tests for its own set, the row was found better than the column, or
        worse. In joint sets the one is the transpose of the other; marginal ones are tested each for itself.
    order
        The submissions from the best score to the worst.
    level
        The coverage aimed at: of all sets together, or of each for itself if not `joint`.
    joint
        Whether the sets hold all true ranks at once.
    reason
        Why the sets exclude nothing, where the data do not allow any comparison; "" otherwise.
    """

    beats: Flags
    loses_to: Flags
    order: Ranks
    level: float
    joint: bool
    reason: str = ""

    @property
    def low(self) -> Ranks:
        """The best rank in each set: 1 + the number of submissions found better."""
        found: Ranks = 1 + self.loses_to.sum(axis=1, dtype=np.int64)
        return found

    @property
    def high(self) -> Ranks:
        """The worst rank in each set: the number of submissions less those found worse."""
        found: Ranks = len(self.order) - self.beats.sum(axis=1, dtype=np.int64)
        return found

    @property
    def possible_winners(self) -> Ranks:
        """The submissions whose set has rank 1, because nobody was found better."""
        return np.flatnonzero(self.low == 1)

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The submissions from best to worst, cut into groups.

        A group begins with the best submission that the first of the previous group beats, and holds whoever follows
        in order until the next one begins. So nobody before the second group can be told apart from the first of all.
        Somebody further down may be, though: a worse score that varies more stays in the lower group.
        """
        groups: list[list[int]] = []
        for k in self.order.tolist():
            if groups and not self.beats[groups[-1][0], k]:
                groups[-1].append(k)
            else:
                groups.append([k])
        return tuple(tuple(group) for group in groups)


def rank_sets(
    theta: ArrayLike,
    covariance: ArrayLike,
    *,
    better: Literal["higher", "lower"],
    level: float = 0.95,
    joint: bool = True,
    freedom: float | None = None,
    draws: int = 20_000,
    seed: int = 0,
) -> RankSets:
    """Confidence sets of ranks from estimated scores and their covariance.

    Parameters
    ----------
    theta
        The score of each submission.
    covariance
        Of the scores, not of the cases: the covariance over cases divided by their number, or over draws.
    level
        From 0.5 to below 1.
    joint
        Sets that hold all true ranks at once with the probability `level`; otherwise each set does for itself.
    freedom
        Degrees of freedom of the variances, the number of cases less 1. None takes them as known, as published.
    draws, seed
        Of the simulation that gives the critical values.

    Notes
    -----
    Simulated Z ~ N(0, covariance) give c, the `level` quantile of the largest (Zᵢ − Zⱼ)/sᵢⱼ of all ordered pairs, with
    sᵢⱼ the standard deviation of the difference. i beats j if (θᵢ − θⱼ)/sᵢⱼ > c, in the better direction. Pairs that
    are decided are left out and c found anew, until nothing is added. The set of i runs from 1 + the number of those
    that beat it to K − the number of those that it beats. For a marginal set only pairs with i take part.

    A pair with sᵢⱼ = 0, such as two copies of one submission, is tied and never decided, nor does it count for c.

    With few cases sᵢⱼ is known badly, and normal quantiles are too small: with 60 cases and 8 equal submissions, joint
    sets of 95 % held in 93 % of 4000 simulations. With `freedom` f each statistic is first moved to the normal one of
    the same probability, Φ⁻¹(F_t(·; f)); then they held in 94.9 %. This step is ours, not that of the paper.

    References
    ----------
    Mogstad M, Romano JP, Shaikh AM, Wilhelm D. Inference for ranks with applications to mobility across neighbourhoods
    and academic achievement across countries. Review of Economic Studies 91 (2024).

    Examples
    --------
    >>> sets = rank_sets([0.80, 0.79, 0.70], np.diag([1e-4, 1e-4, 1e-4]), better="higher")
    >>> sets.low.tolist(), sets.high.tolist(), sets.possible_winners.tolist(), sets.groups()
    ([1, 1, 3], [2, 2, 3], [0, 1], ((0, 1), (2,)))
    """
    if not 0.5 <= level < 1 or draws < 1 or better not in ("higher", "lower") or (freedom is not None and freedom < 1):
        expected = "a level from 0.5 to below 1, at least 1 draw, 'higher' or 'lower', at least 1 degree of freedom"
        msg = f"rank sets need {expected}; not {level}, {draws}, {better!r} and {freedom}"
        raise ValueError(msg)
    sigma = _checked(covariance)
    size = len(sigma)
    score = finite_vector(theta, size, "scores") * (1.0 if better == "higher" else -1.0)
    variance = np.diag(sigma)[:, np.newaxis] + np.diag(sigma)
    spread = variance - 2 * sigma
    varies = spread > _NOTHING * variance
    precision = np.where(varies, 1 / np.sqrt(np.where(varies, spread, 1.0)), 0.0)
    lead = _to_normal((score[:, np.newaxis] - score) * precision, freedom)
    order = np.argsort(-score, kind="stable")
    if not varies.any():
        reason = "no two submissions differ by more than a constant: there is nothing to test" if size > 1 else ""
        none = np.zeros((size, size), np.bool_)
        return RankSets(none, none, order, level, joint, reason)
    z = _normal(sigma, draws, seed)
    if joint:
        beats = _decided(lead, precision, varies, z, level)
        return RankSets(beats, beats.T, order, level, joint)
    beats, loses_to = np.zeros((2, size, size), np.bool_)
    for i in range(size):
        with_i = np.zeros_like(varies)
        with_i[i], with_i[:, i] = varies[i], varies[:, i]
        found = _decided(lead, precision, with_i, z, level)
        beats[i], loses_to[i] = found[i], found[:, i]
    return RankSets(beats, loses_to, order, level, joint)


def rank_sets_of_cases(
    values: ArrayLike,
    *,
    better: Literal["higher", "lower"],
    weight: ArrayLike | None = None,
    level: float = 0.95,
    joint: bool = True,
    draws: int = 20_000,
    seed: int = 0,
) -> RankSets:
    """`rank_sets` of means over cases, from values per submission and case.

    The covariance of the means is m/(m−1) · Σ w²(xᵢ − meanᵢ)(xⱼ − meanⱼ) / (Σ w)², with m = (Σ w)² / Σ w² the effective
    number of cases, and cov/n without weights. The degrees of freedom are (Σ w²)² / Σ w⁴ − 1, as for a sum of squares
    with weights w² (Satterthwaite), and n − 1 without. One case has no variance: it excludes no rank.
    """
    x = finite_matrix(values, "values")
    w = case_weights(weight, x.shape[1])
    w = np.ones(x.shape[1]) if w is None else w
    n = int(np.count_nonzero(w))
    if n == 0:
        msg = "rank sets need at least 1 case"
        raise ValueError(msg)
    means = x @ w / w.sum()
    residues = w * _residues(x, means) / w.sum()
    effective = float(w.sum() ** 2 / (w**2).sum())
    covariance = effective / max(effective - 1, 1e-9) * residues @ residues.T if n > 1 else residues @ residues.T
    freedom = max(float((w**2).sum() ** 2 / (w**4).sum()) - 1, 1.0)
    found = rank_sets(
        means, covariance, better=better, level=level, joint=joint, freedom=freedom, draws=draws, seed=seed
    )
    return replace(found, reason="one case has no variance") if n == 1 and found.reason else found


def rank_sets_of_draws(
    full: ArrayLike,
    scores: ArrayLike,
    *,
    better: Literal["higher", "lower"],
    freedom: float | None = None,
    level: float = 0.95,
    joint: bool = True,
    draws: int = 20_000,
    seed: int = 0,
) -> RankSets:
    """`rank_sets` of statistics that are no means: the covariance is that of their draws, submissions × draws.

    `freedom` is the number of cases less 1; None takes the variances as known.
    """
    found = finite_matrix(scores, "score draws")
    if found.shape[1] < 2:
        msg = f"the covariance of scores needs at least 2 draws, not {found.shape[1]}"
        raise ValueError(msg)
    residues = _residues(found, found.mean(axis=1))
    covariance = residues @ residues.T / (found.shape[1] - 1)
    return rank_sets(full, covariance, better=better, level=level, joint=joint, freedom=freedom, draws=draws, seed=seed)


def _residues(values: Floats, means: Floats) -> Floats:
    """What values differ from the means of their rows; nothing in a row where all of it is rounding."""
    found: Floats = values - means[:, np.newaxis]
    rounding = np.abs(found).max(axis=1) <= _NOTHING * np.abs(values).max(axis=1)
    return np.where(rounding[:, np.newaxis], 0.0, found)


def _decided(lead: Floats, precision: Floats, active: Flags, z: Floats, level: float) -> Flags:
    """The pairs among the active ones that are decided, step by step."""
    from isocenter.ranking._rank_kernels import largest_lead

    decided, most = np.zeros_like(active), np.empty(z.shape[1])
    while (active & ~decided).any():
        largest_lead(z, precision, active & ~decided, most)
        more = active & ~decided & (lead > np.quantile(most, level))
        if not more.any():
            break
        decided |= more
    return decided


def _to_normal(statistics: Floats, freedom: float | None) -> Floats:
    from scipy.special import ndtri, stdtr

    if freedom is None:
        return statistics
    found: Floats = np.sign(statistics) * -ndtri(stdtr(float(freedom), -np.abs(statistics)))
    return found


def _normal(covariance: Floats, draws: int, seed: int) -> Floats:
    """Draws of N(0, covariance), a column each; by the symmetric root, which is unique where eigenvectors are not."""
    deviation = np.sqrt(np.diag(covariance))
    scale = np.where(deviation > 0, deviation, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    root = vectors * np.sqrt(np.clip(values, 0.0, None)) @ vectors.T
    found: Floats = scale[:, np.newaxis] * (root @ np.random.default_rng(seed).standard_normal((len(scale), draws)))
    return np.ascontiguousarray(found)


def _checked(covariance: ArrayLike) -> Floats:
    found = finite_matrix(covariance, "covariances")
    if found.shape[0] != found.shape[1] or found.size == 0:
        msg = f"a covariance is a square matrix of at least 1 submission, not of shape {found.shape}"
        raise ValueError(msg)
    size = np.abs(found).max()
    if np.abs(found - found.T).max() > 1e-9 * size or np.linalg.eigvalsh(found)[0] < -1e-9 * size * len(found):
        msg = "a covariance is symmetric and has no negative eigenvalue; this matrix is no covariance"
        raise ValueError(msg)
    return found
