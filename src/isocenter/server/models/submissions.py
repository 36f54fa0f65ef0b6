"""What teams hand in."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from isocenter.server import clock
from isocenter.server.models.challenges import Challenge, Version
from isocenter.server.models.people import Team


class Upload(models.Model):
    """A file on its way: bytes are appended until all are there, over as many connections as it takes."""

    class Purpose(models.TextChoices):
        SUBMISSION = "submission"
        RELEASE = "release"
        REFERENCE = "reference"
        READING = "reading"
        CHALLENGE = "challenge"
        DOCUMENT = "document"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="uploads")
    challenge = models.ForeignKey(Challenge, models.CASCADE, null=True, related_name="uploads")
    phase = models.CharField(max_length=60, blank=True)
    purpose = models.CharField(max_length=12, choices=Purpose, default=Purpose.SUBMISSION)
    name = models.CharField(max_length=200)
    size = models.BigIntegerField()
    received = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of the whole file, once it is there.")
    made = models.DateTimeField(default=clock.now)
    touched = models.DateTimeField(default=clock.now)
    taken = models.DateTimeField(null=True, help_text="When it became what it was for.")


class Submission(models.Model):
    """One attempt of a team in a phase."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SCORED = "scored"
        REFUSED = "refused"
        FAILED = "failed"
        INFRASTRUCTURE = "infrastructure", "machine failure"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="submissions")
    team = models.ForeignKey(Team, models.CASCADE, related_name="submissions")
    phase = models.CharField(max_length=60)
    number = models.PositiveIntegerField(help_text="Of the team in the phase, from 1.")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    version = models.ForeignKey(Version, models.PROTECT, related_name="+", help_text="In force when it was handed in.")
    made = models.DateTimeField(default=clock.now, db_index=True)
    name = models.CharField(max_length=200, help_text="Of the file, as it was sent.")
    file = models.CharField(max_length=200, help_text="Within the folder of data.")
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    comment = models.CharField(max_length=300, blank=True)
    declarations = models.JSONField(null=True)
    state = models.CharField(max_length=14, choices=State, default=State.QUEUED)
    reason = models.CharField(max_length=60, blank=True, help_text="A code; see `reasons`.")
    problems = models.JSONField(default=list, help_text="What was found: [{severity, message, case, file}].")
    gaps = models.BooleanField(
        default=False, help_text="Cases without a usable output count as the rules say; else it is refused for them."
    )
    nominated = models.BooleanField(default=False)
    excepted = models.BooleanField(default=False, help_text="Does not count towards the quota, as was decided.")
    void = models.BooleanField(default=False, help_text="Does not count on boards, as was decided.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "phase", "number"], name="attempts_are_numbered")]
        indexes = [
            models.Index(fields=["challenge", "phase", "state"]),
            models.Index(fields=["team", "phase"]),
        ]
        ordering = ("-made",)

    @property
    def active(self) -> bool:
        """Whether something may still come of it by itself."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)
