"""Every call and command that names a reference or a margin: exchange the two sides, and the verdict is mirrored."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from isocenter import scores, stats
from isocenter.cli import app
from isocenter.scores import Row
from isocenter.stats import mrmc

READERS = [f"r{k}" for k in range(8)]
MODALITIES = ("bpMRI", "mpMRI")


def study(gain: float, *, cases: int = 120, seed: int = 0) -> pl.DataFrame:
    """Eight readers in two modalities, mpMRI better by the gain, and an algorithm of three instances between these."""
    rng = np.random.default_rng(seed)
    truth = (np.arange(cases) % 5 < 2).astype(int)
    case = 0.9 * rng.normal(size=cases)
    skill = {name: 0.05 * rng.normal() for name in READERS}
    frames = []
    for modality, better in (("bpMRI", 0.0), ("mpMRI", gain), ("net", gain / 2)):
        for name in READERS if modality != "net" else ["n0", "n1", "n2"]:
            own = skill.get(name, 0.0)
            score = (1.5 + better + own) * truth + case + 0.35 * rng.normal(size=cases)
            columns = {"case_id": [f"c{k:03}" for k in range(cases)], "truth": truth, "score": score.round(3)}
            frames.append(pl.DataFrame(columns).with_columns(reader_id=pl.lit(name), modality_id=pl.lit(modality)))
    return pl.concat(frames)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same readers with a gain in mpMRI that is large, and with one that is hardly any."""
    out = tmp_path_factory.mktemp("directions")
    study(0.6).write_csv(out / "large.csv")
    study(0.03).write_csv(out / "small.csv")
    panels = {"all": READERS, "experts": READERS[:4], "others": READERS[4:]}
    lines = [f"{reader},{panel}" for panel, readers in panels.items() for reader in readers]
    (out / "panels.csv").write_text("reader_id,panel\n" + "\n".join(lines) + "\n")
    return out


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "400"})
    assert result.exit_code == 0, result.output
    return result.stdout


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def expected_decision(difference: float, low: float, high: float, *, margin: float, gain: bool) -> str:
    label = "superior" if low > 0 else "non-inferior" if low > -margin else "inferior" if high < -margin else None
    accepted = low > -margin and difference > 0
    return (label or "inconclusive") + ((", accepted" if accepted else ", not accepted") if gain else "")


# Library calls: two results, of a against b and of b against a, and what of them is mirrored.

A, B = np.random.default_rng(0).normal([[0.7], [0.66]], 0.05, (2, 14)).round(3)
TRUTH = np.arange(60) % 3 == 0
ONE, TWO = (step * TRUTH + np.random.default_rng(step).normal(size=(3, 60)) for step in (1, 2))
PLAIN: dict[str, Any] = {"decimals": None}


def _named(values: np.ndarray) -> dict[str, float]:
    return {f"r{k}": float(value) for k, value in enumerate(values)}


