"""From a submission to its scores: what is stored, what is told to whom, and what a bomb or a dead worker costs."""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import threading
import zipfile
from datetime import timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isocenter import evaluation, scores
from isocenter.editions import Attempt, quota_left
from isocenter.problems import Problem, codes
from isocenter.ranking import table_digest
from isocenter.server import clock
from isocenter.server.models import CaseResult, Evaluation, Notification, Reference, Run, Submission
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake
from isocenter.server.work import case_store, children, queue, reasons, scoring, working
from isocenter.server.work.children import Children, Limits
from isocenter.server.work.reevaluation import reevaluate
from isocenter.volumes import Volume, write

CASES = ("CHUV001", "CHUV002", "CHUV003")

SOURCE = '''
"""HECKTOR as it is told: masks say by their labels what becomes of the process that reads or measures them."""
import os, signal, time
from dataclasses import replace
from pathlib import Path
import numpy as np
from isocenter import evaluation
from isocenter.evaluation import OutputError, Score
from isocenter.submissions import MaskFile

LOG = Path(os.environ["TOLD_LOG"])
PAUSE = float(os.environ.get("TOLD_PAUSE", "0"))

def explode(labels):
    if 2 in labels:
        hoard = [np.empty(2**27) for _ in range(1000)]
    if 3 in labels:
        time.sleep(600)
    if 4 in labels:
        os.kill(os.getpid(), signal.SIGKILL)
    if 6 in labels:
        os.kill(os.getpid(), signal.SIGSEGV)

class BombFile(MaskFile):
    """Labels from 12 on are bombs for the process that reads them."""
    def read(self, file, **how):
        reading = super().read(file, **how)
        explode({label - 10 for label in reading.value.labels})
        return reading

def prepare(case):
    return case.name

def measure(name, output):
    with LOG.open("a") as stream:
        stream.write(name + "\\n")
    time.sleep(PAUSE)
    labels = output["mask"].labels
    if 5 in labels:
        raise OutputError("the answer is not an answer")
    explode(labels)
    yield Score("dice", 0.5)
    for metric in challenge.metrics[1:]:
        yield Score(metric, None)

class Weird(BaseException):
    """Not an Exception."""

def break_by(task):
    raise {"KeyError": KeyError, "SystemExit": SystemExit, "Weird": Weird}[task.error]("x")

def die_by(task):
    evaluation.report_stage("measure")
    os.kill(os.getpid(), getattr(signal, task.signal))

base = evaluation.load_challenge("hecktor2020")
labels = tuple((str(n), n) for n in range(1, 17))
challenge = replace(
    base, prepare=prepare, measure=measure, inspect=None, output={"mask": BombFile(labels=labels, grid_of="mask")}
)
'''


class Told:
    """The challenge of `SOURCE` in the place of HECKTOR, and which cases it measured since the last look."""

    def __init__(self, module: ModuleType, log: Path) -> None:
        self.challenge = module.challenge
        self._log = log

    def measured(self) -> list[str]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return sorted(lines)


@pytest.fixture(scope="module")
def told_module(tmp_path_factory):
    """Children stay from test to test, so what they import has to stay, too."""
    folder = tmp_path_factory.mktemp("told")
    (folder / "told_challenge.py").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("TOLD_LOG", str(folder / "log"))
        yield Told(importlib.import_module("told_challenge"), folder / "log")
    sys.modules.pop("told_challenge", None)


@pytest.fixture
def told(told_module, monkeypatch):
    monkeypatch.setattr("isocenter.evaluation.load_challenge", lambda name: told_module.challenge)
    told_module.measured()
    return told_module


@pytest.fixture(scope="module", autouse=True)
def few_limits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISOCENTER_CASE_GB", "3")
        patch.setenv("ISOCENTER_CASE_SECONDS", "3")
        children.end()
        yield
        children.end()


def claimed(submission: Submission, **fields: Any) -> Run:
    Run.objects.filter(kind="board", state="queued").update(state="done")
    queue.enqueue("score", submission.challenge, submission=submission, **fields)
    run = queue.claim("w", ["default"], timedelta(seconds=60))
    assert run is not None
    assert run.submission_id == submission.pk
    return run


