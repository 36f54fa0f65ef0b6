"""Boards and their rules in words: the names that code gives them stay in addresses, files and programs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge as Code
    from isocenter.ranking import Rule

_NAME = re.compile(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b")


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


def rule_in_words(rule: Rule | str) -> str:
    """What a rule says of itself, or a board of its rule, with metrics as people call them.

    Examples
    --------
    >>> import isocenter
    >>> rule_in_words(isocenter.challenge("openkbp2020").boards["dose"]).partition(";")[0]
    'mean Dose error over all cases, lower is better'
    """
    from isocenter.metrics import catalogue
    from isocenter.report import metric_label

    known = set(catalogue.names())

    def said(found: re.Match[str]) -> str:
        return metric_label(catalogue.get(found[0]), unit=False) if found[0] in known else found[0]

    return _NAME.sub(said, str(rule))
