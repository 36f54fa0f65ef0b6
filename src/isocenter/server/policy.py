"""Who may do and see what: the one place where pages, the API, files, plots, counts and mails ask.

    request ──▶ `door` ──▶ Visit ──▶ the view
                 │           ├─ sight(phase)      what may be seen of a phase   (`isocenter.editions.sight`)
                 │           ├─ is_out(phase)     whether its results are out
                 │           ├─ admission(phase)  whether the team may submit   (`isocenter.editions.admitted`)
                 │           └─ submissions()     the rows that may be seen
                 └─ who may not come in gets 404 where the thing itself is not to be known, else 403 and what to do

Every view has a door; a test walks all addresses, and fails for one without. Organisers look at a page as others see it
with `?as=anonymous`, `?as=participant` or `?as=reader`: `Preview`, which shows less and does nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, QueryDict

from isocenter.editions import (
    Admission,
    Edition,
    Phase,
    Sight,
    TeamStanding,
    Viewer,
    admitted,
    barred,
    sight,
    split_cohort,
)
from isocenter.server import boards, clock
from isocenter.server.models import (
    Access,
    Challenge,
    Membership,
    Registration,
    Role,
    Submission,
    Team,
    User,
)
from isocenter.server.standing import lacking

if TYPE_CHECKING:
    from isocenter.ranking import Board

Somebody: TypeAlias = "User | AnonymousUser"


class Door(StrEnum):
    """Whom a view is for."""

    ANYBODY = "anybody"
    SIGNED_IN = "signed in"
    CHALLENGE = "who knows of the challenge"
    PERSON = "signed in, and knows of the challenge"
    REGISTERED = "accepted in the challenge"
    TEAM = "member of a team"
    READER = "reader"
    ORGANISER = "organiser"
    STAFF = "staff"


@dataclass(frozen=True)
class Visit:
    """Somebody who looks at a challenge at a moment. Made once per request; asks the database for what is needed."""

    user: Somebody
    challenge: Challenge
    now: datetime = field(default_factory=clock.now)

    preview: ClassVar[str] = ""
    """As whom an organiser looks; see `Preview`."""

    def __post_init__(self) -> None:
        if self.user.is_authenticated and not self.user.is_active:
            object.__setattr__(self, "user", AnonymousUser())

    @cached_property
    def edition(self) -> Edition:
        """The edition in force."""
        return self.challenge.edition

    @cached_property
    def roles(self) -> frozenset[str]:
        """Those of organiser and reader that they have; none for who is not signed in."""
        if not self.user.is_authenticated:
            return frozenset()
        return frozenset(Role.objects.filter(user=self.user, challenge=self.challenge).values_list("kind", flat=True))

    @property
    def is_staff(self) -> bool:
        """Whether they run the site."""
        return self.user.is_authenticated and self.user.is_staff

    @property
    def organises(self) -> bool:
        """Whether they may do what organisers do."""
        return self.is_staff or Role.Kind.ORGANISER in self.roles

    @property
    def reads(self) -> bool:
        """Whether they are named as a reader; who organises is none, whatever else they are."""
        return Role.Kind.READER in self.roles and not self.organises

    @cached_property
    def registration(self) -> Registration | None:
        """Theirs, if there is one."""
        if not self.user.is_authenticated:
            return None
        return Registration.objects.filter(user=self.user, challenge=self.challenge).first()

    @property
    def accepted(self) -> bool:
        """Whether they take part."""
        return self.registration is not None and self.registration.state == Registration.State.ACCEPTED

    @cached_property
    def team(self) -> Team | None:
        """The team that they are a member of, as long as they take part."""
        return None if self.membership is None else self.membership.team

    @cached_property
    def membership(self) -> Membership | None:
        """Their place in the team; see `team`."""
        if not self.user.is_authenticated or not (self.accepted or self.organises):
            return None
        return Membership.objects.filter(user=self.user, challenge=self.challenge).select_related("team").first()

    @property
    def leads(self) -> bool:
        """Whether they lead their team."""
        return self.membership is not None and self.membership.leads

    @property
    def knows(self) -> bool:
        """Whether the challenge exists for them."""
        return self.challenge.published or self.organises

    def sight(self, phase: str) -> Sight:
        """What they may see of a phase, now; or of a further cohort of it, as in "test.holdout"."""
        if phase not in self._sights:
            viewer = self._viewer(split_cohort(phase)[0])
            # Results that are held back are as they were the moment before they would have been out.
            held = not self.organises and self.is_held(phase)
            now = self._results[phase] - timedelta.resolution if held else self.now
            now = self._before_what_it_continues(phase, now)
            self._sights[phase] = sight(self.edition, phase, viewer, now, consents=self._consents)
        return self._sights[phase]

    def _before_what_it_continues(self, phase: str, now: datetime) -> datetime:
        """The moment to be looked at: a phase whose board holds results that are held back is not open yet."""
        found = self.edition.find_scored(phase)
        if found is None or found.continues is None or self.organises or not self.is_held(found.continues):
            return now
        return min(now, found.opens - timedelta.resolution)

    def is_held(self, phase: str) -> bool:
        """Whether the results of a phase would be out, and are held back; see `isocenter.server.work.holding`.

        What holds a phase back holds back its further cohorts too: it decides which submissions count there.
        """
        held = {phase, split_cohort(phase)[0]} & self._held.keys()
        return phase in self._results and self.now >= self._results[phase] and bool(held)

    def is_out(self, phase: Phase) -> bool:
        """Whether the results of a phase are out."""
        return self.now >= phase.results and not self.is_held(phase.name)

    @cached_property
    def _results(self) -> dict[str, datetime]:
        return {phase.name: phase.results for phase in self.edition.scored}

    @cached_property
    def _held(self) -> dict[str, int]:
        from isocenter.server.work.holding import held_phases

        return held_phases(self.challenge, [name for name, results in self._results.items() if self.now >= results])

    @cached_property
    def _sights(self) -> dict[str, Sight]:
        return {}

    @cached_property
    def _consents(self) -> list[str]:
        return list(self.challenge.teams.filter(consents=True).values_list("name", flat=True))

    def _viewer(self, phase: str) -> Viewer:
        name = "" if self.team is None else self.team.name
        if self.is_staff:
            return Viewer("staff", team=name)
        if self.organises:
            return Viewer("organiser", team=name)
        # A reader sees no more than everybody, also who takes part besides.
        if Role.Kind.READER in self.roles:
            return Viewer("reader")
        if not self.accepted:
            return Viewer("anonymous")
        return Viewer("participant", team=name, admitted=self.team is not None and not self._barred(phase, self.team))

    def _barred(self, phase: str, team: Team) -> str:
        if all(one.admission == "open" for one in self.edition.phases if one.name == phase):
            return ""
        return barred(self.edition, phase, self._asked(phase, team), board_of=self._boards_for(phase), now=self.now)

    def _boards_for(self, phase: str) -> Callable[[str], Board | None]:
        """The boards by which teams are admitted to a phase: places on one count when its results are out."""
        by_place = any(one.top is not None for one in self.edition.phases if one.name == phase)
        return lambda before: None if by_place and self.is_held(before) else self._board_of(before)

    def _board_of(self, phase: str) -> Board | None:
        if phase not in self._boards:
            snapshot = boards.latest(self.challenge, phase)
            self._boards[phase] = None if snapshot is None or snapshot.problem else boards.thaw(snapshot.content)
        return self._boards[phase]

    @cached_property
    def _boards(self) -> dict[str, Board | None]:
        return {}

    @cached_property
    def phases(self) -> list[Phase]:
        """The phases that they know of, in order."""
        return [phase for phase in self.edition.phases if self.sight(phase.name).known]

    @cached_property
    def scored(self) -> list[Phase]:
        """The phases that they know of, each followed by itself on its further cohorts; see `Phase.scored`."""
        return [scored for phase in self.phases for scored in phase.scored]

    @property
    def ends(self) -> datetime | None:
        """When the last of the phases that they know of closes; with it registration, changes of teams, the survey."""
        return max((phase.closes for phase in self.phases), default=None)

    @property
    def is_over(self) -> bool:
        """Whether all phases that they know of have closed."""
        return self.ends is not None and self.now >= self.ends

    @property
    def decides_until(self) -> datetime | None:
        """When the last of the phases closes that they know of and that continue no other; with it the survey."""
        return max((phase.closes for phase in self.phases if phase.continues is None), default=None)

    @property
    def is_decided(self) -> bool:
        """Whether only phases are left that continue others: what was handed in for the challenge stays as it is."""
        return self.decides_until is not None and self.now >= self.decides_until

    def phase(self, name: str) -> Phase:
        """A phase that they know of; else there is none (404)."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        raise Http404

    def scored_phase(self, name: str) -> Phase:
        """A phase that they know of, or one on a further cohort, as in "test.holdout"; else there is none (404)."""
        for phase in self.scored:
            if phase.name == name:
                return phase
        raise Http404

    def standing(self, phase: str, team: Team | None = None) -> TeamStanding:
        """What is known of a team, theirs unless another is given, that wants to take part in a phase."""
        team = team or self.team
        assert team is not None
        if team.pk not in self._lacking:
            self._lacking[team.pk] = tuple(lacking(self.edition, team))
        return replace(self._asked(phase, team), lacking=self._lacking[team.pk])

    @cached_property
    def _lacking(self) -> dict[int, tuple[str, ...]]:
        return {}

    def _asked(self, phase: str, team: Team) -> TeamStanding:
        """The same without what it lacks, which is dearer to know."""
        if team.pk not in self._accesses:
            self._accesses[team.pk] = {one.phase: one for one in Access.objects.filter(team=team)}
        access = self._accesses[team.pk].get(phase)
        if access is None:
            return TeamStanding(team.name)
        return TeamStanding(team.name, invited=access.invited, request="none" if access.invited else access.state)

    @cached_property
    def _accesses(self) -> dict[int, dict[str, Access]]:
        return {}

    def admission(self, phase: str) -> Admission:
        """Whether their team may submit to a phase now, and why not. How often, says `intake.quota`."""
        if self.registration is None:
            return Admission(yes=False, reason="you are not registered")
        if not self.accepted:
            return Admission(yes=False, reason="your registration is not accepted yet")
        if self.team is None:
            return Admission(yes=False, reason="you are in no team; found one or join one")
        if Role.Kind.READER in self.roles and not self.organises:
            return Admission(yes=False, reason="you read for this challenge, and readers hand in nothing")
        return admitted(self.edition, phase, self.standing(phase), board_of=self._boards_for(phase), now=self.now)

    def submissions(self) -> QuerySet[Submission]:
        """Those that they may see at all: all for organisers, else those of their own team in phases they know of."""
        every = Submission.objects.filter(challenge=self.challenge).select_related("team")
        if self.organises:
            return every
        if self.team is None or Role.Kind.READER in self.roles:
            return every.none()
        return every.filter(team=self.team, phase__in=[phase.name for phase in self.phases])


