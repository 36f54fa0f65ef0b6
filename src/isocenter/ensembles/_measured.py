"""Metrics that counts of votes do not tell, such as distances of surfaces: the masks are painted and measured.

What is kept of a case are its masks as bits (`Ballot`), some kilobytes of a tumour. Whatever is measured is remembered,
so that a table of the ensembles that were tried measures nothing twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isocenter.ensembles._ballots import Ballot, around
from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._open import REFERENCE, Progress
from isocenter.ensembles._patterns import Patterns, slabs
from isocenter.ensembles._scores import METRICS, Scores
from isocenter.ensembles._subsets import every_ensemble
from isocenter.metrics import mask_metrics, measure_masks, needs_tolerance

if TYPE_CHECKING:
    from isocenter.ensembles._fusion import Rule
    from isocenter.ensembles._votes import CaseVotes, Votes

MOST_PAINTED = 200
"""Ensembles that are painted and measured one by one: all of six solutions. A surface takes some tenths of a second."""

Key = tuple[str, bytes | tuple[str, str]]
"""A metric, and of what: the patterns that are foreground against the truth, or one voter against another."""


@dataclass(frozen=True, eq=False)
class Masks:
    """The masks of a case: by voter, and the truth under "reference"; and what was measured on them so far."""

    ballots: Mapping[str, Ballot]
    spacing: tuple[float, float, float]
    tolerance_mm: float | None = None
    measured: dict[Key, float] = field(default_factory=dict)

    def of_rules(self, patterns: Patterns, accepted: Sequence[NDArray[np.bool_]], metric: str) -> list[float]:
        """The metric of what each of some rules paints against the truth; given are the patterns that they accept."""
        keys: list[Key] = [(metric, one.tobytes()) for one in accepted]
        unknown = {key: one for key, one in zip(keys, accepted, strict=True) if key not in self.measured}
        if unknown:
            codes = paint_codes([*(self.ballots[voter] for voter in patterns.voters), self.ballots[REFERENCE]])
            truth = codes >> len(patterns.voters) & 1 == 1
            codes &= np.uint32((1 << len(patterns.voters)) - 1)
            for key, one in unknown.items():
                if one.any() and patterns.codes[one][0] == 0:
                    msg = f"{metric} is not measured of a mask with voxels that nobody marked"
                    raise EnsembleError(msg)
                table = np.zeros(1 << len(patterns.voters), np.bool_)
                table[patterns.codes[one]] = True
                self.measured[key] = self._measure(truth, table[codes], metric)
        return [self.measured[key] for key in keys]

    def of_pair(self, a: str, b: str, metric: str) -> float:
        """The metric of one voter's mask against another's, which is taken for the truth."""
        key: Key = (metric, (a, b))
        if key not in self.measured:
            codes = paint_codes([self.ballots[a], self.ballots[b]])
            self.measured[key] = self._measure(codes & 1 == 1, codes & 2 == 2, metric)
        return self.measured[key]

    def _measure(self, truth: NDArray[np.bool_], other: NDArray[np.bool_], metric: str) -> float:
        return measure_masks(truth, other, [metric], spacing=self.spacing, tolerance_mm=self.tolerance_mm)[metric]


def paint_codes(ballots: Sequence[Ballot]) -> NDArray[np.uint32]:
    """The votes of all voxels in the box around everything that is marked, axes (x, y, z); ballot i has bit i."""
    low, high = around(ballots)
    painted: NDArray[np.uint32] | None = None
    for (_, _, z), codes, taken in slabs(ballots):
        if painted is None:
            painted = np.zeros((high[2] - low[2], *codes.shape[1:]), np.uint32)
        depth = min(len(codes), high[2] - z)
        painted[z - low[2] : z - low[2] + depth] = codes[:depth]
        codes[:], taken[:] = 0, False  # they are used again
    return np.zeros((1, 1, 1), np.uint32) if painted is None else painted.T


def check_metric(metric: str, tolerance_mm: float | None) -> None:
    """Raise for what is not a metric of two masks, and for surface Dice without a tolerance."""
    if metric not in mask_metrics():
        msg = f"{metric} is not a metric of two masks; those are {', '.join(mask_metrics())}"
        raise EnsembleError(msg)
    if needs_tolerance(metric) and tolerance_mm is None:
        msg = f"{metric} is the share of the surfaces within a tolerance, which has to be named"
        raise EnsembleError(msg)


def masks_of(case: CaseVotes, metric: str) -> Masks:
    """The masks of a case, if they were kept."""
    if case.masks is None:
        msg = (
            f"{metric} is not made of overlap counts; those that are: {', '.join(METRICS)}. To measure it, keep the "
            "masks when votes are counted (keep_masks)"
        )
        raise EnsembleError(msg)
    check_metric(metric, case.masks.tolerance_mm)
    return case.masks


def painted_scores(case: CaseVotes, metric: str) -> Scores:
    """The metric of every ensemble in one case, in the order of `every_ensemble`; each is painted and measured."""
    voters = case.patterns.voters
    if (number := len(voters) << (len(voters) - 1)) > MOST_PAINTED:
        msg = (
            f"{metric} is measured on the masks of every ensemble, and {len(voters)} submissions have {number:,}, more "
            f"than {MOST_PAINTED}: name fewer submissions, one ensemble, or a metric of overlap ({', '.join(METRICS)})"
        )
        raise EnsembleError(msg)
    accepted = [rule.accept(case.patterns) for rule in every_ensemble(voters)]
    return np.array(masks_of(case, metric).of_rules(case.patterns, accepted, metric))


def measure_votes(
    votes: Votes,
    metrics: Sequence[str],
    rules: Sequence[Rule] | None = None,
    *,
    pairs: Sequence[tuple[str, str]] = (),
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> None:
    """Measure ahead, many cases at once, what other functions would measure case by case when they need it.

    Parameters
    ----------
    rules
        What is painted; all ensembles if not said, none if pairs are.
    pairs
        Who is measured against whom, the one that is taken for the truth first.
    """
    names = [metric for metric in metrics if metric not in METRICS]
    if not names:
        return
    work = _Ahead(tuple(names), None if rules is None else tuple(rules), tuple(pairs))
    found = (executor.map if executor else map)(work, votes.cases)
    for done, (case, measured) in enumerate(zip(votes.cases, found, strict=True), start=1):
        if case.masks is not None:
            case.masks.measured.update(measured)
        if progress is not None:
            progress(done, len(votes.cases), case.case)


@dataclass(frozen=True)
class _Ahead:
    """One case; it travels to other processes."""

    metrics: tuple[str, ...]
    rules: tuple[Rule, ...] | None
    pairs: tuple[tuple[str, str], ...]

    def __call__(self, case: CaseVotes) -> dict[Key, float]:
        states = dict(zip(case.patterns.voters, case.states(), strict=True))
        for metric in self.metrics:
            masks = masks_of(case, metric)
            for a, b in self.pairs:
                if all(states.get(name, "voted") == "voted" and name in masks.ballots for name in (a, b)):
                    masks.of_pair(a, b, metric)
            if self.rules is not None:
                masks.of_rules(case.patterns, [rule.accept(case.patterns) for rule in self.rules], metric)
            elif not self.pairs:
                painted_scores(case, metric)
        return {} if case.masks is None else case.masks.measured
