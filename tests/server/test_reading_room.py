"""Reader studies without their pages: what counts as a read, whose turn it is, how cases are dealt, what may change."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading_world import FINE, IN_SCAN, READING, SCAN, STUDY_CASES, StudyWorld, study_world

from conftest import TOML
from isocenter.editions import parse
from isocenter.server.models import Assignment, CaseRead, Notification, Reader, ReadEvent, Study, StudyCase, Version
from isocenter.server.organising.study_changes import study_breaks, study_changes
from isocenter.server.organising.versioning import Refused
from isocenter.server.reading import answering, drawing, joining, own, protocol, scans, turns
from isocenter.server.reading.marks import Said, Unreadable, doubts, grid_of, inside, said
from isocenter.server.reading.turns import Turn, Waiting
from isocenter.viewer import nifti
from isocenter.volumes import Volume, read

CASE = StudyCase(
    name="P",
    images={
        name: {
            "shape": list(grid.shape),
            "spacing": list(grid.spacing),
            "origin": list(grid.origin),
            "direction": list(grid.direction),
        }
        for name, grid in {"t2w": FINE, "adc": SCAN}.items()
    },
)


def checked(marks: object, score: object = 10, **more: Any) -> Said:
    return said(marks, score, case=CASE, images=["t2w", "adc"], most=2, **more)


def problems(marks: object, score: object = 10, **more: Any) -> list[str]:
    with pytest.raises(Unreadable) as why:
        checked(marks, score, **more)
    return why.value.problems


@pytest.fixture
def study(world) -> StudyWorld:
    return study_world(world)


# What is said


def test_a_mark_is_kept_to_a_hundredth_of_a_millimetre():
    found = checked(json.dumps([IN_SCAN | {"x": 1.23456, "more": "x"}]), "7")
    assert found == Said([IN_SCAN | {"x": 1.23}], 7)


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (None, "could not be read"),
        (IN_SCAN | {"on": "dce"}, "was set on no scan of this stage"),
        (IN_SCAN | {"on": ["t2w"]}, "was set on no scan of this stage"),
        (IN_SCAN | {"x": "1"}, "has no place"),
        (IN_SCAN | {"x": True}, "has no place"),
        (IN_SCAN | {"x": float("nan")}, "has no place"),
        (IN_SCAN | {"x": 10**400}, "has no place"),
        (IN_SCAN | {"x": 16.6}, "lies outside of the scan (t2w)"),
        (IN_SCAN | {"pirads": 2}, "has no PI-RADS"),
        (IN_SCAN | {"pirads": None}, "has no PI-RADS"),
        (IN_SCAN | {"pirads": [4]}, "has no PI-RADS"),
    ],
)
def test_a_mark_that_no_page_sets_is_refused_with_its_number(mark, message):
    (found,) = problems([IN_SCAN, mark])
    assert found.startswith(f"Mark 2: {message}")


@pytest.mark.parametrize("marks", ["", "{}", "[", "[" * 100_000, "7", None, {"x": 1}])
def test_what_is_no_list_of_marks_is_refused_as_a_whole(marks):
    assert problems(marks) == ["The marks could not be read; open the page again."]


def test_all_problems_are_told_at_once():
    assert problems([IN_SCAN, IN_SCAN, IN_SCAN | {"pirads": 9}], "101") == [
        "There are 3 marks; at most 2 are allowed.",
        "Mark 2: lies where another one does.",
        "Mark 3: has no PI-RADS; choose 3, 4 or 5.",
        "The likelihood is a whole number from 0 to 100, not '101'.",
    ]


@pytest.mark.parametrize("score", ["-1", "1.5", "٣", "1e1", True, 50.0, [3], "0x1", "0100"])
def test_a_likelihood_is_a_whole_number_from_0_to_100(score):
    assert len(problems([], score)) == 1


def test_in_a_draft_grade_and_likelihood_may_come_later():
    assert checked([IN_SCAN | {"pirads": None}], "", graded=False) == Said([IN_SCAN | {"pirads": None}], None)
    assert len(problems([IN_SCAN | {"pirads": 1}], graded=False)) == 1


@given(st.tuples(*(st.floats(-0.5, n - 0.5) for n in SCAN.shape)))
def test_every_place_in_a_voxel_is_inside_as_it_is_kept(voxel):
    place = SCAN.affine @ [*voxel, 1.0]
    assert inside(grid_of(CASE, "adc"), [round(float(value), 2) for value in place[:3]])


@pytest.mark.parametrize(
    ("marks", "score", "asks"), [([IN_SCAN], 0, True), ([IN_SCAN], 1, False), ([], 49, False), ([], 50, True)]
)
def test_marks_without_a_likelihood_and_the_reverse_are_asked_about(marks, score, asks):
    found = doubts(Said(marks, score), "a tumour")
    assert bool(found) is asks
    assert all("a tumour" in one for one in found)


# Drafts


def turn_of(study: StudyWorld, name: str) -> Turn:
    found = turns.turn_of(Reader.objects.get(pk=study.readers[name].pk), study.world.at.now)
    assert isinstance(found, Turn), found
    return found


@pytest.mark.parametrize(
    ("told", "passed", "believed"), [(30, 40, 30), (90, 40, 40), (600, 900, 120), (-5, 40, 0), (float("nan"), 40, 0)]
)
def test_no_more_seconds_are_believed_than_have_gone_by_and_than_a_page_waits(study, at, told, passed, believed):
    study.joins("reader")
    turn = turn_of(study, "reader")
    turns.begin(turn)
    at.move(seconds=passed)
    assert answering.save(turn, Said([], None), revision=0, seconds=told).seconds == believed


def test_what_happens_to_a_draft_is_kept_step_by_step(study):
    study.joins("reader")
    turn = turn_of(study, "reader")
    read = turns.begin(turn)
    other = IN_SCAN | {"y": 5.0}
    for marks, score in (
        ([IN_SCAN | {"pirads": None}], None),
        ([IN_SCAN], None),
        ([IN_SCAN | {"z": 49.0}], 20),
        ([other, IN_SCAN | {"z": 49.0}], 20),
        ([other], 20),
        ([other], 20),
    ):
        read = answering.save(turn, Said(marks, score), revision=read.revision, seconds=0)
    answering.hand_in(turn, Said([other], 20), revision=read.revision, seconds=0)
    kinds = list(ReadEvent.objects.filter(read=read).values_list("kind", flat=True))
    assert kinds == [
        *("opened", "mark added", "mark graded", "mark moved", "score set", "mark added", "mark removed", "handed in"),
    ]


def test_the_hash_is_of_what_was_handed_in_and_of_nothing_else(study):
    study.joins("reader")
    study.reads("reader", marks=[IN_SCAN])
    read = CaseRead.objects.get(submitted__isnull=False)
    assert (read.hash, len(read.hash)) == (answering.hash_of(read), 64)
    read.seconds += 5
    assert read.hash == answering.hash_of(read)
    read.score += 1
    assert read.hash != answering.hash_of(read)


def test_a_stage_that_was_handed_in_is_locked_also_for_who_still_has_its_turn(study):
    study.joins("reader")
    turn = turn_of(study, "reader")
    read = turns.begin(turn)
    answering.hand_in(turn, Said([], 3), revision=read.revision, seconds=0)
    for act in (answering.save, answering.hand_in):
        with pytest.raises(answering.NotNow):
            act(turn, Said([], 90), revision=read.revision + 1, seconds=0)
    assert CaseRead.objects.get(pk=read.pk).score == 3


def test_a_next_stage_begins_with_the_copy_and_says_whether_it_was_changed(study):
    study.opens()
    for _ in range(2):
        study.reads("reader")  # the practice case
    study.reads("reader", marks=[IN_SCAN], score=40)
    draft = turns.begin(turn_of(study, "reader"))
    assert (draft.stage, draft.marks, draft.score, draft.unchanged) == ("second", [IN_SCAN], 40, None)
    study.reads("reader", marks=[IN_SCAN], score=40)
    study.reads("reader", marks=[IN_SCAN], score=40)
    study.reads("reader", marks=[IN_SCAN], score=41)
    ended = CaseRead.objects.filter(stage="second", assignment__practice=False).order_by("submitted")
    assert [read.unchanged for read in ended] == [True, False]
    assert isinstance(turns.turn_of(study.readers["reader"], study.world.at.now), Waiting)


# Dealing


def dealt(study: StudyWorld) -> dict[str, list[str]]:
    rows = Assignment.objects.filter(practice=False).order_by("reader__pseudonym", "position")
    found: dict[str, list[str]] = {}
    for pseudonym, case in rows.values_list("reader__pseudonym", "case__name"):
        found.setdefault(pseudonym, []).append(case)
    return found


def test_with_the_same_seed_the_same_cases_are_dealt_in_the_same_order(study, monkeypatch):
    for name, expert in (("reader", True), ("rahel", False), ("ruth", True)):
        study.joins(name, expert=expert)
    monkeypatch.setattr(drawing.secrets, "randbits", lambda _: 20220520)
    seen = []
    for _ in range(2):
        Assignment.objects.filter(practice=False).delete()
        study.study.readers.update(block=None)
        study.study.cases.update(block=None)
        type(study.study).objects.update(drawn=None, seed=None)
        assert drawing.draw(study.study, user=study.world.people["organiser"], reason="All are there.")
        seen.append(dealt(study))
    assert seen[0] == seen[1]
    assert sorted({case for cases in seen[0].values() for case in cases}) == list(STUDY_CASES)
    assert all(len(cases) == 2 for cases in seen[0].values())
    assert not drawing.draw(study.study, user=study.world.people["organiser"], reason="Again.")


def test_every_block_has_a_positive_and_a_negative_case(study):
    study.opens()
    blocks = sorted(study.study.cases.filter(practice=False).values_list("block", "positive"))
    assert blocks == [(0, False), (0, True), (1, False), (1, True)]


def test_without_cases_or_readers_nothing_is_dealt(world):
    study = study_world(world, cases=False)
    with pytest.raises(Refused) as why:
        drawing.draw(study.study, user=world.people["organiser"], reason="Too early.")
    assert len(why.value.problems) == 2
    assert Assignment.objects.count() == 0


def test_who_joins_late_gets_the_cases_of_a_block_at_once(study):
    study.opens()
    late = study.joins("ruth", expert=False)
    late.refresh_from_db()
    mine = list(late.assignments.filter(practice=False).order_by("position").values_list("case__block", flat=True))
    assert mine == [late.block, late.block]
    assert isinstance(turn_of(study, "ruth"), Turn)


# The study and its edition


def test_once_dealt_the_design_of_a_study_stays_and_dates_and_guide_may_change(study):
    old = parse(TOML + READING)
    frozen = (("most_marks = 2", "most_marks = 3"), ("blocks = 2", "blocks = 1"), ('"t2w", "dce"', '"t2w"'))
    free = (("2026-04-10", "2026-05-10"), ('"Mark what', '"Do mark what'), ("Reader study", "Our readers"))
    for before, after in frozen:
        new = parse(TOML + READING.replace(before, after))
        assert study_breaks(study.study, old, new) == []
    study.opens()
    for before, after in frozen:
        new = parse(TOML + READING.replace(before, after))
        assert len(study_breaks(study.study, old, new)) == 1, before
    for before, after in free:
        assert study_breaks(study.study, old, parse(TOML + READING.replace(before, after))) == []
    assert len(study_breaks(study.study, old, parse(TOML))) == 1


def test_readers_are_told_what_changes_for_them():
    old = parse(TOML + READING)
    text = READING.replace("2026-04-10", "2026-05-10").replace("practice = 1", 'practice = 1\nguide_version = "2"')
    told = dict(study_changes(old, parse(TOML + text)))
    assert list(told) == ["extend the reader study", "change the guide of the reader study"]
    assert "“2”; read and confirm it to go on" in told["change the guide of the reader study"]
    assert list(study_changes(old, old)) == []


def test_a_new_guide_is_confirmed_before_anything_else_is_read(study, world):
    study.opens()
    toml = TOML + READING.replace("practice = 1", 'practice = 1\nguide_version = "2"')
    world.challenge.version = Version.objects.create(challenge=world.challenge, number=3, toml=toml, made=world.at.now)
    world.challenge.save()
    reader = Reader.objects.get(pk=study.readers["reader"].pk)
    assert turns.turn_of(reader, world.at.now) == Waiting("guide")
    assert not joining.confirm_guide(reader, "1")
    assert joining.confirm_guide(reader, "2")
    assert isinstance(turns.turn_of(reader, world.at.now), Turn)


def test_closing_tells_readers_and_ends_all_turns_but_not_twice(study, world):
    study.opens()
    reader = Reader.objects.get(pk=study.readers["reader"].pk)
    assert protocol.close(study.study, user=world.people["organiser"], reason="Enough reads.")
    assert not protocol.close(study.study, user=world.people["organiser"], reason="Enough reads.")
    assert turns.turn_of(reader, world.at.now) == Waiting("over")
    told = Notification.objects.filter(user=world.people["reader"], text__contains="is closed")
    assert told.count() == 1


def test_what_a_reader_has_done_is_counted_without_practice(study):
    study.opens()
    for _ in range(5):
        study.reads("reader")
    found = own.done(study.readers["reader"], protocol.reading_of(study.study), 2)
    assert (found.cases, found.of_cases, found.practice, found.of_practice, found.seconds) == (1, 2, 1, 1, 90.0)
    assert [own.Done(0, 0, 0, 0, seconds).time for seconds in (20, 60, 3600, 7380)] == [
        *("less than a minute", "1 minute", "1 hour", "2 hours and 3 minutes"),
    ]


# Scans


def test_a_scan_is_sent_on_its_own_grid_with_its_window(study):
    study.joins("reader")
    turn = turn_of(study, "reader")
    assert scans.names(turn) == ["t2w", "adc"]
    data = gzip.decompress(scans.scan(turn, "adc") or b"")
    header = np.frombuffer(data[280:328], "<f4").reshape(3, 4)
    high, low = np.frombuffer(data[124:132], "<f4")
    # Right, front, head: from LPS the first two axes are turned around.
    assert header @ [0, 0, 0, 1] == pytest.approx([-15, -13, 40])
    assert np.diag(header[:, :3]) == pytest.approx(SCAN.spacing)
    assert np.frombuffer(data[42:48], "<i2").tolist() == list(SCAN.shape)
    file = study.world.data / study.study.folder / turn.assignment.case.images["adc"]["file"]
    sent = np.frombuffer(data[352:], "<i2").reshape(SCAN.shape, order="F")
    assert (sent == read(file).array[::-1, ::-1]).all()
    assert (low, high) == pytest.approx((207, 393), abs=15)  # 300 ± 2.33 × 40
    assert scans.scan(turn, "dce") is None


def test_a_scan_of_one_value_and_one_of_none_have_a_window():
    assert scans.window(Volume(np.full(SCAN.shape, 7.0), SCAN)) == (7.0, 8.0)
    assert scans.window(Volume(np.full(SCAN.shape, np.nan), SCAN)) == (0.0, 1.0)
    assert len(nifti(np.full(SCAN.shape, np.nan), SCAN, window=(0.0, 1.0))) > 0


def test_more_scans_than_two_are_not_opened_at_once_and_what_was_opened_is_kept(study, monkeypatch):
    study.joins("reader")
    turn = turn_of(study, "reader")
    first = scans.scan(turn, "t2w")
    for _ in range(scans.AT_ONCE):
        assert scans._openings.acquire(blocking=False)
    try:
        with pytest.raises(scans.Busy):
            scans.scan(turn, "adc")
        assert scans.scan(turn, "t2w") is first
    finally:
        scans._openings.release(scans.AT_ONCE)
    monkeypatch.setattr(scans, "KEPT", 1)
    assert scans.scan(turn, "adc") is not None
    assert len(scans._kept) == 1


def test_a_study_is_closed_at_the_very_second_of_its_closing(study, at):
    kept = Study.objects.get(pk=study.study.pk)
    edition = kept.challenge.edition
    assert protocol.state(kept, edition, edition.reading.closes - timedelta(seconds=1)) != "closed"
    assert protocol.state(kept, edition, edition.reading.closes) == "closed"


def test_a_study_is_joined_until_it_closes(study, at):
    at.now += timedelta(days=60)
    with pytest.raises(Refused):
        study.joins("reader")
