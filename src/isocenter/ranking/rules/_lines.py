"""Lines of pseudo-code that several rules share: s and t are submissions, i is a case, w[i] the weight of a case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from isocenter.metrics import catalogue
from isocenter.ranking._missing import Missing, Undefined, UndefinedOfSeveral
from isocenter.ranking._ties import Ties

RANKS: dict[Ties, str] = {
    "min": "1 + #{t: t better than s}",
    "average": "1 + #{t: t better than s} + #{t ≠ s: t equal to s} / 2",
    "dense": "1 + #{different values better than that of s}",
}

DIFFERENCES = (
    "sets rest on the differences case by case, whose mean is taken for normal, with Student's t for its error"
)
"""What the rank sets of a mean of one number per case rest on."""

COVARIANCE = "sets rest on the covariance of the drawn scores, which are taken for normal"
"""What those of other scores rest on."""


def with_ranks(lines: Sequence[str], *, better: str, ties: Ties, tolerance: float, then: str = "") -> str:
    """Lines that end with a score of every submission, and how the scores become ranks."""
    rank = f"for each submission s, by score ({better} is better, {equal(tolerance)}){then}:"
    return "\n".join([*lines, rank, f"    rank[s] = {RANKS[ties]}"])


def equal(tolerance: float) -> str:
    """What is taken for equal."""
    return f"equal within {tolerance:g} × the larger"


def missing(policy: Missing, metrics: Sequence[str], cell: str = "x[s, i]") -> str:
    """What a case without a usable output does."""
    return f"if s has no usable output for i: {policy.pseudo_code(metrics, cell)}"


def undefined(policy: Undefined, metric: str, cell: str = "x[s, i]") -> list[str]:
    """What is done where a metric is undefined for a usable output; no line where nothing is."""
    if policy in ("refuse", "unlisted"):
        return []
    if isinstance(policy, str):
        mixed = "s has no usable output for i" if policy == "leave-out-or-missing" else "there is no ranking"
        return [
            f"if no team has {metric} in i, though one has a usable output: leave i out of {metric} for all",
            f"else if {metric} of s in i is undefined: {mixed}",
        ]
    return [f"if {metric} of s in i is undefined: {cell} = {policy:g}"]


def undefined_of_several(policy: UndefinedOfSeveral, cell: str) -> list[str]:
    """The same for every metric m of a rule."""
    if not isinstance(policy, Mapping):
        return undefined(policy, "m", cell)
    by_metric = {name: undefined(one, "m", cell) for name, one in policy.items()}
    return [
        line for name, its in by_metric.items() if its for line in (f"if m is {name}:", *(f"    {one}" for one in its))
    ]


def cells(metric: str, policy: Missing, blank: Undefined, part: str = "") -> list[str]:
    """The value of a submission in every case, or in one part of it."""
    lines = [f"x[s, i] = {metric} of s in {_where(part)}", *undefined(blank, metric), missing(policy, [metric])]
    return ["    for each case i:", *(f"        {line}" for line in lines)]


def _where(part: str) -> str:
    return f"{part} of i" if part else "i"


def means(metrics: Sequence[str], policy: Missing, blank: UndefinedOfSeveral, part: str = "") -> list[str]:
    """The mean of a submission by every metric."""
    return [
        f"for each metric m of {listed(metrics)} and each submission s:",
        "    for each case i:",
        f"        x[m, s, i] = m of s in {_where(part)}",
        *(f"        {line}" for line in undefined_of_several(blank, "x[m, s, i]")),
        f"        {missing(policy, metrics, 'x[m, s, i]')}",
        "    v[m, s] = Σᵢ w[i] · x[m, s, i] / Σᵢ w[i]",
    ]


def listed(metrics: Sequence[str]) -> str:
    """Metrics, each with its direction."""
    return f"({', '.join(f'{name} {catalogue.get(name).arrow}' for name in metrics)})"


def weighted_mean(metrics: Sequence[tuple[str, float]], cell: str) -> str:
    """The weighted mean of a cell of every metric."""
    terms = [(f"{weight:g} · " if weight != 1 else "") + cell.format(name) for name, weight in metrics]
    total = math.fsum(weight for _, weight in metrics)
    return f"({' + '.join(terms)}) / {total:g}" if len(terms) > 1 else cell.format(metrics[0][0])
