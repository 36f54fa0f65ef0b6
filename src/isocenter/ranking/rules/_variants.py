"""Rules that could as well have been declared: other aggregations, policies and metrics, one thing at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from isocenter.metrics import catalogue
from isocenter.ranking._missing import POLICIES, WorstPossible, keep_undefined, undefined_of
from isocenter.ranking._ties import Ties
from isocenter.ranking.rules._base import Rule

Variant = tuple[str, Rule]
"""A rule, and what it is called beside the declared one."""

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


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of the table that will be ranked.

    Attributes
    ----------
    metrics
        Those of the table.
    lacking
        Whether a team lacks a case.
    ways
        The ways of ties that move scores of a rule, which is given as a function of them; () if none does.
    parts
        Those that cases have, in alphabetical order.
    """

    metrics: Collection[str]
    lacking: bool
    ways: Callable[[Callable[[Ties], Rule]], tuple[Ties, ...]]
    parts: tuple[str, ...] = ()


# The functions below take any rule that is a dataclass with the fields that they change.


def aggregate_one(rule: Any, asked: Asked) -> Iterator[Variant]:
    """One metric of the cases, aggregated in other ways."""
    from isocenter.ranking.rules import MeanThenRank, QuantileThenRank, RankThenMean, TestThenRank, TrimmedMeanThenRank

    metric, missing, ties = rule.reads[0], rule.missing, rule.ties
    kept = _kept(rule)
    kept["undefined"] = undefined_of(kept["undefined"], metric)
    if rule.mean_metric is None:
        yield "mean", MeanThenRank(metric, missing, ties=ties, **kept)
    yield "median", QuantileThenRank(metric, missing, ties=ties, **kept)
    yield "trimmed mean", TrimmedMeanThenRank(metric, missing, ties=ties, **kept)
    ranks = partial(RankThenMean, metrics=metric, missing=missing, **kept)
    for way in (shared := asked.ways(lambda way: ranks(ties=way))) or (ties,):
        yield f"mean rank, ties {way}" if shared else "mean rank", ranks(ties=way)
    yield "significant wins", TestThenRank(metric, missing, ties=ties, **kept)


def aggregate_several(rule: Any) -> Iterator[Variant]:
    """Several metrics of the cases, put together in other ways."""
    from isocenter.ranking.rules import NormalisedSum, RankThenMean, WeightedRanks

    metrics, missing, ties = rule.metrics, rule.missing, rule.ties
    kept = _kept(rule)
    if not rule.weights:
        yield "weighted ranks", WeightedRanks(metrics, missing, ties=ties, **kept)
    yield "mean rank in each case", RankThenMean(metrics=metrics, missing=missing, ties=ties, **kept)
    yield "normalised sum", NormalisedSum(metrics=metrics, missing=missing, ties=ties, **kept)


def share_ranks(rule: Any, asked: Asked) -> Iterator[Variant]:
    """Other ways of ties, where they move the score."""
    for way in asked.ways(lambda way: replace(rule, ties=way)):
        yield f"ties {way}", replace(rule, ties=way)


def change_policy(rule: Any, asked: Asked) -> Iterator[Variant]:
    """What else a missing case may count as, if one is; of equal consequence to the declared policy is none of them."""
    for policy in POLICIES if asked.lacking else ():
        if policy == WorstPossible() and _counts_as_the_worst(rule):
            continue
        other = replace(rule, missing=policy)
        try:
            other.check()
        except ValueError:
            continue
        yield f"missing {policy}", other


def change_metric(rule: Any, asked: Asked, swap: Callable[[str, str], Any]) -> Iterator[Variant]:
    """The rule with another metric in the place of one that it has, and not both."""
    if asked.lacking and rule.missing.names_value and not _counts_as_the_worst(rule):
        return
    names = rule.components or rule.reads
    for pair in _SIBLINGS:
        for old, new in (pair, pair[::-1]):
            if new in asked.metrics and old in names and new not in names:
                yield f"by {new}", swap(old, new)


def rename(pairs: tuple[tuple[str, float], ...], old: str, new: str) -> tuple[tuple[str, float], ...]:
    """Metrics and weights with another metric in the place of one."""
    return tuple((new if name == old else name, weight) for name, weight in pairs)


def swap_metric(rule: Any, old: str, new: str) -> Any:
    """A rule of several metrics with another one in the place of one; what holds where it is undefined stays."""
    names = {name: new if name == old else name for name in rule.components or rule.reads}
    return replace(rule, metrics=rename(rule.metrics, old, new), undefined=keep_undefined(rule.undefined, names))


def _counts_as_the_worst(rule: Any) -> bool:
    metrics = [catalogue.get(name) for name in rule.reads]
    return rule.missing.names_value and all(rule.missing.stand_in(metric) == metric.worst for metric in metrics)


def _kept(rule: Any) -> dict[str, Any]:
    """What every way to aggregate keeps; who competes on other boards only takes part in no alternative anyway."""
    undefined = getattr(rule, "undefined", "refuse")
    kept = "refuse" if undefined == "unlisted" else undefined
    return {"tolerance": rule.tolerance, "undefined": kept, "part": getattr(rule, "part", "")}
