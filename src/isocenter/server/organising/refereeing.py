"""What organisers decide on teams and their submissions. Every decision has a reason, is recorded once, and is told.

What is so already is not decided again: a form that is sent twice does its work once.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Sum
from django.urls import reverse

from isocenter.server import decisions
from isocenter.server.models import (
    Access,
    Challenge,
    Grant,
    Membership,
    Snapshot,
    Submission,
    Team,
    User,
)
from isocenter.server.organising.versioning import Refused
from isocenter.server.people import teams
from isocenter.server.policy import Visit

_MOST_EXTRA = 1000


def reasoned(reason: str) -> str:
    """The reason, which a decision must have."""
    if not (reason := " ".join(reason.split())):
        msg = "Say why: the reason is recorded with the decision."
        raise Refused(msg)
    return reason[:1000]


def disqualify(visit: Visit, team: Team, reason: str) -> bool:
    """A team leaves all boards and may submit no more; whether anything changed."""
    return _set_disqualified(visit, team, reason, out=True)


def reinstate(visit: Visit, team: Team, reason: str) -> bool:
    """Take a disqualification back."""
    return _set_disqualified(visit, team, reason, out=False)


def _set_disqualified(visit: Visit, team: Team, reason: str, *, out: bool) -> bool:
    from isocenter.server import notices

    reason = reasoned(reason)
    with transaction.atomic():
        team = _locked(visit, team)
        if team.disqualified == out:
            return False
        team.disqualified = out
        team.save(update_fields=["disqualified"])
        decisions.record(visit.challenge, _actor(visit), "disqualify" if out else "reinstate", team.name, reason)
        refresh_boards(visit.challenge)
        said = "was disqualified" if out else "takes part again"
        notices.to_team(team, f"The team {team.name} {said}: {reason}", url=_home(visit), mail=True)
        return True


def set_kind(visit: Visit, team: Team, kind: str, reason: str) -> bool:
    """What a team takes part as: a team, one of the organisers' own, or a benchmark."""
    reason = reasoned(reason)
    if kind not in Team.Kind.values:
        msg = f"A team is one of {', '.join(Team.Kind.values)}, not {kind!r}."
        raise Refused(msg)
    with transaction.atomic():
        team = _locked(visit, team)
        if team.kind == kind:
            return False
        team.kind = kind
        team.save(update_fields=["kind"])
        decisions.record(visit.challenge, _actor(visit), f"take part as {Team.Kind(kind).label}", team.name, reason)
        refresh_boards(visit.challenge)
        return True


def rename(visit: Visit, team: Team, name: str, reason: str) -> bool:
    """Another name for a team, which no other has; its boards are made anew."""
    reason = reasoned(reason)
    with transaction.atomic():
        team = _locked(visit, team)
        if team.name == " ".join(name.split()):
            return False
        try:
            teams.rename(visit, team, name, reason=reason)
        except teams.NotPossible as problem:
            raise Refused(str(problem)) from None
        refresh_boards(visit.challenge)
        return True


def move(visit: Visit, membership: Membership, team: Team, reason: str) -> bool:
    """Put a member of one team into another. What their old team handed in stays with it."""
    reason = reasoned(reason)
    with transaction.atomic():
        team = _locked(visit, team)
        found = Membership.objects.filter(pk=membership.pk, challenge=visit.challenge).exclude(team=team).first()
        if found is None:
            return False
        try:
            teams.move(visit, found, team, reason)
        except teams.NotPossible as problem:
            raise Refused(str(problem)) from None
        return True


def grant(visit: Visit, team: Team, phase: str, extra: int, reason: str, *, seen: int) -> bool:
    """Attempts beyond the quota. `seen` is how many the form showed as granted, so that none is granted twice."""
    from isocenter.server import notices

    reason, title = reasoned(reason), visit.phase(phase).title
    if not 1 <= extra <= _MOST_EXTRA:
        msg = f"Grant 1 to {_MOST_EXTRA} attempts, not {extra}."
        raise Refused(msg)
    with transaction.atomic():
        team = _locked(visit, team)
        if granted_to(team, phase) != seen:
            return False
        Grant.objects.create(team=team, phase=phase, extra=extra, reason=reason[:500])
        decisions.record(
            visit.challenge,
            _actor(visit),
            f"grant {extra} more attempt{'s' * (extra != 1)}",
            f"{team.name}, {phase}",
            reason,
        )
        if is_announced(visit, phase):
            text = f"{team.name} may hand in {extra} more in {title}: {reason}"
            notices.to_team(team, text, url=_home(visit), mail=True)
        return True


