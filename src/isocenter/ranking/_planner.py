"""How many cases a challenge needs, from a pilot of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.ranking._rank_draws import ranks_of
from isocenter.ranking._rank_sets import rank_sets_of_cases
from isocenter.resampling.blocks import seed_generator
from isocenter.resampling.counts import Resamples, draw_multinomial
from isocenter.resampling.estimates import resample_means
from isocenter.resampling.matrices import Floats, case_weights, finite_matrix

Better = Literal["higher", "lower"]
Moved = Callable[[int, int], None]
"""Told how many trials are done, of how many."""

_MOST_CASES = 65_535
_MOST_TRIALS = 100_000
# Of the simulation inside each rank set, and of the normal theory.
_SET_DRAWS = 1000
_NORMAL_DRAWS = 20_000
_BLOCK = 1000
_TOP = 3
# Of the pilot itself: bootstrap resamples of its cases, and normal draws in each.
_PILOTS = 400
_PILOT_DRAWS = 2000
# Names the generator of these; sizes of challenges are the other names.
_OF_PILOTS = 1 << 20
_COVERAGE = 0.9


class Simulated(NamedTuple):
    """A number from trials, and its Monte-Carlo standard error: how far another seed may take it, not the truth."""

    value: float
    error: float


class PlanRow(NamedTuple):
    """What to expect of a challenge with so many cases.

    Attributes
    ----------
    winner
        The probability that nobody but a true winner is first.
    normal
        The same by normal theory: scores are normal, with the means and the covariance of the pilot.
    top
        The probability that nobody but the true first three is among the first three; 1 if there are no more.
    width
        How many ranks the confidence set of a submission holds, on average: 1 is certainty.
    winners
        How many submissions have rank 1 in their set.
    beyond
        Whether these are more cases than the pilot has: then the rare cases that it lacks are lacking here, too.
    """

    cases: int
    winner: Simulated
    normal: float
    top: Simulated
    width: Simulated
    winners: Simulated
    beyond: bool


class CasesNeeded(NamedTuple):
    """How many cases make the right winner as likely as was asked.

    Attributes
    ----------
    simulated
        The smallest of the planned sizes from which on all reach it; None if the largest does not.
    normal
        The number by normal theory.
    beyond
        Whether `normal` is more than the pilot has: an extrapolation.
    low, high
        The interval of 90 % of `normal`: what pilots of this size would have said.
    """

    simulated: int | None
    normal: int
    beyond: bool
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class CasePlan:
    """What `plan_cases` found; `rows` by increasing number of cases.

    Attributes
    ----------
    best
        The positions of the submissions with the best score of the pilot, taken for the true winners.
    pilot_cases, submissions
        The size of the pilot.
    trials, seed, level
        How the rows were made.
    roots
        By normal theory, in each draw: the √n beyond which the right one wins, sorted.
    pilot_roots
        The same, a row for each of 400 bootstrap resamples of the pilot's cases.
    same_best
        In which share of these resamples nobody but the best of the pilot is best.
    """

    rows: tuple[PlanRow, ...]
    best: tuple[int, ...]
    pilot_cases: int
    submissions: int
    trials: int
    seed: int
    level: float
    roots: Floats = field(repr=False)
    pilot_roots: Floats = field(repr=False)
    same_best: float

    def cases_for(self, probability: float) -> CasesNeeded:
        """How many cases give a true winner the first place with this probability, within 0 and 1."""
        if not 0 < probability < 1:
            msg = f"a probability to plan for lies within 0 and 1, not {probability}"
            raise ValueError(msg)
        simulated = None
        for row in reversed(self.rows):
            if row.winner.value < probability:
                break
            simulated = row.cases
        normal = _cases_of(self.roots, probability)
        numbers = np.sort([_cases_of(roots, probability) for roots in self.pilot_roots])
        cut = math.floor((1 - _COVERAGE) / 2 * numbers.size)
        low, high = int(numbers[cut]), int(numbers[-1 - cut])
        return CasesNeeded(simulated, normal, normal > self.pilot_cases, min(low, normal), max(high, normal))


def plan_cases(
    pilot: ArrayLike,
    *,
    better: Better,
    sizes: Sequence[int],
    trials: int = 500,
    seed: int = 0,
    level: float = 0.95,
    weight: ArrayLike | None = None,
    progress: Moved | None = None,
) -> CasePlan:
    """What a challenge with so many cases could tell, if its cases were like those of a pilot.

    Every trial is a challenge of its own: n cases drawn with replacement from the pilot, the same for all submissions,
    ranked by their means. The pilot's own means are taken for the truth.

    Parameters
    ----------
    pilot
        Submissions × cases, finite, at least 2 cases.
    sizes
        Numbers n of cases to plan for, from 1 to 65 535. A row does not depend on which others are asked for.
    trials, seed
        Challenges per size. More trials begin with the same ones.
    level
        Of the joint rank sets; see `rank_sets`.
    weight
        A weight per case, as in `resample_means`; a case of weight 0 is not there.
    progress
        Called with the trials done, of all.

    Notes
    -----
    Places are 1 + the number of those that are better. True winners are all that share place 1 in the pilot; a trial is
    right if all that share place 1 in it are among them. The same holds for the first three.

    Errors are √(p(1−p)/trials) for a probability, at p = (hits + 2)/(trials + 4), so that 500 hits of 500 are not taken
    for certainty (Agresti and Coull), and SD/√trials for a mean.

    Normal theory: scores over n cases are N(θ, Σ/n), with the means θ and the covariance Σ of the pilot's cases. A true
    winner w is first if √n·(θ_w − θⱼ) > Zⱼ − Z_w for all others j, in the better direction, Z ~ N(0, Σ). So each of
    20 000 draws of Z has a √n beyond which it is right; quantiles of these are the numbers of cases needed.

    What a pilot says of its leads is uncertain, and so is a plan. Five teams 0.05 apart, with an SD of 0.3 per case,
    need about 120 cases for 90 %. Half of 300 plans from pilots of 20 cases gave a number outside 34 to 458, from
    pilots of 200 cases outside 69 to 352; the best of the pilot was the true one in 62 and in 96 % of them. So numbers
    of cases have an interval: the plan by normal theory is made again for 400 bootstrap resamples of the pilot's cases,
    each with its own best submission. In 150 pilots of 20, 60 and 200 cases of that example, the interval of 90 % held
    the true number in 96, 97 and 93 %.

    References
    ----------
    Agresti A, Coull BA. Approximate is better than "exact" for interval estimation of binomial proportions. The
    American Statistician 52 (1998).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> pilot = rng.normal([[0.80], [0.78], [0.70]], 0.1, (3, 60))
    >>> plan = plan_cases(pilot, better="higher", sizes=[20, 200], trials=200)
    >>> [(row.cases, row.beyond, row.winner.value > 0.9) for row in plan.rows]
    [(20, False, False), (200, True, True)]
    """
    if not 1 <= trials <= _MOST_TRIALS or not 0.5 <= level < 1 or seed < 0:
        expected = f"1 to {_MOST_TRIALS:,} trials, a level from 0.5 to below 1 and a seed from 0"
        msg = f"a plan needs {expected}; not {trials}, {level} and {seed}"
        raise ValueError(msg)
    planned = _checked_sizes(sizes)
    truth = _Pilot.of(pilot, weight, better)
    roots = truth.roots(seed_generator(seed, 0))
    rows = []
    for number, n in enumerate(planned):

        def moved(done: int, *, before: int = number * trials) -> None:
            if progress is not None:
                progress(before + done, len(planned) * trials)

        rng = seed_generator(seed, n)
        normal = float(np.searchsorted(roots, math.sqrt(n)) / roots.size)
        rows.append(truth.row(n, trials, rng, normal=normal, level=level, moved=moved))
    best = tuple(np.flatnonzero(truth.places == 1).tolist())
    submissions, cases = truth.values.shape
    pilot_roots, same_best = truth.resample(seed_generator(seed, _OF_PILOTS))
    return CasePlan(tuple(rows), best, cases, submissions, trials, seed, level, roots, pilot_roots, same_best)


def _cases_of(roots: Floats, probability: float) -> int:
    """The number of cases beyond which so large a share of the draws is right; roots are sorted."""
    root = max(float(roots[math.ceil(probability * roots.size) - 1]), 0.0)
    return math.floor(min(root * root, 1e15)) + 1


def _sorted_roots(theta: Floats, z: Floats, first: NDArray[np.bool_]) -> Floats:
    """For each column of z ~ N(0, Σ), the √n beyond which a winner is first, sorted; −∞ where all are winners."""
    if first.all():
        return np.full(z.shape[1], -math.inf)
    gaps = theta[first].max() - theta[~first]
    roots: Floats = np.sort(((z[~first] - z[first].max(axis=0)) / gaps[:, np.newaxis]).max(axis=0))
    return roots


@dataclass(frozen=True, eq=False)
class _Pilot:
    values: Floats
    weight: Floats
    better: Better
    places: Floats

    @classmethod
    def of(cls, values: ArrayLike, weight: ArrayLike | None, better: Better) -> _Pilot:
        x = finite_matrix(values, "values of the pilot")
        w = case_weights(weight, x.shape[1])
        x, w = (x, np.ones(x.shape[1])) if w is None else (np.ascontiguousarray(x[:, w > 0]), w[w > 0])
        if x.shape[0] < 1 or x.shape[1] < 2:
            msg = f"a pilot has at least 1 submission and 2 cases; found {x.shape[0]} and {x.shape[1]}"
            raise ValueError(msg)
        means = resample_means(x, Resamples.all_cases(x.shape[1]), weight=w)
        return cls(x, w, better, ranks_of(means, better=better, ties="min")[:, 0])

    def roots(self, rng: np.random.Generator) -> Floats:
        """The sorted roots of the pilot itself."""
        first = self.places == 1
        cases, sign = self.values.shape[1], 1.0 if self.better == "higher" else -1.0
        theta = sign * (self.values @ self.weight) / self.weight.sum()
        residues = self.weight / self.weight.mean() * (sign * self.values - theta[:, np.newaxis]) / math.sqrt(cases - 1)
        blocks = [residues @ rng.standard_normal((cases, _BLOCK)) for _ in range(_NORMAL_DRAWS // _BLOCK)]
        z = np.concatenate(blocks, axis=1)
        return _sorted_roots(theta, z, first)

    def resample(self, rng: np.random.Generator) -> tuple[Floats, float]:
        """The roots of bootstrap resamples of the pilot, and in which share of them nobody but its best is best."""
        cases, sign = self.values.shape[1], 1.0 if self.better == "higher" else -1.0
        counts = draw_multinomial(rng, cases, _PILOTS)
        normal = rng.standard_normal((len(self.values), _PILOT_DRAWS))
        roots = np.empty((_PILOTS, _PILOT_DRAWS))
        same = 0
        for number, count in enumerate(counts):
            weight = self.weight * count
            theta = sign * (self.values @ weight) / weight.sum()
            residues = self.weight / (weight.sum() / cases) * (sign * self.values - theta[:, np.newaxis])
            spread, axes = np.linalg.eigh((residues * count) @ residues.T / (cases - 1))
            first = ranks_of(theta[:, np.newaxis], better="higher", ties="min")[:, 0] == 1
            z = (axes * np.sqrt(np.maximum(spread, 0.0))) @ normal
            roots[number] = _sorted_roots(theta, z, first)
            same += bool((self.places[first] == 1).all())
        return roots, same / _PILOTS

    def row(
        self,
        n: int,
        trials: int,
        rng: np.random.Generator,
        *,
        normal: float,
        level: float,
        moved: Callable[[int], None],
    ) -> PlanRow:
        cases = self.values.shape[1]
        counts = draw_multinomial(rng, cases, trials, size=n)
        means = resample_means(self.values, Resamples.of_weights(counts), weight=self.weight)
        drawn = ranks_of(means, better=self.better, ties="min")
        sets = np.empty((trials, 2))
        for trial, count in enumerate(counts):
            sets[trial] = self._sets(count, level, trial)
            moved(trial + 1)
        true = self.places[:, np.newaxis]
        return PlanRow(
            cases=n,
            winner=_share((true == 1) | (drawn > 1)),
            normal=normal,
            top=_share((true <= _TOP) | (drawn > _TOP)),
            width=_average(sets[:, 0]),
            winners=_average(sets[:, 1]),
            beyond=n > cases,
        )

    def _sets(self, count: NDArray[np.int64], level: float, seed: int) -> tuple[float, int]:
        """The mean width of the rank sets, and the possible winners; in a trial, a case drawn twice is two cases."""
        found = rank_sets_of_cases(
            np.repeat(self.values, count, axis=1),
            better=self.better,
            weight=np.repeat(self.weight, count),
            level=level,
            draws=_SET_DRAWS,
            seed=seed,
        )
        return float((found.high - found.low + 1).mean()), found.possible_winners.size


def _checked_sizes(sizes: Sequence[int]) -> list[int]:
    wrong = [size for size in sizes if not 1 <= size <= _MOST_CASES or size != int(size)]
    if wrong or not len(sizes):
        found = f"{', '.join(map(str, wrong[:5]))} found" if wrong else "none given"
        msg = f"numbers of cases to plan for are whole, from 1 to {_MOST_CASES}; {found}"
        raise ValueError(msg)
    return sorted({int(size) for size in sizes})


def _share(right: NDArray[np.bool_]) -> Simulated:
    """In which share of the trials (columns) all is right."""
    hits = right.all(axis=0)
    careful = (int(hits.sum()) + 2) / (hits.size + 4)
    return Simulated(float(hits.mean()), math.sqrt(careful * (1 - careful) / hits.size))


def _average(values: Floats) -> Simulated:
    error = float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan
    return Simulated(float(values.mean()), error)
