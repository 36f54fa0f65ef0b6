"""Bootstrap resamples of cases under the names that rules know."""

from isocenter.resampling.blocks import block_size
from isocenter.resampling.counts import Reject
from isocenter.resampling.counts import Resamples as CaseDraws
from isocenter.resampling.counts import resample_cases as case_draws

__all__ = ["CaseDraws", "Reject", "block_size", "case_draws"]
