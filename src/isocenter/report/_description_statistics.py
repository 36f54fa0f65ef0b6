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
    RankingRule,
    Rule,
    bootstrap_ranks,
    capabilities_of,
    significance,
    software_versions,
)
from isocenter.report._description import Block, Paragraph
from isocenter.report._description_ranking import boards, by_text, listed

_ADJUSTED = {"holm": "Holm's method", "bonferroni": "Bonferroni's", "bh": "Benjamini and Hochberg's", "none": "none"}


def statistics(edition: Edition, challenge: Challenge) -> list[Block]:
    """What the software computes for the boards, and what it assumes, in the seven parts that the form asks for."""
    rules = {name: capabilities_of(rule) for name, rule in challenge.boards.items()}
    texts = {
        "Overview": (
            "Every board is a function of one table of scores, one row per number, and of its rule; all that follows "
            "is computed from the same table. The unit is the case, the patient, with all of its parts."
        ),
        "Precision of the scores": _precision(edition, rules),
        "Variability of the scores": (
            "The values of every team in every case, and how difficult each case is, are shown beside a board whose "
            "score is made of one value per case."
        ),
        "Variability of the ranking": _variability(rules),
        "Tests": _tests(rules),
        "Missing data": _missing(challenge.boards),
        "Software": ", ".join(f"{name} {version}" for name, version in software_versions().items()) + ".",
    }
    return [Paragraph(text, label) for label, text in texts.items()]


def _missing(rules: Mapping[str, Rule]) -> str:
    if all(getattr(getattr(rule, "missing", None), "disqualifies", False) for rule in rules.values()):
        return "A submission that lacks a case stands on no board, and is in no interval, set or test."
    return "Missing cases enter every interval, set and test with what they count as on the board."


def _precision(edition: Edition, rules: Mapping[str, RankingRule]) -> str:
    draws, level, seed = _defaults(bootstrap_ranks, "replicates", "level", "seed")
    told = (
        f"Each score has a {100 * level:g} % percentile interval, of {draws:,} bootstrap resamples of the cases "
        f"(seed {seed}), the same draws for all teams and metrics. It takes the cases for an independent sample of the "
        "patients that are meant, and is a little too short where they are few. Sampling weights of the cases enter "
        "every score."
    )
    if any(rule.has_findings for rule in rules.values()):
        told += " Draws with patients of one kind only define no score, and are made again."
    if any(rule.given for rule in rules.values()):
        told += " Numbers that are metered for a whole submission, such as run times, do not vary with the cases."
    if discreet := [phase.title for phase in edition.phases if (phase.ladder, phase.decimals) != (None, None)]:
        told += f" Boards of the phase {listed(discreet)} have no intervals: these would tell what is kept back."
    return told


def _variability(rules: Mapping[str, RankingRule]) -> str:
    (level,) = _defaults(bootstrap_ranks, "level")
    told = (
        "Each team has a rank set, the ranks that the data do not exclude. All sets hold at once with a confidence of "
        f"{100 * level:g} %: all pairs are tested jointly against the largest difference that chance makes (Mogstad et "
        "al., Rev Econ Stud 91 (2024) 476-518). Beside it stand the share of resamples in which nobody is better, "
        "the posterior probability of being truly the best, and groups of teams that cannot be told apart from the "
        "first of the group."
    )
    found = by_text({name: rule.rank_set_basis for name, rule in rules.items()})
    return " ".join([told, *(f"On {boards(names)}, {how}." for how, names in found.items())])


def _tests(rules: Mapping[str, RankingRule]) -> str:
    """Which boards can be tested in pairs, how by default, and on what assumptions."""
    ranked = [name for name, rule in rules.items() if rule.compares_ranks]
    paired = [name for name, rule in rules.items() if rule.paired and name not in ranked]
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
    if any(rules[name].case_values().over == "parts" for name in paired):
        told.append("Where a case has several values, the tests are made with the case as the unit, too.")
    if ranked:
        adjust, alpha = _defaults(significance, "adjust", "alpha")
        told.append(
            f"On {boards(ranked)}, the mean ranks of the winner and of each of the others in every case are exchanged "
            "at random, or in all ways where these can be counted; p is the share of exchanges with at least this "
            f"lead, one-sided, adjusted by {_ADJUSTED[adjust]}, significant at {alpha:g} (isocenter compare). Ranks "
            "depend on all teams that are ranked, and so do these tests."
        )
    if others := [name for name in rules if name not in (*paired, *ranked)]:
        told.append(f"On {boards(others)} a case has no single value to be tested: there the rank sets decide.")
    return " ".join(told)


def _defaults(function: Callable[..., object], *names: str) -> tuple[Any, ...]:
    parameters = inspect.signature(function).parameters
    return tuple(parameters[name].default for name in names)