def labelled(world, team: str, labels: dict[str, int], phase: str = "validation") -> Submission:
    """A submission whose masks hold these labels, for `Told`."""
    from conftest import GRID, mask

    submission = world.submission(team, phase, gaps=True)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for case, label in labels.items():
            path = world.scratch / f"{case}.nii.gz"
            write(Volume((mask(4) * label).astype(np.uint8), GRID), path)
            archive.write(path, path.name)
    (world.data / submission.file).write_bytes(stream.getvalue())
    return submission


def told_to(name: str, world) -> list[str]:
    return list(Notification.objects.filter(user=world.people[name]).order_by("pk").values_list("text", flat=True))


def test_a_submission_is_scored_as_the_library_scores_it(world):
    one = world.submission("Rigi", "validation", {"CHUV001": 4, "CHUV002": 3, "CHUV003": 5})
    scoring.score(run := claimed(one))
    one.refresh_from_db()
    run.refresh_from_db()
    assert (one.state, one.reason, one.problems) == ("scored", "", [])
    assert (run.state, run.reason, run.done, run.total) == ("done", "", 3, 3)
    whole = evaluation.evaluate(
        evaluation.load_challenge("hecktor2020"),
        reference=world.data / world.references["validation"].folder,
        submission=world.data / one.file,
    )
    found = Evaluation.objects.get(submission=one)
    table = scoring.table_of(found)
    assert table.equals(whole.scores)
    assert found.digest == table_digest(whole.scores)
    assert found.evaluator == whole.record["code"]
    assert {name: found.record[name] for name in whole.record} == whole.record
    assert found.values["dice"] == pytest.approx((1 + 6 / 7 + 8 / 9) / 3)
    assert scoring.evaluation_of(one) == found
    kept = CaseResult.objects.filter(submission=one)
    assert sorted(kept.values_list("case", "state")) == [(case, "measured") for case in CASES]
    assert Run.objects.get(kind="board").payload == {"phase": "validation"}


def test_the_table_is_a_file_that_the_library_reads(world, tmp_path):
    scoring.score(claimed(world.submission("Rigi", "validation")))
    (tmp_path / "x.parquet").write_bytes(bytes(Evaluation.objects.get().table))
    assert scores.read(tmp_path / "x.parquet").height
    assert scores.read_record(tmp_path / "x.parquet")["challenge"] == "hecktor2020"


def test_the_team_hears_that_it_was_scored_and_no_number(world):
    scoring.score(claimed(world.submission("Rigi", "test", 3)))
    for name in ("alice", "bob"):
        assert told_to(name, world) == ["Test: submission 1 was scored."]
    assert told_to("carol", world) == told_to("organiser", world) == []


def test_one_that_is_refused_says_why_and_costs_nothing(world):
    from isocenter.server.policy import Visit
    from isocenter.server.submitting import intake

    one = world.submission("Rigi", "validation")
    (world.data / one.file).write_bytes(b"this is no zip")
    scoring.score(run := claimed(one))
    one.refresh_from_db()
    run.refresh_from_db()
    assert (one.state, one.reason, run.state, run.reason) == ("refused", "refused", "failed", "refused")
    assert (one.problems[0]["severity"], one.problems[0]["origin"]) == ("refused", "output")
    assert one.problems[0]["reason"] == one.problems[0]["code"] == "bad_archive"
    assert not Evaluation.objects.exists()
    assert not Run.objects.filter(kind="board").exists()
    visit = Visit(world.people["alice"], world.challenge)
    assert intake.quota(visit, "validation").left == 3
    assert told_to("organiser", world) == []


def test_a_case_that_cannot_be_used_refuses_all_and_costs_nothing_unless_it_is_meant(world):
    one = world.submission("Rigi", "validation", {"CHUV001": 4, "CHUV002": 4})
    with zipfile.ZipFile(world.data / one.file, "a") as archive:
        archive.writestr("CHUV003.nii.gz", b"no image")
    before = intake.quota(Visit(world.people["alice"], world.challenge), "validation").left
    scoring.score(claimed(one))
    one.refresh_from_db()
    assert (one.state, one.reason) == ("refused", "refused")
    assert [problem["case"] for problem in one.problems] == ["CHUV003"]
    assert not Evaluation.objects.exists()
    assert not CaseResult.objects.exists()
    left = intake.quota(Visit(world.people["alice"], world.challenge), "validation").left
    assert (before, left) == (2, 3)


