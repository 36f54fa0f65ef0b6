"""Shares of random draws in the digits that they have, and what the shares on a board mean."""

from __future__ import annotations

import math

P_FIRST_IN_WORDS = (
    "P(first) is the share of the bootstrap resamples of the cases in which nobody is better. "
    "It is not the probability of being the best team."
)
P_BEST_IN_WORDS = (
    "P(best) is the probability of being truly the best of the ranked teams, "
    "given the scores and how close the field is."
)

_SHOWN = 2  # decimals that a table has room for


def show_share(share: float | None, of: int | None, *, counted: bool = True) -> str:
    """A share of random draws as a table prints it, with at most two decimals; "–" if there is none.

    The last decimal is not below the Monte Carlo standard error √(p(1 − p)/B) of a share p of B draws. "1.00" is all of
    the draws and "0.00" none of them; what only rounds to these is ">0.99" or "<0.01".

    Parameters
    ----------
    of
        The number of draws; None if that is not known.
    counted
        Whether the share is what is meant. The draws of a probability may all agree, and it is not 0 or 1 for that.

    Examples
    --------
    >>> [show_share(share, 10_000) for share in (0.4567, 0.9999, 1.0, 0.0002, 0.0)]
    ['0.46', '>0.99', '1.00', '<0.01', '0.00']
    >>> [show_share(share, 200) for share in (0.4567, 0.97)], show_share(1.0, 20), show_share(1.0, None, counted=False)
    (['0.5', '>0.9'], '1.0', '>0.99')
    """
    if share is None or math.isnan(share):
        return "–"
    decimals = min(_SHOWN, count_decimals(share, of)) if of else _SHOWN
    text = f"{share:.{decimals}f}"
    if float(text) in (0.0, 1.0) and not (counted and share in (0.0, 1.0)):
        least = 10.0**-decimals
        return f"<{least:.{decimals}f}" if share < 0.5 else f">{1 - least:.{decimals}f}"
    return text


def round_share(share: float, of: int, *, most: int = 6) -> float:
    """The same for programs: with as many decimals as it has, at most so many; 0 and 1 are none and all of the draws.

    Examples
    --------
    >>> round_share(0.45678, 10_000), round_share(0.9996, 10_000, most=2), round_share(1.0, 10_000)
    (0.46, 0.99, 1.0)
    """
    decimals = min(most, count_decimals(share, of))
    least = 10.0**-decimals
    return round(share if share in (0.0, 1.0) else min(max(share, least), 1 - least), decimals)


def count_decimals(share: float, of: int) -> int:
    """Decimals of a share of so many draws that are not below its standard error; at least one.

    Where all draws agree, the error is that of one more draw of each kind.
    """
    smoothed = (share * of + 1) / (of + 2)
    return max(1, math.floor(-math.log10(math.sqrt(smoothed * (1 - smoothed) / of))))
