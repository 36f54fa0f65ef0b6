"""Scores in, ranks out: pure functions of the score table that never open an image."""

from isocenter.ranking._board import Board, BoardRow, Component
from isocenter.ranking._entry import Participation, Role, counting
from isocenter.ranking._missing import Disqualify, FixedValue, LeaveOut, Missing, WorstObserved, WorstPossible
from isocenter.ranking._rules import MeanThenRank, Rule
from isocenter.ranking._ties import Ties, rank_values
from isocenter.ranking._weighted import Limit, WeightedRanks

__all__ = [
    "Board",
    "BoardRow",
    "Component",
    "Disqualify",
    "FixedValue",
    "LeaveOut",
    "Limit",
    "MeanThenRank",
    "Missing",
    "Participation",
    "Role",
    "Rule",
    "Ties",
    "WeightedRanks",
    "WorstObserved",
    "WorstPossible",
    "counting",
    "rank_values",
]
