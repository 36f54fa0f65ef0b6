"""The site under the load of OpenKBP's validation phase: 1750 submissions of 44 teams, 40 patients each.

The demand is 200 ms of server time per page at the median, on an idle core. Score tables are synthetic, of the shape
that the evaluator of OpenKBP gives; boards are made of them as workers make them. There is no peer to run here: the
other platforms need a database server, a broker and an object store before their first page.

Babier A, et al. OpenKBP: the open-access knowledge-based planning grand challenge and dataset. Med Phys 48 (2021).
"""

# ruff: noqa: A005 (`benchmarks.site` is not imported by the name of the standard library's)
from __future__ import annotations

import copy
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from django.test import Client

    from isocenter.server.models import Challenge, Submission, Team, User

TEAMS, SUBMISSIONS, PATIENTS, PEOPLE = 44, 1750, 40, 195
DEMAND, REQUESTS = 200.0, 30
PHASE = "validation"
PAST = 400
"""Boards of the past, of each stream: not every submission changes them."""
TRIES = 8
"""Different methods of a team at most; of the rest the tables are the same, as writing them takes long."""
ROLES = ("anonymous", "participant", "organiser")
ORGANS = ("Brainstem", "SpinalCord", "RightParotid", "LeftParotid", "Esophagus", "Larynx", "Mandible")
PARTS = [f"{organ}|{what}" for organ in ORGANS for what in ("D_0.1_cc", "mean")]
PARTS += [f"{target}|{what}" for target in ("PTV56", "PTV70") for what in ("D_99", "D_95", "D_1")]


@dataclass
class Played:
    """A validation phase near its end, and who looks at it."""

    challenge: Challenge
    organiser: User
    participant: User
    teams: list[Team]


def attempts(rng: np.random.Generator) -> list[int]:
    """How often each team submits: a few a hundred times, most of them rarely; 1750 together."""
    wanted = np.sort(rng.lognormal(0.0, 1.2, TEAMS))[::-1]
    counts = np.maximum(1, np.floor(wanted / wanted.sum() * SUBMISSIONS)).astype(int)
    counts[0] += SUBMISSIONS - counts.sum()
    return [int(count) for count in counts]


def table_of(rng: np.random.Generator, error: float) -> pl.DataFrame:
    """A score table of 40 patients for a method of so many Gy of error."""
    import polars as pl

    dose = rng.gamma(8.0, error / 8, (PATIENTS, 1))
    dvh = rng.gamma(1.5, error / 2, (PATIENTS, len(PARTS)))
    truth = rng.uniform(5.0, 75.0, dvh.shape)
    columns = [("", "dose_error", dose), ("", "dose_squared_error", dose**2), ("", "leaked_dose", 0 * dose)]
    for at, part in enumerate(PARTS):
        of = dvh[:, [at]]
        columns += [(part, "dvh_error", of), (part, "dvh_squared_error", of**2)]
        columns += [(part, "dvh_value", truth[:, [at]] + of), (part, "dvh_reference", truth[:, [at]])]
    return pl.DataFrame(
        {
            "case": np.repeat([f"pt_{201 + number}" for number in range(PATIENTS)], len(columns)),
            "part": [part for part, _, _ in columns] * PATIENTS,
            "metric": [metric for _, metric, _ in columns] * PATIENTS,
            "value": np.hstack([values for _, _, values in columns]).ravel(),
            "weight": np.ones(PATIENTS * len(columns)),
        }
    )