class Preview(Visit):
    """What an organiser sees as somebody else would: of everything less, and nothing that can be done.

    A participant is one who was accepted, in a team that has done nothing yet.
    """

    KINDS: ClassVar[tuple[str, ...]] = ("anonymous", "participant", "reader")

    def __init__(self, visit: Visit, kind: str) -> None:
        synthetic = User(pk=0, name="A participant" if kind == "participant" else "A reader")
        super().__init__(AnonymousUser() if kind == "anonymous" else synthetic, visit.challenge, visit.now)
        self.__dict__["preview"] = kind
        self.__dict__["roles"] = frozenset({Role.Kind.READER} if kind == "reader" else ())
        self.__dict__["registration"] = self.__dict__["membership"] = None
        if kind == "participant":
            terms = visit.edition.terms
            # No team can have a name that begins with a space.
            team = Team(pk=0, challenge=visit.challenge, name=" Your team")
            self.__dict__["membership"] = Membership(user=synthetic, team=team, challenge=visit.challenge, leads=True)
            self.__dict__["registration"] = Registration(
                user=synthetic,
                challenge=visit.challenge,
                state=Registration.State.ACCEPTED,
                terms_version="" if terms is None else terms.version,
            )

    @property
    def knows(self) -> bool:
        """They would once it is published."""
        return True


