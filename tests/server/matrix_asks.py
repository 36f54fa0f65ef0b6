"""The table of `test_matrix`, and how every address in it is asked for.

Addresses have arguments, and forms that would do something if they were let; see the rows of `access.csv` for both.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from matrix_world import CSRF, LATER, LICENCE, STATES, VIEWERS, Answer, Browser, Matrix, toml, tree, watched, writes_of
from reading_world import READING

from conftest import CASES, GRID
from isocenter.problems import Problem
from isocenter.server.models import (
    AdminLink,
    Challenge,
    Reader,
    ReaderKey,
    Registration,
    Run,
    Snapshot,
    Study,
    StudyCase,
    Submission,
    Token,
    User,
    Version,
)
from isocenter.server.pages.challenge.data import licence_hash
from isocenter.server.reading import own, turns
from isocenter.server.telling.known import key_of
from isocenter.server.work import faults


@dataclass(frozen=True)
class Address:
    """An address of the site: by its name, or where it has none by its route."""

    name: str
    route: str
    view: Any

    @property
    def arguments(self) -> list[str]:
        """The names of what is to be filled in."""
        return re.findall(r"<(?:\w+:)?(\w+)>", self.route)


def _addresses(resolver: URLResolver | None = None, route: str = "", space: str = "") -> Iterator[Address]:
    """All addresses of the site."""
    for entry in (resolver or get_resolver()).url_patterns:
        whole = f"{route}{entry.pattern}"
        if isinstance(entry, URLResolver):
            yield from _addresses(entry, whole, f"{space}{entry.namespace}:" if entry.namespace else space)
        elif isinstance(entry, URLPattern):
            yield Address(f"{space}{entry.name}" if entry.name else whole, whole, entry.callback)


@dataclass(frozen=True)
class Ask:
    """A request."""

    method: str
    path: str
    body: Any = None
    kind: str = ""
    headers: dict[str, str] = field(default_factory=dict)


def send(world: Matrix, browser: Browser, ask: Ask, **headers: str) -> Answer:
    """Ask, and look at what happened."""
    writing = ask.method not in ("GET", "HEAD")
    before = tree(world.data) if writing else {}
    given = ask.headers | headers
    with watched() as statements:
        if ask.method == "POST" and not ask.kind:
            response = browser.post(ask.path, ask.body or {}, headers=given)
        else:
            body = b"" if ask.body is None else ask.body
            response = browser.generic(ask.method, ask.path, body, ask.kind or "text/plain", headers=given)
        content = b"".join(response.streaming_content) if response.streaming else response.content
    return Answer(response, content, statements, writes_of(statements), writing and tree(world.data) != before)


def ask_for(world: Matrix, address: Address, method: str, variant: str, viewer: str) -> Ask:
    """The request of a row of the table; what it needs to be there is put there."""
    words = variant.split()
    values = {"slug": "neck", "board": "dice", "phase": words[0] if words else "", "case": CASES[0]}
    values |= _ARGUMENTS.get(address.name, lambda *_: {})(world, words, viewer)
    if address.name == address.route:
        path = "/" + re.sub(r"<[^>]*>", "nothing", address.route)
    else:
        path = reverse(address.name, kwargs={name: values[name] for name in address.arguments})
    path += str(values.get("query", ""))
    if method in ("GET", "HEAD"):
        return Ask(method, path, headers=_HEADERS.get(address.name, lambda *_: {})(world, words))
    made = _BODIES.get((address.name, words[-1] if words else ""), _BODIES.get((address.name, "")))
    body = {} if made is None else made(world, words, viewer)
    headers = {"X-CSRFToken": CSRF} | _HEADERS.get(address.name, lambda *_: {})(world, words)
    if address.name.startswith("api-1:"):
        return Ask(method, path, json.dumps(body), "application/json", headers)
    if address.name == "upload":
        return Ask(method, path, world.zip[-1:], "application/offset+octet-stream", headers)
    return Ask(method, path, body, headers=headers)


Arguments = Callable[[Matrix, list[str], str], dict[str, Any]]


def _submission(world: Matrix, words: list[str], _: str) -> dict[str, Any]:
    one = world.waiting if words[0] == "waiting" else world.sent["Rigi", words[0]]
    of_cohort = words[-1] == "cohort"
    words = words[:-1] if of_cohort else words
    last = words[-1] if len(words) > 1 else ""
    found = {"key": one.pk, "pk": one.pk, "form": last, "layer": last}
    query = "?reason=A+mistake." if last == "reasoned" else "?cohort=kept" if of_cohort else ""
    return found | ({"query": query} if query else {})


def _board(world: Matrix, words: list[str], viewer: str) -> dict[str, Any]:
    """The permanent address of a board, as it stands on the page of who asks."""
    made = Snapshot.objects.filter(phase=words[0], board="dice").latest("made")
    return {"digest": made.digest if viewer in ("organiser", "staff") else made.face}


def _shared(_: Matrix, words: list[str], __: str) -> dict[str, Any]:
    """The permanent address of a board, as it stands on the pages of teams, whoever asks."""
    return {"digest": Snapshot.objects.filter(phase=words[0], board="dice").latest("made").face}


def _keyed(rows: str) -> Arguments:
    def found(world: Matrix, words: list[str], _: str) -> dict[str, Any]:
        return {"key": getattr(world, rows)[" ".join(words)].key}

    return found


def _released(world: Matrix, words: list[str], _: str) -> dict[str, Any]:
    """A release, whose files are masks; with another word a layer of a case, or a file in it."""
    last = words[-1] if len(words) > 1 else ""
    return {"key": world.releases[words[0]].key, "layer": last, "query": f"?file={last}" if "." in last else ""}


def _study(world: Matrix, words: list[str], _: str) -> dict[str, Any]:
    """A reader study that nobody was dealt a case of yet, or that is "dealt" or "closed"; or none at all."""
    if words[0] == "none":
        return {}
    text = toml() if "[reading]" in toml() else toml() + READING
    # A key of its own, as editions are kept by the keys of their versions.
    Version.objects.create(pk=10**6, challenge=world.challenge, number=99, toml=text, made=world.at.now)
    Challenge.objects.filter(pk=world.challenge.pk).update(version=10**6)
    moment = None if words[0] == "begun" else world.at.now
    Study.objects.filter(challenge=world.challenge).delete()
    closed = moment if words[0] == "closed" else None
    study = Study.objects.create(challenge=world.challenge, drawn=moment, seed=1, closed=closed)
    images = {scan: {} for scan in ("t2w", "adc", "dce")}
    for number, name in enumerate(("PCA1", "PCA2", "TRY1")):
        block = None if moment is None or number == 2 else number
        study.cases.create(name=name, practice=number == 2, facts={"age": "60"}, images=images, block=block)
    for number, name in enumerate(("R-2222", "R-3333")):
        block = None if moment is None else number
        study.readers.create(pseudonym=name, answers={"expert": True}, block=block)
    ReaderKey.objects.create(reader=study.readers.get(pseudonym="R-2222"), study=study, user=world.people["bob"])
    return {}


def _read(world: Matrix, words: list[str], viewer: str) -> dict[str, Any]:
    """A reader study; once "dealt", the reader has joined, and reads a case. The last word is a scan."""
    _study(world, words, viewer)
    if words[0] != "dealt":
        return {}
    grid = {"shape": GRID.shape, "spacing": GRID.spacing, "origin": GRID.origin, "direction": GRID.direction}
    Study.objects.update(folder="references/neck/1")
    StudyCase.objects.update(
        images=dict.fromkeys(("t2w", "adc", "dce"), {"file": f"{CASES[0]}.nii.gz"} | grid), block=None
    )
    reader = Reader.objects.get(pseudonym="R-3333")
    Reader.objects.update(guide_version="1")
    ReaderKey.objects.create(reader=reader, study=reader.study, user=world.people["reader"])
    reader.assignments.create(case=StudyCase.objects.get(name="TRY1"), practice=True, position=1)
    return {"name": words[-1], "query": f"?turn={own.seal(_turn())}" if len(words) > 1 else ""}


def _turn() -> turns.Turn:
    """What the reader reads while the study is open."""
    found = turns.turn_of(Reader.objects.get(pseudonym="R-3333"), STATES["announced"])
    assert isinstance(found, turns.Turn), found
    return found


def _a_read(*_: object) -> dict[str, Any]:
    """What the page of the case sends that the reader reads."""
    turn = _turn()
    turns.begin(turn)
    return {"turn": own.seal(turn), "revision": 0, "seconds": 3, "marks": "[]", "score": 12}


def _compared(world: Matrix, words: list[str], _: str) -> dict[str, Any]:
    if not words:
        return {}
    team = "Pilatus" if words[-1] == "other" else "Rigi"
    return {"query": f"?a={world.sent['Rigi', words[0]].pk}&b={world.sent[team, words[0]].pk}"}


def _of_the_past(world: Matrix, words: list[str], viewer: str) -> dict[str, Any]:
    """A board by its permanent address, of its phase or of the hidden one."""
    if len(words) < 2:
        return {}
    digest = _board(world, ["hidden"] if words[1] == "at-hidden" else words, viewer)["digest"]
    return {"query": f"?at={digest}&version={digest}"}


_SUBMISSIONS = (
    *("submission", "cancel_submission", "submission_file", "submission_scores", "submission_problems"),
    *("case", "case_sight", "case_volume", "organise_submission"),
    *("api-1:submission", "api-1:problems", "api-1:cases", "api-1:cancel", "api-1:nominate"),
)
_ARGUMENTS: dict[str, Arguments] = {
    **dict.fromkeys(_SUBMISSIONS, _submission),
    "snapshot": lambda w, words, v: (_shared if words[-1] == "shared" else _board)(w, words, v),
    "first_admin": lambda *_: {"secret": "a secret"},
    "join": lambda _, words, __: {"secret": " ".join(words)},
    "revoke_token": lambda w, *_: {"key": w.people["alice"].tokens.get().key},
    "access_document": lambda w, *_: {"key": w.accesses["Rigi"].key},
    "page": lambda _, words, __: {"name": words[0]},
    "version": lambda w, words, __: {"key": "1" if words[0] == "number" else key_of(w.challenge, "version", 1)},
    "download": _keyed("releases"),
    **dict.fromkeys(("inside", "training_case", "training_sight", "training_volume"), _released),
    "accept_licence": _keyed("releases"),
    "api-1:release": _keyed("releases"),
    "news_item": _keyed("news"),
    "artefact": lambda w, words, _: {"key": w.artefacts[" ".join(words)].pk},
    "artefact_file": lambda w, words, _: {"key": w.artefacts[" ".join(words)].pk, "name": "report.html"},
    "compare": _compared,
    "board_csv": _of_the_past,
    "api-1:board": _of_the_past,
    "notification": lambda *_: {"number": 1},
    **dict.fromkeys(("topic", "reply", "subscribe", "moderate"), lambda w, words, _: {"key": w.topics[words[0]].key}),
    **dict.fromkeys(("edit_post", "hide_post"), lambda w, words, _: {"key": w.posts[words[0]].key}),
    "organise_page": lambda _, words, __: {"page": words[0]},
    **dict.fromkeys(
        ("organise_questions", "organise_question_add", "organise_question"),
        lambda _, words, __: {"form": words[0], "name": "method"},
    ),
    **dict.fromkeys(
        ("organise_reading", *(f"organise_reading_{one}" for one in ("cases", "draw", "close", "key", "export"))),
        _study,
    ),
    **dict.fromkeys(("reading", *(f"reading_{one}" for one in ("guide", "withdraw", "case", "draft", "scan"))), _read),
    "organise_release_edit": lambda w, *_: {"key": w.releases["public"].key},
    "organise_team": lambda w, *_: {"key": w.teams["Rigi"].key},
    "organise_document": lambda w, *_: {"key": w.accesses["Rigi"].key},
    "staff_user": lambda w, *_: {"number": w.people["alice"].pk},
    "staff_decide": lambda w, *_: {"number": w.people["alice"].pk},
    **dict.fromkeys(("staff_mail", "staff_mail_again"), lambda *_: {"number": _first_mail()}),
    "upload": lambda w, *_: {"key": _begun(w)},
    "api-1:upload": lambda w, *_: {"key": w.uploads["leader", "public"].pk},
    "internal_file": lambda _, words, __: {"token": _link() if words[0] == "signed" else "made-up"},
}


def _first_mail() -> int:
    from isocenter.server.models import Mail

    return Mail.objects.get().pk


def _begun(world: Matrix) -> Any:
    """A file of the leader whose last byte has not come."""
    one = world.upload("leader", "public")
    (world.data / "uploads" / str(one.pk)).write_bytes(world.zip[:-1])
    return one.pk


def _link() -> str:
    from django.core import signing

    return signing.dumps("references/neck/1", salt="isocenter.internal.files")


def _metadata(**said: str) -> str:
    return ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in said.items())


def _sending(_: Matrix, words: list[str]) -> dict[str, str]:
    phase, purpose = words
    said = _metadata(challenge="neck", phase=phase, purpose=purpose, filename="x.zip")
    return {"Tus-Resumable": "1.0.0", "Upload-Length": "10", "Upload-Metadata": said}


_HEADERS: dict[str, Callable[[Matrix, list[str]], dict[str, str]]] = {
    "uploads": _sending,
    "upload": lambda w, _: {"Tus-Resumable": "1.0.0", "Upload-Offset": str(len(w.zip) - 1)},
}


# Forms. Where what they do needs something that is not there, they put it there first.


def _bundle(**files: str | bytes) -> SimpleUploadedFile:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return SimpleUploadedFile("bundle.zip", stream.getvalue())


def _masks(world: Matrix) -> SimpleUploadedFile:
    folder = world.data / "references" / "neck" / "1"
    return _bundle(**{path.name: path.read_bytes() for path in sorted(folder.iterdir())})


def _study_cases(world: Matrix) -> SimpleUploadedFile:
    """Cases of a reader study with their scans, which are masks here."""
    mask = (world.data / "references" / "neck" / "1" / f"{CASES[0]}.nii.gz").read_bytes()
    scans = {f"{case}/{scan}.nii.gz": mask for case in ("A", "B", "C") for scan in ("t2w", "adc", "dce")}
    return _bundle(**{"cases.csv": "case,practice,age\nA,no,60\nB,no,70\nC,yes,50\n"}, **scans)


def _first_admin(*_: object) -> dict[str, Any]:
    User.objects.filter(is_staff=True).update(is_staff=False)
    AdminLink.objects.create(hash=Token.hashed("a secret"), expires=LATER)
    return {"email": "first@example.org", "name": "First", "password": "a long sentence to sign in with"}


def _accepted(world: Matrix, *_: object) -> dict[str, Any]:
    """Who was invited takes part, so that nothing but the invitation decides."""
    Registration.objects.update_or_create(
        user=world.people["stranger"], challenge=world.challenge, defaults={"state": "accepted"}
    )
    return {}


def _alone(world: Matrix, *_: object) -> dict[str, Any]:
    """Somebody takes part who is in no team."""
    _accepted(world)
    return {"do": "found", "name": "Titlis"}


def _fresh_team(world: Matrix, words: list[str], _: str) -> dict[str, Any]:
    """The team has not submitted, so its people may still come and go."""
    Submission.objects.filter(team=world.teams["Rigi"]).delete()
    which = world.teams["Rigi"].memberships.get(user=world.people["bob"]).key
    return {"do": words[0], "name": "Titlis", "which": which}


def _not_asked_yet(world: Matrix, *_: object) -> dict[str, Any]:
    Registration.objects.update(equity_asked=False)
    return {"gender": "Woman"}


def _other_licence(world: Matrix, words: list[str], _: str) -> dict[str, Any]:
    return {"licence": licence_hash(world.releases[words[0]]), "accepted": "yes"}


def _hiding(*_: object) -> dict[str, Any]:
    """Hide a challenge in which nobody takes part yet, or publish one that is hidden."""
    Registration.objects.all().delete()
    return _REASON | {"action": "hide" if Challenge.objects.get().published else "publish"}


def _saving(form: Arguments) -> Arguments:
    """A version is saved only of phases that nobody handed in to before they opened; here somebody has."""

    def made(world: Matrix, words: list[str], viewer: str) -> dict[str, Any]:
        Submission.objects.filter(phase="secret").delete()
        return form(world, words, viewer)

    return made


def _phase_form(world: Matrix, *_: object) -> dict[str, Any]:
    return {
        "base": 1,
        "note": "A holiday.",
        "save": "1",
        "title": "The public phase",
        "clock": "0",
        "announced": "2026-03-01T00:00:00",
        "opens": "2026-04-01T00:00:00",
        "closes": "2026-05-02T00:00:00",
        "results": "2026-05-10T00:00:00",
        "admission": "open",
        "quota": "9",
        "quota_per": "phase",
        "refund": "infrastructure",
        "counts": "best",
        "visibility": "public",
    }


def _unread(world: Matrix, _: list[str], viewer: str) -> dict[str, Any]:
    if name := VIEWERS[viewer]:
        world.people[name].notifications.create(text="New.")
    return {}


_REASON = {"reason": "As was agreed."}


def _broken(world: Matrix, phase: str) -> dict[str, Any]:
    """The evaluator failed on a submission of Rigi; what is decided on the phase."""
    cause = Problem("unusable", "a message", "CHUV001", code="evaluator_failed", origin="evaluator")
    run = Run.objects.create(
        kind="score", challenge=world.challenge, submission=world.sent["Rigi", phase], state="failed",
        reason="evaluator_failed", finished=world.at.now,
    )  # fmt: skip
    faults.record(run, [cause], evaluator="e" * 64, reference=None)
    return _REASON | {"phase": phase}


_NEW_PAGE = {"name": "team", "title": "Who we are", "text": "Us.", "base": 1, "save": "1"}


def _profile(world: Any) -> dict[str, Any]:
    user = world.people["alice"]
    shown = {"name": user.name, "affiliation": user.institution}
    return {"action": "verify", "member": user.memberships.get(challenge=world.challenge).key, **shown}


_POLICIES = {"missing": "worst", "ties": "average", "grid": "refuse", "organisers": "unranked", "announce": ""}
_PRIZES = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 0, "form-0-place": 1, "form-0-amount": "750"}
_SAVED = {"note": "Fairer.", "base": 1, "save": "1"}
_BODIES: dict[tuple[str, str], Arguments] = {
    ("cancel_submission", "reasoned"): lambda *_: {"reason": "A mistake."},
    ("first_admin", "valid"): _first_admin,
    ("account", ""): lambda *_: {"name": "Somebody", "institution": "Somewhere", "zone": "Europe/Paris"},
    ("tokens", ""): lambda *_: {"title": "Another program", "days": "90"},
    ("register", ""): lambda *_: {"terms": "yes", "terms_version": "1"},
    ("voluntary", ""): _not_asked_yet,
    ("terms", ""): lambda *_: {"terms_version": "1"},
    ("join", "invitation"): _accepted,
    ("team", "found"): _alone,
    ("team", "rename"): _fresh_team,
    ("team", "leave"): _fresh_team,
    ("team", "remove"): _fresh_team,
    ("team", "hand-over"): _fresh_team,
    ("team", "invite"): lambda *_: {"do": "invite", "email": "new@example.org"},
    ("team", "take-back"): lambda w, *_: {"do": "take-back", "which": w.teams["Rigi"].invitations.get().key},
    ("team", "consent"): lambda *_: {"do": "consent", "consents": "yes"},
    ("team", "code"): lambda _, words, __: {"do": "code", "phase": words[0], "url": "https://example.org/new"},
    ("access", ""): lambda *_: {"text": "Please, please."},
    ("survey", ""): lambda *_: {"method": "A U-Net."},
    ("accept_licence", ""): _other_licence,
    ("submit", ""): lambda w, words, v: {
        "upload": w.upload(v, words[0]).pk if v != "anonymous" else "",
        "declared-external_data": "none",
    },
    ("nominate", ""): lambda w, words, _: {"submission": w.sent["Rigi", words[0]].pk},
    ("bonus", ""): lambda *_: _REASON | {"title": "Best poster", "team": "Rigi"},
    ("notifications", ""): _unread,
    ("announce", ""): lambda *_: {"title": "Hello", "text": "All.", "audience": "public", "action": "publish"},
    ("new_topic", ""): lambda *_: {"title": "What if", "text": "it rains?"},
    ("reply", ""): lambda *_: {"text": "So."},
    ("subscribe", ""): lambda *_: {"mails": "yes"},
    ("moderate", ""): lambda *_: _REASON | {"does": "pin"},
    ("hide_post", ""): lambda *_: _REASON | {"does": "hide"},
    ("edit_post", ""): lambda *_: {"text": "How, please?"},
    ("code", ""): lambda _, words, __: {"phase": words[0], "url": "https://example.org/new"},
    ("new_challenge", ""): lambda *_: {"from": "code", "code": "hecktor2020", "slug": "fresh"},
    ("organise_publish", ""): _hiding,
    ("organise_code", ""): _saving(lambda *_: _SAVED | {"toml": toml().replace("Tumours", "Lesions")}),
    ("organise_import", ""): _saving(lambda *_: _SAVED | {"file": _bundle(**{"challenge.toml": toml()})}),
    ("organise_phase", ""): _saving(_phase_form),
    ("organise_policies", ""): _saving(lambda *_: _SAVED | _POLICIES),
    ("organise_prizes", ""): _saving(lambda *_: _SAVED | _PRIZES | {"form-0-currency": "EUR"}),
    ("organise_about", ""): _saving(lambda *_: _SAVED | {"title": "Lesions of the neck"}),
    ("organise_terms", ""): _saving(lambda *_: _SAVED | {"text": "Be kind.", "version": "2", "accepted_by": "person"}),
    ("organise_questions", ""): _saving(lambda *_: _SAVED | {"remove": "method"}),
    ("organise_question_add", ""): _saving(lambda *_: _SAVED | {"label": "Which data?", "kind": "text"}),
    ("organise_question", ""): _saving(lambda *_: _SAVED | {"label": "Which method?", "kind": "text"}),
    ("organise_pages", ""): _saving(
        lambda *_: {"order": ["about", "more"], "place-about": 2, "place-more": 1, "base": 1}
    ),
    ("organise_page", ""): _saving(lambda *_: _NEW_PAGE),
    ("organise_reference", ""): lambda w, words, _: _REASON | {"phase": words[0], "file": _masks(w)},
    ("organise_release", ""): lambda *_: {"title": "More", "file": SimpleUploadedFile("more.zip", b"more")},
    ("organise_release_edit", "edit"): lambda *_: _REASON | {"title": "Other", "licence": LICENCE},
    ("organise_release_edit", "withdraw"): lambda *_: _REASON | {"withdraw": "1"},
    ("organise_reading_cases", ""): lambda w, *_: _REASON | {"file": _study_cases(w)},
    **{(f"organise_reading_{one}", ""): lambda *_: _REASON for one in ("draw", "close", "key")},
    ("reading", ""): lambda *_: {"expert": "yes"},
    ("reading_guide", ""): lambda *_: {"version": "1"},
    ("reading_withdraw", ""): lambda *_: {"confirm": "yes"},
    **dict.fromkeys((("reading_case", ""), ("reading_draft", "")), _a_read),
    ("organise_participants", ""): lambda w, *_: {
        "registration": w.challenge.registrations.get(user=w.people["waiting"]).pk,
        "action": "accept",
    },
    ("organise_roles", ""): lambda *_: _REASON | {"action": "add", "email": "carol@example.org", "kind": "organiser"},
    ("organise_team", ""): lambda *_: _REASON | {"action": "disqualify"},
    ("organise_profiles", ""): lambda w, *_: _REASON | _profile(w),
    ("organise_requests", ""): lambda w, *_: _REASON | {"action": "grant", "access": w.accesses["Pilatus"].key},
    ("organise_submission", ""): lambda *_: _REASON | {"action": "void"},
    ("organise_again", ""): lambda _, words, __: _REASON | {"phase": words[0]},
    ("organise_benchmark", ""): lambda w, words, _: _REASON | {"phase": words[0], "name": "Human", "file": _masks(w)},
    ("organise_publishing", "results"): _saving(
        lambda *_: _REASON | {"action": "results", "phase": "hidden", "base": 1}
    ),
    ("organise_faults", ""): lambda w, words, _: _broken(w, words[0]) | {"action": "again"},
    ("organise_publishing", "without"): lambda w, *_: _broken(w, "hidden") | {"action": "without"},
    ("organise_publishing", "close"): _saving(lambda *_: _REASON | {"action": "close", "phase": "hidden", "base": 1}),
    ("organise_publishing", "report"): lambda *_: {"action": "report", "phase": "public"},
    ("staff_decide", ""): lambda *_: _REASON | {"act": "close"},
    ("api-1:submit", ""): lambda w, words, v: {
        "upload": str(w.upload(v, words[0]).pk) if v != "anonymous" else str(w.waiting.pk),
        "declarations": {"external_data": "none"},
    },
}


# The table


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    address: str
    method: str
    variant: str
    states: str
    cells: dict[str, str]

    def expected(self, viewer: str, state: str) -> str:
        parts = self.cells[viewer].split("/")
        return parts[0] if len(parts) == 1 else parts[list(STATES).index(state)]

    def asked(self) -> Iterator[tuple[str, str]]:
        """The viewers and states to ask in."""
        for viewer, cell in self.cells.items():
            all_of_them = list(STATES) if "/" in cell else ["unannounced", "out"]
            states = all_of_them if self.states == "every" else [self.states]
            yield from ((viewer, state) for state in states if cell)

    def doing(self) -> tuple[str, str] | None:
        """Somebody who can do it, and when."""
        return next(((who, when) for who, when in self.asked() if self.expected(who, when).endswith("*")), None)

    def __str__(self) -> str:
        return f"{self.method} {self.address} {self.variant}".strip()


def _table() -> list[Row]:
    with (Path(__file__).parent / "access.csv").open(newline="") as stream:
        return [
            Row(
                *(row[name] for name in ("address", "method", "variant", "states")),
                {viewer: row[viewer] for viewer in VIEWERS},
            )
            for row in csv.DictReader(stream)
        ]


ROWS = _table()
EVERY = list(_addresses())
OF_ALLAUTH = {one.name for one in EVERY if one.route.startswith("accounts/")}
ADDRESSES = {one.name: one for one in EVERY if one.name not in OF_ALLAUTH}
