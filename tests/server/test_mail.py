"""Mails wait in a table until a worker sends them: nobody waits for a mail server, and none is lost meanwhile."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest
from django.core.mail import EmailMessage
from django.db import transaction

from isocenter.server import mail, notices
from isocenter.server.hosting import checks
from isocenter.server.models import Decision, Mail, Notification, Run
from isocenter.server.organising import running
from isocenter.server.work import delivering, holding, working

ALICE = "alice@example.org"


class Post(socketserver.ThreadingTCPServer):
    """A mail server that takes mails, or says what it is told to say."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mails: list[str] = []
        self.calls = 0
        self.to_recipient = "250 OK"
        self.most = 1000


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.server.calls += 1
        self._say("220 hello")
        while line := self.rfile.readline().decode().strip():
            match line.split()[0].upper():
                case "EHLO" | "HELO":
                    self._say("250 here")
                case "RCPT":
                    self._say(self.server.to_recipient)
                case "DATA":
                    if len(self.server.mails) >= self.server.most:
                        return  # hangs up
                    self._say("354 go on")
                    text = b""
                    while not text.endswith(b"\r\n.\r\n"):
                        text += self.rfile.readline()
                    self.server.mails.append(text.decode())
                    self._say("250 taken")
                case "QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 OK")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def post() -> Iterator[Post]:
    with Post() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()


def uses(settings, port: int) -> None:
    """The settings of `EMAIL_URL=smtp://127.0.0.1:port`."""
    from isocenter.server import environment

    for name, value in environment.mail(f"smtp://127.0.0.1:{port}", mailers=hasattr(settings, "MAILERS")).items():
        setattr(settings, name, value)


