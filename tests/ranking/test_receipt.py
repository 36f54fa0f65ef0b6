"""A receipt: the same bytes for the same input, sealed, read back, and what differs from it."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter import scores
from isocenter.ranking import (
    Disqualify,
    FileRecord,
    MeanThenRank,
    Participation,
    Receipt,
    ReceiptError,
    TableRecord,
    board_difference,
    describe,
    read_receipt,
    software_versions,
    table_digest,
)
from isocenter.scores import Row, frame

RULE = MeanThenRank("dice", missing=Disqualify())
SUMMER = timezone(timedelta(hours=2))
LATER = datetime(2022, 6, 9, 1, tzinfo=SUMMER)


def record(team: str, position: int, file: str, scores: pl.DataFrame, **options: Any) -> TableRecord:
    known = {"moment": None, "chosen": False, "void": False} | options
    return TableRecord(team=team, position=position, file=file, sha256=table_digest(scores), **known)


def table(*values: float | None) -> pl.DataFrame:
    return frame([Row(f"c{i}", "", "dice", value) for i, value in enumerate(values)])


def a_receipt(**changes: Any) -> Receipt:
    both = pl.concat(
        [
            table(*found).select(pl.lit(team).alias("submission"), pl.all())
            for team, found in (("a", (0.1, 0.7)), ("b", (0.2, 0.3)))
        ]
    )
    return replace(
        Receipt(
            challenge="hecktor2020",
            board_name="dice",
            rule=describe(RULE),
            participation=Participation(quota=5, per="week"),
            organisers=("b",),
            benchmarks=(),
            tables=(
                record("a", 1, "first.parquet", table(0.2), moment=datetime(2022, 6, 1, 12, tzinfo=UTC), void=True),
                record(
                    "a", 2, "last.parquet", table(0.1, 0.7), moment=datetime(2022, 6, 9, 1, tzinfo=SUMMER), chosen=True
                ),
                record("b", 1, "b.parquet", table(0.2)),
            ),
            run_times=FileRecord("times.csv", "0" * 64),
            replicates=10_000,
            seed=7,
            level=0.95,
            board=RULE.rank(both, name="dice").to_dict(),
            versions=software_versions(),
        ),
        **changes,
    )


def sealed(content: dict[str, Any]) -> str:
    """A text with a seal that fits, whatever it holds."""
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return json.dumps(content | {"sha256": digest})


def content_of(receipt: Receipt) -> dict[str, Any]:
    return {key: value for key, value in json.loads(receipt.to_json()).items() if key != "sha256"}


def test_a_receipt_is_read_back_as_it_was_written() -> None:
    for receipt in (a_receipt(), a_receipt(run_times=None, tables=(), organisers=())):
        again = read_receipt(receipt.to_json())
        assert again == receipt
        assert again.to_json() == receipt.to_json()
        assert read_receipt(sealed(content_of(receipt))) == receipt


def test_every_rule_of_taking_part_is_recorded() -> None:
    other = Participation(quota=3, counts="best", organisers="ranked", per="day", ladder=0.01, decimals=3)
    assert all(getattr(other, field.name) != field.default for field in fields(Participation))
    for taking_part in (
        other,
        replace(other, quota=None, ladder="parameter-free", decimals=None),
        replace(other, ladder=1),
    ):
        assert read_receipt(a_receipt(participation=taking_part).to_json()).participation == taking_part


def test_it_says_which_table_is_what() -> None:
    first, last, other = a_receipt().tables
    assert (first.position, last.position, other.position) == (1, 2, 1)
    assert (first.chosen, last.chosen, first.void, last.void) == (False, True, True, False)
    assert other == TableRecord("b", 1, None, False, False, "b.parquet", table_digest(table(0.2)))
    assert content_of(a_receipt())["tables"][1]["moment"] == "2022-06-09T01:00:00+02:00"


def test_its_bytes_are_sorted_and_end_like_a_text() -> None:
    text = a_receipt().to_json()
    assert text.endswith("}\n")
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert text == a_receipt().to_json()


def test_the_versions_are_those_of_what_computes() -> None:
    assert list(software_versions()) == ["isocenter", "numpy", "polars", "python"]
    assert software_versions()["polars"] == pl.__version__


def test_the_hash_of_a_table_is_of_its_content_not_of_its_file(tmp_path: Path) -> None:
    rows = [Row("c1", "left", "dice", 0.5), Row("c1", "", "dice", None), Row("c0", "", "missing", 1.0, 2.5)]
    one = frame(rows)
    scores.write(one, tmp_path / "a.parquet", record={"challenge": "x"})
    one.reverse().write_parquet(tmp_path / "b.parquet", compression="uncompressed", row_group_size=1)
    tables = [scores.read(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    assert {table_digest(found) for found in tables} == {table_digest(one)}
    assert (tmp_path / "a.parquet").read_bytes() != (tmp_path / "b.parquet").read_bytes()
    named = one.select(pl.lit("team").alias("submission"), pl.all())
    assert table_digest(named) == table_digest(one)
    # Golden: rows sorted by case, part and metric, as JSON.
    text = '[["c0", "", "missing", 1.0, 2.5], ["c1", "", "dice", null, 1.0], ["c1", "left", "dice", 0.5, 1.0]]'
    assert table_digest(one) == hashlib.sha256(text.encode()).hexdigest()


@given(st.lists(st.floats(0, 1) | st.none(), min_size=1, max_size=6), st.data())
def test_any_other_content_has_another_hash(values: list[float | None], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(values) - 1))
    other = list(values)
    old = values[at]
    other[at] = 0.5 if old is None else None if data.draw(st.booleans()) else math.nextafter(old, 2 * (old < 0.5))
    assert table_digest(table(*values)) != table_digest(table(*other))
    assert table_digest(table(*values)) == table_digest(table(*values).sample(fraction=1.0, shuffle=True, seed=1))


@pytest.mark.parametrize(
    ("old", "new"),
    [('"seed": 7', '"seed": 8'), ('"rank": 1', '"rank": 2'), ('"position": 2', '"position": 3'), ('"b"', '"B"')],
)
def test_a_changed_receipt_is_refused(old: str, new: str) -> None:
    text = a_receipt().to_json()
    assert old in text
    with pytest.raises(
        ReceiptError, match=r"it was changed after it was written: its content has the sha256 [0-9a-f]+"
    ):
        read_receipt(text.replace(old, new))


def test_a_receipt_without_a_seal_is_refused() -> None:
    with pytest.raises(ReceiptError, match="it says nothing"):
        read_receipt(json.dumps(content_of(a_receipt())))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not JSON"),
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ('{"a":' * 900 + "1" + "}" * 900, "no receipt that this version can read"),
        ('{"a": ' + "9" * 5000 + "}", "it is not JSON"),
        ("[]", "no receipt that this version can read"),
        ("5", "no receipt that this version can read"),
        ("{}", "no receipt that this version can read"),
        ('{"format": "isocenter receipt 2"}', 'one has "format": "isocenter receipt 1"'),
    ],
    ids=range(9),
)
def test_what_is_no_receipt_is_told(text: str, message: str) -> None:
    with pytest.raises(ReceiptError, match=message):
        read_receipt(text)


def change(content: Any, path: tuple[str | int, ...], value: Any) -> None:
    for part in path[:-1]:
        content = content[part]
    content[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("challenge",), 5, "challenge: 5 is not allowed; expected a text"),
        (("rule",), [], "rule: an empty list is not allowed; expected a table"),
        (("versions",), None, "versions: nothing is not allowed; expected a table"),
        (("versions", "numpy"), 2, "versions.numpy: 2 is not allowed; expected a text"),
        (
            ("participation", "quota"),
            0,
            "participation.quota: 0 is not allowed; expected a whole number, 1 or more, or null",
        ),
        (("participation", "counts"), "first", 'expected "last", "best", "chosen" or "all"'),
        (("participation", "organisers"), None, 'expected "unlisted", "unranked" or "ranked"'),
        (("participation", "ladder"), 0.0, 'expected a number above 0, "parameter-free", or null'),
        (("roles", "organisers"), "b", 'roles.organisers: "b" is not allowed; expected a list'),
        (("roles", "organisers"), [1], "roles.organisers[1]: 1 is not allowed; expected a text"),
        (("tables",), {}, "tables: a table is not allowed; expected a list"),
        (("tables", 0), "x", 'tables[1]: "x" is not allowed; expected a table'),
        (
            ("tables", 1, "position"),
            True,
            "tables[2].position: true is not allowed; expected a whole number, 1 or more",
        ),
        (("tables", 1, "position"), 3, "tables[2].position: 3 is not allowed; the table is number 2 of a"),
        (("tables", 1, "moment"), "2022-06-09T01:00:00", "expected a moment with its zone, or null"),
        (("tables", 1, "moment"), "soon", "expected a moment with its zone, or null"),
        (("tables", 1, "moment"), None, "some tables of a have a moment, some have none"),
        (("tables", 0, "chosen"), True, "a chose more than one table"),
        (("tables", 0, "void"), 0, "tables[1].void: 0 is not allowed; expected true or false"),
        (("tables", 0, "sha256"), "0" * 63, "expected a SHA-256"),
        (("run_times",), "times.csv", "run_times: "),
        (("run_times", "sha256"), None, "run_times.sha256: nothing is not allowed; expected a SHA-256"),
        (("draws", "replicates"), -1, "draws.replicates: -1 is not allowed; expected a whole number, 0 or more"),
        (("draws", "level"), 1, "draws.level: 1 is not allowed; expected a number from 0.5 to 0.999"),
        (("board",), None, "board: nothing is not allowed; expected a table"),
    ],
)
def test_a_sealed_text_that_is_no_receipt_is_told_line_by_line(path: Any, value: Any, line: str) -> None:
    content = content_of(a_receipt())
    change(content, path, value)
    with pytest.raises(ReceiptError) as caught:
        read_receipt(sealed(content))
    first, problem = str(caught.value).split("\n")
    assert first == "it is sealed, but no receipt:"
    assert line in problem


def test_all_that_is_wrong_comes_at_once() -> None:
    content = content_of(a_receipt())
    del content["tables"], content["draws"]["seed"]
    with pytest.raises(ReceiptError) as caught:
        read_receipt(sealed(content))
    assert len(str(caught.value).split("\n")) == 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(sorted(content_of(a_receipt()))), json_values)
def test_whatever_is_sealed_is_a_receipt_or_told(key: str, value: Any) -> None:
    content = content_of(a_receipt())
    content[key] = value
    text = sealed(content)
    try:
        receipt = read_receipt(text)
    except ReceiptError:
        return
    assert isinstance(receipt.to_json(), str)


BOARD = {
    "board": "dice",
    "metric": {"name": "dice", "better": "higher"},
    "rule": "mean dice",
    "rows": [
        {"submission": "a", "score": 0.75, "rank": 1, "components": [{"metric": "auroc", "score": 0.9}]},
        {"submission": "b", "score": 0.5, "rank": 2, "disqualified": False, "low": None},
    ],
    "notes": ["10 draws"],
}


def difference(*path_and_value: Any, exact: bool = True, words: bool = True) -> str:
    """Between the board and one with a value changed."""
    *path, value = path_and_value
    found = copy.deepcopy(BOARD)
    change(found, tuple(path), value)
    return board_difference(BOARD, found, exact=exact, words=words)


def test_the_same_board_does_not_differ() -> None:
    assert board_difference(BOARD, copy.deepcopy(BOARD), exact=True, words=True) == ""
    board = a_receipt().board
    assert board_difference(json.loads(json.dumps(board)), board, exact=True, words=True) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("rows", 1, "score", 0.5000000000000001), "b, score: 0.5 is recorded, 0.5000000000000001 was found"),
        (("rows", 1, "rank", 1), "b, rank: 2 is recorded, 1 was found"),
        (("rows", 1, "disqualified", 0), "b, disqualified: false is recorded, 0 was found"),
        (("rows", 1, "low", 0.1), "b, low: null is recorded, 0.1 was found"),
        (("rows", 0, "components", 0, "score", 0.8), "a, components, auroc, score: 0.9 is recorded, 0.8 was found"),
        (("rows", BOARD["rows"][:1]), "b: a row is recorded, nothing was found"),
        (("rows", [*BOARD["rows"], {"submission": "c"}]), "c: nothing is recorded, a row was found"),
        (("rows", BOARD["rows"][::-1]), "order: a, b is recorded, b, a was found"),
        (("rule", "median dice"), "rule: mean dice is recorded, median dice was found"),
        (("metric", "better", "lower"), "metric, better: higher is recorded, lower was found"),
        (("notes", 0, "9 draws"), "notes, 1: 10 draws is recorded, 9 draws was found"),
        (("notes", []), 'notes: ["10 draws"] is recorded, [] was found'),
        (("new", 1), "new: nothing is recorded, 1 was found"),
    ],
)
def test_the_first_difference_is_named_by_team_and_field(change: Any, words: str) -> None:
    assert difference(*change) == words


def test_the_rule_and_the_metric_are_named_before_the_rows() -> None:
    found = copy.deepcopy(BOARD)
    found["rows"], found["rule"], found["notes"] = [], "other", []
    assert board_difference(BOARD, found, exact=True, words=True).startswith("rule: ")
    assert board_difference(BOARD, found, exact=True, words=False).startswith("rows: ")


def test_other_versions_may_differ_in_the_last_digits_and_in_their_words() -> None:
    assert difference("rows", 1, "score", 0.5 * (1 + 9e-13), exact=False) == ""
    assert difference("rows", 1, "score", 0.5 * (1 + 2e-12), exact=False) != ""
    assert difference("rows", 1, "rank", 3, exact=False) != ""
    assert difference("rule", "by mean Dice", words=False) == ""
    assert difference("notes", ["ten draws"], words=False) == ""


def test_a_row_that_is_recorded_twice_is_a_difference() -> None:
    recorded = {**BOARD, "rows": [*BOARD["rows"], BOARD["rows"][0]]}
    assert board_difference(recorded, BOARD, exact=True, words=True).startswith("rows: ")


@given(json_values, st.booleans())
def test_whatever_is_recorded_is_the_same_or_a_difference(value: Any, exact: bool) -> None:
    for key, known in BOARD.items():
        told = board_difference({**BOARD, key: value}, BOARD, exact=exact, words=True)
        assert bool(told) is (value != known)
