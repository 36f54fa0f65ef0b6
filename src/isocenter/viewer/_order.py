"""The numbers of every case, and which case is the worst."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from isocenter.detections import CASE_METRICS
from isocenter.evaluation import Challenge, Evaluation
from isocenter.metrics import Metric, catalogue
from isocenter.problems import Problem

LIKELIHOOD_ERROR = Metric(
    "likelihood_error", "", "lower", (0.0, 1.0), 3, "how far the likelihood given to the patient is from the truth"
)
"""Of detections: |likelihood − truth|, the mean over trained instances. It ranks nobody, and finds sure mistakes."""

_OF_THE_OUTPUT = ("missing", "failed", "resampled", "index_trusted")


@dataclass(frozen=True, slots=True)
class CaseScores:
    """A case and what was measured of it.

    Attributes
    ----------
    state
        "measured", or why there is nothing: "missing" or "failed".
    values
        By part ("" is the whole case), then by metric.
    problems
        What was said of its output.
    """

    name: str
    state: Literal["measured", "missing", "failed"]
    values: Mapping[str, Mapping[str, float | None]]
    problems: tuple[Problem, ...] = ()

    def value(self, metric: str) -> float | None:
        """The number of the whole case, or the mean of its parts; None if there is none."""
        if metric == LIKELIHOOD_ERROR.name:
            truth, given = CASE_METRICS
            pairs = [(part.get(truth), part.get(given)) for part in self.values.values()]
            found = [abs(b - a) for a, b in pairs if a is not None and b is not None]
        else:
            if metric in self.values.get("", {}):
                return self.values[""][metric]
            found = [value for part in self.values.values() if (value := part.get(metric)) is not None]
        return math.fsum(found) / len(found) if found else None


def cases_of(result: Evaluation) -> tuple[CaseScores, ...]:
    """All cases of an evaluation, in its order."""
    values: dict[str, dict[str, dict[str, float | None]]] = {}
    for case, part, metric, value in result.scores.select("case", "part", "metric", "value").iter_rows():
        if case:
            values.setdefault(case, {}).setdefault(part, {})[metric] = value
    found = []
    for case, parts in values.items():
        whole = parts.get("", {})
        state: Literal["measured", "missing", "failed"] = "measured"
        if "missing" in whole or "failed" in whole:
            state = "missing" if "missing" in whole else "failed"
        problems = tuple(problem for problem in result.problems if problem.case == case)
        found.append(CaseScores(case, state, parts, problems))
    return tuple(found)


def without_observations(scores: pl.DataFrame) -> pl.DataFrame:
    """The scores, and why there are none, for who may not see the reference.

    A score says how good an answer is. An observation, such as that this patient has cancer, or the D95 of the
    reference, says what the answer would have been; those that say how an output was read stay.
    """
    names = scores["metric"].unique().to_list()
    told = [name for name in names if catalogue.get(name).better == "neither" and name not in _OF_THE_OUTPUT]
    return scores.filter(~pl.col("metric").is_in(told))


def yardsticks(challenge: Challenge) -> tuple[Metric, ...]:
    """What cases can be sorted by: what the main board ranks by first, then every other metric with a direction."""
    board = next(iter(challenge.boards.values()))
    metrics = [catalogue.get(name) for name in dict.fromkeys((*board.reads, *challenge.metrics))]
    ranked = [metric for metric in metrics if metric.better != "neither" and metric.name in challenge.metrics]
    detects = set(CASE_METRICS) <= set(challenge.metrics)
    return (*([LIKELIHOOD_ERROR] if detects else []), *ranked)


def yardstick(challenge: Challenge, name: str = "") -> Metric | None:
    """The one of a name, or the first; None if cases cannot be sorted."""
    found = {metric.name: metric for metric in yardsticks(challenge)}
    return found.get(name) or next(iter(found.values()), None)


def worst_first(cases: Iterable[CaseScores], metric: Metric | None) -> list[CaseScores]:
    """Cases without a usable output, then those the metric is undefined for, then the worst value; equals by name."""

    def key(case: CaseScores) -> tuple[int, float, str]:
        if case.state != "measured":
            return 0, 0.0, case.name
        value = None if metric is None else case.value(metric.name)
        if metric is None or value is None:
            return 1, 0.0, case.name
        return 2, value if metric.better == "higher" else -value, case.name

    return sorted(cases, key=key)
