"""What the demo puts beside its score tables, so that each challenge is an edition with a report."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from isocenter.cli._terminal import Move

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge
    from isocenter.phantoms import CohortFiles

# Of challenges with several tasks or phases, the one that the synthetic patients are made for.
PHASES = {"doserad2026": "photon-ct", "picai2022": "testing"}

# How often the synthetic teams of OpenKBP submit to its validation phase; one of them too rarely for a curve.
_ATTEMPTS = {"Thun": 24, "Zug": 26, "Sempach": 23, "Walen": 22, "Biel": 8}


def write_edition(challenge: Challenge, cohort: CohortFiles, home: Path, *, seed: int, move: Move) -> None:
    """Write challenge.toml, submissions.csv and what else the chapter of the challenge reads."""
    from isocenter import editions

    editions.write(editions.new(challenge), home)
    phase = PHASES.get(challenge.name, editions.new(challenge).last_phase.name)
    rows = [
        {
            "team": team,
            "table": f"scores/{team}.parquet",
            "phase": phase,
            "time": "",
            "role": cohort.roles.get(team, "team"),
            "outputs": f"submissions/{path.name}",
        }
        for team, path in cohort.submissions.items()
    ]
    add = _ADDED.get(challenge.name)
    _write_submissions(home, [*(add(challenge, cohort, home, seed, move) if add else []), *rows])
    if challenge.name == "lung2019":
        _lung(challenge, cohort, home, seed)


def _write_submissions(home: Path, rows: Sequence[Mapping[str, str]]) -> None:
    from isocenter import atomic

    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    atomic.write_text(text.getvalue(), home / "submissions.csv")


def _hecktor(
    _challenge: Challenge, cohort: CohortFiles, home: Path, seed: int, _move: Move
) -> Sequence[Mapping[str, str]]:
    from isocenter import phantoms

    phantoms.write_hecktor_facts(home, cases=cohort.cases, seed=seed)
    return []


def _openkbp(
    challenge: Challenge, cohort: CohortFiles, home: Path, seed: int, move: Move
) -> Sequence[Mapping[str, str]]:
    """People, a survey, and a validation phase in which teams come on."""
    import tempfile

    from isocenter import editions, evaluation, phantoms, scores

    phantoms.write_openkbp_people(home, teams=list(cohort.submissions), seed=seed)
    phase = editions.phase_of(editions.load(home), "validation")
    rows, total = [], sum(_ATTEMPTS.values())
    with tempfile.TemporaryDirectory(prefix="isocenter-demo-") as scratch:
        reference, attempts = phantoms.write_openkbp_validation(scratch, counts=_ATTEMPTS, seed=seed)
        for done, attempt in enumerate(attempts, start=1):
            result = evaluation.evaluate(challenge, reference=reference, submission=attempt.folder)
            table = f"scores/validation/{attempt.team}-{attempt.number:02d}.parquet"
            scores.write(result.scores, home / table, record=result.record)
            # Teams take turns, so that the lead changes hands.
            share = (attempt.number - 0.5) / attempt.of
            time = phase.opens + timedelta(seconds=int(share * (phase.closes - phase.opens).total_seconds()))
            row = {"team": attempt.team, "table": table, "phase": phase.name, "time": time.isoformat()}
            rows.append({**row, "role": "team", "outputs": ""})
            move(done, total, f"{attempt.team}, submission {attempt.number}")
    return rows


def _picai(
    _challenge: Challenge, cohort: CohortFiles, home: Path, seed: int, _move: Move
) -> Sequence[Mapping[str, str]]:
    from isocenter import phantoms

    phantoms.write_picai_routine(home, cases=len(cohort.cases), seed=seed)
    return []


def _lung(challenge: Challenge, cohort: CohortFiles, home: Path, seed: int) -> None:
    """Earlier phases, facts, observers; the log of submissions is the contest's own, with whose work was built on."""
    from isocenter import editions, evaluation, phantoms, scores

    phases = {phase.name: (phase.opens, phase.closes) for phase in editions.load(home).phases}
    for earlier in phantoms.write_lung_contest(home, cohort, seed=seed, phases=phases):
        result = evaluation.evaluate(challenge, reference=cohort.reference, submission=earlier.outputs)
        scores.write(result.scores, earlier.table, record=result.record)


_ADDED: dict[str, Callable[[Challenge, CohortFiles, Path, int, Move], Sequence[Mapping[str, str]]]] = {
    "hecktor2020": _hecktor,
    "openkbp2020": _openkbp,
    "picai2022": _picai,
}
