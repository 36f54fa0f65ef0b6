"""Editions on disk that a report can be made of: small score tables, written as `isocenter score` writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from isocenter import editions, scores
from isocenter.evaluation import load_challenge

Values = Mapping[str, Sequence[float | None]]
MakeEdition = Callable[..., Path]


def write_scores(folder: Path, team: str, values: Sequence[float | None], *, metric: str = "dice") -> Path:
    """The table of a team with one number per case; None is a case without an output."""
    rows = []
    for number, value in enumerate(values, start=1):
        rows.append(scores.Row(f"CHUV{number:03d}", "", metric, value))
        if value is None:
            rows.append(scores.Row(f"CHUV{number:03d}", "", "missing", 1.0))
    path = folder / "scores" / f"{team}.parquet"
    record = {"challenge": "hecktor2020", "isocenter": "0", "reference": "r" * 64, "policies": {}}
    scores.write(scores.frame(rows), path, record=record)
    return path


def teams(count: int = 4, cases: int = 8, *, seed: int = 0) -> dict[str, list[float | None]]:
    """Teams of falling skill."""
    rng = np.random.default_rng(seed)
    return {
        f"team-{number}": np.clip(0.9 - 0.1 * number + rng.normal(0, 0.05, cases), 0, 1).round(4).tolist()
        for number in range(count)
    }


@pytest.fixture
def make_edition(tmp_path: Path) -> MakeEdition:
    """Writes an edition of HECKTOR 2020 with the given Dice of each team."""

    def make(values: Values | None = None, *, name: str = "edition", **files: str) -> Path:
        folder = tmp_path / name
        editions.write(editions.new(load_challenge("hecktor2020")), folder)
        for team, dice in (teams() if values is None else values).items():
            write_scores(folder, team, dice)
        for file, text in files.items():
            (folder / file.replace("_csv", ".csv")).write_text(text, encoding="utf-8")
        return folder

    return make
