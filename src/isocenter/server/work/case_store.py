"""Results of cases in the database, where a worker finds those that another one left."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import transaction

from isocenter.server import clock
from isocenter.server.models import CaseResult, Reference, Run, Submission
from isocenter.server.work import queue, reasons

if TYPE_CHECKING:
    from isocenter import evaluation


class Stopped(Exception):
    """The worker was told to stop; the run goes back to the queue."""


class DatabaseStore:
    """Finished cases in the database: a `isocenter.evaluation.CaseStore`.

    What depends on nothing but content has a key, and is never written again. What has none, as its process was killed,
    say, is tried again, and a better result takes its place.
    """

    def __init__(
        self,
        run: Run,
        submission: Submission,
        evaluator: str,
        reference: Reference,
        *,
        stop: threading.Event | None = None,
    ) -> None:
        self._run, self._submission, self._stop = run, submission, stop
        self._evaluator, self._reference = evaluator, reference
        self._done, self._total = 0, len(reference.cases)
        self._known: dict[str, list[CaseResult]] = {}
        for row in CaseResult.objects.filter(submission=submission, state__in=("measured", "missing")).order_by("pk"):
            if row.key is not None:
                self._known.setdefault(row.case, []).append(row)

    def __contains__(self, case: str) -> bool:
        return case in self._known

    @property
    def has_results(self) -> bool:
        """Whether a case of this submission was measured before."""
        return bool(self._known)

    def find(self, case: str, key: Mapping[str, Any]) -> evaluation.CaseResult | None:
        """A result of this submission that was made from the same things, under this reference or an earlier one."""
        row = next((row for row in self._known.get(case, ()) if row.key == key), None)
        if row is None:
            return None
        if (row.evaluator, row.reference_id) != (self._evaluator, self._reference.pk):
            self._write(case, {"state": row.state, "scores": row.scores, "problems": row.problems, "key": row.key})
        return _thawed(row)

    def add(self, result: evaluation.CaseResult) -> None:
        """Keep a result, if this worker still has the run; otherwise nothing is written."""
        # A case that nobody could measure leaves no row: it is tried again, and counts against nobody.
        if result.state not in ("no reference", "unmeasured"):
            content = {
                "state": result.state,
                "scores": [[one.part, one.metric, _as_json(one.value)] for one in result.scores],
                "problems": [reasons.as_row(problem) for problem in result.problems],
                "key": None if result.key is None else dict(result.key),
            }
            self._write(result.case, content)
        if self._stop is not None and self._stop.is_set():
            raise Stopped

    def progress(self, done: int, total: int, _: str) -> None:
        """Remember how far it is, to be told with the next case; `evaluate` calls this."""
        self._done, self._total = done, total

    def _write(self, case: str, content: dict[str, Any]) -> None:
        with transaction.atomic():
            queue.beat(self._run, done=self._done + 1, total=self._total)
            row, new = CaseResult.objects.get_or_create(
                submission=self._submission,
                case=case,
                evaluator=self._evaluator,
                reference=self._reference,
                defaults=content,
            )
            if not new and row.key is None:
                for name, value in (content | {"made": clock.now()}).items():
                    setattr(row, name, value)
                row.save()


def _thawed(row: CaseResult) -> evaluation.CaseResult:
    from isocenter import evaluation

    scores = tuple(evaluation.Score(metric, _as_float(value), part) for part, metric, value in row.scores)
    return evaluation.CaseResult(row.case, row.state, scores, tuple(map(reasons.from_row, row.problems)), row.key)


def _as_json(value: float | None) -> float | str | None:
    """A number as JSON can have it, which knows no infinity."""
    return value if value is None or math.isfinite(value) else repr(value)


def _as_float(value: float | str | None) -> float | None:
    return None if value is None else float(value)
