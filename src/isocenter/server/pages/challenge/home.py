"""The home of a challenge: where it stands, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from allauth.account.models import EmailAddress
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from isocenter.editions import Edition, Reading, missing
from isocenter.server.boards.board_titles import titles_of
from isocenter.server.editions import code_of
from isocenter.server.models import Download, Registration, Study, SurveyAnswers, User
from isocenter.server.pages.challenge.data import releases_of
from isocenter.server.pages.challenge.documents import pages_of
from isocenter.server.pages.community.code import links_of
from isocenter.server.pages.community.news import news_of
from isocenter.server.policy import Door, Visit, door
from isocenter.server.reading import joining, own
from isocenter.server.telling.known import known_edition
from isocenter.server.telling.timeline import countdown, timeline
from isocenter.server.telling.wording import quota_words, sentence

_NEWS = 3


@dataclass(frozen=True)
class Step:
    """Something to do; `state` is "done", "next" or "later"."""

    title: str
    text: str
    url: str = ""
    done: bool = False
    state: str = "later"


@door(Door.CHALLENGE)
def challenge(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The home of a challenge."""
    edition = known_edition(visit)
    context: dict[str, Any] = {
        "tab": "home",
        "edition": edition,
        "acronym": "" if (short := edition.summary.acronym or "") in edition.title else short,
        "task": task_of(edition),
        "countdown": countdown(visit.phases, visit.now, held=[one for one in visit.phases if visit.is_held(one.name)]),
        "timeline": timeline(visit.phases, visit.now),
        "steps": [] if visit.organises and visit.registration is None else steps(visit),
        "facts": list(_facts(visit, edition)),
        "news": news_of(visit)[:_NEWS],
        "pages": pages_of(visit),
        "cite": _cite(request, visit, edition),
        "code": bool(links_of(visit)),
    }
    return render(request, "isocenter/challenge/home.html", context)


def task_of(edition: Edition) -> str:
    """The task in a sentence: as the mission has it, or as the abstract begins."""
    mission = edition.mission
    if mission.category and mission.algorithm_target:
        on = f" On {_inner(mission.modality)}." if mission.modality else ""
        return f"{mission.category.rstrip('.')}: {_inner(mission.algorithm_target)}.{on}"
    if edition.summary.abstract:
        return sentence(edition.summary.abstract.partition(". ")[0])
    return ""


def _inner(text: str) -> str:
    """A text as part of a sentence: its first letter small, unless it begins an abbreviation."""
    text = text.strip().rstrip(".")
    return text if text[1:2].isupper() or not text[1:2].isalpha() else f"{text[:1].lower()}{text[1:]}"


def _facts(visit: Visit, edition: Edition) -> Iterator[tuple[str, str]]:
    from isocenter.metrics import catalogue

    if edition.mission.modality:
        yield "Images", edition.mission.modality
    if edition.datasets.numbers:
        yield "Cases", edition.datasets.numbers
    elif counted := [f"{phase.title}: {phase.cases}" for phase in edition.phases if phase.cases is not None]:
        yield "Cases", "; ".join(counted)
    for phase in visit.edition.phases[:1]:  # boards are the same in all phases
        code = code_of(visit.challenge.version_id, phase.name)
        main, rule = next(iter(code.boards.items()))
        metric = catalogue.get(rule.metric)
        yield "Ranked by", f"{titles_of(code)[main]}: {metric.text}, {metric.better} is better"
    for phase in edition.phases:
        yield phase.title, sentence(quota_words(phase))
    if edition.prizes:
        titles = {phase.name: phase.title for phase in edition.phases} | {None: edition.last_phase.title}
        won = [f"place {one.place}: {one.amount:,f} {one.currency} ({titles[one.phase]})" for one in edition.prizes]
        yield "Prizes", sentence("; ".join(won))


