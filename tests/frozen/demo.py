"""The demo: its boards, score tables and reports, made from nothing."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from tests.frozen.tools import Items, run

CHALLENGES = ("hecktor2020", "lung2019", "openkbp2020", "doserad2026", "picai2022")
CASES, SEED = 3, 5


def make_demo(folder: Path) -> Path:
    """Run `isocenter demo`, unless it was run in this folder before."""
    home = folder / "demo"
    if not (home / "index.html").exists():
        shutil.rmtree(home, ignore_errors=True)
        answer = run("demo", home, "--cases", CASES, "--seed", SEED)
        assert answer["exit"] == 0, answer
    return home


def make(folder: Path) -> Items:
    """Boards, tables and reports of the five editions."""
    home, items = make_demo(folder), {}
    for challenge in CHALLENGES:
        place = home / challenge
        for path in sorted(place.glob("board*.json")):
            items[f"demo/{challenge}-{path.stem}.json"] = json.loads(path.read_text("utf-8"))
        items[f"demo/{challenge}-scores.json.gz"] = {
            path.relative_to(place / "scores").as_posix(): _rows(path)
            for path in sorted((place / "scores").rglob("*.parquet"))
        }
        items[f"demo/{challenge}-report.json.gz"] = _report(place / "report")
    return items


def _rows(path: Path) -> list[list[Any]]:
    """A score table, sorted."""
    import polars as pl

    table = pl.read_parquet(path).select("case", "part", "metric", "value", "weight")
    return [list(row) for row in sorted(table.iter_rows(), key=lambda row: row[:3])]


def _report(folder: Path) -> dict[str, Any]:
    """The words and numbers of a report by section; no pictures."""
    report = json.loads(re.sub(r"isocenter \d+\.\d+\.\d+", "isocenter", (folder / "report.json").read_text("utf-8")))
    heads = {name: report[name] for name in ("title", "subtitle")}
    return {"heads": heads} | {section["name"]: section for section in report["sections"]}
