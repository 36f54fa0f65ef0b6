"""A challenge with healthy patients, ranked as autoPET: from masks to a board, its intervals and its receipt.

The oracle is plain: numpy, scipy's components, and resamples of the patients that are copied.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import generate_binary_structure, label

import isocenter
from isocenter import editions, scores
from isocenter.contest import Contest, Entry
from isocenter.report import describe_edition, description_markdown
from isocenter.volumes import Grid, Volume, write

EXAMPLE = Path(__file__).parents[2] / "examples" / "autopet"
TEAMS = {"aare": 1, "doubs": 2, "inn": 3, "rhone": 4}
PATIENTS = [f"p{i:02}" for i in range(14)]
HEALTHY = PATIENTS[::3]
ILL = [patient for patient in PATIENTS if patient not in HEALTHY]
SPACING = (2.0, 2.0, 3.0)
METRICS = ("dice", "false_positive_volume", "false_negative_volume")
WEIGHTS = (0.5, 0.25, 0.25)
Masks = dict[str, np.ndarray[Any, Any]]
DICE_BOARD = '\n[[boards]]\nname = "dice"\nmain = true\nrule = "mean"\nmetric = "dice"\n'


def spots(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    mask = np.zeros((20, 20, 12), bool)
    for _ in range(count):
        x, y, z = rng.integers(1, 9, 3) * (2, 2, 1)
        mask[x : x + 2, y : y + 3, z : z + 2] = True
    return mask


@cache
def masks() -> dict[str, Masks]:
    """The reference, and what each team makes of it: lesions shifted, some lost, some invented."""
    rng = np.random.default_rng(20)
    truth = {patient: spots(rng, 0 if patient in HEALTHY else int(rng.integers(1, 5))) for patient in PATIENTS}
    made: dict[str, Masks] = {"reference": truth}
    for team, skill in TEAMS.items():
        own = {}
        for patient, mask in truth.items():
            parts, count = label(mask, np.ones((3, 3, 3)))
            kept = np.isin(parts, [k for k in range(1, count + 1) if rng.random() < 1 - 0.1 * skill])
            own[patient] = np.roll(kept, int(rng.integers(0, 2)), axis=0) | spots(rng, int(rng.integers(0, skill)))
        made[team] = own
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("autopet")
    for name, own in masks().items():
        (root / name).mkdir()
        for patient, mask in own.items():
            write(Volume(mask.astype(np.uint8), Grid((20, 20, 12), SPACING)), root / name / f"{patient}.nii.gz")
    (root / "rhone" / "p01.nii.gz").unlink()  # one missing mask, and the team is out
    return root


@pytest.fixture
def autopet(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    return importlib.import_module("autopet")


def plain_scores(truth: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> tuple[float, float, float]:
    """Dice, false positive and false negative volume, component by component."""

    def apart(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
        parts, count = label(one, generate_binary_structure(3, 2))
        lost = [k for k in range(1, count + 1) if not (other & (parts == k)).any()]
        return float(np.isin(parts, lost).sum()) * float(np.prod(SPACING)) / 1000

    overlap = 2 * (truth & mask).sum() / (truth.sum() + mask.sum()) if truth.any() else np.nan
    return overlap, apart(mask, truth), apart(truth, mask) if truth.any() else np.nan


def test_lesions_that_meet_at_a_corner_are_two_as_in_the_evaluator_of_autopet(autopet: ModuleType) -> None:
    mask, other = np.zeros((2, 4, 4, 4), bool)
    mask[0, 0, 0] = mask[1, 1, 1] = True
    other[0, 0, 0] = True
    assert autopet.count_apart(mask, other) == 1
    mask[0, 1, 1] = True  # an edge to the one and a face to the other: now all hang together
    assert autopet.count_apart(mask, other) == 0


@cache
def plain_table(team: str) -> dict[str, tuple[float, float, float]]:
    every = masks()
    return {patient: plain_scores(every["reference"][patient], every[team][patient]) for patient in PATIENTS}


def plain_board(patients: list[str]) -> dict[str, float]:
    """The weighted mean rank of the teams that compete, on patients that may be there several times."""
    total = dict.fromkeys(["aare", "doubs", "inn"], 0.0)
    table = {team: np.array([plain_table(team)[patient] for patient in patients]) for team in total}
    for column, (weight, higher) in enumerate(zip(WEIGHTS, (True, False, False), strict=True)):
        means = {team: round(float(np.nanmean(values[:, column])), 12) for team, values in table.items()}
        for team, mean in means.items():
            total[team] += weight * (1 + sum(other > mean if higher else other < mean for other in means.values()))
    return total


def test_files_become_the_board_that_the_plain_oracle_gives(folder: Path, autopet: ModuleType) -> None:
    challenge = autopet.challenge
    every = masks()
    entries = []
    for team in TEAMS:
        made = isocenter.evaluate(challenge, reference=folder / "reference", submission=folder / team)
        for patient in PATIENTS:
            if (team, patient) == ("rhone", "p01"):
                continue
            its = dict(made.scores.filter(case=patient).select("metric", "value").iter_rows())
            plain = plain_scores(every["reference"][patient], every[team][patient])
            found = [np.nan if its[metric] is None else its[metric] for metric in METRICS]
            assert found == pytest.approx(plain, nan_ok=True)
            assert (patient in HEALTHY) == (its["dice"] is None) == (its["false_negative_volume"] is None)
        entries.append(Entry(team=team, table=made.scores))
    decision = Contest(challenge, entries).decide(resamples=60, seed=9)
    board = decision.board
    assert {row.submission: row.score for row in board.rows} == pytest.approx(plain_board(PATIENTS))
    assert [row.submission for row in board.unlisted] == ["rhone"]
    many = f"{len(HEALTHY)} of {len(PATIENTS)} cases: they are left out of it for everybody"
    assert board.notes[:2] == (f"dice is undefined in {many}", f"false_negative_volume is undefined in {many}")
    assert board.undefined == {"dice": len(HEALTHY), "false_negative_volume": len(HEALTHY)}
    uncertainty = decision.uncertainty
    assert uncertainty is not None
    assert uncertainty.draws is not None
    plain = [plain_board(list(np.repeat(PATIENTS, row))) for row in uncertainty.draws.counts]
    for team in ("aare", "doubs", "inn"):
        drawn = [one[team] for one in plain]
        assert uncertainty.drawn.scores[uncertainty.drawn.submissions.index(team)] == pytest.approx(drawn)
        assert uncertainty.score_interval(team) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
        assert (board[team].rank_low, board[team].rank_high) == uncertainty.rank_sets[team]
    recorded = json.loads(decision.receipt.to_json())
    assert recorded["rule"]["undefined"] == "leave-out"
    assert recorded["board"]["undefined"] == dict(board.undefined)


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment in which the example package is installed, as far as Python can tell."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = tmp_path / "site" / "isocenter_autopet-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    ((group, entries),) = project["entry-points"].items()
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *(f"{k} = {v}" for k, v in entries.items())]))
    (tmp_path / "site" / "autopet.py").write_text((EXAMPLE / "autopet.py").read_text())
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}


ALL = """
import json, sys
from isocenter.cli import app

