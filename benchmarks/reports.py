"""The report of a large challenge: 50 teams, 1000 cases, 10 metrics with a board each.

The one program that writes a report from such tables, challengeR, needs R and LaTeX and is not run here.
The demand is two minutes on two cores, and a page below 10 MB.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from isocenter import editions, scores
from isocenter.evaluation import load_challenge
from isocenter.papers import Entry, Folder, Settings, Study, make_report, write_report
from isocenter.ranking import FixedValue, MeanThenRank

TEAMS, CASES = 50, 1000
METRICS = ("dice", "jaccard", "precision", "recall", "s_score", "volume_similarity")
ERRORS = ("dose_error", "dose_squared_error", "dvh_error", "dvh_squared_error")


def edition(folder: Path, *, teams: int = TEAMS, cases: int = CASES) -> Folder:
    """Score tables of teams of graded skill, under a challenge that ranks each of ten metrics."""
    rng = np.random.default_rng(0)
    challenge = load_challenge("hecktor2020")
    boards = {name: MeanThenRank(name, missing=FixedValue(0.0)) for name in METRICS}
    boards |= {name: MeanThenRank(name, missing=FixedValue(20.0)) for name in ERRORS}
    many = replace(challenge, name="many", metrics=(*METRICS, *ERRORS), boards=boards)
    path = editions.write(editions.new(challenge), folder).parent
    hard = rng.normal(0.0, 0.1, cases)
    centre = [f"c{n:04d},{'ABCDE'[n % 5]},{rng.integers(30, 90)}" for n in range(cases)]
    (path / "cases.csv").write_text("\n".join(["case,centre,age", *centre]), encoding="utf-8")
    entries = []
    for team in range(teams):
        rows = []
        for metric in (*METRICS, *ERRORS):
            values = np.clip(0.85 - 0.006 * team + hard + rng.normal(0, 0.08, cases), 0.0, 1.0)
            values = 10 * (1 - values) if metric in ERRORS else values
            rows += [scores.Row(f"c{n:04d}", "", metric, float(value)) for n, value in enumerate(values)]
        table = path / "scores" / f"team {team:02d}.parquet"
        scores.write(scores.frame(rows), table, record={"challenge": "many", "reference": "0"})
        entries.append(Entry(team=f"team {team:02d}", table=table, file=table.name, phase="test"))
    return Folder(path, editions.load(path), many, "test", tuple(entries))


def run(home: Path) -> None:
    """Print how long it takes, and how large the files are."""
    found = edition(home / "edition")
    began, cpu = time.perf_counter(), time.process_time()
    made = make_report(Study(found, Settings()), command="isocenter report")
    wrote = time.perf_counter()
    write_report(made, home / "report")
    wall, spent = time.perf_counter() - began, time.process_time() - cpu
    sizes = {path.suffix: path.stat().st_size / 1e6 for path in (home / "report").glob("report.*")}
    print(f"Report of {TEAMS} teams × {CASES} cases × {len(METRICS) + len(ERRORS)} metrics, no peer:")
    print(f"  {wall:.1f} s wall, {spent:.1f} s CPU (sections {wrote - began:.1f} s); ", end="")
    print(", ".join(f"{suffix[1:]} {size:.1f} MB" for suffix, size in sorted(sizes.items())))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))