def visit_to(user: Somebody, slug: str) -> Visit:
    """The visit of somebody to a challenge; one that they may not know of is as one that does not exist (404)."""
    challenge = Challenge.objects.select_related("version").filter(slug=slug, version__isnull=False).first()
    if challenge is None:
        raise Http404
    visit = Visit(user, challenge)
    if not visit.knows:
        raise Http404
    return visit


def previewed(visit: Visit, request: HttpRequest) -> Visit:
    """The visit, or what the organiser asked to see with `?as=`; for anybody else that means nothing."""
    looks = request.method in ("GET", "HEAD")
    # A form on a page in preview leads to an address without `as`; where it was sent from tells.
    query = (
        request.GET if looks or "as" in request.GET else QueryDict(urlsplit(request.headers.get("referer", "")).query)
    )
    kind = query.get("as", "")
    if kind not in Preview.KINDS or not visit.organises:
        return visit
    if not looks:
        msg = "A preview is for looking. Leave it, then do it as yourself."
        raise PermissionDenied(msg)
    return Preview(visit, kind)


def lacks_second_factor(user: Somebody) -> bool:
    """Whether somebody has none, where the site demands one of organisers and of those who run it."""
    from allauth.mfa.utils import is_mfa_enabled

    return settings.REQUIRE_MFA and user.is_authenticated and not is_mfa_enabled(user)


