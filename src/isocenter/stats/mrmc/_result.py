"""What the analysis of a reader study found: numbers, and the sentences a paper could carry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from isocenter.stats._non_inferiority import NonInferiority, NonInferiorityPreset, non_inferiority
from isocenter.stats._provenance import record
from isocenter.stats.mrmc._moments import Table
from isocenter.stats.mrmc._rockette import Overall

Tables = dict[str, dict[str, Table]]


@dataclass(frozen=True)
class Reader:
    """One reader in one modality.

    Attributes
    ----------
    estimate, variance
        Of the end-point; the variance is over cases. An unbiased estimate of a variance may be negative.
    normal, diseased
        Cases read.
    """

    estimate: float
    variance: float
    normal: int
    diseased: int

    @property
    def auc(self) -> float:
        """The estimate, where the end-point is the AUC."""
        return self.estimate


@dataclass(frozen=True)
class Modality:
    """Mean over the readers of one modality.

    Attributes
    ----------
    estimate
        Of the end-point.
    variance, df, low, high
        As used for the interval; `df` is infinite where the normal distribution was.
    status
        What `variance` is. "ok" the estimate asked for; "clipped" one with a negative covariance taken as 0;
        "… not positive, … used" names a fallback; "zero" if none is positive: then the interval is the whole range,
        because scores without any variance say nothing of how far they would vary.
    variances
        All estimates of the variance, by name, as they came out.
    tables
        Moments ("bdg") and components ("bck", "dbm", "or"), by name.
    readers
        By name.
    """

    estimate: float
    variance: float
    df: float
    low: float
    high: float
    status: str
    variances: dict[str, float]
    tables: Tables
    readers: dict[str, Reader]

    @property
    def auc(self) -> float:
        """The estimate, where the end-point is the AUC."""
        return self.estimate


@dataclass(frozen=True)
class Pair:
    """Difference of two modalities, a − b.

    Attributes
    ----------
    difference
        Of the estimates.
    variance, df, low, high, status, variances, tables
        As in `Modality`, of the difference; tables "bdg" and "bck" have the moments of the product of both.
    p, adjusted
        Two-sided, of no difference; and by Holm's method for all pairs of the study. 1 where the variance is 0.
    """

    a: str
    b: str
    difference: float
    variance: float
    df: float
    low: float
    high: float
    p: float
    adjusted: float
    status: str
    variances: dict[str, float]
    tables: Tables

    def reversed(self) -> Pair:
        """The same difference as b − a."""
        return replace(self, a=self.b, b=self.a, difference=-self.difference, low=-self.high, high=-self.low)

    def non_inferiority(
        self, *, margin: float | None = None, level: float = 0.95, preset: NonInferiorityPreset | None = None
    ) -> NonInferiority | None:
        """Whether a is not worse than b by more than a margin; None where the difference has no variance.

        See `isocenter.stats.non_inferiority`.
        """
        if not self.variance > 0:
            return None
        error = math.sqrt(self.variance)
        return non_inferiority(self.difference, error, self.df, margin=margin, level=level, preset=preset)


class Pairs(Mapping[tuple[str, str], Pair]):
    """Pairs of modalities; each is listed once and found in either order, with the sign that belongs to it."""

    def __init__(self, pairs: list[Pair]) -> None:
        self._found = {(pair.a, pair.b): pair for pair in pairs}

    def __getitem__(self, names: tuple[str, str]) -> Pair:
        if names in self._found:
            return self._found[names]
        return self._found[names[::-1]].reversed()

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


@dataclass(frozen=True)
class Analysis:
    """What `analyse` found; as text, sentences for a paper.

    Attributes
    ----------
    endpoint
        "auc", "sensitivity" or "specificity".
    method, df_rule, level
        How variances and degrees of freedom were made, in words, and the coverage aimed at.
    modalities, pairs
        By name; pairs by two names in either order.
    overall
        Test of all modalities together; None where there is none.
    counts
        Readers, normal and diseased cases, and reads.
    notes
        What a reader of the result must know.
    versions
        Of the software.
    """

    endpoint: str
    method: str
    df_rule: str
    level: float
    modalities: dict[str, Modality]
    pairs: Pairs
    overall: Overall | None
    counts: dict[str, int]
    notes: tuple[str, ...]
    versions: dict[str, str]

    def __str__(self) -> str:
        n = self.counts
        lines = [
            (
                f"{n['readers']} readers read {n['normal']} normal and {n['diseased']} diseased cases in "
                f"{len(self.modalities)} modalit{'y' if len(self.modalities) == 1 else 'ies'} ({n['reads']} reads); "
                f"{self.method}; {self.df_rule}."
            )
        ]
        name = "AUC" if self.endpoint == "auc" else self.endpoint
        for modality, m in self.modalities.items():
            lines.append(f"{modality}: {name} {m.estimate:.3f} ({self._interval(m.low, m.high)}){_aside(m.status)}.")
        for pair in self.pairs.values():
            lines.append(
                f"{pair.a} − {pair.b}: {_number(pair.difference, '+')} ({self._interval(pair.low, pair.high, '+')}; "
                f"{_distribution(pair.df)}, p {_p(pair.p)}{self._adjusted(pair)}){_aside(pair.status)}."
            )
        if self.overall is not None and len(self.modalities) > 2:
            lines.append(f"All modalities equal: {_test(self.overall)}, p {_p(self.overall.p)}.")
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])

    def _interval(self, low: float, high: float, sign: str = "") -> str:
        return f"{100 * self.level:g}% CI {_number(low, sign)} to {_number(high, sign)}"

    def _adjusted(self, pair: Pair) -> str:
        return f", by Holm's method {_p(pair.adjusted)}" if len(self.pairs) > 1 else ""

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it; an infinite df, which is the normal distribution, is null."""
        found = {
            "endpoint": self.endpoint,
            "method": self.method,
            "df_rule": self.df_rule,
            "level": self.level,
            "modalities": {name: asdict(modality) for name, modality in self.modalities.items()},
            "pairs": [asdict(pair) for pair in self.pairs.values()],
            "overall": None if self.overall is None else asdict(self.overall),
            "counts": self.counts,
            "notes": list(self.notes),
            "versions": self.versions,
        }
        return record(found)


def _number(value: float, sign: str) -> str:
    """Three decimals, with a minus that is as wide as the plus."""
    return f"{value:{sign}.3f}".replace("-", "−")


def _aside(status: str) -> str:
    return "" if status == "ok" else f" [variance: {status}]"


def _distribution(df: float) -> str:
    return "normal" if math.isinf(df) else f"t with {df:.1f} df"


def _test(overall: Overall) -> str:
    if math.isinf(overall.error_df):
        return f"X² {overall.statistic:.2f} on {overall.df} df"
    return f"F {overall.statistic:.2f} on {overall.df} and {overall.error_df:.1f} df"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
