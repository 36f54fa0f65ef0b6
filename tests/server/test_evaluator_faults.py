"""The evaluator fails: it costs no team anything, the organisers read why, and when it is mended all are scored."""

from __future__ import annotations

import importlib
import io
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core import mail

from conftest import CASES, GRID, TOML, mask
from isocenter.editions import audit
from isocenter.problems import Problem
from isocenter.server import boards, clock, decisions
from isocenter.server.boards.board_history import history
from isocenter.server.editions import code_of
from isocenter.server.models import (
    CaseResult,
    Decision,
    Evaluation,
    Notification,
    Reference,
    Run,
    Snapshot,
    Submission,
    Version,
)
from isocenter.server.organising import readiness, running
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake
from isocenter.server.work import children, faults, holding, in_force, making, queue, working
from isocenter.volumes import Volume, write

SOURCE = '''
"""HECKTOR by an organiser whose code breaks on masks that hold the label 2, in the stage that BROKEN names."""
import os, signal, time
from dataclasses import replace
from isocenter import evaluation
from isocenter.evaluation import Score
from isocenter.submissions import MaskFile

BROKEN = "{broken}"

def arrange(listing, cases):
    if BROKEN == "exit":
        raise SystemExit("SECRET of the reference")
    return None if BROKEN == "arrange" else listing

def prepare(case):
    if BROKEN == "prepare" and case.name == "CHUV002":
        raise KeyError("SECRET of the reference")
    return case.name

def inspect(name, output):
    if BROKEN == "inspect" and 2 in output["mask"].labels:
        raise RuntimeError("SECRET of the reference")
    return ()

def measure(name, output):
    if 2 in output["mask"].labels:
        if BROKEN == "RuntimeError":
            raise RuntimeError("SECRET lookup table has shape (3,)")
        if BROKEN == "ValueError":
            raise ValueError("SECRET x is not finite")
        if BROKEN == "sleep":
            time.sleep(600)
        if BROKEN == "kill":
            os.kill(os.getpid(), signal.SIGSEGV)
    yield Score("dice", 0.5 if 2 in output["mask"].labels else 0.75)
    for metric in challenge.metrics[1:]:
        yield Score(metric, None)

base = evaluation.load_challenge("hecktor2020")
challenge = replace(
    base, arrange=arrange, prepare=prepare, measure=measure, inspect=inspect,
    output={{"mask": MaskFile(labels=(("one", 1), ("two", 2)), grid_of="mask")}},
)
'''
WAYS = {
    "RuntimeError": ("evaluator_failed", "RuntimeError: SECRET lookup table has shape (3,)"),
    "ValueError": ("evaluator_failed", "ValueError: SECRET x is not finite"),
    "inspect": ("evaluator_failed", "RuntimeError: SECRET of the reference"),
    "prepare": ("evaluator_failed", "KeyError: 'SECRET of the reference'"),
    "sleep": ("timeout", "took longer than 2 s to measure"),
    "kill": ("crashed", "the program that measures broke down (measure)"),
}
"""By what is broken, the code and what the organisers read."""
ARRANGING = {"arrange": "it returned NoneType, not a Listing", "exit": "SystemExit: SECRET of the reference"}
"""By how `arrange` is broken, what the organisers read."""
MODULES = (*WAYS, *ARRANGING, "")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The challenge by what is broken in it; "" is the mended one. Children import them by their names."""
    folder = tmp_path_factory.mktemp("evaluators")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("ISOCENTER_CASE_GB", "3")
        patch.setenv("ISOCENTER_CASE_SECONDS", "2")
        children.end()
        for way in MODULES:
            (folder / f"evaluator_{way}.py").write_text(SOURCE.format(broken=way))
        yield {way: importlib.import_module(f"evaluator_{way}").challenge for way in MODULES}
        children.end()
    for way in MODULES:
        sys.modules.pop(f"evaluator_{way}", None)


@dataclass
class Site:
    """A world whose evaluator is broken, or mended."""

    world: Any
    modules: dict[str, Any]
    patch: pytest.MonkeyPatch
    commits: Any

    def deploy(self, way: str) -> None:
        """Put an evaluator in force, as workers that are started again have it."""
        self.patch.setattr("isocenter.evaluation.load_challenge", lambda _: self.modules[way])
        code_of.cache_clear()

    def hand_in(
        self, team: str, *, label: int = 1, cases: tuple[str, ...] = CASES, phase: str = "validation", **fields: Any
    ) -> Submission:
        """A submission whose mask of CHUV002 holds a label; 2 is what the evaluator breaks on."""
        one = self.world.submission(team, phase, **fields)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for case in cases:
                path = self.world.scratch / f"{case}.nii.gz"
                write(Volume((mask(4) * (label if case == "CHUV002" else 1)).astype(np.uint8), GRID), path)
                archive.write(path, path.name)
        (self.world.data / one.file).write_bytes(stream.getvalue())
        queue.enqueue("score", self.world.challenge, submission=one)
        return one

    def work(self) -> None:
        """What a worker does until nothing waits; mails go out when it is written."""
        with self.commits(execute=True):
            working.work(threading.Event(), name="w", once=True)

    def visit(self, name: str) -> Visit:
        return Visit(self.world.people[name], self.world.challenge)

    def standing(self, phase: str = "validation") -> dict[str, Any]:
        """By team on the main board, its row."""
        latest = boards.latest(self.world.challenge, phase)
        return {} if latest is None else {row["submission"]: row for row in latest.content["rows"]}

    def page(self, name: str, address: str) -> str:
        answer = self.world.client(name).get(f"/c/neck/{address}", follow=True)
        assert answer.status_code == 200, (address, answer.status_code)
        return answer.content.decode()

    def told(self, name: str) -> list[str]:
        rows = Notification.objects.filter(user=self.world.people[name]).order_by("pk")
        return list(rows.values_list("text", flat=True))

    def mails(self, name: str) -> list[Any]:
        return [one for one in mail.outbox if one.to == [f"{name}@example.org"]]


@pytest.fixture
def site(world, modules, monkeypatch, django_capture_on_commit_callbacks) -> Site:
    def tick() -> Any:
        world.at.move(milliseconds=1)
        return world.at.now

    monkeypatch.setattr(clock, "source", tick)  # boards follow one another
    return Site(world, modules, monkeypatch, django_capture_on_commit_callbacks)


def evaluate_again(site: Site, reason: str = "The evaluator is mended.", phase: str = "validation") -> None:
    client = site.world.client("organiser")
    answer = client.post("/c/neck/organise/submissions/faults/", {"phase": phase, "reason": reason, "action": "again"})
    assert answer.status_code == 302
    site.work()


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_fault_of_the_evaluator_costs_the_team_nothing_and_heals_when_it_is_mended(site, way, gaps):
    """From the submission to its state, quota, board, pages and mails; then mended, and everything is scored."""
    code, message = WAYS[way]
    site.deploy(way)
    before = intake.quota(site.visit("alice"), "validation").left
    healthy = site.hand_in("Pilatus")
    broken = site.hand_in("Rigi", label=2, gaps=gaps)
    site.work()
    healthy.refresh_from_db()
    broken.refresh_from_db()

    # The state: nothing is wrong with the submission, and no attempt is used.
    assert (broken.state, broken.reason) == ("infrastructure", code)
    assert intake.quota(site.visit("alice"), "validation").left == before
    assert not Evaluation.objects.filter(submission=broken).exists()
    rows = dict(CaseResult.objects.filter(submission=broken).values_list("case", "state"))
    assert rows == {"CHUV001": "measured", "CHUV003": "measured"}  # and no failed case

    # The board: the team does not stand on it with failed cases; it says that something waits.
    assert set(site.standing()) == (set() if way == "prepare" else {"Pilatus"})
    waiting = [entry["team"] for entry in boards.latest(site.world.challenge, "validation").entries if not entry["row"]]
    assert "Rigi" in waiting
    assert making.WAITING in boards.latest(site.world.challenge, "validation").content["notes"]

    # The team reads that it is not about its files, and nothing of why.
    address = f"submissions/{broken.pk}/"
    shown = site.page("alice", address)
    assert "waits for the organisers" in shown
    assert "No attempt is used, and no case counts against the team." in shown
    [text] = [one for one in site.told("alice") if "could not be scored" in one]
    assert "not about your files" in text
    assert "No attempt was used" in text
    api = f"/api/v1/challenges/neck/submissions/{broken.pk}"
    answers = [site.world.client("alice").get(path).content.decode() for path in (api, f"{api}/problems")]
    assert json.loads(answers[0])["reason"] | {"title": "", "advice": "", "cost": ""} == {
        "code": code, "origin": "evaluator", "blame": "organisers", "title": "", "advice": "", "cost": "",
    }  # fmt: skip
    assert [(one["case"], one["code"], one["origin"]) for one in json.loads(answers[1])] == [
        ("CHUV002", code, "evaluator")
    ]
    seen = [shown, *answers, *site.told("alice"), site.page("alice", "submissions/")]
    seen.append(site.world.client("alice").get(f"/c/neck/{address}problems.txt").content.decode())
    assert all("SECRET" not in one and "Traceback" not in one for one in seen)

    # The organisers are told once, with case, exception and traceback, and see how many submissions wait.
    concerned = 2 if way == "prepare" else 1
    [text] = site.told("organiser")
    assert f"{concerned} submission" in text
    assert message[:40] in text
    assert "CHUV002" in text
    [sent] = site.mails("organiser")
    assert "CHUV002" in sent.body
    assert ("Traceback" in sent.body and "SECRET" in sent.body) == (code == "evaluator_failed")
    listed = site.page("organiser", "organise/submissions/faults/")
    assert f"{concerned} submission" in listed
    assert message.replace("'", "&#x27;") in listed
    assert ("Traceback (most recent call last)" in listed) == (code == "evaluator_failed")
    assert "See why, and evaluate again" in site.page("organiser", "organise/")

    # Mended and evaluated again: all of them are scored, and stand on the board.
    site.deploy("")
    evaluate_again(site)
    for one in (healthy, broken):
        one.refresh_from_db()
        assert (one.state, one.reason, one.problems) == ("scored", "", [])
    standing = site.standing()
    assert {team: row["failed"] for team, row in standing.items()} == {"Rigi": 0, "Pilatus": 0}
    assert standing["Rigi"]["score"] == pytest.approx((0.75 + 0.5 + 0.75) / 3)
    assert making.WAITING not in boards.latest(site.world.challenge, "validation").content["notes"]
    assert any("was scored, now that the organisers have mended the evaluator" in one for one in site.told("alice"))
    assert faults.list_faults(site.world.challenge) == []
    assert "nothing waits for a mended evaluator" in site.page("organiser", "organise/submissions/faults/")
    audit.verify(decisions.entries(site.world.challenge))


@pytest.mark.parametrize("way", ARRANGING)
def test_a_broken_arrangement_is_a_fault_that_the_worker_survives(site, way):
    site.deploy(way)
    one = site.hand_in("Rigi")
    site.work()
    one.refresh_from_db()
    assert (one.state, one.reason) == ("infrastructure", "evaluator_failed")
    [fault] = faults.list_faults(site.world.challenge)
    assert ARRANGING[way] in fault.message
    assert "Traceback" in fault.detail
    assert all("SECRET" not in text for text in site.told("alice"))
    site.deploy("")
    evaluate_again(site)
    one.refresh_from_db()
    assert one.state == "scored"


def test_one_notification_and_mail_per_broken_evaluator_whose_number_follows(site):
    site.deploy("RuntimeError")
    for team in ("Rigi", "Rigi", "Pilatus"):
        site.hand_in(team, label=2)
        site.work()
    [text] = site.told("organiser")
    assert "3 submissions wait for it" in text
    assert len(site.mails("organiser")) == 1
    [fault] = faults.list_faults(site.world.challenge)
    assert fault.cases == (("CHUV002", 3),)
    assert [one.team.name for one in fault.submissions] == ["Rigi", "Rigi", "Pilatus"]
    assert "3 submissions wait" in site.page("organiser", "organise/submissions/faults/")


def test_another_evaluator_that_is_broken_is_told_of_again(site):
    site.deploy("RuntimeError")
    site.hand_in("Rigi", label=2)
    site.work()
    site.deploy("ValueError")
    evaluate_again(site)
    first, second = site.told("organiser")
    assert ("RuntimeError" in first, "ValueError" in second) == (True, True)
    assert len(site.mails("organiser")) == 2
    [fault] = faults.list_faults(site.world.challenge)
    assert "ValueError" in fault.message


def test_a_submission_that_had_a_score_keeps_it(site):
    site.deploy("")
    one = site.hand_in("Rigi", label=2)
    site.work()
    score = site.standing()["Rigi"]["score"]
    site.deploy("RuntimeError")
    site.world.client("organiser").post("/c/neck/organise/submissions/again/", {"phase": "validation", "reason": "new"})
    site.work()
    one.refresh_from_db()
    assert (one.state, one.reason) == ("scored", "")
    assert site.standing()["Rigi"]["score"] == score
    assert site.standing()["Rigi"]["failed"] == 0
    assert site.told("alice") == ["Validation: submission 1 was scored."]
    [fault] = faults.list_faults(site.world.challenge)
    assert fault.submissions == (one,)
    assert "keeps its older score" in site.page("organiser", "organise/submissions/faults/")


def test_the_next_submission_that_a_mended_evaluator_scores_heals_all_others(site):
    """Nobody pressed a button: other code, or another reference, is in force, and what waited is tried again."""
    site.deploy("RuntimeError")
    waiting = [site.hand_in(team, label=2) for team in ("Rigi", "Rigi")]
    site.work()
    site.deploy("")
    site.hand_in("Pilatus")
    site.work()
    for one in waiting:
        one.refresh_from_db()
        assert one.state == "scored"
    assert set(site.standing()) == {"Rigi", "Pilatus"}


def test_another_reference_heals_what_broke_on_the_old_one(site):
    site.deploy("RuntimeError")
    one = site.hand_in("Rigi", label=2)
    site.work()
    old = site.world.references["validation"]
    Reference.objects.create(
        challenge=site.world.challenge, phase="validation", number=2, folder=old.folder, digest="1" * 64, cases=CASES
    )
    healthy = site.hand_in("Pilatus")
    site.work()
    # It is tried again with the new reference, breaks on it as well, and then is left alone.
    assert Run.objects.filter(submission=one, state="failed").count() == 2
    site.hand_in("Pilatus")
    site.work()
    assert Run.objects.filter(submission=one).count() == 2
    healthy.refresh_from_db()
    assert healthy.state == "scored"


def test_what_was_measured_of_other_cases_is_used_again(site, monkeypatch):
    site.deploy("sleep")
    site.hand_in("Rigi", label=2)
    site.work()
    rows = dict(CaseResult.objects.values_list("case", "made"))
    assert sorted(rows) == ["CHUV001", "CHUV003"]
    monkeypatch.setenv("ISOCENTER_CASE_SECONDS", "1")
    evaluate_again(site, "A faster machine, we hoped.")
    assert dict(CaseResult.objects.values_list("case", "made")) == rows


def test_an_output_that_its_team_can_mend_is_refused_whatever_else_fails(site):
    site.deploy("RuntimeError")
    one = site.hand_in("Rigi", label=2, cases=("CHUV001", "CHUV002"))
    site.work()
    one.refresh_from_db()
    assert (one.state, one.reason) == ("refused", "refused")
    assert [problem["case"] for problem in one.problems] == ["CHUV003"]
    assert site.told("organiser") == []


def test_gaps_and_a_fault_leave_the_missing_case_to_be_counted_when_it_is_mended(site):
    site.deploy("RuntimeError")
    one = site.hand_in("Rigi", label=2, cases=("CHUV001", "CHUV002"), gaps=True)
    site.work()
    one.refresh_from_db()
    assert one.state == "infrastructure"
    site.deploy("")
    evaluate_again(site)
    one.refresh_from_db()
    assert one.state == "scored"
    assert site.standing()["Rigi"]["missing"] == 1


# The results of a phase with submissions that wait


@pytest.fixture
def held(site) -> Site:
    """The hidden test phase is over, its results would be out, and a submission of Rigi waits."""
    site.world.at.now += timedelta(days=35)  # it is open
    site.deploy("RuntimeError")
    site.hand_in("Pilatus", phase="test")
    site.hand_in("Rigi", label=2, phase="test")
    site.work()
    site.world.at.now = site.world.challenge.edition.phases[1].results + timedelta(minutes=1)
    return site


def results_are_seen(site: Site, name: str = "") -> bool:
    answer = site.world.client(name).get("/api/v1/challenges/neck/phases")
    state = {one["name"]: one["state"] for one in answer.json()}["test"]
    board = site.world.client(name).get("/c/neck/boards/test/dice/board.csv")
    assert (state == "over") == (board.status_code == 200), (state, board.status_code)
    return state == "over"


def test_results_are_held_back_while_submissions_wait(held):
    assert running.due(held.world.at.now) == 0
    for name in ("", "alice", "carol", "reader"):
        assert not results_are_seen(held, name)
        assert "held back" in held.page(name, "boards/")
    assert held.told("carol") == ["Test: submission 1 was scored."]
    visit = held.visit("carol")
    assert not visit.sight("test").own_scores
    assert not visit.is_out(visit.phase("test"))
    todo = [text for step in readiness.steps(held.world.challenge, held.world.at.now) for text in step.todo]
    assert "1 submission to Test waits for a mended evaluator. Until then its results are held back." in todo
    assert "held back" in held.page("organiser", "organise/")
    assert "Publish without" in held.page("organiser", "organise/publishing/")


def test_results_come_out_by_themselves_when_all_are_scored(held):
    held.deploy("")
    evaluate_again(held, phase="test")
    assert running.due(held.world.at.now) == 1
    assert results_are_seen(held)
    assert set(held.standing("test")) == {"Rigi", "Pilatus"}


def test_results_stay_held_back_while_submissions_are_evaluated_again(held):
    held.deploy("")
    held.world.client("organiser").post(
        "/c/neck/organise/submissions/faults/", {"phase": "test", "reason": "mended", "action": "again"}
    )
    assert Submission.objects.get(team__name="Rigi").state == "queued"
    assert not results_are_seen(held)
    assert running.due(held.world.at.now) == 0


def test_organisers_decide_to_publish_without_those_that_wait(held):
    client = held.world.client("organiser")
    answer = {"phase": "test", "action": "without"}
    client.post("/c/neck/organise/publishing/", answer)  # without a reason
    assert not Decision.objects.exists()
    client.post("/c/neck/organise/publishing/", answer | {"reason": "The conference is today."})
    decided = list(Decision.objects.order_by("number").values_list("what", "subject", "actor"))
    assert decided[0] == (holding.WITHOUT, "test", "Organiser <organiser@example.org>")
    assert decided[1][:2] == (holding.OUT, "test")
    assert results_are_seen(held)
    assert any("results of Test are out" in text for text in held.told("carol"))
    assert holding.held_phases(held.world.challenge) == {}
    client.post("/c/neck/organise/publishing/", answer | {"reason": "Twice."})
    assert Decision.objects.filter(what=holding.WITHOUT).count() == 1


def test_nobody_but_organisers_publishes_without(held):
    for name in ("", "alice", "reader"):
        answer = held.world.client(name).post(
            "/c/neck/organise/publishing/", {"phase": "test", "action": "without", "reason": "now"}
        )
        assert answer.status_code in (302, 403)
    assert not Decision.objects.exists()


def test_results_that_are_out_are_not_taken_back(site):
    site.world.at.now += timedelta(days=35)
    site.deploy("")
    one = site.hand_in("Pilatus", phase="test")
    site.work()
    site.world.at.now = site.world.challenge.edition.phases[1].results
    assert running.due(site.world.at.now) == 1
    site.deploy("RuntimeError")
    (site.world.data / one.file).write_bytes((site.world.data / site.hand_in("Rigi", label=2).file).read_bytes())
    site.world.client("organiser").post("/c/neck/organise/submissions/again/", {"phase": "test", "reason": "new"})
    site.work()
    assert [fault.phase for fault in faults.list_faults(site.world.challenge)] == ["test", "validation"]
    assert results_are_seen(site)


def test_a_void_submission_holds_nothing_back(held):
    Submission.objects.filter(team__name="Rigi").update(void=True)
    assert holding.held_phases(held.world.challenge) == {}
    assert faults.waiting_in(held.world.challenge, "test") == []
    assert running.due(held.world.at.now) == 1


def test_a_submission_of_a_disqualified_team_waits_for_nothing(held):
    [waiting] = faults.waiting_in(held.world.challenge, "test")
    waiting.team.disqualified = True
    waiting.team.save()
    assert holding.held_phases(held.world.challenge) == {}
    assert faults.waiting_in(held.world.challenge, "test") == []


def test_the_best_of_a_phase_are_not_invited_before_its_results_are_out(held):
    held.world.at.now = held.world.challenge.edition.phases[2].opens + timedelta(hours=1)
    assert not held.visit("carol").admission("final").yes
    held.world.client("organiser").post(
        "/c/neck/organise/publishing/", {"phase": "test", "action": "without", "reason": "We cannot wait."}
    )
    assert held.visit("carol").admission("final").yes


def test_boards_that_were_made_while_results_were_held_back_stay_unseen(held):
    """Without Rigi's row the board would tell how others stand before everybody may know it."""
    held.world.at.move(hours=1)
    held.deploy("")
    evaluate_again(held, phase="test")
    held.world.at.move(hours=1)
    assert running.due(held.world.at.now) == 1
    out = Decision.objects.get(what=holding.OUT).when
    visit = held.visit("alice")
    past = history(visit, visit.phase("test"), "dice")
    assert [one.made <= out for one in past] == [True]
    assert [row.submission for row in boards.shown(visit, Snapshot.objects.get(pk=past[0].id)).rows][:1] == ["Pilatus"]


