"""Decisions, in a chain that only grows; see `isocenter.editions.audit`."""

from __future__ import annotations

from typing import Any

from django.db import models

from isocenter.server import clock
from isocenter.server.models.challenges import Challenge


class _Kept(models.Model):
    """A row that is added and never changed."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add; never change."""
        if not self._state.adding:
            msg = "a decision is not changed; record another one"
            raise TypeError(msg)
        super().save(*args, **kwargs)

    def delete(self, *_: Any, **__: Any) -> Any:
        """Never."""
        msg = "a decision is not removed; record another one"
        raise TypeError(msg)


class Decision(_Kept):
    """Something that was decided, with actor and reason. Rows are added by `isocenter.server.decisions`, alone."""

    challenge = models.ForeignKey(Challenge, models.PROTECT, related_name="decisions")
    number = models.PositiveIntegerField()
    when = models.DateTimeField()
    actor = models.CharField(max_length=200)
    what = models.CharField(max_length=60)
    subject = models.CharField(max_length=300)
    reason = models.TextField()
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "number"], name="decisions_are_numbered")]
        ordering = ("number",)


class SiteDecision(_Kept):
    """Something that those who run the site decided about an account, for their own log."""

    when = models.DateTimeField(default=clock.now)
    actor = models.CharField(max_length=200)
    what = models.CharField(max_length=60)
    subject = models.CharField(max_length=300)
    reason = models.TextField()

    class Meta:
        ordering = ("-when",)
