"""An algorithm against the calls of clinical routine, at the operating point of the routine, by a paired bootstrap.

Cases and trained instances of the algorithm are resampled. In each resample the instances are set to the sensitivity of
the routine, and their specificities are compared with its own. The same with the measures exchanged, or for lesions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.blocks import Progress, check_bootstrap, replicate_statistics
from isocenter.resampling.counts import draw_counts
from isocenter.resampling.intervals import percentile_bounds
from isocenter.resampling.permutations import p_value
from isocenter.stats._bootstrap import LesionRows
from isocenter.stats._differences import Floats, Ints, one_of
from isocenter.stats._matching import CONJUGATES, ROUNDING, TIES, LesionMatch, Match, PatientMatch, Tie, settled
from isocenter.stats._provenance import record
from isocenter.stats._weights import effective_size, near_one

Flavour = Literal["rematch", "published"]

FLAVOURS: dict[Flavour, str] = {
    "rematch": "thresholds matched anew in every replicate",
    "published": "thresholds matched once on all cases",
}
_NAMED = 5


@dataclass(frozen=True)
class MatchedBootstrap:
    """What `matched_bootstrap` found; as text, sentences of a paper.

    An algorithm with few distinct scores may have no threshold near the operating point of the routine. Then it is
    compared somewhere else, and the text warns.

    Attributes
    ----------
    match, conjugate
        The measure that instances are set to, and the one that is compared.
    routine_matched, routine_conjugate
        Both, of the routine, on all cases.
    instance_conjugates
        Of each instance on all cases, at the matched operating point.
    instance_best, instance_worst
        The same at the best and at the worst of the thresholds that are equally near.
    instance_gaps
        How far the matched measure of each instance is from that of the routine there, on all cases.
    step
        How much of the routine's matched measure one case is: 1 over the positive or negative cases; one lesion or,
        for precision, one call. If weights differ, the heaviest one.
    difference, low, high, level
        Mean conjugate measure of the instances minus that of the routine, and its percentile interval.
    prob_ai_at_least
        The share of replicates in which at least half of the instances, ties counting half, reach the routine.
    p_value
        One-sided, of the claim that the algorithm is better: (1 + replicates in which it is not) / (1 + replicates).
        Where exactly half of the instances are ahead, or all are level, it is not.
    replicates, redrawn, seed
        How many were made, how many draws were undefined (a class or all calls missing) and drawn again; the seed.
    flavour, tie
        As they were asked for.
    cases, positives, instances
        How many there are; for lesions, positives are these.
    effective_cases
        (Σw)² / Σw², how many equally weighted cases the weighted ones are worth.
    """

    match: Match
    conjugate: Match
    routine_matched: float
    routine_conjugate: float
    instance_conjugates: tuple[float, ...]
    instance_best: tuple[float, ...]
    instance_worst: tuple[float, ...]
    instance_gaps: tuple[float, ...]
    step: float
    difference: float
    low: float
    high: float
    level: float
    prob_ai_at_least: float
    p_value: float
    replicates: int
    redrawn: int
    seed: int
    flavour: Flavour
    tie: Tie
    cases: int
    positives: int
    instances: int
    effective_cases: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        method = f"paired bootstrap of cases and instances at the matched {self.match}, {FLAVOURS[self.flavour]}"
        gaps = {"gap": self.gap, "mean_gap": self.mean_gap, "matched": self.matched}
        return record(asdict(self), **gaps, method=method)

    @property
    def gap(self) -> float:
        """The largest of the instances' gaps."""
        return max(self.instance_gaps)

    @property
    def mean_gap(self) -> float:
        """The mean of the instances' gaps."""
        return fmean(self.instance_gaps)

    @property
    def matched(self) -> bool:
        """Whether every instance has a threshold as near to the routine as a single case can make it."""
        return self.gap <= self.step + ROUNDING

    def __str__(self) -> str:
        weighted = "" if self.effective_cases == self.cases else f" (worth {self.effective_cases:.0f} unweighted ones)"
        trained = f"{self.instances} instance{'s' * (self.instances != 1)}"
        return (
            f"At the {self.match} of the routine, {self.routine_matched:.3f}, the algorithm's {self.conjugate} is "
            f"{self.routine_conjugate + self.difference:.3f} and the routine's {self.routine_conjugate:.3f}: "
            f"difference {self.difference:+.3f} ({100 * self.level:g} % CI {self.low:.3f} to {self.high:.3f}), "
            f"P(algorithm at least as good) = {self.prob_ai_at_least:.4f}, one-sided p = {self.p_value:.3g} (paired "
            f"bootstrap of {self.cases} cases{weighted} and {trained}, {self.replicates} replicates, "
            f"{FLAVOURS[self.flavour]}, {self.redrawn} undefined draws made again, seed {self.seed}). "
            f"{self._nearness()}"
        )

    def _nearness(self) -> str:
        """How near the match is, and what else it could have been."""
        worst, best = fmean(self.instance_worst), fmean(self.instance_best)
        tied = f"; equally near thresholds give a {self.conjugate} from {worst:.3f} to {best:.3f}"
        within = f"{round(self.gap, 6):.2g} (mean {round(self.mean_gap, 6):.2g})"
        near = f"The {self.match} is met within {within}{tied if worst < best else ''}."
        if self.matched:
            return near
        off = sum(gap > self.step + ROUNDING for gap in self.instance_gaps)
        return (
            f"{near} Warning: the {self.match} of {off} of {self.instances} instances stays off by up to "
            f"{self.gap:.3f}, more than one {self._unit} ({self.step:.3f}): their operating point is not the routine's."
        )

    @property
    def _unit(self) -> str:
        return {"recall": "lesion", "precision": "call"}.get(self.match, "case")


