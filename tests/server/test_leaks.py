"""What is hidden shows nowhere: two worlds that differ only in it answer the same, to the byte, at the same cost.

    the world ─┬─ something that a viewer may not know ─┬─ what happens afterwards, and may be known ──▶ all answers
               └────────────────────────────────────────┘                                               must be equal

Answers are compared with all their headers; of what differs by chance, the masks of CSRF tokens and the moment at which
a cookie or a page expires are left out. The number of queries is compared too, as work that is done for hidden rows
takes time. What happens afterwards are new rows that the viewer has a right to, whose keys would tell how many others
were made in between.
"""

from __future__ import annotations

import gzip
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.core import mail
from django.core.cache import cache
from django.core.management.color import no_style
from django.db import connection
from django.test import TestCase
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matrix_asks import ADDRESSES, ROWS, Row, ask_for, send
from matrix_world import (  # noqa: F401 (fixtures)
    KEPT,
    STATES,
    Answer,
    Matrix,
    as_it_was,
    score_on_cohort,
    shared,
    toml,
    undone,
)

from conftest import CASES, zipped
from isocenter import evaluation
from isocenter.problems import Problem
from isocenter.ranking import table_digest
from isocenter.server import notices
from isocenter.server.editions import code_of, edition_of
from isocenter.server.models import (
    Access,
    Announcement,
    Artefact,
    Challenge,
    CodeLink,
    Decision,
    Download,
    EquityAnswers,
    Evaluation,
    Grant,
    Membership,
    Notification,
    Post,
    Reference,
    Registration,
    Release,
    Run,
    Snapshot,
    Submission,
    SurveyAnswers,
    Team,
    Token,
    Topic,
    Upload,
    User,
    Version,
)
from isocenter.server.organising import running, versioning
from isocenter.server.submitting import showing
from isocenter.server.work import faults, making, queue, reasons, score_tables, scoring
from isocenter.server.work.in_force import evaluator_of, on_cohort
from isocenter.server.work.score_tables import table_bytes, values_of

pytestmark = pytest.mark.django_db

OUTSIDERS = ("anonymous", "stranger", "other", "mate", "reader")
SOME = ("anonymous", "other", "mate")
HIDING = ("own", "hidden", "asked")
"""The phases of which something is hidden until the results are out."""


def _is_looked_at(row: Row) -> bool:
    """Whether a row is asked for here: by GET, and not of organisers or staff, who may know everything."""
    return row.method == "GET" and not all(row.cells[viewer] in ("403", "login", "401") for viewer in OUTSIDERS)


LOOKS = [row for row in ROWS if _is_looked_at(row)]


# What may not be known


Differ = Callable[[Matrix], None]


def rescored(world: Matrix, one: Submission, sizes: tuple[int, ...]) -> None:
    """Give a submission other results, as if it had been another file from the beginning."""
    folder = world.scratch / uuid.uuid4().hex
    file = folder / "other.zip"
    content = zipped(dict(zip(CASES, sizes, strict=True)), folder)
    file.write_bytes(content)
    code = code_of(one.version_id, one.phase)
    reference = world.data / world.references[one.phase].folder
    found = evaluation.evaluate(code, reference=reference, submission=file)
    for row in one.evaluations.filter(on_cohort("")):
        row.table, row.digest = table_bytes(found.scores, found.record), table_digest(found.scores)
        row.values = values_of(code, found.scores)
        row.save()


def boards_again(world: Matrix, *phases: str) -> None:
    """The boards of phases as if they had been made of what there is now."""
    for phase in phases:
        made = Snapshot.objects.filter(challenge=world.challenge, phase=phase)
        moments = dict(made.values_list("board", "made"))
        made.delete()
        for one in making.make_boards(world.challenge, phase):
            Snapshot.objects.filter(pk=one.pk).update(made=moments.get(one.board, one.made))


