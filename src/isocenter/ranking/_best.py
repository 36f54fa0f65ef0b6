"""The probability that a submission is truly the best of those ranked: a posterior of the true scores.

    scores on all cases ─┐
    scores in resamples ─┼─▶ errors of the scores, their covariance ─┐
    number of cases ─────┘                                           ├─▶ draws of the true scores ─▶ share best
    prior: a field of teams, a few of which may lie far off ─────────┘

The share of bootstrap resamples in which a team is first answers another question: it takes the observed scores for
the true ones. The first of many close teams is also the one with the luckiest cases, so that this share is too high.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from isocenter.ranking._drawn import Drawn
from isocenter.ranking._rank_draws import ranks_of
from isocenter.resampling.matrices import Floats

# Chains start from different widths of the field, forget them in `_BURN` steps, and are read in `_KEPT` further ones;
# in each of these the true scores are drawn `_EACH` times. With more than 40 submissions there are fewer chains.
_CHAINS, _BURN, _KEPT, _EACH = 1000, 10, 12, 4
_EFFORT = 6.4e7  # chains × submissions³
# Submissions that take part, the first by score: even if all are equal, nobody behind them has as much as 0.02.
_MOST = 60
# What is below this part of the numbers that it is a difference of is rounding.
_NOTHING = 1e-12
# Cases of a normal score that the scatter of a team must be known from to count as much as that of the whole field.
_POOLED = 15.0

POSTERIOR_DRAWS = 5_000
"""Independent draws that P(best) is worth at least, for its digits: its standard error is at most 0.007."""

P_BEST_METHOD = 1
"""Recorded in receipts; another way to P(best) has another number."""


def p_best(drawn: Drawn, *, cases: int, seed: int) -> Floats | None:
    """The probability that each competing submission is truly the best of them; None if nothing varies.

    The true score is the score by the same rule on endlessly many cases of the same kind. Submissions that are equal
    in all cases share what they have together. For a weighted mean of ranks the true values by each metric are drawn,
    with errors of the same resamples, and ranked in each draw.

    Parameters
    ----------
    cases
        How many cases the scores are of.
    seed
        Of the draws.
    """
    if cases < 2 or drawn.scores.shape[1] < 2 or np.count_nonzero(drawn.competing) < 2:
        return None
    if not drawn.metrics:
        mask = drawn.competing
        truth = draw_true_scores(drawn.full[mask], drawn.scores[mask], better=drawn.better, cases=cases, seed=seed)
        return None if _is_known(truth) else share_best(truth, better=drawn.better)
    score: Floats = np.zeros((len(drawn.full), 1))
    for number, (weight, part) in enumerate(drawn.metrics, start=1):
        if isinstance(part, Drawn):
            truth = draw_true_scores(part.full, part.scores, better=part.better, cases=cases, seed=seed, stream=number)
            score = score + weight * ranks_of(truth, better=part.better, ties=part.ties, tolerance=part.tolerance)
        else:
            score = score + weight * part[:, np.newaxis]
    return None if _is_known(score) else share_best(score, better="lower")


def _is_known(truth: Floats) -> bool:
    """Whether submissions differ by constants only: nothing varies, and nothing can be said of what might."""
    return truth.shape[1] == 1 and bool(np.ptp(truth) > _NOTHING * np.abs(truth).max())


def share_best(scores: Floats, *, better: Literal["higher", "lower"]) -> Floats:
    """Of submissions × draws, the share of the draws in which each is best; those that are best together share it."""
    x = scores if better == "higher" else -scores
    best = x.max(axis=0)
    first = best - x <= 1e-9 * np.maximum(abs(best), abs(x))
    found: Floats = (first / first.sum(axis=0)).mean(axis=1)
    return found


def draw_true_scores(
    full: Floats,
    scores: Floats,
    *,
    better: Literal["higher", "lower"],
    cases: int,
    seed: int,
    stream: int = 0,
) -> Floats:
    """Draws of the true scores given the observed ones, submissions × draws.

    Parameters
    ----------
    full, scores
        The scores on all cases, and in every bootstrap resample (submissions × resamples).
    seed, stream
        Draws of equal seeds take their errors from the same resamples, whatever the stream of all else is.

    Notes
    -----
    Observed scores are s = θ + ε. Errors ε have the covariance Σ of the scores over the resamples, × n/(n − 1): teams
    are measured in the same cases, and what these have in common moves nobody past anybody. True scores θᵢ are from a
    field of unknown middle μ (flat prior) and width τ: N(μ, τ²). One team in ten may be from a field 3 to 10,000 times
    as wide, so that a hopeless team, or a winner far above, does not widen the field that the others are from.
    The prior of τ is σ/(σ + τ)², σ the typical standard deviation of a score in comparisons (DuMouchel).

    Few cases with long tails tell Σ badly: for kurtosis κ of the cases, they are worth ν = 2n/(κ − 1) normal ones. So
    the scatter of each team is drawn towards that of the field (15 against ν), and the covariance of K teams towards
    independence, by the part r^(2 − 2r) with r = (K + 1)/(ν + K + 1). Of 20 cases and 30 teams no covariance can be
    inverted otherwise, and of many cases it stays what it is, so that two variants of one method are compared where
    they differ.

    The draws are by Gibbs sampling: τ given all else but θ (Metropolis), then μ and θ together, then how wide the field
    of each team is. Errors in the draws of θ are those of resamples and need not be normal.

    References
    ----------
    DuMouchel W. Hierarchical Bayes linear models for meta-analysis. NISS technical report 27 (1994).
    Gelman A, Hill J, Yajima M. Why we (usually) don't have to worry about multiple comparisons. J Res Educ Eff 5
    (2012) 189-211.
    """
    order = np.argsort(-full if better == "higher" else full, kind="stable")[:_MOST]
    errors = _errors(scores[order], cases)
    single, copy_of = _singles(full[order], errors)
    chains = int(np.clip(_EFFORT / len(order) ** 3, 1, _CHAINS))
    freedom = _freedom(errors, cases)
    drawn = _draw(full[order][single], errors[single], freedom, chains=chains, seed=seed, stream=stream)[copy_of]
    # Whoever is not among the first stays behind all of them.
    step = np.ptp(drawn) + abs(full).max() + 1.0
    last = drawn.min() - step if better == "higher" else drawn.max() + step
    found = np.full((len(full), drawn.shape[1]), last)
    found[order] = drawn
    return found


def _errors(scores: Floats, cases: int) -> Floats:
    """Errors in every resample, without what is common to all: the median over submissions, which no outlier moves."""
    found = scores - np.median(scores, axis=0)
    found -= found.mean(axis=1, keepdims=True)
    rounding = np.abs(found).max(axis=1, keepdims=True) <= _NOTHING * np.abs(scores).max()
    errors: Floats = np.where(rounding, 0.0, found) * math.sqrt(cases / (cases - 1))
    return errors


def _singles(full: Floats, errors: Floats) -> tuple[list[int], list[int]]:
    """Submissions without those that are copies of another, and of which of these each is a copy."""
    single: list[int] = []
    copy_of = []
    for i, score in enumerate(full.tolist()):
        same = [
            at
            for at, j in enumerate(single)
            if abs(score - full[j]) <= 1e-9 * max(abs(score), abs(full[j]))
            and np.allclose(errors[i], errors[j], rtol=0, atol=1e-9 * np.abs(errors[j]).max() + _NOTHING * abs(score))
        ]
        copy_of.append(same[0] if same else len(single))
        single += [] if same else [i]
    return single, copy_of


def _draw(full: Floats, errors: Floats, freedom: float, *, chains: int, seed: int, stream: int) -> Floats:
    from isocenter.ranking._rank_kernels import draw_posterior

    size, resamples = errors.shape
    if size == 1 or not np.any(spread := _difference_variances(errors)):
        return full[:, np.newaxis]
    own = _own_variances(spread)
    pooled = np.median(own[own > 0]) if np.any(own > 0) else spread.max() / 2
    own = np.maximum(own, 1e-3 * pooled)
    errors = errors * np.sqrt((pooled / own) ** (_POOLED / (freedom + _POOLED)))[:, np.newaxis]
    spread = _difference_variances(errors)
    own = np.maximum(_own_variances(spread), 1e-3 * pooled)
    unit = float(np.sqrt(np.median(spread[spread > 0]) / 2))
    few = (size + 1) / (freedom + size + 1)
    alone = few ** (2 * (1 - few))
    errors = np.sqrt(1 - alone) / unit * errors
    apart = np.sqrt(alone * own) / unit
    found = np.empty((chains * _KEPT * _EACH, size))
    draw_posterior(
        (full - np.median(full)) / unit,
        errors @ errors.T / (resamples - 1) + np.diag(apart**2),
        np.ascontiguousarray(errors.T),
        apart,
        np.random.default_rng(seed).integers(0, resamples, len(found)),
        np.random.default_rng([seed, stream]),
        (chains, _BURN, _KEPT, _EACH),
        found,
    )
    drawn: Floats = found.T * unit + np.median(full)
    return drawn


def _difference_variances(errors: Floats) -> Floats:
    """Of all pairs, the variance of the difference of their scores."""
    covariance = errors @ errors.T / (errors.shape[1] - 1)
    variance = np.diag(covariance)[:, np.newaxis] + np.diag(covariance)
    found: Floats = np.where(variance - 2 * covariance > _NOTHING * variance, variance - 2 * covariance, 0.0)
    return found


def _own_variances(spread: Floats) -> Floats:
    """What each submission adds to the variance of its comparisons: half their median."""
    others = spread[~np.eye(len(spread), dtype=np.bool_)].reshape(len(spread), -1)
    found: Floats = np.median(others, axis=1) / 2
    return found


def _freedom(errors: Floats, cases: int) -> float:
    """How many normal cases tell as much of a variance: by the kurtosis of cases, n times that of their means.

    Of the excess, twice the standard error that it has in the resamples is taken for chance.
    """
    varying = errors[errors.any(axis=1)]
    excess = float(np.mean((varying / varying.std(axis=1, keepdims=True)) ** 4)) - 3 if len(varying) else 0.0
    excess -= 2 * math.sqrt(48 / errors.size)
    return (cases - 1) * 2 / (2 + max(0.0, excess * cases))
