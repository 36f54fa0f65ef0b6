"""Covariances of the estimates of readers over cases, one row and column per reader and modality."""

from __future__ import annotations

from typing import Literal

import numpy as np

from isocenter.stats.mrmc._design import Design, Floats
from isocenter.stats.mrmc._sums import Sums

Covariance = Literal["unbiased", "delong", "jackknife"]
COVARIANCES: tuple[Covariance, ...] = ("unbiased", "delong", "jackknife")


def covariance_of(design: Design, sums: Sums, kind: Covariance) -> Floats:
    """Covariance matrix of the AUCs of all columns; see the function of each kind.

    Raises
    ------
    ValueError
        If DeLong's is asked for where somebody did not read a case, or one that knows no weights where cases have some.
    """
    if kind == "unbiased":
        return unbiased(sums)
    if np.unique(design.weight).size > 1:
        msg = f"the covariances of {kind!r} know no case weights: take 'unbiased'"
        raise ValueError(msg)
    if kind == "jackknife":
        return jackknife(design, sums)
    if not design.balanced:
        unread = np.argwhere(~design.read)
        k, c = unread[0]
        msg = (
            f"DeLong's covariances need every case read by every reader, and {len(unread)} reads are missing "
            f"(reader {design.reader[k]}, modality {design.modality[k]}, case {design.case[c]}): "
            "take 'unbiased' or 'jackknife'"
        )
        raise ValueError(msg)
    return delong(design, sums)


def unbiased(sums: Sums) -> Floats:
    """Unbiased covariances for any overlap: θₖθₗ less the mean product of kernels that share no case.

    Two readers without a common case have covariance 0.
    """
    return np.asarray(np.outer(sums.estimate, sums.estimate) - sums.top[-1] / sums.bottom[-1])


def delong(design: Design, sums: Sums) -> Floats:
    """Covariance of the placements of diseased cases over N₁ plus that of normal ones over N₀ (DeLong 1988)."""
    found = np.zeros((len(design.reader), len(design.reader)))
    for chosen in (design.positive, ~design.positive):
        found += np.atleast_2d(np.cov(sums.placements[:, chosen])) / np.count_nonzero(chosen)
    return found


def jackknife(design: Design, sums: Sums) -> Floats:
    """(n − 1)/n · Σ over cases of products of deviations of the AUCs without the case; n are all cases of the study.

    Leaving out a case that a reader did not read leaves the AUC of that reader as it is.
    """
    n = design.positive.size
    theta = sums.estimate[:, None]
    counts = np.where(
        design.positive,
        (design.read & design.positive).sum(axis=1)[:, None],
        (design.read & ~design.positive).sum(axis=1)[:, None],
    )
    without = np.where(design.read, (theta * counts - sums.placements) / (counts - 1), theta)
    deviation = without - without.mean(axis=1, keepdims=True)
    return np.asarray((n - 1) / n * (deviation @ deviation.T))