def _cite(request: HttpRequest, visit: Visit, edition: Edition) -> str:
    by = edition.organisation.team or "; ".join(edition.organisers)
    home = edition.url or request.build_absolute_uri(reverse("challenge", args=[visit.challenge.slug]))
    return " ".join(filter(None, [by and sentence(by), sentence(edition.title), home]))


def steps(visit: Visit) -> list[Step]:
    """What there is to do for the visitor, in order; the first that is not done is next."""
    found = list(_steps(visit))
    following = next((i for i, step in enumerate(found) if not step.done), None)
    return [
        Step(step.title, step.text, step.url, step.done, "done" if step.done else "next" if i == following else "later")
        for i, step in enumerate(found)
    ]


def _steps(visit: Visit) -> Iterator[Step]:
    slug, user, edition = visit.challenge.slug, visit.user, visit.edition
    if visit.reads and edition.reading is not None:
        for task in _tasks(visit, edition.reading):
            yield Step(task.title, task.text, reverse(task.page, args=[slug]), done=task.done)
        return
    here = reverse("challenge", args=[slug])
    signed_in = user.is_authenticated
    yield Step("Create an account", "Or sign in.", f"{reverse('account_signup')}?next={here}", done=signed_in)
    verified = signed_in and EmailAddress.objects.filter(user=user, verified=True).exists()
    yield Step("Confirm your address", "By the link that was mailed to you.", reverse("account_email"), done=verified)
    yield _register(visit)
    agreed = visit.registration
    if edition.terms is not None:
        done = visit.accepted and agreed is not None and agreed.terms_version == edition.terms.version
        yield Step("Accept the terms", f"Version {edition.terms.version}.", reverse("terms", args=[slug]), done=done)
    yield Step(
        "Found a team, or join one",
        "Everything counts per team; alone, you are a team of one.",
        reverse("team", args=[slug]),
        done=visit.team is not None,
    )
    if releases_of(visit):
        fetched = signed_in and Download.objects.filter(challenge=visit.challenge, user=user).exists()
        yield Step("Download the data", "Each release has its own licence.", reverse("data", args=[slug]), done=fetched)
    yield _submit(visit)
    if edition.survey:
        saved = None if visit.team is None else SurveyAnswers.objects.filter(team=visit.team).first()
        done = saved is not None and not missing(edition.survey, saved.answers)
        text = "Without it, submissions to the phase that closes last are void."
        yield Step("Describe your method", text, reverse("survey", args=[slug]), done=done)


def _tasks(visit: Visit, reading: Reading) -> Iterator[own.Task]:
    """What a reader does, who takes no part."""
    study = Study.objects.filter(challenge=visit.challenge).first()
    person = visit.user if isinstance(visit.user, User) and not visit.preview else None
    reader = None if study is None or person is None else joining.reader_of(study, person)
    so_far = None if reader is None else own.done(reader, reading, len(visit.edition.stages))
    return own.tasks(reader, reading, so_far)


def _register(visit: Visit) -> Step:
    state = None if visit.registration is None else visit.registration.state
    text = "The organisers decide who takes part." if visit.challenge.approval else "It is open to everybody."
    if state == Registration.State.WAITING:
        text = "You have; now the organisers decide, and you get a mail."
    elif state == Registration.State.REFUSED:
        text = "The organisers did not accept your registration."
    return Step("Register", text, reverse("register", args=[visit.challenge.slug]), done=visit.accepted)


def _submit(visit: Visit) -> Step:
    slug = visit.challenge.slug
    mine = visit.team is not None and visit.submissions().filter(team=visit.team).exists()
    running = [phase for phase in visit.phases if phase.opens <= visit.now < phase.closes]
    coming = [phase for phase in visit.phases if visit.now < phase.opens]
    if running:
        phase = min(running, key=lambda one: one.closes)
        return Step("Submit", f"To {phase.title}.", reverse("submit", args=[slug, phase.name]), done=mine)
    text = f"{coming[0].title} is not open yet." if coming else "No phase is open."
    return Step("Submit", text, reverse("submissions", args=[slug]), done=mine)
