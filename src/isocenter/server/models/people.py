"""People, teams, and what they were asked."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower

from isocenter.server import clock
from isocenter.server.models.challenges import Challenge
from isocenter.server.models.keys import Keyed

_NO_BRACKETS = str.maketrans("", "", "<>")


class UserManager(BaseUserManager):
    """Makes accounts."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """An account; without a password, nobody can sign in to it until one is set by mail."""
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str) -> User:
        """Find an account by its address, whatever its capitals."""
        return self.get(email__iexact=username)


class User(AbstractBaseUser):
    """A person. The address is what they sign in with; the name is what others see."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120)
    institution = models.CharField(max_length=200, blank=True)
    zone = models.CharField(max_length=64, blank=True, help_text="The time zone that moments are shown in.")
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(
        default=False, help_text="Runs the site: sees what organisers of all challenges see."
    )
    joined = models.DateTimeField(default=clock.now, editable=False)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = ("name",)
    objects = UserManager()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="one_account_per_address")]

    def __str__(self) -> str:
        return self.name or self.email

    @property
    def signed(self) -> str:
        """Name and address, for what is kept of who did something: a name alone anybody can take."""
        return f"{self.name.translate(_NO_BRACKETS)} <{self.email}>".strip()

    def get_full_name(self) -> str:
        """The name."""
        return self.name

    def get_short_name(self) -> str:
        """The name, too: which part of it is short depends on the country."""
        return self.name


class Token(Keyed):
    """What a program signs in with. Only its hash is kept; the token itself is shown once."""

    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    title = models.CharField(max_length=100)
    hash = models.CharField(max_length=64, unique=True)
    made = models.DateTimeField(default=clock.now)
    used = models.DateTimeField(null=True)
    expires = models.DateTimeField(null=True)

    @classmethod
    def make(cls, user: User, title: str) -> tuple[Token, str]:
        """A new token, and what its owner has to keep."""
        secret = f"iso_{secrets.token_urlsafe(32)}"
        return cls.objects.create(user=user, title=title, hash=cls.hashed(secret)), secret

    @staticmethod
    def hashed(secret: str) -> str:
        """The hash under which a token is found; it has 256 random bits, so no salt is needed."""
        return hashlib.sha256(secret.encode()).hexdigest()


class AdminLink(models.Model):
    """The link by which the first account of staff is made; see `first_admin`. Only the hash of its secret is kept."""

    hash = models.CharField(max_length=64, unique=True)
    expires = models.DateTimeField()


class Registration(models.Model):
    """A person who takes part in a challenge, or asks to."""

    class State(models.TextChoices):
        WAITING = "waiting"
        ACCEPTED = "accepted"
        REFUSED = "refused"
        WITHDRAWN = "withdrawn"

    user = models.ForeignKey(User, models.CASCADE, related_name="registrations")
    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="registrations")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    answers = models.JSONField(default=dict)
    terms_version = models.CharField(max_length=60, blank=True)
    terms_accepted = models.DateTimeField(null=True)
    equity_asked = models.BooleanField(default=False)
    made = models.DateTimeField(default=clock.now)
    decided = models.DateTimeField(null=True)
    told = models.DateTimeField(null=True, help_text="When organisers last heard that they ask.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "challenge"], name="one_registration")]


def random_key() -> str:
    """A key that says nothing: 128 random bits."""
    return secrets.token_hex(16)


class EquityAnswers(models.Model):
    """Voluntary answers, which belong to nobody: no person, no team, no moment but the day of their batch.

    `pending` ones wait until there are enough of them; then all are shuffled and released at once. Their keys are
    random, so that not even the order of rows says who was when. See `isocenter.editions.sealed`.
    """

    key = models.CharField(primary_key=True, max_length=32, default=random_key)
    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="equity_answers")
    pending = models.BooleanField(default=True)
    day = models.DateField(null=True)
    answers = models.JSONField(default=dict)


class Team(Keyed):
    """Everything counts per team; who takes part alone is a team of one."""

    class Kind(models.TextChoices):
        TEAM = "team"
        ORGANISER = "organiser", "of the organisers"
        BENCHMARK = "benchmark"

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="teams")
    name = models.CharField(max_length=60)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.TEAM)
    consents = models.BooleanField(default=False, help_text="May be named although not among the first.")
    disqualified = models.BooleanField(default=False)
    made = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint("challenge", Lower("name"), name="team_names_differ")]
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Membership(Keyed):
    """A person in a team; one team per challenge."""

    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="+")
    leads = models.BooleanField(default=False)
    joined = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "challenge"], name="one_team_per_challenge")]


class Verification(models.Model):
    """What organisers found of name and affiliation of somebody who takes part, as the profile had them then."""

    class Verdict(models.TextChoices):
        VERIFIED = "verified"
        REFUSED = "refused"

    user = models.ForeignKey(User, models.CASCADE, related_name="verifications")
    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="verifications")
    name = models.CharField(max_length=120)
    affiliation = models.CharField(max_length=200, blank=True)
    verdict = models.CharField(max_length=10, choices=Verdict)
    made = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "challenge"], name="one_verification")]


class Departed(models.Model):
    """What a challenge has to know of an account that was deleted, should the person come back; see `people.returning`.

    `hash` is of an address, with a key of the site: who has the table alone learns no address from it, not even by
    trying, and the same address has another hash in every challenge.
    """

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="+")
    hash = models.CharField(max_length=64)
    team = models.ForeignKey(Team, models.CASCADE, null=True, related_name="+", help_text="One that has submitted.")
    refused = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "hash"], name="departed_once")]


class Invitation(Keyed):
    """A link by which somebody joins a team, sent to an address; only the hash of its secret is kept."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="invitations")
    email = models.EmailField()
    hash = models.CharField(max_length=64, unique=True)
    made = models.DateTimeField(default=clock.now)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True)


class SurveyAnswers(models.Model):
    """What a team said of its method; without it a test submission is void."""

    team = models.OneToOneField(Team, models.CASCADE, related_name="survey")
    answers = models.JSONField(default=dict)
    saved = models.DateTimeField(default=clock.now)


class Access(Keyed):
    """That a team may take part in a phase that is not open to all: named by the organisers, or asked for."""

    class State(models.TextChoices):
        WAITING = "waiting"
        GRANTED = "granted"
        REFUSED = "refused"

    team = models.ForeignKey(Team, models.CASCADE, related_name="accesses")
    phase = models.CharField(max_length=60)
    invited = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    text = models.TextField(blank=True)
    document = models.CharField(max_length=200, blank=True, help_text="Within the folder of data.")
    made = models.DateTimeField(default=clock.now)
    decided = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "phase"], name="one_access_per_phase")]


class Grant(models.Model):
    """Attempts beyond the quota, which the organisers granted to a team in a phase."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="grants")
    phase = models.CharField(max_length=60)
    extra = models.PositiveIntegerField()
    reason = models.CharField(max_length=500)
    made = models.DateTimeField(default=clock.now)
