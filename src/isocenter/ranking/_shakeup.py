"""What became of a ranking: under another metric, or from the public board to the hidden one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from isocenter.ranking._agreement import kendall_draws
from isocenter.ranking._ties import Ties, rank_values
from isocenter.resampling.matrices import Floats, finite_vector

Better = Literal["higher", "lower"]

_MOST_ORDERED = 8  # submissions whose 40 320 orders are all looked at


@dataclass(frozen=True, eq=False)
class RankComparison:
    """Two rankings of the same submissions.

    Attributes
    ----------
    first, second
        The ranks by each, in the order given.
    differences
        first − second: positive for who is better off in the second.
    mean_abs, max_abs
        Of the differences without their sign.
    spearman, spearman_p
        Spearman's rho, tied ranks averaged whatever `first` and `second` do with them, and the two-sided p value of
        "the rankings have nothing to do with each other": of up to 8 submissions from all orders of one of them, of
        more from t = ρ·√((K−2)/(1−ρ²)) with K − 2 degrees of freedom.
        NaN where a ranking has a single rank only; p also with fewer than 3 submissions.
    kendall
        Kendall's tau-b; NaN where a ranking has a single rank only, never 0 or 1.
    """

    first: Floats
    second: Floats
    differences: Floats
    mean_abs: float
    max_abs: float
    spearman: float
    spearman_p: float
    kendall: float


@dataclass(frozen=True, eq=False)
class ShakeUp:
    """A public board against a hidden one.

    Attributes
    ----------
    teams
        Those on both boards, from the best on the hidden one; equals in alphabetical order.
    comparison
        Their ranks among each other, `first` on the public board and `second` on the hidden one, in the order of
        `teams`. A positive difference is a rise.
    slope, intercept
        Least squares: hidden score ≈ intercept + slope · public score. A slope below 1 is regression to the mean: part
        of what told teams apart on the public board was luck. NaN where all public scores are equal.
    shift
        The mean of hidden − public scores, in their unit.
    only_public, only_hidden
        Who stands on one board only, and is left out.
    """

    teams: tuple[str, ...]
    comparison: RankComparison
    slope: float
    intercept: float
    shift: float
    only_public: tuple[str, ...]
    only_hidden: tuple[str, ...]


def compare_rankings(
    first: ArrayLike,
    second: ArrayLike,
    *,
    better: Better | tuple[Better, Better],
    ties: Ties = "min",
    tolerance: float = 1e-9,
) -> RankComparison:
    """How sensitive a ranking is: the same submissions ranked by two scores each.

    Parameters
    ----------
    first, second
        Scores in the same order of submissions: mean absolute against mean squared errors, for instance.
    better
        One direction for both scores, or one for each.
    ties, tolerance
        What equal scores get, and how close they are; see `rank_values`.

    References
    ----------
    Babier A et al. OpenKBP: the open-access knowledge-based planning grand challenge and dataset. Medical Physics 48
    (2021), table 5.

    Examples
    --------
    >>> found = compare_rankings([1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 4.0, 16.0], better="lower")
    >>> found.differences.tolist(), found.mean_abs, found.spearman
    ([0.0, -1.0, 1.0, 0.0], 0.5, 0.8)
    """
    size = np.size(first)
    if size == 0:
        msg = "there are no submissions to compare rankings of"
        raise ValueError(msg)
    one, other = (
        finite_vector(scores, size, f"{name} scores") for scores, name in ((first, "first"), (second, "second"))
    )
    directions: tuple[Better, Better] = (better, better) if isinstance(better, str) else better
    for direction in directions:
        if direction not in ("higher", "lower"):
            msg = f"better scores are 'higher' or 'lower', not {direction!r}"
            raise ValueError(msg)
    pairs = list(zip((one.tolist(), other.tolist()), directions, strict=True))
    a, b = (np.array(rank_values(x, d, ties=ties, tolerance=tolerance)) for x, d in pairs)
    middle = [np.array(rank_values(x, d, ties="average", tolerance=tolerance)) for x, d in pairs]
    rho = _spearman(*middle)
    return RankComparison(
        first=a,
        second=b,
        differences=a - b,
        mean_abs=float(np.abs(a - b).mean()),
        max_abs=float(np.abs(a - b).max()),
        spearman=rho,
        spearman_p=_p_value(middle[0], middle[1], rho),
        kendall=float(kendall_draws(middle[0], middle[1][:, np.newaxis]).tau[0]),
    )


def shake_up(
    public: Mapping[str, float],
    hidden: Mapping[str, float],
    *,
    better: Better,
    ties: Ties = "min",
    tolerance: float = 1e-9,
) -> ShakeUp:
    """What the hidden board made of the public one, by scores of teams on both.

    Parameters
    ----------
    public, hidden
        Score by team. Only teams on both boards are ranked.

    References
    ----------
    Roelofs R et al. A meta-analysis of overfitting in machine learning. NeurIPS (2019).

    Examples
    --------
    >>> found = shake_up({"a": 0.9, "b": 0.8, "c": 0.7}, {"a": 0.75, "b": 0.8, "c": 0.7}, better="higher")
    >>> found.teams, found.comparison.differences.tolist(), round(found.slope, 3)
    (('b', 'a', 'c'), [1.0, -1.0, 0.0], 0.25)
    """
    _refuse({"public": public, "hidden": hidden})
    both = sorted(public.keys() & hidden.keys())
    if not both:
        msg = f"no team is on both boards: {_some(public)} on the public one, {_some(hidden)} on the hidden one"
        raise ValueError(msg)
    ranks = rank_values([hidden[team] for team in both], better, ties="min", tolerance=tolerance)
    teams = tuple(team for _, team in sorted(zip(ranks, both, strict=True)))
    x, y = (np.array([board[team] for team in teams], dtype=np.float64) for board in (public, hidden))
    comparison = compare_rankings(x, y, better=better, ties=ties, tolerance=tolerance)
    slope = _slope(x, y, tolerance)
    return ShakeUp(
        teams=teams,
        comparison=comparison,
        slope=slope,
        intercept=float(y.mean() - slope * x.mean()),
        shift=float((y - x).mean()),
        only_public=tuple(sorted(public.keys() - hidden.keys())),
        only_hidden=tuple(sorted(hidden.keys() - public.keys())),
    )


def _spearman(first: Floats, second: Floats) -> float:
    """Pearson's correlation of averaged ranks; twice their distance from the mean rank is whole, so sums are exact."""
    a, b = (2 * ranks - (len(ranks) + 1) for ranks in (first, second))
    spread = float(a @ a) * float(b @ b)
    return float(a @ b) / math.sqrt(spread) if spread else math.nan


