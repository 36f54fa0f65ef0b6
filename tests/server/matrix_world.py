"""A world in which everything exists: phases of every visibility with results of two teams, and what goes with them.

`test_matrix` and `test_leaks` build it once per module, in a transaction, and send thousands of requests to it; what a
request changes is undone after it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import reverse

from conftest import CASES, GRID, PEOPLE, Clock, World, mask, zipped
from isocenter import evaluation
from isocenter.ranking import table_digest
from isocenter.server import clock
from isocenter.server.editions import code_of, edition_of
from isocenter.server.models import (
    Access,
    Announcement,
    Artefact,
    Challenge,
    CodeLink,
    Evaluation,
    Invitation,
    Mail,
    Membership,
    Notification,
    Post,
    Reference,
    Registration,
    Release,
    Role,
    Submission,
    Team,
    Token,
    Topic,
    Upload,
    User,
    Version,
)
from isocenter.server.work import making, queue
from isocenter.server.work.score_tables import table_bytes, values_of
from isocenter.volumes import Volume, write

PHASES = ("public", "own", "hidden", "asked", "secret")
"""By what is seen of them before the results: all, the own row, nothing; "asked" as "own", for who asked to take part;
and one that nobody is told of in any of the states."""

KEPT = "public.kept"
"""A further cohort of the public phase, of whose results nobody knows before they are out."""

STATES = {
    "unannounced": datetime(2026, 2, 15, 12, tzinfo=UTC),
    "announced": datetime(2026, 3, 15, 12, tzinfo=UTC),
    "open": datetime(2026, 4, 15, 12, tzinfo=UTC),
    "closed": datetime(2026, 5, 5, 12, tzinfo=UTC),
    "out": datetime(2026, 5, 15, 12, tzinfo=UTC),
}
VIEWERS = {
    "anonymous": "",
    "stranger": "stranger",
    "waiting": "waiting",
    "other": "carol",
    "mate": "bob",
    "leader": "alice",
    "reader": "reader",
    "organiser": "organiser",
    "staff": "staff",
}
LICENCE = "For research alone."
DOCUMENT = b"%PDF-1.4 a request"
CSRF = "c" * 32
LATER = datetime(2100, 1, 1, tzinfo=UTC)

_PHASE = """
[[phases]]
name = "{name}"
title = "The {name} phase"
announced = {announced}
opens = 2026-04-01T00:00:00Z
closes = 2026-05-01T00:00:00Z
results = 2026-05-10T00:00:00Z
quota = 9
counts = "{counts}"
visibility = "{visibility}"
admission = "{admission}"
"""
_MORE = """
[policies]
organisers = "unlisted"
announce = 1

[[prizes]]
place = 1
amount = "500"
currency = "EUR"
phase = "public"

[[bonuses]]
title = "Best poster"
amount = "100"
currency = "EUR"
phase = "public"

[terms]
version = "1"
text = "Be fair."

[[declarations]]
name = "external_data"
label = "Other data"
kind = "text"
required = true

[[survey]]
name = "method"
label = "Method"
kind = "text"

