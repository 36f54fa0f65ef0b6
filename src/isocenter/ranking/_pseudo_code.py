"""A rule as a few lines that can be carried out by hand: what the form for challenge proposals asks for.

The lines are made of the fields of the rule, so they cannot say anything else than what is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from isocenter.metrics import catalogue
from isocenter.ranking._describe import describe
from isocenter.ranking._missing import (
    Disqualify,
    FixedValue,
    LeaveOut,
    Missing,
    Penalty,
    RankLast,
    WorstObserved,
    WorstPossible,
)
from isocenter.ranking._ties import Ties
from isocenter.ranking.rules._base import Rule
from isocenter.ranking.rules.detection import DetectThenRank
from isocenter.ranking.rules.mean import MeanThenRank
from isocenter.ranking.rules.mean_rank import RankThenMean
from isocenter.ranking.rules.normalised_sum import NormalisedSum
from isocenter.ranking.rules.paired_tests import TestThenRank
from isocenter.ranking.rules.quantile import QuantileThenRank
from isocenter.ranking.rules.trimmed_mean import TrimmedMeanThenRank
from isocenter.ranking.rules.weighted_ranks import Limit, WeightedRanks

_RANKS: dict[Ties, str] = {
    "min": "1 + #{t: t better than s}",
    "average": "1 + #{t: t better than s} + #{t ≠ s: t equal to s} / 2",
    "dense": "1 + #{different values better than that of s}",
}


def pseudo_code(rule: Rule) -> str:
    """A rule as pseudo-code: s and t are submissions, i and j cases, p parts of a case, w[i] the case weights.

    Raises
    ------
    DescriptionError
        The rule is of another package.

    Examples
    --------
    >>> print(pseudo_code(MeanThenRank("dice", missing=FixedValue(0.0))))
    for each submission s:
        for each case i:
            x[s, i] = dice of s in i
            if s has no usable output for i: x[s, i] = 0
        score[s] = Σᵢ w[i] · x[s, i] / Σᵢ w[i]
    for each submission s, by score (higher is better, equal within 1e-09 × the larger):
        rank[s] = 1 + #{t: t better than s}
    """
    describe(rule)
    match rule:
        case MeanThenRank():
            lines = _mean(rule)
        case QuantileThenRank() | TrimmedMeanThenRank():
            lines = _over_cases(rule)
        case RankThenMean():
            lines = _case_by_case(rule)
        case WeightedRanks():
            lines = _weighted(rule)
        case TestThenRank():
            lines = _tested(rule)
        case NormalisedSum():
            lines = _normalised(rule)
        case DetectThenRank():
            lines = _detection(rule)
        case _:  # `describe` knows no other
            raise AssertionError(rule)
    better = "higher" if isinstance(rule, TestThenRank) else catalogue.get(rule.metric).better
    breaks = rule.tie_breaks if isinstance(rule, WeightedRanks) else ()
    then = "".join(f", then by v[{name}, s] {catalogue.get(name).arrow}" for name in breaks)
    rank = f"for each submission s, by score ({better} is better, {_equal(rule.tolerance)}){then}:"
    return "\n".join([*lines, rank, f"    rank[s] = {_RANKS[rule.ties]}"])


def _equal(tolerance: float) -> str:
    return f"equal within {tolerance:g} × the larger"


def _missing(policy: Missing, metrics: Sequence[str], cell: str = "x[s, i]") -> str:
    """What a case without a usable output does; of several metrics, in words that are right for each."""
    name, known = metrics[0] if len(metrics) == 1 else "m", catalogue.get(metrics[0])
    match policy:
        case FixedValue():
            does = f"{cell} = {policy.value:g}"
        case WorstPossible():
            worst = f"{known.worst:g}, " if len(metrics) == 1 else ""
            does = f"{cell} = {worst}the worst {name} there is"
        case WorstObserved():
            does = f"{cell} = the worst {name} of any team in {'i' if policy.where == 'case' else 'any case'}"
        case Penalty():
            does = f"{cell} = {policy.factor:g} × the worst {name} of any team in any case"
            does += ", but no more than there is" if math.isfinite(known.bounds[1]) else ""
        case RankLast():
            does = f"{cell} ranks behind all others in i"
        case LeaveOut():
            does = "leave i out for s"
        case Disqualify():
            does = "s is disqualified and stands on no board"
    return f"if s has no usable output for i: {does}"


def _cells(metric: str, policy: Missing) -> list[str]:
    return ["    for each case i:", f"        x[s, i] = {metric} of s in i", f"        {_missing(policy, [metric])}"]


def _mean(rule: MeanThenRank) -> list[str]:
    head = "for each submission s:"
    if rule.over == "cases":
        return [
            head,
            *_cells(rule.metric, rule.missing),
            "    score[s] = Σᵢ w[i] · x[s, i] / Σᵢ w[i]",
            *_undefined(rule),
        ]
    parts = [
        "    for each case i and each of its parts p:",
        f"        x[s, i, p] = {rule.metric} of s in p of i",
        f"        {_missing(rule.missing, [rule.metric], 'x[s, i, p]')}",
    ]
    if rule.over == "parts":
        score = ["    score[s] = Σᵢ Σₚ w[i] · x[s, i, p] / Σᵢ Σₚ w[i]"]
    else:
        score = ["    x[s, i] = mean over p of x[s, i, p]", "    score[s] = Σᵢ w[i] · x[s, i] / Σᵢ w[i]"]
    return [head, *parts, *score, *_undefined(rule)]


def _undefined(rule: MeanThenRank) -> list[str]:
    if rule.undefined == "refuse":
        return []
    return [f"    if {rule.metric} is undefined for an output of s: s stands on no board"]


def _over_cases(rule: QuantileThenRank | TrimmedMeanThenRank) -> list[str]:
    if isinstance(rule, QuantileThenRank):
        score = f"{rule.q:g} quantile over i of x[s, i], linear between two cases"
    else:
        cut = f"the ⌊{rule.proportion:g} · n⌋ lowest and as many highest of n cases"
        score = f"mean over i of x[s, i] without {cut}"
    return ["for each submission s:", *_cells(rule.metric, rule.missing), f"    score[s] = {score}"]


def _case_by_case(rule: RankThenMean) -> list[str]:
    assert not isinstance(rule.metrics, str)
    return [
        f"for each metric m of {_listed(rule.reads)} and each case i:",
        "    for each submission s: x[m, s, i] = m of s in i",
        f"    {_missing(rule.missing, rule.reads, 'x[m, s, i]')}",
        f"    for each submission s, by x[m, s, i] ({_equal(rule.tolerance)}):",
        f"        r[m, s, i] = {_RANKS[rule.ties]}",
        "for each submission s:",
        f"    r[s, i] = {_sum(rule.metrics, 'r[{}, s, i]')}",
        "    score[s] = Σᵢ w[i] · r[s, i] / Σᵢ w[i]",
    ]


def _means(metrics: Sequence[str], policy: Missing) -> list[str]:
    return [
        f"for each metric m of {_listed(metrics)} and each submission s:",
        "    for each case i:",
        "        x[m, s, i] = m of s in i",
        f"        {_missing(policy, metrics, 'x[m, s, i]')}",
        "    v[m, s] = Σᵢ w[i] · x[m, s, i] / Σᵢ w[i]",
    ]


def _listed(metrics: Sequence[str]) -> str:
    """Metrics, each with its direction."""
    return f"({', '.join(f'{name} {catalogue.get(name).arrow}' for name in metrics)})"


def _sum(metrics: Sequence[tuple[str, float]], cell: str) -> str:
    """The weighted mean of a cell of every metric."""
    terms = [(f"{weight:g} · " if weight != 1 else "") + cell.format(name) for name, weight in metrics]
    total = math.fsum(weight for _, weight in metrics)
    return f"({' + '.join(terms)}) / {total:g}" if len(terms) > 1 else cell.format(metrics[0][0])


def _weighted(rule: WeightedRanks) -> list[str]:
    lines = _means(rule.reads, rule.missing) if rule.reads else []
    lines += [f"for each submission s: v[{name}, s] = {name} of s, measured elsewhere" for name in rule.given]
    lines += [f"if v[{limit.metric}, s] {_beyond(limit)}: s does not compete" for limit in rule.exclude]
    return [
        *lines,
        f"for each metric m of {_listed([name for name, _ in rule.metrics])}:",
        f"    for each competing s, by v[m, s] ({_equal(rule.tolerance)}):",
        f"        r[m, s] = {_RANKS[rule.ties]}",
        "for each competing s:",
        f"    score[s] = {_sum(rule.metrics, 'r[{}, s]')}",
    ]


def _beyond(limit: Limit) -> str:
    sign = "<" if catalogue.get(limit.metric).better == "higher" else ">"
    return f"{ ({'<': '≤', '>': '≥'}[sign] if limit.at == 'excluded' else sign) } {limit.value:g}"


def _tested(rule: TestThenRank) -> list[str]:
    metric = catalogue.get(rule.metric)
    decimals = metric.decimals if rule.decimals is None else rule.decimals
    family = [f"P = P adjusted by {rule.adjust} over all K (K − 1) ordered pairs"] if rule.adjust != "none" else []
    return [
        "for each submission s:",
        *_cells(rule.metric, rule.missing),
        "for each pair s ≠ t of the K submissions:",
        f"    d[i] = x[s, i] − x[t, i], rounded to {decimals} decimals",
        f"    P[s, t] = one-sided p of the signed-rank test of d, with continuity correction ({metric.better} wins)",
        *family,
        "for each submission s:",
        f"    score[s] = #{{t ≠ s: P[s, t] ≤ {rule.alpha:g}}} / (K − 1)",
    ]


def _normalised(rule: NormalisedSum) -> list[str]:
    return [
        *_means(rule.reads, rule.missing),
        "for each metric m and submission s:",
        "    u[m, s] = (v[m, s] − worst of v[m, t]) / (best of v[m, t] − worst of v[m, t]), over all teams t",
        "    if all teams have the same v[m, t]: u[m, s] = 0.5",
        "for each submission s:",
        f"    score[s] = {_sum(rule.metrics, 'u[{}, s]')}",
    ]


def _detection(rule: DetectThenRank) -> list[str]:
    score = {"auroc": "A", "average_precision": "P", "detection_score": "(A + P) / 2"}[rule.metric]
    needs = {
        "A": "A = area under the ROC curve of the likelihoods of all patients",
        "P": "P = average precision of all lesion candidates, by their confidence",
    }
    return [
        "for each submission s:",
        f"    for each case i: {_missing(rule.missing, [rule.metric])}",
        "    for each of its trained instances k, over all cases with their weights w[i]:",
        *(f"        {line}" for name, line in needs.items() if name in score),
        f"        y[k] = {score}",
        "    score[s] = mean over k of y[k]",
    ]
