"""Decisions, in a chain that only grows; see `isocenter.editions.audit`."""

from __future__ import annotations

from typing import Any

from django.db import models

from isocenter.server import clock
from isocenter.server.models.challenges import Challenge

_UNCHANGED = "a decision is not changed; record another one"
_KEPT = "a decision is not removed; record another one"


class _Rows(models.QuerySet):
    """Rows that are added and never changed, several at once neither."""

    def update(self, **_: Any) -> int:
        """Never."""
        raise TypeError(_UNCHANGED)

    def delete(self) -> Any:
        """Never."""
        raise TypeError(_KEPT)


class _Kept(models.Model):
    """A row that is added and never changed."""

    objects = _Rows.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add; never change."""
        if not self._state.adding:
            raise TypeError(_UNCHANGED)
        super().save(*args, **kwargs)

    def delete(self, *_: Any, **__: Any) -> Any:
        """Never."""
        raise TypeError(_KEPT)


class Decision(_Kept):
    """Something that was decided, with actor and reason. Rows are added by `isocenter.server.decisions`, alone."""

    challenge = models.ForeignKey(Challenge, models.PROTECT, related_name="decisions")
    number = models.PositiveIntegerField()
    when = models.DateTimeField()
    actor = models.CharField(max_length=400, help_text="Name and address, or “the site”.")
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
    actor = models.CharField(max_length=400, help_text="Name and address, or “the site”.")
    what = models.CharField(max_length=60)
    subject = models.CharField(max_length=300)
    reason = models.TextField()

    class Meta:
        ordering = ("-when", "-pk")
