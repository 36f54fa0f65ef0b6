"""Scores in, summaries out: pure functions of the score table that never open an image.

What stands behind a mean is named, never left to a parenthesis: a standard error says how well the mean is known, a
standard deviation how much single values differ.
"""

from isocenter.stats._bootstrap import Bootstrap, Interval, LesionRows, bootstrap_ci
from isocenter.stats._delong import DeLong, delong
from isocenter.stats._observers import SYMMETRIC, BetweenObservers, between_observers, observers_as_benchmark
from isocenter.stats._summary import MeanAndError, in_brackets, mean_and_error, parse_brackets

__all__ = [
    "SYMMETRIC",
    "BetweenObservers",
    "Bootstrap",
    "DeLong",
    "Interval",
    "LesionRows",
    "MeanAndError",
    "between_observers",
    "bootstrap_ci",
    "delong",
    "in_brackets",
    "mean_and_error",
    "observers_as_benchmark",
    "parse_brackets",
]