ONE_SIDED: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
    "permutation_test": (
        lambda: stats.permutation_test(A, B, alternative="greater").p_value,
        lambda: stats.permutation_test(B, A, alternative="less").p_value,
    ),
    "signed_rank": (
        lambda: stats.signed_rank(A, B, better="higher", **PLAIN).p,
        lambda: stats.signed_rank(B, A, better="lower", **PLAIN).p,
    ),
    "paired_t": (
        lambda: stats.paired_t(A, B, better="higher", **PLAIN).p,
        lambda: stats.paired_t(B, A, better="higher", alternative="worse", **PLAIN).p,
    ),
    "sign_flip": (
        lambda: stats.sign_flip(A, B, better="higher", **PLAIN).p,
        lambda: stats.sign_flip(B, A, better="lower", **PLAIN).p,
    ),
    "shifted_mann_whitney": (
        lambda: stats.shifted_mann_whitney(A, B, margin=0.02, better="higher", **PLAIN).p,
        lambda: stats.shifted_mann_whitney(-A, -B, margin=0.02, better="lower", **PLAIN).p,
    ),
    "compare_panels": (
        lambda: stats.compare_panels(_named(A), _named(B), alternative="greater").p_value,
        lambda: stats.compare_panels(_named(B), _named(A), alternative="less").p_value,
    ),
    "compare_instances": (
        lambda: stats.compare_instances(TRUTH, TWO, ONE, replicates=20, alternative="greater").p_value,
        lambda: stats.compare_instances(TRUTH, ONE, TWO, replicates=20, alternative="less").p_value,
    ),
    "non_inferiority": (
        lambda: stats.non_inferiority(0.03, 0.02, margin=0.05).p_one_sided,
        lambda: 1 - stats.non_inferiority(-0.13, 0.02, margin=0.05).p_one_sided,
    ),
    "power": (
        lambda: stats.power(COMPONENTS, DESIGN, effect=0.0, margin=0.05).power,
        lambda: stats.power(COMPONENTS, DESIGN, effect=0.05, margin=0.0).power,
    ),
}
COMPONENTS = stats.VarianceComponents(n=0.01, d=0.01, nd=0.01, r=0.001, nr=0.01, dr=0.01, rnd=0.02)
DESIGN = stats.Design(readers=10, negatives=60, positives=40)


@pytest.mark.parametrize("name", ONE_SIDED)
def test_a_claim_for_one_side_is_the_claim_against_the_other(name: str) -> None:
    one, other = (call() for call in ONE_SIDED[name])
    assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("name", [name for name in ONE_SIDED if name not in ("power", "non_inferiority")])
def test_of_two_sides_that_differ_only_the_better_one_has_a_small_p(name: str) -> None:
    """A function that forgot its sides would say the same of both."""
    better = ONE_SIDED[name][0]()
    worse = {
        "permutation_test": lambda: stats.permutation_test(B, A, alternative="greater").p_value,
        "signed_rank": lambda: stats.signed_rank(B, A, better="higher", **PLAIN).p,
        "paired_t": lambda: stats.paired_t(B, A, better="higher", **PLAIN).p,
        "sign_flip": lambda: stats.sign_flip(B, A, better="higher", **PLAIN).p,
        "shifted_mann_whitney": lambda: (
            stats.shifted_mann_whitney(B - 0.05, A, margin=0.02, better="higher", **PLAIN).p
        ),
        "compare_panels": lambda: stats.compare_panels(_named(B), _named(A), alternative="greater").p_value,
        "compare_instances": lambda: stats.compare_instances(TRUTH, ONE, TWO, replicates=20).p_value,
    }[name]()
    assert better < 0.5 < worse


@pytest.mark.parametrize("gain", [0.6, 0.03])
def test_pairs_of_an_analysis_are_mirrored(gain: float) -> None:
    pairs = mrmc.analyse(study(gain)).pairs
    one, other = pairs["mpMRI", "bpMRI"], pairs["bpMRI", "mpMRI"]
    assert (one.difference, one.low, one.high) == (-other.difference, -other.high, -other.low)
    for pair in (one, other):
        for margin in (0.01, 0.05):
            verdict = pair.non_inferiority(margin=margin, preset="picai")
            assert verdict is not None
            assert verdict.decision == expected_decision(pair.difference, pair.low, pair.high, margin=margin, gain=True)


@pytest.mark.parametrize("reference", MODALITIES)
def test_panels_in_two_modalities_are_compared_as_other_minus_reference(reference: str) -> None:
    reads = study(0.6).filter(pl.col("modality_id") != "net")
    found = stats.compare_readers(reads, points=[1.0], reference=reference, alternative="greater")
    (area, *points) = found.tests
    assert {test.b for test in found.tests} == {f"all, {reference}"}
    pair = mrmc.analyse(reads).pairs[next(m for m in MODALITIES if m != reference), reference]
    assert (area.difference, area.low, area.high) == (pair.difference, pair.low, pair.high)
    assert area.verdict == pair.non_inferiority(preset="picai")
    ahead = next(test for test in points if test.measure == "sensitivity")
    assert (ahead.difference > 0, ahead.p < 0.05) == ((True, True) if reference == "bpMRI" else (False, False))
    with pytest.raises(ValueError, match="the reference 'CT' is not a modality of the study"):
        stats.compare_readers(reads, reference="CT")


