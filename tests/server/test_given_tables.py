"""Score tables of benchmarks that were made elsewhere: what becomes of them when the reference changes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from test_running import sent, visit

from conftest import CASES
from isocenter import scores
from isocenter.scores import Row
from isocenter.server import boards
from isocenter.server.models import Evaluation, Notification, Reference, Run, Submission
from isocenter.server.organising import benchmarks, readiness
from isocenter.server.work import given_tables, in_force, making, queue, reevaluation, scoring


@pytest.fixture
def radiologist(world, tmp_path):
    """A benchmark by a table, in the phase that is open."""
    scores.write(scores.frame([Row(case, "", "dice", 0.9) for case in CASES]), tmp_path / "t.parquet")
    team = benchmarks.add(visit(world), "Radiologist", "A second reader.")
    content = (tmp_path / "t.parquet").read_bytes()
    return benchmarks.hand_in(visit(world), team, "validation", sent(world, content), "Read in 2025.")


def new_reference(world, cases=CASES):
    last = world.references["validation"]
    return Reference.objects.create(
        challenge=world.challenge, phase="validation", number=2, folder=last.folder, digest="1" * 64, cases=list(cases)
    )


def again(world):
    """Everything of the phase is evaluated again, by a worker."""
    Evaluation.objects.filter(submission__team__name="Rigi").update(
        evaluator=in_force.evaluator_of(world.challenge, "validation")
    )
    reevaluation.reevaluate(world.people["organiser"], world.challenge, "validation", None, "A new reference.")
    while run := queue.claim("w", ["default"], timedelta(minutes=5), kinds=[Run.Kind.SCORE]):
        scoring.score(run)
    making.make_boards(world.challenge, "validation")
    return boards.thaw(boards.latest(world.challenge, "validation").content)


def page(world, who="alice"):
    return world.client(who).get("/c/neck/boards/validation/dice/").content.decode()


def test_a_table_stays_on_the_board_with_a_note(world, radiologist):
    world.scored("Rigi", "validation", 3)
    made = new_reference(world)
    board = again(world)
    assert {row.submission: row.role for row in board.rows} == {"Radiologist": "benchmark", "Rigi": "team"}
    assert board["Radiologist"].score == pytest.approx(0.9)
    carried = Evaluation.objects.get(submission=radiologist, reference=made)
    assert carried.record["against"] == world.references["validation"].pk
    assert "earlier reference" in page(world)
    assert given_tables.lacking(world.challenge) == []
    radiologist.refresh_from_db()
    assert radiologist.state == "scored"


def test_without_a_new_reference_there_is_no_note(world, radiologist):
    world.scored("Rigi", "validation", 3)
    board = again(world)
    assert board["Radiologist"].score == pytest.approx(0.9)
    assert "earlier reference" not in page(world)


def test_a_table_that_is_handed_in_again_has_no_note(world, radiologist, tmp_path):
    world.scored("Rigi", "validation", 3)
    new_reference(world)
    content = (tmp_path / "t.parquet").read_bytes()
    benchmarks.hand_in(visit(world), radiologist.team, "validation", sent(world, content), "Measured anew.")
    again(world)
    assert "earlier reference" not in page(world)


def test_a_case_that_a_new_reference_has_no_more_does_not_count(world, radiologist):
    world.scored("Rigi", "validation", 3)
    made = new_reference(world, CASES[:2])
    (world.data / "references/neck/validation/2").mkdir()
    for case in CASES[:2]:
        content = (world.data / made.folder / f"{case}.nii.gz").read_bytes()
        (world.data / "references/neck/validation/2" / f"{case}.nii.gz").write_bytes(content)
    Reference.objects.filter(pk=made.pk).update(folder="references/neck/validation/2")
    again(world)
    carried = Evaluation.objects.get(submission=radiologist, reference=made)
    assert set(scoring.table_of(carried)["case"]) == set(CASES[:2])


def test_a_table_that_lacks_a_case_is_named_on_the_desk_and_in_the_checklist(world, radiologist):
    world.scored("Rigi", "validation", 3)
    new_reference(world, (*CASES, "CHUV004"))
    words = "has no result for the new reference: 1 of 4 cases are not in the table: CHUV004."
    [one] = given_tables.lacking(world.challenge)
    assert "The benchmark Radiologist in Validation" in one.words
    assert words in one.words
    assert words in world.client("organiser").get("/c/neck/organise/").content.decode()
    assert any(words in note for step in readiness.steps(world.challenge, world.at.now) for note in step.notes)
    run = queue.enqueue(Run.Kind.SCORE, world.challenge, submission=radiologist)
    scoring.score(queue.claim("w", ["default"], timedelta(minutes=5), kinds=[Run.Kind.SCORE]))
    run.refresh_from_db()
    assert run.state == Run.State.FAILED
    assert words in Notification.objects.filter(user=world.people["organiser"]).latest("pk").text
    assert Submission.objects.get(pk=radiologist.pk).state == "scored"
    assert Evaluation.objects.filter(submission=radiologist).count() == 1


def test_a_table_that_could_stay_waits_for_an_evaluation(world, radiologist):
    new_reference(world)
    [one] = given_tables.lacking(world.challenge)
    assert "evaluated again, and it stays with a note" in one.words