def test_missing_and_unusable_cases_are_scored_by_the_policy_of_the_challenge(world):
    one = world.submission("Rigi", "validation", {"CHUV001": 4, "CHUV002": 4}, gaps=True)
    with zipfile.ZipFile(world.data / one.file, "a") as archive:
        archive.writestr("CHUV003.nii.gz", b"no image")
    del_case = world.submission("Pilatus", "validation", {"CHUV001": 4}, gaps=True)
    scoring.score(claimed(one))
    scoring.score(claimed(del_case))
    one.refresh_from_db()
    del_case.refresh_from_db()
    assert one.state == del_case.state == "scored"
    assert {problem["reason"] for problem in del_case.problems} == {"missing_output"}
    assert [problem["case"] for problem in one.problems] == ["CHUV003"]
    assert Evaluation.objects.get(submission=one).values["dice"] == pytest.approx(2 / 3)
    assert Evaluation.objects.get(submission=del_case).values["dice"] == pytest.approx(1 / 3)


def test_a_bad_reference_is_the_organisers_fault(world):
    from isocenter.server.policy import Visit
    from isocenter.server.submitting import intake

    (world.data / world.references["validation"].folder / "CHUV002.nii.gz").write_bytes(b"spoilt")
    one = world.submission("Rigi", "validation")
    scoring.score(run := claimed(one))
    one.refresh_from_db()
    run.refresh_from_db()
    assert (one.state, one.reason, run.reason) == ("infrastructure", "reference", "reference")
    assert "CHUV002" in run.detail
    assert "CHUV002" not in json.dumps([one.problems, told_to("alice", world)])
    assert "could not be scored" in told_to("alice", world)[0]
    assert "reference" in told_to("organiser", world)[0].lower()
    visit = Visit(world.people["alice"], world.challenge)
    assert intake.quota(visit, "validation").left == 3


def test_a_phase_without_a_reference_of_its_own_takes_the_one_for_all(world):
    Reference.objects.filter(phase="validation").update(phase="")
    scoring.score(claimed(world.submission("Rigi", "validation")))
    assert Evaluation.objects.get().reference.phase == ""
    Reference.objects.filter(phase="").delete()
    one = world.submission("Pilatus", "validation")
    scoring.score(claimed(one))
    one.refresh_from_db()
    assert (one.state, one.reason) == ("infrastructure", "reference")


def test_the_last_reference_is_in_force(world):
    second = Reference.objects.create(
        challenge=world.challenge, phase="validation", number=2, folder=world.references["test"].folder, digest="1" * 64
    )
    scoring.score(claimed(world.submission("Rigi", "validation")))
    assert Evaluation.objects.get().reference == second


def test_who_lost_the_lease_writes_nothing(world, monkeypatch, told):
    one = labelled(world, "Rigi", dict.fromkeys(CASES, 1))
    run = claimed(one)
    after_two = case_store.DatabaseStore.add
    seen = []

    def add(self, result):
        if len(seen) == 2:  # while this worker slept, another took the run
            world.at.move(minutes=5)
            assert queue.claim("other", ["default"], timedelta(seconds=60)).pk == run.pk
        seen.append(result.case)
        after_two(self, result)

    monkeypatch.setattr(case_store.DatabaseStore, "add", add)
    with pytest.raises(queue.LeaseLost):
        scoring.score(run)
    assert CaseResult.objects.count() == 2
    assert not Evaluation.objects.exists()
    one.refresh_from_db()
    assert one.state == "running"


def test_who_lost_the_lease_at_the_very_end_writes_nothing(world, monkeypatch):
    one = world.submission("Rigi", "validation")
    run = claimed(one)
    keep = scoring.keep

    def late(*args):
        world.at.move(minutes=5)
        queue.claim("other", ["default"], timedelta(seconds=60))
        return keep(*args)

    monkeypatch.setattr(scoring, "keep", late)
    with pytest.raises(queue.LeaseLost):
        scoring.score(run)
    assert not Evaluation.objects.exists()
    assert not Run.objects.filter(kind="board").exists()
    assert told_to("alice", world) == []


