"""U-statistic variances of reader studies of any design, and their degrees of freedom."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isocenter.stats.mrmc._covariance import unbiased
from isocenter.stats.mrmc._design import Design, Floats
from isocenter.stats.mrmc._moments import Moments, Table, dbm_table, moments_of, or_table
from isocenter.stats.mrmc._obuchowski import ObuchowskiRockette
from isocenter.stats.mrmc._spread import ROUNDING, Spread
from isocenter.stats.mrmc._sums import Sums


class _Between(NamedTuple):
    """A variance from the estimates of readers, the part of it that is their spread, and how many they are."""

    variance: float
    spread: float
    readers: int


@dataclass(frozen=True)
class UStatistics:
    """Variances of Gallas' U-statistics.

    Attributes
    ----------
    design, sums
        The study.
    weight
        Per column, what a kernel of this reader weighs.
    fixed
        Modalities whose readers are no sample of anything.
    endpoint
        "auc", "sensitivity" or "specificity".
    first
        Which estimate of the variance is used if it is positive: "unbiased" or "mle".
    hillis
        Whose degrees of freedom to take instead of those of the moments.
    """

    design: Design
    sums: Sums
    weight: Floats
    fixed: Collection[str]
    endpoint: str
    first: str
    hillis: ObuchowskiRockette | None = None

    @cached_property
    def _same_reader(self) -> NDArray[np.bool_]:
        reader = np.array(self.design.reader)
        random = np.array([name not in self.fixed for name in self.design.modality])
        return np.asarray((reader[:, None] == reader) & random[:, None] & random)

    @cached_property
    def _found(self) -> dict[tuple[str, str], Moments]:
        names, of = self.design.modalities, self.design.columns
        return {
            (a, b): moments_of(
                self.sums,
                of(a),
                of(b),
                weight=self.weight,
                same_reader=self._same_reader,
                endpoint=self.endpoint,
            )
            for n, a in enumerate(names)
            for b in names[n:]
        }

    @cached_property
    def _covariance(self) -> Floats:
        return unbiased(self.sums)

    def of_modality(self, name: str) -> Spread:
        """Spread of the mean over the readers of a modality."""
        own = self._found[name, name]
        variances = {
            "unbiased": own.covariance,
            "mle": own.mle_covariance,
            "readers": (between := self._between_readers(name)).variance,
        }
        variance, status = self._chosen(variances)
        parts = own.components(own.mle)
        counts = {factor: n for factor in parts if len(factor) == 1 and (n := _factor_df(own, factor))}
        terms = [parts[factor] ** 2 / n**3 for factor, n in counts.items()]
        least = list(counts.values())
        if status == self._from_readers:
            df = _of_readers(variance, between)
        else:
            df = _satterthwaite(variance, terms, least) if self.hillis is None else self.hillis.of_modality(name).df
        return Spread(variance, df, status, variances, self._tables((own,), own))

    def of_pair(self, a: str, b: str) -> Spread:
        """Spread of the difference of two modalities."""
        one, two, cross = self._found[a, a], self._found[b, b], self._found[a, b]
        between = self._between_readers(a), self._between_readers(b)
        variances = {
            "unbiased": one.covariance + two.covariance - 2 * cross.covariance,
            "mle": one.mle_covariance + two.mle_covariance - 2 * cross.mle_covariance,
            "readers": sum(part.variance for part in between),
        }
        variance, status = self._chosen(variances)
        in_one, in_two, in_both = (m.components(m.mle) for m in (one, two, cross))
        terms: list[float] = []
        least: list[int] = []
        for factor in (f for f in in_one if len(f) == 1):
            n, m = _factor_df(one, factor), _factor_df(two, factor)
            if n and m and cross.component_coefficients[factor] > 0:
                terms.append((in_one[factor] + in_two[factor] - 2 * in_both[factor]) ** 2 / min(n, m) ** 3)
            else:
                terms += [part[factor] ** 2 / k**3 for part, k in ((in_one, n), (in_two, m)) if k]
            least += [k for k in (n, m) if k]
        if status == self._from_readers:
            df = _of_readers(variance, *between)
        else:
            df = _satterthwaite(variance, terms, least) if self.hillis is None else self.hillis.of_pair(a, b).df
        return Spread(variance, df, status, variances, self._tables((one, two), cross))

    def _chosen(self, variances: dict[str, float]) -> tuple[float, str]:
        order = [self.first, *(name for name in variances if name != self.first)]
        usable = next((name for name in order if variances[name] > ROUNDING), None)
        if usable is None:
            return 0.0, "zero"
        if usable == "readers":
            return variances[usable], self._from_readers
        return variances[usable], "ok" if usable == self.first else f"{self.first} not positive, {usable} used"

    @property
    def _from_readers(self) -> str:
        return f"{self.first} not positive, readers used, with the df of their spread"

    def _between_readers(self, name: str) -> _Between:
        """MS(R)/r + max(Cov2, 0), which is never negative; of fixed readers the mean of their own variances."""
        at = self.design.columns(name)
        theta = self.sums.estimate[at]
        covariance = self._covariance[np.ix_(at, at)]
        if name in self.fixed:
            return _Between(float(np.mean(np.diag(covariance))), 0.0, len(at))
        r = len(at)
        spread = float(theta.var(ddof=1)) / r
        return _Between(spread + max(float(covariance.sum() - np.trace(covariance)) / (r * (r - 1)), 0.0), spread, r)

    def _tables(self, own: tuple[Moments, ...], cross: Moments) -> dict[str, dict[str, Table]]:
        tables = {
            "bdg": {
                "unbiased": cross.named(cross.unbiased),
                "mle": cross.named(cross.mle),
                "coefficients": cross.named(cross.coefficients),
            },
            "bck": {
                "unbiased": cross.components(cross.unbiased),
                "mle": cross.components(cross.mle),
                "coefficients": cross.component_coefficients,
            },
        }
        unweighted = bool((self.design.weight == self.design.weight[0]).all())
        if self.endpoint == "auc" and self.design.fully_crossed and not self.fixed and unweighted:
            diseased = int(self.design.positive.sum())
            normal = self.design.positive.size - diseased
            for kind in ("unbiased", "mle"):
                values = tuple(getattr(m, kind) for m in own)
                parts = tuple(m.components(v) for m, v in zip(own, values, strict=True))
                shared = getattr(cross, kind)
                tables.setdefault("dbm", {})[kind] = dbm_table(parts, cross.components(shared), normal, diseased)
                tables.setdefault("or", {})[kind] = or_table(values, shared, normal, diseased)
        return tables


def _factor_df(moments: Moments, factor: str) -> int:
    """Degrees of freedom of the readers or cases of a modality, 1/c − 1 rounded; 0 of a factor that is fixed."""
    weight = moments.component_coefficients[factor]
    return max(math.floor(1 / weight - 0.5), 1) if weight > 0 else 0


def _of_readers(variance: float, *between: _Between) -> float:
    """V² / Σ (MS(R)/r)² / (r − 1), as Hillis does: r − 1 where all variance is the spread of r readers, else more."""
    terms = [part.spread**2 / (part.readers - 1) for part in between if part.spread > 0]
    return variance**2 / math.fsum(terms) if terms else math.inf


def _satterthwaite(variance: float, terms: list[float], least: list[int]) -> float:
    """V² / Σ terms, but not less than the least of its parts (Gaylor and Hopper 1969), nor than 2."""
    total = math.fsum(terms)
    return max(variance**2 / total, min(least), 2) if total > 0 else math.inf
