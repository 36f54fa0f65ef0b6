"""`isocenter rank --receipt` and `isocenter verify`: a board that anybody can make again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from isocenter import editions, evaluation, scores
from isocenter.challenges.hecktor2020 import challenge as hecktor2020
from isocenter.cli import app
from isocenter.ranking import Board
from isocenter.scores import Row, frame


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def said(result: Result) -> str:
    return " ".join(result.output.replace("│", " ").split())


def table(path: Path, *values: float | None, challenge: str = "hecktor2020") -> Path:
    rows = [Row(f"c{i}", "", "dice", value) for i, value in enumerate(values)]
    rows += [Row(f"c{i}", "", "missing", 1.0) for i, value in enumerate(values) if value is None]
    scores.write(frame(rows), path, record={"challenge": challenge, "reference": "x"})
    return path


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "scores"
    table(folder / "aare.parquet", 0.7, 0.8, 0.9, 0.6)
    table(folder / "doubs.parquet", 0.6, 0.8, 0.7, None)
    table(folder / "inn.parquet", 0.9, 0.8, 0.8, 0.9)
    return folder


def given(tables: Path) -> list[str]:
    return [f"{path.stem}={path}" for path in sorted(tables.iterdir())]


@pytest.fixture
def receipt(tables: Path, tmp_path: Path) -> Path:
    path = tmp_path / "receipt.json"
    result = run("rank", "hecktor2020", *given(tables), "--organiser", "inn", "--replicates", 200, "--receipt", path)
    assert result.exit_code == 0, result.output
    assert f"Written to {path}" in result.stdout
    return path


def content(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def sealed(found: Mapping[str, Any], path: Path) -> Path:
    """A receipt that somebody changed and sealed again."""
    inside = {key: value for key, value in found.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(inside, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    path.write_text(json.dumps(inside | {"sha256": digest}))
    return path


def test_a_receipt_holds_all_that_a_board_depends_on(receipt: Path, tables: Path, tmp_path: Path) -> None:
    found = content(receipt)
    assert (found["challenge"], found["board_name"]) == ("hecktor2020", "dice")
    assert found["rule"]["missing"] == 0.0
    assert found["participation"] == asdict(hecktor2020.participation)
    assert found["roles"] == {"organisers": ["inn"], "benchmarks": []}
    assert [(entry["team"], entry["file"]) for entry in found["tables"]] == [
        ("aare", "aare.parquet"),
        ("doubs", "doubs.parquet"),
        ("inn", "inn.parquet"),
    ]
    assert found["draws"] == {"replicates": 200, "seed": 0, "level": 0.95}
    assert [row["submission"] for row in found["board"]["rows"]] == ["aare", "doubs"]
    assert str(tmp_path) not in receipt.read_text()


def test_the_same_input_gives_the_same_bytes_wherever_it_lies(receipt: Path, tables: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    for path in tables.iterdir():
        # Another writer, another order of the rows, another compression.
        scores.read(path).reverse().write_parquet(
            other / path.name, compression="uncompressed", mkdir=True, metadata={"isocenter": '{"reference": "x"}'}
        )
    again = tmp_path / "again.json"
    run("rank", "hecktor2020", *given(other), "--organiser", "inn", "--replicates", 200, "--receipt", again)
    assert again.read_bytes() == receipt.read_bytes()


def test_a_board_is_reproduced(receipt: Path, tables: Path) -> None:
    result = run("verify", receipt, "--scores", tables)
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "hecktor2020, board dice: reproduced from 3 tables; every number is the same to the last bit.\n"
    )


def test_tables_are_found_by_their_content(receipt: Path, tables: Path, tmp_path: Path) -> None:
    deep = tmp_path / "archive" / "2020" / "deep"
    deep.mkdir(parents=True)
    for i, path in enumerate(tables.iterdir()):
        path.rename(deep / f"{i}.bin")
    (deep / "notes.txt").write_text("not a table")
    (deep / "aare.parquet").write_bytes(b"PAR1 nor is this PAR1")
    table(deep / "other.parquet", 0.1)
    (tmp_path / "archive" / "copy.parquet").write_bytes((deep / "0.bin").read_bytes())
    (deep / "loop").symlink_to(tmp_path / "archive")
    os.mkfifo(deep / "pipe.parquet")
    assert run("verify", receipt, "--scores", tmp_path / "archive").exit_code == 0


def test_tables_that_are_not_there_are_all_named(receipt: Path, tables: Path) -> None:
    (tables / "aare.parquet").unlink()
    table(tables / "doubs.parquet", 0.6, 0.8, 0.7, 0.1)
    result = run("verify", receipt, "--scores", tables)
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0] == f"2 of 3 tables are not below {tables}:"
    assert lines[1].startswith("  aare, submission 1: aare.parquet, ")
    assert lines[2].startswith("  doubs, submission 1: doubs.parquet, ")
    assert lines[2].endswith(f"; {tables / 'doubs.parquet'} has another content")


def test_a_changed_receipt_is_refused(receipt: Path, tables: Path) -> None:
    text = receipt.read_text()
    receipt.write_text(text.replace('"rank": 1', '"rank": 2'))
    result = run("verify", receipt, "--scores", tables)
    assert result.exit_code == 1
    assert "it was changed after it was written" in result.stderr


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda found: found["board"]["rows"][0].update(score=0.99), "aare, score: 0.99 is recorded, 0.75 was found"),
        (lambda found: found["board"]["rows"][1].update(rank=1), "doubs, rank: 1 is recorded, 2 was found"),
        (lambda found: found["board"]["rows"].pop(), "doubs: nothing is recorded, a row was found"),
        (lambda found: found["draws"].update(seed=1), "is recorded"),
        (lambda found: found["roles"].update(organisers=[]), "inn: nothing is recorded, a row was found"),
        (
            lambda found: found["board"]["metric"].update(better="lower"),
            "metric, better: lower is recorded, higher was",
        ),
        (
            lambda found: found["participation"].update(organisers="unranked"),
            "inn: nothing is recorded, a row was found",
        ),
    ],
    ids=["score", "rank", "row", "seed", "role", "metric", "participation"],
)
def test_a_receipt_that_was_sealed_again_does_not_hold(
    receipt: Path, tables: Path, change: Any, difference: str
) -> None:
    found = content(receipt)
    change(found)
    result = run("verify", sealed(found, receipt), "--scores", tables)
    assert result.exit_code == 1
    assert "hecktor2020, board dice: not reproduced. " in result.stdout
    assert difference in result.stdout


def test_another_rule_is_named_before_what_follows_from_it(receipt: Path, tables: Path) -> None:
    found = content(receipt)
    found["rule"]["missing"] = "disqualify"
    result = run("verify", sealed(found, receipt), "--scores", tables)
    assert result.exit_code == 1
    first, second = result.stdout.splitlines()
    assert first == (
        "Another rule than that of hecktor2020, the recorded one was used: "
        "missing: disqualify is recorded, 0.0 is installed."
    )
    assert second.startswith("hecktor2020, board dice: not reproduced. rule: mean dice over all cases")


def test_other_versions_are_named_first_and_compared_less_strictly(receipt: Path, tables: Path) -> None:
    found = content(receipt)
    here = dict(found["versions"])
    found["versions"] |= {"isocenter": "0.0.1", "numpy": "1.0"}
    found["board"]["rule"] = "as they said it then"
    found["board"]["rows"][0]["score"] *= 1 + 5e-13
    result = run("verify", sealed(found, receipt), "--scores", tables)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"Other versions: isocenter 0.0.1 is recorded, {here['isocenter']} is here; numpy 1.0 is recorded, "
        f"{here['numpy']} is here. Numbers may differ by 1e-12 of their size.",
        "hecktor2020, board dice: reproduced from 3 tables; every number is the same within 1e-12 of its size.",
    ]
    found["board"]["rows"][0]["score"] *= 1 + 5e-12
    result = run("verify", sealed(found, receipt), "--scores", tables)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].startswith("hecktor2020, board dice: not reproduced. aare, score: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"challenge": "hektor2020"}, "The receipt is of hektor2020: no challenge is called 'hektor2020'"),
        ({"rule": {"rule": "median"}}, "The rule of the receipt is none of hecktor2020 as it is installed:"),
        (
            {"rule": {"rule": "mean", "metric": "jaccard", "missing": 0}},
            'metric: "jaccard" is not allowed; write "dice"',
        ),
        ({"roles": {"organisers": ["nobody"], "benchmarks": []}}, "there are no scores of the organiser nobody"),
        ({"tables": []}, "The board cannot be made again"),
        ({"tables": [{}]}, "it is sealed, but no receipt:"),
    ],
)
def test_what_cannot_be_replayed_is_told(receipt: Path, tables: Path, change: dict[str, Any], message: str) -> None:
    result = run("verify", sealed(content(receipt) | change, receipt), "--scores", tables)
    assert result.exit_code == 1, result.output
    assert message in result.stderr


@pytest.mark.parametrize(("data", "message"), [(b"\xff\xfe", "no text in UTF-8"), (b"PAR1", "it is not JSON")])
def test_a_file_that_is_no_receipt(tables: Path, tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "x.json").write_bytes(data)
    result = run("verify", tmp_path / "x.json", "--scores", tables)
    assert result.exit_code == 1
    assert message in result.stderr


def test_an_image_taken_for_a_receipt_is_not_read(tables: Path, tmp_path: Path) -> None:
    with (tmp_path / "ct.nii").open("wb") as stream:
        stream.truncate(5_000_000_000)
    result = run("verify", tmp_path / "ct.nii", "--scores", tables)
    assert result.exit_code == 1
    assert "5,000,000,000 bytes are far too many" in result.stderr


def test_several_submissions_with_their_moments(tables: Path, tmp_path: Path) -> None:
    path = tmp_path / "several.json"
    arguments = [
        f"a@2020-09-02T00:00:00Z={tables / 'aare.parquet'}",
        f"a@2020-09-03T00:00:00Z={tables / 'inn.parquet'}",
        f"a@2020-09-04T00:00:00+02:00={tables / 'doubs.parquet'}",
        f"b@2020-09-02T00:00:00Z={tables / 'aare.parquet'}",
    ]
    void = f"a={tables / 'doubs.parquet'}"
    ranked = run("rank", "hecktor2020", *arguments, "--void", void, "--replicates", 0, "--receipt", path)
    assert ranked.exit_code == 0, ranked.output
    entries = content(path)["tables"]
    assert [(entry["team"], entry["position"], entry["void"]) for entry in entries] == [
        ("a", 1, False),
        ("a", 2, False),
        ("a", 3, True),
        ("b", 1, False),
    ]
    assert entries[2]["moment"] == "2020-09-04T00:00:00+02:00"
    assert entries[0]["sha256"] == entries[3]["sha256"]
    result = run("verify", path, "--scores", tables)
    assert result.exit_code == 0, result.output
    assert "reproduced from 4 tables" in result.stdout


def test_a_board_with_a_policy_by_metric_is_reproduced(tmp_path: Path) -> None:
    board = '[[boards]]\nname = "both"\nmain = true\nrule = "mean-rank"\nties = "min"\nmissing = "rank-last"\n'
    board += 'metrics = ["dose_error", "dvh_error"]\nundefined = { dose_error = "leave-out", dvh_error = 0.5 }\n'
    (tmp_path / "challenge.toml").write_text(
        f"{editions.render(editions.new(evaluation.load_challenge('openkbp2020')))}\n{board}"
    )
    folder = tmp_path / "scores"
    for team, values in (("aare", (0.7, 0.6, None)), ("doubs", (0.6, 0.8, 0.4))):
        rows = [
            Row("c0", "", "dose_error", None),
            Row("c1", "", "dose_error", values[0]),
            Row("c2", "", "dose_error", values[1]),
        ]
        rows += [Row(f"c{i}", "", "dvh_error", value) for i, value in enumerate(values)]
        scores.write(frame(rows), folder / f"{team}.parquet", record={"challenge": "openkbp2020", "reference": "x"})
    path = tmp_path / "receipt.json"
    result = run("rank", tmp_path, *given(folder), "--replicates", 50, "--receipt", path)
    assert result.exit_code == 0, result.output
    assert content(path)["rule"]["undefined"] == {"dose_error": "leave-out", "dvh_error": 0.5}
    assert content(path)["board"]["undefined"] == {"dose_error": 1, "dvh_error": 1}
    assert run("verify", path, "--scores", folder).exit_code == 0


def test_the_chosen_submission_of_an_edition_with_boards_of_its_own(tables: Path, tmp_path: Path) -> None:
    text = editions.render(editions.new(hecktor2020)).replace('counts = "last"', 'counts = "chosen"')
    board = '[[boards]]\nname = "median"\nmain = true\nrule = "quantile"\nmetric = "dice"\n'
    (tmp_path / "challenge.toml").write_text(f"{text}\n{board}")
    both = [f"a={tables / name}.parquet" for name in ("inn", "doubs")]
    path = tmp_path / "median.json"
    ranked = run("rank", tmp_path, *both, "--chosen", both[0], "--receipt", path, "--replicates", 50, "--json")
    assert ranked.exit_code == 0, ranked.output
    found = content(path)
    assert found["board"] == json.loads(ranked.stdout)
    assert found["board"]["rows"][0]["score"] == pytest.approx(0.85)
    assert (found["board_name"], found["rule"]["rule"]) == ("median", "quantile")
    assert [entry["chosen"] for entry in found["tables"]] == [True, False]
    result = run("verify", path, "--scores", tables)
    assert result.exit_code == 0, result.output


def doserad(folder: Path) -> tuple[Path, Path]:
    """Two teams of DoseRAD2026 and their run times."""
    challenge = evaluation.load_challenge("doserad2026")
    for team, error in (("aare", 0.1), ("inn", 0.2)):
        rows = [Row("p1", "", metric, error) for metric in challenge.metrics]
        scores.write(frame(rows), folder / "scores" / f"{team}.parquet", record={"challenge": challenge.name})
    times = folder / "times.csv"
    lines = ["submission,modality,seconds,images,beams"]
    for team, start in (("aare", 0.2), ("inn", 0.1)):
        jobs = [(1, 10), (2, 10), (1, 50), (2, 50)]
        lines += [f"{team},photon,{start + images / 20 + beams / 1000:.3f},{images},{beams}" for images, beams in jobs]
    times.write_text("\n".join([*lines, ""]))
    return folder / "scores", times


def test_run_times_are_part_of_a_receipt(tmp_path: Path) -> None:
    tables, times = doserad(tmp_path)
    path = tmp_path / "receipt.json"
    ranked = run("rank", "doserad2026", *given(tables), "--run-times", times, "--receipt", path, "--replicates", 20)
    assert ranked.exit_code == 0, ranked.output
    digest = hashlib.sha256(times.read_bytes()).hexdigest()
    assert content(path)["run_times"] == {"file": "times.csv", "sha256": digest}
    assert run("verify", path, "--scores", tables, "--run-times", times).exit_code == 0
    without = run("verify", path, "--scores", tables)
    assert without.exit_code == 1
    assert "add --run-times with the file times.csv" in without.stderr
    times.write_text(times.read_text().replace("aare,photon,0.260", "aare,photon,0.250"))
    other = run("verify", path, "--scores", tables, "--run-times", times)
    assert other.exit_code == 1
    assert (
        f"is not the recorded times.csv: its sha256 is {hashlib.sha256(times.read_bytes()).hexdigest()}" in other.stderr
    )


def test_run_times_that_are_not_recorded_are_wrong_usage(receipt: Path, tables: Path, tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("x")
    result = run("verify", receipt, "--scores", tables, "--run-times", tmp_path / "times.csv")
    assert result.exit_code == 2
    assert "the receipt names no run times" in said(result)


@dataclass(frozen=True)
class Foreign:
    """A rule of another package."""

    metric: str = "dice"
    reads: tuple[str, ...] = ("dice",)

    def check(self) -> None:
        pass

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Any = None) -> Board:
        return Board(name=name, metric=self.metric, rule="own", rows=())


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """HECKTOR 2020 as another package would rank it."""
    other = replace(hecktor2020, boards={"dice": Foreign()})
    monkeypatch.setattr(evaluation, "load_challenge", lambda name: other)


@pytest.mark.usefixtures("foreign")
def test_a_rule_that_cannot_be_recorded_writes_nothing(tables: Path, tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    board = tmp_path / "board.json"
    result = run("rank", "hecktor2020", *given(tables), "--receipt", path, "--out", board)
    assert result.exit_code == 1
    assert "There can be no receipt of the board dice: rule: " in result.stderr
    assert "Foreign is a rule of another package" in result.stderr
    assert not path.exists()
    assert not board.exists()


def test_the_rule_of_another_package_is_named_beside_the_recorded_one(
    receipt: Path, tables: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("foreign")
    result = run("verify", receipt, "--scores", tables)
    assert result.exit_code == 0
    assert "rule: mean is recorded, Foreign is installed" in result.stdout


def test_a_receipt_is_never_written_over_something_else(tables: Path, tmp_path: Path) -> None:
    path = tables / "aare.parquet"
    before = path.read_bytes()
    both = tmp_path / "x.json"
    for wrong in (["--receipt", path], ["--receipt", both, "--out", both], ["--receipt", tmp_path / "r.txt"]):
        result = run("rank", "hecktor2020", *given(tables), *wrong)
        assert result.exit_code == 2, wrong
        assert "should be a file of its own that ends in" in said(result)
    assert path.read_bytes() == before
    assert not both.exists()