def test_results_are_not_published_by_hand_while_submissions_wait(held):
    held.world.at.now = held.world.challenge.edition.phases[1].closes + timedelta(hours=1)
    client = held.world.client("organiser")
    base = Version.objects.get().number
    said = client.post(
        "/c/neck/organise/publishing/",
        {"phase": "test", "action": "results", "reason": "now", "base": base},
        follow=True,
    ).content.decode()
    assert "1 submission to Test waits for a mended evaluator" in said
    assert Version.objects.count() == 1


def test_the_quota_gives_the_attempt_back_whatever_refund_says(site):
    version = Version.objects.create(
        challenge=site.world.challenge, number=2, toml=TOML.replace("quota = 3", 'quota = 3\nrefund = "none"', 1)
    )
    site.world.challenge.version = version
    site.world.challenge.save()
    site.deploy("RuntimeError")
    site.hand_in("Rigi", label=2)
    site.work()
    assert intake.quota(site.visit("alice"), "validation").left == 3


def test_what_a_traceback_holds_can_be_stored_in_every_database(site):
    odd = "Traceback\n\0 and half of a character \udc80"
    cause = Problem("unusable", "m", "CHUV001", code="evaluator_failed", origin="evaluator", detail=odd)
    one = site.hand_in("Rigi")
    run = Run.objects.get(submission=one)
    Run.objects.filter(pk=run.pk).update(state="failed", detail=faults.describe([cause]), finished=clock.now())
    faults.record(run, [cause], evaluator="e" * 64, reference=None)
    [fault] = faults.list_faults(site.world.challenge)
    assert fault.detail == "Traceback\n\\0 and half of a character \\udc80"
    assert fault.detail in Run.objects.get(submission=one).detail


def test_a_fault_names_its_evaluator_and_the_place_in_its_code(site):
    site.deploy("RuntimeError")
    site.hand_in("Rigi", label=2)
    site.work()
    [fault] = faults.list_faults(site.world.challenge)
    assert fault.evaluator == in_force.evaluator_of(site.world.challenge, "validation")
    assert Path(fault.detail.split('File "')[-1].partition('"')[0]).name == "evaluator_RuntimeError.py"
