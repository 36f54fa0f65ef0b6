"""Boards and their rules in words: the names that code gives them stay in addresses, files and programs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge as Code
    from isocenter.ranking import Rule


def titles_of(code: Code) -> dict[str, str]:
    """By board what it ranks by; boards that rank by the same are told apart by their own names.

    Examples
    --------
    >>> import isocenter
    >>> titles_of(isocenter.challenge("picai2022"))["average_precision"]
    'Average precision'
    >>> titles_of(isocenter.challenge("doserad2026"))["as-run"]
    'Weighted rank, as run'
    """
    from isocenter.metrics import catalogue
    from isocenter.report import metric_label

    labels = {name: metric_label(catalogue.get(rule.metric), unit=False) for name, rule in code.boards.items()}
    often = Counter(labels.values())
    return {
        name: label if often[label] == 1 else f"{label}, {name.replace('-', ' ').replace('_', ' ')}"
        for name, label in labels.items()
    }


def rule_in_words(rule: Rule) -> str:
    """What a rule says of itself, with metrics as people call them.

    Examples
    --------
    >>> import isocenter
    >>> rule_in_words(isocenter.challenge("openkbp2020").boards["dose"]).partition(";")[0]
    'mean Dose error over all cases, lower is better'
    """
    from isocenter.metrics import catalogue
    from isocenter.ranking import capabilities_of
    from isocenter.report import metric_label

    return capabilities_of(rule).words(lambda name: metric_label(catalogue.get(name), unit=False))