def test_an_algorithm_and_a_panel_exchange_their_sides() -> None:
    reads = study(0.6)
    one = stats.ai_against_panel(reads, ai="net", panel="bpMRI").study.pairs["net", "bpMRI"]
    other = stats.ai_against_panel(reads, ai="bpMRI", panel="net").study.pairs["bpMRI", "net"]
    assert (one.difference, one.low, one.high) == pytest.approx((-other.difference, -other.high, -other.low))
    assert one.difference > 0


# Commands: what text, CSV and JSON say of every pair is what the numbers of the pair mean, with either reference.

ROW = re.compile(r"(\S+), (\S+)\s+(\S+), (\S+)\s+([+-][\d.]+)\s+\S.*?mrmc(?:, (.+?))?\s*$")
CHOICES = [
    (file, reference, rule)
    for file in ("large", "small")
    for reference in MODALITIES
    for rule in (("--preset", "picai"), ("--margin", "0.03"))
]


@pytest.mark.parametrize(("file", "reference", "rule"), CHOICES)
def test_mrmc_says_the_same_in_text_csv_and_json(folder: Path, tmp_path: Path, file: str, reference: str, rule) -> None:
    out = tmp_path / "out.csv"
    options = ("mrmc", folder / f"{file}.csv", "--reference", reference, *rule)
    text, data = run(*options, "--out", out), json.loads(run(*options, "--json"))
    margin, gain = (0.05, True) if rule[0] == "--preset" else (float(rule[1]), False)
    table = {(row["a"], row["b"]): row for row in csv_rows(out)}
    assert {one["reference"] for one in data["non_inferiority"]} == {reference}
    for one in data["non_inferiority"]:
        told = expected_decision(one["difference"], one["low"], one["high"], margin=margin, gain=gain)
        accepted = one["low"] > -margin and (one["difference"] > 0 or not gain)
        assert (one["label"], one["accepted"]) == (told.split(",")[0], accepted)
        row = table[one["new"], reference]
        assert (row["label"], row["accepted"] == "true") == (one["label"], accepted)
        assert float(row["estimate"]) == pytest.approx(one["difference"])
        line = next(line for line in text.splitlines() if line.startswith(f"{one['new']} − {reference}: Difference"))
        assert f"Difference {one['difference']:+.4f}" in line
        assert f": {one['label']} (" in line
        assert line.endswith(("not accepted.", ": accepted.")) == gain
        if gain:
            assert line.endswith(": accepted.") == accepted


@pytest.mark.parametrize(("file", "reference", "rule"), CHOICES)
def test_the_table_of_panels_keeps_to_the_reference(folder: Path, file: str, reference: str, rule) -> None:
    options = ("mrmc", folder / f"{file}.csv", "--reference", reference, *rule, "--panels", folder / "panels.csv")
    text, data = run(*options), json.loads(run(*options, "--json"))
    margin, gain = (0.05, True) if rule[0] == "--preset" else (float(rule[1]), False)
    by_pair = {(one["a"], one["b"]): one for one in data["panels"]["tests"] if one["how"] == "mrmc"}
    shown = {}
    for line in text.splitlines():
        if match := ROW.search(line):
            panel_a, a, panel_b, b, difference, decision = match.groups()
            shown[f"{panel_a}, {a}", f"{panel_b}, {b}"] = (float(difference), decision)
    assert shown.keys() == by_pair.keys()
    between = 0
    for (a, b), one in by_pair.items():
        modalities = [name.split(", ")[1] for name in (a, b)]
        if reference not in modalities or modalities[0] == modalities[1]:
            assert (one["verdict"], shown[a, b][1]) == (None, None)
            continue
        between += 1
        assert modalities[1] == reference
        told = expected_decision(one["difference"], one["low"], one["high"], margin=margin, gain=gain)
        assert shown[a, b] == (pytest.approx(one["difference"], abs=1e-4), told)
        assert one["verdict"]["label"] == told.split(",")[0]
        assert one["verdict"]["difference"] == one["difference"]
    assert between == 3
    of_all = next(one for one in data["non_inferiority"] if one["new"] in MODALITIES)
    (of_panel,) = (one for (a, b), one in by_pair.items() if a.startswith("all, ") and one["verdict"])
    assert of_panel["difference"] == pytest.approx(of_all["difference"])
    assert of_panel["verdict"]["accepted"] == of_all["accepted"]


