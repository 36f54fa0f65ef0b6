"""The result of scoring a submission: its score table, with problems and record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from isocenter.metrics import catalogue
from isocenter.problems import Problem, report

_MOST_LISTED = 20


class Evaluation(pl.DataFrame):
    """The score table of a submission, what is wrong with its cases, and a record of how it was made.

    It is a polars table and can be used as one: filtered, joined, written, handed to `isocenter.rank`. What polars
    makes of it is a plain table.

    Attributes
    ----------
    problems
        Everything that was found, worst first, each with a code and an origin.
    record
        Challenge, versions, hashes of reference, submission and code, policies, and how many cases were measured.
    """

    def __init__(self, scores: pl.DataFrame, problems: tuple[Problem, ...], record: Mapping[str, Any]) -> None:
        super().__init__(scores)
        self.problems = problems
        self.record = dict(record)

    @property
    def scores(self) -> pl.DataFrame:
        """The table alone."""
        return pl.DataFrame(self)

    def __reduce__(self) -> tuple[type[Evaluation], tuple[pl.DataFrame, tuple[Problem, ...], dict[str, Any]]]:
        return type(self), (self.scores, self.problems, self.record)

    def __str__(self) -> str:
        counts = self.record.get("cases", {})
        cases = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        lines = [f"{self.record.get('challenge', 'scores')}: {cases or 'no cases'}"]
        lines += self._summary()
        if serious := [one for one in self.problems if one.severity != "note"]:
            lines.append(report(serious[:_MOST_LISTED]))
            if len(serious) > _MOST_LISTED:
                lines.append(f"  … and {len(serious) - _MOST_LISTED} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _summary(self) -> list[str]:
        """By metric of whole cases: mean, smallest and largest value, and in how many cases."""
        whole = self.scores.filter((pl.col("part") == "") & (pl.col("case") != "") & pl.col("value").is_finite())
        by_metric = whole.group_by("metric", maintain_order=True).agg(
            pl.col("value").mean().alias("mean"),
            pl.col("value").min().alias("low"),
            pl.col("value").max().alias("high"),
            pl.len().alias("cases"),
        )
        ranked = [row for row in by_metric.iter_rows() if catalogue.get(row[0]).better != "neither"]
        width = max((len(name) for name, *_ in ranked), default=0)
        lines = []
        for name, mean, low, high, cases in ranked:
            metric = catalogue.get(name)
            unit = f" {metric.unit}" if metric.unit else ""
            spread = f"{metric.show(low)} to {metric.show(high)}"
            lines.append(f"  {name:<{width}}  mean {metric.show(mean)}{unit}, {spread} in {cases} cases")
        return lines
