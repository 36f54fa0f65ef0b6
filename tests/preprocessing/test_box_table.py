"""The table of boxes, written by the program and edited by people."""

from __future__ import annotations

import pytest

from isocenter.preprocessing import Box, BoxTableError, read_overrides, write_boxes

FOUND = Box((-75.125, -210.0, 1 / 3), (74.875, -60.0, 150 + 1 / 3), "design", 3.0, 1432.51)
GIVEN = Box((0.0, 0.0, 0.0), (10.0, 20.0, 30.0))


def written(tmp_path, text):
    path = tmp_path / "boxes.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_was_written_gives_every_case_its_box_again_to_the_last_bit(tmp_path):
    write_boxes({"B": GIVEN, "A": FOUND}, tmp_path / "boxes.csv")
    again = read_overrides(tmp_path / "boxes.csv")
    assert list(again) == ["A", "B"]
    assert again["A"].corners == FOUND.corners
    assert again["B"] == GIVEN


def test_the_table_has_hecktor_s_columns_and_where_the_box_came_from(tmp_path):
    write_boxes({"A": FOUND, "B": GIVEN}, tmp_path / "boxes.csv")
    lines = (tmp_path / "boxes.csv").read_text().splitlines()
    assert lines[0] == "case,x1,y1,z1,x2,y2,z2,method,threshold,brain_ml"
    assert lines[1].endswith(",design,3,1432.51")
    assert lines[2] == "B,0.0,0.0,0.0,10.0,20.0,30.0,given,,"


def test_a_line_gives_a_box_or_a_threshold(tmp_path):
    path = written(tmp_path, "case,x1,y1,z1,x2,y2,z2,threshold\nA,1,2,3,4,5,6,\nB,,,,,,,1.5\nC,,,,,,,auto\n")
    assert read_overrides(path) == {"A": Box((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), "B": 1.5, "C": "auto"}


def test_only_the_columns_that_are_needed_must_be_there(tmp_path):
    assert read_overrides(written(tmp_path, "\N{ZERO WIDTH NO-BREAK SPACE}threshold,case\n2.5,A\n")) == {"A": 2.5}


def test_every_line_that_is_wrong_is_listed(tmp_path):
    path = written(
        tmp_path,
        "case,x1,y1,z1,x2,y2,z2,threshold\n"
        "A,1,2,3,4,5,6,\n"
        "A,1,2,3,4,5,6,\n"
        ",1,2,3,4,5,6,\n"
        "B,1,2,3,,,,\n"
        "C,,,,,,,\n"
        "D,1,2,3,4,5,six,\n"
        "E,9,2,3,4,5,6,\n"
        "F,,,,,,,nan\n",
    )
    with pytest.raises(BoxTableError) as caught:
        read_overrides(path)
    message = str(caught.value)
    for line, words in (
        (3, "lists A again"),
        (4, "names no case"),
        (5, "all of x1"),
        (6, "all of x1"),
        (7, "'six' is no number"),
        (8, "lower to higher"),
        (9, "'nan' is no number"),
    ):
        assert f"line {line}: " in message
        assert words in message
    assert "line 2:" not in message


def test_a_file_that_is_no_table_is_said_to_be_none(tmp_path):
    path = tmp_path / "boxes.csv"
    path.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(BoxTableError, match="not a table"):
        read_overrides(path)
