"""The same table under every rule that could as well have been declared: who wins how often, and by which rule not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

import polars as pl

from isocenter.ranking._board import Board
from isocenter.ranking._entry import Role
from isocenter.ranking._outcomes import Multiverse, Outcome, Standing, Universe, some
from isocenter.ranking._shakeup import compare_rankings
from isocenter.ranking.rules._base import Rule


def multiverse(
    scores: pl.DataFrame, universes: Sequence[Universe], *, roles: Mapping[str, Role] | None = None
) -> Multiverse:
    """Rank a table in every universe, and say what that does to the ranking of the first.

    Parameters
    ----------
    scores
        A table with a `submission` column.
    universes
        The declared one first; see `alternatives`.
    roles
        As in `MeanThenRank.rank`: who is no team is ranked in no universe.

    Notes
    -----
    A universe in which a rule finds no ranking (a median of weighted cases, a metric that the table has not of
    everybody, a cohort without a lesion) is undefined, and named with the reason; if the declared one is, its error is
    raised. A submission that the declared rule leaves off its board, because it competes on others only, takes part in
    no universe; and who competes is decided on all cases, not on those that a universe leaves.

    References
    ----------
    Steegen S, Tuerlinckx F, Gelman A, Vanpaemel W. Increasing transparency through a multiverse analysis. Perspect
    Psychol Sci 11 (2016).
    Maier-Hein L et al. Why rankings of biomedical image analysis competitions should be interpreted with care. Nat
    Commun 9 (2018) 5217.
    """
    names = [universe.name for universe in universes]
    if not names or len(set(names)) < len(names):
        msg = f"a multiverse has universes, each with a name of its own, not {names}"
        raise ValueError(msg)
    declared = _board(scores, universes[0], roles)
    competing = taking_part(scores, declared)
    beside = [submission for submission, role in (roles or {}).items() if role != "team"]
    teams = competing.filter(~pl.col("submission").is_in(beside))
    ranked = _ranks(declared)
    outcomes = [Outcome(universes[0], ranked, *_agreement(ranked, ranked))]
    undefined: dict[str, str] = {}
    for universe in universes[1:]:
        try:
            _refuse_gaps(teams, universe.rule, universes[0].rule)
            found = _ranks(_board(competing, universe, roles))
        except ValueError as error:
            undefined[universe.name] = str(error)
            continue
        outcomes.append(Outcome(universe, found, *_agreement(ranked, found)))
    return Multiverse(tuple(outcomes), _standings(outcomes), undefined)


def taking_part(scores: pl.DataFrame, declared: Board) -> pl.DataFrame:
    """The table without those that the declared rule leaves off its board, because they compete on others only."""
    aside = [row.submission for row in declared.unlisted if not row.disqualified]
    return scores.filter(~pl.col("submission").is_in(aside))


def _board(scores: pl.DataFrame, universe: Universe, roles: Mapping[str, Role] | None) -> Board:
    board = universe.rule.rank(scores, roles=roles)
    if universe.without:
        out = [row.submission for row in (*board.rows, *board.unlisted) if row.role == "team" and row.rank is None]
        left = ~pl.col("case").is_in(list(universe.without)) & ~pl.col("submission").is_in(out)
        board = universe.rule.rank(scores.filter(left), roles=roles)
    if all(row.rank is None for row in board.rows):
        msg = f"nobody is ranked by the rule: {universe.rule}"
        raise ValueError(msg)
    return board


def _ranks(board: Board) -> dict[str, float]:
    return {row.submission: row.rank for row in board.rows if row.rank is not None}


def _refuse_gaps(teams: pl.DataFrame, rule: Rule, declared: Rule) -> None:
    """A metric that was never measured of somebody is no missing case, and counts as nothing."""
    for metric in sorted(set(rule.reads) - set(declared.reads)):
        measured = set(teams.filter(pl.col("metric") == metric)["submission"])
        if lacking := sorted(set(teams["submission"]) - measured):
            msg = f"there is no {metric} of {some(lacking)}"
            raise ValueError(msg)


def _agreement(declared: Mapping[str, float], found: Mapping[str, float]) -> tuple[float, float]:
    both = sorted(declared.keys() & found.keys())
    if not both:
        return math.nan, math.nan
    compared = compare_rankings([declared[team] for team in both], [found[team] for team in both], better="lower")
    return compared.spearman, compared.kendall


def _standings(outcomes: Sequence[Outcome]) -> tuple[Standing, ...]:
    declared = outcomes[0].ranks
    teams = {team for outcome in outcomes for team in outcome.ranks}
    found = []
    for team in sorted(teams, key=lambda team: (declared.get(team, math.inf), team)):
        ranks = [outcome.ranks[team] for outcome in outcomes if team in outcome.ranks]
        first = sum(team in outcome.first for outcome in outcomes)
        unranked = len(outcomes) - len(ranks)
        found.append(Standing(team, declared.get(team), first, min(ranks), max(ranks), median(ranks), unranked))
    return tuple(found)
