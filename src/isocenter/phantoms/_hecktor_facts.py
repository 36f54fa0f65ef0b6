"""Facts of the synthetic patients of HECKTOR: where they were scanned, age and sex."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from isocenter.atomic import write_text

_STREAM = zlib.crc32(b"hecktor facts")
_CENTRES = {"North": 0.5, "Lake": 0.3, "Valley": 0.2}


def write_hecktor_facts(folder: str | os.PathLike[str], *, cases: Sequence[str], seed: int = 0) -> Path:
    """Write `cases.csv` with a centre, a sex and an age of every case into the folder of an edition.

    Nothing about a patient's masks depends on them: whatever differs between groups does so by chance.
    """
    rng = np.random.default_rng([seed, _STREAM])
    lines = ["case,centre,sex,age"]
    for case in cases:
        centre = rng.choice(list(_CENTRES), p=list(_CENTRES.values()))
        sex = "male" if rng.random() < 0.75 else "female"
        lines.append(f"{case},{centre},{sex},{int(np.clip(rng.normal(63, 9), 35, 90))}")
    path = Path(folder, "cases.csv")
    write_text("\n".join(lines) + "\n", path)
    return path
