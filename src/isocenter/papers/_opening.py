"""The sections that every report begins with: what the challenge is, how it ranks, who took part, who won."""

from __future__ import annotations

from collections.abc import Iterator

from isocenter.contest import Decision
from isocenter.editions import Phase, phase_of
from isocenter.metrics import catalogue
from isocenter.papers._listed import competitor, shown
from isocenter.papers._study import Study
from isocenter.papers._words import anchor, counted, interval, moment
from isocenter.ranking import BoardRow, pseudo_code
from isocenter.report import Block, Cell, Code, Facts, Paragraph, Section, Table, metric_label, table
from isocenter.submissions import FileSpec, is_folder


def card(study: Study) -> Section:
    """What a reader must know before the first number: what challenge.toml and its description tables say of it."""
    edition, challenge = study.folder.edition, study.challenge
    phase = phase_of(edition, study.folder.phase)
    cases = study.main.board.rows[0].cases if study.main.board.rows else 0
    pairs = [
        ("Challenge", f"{challenge.title} ({challenge.name})"),
        ("Organised by", ", ".join(edition.organisers)),
        ("Web page", edition.url),
        ("Contact", edition.contact),
        ("Aims", edition.mission.aims or ""),
        ("Target cohort", edition.mission.target_cohort or ""),
        ("Cohort of the challenge", edition.mission.challenge_cohort or ""),
        ("Imaging", edition.mission.modality or ""),
        ("Centres", edition.datasets.centres or ""),
        ("Reference", edition.datasets.reference or ""),
        ("Ethics", edition.organisation.ethics or ""),
        ("Licence of the data", edition.organisation.licence or ""),
        ("Phase", f"{phase.title}: {_span(phase)}"),
        ("Cases", str(cases) if cases else ""),
        ("Teams submit", "; ".join(f"{slot}: {_wanted(spec)}" for slot, spec in challenge.output.items())),
        ("Measured", ", ".join(metric_label(catalogue.get(name)) for name in challenge.metrics[:12])),
        ("Boards", ", ".join(study.boards)),
    ]
    return Section("challenge", "The challenge", (Facts("card", tuple(pair for pair in pairs if pair[1])),))


def _wanted(spec: FileSpec) -> str:
    """The files of a case, as a team reads it."""
    return spec.expected("CASE") if is_folder(spec) else spec.name("CASE", spec.suffixes[0])


def _span(phase: Phase) -> str:
    return f"{moment(phase.opens)} to {moment(phase.closes)}, results {moment(phase.results)}"


def rules(study: Study) -> Section:
    """How the boards rank, in words and as a programme, both from the rule that ranked."""
    blocks: list[Block] = []
    written: dict[str, str] = {}
    for name, decided in study.boards.items():
        heading = f"Board {name}" if len(study.boards) > 1 else "The board"
        code = pseudo_code(decided.rule)
        alike = written.setdefault(code.replace(decided.board.metric, "METRIC"), name)
        same = f" As the board {alike}, with {decided.board.metric}." if alike != name else ""
        blocks += [Paragraph(f"{heading}: {decided.rule}.{same}"), *([] if same else [Code(code)])]
    metrics = dict.fromkeys(
        name for decided in study.boards.values() for name in (decided.board.metric, *decided.rule.reads)
    )
    rows = [
        (metric_label(m), m.text, m.unit or "–", m.better if m.better != "neither" else "–", _bounds(m.bounds))
        for m in map(catalogue.get, metrics)
    ]
    blocks.append(
        table("metrics", "What the boards rank by.", ["Metric", "What it is", "Unit", "Better", "Range"], rows)
    )
    taking_part = study.challenge.participation
    quota = "without limit" if taking_part.quota is None else f"{taking_part.quota} per {taking_part.per}"
    text = f"Submissions of a team: {quota}; of several, {_COUNTS[taking_part.counts]}. "
    text += f"Organisers' own teams are {taking_part.organisers}."
    return Section("rules", "How the ranking is made", (*blocks, Paragraph(text)))


_COUNTS = {
    "last": "the last one counts",
    "best": "the best one counts",
    "chosen": "the one that the team chose counts",
    "all": "each has a row of its own",
}


def _bounds(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:g} to {bounds[1]:g}".replace("inf", "∞")


def participation(study: Study) -> Section:
    """How many took part in each phase, and what the listed teams lack; of a phase without entries that is not told."""
    rows: list[tuple[str, str, int | None, int | None]] = []
    for phase in study.folder.edition.phases:
        entries = [entry for entry in shown(study, phase.name) if entry.role == "team"]
        told = bool(entries) or phase.name == study.folder.phase
        span = f"{moment(phase.opens)} to {moment(phase.closes)}"
        teams = len({entry.team for entry in entries})
        rows.append((phase.title, span, teams if told else None, len(entries) if told else None))
    blocks: list[Block] = [
        table("participation-by-phase", "Who took part.", ["Phase", "Open", "Teams #", "Submissions #"], rows),
        _lacking(study.main),
    ]
    return Section("participation", "Who took part", tuple(blocks))


def _lacking(decided: Decision) -> Table | Paragraph:
    rows = [row for row in decided.board.rows if row.missing or row.failed]
    if not rows:
        return Paragraph("No listed team lacks a case, and every output could be measured.")
    return table(
        "missing",
        f"Cases without a usable output, of {rows[0].cases}; teams that are not named lack none. "
        "A missing case has no output, an unusable one has an output that could not be measured.",
        ["Team", "Missing #", "Unusable #"],
        [(row.submission, row.missing, row.failed) for row in rows],
    )


