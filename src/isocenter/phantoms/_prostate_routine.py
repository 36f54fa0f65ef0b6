"""Synthetic clinical routine: the one PI-RADS that the report of every exam of a cohort gave."""

from __future__ import annotations

import os
from pathlib import Path

from isocenter.atomic import write_text
from isocenter.phantoms._prostate import prostate_exam
from isocenter.phantoms._prostate_readers import ExamReader, read_exam

ROUTINE_READERS: tuple[ExamReader, ...] = (
    ExamReader(name="Routine 1", expert=True, error=1.0, threshold=-0.9, false_alarms=0.04),
    ExamReader(name="Routine 2", expert=True, error=1.2, threshold=-0.7, false_alarms=0.04),
    ExamReader(name="Routine 3", expert=False, error=1.6, threshold=-0.6, false_alarms=0.08),
)
"""Who reports in turn; more cautious than the `READERS` of a study."""

_DOUBTFUL = 10  # the score from which on an exam without a mark is PI-RADS 2 rather than 1


def write_picai_routine(folder: str | os.PathLike[str], *, cases: int = 40, seed: int = 0) -> Path:
    """Write `routine.csv` (case,pirads,reader) beside the cohort that `write_picai_cohort` makes of the same arguments.

    The PI-RADS is that of the highest mark, and 1 or 2 without a mark. A larger number of cases adds lines and changes
    none. Raises `FileExistsError` if there is such a file.
    """
    path = Path(folder, "routine.csv")
    if path.exists():
        msg = f"{path} is already there; synthetic reports are written into a new file, so that nothing old is lost"
        raise FileExistsError(msg)
    lines = ["case,pirads,reader"]
    for number in range(1, cases + 1):
        reader = ROUTINE_READERS[(number - 1) % len(ROUTINE_READERS)]
        reading = read_exam(prostate_exam(number, seed=seed), reader, number=number, seed=seed)
        pirads = max((mark.pirads for mark in reading.marks), default=1 + (reading.score >= _DOUBTFUL))
        lines.append(f"PCA{number:03d},{pirads:g},{reader.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text("".join(f"{line}\n" for line in lines), path)
    return path