def play(rng: np.random.Generator) -> Played:
    """The challenge with people, teams, forum, and the scores of all submissions, as workers leave them."""
    from isocenter.editions import new, render
    from isocenter.evaluation import load_challenge
    from isocenter.server import clock
    from isocenter.server.hosting.demo import Stage, shifted
    from isocenter.server.models import Membership, Registration, Team, User
    from isocenter.server.organising import importing
    from isocenter.server.organising.bundle import Bundle

    organiser = User.objects.create_user("organiser@example.org", name="Organiser")
    edition = shifted(new(load_challenge("openkbp2020")), Stage(PHASE, 0.9), clock.now())
    phases = [one.model_copy(update={"counts": "best"}) if one.name == PHASE else one for one in edition.phases]
    toml = render(edition.model_copy(update={"phases": tuple(phases)}))
    challenge = importing.make_challenge(Bundle(toml), user=organiser, slug="openkbp", note="The beginning.")
    challenge.published = True
    challenge.save()
    teams = [Team(challenge=challenge, name=f"Team {number:02d}", consents=True) for number in range(TEAMS)]
    Team.objects.bulk_create(teams)
    people = [User(email=f"person-{number}@example.org", name=f"Person {number}") for number in range(PEOPLE)]
    User.objects.bulk_create(people)
    terms = edition.terms.version if edition.terms else ""
    Registration.objects.bulk_create(
        Registration(user=one, challenge=challenge, state="accepted", terms_version=terms, terms_accepted=clock.now())
        for one in people
    )
    Membership.objects.bulk_create(
        Membership(user=one, team=teams[at % TEAMS], challenge=challenge, leads=at < TEAMS)
        for at, one in enumerate(people[: 2 * TEAMS])
    )
    found = Played(challenge, organiser, people[0], teams)
    _talk(found, people)
    _submissions(found, rng)
    return found


def _talk(found: Played, people: list[User]) -> None:
    from isocenter.server.models import Announcement, Post, Topic

    for number in range(8):
        Announcement.objects.create(challenge=found.challenge, title=f"News {number}", text="*Read* this. " * 60)
    topics = [Topic(challenge=found.challenge, title=f"Question {n}", author=people[n % PEOPLE]) for n in range(120)]
    Topic.objects.bulk_create(topics)
    Post.objects.bulk_create(
        Post(topic=topic, author=people[number], text="Is **this** right?\n\n" * 5)
        for topic in topics
        for number in range(6)
    )


