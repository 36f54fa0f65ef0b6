"""The part of a submission's page that says how long things took: figures, each with a table that says the same."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.utils.safestring import SafeString

from isocenter.server.boards import plots
from isocenter.server.submitting import times
from isocenter.server.submitting.times import RunTimes, Span

if TYPE_CHECKING:
    from isocenter.server.models import Submission
    from isocenter.server.policy import Visit
    from isocenter.server.submitting.attempts import Line

_SECONDS = timedelta(minutes=10)  # up to which spans are drawn in seconds


def context(visit: Visit, one: Submission, row: Line) -> dict[str, Any]:
    """What the template asks for; a figure of one span would say less than its number, so there is none."""
    spans = times.spans(visit, one)
    metered = times.run_times(visit, one)
    return {
        "span": times.span(visit, one, row.run),
        "worker": times.worker_label(visit.challenge, row.run.worker) if row.run and row.run.worker else "",
        "spans": spans if len(spans) > 1 else [],
        "spans_plot": _bars(spans) if len(spans) > 1 else None,
        "run_times": metered,
        "run_times_plot": None if metered is None else _dots(metered),
    }


def _bars(spans: list[Span]) -> SafeString:
    """A bar for each submission: the wait, then the work."""
    parts = {f"No. {one.number}": {"waited": one.waited, "took": one.took or timedelta(0)} for one in spans}
    fine = all(one.fine for one in spans)
    longest = max(sum(both.values(), timedelta(0)) for both in parts.values())
    unit = "s" if fine and longest <= _SECONDS else "min"

    def value(span: timedelta) -> float:
        if not fine:
            return float(times.minutes(span))
        return float(round(span.total_seconds())) if unit == "s" else round(span.total_seconds() / 60, 1)

    groups = {label: {name: value(span) for name, span in both.items()} for label, both in parts.items()}

    def draw() -> str:
        from isocenter.report import bars_plot

        return bars_plot(
            groups,
            label=f"waited, and took ({unit})",
            title="How long the submissions of the team waited and took",
            name="spans",
            show=lambda value: f"{value:g} {unit}",
            stacked=True,
        )

    return plots.kept("spans", (groups, unit), draw)


def _dots(found: RunTimes) -> SafeString:
    """This submission above all others on the board, and the limit as a line."""
    own = [(row.name, row.value) for row in found.rows if row.own]
    others = [(row.name, row.value) for row in found.rows if not row.own]
    metric, limit = found.metric, found.limit
    lines = {} if limit is None else {f"limit {limit.value:g} {metric.unit}": limit.value}
    high = None
    if limit is not None and found.rows[-1].value <= limit.value:
        high = 1.25 * limit.value  # so that the line is not the end of the axis

    def draw() -> str:
        from isocenter.report import BoxGroup, boxes_plot, metric_label

        groups = [BoxGroup("This submission", own)]
        if others:
            groups.append(BoxGroup("Others on the board", others))
        return boxes_plot(
            groups,
            label=metric_label(metric, unit=False),
            unit=metric.unit,
            better=metric.better,
            low=0.0,
            high=high,
            lines=lines,
            title=f"{metric_label(metric)} among the others on the board",
            name="run-times",
        )

    return plots.kept("run-times", (own, others, metric.name, lines), draw)
