"""Confidence intervals of AUROC, average precision and their mean, by drawing cases with replacement.

A replicate is a count per case: nothing is sorted or copied again, and a million replicates are usual work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.metrics._average_precision import average_precision, in_single_precision, why_no_average_precision
from isocenter.metrics._roc import Floats, auroc, checked, why_no_auroc
from isocenter.stats._bootstrap_result import Bootstrap, Draws, Interval

Progress = Callable[[int, int], None]
_Ints = NDArray[np.int64]

# Replicates that share a stream of random numbers: enough to hide the cost of starting one, few enough that their draws
# stay in the cache. Another number gives other draws.
_BLOCK = 256
_MOST_DRAWS = 2_000_000


class LesionRows(NamedTuple):
    """The rows of `average_precision`, of all cases together, each with the position of its case."""

    case: ArrayLike
    is_lesion: ArrayLike
    confidence: ArrayLike


class _Steps(NamedTuple):
    """What the kernel does, one step after another: whose weight goes where."""

    kinds: _Ints
    cases: _Ints
    weights: Floats
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
    """Percentile intervals from replicates of n cases drawn with replacement; a case brings all its lesions along.

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
    if replicates < 1 or workers < 1 or not 0 < level < 1:
        given = f"{replicates}, {workers} and {level}"
        msg = f"a bootstrap needs at least 1 replicate, at least 1 worker and a level within 0 and 1, not {given}"
        raise ValueError(msg)
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
    rows = None if lesions is None else _checked_rows(lesions, w)
    steps = _steps_of(t, s, w, rows)
    groups = [np.arange(t.size)] if strata is None else _groups(strata, t.size)
    if draws == "picai":
        found = _one_stream(steps, replicates, t.size, seed)
    else:
        found = _blocks(steps, replicates, groups, seed, workers)
    samples, done, redrawn = np.empty((replicates, 2)), 0, 0
    for part, again in found:
        samples[done : done + len(part)] = part
        done, redrawn = done + len(part), redrawn + again
        if progress is not None:
            progress(done, replicates)
    interval = partial(_interval, level=level)
    area = auroc(t, s, weight=w)
    if rows is None:
        return Bootstrap(interval(area, samples[:, 0]), None, None, level, seed, draws, redrawn, samples[:, :1])
    case, is_lesion, confidence = rows
    precision = average_precision(is_lesion, confidence, weight=w[case])
    return Bootstrap(
        auroc=interval(area, samples[:, 0]),
        average_precision=interval(precision, samples[:, 1]),
        score=interval((area + precision) / 2, samples.mean(axis=1)),
        level=level,
        seed=seed,
        draws=draws,
        redrawn=redrawn,
        samples=samples,
    )


def steps_of(truth: ArrayLike, score: ArrayLike, weight: ArrayLike | None, lesions: LesionRows) -> _Steps:
    """What the kernel does for given cases and lesions; see `bootstrap_ci`."""
    t, s, w = checked(truth, score, weight)
    return _steps_of(t, s, w, _checked_rows(lesions, w))


def _checked_rows(lesions: LesionRows, weight: Floats) -> tuple[_Ints, NDArray[np.bool_], Floats]:
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
    truth: NDArray[np.bool_], score: Floats, weight: Floats, rows: tuple[_Ints, NDArray[np.bool_], Floats] | None
) -> _Steps:
    parts = [_steps_of_cases(truth, score, weight)]
    if rows is not None:
        parts.append(_steps_of_rows(*rows, weight))
    kinds, cases, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Steps(kinds, cases, weights, rows is not None)


def _steps_of_cases(truth: NDArray[np.bool_], score: Floats, weight: Floats) -> tuple[_Ints, _Ints, Floats]:
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
    case: _Ints, is_lesion: NDArray[np.bool_], confidence: Floats, weight: Floats
) -> tuple[_Ints, _Ints, Floats]:
    """Candidates of one confidence enter together: their precision is taken at the end of the group."""
    from isocenter.stats._bootstrap_kernels import FALSE, GROUP_END, LESION, MISSED

    kind = np.where(is_lesion, np.where(confidence > 0, LESION, MISSED), FALSE)
    group = np.unique(-confidence, return_inverse=True)[1]
    ends = np.unique(group[kind == LESION])
    kind, case = np.append(kind, np.full(ends.size, GROUP_END)), np.append(case, np.zeros(ends.size, np.int64))
    order = np.lexsort((kind == GROUP_END, np.append(group, ends)))
    return kind[order], case[order], weight[case][order]


def _groups(strata: ArrayLike, cases: int) -> list[_Ints]:
    labels = np.asarray(strata)
    if labels.shape != (cases,):
        msg = f"strata must be one label per case: {cases} of them, not an array of shape {labels.shape}"
        raise ValueError(msg)
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _blocks(
    steps: _Steps, replicates: int, groups: list[_Ints], seed: int, workers: int
) -> Iterator[tuple[Floats, int]]:
    """Replicates in blocks that know only the seed and their own number, so that it does not matter who does them."""
    size = max(1, min(_BLOCK, _MOST_DRAWS // sum(group.size for group in groups)))

    def block(number: int) -> tuple[Floats, int]:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))

        def draw(times: int) -> NDArray[np.int32]:
            parts = [_draw(rng, group, times) for group in groups]
            return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

        return _filled(steps, min(size, replicates - number * size), draw)

    numbers = range(-(-replicates // size))
    if workers == 1:
        yield from map(block, numbers)
        return
    with ThreadPoolExecutor(workers) as threads:
        yield from threads.map(block, numbers)


def _draw(rng: np.random.Generator, group: _Ints, times: int) -> NDArray[np.int32]:
    picked = rng.integers(0, group.size, size=(times, group.size), dtype=np.int32)
    whole = group[0] == 0 and group[-1] == group.size - 1  # then positions are cases already
    return picked if whole else group.astype(np.int32)[picked]


def _one_stream(steps: _Steps, replicates: int, cases: int, seed: int) -> Iterable[tuple[Floats, int]]:
    rng = np.random.default_rng(seed)

    def draw(times: int) -> NDArray[np.int32]:
        return np.stack([rng.integers(0, cases, size=cases).astype(np.int32) for _ in range(times)])

    for start in range(0, replicates, _BLOCK):
        yield _filled(steps, min(_BLOCK, replicates - start), draw)


def _filled(steps: _Steps, size: int, draw: Callable[[int], NDArray[np.int32]]) -> tuple[Floats, int]:
    """So many replicates with defined scores, and how many draws had none."""
    from isocenter.stats._bootstrap_kernels import replicate

    samples, done, drawn = np.empty((size, 2)), 0, 0
    while done < size:
        drawn += size - done
        done += replicate(draw(size - done), *steps, samples[done:])
    return samples, drawn - size


def _interval(value: float, samples: Floats, *, level: float) -> Interval:
    low, high = np.percentile(samples, [50 * (1 - level), 50 * (1 + level)])
    return Interval(value, float(low), float(high))
