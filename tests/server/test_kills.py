"""200 submissions while workers and the server are killed: none is lost, none is scored twice, no attempt costs double.

    clients ── upload, hand in, again if no answer came ──▶ isocenter serve ── queue ──▶ workers
    killer  ── SIGKILL at moments of a seed ────────────────────┴──────────────────────────┘

The site is a process group of its own with a folder of its own, on the kind of database that the tests are run on.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from http.client import HTTPException
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from places import PATIENCE, Place, place_in
from test_serve import Site, group, running, wait_for

from conftest import CASES, GRID, mask
from isocenter.cli import _submit_site
from isocenter.volumes import Volume, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.database,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc"),
]
TEAMS, EACH = 10, 20
CLIENTS, AHEAD = 8, 40
"""So many hand in at once, and so many submissions at most wait to be scored: both ends work when a blow falls."""
SEED = 20260301
BLOWS = ["worker"] * 6 + ["child"] + ["server"] * 2 + ["everything"]
SLICES = range(1, 7)
CSRF = "k" * 32
SUBMISSIONS = "/challenges/neck/phases/validation/submissions"

TOML = """\
challenge = "hecktor2020"
title = "Tumours of the neck"

[[phases]]
name = "validation"
title = "Validation"
opens = {opens}
closes = {closes}
results = {closes}
quota = {quota}
counts = "best"
visibility = "public"
"""


class Handed(NamedTuple):
    """A submission that a client was told of: whose, how many slices its masks have, the key that it got."""

    team: str
    slices: tuple[int, ...]
    key: str


# What is done in the folder of the site, by processes of their own: this one has the database of the tests.


def furnish() -> dict[str, Any]:
    """A challenge that is open, and teams of one: gives their tokens and pages, and how its organiser signs in."""
    from allauth.account.models import EmailAddress
    from django.test import Client
    from django.urls import reverse

    from isocenter.server import clock, files
    from isocenter.server.models import Membership, Registration, Team, Token, User
    from isocenter.server.organising import importing
    from isocenter.server.organising.bundle import Bundle

    now = clock.now().replace(microsecond=0)
    opens, closes = ((now + timedelta(days=days)).isoformat() for days in (-1, 1))
    organiser = User.objects.create_user("organiser@example.org", name="Organiser", is_staff=True)
    bundle = Bundle(TOML.format(opens=opens, closes=closes, quota=EACH))
    challenge = importing.make_challenge(bundle, user=organiser, slug="neck", note="The beginning.")
    folder = files.at("incoming")
    folder.mkdir()
    for case in CASES:
        write(Volume(mask(4), GRID), folder / f"{case}.nii.gz")
    importing.add_reference(challenge, "", folder, user=organiser)
    challenge.published = True
    challenge.save()
    tokens, pages = {}, []
    for number in range(TEAMS):
        user = User.objects.create_user(f"team-{number}@example.org", name=f"Member {number}")
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
        team = Team.objects.create(challenge=challenge, name=f"Team {number}")
        Registration.objects.create(user=user, challenge=challenge, state="accepted")
        Membership.objects.create(user=user, team=team, challenge=challenge, leads=True)
        tokens[team.name] = Token.make(user, "cluster")[1]
        pages.append(reverse("organise_team", args=["neck", team.key]))
    browser = Client()
    browser.force_login(organiser, backend="allauth.account.auth_backends.AuthenticationBackend")
    signed_in = {"session": browser.cookies["sessionid"].value, "staff": Token.make(organiser, "watch")[1]}
    return {"tokens": tokens, "pages": pages} | signed_in


def found() -> dict[str, Any]:
    """What is in the database and the folder, and the board that the library makes of the same tables."""
    import isocenter
    from isocenter.editions import audit
    from isocenter.server import boards, decisions, files
    from isocenter.server.editions import code_of
    from isocenter.server.models import CaseResult, Challenge, Decision, Evaluation, Grant, Run, Submission
    from isocenter.server.work.scoring import table_of

    challenge = Challenge.objects.get()
    evaluations = Evaluation.objects.select_related("submission__team").order_by("submission__made", "submission__pk")
    tables: dict[str, list[Any]] = {}
    for one in evaluations:
        tables.setdefault(one.submission.team.name, []).append(table_of(one))
    snapshot = boards.latest(challenge, "validation")
    by_site = boards.thaw(snapshot.content).rows
    by_library = isocenter.rank(code_of(challenge.version_id, "validation"), tables).rows
    return {
        "submissions": [
            {
                "key": str(one.pk),
                "team": one.team.name,
                "state": one.state,
                "whole": files.sha256_of(files.at(one.file)) == one.sha256,
                "runs": list(one.runs.values_list("kind", "state")),
            }
            for one in Submission.objects.select_related("team")
        ],
        "numbers": sorted(Submission.objects.values_list("team__name", "number")),
        "evaluations": [(str(one.submission_id), one.values["dice"]) for one in evaluations],
        "cases": [(str(key), case) for key, case in CaseResult.objects.values_list("submission", "case")],
        "runs": dict(Counter(Run.objects.values_list("state", flat=True))),
        "files": sorted(path.stem for path in files.at("submissions").iterdir()),
        "board": [(row.submission, row.score, row.rank) for row in by_site],
        "ranked": [(row.submission, row.score, row.rank) for row in by_library],
        "grants": sorted(Grant.objects.values_list("team__name", "extra")),
        "decided": dict(Counter(Decision.objects.values_list("actor", flat=True))),
        "audit": audit.verify(decisions.entries(challenge)),
    }


def claimed() -> str:
    """A piece of work in the hands of the worker that is there, for an hour; gives its key."""
    from isocenter.server.models import Challenge, Worker
    from isocenter.server.work import making, queue

    making.refresh(Challenge.objects.get(), "validation")
    run = queue.claim(Worker.objects.get(stopped=None).name, ["default"], timedelta(hours=1))
    return str(run.pk)


def fate(key: str) -> list[Any]:
    """What became of a piece of work, and how many workers of the queue are thought to be alive."""
    from isocenter.server.models import Run, Worker

    run = Run.objects.get(pk=key)
    return [run.state, run.attempt, Worker.objects.filter(stopped=None).count()]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path / "site") as there:
        yield there


@pytest.fixture
def made(place: Place) -> dict[str, Any]:
    return place.do(furnish)


def client(address: str, token: str) -> _submit_site.Site:
    """What `isocenter submit` speaks with; it knows the site from before, so it waits for it to come back."""
    there = _submit_site.Site(address, token, tell=lambda _: None)
    there._reached = True
    return there


def kill(processes: list[int]) -> None:
    """As a system does that has no memory left."""
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Served:
    """A site that is killed and started again, at the same address."""

    def __init__(self, place: Place, token: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"
        self._place, self._sites = place, list[Site]()
        self._staff = client(self.address, token)
        self._start()

    def _start(self) -> None:
        options = ("--port", str(self._port), "--workers", "2", "--lease", "5")
        self._sites.append(Site(self._place.data, *options, **self._place.env))

    @property
    def leader(self) -> int:
        return self._sites[-1].process.pid

    @property
    def said(self) -> str:
        return "".join(site.said for site in self._sites)

    def scored(self) -> int:
        """How many submissions have a result."""
        return self._staff.get("/challenges/neck/submissions?state=scored&limit=1")["count"]

    def idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        work = self._staff.get("/workers")
        return work["queued"] == work["running"] == 0

    def processes(self, kind: str) -> list[int]:
        """Workers, or the processes in which they measure."""
        mark = b"isocenter\0worker" if kind == "worker" else b"spawn_main"
        alive = []
        for pid in group(self.leader):
            with suppress(OSError):
                if mark in Path(f"/proc/{pid}/cmdline").read_bytes():
                    alive.append(pid)
        return alive

    def strike(self, kind: str, dice: random.Random) -> None:
        """Kill something of a kind, once there is something to be killed; a server is started again."""
        if kind in ("worker", "child"):
            wait_for(lambda: self.processes(kind), PATIENCE)
            kill([dice.choice(self.processes(kind))])
            return
        kill(group(self.leader) if kind == "everything" else [self.leader])
        self._sites[-1].process.wait()
        self._start()

    def end(self) -> None:
        for site in self._sites:
            kill(group(site.process.pid))
            site.process.wait()
            site._reader.join()
            site.process.stdout.close()


@pytest.fixture
def served(place: Place, made: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(_submit_site, "PAUSES", (0.2,) * int(PATIENCE * 5))
    site = Served(place, made["staff"])
    yield site
    site.end()


@pytest.fixture
def masks(tmp_path: Path) -> dict[int, bytes]:
    """By its slices, the file of a mask."""
    files = {}
    for slices in SLICES:
        write(Volume(mask(slices), GRID), tmp_path / f"{slices}.nii.gz")
        files[slices] = (tmp_path / f"{slices}.nii.gz").read_bytes()
    return files


class Clients:
    """Teams that hand in at the same time, and ask again when no answer comes, as `isocenter submit` does."""

    def __init__(self, address: str, tokens: dict[str, str], masks: dict[int, bytes], folder: Path) -> None:
        self._address, self._tokens, self._masks, self._folder = address, tokens, masks, folder
        dice = random.Random(SEED)
        every = list(product(SLICES, repeat=len(CASES)))
        todo = [(team, slices) for team in tokens for slices in dice.sample(every, EACH)]
        dice.shuffle(todo)
        self._todo = iter(enumerate(todo))
        self._taking, self._may = threading.Lock(), threading.Semaphore(AHEAD)
        self._allowed = AHEAD
        self.handed: list[Handed] = []
        self.errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def allow(self, count: int) -> None:
        """Let so many be handed in, of all."""
        for _ in range(count - self._allowed):
            self._may.release()
        self._allowed = max(self._allowed, count)

    def _work(self) -> None:
        try:
            while True:
                with self._taking:
                    number, (team, slices) = next(self._todo, (-1, ("", ())))
                if number < 0:
                    return
                self._may.acquire()
                self.handed.append(self.hand_in(team, slices, number))
        except BaseException as error:
            self.errors.append(error)

    def hand_in(self, team: str, slices: tuple[int, ...], number: int) -> Handed:
        """Send a file and hand it in; some ask once more, afterwards or at the same time, as if an answer was lost."""
        file = self._folder / f"{number}.zip"
        with zipfile.ZipFile(file, "w") as archive:
            for case, count in zip(CASES, slices, strict=True):
                archive.writestr(f"{case}.nii.gz", self._masks[count])
        there = client(self._address, self._tokens[team])
        said = {"challenge": "neck", "phase": "validation", "purpose": "submission", "filename": file.name}
        upload = there.begin(file.stat().st_size, said)
        there.send(file, upload, 0, lambda *_: None)
        key = upload.rpartition("/")[2]
        sure = [client(self._address, self._tokens[team]) for _ in range(2 if number % 5 == 0 else 1)]
        with ThreadPoolExecutor(len(sure)) as hands:
            told = [
                done.result()["id"] for done in [hands.submit(one.post, SUBMISSIONS, {"upload": key}) for one in sure]
            ]
        if number % 5 == 1:
            told.append(there.post(SUBMISSIONS, {"upload": key})["id"])
        assert set(told) == {key}
        return Handed(team, slices, key)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "clients did not come to an end"
        assert self.errors == []


class Organiser(threading.Thread):
    """Grants every team an attempt, one after the other, on a page; asks again until an answer comes."""

    def __init__(self, address: str, made: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self._address, self._made = address, made
        self.answers: list[int] = []

    def run(self) -> None:
        form = {"action": "grant", "phase": "validation", "extra": "1", "seen": "0", "reason": "The site was down."}
        headers = {"Cookie": f"sessionid={self._made['session']}; csrftoken={CSRF}", "X-CSRFToken": CSRF}
        for page in self._made["pages"]:
            self.answers.append(self._answer(Request(self._address + page, urlencode(form).encode(), headers)))
            time.sleep(1.0)

    def _answer(self, request: Request) -> int:
        while True:
            try:
                with urlopen(request, timeout=PATIENCE) as response:
                    return response.status
            except HTTPError as refused:
                with refused:
                    return refused.code
            except (OSError, HTTPException):
                time.sleep(0.2)


def dice_of(slices: tuple[int, ...]) -> float:
    """The mean Dice of masks of so many slices, where the reference has four."""
    return sum(2 * min(count, 4) / (count + 4) for count in slices) / len(slices)


def test_of_200_submissions_none_is_lost_and_none_is_scored_twice_whatever_is_killed(
    served, place, made, masks, tmp_path
):
    dice = random.Random(SEED)
    blows = dice.sample(BLOWS, len(BLOWS))
    moments = sorted(dice.sample(range(5, TEAMS * EACH - AHEAD // 2), len(blows)))
    clients = Clients(served.address, made["tokens"], masks, tmp_path)
    organiser = Organiser(served.address, made)
    organiser.start()

    def have_scored(count: int) -> bool:
        time.sleep(0.4)  # a site answers so many questions in a minute, and has other things to do
        assert clients.errors == []
        now = served.scored()
        clients.allow(now + AHEAD)
        return now >= count

    for blow, moment in zip(blows, moments, strict=True):
        wait_for(lambda moment=moment: have_scored(moment), PATIENCE)
        time.sleep(dice.uniform(0, 0.5))
        served.strike(blow, dice)
    wait_for(lambda: have_scored(TEAMS * EACH), PATIENCE)
    clients.join()
    organiser.join(PATIENCE)
    wait_for(served.idle, PATIENCE)
    there = place.do(found)

    told = {one.key: one for one in clients.handed}
    assert len(told) == len(clients.handed) == TEAMS * EACH
    assert sorted(one["key"] for one in there["submissions"]) == sorted(told)
    for one in there["submissions"]:
        assert (one["team"], one["state"], one["whole"]) == (told[one["key"]].team, "scored", True)
        assert one["runs"] == [["score", "done"]]
    assert there["files"] == sorted(told)
    assert there["numbers"] == [[team, number] for team in made["tokens"] for number in range(1, EACH + 1)]
    assert there["runs"].keys() <= {"done", "cancelled"}
    assert sorted(key for key, _ in there["evaluations"]) == sorted(told)
    for key, value in there["evaluations"]:
        assert value == pytest.approx(dice_of(told[key].slices))
    assert sorted(map(tuple, there["cases"])) == sorted(product(told, CASES))
    assert there["board"] == there["ranked"]
    assert there["grants"] == [[team, 1] for team in made["tokens"]]
    assert there["decided"] == {"Organiser <organiser@example.org>": 1 + TEAMS}  # the reference, and every grant once
    assert there["audit"] == []
    assert organiser.answers == [200] * TEAMS
    for team, token in made["tokens"].items():  # all attempts are used but the one that was granted
        quota = client(served.address, token).get("/challenges/neck/phases/validation/quota")
        assert (team, quota["used"], quota["left"], quota["given_back"]) == (team, EACH, 1, 0)
    assert "Traceback" not in served.said, served.said


def test_what_a_killed_worker_had_is_done_by_the_next_without_waiting_for_its_lease(place, made):
    with running(place.data, "--workers", "1", "--lease", "3600", **place.env) as site:
        staff = client(site.address, made["staff"])
        wait_for(lambda: site.workers_are_there(1))
        workers = site.workers()
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)  # it takes nothing by itself
        key = place.do(claimed)
        assert staff.get("/workers")["running"] == 1
        kill(workers)
        wait_for(lambda: staff.get("/workers")["running"] == staff.get("/workers")["queued"] == 0)
        assert place.do(fate, key) == ["done", 2, 1]
