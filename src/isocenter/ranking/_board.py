"""A leaderboard: rows in order, as a table, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from isocenter.metrics import catalogue
from isocenter.ranking._entry import Role
from isocenter.ranking._shares import P_BEST_IN_WORDS, P_FIRST_IN_WORDS, show_share


class Note(str):
    """A sentence about a board, and the team that it is about: "" if it is about the board as a whole.

    Whoever may not be named on a board may not be named in its notes; `team` says whom a note names.
    """

    team: str

    def __new__(cls, text: str, team: str = "") -> Self:
        """The sentence, with the team beside it."""
        note = super().__new__(cls, text)
        note.team = team
        return note


@dataclass(frozen=True, slots=True)
class Component:
    """One of several metrics that a rule ranks by: what the submission reached, and its rank by it, if it competes.

    Where ranks are averaged over cases, `rank` is the mean of those by this metric alone.
    `low` and `high` bound its confidence interval, where one was asked for.
    """

    metric: str
    score: float
    rank: float | None
    low: float | None = None
    high: float | None = None

    @property
    def place(self) -> str:
        """The rank as a table prints it: "1", "2.5", "1.83" for a mean of ranks, or "–" for a row without one."""
        if self.rank is None:
            return "–"
        return f"{self.rank:g}" if self.rank * 2 == int(self.rank * 2) else f"{self.rank:.2f}"


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One competitor on one board.

    Attributes
    ----------
    rank
        1 is best; None for rows that do not compete and for the disqualified.
    score
        What decides; None if the submission was disqualified.
    cases, missing, failed
        The size of the cohort, and how many of its cases had no output, or one that could not be measured.
    components
        Where the score comes from, if the rule makes it of several metrics.
    low, high
        The bounds of the confidence interval of the score, where one was asked for.
    rank_low, rank_high
        The best and the worst rank that the data do not exclude.
    p_first, resamples
        The share of the bootstrap resamples in which nobody is better, and how many resamples there are. It is not the
        probability of being the best team.
    p_best
        The probability of being truly the best of the ranked teams; see `draw_true_scores`.
    group
        "A" for the first and whoever cannot be told apart from them, "B" for the next, and so on.
    """

    submission: str
    score: float | None
    rank: float | None
    role: Role
    cases: int
    missing: int
    failed: int
    disqualified: bool = False
    components: tuple[Component, ...] = ()
    low: float | None = None
    high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    p_first: float | None = None
    group: str | None = None
    p_best: float | None = None
    resamples: int | None = None

    @property
    def place(self) -> str:
        """The rank as a table prints it: "1", "2.5", or "–" for a row without one."""
        return "–" if self.rank is None else f"{self.rank:g}"

    @property
    def rank_set(self) -> str:
        """The ranks that the data do not exclude, as a table prints them: "1", "2–4", or "–" if that is not known."""
        if self.rank_low is None or self.rank_high is None:
            return "–"
        return f"{self.rank_low}" if self.rank_low == self.rank_high else f"{self.rank_low}–{self.rank_high}"

    @property
    def first_share(self) -> str:
        """P(first) as a table prints it: "0.46", ">0.99", or "–" if it is not known."""
        return show_share(self.p_first, self.resamples)

    @property
    def best_chance(self) -> str:
        """P(best) as a table prints it."""
        return show_share(self.p_best, None, counted=False)


@dataclass(frozen=True, slots=True)
class Board:
    """One ranking: a pure function of the score table and a rule.

    Looks like a mapping from submission to its row, in the order of the table; `unlisted` holds what takes part
    without being shown (organisers where the challenge says so, the disqualified), so that nothing is lost and
    nothing leaks: `rows`, `to_json` and printing leave it out.
    """

    name: str
    metric: str
    rule: str
    rows: tuple[BoardRow, ...]
    unlisted: tuple[BoardRow, ...] = ()
    notes: tuple[Note, ...] = ()
    undefined: Mapping[str, int] = field(default_factory=dict)
    """By metric the number of cases in which it is undefined, and is left out or counts as a value."""

    def __getitem__(self, submission: str) -> BoardRow:
        for row in (*self.rows, *self.unlisted):
            if row.submission == submission:
                return row
        raise KeyError(submission)

    def __iter__(self) -> Iterator[BoardRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def legend(self) -> dict[str, str]:
        """By column of shares that the board has, what it is."""
        rows = (*self.rows, *self.unlisted)
        known = {"p_first": P_FIRST_IN_WORDS, "p_best": P_BEST_IN_WORDS}
        return {name: text for name, text in known.items() if any(getattr(row, name) is not None for row in rows)}

    def to_dict(self) -> dict[str, Any]:
        """What may be published, as JSON values."""
        metric = catalogue.get(self.metric)
        legend = {"legend": self.legend} if self.legend else {}
        return {
            "board": self.name,
            "metric": {"name": metric.name, "unit": metric.unit, "better": metric.better, "decimals": metric.decimals},
            "rule": self.rule,
            "rows": [_published(row) for row in self.rows],
            "notes": [str(note) for note in self.notes],
            **legend,
        } | ({"undefined": dict(self.undefined)} if self.undefined else {})

    def to_json(self) -> str:
        """The board as a JSON text that is the same for the same board."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def __str__(self) -> str:
        metric = catalogue.get(self.metric)
        heading = f"{self.metric} [{metric.unit}] {metric.arrow}" if metric.unit else f"{self.metric} {metric.arrow}"
        bounded = any(row.low is not None for row in self.rows)
        known, best = "p_first" in self.legend, "p_best" in self.legend
        columns = ["rank", "submission", heading, *["interval"] * bounded]
        columns += [*("rank set", "P(first)", *["P(best)"] * best, "group")] * known + ["missing", "failed"]
        lines = [columns]
        for row in self.rows:
            bounds = "–" if row.low is None else f"{metric.show(row.low)} – {metric.show(row.high)}"
            cells = [row.place, row.submission, metric.show(row.score), *[bounds] * bounded]
            sure = [row.rank_set, row.first_share, *[row.best_chance] * best, row.group or "–"]
            cells += sure * known + [str(row.missing), str(row.failed)]
            lines.append(cells)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if at == 1 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )


def _published(row: BoardRow) -> dict[str, Any]:
    """A row as JSON values, without components and their intervals, P(best) and resamples where there are none."""
    found = asdict(row) | {"rank": _whole(row.rank)}
    if row.resamples is None:
        del found["p_best"], found["resamples"]
    components = [part | {"rank": _whole(part["rank"])} for part in found.pop("components")]
    if all(part["low"] is None for part in components):
        components = [{name: part[name] for name in ("metric", "score", "rank")} for part in components]
    return found | {"components": components} if components else found


def _whole(rank: float | None) -> float | None:
    """1 rather than 1.0; shared ranks such as 2.5 as they are."""
    return int(rank) if rank is not None and rank == int(rank) else rank
