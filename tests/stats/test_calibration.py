"""How often every test of `isocenter.stats` claims what is not so, and how often intervals hold what is.

Each simulation draws one study in which the truth is known and returns 1 if the test made a false claim, or if the
interval covered the truth. docs/explanation/calibration.md prints the rates over many studies; here fewer are drawn,
and have to agree with the page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
import pytest

from isocenter.metrics import average_precision
from isocenter.stats import (
    LesionRows,
    adjust,
    bootstrap_ci,
    clustered_signed_rank,
    compare,
    compare_instances,
    compare_panels,
    compare_with_panel,
    delong,
    matched_bootstrap,
    matched_lesion_bootstrap,
    non_inferiority,
    paired_t,
    permutation_test,
    shifted_mann_whitney,
    sign_flip,
    signed_rank,
)
from isocenter.stats.mrmc import analyse

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "calibration.md"
Generator = np.random.Generator
PLAIN: dict[str, Any] = {"better": "higher", "decimals": None}


class Simulation(NamedTuple):
    draw: Callable[[Generator], float]
    kind: Literal["claims", "covers"]
    nominal: float
    runs: int
    keeps: bool
    """Whether it has to keep to the nominal rate; the page says why the others do not."""


SIMULATIONS: dict[str, Simulation] = {}


def simulation(
    name: str, *, runs: int, kind: Literal["claims", "covers"] = "claims", nominal: float = 0.05, keeps: bool = True
) -> Callable[[Callable[[Generator], float]], Callable[[Generator], float]]:
    def register(draw: Callable[[Generator], float]) -> Callable[[Generator], float]:
        SIMULATIONS[name] = Simulation(draw, kind, nominal, runs, keeps)
        return draw

    return register


def rate(draw: Callable[[Generator], float], runs: int, *, seed: int) -> tuple[float, float]:
    """The share of studies, and its standard error."""
    found = np.array([float(draw(rng)) for rng in np.random.default_rng(seed).spawn(runs)])
    return float(found.mean()), float(found.std(ddof=1)) / math.sqrt(runs)


# Paired scores of two submissions.


@simulation("`signed_rank`, exact, 20 cases", runs=2000)
def _(rng: Generator) -> float:
    return signed_rank(rng.normal(size=20), np.zeros(20), **PLAIN).p <= 0.05


@simulation("`signed_rank`, normal approximation with ties, 100 cases, two-sided", runs=2000)
def _(rng: Generator) -> float:
    d = rng.normal(size=100)
    return signed_rank(d, 0 * d, better="higher", decimals=1, alternative="two-sided").p <= 0.05


@simulation("`signed_rank` over 240 criteria of 40 patients, taken for independent", runs=1000, keeps=False)
def _(rng: Generator) -> float:
    d, _ = _clustered(rng, 40)
    return signed_rank(d, 0 * d, **PLAIN).p <= 0.05


@simulation("`clustered_signed_rank`, the same", runs=1500)
def _(rng: Generator) -> float:
    d, patient = _clustered(rng, 40)
    return clustered_signed_rank(d, 0 * d, patient, **PLAIN).p <= 0.05


@simulation("`clustered_signed_rank`, exact, 7 patients", runs=1500)
def _(rng: Generator) -> float:
    d, patient = _clustered(rng, 7)
    return clustered_signed_rank(d, 0 * d, patient, **PLAIN).p <= 0.05


@simulation("`sign_flip` with clusters, 12 patients", runs=500)
def _(rng: Generator) -> float:
    d, patient = _clustered(rng, 12)
    return sign_flip(d, 0 * d, cluster=patient, **PLAIN).p <= 0.05


def _clustered(rng: Generator, patients: int) -> tuple[np.ndarray, np.ndarray]:
    """Differences, from 1 to 11 per patient, half of whose variance patients have in common."""
    patient = np.repeat(np.arange(patients), rng.integers(1, 12, patients))
    return math.sqrt(0.5) * (rng.normal(size=patients)[patient] + rng.normal(size=patient.size)), patient


@simulation("`sign_flip`, exact, 12 cases", runs=1500)
def _(rng: Generator) -> float:
    return sign_flip(rng.normal(size=12), np.zeros(12), **PLAIN).p <= 0.05


@simulation("`sign_flip`, 199 drawn flips, median, 40 cases", runs=500)
def _(rng: Generator) -> float:
    d, seed = rng.normal(size=40), int(rng.integers(1 << 30))
    return sign_flip(d, 0 * d, statistic="median", replicates=199, seed=seed, **PLAIN).p <= 0.05


@simulation("`paired_t`, 12 cases", runs=2000)
def _(rng: Generator) -> float:
    return paired_t(rng.normal(size=12), np.zeros(12), **PLAIN).p <= 0.05


@simulation("`paired_t`, interval, 12 cases", kind="covers", nominal=0.95, runs=2000)
def _(rng: Generator) -> float:
    found = paired_t(rng.normal(0.3, 1, size=12), np.zeros(12), **PLAIN)
    return found.low <= 0.3 <= found.high


@simulation("`paired_t`, interval, 46 skewed differences", kind="covers", nominal=0.95, runs=2000, keeps=False)
def _(rng: Generator) -> float:
    found = paired_t(rng.exponential(size=46), np.zeros(46), **PLAIN)
    return found.low <= 1 <= found.high


# Families of tests.


@simulation("`adjust`, Holm, any of 10 independent true hypotheses", runs=2000)
def _(rng: Generator) -> float:
    return adjust(rng.random(10), "holm").min() <= 0.05


@simulation("`adjust`, Bonferroni, the same", runs=2000)
def _(rng: Generator) -> float:
    return adjust(rng.random(10), "bonferroni").min() <= 0.05


@simulation("`adjust`, Benjamini–Hochberg, share of false claims, 10 of 20 hypotheses true", runs=2000)
def _(rng: Generator) -> float:
    claimed = adjust(np.append(rng.random(10), rng.random(10) ** 8), "bh") <= 0.05
    return float(claimed[:10].sum() / max(1, claimed.sum()))


@simulation("`compare`, all ordered pairs of 4 equal teams, any claim, Holm", runs=300)
def _(rng: Generator) -> float:
    return _any_claim(rng, "all-ordered")


@simulation("`compare`, the winner of 4 equal teams against the rest, any claim, Holm", runs=500, keeps=False)
def _(rng: Generator) -> float:
    return _any_claim(rng, "winner-vs-rest")


def _any_claim(rng: Generator, family: Any) -> float:
    scores = dict(zip("abcd", rng.normal(size=(4, 50)) + rng.normal(size=50), strict=True))
    return min(row.adjusted for row in compare(scores, family=family, **PLAIN).rows) <= 0.05


# Independent groups.


@simulation("`permutation_test`, ranks with ties, 10 against 10", runs=1000)
def _(rng: Generator) -> float:
    values = np.round(rng.normal(size=(2, 10)), 1)
    return permutation_test(values[0], values[1], decimals=1).p_value <= 0.05


@simulation("`permutation_test`, difference of means, 8 against 6", runs=500)
def _(rng: Generator) -> float:
    values = np.round(rng.normal(size=14), 3)
    return permutation_test(values[:8], values[8:], statistic="difference", decimals=3).p_value <= 0.05


@simulation("`shifted_mann_whitney`, worse by the margin, 30 against 30, exact", runs=400)
def _(rng: Generator) -> float:
    return _shifted(rng, 30, common=0.0)


@simulation("`shifted_mann_whitney`, worse by the margin, 100 against 100", runs=1000)
def _(rng: Generator) -> float:
    return _shifted(rng, 100, common=0.0)


@simulation("`shifted_mann_whitney`, the same, but 100 patients on both sides, correlation 0.5", runs=1000)
def _(rng: Generator) -> float:
    return _shifted(rng, 100, common=0.5)


@simulation("`shifted_mann_whitney`, the same, but 100 patients on both sides, correlation 0.9", runs=1000)
def _(rng: Generator) -> float:
    return _shifted(rng, 100, common=0.9)


def _shifted(rng: Generator, patients: int, *, common: float) -> float:
    own, patient = rng.normal(size=(2, patients)), rng.normal(size=patients)
    a, b = 5 * (math.sqrt(1 - common) * own + math.sqrt(common) * patient)
    return shifted_mann_whitney(a + 2.1, b, margin=2.1, better="lower", decimals=3).p <= 0.05


@simulation("`compare_panels`, a value of each of 6 readers against 6 others, two-sided", runs=500)
def _(rng: Generator) -> float:
    values = np.round(rng.normal(0.8, 0.05, size=12), 4)
    a, b = ({f"{arm}{k}": float(v) for k, v in enumerate(part)} for arm, part in (("a", values[:6]), ("b", values[6:])))
    return compare_panels(a, b).p_value <= 0.05


@simulation("`compare_panels`, two values of each of 8 readers, two-sided", runs=500)
def _(rng: Generator) -> float:
    skill, noise = rng.normal(0.8, 0.05, size=8), rng.normal(0, 0.03, size=(2, 8))
    a, b = ({f"r{k}": float(v) for k, v in enumerate(skill + part)} for part in noise)
    return compare_panels(a, b).p_value <= 0.05


@simulation("`non_inferiority`, worse by the margin, 12 cases", nominal=0.025, runs=2000)
def _(rng: Generator) -> float:
    sample = rng.normal(-0.05, 0.1, size=12)
    return non_inferiority(float(sample.mean()), float(sample.std(ddof=1)) / math.sqrt(12), 11, margin=0.05).accepted


# Detection: AUROC 0.85 is that of two normal distributions 1.4657 standard deviations apart.

_APART, _AREA = 1.4657, 0.85


def _patients(rng: Generator, positives: int, negatives: int) -> tuple[np.ndarray, np.ndarray]:
    truth = np.repeat([1, 0], [positives, negatives])
    return truth, _APART * truth + rng.normal(size=truth.size)


@simulation("`delong`, interval, 40 + 60 patients", kind="covers", nominal=0.95, runs=2000, keeps=False)
def _(rng: Generator) -> float:
    low, high = delong(*_patients(rng, 40, 60)).interval()
    return low <= _AREA <= high


@simulation("`delong`, logit interval, the same", kind="covers", nominal=0.95, runs=2000)
def _(rng: Generator) -> float:
    low, high = delong(*_patients(rng, 40, 60)).interval(scale="logit")
    return low <= _AREA <= high


@simulation("`bootstrap_ci`, AUROC, the same", kind="covers", nominal=0.95, runs=400, keeps=False)
def _(rng: Generator) -> float:
    found = bootstrap_ci(*_patients(rng, 40, 60), replicates=500, seed=int(rng.integers(1 << 30))).auroc
    return found.low <= _AREA <= found.high


def _candidates(rng: Generator, lesion: np.ndarray, cases: int) -> LesionRows:
    """Confidences in 80 % of lesions and of a false positive in every second case, on average."""
    wrong = np.repeat(np.arange(cases), rng.poisson(0.5, cases))
    hit = np.where(rng.random(lesion.size) < 0.8, _logistic(1 + rng.normal(size=lesion.size)), 0.0)
    is_lesion = np.repeat([1, 0], [lesion.size, wrong.size])
    return LesionRows(np.append(lesion, wrong), is_lesion, np.append(hit, _logistic(rng.normal(size=wrong.size))))


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _lesions(rng: Generator, truth: np.ndarray) -> np.ndarray:
    return np.repeat(np.flatnonzero(truth), rng.integers(1, 3, int(truth.sum())))


@cache
def _true_precision() -> float:
    rng = np.random.default_rng(0)
    rows = _candidates(rng, _lesions(rng, np.arange(200_000) % 5 < 2), 200_000)
    return average_precision(rows.is_lesion, rows.confidence)


@simulation("`bootstrap_ci`, average precision, 100 cases", kind="covers", nominal=0.95, runs=400, keeps=False)
def _(rng: Generator) -> float:
    truth, score = _patients(rng, 40, 60)
    rows = _candidates(rng, _lesions(rng, truth), 100)
    found = bootstrap_ci(truth, score, lesions=rows, replicates=500, seed=int(rng.integers(1 << 30)))
    assert found.average_precision is not None
    return found.average_precision.low <= _true_precision() <= found.average_precision.high


# Algorithms, readers and routine.


def _matched(rng: Generator, flavour: Any) -> float:
    truth = rng.random(200) < 0.4
    latent = 1.2 * truth + 0.6 * rng.normal(size=200) + 0.8 * rng.normal(size=(2, 200))
    seed = int(rng.integers(1 << 30))
    found = matched_bootstrap(truth, latent[0] > 0.7, latent[1:], replicates=400, flavour=flavour, seed=seed)
    return found.p_value < 0.05


@simulation("`matched_bootstrap`, 200 cases, one instance", runs=400)
def _(rng: Generator) -> float:
    return _matched(rng, "rematch")


@simulation("`matched_bootstrap`, the published flavour, the same", runs=400, keeps=False)
def _(rng: Generator) -> float:
    return _matched(rng, "published")


@simulation("`matched_lesion_bootstrap`, 150 cases, 3 instances", runs=250)
def _(rng: Generator) -> float:
    lesion = _lesions(rng, np.arange(150) % 5 < 2)
    routine, *instances = (_candidates(rng, lesion, 150) for _ in range(4))
    case, is_lesion, confidence = (np.asarray(column) for column in routine)
    kept = (is_lesion == 1) | (confidence > 0.5)
    called = LesionRows(case[kept], is_lesion[kept], (confidence > 0.5)[kept].astype(float))
    seed = int(rng.integers(1 << 30))
    return matched_lesion_bootstrap(called, instances, cases=150, replicates=400, seed=seed).p_value < 0.05


# Two sides of equal accuracy. Errors are independent, or half of their variance on a case is one and the same for all
# instances or readers of a side: what an algorithm, a school or a modality does with the case.

_STABLE = 0.55


def _sides(rng: Generator, cases: int, sizes: tuple[int, int], *, stable: bool) -> tuple[np.ndarray, np.ndarray]:
    """Truth, and what all instances or readers of both sides see in the cases."""
    rows = sum(sizes)
    truth = np.arange(cases) % 5 < 2
    latent = rng.normal(1.2, 0.15, size=(rows, 1)) * truth + 0.6 * rng.normal(size=cases)
    if not stable:
        return truth, latent + 0.8 * rng.normal(size=(rows, cases))
    of_side = np.repeat(_STABLE * rng.normal(size=(2, cases)), sizes, axis=0)
    return truth, latent + of_side + math.sqrt(0.64 - _STABLE**2) * rng.normal(size=(rows, cases))


def _instances(rng: Generator, cases: int, stable: bool) -> Any:
    truth, latent = _sides(rng, cases, (5, 5), stable=stable)
    return compare_instances(truth, latent[:5], latent[5:])


def _instances_by_score(rng: Generator, cases: int, stable: bool) -> Any:
    """Every case has a candidate, which is a lesion in positive cases; weights from 1 to 3."""
    truth, latent = _sides(rng, cases, (5, 5), stable=stable)
    rows = [LesionRows(np.arange(cases), truth, _logistic(row)) for row in latent]
    weight = 1.0 + np.arange(cases) % 3
    options: dict[str, Any] = {"measure": "score", "lesions_a": rows[:5], "lesions_b": rows[5:], "weight": weight}
    return compare_instances(truth, latent[:5], latent[5:], **options)


def _with_panel(rng: Generator, cases: int, stable: bool) -> Any:
    truth, latent = _sides(rng, cases, (12, 5), stable=stable)
    calls = (latent[:12] > rng.normal(0.6, 0.2, size=(12, 1))).astype(float)
    return compare_with_panel(truth, calls, latent[12:], replicates=200)


def _panels(rng: Generator, cases: int, stable: bool) -> Any:
    truth, latent = _sides(rng, cases, (6, 6), stable=stable)
    calls = (latent > rng.normal(0.6, 0.1, size=(12, 1))).astype(float)
    a, b = ({f"{arm}{k}": row for k, row in enumerate(rows)} for arm, rows in (("a", calls[:6]), ("b", calls[6:])))
    return compare_panels(a, b, truth, measure="specificity")


def _arms(rng: Generator, cases: int, stable: bool) -> Any:
    """The same readers in two modalities: what they are like, and where their threshold is, stays."""
    truth, latent = _sides(rng, cases, (6, 6), stable=stable)
    own = np.tile(rng.normal(0, 0.15, size=(6, 1)) * truth - rng.normal(0.6, 0.2, size=(6, 1)), (2, 1))
    calls = (latent + own > 0).astype(float)
    a, b = ({f"r{k}": row for k, row in enumerate(rows)} for rows in (calls[:6], calls[6:]))
    return compare_panels(a, b, truth, measure="sensitivity")


STUDIES: dict[str, tuple[Callable[[Generator, int, bool], Any], int]] = {
    "`compare_instances`, AUROC, 5 against 5": (_instances, 200),
    "`compare_instances`, mean of AUROC and AP with weights, 5 against 5": (_instances_by_score, 100),
    "`compare_with_panel`, 12 readers, 5 instances": (_with_panel, 100),
    "`compare_panels`, specificity of 6 readers against 6 others": (_panels, 200),
    "`compare_panels`, sensitivity of the same 6 readers in two arms": (_arms, 200),
}
NULLS = {False: "independent errors", True: "own errors"}


@cache
def _decided(name: str, cases: int, stable: bool, seed: tuple[Any, ...]) -> tuple[bool, bool, bool]:
    """Whether the test claims, whether the published one does, and whether the interval covers, by the seed."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed[0], spawn_key=seed[1])))
    found = STUDIES[name][0](rng, cases, stable)
    return found.p_value <= 0.05, found.published.p_value <= 0.05, found.low <= 0 <= found.high


