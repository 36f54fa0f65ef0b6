"""Moments of success of a pair of modalities, what they weigh in a variance, and the tables made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from isocenter.stats.mrmc._design import Floats
from isocenter.stats.mrmc._sums import Sums

# What two kernels share, in the order of the moments: R the reader, N the normal case, D the diseased one. An end-point
# of one class has one kind of case only.
_SHARED = {
    "auc": ("RND", "DR", "NR", "R", "ND", "D", "N", ""),
    "sensitivity": ("DR", "R", "D", ""),
    "specificity": ("NR", "R", "N", ""),
}
# Classes of `Sums` that are in "at least this shared", one row per class.
_AT_LEAST = {4: ((1, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0), (1, 1, 1, 1)), 2: ((1, 0), (1, 1))}

Table = dict[str, float]


@dataclass(frozen=True)
class Moments:
    """Mean products of kernels of modalities A and B, by what the two kernels share.

    Attributes
    ----------
    shared
        What the kernels of each moment share, as letters: "NR" is the same reader and the same normal case.
    unbiased
        The mean over pairs of kernels that share this and no more; 0 where there is no such pair. M1 to M8 of an AUC.
    mle
        The mean over pairs that share this or more: the moment of the empirical distribution.
    coefficients
        What each weighs in the covariance, a function of the design alone: the share of such pairs among all, and 1
        less for the last.
    """

    shared: tuple[str, ...]
    unbiased: Floats
    mle: Floats
    coefficients: Floats

    @property
    def covariance(self) -> float:
        """Unbiased covariance of the estimates of A and B."""
        return float(self.coefficients @ self.unbiased)

    @property
    def mle_covariance(self) -> float:
        """The same from the moments of the empirical distribution: what a bootstrap of readers and cases tends to."""
        return float(self.coefficients @ self.mle)

    def named(self, values: Floats) -> Table:
        """Values of moments by name, M1 the first."""
        return {f"M{n}": float(value) for n, value in enumerate(values, 1)}

    def components(self, moments: Floats) -> Table:
        """Variance components of Barrett, Clarkson and Kupinski: N, D, R and their interactions; 0 where absent.

        The component of a set of factors F is Σ over G ⊆ F of (−1)^|F − G| · M(G), M(G) the moment that shares G.
        """
        of = {frozenset(shared): moment for shared, moment in zip(self.shared, moments.tolist(), strict=True)}
        weights = self.component_coefficients
        return {
            factors: sum((-1) ** (len(factors) - len(part)) * of[part] for part in _parts(factors)) if weight else 0.0
            for factors, weight in weights.items()
        }

    @property
    def component_coefficients(self) -> Table:
        """What each component weighs in the covariance: the sum of the coefficients of all that share its factors."""
        pairs = list(zip(self.shared, self.coefficients.tolist(), strict=True))
        return {
            factors: sum(weight for shared, weight in pairs if set(factors) <= set(shared))
            for factors in sorted(self.shared[:-1], key=lambda f: (len(f), f))
        }


def _parts(factors: str) -> Iterator[frozenset[str]]:
    """All parts of a set of factors, itself included."""
    return (frozenset(part) for n in range(len(factors) + 1) for part in combinations(factors, n))


def moments_of(
    sums: Sums, a: list[int], b: list[int], *, weight: Floats, same_reader: NDArray[np.bool_], endpoint: str
) -> Moments:
    """Moments of the columns `a` and `b` of two modalities, or of one with itself.

    Parameters
    ----------
    sums
        Of the whole study.
    a, b
        The columns.
    weight
        Per column of the study, what a kernel of this reader weighs.
    same_reader
        Column × column: whether the two count as one reader. Readers that are fixed never do: what is left is the
        variance over cases alone.
    endpoint
        "auc", "sensitivity" or "specificity".
    """
    at = np.ix_(a, b)
    scale = np.outer(weight[a], weight[b])
    same = same_reader[at]
    top = np.array([(classes[at] * scale)[mask].sum() for mask in (same, ~same) for classes in sums.top])
    bottom = np.array([(classes[at] * scale)[mask].sum() for mask in (same, ~same) for classes in sums.bottom])
    number = len(sums.top)
    lump = np.kron([[1, 0], [1, 1]], _AT_LEAST[number])
    coefficients = bottom / bottom.sum()
    coefficients[-1] -= 1.0
    return Moments(_SHARED[endpoint], _ratio(top, bottom), _ratio(lump @ top, lump @ bottom), coefficients)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def dbm_table(parts: tuple[Table, ...], cross: Table, normal: int, diseased: int) -> Table:
    """Components of Dorfman, Berbaum and Metz of a fully crossed study, from those of Barrett, Clarkson and Kupinski.

    R, C (cases) and RC; with two modalities these are what both share, and TR, TC and TRC what they do not.
    """
    own = [_by_case(part, normal, diseased) for part in parts]
    shared = _by_case(cross, normal, diseased)
    if len(parts) == 1:
        return shared
    return shared | {f"T{name}": sum(part[name] for part in own) / 2 - shared[name] for name in shared}


def _by_case(part: Table, normal: int, diseased: int) -> Table:
    total = normal + diseased
    case = part["N"] / normal + part["D"] / diseased + part["ND"] / (normal * diseased)
    with_reader = part["NR"] / normal + part["DR"] / diseased + part["RND"] / (normal * diseased)
    return {"R": part["R"], "C": total * case, "RC": total * with_reader}


def or_table(own: tuple[Floats, ...], cross: Floats, normal: int, diseased: int) -> Table:
    """Components of Obuchowski and Rockette of a fully crossed study, from its moments M1 to M8.

    With one modality: R, the error variance and Cov2; with two also TR, Cov1 and Cov3.
    """
    pairs = normal * diseased
    c = np.array([1, normal - 1, diseased - 1, (normal - 1) * (diseased - 1) - pairs]) / pairs
    error, cov2 = (float(np.mean([c @ m[part] for m in own])) for part in (slice(0, 4), slice(4, 8)))
    reader = float(np.mean([m[3] - m[7] for m in own]))
    if len(own) == 1:
        return {"R": reader, "error": error, "cov2": cov2}
    shared = float(cross[3] - cross[7])
    components = {"R": shared, "TR": reader - shared, "error": error}
    return components | {"cov1": float(c @ cross[:4]), "cov2": cov2, "cov3": float(c @ cross[4:])}
