"""How far readers say the same of the same cases: kappa of categories, intraclass correlation of numbers.

Tables are cases × readers, NaN where a reader did not read a case.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.blocks import check_bootstrap, replicate_statistics
from isocenter.resampling.counts import draw_counts
from isocenter.resampling.intervals import percentile_bounds
from isocenter.stats._differences import Floats, one_of
from isocenter.stats._provenance import record

KappaWeights = Literal["none", "linear", "quadratic"]
IntraclassModel = Literal["ICC(A,1)", "ICC(C,1)", "ICC(2,1)", "ICC(3,1)"]

_MODELS: dict[IntraclassModel, IntraclassModel] = {
    "ICC(A,1)": "ICC(A,1)",
    "ICC(C,1)": "ICC(C,1)",
    "ICC(2,1)": "ICC(A,1)",
    "ICC(3,1)": "ICC(C,1)",
}


@dataclass(frozen=True)
class Agreement:
    """How far readers agree; as text, a sentence of a paper.

    Attributes
    ----------
    statistic
        By the name of the field, such as "Cohen's kappa, quadratic weights".
    value, low, high, level
        The statistic and its interval; NaN where it is undefined.
    method
        Where the interval comes from.
    readers, cases, left_out
        How many readers there are, how many cases count, and how many do not because reads are missing.
    replicates, seed
        Of a bootstrap; 0 and None where nothing was drawn.
    """

    statistic: str
    value: float
    low: float
    high: float
    level: float
    method: str
    readers: int
    cases: int
    left_out: int
    replicates: int = 0
    seed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: what is undefined is null."""
        return record(asdict(self))

    def __str__(self) -> str:
        out = f", {self.left_out} left out for missing reads" if self.left_out else ""
        drawn = "" if self.seed is None else f", {self.replicates} replicates, seed {self.seed}"
        value = "undefined" if math.isnan(self.value) else f"{self.value:.3f}"
        return (
            f"{self.statistic} {value} ({100 * self.level:g} % CI {self.low:.3f} to {self.high:.3f}; "
            f"{self.method}{drawn}) of {self.readers} readers on {self.cases} cases{out}."
        )


def cohen_kappa(a: ArrayLike, b: ArrayLike, *, weights: KappaWeights = "none", level: float = 0.95) -> Agreement:
    """Cohen's kappa of two readers, κ = (p_o − p_e) / (1 − p_e), plain or weighted by how far apart their ratings are.

    Parameters
    ----------
    a, b
        A rating per case, NaN where it is missing; cases that both read count. Categories are the ratings that occur,
        in their order.
    weights
        "none"; "linear" or "quadratic" in the distance of the categories' positions in that order.

    Notes
    -----
    With agreement weights v, p_o = Σ v·p over the table and p_e the same of the product of its margins. The interval is
    normal, with the variance of Fleiss, Cohen and Everitt. κ is NaN where both give one and the same rating only.

    References
    ----------
    Cohen J. Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial credit. Psychol
    Bull 70 (1968).
    Fleiss JL, Cohen J, Everitt BS. Large sample standard errors of kappa and weighted kappa. Psychol Bull 72 (1969).

    Examples
    --------
    >>> round(cohen_kappa([1, 2, 3, 3, 1, 2], [1, 2, 3, 2, 1, 1], weights="linear").value, 4)
    0.625
    """
    one_of("weights", weights, ("none", "linear", "quadratic"))
    table = _checked(np.column_stack([_column(a), _column(b)]) if np.shape(a) == np.shape(b) else np.empty(0), level)
    both = table[~np.isnan(table).any(axis=1)]
    n = len(both)
    if not n:
        msg = "the readers have no case in common"
        raise ValueError(msg)
    categories, code = np.unique(both, return_inverse=True)
    code, k = code.reshape(both.shape), categories.size
    p = np.zeros((k, k))
    np.add.at(p, (code[:, 0], code[:, 1]), 1 / n)
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) / max(k - 1, 1)
    v = {"none": np.eye(k), "linear": 1 - apart, "quadratic": 1 - apart**2}[weights]
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, expected = float((v * p).sum()), float(rows @ v @ columns)
    value = low = high = math.nan
    if expected < 1:
        value = (observed - expected) / (1 - expected)
        means = (v @ columns)[:, None] + (rows @ v)[None, :]
        spread = float((p * (v - means * (1 - value)) ** 2).sum()) - (value - expected * (1 - value)) ** 2
        reach = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(max(spread, 0.0) / n) / (1 - expected)
        low, high = max(-1.0, value - reach), min(1.0, value + reach)
    name = "Cohen's kappa" if weights == "none" else f"Cohen's kappa, {weights} weights"
    return Agreement(name, value, low, high, level, "normal, large-sample variance", 2, n, len(table) - n)


