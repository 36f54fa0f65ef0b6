"""The queue: a table whose rows are leased, so that the truth about work is where all other truth is.

queued ── claim ──▶ running ── done ──▶ done | failed
▲                    │
└── lease is over ───┘ attempt + 1, as long as attempts are left; then failed: worker_lost
"""

from __future__ import annotations

import uuid

from django.db import models

from isocenter.editions import name_on_cohort
from isocenter.server import clock
from isocenter.server.models.challenges import Challenge
from isocenter.server.models.submissions import Submission


class Worker(models.Model):
    """A process that works the queue, as it last said."""

    name = models.CharField(max_length=120, unique=True, help_text="Machine, process and start.")
    queue = models.CharField(max_length=40, default="default")
    version = models.CharField(max_length=40)
    started = models.DateTimeField(default=clock.now)
    seen = models.DateTimeField(default=clock.now)
    stopped = models.DateTimeField(null=True)


class Run(models.Model):
    """A piece of work."""

    class Kind(models.TextChoices):
        SCORE = "score"
        BOARD = "board"
        REPORT = "report"
        ARCHIVE = "archive"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=10, choices=Kind)
    queue = models.CharField(max_length=40, default="default")
    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="runs")
    submission = models.ForeignKey(Submission, models.CASCADE, null=True, related_name="runs")
    cohort = models.CharField(
        max_length=60, blank=True, help_text='The further cohort of the phase that is scored; "" for its own cases.'
    )
    payload = models.JSONField(default=dict)
    key = models.CharField(
        max_length=120, blank=True, help_text="Of work that need not wait twice, such as the board of a phase."
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    priority = models.SmallIntegerField(default=0, help_text="Higher goes first.")
    attempt = models.PositiveSmallIntegerField(default=0)
    most_attempts = models.PositiveSmallIntegerField(default=3)
    lease = models.UUIDField(null=True, help_text="Of the claim in force; who has another must not write.")
    lease_until = models.DateTimeField(null=True)
    worker = models.CharField(max_length=120, blank=True)
    reason = models.CharField(max_length=60, blank=True)
    detail = models.TextField(blank=True, help_text="For organisers; never shown to teams.")
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    queued = models.DateTimeField(default=clock.now)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["state", "queue", "-priority", "queued"])]
        constraints = [
            models.UniqueConstraint(
                fields=["key"], condition=models.Q(state="queued") & ~models.Q(key=""), name="waits_once"
            )
        ]

    @property
    def scored_phase(self) -> str:
        """What the submission is scored on: its phase, or with a further cohort as in "test.holdout"."""
        assert self.submission is not None
        return name_on_cohort(self.submission.phase, self.cohort) if self.cohort else str(self.submission.phase)
