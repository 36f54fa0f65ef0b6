"""Who took part: people, teams and submissions per phase, and what people said of themselves (tables 1 to 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from isocenter.editions import LEAST, Edition, Pooled, pool, pool_rows
from isocenter.papers._listed import hidden, shown
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.report import Block, Cell, Column, Paragraph, Section, Table, table

People = Sequence[dict[str, str]]

_FILE = "participants.csv"
_NONE = "no answer"
_LONGEST = 60  # characters of an answer in a table
_PREFIXES = ("equity_", "equity:")


def participants(study: Study) -> Section:
    """Participation per phase; areas and experience; countries; equity, one variable at a time."""
    rows = study.folder.rows(_FILE)
    secret = hidden(study)
    people = None if rows is None else [row for row in rows if row.get("team", "") not in secret]
    blocks: list[Block] = [_phases(study, people)]
    if people is None:
        text = f"{_FILE}, a row per person, would show how many registered, their areas, experience and countries."
        blocks.append(Paragraph(text, note=True))
    elif not people:
        blocks.append(Paragraph(f"{_FILE} lists nobody of a listed team.", note=True))
    else:
        edition = study.folder.edition
        blocks += _professions(people, edition)
        blocks += _countries(people, edition)
        blocks += _equity(people, edition)
    return Section("kbp-people", "Who took part, and where from", tuple(blocks))


def _phases(study: Study, people: People | None) -> Table:
    """How many were there when: registered, and in every phase."""
    rows: list[tuple[str, int | None, int | None, int | None]] = []
    if people:
        rows.append(("Registered", len(people), len({row.get("team", "") for row in people} - {""}), None))
    for phase in study.folder.edition.phases:
        entries = shown(study, phase.name)
        if not entries and phase.name != study.folder.phase:  # there may be some that are not listed here
            rows.append((phase.title, None, None, None))
            continue
        teams = {entry.team for entry in entries}
        active = None if people is None else sum(row.get("team", "") in teams for row in people)
        rows.append((phase.title, active, len(teams), len(entries)))
    notes = ["Void submissions and benchmarks are not counted."]
    if people is not None:
        notes.append(f"People of a phase are those whose team, as {_FILE} names it, submitted in it.")
    columns = ["Phase", "People #", "Teams #", "Submissions #"]
    return table("kbp-phases", "Participation in each phase.", columns, rows, notes=notes)


def _professions(people: People, edition: Edition) -> Iterator[Block]:
    """Primary research area against experience with knowledge-based planning."""
    lacking = [name for name in ("area", "experience") if name not in people[0]]
    if lacking:
        text = f"{_FILE} has no column {' and no column '.join(lacking)}: no table of areas and experience."
        yield Paragraph(text, note=True)
        return
    pairs = Counter((_answer(row, "area"), _answer(row, "experience")) for row in people)
    heads = sorted({experience for _, experience in pairs}, key=lambda text: (text == _NONE, text))
    areas = {area: tuple(pairs[area, head] for head in heads) for area, _ in pairs}
    found = pool_rows(areas)
    area = _label(edition, "area", "Primary research area")
    experience = _label(edition, "experience", "Experience with knowledge-based planning")
    if found is None:
        yield from _alone(people, "area", area)
        yield from _alone(people, "experience", experience)
        return
    total = len(people)
    lines = dict(found.shown)
    if found.together:
        lines[_listed(found.together)] = found.rest
    lines["All"] = tuple(sum(column) for column in zip(*areas.values(), strict=True))
    rows: list[list[str | Cell]] = [
        [name, *(_share(n, total) for n in (*numbers, sum(numbers)))] for name, numbers in lines.items()
    ]
    yield table(
        "kbp-areas",
        f"Answers of {total} people. Rows: {area}; columns: {experience}.",
        [Column(area), *(f"{head} #" for head in heads), "All #"],
        rows,
        notes=[_SMALL] if found.together else [],
    )


def _label(edition: Edition, name: str, otherwise: str) -> str:
    """What the registration form of the edition calls a question; our own words if it does not ask it."""
    return next((question.label for question in edition.registration if question.name == name), otherwise)


def _countries(people: People, edition: Edition) -> Iterator[Block]:
    if "country" not in people[0]:
        yield Paragraph(f"{_FILE} has no column country: no table of countries.", note=True)
        return
    yield from _alone(people, "country", _label(edition, "country", "Country of work or study"))


def _alone(people: People, column: str, title: str) -> Iterator[Block]:
    """A table of one variable that is no secret: what is pooled is named."""
    counts = Counter(_answer(row, column) for row in people)
    found, total = pool(counts), len(people)
    kinds = len(counts.keys() - {_NONE})
    if found is None:
        yield Paragraph(f"{title}: {_TOO_FEW}", note=True)
        return
    rows = [(name, _share(number, total)) for name, number in found.shown.items()]
    if found.together:
        rows.append((_listed(found.together), _share(found.rest, total)))
    yield table(
        f"kbp-{column}",
        f"{title} of {total} people; {counted(kinds, 'different answer')}.",
        [Column(title), "People #"],
        rows,
        notes=[_SMALL] if found.together else [],
    )


def _equity(people: People, edition: Edition) -> Iterator[Block]:
    """Every variable by itself, never crossed with another and never by team."""
    columns = [name for name in people[0] if name.lower().startswith(_PREFIXES)]
    if not columns:
        text = f"{_FILE} has no columns that begin with {' or '.join(_PREFIXES)}: nothing is said of equity."
        yield Paragraph(text, note=True)
        return
    rows: list[tuple[str, str, Cell]] = []
    labels = {question.name: question.label for question in edition.equity}
    withheld, pooled = [], False
    for column in columns:
        name = column[len(_PREFIXES[0]) :]
        title = labels.get(name.lower()) or name.replace("_", " ").strip().capitalize() or column
        found = pool(Counter(_answer(row, column) for row in people))
        if found is None:
            withheld.append(title)
            continue
        rows += _variable(title, found, len(people))
        pooled = pooled or bool(found.together)
    notes = ["Several answers of one person are an answer of their own kind."]
    notes += [_SMALL] * pooled
    notes += [f"Not shown: {', '.join(withheld)}; {_TOO_FEW}"] * bool(withheld)
    caption = f"What {len(people)} people said of themselves, each question alone."
    if rows:
        yield table("kbp-equity", caption, ["Question", "Answer", "People #"], rows, notes=notes)
    else:
        yield Paragraph(f"{', '.join(withheld)}: {_TOO_FEW}", note=True)


def _variable(title: str, found: Pooled, total: int) -> Iterator[tuple[str, str, Cell]]:
    """What is pooled is not named either: that somebody gave such an answer would be told."""
    lines = list(found.shown.items()) + [("all other answers", found.rest)] * bool(found.together)
    for name, number in lines:
        yield title, name, _share(number, total)


_SMALL = (
    f"Numbers below {LEAST} are not told: they are added up in one row, with the next larger ones where their sum, or "
    "the total, would give them away."
)
_TOO_FEW = f"too few people to publish numbers of which none below {LEAST} can be worked out."


def _answer(row: dict[str, str], column: str) -> str:
    text = " ".join(row.get(column, "").split())
    return (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…") or _NONE


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names)}, together"


def _share(number: int, total: int) -> Cell:
    return Cell(f"{number} ({100 * number / total:.1f} %)", number)
