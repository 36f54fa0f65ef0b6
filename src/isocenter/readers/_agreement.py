"""How far the readers of a modality give the same PI-RADS to the same patients."""

from __future__ import annotations

import numpy as np

from isocenter.readers._reads import OPERATING_POINTS
from isocenter.readers._results import ReaderScores
from isocenter.stats import Agreement, cohen_kappa, fleiss_kappa, intraclass_correlation
from isocenter.stats._differences import Floats


def agree_on_pirads(scores: ReaderScores, *, level: float = 0.95, seed: int = 0) -> dict[str, tuple[Agreement, ...]]:
    """By modality: kappa of categories, and the ICC of PI-RADS as a number.

    Two readers have Cohen's kappa, plain and weighted; more have Fleiss'. A patient has the highest PI-RADS of the
    reader's marks, or that of the read; up to 2 all are one category, as nothing below 3 is marked. What cannot be
    measured is left out, such as an ICC in a split-plot in which no case was read by all.
    """
    found: dict[str, tuple[Agreement, ...]] = {}
    for modality in sorted({one.read.modality for one in scores.reads}):
        table = _ratings(scores, modality)
        found[modality] = () if table.shape[1] < 2 else tuple(_measured(table, level, seed))
    return found


def _ratings(scores: ReaderScores, modality: str) -> Floats:
    """Cases × readers; NaN where a case was not read."""
    reads = [one.read for one in scores.reads if one.read.modality == modality]
    cases, readers = (sorted({getattr(read, name) for read in reads}) for name in ("case", "reader"))
    table = np.full((len(cases), len(readers)), np.nan)
    lowest = min(OPERATING_POINTS) - 1
    for read in reads:
        rating = lowest + sum(read.calls(point) for point in OPERATING_POINTS)
        table[cases.index(read.case), readers.index(read.reader)] = rating
    return table


def _measured(table: Floats, level: float, seed: int) -> list[Agreement]:
    found = []
    read = ~np.isnan(table)
    if table.shape[1] == 2 and read.all(axis=1).any():
        found += [
            cohen_kappa(table[:, 0], table[:, 1], level=level),
            cohen_kappa(table[:, 0], table[:, 1], weights="linear", level=level),
            cohen_kappa(table[:, 0], table[:, 1], weights="quadratic", level=level),
        ]
    elif (read.sum(axis=1) > 1).any():
        found.append(fleiss_kappa(table, level=level, seed=seed))
    if np.count_nonzero(read.all(axis=1)) > 1:
        found.append(intraclass_correlation(table, model="ICC(A,1)", level=level))
        found.append(intraclass_correlation(table, model="ICC(C,1)", level=level))
    return found
