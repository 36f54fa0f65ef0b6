"""Reads from files and frames, and what is said of bad ones."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from isocenter.stats.mrmc import ReadsError, analyse, read_csv, read_imrmc

HEAD = "reader_id,modality_id,case_id,truth,score\n"
GOOD = ["r,CT,c1,0,1", "r,CT,c2,0,2", "r,CT,c3,1,2", "r,CT,c4,1,3"]


@pytest.fixture
def csv(tmp_path):
    def write(*rows: str, head: str = HEAD):
        path = tmp_path / "reads.csv"
        path.write_text(head + "\n".join(rows) + "\n")
        return path

    return write


@pytest.fixture
def imrmc(tmp_path):
    def write(*rows: str, head: str = "free text\nN0: 99\nBEGIN DATA:\n"):
        path = tmp_path / "reads.imrmc"
        path.write_text(head + "\n".join(rows) + "\n")
        return path

    return write


@pytest.mark.parametrize("name", ["vandyke", "sim_missing"])
def test_the_text_format_of_imrmc_holds_the_same_reads(golden, study, name) -> None:
    assert_frame_equal(read_imrmc(golden / name / "data.imrmc"), study(name))


def test_reads_of_a_file_have_text_names_and_a_truth(csv) -> None:
    reads = read_csv(csv(*GOOD[:3], " 007 ,CT,c4, 1 , 3.5 "))
    assert reads.schema == {
        "reader_id": pl.String,
        "modality_id": pl.String,
        "case_id": pl.String,
        "truth": pl.Boolean,
        "score": pl.Float64,
        "weight": pl.Float64,
    }
    assert reads.row(0) == ("007", "CT", "c4", True, 3.5, 1.0)


def test_truth_may_be_a_number_or_a_boolean(study) -> None:
    reads = study("vandyke")
    for kind in (pl.Int8, pl.Float64, pl.Boolean):
        assert analyse(reads.with_columns(pl.col("truth").cast(kind))).pairs["T1", "T2"].p == pytest.approx(
            analyse(reads).pairs["T1", "T2"].p
        )


def test_every_problem_of_a_file_is_named_at_once(csv) -> None:
    with pytest.raises(ReadsError) as caught:
        read_csv(
            csv(
                *GOOD,
                "r,CT,c1,0,5",
                "r,MR,c3,0,1",
                "r,CT,c5,2,1",
                "r,CT,c6,1,high",
                "r,CT,c7,1,nan",
                "r,CT,c8,1,inf",
                "r,,c9,1,1",
            )
        )
    assert caught.value.problems == (
        "row 11: no modality",
        "reader r, modality CT, case c5: truth '2', expected 0 or 1",
        "reader r, modality CT, case c6: score 'high' is not a finite number",
        "reader r, modality CT, case c7: score 'nan' is not a finite number",
        "reader r, modality CT, case c8: score 'inf' is not a finite number",
        "reader r, modality CT, case c1: read 2 times",
        "case c3: truth 0 and 1",
    )
    assert str(caught.value).startswith("reads.csv: 7 problems; nothing was analysed.\n  row 11: no modality\n")


def test_many_problems_are_counted_rather_than_printed() -> None:
    rows = pl.DataFrame(
        [(f"r{n}", "CT", "c", 1, None) for n in range(60)], schema=HEAD.strip().split(","), orient="row"
    )
    with pytest.raises(ReadsError, match="60 problems") as caught:
        analyse(rows)
    assert str(caught.value).endswith("… and 10 more")


def test_weights_are_of_cases_and_positive(csv) -> None:
    head = HEAD.strip() + ",weight\n"
    with pytest.raises(ReadsError) as caught:
        read_csv(csv("r,CT,c1,0,1,2", "s,CT,c1,0,1,3", "r,CT,c2,0,1,0", "r,CT,c3,0,1,", head=head))
    assert caught.value.problems == (
        "reader r, modality CT, case c2: the weight is not a positive number",
        "reader r, modality CT, case c3: the weight is not a positive number",
        "case c1: weight 2 and 3",
    )
    with pytest.raises(ReadsError, match="the largest weight is 1e\\+07 times the smallest, at most 100000"):
        read_csv(csv("r,CT,c1,0,1,1", "r,CT,c2,0,1,1e7", head=head))


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("reader_id,modality_id,case_id,truth\n", "column 'score' is missing"),
        ("reader_id,modality_id,case_id,truth,score,wieght\n", "column 'wieght' is not known"),
    ],
)
def test_columns_are_checked_by_name(csv, head, problem) -> None:
    with pytest.raises(ReadsError) as caught:
        read_csv(csv("r,CT,c,1" + ",1" * (head.count(",") - 3), head=head))
    assert caught.value.problems == (problem,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "not a table: "),
        (b"\n\n", "not a table: "),
        (b"\xff\xfe\x00", "not text in UTF-8: "),
        (b"a;b\n1;2\n", "the cells of the first line have semicolons between them, expected commas"),
        (b"a\tb\n1\t2\n", "the cells of the first line have tabs between them, expected commas"),
        (b"x" * 200_000, "not a table: "),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, text, problem) -> None:
    path = tmp_path / "reads.csv"
    path.write_bytes(text)
    with pytest.raises(ReadsError, match=r"reads\.csv: 1 problem") as caught:
        read_csv(path)
    assert caught.value.problems[0].startswith(problem)


def test_lines_with_other_cells_are_named_by_number(csv) -> None:
    with pytest.raises(ReadsError) as caught:
        read_csv(csv(*GOOD, "r,CT,c5,1", "", "r,CT,c6,1,2", "r,CT,c7,1,2,3", head=HEAD))
    assert caught.value.problems == ("line 6: 4 cells, expected 5", "line 9: 6 cells, expected 5")
    with pytest.raises(ReadsError) as caught:
        read_csv(csv(*GOOD, "r,CT,c5,1"))
    assert caught.value.problems == ("line 6: 4 cells, expected 5",)
    head = HEAD.strip() + ",rating\n"
    assert read_csv(csv(*(f"{row}," for row in GOOD), head="\n" + head)).height == 4


@pytest.mark.parametrize(
    ("again", "problem"),
    [
        ("score", "columns 'score' and 'score' have one name"),
        (" score ", "columns 'score' and ' score ' have one name"),
    ],
)
def test_a_column_is_there_once(csv, again, problem) -> None:
    with pytest.raises(ReadsError) as caught:
        read_csv(csv(*(f"{row},1" for row in GOOD), head=f"{HEAD.strip()},{again}\n"))
    assert caught.value.problems == (problem,)


def frame(**columns) -> pl.DataFrame:
    given = {
        "reader_id": ["r"] * 4,
        "modality_id": ["CT"] * 4,
        "case_id": list("abcd"),
        "truth": [0, 0, 1, 1],
        "score": [1.0, 3.0, 2.0, 4.0],
    }
    return pl.DataFrame(given | columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"truth": ["False", "FALSE", "True", "true"]},
        {"truth": pl.Series(["0.00", "0.00", "1.00", "1.00"]).cast(pl.Decimal(6, 2))},
        {"truth": pl.Series(["0", "0", "1", "1"], dtype=pl.Categorical)},
        {"score": pl.Series(["1", "30", "4", "200"], dtype=pl.Categorical)},
        {"score": pl.Series(["1", "30", "4", "200"], dtype=pl.Enum(["200", "4", "30", "1"]))},
        {"score": pl.Series(["1.0", "3.0", "2.0", "4.0"]).cast(pl.Decimal(6, 2))},
        {"score": [2**53, 2**53 + 4, 2**53 + 2, 2**60]},
        {"reader_id": pl.Series(["r"] * 4, dtype=pl.Categorical), "case_id": [1, 2, 3, 4]},
    ],
)
def test_the_same_study_may_come_in_columns_of_many_kinds(columns) -> None:
    assert analyse(frame(**columns)).modalities["CT"].auc == analyse(frame()).modalities["CT"].auc == 0.75


@pytest.mark.parametrize(
    ("columns", "problems"),
    [
        ({"score": [date(2020, 1, day) for day in (1, 2, 3, 4)]}, ["column 'score' holds Date, expected numbers"]),
        ({"score": [[1], [2], [3], [4]]}, ["column 'score' holds List(Int64), expected numbers"]),
        (
            {"reader_id": pl.Series([object()] * 4, dtype=pl.Object), "truth": [b"0", b"0", b"1", b"1"]},
            ["column 'reader_id' holds Object, expected names", "column 'truth' holds Binary, expected 0 and 1"],
        ),
        (
            {"weight": [timedelta(1)] * 4, "rating": [{"a": 1}] * 4},
            [
                "column 'weight' holds Duration(time_unit='us'), expected numbers",
                "column 'rating' holds Struct({'a': Int64}), expected numbers",
            ],
        ),
    ],
)
def test_columns_that_hold_something_else_are_named_with_their_kind(columns, problems) -> None:
    with pytest.raises(ReadsError) as caught:
        analyse(frame(**columns))
    assert caught.value.problems == tuple(problems)


def test_whole_numbers_that_would_change_their_order_are_refused(csv) -> None:
    huge = [2**53 + 1, 2**53, -(2**53) - 1, 2**63 - 1]
    expected = [
        f"reader r, modality CT, case {case}: score {score} has too many digits to be told from its neighbours"
        for case, score in (("a", huge[0]), ("c", huge[2]), ("d", huge[3]))
    ]
    with pytest.raises(ReadsError) as caught:
        analyse(frame(score=huge))
    assert list(caught.value.problems) == expected
    rows = [f"r,CT,{case},{truth},{score}" for case, truth, score in zip("abcd", "0011", huge, strict=True)]
    with pytest.raises(ReadsError) as caught:
        read_csv(csv(*rows))
    assert list(caught.value.problems) == expected


def test_one_and_one_point_nought_are_one_truth(imrmc) -> None:
    rows = ["-1,a,0,0", "-1,a,0,0.0", "-1,b,0,1.0", "truth,b,truth,1", "r,a,CT,1", "r,b,CT,2"]
    assert read_imrmc(imrmc(*rows))["truth"].to_list() == [False, True]


def test_no_reads_are_refused(csv) -> None:
    with pytest.raises(ReadsError, match="there are no reads"):
        read_csv(csv())


def test_a_file_is_measured_before_it_is_read(csv, monkeypatch) -> None:
    monkeypatch.setattr("isocenter.stats.mrmc._files._MOST_BYTES", 20)
    with pytest.raises(ReadsError, match="bytes, at most 20 are read"):
        read_csv(csv(*GOOD))


def test_empty_lines_are_skipped(csv) -> None:
    assert read_csv(csv(*GOOD, "", "")).height == 4


def test_a_path_is_not_a_frame(csv) -> None:
    with pytest.raises(TypeError, match="reads are a polars frame, not PosixPath: take read_csv or read_imrmc"):
        analyse(csv(*GOOD))


def test_problems_of_the_text_format_are_named_by_line(imrmc) -> None:
    rows = ["-1,c1,0,0", "truth,c2,truth,1", "truth,c1,truth,1", "r,c1,CT,1", "r,c3,CT,1", "r,c2,CT", "", "r,c2,CT,2"]
    with pytest.raises(ReadsError) as caught:
        read_imrmc(imrmc(*rows))
    assert caught.value.problems == (
        "line 6: case c1: truth 1, but 0 before",
        "line 9: 3 cells, expected reader, case, modality, score",
        "reader r, modality CT, case c3: no truth for this case",
    )


def test_the_text_format_needs_its_beginning(imrmc) -> None:
    with pytest.raises(ReadsError, match="no line 'BEGIN DATA:'"):
        read_imrmc(imrmc("r,c1,CT,1", head=""))


def test_a_reader_needs_two_cases_of_each_class(make) -> None:
    reads = make(
        {("r", "CT"): [1, 2, 3, 4], ("s", "CT"): [1, 2, None, 4], ("s", "MR"): [None, None, 3, 4]},
        "0011",
    )
    with pytest.raises(ReadsError) as caught:
        analyse(reads)
    assert caught.value.problems == (
        "reader s, modality CT: 1 diseased case read, at least 2 are needed",
        "reader s, modality MR: 0 normal cases read, at least 2 are needed",
    )