for arguments in json.loads(sys.argv[1]):
    app(arguments, standalone_mode=False)
"""


def run_commands(*called: list[object], env: dict[str, str]) -> str:
    """What several commands print, one after the other in one process."""
    arguments = json.dumps([[str(word) for word in words] for words in called])
    ran = subprocess.run([sys.executable, "-c", ALL, arguments], capture_output=True, text=True, env=env, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


@pytest.mark.slow
def test_every_command_goes_the_whole_way(
    folder: Path, installed: dict[str, str], autopet: ModuleType, tmp_path: Path
) -> None:
    tables = []
    for team in ("aare", "doubs", "inn"):
        made = isocenter.evaluate(autopet.challenge, reference=folder / "reference", submission=folder / team)
        scores.write(made.scores, tmp_path / f"{team}.parquet", record=made.record)
        tables.append(f"{team}={tmp_path / f'{team}.parquet'}")
    receipt, edition = tmp_path / "receipt.json", tmp_path / "edition"
    (edition / "scores").mkdir(parents=True)
    (edition / "challenge.toml").write_text(editions.render(editions.new(autopet.challenge)) + DICE_BOARD)
    for team in ("aare", "doubs", "inn"):
        (edition / "scores" / f"{team}.parquet").write_bytes((tmp_path / f"{team}.parquet").read_bytes())
    printed = run_commands(
        ["rank", "autopet", *tables, "--replicates", 200, "--receipt", receipt],
        ["verify", receipt, "--scores", tmp_path],
        ["multiverse", "autopet", *tables],
        ["compare", edition, *tables],
        ["plan-cases", edition, *tables, "--trials", 5],
        ["report", edition, "--no-pdf", "--replicates", 50],
        env=installed,
    )
    for sentence in (
        "dice is undefined in 5 of 14 cases: they are left out of it for everybody",
        "every number is the same to the last bit",
        "universes",
        "Board dice: dice of 9 cases",
        "Cases are those in which the metric is defined: 9 of the 14 of the pilot.",
    ):
        assert sentence in printed
    report = (edition / "report" / "report.html").read_text()
    assert "dice is undefined in 5 of 14 cases: they are left out of it for everybody" in report


def in_force(tmp_path: Path, challenge: Any, policies: str, board: str = DICE_BOARD) -> Any:
    text = editions.render(editions.new(challenge))
    assert text.count('\nundefined = "leave-out"\n') == 1  # as the challenge has it
    text = text.replace('\nundefined = "leave-out"\n', f"\n{policies}\n") + board
    (tmp_path / "challenge.toml").write_text(text, encoding="utf-8")
    return editions.in_force(tmp_path, find=lambda _: challenge)[1]


def test_an_edition_declares_the_policy_for_a_board_or_for_all(
    folder: Path, autopet: ModuleType, tmp_path: Path
) -> None:
    tables = {
        team: isocenter.evaluate(autopet.challenge, reference=folder / "reference", submission=folder / team).scores
        for team in ("aare", "inn")
    }
    for policies, board in (
        ("", DICE_BOARD + 'undefined = "leave-out"\n'),
        ('undefined = "leave-out"', DICE_BOARD),
    ):
        challenge = in_force(tmp_path, autopet.challenge, policies, board)
        found = isocenter.rank(challenge, tables, resamples=50)
        assert found.name == "dice"
        assert found.undefined == {"dice": 5}
        text = description_markdown(describe_edition(editions.load(tmp_path), challenge))
        assert "a case in which a metric is undefined is left out of it for all teams" in text
    other = in_force(tmp_path, autopet.challenge, "undefined = 1", DICE_BOARD)
    assert (
        isocenter.rank(other, tables, resamples=50).notes[0]
        == "dice is undefined in 5 of 14 cases: it counts as 1 there"
    )
    with pytest.raises(editions.EditionError, match="an undefined dice cannot count as 2"):
        in_force(tmp_path, autopet.challenge, "undefined = 2", DICE_BOARD)
    with pytest.raises(editions.EditionError, match='"leave" is not allowed; write "refuse", "unlisted", "leave-out"'):
        in_force(tmp_path, autopet.challenge, 'undefined = "leave"', DICE_BOARD)


def test_an_edition_that_says_nothing_keeps_the_rule_of_the_challenge(autopet: ModuleType, tmp_path: Path) -> None:
    challenge = in_force(tmp_path, autopet.challenge, "", "")
    assert challenge.boards["final"] == autopet.challenge.boards["final"]