def _p_value(first: Floats, second: Floats, rho: float) -> float:
    """Two-sided: of few teams from all orders of the second ranking, else from t with n − 2 degrees of freedom."""
    from scipy.special import stdtr

    size = len(first)
    if math.isnan(rho) or size < 3:
        return math.nan
    if size <= _MOST_ORDERED:
        centred = 2 * first - (size + 1)
        orders = np.array(list(permutations((2 * second - (size + 1)).tolist())))
        found = np.abs(orders @ centred)  # twice a rank is whole: the sums are exact
        return float((found >= abs(float((2 * second - (size + 1)) @ centred))).mean())
    rest = 1 - rho * rho
    return 2 * float(stdtr(size - 2, -abs(rho) * math.sqrt((size - 2) / rest))) if rest > 0 else 0.0


def _slope(x: Floats, y: Floats, tolerance: float) -> float:
    centred = x - x.mean()
    if np.abs(centred).max() <= tolerance * np.abs(x).max():
        return math.nan
    return float(centred @ (y - y.mean()) / (centred @ centred))


def _refuse(boards: Mapping[str, Mapping[str, float]]) -> None:
    wrong = [
        f"{team!r} has {score} on the {name} board"
        for name, board in boards.items()
        for team, score in board.items()
        if not math.isfinite(score)
    ]
    if wrong:
        msg = f"scores on a board are finite numbers; {'; '.join(wrong[:5])}{' …' if len(wrong) > 5 else ''}"
        raise ValueError(msg)


def _some(board: Mapping[str, float]) -> str:
    return ", ".join(sorted(board)[:5]) + (" …" if len(board) > 5 else "") if board else "nobody"