def test_a_second_worker_goes_on_where_the_first_was_stopped(world, told, monkeypatch):
    one = labelled(world, "Rigi", dict.fromkeys(CASES, 1))
    stop = threading.Event()
    add = case_store.DatabaseStore.add

    def then_stop(self, result):
        if CaseResult.objects.count() == 1:
            stop.set()
        add(self, result)

    monkeypatch.setattr(case_store.DatabaseStore, "add", then_stop)
    run = claimed(one)
    with pytest.raises(scoring.Stopped):
        scoring.score(run, stop=stop)
    queue.release(run)
    before = {row.case: (row.pk, row.made) for row in CaseResult.objects.all()}
    assert len(before) == 2
    first = told.measured()
    world.at.move(seconds=10)
    again = queue.claim("second", ["default"])
    assert again.attempt == 1
    scoring.score(again)
    assert {row.case: (row.pk, row.made) for row in CaseResult.objects.all()}.items() >= before.items()
    assert CaseResult.objects.count() == 3
    later = told.measured()
    assert not set(later) & set(before)
    assert set(first) | set(later) == set(CASES)


def test_a_cancelled_run_stops_at_the_next_case(world, told, monkeypatch):
    one = labelled(world, "Rigi", dict.fromkeys(CASES, 1))
    add = case_store.DatabaseStore.add

    def cancelling(self, result):
        if CaseResult.objects.count() == 1:
            assert queue.cancel(one)
        add(self, result)

    monkeypatch.setattr(case_store.DatabaseStore, "add", cancelling)
    with pytest.raises(queue.Cancelled):
        scoring.score(claimed(one))
    one.refresh_from_db()
    assert one.state == "cancelled"
    assert CaseResult.objects.count() == 1
    assert not Evaluation.objects.exists()


@pytest.mark.parametrize(("label", "reason"), [(12, "out_of_memory"), (13, "timeout"), (14, "out_of_memory")])
def test_a_bomb_kills_the_child_that_reads_it_and_costs_its_case_only(world, told, label, reason):
    one = labelled(world, "Rigi", {"CHUV001": 1, "CHUV002": label, "CHUV003": 1})
    scoring.score(claimed(one))
    one.refresh_from_db()
    assert one.state == "scored"
    assert [(problem["case"], problem["code"], problem["origin"]) for problem in one.problems] == [
        ("CHUV002", reason, "output")
    ]
    assert sorted(CaseResult.objects.values_list("case", "state")) == [
        ("CHUV001", "measured"), ("CHUV002", "failed"), ("CHUV003", "measured")
    ]  # fmt: skip
    assert Evaluation.objects.get().values["dice"] == pytest.approx(1 / 3)
    assert len(told_to("organiser", world)) == 1


@pytest.mark.parametrize(
    ("labels", "reason", "state"),
    [
        ((1, 13, 1), "timeout", "failed"),
        ((1, 12, 1), "out_of_memory", "failed"),
        ((1, 16, 1), "crashed", "infrastructure"),  # a program that breaks down is never the team's fault
        ((1, 3, 1), "timeout", "infrastructure"),  # it was read in time
        ((1, 2, 1), "out_of_memory", "infrastructure"),
        ((3, 6, 1), "crashed", "infrastructure"),
        ((3, 5, 1), "refused", "refused"),  # something that the team can mend
    ],
)
def test_where_gaps_are_not_meant_a_bomb_ends_the_submission(world, told, labels, reason, state):
    one = labelled(world, "Rigi", dict(zip(CASES, labels, strict=True)))
    Submission.objects.filter(pk=one.pk).update(gaps=False)
    scoring.score(claimed(one))
    one.refresh_from_db()
    assert (one.state, one.reason) == (state, reason)
    assert not Evaluation.objects.exists()
    assert len(told_to("organiser", world)) == (state != "refused")
    [said] = told_to("alice", world)
    left = intake.quota(Visit(world.people["alice"], world.challenge), "validation").left
    assert ("No attempt was used" in said) == (left == 3) == (state != "failed")


