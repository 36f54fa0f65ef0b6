"""Scores in every bootstrap resample under the names that rules know."""

from isocenter.resampling.estimates import resample_means as mean_draws
from isocenter.resampling.estimates import resample_quantiles as quantile_draws
from isocenter.resampling.estimates import resample_ratios as ratio_draws
from isocenter.resampling.estimates import resample_trimmed_means as trimmed_mean_draws

__all__ = ["mean_draws", "quantile_draws", "ratio_draws", "trimmed_mean_draws"]