def granted_to(team: Team, phase: str) -> int:
    """How many attempts beyond the quota a team was granted in a phase."""
    return Grant.objects.filter(team=team, phase=phase).aggregate(sum=Sum("extra"))["sum"] or 0


def invite(visit: Visit, team: Team, phase: str, reason: str) -> bool:
    """Name a team for a phase that is not open to all. It is told, unless the phase is not announced yet."""
    from isocenter.server import notices

    reason, chosen = reasoned(reason), visit.phase(phase)
    if chosen.admission == "open":
        msg = f"{chosen.title} is open to every team."
        raise Refused(msg)
    with transaction.atomic():
        team = _locked(visit, team)
        access, _ = Access.objects.get_or_create(team=team, phase=phase)
        if access.invited:
            return False
        access.invited, access.decided = True, visit.now
        access.save(update_fields=["invited", "decided"])
        decisions.record(visit.challenge, _actor(visit), "invite", f"{team.name}, {phase}", reason)
        if is_announced(visit, phase):
            notices.to_team(team, f"{team.name} is invited to {chosen.title}.", url=_home(visit), mail=True)
        return True


def decide_access(visit: Visit, access: Access, *, granted: bool, reason: str) -> bool:
    """Grant or refuse a team's request to take part in a phase."""
    from isocenter.server import notices

    reason, title = reasoned(reason), visit.phase(access.phase).title
    with transaction.atomic():
        team = _locked(visit, access.team)
        access = Access.objects.select_for_update().get(pk=access.pk)
        state = Access.State.GRANTED if granted else Access.State.REFUSED
        if access.state == state:
            return False
        access.state, access.decided = state, visit.now
        access.save(update_fields=["state", "decided"])
        what = "grant a request" if granted else "refuse a request"
        decisions.record(visit.challenge, _actor(visit), what, f"{team.name}, {access.phase}", reason)
        notices.to_team(team, f"Your request for {title} was {state}: {reason}", url=_home(visit), mail=True)
        return True


def refund(visit: Visit, submission: Submission, reason: str) -> bool:
    """Give an attempt back: it stays where it is, and does not count towards the quota."""
    said = "does not count towards your quota"
    return _mark(visit, submission, {"excepted": True}, reason, what="refund", said=said)


def void(visit: Visit, submission: Submission, reason: str, *, on: bool = True) -> bool:
    """Take a submission off the boards, or put it back."""
    what, said = ("void", "does not count on boards") if on else ("count again", "counts on boards again")
    return _mark(visit, submission, {"void": on}, reason, what=what, said=said)


def _mark(visit: Visit, submission: Submission, flags: dict[str, bool], reason: str, *, what: str, said: str) -> bool:
    from isocenter.server import notices
    from isocenter.server.work import making

    reason = reasoned(reason)
    with transaction.atomic():
        one = Submission.objects.select_for_update().select_related("team").get(pk=submission.pk)
        if all(getattr(one, flag) == to for flag, to in flags.items()):
            return False
        for flag, to in flags.items():
            setattr(one, flag, to)
        one.save(update_fields=list(flags))
        decisions.record(visit.challenge, _actor(visit), what, name_of(one), reason)
        making.refresh(visit.challenge, one.phase)
        url = reverse("submission", args=[visit.challenge.slug, one.pk])
        notices.to_team(one.team, f"Submission {one.number} of {one.team.name} {said}: {reason}", url=url, mail=True)
        return True


def is_announced(visit: Visit, phase: str) -> bool:
    """Whether anybody but the organisers may know that there is this phase."""
    announced = visit.phase(phase).announced
    return announced is None or announced <= visit.now


def name_of(submission: Submission) -> str:
    """A submission as decisions name it."""
    return f"{submission.team.name}, {submission.phase}, submission {submission.number}"


def refresh_boards(challenge: Challenge) -> None:
    """Make the boards of all phases anew that have any."""
    from isocenter.server.work import making

    sent = Submission.objects.filter(challenge=challenge).order_by().values_list("phase", flat=True).distinct()
    made = Snapshot.objects.filter(challenge=challenge).order_by().values_list("phase", flat=True).distinct()
    for phase in sorted({*sent, *made}):
        making.refresh(challenge, phase)


def _locked(visit: Visit, team: Team) -> Team:
    return Team.objects.select_for_update().get(pk=team.pk, challenge=visit.challenge)


def _actor(visit: Visit) -> User:
    assert isinstance(visit.user, User)
    return visit.user


def _home(visit: Visit) -> str:
    return reverse("challenge", args=[visit.challenge.slug])