def test_a_submission_that_failed_can_be_evaluated_again_and_then_is_scored(world, told):
    one = labelled(world, "Rigi", {"CHUV001": 1, "CHUV002": 13, "CHUV003": 1})
    Submission.objects.filter(pk=one.pk).update(gaps=False)
    scoring.score(claimed(one))
    better = labelled(world, "Rigi", dict.fromkeys(CASES, 1))
    (world.data / one.file).write_bytes((world.data / better.file).read_bytes())  # a faster machine, say
    reevaluate(world.people["organiser"], world.challenge, "validation", [one], "A faster machine.")
    scoring.score(queue.claim("w", ["default"], timedelta(seconds=60)))
    one.refresh_from_db()
    assert (one.state, one.reason) == ("scored", "")


def test_what_comes_to_nothing_for_one_output_is_not_measured_and_all_is_listed(world, told):
    one = labelled(world, "Rigi", {"CHUV001": 1})
    Submission.objects.filter(pk=one.pk).update(gaps=False)
    with zipfile.ZipFile(world.data / one.file, "a") as archive:
        archive.writestr("CHUV002.nii.gz", b"no image")
        archive.writestr("CHUV003.nii.gz", b"nor this")
    for _ in range(2):
        scoring.score(claimed(one))
    assert told.measured() == []
    one.refresh_from_db()
    assert [problem["case"] for problem in one.problems] == ["CHUV002", "CHUV003"]


@pytest.mark.parametrize(
    ("code", "origin"),
    [
        ("refused", "output"),
        ("timeout", "output"),
        ("timeout", "evaluator"),
        ("out_of_memory", "output"),
        ("out_of_memory", "evaluator"),
        ("evaluator_failed", "evaluator"),
        ("crashed", "evaluator"),
        ("reference", "reference"),
        ("worker_lost", "machine"),
        ("internal_error", "machine"),
    ],
)
def test_a_reason_promises_what_the_quota_gives(world, code, origin):
    reason = reasons.Reason(code, origin)
    attempt = Attempt(world.at.now, reason.outcome)
    for refund in ("none", "infrastructure"):
        phase = world.challenge.edition.phases[0].model_copy(update={"refund": refund})
        used, words = quota_left(phase, [attempt], world.at.now).used, f"{reason.advice} {reason.cost}".lower()
        assert (used == 0) == ("no attempt was used" in words or "no attempt is used" in words)
        assert (used == 1) == ("the phase says whether the attempt is given back" in words)
        if reason.blame != "team":
            assert used == 0
    assert reasons.reason_in(code, reason.outcome) == reason


def test_a_case_that_broke_the_machine_is_tried_again_and_the_others_are_not(world, told):
    one = labelled(world, "Rigi", {"CHUV001": 1, "CHUV002": 6, "CHUV003": 1})
    scoring.score(claimed(one))
    told.measured()
    labelled_again = labelled(world, "Rigi", dict.fromkeys(CASES, 1))
    (world.data / one.file).write_bytes((world.data / labelled_again.file).read_bytes())  # a larger machine, say
    scoring.score(claimed(one))
    assert told.measured() == ["CHUV002"]
    assert CaseResult.objects.get(submission=one, case="CHUV002").state == "measured"
    assert Evaluation.objects.get(submission=one).values["dice"] == pytest.approx(0.5)


def test_what_a_measure_says_of_an_output_reaches_its_team(world, told):
    one = labelled(world, "Rigi", {"CHUV001": 5, "CHUV002": 1, "CHUV003": 1})
    scoring.score(claimed(one))
    one.refresh_from_db()
    assert one.problems[0]["message"] == "the answer is not an answer"
    assert one.problems[0]["reason"] == "unusable_output"
    assert told_to("organiser", world) == []


def test_an_error_of_the_site_is_told_without_its_traceback(world, monkeypatch):
    one = world.submission("Rigi", "validation")
    queue.enqueue("score", world.challenge, submission=one)
    monkeypatch.setattr(scoring, "values_of", lambda *_: 1 / 0)
    working.work(threading.Event(), name="w", once=True)
    one.refresh_from_db()
    run = Run.objects.get(kind="score")
    assert (one.state, one.reason, run.state, run.reason) == (
        "infrastructure",
        "internal_error",
        "failed",
        "internal_error",
    )
    assert "ZeroDivisionError" in run.detail
    assert "Zero" not in json.dumps([one.problems, told_to("alice", world), told_to("organiser", world)])


