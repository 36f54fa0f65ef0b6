"""Algorithm against algorithm, each trained several times, on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.blocks import seed_generator
from isocenter.resampling.intervals import percentile_bounds
from isocenter.resampling.permutations import Tail
from isocenter.stats._bootstrap import Bootstrap, LesionRows, bootstrap_ci
from isocenter.stats._differences import Floats, one_of
from isocenter.stats._permutation import PermutationTest, permutation_test
from isocenter.stats._provenance import record
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
    test
        The permutation test over instances: of other trainings, on these cases.
    difference, low, high, level
        Mean of a minus mean of b, and its interval from drawing both cases and instances: of other trainings and other
        cases.
    replicates, redrawn, seed
        Of that interval: how many, how many undefined draws were made again, and their seed.
    cases, effective_cases
        How many there are, and how many of equal weight they are worth, (Σw)² / Σw².
    """

    measure: Measure
    values_a: tuple[float, ...]
    values_b: tuple[float, ...]
    test: PermutationTest
    difference: float
    low: float
    high: float
    level: float
    replicates: int
    redrawn: int
    seed: int
    cases: int
    effective_cases: float

    @property
    def p_value(self) -> float:
        """Of the permutation test."""
        return self.test.p_value

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return record(asdict(self), method="permutation test over instances; bootstrap of cases and instances")

    def __str__(self) -> str:
        weighted = "" if self.effective_cases == self.cases else f", worth {self.effective_cases:.1f} of equal weight"
        return (
            f"Mean {_NAMES[self.measure]} {np.mean(self.values_a):.4f} of a and {np.mean(self.values_b):.4f} of b: "
            f"difference {self.difference:+.4f} ({100 * self.level:g} % CI {self.low:.4f} to {self.high:.4f} from "
            f"{self.replicates} draws of cases and instances, seed {self.seed}; {self.redrawn} undefined draws made "
            f"again). On these {self.cases} cases{weighted}, {self.test}"
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
    replicates: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    workers: int = 1,
) -> InstanceComparison:
    """Two algorithms by the scores of their trained instances: relabelling of instances, and draws of cases as well.

    Parameters
    ----------
    truth
        0 or 1 per case.
    a, b
        Scores, one row per instance and one column per case.
    measure
        What is compared; all but "auroc" need the lesions.
    lesions_a, lesions_b
        The rows of `average_precision` of each instance; see `bootstrap_ci`.
    weight
        Per case.
    alternative
        Of the permutation test: "greater", a is better than b.
    replicates, level, seed, workers
        Of the interval.

    Notes
    -----
    The permutation test is exact (see `permutation_test`) and speaks of other trainings of both algorithms, judged on
    the same cases. The interval comes of replicates that draw the cases, the same for all, and the instances of either
    algorithm. What a single training makes of single cases is drawn with both, so that it is rather wide than narrow.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> truth = np.repeat([0, 1], 50)
    >>> a, b = 2 * truth + rng.normal(size=(4, 100)), truth + rng.normal(size=(4, 100))
    >>> found = compare_instances(truth, a, b, replicates=500)
    >>> round(found.p_value, 4), found.low > 0
    (0.0143, True)
    """
    one_of("measure", measure, _NAMES)
    groups = [np.atleast_2d(np.asarray(rows, dtype=np.float64)) for rows in (a, b)]
    lesions = _lesions(measure, groups, (lesions_a, lesions_b), np.size(truth))
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
    low, high = percentile_bounds(means[0] - means[1], level)
    return InstanceComparison(
        measure=measure,
        values_a=tuple(values[0]),
        values_b=tuple(values[1]),
        test=permutation_test(values[0], values[1], alternative=alternative, decimals=_DECIMALS),
        difference=float(np.mean(values[0]) - np.mean(values[1])),
        low=low,
        high=high,
        level=level,
        replicates=replicates,
        redrawn=redrawn,
        seed=seed,
        cases=np.size(truth),
        effective_cases=float(np.size(truth)) if weight is None else effective_size(weight),
    )


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