def _register(name: str, cases: int, *, stable: bool) -> None:
    def decide(rng: Generator, which: int) -> float:
        sequence: Any = rng.bit_generator.seed_seq
        return float(_decided(name, cases, stable, (sequence.entropy, sequence.spawn_key))[which])

    runs = STUDIES[name][1]
    row = f"{name}, {cases} cases, {NULLS[stable]}"
    simulation(row, runs=runs, nominal=0.05)(lambda rng: decide(rng, 0))
    simulation(f"{row}: published", runs=runs, nominal=0.05, keeps=False)(lambda rng: decide(rng, 1))
    simulation(f"{row}: interval", runs=runs, kind="covers", nominal=0.95)(lambda rng: decide(rng, 2))


CASES: dict[str, tuple[int, ...]] = {
    "`compare_instances`, AUROC, 5 against 5": (100, 200, 400, 1000),
    "`compare_instances`, mean of AUROC and AP with weights, 5 against 5": (100, 200),
    "`compare_with_panel`, 12 readers, 5 instances": (100, 200, 400, 1000),
    "`compare_panels`, specificity of 6 readers against 6 others": (100, 200, 400, 1000),
    "`compare_panels`, sensitivity of the same 6 readers in two arms": (100, 200, 400, 1000),
}
TWO_WAY = [(name, cases, stable) for name in STUDIES for stable in NULLS for cases in CASES[name]]
for _name, _cases, _stable in TWO_WAY:
    _register(_name, _cases, stable=_stable)