def test_criteria_know_which_side_is_the_reference(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    cold, hot = rng.normal(60, 1, 20), rng.normal(66, 1, 20)
    found: dict[str, dict[str, Any]] = {}
    for name, value, reference in (("hot", hot, cold), ("cold", cold, hot)):
        rows = [
            Row(f"pt_{k}", part, metric, float(values[k]))
            for part in ("PTV70|D_95", "Brainstem|mean")
            for metric, values in (("dvh_value", value), ("dvh_reference", reference))
            for k in range(20)
        ]
        rows += [Row(f"pt_{k}", "", metric, 1.0) for metric in ("dose_error", "dvh_error") for k in range(20)]
        scores.write(scores.frame(rows), tmp_path / f"{name}.parquet")
        options = ("criteria", "openkbp2020", f"{name}={tmp_path / name}.parquet")
        data = json.loads(run(*options, "--json"))
        text = run(*options, "--out", tmp_path / "out.csv")
        table = {row["structure"]: row for row in csv_rows(tmp_path / "out.csv")}
        for row in data["rows"]:
            assert float(table[row["structure"]]["p"]) == row["p"]
            assert f"{row['difference']:+.2f}" in next(x for x in text.splitlines() if row["structure"] in x)
        found[name] = {row["structure"]: row for row in data["rows"]}
    for good, bad, structure in (("hot", "cold", "PTV70"), ("cold", "hot", "Brainstem")):
        assert found[good][structure]["p"] < 0.001
        assert found[bad][structure]["p"] > 0.999
    for structure in ("PTV70", "Brainstem"):
        assert found["hot"][structure]["difference"] == pytest.approx(-found["cold"][structure]["difference"])


def test_teams_of_a_board_exchange_their_sides(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for team, shift in (("good", 0.05), ("poor", 0.0)):
        rows = [Row(f"CHUV{k:03d}", "", "dice", float(rng.normal(0.7 + shift, 0.02))) for k in range(12)]
        scores.write(scores.frame(rows), tmp_path / f"{team}.parquet", record={"challenge": "hecktor2020"})
    tables = [f"{team}={tmp_path / team}.parquet" for team in ("good", "poor")]
    options = ("compare", "hecktor2020", *tables, "--family", "all-ordered")
    data = {(row["a"], row["b"]): row for row in json.loads(run(*options, "--json"))["tests"][0]["rows"]}
    one, other = data["good", "poor"], data["poor", "good"]
    assert one["difference"] == -other["difference"] > 0
    assert one["p"] < 0.01
    assert other["p"] > 0.99
    text = run(*options, "--out", tmp_path / "out.csv")
    for row in csv_rows(tmp_path / "out.csv"):
        told = data[row["a"], row["b"]]
        assert math.isclose(float(row["p"]), told["p"])
        line = next(x for x in text.splitlines() if re.match(rf"{row['a']}\s+{row['b']}\s", x))
        assert f"{told['difference']:+.5f}" in line
        assert line.endswith("*") == (row["a"] == "good")
