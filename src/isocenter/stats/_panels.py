"""Algorithms against the readers of a study at the readers' operating points, by relabelling who is who."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isocenter.metrics._roc import operating_point
from isocenter.resampling.permutations import Tail
from isocenter.stats._differences import Floats, one_of
from isocenter.stats._matching import CONJUGATES, Match, PatientMatch, Tie, match_operating_point
from isocenter.stats._permutation import PermutationStatistic, PermutationTest, permutation_test
from isocenter.stats._provenance import record

# Values are means of shares of cases: what differs by less is a difference of no case, or only rounding. Differences
# have few enough decimals for their sums to be counted, whatever the size of the panel.
_DECIMALS: dict[PermutationStatistic, int] = {"difference": 4, "rank": 9}
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
        return record(asdict(self), method="permutation test of readers and instances at the readers' operating points")

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
    alternative: Tail = "greater",
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
    one_of("match", match, ("sensitivity", "specificity"))
    t, c, s, w = _checked(truth, calls, scores, weight)
    own, theirs = np.empty(len(c)), np.empty((len(c), len(s)))
    for j, called in enumerate(c):
        read = ~np.isnan(called)
        _, sensitivity, specificity = operating_point(t[read], called[read], threshold=1.0, weight=w[read])
        target, own[j] = (sensitivity, specificity) if match == "sensitivity" else (specificity, sensitivity)
        theirs[j] = [
            match_operating_point(t[read], row[read], target, match=match, weight=w[read], tie=tie).value for row in s
        ]
    return compared(own, theirs, match=match, statistic=statistic, alternative=alternative)


def compared(
    own: Floats, theirs: Floats, *, match: Match, statistic: PermutationStatistic, alternative: Tail
) -> PanelComparison:
    """Conjugate measures, of readers and of reader × instance, to what everybody is worth and its permutation test."""
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
