"""Analysis of variance of Obuchowski and Rockette, with the degrees of freedom of Hillis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.stats.mrmc._design import Floats
from isocenter.stats.mrmc._moments import Table


@dataclass(frozen=True)
class Overall:
    """Test of whether all modalities are equal.

    Attributes
    ----------
    statistic
        F, or X² if `error_df` is infinite, as with fixed readers; 0 where there is no variance to compare with.
    df, error_df
        Degrees of freedom above and below.
    p
        Of the test; 1 where there is no variance to compare with.
    """

    statistic: float
    df: int
    error_df: float
    p: float


@dataclass(frozen=True)
class ErrorTerm:
    """What the differences of modalities are compared with.

    Attributes
    ----------
    denominator
        In the unit of MS(T).
    df
        Of the denominator; infinite if readers are fixed.
    clipped
        Whether a negative covariance term was taken as 0.
    components
        Mean squares, covariances and variance components, by name.
    """

    denominator: float
    df: float
    clipped: bool
    components: Table

    def overall(self, modalities: int) -> Overall:
        """F = MS(T) / denominator on t − 1 and the Hillis df; if that is infinite X² = (t − 1)·MS(T) / denominator."""
        from scipy.special import chdtrc, fdtrc

        above = modalities - 1
        if self.denominator <= 0:
            return Overall(0.0, above, self.df, 1.0)
        f = self.components["MS(T)"] / self.denominator
        if math.isinf(self.df):
            return Overall(above * f, above, math.inf, float(chdtrc(above, above * f)))
        return Overall(f, above, self.df, float(fdtrc(above, self.df, f)))


def crossed(theta: Floats, covariance: Floats, blocks: NDArray[np.int64], *, readers: str, cases: str) -> ErrorTerm:
    """Error term where all readers read in all modalities.

    Parameters
    ----------
    theta
        Modality × reader.
    covariance
        Modality × reader × modality × reader.
    blocks
        Per reader. One block for all is the ordinary analysis. With G blocks that share no case, MS(TR) is pooled
        within blocks and Cov2, Cov3 are means over readers of one block (Hillis 2014).
    readers, cases
        "random" or "fixed".

    Notes
    -----
    Random readers and cases: MS(TR) + (r/G)·max(Cov2 − Cov3, 0). Random readers only: MS(TR). Random cases only:
    Var(ε) − Cov1 + (r/G − 1)·max(Cov2 − Cov3, 0). df = denominator² / (MS(TR)² / ((t − 1)(r − G))).

    References
    ----------
    Hillis SL. A comparison of denominator degrees of freedom methods for multiple observer ROC analysis. Stat Med 26
    (2007).
    Hillis SL. A marginal-mean ANOVA approach for analyzing multireader multicase radiological imaging data. Stat Med 33
    (2014).
    """
    t, r = theta.shape
    groups = [np.flatnonzero(blocks == g) for g in np.unique(blocks)]
    size = r / len(groups)
    rest = np.concatenate([_interaction(theta[:, group]) for group in groups], axis=1)
    within = (t - 1) * (r - len(groups))
    ms_t = r * float(theta.mean(axis=1).var(ddof=1))
    ms_r = t * float(theta.mean(axis=0).var(ddof=1)) if r > 1 else 0.0
    ms_tr = float((rest**2).sum()) / within if within else 0.0
    same_test, same_reader = np.eye(t, dtype=bool)[:, None, :, None], np.eye(r, dtype=bool)[None, :, None, :]
    block = (blocks[:, None] == blocks)[None, :, None, :]
    error = _mean(covariance, same_test & same_reader)
    cov1 = _mean(covariance, ~same_test & same_reader)
    cov2 = _mean(covariance, same_test & ~same_reader & block)
    cov3 = _mean(covariance, ~same_test & ~same_reader & block)
    components = {
        "MS(T)": ms_t,
        "MS(R)": ms_r,
        "MS(TR)": ms_tr,
        "error": error,
        "cov1": cov1,
        "cov2": cov2,
        "cov3": cov3,
        "R": (ms_r - ms_tr) / t - cov1 + cov3,
        "TR": ms_tr - error + cov1 + cov2 - cov3,
    }
    apart = max(cov2 - cov3, 0.0)
    if readers == cases == "fixed":
        return ErrorTerm(0.0, math.inf, clipped=False, components=components)
    if readers == "fixed":
        return ErrorTerm(error - cov1 + (size - 1) * apart, math.inf, cov2 < cov3, components)
    if cases == "fixed":
        return _random_readers(ms_tr, 0.0, within, components)
    return _random_readers(ms_tr, size * (cov2 - cov3), within, components)


def nested(theta: Floats, test: NDArray[np.int64], covariance: Floats, *, cases: str) -> ErrorTerm:
    """Error term where every reader reads in one modality only.

    MS(R(T)) + n₀·max(Cov2 − Cov3, 0), n₀ = (N² − Σnᵢ²) / (N(t − 1)) for nᵢ readers in modality i and N in all; df =
    denominator² / (MS(R(T))² / (N − t)). A difference has the variance (1/nₐ + 1/n_b) · denominator. With fixed cases
    the covariances are left out. `theta` and `test` are per reader.
    """
    tests, total = np.unique(test), theta.size
    counts = np.array([np.count_nonzero(test == i) for i in tests])
    means = np.array([theta[test == i].mean() for i in tests])
    t = tests.size
    n0 = (total**2 - float((counts**2).sum())) / (total * (t - 1))
    ms_t = float((counts * (means - theta.mean()) ** 2).sum()) / (t - 1)
    ms_r = float(((theta - means[np.searchsorted(tests, test)]) ** 2).sum()) / (total - t)
    same_test, same_reader = test[:, None] == test, np.eye(total, dtype=bool)
    cov2, cov3 = _mean(covariance, same_test & ~same_reader), _mean(covariance, ~same_test)
    error = _mean(covariance, same_reader)
    components = {"MS(T)": ms_t, "MS(R(T))": ms_r, "error": error, "cov2": cov2, "cov3": cov3, "n0": n0}
    return _random_readers(ms_r, 0.0 if cases == "fixed" else n0 * (cov2 - cov3), total - t, components)


def one_sample(theta: Floats, covariance: Floats, *, readers: str, cases: str) -> ErrorTerm:
    """Error term of the mean over readers; its variance is the denominator over the number of readers.

    Random readers and cases: MS(R) + r·max(Cov2, 0) on denominator² / (MS(R)² / (r − 1)); random readers only: MS(R);
    random cases only: Var(ε) + (r − 1)·max(Cov2, 0). Of differences between readers and an algorithm it is the
    comparison of the two.
    """
    r = theta.size
    same = np.eye(r, dtype=bool)
    error, cov2 = _mean(covariance, same), _mean(covariance, ~same)
    ms_r = float(theta.var(ddof=1)) if r > 1 else 0.0
    components = {"MS(R)": ms_r, "error": error, "cov2": cov2}
    if readers == cases == "fixed":
        return ErrorTerm(0.0, math.inf, clipped=False, components=components)
    if readers == "fixed":
        return ErrorTerm(error + (r - 1) * max(cov2, 0.0), math.inf, r > 1 and cov2 < 0, components)
    return _random_readers(ms_r, 0.0 if cases == "fixed" else r * cov2, r - 1, components)


def _random_readers(ms: float, added: float, df: int, components: Table) -> ErrorTerm:
    """The mean square plus what cases add, if that is positive."""
    denominator = ms + max(added, 0.0)
    return ErrorTerm(denominator, denominator**2 / (ms**2 / df) if ms > 0 else math.inf, added < 0, components)


def _interaction(theta: Floats) -> Floats:
    """What is left of each value without the means of its row and column."""
    return np.asarray(theta - theta.mean(axis=1, keepdims=True) - theta.mean(axis=0, keepdims=True) + theta.mean())


def _mean(values: Floats, mask: NDArray[np.bool_]) -> float:
    """Mean of what the mask shows; 0 of nothing."""
    shown = values[np.broadcast_to(mask, values.shape)]
    return float(shown.mean()) if shown.size else 0.0
