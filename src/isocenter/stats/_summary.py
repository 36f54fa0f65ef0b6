"""A mean, how well it is known, and the notation 0.77(1) for both."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Context, Decimal
from typing import Any, NamedTuple

from isocenter.stats._provenance import record

_UNDEFINED = "–"
# From the largest float to the smallest there are some 1100 digits; none of them is ever rounded away unasked.
_EXACT = Context(prec=1200)
_ONE_DIGIT = Context(prec=1)
_BRACKETS = re.compile(rf"([+\-−]?)([0-9]+)(?:\.([0-9]+))?\(([0-9]+|{_UNDEFINED})\)")


class MeanAndError(NamedTuple):
    """A mean over cases and its standard error, which is not the standard deviation of the cases."""

    mean: float
    standard_error: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: what is undefined is null."""
        return record(self._asdict(), method="mean over cases and its standard error")

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "There is no mean, as there are no cases."
        if math.isnan(self.standard_error):
            return f"The value of the only case is {self.mean:.4g}."
        return f"Mean {self.mean:.4g} with a standard error of {self.standard_error:.2g}."


def mean_and_error(values: Iterable[float | None], weights: Iterable[float] | None = None) -> MeanAndError:
    """Mean over cases and its standard error, in the unit of the values.

    Parameters
    ----------
    values
        One per case. None and NaN, what could not be measured, are an error: what such a case counts as is decided
        before anything is averaged.
    weights
        The `weight` column of the score table: how many cases of the population each one stands for. All alike if not
        given; a case of weight 0 is not there. They must be known beforehand: for cases drawn again and again, as a
        bootstrap does, the spread of the means is the standard error, not this.

    Notes
    -----
    mean = Σ wᵢxᵢ / Σ wᵢ, and error = √(n/(n−1) · Σ wᵢ²(xᵢ − mean)²) / Σ wᵢ over the n cases with wᵢ > 0. With equal
    weights that is SD/√n, where the SD has n−1 in its denominator. No case has neither mean nor error (NaN), a single
    one has no error.

    References
    ----------
    Cochran WG. Sampling techniques. 3rd ed. Wiley (1977), chapter 6.

    Examples
    --------
    >>> mean, error = mean_and_error([0.5, 0.7, 0.9, 0.7])
    >>> in_brackets(mean, error)
    '0.70(8)'
    """
    x = [math.nan if value is None else float(value) for value in values]
    w = [1.0] * len(x) if weights is None else [float(weight) for weight in weights]
    if len(w) != len(x):
        msg = f"{len(x)} values have {len(w)} weights"
        raise ValueError(msg)
    if wrong := [weight for weight in w if not 0 <= weight < math.inf]:
        msg = f"a weight is a number from 0, not {wrong[0]}"
        raise ValueError(msg)
    cases = [(value, weight) for value, weight in zip(x, w, strict=True) if weight > 0]
    if wrong := [value for value, _ in cases if not math.isfinite(value)]:
        msg = f"a mean is of numbers, and {len(wrong)} of {len(cases)} values are not ({wrong[0]})"
        raise ValueError(msg)
    n, total = len(cases), math.fsum(weight for _, weight in cases)
    if n == 0:
        return MeanAndError(math.nan, math.nan)
    mean = math.fsum(value * weight for value, weight in cases) / total
    if n == 1:
        return MeanAndError(mean, math.nan)
    length = math.hypot(*(weight * (value - mean) for value, weight in cases))
    return MeanAndError(mean, math.sqrt(n / (n - 1)) * length / total)


def in_brackets(mean: float, error: float) -> str:
    """A mean and its error as tables print them: the error in units of the last digit of the mean.

    The error is rounded to one significant digit (0.0096 to 0.01, 0.96 to 1), and the mean to the place of that digit.
    An error from 10 on keeps its zeros, as the mean does: 1230(30). Where no error says how many digits are worth
    printing, all are: an error of exactly zero gives (0), an undefined one, NaN, gives (–). An undefined mean is –
    altogether. Infinite numbers and negative errors are refused.

    Examples
    --------
    >>> in_brackets(0.7749, 0.0131)
    '0.77(1)'
    >>> in_brackets(1234.5, 29.8), in_brackets(0.77, 0.0), in_brackets(0.77, float("nan"))
    ('1230(30)', '0.77(0)', '0.77(–)')
    """
    if math.isinf(mean) or math.isinf(error) or error < 0:
        msg = f"a finite mean with an error from 0 can be written in brackets, not {mean} and {error}"
        raise ValueError(msg)
    if math.isnan(mean):
        return _UNDEFINED
    exact = Decimal(repr(float(mean)))
    if math.isnan(error) or error == 0:
        return f"{exact:f}({_UNDEFINED if math.isnan(error) else 0})"
    rounded = _ONE_DIGIT.create_decimal(repr(float(error)))
    place = rounded.adjusted()
    shown = exact.quantize(Decimal(1).scaleb(place, _EXACT), context=_EXACT)
    shown = shown if shown else abs(shown)  # not -0.00
    return f"{shown:f}({int(rounded.scaleb(-min(place, 0), _EXACT))})"


def parse_brackets(text: str) -> tuple[float, float]:
    """The mean and the error of a table entry such as 0.52(4); what `in_brackets` wrote is read back the same.

    Examples
    --------
    >>> parse_brackets("0.52(4)")
    (0.52, 0.04)
    """
    text = text.strip()
    if text == _UNDEFINED:
        return math.nan, math.nan
    match = _BRACKETS.fullmatch(text)
    if match is None:
        msg = f"{text!r} is not a mean with the error of its last digits in brackets, such as 0.52(4)"
        raise ValueError(msg)
    sign, whole, fraction, error = match.groups()
    mean = float(f"{'-' if sign in ('-', '−') else ''}{whole}.{fraction or '0'}")
    return mean, math.nan if error == _UNDEFINED else float(f"{error}e-{len(fraction or '')}")