def _other_scores(world: Matrix, team: str, *phases: str) -> None:
    """The last is first, and the first is last."""
    for phase in phases:
        rescored(world, world.sent[team, phase], (4, 4, 4) if team == "Pilatus" else (1, 4, 3))
    boards_again(world, *phases)


def _results_that_nobody_sees(world: Matrix) -> None:
    for team in ("Rigi", "Pilatus"):
        _other_scores(world, team, "hidden", "secret")


def _results_on_the_cohort(world: Matrix) -> None:
    """The last is first on the cohort that is kept back, and its boards were made more often."""
    for team, sizes in (("Pilatus", (3, 3, 3)), ("Rigi", (1, 1, 2))):
        folder = world.scratch / uuid.uuid4().hex
        content = zipped(dict(zip(CASES, sizes, strict=True)), folder)
        (folder / "other.zip").write_bytes(content)
        score_on_cohort(world, world.sent[team, "public"], folder / "other.zip")
    boards_again(world, KEPT)
    last = Snapshot.objects.filter(phase=KEPT).latest("made")
    Snapshot.objects.create(
        challenge=world.challenge,
        phase=KEPT,
        board=last.board,
        version=last.version,
        content=last.content | {"rows": last.content["rows"][:1]},
        digest="k",
        made=last.made - timedelta(hours=1),
    )


def _nothing_on_the_cohort(world: Matrix) -> None:
    """No submission has a score on the cohort: its reference came later, was mended, and the evaluator failed on it."""
    Evaluation.objects.filter(reference__phase=KEPT).delete()
    Snapshot.objects.filter(phase=KEPT).delete()
    Reference.objects.create(
        challenge=world.challenge,
        phase=KEPT,
        number=2,
        folder="references/neck/kept",
        digest="f" * 64,
        cases=list(CASES),
        note="Mended.",
    )
    cause = Problem(
        "unusable", "SECRET of the cohort", "CHUV001", code="evaluator_failed", origin="evaluator", detail="SECRET"
    )
    for team in ("Rigi", "Pilatus"):
        run = Run.objects.create(
            kind="score", challenge=world.challenge, submission=world.sent[team, "public"], cohort="kept",
            state="failed", reason="evaluator_failed", detail="SECRET", finished=world.at.now,
        )  # fmt: skip
        faults.record(run, [cause], evaluator="e" * 64, reference=None)


def _results_of_the_other_team(world: Matrix) -> None:
    _other_scores(world, "Pilatus", *HIDING)


def _results_of_the_own_team(world: Matrix) -> None:
    _other_scores(world, "Rigi", *HIDING)


def _another(world: Matrix, team: Team, phase: str, sizes: tuple[int, ...], moment: timedelta) -> Submission:
    world.teams[team.name] = team
    before = world.at.now
    world.at.now = before + moment
    try:
        return world.scored(team.name, phase, dict(zip(CASES, sizes, strict=True)))
    finally:
        world.at.now = before


def _more_of_the_other_team(world: Matrix) -> None:
    for phase in HIDING:
        for n in range(3):
            _another(world, world.teams["Pilatus"], phase, (4, 4, 1 + n), timedelta(minutes=-n))
    Submission.objects.filter(team=world.teams["Pilatus"], phase="own").update(nominated=False)
    boards_again(world, *HIDING)


def _a_team_more(world: Matrix) -> None:
    """A team of somebody else, that handed in wherever it is hidden, and something of which nothing came."""
    person = User.objects.create_user("new@example.org", name="New")
    Registration.objects.create(user=person, challenge=world.challenge, state="accepted", terms_version="1")
    team = Team.objects.create(challenge=world.challenge, name="Säntis")
    Membership.objects.create(user=person, team=team, challenge=world.challenge, leads=True)
    for phase in HIDING:
        _another(world, team, phase, (4, 4, 4), timedelta(days=-1))
        for state in ("refused", "failed", "cancelled", "infrastructure"):
            world.submission("Säntis", phase, state=state)
    boards_again(world, *HIDING)


