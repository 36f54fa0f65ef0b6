"""Scores in, ranks out: pure functions of the score table that never open an image."""

from isocenter.ranking._alternatives import alternatives
from isocenter.ranking._board import Board, BoardRow, Component, Note
from isocenter.ranking._board_difference import board_difference
from isocenter.ranking._bootstrap_ranks import bootstrap_ranks, rank_sets
from isocenter.ranking._cells import read_cells
from isocenter.ranking._describe import describe, describe_missing, missing_of, pseudo_code, rule_of
from isocenter.ranking._drawn import Drawable, Drawn
from isocenter.ranking._entry import Participation, Role, counting, within_quota
from isocenter.ranking._ladder import Ladder, LadderScores, Shown, ladder_scores, rounded
from isocenter.ranking._missing import (
    Disqualify,
    FixedValue,
    LeaveOut,
    Missing,
    Penalty,
    RankLast,
    Undefined,
    WorstObserved,
    WorstPossible,
    undefined_in_words,
)
from isocenter.ranking._multiverse import multiverse
from isocenter.ranking._outcomes import Multiverse, Outcome, Standing, Universe
from isocenter.ranking._planner import CasePlan, CasesNeeded, PlanRow, Simulated, plan_cases
from isocenter.ranking._progress import Improvement, LeadChange, Moment, Progress, lead_changes, normalised_progress
from isocenter.ranking._public import as_shown, climb
from isocenter.ranking._receipt import FileRecord, Receipt, TableRecord, methods_of, software_versions, table_digest
from isocenter.ranking._receipt_reading import ReceiptError, read_receipt
from isocenter.ranking._shakeup import RankComparison, ShakeUp, compare_rankings, shake_up
from isocenter.ranking._shares import P_BEST_IN_WORDS, P_FIRST_IN_WORDS, round_share, show_share
from isocenter.ranking._significance import PairedValues, paired_values, significance
from isocenter.ranking._ties import Ties, rank_values
from isocenter.ranking._uncertainty import RankUncertainty, explain_first
from isocenter.ranking._uncertainty import with_uncertainty as mark_uncertainty
from isocenter.ranking.rules import (
    RULE_KINDS,
    CaseScores,
    CaseValues,
    CohortStatistic,
    DescriptionError,
    DetectThenRank,
    Limit,
    MeanThenRank,
    NormalisedSum,
    OverCases,
    QuantileThenRank,
    RankingRule,
    RankThenMean,
    Rule,
    TestThenRank,
    TrimmedMeanThenRank,
    WeightedRanks,
    capabilities_of,
    ranking_rule,
    rule_kinds,
)
from isocenter.ranking.rules._beside import show_beside
from isocenter.resampling.counts import Resamples as CaseDraws
from isocenter.resampling.counts import resample_cases as case_draws

__all__ = [
    "P_BEST_IN_WORDS",
    "P_FIRST_IN_WORDS",
    "RULE_KINDS",
    "Board",
    "BoardRow",
    "CaseDraws",
    "CasePlan",
    "CaseScores",
    "CaseValues",
    "CasesNeeded",
    "CohortStatistic",
    "Component",
    "DescriptionError",
    "DetectThenRank",
    "Disqualify",
    "Drawable",
    "Drawn",
    "FileRecord",
    "FixedValue",
    "Improvement",
    "Ladder",
    "LadderScores",
    "LeadChange",
    "LeaveOut",
    "Limit",
    "MeanThenRank",
    "Missing",
    "Moment",
    "Multiverse",
    "NormalisedSum",
    "Note",
    "Outcome",
    "OverCases",
    "PairedValues",
    "Participation",
    "Penalty",
    "PlanRow",
    "Progress",
    "QuantileThenRank",
    "RankComparison",
    "RankLast",
    "RankThenMean",
    "RankUncertainty",
    "RankingRule",
    "Receipt",
    "ReceiptError",
    "Role",
    "Rule",
    "ShakeUp",
    "Shown",
    "Simulated",
    "Standing",
    "TableRecord",
    "TestThenRank",
    "Ties",
    "TrimmedMeanThenRank",
    "Undefined",
    "Universe",
    "WeightedRanks",
    "WorstObserved",
    "WorstPossible",
    "alternatives",
    "as_shown",
    "board_difference",
    "bootstrap_ranks",
    "capabilities_of",
    "case_draws",
    "climb",
    "compare_rankings",
    "counting",
    "describe",
    "describe_missing",
    "explain_first",
    "ladder_scores",
    "lead_changes",
    "mark_uncertainty",
    "methods_of",
    "missing_of",
    "multiverse",
    "normalised_progress",
    "paired_values",
    "plan_cases",
    "pseudo_code",
    "rank_sets",
    "rank_values",
    "ranking_rule",
    "read_cells",
    "read_receipt",
    "round_share",
    "rounded",
    "rule_kinds",
    "rule_of",
    "shake_up",
    "show_beside",
    "show_share",
    "significance",
    "software_versions",
    "table_digest",
    "undefined_in_words",
    "within_quota",
]
