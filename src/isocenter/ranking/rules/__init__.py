"""The rules: one file for each."""

from isocenter.ranking.rules._base import RankingRule, Rule, capabilities_of
from isocenter.ranking.rules.detection import DetectThenRank
from isocenter.ranking.rules.mean import MeanThenRank
from isocenter.ranking.rules.mean_rank import RankThenMean
from isocenter.ranking.rules.normalised_sum import NormalisedSum
from isocenter.ranking.rules.paired_tests import TestThenRank
from isocenter.ranking.rules.quantile import QuantileThenRank
from isocenter.ranking.rules.trimmed_mean import TrimmedMeanThenRank
from isocenter.ranking.rules.weighted_ranks import Limit, WeightedRanks

__all__ = [
    "DetectThenRank",
    "Limit",
    "MeanThenRank",
    "NormalisedSum",
    "QuantileThenRank",
    "RankThenMean",
    "RankingRule",
    "Rule",
    "TestThenRank",
    "TrimmedMeanThenRank",
    "WeightedRanks",
    "capabilities_of",
]
