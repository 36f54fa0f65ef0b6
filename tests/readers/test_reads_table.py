"""reads.csv: what it says, and what is said about one that is wrong."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics import Mark
from isocenter.readers import Read, Reads, ReadsError, read_reads

HEADER = "reader,modality,case,score,x,y,z,pirads\n"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "reads.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def problems(folder: Path, text: str | bytes) -> list[tuple[str, str]]:
    """Where and what; the message of the error names all of them."""
    with pytest.raises(ReadsError) as refused:
        read_reads(written(folder, text))
    for problem in refused.value.problems:
        assert problem.message in str(refused.value)
    return [(problem.file, problem.message) for problem in refused.value.problems]


def one_problem(folder: Path, text: str | bytes) -> str:
    ((_, message),) = problems(folder, text)
    return message


def test_marks_no_marks_and_a_pirads_of_the_patient(tmp_path: Path) -> None:
    rows = "Bob,bpMRI,B,,,,,2\nAnn,bpMRI,A,85,1.5,-2,3e1,4\nAnn,bpMRI,B,10,,,,\nAnn,bpMRI,A,85,4,5,6,5\n"
    reads = read_reads(written(tmp_path, HEADER + rows))
    assert reads.reads == (
        Read("Ann", "A", (Mark((4.0, 5.0, 6.0), 5), Mark((1.5, -2.0, 30.0), 4)), score=85.0, modality="bpMRI"),
        Read("Ann", "B", (), score=10.0, modality="bpMRI"),
        Read("Bob", "B", None, pirads=2, modality="bpMRI"),
    )
    assert reads.cases == ("A", "B")
    assert reads.name == "reads.csv"
    assert [[read.calls(t) for t in (3, 4, 5)] for read in reads] == [[True] * 3, [False] * 3, [False] * 3]


def test_a_table_of_patients_only_needs_three_columns(tmp_path: Path) -> None:
    (read,) = read_reads(written(tmp_path, "case,pirads,reader\nA,4,routine\n"))
    assert read == Read("routine", "A", None, pirads=4)
    assert [read.calls(t) for t in (3, 4, 5)] == [True, True, False]


def test_what_spreadsheets_and_pandas_do_to_a_table_is_forgiven(tmp_path: Path) -> None:
    text = '\ufeffreader, case ,"score",x,y,z,pirads\r\n"Ann ",A,85.0,1,2,3,4.0\r\n\r\n,,,,,,\r\n'
    (read,) = read_reads(written(tmp_path, text))
    assert read == Read("Ann", "A", (Mark((1.0, 2.0, 3.0), 4),), score=85.0)


rows_of_reads = st.dictionaries(
    st.tuples(st.sampled_from("AB"), st.sampled_from(["bp", "mp"]), st.sampled_from("xyz")),
    st.tuples(
        st.none() | st.integers(0, 100),
        st.lists(st.tuples(st.integers(-9, 9), st.integers(3, 5)), max_size=4, unique_by=lambda mark: mark[0])
        | st.integers(1, 5),
    ),
    min_size=1,
)


def as_rows(reads: dict[tuple[str, str, str], tuple[int | None, list[tuple[int, int]] | int]]) -> list[str]:
    rows = []
    for (reader, modality, case), (score, said) in reads.items():
        start = f"{reader},{modality},{case},{'' if score is None else score}"
        if isinstance(said, int):
            rows.append(f"{start},,,,{said}\n")
        else:
            rows += [f"{start},{x},1,2,{pirads}\n" for x, pirads in said] or [f"{start},,,,\n"]
    return rows


@given(rows_of_reads, st.randoms())
@settings(deadline=None)
def test_the_order_of_rows_is_irrelevant(
    tmp_path_factory: pytest.TempPathFactory, reads: dict, rng: random.Random
) -> None:
    folder, rows = tmp_path_factory.mktemp("reads"), as_rows(reads)
    found = read_reads(written(folder, HEADER + "".join(rows)))
    assert len(found) == len(reads)
    for read in found:
        score, said = reads[read.reader, read.modality, read.case]
        assert read.score == score
        if isinstance(said, int):
            assert (read.marks, read.pirads) == (None, said)
        else:
            assert sorted((mark.position[0], mark.pirads) for mark in read.marks or ()) == sorted(said)
    rng.shuffle(rows)
    assert read_reads(written(folder, HEADER + "".join(rows))) == found


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (",m,A,1,1,2,3,4", "names no reader"),
        ("Ann,m, ,1,1,2,3,4", "names no case"),
        ("Ann,m,A,many,1,2,3,4", "score 'many' is no number; what there is not is left empty"),
        ("Ann,m,A,1,NA,2,3,4", "x 'NA' is no number"),
        ("Ann,m,A,1,1_0,2,3,4", "x '1_0' is no number"),
        ("Ann,m,A,1,1,２,3,4", "y '２' is no number"),
        ("Ann,m,A,1,1,2,0x3,4", "z '0x3' is no number"),
        ('Ann,m,A,1,"1,5",2,3,4', "x '1,5' is no number"),
        ("Ann,m,A,nan,1,2,3,4", "score 'nan' is not finite"),
        ("Ann,m,A,1,1,2,-Inf,4", "z '-Inf' is not finite"),
        ("Ann,m,A,1,1,2,1e999,4", "z '1e999' is not finite"),
        ("Ann,m,A,1,1,2,-1e300,4", "marks (1, 2, -1e+300), which is no place in millimetres"),
        ("Ann,m,A,-1,1,2,3,4", "score -1; a likelihood for the patient lies between 0 and 100"),
        ("Ann,m,A,100.5,,,,", "score 100.5"),
        ("Ann,m,A,1,1,2,3,2", "PI-RADS 2 for a mark: 1 and 2 mean no suspicion"),
        ("Ann,m,A,1,1,2,3,1", "expected 3, 4 or 5"),
        ("Ann,m,A,1,1,2,3,6", "PI-RADS 6 for a mark; expected 3, 4 or 5"),
        ("Ann,m,A,1,1,2,3,3.5", "PI-RADS 3.5 for a mark; expected 3, 4 or 5"),
        ("Ann,m,A,1,1,2,3,", "a mark without PI-RADS; expected 3, 4 or 5"),
        ("Ann,m,A,1,1,,3,4", "half a place: a mark without y"),
        ("Ann,m,A,1,,2,,4", "half a place: a mark without x and z"),
        ("Ann,m,A,1,,,,0", "PI-RADS 0 of the patient; expected 1, 2, 3, 4 or 5"),
        ("Ann,m,A,1,,,,2.5", "PI-RADS 2.5 of the patient"),
        ("Ann,m,A,1", "has 4 values; the header has 8 columns"),
        ("Ann,m,A,1,1,2,3,4,5", "has 9 values; the header has 8 columns"),
    ],
)
def test_a_row_that_is_wrong_is_named_by_its_line(tmp_path: Path, row: str, words: str) -> None:
    ((where, message),) = problems(tmp_path, f"{HEADER}Bob,m,A,1,,,,\n{row}\n")
    assert where == "reads.csv:3"
    assert words in message


def test_all_problems_of_all_rows_are_named_at_once(tmp_path: Path) -> None:
    rows = "Ann,m,A,200,1,2,NA,7\nAnn,m,B,1,1,2,3,4\n,m,C,1,,2,3,2\nAnn,m,B,1,1,2,3,4\nAnn,m,D,5\n"
    assert problems(tmp_path, HEADER + rows) == [
        ("reads.csv:2", "z 'NA' is no number; what there is not is left empty"),
        ("reads.csv:2", "PI-RADS 7 for a mark; expected 3, 4 or 5"),
        ("reads.csv:2", "score 200; a likelihood for the patient lies between 0 and 100"),
        ("reads.csv:4", "names no reader"),
        ("reads.csv:4", "half a place: a mark without x"),
        (
            "reads.csv:4",
            "PI-RADS 2 for a mark: 1 and 2 mean no suspicion, which is not marked; expected 3, 4 or 5",
        ),
        ("reads.csv:5", "marks the place of line 3 again"),
        ("reads.csv:6", "has 4 values; the header has 8 columns"),
    ]


ONE_ROW = "a read without marks, or with a PI-RADS of the patient only, has one row"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["20,1,2,3,4", "30,4,5,6,3"], "score 30, but score 20 in line 2 of the same read"),
        (["20,1,2,3,4", ",4,5,6,3"], "no score, but score 20 in line 2 of the same read"),
        (["20,1,2,3,4", "20,1.0,2,3.0,5"], "marks the place of line 2 again"),
        ([f"20,{x},2,3,4" for x in range(5)], "is row 5 of the read; at most 4 marks are allowed"),
        (["20,,,,", "20,,,,"], f"does not go with line 2 of the same read: {ONE_ROW}"),
        (["20,,,,4", "20,,,,4"], f"does not go with line 2 of the same read: {ONE_ROW}"),
        (["20,,,,", "20,1,2,3,4"], f"does not go with line 2 of the same read: {ONE_ROW}"),
        (["20,1,2,3,4", "20,,,,4"], f"does not go with line 2 of the same read: {ONE_ROW}"),
    ],
)
def test_rows_that_contradict_each_other_are_refused(tmp_path: Path, rows: list[str], message: str) -> None:
    text = "".join(f"Ann,m,A,{row}\n" for row in rows)
    assert problems(tmp_path, HEADER + text) == [(f"reads.csv:{len(rows) + 1}", message)]


def test_the_same_case_in_another_modality_or_by_another_reader_is_another_read(tmp_path: Path) -> None:
    assert len(read_reads(written(tmp_path, HEADER + "Ann,bp,A,1,,,,\nAnn,mp,A,2,,,,\nBob,bp,A,3,,,,\n"))) == 3


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("reader,case,score,x,y,z", "there is no column 'pirads'; expected reader,modality,case,score,x,y,z,pirads"),
        ("case,pirads", "there is no column 'reader'"),
        ("reader,pirads", "there is no column 'case'"),
        ("reader,case,pirads,years", "unknown column 'years'"),
        ("reader,case,pirads,", "unknown column ''"),
        ("reader,case,pirads,case", "column 'case' is there twice"),
        ("reader,case,x,z,pirads", "there is no column 'y'; a place has x, y, z"),
        ("reader;case;pirads", "columns are separated by semicolons; expected commas"),
        ("reader\tcase\tpirads", "columns are separated by tabs"),
    ],
)
def test_a_header_that_is_wrong_is_refused(tmp_path: Path, header: str, words: str) -> None:
    assert words in one_problem(tmp_path, f"{header}\n1\n")


def test_all_problems_of_a_header_are_named_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, "Reader,case,x,case\nAnn,A,1,A\n")
    assert {where for where, _ in found} == {"reads.csv:1"}
    assert [message.partition(";")[0] for _, message in found] == [
        "there is no column 'reader'",
        "there is no column 'pirads'",
        "unknown column 'Reader'",
        "column 'case' is there twice",
        "there is no column 'y', 'z'",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n , \n", "is empty"),
        (HEADER.encode(), "has a header, but no reads"),
        ((HEADER + "Ann,m,A,1,,,,\n").encode("utf-16"), "zero bytes, as UTF-16 has them; save it as CSV in UTF-8"),
        ((HEADER + "Ann,m,A,1,,,,\n").encode("utf-16-le"), "zero bytes, as UTF-16 has them"),
        ((HEADER + "Ann,m,A,1,,,,\nJosé,m,A,1,,,,\n").encode("latin-1"), "is not UTF-8 (byte 0xe9)"),
        ((HEADER + 'Ann,m,"A,1,,,,\n').encode(), "is not CSV"),
        (b"PK\x03\x04\x14\0\x06\0", "zero bytes"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in one_problem(tmp_path, content)


def test_the_line_of_a_letter_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    ((where, _),) = problems(tmp_path, (HEADER + "Ann,m,A,1,,,,\nJosé,m,A,1,,,,\n").encode("latin-1"))
    assert where == "reads.csv:3"


def test_a_file_far_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "reads.csv"
    with path.open("wb") as stream:
        stream.truncate(33 << 20)
    with pytest.raises(ReadsError, match="has 34,603,008 bytes"):
        read_reads(path)


def test_an_empty_row_needs_a_pirads_in_a_table_without_places(tmp_path: Path) -> None:
    assert "no PI-RADS; in a table without x, y, z" in one_problem(tmp_path, "reader,case,pirads\nAnn,A,3\nAnn,B,\n")


def test_names_of_strangers_are_printed_escaped(tmp_path: Path) -> None:
    with pytest.raises(ReadsError) as refused:
        read_reads(written(tmp_path, HEADER + "Ann,m,\x1b[31mA,1,1,2,3,9\n"))
    assert "\x1b" not in str(refused.value)
    assert "\\x1b[31mA" in str(refused.value)


def test_of_very_many_problems_the_message_shows_a_hundred(tmp_path: Path) -> None:
    with pytest.raises(ReadsError) as refused:
        read_reads(written(tmp_path, HEADER + "Ann,m,A,1,1,2,3,9\n" * 250))
    assert len(refused.value.problems) == 250
    assert str(refused.value).count("PI-RADS 9") == 100
    assert str(refused.value).endswith("… and 150 more")
    assert pickle.loads(pickle.dumps(refused.value)).problems == refused.value.problems


@given(st.binary(max_size=200) | st.text(alphabet='Ann,x1.\n"; \t', max_size=200).map(lambda text: HEADER + text))
@settings(deadline=None)
def test_whatever_the_file_holds_there_are_reads_or_reasons(
    tmp_path_factory: pytest.TempPathFactory, content: bytes | str
) -> None:
    path = written(tmp_path_factory.mktemp("reads"), content)
    try:
        found = len(read_reads(path))
    except ReadsError as error:
        found = len(error.problems)
    assert found > 0


MARK = Mark((0.0, 0.0, 0.0), 3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"reader": ""}, "has no reader"),
        ({"case": ""}, "has no case"),
        ({"marks": None}, "either marks, perhaps none, or a PI-RADS of the patient"),
        ({"pirads": 3}, "either marks, perhaps none, or a PI-RADS of the patient"),
        ({"marks": None, "pirads": 6}, "PI-RADS 6 of the patient"),
        ({"marks": (MARK._replace(pirads=2),)}, "1 and 2 mean no suspicion"),
        ({"marks": (MARK._replace(position=(0.0, float("nan"), 0.0)),)}, "no place in millimetres"),
        ({"marks": (MARK,) * 5}, "has 5 marks, at most 4"),
        ({"score": 101}, "score 101"),
        ({"score": float("nan")}, "score nan"),
    ],
)
def test_no_read_can_be_made_that_the_table_would_refuse(wrong: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Read(**{"reader": "Ann", "case": "A", **wrong})


def test_a_read_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="there twice: Ann / bp / A"):
        Reads((Read("Ann", "A", modality="bp"), Read("Ann", "A", (MARK,), modality="bp")))
