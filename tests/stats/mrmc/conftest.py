from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from isocenter.stats.mrmc import read_csv

GOLDEN = Path(__file__).parents[2] / "golden" / "mrmc"

Study = Callable[[str], pl.DataFrame]
Expected = Callable[[str], dict[str, Any]]
Make = Callable[[dict[tuple[str, str], list[float | None]], str], pl.DataFrame]


@cache
def _study(name: str) -> pl.DataFrame:
    return read_csv(GOLDEN / name / "data.csv")


@cache
def _expected(name: str) -> dict[str, Any]:
    return json.loads((GOLDEN / name / "expected.json").read_text())


@pytest.fixture(scope="session")
def study() -> Study:
    """Reads of a golden study, by name."""
    return _study


@pytest.fixture(scope="session")
def expected() -> Expected:
    """What the software of the field says of it."""
    return _expected


@pytest.fixture(scope="session")
def golden() -> Path:
    return GOLDEN


@pytest.fixture(scope="session")
def make() -> Make:
    """Reads from the scores of (reader, modality), one per case, and the truths of the cases as a text of 0 and 1."""

    def made(scores: dict[tuple[str, str], list[float | None]], truth: str) -> pl.DataFrame:
        rows = [
            (reader, modality, f"c{n:02}", int(t), score)
            for (reader, modality), given in scores.items()
            for n, (t, score) in enumerate(zip(truth, given, strict=True))
            if score is not None
        ]
        return pl.DataFrame(rows, schema=["reader_id", "modality_id", "case_id", "truth", "score"], orient="row")

    return made
