"""A board as pages, CSV and JSON show it: what `boards.shown` leaves of it, in the digits that may be seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from isocenter.editions import Sight
from isocenter.server import boards
from isocenter.server.boards import plots
from isocenter.server.boards.board_badges import Badge, badges
from isocenter.server.boards.board_history import Past, history, rows_of, teams_of
from isocenter.server.editions import code_of
from isocenter.server.models import Snapshot, Submission
from isocenter.server.work.given_tables import outdated

if TYPE_CHECKING:
    from isocenter.metrics import Metric
    from isocenter.ranking import Board, BoardRow
    from isocenter.server.policy import Visit


@dataclass(frozen=True, slots=True)
class Digits:
    """How many decimals of a number are shown: those of its metric, and never more than the phase gives away."""

    most: int | None

    def of(self, metric: Metric) -> int:
        """The decimals of a metric."""
        return metric.decimals if self.most is None else min(metric.decimals, self.most)

    def text(self, metric: Metric, value: float | None) -> str:
        """A number as a table prints it."""
        if value is None or math.isnan(value):
            return "–"
        return f"{value:.{self.of(metric)}f}" if math.isfinite(value) else ("∞" if value > 0 else "−∞")

    def number(self, metric: Metric, value: float | None) -> float | None:
        """The same number for programs."""
        return None if value is None or not math.isfinite(value) else round(value, self.of(metric))

    def bounds(self, metric: Metric, low: float | None, high: float | None) -> str:
        """An interval; "" where there is none."""
        return "" if low is None or high is None else f"{self.text(metric, low)} to {self.text(metric, high)}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column that can be chosen; `usual` ones are shown unless others are."""

    key: str
    title: str
    about: str
    usual: bool = True
    number: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a column, and in small letters below it."""

    text: str
    more: str = ""
    when: datetime | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the board with all that is said of it."""

    row: BoardRow
    own: bool
    score: str
    bounds: str
    mark: str
    badges: tuple[Badge, ...]
    cells: Mapping[str, Cell]
    submission: UUID | None

    def chosen(self, columns: Iterable[Column]) -> list[tuple[Column, Cell]]:
        """Its cells in the columns that are shown."""
        return [(column, self.cells.get(column.key, Cell("–"))) for column in columns]


@dataclass(frozen=True, slots=True)
class BoardTable:
    """A board for one visitor."""

    board: Board
    sight: Sight = field(repr=False)  # its consents name teams that may be nowhere on the board
    metric: Metric
    digits: Digits
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    aside: tuple[Line, ...]
    axis: plots.Axis | None
    groups: tuple[str, ...]
    made: datetime | None = None
    digest: str = ""
    submitted: Mapping[str, datetime] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether all rows are there, not only those of the visitor's own team."""
        return self.sight.other_scores

    @property
    def metrics(self) -> list[Metric]:
        """The metrics behind the score."""
        return component_metrics(self.board)


def component_metrics(board: Board) -> list[Metric]:
    """The metrics that rows have components of, in their order."""
    from isocenter.metrics import catalogue

    names = dict.fromkeys(part.metric for row in (*board.rows, *board.unlisted) for part in row.components)
    return [catalogue.get(name) for name in names]


def label(metric: Metric) -> str:
    """A metric as the heading of a column names it, with its unit and the direction that is better."""
    from isocenter.report import metric_label

    return f"{metric_label(metric)} {metric.arrow}".strip()


def board_table(visit: Visit, snapshot: Snapshot, *, moments: Sequence[Past] | None = None) -> BoardTable:
    """What a visitor sees of a snapshot.

    Parameters
    ----------
    moments
        The history of the board, if it was asked for already.

    Notes
    -----
    Since when it looks so is said only to those who see all rows: to the others it would tell when somebody else was
    scored.
    """
    from isocenter.metrics import catalogue

    code_of(snapshot.version_id, snapshot.phase)  # the challenge brings its metrics into the catalogue
    seen = visit.sight(snapshot.phase)
    board = boards.shown(visit, snapshot)
    if moments is None:
        moments = history(visit, visit.scored_phase(snapshot.phase), snapshot.board)
    past = next((one for one in moments if one.id == snapshot.pk), None)
    metric, digits = catalogue.get(board.metric), Digits(seen.decimals)
    entries = rows_of(snapshot)
    submitted = _submitted(board, entries) if seen.details else {}
    columns = _columns(board, dated=bool(submitted))
    ends = [digits.number(metric, end) for row in board.rows for end in (row.score, row.low, row.high)]
    axis = plots.axis_of(ends, decimals=digits.of(metric))
    given = outdated(snapshot, {row.submission for row in board.rows if row.role == "benchmark"})
    said = badges(visit, snapshot.phase, board, teams_of(snapshot), outdated=given)
    # Which one a ladder shows tells of steps that the rounded score does not.
    told = visit.organises or seen.decimals is None or visit.scored_phase(snapshot.phase).ladder is None

    def line(row: BoardRow) -> Line:
        own = visit.team is not None and entries.get(row.submission, {}).get("team", row.submission) == visit.team.name
        to_open = entries.get(row.submission) if visit.organises or (own and told) else None
        return Line(
            row=row,
            own=own,
            score=digits.text(metric, row.score),
            bounds=digits.bounds(metric, row.low, row.high),
            mark=plots.whisker(axis, *(digits.number(metric, end) for end in (row.score, row.low, row.high))),
            badges=said.get(row.submission, ()),
            cells=_cells(row, digits, submitted),
            submission=UUID(str(to_open["submission"])) if to_open and to_open.get("submission") else None,
        )

    return BoardTable(
        board=board,
        sight=seen,
        metric=metric,
        digits=digits,
        columns=columns,
        lines=tuple(line(row) for row in board.rows),
        aside=tuple(line(row) for row in board.unlisted),
        axis=axis,
        groups=groups_in_words(board.rows),
        made=None if past is None else past.made,
        digest="" if past is None else past.digest,
        submitted=submitted,
    )


