"""What a board does not know: intervals of scores, distributions and confidence sets of ranks, who may be first."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isocenter.ranking._best import POSTERIOR_DRAWS, p_best
from isocenter.ranking._board import Board, BoardRow, Component, Note
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._rank_draws import RankDraws, ranks_of
from isocenter.ranking._rank_sets import RankSets, rank_sets_of_cases, rank_sets_of_draws
from isocenter.ranking._rough_sets import no_sets, sets_of_weighted_ranks
from isocenter.ranking._shares import round_share
from isocenter.resampling.counts import Resamples
from isocenter.resampling.estimates import resample_means
from isocenter.resampling.intervals import Intervals, bca_interval, percentile_interval
from isocenter.resampling.matrices import Floats

# From this share of the resamples on, readers take a team for the sure winner.
_NEARLY_ALL = 0.9
# Different scores below which resamples of a score that is not a mean show its steps.
_STEPS = 100
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, eq=False)
class RankUncertainty:
    """What `bootstrap_ranks` found.

    Attributes
    ----------
    drawn
        Scores of everybody, on all cases and in every draw.
    draws
        The draws themselves, how often each case is in each; None if they are too many to keep.
    full_ranks
        The ranks of those who compete, on all cases.
    level
        The coverage of intervals and sets.
    seed
        Of the draws, None where they were given; and of the simulation behind the rank sets.
    cases, redrawn
        How many cases there are, and how many draws defined no score and were made again.
    jackknife
        Scores without each case, where intervals are bias-corrected and accelerated.
    """

    drawn: Drawn
    draws: Resamples | None
    full_ranks: Floats
    level: float
    seed: int | None
    cases: int
    redrawn: int
    jackknife: Floats | None = None

    @cached_property
    def teams(self) -> tuple[str, ...]:
        """The submissions that compete; rows of `ranks` and of `sets` are theirs, in this order."""
        return tuple(name for name, ranked in zip(self.drawn.submissions, self.drawn.competing, strict=True) if ranked)

    @cached_property
    def ranks(self) -> RankDraws:
        """Ranks in every draw."""
        return RankDraws(self.drawn.ranks(), self.full_ranks)

    @cached_property
    def intervals(self) -> Intervals:
        """Of the scores of `drawn.submissions`."""
        if self.jackknife is None:
            return percentile_interval(self.drawn.scores, level=self.level)
        return bca_interval(self.drawn.full, self.drawn.scores, self.jackknife, level=self.level)

    @cached_property
    def sets(self) -> RankSets:
        """Confidence sets that hold the true ranks of all teams at once."""
        drawn, seed = self.drawn, self.seed or 0
        if drawn.metrics:
            return sets_of_weighted_ranks(drawn, self.cases, level=self.level, seed=seed)
        if drawn.rough:
            return no_sets(drawn.full[drawn.competing], drawn.better, level=self.level, reason=drawn.rough)
        if drawn.values is not None:
            values = drawn.values[drawn.competing]
            return rank_sets_of_cases(values, better=drawn.better, weight=drawn.weight, level=self.level, seed=seed)
        return rank_sets_of_draws(
            drawn.full[drawn.competing],
            drawn.scores[drawn.competing],
            better=drawn.better,
            freedom=max(self.cases - 1, 1),
            level=self.level,
            seed=seed,
        )

    def leave_out(self, names: Collection[str]) -> RankUncertainty:
        """The same without submissions of these names that do not compete; intervals are by percentiles."""
        drawn = self.drawn.leave_out(names)
        return self if drawn is self.drawn else replace(self, drawn=drawn, jackknife=None)

    def joined(self, submission: str, values: ArrayLike) -> RankUncertainty:
        """The same with one more team, of which the values in all cases are given; for scores that are means of cases.

        Nothing is drawn or read again: the scores of the newcomer are one product with the draws that there are.
        """
        drawn = self.drawn
        if drawn.values is None or self.draws is None or submission in drawn.submissions:
            reason = "it is there already" if submission in drawn.submissions else "the draws were too many to keep"
            reason = "the scores are no means of cases" if drawn.values is None else reason
            msg = f"{submission} cannot join: {reason}"
            raise ValueError(msg)
        row = np.asarray(values, np.float64)[np.newaxis]
        with_it = replace(
            drawn,
            submissions=(*drawn.submissions, submission),
            competing=np.append(drawn.competing, np.True_),
            full=np.append(drawn.full, resample_means(row, Resamples.all_cases(self.cases), weight=drawn.weight)[:, 0]),
            scores=np.concatenate([drawn.scores, resample_means(row, self.draws, weight=drawn.weight)]),
            values=np.concatenate([drawn.values, row]),
        )
        return replace(self, drawn=with_it, full_ranks=ranks_on_all(with_it), jackknife=None)

    @cached_property
    def groups(self) -> dict[str, int]:
        """By team, the number of its group, from 1: those who cannot be told apart from the first of the group."""
        found = enumerate(self.sets.groups(), start=1)
        return {self.teams[at]: number for number, group in found for at in group}

    @property
    def p_first(self) -> dict[str, float]:
        """By team, in which share of the resamples nobody is better; not the probability of being the best team."""
        return dict(zip(self.teams, self.ranks.p_first.tolist(), strict=True))

    @cached_property
    def p_best(self) -> dict[str, float]:
        """By team, the probability of being truly the best of all; {} with one team or one case."""
        chances = p_best(self.drawn, cases=self.cases, seed=self.seed or 0)
        return {} if chances is None else dict(zip(self.teams, chances.tolist(), strict=True))

    @cached_property
    def p_best_reason(self) -> str:
        """Why P(best) is an approximation only, where it is more so than for a mean of cases; "" otherwise."""
        drawn = self.drawn
        if drawn.metrics or drawn.values is not None or not self.p_best:
            return ""
        steps = len(np.unique(drawn.scores[drawn.competing].round(9)))
        return drawn.rough or ("the score moves in steps" if steps < _STEPS else "")

    def p_top(self, k: int) -> dict[str, float]:
        """By team, in which share of the draws fewer than k are better."""
        return dict(zip(self.teams, self.ranks.p_top(k).tolist(), strict=True))

    @property
    def rank_sets(self) -> dict[str, tuple[int, int]]:
        """By team, the best and the worst rank that the data do not exclude."""
        pairs = zip(self.sets.low.tolist(), self.sets.high.tolist(), strict=True)
        return dict(zip(self.teams, pairs, strict=True))

    @property
    def rank_intervals(self) -> dict[str, tuple[int, int]]:
        """By team, the percentile interval of its ranks in the draws; see `RankDraws.interval`."""
        low, high = self.ranks.interval(self.level)
        return dict(zip(self.teams, zip(low.tolist(), high.tolist(), strict=True), strict=True))

    @property
    def p_better(self) -> dict[tuple[str, str], float]:
        """By pair, how often the first is better than the second; draws in which they tie count one half."""
        return {
            (a, b): float(self.ranks.p_better[i, j])
            for i, a in enumerate(self.teams)
            for j, b in enumerate(self.teams)
            if i != j
        }

    def score_interval(self, submission: str) -> tuple[float, float]:
        """The bounds of the score of a submission."""
        at = self.drawn.submissions.index(submission)
        return float(self.intervals.low[at]), float(self.intervals.high[at])

    def to_dict(self, listed: Collection[str] | None = None) -> dict[str, Any]:
        """As JSON values; of the teams that are listed, if some are not."""
        shown = [team for team in self.teams if listed is None or team in listed]
        agreement = self.ranks.agreement
        return {
            "level": self.level,
            "replicates": self.drawn.scores.shape[1],
            "seed": self.seed,
            "redrawn": self.redrawn,
            "teams": {
                team: {
                    "p_first": self.p_first[team],
                    "p_best": _chance(self.p_best.get(team)),
                    "rank_set": list(self.rank_sets[team]),
                    "rank_interval": list(self.rank_intervals[team]),
                    "group": self.groups[team],
                    "ranks": {
                        str(place): share
                        for place, share in enumerate(self.ranks.frequency[at].tolist(), start=1)
                        if share
                    },
                }
                for at, team in enumerate(self.teams)
                if team in shown
            },
            "p_better": {a: {b: self.p_better[a, b] for b in shown if a != b} for a in shown},
            "kendall_tau": {
                "mean": _number(agreement.mean),
                "median": _number(agreement.quantile(0.5)),
                "undefined": agreement.undefined,
            },
        }


def with_uncertainty(board: Board, found: RankUncertainty) -> Board:
    """The board with what is known of its scores and ranks in every row."""
    return replace(board, rows=tuple(_bounded(row, found) for row in board.rows))


def explain_first(board: Board, found: RankUncertainty) -> tuple[Note, ...]:
    """Why the first has a set of several ranks, though it is first in nearly all resamples, of each such team."""
    notes = []
    for row in board.rows:
        if row.p_first is None or row.p_first < _NEARLY_ALL or row.rank_high is None or row.rank_high == 1:
            continue
        chance = "" if row.p_best is None else f" P(best) is {row.best_chance}."
        text = f"{row.submission} is first in {row.first_share} of the resamples, yet its rank set is {row.rank_set}."
        notes.append(Note(f"{text} {_why_wide(found)}{chance}", row.submission))
    return tuple(notes)


def _why_wide(found: RankUncertainty) -> str:
    cases, teams = f"{found.cases:,} cases", len(found.teams)
    if found.sets.reason:
        return f"The set excludes nothing: {found.sets.reason}."
    if metrics := sum(isinstance(part, Drawn) for _, part in found.drawn.metrics):
        return (
            f"The set is made of those by {metrics} metrics. A rank by a metric jumps where two teams are close, and "
            f"{cases} leave open by how much."
        )
    if found.p_best_reason:
        return f"For this rule {cases} are few: {found.p_best_reason}, and resamples seldom cross one."
    return (
        f"The set holds for all {teams} teams at once, for which {cases} are few. P(first) takes the observed scores "
        "for the true ones."
    )


def group_name(number: int) -> str:
    """A, B, … Z, AA, AB …: the name of the first, second … group."""
    name = ""
    while number:
        number, at = divmod(number - 1, len(_LETTERS))
        name = _LETTERS[at] + name
    return name


def _bounded(row: BoardRow, found: RankUncertainty) -> BoardRow:
    if row.submission not in found.drawn.submissions:
        return row
    low, high = found.score_interval(row.submission)
    if np.isnan(low):
        return row
    row = replace(row, low=low, high=high, components=_components(row, found))
    if row.submission not in found.teams:
        return row
    best, worst = found.rank_sets[row.submission]
    return replace(
        row,
        rank_low=best,
        rank_high=worst,
        p_first=found.p_first[row.submission],
        p_best=_chance(found.p_best.get(row.submission)),
        resamples=found.drawn.scores.shape[1],
        group=group_name(found.groups[row.submission]),
    )


def _components(row: BoardRow, found: RankUncertainty) -> tuple[Component, ...]:
    at, parts = found.drawn.submissions.index(row.submission), []
    for part in row.components:
        if part.metric in found.drawn.components:
            draws = found.drawn.components[part.metric][at : at + 1]
            if np.isnan(draws).all():
                parts.append(part)
                continue
            bounds = percentile_interval(draws[:, ~np.isnan(draws[0])], level=found.level)
            parts.append(replace(part, low=float(bounds.low[0]), high=float(bounds.high[0])))
        else:
            parts.append(part)
    return tuple(parts)


def ranks_on_all(drawn: Drawn) -> Floats:
    """The ranks of those who compete by their scores on all cases."""
    full = drawn.full[drawn.competing].reshape(-1, 1)
    return ranks_of(full, better=drawn.better, ties=drawn.ties, tolerance=drawn.tolerance)[:, 0]


def _chance(value: float | None) -> float | None:
    """A probability with no digit that it does not have; 0 and 1 stand for less, and for more, than it can tell."""
    return None if value is None else round_share(value, POSTERIOR_DRAWS)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
