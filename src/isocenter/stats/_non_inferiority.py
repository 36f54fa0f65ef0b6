"""Not worse by more than a margin: the decision from a difference, its standard error and its degrees of freedom."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from isocenter.stats._differences import one_of
from isocenter.stats._provenance import record

Verdict = Literal["superior", "non-inferior", "inconclusive", "inferior"]
NonInferiorityPreset = Literal["picai"]

_PICAI_MARGIN = 0.05


@dataclass(frozen=True)
class NonInferiority:
    """What `non_inferiority` found; as text, a sentence of a paper.

    Attributes
    ----------
    difference, standard_error, df
        New minus reference, and how well it is known; infinite degrees of freedom are the normal distribution's.
    margin
        How much worse would still be accepted, above 0.
    level
        Of the two-sided confidence interval.
    low, high
        Its bounds.
    p_one_sided
        Of H₀: difference ≤ −margin. Non-inferior is what has it below (1 − level) / 2.
    p_doubled
        Twice that, at most 1, to be compared with 1 − level: the convention of Chen et al. and iMRMC.
    label
        "superior" if low > 0, "non-inferior" if low > −margin, "inferior" if high < −margin, else "inconclusive".
    non_inferior
        Whether low > −margin.
    accepted
        The decision: `non_inferior`, and where `needs_gain` is set also difference > 0.
    needs_gain
        Whether the rule asks for a difference above 0 as well.
    preset
        The rule by its name, if it has one.
    """

    difference: float
    standard_error: float
    df: float
    margin: float
    level: float
    low: float
    high: float
    p_one_sided: float
    p_doubled: float
    label: Verdict
    non_inferior: bool
    accepted: bool
    needs_gain: bool
    preset: NonInferiorityPreset | None

    @property
    def decision(self) -> str:
        """The label; and where the rule asks for a difference above 0 as well, whether it was accepted."""
        if not self.needs_gain:
            return self.label
        return f"{self.label}, {'accepted' if self.accepted else 'not accepted'}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: infinite degrees of freedom are null."""
        rule = "normal distribution" if math.isinf(self.df) else "as given with the standard error"
        return record(asdict(self), method="interval of the difference against −margin", df_rule=rule)

    def __str__(self) -> str:
        by = "z" if math.isinf(self.df) else f"t, {self.df:.1f} degrees of freedom"
        rule = " Also asked for is a difference above 0: " if self.needs_gain else ""
        verdict = ("accepted." if self.accepted else "not accepted.") if self.needs_gain else ""
        return (
            f"Difference {self.difference:+.4f} ({100 * self.level:g} % CI {self.low:.4f} to {self.high:.4f}; {by}), "
            f"margin {self.margin:g}: {self.label} (non-inferiority, one-sided p = {self.p_one_sided:.3g}, "
            f"doubled {self.p_doubled:.3g}).{rule}{verdict}"
        )


def non_inferiority(
    difference: float,
    standard_error: float,
    df: float = math.inf,
    *,
    margin: float | None = None,
    level: float = 0.95,
    preset: NonInferiorityPreset | None = None,
) -> NonInferiority:
    """Is the new one worse than the reference by less than the margin?

    H₀: d ≤ −δ against d > −δ, with t = (d + δ) / SE on `df` degrees of freedom and p = P(T > t). The lower bound of the
    two-sided (1 − α) interval lies above −δ exactly where p < α/2.

    Parameters
    ----------
    difference
        New minus reference, of something of which more is better. For errors, give reference minus new.
    standard_error
        Of the difference, above 0.
    df
        Degrees of freedom of the standard error; infinite (the normal distribution) if left out.
    margin
        δ > 0, how much worse is still accepted.
    level
        1 − α.
    preset
        "picai": margin 0.05 unless another is given, and the difference must be above 0 as well.

    Notes
    -----
    The protocol of PI-CAI says "lower bound > margin"; taken by the letter this would be superiority by the margin. The
    margin enters with a minus sign, as its authors write elsewhere. Their further condition d > 0 is unusual, so it is
    part of the preset only, and never of the label.

    References
    ----------
    Chen W, Petrick NA, Sahiner B. Hypothesis testing in noninferiority and equivalence MRMC ROC studies. Acad Radiol 19
    (2012).

    Examples
    --------
    >>> found = non_inferiority(0.01, 0.02, 30, margin=0.05)
    >>> found.label, round(found.low, 4), round(found.p_one_sided, 5)
    ('non-inferior', -0.0308, 0.00269)
    """
    from scipy.special import stdtr, stdtrit

    one_of("preset", preset, (None, "picai"))
    delta = _PICAI_MARGIN if margin is None and preset == "picai" else margin
    _check(difference, standard_error, df, delta, level)
    assert delta is not None
    difference, standard_error, df, delta = float(difference), float(standard_error), float(df), float(delta)
    reach = float(stdtrit(df, (1 + level) / 2)) * standard_error
    low, high = difference - reach, difference + reach
    p = float(stdtr(df, -(difference + delta) / standard_error))
    label: Verdict = (
        "superior" if low > 0 else "non-inferior" if low > -delta else "inferior" if high < -delta else "inconclusive"
    )
    return NonInferiority(
        difference=difference,
        standard_error=standard_error,
        df=df,
        margin=delta,
        level=level,
        low=low,
        high=high,
        p_one_sided=p,
        p_doubled=min(1.0, 2 * p),
        label=label,
        non_inferior=low > -delta,
        accepted=low > -delta and (difference > 0 or preset is None),
        needs_gain=preset == "picai",
        preset=preset,
    )


def _check(difference: float, standard_error: float, df: float, margin: float | None, level: float) -> None:
    problems = []
    if not math.isfinite(difference):
        problems.append(f"a difference is a finite number, not {difference}")
    if not 0 < standard_error < math.inf:
        problems.append(f"a standard error is finite and above 0, not {standard_error}")
    if not df > 0:
        problems.append(f"degrees of freedom are above 0, not {df}")
    if margin is None or not 0 < margin < math.inf:
        problems.append(f"a margin is finite and above 0 (it says how much worse is accepted), not {margin}")
    if not 0 < level < 1:
        problems.append(f"a confidence level lies between 0 and 1, not at {level}")
    if problems:
        msg = "non-inferiority cannot be decided: " + "; ".join(problems)
        raise ValueError(msg)
