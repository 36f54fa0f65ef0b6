"""How teams came on over a challenge: their best so far, the improvement, and who led."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np

from isocenter.resampling.matrices import Floats

Better = Literal["higher", "lower"]
Moment = float | datetime
"""When a submission was made: a time, or a number that gives the order."""

_LEVEL = 0.95


class LeadChange(NamedTuple):
    """At this moment, this team took the overall best from the one before, with this score."""

    moment: Moment
    team: str
    before: str
    score: float


@dataclass(frozen=True, slots=True)
class Improvement:
    """How many times better teams became, by three definitions that differ; above 1 is better in either direction.

    A factor is the worse number divided by the better one; NaN where one of them is not above 0.

    Attributes
    ----------
    ratio_of_means
        The mean first score of the teams against the mean of their best scores.
    mean_of_ratios
        The mean, over teams, of the first score against the best one.
    along_curve
        The first point of the mean curve against the last one. The first point is already a best of several.
    """

    ratio_of_means: float
    mean_of_ratios: float
    along_curve: float


@dataclass(frozen=True, eq=False)
class Progress:
    """Best scores so far against the share of submissions made; see `normalised_progress`.

    Attributes
    ----------
    teams
        Those with enough submissions, in alphabetical order.
    excluded
        How many submissions each of the others has.
    seen
        By team, how many submissions it has made at each point.
    curves
        Teams × points: the best score so far.
    mean, low, high
        Over the teams, with the bounds of a 95 % t interval. NaN where there is no team, and bounds where there is one.
    best, best_team
        The best of all curves at each point, and whose it is: of equals, the first in alphabetical order.
    improvement
        From first to best, three ways.
    """

    teams: tuple[str, ...]
    excluded: Mapping[str, int]
    seen: Mapping[str, tuple[int, ...]]
    curves: Floats
    mean: Floats
    low: Floats
    high: Floats
    best: Floats
    best_team: tuple[str, ...]
    improvement: Improvement

    @property
    def shares(self) -> Floats:
        """The shares of a team's submissions that the points stand for: 0.05, 0.1, … 1."""
        return np.arange(1, len(self.mean) + 1) / len(self.mean)