def _submissions(found: Played, rng: np.random.Generator) -> None:
    """1750 of them over the phase, every team a little better each time; boards, and those of the past."""
    from isocenter.editions import phase_of
    from isocenter.server import clock, files
    from isocenter.server.models import Evaluation, Notification, Reference, Run, Submission
    from isocenter.server.work import making

    challenge = found.challenge
    reference = Reference.objects.create(
        challenge=challenge,
        phase=PHASE,
        number=1,
        folder="references/openkbp/validation/1",
        digest="0" * 64,
        cases=[f"pt_{201 + number}" for number in range(PATIENTS)],
    )
    files.at(reference.folder).mkdir(parents=True)
    opens = phase_of(challenge.edition, PHASE).opens
    submissions, evaluations = [], []
    for team, count in zip(found.teams, attempts(rng), strict=True):
        skill = rng.uniform(2.5, 6.0)
        tries = [_content(challenge, table_of(rng, skill * (0.6 + 0.4 / at))) for at in range(1, min(count, TRIES) + 1)]
        for number in range(1, count + 1):
            made = opens + (number - rng.random()) / count * (clock.now() - opens)
            one = _submission(challenge, team, number, made)
            submissions.append(one)
            content = tries[(number - 1) * len(tries) // count]
            evaluations.append(Evaluation(submission=one, reference=reference, made=made, **content))
    Submission.objects.bulk_create(submissions, batch_size=500)
    Evaluation.objects.bulk_create(evaluations, batch_size=200)
    Run.objects.bulk_create(
        Run(
            kind="score", challenge=challenge, submission=one, state="done", attempt=1,
            queued=one.made, started=one.made, finished=one.made + timedelta(seconds=20),
        )
        for one in submissions
    )  # fmt: skip
    Notification.objects.bulk_create(
        Notification(user=found.participant, challenge=challenge, text="Was scored.") for _ in range(500)
    )
    for last in making.make_boards(challenge, PHASE):
        _past(last, opens)


def _past(last: Any, opens: Any) -> None:
    """Boards as they were before the last: the same size, other numbers."""
    from isocenter.server.models import Snapshot

    span = (last.made - opens) / (PAST + 1)
    for number in range(1, PAST + 1):
        content = copy.deepcopy(last.content)
        content["rows"][0]["score"] += number / 1000
        before = {"challenge": last.challenge, "phase": PHASE, "board": last.board, "version": last.version}
        made, digest = opens + number * span, uuid.uuid4().hex
        Snapshot(content=content, entries=last.entries, receipt=last.receipt, made=made, digest=digest, **before).save()


def _submission(challenge: Challenge, team: Team, number: int, made: Any) -> Submission:
    from isocenter.server.models import Submission

    return Submission(
        challenge=challenge,
        team=team,
        phase=PHASE,
        number=number,
        version=challenge.version,
        made=made,
        name=f"{team.name}.zip",
        file=f"submissions/{uuid.uuid4()}.zip",
        size=10**8,
        sha256="0" * 64,
        declarations={},
        state="scored",
    )


def _content(challenge: Challenge, table: pl.DataFrame) -> dict[str, Any]:
    """What an evaluation holds, as `isocenter.server.work.scoring` writes it."""
    import polars as pl

    from isocenter.ranking import table_digest
    from isocenter.server.editions import code_of
    from isocenter.server.work.in_force import evaluator_of
    from isocenter.server.work.score_tables import rules_of, table_bytes

    code = code_of(challenge.version_id, PHASE)
    mean = dict(table.group_by("metric").agg(pl.col("value").mean()).iter_rows())
    record = {"challenge": code.name, "reference": "0", "rules": rules_of(code), "problems": []}
    return {
        "evaluator": evaluator_of(challenge, PHASE),
        "table": table_bytes(table, record),
        "digest": table_digest(table),
        "record": record,
        "values": {board: mean[rule.metric] for board, rule in code.boards.items()},
    }


def addresses(found: Played) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Pages, and who looks at them."""
    from isocenter.server.models import Snapshot, Submission

    own = Submission.objects.filter(team=found.teams[0]).order_by("-made")
    other = Submission.objects.filter(team=found.teams[1]).order_by("-made").first()
    home, api = "/c/openkbp", "/api/v1/challenges/openkbp"
    past = Snapshot.objects.filter(board="dose").order_by("made")[PAST // 2]
    signed_in = ROLES[1:]
    yield "home", "/", ROLES
    yield "challenge", f"{home}/", ROLES
    yield "rules", f"{home}/rules/", ROLES
    yield "data", f"{home}/data/", ROLES
    yield "board, dose", f"{home}/boards/{PHASE}/dose/", ROLES
    yield "board, DVH", f"{home}/boards/{PHASE}/dvh/", ROLES
    yield "board as it was", f"{home}/boards/at/{past.face}/", ROLES[:2]
    yield "board as it was", f"{home}/boards/at/{past.digest}/", ROLES[2:]
    yield "progress", f"{home}/progress/{PHASE}/", ROLES
    yield "forum", f"{home}/forum/", ROLES
    yield "news", f"{home}/news/", ROLES
    yield "submissions", f"{home}/submissions/", signed_in
    yield "submission", f"{home}/submissions/{own[0].pk}/", signed_in
    yield "compare", f"{home}/compare/?a={own[0].pk}&b={own[1].pk}", signed_in
    yield "submit", f"{home}/submit/{PHASE}/", signed_in
    yield "team", f"{home}/team/", signed_in
    yield "notifications", "/notifications/", signed_in
    yield "compare teams", f"{home}/compare/?a={own[0].pk}&b={other.pk}", ROLES[2:]
    for name in ("", "submissions/", "teams/", "participants/", "publishing/", "decisions/"):
        yield f"organise {name.strip('/')}", f"{home}/organise/{name}", ROLES[2:]
    yield "API board", f"{api}/boards/{PHASE}/dose", ROLES
    yield "API submissions", f"{api}/submissions", signed_in


def clients(found: Played) -> dict[str, Client]:
    from django.test import Client

    browsers = {role: Client(SERVER_NAME="localhost") for role in ROLES}
    for role in ROLES[1:]:
        browsers[role].force_login(getattr(found, role), backend="allauth.account.auth_backends.AuthenticationBackend")
    return browsers


def timed(work: Callable[[], object], repeat: int) -> tuple[list[float], list[float]]:
    """Milliseconds on the wall and of this process's CPU, of each run."""
    wall, cpu = [], []
    for _ in range(repeat):
        began, spent = time.perf_counter(), time.process_time()
        work()
        wall.append(1e3 * (time.perf_counter() - began))
        cpu.append(1e3 * (time.process_time() - spent))
    return wall, cpu


def pages(found: Played) -> None:
    """Server time of every page: the first time that it is asked for, then again and again."""
    from django.core.cache import cache

    browsers = clients(found)
    print(f"\nPages with {SUBMISSIONS} submissions of {TEAMS} teams; the demand is {DEMAND:g} ms at the median")
    print(f"  {'page':<24}{'who':<13}{'first':>9}{'median':>9}{'95th':>9}{'CPU':>9}   of the demand")
    for name, address, roles in addresses(found):
        for role in roles:
            cache.clear()  # the limits of requests

            def ask(role: str = role, address: str = address) -> None:
                response = browsers[role].get(address)
                assert response.status_code == 200, (address, response.status_code)
                _ = response.content

            (first, *_), _ = timed(ask, 1)
            wall, cpu = timed(ask, REQUESTS)
            median, late = statistics.median(wall), statistics.quantiles(wall, n=20)[-1]
            spent = statistics.median(cpu)
            print(f"  {name:<24}{role:<13}{first:9.0f}{median:9.0f}{late:9.0f}{spent:9.0f}   {median / DEMAND:5.2f}×")


def boards(found: Played, rng: np.random.Generator) -> None:
    """How long a new submission waits for its board, in a worker that made the last one and in one that just began."""
    from isocenter.server import clock
    from isocenter.server.models import Evaluation, Reference
    from isocenter.server.work import making, score_tables

    times = []
    for number in (1, 2):
        one = _submission(found.challenge, found.teams[1], 1000 + number, clock.now())
        one.save()
        content = _content(found.challenge, table_of(rng, 1.5 - 0.1 * number))
        Evaluation.objects.create(submission=one, reference=Reference.objects.get(), made=one.made, **content)
        if number == 1:
            score_tables._seen.clear()
        (wall,), (cpu,) = timed(lambda: making.make_boards(found.challenge, PHASE), 1)
        times.append(f"{wall:.0f} ms wall, {cpu:.0f} ms CPU")
    print(
        f"\nBoards of the phase after a new submission: {times[0]} in a new worker, {times[1]} in one that knows them"
    )


def claims(found: Played, *, runs: int = 300) -> None:
    """How many pieces of work a worker can claim and finish in a second, if they were nothing."""
    from isocenter.server.work import queue

    for _ in range(runs):
        queue.enqueue("score", found.challenge)

    def work() -> None:
        while run := queue.claim("bench", ["default"], timedelta(minutes=1)):
            if run.kind == "score":
                queue.beat(run, done=1, total=1)
            queue.finish(run)

    (wall,), _ = timed(work, 1)
    print(f"Claimed, prolonged and finished: {runs / wall * 1e3:.0f} runs per second")


def run(home: Path) -> None:
    """Print server times of pages, the time of a board, and claims per second."""
    from isocenter.server.hosting import serving

    rng = np.random.default_rng(0)
    serving.setup(home / "site")
    serving.prepare()
    began = time.perf_counter()
    found = play(rng)
    took, size = time.perf_counter() - began, (home / "site" / "isocenter.sqlite3").stat().st_size
    print(f"The site: the phase was written down in {took:.0f} s; its database has {size / 1e6:.0f} MB")
    pages(found)
    boards(found, rng)
    claims(found)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))
