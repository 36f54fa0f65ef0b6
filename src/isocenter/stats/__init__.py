"""Scores in, summaries out: pure functions of the score table that never open an image.

What stands behind a mean is named, never left to a parenthesis: a standard error says how well the mean is known, a
standard deviation how much single values differ.
"""

from isocenter.stats._adjust import adjust
from isocenter.stats._against_panel import ai_against_panel
from isocenter.stats._against_panel_result import AgainstPanel, AtPoint
from isocenter.stats._bootstrap import Bootstrap, Interval, LesionRows, bootstrap_ci
from isocenter.stats._clustered import ClusteredSignedRank, clustered_signed_rank
from isocenter.stats._compare import compare
from isocenter.stats._comparisons import Comparison, Comparisons
from isocenter.stats._delong import DeLong, delong
from isocenter.stats._detection import DetectionIntervals, auroc_of_rows, detection_draws, detection_intervals
from isocenter.stats._detection_summary import (
    Congruence,
    DetectionSummary,
    detection_subgroups,
    summarise_detections,
)
from isocenter.stats._hillis import HillisPower, ObuchowskiRockette, hillis_cases, hillis_power
from isocenter.stats._instances import InstanceComparison, compare_instances
from isocenter.stats._lesion_points import read_lesions
from isocenter.stats._matched import MatchedBootstrap, matched_bootstrap, matched_lesion_bootstrap
from isocenter.stats._matching import MatchedPoint, match_operating_point
from isocenter.stats._non_inferiority import NonInferiority, non_inferiority
from isocenter.stats._observers import SYMMETRIC, BetweenObservers, between_observers, observers_as_benchmark
from isocenter.stats._paired import PairedT, SignedRank, paired_t, signed_rank
from isocenter.stats._paired_matrix import signed_rank_matrix
from isocenter.stats._panels import PanelComparison, compare_with_panel
from isocenter.stats._permutation import PermutationTest, permutation_test
from isocenter.stats._reader_agreement import Agreement, cohen_kappa, fleiss_kappa, intraclass_correlation
from isocenter.stats._reader_panels import compare_readers, read_panels
from isocenter.stats._reader_panels_result import Configuration, PanelTest, ReaderPanels
from isocenter.stats._shifted import ShiftedMannWhitney, shifted_mann_whitney
from isocenter.stats._sign_flip import SignFlip, exceeding_flips, sign_flip
from isocenter.stats._simulated_power import SimulatedPower, simulated_power
from isocenter.stats._sizing import Power, PowerGrid, power, power_grid
from isocenter.stats._study_design import Design, PairComponents, VarianceComponents, designs
from isocenter.stats._summary import MeanAndError, in_brackets, mean_and_error, parse_brackets
from isocenter.stats._two_panels import PanelPermutation, PanelsComparison, compare_panels

__all__ = [
    "SYMMETRIC",
    "AgainstPanel",
    "Agreement",
    "AtPoint",
    "BetweenObservers",
    "Bootstrap",
    "ClusteredSignedRank",
    "Comparison",
    "Comparisons",
    "Configuration",
    "Congruence",
    "DeLong",
    "Design",
    "DetectionIntervals",
    "DetectionSummary",
    "HillisPower",
    "InstanceComparison",
    "Interval",
    "LesionRows",
    "MatchedBootstrap",
    "MatchedPoint",
    "MeanAndError",
    "NonInferiority",
    "ObuchowskiRockette",
    "PairComponents",
    "PairedT",
    "PanelComparison",
    "PanelPermutation",
    "PanelTest",
    "PanelsComparison",
    "PermutationTest",
    "Power",
    "PowerGrid",
    "ReaderPanels",
    "ShiftedMannWhitney",
    "SignFlip",
    "SignedRank",
    "SimulatedPower",
    "VarianceComponents",
    "adjust",
    "ai_against_panel",
    "auroc_of_rows",
    "between_observers",
    "bootstrap_ci",
    "clustered_signed_rank",
    "cohen_kappa",
    "compare",
    "compare_instances",
    "compare_panels",
    "compare_readers",
    "compare_with_panel",
    "delong",
    "designs",
    "detection_draws",
    "detection_intervals",
    "detection_subgroups",
    "exceeding_flips",
    "fleiss_kappa",
    "hillis_cases",
    "hillis_power",
    "in_brackets",
    "intraclass_correlation",
    "match_operating_point",
    "matched_bootstrap",
    "matched_lesion_bootstrap",
    "mean_and_error",
    "non_inferiority",
    "observers_as_benchmark",
    "paired_t",
    "parse_brackets",
    "permutation_test",
    "power",
    "power_grid",
    "read_lesions",
    "read_panels",
    "shifted_mann_whitney",
    "sign_flip",
    "signed_rank",
    "signed_rank_matrix",
    "simulated_power",
    "summarise_detections",
]
