"""What came out: results of cases, tables of scores, boards, reports."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

from django.db import models

from isocenter.server import clock
from isocenter.server.models.challenges import Challenge, Reference, Version
from isocenter.server.models.submissions import Submission


class CaseResult(models.Model):
    """The numbers of one case of one submission; never changed.

    What makes them is said by `evaluator`, the fingerprint of the code that measures, and `reference`. When one of
    them is another, there are further rows, and the old ones stay to be compared.
    """

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="case_results")
    case = models.CharField(max_length=200)
    evaluator = models.CharField(max_length=64)
    reference = models.ForeignKey(Reference, models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, help_text="measured, missing or failed")
    scores = models.JSONField(default=list, help_text="[[part, metric, value]]")
    problems = models.JSONField(default=list)
    key = models.JSONField(null=True, help_text="What the result depends on, by content.")
    made = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "case", "evaluator", "reference"], name="a_case_is_measured_once"
            )
        ]


class Evaluation(models.Model):
    """The finished scores of a submission under one evaluator and reference: a score table, and what made it."""

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="evaluations")
    evaluator = models.CharField(max_length=64)
    reference = models.ForeignKey(Reference, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, help_text="Of the table, as receipts have it.")
    made = models.DateTimeField(default=clock.now)
    values = models.JSONField(default=dict, help_text="The score by board, of this submission alone, where it has one.")
    record = models.JSONField(default=dict)
    # What is large stands last: SQLite reads a row up to the column that is asked for.
    table = models.BinaryField(help_text="The score table, as Parquet.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["submission", "evaluator", "reference"], name="evaluated_once")]


class Snapshot(models.Model):
    """A board as it was made at a moment, whole: what of it a viewer sees, `sight` decides.

    The boards of a further cohort have it in the name of their phase: "test.holdout".
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="snapshots")
    phase = models.CharField(max_length=60)
    board = models.CharField(max_length=60)
    version = models.ForeignKey(Version, models.PROTECT, related_name="+")
    digest = models.CharField(max_length=64, help_text="Of the content: equal boards are kept once.")
    face = models.CharField(max_length=64, blank=True, help_text="Of the phase and what is listed.")
    made = models.DateTimeField(default=clock.now)
    problem = models.TextField(blank=True, help_text="Why there is no board.")
    entries = models.JSONField(default=list, help_text="The submissions that count: [{team, submission, row}].")
    content = models.JSONField(help_text="The board with its unlisted rows.")
    receipt = models.JSONField(default=dict)
    leaders = models.JSONField(
        default=dict, help_text="Of the main board: who led at the moments that bonuses are for."
    )

    class Meta:
        indexes = [models.Index(fields=["challenge", "phase", "board", "-made"])]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Keep it, with its face: a board that changed only where nobody sees it must not look new.

        Equal boards of two phases have two faces, as each has its own permanent address.
        """
        listed = {name: part for name, part in self.content.items() if name != "unlisted"}
        self.face = hashlib.sha256(json.dumps([self.phase, listed], sort_keys=True).encode()).hexdigest()
        super().save(*args, **kwargs)


class Artefact(models.Model):
    """A file that was made of a challenge for its organisers: a report, an archive."""

    class Kind(models.TextChoices):
        REPORT = "report"
        ARCHIVE = "archive"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="artefacts")
    phase = models.CharField(max_length=60, blank=True)
    kind = models.CharField(max_length=10, choices=Kind)
    folder = models.CharField(max_length=200, help_text="Within the folder of data.")
    published = models.BooleanField(default=False)
    made = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-made",)