class Rows(NamedTuple):
    """Cases and rows, as the kernels take them.

    Attributes
    ----------
    of_case
        Per case: weight, positives, negatives, positives called so by the routine, negatives called positive by it.
    case, kind, starts
        The rows of all instances one after another, each with its case and what it is; where each instance starts.
    """

    of_case: Floats
    case: Ints
    kind: Ints
    starts: Ints


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
    A resample draws n cases and K instances, with replacement. With c_k the conjugate measure of a drawn instance and
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
    rows = _patient_rows(truth, routine_call, scores, weight)
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
    rows = _lesion_rows(routine, instances, cases, weight)
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
    bounds = percentile_bounds(samples[:, 1], asked.level)
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
        low=bounds[0],
        high=bounds[1],
        level=asked.level,
        prob_ai_at_least=reached / asked.replicates,
        p_value=p_value(asked.replicates - better, asked.replicates, sampled=True),
        replicates=asked.replicates,
        redrawn=redrawn,
        seed=asked.seed,
        flavour=asked.flavour,
        tie=asked.tie,
        cases=weights.size,
        positives=int(rows.of_case[:, 1].sum()),
        instances=len(values),
        effective_cases=effective_size(weights),
    )


def _step(of_case: Floats, match: Match) -> float:
    """How much of the routine's measure one case is, or one lesion or call; if weights differ, the heaviest one."""
    weights, positive, negative, right, wrong = of_case.T
    counted = {"specificity": negative, "precision": right + wrong}.get(match, positive)
    return float(weights[counted > 0].max() / (weights @ counted))


def _check(asked: _Asked) -> None:
    one_of("flavour", asked.flavour, FLAVOURS)
    one_of("tie", asked.tie, TIES)
    check_bootstrap(asked.replicates, asked.workers, asked.level)


def _samples(rows: Rows, places: Ints, asked: _Asked) -> tuple[Floats, int]:
    """Rank and mean difference of all replicates, and how many resamples had none."""
    from isocenter.stats._matched_kernels import replicate

    cases, instances = len(rows.of_case), rows.starts.size - 1
    mode, tie = list(CONJUGATES).index(asked.match), TIES.index(asked.tie)

    def measure(rng: np.random.Generator, out: Floats) -> int:
        of_cases, of_instances = (draw_counts(rng, units, len(out)) for units in (cases, instances))
        return int(replicate(of_cases, of_instances, *rows, places, mode, tie, out))

    return replicate_statistics(
        measure,
        columns=2,
        units=cases,
        replicates=asked.replicates,
        seed=asked.seed,
        workers=asked.workers,
        progress=asked.progress,
    )


