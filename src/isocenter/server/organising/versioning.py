"""Versions of a challenge: a change is checked, told and recorded, or refused as a whole.

    text ── checked ──▶ Edition ─┬─ breaks ──▶ why it cannot be (somebody has handed in, the results are out …)
                                 └─ changes ─▶ decisions, and what participants are told

A version is never changed. Whoever saves says which version they began with; if there is a newer one, they are told.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.db.models import Max, Min
from django.urls import reverse

from isocenter.editions import Edition, EditionError, Phase, in_force, split_cohort
from isocenter.server import clock, decisions
from isocenter.server.models import Access, Challenge, CodeLink, Registration, Study, Submission, Team, User, Version
from isocenter.server.organising.bundle import TOML, Page
from isocenter.server.organising.form_changes import form_breaks, form_changes
from isocenter.server.organising.moments import on_its_clock
from isocenter.server.organising.study_changes import SUBJECT, study_breaks, study_changes, tell_readers


class Refused(ValueError):
    """Something that cannot be done; `problems` says why, each as a sentence."""

    def __init__(self, problems: Sequence[str] | str) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__(" ".join(self.problems))


class Overtaken(Refused):
    """Somebody else saved in the meantime; `version` is theirs."""

    def __init__(self, version: Version) -> None:
        who = version.author or "Somebody else"
        super().__init__(
            f"{who} saved version {version.number} while you were editing ({version.note or 'no note'}). Nothing of "
            "yours was saved. Look at what changed, then put your change into the newest version."
        )
        self.version = version


@dataclass(frozen=True)
class Change:
    """A difference between two editions that is a decision: `what` and `subject` are recorded, `text` is told."""

    what: str
    subject: str
    """The phase, or the form."""
    text: str
    known: bool = True
    """Whether participants know of the phase, so that they may be told."""


def checked(toml: str) -> Edition:
    """The edition that a text describes, with its challenge and its boards in order.

    Raises
    ------
    EditionError
        With all problems, each with its line.
    """
    from isocenter.evaluation import load_challenge

    with tempfile.TemporaryDirectory(prefix="isocenter-") as folder:
        path = Path(folder, TOML)
        path.write_text(toml, encoding="utf-8", newline="")
        return in_force(path, find=load_challenge)[0]


def in_lines(error: EditionError) -> list[str]:
    """The problems of a text, each with its line."""
    return [f"{TOML}, line {p.line or '?'}: {p.where}: {p.message}" for p in error.problems]


def breaks(challenge: Challenge, old: Edition, new: Edition, *, now: datetime) -> list[str]:
    """Why a change cannot be, as it would undo what has happened."""
    problems: list[str] = []
    sent = Submission.objects.filter(challenge=challenge)
    handed_in = {
        row["phase"]: row
        for row in sent.exclude(team__kind=Team.Kind.BENCHMARK)  # which organisers hand in whenever they like
        .order_by()
        .values("phase")
        .annotate(first=Min("made"), last=Max("made"))
    }
    if new.challenge != old.challenge and (sent.exists() or challenge.references.exists()):
        problems.append(
            f"The challenge cannot become {new.challenge!r}: there are references or submissions of {old.challenge!r}. "
            "Make a new challenge instead."
        )
    phases = {phase.name: phase for phase in new.scored}
    for before in old.scored:
        after = phases.get(before.name)
        if after is None:
            if uses := _uses(challenge, before.name):
                kind = "cohort" if split_cohort(before.name)[1] else "phase"
                problems.append(
                    f"The {kind} {before.name!r} cannot be removed or renamed: it has {uses}. Its title may change."
                )
            continue
        problems += _breaks_phase(before, after, handed_in.get(before.name))
        if challenge.published:  # what nobody knows of yet can be put off
            problems += _takes_back(before, after, now)
    problems += form_breaks(challenge, old, new, now=now)
    if (study := Study.objects.filter(challenge=challenge).first()) is not None:
        problems += study_breaks(study, old, new)
    return problems


def _uses(challenge: Challenge, phase: str) -> str:
    """What hangs on a phase."""
    found = {
        "submissions": challenge.submissions.filter(phase=phase).exists(),
        "a reference": challenge.references.filter(phase=phase).exists(),
        "data to download": challenge.releases.filter(phase=phase).exists(),
        "teams that were invited or asked to take part": Access.objects.filter(
            team__challenge=challenge, phase=phase
        ).exists(),
        "links to code": CodeLink.objects.filter(team__challenge=challenge, phase=phase).exists(),
    }
    return ", ".join(name for name, there in found.items() if there)


def _breaks_phase(old: Phase, new: Phase, sent: dict[str, datetime] | None) -> Iterator[str]:
    if sent is not None and new.opens > sent["first"]:
        yield f"{old.name} cannot open on {on_its_clock(new.opens)}: a team handed in before that."
    if sent is not None and new.continues != old.continues:
        yield f"{old.name} cannot continue another phase than before: a team handed in already."
    if sent is not None and new.closes <= sent["last"] < old.closes:
        yield f"{old.name} cannot have closed on {on_its_clock(new.closes)}: a team handed in after that."


def _takes_back(old: Phase, new: Phase, now: datetime) -> Iterator[str]:
    if old.results <= now < new.results and new.visibility != "public":
        yield f"The results of {old.name} are out since {on_its_clock(old.results)} and cannot be taken back."
    if _known(old, now) and not _known(new, now) and not split_cohort(old.name)[1]:
        yield f"Everybody knows of {old.name} already; it cannot be announced later."


def _known(phase: Phase, now: datetime) -> bool:
    return phase.announced is None or phase.announced <= now


def changes(old: Edition, new: Edition, *, now: datetime) -> list[Change]:
    """What of a change is a decision: dates, quotas, visibility, admission, names, phases, terms, needed answers."""
    before = {phase.name: phase for phase in old.phases}
    found: list[Change] = []
    for phase in new.phases:
        known = _known(phase, now)
        if phase.name not in before:
            found.append(Change("add a phase", phase.name, f"{phase.title} is a new phase.", known))
            continue
        was = before.pop(phase.name)
        found += [Change(what, phase.name, text, known) for what, text in _changes_of(was, phase)]
        found += [Change(what, name, text, known) for what, name, text in _cohort_changes(was, phase)]
        if (named := new.named_in(phase)) != old.named_in(was):
            how_many = "all teams" if named is None else f"the first {named}" if named > 1 else "the first team"
            found.append(Change("change who is named", phase.name, f"{phase.title} names {how_many}.", known))
    found += [
        Change("remove a phase", name, f"{was.title} is no longer planned.", _known(was, now))
        for name, was in before.items()
    ]
    found += [Change(what, SUBJECT, text, known=False) for what, text in study_changes(old, new)]
    return [*found, *(Change(what, subject, text) for what, subject, text in form_changes(old, new))]


def _changes_of(old: Phase, new: Phase) -> Iterator[tuple[str, str]]:
    if new.closes != old.closes:
        what = "extend" if new.closes > old.closes else "close earlier"
        yield what, f"{new.title} closes on {on_its_clock(new.closes)}; it was {on_its_clock(old.closes)}."
    if new.opens != old.opens:
        yield "reschedule", f"{new.title} opens on {on_its_clock(new.opens)}; it was {on_its_clock(old.opens)}."
    if new.results != old.results:
        yield (
            "reschedule the results",
            f"The results of {new.title} are out on {on_its_clock(new.results)}; it was {on_its_clock(old.results)}.",
        )
    if new.announced != old.announced:
        yield "reschedule the announcement", f"{new.title} is announced on another day."
    if (new.quota, new.quota_per, new.refund) != (old.quota, old.quota_per, old.refund):
        yield "change the quota", f"{new.title} has another quota: {_quota(new)}; it was {_quota(old)}."
    if (new.counts, new.ladder, new.decimals) != (old.counts, old.ladder, old.decimals):
        yield "change what counts", f"{new.title}: which submission counts, or how it is shown, has changed."
    if new.visibility != old.visibility:
        yield "change the visibility", f"The board of {new.title} is {new.visibility}; it was {old.visibility}."
    if new.continues != old.continues:
        yield "change what is continued", f"{new.title} goes on from another phase, or from none."
    if (new.admission, new.after, new.top) != (old.admission, old.after, old.top):
        yield "change the admission", f"Who may take part in {new.title} has changed."


def _cohort_changes(old: Phase, new: Phase) -> Iterator[tuple[str, str, str]]:
    """What, of which cohort, and in words: what is another one about the further cohorts of a phase."""
    before = {phase.name: phase for phase in old.scored[1:]}
    for cohort, phase in zip(new.cohorts, new.scored[1:], strict=True):
        was = before.pop(phase.name, None)
        if was is None:
            yield "add a cohort", phase.name, f"{phase.title}: submissions are scored on further cases."
            continue
        if was.visibility != phase.visibility:
            text = f"The board of {phase.title} is {phase.visibility}; it was {was.visibility}."
            yield "change the visibility", phase.name, text
        if was.results != phase.results and (cohort.results is not None or was.results != old.results):
            text = f"The results of {phase.title} are out on {on_its_clock(phase.results)}; "
            yield "reschedule the results", phase.name, f"{text}it was {on_its_clock(was.results)}."
    for was in before.values():
        yield "remove a cohort", was.name, f"{was.title} is no longer planned."


def _quota(phase: Phase) -> str:
    return "any number" if phase.quota is None else f"{phase.quota} per {phase.quota_per.replace('-', ' ')}"


def told(challenge: Challenge) -> list[User]:
    """Who is told of a change: everybody who takes part, once the challenge is published."""
    if not challenge.published:
        return []
    taking_part = Registration.objects.filter(challenge=challenge, state=Registration.State.ACCEPTED)
    return [registration.user for registration in taking_part.select_related("user")]


def save(
    challenge: Challenge,
    user: User | None,
    *,
    base: int,
    note: str,
    toml: str | None = None,
    pages: Sequence[Page] | None = None,
    cohort: Sequence[dict[str, str]] | None = None,
    told_of: bool = True,
) -> Version | None:
    """Save a new version, with its decisions, and tell who takes part; None if nothing is different.

    Parameters
    ----------
    base
        The number of the version that the change was made to.
    note
        What changed and why; participants read it.
    toml, pages, cohort
        What is left out stays as it is.
    told_of
        Whether people are told of it; not where they hear of the same in other words at once.

    Raises
    ------
    EditionError
        The text is wrong.
    Refused
        The change would undo what has happened, there is no note, or somebody else was faster (`Overtaken`).
    """
    note, edition = note.strip(), None if toml is None else checked(toml)
    now = clock.now()
    with transaction.atomic():
        challenge = Challenge.objects.select_for_update().get(pk=challenge.pk)
        last = challenge.version
        assert last is not None
        new = Version(
            challenge=challenge,
            number=last.number + 1,
            toml=last.toml if toml is None else toml,
            pages=last.pages if pages is None else list(pages),
            cohort=last.cohort if cohort is None else list(cohort),
            author=user,
            note=note,
            made=now,
        )
        if (new.toml, new.pages, new.cohort) == (last.toml, last.pages, last.cohort):
            return None
        if last.number != base:
            raise Overtaken(last)
        if not note:
            msg = "Say what changed and why; participants read it."
            raise Refused(msg)
        old = challenge.edition
        edition = edition or old
        if problems := breaks(challenge, old, edition, now=now):
            raise Refused(problems)
        new.save()
        challenge.version = new
        challenge.save(update_fields=["version"])
        decided = changes(old, edition, now=now)
        for change in decided:
            decisions.record(challenge, user or "the site", change.what, change.subject, f"{note} ({change.text})")
        _follow_up(challenge, edition, decided if told_of else [], note)
        return new


def _follow_up(challenge: Challenge, edition: Edition, decided: Sequence[Change], note: str) -> None:
    """Boards are made anew under the new rules, and who takes part learns of what they may know."""
    from isocenter.server import notices
    from isocenter.server.work import making

    for name in Submission.objects.filter(challenge=challenge).order_by().values_list("phase", flat=True).distinct():
        making.refresh(challenge, name)
    tell_readers(challenge, [change.text for change in decided if change.subject == SUBJECT])
    news = [change.text for change in decided if change.known]
    if news and (users := told(challenge)):
        text = f"{edition.title}: {' '.join(news)}"
        if len(text) > 280:
            text = f"{edition.title}: {len(news)} dates or rules have changed. {note}"[:280]
        notices.notify(users, text, url=reverse("versions", args=[challenge.slug]), challenge=challenge, mail=True)
