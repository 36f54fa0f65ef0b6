"""The section that every report ends with: how its numbers were made, and how to make them again."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from isocenter import scores
from isocenter.papers._entries import Entry
from isocenter.papers._listed import competitor, shown
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.report import Code, Paragraph, Section

_PACKAGES = ("isocenter", "numpy", "scipy", "polars", "numba", "SimpleITK")


def methods(study: Study, *, command: str, tested: bool) -> Section:
    """A paragraph that a paper could carry, from what was in fact done.

    Parameters
    ----------
    tested
        Whether the report has tests of pairs.
    """
    main, settings = study.main, study.settings
    teams, cases = len(main.ranked), main.board.rows[0].cases if main.board.rows else 0
    text = (
        f"{counted(teams, competitor(study))} {'was' if teams == 1 else 'were'} ranked on {counted(cases, 'case')} "
        f"with isocenter {version('isocenter')}. Ranking: {main.rule}."
    )
    if any(decided.uncertainty for decided in study.boards.values()):
        text += (
            f" Uncertainty: {settings.replicates:,} bootstrap resamples of the cases (seed "
            f"{settings.seed}), the same draws for all teams; {100 * settings.level:g} % percentile intervals of "
            "scores, and sets that hold the ranks of all teams at once with that confidence."
        )
    if tested:
        text += (
            " Pairs of teams were compared by Wilcoxon signed-rank tests over cases, adjusted by Holm's method. The "
            "winner was chosen on the same scores that these tests use, so a test of the winner against the rest "
            "rejects too often."
        )
    again = "The report can be made again, byte for byte, from the same folder by:"
    return Section("methods", "Methods", (Paragraph(text), Paragraph(again), Code(command)))


def record(study: Study, *, command: str) -> dict[str, Any]:
    """Versions, seeds and hashes; of teams that may be shown only."""
    folder = study.folder
    of = scores.read_record(folder.of_phase()[0].table)
    hashes = {"challenge.toml": _sha256(folder.path / "challenge.toml")}
    # submissions.csv names everybody, and so would a hash of it be a way to look for names that are not shown.
    hashes |= {p.name: _sha256(p) for p in sorted(folder.path.glob("*.csv")) if not p.name.startswith(_NAMING)}
    listed = [e for e in folder.of_phase() if e in shown(study, folder.phase) or e.team in study.main.teams]
    hashes |= {f"scores of {entry.team}{_numbered(entry, listed)}": _sha256(entry.table) for entry in listed}
    for phase in folder.edition.phases:
        tables = [entry.table for entry in shown(study, phase.name) if phase.name != folder.phase]
        if tables:
            together = hashlib.sha256("".join(map(_sha256, tables)).encode()).hexdigest()
            hashes[f"{counted(len(tables), 'score table')} of {phase.name}"] = together
    return {
        "command": command,
        "challenge": study.challenge.name,
        "phase": study.folder.phase,
        "reference": of.get("reference", ""),
        "seed": study.settings.seed,
        "replicates": study.settings.replicates,
        "level": study.settings.level,
        "versions": {"Python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "SHA-256": hashes,
    }


_NAMING = ("submissions", "participants", "survey", "run_times")


def _numbered(entry: Entry, entries: list[Entry]) -> str:
    """Which of several submissions of its team this is, in the order of the list."""
    mine = [one for one in entries if one.team == entry.team]
    return f" #{mine.index(entry) + 1}" if len(mine) > 1 else ""


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
