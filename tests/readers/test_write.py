"""reads.csv as it is written: the same reads come back, or it is said which would not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics import Mark
from isocenter.problems import as_cell
from isocenter.readers import Read, Reads, ReadsError, mrmc_table, read_reads, read_units, reads_csv, write_reads
from isocenter.stats.mrmc import analyse

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r"), min_size=1, max_size=6).filter(
    lambda name: name == name.strip() and as_cell(name) == name
)
places = st.tuples(*[st.floats(-1e6, 1e6, allow_nan=False)] * 3)
marks = st.lists(st.builds(Mark, places, st.sampled_from([3, 4, 5])), max_size=4, unique_by=lambda mark: mark.position)
said = st.one_of(
    st.fixed_dictionaries({"marks": marks.map(tuple)}),
    st.fixed_dictionaries({"marks": st.none(), "pirads": st.integers(1, 5)}),
)
many_reads = st.dictionaries(
    st.tuples(names, st.just("") | names, names),
    st.tuples(said, st.none() | st.floats(0, 100) | st.integers(0, 100)),
    min_size=1,
    max_size=5,
).map(
    lambda found: Reads(
        tuple(
            Read(reader, case, modality=modality, score=score, **what)
            for (reader, modality, case), (what, score) in found.items()
        ),
        name="reads.csv",
    )
)


def in_order(reads: Reads) -> list[tuple[object, ...]]:
    return [(read.key, read.score, read.pirads, read.marks is None, sorted(read.marks or ())) for read in reads]


@given(many_reads)
@settings(max_examples=80)
def test_what_is_written_is_read_again_with_every_digit(tmp_path_factory: pytest.TempPathFactory, reads: Reads) -> None:
    path = tmp_path_factory.mktemp("reads") / "reads.csv"
    write_reads(reads, path)
    back = read_reads(path)
    assert in_order(back) == in_order(reads)
    write_reads(back, path)
    assert read_reads(path) == back


def test_the_table_is_the_one_of_the_manual() -> None:
    reads = Reads(
        (
            Read("Bob", "PCA001", None, pirads=4, score=60, modality="bpMRI"),
            Read("Ann", "PCA002", (), score=10.5, modality="bpMRI"),
            Read("Ann", "PCA001", (Mark((-12.4, 31.05, -7.5), 5), Mark((1e-7, 2, 3), 3)), score=85, modality="bpMRI"),
        )
    )
    assert reads_csv(reads).splitlines() == [
        "reader,modality,case,score,x,y,z,pirads",
        "Ann,bpMRI,PCA001,85,-12.4,31.05,-7.5,5",
        "Ann,bpMRI,PCA001,85,1e-07,2,3,3",
        "Ann,bpMRI,PCA002,10.5,,,,",
        "Bob,bpMRI,PCA001,60,,,,4",
    ]
    assert reads_csv(Reads(())) == "reader,modality,case,score,x,y,z,pirads\n"


def test_everything_that_would_not_come_back_is_named_at_once(tmp_path: Path) -> None:
    twice = (Mark((1.0, 2.0, 3.0), 3), Mark((1.0, 2.0, 3.0), 4))
    reads = Reads(
        (
            Read("=cmd()", "A"),
            Read("Ann ", "A"),
            Read("Bob", "B", twice),
            Read("Cem", "C", modality="@x"),
            Read("Dan", "D\0"),
            Read("Eve", "E\ud800"),
            Read("Fay", "F\rG"),
        )
    )
    with pytest.raises(ReadsError) as refused:
        write_reads(reads, tmp_path / "reads.csv")
    assert [problem.message for problem in refused.value.problems] == [
        "the reader '=cmd()' would be a formula in a spreadsheet; it needs another name",
        "the reader 'Ann ' has white space around it, which is lost in a table",
        "'Bob' marks the same place twice",
        "the modality '@x' would be a formula in a spreadsheet; it needs another name",
        "the case 'D\\x00' has letters that no file of text can hold",
        "the case 'E\\ud800' has letters that no file of text can hold",
        "the case 'F\\rG' has a line break, and a read is a line of its own",
    ]
    assert "nothing was written" in str(refused.value)
    assert list(tmp_path.glob("reads*")) == []


def test_reads_with_the_truth_go_straight_into_the_analysis() -> None:
    scores = {"A": 90, "B": 40, "C": 60, "D": 10}
    reads = Reads(
        tuple(
            Read(who, case, (Mark((0.0, 0.0, 0.0), 4),) if score > 50 else (), score=score + shift, modality=modality)
            for who, shift in (("Ann", 0), ("Bob", 5))
            for modality in ("", "mpMRI")
            for case, score in scores.items()
        )
    )
    table = mrmc_table(reads, {"A": True, "B": True, "C": False, "D": False})
    assert table.columns == ["reader_id", "modality_id", "case_id", "truth", "score", "rating"]
    assert table.row(0) == ("Ann", "readers", "A", 1, 90.0, 4)
    assert table.row(1) == ("Ann", "readers", "B", 1, 40.0, 0)
    assert analyse(table).modalities["readers"].auc == 0.75


def test_reads_without_a_score_or_a_truth_are_named_at_once() -> None:
    reads = Reads((Read("Ann", "A", score=1), Read("Ann", "B", modality="mpMRI"), Read("Bob", "C", score=2)), "r.csv")
    with pytest.raises(ReadsError, match=r"r\.csv cannot be used; nothing was compared") as refused:
        mrmc_table(reads, {"A": True, "B": False})
    assert [(problem.case, problem.message) for problem in refused.value.problems] == [
        ("C", "was read, but has no truth"),
        ("B", "the read by Ann in mpMRI has no score"),
    ]


def test_a_table_of_cases_has_names_and_facts(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("\ufeffcase, centre ,size\r\n A ,RUMC,\r\n\r\nB,,10\r\n")
    assert read_units(path, "case") == {"A": {"centre": "RUMC", "size": ""}, "B": {"centre": "", "size": "10"}}


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "reader,centre\nA,x\n",
            ["cases.csv:1: the first column is 'reader'; expected 'case', and facts in the others"],
        ),
        ("case;centre\nA;x\n", ["cases.csv:1: columns are separated by semicolons; expected commas"]),
        (
            "case,,x,x\nA,1,2,3\n",
            ["cases.csv:1: column 2 has no name", "cases.csv:1: column 'x' is there twice"],
        ),
        ("case,x\n", ["cases.csv:1: has a header, but no cases"]),
        ("", ["cases.csv: is empty"]),
        (
            "case,x\nA,1\n,2\nB\nA,3\n",
            [
                "cases.csv:3: names no case",
                "cases.csv:4: has 1 values; the header has 2 columns",
                "cases.csv:5: names the case of line 2 again",
            ],
        ),
    ],
)
def test_a_table_of_cases_that_is_wrong_has_all_its_problems_named(
    tmp_path: Path, text: str, problems: list[str]
) -> None:
    path = tmp_path / "cases.csv"
    path.write_text(text)
    with pytest.raises(ReadsError, match="nothing was dealt") as refused:
        read_units(path, "case")
    assert [f"{problem.file}: {problem.message}" for problem in refused.value.problems] == problems
