"""Bootstrap resamples of the readers and cases of a study, and the mean AUCs of its modalities in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isocenter.resampling.blocks import Progress, replicate_statistics
from isocenter.resampling.counts import draw_multinomial
from isocenter.stats.mrmc._design import Design, Floats


def replicate_means(
    design: Design, drawn: Sequence[str], *, replicates: int, seed: int, progress: Progress | None
) -> tuple[Floats, int]:
    """Means of all modalities, replicates × modalities, and how many resamples left a reader without a class."""
    cases = design.positive.size
    curves, groups = [_Ordered.of(design, k) for k in range(len(design.reader))], _groups(design, drawn)

    def measure(rng: np.random.Generator, out: Floats) -> int:
        counts = draw_multinomial(rng, cases, len(out))
        means = _means(design, curves, counts * design.weight, _counted(rng, groups, len(design.reader), len(out)))
        means = means[~np.isnan(means).any(axis=1)]
        out[: len(means)] = means
        return len(means)

    return replicate_statistics(
        measure,
        columns=len(design.modalities),
        units=cases,
        replicates=replicates,
        seed=seed,
        progress=progress,
        defined="left every reader with both classes",
    )


def _groups(design: Design, drawn: Sequence[str]) -> list[list[list[int]]]:
    """Readers who are drawn among each other: those of the same modalities, each with their columns there."""
    of_reader: dict[str, list[int]] = {}
    for k, (reader, modality) in enumerate(zip(design.reader, design.modality, strict=True)):
        if modality in drawn:
            of_reader.setdefault(reader, []).append(k)
    groups: dict[tuple[str, ...], list[list[int]]] = {}
    for columns in of_reader.values():
        groups.setdefault(tuple(design.modality[k] for k in columns), []).append(columns)
    return list(groups.values())


def _counted(rng: np.random.Generator, groups: list[list[list[int]]], columns: int, draws: int) -> NDArray[np.int64]:
    """Draws × columns: how often each reader counts; 1 for those who are not drawn."""
    often = np.ones((draws, columns), dtype=np.int64)
    for group in groups:
        counts = draw_multinomial(rng, len(group), draws)
        for n, of_reader in enumerate(group):
            often[:, of_reader] = counts[:, n, None]
    return often


class _Ordered(NamedTuple):
    """The reads of a column from the lowest score up.

    Attributes
    ----------
    case, positive
        Of each read.
    before, until
        Of each diseased one, how many reads have a lower score, and how many one that is not higher.
    """

    case: NDArray[np.int64]
    positive: NDArray[np.bool_]
    before: NDArray[np.int64]
    until: NDArray[np.int64]

    @classmethod
    def of(cls, design: Design, column: int) -> _Ordered:
        read = np.flatnonzero(design.read[column])
        case = read[np.argsort(design.score[column, read], kind="stable")]
        scores, positive = design.score[column, case], design.positive[case]
        before = np.searchsorted(scores, scores[positive], side="left")
        return cls(case, positive, before, np.searchsorted(scores, scores[positive], side="right"))

    def areas(self, weight: Floats) -> Floats:
        """The AUC for each row of case weights; NaN without weight in a class."""
        mine = weight[:, self.case]
        normal = np.pad(np.cumsum(mine * ~self.positive, axis=1), ((0, 0), (1, 0)))
        diseased = mine[:, self.positive]
        won = (diseased * (normal[:, self.before] + normal[:, self.until])).sum(axis=1) / 2
        every = normal[:, -1] * diseased.sum(axis=1)
        areas: Floats = np.divide(won, every, out=np.full(every.shape, np.nan), where=every > 0)
        return areas


def _means(design: Design, curves: list[_Ordered], weight: Floats, often: NDArray[np.int64]) -> Floats:
    """Draws × modalities: the mean AUC of readers who count; NaN where one of them has none."""
    found = np.empty((len(weight), len(design.modalities)))
    for n, modality in enumerate(design.modalities):
        at = design.columns(modality)
        areas = np.column_stack([curves[k].areas(weight) for k in at])
        count = often[:, at]
        found[:, n] = np.where(count > 0, count * areas, 0.0).sum(axis=1) / count.sum(axis=1)
    return found
