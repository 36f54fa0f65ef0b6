"""The analysis of variance of Obuchowski and Rockette applied to a study: which error term belongs to which readers."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isocenter.stats.mrmc._design import Design, Floats
from isocenter.stats.mrmc._rockette import ErrorTerm, Overall, crossed, nested, one_sample
from isocenter.stats.mrmc._spread import ROUNDING, Spread


@dataclass(frozen=True)
class ObuchowskiRockette:
    """Variances by analysis of variance of the estimates of readers, with their covariances over cases.

    Attributes
    ----------
    design, theta, covariance
        The study, the estimate of each column, and their covariance matrix.
    fixed
        Modalities whose readers are no sample of anything.
    readers, cases
        "random" or "fixed". What has neither random readers nor random cases has no variance.
    blocks
        Whether readers in groups that share no case get the block analysis.
    pooled
        Whether all pairs of more than two modalities have one error term.
    """

    design: Design
    theta: Floats
    covariance: Floats
    fixed: Collection[str]
    readers: str
    cases: str
    blocks: bool
    pooled: bool

    def of_modality(self, name: str) -> Spread:
        """Spread of the mean over the readers of a modality."""
        at = self.design.columns(name)
        readers = "fixed" if name in self.fixed else self.readers
        term = one_sample(self.theta[at], self.covariance[np.ix_(at, at)], readers=readers, cases=self.cases)
        return _spread({"or": term.denominator / len(at)}, term)

    def of_pair(self, a: str, b: str) -> Spread:
        """Spread of the difference of two modalities.

        Raises
        ------
        ValueError
            If some readers, but not all, read in both.
        """
        one, two = self.design.columns(a), self.design.columns(b)
        alone = self.of_modality(a), self.of_modality(b)
        apart = sum(spread.variances["or"] for spread in alone)
        still = [name in self.fixed or self.readers == "fixed" for name in (a, b)]
        paired = self.design.readers(a) == self.design.readers(b)
        if paired and still[0] == still[1]:
            term = self._pooled if self.pooled else self._crossed((a, b), "fixed" if all(still) else "random")
            variance = 2 / len(one) * term.denominator
        elif any(still):
            sample, other = (two, one) if still[0] else (one, two)
            term = self._against(sample, other, "fixed" if all(still) else "random")
            variance = term.denominator / len(sample)
        else:
            self._refuse_partly_shared(a, b)
            term = self._pooled if self.pooled else self._nested((a, b))
            variance = (1 / len(one) + 1 / len(two)) * term.denominator
        return _spread({"or": variance, "independent": apart}, term, alone)

    def overall(self) -> Overall | None:
        """Test of all modalities together; None if readers are neither all paired nor all apart, or some are fixed."""
        names = self.design.modalities
        if len(names) < 2 or (self.fixed and self.readers != "fixed") or self._structure is None:
            return None
        if self._structure == "nested" and self.readers == "fixed":
            return None
        return self._pooled.overall(len(names))

    @cached_property
    def _structure(self) -> str | None:
        panels = [set(self.design.readers(m)) for m in self.design.modalities]
        if all(panel == panels[0] for panel in panels):
            return "crossed"
        return "nested" if sum(map(len, panels)) == len(set().union(*panels)) else None

    @cached_property
    def _pooled(self) -> ErrorTerm:
        names = self.design.modalities
        return self._crossed(names, self.readers) if self._structure == "crossed" else self._nested(names)

    def _crossed(self, names: tuple[str, ...], readers: str) -> ErrorTerm:
        at = [k for name in names for k in self.design.columns(name)]
        shape = (len(names), len(at) // len(names))
        covariance = self.covariance[np.ix_(at, at)].reshape(*shape, *shape)
        groups = self._groups(names) if self.blocks else np.zeros(shape[1], dtype=np.int64)
        return crossed(self.theta[at].reshape(shape), covariance, groups, readers=readers, cases=self.cases)

    def _groups(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """Readers who are joined by cases, over any number of other readers, are of one block."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        read = np.stack([self.design.read[self.design.columns(name)] for name in names]).any(axis=0)
        count = np.asarray(read, dtype=np.int64)
        shared = csr_array(count @ count.T)
        return np.asarray(connected_components(shared, directed=False)[1], dtype=np.int64)

    def _nested(self, names: tuple[str, ...]) -> ErrorTerm:
        at = [k for name in names for k in self.design.columns(name)]
        test = np.array([names.index(self.design.modality[k]) for k in at])
        return nested(self.theta[at], test, self.covariance[np.ix_(at, at)], cases=self.cases)

    def _against(self, sample: list[int], other: list[int], readers: str) -> ErrorTerm:
        """Differences of each reader of the sample from the mean of the other modality, whose readers are fixed."""
        at = [*sample, *other]
        contrast = np.hstack([np.eye(len(sample)), np.full((len(sample), len(other)), -1 / len(other))])
        covariance = contrast @ self.covariance[np.ix_(at, at)] @ contrast.T
        return one_sample(contrast @ self.theta[at], covariance, readers=readers, cases=self.cases)

    def _refuse_partly_shared(self, a: str, b: str) -> None:
        both = sorted(set(self.design.readers(a)) & set(self.design.readers(b)))
        if both:
            msg = (
                f"an Obuchowski–Rockette analysis needs all readers of {a!r} and {b!r} to read in both, or none; "
                f"here {', '.join(both)} read in both and others in one: take method='ustat'"
            )
            raise ValueError(msg)


def _spread(variances: dict[str, float], term: ErrorTerm, alone: Collection[Spread] = ()) -> Spread:
    """The first variance that is positive; for that of two modalities alone, their df together by Satterthwaite."""
    used = next((name for name, value in variances.items() if value > ROUNDING), None)
    status = "clipped" if term.clipped else "ok"
    if used is None:
        status = "zero"
    elif used != "or":
        status = f"or not positive, {used} used, with the df of their spread"
    terms = [part.variance**2 / part.df for part in alone if part.variance > 0]
    both = variances[used] ** 2 / total if used and (total := math.fsum(terms)) > 0 else math.inf
    df = term.df if used == "or" else both
    return Spread(variances[used] if used else 0.0, df, status, variances, {"or": {"components": term.components}})
