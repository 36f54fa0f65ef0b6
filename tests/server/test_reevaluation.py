"""Evaluating again: only what changed is measured, old results stay, and boards change as a whole."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest

from conftest import CASES, GRID, TOML, mask
from isocenter.editions import audit
from isocenter.server import boards, decisions
from isocenter.server.models import CaseResult, Decision, Evaluation, Reference, Run, Submission, Version
from isocenter.server.work import case_store, in_force, making, queue, reevaluation, scoring
from isocenter.server.work.reevaluation import Difference, compare, reevaluate
from isocenter.volumes import Volume, write


def score_all(world) -> None:
    """What a worker does, without boards."""
    while True:
        Run.objects.filter(kind="board", state="queued").update(state="done")
        run = queue.claim("w", ["default"], timedelta(seconds=60))
        if run is None:
            return
        world.at.move(seconds=1)
        scoring.score(run)


def handed_in(world, team: str, size: int = 4) -> Submission:
    one = world.submission(team, "validation", size)
    queue.enqueue("score", world.challenge, submission=one)
    score_all(world)
    one.refresh_from_db()
    assert one.state == "scored"
    return one


def new_reference(world, changed: dict[str, int], *, without: tuple[str, ...] = ()) -> Reference:
    """The reference with other masks for some cases, or with a case more."""
    number = Reference.objects.filter(phase="validation").count() + 1
    name = f"references/neck/validation/{number}"
    shutil.copytree(world.data / world.references["validation"].folder, world.data / name)
    for case, size in changed.items():
        write(Volume(mask(size), GRID), world.data / name / f"{case}.nii.gz")
    for case in without:
        (world.data / name / f"{case}.nii.gz").unlink()
    return Reference.objects.create(
        challenge=world.challenge, phase="validation", number=number, folder=name, digest=str(number) * 64,
        cases=sorted({*CASES, *changed} - set(without)),
    )  # fmt: skip


@pytest.fixture
def measured(monkeypatch):
    """The cases that were measured, rather than taken from where they were."""
    seen: list[str] = []
    add = case_store.DatabaseStore.add
    monkeypatch.setattr(
        case_store.DatabaseStore, "add", lambda self, result: (seen.append(result.case), add(self, result))[1]
    )
    return seen


def test_only_the_case_whose_reference_changed_is_measured(world, measured):
    one = handed_in(world, "Rigi")
    old = scoring.evaluation_of(one)
    assert sorted(measured) == list(CASES)
    measured.clear()
    second = new_reference(world, {"CHUV002": 2})
    runs = reevaluate(world.people["organiser"], world.challenge, "validation", [one], "the reference was wrong")
    assert len(runs) == 1
    score_all(world)
    assert measured == ["CHUV002"]
    new = scoring.evaluation_of(one)
    assert new.reference == second
    assert new.pk != old.pk
    assert Evaluation.objects.filter(submission=one).count() == 2
    assert CaseResult.objects.filter(submission=one).count() == 6
    assert [(d.case, d.metric, d.old, round(d.new, 6)) for d in compare(old, new) if d.metric == "dice"] == [
        ("CHUV002", "dice", 1.0, round(2 / 3, 6))
    ]
    assert compare(new, new) == []


def test_cases_that_came_and_went_are_differences(world, measured):
    one = handed_in(world, "Rigi")
    measured.clear()
    new_reference(world, {"CHUV009": 4}, without=("CHUV001",))
    old = scoring.evaluation_of(one)
    reevaluate(world.people["organiser"], world.challenge, "validation", [one], "a new case")
    score_all(world)
    assert measured == ["CHUV009"]
    found = compare(old, scoring.evaluation_of(one))
    assert {d.case for d in found} == {"CHUV001", "CHUV009"}
    assert Difference("CHUV001", "", "dice", 1.0, None) in found
    assert Difference("CHUV009", "", "missing", None, 1.0) in found


def test_nothing_changed_is_nothing_measured_and_nothing_new(world, measured):
    one = handed_in(world, "Rigi")
    before = list(Evaluation.objects.values_list("pk", "digest"))
    measured.clear()
    reevaluate("the site", world.challenge, "validation", [one], "to be sure")
    score_all(world)
    assert measured == []
    assert list(Evaluation.objects.values_list("pk", "digest")) == before


def test_other_code_measures_everything_anew(world, measured, monkeypatch):
    one = handed_in(world, "Rigi")
    measured.clear()
    from isocenter.evaluation import _run

    monkeypatch.setattr(_run, "fingerprint", lambda _: "c" * 64)
    monkeypatch.setattr("isocenter.evaluation.fingerprint", lambda _: "c" * 64)
    reevaluate("the site", world.challenge, "validation", [one], "new code")
    score_all(world)
    assert sorted(measured) == list(CASES)
    assert set(one.evaluations.values_list("evaluator", flat=True)) > {"c" * 64}
    assert scoring.evaluation_of(one).evaluator == "c" * 64


def test_another_policy_for_grids_is_another_evaluator(world):
    before = in_force.evaluator_of(world.challenge, "validation")
    version = Version.objects.create(
        challenge=world.challenge, number=2, toml=TOML.replace("[policies]", '[policies]\ngrid = "resample"')
    )
    world.challenge.version = version
    world.challenge.save()
    assert in_force.evaluator_of(world.challenge, "validation") != before
    assert len(in_force.evaluator_of(world.challenge, "validation")) == 64


def test_all_are_evaluated_again_once_and_the_decision_is_in_the_chain(world):
    scored = [handed_in(world, team) for team in ("Rigi", "Pilatus")]
    refused = world.submission("Rigi", "validation", state="refused")
    waits = world.submission("Rigi", "validation")
    queue.enqueue("score", world.challenge, submission=waits)
    runs = reevaluate(world.people["organiser"], world.challenge, "validation", None, "the metric was wrong")
    assert {run.submission_id for run in runs} == {one.pk for one in scored}
    assert refused.runs.count() == 0
    assert waits.runs.count() == 1
    decision = Decision.objects.get()
    assert (decision.what, decision.reason) == ("re-evaluate", "the metric was wrong")
    assert decision.actor == "Organiser <organiser@example.org>"
    assert "2 submissions" in decision.subject
    audit.verify(decisions.entries(world.challenge))
    again = reevaluate(world.people["organiser"], world.challenge, "validation", None, "twice by mistake")
    assert {run.pk for run in again} == {run.pk for run in runs}
    assert {one.state for one in Submission.objects.filter(pk__in=[s.pk for s in scored])} == {"scored"}


def test_nobody_waits_behind_those_that_have_a_result(world):
    one = handed_in(world, "Rigi")
    reevaluate("the site", world.challenge, "validation", [one], "again")
    world.at.move(seconds=9)
    new = world.submission("Pilatus", "validation")
    queue.enqueue("score", world.challenge, submission=new)
    Run.objects.filter(kind="board").update(state="done")
    assert queue.claim("w", ["default"]).submission_id == new.pk


def test_one_that_the_machines_failed_waits_like_a_new_one(world):
    one = world.submission("Rigi", "validation", state="infrastructure", reason="worker_lost")
    reevaluate("the site", world.challenge, "validation", [one], "the machine is back")
    one.refresh_from_db()
    assert (one.state, one.reason) == ("queued", "")
    score_all(world)
    one.refresh_from_db()
    assert one.state == "scored"


def test_submissions_of_other_phases_and_challenges_are_left_alone(world):
    other = world.scored("Rigi", "test")
    assert reevaluate("the site", world.challenge, "validation", [other], "by mistake") == []
    assert not Decision.objects.exists()
    assert not Run.objects.exists()


def test_what_cannot_stand_beside_a_new_result_is_evaluated_again_by_itself(world):
    """Organisers put in another reference and forgot the rest: the next submission brings all others along."""
    first = handed_in(world, "Rigi")
    world.at.move(seconds=1)
    making.make_boards(world.challenge, "validation")
    second = new_reference(world, {"CHUV002": 2})
    new = world.submission("Pilatus", "validation", 2)
    queue.enqueue("score", world.challenge, submission=new)
    Run.objects.filter(kind="board").update(state="done")
    scoring.score(queue.claim("w", ["default"]))
    follows = Run.objects.get(kind="score", state="queued")
    assert follows.submission_id == first.pk
    assert Decision.objects.get().actor == "the site"
    world.at.move(seconds=1)
    making.make_boards(world.challenge, "validation")
    board = boards.latest(world.challenge, "validation")
    assert [(entry["team"], entry["row"]) for entry in board.entries] == [("Rigi", "Rigi"), ("Pilatus", None)]
    score_all(world)
    world.at.move(seconds=1)
    making.make_boards(world.challenge, "validation")
    board = boards.latest(world.challenge, "validation")
    assert {entry["row"] for entry in board.entries} == {"Rigi", "Pilatus"}
    assert {Evaluation.objects.get(pk=entry["evaluation"]).reference for entry in board.entries} == {second}
    assert Decision.objects.count() == 1  # and does not come back


def test_one_that_cannot_be_evaluated_again_is_not_tried_for_ever(world):
    first = handed_in(world, "Rigi")
    (world.data / first.file).write_bytes(b"lost")
    new_reference(world, {"CHUV002": 2})
    for team in ("Pilatus", "Pilatus"):
        handed_in(world, team)
    assert Run.objects.filter(submission=first).count() == 2
    first.refresh_from_db()
    assert first.state == "scored"  # what it had, it has
    assert Run.objects.filter(submission=first, state="failed").get().reason == "refused"
    assert Decision.objects.count() == 1


def test_an_old_worker_and_a_new_one_write_their_own_rows(world):
    """Results are per evaluator: whoever comes late with other code overwrites nothing."""
    one = world.submission("Rigi", "validation")
    queue.enqueue("score", world.challenge, submission=one)
    run = queue.claim("w", ["default"])
    from isocenter import evaluation

    for evaluator, value in (("a" * 64, 0.25), ("b" * 64, 0.75), ("a" * 64, 0.5)):
        store = case_store.DatabaseStore(run, one, evaluator, world.references["validation"])
        key = {"code": evaluator}
        store.add(evaluation.CaseResult("CHUV001", "measured", (evaluation.Score("dice", value),), (), key))
    assert sorted(row.scores[0][2] for row in CaseResult.objects.all()) == [0.25, 0.75]


def test_follow_says_nothing_where_all_have_the_same(world):
    handed_in(world, "Rigi")
    done = scoring.evaluation_of(handed_in(world, "Pilatus"))
    assert reevaluation.follow(done) == []


def test_the_standard_is_the_newest_reference_not_the_one_with_most_results(world):
    first, second = handed_in(world, "Rigi"), handed_in(world, "Pilatus")
    old = in_force.standard_of(world.challenge, "validation")
    newer = new_reference(world, {"CHUV002": 2})
    reevaluate("the site", world.challenge, "validation", [first], "the reference was wrong")
    score_all(world)
    assert Evaluation.objects.filter(reference=newer).count() == 1
    assert Evaluation.objects.exclude(reference=newer).count() == 2
    standard = in_force.standard_of(world.challenge, "validation")
    assert standard.reference == newer.pk != old.reference
    assert in_force.evaluation_of(first).reference == newer
    assert in_force.evaluation_of(second).reference_id == old.reference


def test_a_first_submission_in_the_queue_is_not_a_re_evaluation(world):
    one = handed_in(world, "Rigi")
    assert not in_force.being_reevaluated(world.challenge, "validation")
    waits = world.submission("Pilatus", "validation")
    queue.enqueue("score", world.challenge, submission=waits)
    assert not in_force.being_reevaluated(world.challenge, "validation")
    reevaluate("the site", world.challenge, "validation", [one], "again")
    assert in_force.being_reevaluated(world.challenge, "validation")
    assert not in_force.being_reevaluated(world.challenge, "test")
