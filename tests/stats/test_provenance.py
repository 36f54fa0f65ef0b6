"""Every result of the package reads as sentences, goes into JSON, and says how and by what it was found.

The classes are found by what the functions of the package return, not listed: a new one needs a line in `EXAMPLES`.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, get_args, get_type_hints

import numpy as np
import polars as pl
import pytest

from isocenter import __version__, stats
from isocenter.detections import Detections
from isocenter.scores import Row, frame
from isocenter.stats import mrmc
from isocenter.stats._provenance import record, versions

# What is asked for, and what is drawn: no findings.
NO_RESULTS = {"Design", "Curve"}

RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1], 20)
SCORES = TRUTH + RNG.normal(size=(3, 40))
PAIRED: dict[str, Any] = {"a": [0.81, 0.77, 0.90, 0.85], "b": [0.80, 0.75, 0.92, 0.85], "better": "higher"}
COMPONENTS = stats.VarianceComponents(n=0.0120, d=0.0144, r=0.00338, dr=0.0190)
PILOT = stats.ObuchowskiRockette(2.0e-4, 8.0e-4, 3.5e-4, 3.4e-4, 2.4e-4, cases=114)
DESIGN = stats.Design(8, 60, 40)


def classes_in(hint: Any) -> Iterator[type]:
    """The classes of the package that a return type speaks of, also in lists and dictionaries."""
    if inspect.isclass(hint) and hint.__module__.startswith("isocenter.stats"):
        yield hint
    for inner in get_args(hint):
        yield from classes_in(inner)


def results(*modules: ModuleType) -> dict[str, type]:
    functions = {getattr(module, name) for module in modules for name in module.__all__}
    hints = [get_type_hints(function)["return"] for function in functions if inspect.isfunction(function)]
    found = {of.__name__: of for hint in hints for of in classes_in(hint)}
    return {name: found[name] for name in sorted(found.keys() - NO_RESULTS)}


RESULTS = results(stats, mrmc)


def detections() -> Detections:
    return Detections(
        cases=("p1", "p2", "p3", "p4"),
        weight=np.ones(4),
        truth=np.array([0, 0, 1, 1], dtype=bool),
        likelihood=np.array([0.1, 0.4, 0.3, 0.9]),
        case=np.array([2, 3, 1]),
        is_lesion=np.array([1, 1, 0], dtype=bool),
        confidence=np.array([0.3, 0.9, 0.4], dtype=np.float32),
        iou=np.array([0.3, 0.8, 0.0]),
        grade=np.array([2.0, 3.0, math.nan]),
    )


def reads() -> pl.DataFrame:
    rows = [
        (reader, modality, f"c{case}", int(TRUTH[case]), float(SCORES[number, case] + 0.2 * number))
        for number, (reader, modality) in enumerate([("r1", "CT"), ("r2", "CT"), ("r1", "MR")])
        for case in range(40)
    ]
    rows += [("r2", "MR", f"c{case}", int(TRUTH[case]), float(TRUTH[case] + math.sin(case))) for case in range(40)]
    return pl.DataFrame(rows, schema=["reader_id", "modality_id", "case_id", "truth", "score"], orient="row")


def with_algorithm() -> pl.DataFrame:
    """The reads of CT, and an algorithm as another modality with a reader of its own."""
    own = [("net", "AI", f"c{case}", int(TRUTH[case]), float(SCORES[2, case])) for case in range(40)]
    humans = reads().filter(modality_id="CT")
    return pl.concat([humans, pl.DataFrame(own, schema=humans.schema, orient="row")])


EXAMPLES: dict[str, Callable[[], list[Any]]] = {
    "AgainstPanel": lambda: [
        stats.ai_against_panel(with_algorithm(), ai="AI", panel="CT"),
        stats.ai_against_panel(with_algorithm(), ai="AI", panel="CT", points=[0.5], bootstrap=20, seed=3),
    ],
    "Analysis": lambda: [mrmc.analyse(reads()), mrmc.analyse(reads(), method="or")],
    "BetweenObservers": lambda: [
        *stats.between_observers(frame([Row("p1", "A|B", "dice", 0.8), Row("p2", "A|B", "dice", 0.7)])).values(),
        *stats.between_observers(frame([Row("p1", "A|B", "dice", 0.8)])).values(),
    ],
    "Bootstrap": lambda: [
        stats.bootstrap_ci(TRUTH, SCORES[0], replicates=50, seed=3),
        stats.bootstrap_ci(
            TRUTH, SCORES[0], lesions=stats.LesionRows([20, 3], [1, 0], [0.7, 0.2]), replicates=50, seed=3
        ),
    ],
    "BootstrapCheck": lambda: [mrmc.bootstrap_check(reads(), replicates=20, seed=3)],
    "ClusteredSignedRank": lambda: [stats.clustered_signed_rank(**PAIRED, cluster=[1, 1, 2, 2], decimals=2)],
    "Comparisons": lambda: [
        stats.compare({name: PAIRED[name] for name in "ab"}, better="higher", decimals=2, test=test, winner="a")
        for test in ("wilcoxon", "t", "sign-flip")
    ],
    "DeLong": lambda: [stats.delong(TRUTH, SCORES[0]), stats.delong([0, 1, 1], [1, 2, 3]), stats.delong([1], [1])],
    "DetectionIntervals": lambda: [
        stats.detection_intervals([detections()] * instances, replicates=50, seed=3) for instances in (1, 2)
    ],
    "DetectionSummary": lambda: (
        [stats.summarise_detections([detections()], replicates=replicates, seed=3) for replicates in (0, 50)]
        + [stats.summarise_detections([detections().among(["p3", "p4"])])]
    ),
    "HillisPower": lambda: [
        stats.hillis_power(PILOT, readers=10, cases=200, effect=0.05, to=to)
        for to in ("readers and cases", "cases", "readers")
    ],
    "Agreement": lambda: [
        stats.cohen_kappa([1, 2, 3, 3], [1, 2, 2, 3]),
        stats.fleiss_kappa([[1, 1], [2, 1], [3, 3]], replicates=50, seed=3),
        stats.intraclass_correlation([[1, 2], [2, 3], [5, 5]]),
    ],
    "InstanceComparison": lambda: [
        stats.compare_instances(TRUTH, SCORES, SCORES[::-1] - TRUTH),
        stats.compare_instances(TRUTH, SCORES, SCORES[::-1] - TRUTH, replicates=50, seed=3, method="published"),
    ],
    "MatchedBootstrap": lambda: [stats.matched_bootstrap(TRUTH, SCORES[0] > 0.5, SCORES[1:], replicates=50, seed=3)],
    "MatchedPoint": lambda: [stats.match_operating_point(TRUTH, SCORES[0], target) for target in (0.0, 0.5)],
    "MeanAndError": lambda: [stats.mean_and_error(values) for values in ([0.5, 0.7], [0.5], [])],
    "NonInferiority": lambda: [
        stats.non_inferiority(0.01, 0.02, 30, margin=0.05),
        stats.non_inferiority(0.01, 0.02, preset="picai"),
    ],
    "PairedT": lambda: [
        stats.paired_t(**PAIRED, decimals=2, alternative="two-sided"),
        stats.paired_t([1.0], [2.0], better="lower", decimals=None),
        stats.paired_t([1.0, 2.0], [2.0, 3.0], better="lower", decimals=1),
    ],
    "PanelComparison": lambda: [
        stats.compare_with_panel(TRUTH, (SCORES > 0.5)[:2], SCORES, method=method)
        for method in ("two-way", "published")
    ],
    "PanelsComparison": lambda: [
        stats.compare_panels({"r1": 0.81, "r2": 0.77}, {"r1": 0.80, "r2": 0.75}),
        stats.compare_panels({"r1": 0.81, "r2": 0.77}, {"r3": 0.80, "r4": 0.75}),
    ],
    "PermutationTest": lambda: [stats.permutation_test([0.9, 0.8, 0.7], [0.6, 0.75])],
    "Power": lambda: [
        stats.power(COMPONENTS, DESIGN, effect=0.05),
        stats.power(COMPONENTS, DESIGN, margin=0.05, biased=COMPONENTS),
    ],
    "PowerGrid": lambda: [stats.power_grid(COMPONENTS, [DESIGN], effect=0.05)],
    "ReaderPanels": lambda: [stats.compare_readers(reads(), points=[0.5])],
    "ShiftedMannWhitney": lambda: [
        stats.shifted_mann_whitney([26.1, 27.3], [25.3, 26.0], margin=2.1, better="lower", decimals=1)
    ],
    "SignFlip": lambda: [stats.sign_flip(**PAIRED, decimals=2, exact=exact, seed=3) for exact in (True, False)],
    "SignedRank": lambda: [
        stats.signed_rank(**PAIRED, decimals=2),
        stats.signed_rank([1.0], [1.0], better="higher", decimals=0),
    ],
    "SimulatedPower": lambda: [stats.simulated_power(COMPONENTS, DESIGN, effect=0.05, replicates=20, seed=3)],
}


def test_what_functions_return_is_found() -> None:
    assert {"Analysis", "BetweenObservers", "MatchedBootstrap", "SignedRank", "PowerGrid"} <= RESULTS.keys()


def test_every_result_is_exported_and_has_an_example_here() -> None:
    assert RESULTS.keys() - {*stats.__all__, *mrmc.__all__} == set()
    assert RESULTS.keys() - EXAMPLES.keys() == set()


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_reads_as_sentences(name: str) -> None:
    for found in EXAMPLES[name]():
        assert type(found) is RESULTS[name]
        said = str(found).split("\n\n")[0]  # a table may follow
        assert said.endswith("."), said
        assert " " in said
        assert said != repr(found)
        assert not re.search(r"\b(nan|inf)\b", said), said


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_goes_into_json_with_its_method_and_versions(name: str) -> None:
    for found in EXAMPLES[name]():
        told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert told["method"]
        assert told["versions"] == versions()
        own = getattr(found, "_fields", None) or vars(type(found)).get("__dataclass_fields__", {})
        hidden = {"samples"}
        assert set(own) - hidden <= told.keys()


@pytest.mark.parametrize("name", RESULTS)
def test_what_has_degrees_of_freedom_says_where_from(name: str) -> None:
    for found in EXAMPLES[name]():
        if hasattr(found, "df"):
            assert found.to_dict()["df_rule"]


@pytest.mark.parametrize("name", RESULTS)
def test_what_was_drawn_says_its_seed(name: str) -> None:
    for found in EXAMPLES[name]():
        if getattr(found, "seed", None) is not None:
            assert found.to_dict()["seed"] == found.seed
            assert f"seed {found.seed}" in str(found)


def test_versions_are_those_of_this_package_and_of_what_it_computes_with() -> None:
    import scipy

    assert versions().items() >= {"isocenter": __version__, "numpy": np.__version__, "scipy": scipy.__version__}.items()


def test_a_record_has_nothing_that_json_has_not() -> None:
    found = {"interval": stats.Interval(0.5, -math.inf, math.nan), "at": {0.125: (1, 2.0)}, "flag": True}
    told = record(found, method="m")
    assert told.pop("versions") == versions()
    assert told == {
        "interval": {"value": 0.5, "low": None, "high": None},
        "at": {"0.125": [1, 2.0]},
        "flag": True,
        "method": "m",
    }


def test_sentences_name_the_test_its_side_and_the_number() -> None:
    assert str(stats.signed_rank([0.81, 0.77, 0.90], [0.80, 0.75, 0.87], better="higher", decimals=3)) == (
        "Wilcoxon signed-rank test of 3 pairs (0 more without a difference), one-sided (a better than b): W⁺ = 6, "
        "p = 0.125 (exact)."
    )
    assert str(stats.paired_t([0.81, 0.77, 0.90], [0.80, 0.75, 0.87], better="higher", decimals=3, level=0.9)) == (
        "Mean of a − b +0.02 (90 % CI 0.003141 to 0.03686); paired t test, one-sided (a better than b): t = 3.464 on 2 "
        "degrees of freedom, p = 0.0371."
    )
    assert str(stats.sign_flip([3, 1], [1, 2], better="lower", decimals=0, exact=False, replicates=9, seed=1)) == (
        "Mean of a − b +0.5; sign-flip permutation test of 2 signs (9 drawn flips, seed 1), one-sided (a better than "
        "b): p = 0.9."
    )
    assert str(stats.delong([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6])) == (
        "AUROC 0.8889 (95 % CI 0.5809 to 1.0000; standard error 0.1571 by DeLong's method)."
    )
    assert str(stats.mean_and_error([0.5, 0.7, 0.9, 0.7])) == "Mean 0.7 with a standard error of 0.082."


def test_only_what_was_drawn_has_a_seed() -> None:
    scores = {"a": list(range(60)), "b": [0.0] * 60}
    exact, drawn = (
        stats.compare(scores, better="higher", decimals=decimals, test="sign-flip", winner="a", replicates=99, seed=4)
        for decimals in (0, None)
    )
    assert (exact.seed, drawn.seed) == (None, 4)
    assert stats.compare(scores, better="higher", decimals=0, winner="a", seed=4).seed is None
    alone = [stats.sign_flip(scores["a"], scores["b"], better="higher", decimals=d, seed=4).seed for d in (0, None)]
    assert alone == [None, 4]
