"""Many values per patient, such as DVH criteria or beams: the signed-rank test with the patient as the unit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.permutations import count_as_far, list_flips, p_value
from isocenter.stats._differences import (
    ALTERNATIVES,
    TAILS,
    Alternative,
    Better,
    Decimals,
    Floats,
    Ints,
    differences,
    numbered,
    one_of,
)
from isocenter.stats._paired import upper_tail
from isocenter.stats._provenance import record
from isocenter.stats._sign_flip import MOST_FLIPPED

# z of the same terms in another order is the same z.
_NOISE = 1e-9


class ClusteredSignedRank(NamedTuple):
    """What `clustered_signed_rank` found; as text, a sentence of a paper.

    Attributes
    ----------
    z
        The statistic in units of its standard deviation; positive where the first submission is better.
    n, zeros
        Members with a difference, and without.
    clusters
        Those with a difference.
    correlation
        Of the signed ranks within clusters, from 0 to 1.
    p, alternative
        Of the alternative asked for.
    method
        "exact" from all flips of clusters, "normal" from the normal approximation; "none" if no flip changes anything.
    """

    z: float
    n: int
    zeros: int
    clusters: int
    correlation: float
    p: float
    method: Literal["exact", "normal", "none"]
    alternative: Alternative = "better"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return record(self._asdict(), test="signed-rank test of Rosner, Glynn and Lee for clusters")

    def __str__(self) -> str:
        how = {"exact": "all flips of clusters", "normal": "normal approximation", "none": "nothing can be flipped"}
        return (
            f"Signed-rank test of Rosner, Glynn and Lee of {self.n} pairs in {self.clusters} clusters ({self.zeros} "
            f"pairs more without a difference; correlation within clusters {self.correlation:.2f}; "
            f"{how[self.method]}), {ALTERNATIVES[self.alternative]}: z = {self.z:.3g}, p = {self.p:.3g}."
        )


def clustered_signed_rank(
    a: ArrayLike,
    b: ArrayLike,
    cluster: Iterable[Hashable],
    *,
    better: Better,
    decimals: Decimals = None,
    alternative: Alternative = "better",
) -> ClusteredSignedRank:
    """The signed-rank test of Rosner, Glynn and Lee for members of clusters, which may differ in size.

    `signed_rank` takes 1783 criteria of 100 patients for 1783 independent pieces of evidence; this test counts
    patients. Of up to 20 of them it takes all flips, which holds for any number; of more, the normal approximation.

    Parameters
    ----------
    a, b
        One score per member, in the same order.
    cluster
        The label of the cluster of each, such as the patient.
    better, decimals, alternative
        As in `signed_rank`. Zeros are dropped, and there is no continuity correction.

    Notes
    -----
    All differences are ranked together. With Sᵢ the sum of the signed ranks of the gᵢ members of cluster i, and ρ
    their correlation within clusters,

        T = Σ Sᵢ / (1 + (gᵢ − 1)ρ)

    has mean 0 if the signs of a cluster can flip together, and the sum of the squares of its terms as variance. ρ
    only shares out the weight between large and small clusters: with one size it cancels, and with one member per
    cluster this is the plain test. ρ is the estimate from a one-way analysis of variance, times
    1 + (1 − ρ²)/(m − 5/2) from 3 clusters on, between 0 and 1. Where the signed ranks cancel in every cluster, z is 0
    and p is 1: no flip changes anything.

    z is T in units of its standard deviation. With up to 20 clusters, p is the share of all 2ᵐ flips of whole clusters
    whose z, with a ρ of its own, is at least as far in the direction of the alternative as the one found: never below
    2⁻ᵐ, as 3 clusters cannot show much. The normal distribution would give 0.04 where that is 0.125.

    References
    ----------
    Rosner B, Glynn RJ, Lee MLT. The Wilcoxon signed rank test for paired comparisons of clustered data. Biometrics 62
    (2006) 185-192.

    Examples
    --------
    >>> doses, others = [2.1, 2.4, 3.0, 1.9, 2.2], [2.3, 2.9, 3.1, 2.2, 2.1]
    >>> found = clustered_signed_rank(doses, others, ["p1", "p1", "p2", "p3", "p3"], better="lower", decimals=1)
    >>> found.clusters, round(found.z, 3), found.p, found.method
    (3, 1.409, 0.125, 'exact')
    """
    one_of("alternative", alternative, ALTERNATIVES)
    d = differences(a, b, better=better, decimals=decimals)
    labels = numbered(cluster, d.size)[d != 0]
    zeros = int(np.count_nonzero(d == 0))
    d = d[d != 0]
    if d.size == 0:
        return ClusteredSignedRank(0.0, 0, zeros, 0, 0.0, 1.0, "none", alternative)
    clusters = _clusters(np.sign(d) * _midranks(np.abs(d)), labels)
    found, of_flip = _statistics(np.ones((1, clusters.sums.size), dtype=np.int8), clusters)
    z, correlation = float(found[0]), float(of_flip[0])
    method: Literal["exact", "normal", "none"] = (
        "none" if not clusters.sums.size else "exact" if clusters.sums.size <= MOST_FLIPPED else "normal"
    )
    p = 1.0 if method == "none" else _exact(z, clusters, alternative) if method == "exact" else _normal(z, alternative)
    return ClusteredSignedRank(z, d.size, zeros, clusters.number, correlation, p, method, alternative)


class _Clusters(NamedTuple):
    """What z depends on: signed ranks summed by cluster, and how they vary.

    Attributes
    ----------
    sums, members
        Of clusters whose signed ranks do not cancel, in an order of their own.
    number, size
        Of all clusters, and of their members.
    within, spread, mean_size
        Mean square within clusters, Σ sum² / members, and the mean size that the analysis of variance takes.
    """

    sums: Floats
    members: Ints
    number: int
    size: int
    within: float
    spread: float
    mean_size: float


def _midranks(size: Floats) -> Floats:
    group, count = np.unique(size, return_inverse=True, return_counts=True)[1:]
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[group])


def _clusters(signed: Floats, labels: Ints) -> _Clusters:
    number, members = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    sums, n, m = np.bincount(number, signed), signed.size, members.size
    order = np.lexsort((sums, members))
    flipping = order[sums[order] != 0]
    return _Clusters(
        sums=sums[flipping],
        members=members[flipping],
        number=m,
        size=n,
        within=math.fsum((signed - (sums / members)[number]) ** 2) / (n - m) if n > m else 0.0,
        spread=math.fsum(sums**2 / members),
        mean_size=(n - math.fsum(members**2) / n) / (m - 1) if m > 1 else float(n),
    )


def _statistics(signs: NDArray[np.int8], clusters: _Clusters) -> tuple[Floats, Floats]:
    """The z of each row of signs, and its correlation within clusters; 0 where nothing can be flipped."""
    flipped = signs * clusters.sums
    correlation = _correlation(flipped.sum(axis=1), clusters)
    terms = flipped / (1 + np.multiply.outer(correlation, clusters.members - 1))
    if not clusters.sums.size:
        return np.zeros(len(signs)), correlation
    return terms.sum(axis=1) / np.sqrt((terms**2).sum(axis=1)), correlation


def _correlation(totals: Floats, clusters: _Clusters) -> Floats:
    """Intraclass correlation of signed ranks with these totals, 0 where nothing can be said of it."""
    n, m = clusters.size, clusters.number
    if m in (1, n):
        return np.zeros_like(totals)
    between = (clusters.spread - totals**2 / n) / (m - 1)
    shared = np.maximum((between - clusters.within) / clusters.mean_size, 0.0)
    rho = np.divide(shared, shared + clusters.within, out=np.zeros_like(shared), where=shared > 0)
    return np.minimum(1.0, rho * (1 + (1 - rho**2) / (m - 2.5))) if m > 2 else rho


def _exact(z: float, clusters: _Clusters, alternative: Alternative) -> float:
    """The share of flips that go as far. Flipping all turns z round, so that the first cluster need not be flipped."""

    def statistics() -> Iterator[Floats]:
        for signs in list_flips(clusters.sums.size - 1):
            of_flips, _ = _statistics(np.pad(signs, ((0, 0), (1, 0)), constant_values=1), clusters)
            yield from (of_flips, -of_flips)

    return p_value(*count_as_far(statistics(), z, TAILS[alternative], noise=_NOISE), sampled=False)


def _normal(z: float, alternative: Alternative) -> float:
    return {"better": upper_tail(z), "worse": upper_tail(-z), "two-sided": 2 * upper_tail(abs(z))}[alternative]