[[equity]]
name = "gender"
label = "Gender"
kind = "choice"
choices = ["Woman", "Man"]
"""


def toml(*more: str) -> str:
    """The edition; with phases that nobody is told of, by their names, besides."""
    head = 'challenge = "hecktor2020"\ntitle = "Tumours of the neck"\n'
    kinds = {
        "public": ("2026-03-01T00:00:00Z", "best", "public", "open"),
        "own": ("2026-03-01T00:00:00Z", "chosen", "own", "open"),
        "hidden": ("2026-03-01T00:00:00Z", "last", "hidden", "open"),
        "asked": ("2026-03-01T00:00:00Z", "last", "own", "request"),
    }
    names = ("announced", "counts", "visibility", "admission")
    known = "".join(_PHASE.format(name=name, **dict(zip(names, kind, strict=True))) for name, kind in kinds.items())
    known = known.replace('\n[[phases]]\nname = "own"', f'{_COHORT}\n[[phases]]\nname = "own"')
    late = "".join(_LATE.format(name=name) for name in ("secret", *more))
    return head + known + late + _MORE


_COHORT = """
[[phases.cohorts]]
name = "kept"
title = "Kept back"
"""
_LATE = """
[[phases]]
name = "{name}"
title = "The {name} phase"
announced = 2027-01-01T00:00:00Z
opens = 2027-02-01T00:00:00Z
closes = 2027-03-01T00:00:00Z
results = 2027-03-10T00:00:00Z
visibility = "own"
"""


@dataclass(repr=False)
class Matrix(World):
    """The world, and the rows that addresses of it name."""

    sent: dict[tuple[str, str], Submission] = field(default_factory=dict)
    waiting: Submission = field(default=None)  # type: ignore[assignment]
    topics: dict[str, Topic] = field(default_factory=dict)
    posts: dict[str, Post] = field(default_factory=dict)
    news: dict[str, Announcement] = field(default_factory=dict)
    releases: dict[str, Release] = field(default_factory=dict)
    artefacts: dict[str, Artefact] = field(default_factory=dict)
    uploads: dict[tuple[str, str], Upload] = field(default_factory=dict)
    accesses: dict[str, Access] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    clients: dict[str, Browser] = field(default_factory=dict)

    def go(self, state: str) -> None:
        """Move the clock into a state of the phases."""
        self.at.now = STATES[state]

    def upload(self, viewer: str, phase: str) -> Upload:
        """A file that somebody has sent for a phase; its bytes are there, whatever became of them before."""
        one = self.uploads[viewer, phase]
        path = self.data / "uploads" / str(one.pk)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(self.zip)
        return one

    zip: bytes = b""

    def __repr__(self) -> str:
        return "the world"


@dataclass(frozen=True)
class Answer:
    """What came back, and what it cost: the queries, the writes among them, and files that are other than before."""

    response: HttpResponse
    body: bytes
    queries: list[str]
    writes: list[str]
    files: bool

    @property
    def cell(self) -> str:
        """As the table has it: the status, "login" for the way to the page to sign in, and * if something changed."""
        response = self.response
        to_login = response.status_code == 302 and response["Location"].startswith("/accounts/login/")
        status = "login" if to_login else str(response.status_code)
        return f"{status}{'*' if self.writes or self.files else ''}"


@contextmanager
def undone() -> Iterator[None]:
    """Whatever happens within did not happen afterwards."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def forget_versions() -> None:
    """Keys of versions that were undone are used again."""
    edition_of.cache_clear()
    code_of.cache_clear()


