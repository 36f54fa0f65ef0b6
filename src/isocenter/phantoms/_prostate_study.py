"""Exams of the prostate as files: their scans, and what an organiser hands over for a reader study."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from isocenter.atomic import write_text
from isocenter.phantoms._cohort import ask_for_room
from isocenter.phantoms._prostate import ProstateExam, prostate_exam
from isocenter.volumes import Volume, write

# Voxels are written as multiples of these, less than half of the noise: what is finer is noise, and costs space.
_STEPS = {"t2w": 10, "adc": 20, "hbv": 4, "dce": 8}
_PRACTICE = 1_000_000  # the patients from here on are in no cohort


def write_scans(exam: ProstateExam, folder: Path, *, prefix: str = "") -> None:
    """Write the four scans of an exam as `t2w.mha`, `adc.mha`, `hbv.mha` and `dce.mha`: int16, rounded, compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in exam.images().items():
        step = np.float32(_STEPS[name])
        rounded = (np.rint(image.array / step) * step).astype(np.int16)
        write(Volume(rounded, image.grid), folder / f"{prefix}{name}.mha")


def write_reading_study(folder: str | os.PathLike[str], *, cases: int = 20, practice: int = 2, seed: int = 0) -> Path:
    """Write what an organiser hands over for a reader study: the table of its cases, and the scans of each.

    ::

        folder/
          cases.csv            case,practice,positive,centre,age,psa,psad,volume
          PCA001/t2w.mha       and adc.mha, hbv.mha, dce.mha
          …
          practice-1/t2w.mha …

    Cases have the names, patients and lesions of `write_picai_cohort` with the same seed, so that its reference scores
    what is read here. Practice exams are of other patients; the first has a significant cancer, the second has not,
    and so on in turn.

    Facts are those of the exam, with the volume of the prostate (ml) and the PSA density, psa / volume (ng/ml²), of the
    two as they are written. `practice` and `positive`, an ISUP grade of 2 or more, are yes or no.

    Parameters
    ----------
    folder
        Made if need be; must be new or empty.
    cases, practice
        How many. Larger numbers add folders and lines and change none.

    Returns
    -------
    Path
        The table, which is written when all scans are.
    """
    if cases < 1 or practice < 0:
        msg = f"a reader study has at least one case and no fewer than 0 for practice, not {cases} and {practice}"
        raise ValueError(msg)
    folder = Path(folder)
    ask_for_room(folder)
    exams = ((f"PCA{number:03d}", prostate_exam(number, seed=seed)) for number in range(1, cases + 1))
    lines = ["case,practice,positive,centre,age,psa,psad,volume"]
    for name, exam in itertools.chain(exams, itertools.islice(_practice(seed), practice)):
        write_scans(exam, folder / name)
        lines.append(f"{name},{_yes(name.startswith('practice'))},{_yes(_positive(exam))},{_facts(exam)}")
    write_text("".join(f"{line}\n" for line in lines), folder / "cases.csv")
    return folder / "cases.csv"


def _practice(seed: int) -> Iterator[tuple[str, ProstateExam]]:
    """Exams to practise on, with and without significant cancer in turn."""
    patients = itertools.count(_PRACTICE)
    for number in itertools.count(1):
        exams = (prostate_exam(patient, seed=seed) for patient in patients)
        yield f"practice-{number}", next(exam for exam in exams if _positive(exam) == (number % 2 == 1))


def _positive(exam: ProstateExam) -> bool:
    return int(exam.facts["isup"]) >= 2


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _facts(exam: ProstateExam) -> str:
    psa, volume = exam.facts["psa"], f"{exam.gland_volume:.0f}"
    return f"{exam.facts['center']},{exam.facts['age']},{psa},{float(psa) / float(volume):.2f},{volume}"
