"""Many submissions combined: every subset at every threshold, majority, STAPLE, and how far they agree.

The masks are read once. What is kept of a case is how often each combination of votes occurs, and everything else,
scores of half a million ensembles among it, is worked out from that.

>>> from isocenter import ensembles, evaluation
>>> challenge = evaluation.load_challenge("hecktor2020")
>>> cohort = evaluation.open_cohort(challenge, "reference/")                                # doctest: +SKIP
>>> votes = ensembles.count_votes(challenge, cohort, {"a": "a/", "b": "b.zip", "c": "c/"})  # doctest: +SKIP
>>> print(ensembles.select(votes, metric="dice").ensemble)                                  # doctest: +SKIP
2of(a,b,c)
"""

from isocenter.ensembles._agreement import Agreement, CaseDifficulty, case_difficulty, pairwise
from isocenter.ensembles._ballots import Ballot, pack
from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._fusion import FieldOfView, Rule, Staple, StapleRule, Ties, majority, overlap_of, staple
from isocenter.ensembles._gather import gather_cases
from isocenter.ensembles._labels import hierarchical_table
from isocenter.ensembles._measured import MOST_PAINTED, Masks, check_metric, measure_votes
from isocenter.ensembles._observers import (
    PairSummary,
    against,
    all_pairs,
    measure_pairs,
    pair_table,
    read_maps,
    summarise_pairs,
)
from isocenter.ensembles._open import REFERENCE, Roll, TruthError
from isocenter.ensembles._paint import Hierarchical, fuse, hierarchical_vote
from isocenter.ensembles._patterns import MOST_VOTERS, Patterns, count_patterns
from isocenter.ensembles._scores import METRICS, SYMMETRIC, countable
from isocenter.ensembles._select import Choice, Confirmation, best_of, confirm, mean_of, mean_scores, select
from isocenter.ensembles._subsets import MOST_SOLUTIONS, Ensemble, every_ensemble, overlaps
from isocenter.ensembles._tables import ORACLE_ENSEMBLE, ORACLE_SOLUTION, oracle_table, score_table
from isocenter.ensembles._votes import MISSING_VOTES, CaseVotes, Turnout, Votes, count_votes
from isocenter.ensembles._write import write_masks

__all__ = [
    "METRICS",
    "MISSING_VOTES",
    "MOST_PAINTED",
    "MOST_SOLUTIONS",
    "MOST_VOTERS",
    "ORACLE_ENSEMBLE",
    "ORACLE_SOLUTION",
    "REFERENCE",
    "SYMMETRIC",
    "Agreement",
    "Ballot",
    "CaseDifficulty",
    "CaseVotes",
    "Choice",
    "Confirmation",
    "Ensemble",
    "EnsembleError",
    "FieldOfView",
    "Hierarchical",
    "Masks",
    "PairSummary",
    "Patterns",
    "Roll",
    "Rule",
    "Staple",
    "StapleRule",
    "Ties",
    "TruthError",
    "Turnout",
    "Votes",
    "against",
    "all_pairs",
    "best_of",
    "case_difficulty",
    "check_metric",
    "confirm",
    "count_patterns",
    "count_votes",
    "countable",
    "every_ensemble",
    "fuse",
    "gather_cases",
    "hierarchical_table",
    "hierarchical_vote",
    "majority",
    "mean_of",
    "mean_scores",
    "measure_pairs",
    "measure_votes",
    "oracle_table",
    "overlap_of",
    "overlaps",
    "pack",
    "pair_table",
    "pairwise",
    "read_maps",
    "score_table",
    "select",
    "staple",
    "summarise_pairs",
    "write_masks",
]