SECOND_FACTOR = "Set up a second factor on the page of your account first."


def refuse(visit: Visit, which: Door) -> str:
    """Why somebody does not come through a door of a challenge, and what to do; "" if they do."""
    if visit.organises and lacks_second_factor(visit.user):  # they see more than others through every door
        return SECOND_FACTOR
    match which:
        case Door.CHALLENGE:
            return ""
        case _ if not visit.user.is_authenticated:
            return "Sign in first."
        case Door.ORGANISER if not visit.organises:
            return "This page is for the organisers of the challenge."
        case Door.READER if visit.organises:
            return "Organisers know the cases, so they do not read. Look at the page as a reader sees it instead."
        case Door.READER if not visit.reads:
            return "This page is for the readers of the study, whom the organisers name."
        case Door.REGISTERED | Door.TEAM if visit.organises:
            return ""
        case Door.REGISTERED | Door.TEAM if not visit.accepted:
            return _NOT_ACCEPTED["" if visit.registration is None else visit.registration.state]
        case Door.TEAM if visit.team is None:
            return "Found a team or join one first; who takes part alone is a team of one."
    return ""


_NOT_ACCEPTED = {
    "": "Register for the challenge first.",
    Registration.State.WAITING: "Your registration waits for the organisers.",
    Registration.State.REFUSED: "The organisers did not accept your registration.",
    Registration.State.WITHDRAWN: "You withdrew from the challenge; register again to take part.",
}


READ = ("GET", "HEAD")
POST = ("POST",)
FORM = (*READ, *POST)
EVERY = (*FORM, "PUT", "PATCH", "DELETE", "OPTIONS")


def door(
    which: Door, methods: tuple[str, ...] = READ
) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """A view behind a door. One of a challenge has `slug` in its address, and gets the `Visit` in its place.

    A view shows something, unless it says what else it does: `FORM` for a page with a form, `POST` for what has no page
    of its own. Any other method is answered with 405 before it is known who asks, and about what.
    """

    def behind(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @functools.wraps(view)
        def opened(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method not in methods:
                return HttpResponseNotAllowed(methods)
            if which is Door.ANYBODY:
                return view(request, *args, **kwargs)
            signed_in = request.user.is_authenticated and request.user.is_active
            if which in (Door.SIGNED_IN, Door.STAFF):
                if not signed_in:
                    return redirect_to_login(request.get_full_path())
                if which is Door.STAFF and not request.user.is_staff:
                    msg = "This page is for those who run the site."
                    raise PermissionDenied(msg)
                return view(request, *args, **kwargs)
            visit = previewed(visit_to(request.user, kwargs.pop("slug")), request)
            request.visit = visit
            if which is not Door.CHALLENGE and not signed_in:
                return redirect_to_login(request.get_full_path())
            if why := refuse(visit, which):
                raise PermissionDenied(why)
            return view(request, visit, *args, **kwargs)

        opened.door = which  # type: ignore[attr-defined]
        return opened

    return behind
