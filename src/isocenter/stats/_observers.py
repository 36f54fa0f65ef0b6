"""How much observers differ from each other, from a score table in which they were measured against each other.

In such a table `part` names who was compared: "A|B" has A's contours as the truth and B's as the prediction. How it is
made is not this room's business, which sees no image.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations, permutations
from typing import Any

import polars as pl

from isocenter.metrics import catalogue
from isocenter.scores import check
from isocenter.stats._provenance import record

SYMMETRIC = frozenset({"dice", "jaccard", "volume_similarity"})
"""Metrics that do not care which of two masks is the truth: two observers are one pair, not two."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class BetweenObservers:
    """How well observers agree by one metric; as text, a sentence of a paper.

    There is no standard error of the mean here: pairs share observers and cases, so they are not independent, and
    dividing by the root of their number would promise far too much.

    Attributes
    ----------
    observers
        In alphabetical order.
    pairs
        K(K−1)/2 of K observers for a symmetric metric, K(K−1) for one that asks who is the truth.
    cases
        How many each pair was compared in.
    mean
        Over all pairs and cases.
    standard_deviation
        Of the scores of all pairs and cases: how much two observers agree in one case.
    standard_deviation_of_pairs
        Of the pairs' means over the cases: how much some pairs agree better than others.
    """

    metric: str
    observers: tuple[str, ...]
    pairs: int
    cases: int
    mean: float
    standard_deviation: float
    standard_deviation_of_pairs: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: what is undefined is null."""
        return record(asdict(self), method="mean and standard deviation over pairs of observers and cases")

    def __str__(self) -> str:
        spreads = {"pairs and cases": self.standard_deviation, "the means of pairs": self.standard_deviation_of_pairs}
        known = [f"{value:.2g} of {name}" for name, value in spreads.items() if not math.isnan(value)]
        spread = f"; standard deviation {' and '.join(known)}" if known else ""
        return (
            f"{len(self.observers)} observers, {self.pairs} pairs of them in {self.cases} cases: mean {self.metric} "
            f"{self.mean:.4g}{spread}."
        )


def between_observers(scores: pl.DataFrame, *, symmetric: Collection[str] = SYMMETRIC) -> dict[str, BetweenObservers]:
    """Mean and spread of the agreement of all pairs of observers, by metric.

    Parameters
    ----------
    scores
        A score table of one set of observers; rows whose `part` is no pair are left aside, and so are observations.
    symmetric
        Metrics for which A|B and B|A are one number. It may be there once or twice, and counts once.

    Raises
    ------
    ValueError
        A pair lacks a case that another has, or a value could not be measured: a mean over the rest would be one of
        other pairs and other cases. Or a metric said to be symmetric is not.

    Notes
    -----
    With case weights w, the mean is Σ wx / Σ w over pairs and cases, and the standard deviation
    √(n/(n−1) · Σ w(x−mean)² / Σ w) of n scores; with equal weights, the usual one with n−1. That of the pairs' means
    weighs pairs alike. Of a single score it is undefined: NaN.

    References
    ----------
    Mak RH, Endres MG, Paik JH, et al. Use of crowd innovation to develop an artificial intelligence-based solution for
    radiation therapy targeting. JAMA Oncology 5 (2019) 654-661, supplement, eTable 3.
    """
    check(scores)
    if "submission" in scores.columns and scores["submission"].n_unique() > 1:
        msg = "observers are compared within one table; this one has several submissions"
        raise ValueError(msg)
    rows = scores.filter(pl.col("part").str.contains("|", literal=True)).sort("metric", "part", "case")
    found: dict[str, dict[Pair, dict[str, tuple[float | None, float]]]] = {}
    for metric, part, case, value, weight in rows.select("metric", "part", "case", "value", "weight").iter_rows():
        if catalogue.get(metric).better != "neither":
            found.setdefault(metric, {}).setdefault(_pair(part), {})[case] = (value, weight)
    return {metric: _summary(metric, pairs, one=metric in symmetric) for metric, pairs in found.items()}


def _pair(part: str) -> Pair:
    first, _, second = part.partition("|")
    if not first or not second or first == second or "|" in second:
        msg = f"part {part!r} is no pair of observers; it is written as A|B, A being the truth"
        raise ValueError(msg)
    return first, second


def _summary(
    metric: str, scores: Mapping[Pair, Mapping[str, tuple[float | None, float]]], *, one: bool
) -> BetweenObservers:
    observers = tuple(sorted({name for pair in scores for name in pair}))
    expected = combinations(observers, 2) if one else permutations(observers, 2)
    cases = sorted({case for measured in scores.values() for case in measured})
    values: list[list[float]] = []
    weights: list[float] = []
    for pair in expected:
        values.append([])
        for case in cases:
            value, weight = _measured(metric, scores, pair, case, one=one)
            values[-1].append(value)
            weights.append(weight)
    flat = [value for of_pair in values for value in of_pair]
    mean, deviation = _spread(flat, weights)
    means = [_spread(of_pair, weights[: len(cases)])[0] for of_pair in values]
    return BetweenObservers(
        metric=metric,
        observers=observers,
        pairs=len(values),
        cases=len(cases),
        mean=mean,
        standard_deviation=deviation,
        standard_deviation_of_pairs=_spread(means, [1.0] * len(means))[1],
    )


def _measured(
    metric: str,
    scores: Mapping[Pair, Mapping[str, tuple[float | None, float]]],
    pair: Pair,
    case: str,
    *,
    one: bool,
) -> tuple[float, float]:
    """The value and weight of a pair in a case; either order does where the metric is symmetric."""
    orders = (pair, pair[::-1]) if one else (pair,)
    found = [scores[order][case] for order in orders if case in scores.get(order, {})]
    values = [value for value, _ in found if value is not None]
    if not found or len(values) < len(found):
        lack = "is undefined" if found else "is missing"
        msg = f"{metric} of {'|'.join(pair)} {lack} in case {case!r}; a mean over the rest would hide that"
        raise ValueError(msg)
    if not math.isclose(values[0], values[-1], rel_tol=1e-9, abs_tol=1e-12):
        msg = f"{metric} is said to be symmetric, but is {values[0]} and {values[-1]} for {'|'.join(pair)} in {case!r}"
        raise ValueError(msg)
    return values[0], found[0][1]


def _spread(values: Iterable[float], weights: Iterable[float]) -> tuple[float, float]:
    """Weighted mean and standard deviation, the latter NaN of a single value."""
    scored = list(zip(values, weights, strict=True))
    n, total = len(scored), math.fsum(weight for _, weight in scored)
    mean = math.fsum(value * weight for value, weight in scored) / total
    squares = math.fsum(weight * (value - mean) ** 2 for value, weight in scored)
    return mean, math.sqrt(n / (n - 1) * squares / total) if n > 1 else math.nan


def observers_as_benchmark(scores: pl.DataFrame) -> pl.DataFrame:
    """One row for the observers together, to stand on a board beside the teams: in every case the mean of all pairs.

    The table is that of a submission, without parts, and ranks as a benchmark: by its mean it is what
    `between_observers` calls the mean, if all pairs were compared in all cases. A pair that was not compared in a case,
    because an observer skipped it, is left out there.

    Examples
    --------
    >>> from isocenter.scores import Row, frame
    >>> table = frame([Row("p1", "A|B", "dice", 0.8), Row("p1", "B|A", "dice", 0.8), Row("p2", "A|B", "dice", 0.6)])
    >>> observers_as_benchmark(table)["value"].to_list()
    [0.8, 0.6]
    """
    pairs = check(scores).filter(pl.col("part").str.contains("|", literal=True) & pl.col("value").is_not_null())
    if pairs.is_empty():
        msg = "the table compares no observers: none of its parts is named like A|B"
        raise ValueError(msg)
    together = pairs.group_by("case", "metric").agg(pl.col("value").mean(), pl.col("weight").first())
    return check(together.sort("case", "metric").select("case", pl.lit("").alias("part"), "metric", "value", "weight"))