def normalised_progress(
    submissions: Iterable[tuple[str, Moment, float]], *, better: Better, least: int = 20, steps: int = 20
) -> Progress:
    """The normalised submission count curve: the best score so far against the share of submissions made.

    Point i of `steps` is the best of a team's first k = ⌊i·T/steps⌋ submissions, T being all that it made. The division
    is one of whole numbers: in floating point 0.7 · 90 is less than 63.

    Parameters
    ----------
    submissions
        Team, moment and score of each, in any order. Of one team and moment, the one given first was made first.
    least
        Only teams with more submissions than this have a curve; the others are named. At least `steps` − 1, so that
        every team has a submission at the first point.

    Notes
    -----
    The interval is mean ± t·SD/√n over the n curves, with n − 1 degrees of freedom. The paper shows one and does not
    say which.

    References
    ----------
    Babier A et al. OpenKBP: the open-access knowledge-based planning grand challenge and dataset. Medical Physics 48
    (2021), figure 5.

    Examples
    --------
    >>> scores = [9, 8, 8.5, 6, 7, 5]
    >>> found = normalised_progress([("a", i, s) for i, s in enumerate(scores)], better="lower", least=2, steps=3)
    >>> found.curves.tolist(), found.improvement.mean_of_ratios
    ([[8.0, 6.0, 5.0]], 1.8)
    """
    if steps < 1:
        msg = f"a curve has at least 1 point, not {steps}"
        raise ValueError(msg)
    if least < steps - 1:
        msg = f"a team needs more than {steps - 1} submissions for a curve of {steps} points, not {least}"
        raise ValueError(msg)
    by_team: dict[str, list[float]] = {}
    for team, _, score in _in_order(submissions, better):
        by_team.setdefault(team, []).append(score)
    teams = tuple(sorted(team for team, scores in by_team.items() if len(scores) > least))
    seen = {team: tuple(i * len(by_team[team]) // steps for i in range(1, steps + 1)) for team in teams}
    so_far = np.maximum if better == "higher" else np.minimum
    curves = np.empty((len(teams), steps))
    for row, team in zip(curves, teams, strict=True):
        row[:] = so_far.accumulate(np.array(by_team[team]))[np.array(seen[team]) - 1]
    mean, half = _mean_and_half(curves)
    at = (curves if better == "lower" else -curves).argmin(axis=0) if teams else np.empty(0, np.int64)
    return Progress(
        teams=teams,
        excluded={team: len(by_team[team]) for team in sorted(by_team) if team not in teams},
        seen=seen,
        curves=curves,
        mean=mean,
        low=mean - half,
        high=mean + half,
        best=curves[at, np.arange(steps)] if teams else mean,
        best_team=tuple(teams[i] for i in at),
        improvement=_improvement([by_team[team][0] for team in teams], curves, mean, better),
    )


def lead_changes(
    submissions: Iterable[tuple[str, Moment, float]], *, better: Better, tolerance: float = 1e-9
) -> tuple[LeadChange, ...]:
    """Every change of the team that holds the overall best score, in the order of time.

    The first team to lead is no change. Equal scores do not change hands: they are equal when they differ by at most
    `tolerance` × the larger magnitude. Of several submissions of one moment only the best can take the lead; of equal
    ones, that of the team whose name is first in alphabetical order. Moments of different teams are compared: plain
    numbers must count all submissions, not those of each team.

    Examples
    --------
    >>> lead_changes([("a", 1, 5.0), ("b", 2, 5.0), ("b", 3, 4.0), ("a", 4, 3.0)], better="lower")
    (LeadChange(moment=3, team='b', before='a', score=4.0), LeadChange(moment=4, team='a', before='b', score=3.0))
    """
    sign = -1.0 if better == "higher" else 1.0
    changes: list[LeadChange] = []
    holder, record = "", math.inf
    for moment, together in groupby(_in_order(submissions, better), key=lambda one: one[1]):
        costs: dict[str, float] = {}
        for team, _, score in together:
            costs[team] = min(sign * score, costs.get(team, math.inf))
        record = min(record, costs.get(holder, math.inf))
        best = min(costs.values())
        leader = min(team for team, cost in costs.items() if not _below(best, cost, tolerance))
        if leader == holder or not _below(costs[leader], record, tolerance):
            continue
        if holder:
            changes.append(LeadChange(moment, leader, holder, sign * costs[leader]))
        holder, record = leader, costs[leader]
    return tuple(changes)


def _below(cost: float, record: float, tolerance: float) -> bool:
    return record == math.inf or record - cost > tolerance * max(abs(cost), abs(record))


def _in_order(submissions: Iterable[tuple[str, Moment, float]], better: str) -> list[tuple[str, Any, float]]:
    """Submissions by their moments, or an error that names those that cannot be used."""
    if better not in ("higher", "lower"):
        msg = f"better scores are 'higher' or 'lower', not {better!r}"
        raise ValueError(msg)
    found = [(team, moment, score) for team, moment, score in submissions]
    if not found:
        msg = "there are no submissions"
        raise ValueError(msg)
    wrong = [
        f"submission {number} ({team!r} at {moment}) has the score {score}"
        for number, (team, moment, score) in enumerate(found, start=1)
        if not (team and math.isfinite(score)) or (isinstance(moment, float) and math.isnan(moment))
    ]
    if wrong:
        rule = "a submission has a team, a moment and a finite score"
        msg = f"{rule}; {'; '.join(wrong[:5])}{' …' if len(wrong) > 5 else ''} ({len(wrong)} of {len(found)})"
        raise ValueError(msg)
    try:
        return sorted(found, key=lambda one: one[1])
    except TypeError as error:
        msg = f"the moments of the submissions have no common order: {error}"
        raise ValueError(msg) from None


def _mean_and_half(curves: Floats) -> tuple[Floats, Floats]:
    """The mean curve, and half the width of its interval."""
    from scipy.special import stdtrit

    count, steps = curves.shape
    mean = curves.mean(axis=0) if count else np.full(steps, math.nan)
    if count < 2:
        return mean, np.full(steps, math.nan)
    error = curves.std(axis=0, ddof=1) / math.sqrt(count)
    return mean, float(stdtrit(count - 1, (1 + _LEVEL) / 2)) * error


def _improvement(first: list[float], curves: Floats, mean: Floats, better: Better) -> Improvement:
    def factor(start: float, end: float) -> float:
        if not (start > 0 and end > 0):
            return math.nan
        return end / start if better == "higher" else start / end

    count, best = len(first), curves[:, -1].tolist()
    if not count:
        return Improvement(math.nan, math.nan, math.nan)
    return Improvement(
        ratio_of_means=factor(math.fsum(first) / count, math.fsum(best) / count),
        mean_of_ratios=math.fsum(map(factor, first, best)) / count,
        along_curve=factor(float(mean[0]), float(mean[-1])),
    )
