"""Answers as they may leave the site: those that were chosen, without own words, where a name could stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from isocenter.editions import Question

_CLOSED = ("choice", "several", "yes-no", "country", "number")


def closed(questions: Iterable[Question]) -> list[Question]:
    """The questions that are not answered in own words."""
    return [question for question in questions if question.kind in _CLOSED]


def in_cells(questions: Sequence[Question], answers: Mapping[str, object]) -> dict[str, str]:
    """Answers as cells; several of them with semicolons between."""
    found = {}
    for question in questions:
        value = answers.get(question.name)
        if isinstance(value, bool):
            found[question.name] = "yes" if value else "no"
        elif isinstance(value, list | tuple):
            found[question.name] = "; ".join(_closed(question, str(part)) for part in value)
        elif value is not None:
            found[question.name] = _closed(question, str(value))
    return found


def _closed(question: Question, answer: str) -> str:
    """An answer without the own words that complete a choice: "Other: dosimetry" is "Other"."""
    heads = [choice.rstrip("….").rstrip() for choice in question.choices or () if choice.endswith(("…", "..."))]
    return next((head for head in heads if answer.startswith(f"{head}: ")), answer)
