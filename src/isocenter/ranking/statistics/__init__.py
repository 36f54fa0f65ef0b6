"""Numbers of a whole cohort as declared statistics: what each needs of every case, and its value for case weights.

The rule "cohort-statistic" ranks by them; another package brings one of its own by the entry-point group
`isocenter.statistics`.
"""

from isocenter.ranking.statistics import _classes, _overlap, _survival
from isocenter.ranking.statistics._registry import (
    CaseWeights,
    Columns,
    Input,
    Statistic,
    get_statistic,
    own_statistics,
    register_statistic,
    statistic_names,
)

OWN_STATISTICS: tuple[str, ...] = tuple(
    statistic.name for module in (_classes, _survival, _overlap) for statistic in own_statistics(module.__name__)
)
"""How files call the statistics of this package."""

__all__ = [
    "OWN_STATISTICS",
    "CaseWeights",
    "Columns",
    "Input",
    "Statistic",
    "get_statistic",
    "register_statistic",
    "statistic_names",
]
