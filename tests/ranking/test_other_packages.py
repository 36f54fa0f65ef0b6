"""Rules of other packages: what they can do follows from what they say of themselves, and the rest is a sentence."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

import isocenter
from isocenter import editions, ranking, scores
from isocenter.challenges.hecktor2020 import challenge as hecktor2020
from isocenter.ranking import (
    RULE_KINDS,
    Board,
    DescriptionError,
    FixedValue,
    MeanThenRank,
    alternatives,
    bootstrap_ranks,
    capabilities_of,
    case_draws,
    climb,
    describe,
    multiverse,
    paired_values,
    pseudo_code,
    rule_kinds,
    rule_of,
)
from isocenter.ranking.rules import _base
from isocenter.report import describe_edition, description_markdown
from isocenter.scores import Row, frame

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "geometric_mean"
BOARD = """
[[boards]]
name = "geometric"
main = true
rule = "geometric-mean"
metric = "dice"
missing = 0
offset = 0.01
"""
OTHER_BOARD = '[[boards]]\nname = "median"\nrule = "quantile"\nmetric = "dice"\n'
VALUES = {"aare": [0.7, 0.8, 0.9, 0.6, 0.7], "doubs": [0.99, 0.99, 0.99, 0.99, 0.05], "inn": [0.5, 0.6, 0.5, 0.6, 0.4]}


@pytest.fixture
def geometric(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example, imported and registered for one test."""
    monkeypatch.setattr(_base, "_REGISTERED", dict(_base._REGISTERED))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, "geometric_mean", raising=False)
    return importlib.import_module("geometric_mean")


def table(submission: str, values: list[float]) -> pl.DataFrame:
    rows = [Row(f"c{i}", "", "dice", value) for i, value in enumerate(values)]
    return frame(rows).with_columns(submission=pl.lit(submission))


TABLE = pl.concat([table(name, values) for name, values in VALUES.items()])


def edition_text(board: str = BOARD) -> str:
    return f"{editions.render(editions.new(hecktor2020))}\n{board}"


def in_force(folder: Path, board: str = BOARD) -> isocenter.evaluation.Challenge:
    (folder / "challenge.toml").write_text(edition_text(board), encoding="utf-8")
    return editions.in_force(folder, find=isocenter.challenge)[1]


def geometric_mean(values: list[float]) -> float:
    return float(np.prod(np.array(values) + 0.01) ** (1 / len(values)) - 0.01)


@pytest.mark.usefixtures("geometric")
def test_challenge_toml_names_the_rule_and_its_board_ranks_by_it(tmp_path: Path) -> None:
    challenge = in_force(tmp_path)
    board = isocenter.rank(challenge, {name: table(name, values) for name, values in VALUES.items()})
    assert board.name == "geometric"
    assert {row.submission: row.score for row in board} == pytest.approx(
        {name: geometric_mean(values) for name, values in VALUES.items()}
    )
    assert [row.submission for row in board] == ["aare", "doubs", "inn"]
    assert board.rule.startswith("geometric mean (with 0.01 added) of dice over all cases, higher is better; a missing")


@pytest.mark.usefixtures("geometric")
def test_a_wrong_setting_of_it_is_told_with_its_line(tmp_path: Path) -> None:
    wrong = BOARD.replace("offset = 0.01", "offset = -1").replace('"dice"', '"dyce"') + "q = 0.5\n"
    with pytest.raises(editions.EditionError) as caught:
        in_force(tmp_path, wrong)
    assert [problem.message for problem in caught.value.problems] == ["-1 is not allowed; write a number, 0 or more"]
    with pytest.raises(editions.EditionError) as caught:
        in_force(tmp_path, wrong.replace("offset = -1", "offset = 1"))
    lines = edition_text(wrong).split("\n")
    assert [(lines[(one.line or 0) - 1], one.message) for one in caught.value.problems] == [
        ('metric = "dyce"', '"dyce" is not allowed; write "dice" (did you mean "dice"?)'),
        (
            "q = 0.5",
            'the rule "geometric-mean" has no "q", but metric, missing, offset, ties, tolerance; "q" is for "quantile"',
        ),
    ]


