"""A reader study: its cases, its readers under their pseudonyms, and what they said.

    Study ─┬─ StudyCase ──────────┐
           └─ Reader ─┬─ Assignment ── CaseRead (one per stage) ── ReadEvent (never changed)
                      └─ ReaderKey: who the reader is, apart from all the rest

Nothing but `ReaderKey` says who somebody is; whoever opens it gives a reason, which is recorded.
"""

from __future__ import annotations

from django.db import models

from isocenter.server import clock
from isocenter.server.models.challenges import Challenge
from isocenter.server.models.keys import Keyed
from isocenter.server.models.people import User


class Study(models.Model):
    """The reader study of a challenge; what it is like says the edition, under `[reading]`."""

    challenge = models.OneToOneField(Challenge, models.CASCADE, related_name="study")
    seed = models.BigIntegerField(null=True, help_text="What blocks and orders are drawn with.")
    drawn = models.DateTimeField(null=True, help_text="When blocks and orders were drawn; from then on they stay.")
    closed = models.DateTimeField(null=True, help_text="When organisers ended it; nothing is handed in any more.")
    folder = models.CharField(max_length=200, blank=True, help_text="Of its cases, within the folder of data.")
    digest = models.CharField(max_length=64, blank=True, help_text="Of all files of its cases.")
    made = models.DateTimeField(default=clock.now)


class StudyCase(Keyed):
    """A case to be read. Its name is the organisers'; readers are told a number."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="cases")
    name = models.CharField(max_length=100)
    practice = models.BooleanField(default=False, help_text="To get used to it; in no result.")
    positive = models.BooleanField(null=True, help_text="Whether the patient has the disease, where that is known.")
    facts = models.JSONField(default=dict, help_text="What is known of the patient, by column.")
    images = models.JSONField(
        default=dict, help_text="By name of the scan: {file (within the folder), shape, spacing, origin, direction}."
    )
    block = models.PositiveSmallIntegerField(null=True, help_text="From 0; drawn.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="study_cases_differ")]
        ordering = ("name",)


class Reader(Keyed):
    """Somebody who reads, under a pseudonym."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="readers")
    pseudonym = models.CharField(max_length=20)
    answers = models.JSONField(default=dict, help_text="To the questions under [[readers]].")
    guide_version = models.CharField(max_length=60, blank=True, help_text="The one that they confirmed to have read.")
    block = models.PositiveSmallIntegerField(null=True, help_text="From 0; drawn.")
    joined = models.DateTimeField(default=clock.now)
    withdrawn = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "pseudonym"], name="pseudonyms_differ")]
        ordering = ("pseudonym",)


class ReaderKey(models.Model):
    """Who a reader is. `hash` is of their address, with a key of the site: who comes back after deleting the account
    is the same reader.
    """

    reader = models.OneToOneField(Reader, models.CASCADE, related_name="key_to", primary_key=True)
    study = models.ForeignKey(Study, models.CASCADE, related_name="+")
    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "user"], name="one_reader_per_person")]


class Assignment(Keyed):
    """That a reader reads a case, and in which place; practice cases and those of the study are counted apart."""

    reader = models.ForeignKey(Reader, models.CASCADE, related_name="assignments")
    case = models.ForeignKey(StudyCase, models.CASCADE, related_name="assignments")
    practice = models.BooleanField(default=False)
    position = models.PositiveIntegerField(help_text="From 1.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["reader", "practice", "position"], name="one_case_at_a_time"),
            models.UniqueConstraint(fields=["reader", "case"], name="no_case_twice"),
        ]
        ordering = ("-practice", "position")


class CaseRead(Keyed):
    """What a reader says of a case in a stage: a draft until it is handed in, and never changed from then on."""

    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="reads")
    stage = models.CharField(max_length=60)
    opened = models.DateTimeField(default=clock.now)
    submitted = models.DateTimeField(null=True)
    marks = models.JSONField(default=list, help_text="[{x, y, z, pirads, on}]: LPS millimetres, and on which scan.")
    score = models.PositiveSmallIntegerField(null=True, help_text="Likelihood for the patient, 0 to 100.")
    seconds = models.FloatField(default=0.0, help_text="How long it was looked at, without pauses.")
    revision = models.PositiveIntegerField(default=0, help_text="How often the draft was saved.")
    saved = models.DateTimeField(default=clock.now)
    unchanged = models.BooleanField(null=True, help_text="Whether it is as the stage before was handed in.")
    hash = models.CharField(max_length=64, blank=True, help_text="Of what was handed in.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["assignment", "stage"], name="one_read_per_stage")]


class ReadEvent(models.Model):
    """Something that happened while a case was read; never changed."""

    class Kind(models.TextChoices):
        OPENED = "opened"
        RESUMED = "resumed"
        ADDED = "mark added"
        MOVED = "mark moved"
        GRADED = "mark graded"
        REMOVED = "mark removed"
        SCORED = "score set"
        SUBMITTED = "handed in"

    read = models.ForeignKey(CaseRead, models.CASCADE, related_name="events")
    made = models.DateTimeField(default=clock.now)
    kind = models.CharField(max_length=12, choices=Kind)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ("pk",)
