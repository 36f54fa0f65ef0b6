"""How other teams did in the same cases: values without names, and only where enough teams have one.

Shown only where the board of the phase, its details and results of cases may all be seen, and from five other teams on:
of fewer, whoever knows the teams would know whose values they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from uuid import UUID

from django.utils.html import format_html
from django.utils.safestring import SafeString

from isocenter.editions import name_on_cohort, split_cohort
from isocenter.server import boards
from isocenter.server.models import Snapshot, Submission, Team
from isocenter.server.submitting.measured import in_force, table_of

if TYPE_CHECKING:
    from isocenter.metrics import Metric
    from isocenter.server.policy import Visit

LEAST_TEAMS = 5
"""So many other teams must have a value."""


@dataclass(frozen=True)
class Field:
    """What other teams have.

    Attributes
    ----------
    values
        By case, in rising order.
    """

    values: Mapping[str, tuple[float, ...]]

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and highest of all."""
        every = [value for values in self.values.values() for value in values]
        return min(every), max(every)


def field_of(visit: Visit, submission: Submission, metric: Metric, cohort: str = "") -> Field | None:
    """What the submissions of other teams that count on the board have in every case; None if it may not be seen."""
    phase = name_on_cohort(submission.phase, cohort) if cohort else submission.phase
    seen = visit.sight(phase)
    if not (seen.other_scores and seen.details and seen.own_cases):
        return None
    snapshot = boards.latest(visit.challenge, phase)
    if snapshot is None or snapshot.problem:
        return None
    values = _values(snapshot.pk, submission.team_id, metric.name)
    return Field(values) if values else None


@lru_cache(maxsize=64)
def _values(key: UUID, team: int, metric: str) -> dict[str, tuple[float, ...]]:
    from isocenter.evaluation import Evaluation as Result
    from isocenter.viewer import cases_of

    snapshot = Snapshot.objects.get(pk=key)
    listed = {row.submission for row in boards.thaw(snapshot.content).rows if row.role == "team"}
    keys = [entry["submission"] for entry in snapshot.entries if entry["row"] in listed]
    others = Submission.objects.filter(pk__in=keys, team__kind=Team.Kind.TEAM).exclude(team=team)
    found: dict[str, dict[int, float]] = {}
    for evaluation in in_force(list(others), split_cohort(snapshot.phase)[1]).values():
        for case in cases_of(Result(table_of(evaluation), (), {})):
            value = case.value(metric) if case.state == "measured" else None
            if value is not None:
                found.setdefault(case.name, {})[evaluation.submission.team_id] = value
    return {case: tuple(sorted(by.values())) for case, by in found.items() if len(by) >= LEAST_TEAMS}


def strip(field: Field | None, case: str, value: float | None, metric: Metric) -> SafeString:
    """The value as a dot on a line from the lowest to the highest other one, half of which lie on the thick part."""
    values = () if field is None else field.values.get(case, ())
    if field is None or not values:
        return SafeString("")
    low, high = field.ends
    if value is not None:
        low, high = min(low, value), max(high, value)
    span = (high - low) or 1.0

    def x(at: float) -> str:
        return f"{4 + 92 * (at - low) / span:.1f}"

    quarter, three = values[len(values) // 4], values[(3 * len(values)) // 4]
    said = f"{len(values)} other teams from {metric.show(values[0])} to {metric.show(values[-1])}, half of them "
    said += f"between {metric.show(quarter)} and {metric.show(three)}"
    dot = SafeString("") if value is None else format_html('<circle cx="{}" cy="8" r="4"/>', x(value))
    return format_html(
        '<svg class="field-strip" viewBox="0 0 100 16" role="img" aria-label="{}"><title>{}</title>'
        '<line class="all" x1="{}" x2="{}" y1="8" y2="8"/><line class="half" x1="{}" x2="{}" y1="8" y2="8"/>{}</svg>',
        said,
        said,
        x(values[0]),
        x(values[-1]),
        x(quarter),
        x(three),
        dot,
    )
