"""A description, as far as the statistics know it: what is computed of the boards of a challenge, on what assumptions.

Numbers such as the draws and the level are the defaults of the functions that compute, so that what is told is done.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from isocenter.editions import Edition
from isocenter.evaluation import Challenge
from isocenter.ranking import (
    DetectThenRank,
    Disqualify,
    Drawable,
    MeanThenRank,
    NormalisedSum,
    QuantileThenRank,
    RankThenMean,
    Rule,
    TestThenRank,
    TrimmedMeanThenRank,
    WeightedRanks,
    bootstrap_ranks,
    significance,
    software_versions,
)
from isocenter.report._description import Block, Paragraph
from isocenter.report._description_ranking import boards, by_text, listed

_ADJUSTED = {"holm": "Holm's method", "bonferroni": "Bonferroni's", "bh": "Benjamini and Hochberg's", "none": "none"}


def statistics(edition: Edition, challenge: Challenge) -> list[Block]:
    """What the software computes for the boards, and what it assumes, in the seven parts that the form asks for."""
    texts = {
        "Overview": (
            "Every board is a function of one table of scores, one row per number, and of its rule; all that follows "
            "is computed from the same table. The unit is the case, the patient, with all of its parts."
        ),
        "Precision of the scores": _precision(edition, challenge.boards),
        "Variability of the scores": (
            "The values of every team in every case, and how difficult each case is, are shown beside a board whose "
            "score is made of one value per case."
        ),
        "Variability of the ranking": _variability(challenge.boards),
        "Tests": _tests(challenge.boards),
        "Missing data": _missing(challenge.boards),
        "Software": ", ".join(f"{name} {version}" for name, version in software_versions().items()) + ".",
    }
    return [Paragraph(text, label) for label, text in texts.items()]


def _missing(rules: Mapping[str, Rule]) -> str:
    if all(getattr(rule, "missing", None) == Disqualify() for rule in rules.values()):
        return "A submission that lacks a case stands on no board, and is in no interval, set or test."
    return "Missing cases enter every interval, set and test with what they count as on the board."


def _precision(edition: Edition, rules: Mapping[str, Rule]) -> str:
    draws, level, seed = _defaults(bootstrap_ranks, "replicates", "level", "seed")
    told = (
        f"Each score has a {100 * level:g} % percentile interval, of {draws:,} draws of the cases with replacement "
        f"(seed {seed}), the same draws for all teams and metrics. It takes the cases for an independent sample of the "
        "patients that are meant, and is a little too short where they are few. Sampling weights of the cases enter "
        "every score."
    )
    if any(isinstance(rule, DetectThenRank) for rule in rules.values()):
        told += " Draws with patients of one kind only define no score, and are made again."
    if any(isinstance(rule, WeightedRanks) and rule.given for rule in rules.values()):
        told += " Numbers that are metered for a whole submission, such as run times, do not vary with the cases."
    if discreet := [phase.title for phase in edition.phases if (phase.ladder, phase.decimals) != (None, None)]:
        told += f" Boards of the phase {listed(discreet)} have no intervals: these would tell what is kept back."
    return told


def _variability(rules: Mapping[str, Rule]) -> str:
    (level,) = _defaults(bootstrap_ranks, "level")
    told = (
        "Each team has a rank set, the ranks that the data do not exclude. All sets hold at once with a confidence of "
        f"{100 * level:g} %: all pairs are tested jointly against the largest difference that chance makes (Mogstad et "
        "al., Rev Econ Stud 91 (2024) 476-518). Beside it stand the share of draws in which nobody is better, and "
        "groups of teams that cannot be told apart from the first of the group."
    )
    found = by_text({name: _sets(rule) for name, rule in rules.items()})
    return " ".join([told, *(f"On {boards(names)}, {how}." for how, names in found.items())])


def _sets(rule: Rule) -> str:
    """What the rank sets of a board rest on."""
    if not isinstance(rule, Drawable):
        return "there are none, since the rule does not say how its scores vary with the cases"
    if isinstance(rule, NormalisedSum):
        return "there are none, since a sum that depends on the worst team has none"
    if isinstance(rule, WeightedRanks):
        return "sets are made of those by each metric, all at once (Bonferroni): safe, and wider than need be"
    if isinstance(rule, RankThenMean) or (isinstance(rule, MeanThenRank) and rule.over == "cases"):
        return (
            "sets rest on the differences case by case, whose mean is taken for normal, with Student's t for its error"
        )
    few = (
        "; with fewer than five cases beyond the quantile there are none" if isinstance(rule, QuantileThenRank) else ""
    )
    return f"sets rest on the covariance of the drawn scores, which are taken for normal{few}"


def _tests(rules: Mapping[str, Rule]) -> str:
    """Which boards can be tested in pairs, how by default, and on what assumptions."""
    paired = [name for name, rule in rules.items() if _has_pairs(rule)]
    told = []
    if paired:
        adjust, alpha = _defaults(significance, "adjust", "alpha")
        told.append(
            f"On {boards(paired)}, Wilcoxon's signed-rank test compares the winner with each of the others on the same "
            f"cases, one-sided, adjusted for the number of tests by {_ADJUSTED[adjust]}, significant at {alpha:g} "
            "(isocenter compare). It takes cases for independent and, if neither team is better, their differences for "
            "symmetric about 0. The winner was picked on the same scores, which makes p too small. The paired t test, "
            "for means that are close to normal, and the sign-flip test, which needs symmetry only, can be declared "
            "instead, as can other families and adjustments. Tests take no sampling weights."
        )
    if any(isinstance(rule, MeanThenRank) and rule.over == "parts" for rule in rules.values()):
        told.append("Where a case has several values, the tests are made with the case as the unit, too.")
    if others := [name for name in rules if name not in paired]:
        told.append(f"On {boards(others)} a case has no single value to be tested: there the rank sets decide.")
    return " ".join(told)


def _has_pairs(rule: Rule) -> bool:
    """Whether the score is made of one metric with a value per case, or per part of a case."""
    single = MeanThenRank | TestThenRank | QuantileThenRank | TrimmedMeanThenRank | RankThenMean
    return isinstance(rule, single) and len(rule.reads) == 1


def _defaults(function: Callable[..., object], *names: str) -> tuple[Any, ...]:
    parameters = inspect.signature(function).parameters
    return tuple(parameters[name].default for name in names)