@pytest.mark.usefixtures("geometric")
def test_the_comments_of_a_file_explain_it_like_the_others() -> None:
    text = " ".join(editions.render(editions.new(hecktor2020)).replace("\n#", " ").split())
    assert '"geometric-mean" by the geometric mean of a metric over the cases' in text
    assert 'For the rule "geometric-mean": what is added to every value first, so that a single 0 does not' in text
    assert "offset = 0.01" in text


def test_its_uncertainty_is_that_of_the_resamples(geometric: ModuleType) -> None:
    rule = geometric.GeometricMeanThenRank("dice", FixedValue(0.0), offset=0.01)
    assert capabilities_of(rule).drawable
    uncertainty = bootstrap_ranks(TABLE, rule, replicates=200, seed=3)
    draws = case_draws(5, replicates=200, seed=3)
    for name, values in VALUES.items():
        expected = [geometric_mean(list(np.repeat(values, counts))) for counts in draws.counts]
        at = uncertainty.drawn.submissions.index(name)
        assert uncertainty.drawn.scores[at] == pytest.approx(expected)
    assert uncertainty.rank_sets.keys() == VALUES.keys()


def test_other_rules_could_have_been_declared(geometric: ModuleType) -> None:
    rule = geometric.GeometricMeanThenRank("dice", FixedValue(0.25))
    lacking = pl.concat([TABLE.filter(~((pl.col("submission") == "inn") & (pl.col("case") == "c0")))])
    universes = alternatives(rule, lacking)
    names = [universe.name for universe in universes]
    assert names[:4] == ["declared", "mean", "median", "trimmed mean"]
    assert "missing counts as the worst possible value" in names
    assert MeanThenRank("dice", FixedValue(0.25)) in [universe.rule for universe in universes]
    assert len(multiverse(lacking, universes).outcomes) == len(universes)


def test_it_is_described_and_read_back(geometric: ModuleType) -> None:
    rule = geometric.GeometricMeanThenRank("dice", FixedValue(0.0), offset=0.5, ties="dense")
    described = describe(rule)
    assert described == {
        "rule": "geometric-mean",
        "metric": "dice",
        "missing": 0.0,
        "offset": 0.5,
        "ties": "dense",
        "tolerance": 1e-9,
    }
    assert rule_of(json.loads(json.dumps(described))) == rule
    assert rule_kinds() == (*RULE_KINDS, "geometric-mean")
    assert "score[s] = (Πᵢ (x[s, i] + 0.5))^(1/n) − 0.5 over the n cases i" in pseudo_code(rule)


@pytest.mark.usefixtures("geometric")
def test_it_stands_in_the_description_of_a_challenge(tmp_path: Path) -> None:
    challenge = in_force(tmp_path)
    text = description_markdown(describe_edition(editions.load(tmp_path), challenge))
    assert "Geometric mean (with 0.01 added) of dice over all cases" in text
    assert "score[s] = (Πᵢ (x[s, i] + 0.01))^(1/n) − 0.01" in text
    assert "sets rest on the covariance of the drawn scores" in text


def test_teams_can_be_compared_by_its_metric(geometric: ModuleType) -> None:
    rule = geometric.GeometricMeanThenRank("dice", FixedValue(0.0))
    assert {name: list(values) for name, values in paired_values(TABLE, rule).values.items()} == VALUES


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment in which the example package is installed, as far as Python can tell."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = tmp_path / "site" / "isocenter_geometric_mean-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    ((group, entries),) = project["entry-points"].items()
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *(f"{k} = {v}" for k, v in entries.items())]))
    (tmp_path / "site" / "geometric_mean.py").write_text((EXAMPLE / "geometric_mean.py").read_text())
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}


