"""What leaves a closed reader study: complete, under pseudonyms, and exactly what was handed in."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from reading_world import IN_SCAN, STUDY_CASES, StudyWorld, study_world

from isocenter.readers import read_reads
from isocenter.server.archiving.edition_folder import write_folder
from isocenter.server.boards.names_told import Names
from isocenter.server.models import Assignment, CaseRead, Reader, StudyCase, Version
from isocenter.server.organising.versioning import Refused
from isocenter.server.reading import export, joining, protocol
from isocenter.server.reading.progress import progress
from isocenter.stats.mrmc import read_imrmc


@pytest.fixture
def there(world) -> StudyWorld:
    """A study in which "reader" has read both cases but for the last stage, and "rahel" one stage."""
    found = study_world(world)
    found.opens()
    for name in ("reader", "rahel"):
        found.reads(name, score=1)  # to practise, two stages
        found.reads(name, score=1)
    found.reads("reader", marks=[IN_SCAN], score=80)
    found.reads("reader", marks=[IN_SCAN | {"x": 3.5}], score=85)
    found.reads("reader", score=10)
    found.reads("rahel", score=0)
    return found


def close(there: StudyWorld) -> None:
    protocol.close(there.study, user=there.world.people["organiser"], reason="All have read.")
    there.study.refresh_from_db()


def opened(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_nothing_is_exported_before_the_study_is_closed(there):
    with pytest.raises(Refused, match="not closed yet"):
        export.package(there.study)
    there.world.at.now = datetime.fromisoformat("2026-05-01T00:00:00Z")  # its time is over, and may be extended still
    with pytest.raises(Refused, match="not closed yet"):
        export.package(there.study)


def test_the_reads_are_what_the_library_reads_again(there, tmp_path):
    close(there)
    files = opened(export.package(there.study))
    (tmp_path / "reads.csv").write_text(files["reads.csv"])
    found = read_reads(tmp_path / "reads.csv")
    pseudonym = {name: reader.pseudonym for name, reader in there.readers.items()}
    cases = [one.case.name for one in Assignment.objects.filter(reader=there.readers["reader"], practice=False)]
    assert sorted((read.reader, read.modality, read.score) for read in found) == sorted(
        [
            (pseudonym["reader"], "first", 80),
            (pseudonym["reader"], "second", 85),
            (pseudonym["reader"], "first", 10),
            (pseudonym["rahel"], "first", 0),
        ]
    )
    marked = next(read for read in found if read.score == 85)
    assert [(mark.position, mark.pirads) for mark in marked.marks or ()] == [((3.5, 2.0, 46.0), 4)]
    assert marked.case == cases[0]
    assert "practice-1" not in "".join(files[name] for name in files if name not in ("practice.csv", "cases.csv"))
    assert {row["case"] for row in rows(files["practice.csv"])} == {"practice-1"}


def test_what_was_dealt_and_not_read_is_named(there):
    close(there)
    files = opened(export.package(there.study))
    dealt = {(row["reader"], row["case"]) for row in rows(files["design.csv"])}
    assert {case for _, case in dealt} == set(STUDY_CASES)
    read = {(row["reader"], row["case"], row["modality"]) for row in rows(files["reads.csv"])}
    missing = {(row["reader"], row["case"], row["stage"]) for row in rows(files["missing.csv"])}
    assert missing.isdisjoint(read)
    assert missing | read == {(*one, stage) for one in dealt for stage in ("first", "second")}
    assert json.loads(files["protocol.json"])["counts"] == {
        "cases": 4, "practice": 1, "readers": 2, "withdrawn": 0, "reads": 4, "missing": 4,
    }  # fmt: skip


def test_the_same_study_gives_the_same_bytes_and_its_sums_fit(there):
    close(there)
    content = export.package(there.study)
    there.world.at.move(days=3)
    assert export.package(there.study) == content
    files = opened(content)
    sums = dict(reversed(line.split("  ")) for line in files.pop("SHA256SUMS").splitlines())
    assert sums == {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    assert sorted(files) == [
        "cases.csv", "design.csv", "events.csv", "missing.csv", "practice.csv", "protocol.json", "readers.csv",
        "reads.csv", "stages.imrmc", "times.csv",
    ]  # fmt: skip


def test_nobody_can_be_told_from_it(there):
    Reader.objects.filter(pk=there.readers["rahel"].pk).update(answers={"expert": True, "centre": "=Inselspital Bern"})
    close(there)
    files = opened(export.package(there.study))
    whole = "\n".join(files.values())
    for text in ("Rahel", "rahel@", "example.org", "Inselspital"):
        assert text not in whole
    assert [list(row) for row in rows(files["readers.csv"])] == [
        ["reader", "block", "withdrawn", "guide", "expert"]
    ] * 2
    # No moment that a log of the web server would find again: minutes since the study opened, and nothing finer.
    assert [name for name, text in files.items() if "2026" in text] == ["protocol.json"]
    for row in rows(files["times.csv"]):
        assert row["opened_min"].isdecimal()
        assert row["handed_in_min"].isdecimal()
        assert row["seconds"] == "30.0"
    assert min(int(row["opened_min"]) for row in rows(files["times.csv"])) >= 480  # eight in the morning


def test_events_tell_what_happened_in_a_read_in_its_order(there):
    close(there)
    files = opened(export.package(there.study))
    scored = next(row for row in rows(files["reads.csv"]) if row["score"] == "80")
    found = [
        (row["number"], row["seconds"], row["event"])
        for row in rows(files["events.csv"])
        if (row["reader"], row["case"], row["stage"]) == (scored["reader"], scored["case"], "first")
    ]
    assert found == [
        ("1", "0.0", "opened"), ("2", "40.0", "mark added"), ("3", "40.0", "score set"), ("4", "40.0", "handed in"),
    ]  # fmt: skip


def test_facts_are_safe_in_a_spreadsheet(there):
    StudyCase.objects.filter(name="PCA001").update(facts={"age": "-3.5", "ISUP": "=HYPERLINK(1)"})
    close(there)
    one = rows(opened(export.package(there.study))["cases.csv"])[0]
    assert (one["case"], one["age"], one["ISUP"], one["positive"], one["practice"]) == (
        "PCA001", "-3.5", "'=HYPERLINK(1)", "yes", "no",
    )  # fmt: skip


def test_imrmc_has_the_truth_and_is_left_out_where_it_is_not_known(there, tmp_path):
    close(there)
    (tmp_path / "stages.imrmc").write_text(opened(export.package(there.study))["stages.imrmc"])
    table = read_imrmc(tmp_path / "stages.imrmc")
    truth = {case.name: int(bool(case.positive)) for case in StudyCase.objects.filter(practice=False)}
    assert set(table["modality_id"]) == {"first", "second"}
    assert all(truth[case] == value for case, value in zip(table["case_id"], table["truth"], strict=True))
    assert sorted(table["score"]) == [0, 10, 80, 85]
    StudyCase.objects.filter(name="PCA004").update(positive=None)
    assert "stages.imrmc" not in opened(export.package(there.study))


@pytest.mark.parametrize("change", [{"score": 11}, {"marks": [IN_SCAN]}, {"stage": "second"}, {"hash": ""}], ids=str)
def test_a_read_that_was_changed_stops_the_export_and_is_named(there, change):
    close(there)
    one = CaseRead.objects.get(score=10)
    CaseRead.objects.filter(pk=one.pk).update(**change)
    with pytest.raises(Refused) as error:
        export.package(there.study)
    named = f"{there.readers['reader'].pseudonym}, {one.assignment.case.name}, {change.get('stage', 'first')}"
    assert [text for text in error.value.problems[1:] if not text.startswith(named)] == []
    assert len(error.value.problems) == 2


@pytest.mark.parametrize("policy", ["keep", "drop"])
def test_reads_of_who_withdrew_stay_or_go_as_the_edition_says(there, policy):
    joining.withdraw(there.readers["reader"])
    old = there.world.challenge.version
    there.world.challenge.version = Version.objects.create(
        challenge=there.world.challenge,
        number=3,
        toml=old.toml.replace("practice = 1", f'practice = 1\nwithdrawn = "{policy}"'),
        made=there.world.at.now,
    )
    there.world.challenge.save()
    close(there)
    files = opened(export.package(type(there.study).objects.get(pk=there.study.pk)))
    gone = there.readers["reader"].pseudonym
    kept = {name for name, text in files.items() if gone in text}
    tables = {"reads.csv", "missing.csv", "design.csv", "readers.csv", "times.csv", "events.csv", "practice.csv"}
    assert kept == ({*tables, "stages.imrmc"} if policy == "keep" else set())
    assert json.loads(files["protocol.json"])["counts"]["withdrawn"] == 1
    if policy == "keep":
        assert {row["withdrawn"] for row in rows(files["readers.csv"]) if row["reader"] == gone} == {"yes"}


def test_the_folder_of_a_report_has_the_reads_once_the_study_is_closed(there, tmp_path):
    def written(name: str) -> Path:
        challenge = there.world.challenge
        write_folder(
            challenge, "validation", tmp_path / name, phases=["validation"], names=Names(challenge, announced=True)
        )
        return tmp_path / name / "reads.csv"

    assert not written("before").exists()
    close(there)
    assert len(read_reads(written("after"))) == 4


def test_progress_says_where_everybody_is(there):
    found = progress(there.study)
    assert found is not None
    lines = {line.pseudonym: line for line in found.lines}
    one, other = (lines[there.readers[name].pseudonym] for name in ("reader", "rahel"))
    assert [cell.state for cell in one.cells] == ["done", "stage 2"]
    assert [cell.state for cell in other.cells] == ["stage 2", "not begun"]
    assert (one.words, one.practised) == ("1 of 2 cases done, case 2 in stage 2, 0 not begun", 1)
    assert [(span.start, span.length, span.kind) for span in other.spans(found.usual)] == [
        (0, 1, "begun"), (1, 1, "waiting"),
    ]  # fmt: skip
    assert (found.handed_in, found.due, found.finished, found.usual) == (4, 8, 0, 60.0)
    assert [(stage.name, stage.reads, stage.seconds) for stage in found.stages] == [
        ("first", 3, 30.0),
        ("second", 1, 30.0),
    ]
    assert found.cases.sizes == (2, 2)
    assert found.cases.even
    assert found.readers.sizes == (1, 1)


def test_progress_and_export_ask_as_often_of_sixty_readers_as_of_two(there):
    study = type(there.study).objects.select_related("challenge__version").get(pk=there.study.pk)
    with CaptureQueriesContext(connection) as few:
        progress(study)
    made = Reader.objects.bulk_create(
        Reader(study=study, pseudonym=f"X-{number:03d}", answers={"expert": True}, block=number % 2)
        for number in range(60)
    )
    every = {block: list(study.cases.filter(block=block)) for block in (0, 1)}
    given = Assignment.objects.bulk_create(
        Assignment(reader=reader, case=case, position=position)
        for reader in made
        for position, case in enumerate(every[reader.block], start=1)
    )
    CaseRead.objects.bulk_create(CaseRead(assignment=one, stage="first", seconds=9.0) for one in given)
    with CaptureQueriesContext(connection) as many:
        found = progress(study)
    assert len(many) == len(few) <= 8
    assert found is not None
    assert len(found.lines) == 62
