"""Many values per patient, such as DVH criteria or beams: the signed-rank test with the patient as the unit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from isocenter.stats._differences import ALTERNATIVES, Alternative, Better, Floats, Ints, differences, numbered, one_of
from isocenter.stats._paired import upper_tail


class ClusteredSignedRank(NamedTuple):
    """What `clustered_signed_rank` found.

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
    p
        Of the alternative asked for.
    """

    z: float
    n: int
    zeros: int
    clusters: int
    correlation: float
    p: float


def clustered_signed_rank(
    a: ArrayLike,
    b: ArrayLike,
    cluster: Iterable[Hashable],
    *,
    better: Better,
    decimals: int | None,
    alternative: Alternative = "better",
) -> ClusteredSignedRank:
    """The signed-rank test of Rosner, Glynn and Lee for members of clusters, which may differ in size.

    `signed_rank` takes 1783 criteria of 100 patients for 1783 independent pieces of evidence; this test counts
    patients. It needs about 20 of them; with fewer, take `sign_flip` with `cluster`, which holds for any number.

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
    cluster this is the plain test. It is the estimate from a one-way analysis of variance, times
    1 + (1 − ρ²)/(m − 5/2) from 3 clusters on, between 0 and 1. Where the signed ranks cancel in every cluster, z is 0
    and p is 1: no flip changes anything.

    References
    ----------
    Rosner B, Glynn RJ, Lee MLT. The Wilcoxon signed rank test for paired comparisons of clustered data. Biometrics 62
    (2006) 185-192.

    Examples
    --------
    >>> doses, others = [2.1, 2.4, 3.0, 1.9, 2.2], [2.3, 2.9, 3.1, 2.2, 2.1]
    >>> found = clustered_signed_rank(doses, others, ["p1", "p1", "p2", "p3", "p3"], better="lower", decimals=1)
    >>> found.clusters, round(found.z, 3)
    (3, 1.409)
    """
    one_of("alternative", alternative, ALTERNATIVES)
    d = differences(a, b, better=better, decimals=decimals)
    labels = numbered(cluster, d.size)[d != 0]
    zeros = int(np.count_nonzero(d == 0))
    d = d[d != 0]
    if d.size == 0:
        return ClusteredSignedRank(0.0, 0, zeros, 0, 0.0, 1.0)
    number, members = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    signed = np.sign(d) * _midranks(np.abs(d))
    correlation = _correlation(signed, number, members)
    terms = np.bincount(number, signed) / (1 + (members - 1) * correlation)
    variance = math.fsum(terms**2)
    z = math.fsum(terms) / math.sqrt(variance) if variance else 0.0
    p = {"better": upper_tail(z), "worse": upper_tail(-z), "two-sided": 2 * upper_tail(abs(z))}[alternative]
    return ClusteredSignedRank(z, d.size, zeros, members.size, correlation, p if variance else 1.0)


def _midranks(size: Floats) -> Floats:
    group, count = np.unique(size, return_inverse=True, return_counts=True)[1:]
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[group])


def _correlation(signed: Floats, number: Ints, members: Ints) -> float:
    """Intraclass correlation of the signed ranks, 0 where nothing can be said of it."""
    n, m = signed.size, members.size
    if m in (1, n):
        return 0.0
    means = np.bincount(number, signed) / members
    within = math.fsum((signed - means[number]) ** 2) / (n - m)
    between = math.fsum(members * (means - math.fsum(signed) / n) ** 2) / (m - 1)
    size = (n - math.fsum(members**2) / n) / (m - 1)
    shared = (between - within) / size
    if shared <= 0:
        return 0.0
    rho = shared / (shared + within)
    return min(1.0, rho * (1 + (1 - rho**2) / (m - 2.5))) if m > 2 else rho
