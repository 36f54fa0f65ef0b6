"""An algorithm against the calls of clinical routine, at the operating point of the routine, by a paired bootstrap.

Cases are drawn, and trained instances of the algorithm; in each draw the instances are set to the sensitivity of the
routine and their specificities are compared with its own. The same with the measures exchanged, or for lesions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.stats._bootstrap import LesionRows, Progress
from isocenter.stats._differences import Floats, Ints, one_of
from isocenter.stats._matched_result import FLAVOURS, Flavour, MatchedBootstrap
from isocenter.stats._matched_rows import Rows, lesion_rows, patient_rows
from isocenter.stats._matching import CONJUGATES, TIES, LesionMatch, Match, PatientMatch, Tie, settled

# Replicates that share a stream of random numbers. Another number gives other draws.
_BLOCK = 256
_MOST_DRAWS = 2_000_000


class _Asked(NamedTuple):
    match: Match
    flavour: Flavour
    tie: Tie
    level: float
    replicates: int
    seed: int
    workers: int
    progress: Progress | None


def matched_bootstrap(
    truth: ArrayLike,
    routine_call: ArrayLike,
    scores: ArrayLike,
    *,
    match: PatientMatch = "sensitivity",
    weight: ArrayLike | None = None,
    replicates: int = 1_000_000,
    level: float = 0.95,
    seed: int = 0,
    flavour: Flavour = "rematch",
    tie: Tie = "mean",
    workers: int = 1,
    progress: Progress | None = None,
) -> MatchedBootstrap:
    """Is an algorithm at least as good as the reads of clinical routine, for patients?

    Parameters
    ----------
    truth, routine_call
        0 or 1 per case: what it is, and what the routine called it at its operating point.
    scores
        One row per trained instance, one column per case; a single row may come as it is.
    match
        What is made equal: "sensitivity" compares specificities, "specificity" sensitivities.
    weight
        Per case, of inverse probabilities of selection; they multiply counts, never the chance to be drawn.
    replicates, seed, workers, progress
        How many; their seed; how many threads; called with the number done and of all. The result is the same for any
        number of workers.
    level
        Of the percentile interval of the difference.
    flavour
        "rematch" sets thresholds anew in every replicate, so that their uncertainty counts: calibrated, on the safe
        side with several instances. "published" sets them once on all cases, as PI-CAI's code does: with one instance
        it claims too much, two to three times as often as it should.
    tie
        Of equally near thresholds, see `match_operating_point`.

    Notes
    -----
    A replicate draws n cases and K instances, with replacement. With c_k the conjugate measure of a drawn instance and
    c that of the routine, its rank is T = mean of [c_k > c] + ½ [c_k = c]. The algorithm is at least as good if T ≥ ½,
    and better if T > ½: a tie is no evidence for the claim that p is of, and an algorithm that says what the routine
    says has P(at least as good) = 1 and p = 1. Draws without a positive or a negative case are made again, and counted.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = np.repeat([0, 1], 100)
    >>> call, scores = rng.random(200) < 0.3 + 0.4 * truth, 2 * truth + rng.normal(size=(3, 200))
    >>> found = matched_bootstrap(truth, call, scores, replicates=2000)
    >>> found.routine_matched, found.gap, found.prob_ai_at_least > 0.5, found.redrawn
    (0.72, 0.0, True, 0)
    """
    one_of("match", match, ("sensitivity", "specificity"))
    rows = patient_rows(truth, routine_call, scores, weight)
    return _bootstrapped(rows, _Asked(match, flavour, tie, level, replicates, seed, workers, progress))


def matched_lesion_bootstrap(
    routine: LesionRows,
    instances: Sequence[LesionRows],
    *,
    cases: int,
    match: LesionMatch = "recall",
    weight: ArrayLike | None = None,
    replicates: int = 1_000_000,
    level: float = 0.95,
    seed: int = 0,
    flavour: Flavour = "rematch",
    tie: Tie = "mean",
    workers: int = 1,
    progress: Progress | None = None,
) -> MatchedBootstrap:
    """Is an algorithm at least as good as the reads of clinical routine, for lesions? See `matched_bootstrap`.

    Cases are drawn with all their lesions and candidates. Draws in which there is no lesion, the routine calls nothing,
    or an instance has no candidate are made again.

    Parameters
    ----------
    routine
        The rows of the routine at its operating point: lesions found (is_lesion 1, confidence above 0), lesions missed
        (1, 0), and false positives (0, above 0), each with the position of its case.
    instances
        The rows of `average_precision` of each trained instance, of the same lesions.
    cases
        How many there are, with those that have no rows.
    match
        "recall" compares precisions at equal recall, "precision" recalls.
    """
    one_of("match", match, ("recall", "precision"))
    rows = lesion_rows(routine, instances, cases, weight)
    return _bootstrapped(rows, _Asked(match, flavour, tie, level, replicates, seed, workers, progress))


def _bootstrapped(rows: Rows, asked: _Asked) -> MatchedBootstrap:
    from isocenter.stats._matched_kernels import match_rows, measures

    _check(asked)
    mode = list(CONJUGATES).index(asked.match)
    weights = np.ascontiguousarray(rows.of_case[:, 0])
    positive, negative, right, wrong = (float(total) for total in weights @ rows.of_case[:, 1:])
    matched, conjugate = measures(mode, right, wrong, positive, negative)
    places, points = [], []
    for start, end in pairwise(rows.starts.tolist()):
        *point, high, low = match_rows(weights, rows.case, rows.kind, start, end, mode, matched, positive, negative)
        points.append(point)
        places.append((high, low))
    best, worst, gaps = zip(*points, strict=True)
    values = tuple(settled(*ends, match=asked.match, tie=asked.tie) for ends in zip(best, worst, strict=True))
    fixed = np.array(places if asked.flavour == "published" else np.empty((0, 2)), dtype=np.int64)
    samples, redrawn = _samples(rows, fixed, asked)
    reached, better = (int(np.count_nonzero(won)) for won in (samples[:, 0] >= 0.5, samples[:, 0] > 0.5))
    low, high = np.percentile(samples[:, 1], [50 * (1 - asked.level), 50 * (1 + asked.level)])
    return MatchedBootstrap(
        match=asked.match,
        conjugate=CONJUGATES[asked.match],
        routine_matched=matched,
        routine_conjugate=conjugate,
        instance_conjugates=values,
        instance_best=best,
        instance_worst=worst,
        instance_gaps=gaps,
        step=_step(rows.of_case, asked.match),
        difference=float(np.mean(values)) - conjugate,
        low=float(low),
        high=float(high),
        level=asked.level,
        prob_ai_at_least=reached / asked.replicates,
        p_value=(asked.replicates - better + 1) / (asked.replicates + 1),
        replicates=asked.replicates,
        redrawn=redrawn,
        seed=asked.seed,
        flavour=asked.flavour,
        tie=asked.tie,
        cases=weights.size,
        positives=int(rows.of_case[:, 1].sum()),
        instances=len(values),
        effective_cases=float(weights.sum() ** 2 / (weights**2).sum()),
    )


def _step(of_case: Floats, match: Match) -> float:
    """How much of the routine's measure one case is, or one lesion or call; if weights differ, the heaviest one."""
    weights, positive, negative, right, wrong = of_case.T
    counted = {"specificity": negative, "precision": right + wrong}.get(match, positive)
    return float(weights[counted > 0].max() / (weights @ counted))


