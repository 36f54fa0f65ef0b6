"""What is said: announcements, the forum, notifications, links to code, mails."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from isocenter.server import clock
from isocenter.server.models.challenges import Challenge
from isocenter.server.models.keys import Keyed
from isocenter.server.models.people import Team


class Announcement(Keyed):
    """News of a challenge, for everybody or for some."""

    class Audience(models.TextChoices):
        PUBLIC = "public", "everybody"
        REGISTERED = "registered", "everybody who is registered"
        TEAMS = "teams", "members of teams"
        WAITING = "waiting", "who waits for a decision"

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=200)
    text = models.TextField()
    audience = models.CharField(max_length=12, choices=Audience, default=Audience.PUBLIC)
    phase = models.CharField(max_length=60, blank=True, help_text="Only for those who know of this phase.")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-made", "-pk")


class Topic(Keyed):
    """A question in the forum, the one channel to the organisers, so that all see the same answers."""

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="topics")
    title = models.CharField(max_length=200)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    pinned = models.BooleanField(default=False)
    closed = models.BooleanField(default=False)
    made = models.DateTimeField(default=clock.now)
    touched = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-pinned", "-touched", "-pk")


class Post(Keyed):
    """What somebody wrote on a topic; one that is hidden stays, for organisers to see."""

    topic = models.ForeignKey(Topic, models.CASCADE, related_name="posts")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    text = models.TextField()
    hidden = models.BooleanField(default=False)
    made = models.DateTimeField(default=clock.now)
    edited = models.DateTimeField(null=True)

    class Meta:
        ordering = ("made", "pk")


class Subscription(models.Model):
    """Who gets mails about a topic."""

    topic = models.ForeignKey(Topic, models.CASCADE, related_name="subscriptions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["topic", "user"], name="subscribed_once")]


class Notification(models.Model):
    """Something that happened which a person should know."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="notifications")
    challenge = models.ForeignKey(Challenge, models.CASCADE, null=True, related_name="+")
    text = models.CharField(max_length=300)
    url = models.CharField(max_length=300, blank=True)
    made = models.DateTimeField(default=clock.now)
    read = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-made", "-pk")


class CodeLink(models.Model):
    """Where a team's code is: for the organisers, and once released, for whom the next phase is open."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="code_links")
    phase = models.CharField(max_length=60, help_text="The phase in which it was used.")
    url = models.URLField(max_length=300)
    licence = models.CharField(max_length=100, blank=True)
    released = models.DateTimeField(null=True)
    released_to = models.CharField(max_length=60, blank=True, help_text='A phase; "" is everybody.')
    made = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "phase"], name="one_code_link_per_phase")]


class Mail(models.Model):
    """A mail that the site wrote: kept where it sends none, else on its way out; see `isocenter.server.mail`.

    Of one that was sent the text is gone, as it may hold a link by which an account is opened; that it was sent stays
    for a while, so that staff can tell somebody who waits for it.
    """

    class State(models.TextChoices):
        KEPT = "kept", "kept, not sent"
        WAITING = "waiting", "waiting"
        SENT = "sent", "sent"
        FAILED = "failed", "could not be sent"

    to = models.CharField(max_length=300)
    subject = models.CharField(max_length=300)
    text = models.TextField(blank=True)
    made = models.DateTimeField(default=clock.now)
    state = models.CharField(max_length=10, choices=State, default=State.KEPT)
    attempts = models.PositiveSmallIntegerField(default=0)
    due = models.DateTimeField(null=True, help_text="When it is tried next; while it is being sent, when another may.")
    sent = models.DateTimeField(null=True)
    problem = models.CharField(max_length=500, blank=True, help_text="What the mail server said last.")

    class Meta:
        ordering = ("-made", "-pk")
        indexes = [models.Index(fields=["state", "due"])]