def _submitted(board: Board, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, datetime]:
    """By row that stands under its own name, when the submission was made that counts."""
    keys = {
        str(entries[row.submission]["submission"]): row.submission
        for row in (*board.rows, *board.unlisted)
        if entries.get(row.submission, {}).get("submission")
    }
    made = {str(key): when for key, when in Submission.objects.filter(pk__in=list(keys)).values_list("pk", "made")}
    return {row: made[key] for key, row in keys.items() if key in made}  # in the order of the board, for its tag


def _columns(board: Board, *, dated: bool) -> tuple[Column, ...]:
    """Those that have something to show."""
    rows = (*board.rows, *board.unlisted)
    columns = []
    if any(row.rank_low is not None for row in rows):
        columns.append(Column("rank_set", "Rank set", "The ranks that the data do not exclude."))
    if any(row.p_first is not None for row in rows):
        columns.append(Column("p_first", "P(first)", board.legend["p_first"]))
    if any(row.p_best is not None for row in rows):
        columns.append(Column("p_best", "P(best)", board.legend["p_best"]))
    if any(row.group is not None for row in rows):
        columns.append(Column("group", "Group", "Who has the same letter cannot be told apart.", number=False))
    columns += [Column(f"metric:{m.name}", label(m), m.text) for m in component_metrics(board)]
    if rows:
        spoilt = any(row.missing or row.failed for row in rows)
        columns.append(Column("cases", "Cases", "The size of the cohort.", usual=False))
        columns.append(Column("missing", "Missing", "Cases without an output.", usual=spoilt))
        columns.append(Column("failed", "Failed", "Cases whose output could not be measured.", usual=spoilt))
    if dated:
        columns.append(Column("submitted", "Submitted", "When the submission was made that counts.", number=False))
    return tuple(columns)


def _cells(row: BoardRow, digits: Digits, submitted: Mapping[str, datetime]) -> dict[str, Cell]:
    from isocenter.metrics import catalogue

    cells = {
        "rank_set": Cell(row.rank_set),
        "p_first": Cell(row.first_share),
        "p_best": Cell(row.best_chance),
        "group": Cell(row.group or "–"),
        "cases": Cell(str(row.cases)),
        "missing": Cell(str(row.missing)),
        "failed": Cell(str(row.failed)),
    }
    for part in row.components:
        metric = catalogue.get(part.metric)
        rank = "" if part.rank is None else f"rank {part.place}"
        bounds = digits.bounds(metric, part.low, part.high)
        cells[f"metric:{part.metric}"] = Cell(digits.text(metric, part.score), " ".join(filter(None, (rank, bounds))))
    if row.submission in submitted:
        cells["submitted"] = Cell("", when=submitted[row.submission])
    return cells


def groups_in_words(rows: Sequence[BoardRow]) -> tuple[str, ...]:
    """Who cannot be told apart, in sentences, best first; a group of one needs none."""
    groups: dict[str, list[BoardRow]] = {}
    for row in rows:
        if row.group is not None and row.rank is not None:
            groups.setdefault(row.group, []).append(row)
    said = []
    for letter, members in groups.items():
        if len(members) < 2:
            continue
        first, last = members[0].place, members[-1].place
        where = f"The {len(members)} on place {first}" if first == last else f"{first}–{last}"
        said.append(f"{where} cannot be told apart (group {letter})")
    return tuple(said)


def chosen_columns(table: BoardTable, wanted: Sequence[str] | None) -> list[Column]:
    """The columns to show: those that are named, in the order of the table, or the usual ones."""
    if wanted is None:
        return [column for column in table.columns if column.usual]
    names = {name for text in wanted for name in text.split(",")}
    return [column for column in table.columns if column.key in names]
