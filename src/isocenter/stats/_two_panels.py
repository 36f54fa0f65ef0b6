"""Readers against readers: two panels, or the same readers in two arms, by relabelling who is who."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from isocenter.resampling.permutations import Tail
from isocenter.stats._differences import Alternative, one_of
from isocenter.stats._permutation import SIDES, permutation_test
from isocenter.stats._provenance import record
from isocenter.stats._sign_flip import sign_flip

_DIRECTION: dict[Tail, Alternative] = {"greater": "better", "less": "worse", "two-sided": "two-sided"}
_NAMED = 5


@dataclass(frozen=True)
class PanelsComparison:
    """What `compare_panels` found; as text, a sentence of a paper.

    Attributes
    ----------
    difference
        Mean of a minus mean of b.
    p_value, alternative
        Of the alternative asked for.
    design
        "disjoint" panels were relabelled; of the "same" readers in both arms, values were swapped within readers.
    readers_a, readers_b
        How many there are.
    method
        "exact" or "drawn"; "none" if all values within readers are the same.
    """

    difference: float
    p_value: float
    alternative: Tail
    design: Literal["disjoint", "same"]
    readers_a: int
    readers_b: int
    method: Literal["exact", "drawn", "none"]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return record(asdict(self), test="permutation test of the readers of two panels")

    def __str__(self) -> str:
        who = (
            f"{self.readers_a} readers against {self.readers_b} others, relabelled"
            if self.design == "disjoint"
            else f"{self.readers_a} readers in both arms, swapped within readers"
        )
        return (
            f"Difference of means {self.difference:+.4f}; permutation test ({self.method}) of {who}, "
            f"{SIDES[self.alternative]}: p = {self.p_value:.3g}."
        )


def compare_panels(
    a: Mapping[str, float], b: Mapping[str, float], *, alternative: Tail = "two-sided", decimals: int = 4
) -> PanelsComparison:
    """Two panels of readers, or the same readers in two arms, by a value per reader.

    Parameters
    ----------
    a, b
        A value of each reader by name: specificity at an operating point, agreement, AUROC.
    alternative
        What a small p speaks for: a is "greater" or "less" than b, or either.
    decimals
        That values, or differences within readers, are rounded to, so that their sums can be counted.

    Notes
    -----
    Panels without a common reader are relabelled (`permutation_test`). If both have the same readers, the two values of
    a reader change places (`sign_flip`). Panels that share some readers only, such as all of them and the experts, can
    be compared by neither, and are refused.

    Examples
    --------
    >>> compare_panels({"r1": 0.81, "r2": 0.77, "r3": 0.90}, {"r1": 0.80, "r2": 0.75, "r3": 0.87}).p_value
    0.25
    """
    one_of("alternative", alternative, SIDES)
    shared, first, second = a.keys() & b.keys(), np.array([*a.values()], float), np.array([*b.values()], float)
    difference = float(np.mean(first) - np.mean(second)) if a and b else float("nan")
    if shared and len(shared) < max(len(a), len(b)):
        names = ", ".join(sorted(shared)[:_NAMED]) + (" …" if len(shared) > _NAMED else "")
        msg = f"the panels share some readers and not all ({names}): compare disjoint panels, or the same readers"
        raise ValueError(msg)
    if not shared:
        test = permutation_test(first, second, statistic="difference", alternative=alternative, decimals=decimals)
        return PanelsComparison(difference, test.p_value, alternative, "disjoint", len(a), len(b), test.method)
    paired = np.array([b[name] for name in a], float)
    flips = sign_flip(first, paired, better="higher", decimals=decimals, alternative=_DIRECTION[alternative])
    return PanelsComparison(difference, flips.p, alternative, "same", len(a), len(b), flips.method)
