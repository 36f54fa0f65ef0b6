"""Standard errors of a reader study a second time, by drawing readers and cases: a check of the formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple

import polars as pl

from isocenter.resampling.intervals import percentile_bounds
from isocenter.stats._provenance import record
from isocenter.stats._weights import effective_size
from isocenter.stats.mrmc._analyse import analyse
from isocenter.stats.mrmc._design import Floats, design_of
from isocenter.stats.mrmc._draws import replicate_means
from isocenter.stats.mrmc._reads import checked
from isocenter.stats.mrmc._result import Modality, Pair


class CheckedError(NamedTuple):
    """A mean over readers, or a difference of two, with its standard error from formula and draws.

    Attributes
    ----------
    a, b
        The modality, and the one whose mean is subtracted; None if there is none.
    estimate
        On all reads.
    standard_error, mle_error
        By `analyse`: as it uses it, and that of the V-statistic, which a bootstrap tends to. NaN if not positive.
    bootstrap_error, low, high
        Standard deviation and percentile interval of the replicates.
    """

    a: str
    b: str | None
    estimate: float
    standard_error: float
    mle_error: float
    bootstrap_error: float
    low: float
    high: float


@dataclass(frozen=True)
class BootstrapCheck:
    """What `bootstrap_check` found; as text, a sentence for each modality and pair.

    Attributes
    ----------
    rows
        One for each modality, then one for each pair.
    readers
        Whether readers were drawn ("random") as well as cases, or taken as they are ("fixed").
    fixed
        Modalities whose readers were not drawn.
    level, replicates, redrawn, seed
        Of the intervals; how many replicates, how many draws left a reader without a class and were made again; seed.
    cases, effective_cases
        How many there are, and how many of equal weight they are worth, (Σw)² / Σw².
    """

    rows: tuple[CheckedError, ...]
    readers: Literal["random", "fixed"]
    fixed: tuple[str, ...]
    level: float
    replicates: int
    redrawn: int
    seed: int
    cases: int
    effective_cases: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; what is undefined is null."""
        rows = [row._asdict() for row in self.rows]
        return record(asdict(self) | {"rows": rows}, method=f"bootstrap of {self._drawn}")

    @property
    def _drawn(self) -> str:
        return "cases" if self.readers == "fixed" else "readers and cases"

    def __str__(self) -> str:
        weighted = "" if self.effective_cases == self.cases else f", worth {self.effective_cases:.1f} of equal weight"
        how = (
            f"Bootstrap of {self._drawn} ({self.replicates} replicates of {self.cases} cases{weighted}; "
            f"{self.redrawn} draws made again; seed {self.seed})."
        )
        return "\n".join([how, *(self._line(row) for row in self.rows)])

    def _line(self, row: CheckedError) -> str:
        name = row.a if row.b is None else f"{row.a} − {row.b}"
        used, mle = ("none" if math.isnan(x) else f"{x:.4f}" for x in (row.standard_error, row.mle_error))
        return (
            f"{name}: standard error {row.bootstrap_error:.4f} by draws, {used} as analysed and {mle} by V-statistics; "
            f"{100 * self.level:g} % percentile interval {row.low:.4f} to {row.high:.4f} around {row.estimate:.4f}."
        )


def bootstrap_check(
    reads: pl.DataFrame,
    *,
    readers: Literal["random", "fixed"] = "random",
    fixed: Collection[str] = (),
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> BootstrapCheck:
    """AUCs, their differences and standard errors by drawing readers and cases, beside those of `analyse`.

    Parameters
    ----------
    reads, readers, fixed
        As for `analyse`.
    replicates, level, seed, progress
        How many; coverage of the percentile intervals; seed; called with the number done and of all.

    Notes
    -----
    A replicate draws as many cases as there are, with replacement; a case counts as often as it was drawn, times its
    weight. Readers are drawn among those who read in the same modalities, one draw for all of these. Draws that leave
    a reader without normal or without diseased cases are made again.

    A bootstrap tends to the V-statistic and not to the unbiased variance, and is rather larger. With case weights the
    draws take the weights along, which the formula holds fixed: where the two are far apart, few cases carry it all.

    References
    ----------
    Gallas BD, Bandos A, Samuelson FW, Wagner RF. A framework for random-effects ROC analysis: biases with the bootstrap
    and other variance estimators. Commun Stat Theory Methods 38 (2009).
    """
    if replicates < 2:
        msg = f"a standard deviation needs at least 2 replicates, not {replicates}"
        raise ValueError(msg)
    found = analyse(reads, readers=readers, fixed=fixed, level=level)
    design = design_of(checked(reads))
    drawn = [m for m in design.modalities if readers == "random" and m not in fixed and len(design.columns(m)) > 1]
    means, redrawn = replicate_means(design, drawn, replicates=replicates, seed=seed, progress=progress)
    rows = [
        _row(name, None, of.estimate, of, drawn=means[:, n], level=level)
        for n, (name, of) in enumerate(found.modalities.items())
    ]
    for (n, a), (m, b) in combinations(enumerate(found.modalities), 2):
        pair = found.pairs[a, b]
        rows.append(_row(a, b, pair.difference, pair, drawn=means[:, n] - means[:, m], level=level))
    return BootstrapCheck(
        rows=tuple(rows),
        readers=readers,
        fixed=tuple(m for m in design.modalities if m not in drawn),
        level=level,
        replicates=replicates,
        redrawn=redrawn,
        seed=seed,
        cases=design.weight.size,
        effective_cases=effective_size(design.weight),
    )


def _row(a: str, b: str | None, estimate: float, of: Modality | Pair, *, drawn: Floats, level: float) -> CheckedError:
    used, mle = (math.sqrt(v) if v > 0 else math.nan for v in (of.variance, of.variances["mle"]))
    return CheckedError(a, b, estimate, used, mle, float(drawn.std(ddof=1)), *percentile_bounds(drawn, level))