def _patient_rows(truth: ArrayLike, call: ArrayLike, scores: ArrayLike, weight: ArrayLike | None) -> Rows:
    """Cases are rows of their own; everything that is wrong with the arrays is said at once."""
    t, c = np.asarray(truth), np.asarray(call)
    s = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    w = np.ones(t.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    problems = []
    if t.ndim != 1 or t.shape != c.shape or w.shape != t.shape or s.ndim != 2 or s.shape[1:] != t.shape or not s.size:
        problems.append(
            "truth, calls and weights are one per case and scores one row per instance; "
            f"their shapes are {t.shape}, {c.shape}, {w.shape} and {s.shape}"
        )
    for name, values in (("truth", t), ("the routine's call", c)):
        if wrong := _places(~((values == 0) | (values == 1))):
            problems.append(f"{name} is 0 or 1, but not in cases {wrong}")
    for k, row in enumerate(s if s.ndim == 2 else ()):
        if wrong := _places(~np.isfinite(row)):
            problems.append(f"instance {k} has no finite score in cases {wrong}")
    problems += _problems_of_weights(w)
    _raise(problems)
    positive, called, w = t.astype(bool), c.astype(bool), near_one(w)
    _raise(
        [
            f"there are no {name} cases of a weight above 0"
            for name, group in (("positive", positive), ("negative", ~positive))
            if not w[group].sum() > 0
        ]
    )
    of_case = np.column_stack([w, positive, ~positive, positive & called, ~positive & called]).astype(np.float64)
    every = np.arange(t.size)
    return _rows(of_case, [(every, positive, row) for row in s])


def _lesion_rows(routine: LesionRows, instances: Sequence[LesionRows], cases: int, weight: ArrayLike | None) -> Rows:
    """Lesions and candidates are rows; everybody has the same number of lesions in a case."""
    w = np.ones(cases) if weight is None else np.asarray(weight, dtype=np.float64)
    problems = _problems_of_weights(w)
    if w.shape != (cases,):
        problems.append(f"weights are one per case: {cases} of them, not an array of shape {w.shape}")
    if not instances:
        problems.append("there are no instances")
    of_all = {"the routine": routine} | {f"instance {k}": rows for k, rows in enumerate(instances)}
    for name, rows in of_all.items():
        problems += _problems_of_rows(name, rows, cases)
    _raise(problems)
    w, columns = near_one(w), {name: _columns(rows) for name, rows in of_all.items()}
    case, lesion, confidence = columns.pop("the routine")
    lesions = np.bincount(case[lesion], minlength=cases)
    for name, (its_case, its_lesion, its_confidence) in columns.items():
        differ = _places(np.bincount(its_case[its_lesion], minlength=cases) != lesions)
        if differ:
            problems.append(f"{name} has other numbers of lesions than the routine in cases {differ}")
        if not (w[its_case] * (its_confidence > 0)).any():
            problems.append(f"{name} has no candidates")
    called = confidence > 0
    if not (w[case] * called).any():
        problems.append("the routine calls nothing")
    if not w @ lesions > 0:
        problems.append("there are no lesions of a weight above 0")
    _raise(problems)
    right, wrong = (np.bincount(case[called & of], minlength=cases) for of in (lesion, ~lesion))
    of_case = np.column_stack([w, lesions, np.zeros(cases), right, wrong]).astype(np.float64)
    found = [(c[s > 0], lesion[s > 0], s[s > 0]) for c, lesion, s in columns.values()]
    return _rows(of_case, found)


def _rows(of_case: Floats, instances: list[tuple[Ints, NDArray[np.bool_], Floats]]) -> Rows:
    from isocenter.stats._matched_kernels import LAST, TRUE

    cases, kinds = [], []
    for case, positive, score in instances:
        order = np.argsort(-score, kind="stable")
        ordered = score[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        cases.append(case[order])
        kinds.append(TRUE * positive[order] + LAST * last)
    starts = np.cumsum([0, *(len(case) for case in cases)])
    return Rows(
        np.ascontiguousarray(of_case),
        np.concatenate(cases).astype(np.int64),
        np.concatenate(kinds).astype(np.int64),
        starts.astype(np.int64),
    )


def _columns(rows: LesionRows) -> tuple[Ints, NDArray[np.bool_], Floats]:
    """As arrays; confidences are compared in single precision, as everywhere in the house."""
    confidence = np.asarray(rows.confidence, dtype=np.float32).astype(np.float64)
    return np.asarray(rows.case, dtype=np.int64), np.asarray(rows.is_lesion, dtype=bool), confidence


def _problems_of_rows(name: str, rows: LesionRows, cases: int) -> list[str]:
    case, lesion = np.asarray(rows.case), np.asarray(rows.is_lesion)
    confidence = np.asarray(rows.confidence, dtype=np.float64)
    problems = []
    if case.ndim != 1 or case.shape != lesion.shape or case.shape != confidence.shape:
        problems.append(
            f"{name}: case, is_lesion and confidence are columns of one length; "
            f"their shapes are {case.shape}, {lesion.shape} and {confidence.shape}"
        )
    elif case.size and not (case.dtype.kind in "iu" and case.min() >= 0 and case.max() < cases):
        found = f"{case.dtype} {case.min()}…{case.max()}"
        problems.append(f"{name}: a case is a position from 0 to {cases - 1}; found {found}")
    if wrong := _places(~((lesion == 0) | (lesion == 1))):
        problems.append(f"{name}: is_lesion is 0 or 1, but not in rows {wrong}")
    if wrong := _places(~((confidence >= 0) & (confidence <= np.finfo(np.float32).max))):
        problems.append(f"{name}: a confidence is finite and not negative, but not in rows {wrong}")
    return problems


def _problems_of_weights(weight: Floats) -> list[str]:
    wrong = _places(~(np.isfinite(weight) & (weight >= 0)))
    return [f"weights are finite and not negative, but not in cases {wrong}"] if wrong else []


def _places(wrong: NDArray[np.bool_]) -> str:
    """The first few positions, as text; empty if there are none."""
    at = np.flatnonzero(wrong)
    return ", ".join(map(str, at[:_NAMED])) + (f" and {at.size - _NAMED} more" if at.size > _NAMED else "")


def _raise(problems: list[str]) -> None:
    if problems:
        msg = "there is nothing to compare (positions count from 0): " + "; ".join(problems)
        raise ValueError(msg)
