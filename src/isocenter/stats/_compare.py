"""Submissions compared with each other: a declared family of paired tests, adjusted for their number."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations
from typing import Literal

from numpy.typing import ArrayLike

from isocenter.stats._adjust import ADJUSTMENTS, Adjustment
from isocenter.stats._adjust import adjust as adjusted_for
from isocenter.stats._clustered import clustered_signed_rank
from isocenter.stats._comparisons import FAMILIES, TESTS, Comparison, Comparisons, Family, Test
from isocenter.stats._differences import (
    Alternative,
    Better,
    Decimals,
    Floats,
    check_reading,
    checked_scores,
    numbered,
    one_of,
)
from isocenter.stats._paired import paired_t, signed_rank
from isocenter.stats._sign_flip import exceeding_flips, sign_flip

# Equal scores that were computed in another order differ in their last bits, and their means with them.
_TOLERANCE = 1e-9
_FLIPS, _BRATS_FLIPS = 10_000, 100_000


def compare(
    scores: Mapping[str, ArrayLike],
    *,
    better: Better,
    decimals: Decimals = None,
    family: Family = "winner-vs-rest",
    test: Test = "wilcoxon",
    adjust: Adjustment = "holm",
    alternative: Literal["better", "two-sided"] | None = None,
    winner: str | None = None,
    cluster: Sequence[Hashable] | None = None,
    alpha: float = 0.05,
    replicates: int | None = None,
    seed: int = 0,
    digits: int | None = None,
) -> Comparisons:
    """Compare submissions on the same cases: one family of paired tests, adjusted together.

    Parameters
    ----------
    scores
        One score per case of each submission, all in the same order of cases. What a missing case counts as is decided
        before.
    better, decimals
        As in `signed_rank`.
    family
        "winner-vs-rest" tests the winner against each of the others, K − 1 tests; "all-ordered" whether a is better
        than b for all K(K − 1) ordered pairs; "all-unordered" whether a and b differ, K(K − 1)/2 pairs. A single
        submission has no tests.
    test
        "wilcoxon" is `signed_rank`, "t" is `paired_t`, "sign-flip" is `sign_flip` of the mean, and "brats" is
        `exceeding_flips`, to reproduce p values of BraTS.
    adjust
        See `isocenter.stats.adjust`.
    alternative
        Left out: "better", but "two-sided" for unordered pairs. The winner may be tested either way.
    winner
        Who it is. Left out: who has the best mean, if one has.
    cluster
        A label per score if several are of one patient: "wilcoxon" is then `clustered_signed_rank`, and "sign-flip" and
        "brats" flip clusters; there is no such t test.
    alpha
        An adjusted p of at most this is significant.
    replicates, seed
        Of a sign-flip test that cannot be exact: 10 000 flips if not said otherwise. BraTS draws 100 000.
    digits
        With how many decimals the text prints differences that are not rounded.

    Examples
    --------
    >>> dice = {"ours": [0.81, 0.77, 0.90, 0.72, 0.85], "theirs": [0.80, 0.75, 0.87, 0.68, 0.80]}
    >>> print(compare(dice, better="higher", decimals=2))
    Wilcoxon signed-rank test, one-sided (a better than b); higher scores are better; differences rounded to 2 decimals.
    Family: the winner against each of the others, 1 test; p exact, adjusted by Holm's method; * significant at 0.05.
    <BLANKLINE>
    a     b       n   a − b      p  adjusted p
    ours  theirs  5  +0.030  0.031       0.031  *
    """
    one_of("family", family, FAMILIES)
    one_of("test", test, TESTS)
    one_of("adjust", adjust, ADJUSTMENTS)
    side = _side(family, alternative)
    if not 0 < alpha < 1:
        msg = f"alpha is within 0 and 1, not {alpha}"
        raise ValueError(msg)
    if cluster is not None and test == "t":
        msg = "there is no t test for clusters here: take 'wilcoxon' or 'sign-flip', or compare the means of clusters"
        raise ValueError(msg)
    check_reading(better, decimals)
    checked = checked_scores(scores)
    pairs = _pairs(checked, family, winner, better)
    cases = next(iter(checked.values())).size
    clusters = None if cluster is None else numbered(cluster, cases).tolist()

    draws = (_BRATS_FLIPS if test == "brats" else _FLIPS) if replicates is None else replicates
    one = partial(_p_value, test, clusters, replicates=draws, seed=seed)
    found = [one(checked[a], checked[b], better=better, decimals=decimals, alternative=side) for a, b in pairs]
    p = [alone for alone, _, _ in found]
    rows = tuple(
        Comparison(a, b, cases, math.fsum(checked[a] - checked[b]) / cases, alone, together, together <= alpha)
        for (a, b), alone, together in zip(pairs, p, adjusted_for(p, adjust).tolist(), strict=True)
    )
    return Comparisons(
        rows=rows,
        test=test,
        family=family,
        alternative=side,
        adjustment=adjust,
        alpha=alpha,
        better=better,
        decimals=decimals,
        clusters=None if clusters is None else max(clusters) + 1,
        methods=tuple(sorted({how for _, how, _ in found if how})),
        seed=seed if any(drawn for _, _, drawn in found) else None,
        digits=digits,
    )


def _p_value(
    test: Test,
    clusters: list[int] | None,
    a: Floats,
    b: Floats,
    *,
    better: Better,
    decimals: Decimals,
    alternative: Alternative,
    replicates: int,
    seed: int,
) -> tuple[float, str, bool]:
    """P, how it was found (without any difference there was nothing to find), and whether flips were drawn for it."""
    if test == "t":
        student = paired_t(a, b, better=better, decimals=decimals, alternative=alternative)
        return student.p, "from the t distribution", False
    if test == "sign-flip":
        flip = partial(sign_flip, cluster=clusters, replicates=replicates, seed=seed)
        flipped = flip(a, b, better=better, decimals=decimals, alternative=alternative)
        all_or_some = {"exact": "from all flips", "drawn": f"from {replicates} drawn flips (seed {seed})", "none": ""}
        return flipped.p, all_or_some[flipped.method], flipped.method == "drawn"
    if test == "brats":
        flip = partial(exceeding_flips, cluster=clusters, replicates=replicates, seed=seed)
        beyond = flip(a, b, better=better, decimals=decimals, alternative=alternative)
        return beyond.p, f"the share of {replicates} drawn flips beyond the difference (seed {seed})", True
    if clusters is not None:
        rosner = clustered_signed_rank(a, b, clusters, better=better, decimals=decimals, alternative=alternative)
        words = {"exact": "from all flips of clusters", "normal": "by normal approximation", "none": ""}
        return rosner.p, words[rosner.method], False
    ranked = signed_rank(a, b, better=better, decimals=decimals, alternative=alternative)
    normal = "by normal approximation with continuity correction"
    return ranked.p, {"exact": "exact", "normal": normal, "none": ""}[ranked.method], False


def _side(family: Family, alternative: Literal["better", "two-sided"] | None) -> Alternative:
    usual: Alternative = "two-sided" if family == "all-unordered" else "better"
    if alternative is None or alternative == usual:
        return usual
    if family == "winner-vs-rest" and alternative == "two-sided":
        return alternative
    known = "'better' or 'two-sided'" if family == "winner-vs-rest" else repr(usual)
    msg = f"the alternative of the family {family!r} is {known}, not {alternative!r}"
    raise ValueError(msg)


def _pairs(scores: Mapping[str, Floats], family: Family, winner: str | None, better: Better) -> list[tuple[str, str]]:
    if not scores:
        msg = "there are no submissions to compare"
        raise ValueError(msg)
    if winner is not None and (family != "winner-vs-rest" or winner not in scores):
        msg = f"{winner!r} cannot be the winner: the family is {family!r}, of {', '.join(scores)}"
        raise ValueError(msg)
    if family == "all-ordered":
        return list(permutations(scores, 2))
    if family == "all-unordered":
        return list(combinations(scores, 2))
    first = _best(scores, better) if winner is None else winner
    return [(first, other) for other in scores if other != first]


def _best(scores: Mapping[str, Floats], better: Better) -> str:
    sign = 1.0 if better == "higher" else -1.0
    means = {name: sign * math.fsum(values) / values.size for name, values in scores.items()}
    best, scale = max(means.values()), max(map(abs, means.values()))
    first = [name for name, mean in means.items() if best - mean <= _TOLERANCE * scale]
    if len(first) > 1:
        msg = f"{' and '.join(first)} have the best mean, {sign * best:g}: name the winner"
        raise ValueError(msg)
    return first[0]