def _another_name(world: Matrix) -> None:
    """What the other team handed in is of a third one."""
    team = Team.objects.create(challenge=world.challenge, name="Titlis")
    Submission.objects.filter(team=world.teams["Pilatus"], phase__in=HIDING).update(team=team)
    boards_again(world, *HIDING)


def _other_order(world: Matrix) -> None:
    """The other team was first, and its results came last."""
    theirs = Submission.objects.filter(team=world.teams["Pilatus"], phase__in=HIDING)
    theirs.update(made=STATES["open"] - timedelta(days=9))
    Evaluation.objects.filter(submission__in=theirs).update(made=STATES["open"] - timedelta(minutes=1))
    boards_again(world, *HIDING)
    Snapshot.objects.filter(phase__in=HIDING).update(made=STATES["open"] - timedelta(minutes=1))


def _boards_that_came_and_went(world: Matrix) -> None:
    """The boards were made often, looked otherwise, and once could not be made."""
    for phase in HIDING:
        last = Snapshot.objects.filter(phase=phase).latest("made")
        for n, problem in enumerate(("", "", "A table is broken.")):
            content = last.content | {"rows": last.content["rows"][:n]}
            Snapshot.objects.create(
                challenge=world.challenge,
                phase=phase,
                board=last.board,
                version=last.version,
                content=content,
                digest=f"{n}",
                problem=problem,
                made=last.made - timedelta(hours=1 + n),
            )


def _a_phase_more(world: Matrix) -> None:
    """A phase that nobody is told of, with all that belongs to it."""
    Submission.objects.filter(phase="secret").delete()
    saved = versioning.save(
        world.challenge, world.people["organiser"], base=1, note="One more phase.", toml=toml("later")
    )
    assert saved is not None
    cohort = [*saved.cohort, {"phase": "later", "case": "X1", "stage": "T4"}]
    Version.objects.filter(pk=saved.pk).update(cohort=cohort)
    for phase in ("later", "secret"):
        Reference.objects.create(
            challenge=world.challenge, phase=phase, number=7, folder="references/neck/1", digest="7", cases=["X1"]
        )
        Release.objects.create(
            challenge=world.challenge, phase=phase, title="Later", name="l.zip", file="l.zip", size=1, sha256="7"
        )
        Announcement.objects.create(challenge=world.challenge, title="Later", text="Later.", phase=phase)
        Access.objects.create(team=world.teams["Rigi"], phase=phase, invited=True)
        Grant.objects.create(team=world.teams["Rigi"], phase=phase, extra=3, reason="Later.")
    CodeLink.objects.create(
        team=Team.objects.create(challenge=world.challenge, name="Uri"),
        phase="public",
        url="https://example.org/x",
        released_to="later",
        released=world.at.now,
    )
    Run.objects.filter(kind=Run.Kind.BOARD).delete()  # that there is work for the machines may be known
    world.challenge.refresh_from_db()


def _another_reference(world: Matrix) -> None:
    """What is measured against was mended, and has another digest; nothing was evaluated again yet."""
    for phase in ("public", *HIDING, "secret"):
        Reference.objects.create(
            challenge=world.challenge,
            phase=phase,
            number=2,
            folder="references/neck/1",
            digest="f" * 64,
            cases=list(CASES),
            note="Mended.",
        )


def _work_of_organisers(world: Matrix) -> None:
    """Decisions, reports that are not published, what is hidden in the forum, mails, downloads, answers of nobody."""
    challenge, staff = world.challenge, world.people["staff"]
    for number in range(1, 4):
        Decision.objects.create(
            challenge=challenge, number=number, when=world.at.now, actor="x", what="void", subject="x", hash="x"
        )
    Artefact.objects.create(challenge=challenge, phase="hidden", kind="report", folder="artefacts/x", published=True)
    topic = Topic.objects.create(challenge=challenge, title="Gone", author=staff)
    Post.objects.create(topic=topic, author=staff, text="Gone.", hidden=True)
    Post.objects.create(topic=world.topics["plain"], author=staff, text="Gone, too.", hidden=True)
    Download.objects.create(challenge=challenge, user=staff, what="x", size=1)
    EquityAnswers.objects.create(challenge=challenge, answers={"gender": "Woman"})
    Registration.objects.create(user=User.objects.create_user("w@example.org", name="W"), challenge=challenge)
    notices.to_organisers(challenge, "Somebody waits.")


