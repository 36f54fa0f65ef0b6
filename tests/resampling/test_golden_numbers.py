"""A seed gives the same numbers as before there was one engine: golden files made with the code of then."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "resampling"
# Where p now comes from scipy's `wilcoxon`, the same formula in another order of operations.
RELATIVE = {("pairs", " / signed_rank"): 1e-12, ("pairs", " / compare / wilcoxon"): 1e-12}
EXPECTED: dict[str, Any] = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def calculations() -> dict[str, Any]:
    return runpy.run_path(str(GOLDEN / "calculations.py"))["CALCULATIONS"]


def test_every_calculation_has_golden_numbers(calculations: dict[str, Any]) -> None:
    assert list(calculations) == list(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_number_is_the_same_to_the_bit(name: str, calculations: dict[str, Any]) -> None:
    found = json.loads(json.dumps(calculations[name](), allow_nan=False))
    values = dict(leaves(found))
    golden = dict(leaves(EXPECTED[name]))
    assert [path for path in values if path in golden] == list(golden)  # results may have learnt to say more
    tolerances = [(place, tolerance) for (of, place), tolerance in RELATIVE.items() if of == name]
    for path, expected in golden.items():
        value = values[path]
        within = [tolerance for place, tolerance in tolerances if path.startswith(place)]
        if within and isinstance(expected, float):
            assert value == pytest.approx(expected, rel=within[0], abs=0), path
        else:
            assert value == expected, path


def leaves(record: Any, path: str = "") -> Any:
    """Every number and word with where it stands, so that a difference names its place."""
    if isinstance(record, dict):
        for name, value in record.items():
            yield from leaves(value, f"{path} / {name}")
    elif isinstance(record, list):
        for number, value in enumerate(record):
            yield from leaves(value, f"{path}[{number}]")
    else:
        yield path, record
