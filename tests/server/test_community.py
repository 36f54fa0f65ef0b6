"""News, the forum, links to code: who reads, who writes, who gets a mail."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core import mail
from django.core.cache import cache

from isocenter.server import decisions
from isocenter.server.markdown import rendered
from isocenter.server.models import (
    Access,
    Announcement,
    CodeLink,
    Decision,
    Membership,
    Notification,
    Post,
    Registration,
    Subscription,
    Topic,
)
from isocenter.server.pages.community.news import news_of
from isocenter.server.policy import Visit

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(autouse=True)
def nobody_wrote_yet() -> None:
    cache.clear()


@pytest.fixture
def posted(django_capture_on_commit_callbacks):
    """Post as somebody, and give the answer and the mails."""

    def post(world: Any, name: str, address: str, **form: Any) -> tuple[Any, list[Any]]:
        mail.outbox.clear()
        with django_capture_on_commit_callbacks(execute=True):
            answer = world.client(name).post(address, form)
        return answer, list(mail.outbox)

    return post


def announcement(world: Any, title: str, audience: str = "public", phase: str = "") -> Announcement:
    return Announcement.objects.create(
        challenge=world.challenge,
        title=title,
        text=f"About {title}.",
        audience=audience,
        phase=phase,
        made=world.at.now,
    )


def topic(world: Any, title: str = "Orientation?", author: str = "alice", *texts: str) -> Topic:
    one = Topic.objects.create(challenge=world.challenge, title=title, author=world.people[author], made=world.at.now)
    for text in texts or ("Is it LPS?",):
        Post.objects.create(topic=one, author=world.people[author], text=text, made=world.at.now)
    return one


# News


def test_news_are_for_their_audience(world) -> None:
    for audience in Announcement.Audience.values:
        announcement(world, f"for-{audience}", audience)
    Membership.objects.filter(user=world.people["bob"]).delete()

    def read(name: str) -> set[str]:
        page = world.client(name).get("/c/neck/news/").content.decode()
        return set(re.findall(r">for-(\w+)<", page))

    assert read("") == read("stranger") == read("reader") == {"public"}
    assert read("waiting") == {"public", "waiting"}
    assert read("bob") == {"public", "registered"}
    assert read("alice") == {"public", "registered", "teams"}
    assert read("organiser") == read("staff") == {"public", "registered", "teams", "waiting"}


def test_the_feed_has_what_everybody_may_read_for_whoever_asks(world) -> None:
    announcement(world, "Welcome")
    announcement(world, "Only for teams", "teams")
    announcement(world, "A secret", phase="final")
    answers = {world.client(name).get("/c/neck/news.atom").content for name in ("", "alice", "organiser")}
    assert len(answers) == 1
    feed = ElementTree.fromstring(answers.pop())
    assert [one.text for one in feed.iterfind(f"{ATOM}entry/{ATOM}title")] == ["Welcome"]
    assert feed.findtext(f"{ATOM}updated") == "2026-03-02T12:00:00+00:00"


def test_a_hidden_announcement_does_not_move_the_date_of_the_feed(world) -> None:
    empty = world.client().get("/c/neck/news.atom").content
    world.at.move(hours=5)
    announcement(world, "A secret", phase="final")
    assert world.client().get("/c/neck/news.atom").content == empty


def test_news_of_a_phase_appear_when_it_is_announced(world) -> None:
    one = announcement(world, "On the final", phase="final")
    assert news_of(Visit(world.people["alice"], world.challenge, world.at.now)) == []
    world.at.now = datetime(2026, 5, 10, tzinfo=UTC)
    assert news_of(Visit(world.people["alice"], world.challenge, world.at.now)) == [one]


def draft(**fields: Any) -> dict[str, Any]:
    return {"title": "News", "text": "**Hello**", "audience": "public", "phase": "", "action": "publish", **fields}


@pytest.mark.parametrize("name", ["alice", "stranger", "reader", "waiting"])
def test_only_organisers_announce(world, posted, name: str) -> None:
    answer, mails = posted(world, name, "/c/neck/news/new/", **draft(mail=["teams"]))
    assert answer.status_code == 403
    assert (mails, Announcement.objects.count()) == ([], 0)
    assert world.client().get("/c/neck/news/new/").status_code == 302


@pytest.mark.parametrize(
    ("statuses", "names"),
    [
        ([], []),
        (["teams"], ["alice", "carol"]),
        (["alone"], ["bob"]),
        (["waiting"], ["waiting"]),
        (["teams", "waiting"], ["alice", "carol", "waiting"]),
    ],
)
def test_mails_go_to_the_chosen_status_and_to_nobody_else(world, posted, statuses, names) -> None:
    Membership.objects.filter(user=world.people["bob"]).delete()
    Registration.objects.create(user=world.people["stranger"], challenge=world.challenge, state="refused")
    answer, mails = posted(world, "organiser", "/c/neck/news/new/", **draft(mail=statuses))
    assert answer.status_code == 302
    assert sorted(one.to[0] for one in mails) == [f"{name}@example.org" for name in names]
    assert all("**Hello**" in one.body for one in mails)
    assert Notification.objects.count() == len(names)
    assert Announcement.objects.get().author == world.people["organiser"]
    assert Decision.objects.get().what == "announce"
    assert f"mails to {len(names)} people" in Decision.objects.get().reason


def test_the_preview_says_how_many_get_a_mail_and_sends_nothing(world, posted) -> None:
    answer, mails = posted(world, "organiser", "/c/neck/news/new/", **draft(mail=["teams"], action="preview"))
    page = answer.content.decode()
    assert "3 people get a mail: members of teams." in page
    assert "<strong>Hello</strong>" in page
    assert "Publish and send 3 mails" in page
    assert (mails, Announcement.objects.count()) == ([], 0)
    form = world.client("organiser").get("/c/neck/news/new/").content.decode()
    assert "members of teams (3)" in form
    assert "waiting for a decision (1)" in form


def test_nobody_gets_a_mail_about_what_they_cannot_read(world, posted) -> None:
    answer, mails = posted(world, "organiser", "/c/neck/news/new/", **draft(audience="teams", mail=["waiting"]))
    assert answer.status_code == 400
    assert "cannot read" in answer.content.decode()
    assert (mails, Announcement.objects.count()) == ([], 0)


def test_an_announcement_on_a_phase_that_nobody_knows_is_mailed_to_nobody(world, posted) -> None:
    form = draft(title="The final", phase="final", mail=["teams"])
    page = posted(world, "organiser", "/c/neck/news/new/", **form | {"action": "preview"})[0].content.decode()
    assert "nobody gets a mail" in page
    _, mails = posted(world, "organiser", "/c/neck/news/new/", **form)
    assert (mails, Notification.objects.count(), Announcement.objects.count()) == ([], 0, 1)


@pytest.mark.parametrize(
    "wrong", [{"title": ""}, {"title": "x" * 201}, {"text": " "}, {"audience": "all"}, {"phase": "x"}]
)
def test_an_announcement_that_is_wrong_is_not_published(world, posted, wrong) -> None:
    answer, _ = posted(world, "organiser", "/c/neck/news/new/", **draft(**wrong))
    assert answer.status_code == 400
    assert Announcement.objects.count() == 0


# The forum


def test_everybody_reads_and_those_who_take_part_write(world, posted) -> None:
    one = topic(world)
    for name in ("", "stranger", "waiting", "reader", "alice"):
        assert "Orientation?" in world.client(name).get("/c/neck/forum/").content.decode()
        assert "Is it LPS?" in world.client(name).get(f"/c/neck/forum/{one.key}/").content.decode()
    for name, status in (("", 302), ("stranger", 403), ("waiting", 403), ("reader", 403)):
        assert posted(world, name, "/c/neck/forum/new/", title="x", text="y")[0].status_code == status
        assert posted(world, name, f"/c/neck/forum/{one.key}/reply/", text="y")[0].status_code == status
    assert (Topic.objects.count(), Post.objects.count()) == (1, 1)


def test_a_question_is_told_to_the_organisers_and_the_answer_to_who_asked(world, posted) -> None:
    answer, mails = posted(world, "alice", "/c/neck/forum/new/", title="Which  grid?", text="LPS or RAS?")
    assert [one.to for one in mails] == [["organiser@example.org"]]
    one = Topic.objects.get()
    assert (one.title, answer.url) == ("Which grid?", f"/c/neck/forum/{one.key}/")
    answer, mails = posted(world, "organiser", f"/c/neck/forum/{one.key}/reply/", text="LPS.")
    assert [one.to for one in mails] == [["alice@example.org"]]
    assert f"/c/neck/forum/{one.key}/" in mails[0].body
    assert answer.url.endswith(f"#post-{Post.objects.order_by('pk').last().key}")
    _, mails = posted(world, "alice", f"/c/neck/forum/{one.key}/reply/", text="Thanks.")
    assert [one.to for one in mails] == [["organiser@example.org"]]


def test_posts_of_organisers_are_marked(world) -> None:
    one = topic(world)
    assert "chip good" not in world.client("").get(f"/c/neck/forum/{one.key}/").content.decode()
    Post.objects.create(topic=one, author=world.people["organiser"], text="LPS.", made=world.at.now)
    assert world.client("").get(f"/c/neck/forum/{one.key}/").content.decode().count("chip good") == 1


def test_what_is_written_can_do_no_harm(world, posted) -> None:
    posted(world, "alice", "/c/neck/forum/new/", title="<b>x</b>", text="<img src=x onerror=alert(1)> **fine**")
    page = world.client("").get(f"/c/neck/forum/{Topic.objects.get().key}/").content.decode()
    assert "<b>x</b>" not in page
    assert "<img src=x" not in page
    assert "<strong>fine</strong>" in page


@pytest.mark.parametrize(
    "form", [{"title": "", "text": "y"}, {"title": "x", "text": " "}, {"title": "x", "text": "y" * 20_001}]
)
def test_an_empty_or_endless_question_is_not_taken(world, posted, form) -> None:
    assert posted(world, "alice", "/c/neck/forum/new/", **form)[0].status_code == 400
    assert Topic.objects.count() == 0


def test_one_changes_what_one_wrote_oneself(world, posted) -> None:
    post = topic(world).posts.get()
    for name, status in (("carol", 404), ("organiser", 404), ("alice", 302)):
        assert posted(world, name, f"/c/neck/forum/posts/{post.key}/", text=f"by {name}")[0].status_code == status
    post.refresh_from_db()
    assert (post.text, post.edited) == ("by alice", world.at.now)
    assert "changed" in world.client("").get(f"/c/neck/forum/{post.topic.key}/").content.decode()


def test_a_hidden_post_is_there_for_organisers_only(world, posted) -> None:
    one = topic(world, "Orientation?", "alice", "Is it LPS?", "You are all wrong.")
    rude = one.posts.order_by("pk").last()
    address = f"/c/neck/forum/posts/{rude.key}/hide/"
    assert posted(world, "carol", address, does="hide", reason="rude")[0].status_code == 403
    posted(world, "organiser", address, does="hide", reason="")
    assert not Post.objects.filter(hidden=True).exists()
    posted(world, "organiser", address, does="hide", reason="It is rude.")
    for name in ("", "alice", "carol"):
        page = world.client(name).get(f"/c/neck/forum/{one.key}/").content.decode()
        assert "You are all wrong." not in page
        assert '<td class="number">1</td>' in world.client(name).get("/c/neck/forum/").content.decode()
        assert "Nothing was found" in world.client(name).get("/c/neck/forum/?q=all+wrong").content.decode()
    assert "You are all wrong." in world.client("organiser").get(f"/c/neck/forum/{one.key}/").content.decode()
    made = Decision.objects.get()
    assert (made.what, made.reason, made.actor) == ("hide a post", "It is rude.", world.people["organiser"].signed)
    assert posted(world, "alice", f"/c/neck/forum/posts/{rude.key}/", text="Sorry")[0].status_code == 404
    posted(world, "organiser", address, does="show", reason="A mistake.")
    assert "You are all wrong." in world.client("").get(f"/c/neck/forum/{one.key}/").content.decode()


def test_a_topic_with_everything_hidden_is_not_there(world, posted) -> None:
    one = topic(world, "Spam for sale")
    posted(world, "organiser", f"/c/neck/forum/{one.key}/moderate/", does="hide", reason="spam")
    assert "Spam" not in world.client("alice").get("/c/neck/forum/").content.decode()
    assert world.client("alice").get(f"/c/neck/forum/{one.key}/").status_code == 404
    assert posted(world, "alice", f"/c/neck/forum/{one.key}/reply/", text="x")[0].status_code == 404
    assert "Spam for sale" in world.client("organiser").get("/c/neck/forum/").content.decode()


def test_organisers_pin_and_close_with_a_reason(world, posted) -> None:
    old, new = topic(world, "An older one"), topic(world, "A younger one")
    address = f"/c/neck/forum/{old.key}/moderate/"
    posted(world, "organiser", address, does="pin", reason="Many ask.")
    posted(world, "organiser", address, does="close", reason="Answered.")
    posted(world, "organiser", address, does="close", reason="Twice.")
    page = world.client("").get("/c/neck/forum/").content.decode()
    assert page.index("An older one") < page.index("A younger one")
    assert [one.what for one in Decision.objects.all()] == ["pin a topic", "close a topic"]
    assert posted(world, "alice", f"/c/neck/forum/{old.key}/reply/", text="x")[0].status_code == 403
    assert posted(world, "alice", f"/c/neck/forum/posts/{old.posts.get().key}/", text="x")[0].status_code == 403
    assert posted(world, "organiser", f"/c/neck/forum/{old.key}/reply/", text="x")[0].status_code == 302
    assert posted(world, "alice", address, does="reopen", reason="x")[0].status_code == 403
    assert posted(world, "organiser", address, does="burn", reason="x")[0].status_code == 404
    assert new.posts.count() == 1
    assert len(decisions.entries(world.challenge)) == 2


def test_mails_about_a_topic_can_be_had_and_left(world, posted) -> None:
    one = topic(world)
    address = f"/c/neck/forum/{one.key}/mails/"
    posted(world, "carol", address, mails="yes")
    posted(world, "carol", address, mails="yes")
    assert Subscription.objects.count() == 1
    _, mails = posted(world, "bob", f"/c/neck/forum/{one.key}/reply/", text="I wonder too.")
    assert [one.to for one in mails] == [["carol@example.org"]]
    posted(world, "carol", address, mails="no")
    _, mails = posted(world, "bob", f"/c/neck/forum/{one.key}/reply/", text="Still.")
    assert mails == []
    assert posted(world, "", address, mails="yes")[0].status_code == 302
    assert not Subscription.objects.filter(user=world.people["carol"]).exists()


def test_nobody_floods_the_forum(world, posted) -> None:
    one = topic(world)
    for i in range(12):
        posted(world, "alice", f"/c/neck/forum/{one.key}/reply/", text=f"Again {i}")
        posted(world, "organiser", f"/c/neck/forum/{one.key}/reply/", text=f"No {i}")
    assert Post.objects.filter(author=world.people["alice"]).count() == 1 + 10
    assert Post.objects.filter(author=world.people["organiser"]).count() == 12


def test_long_topics_have_pages(world, posted) -> None:
    one = topic(world, "Long", "alice", *(f"Post {i}." for i in range(30)))
    answer, _ = posted(world, "bob", f"/c/neck/forum/{one.key}/reply/", text="The last.")
    assert f"/c/neck/forum/{one.key}/?page=2#post-" in answer.url
    assert "The last." not in world.client("").get(f"/c/neck/forum/{one.key}/").content.decode()
    assert "The last." in world.client("").get(f"/c/neck/forum/{one.key}/?page=2").content.decode()


def test_topics_of_another_challenge_are_not_there(world) -> None:
    from isocenter.server.models import Challenge

    other = Challenge.objects.create(slug="lung", salt=b"x", version=world.challenge.version, published=True)
    one = Topic.objects.create(challenge=other, title="Elsewhere", author=world.people["alice"])
    post = Post.objects.create(topic=one, author=world.people["alice"], text="x")
    assert world.client("organiser").get(f"/c/neck/forum/{one.key}/").status_code == 404
    assert world.client("alice").get(f"/c/neck/forum/posts/{post.key}/").status_code == 404


# Code


def link(world: Any, team: str = "Pilatus", phase: str = "validation", **fields: Any) -> CodeLink:
    return CodeLink.objects.create(
        team=world.teams[team], phase=phase, url=f"https://example.org/{team}/{phase}", made=world.at.now, **fields
    )


def seen(world: Any, name: str) -> bool:
    return "https://example.org/Pilatus/validation" in world.client(name).get("/c/neck/code/").content.decode()


def test_code_is_for_its_team_and_the_organisers_until_it_is_released(world) -> None:
    one = link(world)
    assert [name for name in ("", "stranger", "alice", "reader", "carol", "organiser") if seen(world, name)] == [
        "carol",
        "organiser",
    ]
    one.released = world.at.now
    one.save()
    assert all(seen(world, name) for name in ("", "stranger", "alice", "reader"))


def test_code_released_to_a_phase_is_for_those_whom_it_is_for(world) -> None:
    link(world, released=world.at.now, released_to="final")
    assert not seen(world, "alice")
    assert "everybody" not in world.client("carol").get("/c/neck/code/").content.decode().split("<table")[1]
    world.at.now = datetime(2026, 5, 13, tzinfo=UTC)
    assert not seen(world, "alice")
    Access.objects.create(team=world.teams["Rigi"], phase="final", invited=True)
    assert seen(world, "alice")
    assert not seen(world, "")
    assert not seen(world, "stranger")


def test_a_team_is_named_with_its_code_only_where_the_board_names_it(world) -> None:
    link(world, phase="test", released=world.at.now)

    def named(name: str) -> bool:
        return '<th scope="row">Pilatus</th>' in world.client(name).get("/c/neck/code/").content.decode()

    assert not named("")
    assert named("carol")
    world.at.now = datetime(2026, 5, 10, tzinfo=UTC)
    assert not named("")
    world.teams["Pilatus"].consents = True
    world.teams["Pilatus"].save()
    assert named("")


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "ftp://example.org/x", "example.org", "https://" + "x" * 300 + ".org"]
)
def test_only_addresses_of_the_web_are_taken(world, posted, url: str) -> None:
    posted(world, "alice", "/c/neck/code/", phase="validation", url=url)
    assert CodeLink.objects.count() == 0


def test_a_team_gives_changes_and_takes_back_its_link(world, posted) -> None:
    form = {"phase": "validation", "url": "https://example.org/a", "licence": "MIT"}
    posted(world, "alice", "/c/neck/code/", **form)
    posted(world, "bob", "/c/neck/code/", **form | {"url": "https://example.org/b"})
    assert CodeLink.objects.get().url == "https://example.org/b"
    posted(world, "bob", "/c/neck/code/", **form | {"url": ""})
    assert CodeLink.objects.count() == 0
    assert posted(world, "alice", "/c/neck/code/", **form | {"phase": "final"})[0].status_code == 404
    assert posted(world, "stranger", "/c/neck/code/", **form)[0].status_code == 403


def test_nobody_fetches_a_file_by_reading_a_post(world) -> None:
    """Who may download it would, and would stand in the log."""
    one = topic(world, "A question", "alice", "![a picture](/c/neck/data/r1/) and ![x][1]\n\n[1]: /c/neck/data/r2/")
    page = world.client("carol").get(f"/c/neck/forum/{one.key}/").content.decode()
    assert 'src="/c/neck/data/' not in page
    assert 'href="/c/neck/data/r1/"' in page
    assert "<img" in rendered("![a picture](/static/x.png)")  # organisers may, on their pages
