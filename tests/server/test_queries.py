"""How often a page asks the database does not depend on how many teams and submissions there are."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conftest import World
from isocenter.server.models import (
    Announcement,
    Evaluation,
    Membership,
    Notification,
    Post,
    Registration,
    Submission,
    Team,
    Topic,
    User,
    Worker,
)
from isocenter.server.work import making, queue

FEW, MANY = 20, 60
PAGES = {
    "": """/ ./ rules/ data/ boards/ boards/validation/dice/ boards/at/{past}/ progress/validation/ forum/ news/
           boards/validation/dice/board.csv /api/v1/challenges /api/v1/challenges/neck/boards/validation/dice
           /api/v1/challenges/neck/boards/validation/dice/history""",
    "alice": """/ ./ rules/ data/ boards/validation/dice/ progress/validation/ forum/ forum/{topic}/ submissions/
                submissions/live/ submissions/{one}/ compare/ compare/?a={one}&b={two} team/ submit/validation/
                /notifications/ /account/ /api/v1/challenges/neck/submissions
                /api/v1/challenges/neck/submissions/{one}""",
    "organiser": """./ boards/validation/dice/ progress/validation/ submissions/ submissions/{one}/
                    compare/?a={one}&b={two} organise/ organise/submissions/ organise/teams/ organise/participants/
                    organise/publishing/ organise/decisions/ organise/requests/ organise/data/ organise/roles/
                    /api/v1/challenges/neck/submissions?limit=100""",
    "staff": "/ /staff/ /staff/users/ /staff/challenges/ /staff/mails/",
}


@pytest.fixture
def busy(world: World, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets the world have so many teams, and the team of alice so many submissions; with boards, past and present."""
    monkeypatch.setattr(making, "REPLICATES", 100)
    world.teams["Rigi"].submissions.all().delete()
    template = world.scored("Pilatus", "validation", 3).evaluations.get()
    topic = Topic.objects.create(challenge=world.challenge, title="Orientation?", author=world.people["alice"])

    def grow(count: int) -> dict[str, str]:
        cache.clear()
        for number in range(Team.objects.count() - 2, count):
            user = User.objects.create_user(f"person-{number}@example.org", name=f"Person {number}")
            Registration.objects.create(user=user, challenge=world.challenge, state="accepted", terms_version="1")
            team = Team.objects.create(challenge=world.challenge, name=f"Team {number}")
            Membership.objects.create(user=user, team=team, challenge=world.challenge, leads=True)
            scored(world, team, template)
            scored(world, world.teams["Rigi"], template)
            Post.objects.create(topic=topic, author=user, text="So it is.")
            Topic.objects.create(challenge=world.challenge, title=f"Question {number}", author=user)
            Announcement.objects.create(challenge=world.challenge, title=f"News {number}", text="Look.")
            Notification.objects.create(user=world.people["alice"], challenge=world.challenge, text=f"No. {number}")
            world.at.move(minutes=1)
            if number % 5 == 0:
                making.make_boards(world.challenge, "validation")
        own = Submission.objects.filter(team=world.teams["Rigi"]).order_by("-made")
        past = world.challenge.snapshots.order_by("made").first()
        return {"one": str(own[0].pk), "two": str(own[1].pk), "past": past.face, "topic": str(topic.key)}

    return grow


def scored(world: World, team: Team, template: Evaluation) -> None:
    """One more submission of a team, with the scores of another."""
    number = team.submissions.count() + 1
    one = Submission.objects.create(
        challenge=world.challenge,
        team=team,
        phase="validation",
        number=number,
        version=world.challenge.version,
        made=world.at.now,
        name="answers.zip",
        file="submissions/none.zip",
        size=1,
        sha256="0" * 64,
        declarations={},
        state="scored",
    )
    values = {"dice": 0.5 + Evaluation.objects.count() / 1000}
    Evaluation.objects.create(
        submission=one,
        evaluator=template.evaluator,
        reference=template.reference,
        table=template.table,
        digest=template.digest,
        record=template.record,
        values=values,
        made=world.at.now,
    )


def asked(world: World, name: str, page: str) -> list[str]:
    """What a page asks the database, by the kind of question."""
    client = world.client(name)
    address = page if page.startswith("/") else f"/c/neck/{page.removeprefix('./')}"
    with CaptureQueriesContext(connection) as found:
        response = client.get(address)
        assert response.status_code == 200, address
        _ = b"".join(response) if response.streaming else response.content
    return [query["sql"] for query in found.captured_queries]


def kinds(queries: list[str]) -> Counter[str]:
    """Questions without what they are about."""
    return Counter(query.partition(" WHERE ")[0][:300] for query in queries)


@pytest.mark.parametrize("name", PAGES)
def test_pages_ask_as_often_of_sixty_teams_as_of_twenty(busy, world, name):
    before = {}
    words = busy(FEW)
    for page in PAGES[name].split():
        before[page] = asked(world, name, page.format(**words))
    words = busy(MANY)
    more = {}
    for page in PAGES[name].split():
        after = asked(world, name, page.format(**words))
        if len(after) > len(before[page]):
            more[page] = dict(kinds(after) - kinds(before[page]))
    assert more == {}


def test_a_list_of_submissions_that_wait_asks_as_often_however_many_they_are(busy, world):
    busy(2)
    Worker.objects.create(name="w", version="0", started=world.at.now, seen=world.at.now)
    queue.enqueue("score", world.challenge, submission=world.submission("Pilatus", "validation"))
    run = queue.claim("w", ["default"])
    world.at.move(seconds=9)
    queue.finish(run)

    def waiting(count: int) -> int:
        while world.teams["Rigi"].submissions.filter(state="queued").count() < count:
            one = world.submission("Rigi", "validation")
            queue.enqueue("score", world.challenge, submission=one)
        lists = (("alice", "submissions/"), ("alice", "submissions/live/"), ("organiser", "submissions/"))
        return sum(len(asked(world, name, page)) for name, page in lists)

    few = waiting(4)
    assert waiting(12) == few
    assert "number 12 in the queue, done in about 2 minutes" in world.client("alice").get("/c/neck/submissions/").text