def _what_the_other_team_did(world: Matrix) -> None:
    """Requests, grants, links, answers, files and tokens of the other team, and what it was told."""
    team, carol = world.teams["Pilatus"], world.people["carol"]
    Access.objects.filter(team=team).update(state="granted")
    Grant.objects.create(team=team, phase="hidden", extra=2, reason="A bug.")
    for phase in HIDING:
        CodeLink.objects.create(team=team, phase=phase, url="https://example.org/pilatus")
    SurveyAnswers.objects.create(team=team, answers={"method": "x"})
    Upload.objects.create(user=carol, challenge=world.challenge, phase="hidden", name="x", size=1)
    Token.make(carol, "x")
    notices.to_team(team, "The hidden phase: submission 2 was scored.")
    Submission.objects.filter(team=team, phase="hidden").update(void=True, excepted=True, comment="x")
    boards_again(world, *HIDING)


def _fail(world: Matrix, team: str, phase: str) -> None:
    """The evaluator failed on a submission of a team, with a message and a traceback that tell of the reference."""
    cause = Problem(
        "unusable", "SECRET of the reference", "CHUV001", code="evaluator_failed", origin="evaluator", detail="SECRET"
    )
    one = world.submission(
        team, phase, state="infrastructure", reason="evaluator_failed", problems=[reasons.as_row(cause)]
    )
    run = Run.objects.create(
        kind="score", challenge=world.challenge, submission=one, state="failed", reason=one.reason, detail="SECRET",
        finished=world.at.now,
    )  # fmt: skip
    faults.record(run, [cause], evaluator="e" * 64, reference=None)
    faults.tell_organisers(world.challenge, run, [cause], evaluator="e" * 64)


def _the_evaluator_failed_on_the_other_team(world: Matrix) -> None:
    for phase in HIDING:
        _fail(world, "Pilatus", phase)
    boards_again(world, *HIDING)


def _another_challenge(world: Matrix) -> None:
    """One that is not published, with people, teams and a forum."""
    other = Challenge.objects.create(slug="hidden-one", salt=b"x", made=world.at.now)
    other.version = Version.objects.create(challenge=other, number=1, toml=toml())
    other.save()
    Team.objects.create(challenge=other, name="Rigi")
    Topic.objects.create(challenge=other, title="x").posts.create(text="x")
    Announcement.objects.create(challenge=other, title="x", text="x")


SECRETS: dict[str, tuple[Differ, ...]] = {
    "everybody": (
        _results_that_nobody_sees,
        _results_on_the_cohort,
        _nothing_on_the_cohort,
        _a_team_more,
        _boards_that_came_and_went,
        _another_reference,
        _work_of_organisers,
        _another_challenge,
    ),
    "all but the other team": (
        _results_of_the_other_team,
        _more_of_the_other_team,
        _other_order,
        _what_the_other_team_did,
        _the_evaluator_failed_on_the_other_team,
    ),
    "all but the team Titlis": (_another_name,),
    "all but the own team": (_results_of_the_own_team,),
    "everybody, whatever the state": (_a_phase_more,),
}
"""From whom it is kept."""
TO = {
    "all but the other team": ("anonymous", "stranger", "mate", "reader"),
    "all but the team Titlis": ("anonymous", "mate"),
    "all but the own team": ("anonymous", "other"),
}
WHEN = {"everybody, whatever the state": ("announced", "open", "out"), "all but the team Titlis": ("closed",)}


# What happens afterwards