def test_a_worker_does_everything_until_nothing_waits(world):
    for team in ("Rigi", "Pilatus"):
        queue.enqueue("score", world.challenge, submission=world.submission(team, "validation"))
    working.work(threading.Event(), name="w", once=True)
    assert set(Run.objects.values_list("state", flat=True)) == {"done"}
    assert Submission.objects.filter(state="scored").count() == 2
    assert world.challenge.snapshots.count() >= 1


@pytest.mark.parametrize(
    ("row", "code", "origin"),
    [
        ({"severity": "unusable", "reason": "bad_grid"}, "bad_grid", "output"),
        ({"severity": "unusable", "reason": "crashed"}, "crashed", "evaluator"),
        ({"severity": "unusable", "reason": "timeout"}, "timeout", "output"),
        ({"severity": "unusable", "reason": "out_of_memory"}, "out_of_memory", "output"),
        ({"severity": "missing", "reason": "missing_output"}, "missing_output", "output"),
        ({"severity": "warning", "reason": ""}, "remark", "output"),
        ({"severity": "unusable"}, "unusable_output", "output"),
        ({"severity": "unusable", "code": "of_a_lost_package", "origin": "output"}, "unusable_output", "output"),
    ],
)
def test_rows_that_were_written_before_stay_readable(row, code, origin):
    problem = reasons.from_row({"message": "m", "case": "c", "file": "f", **row})
    assert (problem.code, problem.origin, problem.message) == (code, origin, "m")


def test_a_row_keeps_code_and_origin_and_tells_nothing_of_the_reference():
    secret = "the evaluator failed in measure: KeyError: 'label 3 of the reference'"
    problem = Problem("unusable", secret, "c", code="evaluator_failed", origin="evaluator", detail="a traceback")
    row = reasons.as_row(problem)
    assert (row["code"], row["origin"], row["reason"], row["case"]) == (
        "evaluator_failed", "evaluator", "evaluator_failed", "c",
    )  # fmt: skip
    assert "reference" not in json.dumps(row)
    assert "traceback" not in json.dumps(row)
    note = reasons.as_row(Problem("note", "n", code="remark"))
    assert (note["code"], note["reason"]) == ("remark", "")


def test_what_is_wrong_with_an_output_reaches_the_site_as_a_code(world):
    from isocenter.volumes import Grid

    grids = {"bad_grid": Grid((12, 10, 8), spacing=(2.0, 1.0, 3.0))}
    found = {}
    for name, grid in grids.items():
        one = world.submission("Rigi", "validation")
        path = world.scratch / "CHUV001.nii.gz"
        write(Volume(np.zeros(grid.shape, np.uint8), grid), path)
        with zipfile.ZipFile(world.data / one.file, "w") as archive:
            archive.write(path, path.name)
        scoring.score(claimed(one))
        one.refresh_from_db()
        found[name] = one.problems[0]["reason"]
    contents = {"nan": np.full((12, 10, 8), np.nan, np.float32), "bad_values": np.full((12, 10, 8), 7, np.uint8)}
    for name, array in contents.items():
        from conftest import GRID

        one = world.submission("Rigi", "validation")
        path = world.scratch / "CHUV001.nii.gz"
        write(Volume(array, GRID), path)
        with zipfile.ZipFile(world.data / one.file, "w") as archive:
            archive.write(path, path.name)
            archive.writestr("CHUV002.nii.gz", b"\x1f\x8b broken")
        scoring.score(claimed(one))
        one.refresh_from_db()
        found[name] = one.problems[0]["reason"]
        found["damaged"] = one.problems[1]["reason"]
    assert found == {name: name for name in found}
    assert len(found) == 4


def test_every_code_can_be_a_reason_and_is_told_to_team_and_organisers():
    for code in codes():
        for origin in code.origins:
            reason = reasons.Reason(code.name, origin)
            assert reason.advice.endswith("."), code
            assert ("not about your files" in reasons.say_to_team(reason)) == (
                reason.blame == "organisers" and reason.outcome == "infrastructure"
            )
            assert reasons.say_to_organisers(reason).startswith(code.title)
    assert reasons.reason_in("", "scored") is None


