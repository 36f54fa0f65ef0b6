"""The calls that most people need: check, evaluate, rank, with challenges by name or as objects."""

from isocenter.doors._counting import counting_scores, roles_of
from isocenter.doors._knowing import findings_by_team, means_in_brackets, with_uncertainty
from isocenter.doors._measuring import challenge, check, evaluate
from isocenter.doors._ranking import rank

__all__ = [
    "challenge",
    "check",
    "counting_scores",
    "evaluate",
    "findings_by_team",
    "means_in_brackets",
    "rank",
    "roles_of",
    "with_uncertainty",
]