def results(study: Study) -> Section:
    """The boards, one table each."""
    blocks: list[Block] = []
    if study.decisive:
        blocks.append(Paragraph(_winner(study.main, level=study.settings.level, noun=competitor(study))))
    else:
        declared = next(iter(study.challenge.boards))
        text = f"The board {declared}, which decides, could not be made: who won is not known. The others are shown."
        blocks.append(Paragraph(text))
    said: list[str] = []
    for name, decided in study.boards.items():
        blocks.append(_board(name, decided, level=study.settings.level))
        new = [note for note in decided.board.notes if note not in said]
        blocks += [Paragraph(f"{note.rstrip('.')}.", note=True) for note in new]
        said += new
    if study.unmade:
        names = ", ".join(study.unmade)
        text = f"Not made, as these tables do not allow it: {names}. The command that writes the report says why."
        blocks.append(Paragraph(text, note=True))
    cases = study.main.board.rows[0].cases if study.main.board.rows else 0
    if cases < FEW_CASES and any(decided.uncertainty for decided in study.boards.values()):
        text = (
            f"With {counted(cases, 'case')} intervals and rank sets promise more than they hold: drawn from so few, "
            "they are too narrow. Take them as a lower bound of what is not known."
        )
        blocks.append(Paragraph(text, note=True))
    if any(row.p_first is not None for decided in study.boards.values() for row in decided.board.rows):
        legend = {key: text for decided in study.boards.values() for key, text in decided.board.legend.items()}
        blocks.append(Paragraph(" ".join([_RANK_SET, *legend.values(), _GROUP]), note=True))
    return Section("results", "Results", tuple(blocks))


FEW_CASES = 20
"""Below this many cases a bootstrap of them is known to be too sure."""

_RANK_SET = "Rank set: the ranks that the data do not exclude, for all teams at once."
_GROUP = "Teams of one group cannot be told apart from its first."


def _winner(decided: Decision, *, level: float, noun: str) -> str:
    """Who is first, by how much, and whether that is sure, in a sentence or two."""
    ranked = [row for row in decided.board.rows if row.rank is not None]
    if not ranked:
        return "Nobody is ranked."
    best = [row for row in ranked if row.rank == ranked[0].rank]
    metric, first = decided.metric, ranked[0]
    if len(best) > 1:
        names = " and ".join(row.submission for row in best)
        return f"{names} share the first rank with {metric_label(metric)} {metric.show(first.score)}."
    text = f"{first.submission} is first of {counted(len(ranked), noun)} with {metric_label(metric)} "
    text += metric.show(first.score) + interval(metric, first.low, first.high, level=level) + "."
    if len(ranked) > 1:
        text += f" {ranked[1].submission} follows with {metric.show(ranked[1].score)}."
    tied = [row.submission for row in ranked if row.group == first.group and row is not first]
    if first.group and tied:
        text += f" The data do not tell {first.submission} from {_some(tied)}."
    elif first.group and len(ranked) > 1:
        text += " The data tell the first from all others."
    return text


def _some(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 5 else f"{', '.join(names[:4])} and {len(names) - 4} more"


def _board(name: str, decided: Decision, *, level: float) -> Table:
    metric, board = decided.metric, decided.board
    uncertain = "p_first" in board.legend
    parts = list(dict.fromkeys(part.metric for row in board.rows for part in row.components))
    columns = ["Rank #", "Team", f"{metric_label(metric)} {metric.arrow} #"]
    columns += [f"{100 * level:g} % interval"] if any(row.low is not None for row in board.rows) else []
    best = ["P(best) #"] if "p_best" in board.legend else []
    columns += ["Rank set", "P(first) #", *best, "Group"] if uncertain else []
    columns += [f"{metric_label(catalogue.get(part))} (rank) #" for part in parts]
    rows = [list(_cells(row, decided, columns, parts)) for row in board.rows]
    text = f"Board {name}: {decided.rule}."
    notes = []
    if any(row.rank is None for row in board.rows):
        notes.append("Rows without a rank are there to compare with.")
    return table(anchor(f"board-{name}"), text, columns, rows, notes=notes)


def _cells(row: BoardRow, decided: Decision, columns: list[str], parts: list[str]) -> Iterator[str | Cell]:
    metric = decided.metric
    yield Cell(row.place, row.rank, strong=row.rank == 1)
    yield Cell(row.submission if row.role == "team" else f"{row.submission} ({row.role})", strong=row.rank == 1)
    yield Cell("disqualified" if row.disqualified else metric.show(row.score), row.score)
    if any("interval" in column for column in columns):
        yield interval(metric, row.low, row.high).strip(" ()") or "–"
    if "Rank set" in columns:
        yield row.rank_set
        yield Cell(row.first_share, row.p_first)
    if "P(best) #" in columns:
        yield Cell(row.best_chance, row.p_best)
    if "Rank set" in columns:
        yield row.group or "–"
    found = {part.metric: part for part in row.components}
    for name in parts:
        part = found.get(name)
        if part is None:
            yield "–"
            continue
        rank = "" if part.rank is None else f" ({part.place})"
        yield Cell(f"{catalogue.get(name).show(part.score)}{rank}", part.score)