def _check(asked: _Asked) -> None:
    one_of("flavour", asked.flavour, FLAVOURS)
    one_of("tie", asked.tie, TIES)
    if asked.replicates < 1 or asked.workers < 1 or not 0 < asked.level < 1:
        given = f"{asked.replicates}, {asked.workers} and {asked.level}"
        msg = f"a bootstrap needs at least 1 replicate, at least 1 worker and a level within 0 and 1, not {given}"
        raise ValueError(msg)


def _samples(rows: Rows, places: Ints, asked: _Asked) -> tuple[Floats, int]:
    """Rank and mean difference of all replicates, and how many draws had none."""
    samples, done, redrawn = np.empty((asked.replicates, 2)), 0, 0
    for part, again in _blocks(rows, places, asked):
        samples[done : done + len(part)] = part
        done, redrawn = done + len(part), redrawn + again
        if asked.progress is not None:
            asked.progress(done, asked.replicates)
    return samples, redrawn


def _blocks(rows: Rows, places: Ints, asked: _Asked) -> Iterator[tuple[Floats, int]]:
    """Replicates in blocks that know only the seed and their own number, so that it does not matter who does them."""
    from isocenter.stats._matched_kernels import replicate

    cases, instances = len(rows.of_case), rows.starts.size - 1
    size = max(1, min(_BLOCK, _MOST_DRAWS // cases))
    mode, tie = list(CONJUGATES).index(asked.match), TIES.index(asked.tie)

    def block(number: int) -> tuple[Floats, int]:
        rng = np.random.default_rng(np.random.SeedSequence(asked.seed, spawn_key=(number,)))
        wanted = min(size, asked.replicates - number * size)
        part, done, drawn = np.empty((wanted, 2)), 0, 0
        while done < wanted:
            left = wanted - done
            of_cases: NDArray[np.int32] = rng.integers(0, cases, size=(left, cases), dtype=np.int32)
            of_instances: NDArray[np.int32] = rng.integers(0, instances, size=(left, instances), dtype=np.int32)
            drawn += left
            done += replicate(of_cases, of_instances, *rows, places, mode, tie, part[done:])
        return part, drawn - wanted

    numbers = range(-(-asked.replicates // size))
    if asked.workers == 1:
        yield from map(block, numbers)
        return
    with ThreadPoolExecutor(asked.workers) as threads:
        yield from threads.map(block, numbers)
