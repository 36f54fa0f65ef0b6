"""A statistic of another package has all that ours have: board, resamples, receipt, verification, challenge.toml."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import matthews_corrcoef

import isocenter
from isocenter import editions, scores
from isocenter.ranking import (
    CohortStatistic,
    Disqualify,
    WorstPossible,
    bootstrap_ranks,
    describe,
    pseudo_code,
    rule_of,
)
from isocenter.ranking.statistics import _registry
from isocenter.scores import Row, frame

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "matthews"
TRUTH = [1, 0, 1, 1, 0, 0, 1, 0, 1, 0]
PREDICTED = {
    "aare": [1, 0, 1, 0, 0, 0, 1, 0, 1, 1],
    "doubs": [1, 1, 0, 1, 0, 1, 1, 0, 0, 0],
    "inn": [0, 0, 1, 0, 0, 1, 1, 0, 1, 1],
}
CHALLENGE = """
from isocenter.evaluation import Challenge, Score
from isocenter.ranking import CohortStatistic, Disqualify
from isocenter.submissions import MaskFile


def measure(reference, output):
    yield Score("true_class", float(reference["mask"].box.any()))
    yield Score("predicted_class", float(output["mask"].box.any()))


challenge = Challenge(
    name="grading",
    title="Grading: who has a tumour?",
    reference={"mask": MaskFile()},
    output={"mask": MaskFile(grid_of="mask")},
    metrics=("true_class", "predicted_class"),
    measure=measure,
    boards={"kappa": CohortStatistic(statistic="cohen_kappa", missing=Disqualify())},
)
"""
BOARD = """
[[boards]]
name = "correlation"
main = true
rule = "cohort-statistic"
statistic = "matthews"
columns = { predicted = "predicted_class" }
missing = "worst"
"""


@pytest.fixture
def matthews(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example, imported and registered for one test."""
    monkeypatch.setattr(_registry, "_REGISTERED", dict(_registry._REGISTERED))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, "matthews", raising=False)
    return importlib.import_module("matthews")


def rows(team: str) -> list[Row]:
    return [
        Row(f"c{i}", "", metric, float(values[i]))
        for i in range(len(TRUTH))
        for metric, values in (("true_class", TRUTH), ("predicted_class", PREDICTED[team]))
    ]


def table() -> pl.DataFrame:
    return pl.concat([frame(rows(team)).with_columns(submission=pl.lit(team)) for team in PREDICTED])


@pytest.mark.usefixtures("matthews")
def test_it_ranks_and_is_resampled() -> None:
    rule = CohortStatistic(statistic="matthews", missing=Disqualify())
    board = rule.rank(table())
    expected = {team: matthews_corrcoef(TRUTH, predicted) for team, predicted in PREDICTED.items()}
    assert {row.submission: row.score for row in board.rows} == pytest.approx(expected)
    uncertainty = bootstrap_ranks(table(), rule, replicates=100, seed=7)
    assert uncertainty.redrawn > 0
    assert uncertainty.draws is not None
    for at, team in enumerate(uncertainty.drawn.submissions):
        copied = [
            matthews_corrcoef(np.repeat(TRUTH, counts), np.repeat(PREDICTED[team], counts))
            for counts in uncertainty.draws.counts
        ]
        assert uncertainty.drawn.scores[at] == pytest.approx(copied)
    assert rule_of(json.loads(json.dumps(describe(rule)))) == rule
    assert "(TP TN − FP FN)" in pseudo_code(rule)
    CohortStatistic(statistic="matthews", missing=WorstPossible()).check()


def test_two_statistics_of_one_name_are_refused(matthews: ModuleType) -> None:
    class Other(matthews.Matthews):  # type: ignore[name-defined, misc]
        pass

    with pytest.raises(ValueError, match='there is already a statistic "matthews"'):
        _registry.register_statistic(Other)


