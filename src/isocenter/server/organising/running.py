"""Publication: challenges, results and code at their moments, once, whoever's clock strikes first.

    results of a phase ── the moment passes ──▶ due ──▶ boards made anew, news, notices, a decision by "the site"

Results are shown by `sight` from their moment on, whether this ran or not; what happens here is that people hear of it.
Results of a phase whose submissions wait for a mended evaluator are held back, see `isocenter.server.work.holding`.
"""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.urls import reverse

from isocenter.editions import Edition, Phase, render, split_cohort
from isocenter.server import decisions
from isocenter.server.models import (
    Announcement,
    Artefact,
    Challenge,
    CodeLink,
    Snapshot,
    Submission,
    User,
    Version,
)
from isocenter.server.organising.moments import on_its_clock, whole_second
from isocenter.server.organising.refereeing import reasoned
from isocenter.server.organising.versioning import Refused, save
from isocenter.server.organising.versioning import told as people_told
from isocenter.server.policy import Visit
from isocenter.server.work import holding

SITE = "the site"
_log = logging.getLogger(__name__)


def due(now: datetime) -> int:
    """Announce all results whose moment has passed and that were not announced yet; how many there were.

    Safe to call from any number of workers at once: a phase is announced by the one that gets the lock first.
    """
    done = 0
    for challenge in Challenge.objects.filter(published=True, version__isnull=False).select_related("version"):
        try:
            passed = [phase for phase in challenge.edition.scored if phase.results <= now]
            open_ones = _unannounced(challenge, passed)
            done += sum(_announce(challenge, phase, told=_told_with(phase, open_ones)) for phase in open_ones)
        except Exception:  # one challenge that cannot be read must not keep the others from being announced
            _log.exception("the results of %s could not be announced", challenge.slug)
    return done


def _told_with(phase: Phase, others: list[Phase]) -> bool:
    """Whether people hear of results together with those of the phase: of a cohort whose moment is the same."""
    name, cohort = split_cohort(phase.name)
    return cohort != "" and any((one.name, one.results) == (name, phase.results) for one in others)


def _unannounced(challenge: Challenge, phases: list[Phase]) -> list[Phase]:
    """Those that nobody heard of yet, and that have anything to show."""
    if not phases:
        return []
    announced = holding.announced_results(challenge)
    waiting = [phase for phase in phases if (phase.name, holding.planned(phase.results)) not in announced]
    if not waiting:
        return []
    held = holding.held_phases(challenge)
    sent = Submission.objects.filter(challenge=challenge, state=Submission.State.SCORED)
    with_results = set(sent.order_by().values_list("phase", flat=True).distinct())
    with_results |= set(
        Snapshot.objects.filter(challenge=challenge).order_by().values_list("phase", flat=True).distinct()
    )
    return [
        phase
        for phase in waiting
        if phase.name in with_results and not {phase.name, split_cohort(phase.name)[0]} & held.keys()
    ]


def _announce(challenge: Challenge, phase: Phase, *, told: bool = False) -> bool:
    """Say that results are out; if people are told in other words, only write it down."""
    from isocenter.server import notices
    from isocenter.server.work import making

    with transaction.atomic():
        locked = Challenge.objects.select_for_update(of=("self",)).select_related("version").get(pk=challenge.pk)
        if not locked.published or phase not in locked.edition.scored or not _unannounced(locked, [phase]):
            return False
        decisions.record(locked, SITE, holding.OUT, phase.name, holding.planned(phase.results))
        making.refresh(locked, phase.name)
        if told:
            return True
        title = f"The results of {phase.title} are out"
        text = "The leaderboard shows them from now on."
        Announcement.objects.create(challenge=locked, title=title[:200], text=text, phase=split_cohort(phase.name)[0])
        url = reverse("boards", args=[locked.slug])
        said, organisers = f"{locked.edition.title}: {title}.", [one.user for one in notices.organisers_of(locked)]
        people = [one for one in people_told(locked) if one not in organisers]
        notices.notify(people, said, url=url, challenge=locked, mail=True)
        notices.to_organisers(locked, said, url=url, mail=True, body=decisions.seal(locked))
        return True


def publish(visit: Visit, reason: str) -> bool:
    """Let everybody know of a challenge."""
    return _set_published(visit, reason, published=True)


def unpublish(visit: Visit, reason: str) -> bool:
    """Hide a challenge again, as long as nobody has registered."""
    return _set_published(visit, reason, published=False)


def _set_published(visit: Visit, reason: str, *, published: bool) -> bool:
    reason = reasoned(reason)
    with transaction.atomic():
        challenge = Challenge.objects.select_for_update().get(pk=visit.challenge.pk)
        if challenge.published == published:
            return False
        if not published and challenge.registrations.exists():
            msg = "People have registered already, so the challenge cannot be hidden from them."
            raise Refused(msg)
        challenge.published = published
        challenge.save(update_fields=["published"])
        decisions.record(challenge, _actor(visit), "publish" if published else "hide", challenge.slug, reason)
        _tell_organisers(challenge, "is published" if published else "is hidden again")
        return True


def _tell_organisers(challenge: Challenge, what: str) -> None:
    """A mail that holds how far the log goes, see `decisions.seal`."""
    from isocenter.server import notices

    url = reverse("organise_decisions", args=[challenge.slug])
    said = f"{challenge.edition.title} {what}."
    notices.to_organisers(challenge, said, url=url, mail=True, body=decisions.seal(challenge))


