"""Two panels of readers, or the same readers in two arms: by their reads of cases, or by a value per reader."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from isocenter.resampling.permutations import Tail
from isocenter.stats._differences import Alternative, Floats, one_of
from isocenter.stats._influence import auroc_influence, share_influence
from isocenter.stats._permutation import SIDES, permutation_test
from isocenter.stats._provenance import record
from isocenter.stats._sign_flip import sign_flip
from isocenter.stats._two_way import DF_RULE, METHODS, Asked, TestMethod, compare_groups, compare_pairs, smaller_class

PanelMeasure = Literal["sensitivity", "specificity", "auroc"]
PanelDesign = Literal["disjoint", "same"]

_MEASURES: tuple[PanelMeasure, ...] = ("sensitivity", "specificity", "auroc")
_DIRECTION: dict[Tail, Alternative] = {"greater": "better", "less": "worse", "two-sided": "two-sided"}
_NAMED = 5


class PanelPermutation(NamedTuple):
    """The permutation test of a value per reader: for other readers, on these cases.

    Attributes
    ----------
    p_value
        Of the alternative asked for.
    method
        "exact" or "drawn"; "none" if all values within readers are the same.
    """

    p_value: float
    method: Literal["exact", "drawn", "none"]


@dataclass(frozen=True)
class PanelsComparison:
    """What `compare_panels` found; as text, a sentence of a paper.

    Attributes
    ----------
    difference
        Mean of a minus mean of b.
    standard_error, df, low, high, level
        Of the difference, for other readers and cases. NaN where only a value per reader is known.
    p_value, alternative, method
        Of the test that was asked for: "two-way", or "published", the permutation test.
    design
        "disjoint" panels, or the "same" readers in both arms.
    readers_a, readers_b
        How many there are.
    published
        The permutation test: readers of disjoint panels relabelled, or the two values of each reader swapped.
    """

    difference: float
    standard_error: float
    df: float
    low: float
    high: float
    level: float
    p_value: float
    alternative: Tail
    method: TestMethod
    design: PanelDesign
    readers_a: int
    readers_b: int
    published: PanelPermutation

    @property
    def speaks_for(self) -> str:
        """What the test holds for."""
        if self.method == "published":
            return "other readers, on these cases"
        return "other readers and cases" if min(self.readers_a, self.readers_b) > 1 else "other cases"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        tests = {
            "two-way": "variance of cases and readers of two panels",
            "published": "permutation test of the readers of two panels",
        }
        return record(asdict(self), test=tests[self.method], speaks_for=self.speaks_for, df_rule=DF_RULE)

    def __str__(self) -> str:
        disjoint = self.design == "disjoint"
        who = (
            f"{self.readers_a} readers against {self.readers_b} others"
            if disjoint
            else f"{self.readers_a} readers in both arms"
        )
        how = "relabelled" if disjoint else "swapped within readers"
        if self.method == "published":
            return (
                f"Difference of means {self.difference:+.4f}; permutation test ({self.published.method}) of {who}, "
                f"{how}, {SIDES[self.alternative]}: p = {self.p_value:.3g}, for {self.speaks_for}."
            )
        return (
            f"Difference of means {self.difference:+.4f} ({100 * self.level:g} % CI {self.low:.4f} to {self.high:.4f}; "
            f"t, {self.df:.1f} degrees of freedom) of {who}, {SIDES[self.alternative]}: p = {self.p_value:.3g}, for "
            f"{self.speaks_for}; permutation test, {how}, on these cases: p = {self.published.p_value:.3g}."
        )


class Arm(NamedTuple):
    """The readers of an arm: the value of each, and what each case contributes to it, readers × cases."""

    readers: tuple[str, ...]
    values: Floats
    parts: Floats | None


def compare_panels(
    a: Mapping[str, ArrayLike],
    b: Mapping[str, ArrayLike],
    truth: ArrayLike | None = None,
    *,
    measure: PanelMeasure | None = None,
    weight: ArrayLike | None = None,
    alternative: Tail = "two-sided",
    method: TestMethod = "two-way",
    level: float = 0.95,
    decimals: int = 4,
) -> PanelsComparison:
    """Two panels of readers, or the same readers in two arms.

    Parameters
    ----------
    a, b
        By the name of the reader: one value per case, a call of 0 or 1 or for "auroc" a rating, NaN where the reader
        did not read the case. Or, without truth, one value of each reader, such as a specificity or an agreement.
    truth, measure, weight
        0 or 1 per case; what is compared; and the weight of each case.
    alternative
        What a small p speaks for: a is "greater" or "less" than b, or either.
    method
        "two-way" accounts for cases and readers. "published" is a permutation test of a value per reader. It speaks of
        other readers on the same cases only: what two modalities or two schools do differently on single cases is no
        chance to it, and it claims too much (docs/explanation/calibration.md). Without truth there is no other.
    level
        Of the interval.
    decimals
        That values, or differences within readers, are rounded to by the permutation test, so that their sums can be
        counted.

    Notes
    -----
    For disjoint panels V = S²_a/n_a + S²_b/n_b + C_a + C_b − 2C_ab; for the same readers, with d the differences within
    them, V = S²_d/n + C_d. See `_two_way`. The permutation test relabels panels without a common reader
    (`permutation_test`), and lets the two values of a reader change places if both have the same readers (`sign_flip`).
    Panels that share some readers only, such as all of them and the experts, can be compared by neither, and are
    refused.

    Examples
    --------
    >>> compare_panels({"r1": 0.81, "r2": 0.77, "r3": 0.90}, {"r1": 0.80, "r2": 0.75, "r3": 0.87}).p_value
    0.25
    >>> truth = [1, 1, 1, 1, 0, 0]
    >>> some = {"r1": [1, 1, 1, 0, 0, 0], "r2": [1, 1, 0, 1, 0, 0]}
    >>> others = {"r3": [1, 0, 0, 1, 0, 0], "r4": [0, 1, 0, 0, 0, 0]}
    >>> found = compare_panels(some, others, truth, measure="sensitivity")
    >>> found.difference, found.low < 0.375 < found.high
    (0.375, True)
    """
    one_of("alternative", alternative, SIDES)
    one_of("method", method, METHODS)
    if truth is None:
        if measure is not None or weight is not None:
            msg = "a measure and weights are of reads: they need the truth of the cases"
            raise ValueError(msg)
        first, second = (Arm(tuple(of), np.array([*of.values()], float), None) for of in (a, b))
        if wrong := [name for name, arm in (("a", first), ("b", second)) if arm.values.ndim != 1]:
            msg = f"{' and '.join(wrong)} have several values per reader: reads of cases need the truth of the cases"
            raise ValueError(msg)
        return compare_arms(first, second, Asked(level, alternative, math.nan), method="published", decimals=decimals)
    one_of("measure", measure, _MEASURES)
    assert measure is not None
    t, w = _checked_cases(truth, weight)
    first, second = (_measured(of, name, t, w, measure) for name, of in (("a", a), ("b", b)))
    return compare_arms(first, second, Asked(level, alternative, smaller_class(t, w)), method=method, decimals=decimals)


def compare_arms(a: Arm, b: Arm, asked: Asked, *, method: TestMethod, decimals: int = 4) -> PanelsComparison:
    """Two arms whose readers are the same, in any order, or all different."""
    shared = set(a.readers) & set(b.readers)
    if shared and len(shared) < max(len(a.readers), len(b.readers)):
        names = ", ".join(sorted(shared)[:_NAMED]) + (" …" if len(shared) > _NAMED else "")
        msg = f"the panels share some readers and not all ({names}): compare disjoint panels, or the same readers"
        raise ValueError(msg)
    if shared:
        at = [b.readers.index(name) for name in a.readers]
        b = Arm(a.readers, b.values[at], None if b.parts is None else b.parts[at])
        flips = sign_flip(
            a.values, b.values, better="higher", decimals=decimals, alternative=_DIRECTION[asked.alternative]
        )
        published = PanelPermutation(flips.p, flips.method)
    else:
        relabelled = permutation_test(
            a.values, b.values, statistic="difference", alternative=asked.alternative, decimals=decimals
        )
        published = PanelPermutation(relabelled.p_value, relabelled.method)
    numbers = dict.fromkeys(("standard_error", "df", "low", "high"), math.nan)
    numbers |= {"difference": float(np.mean(a.values) - np.mean(b.values)), "p_value": published.p_value}
    if method == "two-way":
        assert a.parts is not None
        assert b.parts is not None
        if shared:
            found = compare_pairs(a.values - b.values, a.parts - b.parts, asked)
        else:
            found = compare_groups(a.values, a.parts, b.values, b.parts, asked)
        numbers = found._asdict()
    return PanelsComparison(
        level=asked.level,
        alternative=asked.alternative,
        method=method,
        design="same" if shared else "disjoint",
        readers_a=len(a.readers),
        readers_b=len(b.readers),
        published=published,
        **numbers,
    )


def _checked_cases(truth: ArrayLike, weight: ArrayLike | None) -> tuple[Floats, Floats]:
    t = np.asarray(truth, dtype=np.float64)
    w = np.ones(t.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    problems = [] if t.ndim == 1 and t.shape == w.shape else [f"their shapes are {t.shape} and {w.shape}"]
    problems += [] if np.isin(t, (0, 1)).all() else ["truth is not 0 or 1 everywhere"]
    problems += [] if (np.isfinite(w) & (w >= 0)).all() else ["weights are not finite and from 0 on everywhere"]
    if problems:
        msg = "truth and weights are one per case: " + "; ".join(problems)
        raise ValueError(msg)
    return t, w


def _measured(reads: Mapping[str, ArrayLike], arm: str, truth: Floats, weight: Floats, measure: PanelMeasure) -> Arm:
    """Values and contributions of the readers of an arm; everything that is wrong is said at once."""
    values, parts, problems = [], [], []
    for name, given in reads.items():
        row = np.asarray(given, dtype=np.float64)
        if row.shape != truth.shape:
            problems.append(f"{name} has reads of shape {row.shape} for {truth.size} cases")
            continue
        read = ~np.isnan(row)
        classes = {"sensitivity": (1,), "specificity": (0,)}.get(measure, (0, 1))
        problems += [
            f"{name} read no {'positive' if side else 'negative'} case of a weight above 0"
            for side in classes
            if not weight[read & (truth == side)].sum() > 0
        ]
        if measure != "auroc" and not np.isin(row[read], (0, 1)).all():
            problems.append(f"{name} has calls other than 0 and 1")
        if problems:
            continue
        value, part = _influence(truth, row, read, weight, measure)
        values.append(value)
        parts.append(part)
    if problems or not reads:
        msg = f"panel {arm} cannot be compared: " + ("; ".join(problems) or "it has no readers")
        raise ValueError(msg)
    return Arm(tuple(reads), np.array(values), np.nan_to_num(np.array(parts)))


def _influence(
    truth: Floats, row: Floats, read: np.ndarray[Any, np.dtype[np.bool_]], weight: Floats, measure: PanelMeasure
) -> tuple[float, Floats]:
    if measure == "auroc":
        part = np.zeros(truth.shape)
        value, part[read] = auroc_influence(truth[read] > 0, row[read], weight[read])
        return value, part
    side = 1.0 if measure == "sensitivity" else 0.0
    whole = (read & (truth == side)).astype(np.float64)
    return share_influence(whole * (np.nan_to_num(row) == side), whole, weight)