@contextmanager
def watched() -> Iterator[list[str]]:
    """All statements that are sent to the database."""
    seen: list[str] = []

    def look(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(look):
        yield seen


def writes_of(statements: list[str]) -> list[str]:
    """Those that change something; the session of who asks is theirs."""
    found = [sql for sql in statements if sql.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE"))]
    return [sql for sql in found if "django_session" not in sql]


def tree(folder: Path | str) -> dict[str, tuple[int, int]]:
    """All files, with their sizes and when they were written."""
    found = {}
    for entry in os.scandir(folder):
        if entry.is_dir():
            found |= tree(entry.path)
        else:
            found[entry.path] = (entry.stat().st_size, entry.stat().st_mtime_ns)
    return found


class Browser(Client):
    """A client that keeps the cookies that it has, whoever signs out, and that is quick: it copies no context."""

    def request(self, **request: Any) -> HttpResponse:
        """The answer to a request."""
        return self.handler(self._base_environ(**request))


def build(data: Path, scratch: Path, at: Clock) -> Matrix:
    """Everything, as of a moment at which the phases are open."""
    at.now = STATES["open"] - timedelta(days=5)
    people = {
        name: User.objects.create_user(f"{name}@example.org", "pass", name=name.title(), is_staff=name == "staff")
        for name in PEOPLE
    }
    from allauth.account.models import EmailAddress

    EmailAddress.objects.bulk_create(
        EmailAddress(user=user, email=user.email, verified=True, primary=True) for user in people.values()
    )
    early = STATES["unannounced"]
    challenge = Challenge.objects.create(slug="neck", published=True, salt=b"a secret of the edition", made=early)
    challenge.version = Version.objects.create(
        challenge=challenge,
        number=1,
        toml=toml(),
        pages=[{"name": name, "title": name.title(), "text": f"# {name}"} for name in ("about", "more")],
        cohort=[
            {"phase": phase, "case": case, "stage": f"T{n}"}
            for phase in (*PHASES, KEPT)
            for n, case in enumerate(CASES)
        ],
        made=early,
    )
    challenge.save()
    Role.objects.create(user=people["organiser"], challenge=challenge, kind=Role.Kind.ORGANISER)
    Role.objects.create(user=people["reader"], challenge=challenge, kind=Role.Kind.READER)
    for name in ("alice", "bob", "carol"):
        Registration.objects.create(
            user=people[name],
            challenge=challenge,
            state="accepted",
            terms_version="1",
            terms_accepted=early,
            equity_asked=True,
            made=early,
        )
    Registration.objects.create(user=people["waiting"], challenge=challenge, made=early)
    teams = {name: Team.objects.create(challenge=challenge, name=name, made=early) for name in ("Rigi", "Pilatus")}
    for name, team in (("alice", "Rigi"), ("bob", "Rigi"), ("carol", "Pilatus")):
        Membership.objects.create(
            user=people[name], team=teams[team], challenge=challenge, leads=name != "bob", joined=early
        )
    world = Matrix(challenge, people, teams, data, at, scratch)
    world.zip = zipped(dict.fromkeys(CASES, 2), scratch / "zip")
    _references(world)
    _results(world)
    _data(world)
    _said(world)
    _ways_in(world)
    return world


def _references(world: Matrix) -> None:
    for name, size in (("1", 4), ("kept", 3)):
        folder = world.data / "references" / "neck" / name
        folder.mkdir(parents=True)
        for case in CASES:
            write(Volume(mask(size), GRID), folder / f"{case}.nii.gz")
        (folder / "cases.csv").write_text("case\n" + "\n".join(CASES))
    for phase in (*PHASES, KEPT):
        world.references[phase] = Reference.objects.create(
            challenge=world.challenge,
            phase=phase,
            number=1,
            folder="references/neck/kept" if phase == KEPT else "references/neck/1",
            digest="0" * 64,
            cases=list(CASES),
            made=STATES["unannounced"],
        )


def _results(world: Matrix) -> None:
    """In every phase a scored submission of both teams, and the boards of them; and one of Rigi that waits."""
    for phase in PHASES:
        for team, size in (("Rigi", 4), ("Pilatus", 3)):
            author = world.people["alice" if team == "Rigi" else "carol"]
            sizes = dict(zip(CASES, (size, 3, 1 + PHASES.index(phase)), strict=True))
            world.sent[team, phase] = world.scored(team, phase, sizes, author=author, nominated=phase == "own")
        making.make_boards(world.challenge, phase)
    for team in ("Rigi", "Pilatus"):
        score_on_cohort(world, world.sent[team, "public"])
    making.make_boards(world.challenge, KEPT)
    world.waiting = world.submission("Rigi", "public", author=world.people["alice"])
    queue.enqueue("score", world.challenge, submission=world.waiting)


def score_on_cohort(world: Matrix, one: Submission, file: Path | None = None) -> Evaluation:
    """The scores of a submission on the cohort that is kept back; of another file, as if it had been that one."""
    code = code_of(one.version_id, KEPT)
    reference = world.references[KEPT]
    found = evaluation.evaluate(
        code, reference=world.data / reference.folder, submission=file or world.data / str(one.file)
    )
    content = {
        "table": table_bytes(found.scores, found.record),
        "digest": table_digest(found.scores),
        "record": found.record,
        "values": values_of(code, found.scores),
        "made": one.made,
    }
    made, _ = Evaluation.objects.update_or_create(
        submission=one, evaluator=found.record["code"], reference=reference, defaults=content
    )
    return made


def _data(world: Matrix) -> None:
    """A release of every phase, one of none, one with a licence; a report of every phase, and some that stay hidden."""
    (world.data / "releases").mkdir()
    stream = io.BytesIO(world.zip)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("notes.txt", "Masks of all cases.")
    content = stream.getvalue()
    for name in (*PHASES, "free", "licensed"):
        (world.data / "releases" / f"{name}.zip").write_bytes(content)
        world.releases[name] = Release.objects.create(
            challenge=world.challenge,
            phase=name if name in PHASES else "",
            title=f"Images, {name}",
            name=f"{name}.zip",
            file=f"releases/{name}.zip",
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            licence=LICENCE if name == "licensed" else "",
            made=STATES["unannounced"],
        )
    notes: dict[str, tuple[str, list[str], bool, bool]] = {
        **{phase: ("report", [phase], True, True) for phase in PHASES},
        "with the cohort": ("report", ["public", KEPT], True, True),
        "unpublished": ("report", ["public"], True, False),
        "with all names": ("report", ["public"], False, True),
        "archive": ("archive", list(PHASES), False, False),
    }
    for name, (kind, phases, everybody, published) in notes.items():
        key = uuid.uuid5(uuid.NAMESPACE_URL, name)
        folder = world.data / "artefacts" / str(key)
        folder.mkdir(parents=True)
        (folder / "report.html").write_text(f"<h1>{name}</h1>")
        (folder / "artefact.json").write_text(json.dumps({"phases": phases, "everybody": everybody, "why": ""}))
        world.artefacts[name] = Artefact.objects.create(
            id=key,
            challenge=world.challenge,
            phase=phases[0] if kind == "report" else "",
            kind=kind,
            folder=f"artefacts/{key}",
            published=published,
        )


def _said(world: Matrix) -> None:
    """News of every phase and for every audience, topics in every state, links to code, notifications, a mail."""
    challenge, people, early = world.challenge, world.people, STATES["unannounced"]
    given = {phase: {"phase": phase} for phase in PHASES}
    given |= {f"for {audience}": {"audience": audience} for audience in Announcement.Audience.values}
    for name, fields in given.items():
        world.news[name] = Announcement.objects.create(
            challenge=challenge, title=f"News {name}", text="All.", author=people["organiser"], made=early, **fields
        )
    for name in ("plain", "closed", "hidden"):
        topic = Topic.objects.create(
            challenge=challenge, title=f"A {name} one", author=people["alice"], closed=name == "closed", made=early
        )
        world.topics[name] = topic
        world.posts[name] = Post.objects.create(
            topic=topic, author=people["alice"], text="How?", hidden=name == "hidden", made=early
        )
    for phase, released in (("public", early), ("own", None), ("secret", early)):
        CodeLink.objects.create(
            team=world.teams["Rigi"], phase=phase, url=f"https://example.org/{phase}", released=released, made=early
        )
    for name in ("alice", "bob", "carol"):
        Notification.objects.create(user=people[name], challenge=challenge, text="Hello.", url="/c/neck/", made=early)
    Mail.objects.create(to="alice@example.org", subject="Hello", text="Hello.", made=early)


def _ways_in(world: Matrix) -> None:
    """Requests to take part, an invitation, tokens, files on their way, and browsers."""
    (world.data / "documents").mkdir()
    (world.data / "documents" / "rigi.pdf").write_bytes(DOCUMENT)
    for team, state, document in (("Rigi", "granted", "documents/rigi.pdf"), ("Pilatus", "waiting", "")):
        world.accesses[team] = Access.objects.create(
            team=world.teams[team], phase="asked", state=state, text="Please.", document=document
        )
    Invitation.objects.create(
        team=world.teams["Rigi"],
        email="stranger@example.org",
        hash=Token.hashed("an invitation"),
        made=STATES["unannounced"],
        expires=LATER,
    )
    for viewer, name in VIEWERS.items():
        client = Browser(enforce_csrf_checks=True)
        client.cookies["csrftoken"] = CSRF
        world.clients[viewer] = client
        if not name:
            continue
        user = world.people[name]
        client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
        client.post(reverse("account_reauthenticate"), {"password": "pass"}, headers={"X-CSRFToken": CSRF})
        token, secret = Token.make(user, "A program")
        Token.objects.filter(pk=token.pk).update(used=LATER)
        world.tokens[viewer] = secret
        for phase in PHASES:
            world.uploads[viewer, phase] = Upload.objects.create(
                user=user,
                challenge=world.challenge,
                phase=phase,
                name="masks.zip",
                size=len(world.zip),
                received=len(world.zip),
                sha256=hashlib.sha256(world.zip).hexdigest(),
            )
            world.upload(viewer, phase)
    cache.clear()


@pytest.fixture(scope="module", name="site")
def shared(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    """The world, once for all tests of a module."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "data").mkdir()
    at = Clock()
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "source", lambda: at.now)
        with override_settings(DATA=folder / "data"), transaction.atomic():
            yield build(folder / "data", folder / "scratch", at)
            transaction.set_rollback(True)


@pytest.fixture(name="world")
def as_it_was(site: Matrix, data: Path, settings: Any) -> Matrix:
    """The same, in the folder of its own rather than in that of the test."""
    settings.DATA = site.data
    settings.DEBUG_PROPAGATE_EXCEPTIONS = True
    settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = 3600
    cache.clear()
    return site
