"""Confidence intervals of AUROC, average precision and their mean, from bootstrap resamples of the cases.

A resample is a count per case: nothing is sorted or copied again, and a million replicates are usual work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.metrics._average_precision import average_precision, in_single_precision, why_no_average_precision
from isocenter.metrics._roc import Floats, auroc, checked, why_no_auroc
from isocenter.resampling.blocks import Progress, check_bootstrap, replicate_statistics
from isocenter.resampling.counts import count_picks, draw_counts, group_by_stratum
from isocenter.resampling.intervals import percentile_bounds
from isocenter.resampling.permutations import Ints
from isocenter.stats._provenance import record

Draws = Literal["blocks", "picai"]

BY_BOOTSTRAP = "percentile bootstrap of cases"


class Interval(NamedTuple):
    """A number as measured on all cases, and the bounds of its confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, samples: Floats, level: float) -> Interval:
        """The percentile interval from replicates."""
        return cls(value, *percentile_bounds(samples, level))

    def text(self, level: float) -> str:
        """As papers print it."""
        return f"{self.value:.4f} ({100 * level:g} % CI {self.low:.4f} to {self.high:.4f})"


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """What `bootstrap_ci` found; as text, a sentence of a paper.

    Attributes
    ----------
    auroc
        Of the cases.
    average_precision, score
        Of the lesions, and the mean of both, (AUROC + AP) / 2; None if there were no rows of lesions to draw.
    level, seed, draws
        The coverage aimed at, the seed of the draws and how they were made.
    redrawn
        How many draws had no positive case, no negative one or no lesion, and were drawn again.
    samples
        AUROC (first column) and AP (second one, if there are lesions) of every replicate.
    """

    auroc: Interval
    average_precision: Interval | None
    score: Interval | None
    level: float
    seed: int
    draws: Draws
    redrawn: int
    samples: Floats

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: how many replicates there are, without the replicates."""
        found = {name: getattr(self, name) for name in ("auroc", "average_precision", "score", "level")}
        made = {"replicates": len(self.samples), "redrawn": self.redrawn, "seed": self.seed, "draws": self.draws}
        return record({**found, **made}, method=BY_BOOTSTRAP)

    def __str__(self) -> str:
        of_lesions = [
            f"{name} {interval.text(self.level)}"
            for name, interval in (("average precision", self.average_precision), ("mean of both", self.score))
            if interval is not None
        ]
        return (
            f"{', '.join([f'AUROC {self.auroc.text(self.level)}', *of_lesions])}; {BY_BOOTSTRAP}, {len(self.samples)} "
            f"replicates, {self.redrawn} undefined draws made again, seed {self.seed}."
        )


class LesionRows(NamedTuple):
    """The rows of `average_precision`, of all cases together, each with the position of its case."""

    case: ArrayLike
    is_lesion: ArrayLike
    confidence: ArrayLike


class _Steps(NamedTuple):
    """What the kernel does, one step after another: whose weight goes where."""

    kinds: Ints
    cases: Ints
    weights: Floats
    with_cases: bool
    with_lesions: bool


def bootstrap_ci(
    truth: ArrayLike,
    score: ArrayLike,
    *,
    lesions: LesionRows | None = None,
    weight: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    replicates: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    draws: Draws = "blocks",
    workers: int = 1,
    progress: Progress | None = None,
) -> Bootstrap:
    """Percentile intervals from bootstrap resamples of n cases; a case brings all its lesions along.

    AUROC and AP of a replicate come from the same draw. Draws without a positive case, a negative case or a lesion
    define no score; they are drawn again and counted. The bounds are percentiles (1 ± level) / 2 of the replicates,
    with linear interpolation. The same seed gives the same numbers for any number of workers.

    Parameters
    ----------
    truth, score, weight
        One per case, see `auroc`. Weights multiply how often a case was drawn, not the chance to draw it.
    lesions
        The rows of `average_precision`, each with the position of its case, from 0 on. Left out: AUROC only.
    strata
        A label per case; each stratum keeps its size in every replicate. `strata=truth` keeps the prevalence.
    replicates
        How many.
    draws
        "blocks" seeds every block of replicates for itself. "picai" draws one replicate after another as picai_eval's
        `bootstrap_score_ci` does, if the cases come in its order, sorted by name; it knows no strata. (Where
        picai_eval keeps an undefined draw, and its interval with it, this draws again.)
    workers
        How many threads; "picai" has use for one only.
    progress
        Called with the number of replicates done and of all.

    References
    ----------
    Efron B, Tibshirani RJ. An introduction to the bootstrap. Chapman & Hall (1993), chapter 13.

    Examples
    --------
    >>> truth, score = [0, 0, 0, 0, 1, 1, 1], [1, 3, 2, 4, 3, 5, 6]
    >>> found = bootstrap_ci(truth, score, replicates=2000, seed=1)
    >>> found.auroc.value, found.auroc.high, found.auroc.low < 0.6
    (0.875, 1.0, True)
    """
    from isocenter.stats._bootstrap_kernels import replicate

    check_bootstrap(replicates, workers, level)
    if draws not in ("blocks", "picai"):
        msg = f"draws are made in 'blocks' or as by 'picai', not {draws!r}"
        raise ValueError(msg)
    if draws == "picai" and strata is not None:
        msg = "the draws of picai_eval know no strata: leave them out, or take draws 'blocks'"
        raise ValueError(msg)
    t, s, w = checked(truth, score, weight)
    reason = why_no_auroc(t, weight=w)
    if reason is not None:
        msg = f"there is no AUROC to draw replicates of: {reason}"
        raise ValueError(msg)
    rows = None if lesions is None else checked_rows(lesions, w)
    steps, groups = _steps_of(t, s, w, rows), group_by_stratum(strata, t.size)

    def measure(rng: np.random.Generator, out: Floats) -> int:
        if draws == "blocks":
            counts = draw_counts(rng, t.size, len(out), groups)
        else:  # one resample after another, in the 64 bits of picai_eval
            picks = [rng.integers(0, t.size, size=t.size).astype(np.int32) for _ in out]
            counts = count_picks(np.stack(picks), t.size)
        return int(replicate(counts.T, *steps, out))

    samples, redrawn = replicate_statistics(
        measure,
        columns=2,
        units=t.size,
        replicates=replicates,
        seed=seed,
        workers=workers,
        progress=progress,
        stream=np.random.default_rng(seed) if draws == "picai" else None,
    )
    area = auroc(t, s, weight=w)
    of_area = Interval.of(area, samples[:, 0], level)
    if rows is None:
        return Bootstrap(of_area, None, None, level, seed, draws, redrawn, samples[:, :1])
    case, is_lesion, confidence = rows
    precision = average_precision(is_lesion, confidence, weight=w[case])
    return Bootstrap(
        auroc=of_area,
        average_precision=Interval.of(precision, samples[:, 1], level),
        score=Interval.of((area + precision) / 2, samples.mean(axis=1), level),
        level=level,
        seed=seed,
        draws=draws,
        redrawn=redrawn,
        samples=samples,
    )


def steps_of(
    truth: ArrayLike, score: ArrayLike, weight: ArrayLike | None, lesions: LesionRows | None, *, with_cases: bool = True
) -> _Steps:
    """What the kernel does for given cases and lesions, or for one of both; see `bootstrap_ci`."""
    t, s, w = checked(truth, score, weight)
    return _steps_of(t, s, w, None if lesions is None else checked_rows(lesions, w), with_cases=with_cases)


def checked_rows(lesions: LesionRows, weight: Floats) -> tuple[Ints, NDArray[np.bool_], Floats]:
    """The columns as arrays, confidences in single precision; an error without a lesion of a weight above 0."""
    case = np.asarray(lesions.case)
    if case.size and not (case.dtype.kind in "iu" and case.min() >= 0 and case.max() < weight.size):
        found = f"{case.dtype} {case.min()}…{case.max()}"
        msg = f"the case of a lesion is a position from 0 to {weight.size - 1}; found {found}"
        raise ValueError(msg)
    case = case.astype(np.int64)
    is_lesion, confidence, of_case = checked(lesions.is_lesion, in_single_precision(lesions.confidence), weight[case])
    reason = why_no_average_precision(is_lesion, weight=of_case)
    if reason is not None:
        msg = f"there is no average precision to draw replicates of: {reason}"
        raise ValueError(msg)
    return case, is_lesion, confidence


def _steps_of(
    truth: NDArray[np.bool_],
    score: Floats,
    weight: Floats,
    rows: tuple[Ints, NDArray[np.bool_], Floats] | None,
    *,
    with_cases: bool = True,
) -> _Steps:
    parts = [_steps_of_cases(truth, score, weight)] if with_cases else []
    if rows is not None:
        parts.append(_steps_of_rows(*rows, weight))
    kinds, cases, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Steps(kinds, cases, weights, with_cases, rows is not None)


def _steps_of_cases(truth: NDArray[np.bool_], score: Floats, weight: Floats) -> tuple[Ints, Ints, Floats]:
    """Each negative case meets the positive ones above it.

    Those equal to it count one half: it comes before them with half its weight, and after them with the other half.
    """
    from isocenter.stats._bootstrap_kernels import NEGATIVE, POSITIVE

    group = np.unique(-score, return_inverse=True)[1]
    twice = ~truth & (np.bincount(group, truth) > 0)[group]
    case = np.append(np.arange(truth.size), np.flatnonzero(twice))
    place = np.append(np.where(truth, 1, 2), np.zeros(np.count_nonzero(twice)))
    case = case[np.lexsort((place, group[case]))]
    return np.where(truth, POSITIVE, NEGATIVE)[case], case, np.where(twice, weight / 2, weight)[case]


def _steps_of_rows(
    case: Ints, is_lesion: NDArray[np.bool_], confidence: Floats, weight: Floats
) -> tuple[Ints, Ints, Floats]:
    """Candidates of one confidence enter together: their precision is taken at the end of the group."""
    from isocenter.stats._bootstrap_kernels import FALSE, GROUP_END, LESION, MISSED

    kind = np.where(is_lesion, np.where(confidence > 0, LESION, MISSED), FALSE)
    group = np.unique(-confidence, return_inverse=True)[1]
    ends = np.unique(group[kind == LESION])
    kind, case = np.append(kind, np.full(ends.size, GROUP_END)), np.append(case, np.zeros(ends.size, np.int64))
    order = np.lexsort((kind == GROUP_END, np.append(group, ends)))
    return kind[order], case[order], weight[case][order]
