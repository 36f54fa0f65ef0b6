"""A description, as far as the metrics know it: what is measured, in which unit, and who defined it."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator

from isocenter import metrics
from isocenter.evaluation import Challenge
from isocenter.metrics import Metric, catalogue
from isocenter.ranking import Rule, capabilities_of
from isocenter.report._description import Block, Bullets, Paragraph, Rows

# A line of dashes below a word begins a section of a docstring.
_SECTION = re.compile(r"\n*^[A-Z]\w+\n-{3,}$\n?", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`])")


def measured(challenge: Challenge) -> list[Block]:
    """What is measured of a case, all metrics with their definitions, and which board ranks by which."""
    ranked = {name: dict.fromkeys(ranked_by(rule)) for name, rule in challenge.boards.items()}
    # Those of a case in the order of the challenge, between the scores that are made of them and what is metered.
    scores = [name for name in challenge.metrics if catalogue.get(name).better != "neither"]
    made = [rule.metric for rule in challenge.boards.values() if rule.metric not in scores]
    names = dict.fromkeys([*made, *scores, *(metric for of_board in ranked.values() for metric in of_board)])
    rows = [
        (*_row(catalogue.get(name)), ", ".join(board for board, of_board in ranked.items() if name in of_board) or "–")
        for name in names
    ]
    blocks: list[Block] = []
    if inspect.isfunction(challenge.measure):
        blocks += [Paragraph(_plain(text)) for text in _body(inspect.getdoc(challenge.measure) or "")]
    blocks.append(Rows(("metric", "definition", "unit", "better", "bounds", "ranks on the boards"), tuple(rows)))
    watched = [name for name in (*challenge.metrics, *challenge.observations) if name not in names]
    if watched:
        told = "; ".join(f"{name} ({catalogue.get(name).text})" for name in watched)
        blocks.append(Paragraph(f"Measured as well, and never ranked: {told}."))
    return blocks


def ranked_by(rule: Rule) -> tuple[str, ...]:
    """The metrics of a rule: the score that stands on the board, what it is made of, and what was metered elsewhere."""
    read = [name for name in rule.reads if catalogue.get(name).better != "neither"]
    return (rule.metric, *read, *capabilities_of(rule).given)


def literature(challenge: Challenge) -> list[Block]:
    """The papers that the challenge and its metrics name."""
    found = list(_references(getattr(inspect.getmodule(challenge.measure), "__doc__", None)))
    ranked = [name for rule in challenge.boards.values() for name in ranked_by(rule)]
    for name in (*ranked, *challenge.metrics):
        found += _references(inspect.getdoc(getattr(metrics, name, None)))
    return [Bullets(tuple(dict.fromkeys(found)))] if found else []


def bounds(metric: Metric) -> str:
    """The smallest and the largest value.

    Examples
    --------
    >>> bounds(catalogue.get("dose_error"))
    '0 to ∞'
    """
    low, high = ("∞" if math.isinf(end) else f"{end:g}" for end in map(abs, metric.bounds))
    return f"{'−' if metric.bounds[0] < 0 else ''}{low} to {'−' if metric.bounds[1] < 0 else ''}{high}"


def definition(metric: Metric) -> str:
    """What a metric is: with its formula, where the function of its name has one, else as the catalogue says it.

    Examples
    --------
    >>> definition(catalogue.get("dice"))
    'Dice similarity coefficient, 2|T∩P| / (|T|+|P|)'
    """
    summary, *rest = _body(inspect.getdoc(getattr(metrics, metric.name, None)) or "") or [""]
    formula = [_in_numbers(s, metric.name) for text in rest for s in _SENTENCE.split(text) if "``" in s]
    told = "``" in summary or " = " in summary
    text = re.sub(r", in \[.*", "", summary, flags=re.DOTALL) if told else metric.text
    return _plain("; ".join([text, *formula])).rstrip(".")


def _in_numbers(sentence: str, name: str) -> str:
    """A sentence about a function with the defaults of its parameters in place of their names."""
    for parameter in inspect.signature(getattr(metrics, name)).parameters.values():
        if isinstance(parameter.default, float):
            sentence = re.sub(rf"\b{parameter.name}\b", f"{parameter.default:g}", sentence)
    return sentence


def _row(metric: Metric) -> tuple[str, ...]:
    return metric.name, definition(metric), metric.unit or "–", metric.better, bounds(metric)


def _body(docstring: str) -> list[str]:
    """The paragraphs of a docstring before its first section."""
    return [text for text in _SECTION.split(docstring)[0].split("\n\n") if text.strip()]


def _references(docstring: str | None) -> Iterator[str]:
    """The papers in a docstring's section of references; each ends with its year, or pages, and a full stop."""
    if not docstring or not (found := re.search(r"^References\n-{3,}\n(.*?)(?:\n\n|\Z)", docstring, re.M | re.S)):
        return
    yield _plain(found[1])


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("`", "")).strip()