def command(*arguments: object, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    called = [sys.executable, "-m", "isocenter", *map(str, arguments)]
    return subprocess.run(called, capture_output=True, text=True, env=env, check=False)


def test_an_installed_rule_is_found_by_every_command(installed: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "edition"
    folder.mkdir()
    (folder / "challenge.toml").write_text(edition_text(), encoding="utf-8")
    tables = []
    for name, values in VALUES.items():
        path = tmp_path / f"{name}.parquet"
        rows = [Row(f"c{i}", "", "dice", value) for i, value in enumerate(values)]
        scores.write(frame(rows), path, record={"challenge": "hecktor2020", "reference": "x"})
        tables.append(f"{name}={path}")
    valid = command("validate", folder, env=installed)
    assert valid.returncode == 0, valid.stderr
    receipt = tmp_path / "receipt.json"
    ranked = command("rank", folder, *tables, "--replicates", 200, "--receipt", receipt, "--json", env=installed)
    assert ranked.returncode == 0, ranked.stderr
    rows = json.loads(ranked.stdout)["rows"]
    assert {row["submission"]: row["score"] for row in rows} == pytest.approx(
        {name: geometric_mean(values) for name, values in VALUES.items()}
    )
    assert all(row["low"] <= row["score"] <= row["high"] for row in rows)
    assert json.loads(receipt.read_text())["rule"]["rule"] == "geometric-mean"
    verified = command("verify", receipt, "--scores", tmp_path, env=installed)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    without = {**installed, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    refused = command("verify", receipt, "--scores", tmp_path, env=without)
    assert refused.returncode != 0
    assert '"geometric-mean" is not allowed; write "mean"' in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_rule_that_cannot_be_imported_is_a_sentence(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "site" / "geometric_mean.py").write_text("import not_installed_anywhere")
    (tmp_path / "challenge.toml").write_text(edition_text(), encoding="utf-8")
    result = command("validate", tmp_path, env=installed)
    assert result.returncode == 1
    sentence = 'boards[1].rule: the rule "geometric-mean" cannot be loaded from geometric_mean:GeometricMeanThenRank'
    assert sentence in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    (tmp_path / "challenge.toml").write_text(edition_text(OTHER_BOARD), encoding="utf-8")
    assert command("validate", tmp_path, env=installed).returncode == 0


RULE = """
from dataclasses import dataclass
from isocenter.ranking import FixedValue, MeanThenRank, RankingRule, ranking_rule

class Mine:
    pass

@ranking_rule("{kind}", "by a rule that fails")
{dataclass}
class Rule(RankingRule):
    metric: {annotation} = "dice"
    reads = ("dice",)

    def check(self):
        {check}

    def words(self, name):
        {words}

    def rank(self, scores, *, name="", roles=None):
        {rank}
        return MeanThenRank("dice", FixedValue(0.0)).rank(scores, name=name, roles=roles)

    def draw(self, scores, draws, *, roles=None):
        {draw}
"""
UNSPEAKABLE = """
class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")
raise Unspeakable
"""


def failing(**parts: str) -> str:
    """The source of a rule of which some parts fail."""
    words = 'return "by a rule that fails"'
    usual = {"kind": "failing", "dataclass": "@dataclass(frozen=True)", "annotation": "str", "words": words}
    return RULE.format(**dict.fromkeys(("check", "rank"), "pass") | {"draw": "raise TypeError"} | usual | parts)


DEFECTIVE = {
    "import": ("raise RuntimeError('no import')", "cannot be loaded from failing_rule:Rule: RuntimeError: no import"),
    "unspeakable": (UNSPEAKABLE, "from failing_rule:Rule: Unspeakable: its message cannot be read (failing_rule.py"),
    "exit": ("import sys; sys.exit(4)", "cannot be loaded from failing_rule:Rule: SystemExit: 4 (failing_rule.py"),
    "nothing": ("Rule = 1", 'the package that brings the rule "failing" does not register it'),
    "class": (failing(dataclass=""), "failing_rule.Rule is not a dataclass"),
    "unknown type": (failing(annotation="'NoSuchType'"), "make no table of a file: NameError: name 'NoSuchType'"),
    "own type": (failing(annotation="Mine"), "the settings of failing_rule.Rule make no table of a file"),
    "taken": (failing().replace("    metric:", '    name: str = "x"\n    metric:'), 'is called "name"'),
    "stolen": (
        "from isocenter.ranking import MeanThenRank, ranking_rule\nranking_rule('failing', '')(MeanThenRank)",
        'isocenter.ranking.rules.mean.MeanThenRank is the rule "mean" already, and cannot be "failing"',
    ),
}


def install_rule(folder: Path, source: str, kind: str = "failing") -> dict[str, str]:
    """An environment with one more package, of one module and one rule."""
    info = folder / "other" / "failing_rule-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: failing-rule\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[isocenter.rules]\n{kind} = failing_rule:Rule\n")
    (folder / "other" / "failing_rule.py").write_text(source)
    path = os.pathsep.join(filter(None, [str(folder / "other"), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}


SEVERAL = """
import sys
from isocenter import editions
from isocenter.challenges.hecktor2020 import challenge
from isocenter.ranking import FixedValue, MeanThenRank, describe, rule_of, rule_kinds
import isocenter

folder = sys.argv[1]
rule = MeanThenRank("dice", FixedValue(0.0))
assert rule_of(describe(rule)) == rule and type(rule_of(describe(rule))) is MeanThenRank
assert "by the mean of a metric" in editions.render(editions.new(challenge))
editions.in_force(folder, find=isocenter.challenge)
try:
    rule_of({"rule": "failing"})
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("defect", DEFECTIVE)
def test_a_defective_rule_that_nobody_uses_touches_no_other_rule(tmp_path: Path, defect: str) -> None:
    source, sentence = DEFECTIVE[defect]
    env = install_rule(tmp_path, source)
    (tmp_path / "challenge.toml").write_text(edition_text(OTHER_BOARD), encoding="utf-8")
    called = [sys.executable, "-c", SEVERAL, str(tmp_path)]
    result = subprocess.run(called, capture_output=True, text=True, env=env, check=False)
    assert result.returncode == 0, result.stderr
    assert sentence in result.stdout


@pytest.mark.parametrize("defect", ["exit", "own type"])
def test_a_board_of_a_defective_rule_is_refused_with_its_line(tmp_path: Path, defect: str) -> None:
    source, sentence = DEFECTIVE[defect]
    env = install_rule(tmp_path, source)
    (tmp_path / "challenge.toml").write_text(edition_text('[[boards]]\nname = "x"\nrule = "failing"\n'))
    result = command("validate", tmp_path, env=env)
    assert result.returncode == 1
    assert "boards[1].rule" in result.stdout + result.stderr
    assert sentence in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_an_entry_point_named_like_a_rule_of_this_package_does_not_replace_it(tmp_path: Path) -> None:
    env = install_rule(tmp_path, failing(kind="mean"), kind="mean")
    (tmp_path / "challenge.toml").write_text(edition_text(OTHER_BOARD), encoding="utf-8")
    called = [sys.executable, "-c", SEVERAL, str(tmp_path)]
    result = subprocess.run(called, capture_output=True, text=True, env=env, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("part", ["check", "words"])
def test_a_rule_that_fails_while_it_is_checked_is_a_problem_of_its_line(tmp_path: Path, part: str) -> None:
    env = install_rule(tmp_path, failing(**{part: "raise TypeError('it fails')"}))
    (tmp_path / "challenge.toml").write_text(edition_text('[[boards]]\nname = "x"\nrule = "failing"\n'))
    result = command("validate", tmp_path, env=env)
    assert result.returncode == 1
    assert 'boards[1].rule: the rule "failing" failed: TypeError: it fails (failing_rule.py, line ' in (
        result.stdout + result.stderr
    )
    assert "Traceback" not in result.stderr


def test_a_rule_that_fails_while_it_ranks_is_a_sentence_of_the_command(tmp_path: Path) -> None:
    env = install_rule(tmp_path, failing(rank="raise TypeError('it fails')"))
    text = edition_text('[[boards]]\nname = "x"\nmain = true\nrule = "failing"\n')
    text = re.sub(r"(?m)^(missing|ties) = .*$", "", text)  # policies that this rule does not have
    (tmp_path / "challenge.toml").write_text(text, encoding="utf-8")
    path = tmp_path / "aare.parquet"
    scores.write(frame([Row("c1", "", "dice", 0.5)]), path, record={"challenge": "hecktor2020", "reference": "x"})
    result = command("rank", tmp_path, f"aare={path}", env=env)
    assert result.returncode == 1
    assert "the rule failing failed: TypeError: it fails (failing_rule.py, line " in result.stderr
    assert "Traceback" not in result.stderr


class OnlyABoard:
    """A rule that has no more than a board needs."""

    metric = "dice"
    reads = ("dice",)

    def check(self) -> None:
        pass

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Any = None) -> Board:
        return MeanThenRank("dice", FixedValue(0.0)).rank(scores, name=name, roles=roles)

    def __str__(self) -> str:
        return "by a rule of its own"


def test_a_rule_with_only_a_board_gets_a_board_and_a_sentence_for_the_rest() -> None:
    rule = OnlyABoard()
    assert [row.submission for row in rule.rank(TABLE)] == ["doubs", "aare", "inn"]
    assert [universe.name for universe in alternatives(rule, TABLE)] == ["declared"]
    sentences: dict[str, Callable[[], object]] = {
        "OnlyABoard says nothing of how its scores vary": lambda: bootstrap_ranks(TABLE, rule),
        "a ladder needs a mean over cases; the board ranks by by a rule": lambda: climb([TABLE], rule, 0.1),
        "does not say which value of dice a case has": lambda: paired_values(TABLE, rule),
        "the board ranks by no findings": lambda: capabilities_of(rule).findings(TABLE),
        "no weights that can be changed": lambda: capabilities_of(rule).reweighted({}),
        "OnlyABoard is a rule of another package": lambda: describe(rule),
    }
    for sentence, asked in sentences.items():
        with pytest.raises(ValueError, match=sentence):
            asked()
    with pytest.raises(DescriptionError):
        pseudo_code(rule)


RULES = re.compile(r"\w+ThenRank|RankThenMean|WeightedRanks|NormalisedSum")
POLICIES = re.compile(r"FixedValue|WorstPossible|WorstObserved|Penalty|RankLast|LeaveOut|Disqualify")


def asked_classes(path: Path) -> Iterator[str]:
    """The classes that a module tests for, by `isinstance`, `match` or the type itself."""
    for node in ast.walk(ast.parse(path.read_text())):
        asked: list[ast.AST] = []
        match node:
            case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[_, kinds]):
                asked = [kinds]
            case ast.MatchClass(cls=kind):
                asked = [kind]
            case ast.Compare(left=ast.Call(func=ast.Name("type")), comparators=kinds_of):
                asked = list(kinds_of)
        for one in asked:
            yield from (name.id for name in ast.walk(one) if isinstance(name, ast.Name))


def test_nothing_outside_its_file_asks_for_the_class_of_a_rule_or_a_policy() -> None:
    root = ROOT / "src" / "isocenter"
    offences = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        for name in asked_classes(path):
            home = f"class {name}" in path.read_text()
            if not home and (RULES.fullmatch(name) or POLICIES.fullmatch(name)):
                offences.append(f"{place}: {name}")
    assert offences == []


def test_every_rule_has_a_file_of_its_own() -> None:
    homes = [sys.modules[made.__module__].__name__ for made in ranking.rules._OWN]
    assert len(set(homes)) == len(RULE_KINDS)