def fleiss_kappa(ratings: ArrayLike, *, level: float = 0.95, replicates: int = 2000, seed: int = 0) -> Agreement:
    """Fleiss' kappa of any number of readers, κ = (P̄ − P_e) / (1 − P_e), of categories without an order.

    Parameters
    ----------
    ratings
        Cases × readers; NaN where a read is missing. Cases with a single read are left out.
    replicates, seed
        Of the interval, by percentiles of a bootstrap of cases.

    Notes
    -----
    With n_ij readers of case i for category j and n_i in all, P̄ is the mean of Σ_j n_ij(n_ij − 1) / (n_i(n_i − 1)), and
    P_e = Σ_j p_j² with p_j the share of all reads in category j. If no read is missing this is Fleiss' own formula.

    References
    ----------
    Fleiss JL. Measuring nominal scale agreement among many raters. Psychol Bull 76 (1971).

    Examples
    --------
    >>> round(fleiss_kappa([[1, 1, 1], [2, 2, 1], [2, 2, 2], [3, 3, 1]]).value, 4)
    0.4667
    """
    check_bootstrap(replicates, 1, level)
    table = _checked(np.asarray(ratings, dtype=np.float64), level)
    counts = np.stack([(table == category).sum(axis=1) for category in np.unique(table[~np.isnan(table)])], axis=1)
    kept = counts[counts.sum(axis=1) > 1].astype(np.float64)
    if not len(kept):
        msg = "no case was read by two readers"
        raise ValueError(msg)
    value = float(_fleiss(kept, np.ones((1, len(kept))))[0])
    low = high = math.nan
    if not math.isnan(value):
        samples = _resampled(lambda drawn: _fleiss(kept, drawn), len(kept), replicates, seed)
        low, high = percentile_bounds(samples, level)
    return Agreement(
        "Fleiss' kappa", value, low, high, level, "percentile bootstrap of cases", table.shape[1], len(kept),
        len(table) - len(kept), replicates, seed,
    )  # fmt: skip


def _fleiss(counts: Floats, times: NDArray[Any]) -> Floats:
    """Of each resample, given how often it has each case; NaN where all reads are alike."""
    reads = counts.sum(axis=1)
    agreement = (counts * (counts - 1)).sum(axis=1) / (reads * (reads - 1))
    observed = times @ agreement / times.sum(axis=1)
    shares = times @ counts / (times @ reads)[:, None]
    expected = (shares**2).sum(axis=1)
    alike = expected >= 1 - 1e-12
    return np.where(alike, np.nan, (observed - expected) / np.where(alike, 1.0, 1 - expected))


def _resampled(measure: Any, cases: int, replicates: int, seed: int) -> Floats:
    def fill(rng: np.random.Generator, out: Floats) -> int:
        values = measure(draw_counts(rng, cases, len(out)))
        values = values[~np.isnan(values)]
        out[: values.size, 0] = values
        return int(values.size)

    samples, _ = replicate_statistics(fill, columns=1, units=cases, replicates=replicates, seed=seed)
    return samples[:, 0]


