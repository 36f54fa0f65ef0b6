"""Scores in, summaries out: pure functions of the score table that never open an image.

What stands behind a mean is named, never left to a parenthesis: a standard error says how well the mean is known, a
standard deviation how much single values differ.
"""

from isocenter.stats._adjust import adjust
from isocenter.stats._bootstrap import Bootstrap, Interval, LesionRows, bootstrap_ci
from isocenter.stats._clustered import ClusteredSignedRank, clustered_signed_rank
from isocenter.stats._compare import compare
from isocenter.stats._comparisons import Comparison, Comparisons
from isocenter.stats._delong import DeLong, delong
from isocenter.stats._detection import DetectionIntervals, detection_draws, detection_intervals
from isocenter.stats._detection_summary import (
    Congruence,
    DetectionSummary,
    detection_subgroups,
    summarise_detections,
)
from isocenter.stats._observers import SYMMETRIC, BetweenObservers, between_observers, observers_as_benchmark
from isocenter.stats._paired import PairedT, SignedRank, paired_t, signed_rank
from isocenter.stats._paired_matrix import signed_rank_matrix
from isocenter.stats._sign_flip import SignFlip, sign_flip
from isocenter.stats._summary import MeanAndError, in_brackets, mean_and_error, parse_brackets

__all__ = [
    "SYMMETRIC",
    "BetweenObservers",
    "Bootstrap",
    "ClusteredSignedRank",
    "Comparison",
    "Comparisons",
    "Congruence",
    "DeLong",
    "DetectionIntervals",
    "DetectionSummary",
    "Interval",
    "LesionRows",
    "MeanAndError",
    "PairedT",
    "SignFlip",
    "SignedRank",
    "adjust",
    "between_observers",
    "bootstrap_ci",
    "clustered_signed_rank",
    "compare",
    "delong",
    "detection_draws",
    "detection_intervals",
    "detection_subgroups",
    "in_brackets",
    "mean_and_error",
    "observers_as_benchmark",
    "paired_t",
    "parse_brackets",
    "sign_flip",
    "signed_rank",
    "signed_rank_matrix",
    "summarise_detections",
]