def _afterwards(world: Matrix) -> None:
    """New rows that viewers have a right to see; their keys must not count rows in between."""
    people, team = world.people, world.teams["Rigi"]
    notices.notify([people["alice"], people["bob"], people["carol"]], "Something new.", challenge=world.challenge)
    one = world.sent["Rigi", "public"]
    Submission.objects.filter(pk=one.pk).update(version=Challenge.objects.get(slug="neck").version)
    old = one.evaluations.filter(on_cohort("")).get()
    Evaluation.objects.create(
        submission=one,
        evaluator="e" * 64,
        reference=old.reference,
        table=old.table,
        digest=old.digest,
        record=old.record,
        values=old.values,
        made=STATES["open"] - timedelta(days=6),
    )
    Access.objects.filter(team=team, phase="asked").delete()
    Access.objects.create(
        team=team, phase="asked", state="granted", text="Please.", document="documents/rigi.pdf", made=world.at.now
    )
    Announcement.objects.create(challenge=world.challenge, title="New", text="New.", made=STATES["unannounced"])
    Release.objects.create(
        challenge=world.challenge,
        title="New images",
        name="new.zip",
        file="releases/free.zip",
        size=6,
        sha256="0",
        made=STATES["unannounced"],
    )


# Asking


_CSRF = re.compile(rb'name="csrfmiddlewaretoken" value="[A-Za-z0-9]{64}"')
_KEY = re.compile(rb"\b(?:[a-z][0-9a-f]{12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
"""Keys of rows, and those of `key_of`, which are as good as chance."""


@dataclass(frozen=True)
class Seen:
    """All that a viewer learns from an answer."""

    status: int
    headers: dict[str, str]
    body: bytes
    queries: int

    def told(self, other: Seen) -> str:
        """What tells it from another."""
        names = [name for name in self.headers | other.headers if self.headers.get(name) != other.headers.get(name)]
        lines = zip(self.body.splitlines(), other.body.splitlines(), strict=False)
        first = next(((one.decode()[:500], two.decode()[:500]) for one, two in lines if one != two), "")
        return f"{self.status}, {other.status}; {names}; {self.queries}, {other.queries} queries; {first}"


def seen(answer: Answer) -> Seen:
    response = answer.response
    cookies = {name: (one.value, one["path"]) for name, one in response.cookies.items()}
    headers = dict(response.headers) | {"Set-Cookie": repr(sorted(cookies.items())), "Expires": ""}
    body = gzip.decompress(answer.body) if answer.body.startswith(b"\x1f\x8b") else answer.body
    return Seen(response.status_code, headers, _KEY.sub(b"", _CSRF.sub(b"", body)), len(answer.queries))


Looks = dict[tuple[str, str], Seen]


def looked(world: Matrix, viewers: Sequence[str], state: str, *secrets: Differ, rows: Sequence[Row] = LOOKS) -> Looks:
    """All answers to some viewers in a world with secrets; each of them comes first, with nothing in memory.

    While phases are open, those who are refused are asked too: a refusal must tell nothing either.
    """
    world.at.now = STATES["open"]
    asks = {
        viewer: {
            str(row): ask_for(world, ADDRESSES[row.address], "GET", row.variant, viewer)
            for row in rows
            if row.states in ("every", "open") and (state == "open" or not _is_refused(row, viewer, state))
        }
        for viewer in viewers
    }
    found = {}
    with other_world(world, *secrets):
        world.go(state)
        for viewer, its in asks.items():
            _forget()
            for row, ask in its.items():
                with undone():
                    found[viewer, row] = seen(send(world, world.clients[viewer], ask))
    return found


def _is_refused(row: Row, viewer: str, state: str) -> bool:
    return row.expected(viewer, state if row.states == "every" else "open") in ("401", "403", "404", "login")


@contextmanager
def other_world(world: Matrix, *secrets: Differ) -> Iterator[None]:
    """The world with secrets, and with what happens afterwards; undone at the end."""
    teams = dict(world.teams)
    with undone():
        _begin_keys_again()
        for secret in secrets:
            secret(world)
        _afterwards(world)
        yield
    world.teams.clear()
    world.teams.update(teams)
    world.challenge.refresh_from_db()
    _forget()


def _begin_keys_again() -> None:
    """PostgreSQL does not undo that a key was given away."""
    with connection.cursor() as cursor:
        for sql in connection.ops.sequence_reset_sql(no_style(), list(apps.get_app_config("site").get_models())):
            cursor.execute(sql)


def _forget() -> None:
    """Begin as after a start of the site."""
    cache.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("isocenter.server"):
            for one in vars(module).values():
                if hasattr(one, "cache_clear"):
                    one.cache_clear()
    showing._sessions.clear()
    score_tables._seen.clear()
    for version in Version.objects.all():
        for phase in edition_of(version.pk).phases:
            code_of(version.pk, phase.name)


def told_apart(before: Looks, after: Looks) -> list[str]:
    """Where two worlds answer otherwise."""
    return [f"{' sees '.join(key)}: {before[key].told(one)}" for key, one in after.items() if one != before[key]]


@pytest.fixture(scope="module")
def without() -> Callable[..., Looks]:
    """What is seen in a state of the world without any secret."""
    kept: dict[tuple[str, int], Looks] = {}

    def found(world: Matrix, state: str, rows: Sequence[Row] = LOOKS) -> Looks:
        key = (state, len(rows))
        if key not in kept:
            kept[key] = looked(world, OUTSIDERS if state == "open" else SOME, state, rows=rows)
        return kept[key]

    return found


@pytest.mark.parametrize(
    ("whom", "state"), [(whom, state) for whom in SECRETS for state in WHEN.get(whom, ("open", "closed"))]
)
def test_what_is_kept_from_somebody_shows_nowhere(world, without, whom, state):
    before = without(world, state)
    viewers = [viewer for viewer in TO.get(whom, OUTSIDERS) if state == "open" or viewer in SOME]
    found = told_apart(before, looked(world, viewers, state, *SECRETS[whom]))
    assert not found, "\n".join(found)


def test_the_comparison_sees_what_may_be_seen(world, without):
    """Results of a public phase are no secret; if they did not show here, nothing would."""
    after = looked(world, ["anonymous"], "open", lambda w: _other_scores(w, "Pilatus", "public"))
    assert {key.split(":")[0] for key in told_apart(without(world, "open"), after)} >= {
        "anonymous sees GET board public",
        "anonymous sees GET board_csv public",
        "anonymous sees GET progress public",
        "anonymous sees GET api-1",
    }


TELLING = [
    row
    for row in LOOKS
    if row.address
    in (
        *("challenge", "boards", "board", "board_csv", "progress", "submissions", "submission", "code", "news_feed"),
        *("api-1:boards", "api-1:board", "api-1:history", "api-1:submission", "api-1:list_submissions"),
    )
]


@given(
    sizes=st.lists(st.tuples(*[st.integers(0, 7)] * 3), min_size=1, max_size=4),
    days=st.integers(0, 9),
    state=st.sampled_from(["open", "closed"]),
)
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_other_team_hands_in(world, without, sizes, days, state):
    def differ(world: Matrix) -> None:
        rescored(world, world.sent["Pilatus", "hidden"], sizes[0])
        rescored(world, world.sent["Rigi", "hidden"], sizes[-1])
        for phase in HIDING:
            for each in sizes[1:]:
                _another(world, world.teams["Pilatus"], phase, each, timedelta(days=-days))
        boards_again(world, *HIDING)

    before = without(world, state, TELLING)
    found = told_apart(before, looked(world, ("anonymous", "mate"), state, differ, rows=TELLING))
    assert not found, "\n".join(found)


def test_why_the_evaluator_failed_is_for_organisers_alone(world):
    """On no page, in no file and no answer of the API: a traceback may tell of the reference."""

    def differ(world: Matrix) -> None:
        for team in ("Rigi", "Pilatus"):
            for phase in ("public", *HIDING):
                _fail(world, team, phase)
        boards_again(world, "public", *HIDING)

    answers = looked(world, OUTSIDERS, "open", differ)
    assert [key for key, one in answers.items() if b"SECRET" in one.body] == []
    assert any(b"evaluator_failed" in one.body for (viewer, _), one in answers.items() if viewer == "mate")


# Mails and notifications


def _told(world: Matrix) -> tuple[list[Any], list[Any]]:
    """What everybody was told but organisers and staff: notifications, and mails with their headers."""
    knowing = [world.people[name] for name in ("organiser", "staff")]
    lines = Notification.objects.exclude(user__in=knowing).order_by("pk").values_list("user", "text", "url", "made")
    addresses = {user.email for user in knowing}
    mails = [(one.to, one.subject, one.body, one.extra_headers) for one in mail.outbox if one.to[0] not in addresses]
    return list(lines), sorted(mails)


def _scored_by_a_worker(world: Matrix, phase: str, sizes: tuple[int, ...]) -> None:
    """A submission of Rigi goes all the way that a worker takes it, but for the children."""
    one = Submission(
        id=uuid.UUID(int=1), challenge=world.challenge, team=world.teams["Rigi"], phase=phase, number=7,
        version=world.challenge.version, made=world.at.now, name="x.zip", size=1, sha256="0", declarations={},
    )  # fmt: skip
    one.file = f"submissions/{one.pk}.zip"
    content = zipped(dict(zip(CASES, sizes, strict=True)), world.scratch / uuid.uuid4().hex)
    (world.data / one.file).write_bytes(content)
    one.save()
    Run.objects.filter(state=Run.State.QUEUED).delete()
    queue.enqueue("score", world.challenge, submission=one)
    run = queue.claim("worker", ["default"])
    assert run is not None
    reference = world.references[phase]
    code = code_of(world.challenge.version_id, phase)
    found = evaluation.evaluate(code, reference=world.data / reference.folder, submission=world.data / one.file)
    scoring.keep(run, one, found, reference, evaluator_of(world.challenge, phase))
    making.make_boards(world.challenge, phase)


@pytest.mark.parametrize("phase", HIDING)
def test_that_something_was_scored_is_told_and_not_how_well(world, phase):
    def told(sizes: tuple[int, ...], *secrets: Differ) -> tuple[list[Any], list[Any]]:
        mail.outbox.clear()
        world.go("open")
        with other_world(world, *secrets), TestCase.captureOnCommitCallbacks(execute=True):
            _scored_by_a_worker(world, phase, sizes)
            return _told(world)

    first = told((4, 4, 4))
    assert [text for _, text, *_ in first[0] if "was scored" in text] == [
        f"The {phase} phase: submission 7 was scored."
    ] * 2
    assert told((1, 0, 0)) == first
    assert told((4, 4, 4), _results_of_the_other_team) == first


def test_that_results_are_out_is_told_and_not_who_won(world):
    def told(*secrets: Differ) -> tuple[list[Any], list[Any]]:
        with other_world(world, *secrets):
            world.go("out")
            mail.outbox.clear()
            Notification.objects.all().delete()
            with TestCase.captureOnCommitCallbacks(execute=True):
                assert running.due(world.at.now) == 5  # of the cohort people hear with its phase
            lines, mails = _told(world)
            return [line[:3] for line in lines], mails

    first = told()
    assert len(first[1]) == 4 * 3  # phases, people who take part
    for secret in (_results_that_nobody_sees, _results_on_the_cohort, _a_team_more, _another_name):
        assert [one for one in told(secret)[1] if one[0] != ["new@example.org"]] == first[1], secret
    assert not any("secret" in f"{subject} {body}" for _, subject, body, _ in first[1])


def test_a_phase_that_is_not_announced_is_told_to_nobody(world):
    with other_world(world), TestCase.captureOnCommitCallbacks(execute=True):
        world.go("open")
        before = _told(world)
        _a_phase_more(world)
        assert _told(world) == before
    assert not any("later" in one.body for one in mail.outbox if "organiser" not in one.to[0])
