"""Which other rules could as well have been declared: one thing is changed at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import get_args

import polars as pl

from isocenter.metrics import catalogue
from isocenter.ranking._cells import cohort_of
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import (
    Disqualify,
    FixedValue,
    LeaveOut,
    Missing,
    RankLast,
    WorstObserved,
    WorstPossible,
)
from isocenter.ranking._multiverse import taking_part
from isocenter.ranking._outcomes import Universe
from isocenter.ranking._ties import Ties
from isocenter.ranking.rules._base import Rule
from isocenter.ranking.rules.detection import DetectionMetric, DetectThenRank
from isocenter.ranking.rules.mean import MeanThenRank
from isocenter.ranking.rules.mean_rank import RankThenMean
from isocenter.ranking.rules.normalised_sum import NormalisedSum
from isocenter.ranking.rules.paired_tests import TestThenRank
from isocenter.ranking.rules.quantile import QuantileThenRank
from isocenter.ranking.rules.trimmed_mean import TrimmedMeanThenRank
from isocenter.ranking.rules.weighted_ranks import WeightedRanks

_SIBLINGS = (
    ("dose_error", "dose_squared_error"),
    ("dvh_error", "dvh_squared_error"),
    ("dice", "jaccard"),
    ("gamma_pass_rate", "gamma_pass_rate_rx"),
    ("dvh_score", "dvh_score_relative"),
    ("idd_distance", "idd_distance_z"),
    ("run_time", "run_time_mean"),
)
"""Metrics that measure the same: transformed, or by another reading of one definition."""

_POLICIES: tuple[Missing, ...] = (
    WorstPossible(),
    WorstObserved("case"),
    WorstObserved("anywhere"),
    RankLast(),
    Disqualify(),
    LeaveOut(),
)
_TIES: tuple[Ties, ...] = ("min", "average", "dense")

_OfOne = MeanThenRank | QuantileThenRank | TrimmedMeanThenRank | TestThenRank
_OfSeveral = RankThenMean | WeightedRanks | NormalisedSum
_Named = tuple[str, Rule]
_Ways = Callable[[Callable[[Ties], Rule]], tuple[Ties, ...]]
"""The ways of ties that move scores of a rule."""


def alternatives(
    rule: Rule,
    scores: pl.DataFrame,
    *,
    roles: Mapping[str, Role] | None = None,
    facts: Mapping[str, Mapping[str, str]] | None = None,
    by: str | None = None,
) -> list[Universe]:
    """The declared rule, and with one thing changed each the rules that might have stood in its place.

    Parameters
    ----------
    rule
        The declared one, which is the first universe.
    scores, roles
        The table that will be ranked: it says which metrics there are, and whether any team lacks a case.
    facts, by
        What is known of the cases, by column (see `isocenter.evaluation.read_facts`), and the column whose groups are
        left out one after the other, such as the centre. A case without the fact is in the group "unknown".

    Notes
    -----
    What is changed:

    - the aggregation. By one metric: mean, median, mean without the 10 % lowest and highest, mean of the ranks in each
      case, share of significant wins. By its parts: all of them together, or within cases first; the other
      aggregations know one number per case. By several metrics of the cases: weighted ranks, ranks in each case,
      normalised sum.
    - ties, where they move the score: in rules that add up ranks, if there are equals. Elsewhere they change no order,
      only how equals are numbered.
    - what a missing case counts as, if a team lacks one: every policy that the rule admits. The factor of a `Penalty`
      and the number of a `FixedValue` are nobody's to guess.
    - the metric, where the table has one that measures the same: dose_error and dose_squared_error, dice and jaccard.
      Of findings: AUROC, average precision and their mean. A missing case that counts as a fixed number, other than
      the worst, has no number on another scale: if one is missing, the metric is not changed.
    - the cases: without those of one group.
    """
    board = rule.rank(scores, roles=roles)
    lacking = any(row.missing + row.failed for row in (*board.rows, *board.unlisted) if row.role == "team")
    competing = taking_part(scores, board)

    def ways(of: Callable[[Ties], Rule]) -> tuple[Ties, ...]:
        return _TIES if _ties_matter(of, competing, roles) else ()

    named = [*_aggregations(rule, ways), *_ties(rule, ways)]
    named += _metrics(rule, set(scores["metric"]), lacking=lacking)
    if lacking:
        named += _policies(rule)
    return [
        Universe("declared", rule),
        *(Universe(name, other) for name, other in named if other != rule),
        *(Universe(name, rule, cases) for name, cases in _groups(cohort_of(scores), facts, by)),
    ]


def _ties_matter(of: Callable[[Ties], Rule], scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> bool:
    """Whether anybody has another score if equals share the mean of their ranks instead of the best."""
    try:
        boards = [of(way).rank(scores, roles=roles) for way in _TIES[:2]]
    except ValueError:  # an undefined universe, whatever the ties
        return False
    one, other = ({row.submission: row.score for row in board.rows if row.rank is not None} for board in boards)
    return one != other


def _aggregations(rule: Rule, ways: _Ways) -> Iterator[_Named]:
    if isinstance(rule, MeanThenRank) and rule.over != "cases":
        yield "mean of all parts", replace(rule, over="parts")
        yield "mean within cases first", replace(rule, over="parts-within-cases")
    elif isinstance(rule, _OfOne) or (isinstance(rule, RankThenMean) and len(rule.reads) == 1):
        metric, missing, ties, tolerance = rule.reads[0], rule.missing, rule.ties, rule.tolerance
        if not isinstance(rule, MeanThenRank):
            yield "mean", MeanThenRank(metric, missing, ties=ties, tolerance=tolerance)
        yield "median", QuantileThenRank(metric, missing, ties=ties, tolerance=tolerance)
        yield "trimmed mean", TrimmedMeanThenRank(metric, missing, ties=ties, tolerance=tolerance)
        ranks = partial(RankThenMean, metrics=metric, missing=missing, tolerance=tolerance)
        for way in (shared := ways(lambda way: ranks(ties=way))) or (ties,):
            yield f"mean rank, ties {way}" if shared else "mean rank", ranks(ties=way)
        yield "significant wins", TestThenRank(metric, missing, ties=ties, tolerance=tolerance)
    elif isinstance(rule, _OfSeveral) and not (isinstance(rule, WeightedRanks) and (rule.given or rule.exclude)):
        metrics, missing, ties, tolerance = _weighted(rule), rule.missing, rule.ties, rule.tolerance
        if not isinstance(rule, WeightedRanks):
            yield "weighted ranks", WeightedRanks(metrics, missing, ties=ties, tolerance=tolerance)
        yield "mean rank in each case", RankThenMean(metrics=metrics, missing=missing, ties=ties, tolerance=tolerance)
        yield "normalised sum", NormalisedSum(metrics=metrics, missing=missing, ties=ties, tolerance=tolerance)


def _ties(rule: Rule, ways: _Ways) -> Iterator[_Named]:
    if isinstance(rule, WeightedRanks) or (isinstance(rule, RankThenMean) and len(rule.reads) > 1):
        for way in ways(lambda way: replace(rule, ties=way)):
            yield f"ties {way}", replace(rule, ties=way)


def _policies(rule: Rule) -> Iterator[_Named]:
    """What else a missing case may count as; of equal consequence to the declared policy is none of them."""
    for policy in _POLICIES:
        if isinstance(policy, WorstPossible) and _counts_as_the_worst(rule):
            continue
        if isinstance(rule, DetectThenRank):
            if isinstance(policy, Disqualify | LeaveOut):
                yield f"missing {policy}", replace(rule, missing=policy)
        elif isinstance(rule, _OfOne | _OfSeveral):
            other = replace(rule, missing=policy)
            try:
                other.check()
            except ValueError:
                continue
            yield f"missing {policy}", other


def _counts_as_the_worst(rule: Rule) -> bool:
    missing = getattr(rule, "missing", None)
    return isinstance(missing, FixedValue) and all(missing.value == catalogue.get(name).worst for name in rule.reads)


def _metrics(rule: Rule, present: Collection[str], *, lacking: bool) -> Iterator[_Named]:
    if isinstance(rule, DetectThenRank):
        for metric in get_args(DetectionMetric):
            yield f"by {metric}", replace(rule, metric=metric)
        return
    if lacking and isinstance(getattr(rule, "missing", None), FixedValue) and not _counts_as_the_worst(rule):
        return
    for pair in _SIBLINGS:
        for old, new in (pair, pair[::-1]):
            if new in present:
                yield from _instead(rule, old, new)


def _instead(rule: Rule, old: str, new: str) -> Iterator[_Named]:
    """The rule with another metric in the place of one that it has, and not both."""
    if isinstance(rule, _OfOne) and rule.metric == old:
        yield f"by {new}", replace(rule, metric=new)
    elif isinstance(rule, _OfSeveral):
        names = [name for name, _ in _weighted(rule)]
        if old not in names or new in names:
            return
        swapped = tuple((new if name == old else name, weight) for name, weight in _weighted(rule))
        if not isinstance(rule, WeightedRanks):
            yield f"by {new}", replace(rule, metrics=swapped)
            return
        yield (
            f"by {new}",
            replace(
                rule,
                metrics=swapped,
                given=tuple(new if name == old else name for name in rule.given),
                exclude=tuple(replace(one, metric=new) if one.metric == old else one for one in rule.exclude),
                tie_breaks=tuple(new if name == old else name for name in rule.tie_breaks),
            ),
        )


def _weighted(rule: _OfSeveral) -> tuple[tuple[str, float], ...]:
    assert not isinstance(rule.metrics, str)
    return rule.metrics


def _groups(
    cases: Collection[str], facts: Mapping[str, Mapping[str, str]] | None, by: str | None
) -> list[tuple[str, frozenset[str]]]:
    """The cases of each group of the column, by a name for the ranking without them."""
    if facts is None or by is None:
        if facts is not None or by is not None:
            msg = "groups of cases need both: facts of the cases, and the column that they are made by"
            raise ValueError(msg)
        return []
    if unknown := [case for case in cases if case not in facts]:
        msg = f"nothing is said of {', '.join(unknown[:5])}{' …' if len(unknown) > 5 else ''}"
        raise ValueError(msg)
    columns = sorted({column for said in facts.values() for column in said})
    if by not in columns:
        msg = f"no case has a {by!r}; there are {', '.join(columns) or 'no columns'}"
        raise ValueError(msg)
    groups: dict[str, set[str]] = {}
    for case in cases:
        groups.setdefault(facts[case].get(by, "unknown"), set()).add(case)
    if len(groups) < 2:
        msg = f"all cases have the same {by}, {next(iter(groups))}: without them there are none"
        raise ValueError(msg)
    return [(f"without {by} {group}", frozenset(found)) for group, found in sorted(groups.items())]
