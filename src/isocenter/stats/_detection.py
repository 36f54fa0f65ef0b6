"""Confidence intervals of what is said of findings: AUROC, average precision, and the mean of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.detections import Detections
from isocenter.resampling.blocks import Progress
from isocenter.stats._bootstrap import BY_BOOTSTRAP, Interval, LesionRows, bootstrap_ci, steps_of
from isocenter.stats._delong import delong
from isocenter.stats._provenance import record


@dataclass(frozen=True, slots=True)
class DetectionIntervals:
    """What `detection_intervals` found; as text, a sentence of a paper.

    Attributes
    ----------
    auroc, average_precision, score
        Over all trained instances the mean, and the percentiles of its replicates.
    delong
        AUROC with DeLong's interval, if there is one instance, all weights are equal and each class has two cases; else
        None.
    level, replicates, seed, redrawn
        How they were made; see `bootstrap_ci`.
    """

    auroc: Interval
    average_precision: Interval
    score: Interval
    delong: Interval | None
    level: float
    replicates: int
    seed: int
    redrawn: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return record(asdict(self), method=BY_BOOTSTRAP)

    def __str__(self) -> str:
        area = "" if self.delong is None else f", by DeLong's variance {self.delong.low:.4f} to {self.delong.high:.4f}"
        return (
            f"AUROC {self.auroc.text(self.level)}{area}, average precision "
            f"{self.average_precision.text(self.level)}, mean of both {self.score.text(self.level)}; {BY_BOOTSTRAP}, "
            f"{self.replicates} replicates, {self.redrawn} undefined draws made again, seed {self.seed}."
        )


def detection_intervals(
    instances: Sequence[Detections],
    *,
    replicates: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    strata: Literal["truth"] | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> DetectionIntervals:
    """Intervals for the mean over the trained instances of one algorithm.

    The instances share their draws of cases: what is drawn again and again is the cohort, not the training.

    Parameters
    ----------
    strata
        "truth": every replicate has as many positive cases as the cohort.
    """
    if not instances:
        msg = "there are no findings to draw replicates of"
        raise ValueError(msg)
    samples, redrawn = np.zeros((replicates, 2)), 0
    for number, found in enumerate(instances):

        def moved(done: int, total: int, *, before: int = number) -> None:
            if progress is not None:
                progress((before * total + done) // len(instances), total)

        result = bootstrap_ci(
            found.truth,
            found.likelihood,
            lesions=LesionRows(found.case, found.is_lesion, found.confidence),
            weight=found.weight,
            strata=found.truth if strata == "truth" else None,
            replicates=replicates,
            level=level,
            seed=seed,
            workers=workers,
            progress=moved,
        )
        samples += result.samples
        redrawn = result.redrawn  # the same for all: they share the draws
    samples /= len(instances)

    def interval(metric: str, replicated: NDArray[np.float64]) -> Interval:
        return Interval.of(float(np.mean([getattr(found, metric) for found in instances])), replicated, level)

    alone = instances[0] if len(instances) == 1 and np.ptp(instances[0].weight) == 0 else None
    return DetectionIntervals(
        auroc=interval("auroc", samples[:, 0]),
        average_precision=interval("average_precision", samples[:, 1]),
        score=interval("detection_score", samples.mean(axis=1)),
        delong=None if alone is None else _by_delong(alone, level),
        level=level,
        replicates=replicates,
        seed=seed,
        redrawn=redrawn,
    )


def _by_delong(found: Detections, level: float) -> Interval | None:
    """DeLong's interval; None where one class has a single case, and there is no variance."""
    area = delong(found.truth, found.likelihood)
    low, high = area.interval(level)
    return None if np.isnan(low) else Interval(area.auroc, low, high)


def auroc_of_rows(truth: ArrayLike, score: ArrayLike, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """AUROC for every row of weights of the cases (rows × cases), each with a positive and a negative case."""
    from isocenter.stats._bootstrap_kernels import replicate

    samples = np.empty((len(weights), 2))
    by_case: NDArray[Any] = weights.T
    if replicate(by_case, *steps_of(truth, score, None, None), samples) < len(samples):
        msg = "a row of weights has no positive case or no negative one: it defines no AUROC"
        raise ValueError(msg)
    return samples[:, 0]


def detection_draws(
    found: Detections, by_case: NDArray[np.unsignedinteger[Any]], *, auroc: bool = True, average_precision: bool = True
) -> NDArray[np.float64]:
    """AUROC and average precision in given draws of the cases.

    Parameters
    ----------
    by_case
        Cases × draws, the cases in the order of the findings: how often each is in each draw.
    auroc, average_precision
        Which of both is asked for; the other is 0, and nothing that only it needs has to be there.

    Returns
    -------
    array
        Draws × 2. A draw without an ill patient or without a healthy one has no AUROC, one without a lesion no average
        precision: that is an error.
    """
    from isocenter.stats._bootstrap_kernels import replicate

    if by_case.ndim != 2 or len(by_case) != len(found.cases):
        msg = f"draws of {len(found.cases)} cases are expected, not an array of shape {by_case.shape}"
        raise ValueError(msg)
    rows = LesionRows(found.case, found.is_lesion, found.confidence) if average_precision else None
    steps = steps_of(found.truth, found.likelihood, found.weight, rows, with_cases=auroc)
    samples = np.empty((by_case.shape[1], 2))
    if replicate(by_case, *steps, samples) < len(samples):
        lacking = ["no positive case", "no negative one"] * auroc + ["no lesion"] * average_precision
        msg = f"a draw has {' or '.join(lacking)}: it defines no score"
        raise ValueError(msg)
    return samples
