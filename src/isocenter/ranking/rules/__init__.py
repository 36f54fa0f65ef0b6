"""The rules, one file for each, and what they have in common."""

from isocenter.ranking._missing import MissingSetting, UndefinedSetting
from isocenter.ranking.rules._base import (
    CaseScores,
    CaseValues,
    OfOneMetric,
    RankingRule,
    Rule,
    capabilities_of,
    other_kinds,
    place,
    ranking_rule,
    rule_class,
)
from isocenter.ranking.rules._over_cases import OverCases
from isocenter.ranking.rules._problems import DescriptionError, RuleProblem
from isocenter.ranking.rules._settings import MetricName, PartName, TiesSetting, Tolerance, WeightedMetrics
from isocenter.ranking.rules.cohort_statistic import CohortStatistic
from isocenter.ranking.rules.detection import DetectThenRank
from isocenter.ranking.rules.mean import MeanThenRank
from isocenter.ranking.rules.mean_rank import RankThenMean
from isocenter.ranking.rules.normalised_sum import NormalisedSum
from isocenter.ranking.rules.paired_tests import TestThenRank
from isocenter.ranking.rules.quantile import QuantileThenRank
from isocenter.ranking.rules.trimmed_mean import TrimmedMeanThenRank
from isocenter.ranking.rules.weighted_ranks import Limit, WeightedRanks

__all__ = [
    "RULE_KINDS",
    "CaseScores",
    "CaseValues",
    "CohortStatistic",
    "DescriptionError",
    "DetectThenRank",
    "Limit",
    "MeanThenRank",
    "MetricName",
    "MissingSetting",
    "NormalisedSum",
    "OfOneMetric",
    "OverCases",
    "PartName",
    "QuantileThenRank",
    "RankThenMean",
    "RankingRule",
    "Rule",
    "RuleProblem",
    "TestThenRank",
    "TiesSetting",
    "Tolerance",
    "TrimmedMeanThenRank",
    "UndefinedSetting",
    "WeightedMetrics",
    "WeightedRanks",
    "capabilities_of",
    "place",
    "ranking_rule",
    "rule_class",
    "rule_kinds",
]

_OWN: tuple[type[RankingRule], ...] = (
    MeanThenRank,
    QuantileThenRank,
    TrimmedMeanThenRank,
    RankThenMean,
    WeightedRanks,
    TestThenRank,
    NormalisedSum,
    DetectThenRank,
    CohortStatistic,
)
RULE_KINDS: tuple[str, ...] = tuple(made.kind for made in _OWN)
"""How files call the rules of this package."""


def rule_kinds() -> tuple[str, ...]:
    """How files call the rules that there are: those of this package, then those of others in alphabetical order."""
    return (*RULE_KINDS, *(kind for kind in other_kinds() if kind not in RULE_KINDS))
