"""Arrays in, numbers out: pure functions that know no files, teams or challenges.

`catalogue` says of every metric its unit, its direction and its bounds, and is the only place that does.
"""

from isocenter.metrics._overlap import dice
from isocenter.metrics.catalogue import Metric

__all__ = ["Metric", "dice"]
