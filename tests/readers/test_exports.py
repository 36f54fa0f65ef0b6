"""Exports of reader studies as reads: what every kind of file becomes, and what is said of one that cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isocenter.cli import app
from isocenter.readers import Read, ReadsError, import_reads, read_reads
from isocenter.stats.mrmc import write_imrmc

READS = {("Ann", "A"): 4, ("Ann", "B"): 2, ("Bob", "A"): 5}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def ratings(reads: list[Read]) -> dict[tuple[str, str], int | None]:
    return {(read.reader, read.case): read.pirads for read in reads}


LONG = "Radiologist;Patient ID;PI-RADS;Likelihood\nAnn;A;PI-RADS 4;72,5\nAnn;B;2;\nBob;A;5.0;90\nBob;B;N/A;\n"
WIDE = "case,age,Ann,Bob\nA,61,4,5\nB,70,2,\n"
TWO_EACH = "case,Ann_pirads,Ann_score,Bob PI-RADS,Bob score\nA,4,72.5,5,90\nB,2,,,\n"
REDCAP = (
    "record_id,redcap_event_name,reader,case,pirads,reading_complete\n"
    "1,bpmri_arm_1,Ann,A,4,2\n2,bpmri_arm_1,Ann,B,2,2\n3,bpmri_arm_1,Bob,A,5,2\n4,bpmri_arm_1,Bob,B,,0\n"
)
DOUBLE = "record_id,pirads,reading_complete\nA--1,4,2\nB--1,2,2\nA--2,5,2\n"


@pytest.mark.parametrize(
    ("text", "kind"), [(LONG, "long"), (WIDE, "wide"), (TWO_EACH, "wide"), (REDCAP, "redcap")], ids=str
)
def test_a_table_of_any_layout_becomes_the_same_reads(tmp_path: Path, text: str, kind: str) -> None:
    found = import_reads([write(tmp_path / "export.csv", text)])
    assert dict(found.kinds) == {"export.csv": kind}
    assert ratings(list(found.reads)) == READS


def test_scores_with_a_decimal_comma_and_unread_rows_are_understood(tmp_path: Path) -> None:
    found = import_reads([write(tmp_path / "export.csv", LONG)])
    assert {(read.reader, read.case): read.score for read in found.reads} == {
        ("Ann", "A"): 72.5, ("Ann", "B"): None, ("Bob", "A"): 90.0,
    }  # fmt: skip
    assert found.remarks == ("export.csv: 1 rows without a PI-RADS were left out, as not read.",)


def test_columns_of_a_wide_table_may_name_reader_modality_and_measure(tmp_path: Path) -> None:
    text = "case,Ann bpMRI PI-RADS,Ann bpMRI score,Ann mpMRI PI-RADS,Ann mpMRI score\nA,4,70,5,80\n"
    found = list(import_reads([write(tmp_path / "wide.csv", text)]).reads)
    assert [(read.reader, read.modality, read.pirads, read.score) for read in found] == [
        ("Ann", "bpMRI", 4, 70.0),
        ("Ann", "mpMRI", 5, 80.0),
    ]


def test_events_of_redcap_are_modalities_and_double_entries_are_readers(tmp_path: Path) -> None:
    (modality,) = {read.modality for read in import_reads([write(tmp_path / "a.csv", REDCAP)]).reads}
    assert modality == "bpmri"
    found = import_reads([write(tmp_path / "b.csv", DOUBLE)]).reads
    assert ratings(list(found)) == {("Reader 1", "A"): 4, ("Reader 1", "B"): 2, ("Reader 2", "A"): 5}


def test_repeated_instruments_of_redcap_are_marks(tmp_path: Path) -> None:
    text = (
        "record_id,redcap_repeat_instrument,redcap_repeat_instance,reader,case,score,x,y,z,pirads\n"
        "7,,,Ann,A,80,,,,\n7,lesion,1,,,,1.5,2,3,4\n7,lesion,2,,,,9,2,3,3\n8,,,Ann,B,10,,,,\n"
    )
    found = {read.case: read for read in import_reads([write(tmp_path / "redcap.csv", text)]).reads}
    assert [(mark.position, mark.pirads) for mark in found["A"].marks or ()] == [((1.5, 2, 3), 4), ((9, 2, 3), 3)]
    assert (found["A"].score, found["B"].marks, found["B"].score) == (80.0, (), 10.0)


def test_a_marksheet_is_the_routine_and_may_be_called_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path / "marksheet.csv", 'patient_id,study_id,lesion_PIRADS\n1,10,"2,4"\n2,20,N/A\n')
    (read,) = import_reads([path]).reads
    assert (read.reader, read.case, read.pirads) == ("routine", "1_10", 4)
    (read,) = import_reads([path], reader="clinic", modality="mpMRI").reads
    assert (read.reader, read.modality) == ("clinic", "mpMRI")


def answers(tmp_path: Path) -> list[Path]:
    """Answers, display sets and a reader study, as the API of grand-challenge.org lists them."""
    api = "https://grand-challenge.example/api/v1/reader-studies"
    asked = [
        {"pk": "q1", "api_url": f"{api}/questions/q1/", "question_text": "PI-RADS of the patient",
         "options": [{"id": 11, "title": "PI-RADS 4"}, {"id": 12, "title": "2"}]},
        {"pk": "q2", "api_url": f"{api}/questions/q2/", "question_text": "Likelihood of cancer (0-100)", "options": []},
        {"pk": "q3", "api_url": f"{api}/questions/q3/", "question_text": "Mark all lesions", "options": []},
    ]  # fmt: skip
    points = {"type": "Multiple points", "points": [{"name": "PI-RADS 5", "point": [1.5, 2, 3]}]}
    given = [("Ann", "d1", "q1", 11), ("Ann", "d1", "q2", 72.5), ("Ann", "d2", "q1", 12), ("Ann", "d2", "q2", 5)]
    given += [("Bob", "d1", "q3", points), ("Bob", "d1", "q2", 90), ("Bob", "d2", "q2", 3)]
    listed = [
        {"answer": answer, "creator": who, "display_set": f"{api}/display-sets/{case}/",
         "question": f"{api}/questions/{question}/", "is_ground_truth": False}
        for who, case, question, answer in given
    ]  # fmt: skip
    listed.append({**listed[0], "creator": "boss", "is_ground_truth": True})
    cases = [{"pk": "d1", "title": "A", "values": []}, {"pk": "d2", "title": "B", "values": []}]
    files = {
        "answers.json": {"results": listed},
        "display-sets.json": {"results": cases},
        "study.json": {"questions": asked},
    }
    return [write(tmp_path / name, json.dumps(data)) for name, data in files.items()]


def test_answers_of_a_reader_study_become_reads(tmp_path: Path) -> None:
    found = {(read.reader, read.case): read for read in import_reads(answers(tmp_path)).reads}
    assert set(found) == {("Ann", "A"), ("Ann", "B"), ("Bob", "A"), ("Bob", "B")}
    assert (found["Ann", "A"].pirads, found["Ann", "A"].score) == (4, 72.5)
    (mark,) = found["Bob", "A"].marks or ()
    assert (mark.position, mark.pirads) == ((1.5, 2, 3), 5)
    assert found["Bob", "B"].marks == ()


def test_imrmc_text_with_pirads_becomes_reads_and_other_scores_are_refused(tmp_path: Path) -> None:
    import polars as pl

    rows = [("Ann", "bp", "A", 1, 4.0), ("Ann", "bp", "B", 0, 2.0), ("Bob", "bp", "A", 1, 5.0)]
    columns = ["reader_id", "modality_id", "case_id", "truth", "score"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    write_imrmc(frame, tmp_path / "study.imrmc")
    assert ratings(list(import_reads([tmp_path / "study.imrmc"]).reads)) == READS
    write_imrmc(frame.with_columns(pl.col("score") * 20), tmp_path / "likelihoods.imrmc")
    with pytest.raises(ReadsError, match="not PI-RADS from 1 to 5"):
        import_reads([tmp_path / "likelihoods.imrmc"])


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("Arzt,case,pirads\nAnn,A,4\n", {"reader": "Artz"}, ["no column 'Artz' for reader; did you mean 'Arzt'?"]),
        ("reader,what\nAnn,A\n", {}, ["known to be the case", "known to be the pirads"]),
        (
            "reader,case,pirads\nAnn,A,6\n,B,3\nBob,B\n",
            {},
            ["has 2 values; the header has 3", "PI-RADS 6 of the", "names no reader"],
        ),
        ("reader,case,pirads\nAnn,A,6\n,B,3\n", {}, ["PI-RADS 6 of the patient", "names no reader"]),
        ("reader,case,pirads\nAnn,A,4\nAnn,A,3\n", {}, ["does not go with line 2"]),
        ("reader,case,pirads\nAnn,A,\n", {}, ["no row has a PI-RADS"]),
        ("case,age\nA,61\n", {}, ["no column holds PI-RADS from 1 to 5"]),
        ("record_id,pirads,form_complete\n1,4,2\n", {}, ["known to be the reader"]),
    ],
)
def test_all_that_is_wrong_with_an_export_is_said_at_once(
    tmp_path: Path, text: str, columns: dict[str, str], expected: list[str]
) -> None:
    with pytest.raises(ReadsError) as error:
        import_reads([write(tmp_path / "export.csv", text)], columns=columns)
    assert all(part in str(error.value) for part in expected), str(error.value)


def test_a_read_that_two_files_have_is_named(tmp_path: Path) -> None:
    files = [write(tmp_path / name, "reader,case,pirads\nAnn,A,4\n") for name in ("a.csv", "b.csv")]
    with pytest.raises(ReadsError, match="the read by Ann is in two of the files"):
        import_reads(files)


def test_the_command_writes_what_reads_takes(tmp_path: Path) -> None:
    path = write(tmp_path / "sheet.csv", "Arzt,Fall,PI-RADS\nAnn,A,4\nAnn,B,2\nBob,A,5\n")
    out = tmp_path / "reads.csv"
    options = ["--column", "reader=Arzt", "--column", "case=Fall", "--kind", "long", "--modality", "bpMRI"]
    result = CliRunner().invoke(app, ["convert", "to-reads", str(path), "--out", str(out), *options])
    assert result.exit_code == 0, result.output
    assert f"3 reads, 2 readers, 2 cases. Written to {out}" in " ".join(result.output.split())
    found = list(read_reads(out))
    assert ratings(found) == READS
    assert {read.modality for read in found} == {"bpMRI"}
    again = CliRunner().invoke(app, ["convert", "to-reads", str(path), "--out", str(out), *options])
    assert again.exit_code == 2
    assert "name a new file" in again.output


def test_the_command_writes_nothing_where_something_is_wrong(tmp_path: Path) -> None:
    path = write(tmp_path / "sheet.csv", "reader,case,pirads\nAnn,A,9\n")
    out = tmp_path / "reads.csv"
    result = CliRunner().invoke(app, ["convert", "to-reads", str(path), "--out", str(out), "--json"])
    assert result.exit_code == 1
    assert not json.loads(result.stdout)["ok"]
    assert not out.exists()