@pytest.fixture
def down(settings) -> int:
    """A site whose mail server does not answer."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    uses(settings, port)
    return port


def told(world, text="It is scored.") -> Mail:
    notices.notify([world.people["alice"]], text, mail=True)
    return Mail.objects.latest("pk")


def test_a_mail_waits_and_is_sent_by_a_worker(world, post, settings):
    uses(settings, post.server_address[1])
    one = told(world)
    assert (one.state, one.to, post.calls) == ("waiting", ALICE, 0)
    assert delivering.deliver() == 1
    one.refresh_from_db()
    assert (one.state, one.sent, one.problem) == ("sent", world.at.now, "")
    [text] = post.mails
    assert "Hello Alice," in text
    assert f"To: {ALICE}" in text
    assert "Auto-Submitted: auto-generated" in text
    assert delivering.deliver() == 0
    assert len(post.mails) == 1


def test_of_a_mail_that_was_sent_no_text_stays(world, post, settings):
    uses(settings, post.server_address[1])
    one = told(world, "A secret link.")
    delivering.deliver()
    one.refresh_from_db()
    assert one.text == ""
    page = world.client("staff").get(f"/staff/mails/{one.pk}/").content.decode()
    assert "is not kept" in page


def test_a_mail_is_as_true_as_what_it_tells_of(world, down):
    with transaction.atomic():
        told(world)
        transaction.set_rollback(True)
    assert not Mail.objects.exists()
    assert not Notification.objects.exists()


def test_a_mail_server_that_is_down_stops_nothing(world, down):
    world.scored("Rigi", "validation")
    world.at.move(days=31)
    assert running.due(world.at.now) == 1
    assert Decision.objects.filter(what=holding.OUT).exists()
    number = Mail.objects.filter(state="waiting").count()
    assert number >= 3
    with pytest.raises(delivering.Away):
        delivering.deliver()
    assert Mail.objects.filter(state="waiting", attempts=1).exclude(problem="").count() == number
    working.work(threading.Event(), name="a worker", once=True)
    assert not Run.objects.exclude(state=Run.State.DONE).exists()


def test_a_server_that_never_answers_is_not_even_asked_while_something_is_published(world, settings):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.settimeout(0.2)
        uses(settings, mute.getsockname()[1])
        world.scored("Rigi", "validation")
        world.at.move(days=31)
        assert running.due(world.at.now) == 1
        client = world.client()
        answer = client.post(
            "/accounts/signup/",
            {"email": "new@example.org", "name": "New", "password1": "a long pass 9", "password2": "a long pass 9"},
        )
        assert answer.status_code == 302
        assert Mail.objects.get(to="new@example.org").state == "waiting"
        with pytest.raises(TimeoutError):
            mute.accept()


def test_it_is_tried_again_ever_later_and_given_up_after_three_days(world, down):
    one = told(world)
    waits = []
    while one.state == "waiting":
        world.at.now = max(world.at.now, one.due)
        with pytest.raises(delivering.Away):
            delivering.deliver()
        one.refresh_from_db()
        waits.append((one.due - world.at.now).total_seconds() / 60)
        assert delivering.deliver() == 0  # not before it is due
    assert waits[:5] == [1, 2, 4, 8, 16]
    assert max(waits[:-1]) == 240
    assert 48 < sum(waits[:-1]) / 60 < 96
    assert (one.state, one.attempts) == ("failed", delivering.MOST_ATTEMPTS)
    assert one.text


def test_it_arrives_when_the_server_is_back_and_once(world, down, post, settings):
    one = told(world)
    with pytest.raises(delivering.Away):
        delivering.deliver()
    uses(settings, post.server_address[1])
    assert delivering.deliver() == 0
    world.at.move(minutes=2)
    assert delivering.deliver() == 1
    one.refresh_from_db()
    assert (one.state, len(post.mails)) == ("sent", 1)


def test_an_address_that_nobody_has_is_not_tried_again(world, post, settings):
    uses(settings, post.server_address[1])
    post.to_recipient = "550 no such person"
    one = told(world)
    assert delivering.deliver() == 0
    one.refresh_from_db()
    assert (one.state, one.problem) == ("failed", "550 no such person")


def test_a_server_that_says_later_is_asked_later(world, post, settings):
    uses(settings, post.server_address[1])
    post.to_recipient = "451 come back"
    one = told(world)
    assert delivering.deliver() == 0
    one.refresh_from_db()
    assert (one.state, one.problem) == ("waiting", "451 come back")
    post.to_recipient = "250 OK"
    world.at.move(minutes=2)
    assert delivering.deliver() == 1


def test_a_server_that_hangs_up_half_way_gets_the_rest_later(world, post, settings):
    uses(settings, post.server_address[1])
    post.most = 1
    notices.notify([world.people[name] for name in ("alice", "bob", "carol")], "Hello.", mail=True)
    with pytest.raises(delivering.Away):
        delivering.deliver()
    assert sorted(Mail.objects.values_list("state", flat=True)) == ["sent", "waiting", "waiting"]
    post.most = 1000
    world.at.move(minutes=2)
    assert delivering.deliver() == 2
    assert [sum(f"To: {name}@" in one for one in post.mails) for name in ("alice", "bob", "carol")] == [1, 1, 1]


def test_two_postmen_send_a_mail_once(world, post, settings):
    uses(settings, post.server_address[1])
    told(world)
    assert len(delivering._claim()) == 1
    assert delivering.deliver() == 0
    world.at.move(minutes=11)  # the first of them died
    assert delivering.deliver() == 1


def test_a_mail_that_is_sent_twice_has_one_name(world, down):
    one = told(world)
    first, second = (delivering._message(Mail.objects.get(pk=one.pk)) for _ in range(2))
    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]


def test_the_postman_has_a_thread_of_its_own_and_ends_with_his_worker(monkeypatch, settings):
    uses(settings, 1)
    stop, hangs, there = threading.Event(), threading.Event(), threading.Event()

    def deliver() -> int:
        there.set()
        hangs.wait(10)
        return 0

    monkeypatch.setattr(delivering, "deliver", deliver)
    monkeypatch.setattr(delivering.connection, "close", lambda: None)
    delivering.start(stop)
    assert there.wait(5)
    [thread] = [one for one in threading.enumerate() if one.name == "postman"]
    stop.set()
    hangs.set()
    thread.join(5)
    assert not thread.is_alive()


def test_a_site_without_a_mail_server_keeps_mails_and_starts_no_postman(world, settings):
    from isocenter.server import environment

    for name, value in environment.mail("", mailers=hasattr(settings, "MAILERS")).items():
        setattr(settings, name, value)
    one = told(world)
    assert (one.state, mail.are_kept(), mail.are_delivered()) == ("kept", True, False)
    delivering.start(threading.Event())
    assert not [one for one in threading.enumerate() if one.name == "postman"]
    delivering.deliver_all()
    one.refresh_from_db()
    assert one.state == "kept"


def test_every_recipient_has_a_mail_of_their_own(world, down):
    mail.send([EmailMessage("Hello", "text", to=["a@example.org", "b@example.org"], bcc=["c@example.org"])])
    assert sorted(Mail.objects.values_list("to", flat=True)) == ["a@example.org", "b@example.org", "c@example.org"]


# Staff


def test_staff_see_what_waits_and_why(world, down):
    one = told(world)
    with pytest.raises(delivering.Away):
        delivering.deliver()
    page = world.client("staff").get("/staff/mails/", {"state": "waiting"}).content.decode()
    assert "refused" in page
    assert ALICE in page
    assert ALICE not in world.client("staff").get("/staff/mails/", {"state": "sent"}).content.decode()
    assert "tried 1 time" in world.client("staff").get(f"/staff/mails/{one.pk}/").content.decode().lower().replace(
        "</dt><dd>", " "
    )
    world.at.move(minutes=20)
    [found] = [one for one in checks.findings() if "mail" in one.title.lower()]
    assert found.state == "bad"
    assert "refused" in found.advice


def test_staff_send_again_what_came_to_nothing(world, post, settings):
    uses(settings, post.server_address[1])
    post.to_recipient = "550 no such person"
    one = told(world)
    delivering.deliver()
    [found] = [one for one in checks.findings() if "mail" in one.title.lower()]
    assert found.state == "warn"
    post.to_recipient = "250 OK"
    address = f"/staff/mails/{one.pk}/again/"
    assert world.client("alice").post(address).status_code == 403
    assert delivering.deliver() == 0
    assert world.client("staff").post(address).status_code == 302
    assert delivering.deliver() == 1
    world.client("staff").post(address)
    assert delivering.deliver() == 0


def test_the_list_of_what_was_sent_is_forgotten_after_a_month(world, post, settings):
    uses(settings, post.server_address[1])
    told(world)
    delivering.deliver()
    waits = told(world)
    world.at.move(days=29)
    assert delivering.forget() == 0
    world.at.move(days=2)
    assert delivering.forget() == 1
    assert Mail.objects.get() == waits
