"""How well an estimate is known, whichever method found it."""

from __future__ import annotations

from dataclasses import dataclass

from isocenter.stats.mrmc._moments import Table

# AUCs are numbers around 1, known to sixteen digits: a variance below this is rounding.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Spread:
    """How well an estimate is known.

    Attributes
    ----------
    variance
        The one that is used; 0 if no estimate of it is positive.
    df
        Degrees of freedom of t; infinite for the normal distribution.
    status
        What `variance` is: see `Analysis`.
    variances
        All that were estimated, by name, as they came out.
    tables
        Moments and components, by name.
    """

    variance: float
    df: float
    status: str
    variances: dict[str, float]
    tables: dict[str, dict[str, Table]]