def results_now(visit: Visit, phase: str, reason: str, *, base: int) -> Version | None:
    """Publish the results of a phase that is closed: a version whose results are out now."""
    chosen, reason = visit.phase(phase), reasoned(reason)
    if visit.now < chosen.closes:
        msg = f"{chosen.title} is open until {on_its_clock(chosen.closes)}. Close it first, then publish the results."
        raise Refused(msg)
    if chosen.results <= visit.now:
        return None
    if waiting := holding.held_phases(visit.challenge).get(phase):
        raise Refused(_held_words(chosen, waiting))
    moment = max(visit.now.replace(microsecond=0), chosen.closes)
    # Where there are results, that they are out is all that people need to hear.
    announced = visit.submissions().filter(phase=phase, state=Submission.State.SCORED).exists()
    version = _with_phase(visit, chosen, {"results": moment}, reason, base, told_of=not announced)
    due(visit.now)
    return version


def publish_without(visit: Visit, phase: str, reason: str) -> bool:
    """Let the results of a phase, or a further cohort, come out although submissions wait for a mended evaluator."""
    chosen, reason = visit.scored_phase(phase), reasoned(reason)
    if visit.now < chosen.closes:
        msg = f"{chosen.title} is open until {on_its_clock(chosen.closes)}. Evaluate the submissions again until then."
        raise Refused(msg)
    with transaction.atomic():
        Challenge.objects.select_for_update().get(pk=visit.challenge.pk)
        done = holding.publish_without(visit.challenge, _actor(visit), chosen.name, reason)
    due(visit.now)
    return done


def _held_words(phase: Phase, waiting: int) -> str:
    one = waiting == 1
    return (
        f"{waiting} submission{'s'[: not one]} to {phase.title} {'waits' if one else 'wait'} for a mended evaluator. "
        f"Evaluate {'it' if one else 'them'} again, or decide to publish without {'it' if one else 'them'}."
    )


def close_now(visit: Visit, phase: str, reason: str, *, base: int) -> Version | None:
    """Close an open phase: nothing more is taken from the next second on. The results stay where they were."""
    chosen, reason = visit.phase(phase), reasoned(reason)
    if visit.now < chosen.opens:
        msg = f"{chosen.title} is not open yet; change its dates instead."
        raise Refused(msg)
    moment = whole_second(visit.now)
    return None if chosen.closes <= moment else _with_phase(visit, chosen, {"closes": moment}, reason, base)


def _with_phase(
    visit: Visit, phase: Phase, update: dict[str, datetime], reason: str, base: int, *, told_of: bool = True
) -> Version | None:
    text = render(
        with_phase(visit.edition, phase.name, {k: v.astimezone(phase.opens.tzinfo) for k, v in update.items()})
    )
    return save(visit.challenge, _actor(visit), base=base, note=reason, toml=text, told_of=told_of)


def with_phase(edition: Edition, name: str, update: dict[str, object]) -> Edition:
    """The edition with other settings of a phase; not checked, `versioning.checked` does that."""
    phases = tuple(p.model_copy(update=update) if p.name == name else p for p in edition.phases)
    return edition.model_copy(update={"phases": phases})


def release_code(visit: Visit, link: CodeLink, to: str, reason: str) -> bool:
    """Show where a team's code is to whom the phase `to` is open; "" is everybody."""
    from isocenter.server import notices

    reason = reasoned(reason)
    if to:
        visit.phase(to)
    with transaction.atomic():
        row = (
            CodeLink.objects.select_for_update().select_related("team").get(pk=link.pk, team__challenge=visit.challenge)
        )
        if row.released is not None and row.released_to == to:
            return False
        row.released, row.released_to = visit.now, to
        row.save(update_fields=["released", "released_to"])
        subject = f"{row.team.name}, {row.phase}, to {to or 'everybody'}"
        decisions.record(visit.challenge, _actor(visit), "release the code", subject, reason)
        text = f"The link to the code of {row.team.name} was released."
        notices.to_team(row.team, text, url=reverse("code", args=[visit.challenge.slug]))
        return True


def publish_artefact(visit: Visit, artefact: Artefact, reason: str) -> bool:
    """Let everybody read a report or an archive, if it says of itself that it may be, and its results are out."""
    from isocenter.server.archiving.artefacts import note_of

    reason = reasoned(reason)
    with transaction.atomic():
        row = Artefact.objects.select_for_update().get(pk=artefact.pk, challenge=visit.challenge)
        if row.published:
            return False
        note = note_of(row)
        if not note.everybody:
            msg = f"This {row.kind} is for organisers alone. {note.why}"
            raise Refused(msg)
        unfinished = [p.title for p in visit.edition.scored if p.name in note.phases and not visit.is_out(p)]
        if unfinished:
            msg = f"The results of {', '.join(unfinished)} are not out; what tells them cannot be published before."
            raise Refused(msg)
        row.published = True
        row.save(update_fields=["published"])
        subject = row.phase or visit.challenge.slug
        decisions.record(visit.challenge, _actor(visit), f"publish {row.kind}", subject, reason)
        return True


def _actor(visit: Visit) -> User:
    assert isinstance(visit.user, User)
    return visit.user
