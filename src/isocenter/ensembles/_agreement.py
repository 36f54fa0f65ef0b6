"""How far masks agree with each other: every pair of voters, and which cases are hard.

Here a voter without a mask is left out, not taken for background: who did not look does not disagree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from isocenter.ensembles._measured import masks_of
from isocenter.ensembles._open import REFERENCE, State
from isocenter.ensembles._patterns import Patterns
from isocenter.ensembles._scores import METRICS, scores_from_counts
from isocenter.ensembles._votes import CaseVotes, Votes
from isocenter.metrics import catalogue


@dataclass(frozen=True, eq=False)
class Agreement:
    """Everybody against everybody.

    Attributes
    ----------
    names
        Of rows (taken for the truth) and columns.
    per_case
        The metric by case, row and column; NaN where one of the two has no mask, or the metric is undefined.
    mean
        Its mean over the cases in which it is there, with the cases' weights; NaN where there is none.
    compared
        In how many cases it is there.
    undefined
        In how many both have a mask, and the metric still says nothing: the S-score of an empty mask as the truth, or
        the infinite distance to one.
    """

    metric: str
    names: tuple[str, ...]
    cases: tuple[str, ...]
    per_case: NDArray[np.float64]
    mean: NDArray[np.float64]
    compared: NDArray[np.int64]
    undefined: NDArray[np.int64]


def pairwise(votes: Votes, *, metric: str = "dice", reference: bool = False) -> Agreement:
    """The agreement of all pairs of voters, from the counts of their votes, or measured on their masks.

    Parameters
    ----------
    reference
        Whether the truth stands in the first row and column, under the name "reference".
    """
    names = ((REFERENCE,) if reference else ()) + votes.voters
    values = np.stack([_matrix(case, metric, names) for case in votes.cases])
    voted = np.array([[states_of(case)[name] == "voted" for name in names] for case in votes.cases])
    both = voted[:, :, None] & voted[:, None, :]
    values[~both] = np.nan
    there = ~np.isnan(values)
    weights = np.array([case.weight for case in votes.cases])[:, None, None]
    total = (weights * there).sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(there, weights * values, 0.0).sum(axis=0) / total
    return Agreement(
        metric=metric,
        names=names,
        cases=tuple(case.case for case in votes.cases),
        per_case=values,
        mean=mean,
        compared=there.sum(axis=0),
        undefined=(both & ~there).sum(axis=0),
    )


def _matrix(case: CaseVotes, metric: str, names: Sequence[str]) -> NDArray[np.float64]:
    if metric not in METRICS:
        return _measured_matrix(case, metric, names)
    where = places(case.patterns)
    chosen = [where[name] for name in names]
    tp = in_both(case.patterns)[np.ix_(chosen, chosen)]
    own = np.diagonal(tp)
    fp, fn = own[None, :] - tp, own[:, None] - tp
    return scores_from_counts(metric, tp, fp, fn, voxel_volume=case.patterns.voxel_volume)


def _measured_matrix(case: CaseVotes, metric: str, names: Sequence[str]) -> NDArray[np.float64]:
    """Who has no mask is nobody's to measure; an infinite distance, to an empty mask, has no mean."""
    masks, states = masks_of(case, metric), states_of(case)
    values = np.full((len(names), len(names)), np.nan)
    for (i, a), (j, b) in product(enumerate(names), repeat=2):
        if states[a] == states[b] == "voted":
            value = masks.of_pair(a, b, metric)
            values[i, j] = value if math.isfinite(value) else np.nan
    return values


def in_both(patterns: Patterns) -> NDArray[np.int64]:
    """Voxels that two have both marked, in the order truth, voters."""
    votes = patterns.votes.astype(np.int64)
    inside = np.hstack([np.ones((len(votes), 1), dtype=np.int64), votes])
    outside = np.hstack([np.zeros((len(votes), 1), dtype=np.int64), votes])
    both: NDArray[np.int64] = inside.T @ (inside * patterns.inside[:, None])
    both += outside.T @ (outside * patterns.outside[:, None])
    return both


def places(patterns: Patterns) -> dict[str, int]:
    """Where whose row and column of `in_both` are."""
    return {name: place for place, name in enumerate((REFERENCE, *patterns.voters))}


def states_of(case: CaseVotes) -> dict[str, State]:
    """Who has a mask in a case, the reference among them."""
    states: dict[str, State] = dict(zip(case.patterns.voters, case.states(), strict=True))
    states[REFERENCE] = "missing" if case.patterns.truth is None else "voted"
    return states


@dataclass(frozen=True, slots=True)
class CaseDifficulty:
    """How the voters did in a case: their mean, how many of them had a mask, and how many had none."""

    case: str
    mean: float | None
    voters: int
    absent: int


def case_difficulty(votes: Votes, *, metric: str = "dice", reference: bool = True) -> list[CaseDifficulty]:
    """The cases from the hardest to the easiest, by the mean of the voters.

    Parameters
    ----------
    reference
        Whether voters are measured against the truth; otherwise against each other, and a case is hard where they
        disagree.
    """
    table = pairwise(votes, metric=metric, reference=reference)
    found = []
    for case, values in zip(votes.cases, table.per_case, strict=True):
        chosen = values[0, 1:] if reference else values[~np.eye(len(values), dtype=bool)]
        there = chosen[~np.isnan(chosen)].tolist()
        present = case.states().count("voted")
        mean = math.fsum(there) / len(there) if there else None
        found.append(CaseDifficulty(case.case, mean, present, len(votes.voters) - present))
    sign = 1.0 if catalogue.get(metric).better == "higher" else -1.0
    return sorted(found, key=lambda one: (-math.inf if one.mean is None else sign * one.mean, one.case))
