"""`isocenter deal` as a person or a script meets it."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from isocenter.cli import app
from isocenter.readers import deal, order, read_units


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["deal", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture
def tables(tmp_path: Path) -> list[object]:
    cases, readers = tmp_path / "cases.csv", tmp_path / "readers.csv"
    rows = [f"PCA{n:02},{'yes' if n < 6 else 'no'},{'AB'[n % 2]}" for n in range(20)]
    cases.write_text("\n".join(["case,csPCa,centre", *rows]) + "\n")
    readers.write_text("reader,expert\nAnn,yes\nBob,no\nCem,yes\n=Dan,no\n")
    return [cases, "--readers", readers, "--blocks", 2]


def rows(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text().splitlines()))


def test_the_folder_has_blocks_orders_balance_and_a_record(tables: list[object], tmp_path: Path) -> None:
    out = tmp_path / "new" / "study"
    result = run(*tables, "--seed", 7, "--output", out)
    assert result.exit_code == 0, result.output
    assert "csPCa: yes        3        3   3.00   0.00        0.00" in result.stdout
    assert "Seed 7. Written to" in result.stdout
    names = ["balance-cases.svg", "balance-readers.svg", "balance.txt", "cases.csv", "orders.csv", "readers.csv"]
    assert sorted(path.name for path in out.iterdir()) == sorted([*names, "deal.json"])

    expected = deal(read_units(tmp_path / "cases.csv", "case"), 2, seed=7, by=["csPCa", "centre"])
    block_of = {name: int(block) for name, block in rows(out / "cases.csv")[1:]}
    assert block_of == {name: block + 1 for name, block in expected.block_of.items()}
    # A name that a spreadsheet would run is a text there.
    assert {name for name, _ in rows(out / "readers.csv")[1:]} == {"Ann", "Bob", "Cem", "'=Dan"}
    ann = int(dict(rows(out / "readers.csv"))["Ann"])
    mine = [(int(place), case) for reader, place, case in rows(out / "orders.csv")[1:] if reader == "Ann"]
    assert mine == [*enumerate(order(expected.blocks[ann - 1], seed=7, reader="Ann"), start=1)]

    record = json.loads((out / "deal.json").read_text())
    assert (record["seed"], record["blocks"]) == (7, 2)
    assert record["tables"][0]["sha256"] == hashlib.sha256((tmp_path / "cases.csv").read_bytes()).hexdigest()
    assert record["written"] == {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in names}
    for picture in out.glob("*.svg"):
        assert "block 2" in " ".join(ElementTree.fromstring(picture.read_text()).itertext())


def test_the_same_seed_gives_the_same_files_and_one_that_was_drawn_is_written_down(
    tables: list[object], tmp_path: Path
) -> None:
    first = json.loads(run(*tables, "--out", tmp_path / "a", "--json").stdout)
    second = json.loads(run(*tables, "--out", tmp_path / "b", "--json", "--seed", first["seed"]).stdout)
    assert first == second
    other = json.loads(run(*tables, "--out", tmp_path / "c", "--json").stdout)
    assert other["seed"] != first["seed"]
    assert json.loads((tmp_path / "c" / "deal.json").read_text()) == other


def test_without_readers_there_are_blocks_of_cases_only(tables: list[object], tmp_path: Path) -> None:
    assert run(tables[0], "--blocks", 3, "--out", tmp_path / "a").exit_code == 0
    names = ["balance-cases.svg", "balance.txt", "cases.csv", "deal.json"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == names


def test_a_table_with_none_of_the_named_columns_is_balanced_by_all_of_its_own(
    tables: list[object], tmp_path: Path
) -> None:
    data = json.loads(run(*tables, "--by", "centre", "--out", tmp_path / "a", "--json").stdout)
    assert [table["by"] for table in data["tables"]] == [["centre"], ["expert"]]


def test_names_alone_can_be_dealt(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("case\nA\nB\nC\n")
    result = run(tmp_path / "cases.csv", "--blocks", 2, "--out", tmp_path / "a")
    assert result.exit_code == 0, result.output
    assert not list((tmp_path / "a").glob("*.svg"))


def test_nothing_is_overwritten(tables: list[object], tmp_path: Path) -> None:
    before = {path.name: path.read_text() for path in tmp_path.glob("*.csv")}
    result = run(*tables, "--out", tmp_path)
    assert result.exit_code == 2
    assert "not an empty folder; nothing is overwritten" in result.stderr
    assert {path.name: path.read_text() for path in tmp_path.glob("*.csv")} == before
    (tmp_path / "empty").mkdir()
    assert run(*tables, "--out", tmp_path / "empty").exit_code == 0


def test_all_problems_of_both_tables_are_named_at_once(tables: list[object], tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("case,csPCa\nA,yes\nA,no\nB\n")
    (tmp_path / "readers.csv").write_text("name,expert\nAnn,yes\n")
    result = run(*tables, "--out", tmp_path / "a")
    assert result.exit_code == 1
    assert "Nothing was dealt" in result.stderr
    for words in (
        "cases.csv:3",
        "of line 2 again",
        "cases.csv:4",
        "has 1 values",
        "readers.csv:1",
        "expected 'reader'",
    ):
        assert words in result.stderr
    data = json.loads(run(*tables, "--out", tmp_path / "a", "--json").stdout)
    assert (data["ok"], len(data["problems"])) == (False, 3)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--by", "age", "--by", "centre"],
            "no column of facts is called 'age'; there are 'csPCa', 'centre', 'expert'",
        ),
        (["--blocks", "0"], "--blocks"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_wrong_options_end_with_2(tables: list[object], tmp_path: Path, options: list[str], words: str) -> None:
    result = run(*tables, *options, "--out", tmp_path / "a")
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("cases", "readers", "blocks", "messages"),
    [
        (2, 6, 3, ["2 cases for 3 blocks: the readers of 1 block would get nothing to read; take at most 2 blocks"]),
        (6, 2, 3, ["2 readers for 3 blocks: the cases of 1 block would never be read; take at most 2 blocks"]),
        (
            2,
            1,
            4,
            [
                "2 cases for 4 blocks",
                "1 reader for 4 blocks: the cases of 3 blocks would never be read; take at most 1 block, or",
            ],
        ),
        (2, None, 3, ["2 cases for 3 blocks"]),
    ],
)
def test_designs_in_which_somebody_reads_nothing_or_a_case_is_never_read_are_refused(
    tmp_path: Path, cases: int, readers: int | None, blocks: int, messages: list[str]
) -> None:
    (tmp_path / "cases.csv").write_text("case,csPCa\n" + "".join(f"C{k},yes\n" for k in range(cases)))
    options: list[object] = [tmp_path / "cases.csv", "--blocks", blocks, "--seed", 1, "--out", tmp_path / "out"]
    if readers is not None:
        (tmp_path / "readers.csv").write_text("reader,expert\n" + "".join(f"R{k},no\n" for k in range(readers)))
        options += ["--readers", tmp_path / "readers.csv"]
    result = run(*options)
    assert result.exit_code == 1
    assert "Nothing was dealt" in result.stderr
    for message in messages:
        assert message in result.stderr
    data = json.loads(run(*options, "--json").stdout)
    assert (data["ok"], len(data["problems"])) == (False, len(messages))
    assert not (tmp_path / "out").exists()
