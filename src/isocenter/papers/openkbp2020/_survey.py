"""What teams said of their methods: how many gave which answer, question by question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from isocenter.papers._listed import hidden, shown
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.report import Block, Cell, Paragraph, Section, table

_FILE = "survey.csv"
_LONGEST = 60  # characters of an answer that is counted; a longer one is told in somebody's own words
_LISTED = 12  # answers to a question
_FIRST = 10  # teams at the head of the board

Row = tuple[str, str, Cell, Cell]


def section(study: Study) -> Section:
    """One table of all questions."""
    rows = study.folder.rows(_FILE)
    if rows is None:
        text = f"{_FILE}, a row per team and a column per question, would show what the models have in common."
        return _noted(text)
    if not rows or "team" not in rows[0] or len(rows[0]) == 1:
        return _noted(f"{_FILE} has no rows, no column team, or no questions.")
    allowed = {entry.team for entry in shown(study, study.folder.phase)} - hidden(study)
    teams = {row["team"]: row for row in rows if row["team"] in allowed}
    if not teams:
        return _noted(f"{_FILE} has no row of a listed team.")
    head = study.main.ranked[:_FIRST]
    labels = {question.name: question.label for question in study.folder.edition.survey}
    lines: list[Row] = []
    notes = []
    for question in (name for name in rows[0] if name != "team"):
        answers = {team: answered for team, row in teams.items() if (answered := _parts(row[question]))}
        label = labels.get(question, question)
        if _own_words(answers):
            notes.append(f"{label}: {counted(len(answers), 'team')} answered, in their own words.")
        else:
            lines += _question(label, answers, head)
    blocks: list[Block] = []
    if lines:
        notes.append(
            f"Shares are of the teams that answered. A team may give several answers; those of more than {_LONGEST} "
            "characters are not listed."
        )
        blocks.append(
            table(
                "kbp-survey",
                f"Model survey of {counted(len(teams), 'team')}, {_of_head(teams, head)} among the first "
                f"{len(head)} of the board.",
                ["Question", "Answer", "Teams #", f"Of the first {len(head)} #"],
                lines,
                notes=notes,
            )
        )
    else:
        blocks += [Paragraph(note, note=True) for note in notes]
    return Section("kbp-survey-section", "What the models have in common", tuple(blocks))


def _noted(text: str) -> Section:
    return Section("kbp-survey-section", "What the models have in common", (Paragraph(text, note=True),))


def _parts(text: str) -> list[str]:
    """The answers of a team, each once, whatever its capitals."""
    found: dict[str, str] = {}
    for part in text.split(";"):
        if plain := " ".join(part.split()):
            found.setdefault(plain.casefold(), plain)
    return list(found.values())


def _own_words(answers: dict[str, list[str]]) -> bool:
    """Whether a question has no answers to be counted: all are long or addresses, or no two of three teams agree."""
    every = [answer for mine in answers.values() for answer in mine]
    if not any(map(_countable, every)):
        return True
    return len(answers) > 2 and len({answer.casefold() for answer in every}) == len(every)


def _countable(answer: str) -> bool:
    return len(answer) <= _LONGEST and "@" not in answer


def _question(question: str, answers: dict[str, list[str]], head: Sequence[str]) -> list[Row]:
    """The most frequent answers, equal ones by name; the rest in one line."""
    spelled = Counter(answer for mine in answers.values() for answer in mine if _countable(answer))
    spelling: dict[str, str] = {}
    for answer in sorted(spelled, key=lambda one: (-spelled[one], one)):
        spelling.setdefault(answer.casefold(), answer)
    given = {
        key: {team for team, mine in answers.items() if key in {answer.casefold() for answer in mine}}
        for key in spelling
    }
    ordered = sorted(given, key=lambda key: (-len(given[key]), key))
    lines = [(spelling[key], given[key]) for key in ordered[:_LISTED]]
    if rest := ordered[_LISTED:]:
        lines.append((counted(len(rest), "other answer"), set().union(*(given[key] for key in rest))))
    if own := {team for team, mine in answers.items() if not all(map(_countable, mine))}:
        lines.append(("in their own words", own))
    total = len(answers)
    return [
        (
            question,
            answer,
            Cell(f"{len(teams)} ({100 * len(teams) / total:.0f} %)", len(teams)),
            Cell(str(len(teams & set(head))), len(teams & set(head))),
        )
        for answer, teams in lines
    ]


def _of_head(teams: dict[str, dict[str, str]], head: Sequence[str]) -> str:
    found = sum(team in teams for team in head)
    return "all" if found == len(head) else str(found)