# Reader studies after Roe and Metz: readers, with what they do in a modality, are right with an AUC of 0.85 on average.

_AREA_OF_AI = 0.852433  # the normal distribution at 1.4657 / 1.4: it does not vary as readers do


def _reads(rng: Generator, readers: dict[str, list[str]], *, blocks: int = 1) -> pl.DataFrame:
    """Reads of 60 normal and 40 diseased cases; of several readers, each reads one block. "ai" is always the same."""
    cases = 100
    truth = (np.arange(cases) % 5 < 2).astype(int)
    names = list(dict.fromkeys(name for listed in readers.values() for name in listed))
    case, skill = 0.5 * rng.normal(size=cases), 0.1 * rng.normal(size=(len(names), 2))
    frames = []
    for modality, listed in readers.items():
        shared = 0.3 * rng.normal(size=cases)
        for at, name in enumerate(listed):
            own = (skill[names.index(name)] + 0.1 * rng.normal(size=2)) * (name != "ai")
            score = _APART * truth + case + shared + own[truth] + 0.8 * rng.normal(size=cases)
            read = np.flatnonzero((np.arange(cases) // 5 % blocks == at % blocks) | (len(listed) == 1))
            columns = {"case_id": [f"c{k:03}" for k in read], "truth": truth[read], "score": score[read]}
            frames.append(pl.DataFrame(columns).with_columns(reader_id=pl.lit(name), modality_id=pl.lit(modality)))
    return pl.concat(frames)


def _no_difference(rng: Generator, method: Any) -> float:
    names = [f"r{k}" for k in range(5)]
    return analyse(_reads(rng, {"A": names, "B": names}), method=method).pairs["A", "B"].p <= 0.05


@simulation("`mrmc.analyse`, U-statistics, 5 readers × 100 cases × 2, two-sided", runs=200)
def _(rng: Generator) -> float:
    return _no_difference(rng, "ustat")


@simulation("`mrmc.analyse`, Obuchowski–Rockette, the same", runs=200)
def _(rng: Generator) -> float:
    return _no_difference(rng, "or")


@simulation(
    "`mrmc.analyse`, U-statistics, one AI against 8 readers in 2 blocks, interval",
    kind="covers",
    nominal=0.95,
    runs=200,
)
def _(rng: Generator) -> float:
    reads = _reads(rng, {"AI": ["ai"], "panel": [f"r{k}" for k in range(8)]}, blocks=2)
    pair = analyse(reads).pairs["AI", "panel"]
    return pair.low <= _AREA_OF_AI - _AREA <= pair.high


def printed() -> dict[str, tuple[float, int, float, float]]:
    """The rows of the page: nominal rate, runs, rate and standard error."""
    rows = re.findall(r"^\| (`.+?) \| ([\d.]+) \| ([\d ]+) \| ([\d.]+) \(([\d.]+)\) \|", PAGE.read_text(), re.MULTILINE)
    told = {
        name: (float(nominal), int(runs.replace(" ", "")), float(found), float(error))
        for name, nominal, runs, found, error in rows
    }
    # Rows of the two-way tests have the published test and the interval of the same studies beside them.
    beside = re.findall(
        r"^\| (`.+?) \| 0.05 \| ([\d ]+) \| [\d.]+ \([\d.]+\) \| ([\d.]+) \(([\d.]+)\) \| ([\d.]+) \(([\d.]+)\) \|",
        PAGE.read_text(),
        re.MULTILINE,
    )
    for name, runs, claims, its_error, covers, error in beside:
        studies = int(runs.replace(" ", ""))
        told[f"{name}: published"] = 0.05, studies, float(claims), float(its_error)
        told[f"{name}: interval"] = 0.95, studies, float(covers), float(error)
    return told


def test_the_page_has_exactly_these_simulations() -> None:
    assert {name: row[0] for name, row in printed().items()} == {name: s.nominal for name, s in SIMULATIONS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATIONS)
def test_what_the_page_prints_is_what_happens(name: str) -> None:
    simulated, (_, _, told, its_error) = SIMULATIONS[name], printed()[name]
    found, _ = rate(simulated.draw, simulated.runs, seed=1)
    error = math.sqrt(told * (1 - told) / simulated.runs)
    assert found == pytest.approx(told, abs=4 * math.hypot(error, its_error) + 1 / simulated.runs)


@pytest.mark.parametrize("name", [name for name, s in SIMULATIONS.items() if s.keeps])
def test_what_is_promised_is_kept(name: str) -> None:
    simulated, (nominal, _, told, error) = SIMULATIONS[name], printed()[name]
    excess = told - nominal if simulated.kind == "claims" else nominal - told
    assert excess <= 3 * error
