"""A challenge, its versions, its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models

from isocenter.server import clock
from isocenter.server.models.keys import Keyed

if TYPE_CHECKING:
    from isocenter.editions import Edition


class Challenge(models.Model):
    """A challenge on this site. What it is says its version in force; `slug` is its place in addresses."""

    slug = models.SlugField(max_length=60, unique=True)
    version = models.ForeignKey("Version", models.PROTECT, null=True, related_name="+")
    published = models.BooleanField(default=False, help_text="Whether anybody but organisers and staff knows of it.")
    approval = models.BooleanField(default=False, help_text="Whether organisers decide who takes part.")
    salt = models.BinaryField(max_length=32, help_text="The secret that aliases of teams and cases are made with.")
    made = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug

    @property
    def edition(self) -> Edition:
        """What its `challenge.toml` says, as it is in force."""
        from isocenter.server.editions import edition_of

        assert self.version_id is not None
        return edition_of(self.version_id)


class Version(models.Model):
    """A challenge as code: never changed, only followed by another."""

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    toml = models.TextField()
    pages = models.JSONField(default=list, help_text="Markdown pages in order: [{name, title, text}].")
    cohort = models.JSONField(default=list, help_text="The manifest: [{phase, case, …}].")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    note = models.CharField(max_length=500, blank=True, help_text="What changed, as participants read it.")
    made = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "number"], name="versions_are_numbered")]
        ordering = ("-number",)


class Role(models.Model):
    """What a person does in a challenge beside taking part."""

    class Kind(models.TextChoices):
        ORGANISER = "organiser"
        READER = "reader"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="roles")
    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="roles")
    kind = models.CharField(max_length=10, choices=Kind)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "challenge", "kind"], name="one_role_of_a_kind")]


class Reference(models.Model):
    """The organisers' files that submissions to a phase are measured against, in versions; the last one is in force.

    `phase` "" is for every phase that has none of its own; "test.holdout" is a further cohort of the phase "test".
    """

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="references")
    phase = models.CharField(max_length=60, blank=True)
    number = models.PositiveIntegerField()
    folder = models.CharField(max_length=200, help_text="Within the folder of data.")
    images = models.CharField(max_length=200, blank=True, help_text="Scans for the viewer, within the folder of data.")
    digest = models.CharField(max_length=64)
    cases = models.JSONField(default=list, help_text="The names of its cases.")
    run_times = models.CharField(max_length=200, blank=True, help_text="Metered run times, within the folder of data.")
    note = models.CharField(max_length=500, blank=True)
    made = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "phase", "number"], name="references_are_numbered")]
        ordering = ("-number",)


class Release(Keyed):
    """Data to download: with a phase, from its opening on and for whom it is open; or from a moment of its own."""

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="releases")
    phase = models.CharField(max_length=60, blank=True)
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    name = models.CharField(max_length=200, help_text="Of the file, as it is downloaded.")
    file = models.CharField(max_length=200, help_text="Within the folder of data.")
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    licence = models.TextField(blank=True, help_text="What has to be accepted first.")
    released = models.DateTimeField(null=True, help_text="Not before this moment.")
    made = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("made", "pk")


class _Signed(models.Model):
    """A row that says who, as text too: name and address at that time stay when the account is deleted."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    who = models.CharField(max_length=400, blank=True)

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write down who."""
        if not self.who and self.user is not None:
            self.who = self.user.signed
        super().save(*args, **kwargs)


class LicenceAcceptance(_Signed):
    """That somebody accepted the licence of data, in the words it had then; stays when the data are withdrawn."""

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="acceptances")
    release = models.ForeignKey(Release, models.SET_NULL, null=True, related_name="acceptances")
    title = models.CharField(max_length=200, help_text="Of the data, then.")
    licence = models.TextField(help_text="The words.")
    licence_sha256 = models.CharField(max_length=64)
    made = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "release", "licence_sha256"], name="accepted_once")]


class Download(_Signed):
    """Who took which file when; never changed."""

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="downloads")
    what = models.CharField(max_length=300)
    size = models.BigIntegerField()
    made = models.DateTimeField(default=clock.now, db_index=True)