def intraclass_correlation(
    ratings: ArrayLike, *, model: IntraclassModel = "ICC(A,1)", level: float = 0.95
) -> Agreement:
    """Intraclass correlation of single reads, of the same readers on all cases (two-way).

    Parameters
    ----------
    ratings
        Cases × readers, numbers. Cases that somebody did not read are left out: the statistic allows none missing.
    model
        "ICC(A,1)" is absolute agreement, the ICC(2,1) of Shrout and Fleiss: readers are a sample of others, and one who
        rates higher throughout disagrees. "ICC(C,1)" is consistency, their ICC(3,1), which forgives that.

    Notes
    -----
    From the mean squares of cases R, readers C and the rest E, with n cases and k readers: (R − E) / (R + (k − 1)E) for
    consistency, and (R − E) / (R + (k − 1)E + k(C − E)/n) for agreement. Intervals by the F distribution, for agreement
    with Satterthwaite's degrees of freedom.

    References
    ----------
    Shrout PE, Fleiss JL. Intraclass correlations: uses in assessing rater reliability. Psychol Bull 86 (1979).
    McGraw KO, Wong SP. Forming inferences about some intraclass correlation coefficients. Psychol Methods 1 (1996).

    Examples
    --------
    >>> judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> [round(intraclass_correlation(judges, model=model).value, 2) for model in ("ICC(2,1)", "ICC(3,1)")]
    [0.29, 0.71]
    """
    one_of("model", model, _MODELS)
    table = _checked(np.asarray(ratings, dtype=np.float64), level)
    kept = table[~np.isnan(table).any(axis=1)]
    n, k = kept.shape
    if n < 2 or k < 2:
        msg = f"an intraclass correlation needs two cases that all of two readers or more read; there are {n} and {k}"
        raise ValueError(msg)
    mean, of_cases, of_readers = kept.mean(), kept.mean(axis=1), kept.mean(axis=0)
    cases = float(k * ((of_cases - mean) ** 2).sum() / (n - 1))
    readers = float(n * ((of_readers - mean) ** 2).sum() / (k - 1))
    rest = float(((kept - of_cases[:, None] - of_readers + mean) ** 2).sum() / ((n - 1) * (k - 1)))
    values = (
        _consistency(cases, rest, n, k, level)
        if _MODELS[model] == "ICC(C,1)"
        else _absolute(cases, readers, rest, n, k, level=level)
    )
    return Agreement(model, *values, level, "F distribution", k, n, len(table) - n)


def _consistency(cases: float, rest: float, n: int, k: int, level: float) -> tuple[float, float, float]:
    from scipy.stats import f

    if cases + (k - 1) * rest <= 0:
        return math.nan, math.nan, math.nan
    value = (cases - rest) / (cases + (k - 1) * rest)
    if rest <= 0:
        return value, math.nan, math.nan
    df, tail = (n - 1) * (k - 1), (1 + level) / 2
    low, high = cases / rest / f.ppf(tail, n - 1, df), cases / rest * f.ppf(tail, df, n - 1)
    return value, float((low - 1) / (low + k - 1)), float((high - 1) / (high + k - 1))


def _absolute(cases: float, readers: float, rest: float, n: int, k: int, *, level: float) -> tuple[float, float, float]:
    from scipy.stats import f

    whole = cases + (k - 1) * rest + k * (readers - rest) / n
    if whole <= 0:
        return math.nan, math.nan, math.nan
    value = (cases - rest) / whole
    if value >= 1 or (readers <= 0 and rest <= 0):
        return value, math.nan, math.nan
    a, b = k * value / (n * (1 - value)), 1 + k * value * (n - 1) / (n * (1 - value))
    df = (a * readers + b * rest) ** 2 / ((a * readers) ** 2 / (k - 1) + (b * rest) ** 2 / ((n - 1) * (k - 1)))
    above, below = (float(f.ppf((1 + level) / 2, *pair)) for pair in ((n - 1, df), (df, n - 1)))
    others = k * readers + (k * n - k - n) * rest
    low = n * (cases - above * rest) / (above * others + n * cases)
    return value, low, n * (below * cases - rest) / (others + n * below * cases)


def _column(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _checked(table: Floats, level: float) -> Floats:
    problems = [] if 0 < level < 1 else [f"a confidence level lies between 0 and 1, not at {level}"]
    if table.ndim != 2 or table.shape[1] < 2 or not len(table):
        problems.append(f"ratings are cases × readers, of two readers or more; found the shape {table.shape}")
    elif np.isinf(table).any():
        problems.append("a rating is a number, or NaN where it is missing, and not infinite")
    if problems:
        msg = "agreement cannot be measured: " + "; ".join(problems)
        raise ValueError(msg)
    return table
