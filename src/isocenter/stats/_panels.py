"""Algorithms against the readers of a study, and readers against readers, by relabelling who is who."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from isocenter.metrics._roc import operating_point
from isocenter.stats._differences import Alternative, Floats, one_of
from isocenter.stats._matching import CONJUGATES, Match, PatientMatch, Tie, match_operating_point
from isocenter.stats._permutation import SIDES, PermutationStatistic, PermutationTest, permutation_test
from isocenter.stats._relabellings import Side
from isocenter.stats._sign_flip import sign_flip

# Values are means of shares of cases: what differs by less is a difference of no case, or only rounding. Differences
# have few enough decimals for their sums to be counted, whatever the size of the panel.
_DECIMALS: dict[PermutationStatistic, int] = {"difference": 4, "rank": 9}
_DIRECTION: dict[Side, Alternative] = {"greater": "better", "less": "worse", "two-sided": "two-sided"}
_ROUNDING = 1e-12
_NAMED = 5


@dataclass(frozen=True)
class PanelComparison:
    """What `compare_with_panel` found; as text, a sentence of a paper.

    Attributes
    ----------
    match, conjugate
        What instances are set to, reader by reader, and what is compared.
    reader_conjugates
        Of each reader, on the cases that they read.
    instance_conjugates
        Of each reader, those of all instances on the same cases at the reader's operating point.
    difference
        Mean over readers of: the instances' mean minus the reader.
    reader_values, instance_values
        What was relabelled, one per reader and one per instance.
    test
        Instances are its a, readers its b.
    """

    match: Match
    conjugate: Match
    reader_conjugates: tuple[float, ...]
    instance_conjugates: tuple[tuple[float, ...], ...]
    difference: float
    reader_values: tuple[float, ...]
    instance_values: tuple[float, ...]
    test: PermutationTest

    @property
    def p_value(self) -> float:
        """Of the permutation test."""
        return self.test.p_value

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        readers = len(self.reader_values)
        return (
            f"At the {self.match} of each of {readers} readers, the {self.conjugate} of {len(self.instance_values)} "
            f"instances is {np.mean(self.instance_conjugates):.3f} and that of the readers "
            f"{np.mean(self.reader_conjugates):.3f} (difference {self.difference:+.3f}); {self.test}"
        )


def compare_with_panel(
    truth: ArrayLike,
    calls: ArrayLike,
    scores: ArrayLike,
    *,
    match: PatientMatch = "sensitivity",
    weight: ArrayLike | None = None,
    tie: Tie = "mean",
    statistic: PermutationStatistic = "difference",
    alternative: Side = "greater",
) -> PanelComparison:
    """Trained instances of an algorithm against the readers of a study, at the operating point of each reader.

    Parameters
    ----------
    truth
        0 or 1 per case.
    calls
        One row per reader, one column per case: 0, 1, or NaN where the reader did not read the case. In a split-plot
        every reader is compared on the cases that they read.
    scores
        One row per instance, one column per case.
    match, tie
        See `match_operating_point`.
    weight
        Per case, of inverse probabilities of selection; in the matching and in what is compared.
    statistic
        "difference" compares means of how much better everybody is than the others, "rank" the shares of others that
        they beat, as PI-CAI's code does.
    alternative
        "greater": instances are better than readers.

    Notes
    -----
    At the operating point of reader j there are K + 1 conjugate measures, c_j of the reader and c_jk of the instances.
    The value of the reader is c_j minus the mean of the c_jk (or the share of them that c_j is above, ties one half);
    that of instance k is the mean over readers of c_jk minus the mean of the K others (or the share of these). Values
    of readers and instances are relabelled by `permutation_test`, rounded to 4 decimals, or to 9 for ranks.

    The cases are taken as they are: the test speaks of other readers and other trainings, not of other cases. Values of
    instances are means over readers, so they spread less than those of readers; with fewer instances than readers the
    test is on the safe side, with more it may not be.
    """
    t, c, s, w = _checked(truth, calls, scores, weight)
    own, theirs = np.empty(len(c)), np.empty((len(c), len(s)))
    for j, called in enumerate(c):
        read = ~np.isnan(called)
        _, sensitivity, specificity = operating_point(t[read], called[read], threshold=1.0, weight=w[read])
        target, own[j] = (sensitivity, specificity) if match == "sensitivity" else (specificity, sensitivity)
        theirs[j] = [
            match_operating_point(t[read], row[read], target, match=match, weight=w[read], tie=tie).value for row in s
        ]
    of_readers, of_instances = _values(own, theirs, statistic)
    return PanelComparison(
        match=match,
        conjugate=CONJUGATES[match],
        reader_conjugates=tuple(own.tolist()),
        instance_conjugates=tuple(map(tuple, theirs.tolist())),
        difference=float((theirs.mean(axis=1) - own).mean()),
        reader_values=tuple(of_readers.tolist()),
        instance_values=tuple(of_instances.tolist()),
        test=permutation_test(
            of_instances, of_readers, statistic=statistic, alternative=alternative, decimals=_DECIMALS[statistic]
        ),
    )


def _values(own: Floats, theirs: Floats, statistic: PermutationStatistic) -> tuple[Floats, Floats]:
    """What each reader and each instance is worth among the others."""
    everybody = np.column_stack([own, theirs])
    ahead = everybody[:, :, None] - everybody[:, None, :]
    if statistic == "rank":
        ahead = (np.sign(np.where(np.abs(ahead) <= _ROUNDING, 0.0, ahead)) + 1) / 2
        ahead -= 0.5 * np.eye(everybody.shape[1])  # nobody is an opponent of their own
    worth = ahead.sum(axis=2) / theirs.shape[1]
    return worth[:, 0], worth[:, 1:].mean(axis=0)


def _checked(
    truth: ArrayLike, calls: ArrayLike, scores: ArrayLike, weight: ArrayLike | None
) -> tuple[Floats, Floats, Floats, Floats]:
    t = np.asarray(truth, dtype=np.float64)
    c, s = (np.atleast_2d(np.asarray(rows, dtype=np.float64)) for rows in (calls, scores))
    w = np.ones(t.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    if t.ndim != 1 or w.shape != t.shape or any(x.ndim != 2 or x.shape[1:] != t.shape or not x.size for x in (c, s)):
        msg = (
            "truth and weights are one per case, calls and scores one row per reader and instance; "
            f"their shapes are {t.shape}, {w.shape}, {c.shape} and {s.shape}"
        )
        raise ValueError(msg)
    problems = [] if np.isin(t, (0, 1)).all() else ["truth is not 0 or 1 everywhere"]
    if not (np.isfinite(w) & (w >= 0)).all():
        problems.append("weights are not finite and from 0 on everywhere")
    problems += [f"instance {k} has no finite score everywhere" for k in np.flatnonzero(~np.isfinite(s).all(axis=1))]
    for j, row in enumerate(c):
        read = ~np.isnan(row)
        if not np.isin(row[read], (0, 1)).all():
            problems.append(f"reader {j} has calls other than 0 and 1")
        problems += [
            f"reader {j} read no {name} case of a weight above 0"
            for name, value in (("positive", 1), ("negative", 0))
            if not w[read & (t == value)].sum() > 0
        ]
    if problems:
        more = f"; and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
        msg = "readers and instances (counting from 0) cannot be compared: " + "; ".join(problems[:_NAMED]) + more
        raise ValueError(msg)
    return t, c, s, w


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
    alternative: Side
    design: Literal["disjoint", "same"]
    readers_a: int
    readers_b: int
    method: Literal["exact", "drawn", "none"]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

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
    a: Mapping[str, float], b: Mapping[str, float], *, alternative: Side = "two-sided", decimals: int = 4
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
