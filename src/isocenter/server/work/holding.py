"""Results that are held back: those of a phase in which submissions wait for a mended evaluator.

    the moment of the results passes ──▶ submissions wait? ── no ──▶ the results are out
                                              └─ yes ──▶ held, until they are scored or the organisers decide otherwise

`Visit.is_out` asks here, and with it everything that shows results, prizes, receipts and reports.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from isocenter.editions import Phase, split_cohort
from isocenter.server import decisions
from isocenter.server.models import Challenge, Decision, Run, User
from isocenter.server.organising.moments import on_its_clock
from isocenter.server.work.faults import CAUSES, runs_that_count

OUT = "results are out"
"""What the decision is called by which the site announces results."""

WITHOUT = "publish without submissions that wait"
"""What the decision is called that lets results come out although submissions wait for a mended evaluator."""


def held_phases(challenge: Challenge, phases: Collection[str] | None = None) -> dict[str, int]:
    """The phases whose results cannot come out yet, with how many submissions of theirs wait for a mended evaluator.

    Also phases with a further cohort, as in "test.holdout"; what holds a phase back is not repeated for its cohorts.

    Results that were announced are not taken back. A submission that does not count on boards holds nothing back, nor
    does one that broke before the organisers decided to publish without it.

    Parameters
    ----------
    phases
        Those that are asked about, all if none are named. Others cost no query, so that their faults stay unknown.
    """
    results = {
        phase.name: phase.results for phase in challenge.edition.scored if phases is None or phase.name in phases
    }
    runs = runs_that_count(challenge).filter(submission__phase__in={split_cohort(name)[0] for name in results})
    broken = [run for run in runs.select_related("submission") if run.scored_phase in results]
    if not broken:  # which is nearly always so, and costs nothing more
        return {}
    decided = Decision.objects.filter(challenge=challenge, what=WITHOUT).order_by("number")
    settled = dict(decided.values_list("subject", "when"))
    announced = announced_results(challenge)
    waiting: dict[str, set[Any]] = {}
    for run in broken:
        phase = run.scored_phase
        if phase in settled and run.finished is not None and run.finished <= settled[phase]:
            continue
        if (phase, planned(results[phase])) not in announced:
            waiting.setdefault(phase, set()).add(run.submission_id)
    return {phase: len(submissions) for phase, submissions in waiting.items()}


def announced_results(challenge: Challenge) -> set[tuple[str, str]]:
    """The results that people heard of: names of phases, each with the moment that was planned (`planned`)."""
    return set(Decision.objects.filter(challenge=challenge, what=OUT).values_list("subject", "reason"))


def planned(results: datetime) -> str:
    """The reason of the decision, which holds the moment: results that are put off are announced again."""
    return f"planned for {on_its_clock(results)}"


def out_since(challenge: Challenge, phase: Phase) -> datetime:
    """From when on the results of a phase are out: from their moment, or from later if they were held back."""
    name = split_cohort(phase.name)[0]
    broke = Run.objects.filter(challenge=challenge, submission__phase=name, payload__has_key=CAUSES)
    if not broke.exists():
        return phase.results
    announced = Decision.objects.filter(challenge=challenge, what=OUT, subject=phase.name)
    when = announced.filter(reason=planned(phase.results)).values_list("when", flat=True).first()
    return phase.results if when is None else max(phase.results, when)


def publish_without(challenge: Challenge, actor: User, phase: str, reason: str) -> bool:
    """Let the results of a phase come out although submissions wait for a mended evaluator; whether any do."""
    if phase not in held_phases(challenge):
        return False
    decisions.record(challenge, actor, WITHOUT, phase, reason)
    return True
