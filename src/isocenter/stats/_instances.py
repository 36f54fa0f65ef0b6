"""Algorithm against algorithm, each trained several times, on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.metrics._roc import checked, why_no_auroc
from isocenter.resampling.blocks import seed_generator
from isocenter.resampling.intervals import percentile_bounds
from isocenter.resampling.permutations import Tail
from isocenter.stats._bootstrap import Bootstrap, LesionRows, bootstrap_ci, checked_rows
from isocenter.stats._differences import Floats, one_of
from isocenter.stats._influence import auroc_influence, precision_influence
from isocenter.stats._permutation import SIDES, PermutationTest, permutation_test
from isocenter.stats._provenance import record
from isocenter.stats._two_way import DF_RULE, METHODS, Asked, TestMethod, compare_groups, smaller_class
from isocenter.stats._weights import effective_size

Measure = Literal["auroc", "average_precision", "score"]

_NAMES: dict[Measure, str] = {
    "auroc": "AUROC",
    "average_precision": "average precision",
    "score": "mean of AUROC and average precision",
}
# Areas of the same cases in another order differ by rounding only.
_DECIMALS = 12


@dataclass(frozen=True)
class InstanceComparison:
    """What `compare_instances` found; as text, a sentence of a paper.

    Attributes
    ----------
    measure
        "auroc", "average_precision", or "score", the mean of both.
    values_a, values_b
        Of each trained instance, on all cases.
    difference, low, high, level
        Mean of a minus mean of b, and its interval: of other trainings and other cases.
    standard_error, df
        Of the difference; NaN for the published method, whose interval comes from a bootstrap.
    p_value, alternative, method
        Of the test that was asked for: "two-way" or "published".
    published
        The permutation test over instances that PI-CAI published: of other trainings, on these cases.
    replicates, redrawn, seed
        Of the bootstrap of the published method: how many, how many undefined draws were made again, and their seed.
    cases, effective_cases
        How many there are, and how many of equal weight they are worth, (Σw)² / Σw².
    """

    measure: Measure
    values_a: tuple[float, ...]
    values_b: tuple[float, ...]
    difference: float
    standard_error: float
    df: float
    low: float
    high: float
    level: float
    p_value: float
    alternative: Tail
    method: TestMethod
    published: PermutationTest
    replicates: int
    redrawn: int
    seed: int | None
    cases: int
    effective_cases: float

    @property
    def speaks_for(self) -> str:
        """What the test holds for."""
        if self.method == "published":
            return "other trainings, on these cases"
        single = [name for name, values in (("a", self.values_a), ("b", self.values_b)) if len(values) == 1]
        if not single:
            return "other cases and other trainings"
        others = "" if len(single) > 1 else f" and other trainings of {'b' if single == ['a'] else 'a'}"
        return f"other cases{others}, this one training of {' and '.join(single)} only"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        how = {
            "two-way": "variance of cases and instances",
            "published": "permutation test over instances; bootstrap of cases and instances",
        }
        return record(asdict(self), how=how[self.method], speaks_for=self.speaks_for, df_rule=DF_RULE)

    def __str__(self) -> str:
        weighted = "" if self.effective_cases == self.cases else f", worth {self.effective_cases:.1f} of equal weight"
        means = (
            f"Mean {_NAMES[self.measure]} {np.mean(self.values_a):.4f} of a and {np.mean(self.values_b):.4f} of b: "
            f"difference {self.difference:+.4f} ({100 * self.level:g} % CI {self.low:.4f} to {self.high:.4f}"
        )
        if self.method == "published":
            return (
                f"{means} from {self.replicates} draws of cases and instances, seed {self.seed}; {self.redrawn} "
                f"undefined draws made again). On these {self.cases} cases{weighted}, {self.published}"
            )
        return (
            f"{means}; t, {self.df:.1f} degrees of freedom), {SIDES[self.alternative]}: p = {self.p_value:.3g}, for "
            f"{self.speaks_for} ({self.cases} cases{weighted}). Published test, on these cases: "
            f"p = {self.published.p_value:.3g}."
        )


def compare_instances(
    truth: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    measure: Measure = "auroc",
    lesions_a: Sequence[LesionRows] | None = None,
    lesions_b: Sequence[LesionRows] | None = None,
    weight: ArrayLike | None = None,
    alternative: Tail = "greater",
    method: TestMethod = "two-way",
    replicates: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    workers: int = 1,
) -> InstanceComparison:
    """Two algorithms by the scores of their trained instances, for other cases and other trainings.

    Parameters
    ----------
    truth
        0 or 1 per case.
    a, b
        Scores, one row per instance and one column per case. A single instance is taken for fixed: the result is of
        this training.
    measure
        What is compared; all but "auroc" need the lesions.
    lesions_a, lesions_b
        The rows of `average_precision` of each instance; see `bootstrap_ci`.
    weight
        Per case.
    alternative
        "greater": a is better than b.
    method
        "two-way" accounts for cases and trainings. "published" is PI-CAI's permutation test over instances, which takes
        the cases for all there are: where each algorithm errs on cases of its own in all trainings, it claims a
        difference that is not there in up to half of studies at 0.05 (docs/explanation/calibration.md). Its interval
        draws cases and instances, counts what they have in common twice, and is too wide.
    level
        Of the interval.
    replicates, seed, workers
        Of the interval of the published method.

    Notes
    -----
    The variance of the difference is S²_a/n_a + S²_b/n_b + C_a + C_b − 2C_ab: between instances as they are found, and
    over cases from what each case contributes to the measure, so that nothing is drawn. See `_two_way`.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> truth = np.repeat([0, 1], 50)
    >>> a, b = 2 * truth + rng.normal(size=(4, 100)), truth + rng.normal(size=(4, 100))
    >>> found = compare_instances(truth, a, b)
    >>> found.p_value < 0.001, found.low > 0, round(found.published.p_value, 4)
    (True, True, 0.0143)
    """
    one_of("measure", measure, _NAMES)
    one_of("method", method, METHODS)
    one_of("alternative", alternative, SIDES)
    if not 0 < level < 1:
        msg = f"a confidence level lies between 0 and 1, not at {level}"
        raise ValueError(msg)
    groups = [np.atleast_2d(np.asarray(rows, dtype=np.float64)) for rows in (a, b)]
    lesions = _lesions(measure, groups, (lesions_a, lesions_b), np.size(truth))
    w = np.ones(np.size(truth)) if weight is None else np.asarray(weight, dtype=np.float64)
    redrawn = 0
    if method == "published":
        values, (low, high), redrawn = _bootstrapped(
            truth, groups, lesions, weight, measure, replicates=replicates, level=level, seed=seed, workers=workers
        )
        error = df = p = float("nan")
    else:
        (first, parts_a), (second, parts_b) = (
            _measured(truth, rows, of_rows, w, measure) for rows, of_rows in zip(groups, lesions, strict=True)
        )
        values = [first.tolist(), second.tolist()]
        asked = Asked(level, alternative, smaller_class(np.asarray(truth, dtype=np.float64), w))
        _, error, df, low, high, p = compare_groups(first, parts_a, second, parts_b, asked)
    published = permutation_test(values[0], values[1], alternative=alternative, decimals=_DECIMALS)
    return InstanceComparison(
        measure=measure,
        values_a=tuple(values[0]),
        values_b=tuple(values[1]),
        difference=float(np.mean(values[0]) - np.mean(values[1])),
        standard_error=error,
        df=df,
        low=low,
        high=high,
        level=level,
        p_value=published.p_value if method == "published" else p,
        alternative=alternative,
        method=method,
        published=published,
        replicates=replicates if method == "published" else 0,
        redrawn=redrawn,
        seed=seed if method == "published" else None,
        cases=np.size(truth),
        effective_cases=float(np.size(truth)) if weight is None else effective_size(weight),
    )


def _measured(
    truth: ArrayLike, scores: Floats, lesions: Sequence[LesionRows | None], weight: Floats, measure: Measure
) -> tuple[Floats, Floats]:
    """The measure of each instance, and what each case contributes to it: instances × cases."""
    values, parts = [], []
    for row, of_row in zip(scores, lesions, strict=True):
        t, s, w = checked(truth, row, weight)
        if (reason := why_no_auroc(t, weight=w)) is not None:
            msg = f"there is no AUROC to compare: {reason}"
            raise ValueError(msg)
        found = [] if measure == "average_precision" else [auroc_influence(t, s, w)]
        if of_row is not None:
            case, is_lesion, confidence = checked_rows(of_row, w)
            found.append(precision_influence(case, is_lesion, confidence, w))
        values.append(np.mean([value for value, _ in found]))
        parts.append(np.mean([part for _, part in found], axis=0))
    return np.array(values), np.array(parts)


def _bootstrapped(
    truth: ArrayLike,
    groups: list[Floats],
    lesions: list[Sequence[LesionRows | None]],
    weight: ArrayLike | None,
    measure: Measure,
    *,
    replicates: int,
    level: float,
    seed: int,
    workers: int,
) -> tuple[list[list[float]], tuple[float, float], int]:
    """Values of the instances, and the interval from drawing both cases and instances."""
    values: list[list[float]] = []
    means: list[Floats] = []
    redrawn = 0
    rng = seed_generator(seed, 0, 0)
    for rows, of_rows in zip(groups, lesions, strict=True):
        found = [
            bootstrap_ci(
                truth,
                row,
                lesions=of_row,
                weight=weight,
                replicates=replicates,
                level=level,
                seed=seed,
                workers=workers,
            )
            for row, of_row in zip(rows, of_rows, strict=True)
        ]
        # Draws depend on the seed, and what is drawn again on truth and lesions: replicates are of the same cases.
        means.append(_drawn_mean(rng, np.stack([_samples(one, measure) for one in found])))
        values.append([_value(one, measure) for one in found])
        redrawn = found[0].redrawn
    return values, percentile_bounds(means[0] - means[1], level), redrawn


def _lesions(
    measure: Measure, groups: list[Floats], given: tuple[Sequence[LesionRows] | None, ...], cases: int
) -> list[Sequence[LesionRows | None]]:
    """The rows of each instance, of the same lesions; nothing for the AUROC alone."""
    if measure == "auroc":
        return [[None] * len(rows) for rows in groups]
    problems, every = [], []
    for name, rows, of_rows in zip("ab", groups, given, strict=True):
        if of_rows is None or len(of_rows) != len(rows):
            found = "none" if of_rows is None else str(len(of_rows))
            problems.append(f"{name} has {len(rows)} instances and lesions of {found}")
        every.append([] if of_rows is None else list(of_rows))
    if problems:
        msg = f"the {_NAMES[measure]} needs the lesions of every instance: " + "; ".join(problems)
        raise ValueError(msg)
    counts = [_lesions_by_case(of_row, cases) for of_rows in every for of_row in of_rows]
    if not all(np.array_equal(count, counts[0]) for count in counts):
        wrong = next(k for k, count in enumerate(counts) if not np.array_equal(count, counts[0]))
        where = f"a[{wrong}]" if wrong < len(groups[0]) else f"b[{wrong - len(groups[0])}]"
        msg = f"all instances are judged by the same lesions, but {where} has other numbers of them per case than a[0]"
        raise ValueError(msg)
    return [list[LesionRows | None](of_rows) for of_rows in every]


def _lesions_by_case(rows: LesionRows, cases: int) -> NDArray[np.int64]:
    of_lesions = np.asarray(rows.case)[np.asarray(rows.is_lesion, dtype=bool)]
    return np.bincount(of_lesions, minlength=cases)


def _samples(found: Bootstrap, measure: Measure) -> Floats:
    samples: Floats = {
        "auroc": found.samples[:, 0],
        "average_precision": found.samples[:, -1],
        "score": found.samples.mean(axis=1),
    }[measure]
    return samples


def _value(found: Bootstrap, measure: Measure) -> float:
    interval = {"auroc": found.auroc, "average_precision": found.average_precision, "score": found.score}[measure]
    assert interval is not None
    return interval.value


def _drawn_mean(rng: np.random.Generator, samples: Floats) -> Floats:
    """The mean of as many instances as there are, drawn with replacement in each replicate (column)."""
    instances, replicates = samples.shape
    picked = rng.integers(0, instances, size=(instances, replicates))
    mean: Floats = np.take_along_axis(samples, picked, axis=0).mean(axis=0)
    return mean