def test_infinities_survive_the_database(world):
    one = world.submission("Rigi", "validation")
    run = claimed(one)
    store = case_store.DatabaseStore(run, one, "e", world.references["validation"])
    made = evaluation.CaseResult("CHUV001", "measured", (evaluation.Score("dice", float("inf"), "p"),), (), {"a": 1.0})
    store.add(made)
    again = case_store.DatabaseStore(run, one, "e", world.references["validation"])
    assert "CHUV001" in again
    assert again.find("CHUV001", {"a": 1.0}) == made
    assert again.find("CHUV001", {"a": 2.0}) is None


def test_children_can_be_stopped_at_once():
    with Children(Limits(memory=3 * 2**30, seconds=60)) as pool:
        future = pool.submit(_sleep, 50)
        threading.Timer(1.0, pool.abort).start()
        with pytest.raises(children.Aborted):
            future.result(timeout=20)
        pool.ready()
        assert pool.submit(abs, -1).result(timeout=20) == 1


class _Deadly:
    """A task that kills the process that is sent it, as a challenge may that cannot be imported there."""

    case = SimpleNamespace(name="CHUV001")

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)


def test_a_child_that_dies_before_it_reads_anything_is_the_evaluators_fault():
    with Children(Limits(memory=3 * 2**30, seconds=60)) as pool:
        result = pool.submit(abs, _Deadly()).result(timeout=60)
    [problem] = result.problems
    assert (result.state, problem.code, problem.origin) == ("unmeasured", "crashed", "evaluator")
    assert problem.message == "the program that measures broke down (start)"


@pytest.mark.parametrize("error", ["KeyError", "SystemExit", "Weird"])
def test_work_that_raises_in_a_child_is_answered_by_it_and_never_done_outside(told_module, error):
    task = SimpleNamespace(case=SimpleNamespace(name="CHUV001"), error=error)
    with Children(Limits(memory=3 * 2**30, seconds=60)) as pool:
        result = pool.submit(sys.modules["told_challenge"].break_by, task).result(timeout=60)
        assert pool.submit(abs, -1).result(timeout=60) == 1
    [problem] = result.problems
    assert (result.state, problem.code, problem.origin) == ("unmeasured", "evaluator_failed", "evaluator")
    assert problem.case == "CHUV001"
    assert problem.message.startswith(f"the evaluator failed in measure: {error}: ")
    assert "in break_by" in problem.detail


@pytest.mark.parametrize(
    ("name", "code"), [("SIGKILL", "out_of_memory"), ("SIGABRT", "crashed"), ("SIGSEGV", "crashed")]
)
def test_a_child_that_a_signal_ends_ran_out_of_memory_only_if_it_was_killed(told_module, name, code):
    task = SimpleNamespace(case=SimpleNamespace(name="CHUV001"), signal=name)
    with Children(Limits(memory=3 * 2**30, seconds=60)) as pool:
        result = pool.submit(sys.modules["told_challenge"].die_by, task).result(timeout=60)
    [problem] = result.problems
    assert (problem.code, problem.origin) == (code, "evaluator")
    assert problem.message.endswith("measure)" if code == "crashed" else "to measure")


def test_children_read_strangers_files_and_know_no_secret(monkeypatch):
    names = ("ISOCENTER_SECRET_KEY", "DATABASE_URL", "EMAIL_URL", "PGPASSWORD", "ISOCENTER_CACHE")
    for name in names:
        monkeypatch.setenv(name, "told")
    with Children(Limits(memory=3 * 2**30, seconds=60)) as pool:
        known = [pool.submit(os.getenv, name).result(timeout=20) for name in names]
    assert known == [None, None, None, None, "told"]


def _sleep(seconds: float) -> None:
    import time

    time.sleep(seconds)


def test_the_clock_of_the_site_is_the_only_one(world):
    one = world.submission("Rigi", "validation")
    scoring.score(claimed(one))
    assert {row.made for row in CaseResult.objects.all()} == {clock.now()}