def install(site: Path, name: str, source: str, group: str, entry: str) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
    (site / f"{name}.py").write_text(source)


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment with the statistic and a challenge of classes installed, as far as Python can tell."""
    site = tmp_path / "site"
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    ((group, entries),) = project["entry-points"].items()
    ((name, value),) = entries.items()
    install(site, "matthews", (EXAMPLE / "matthews.py").read_text(), group, f"{name} = {value}")
    install(site, "grading", CHALLENGE, "isocenter.challenges", "grading = grading:challenge")
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}


def command(*arguments: object, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    called = [sys.executable, "-m", "isocenter", *map(str, arguments)]
    return subprocess.run(called, capture_output=True, text=True, env=env, check=False)


def edition(folder: Path, env: dict[str, str], board: str = BOARD) -> Path:
    code = "import isocenter as i; from isocenter import editions as e; print(e.render(e.new(i.challenge('grading'))))"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True).stdout
    folder.mkdir(exist_ok=True)
    (folder / "challenge.toml").write_text(text + board, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_an_installed_statistic_is_found_by_every_command(installed: dict[str, str], tmp_path: Path) -> None:
    folder = edition(tmp_path / "edition", installed)
    tables = []
    for team in PREDICTED:
        path = tmp_path / f"{team}.parquet"
        scores.write(frame(rows(team)), path, record={"challenge": "grading", "reference": "x"})
        tables.append(f"{team}={path}")
    valid = command("validate", folder, env=installed)
    assert valid.returncode == 0, valid.stdout + valid.stderr
    receipt = tmp_path / "receipt.json"
    ranked = command("rank", folder, *tables, "--replicates", 200, "--receipt", receipt, "--json", env=installed)
    assert ranked.returncode == 0, ranked.stderr
    board = json.loads(ranked.stdout)
    assert {row["submission"]: row["score"] for row in board["rows"]} == pytest.approx(
        {team: matthews_corrcoef(TRUTH, predicted) for team, predicted in PREDICTED.items()}
    )
    assert all(row["low"] <= row["score"] <= row["high"] and row["rank_low"] for row in board["rows"])
    recorded = json.loads(receipt.read_text())["rule"]
    assert (recorded["rule"], recorded["statistic"]) == ("cohort-statistic", "matthews")
    verified = command("verify", receipt, "--scores", tmp_path, env=installed)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    described = command("describe", folder, env=installed)
    assert "Matthews of all cases together, by true_class, predicted_class" in described.stdout
    assert "TP TN − FP FN" in described.stdout
    explored = command("multiverse", folder, *tables, env=installed)
    assert "by balanced_accuracy" in explored.stdout, explored.stderr


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('"matthews"', '"mathews"'), '"mathews" is not allowed; write "aggregated_dice"'),
        (("{ predicted =", "{ risk ="), 'matthews has no input \'risk\', but "truth" and "predicted"'),
        (('"predicted_class" }', "7 }"), "write metrics in quotes by what the statistic calls them"),
        (('"predicted_class" }', '"dice" }'), '"cohort-statistic" needs "true_class" and "dice" of every case'),
        (('missing = "worst"', 'missing = "rank-last"'), "there is no such thing here as one that ranks last there"),
    ],
)
def test_a_wrong_setting_is_told_with_its_line(
    installed: dict[str, str], tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    folder = edition(tmp_path / "edition", installed, BOARD.replace(*change))
    result = command("validate", folder, env=installed)
    assert result.returncode == 1
    assert sentence in " ".join((result.stdout + result.stderr).split())
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("import not_installed_anywhere", 'the statistic "matthews" cannot be loaded from matthews:Matthews'),
        ("Matthews = 1", 'the package that brings the statistic "matthews" does not register it'),
    ],
)
def test_one_that_cannot_be_loaded_is_a_sentence_and_touches_no_other(
    installed: dict[str, str], tmp_path: Path, source: str, sentence: str
) -> None:
    (tmp_path / "site" / "matthews.py").write_text(source)
    folder = edition(tmp_path / "edition", installed)
    result = command("validate", folder, env=installed)
    assert result.returncode == 1
    assert sentence in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    edition(folder, installed, BOARD.replace("matthews", "f1"))
    assert command("validate", folder, env=installed).returncode == 0


def test_the_reference_of_challenge_toml_shows_every_setting() -> None:
    text = editions.render(editions.new(isocenter.challenge("hecktor2020")))
    for line in (
        '# statistic = "balanced_accuracy"',
        '# columns = { truth = "true_class" }',
        '# parts = ["GTVp", "GTVn"]',
    ):
        assert line in text.split("\n")
