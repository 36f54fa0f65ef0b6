"""A decision: a board with all that it was made of and all that is known of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self

import polars as pl

from isocenter.detections import Detections
from isocenter.metrics import Metric, catalogue
from isocenter.ranking import (
    Board,
    FileRecord,
    Note,
    RankingRule,
    RankUncertainty,
    Receipt,
    Role,
    Rule,
    TableRecord,
    capabilities_of,
    describe,
    methods_of,
    read_cells,
    software_versions,
    table_digest,
    undefined_in_words,
)
from isocenter.stats import in_brackets, mean_and_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isocenter.contest._contest import Contest
    from isocenter.contest._counting import Counted
    from isocenter.contest._entry import Entry


_ValuesOfRow = tuple[str, "list[float | None]", "Mapping[str, float]"]


@dataclass(frozen=True, slots=True)
class Resampling:
    """How many bootstrap resamples of the cases are made, and with which level and seed."""

    resamples: int
    level: float
    seed: int

    def __post_init__(self) -> None:
        if self.resamples < 0 or not 0 < self.level < 1 or self.seed < 0:
            msg = (
                f"a bootstrap has 0 resamples or more, a level within 0 and 1 and a seed of 0 or more, not "
                f"{self.resamples}, {self.level} and {self.seed}"
            )
            raise ValueError(msg)

    def describe(self, uncertainty: RankUncertainty) -> Note:
        """How intervals and rank sets came about, as a note of the board."""
        text = (
            f"Intervals and rank sets: {100 * self.level:g} %, {self.resamples:,} bootstrap resamples of the cases, "
            f"seed {self.seed}"
        )
        if uncertainty.redrawn:
            text += f"; {uncertainty.redrawn:,} resamples defined no score and were made again"
        if uncertainty.sets.reason:
            text += f"; {uncertainty.sets.reason}"
        if uncertainty.p_best_reason:
            text += f". P(best) is a rough approximation for this rule: {uncertainty.p_best_reason}"
        return Note(f"{text}.")


@dataclass(frozen=True, eq=False)
class Decision:
    """One board, decided.

    Attributes
    ----------
    contest
        What was decided.
    board
        With intervals, rank sets, P(first), P(best) and groups, where its rule knows them.
    counted
        The entries that count, by the names of their rows, and their scores.
    uncertainty
        All bootstrap resamples; None where the rule knows none, or the phase shows little. It also holds teams that the
        board does not list.
    resampling
        How they were made.
    is_listed
        Whether this is `listed` of another decision.
    """

    contest: Contest
    board: Board
    counted: Counted
    uncertainty: RankUncertainty | None
    resampling: Resampling
    is_listed: bool = False

    def __str__(self) -> str:
        return "\n".join([str(self.board), f"Rule: {self.board.rule}.", *self.board.notes, *self.board.legend.values()])

    def __repr__(self) -> str:
        return f"<Decision on the board {self.board.name} of {self.contest.challenge.name}: {len(self.board)} rows>"

    @property
    def rule(self) -> Rule:
        """The rule of the board."""
        return self.contest.challenge.boards[self.board.name]

    @property
    def metric(self) -> Metric:
        """The metric of the score."""
        return catalogue.get(self.board.metric)

    @property
    def scores(self) -> pl.DataFrame:
        """The tables of the entries that count, as one."""
        return self.counted.scores

    @property
    def teams(self) -> list[str]:
        """All listed rows, in the order of the board."""
        return [row.submission for row in self.board.rows]

    @property
    def ranked(self) -> list[str]:
        """The listed rows that have a rank, best first."""
        return [row.submission for row in self.board.rows if row.rank is not None]

    @property
    def roles(self) -> dict[str, Role]:
        """Roles of the rows that do not compete."""
        return self.counted.roles(self.contest.challenge.participation)

    def listed(self) -> Self:
        """The decision with nothing of those whom the board does not list; with no scores, if it gives little away.

        Board, counted entries and uncertainty hold listed rows only; numbers of listed rows stay as they are. There is
        no receipt, as it names all tables. The attribute `contest` is the whole contest with all its entries.
        """
        listed, counted = set(self.teams), self.counted
        names = [] if self.contest.challenge.participation.discreet else self.teams
        rows = {name: entry for name, entry in counted.rows.items() if name in listed}
        teams = {entry.team for entry in rows.values()}
        hidden = {entry for name, entry in counted.rows.items() if name not in listed}
        return replace(
            self,
            board=replace(self.board, unlisted=()),
            counted=replace(
                counted,
                rows=rows,
                scores=self.scores.filter(pl.col("submission").is_in(names)),
                shown={name: score for name, score in counted.shown.items() if name in listed},
                needed=tuple(entry for entry in counted.needed if entry.team in teams and entry not in hidden),
                notes=tuple(note for note in counted.notes if note.team in teams),
            ),
            uncertainty=self.uncertainty and self.uncertainty.leave_out(counted.rows.keys() - listed),
            is_listed=True,
        )

    def findings(self) -> dict[str, list[Detections]]:
        """The findings of all listed rows, by trained instance, in the order of the board; {} if it has none."""
        rule = capabilities_of(self.rule)
        if not rule.has_findings:
            return {}
        return {
            name: list(rule.findings(self.scores.filter(pl.col("submission") == name)).values()) for name in self.teams
        }

    def means(self) -> dict[str, dict[str, str]]:
        """Mean and standard error over the cases, as tables of papers print them: 0.77(1).

        By metric of a board that ranks means over cases, then by row; rows without such a mean are left out. The cohort
        is every case of the scores. One that is missing or unusable counts as the board's rule says, so that the mean
        is the one that ranks.
        """
        challenge = self.contest.challenge
        if challenge.participation.discreet:
            return {}
        cases = self.scores.filter(pl.col("case") != "").select("case", "weight").unique().sort("case")
        weights: dict[str, float] = dict(cases.iter_rows())
        means: dict[str, dict[str, str]] = {}
        for rule in map(capabilities_of, challenge.boards.values()):
            if rule.mean_metric is not None:
                metric = catalogue.get(rule.mean_metric)
                values = self._values_in_cases(rule, weights)
                by_row = dict(_means_in_brackets(metric, values))
                means |= {rule.mean_metric: by_row} if by_row else {}
        return means

    def _values_in_cases(self, rule: RankingRule, weights: Mapping[str, float]) -> Iterable[_ValuesOfRow]:
        """By row what it has in every case, or what stands in there, and the weights of these cases."""
        asked = rule.case_values()
        if undefined_in_words(asked.undefined):
            cohort = read_cells(
                self.scores, asked.metric.name, asked.missing, undefined=asked.undefined, roles=self.roles
            )
            for entry in cohort.scored:
                yield (
                    entry.row.submission,
                    [(entry.numbers or {}).get((case, "")) for case in cohort.cases],
                    cohort.weights,
                )
            return
        whole = self.scores.filter((pl.col("part") == "") & (pl.col("metric") == asked.metric.name))
        for row in self.scores["submission"].unique(maintain_order=True):
            value = dict(whole.filter(pl.col("submission") == row).select("case", "value").iter_rows())
            yield row, [rule.stand_in if value.get(case) is None else value[case] for case in weights], weights

    @cached_property
    def receipt(self) -> Receipt:
        """The record by which `isocenter verify` makes the board again, with the tables of all entries.

        Raises `DescriptionError` for a rule that cannot be recorded, and `ValueError` for a listed decision.
        """
        return self.make_receipt("all")

    def make_receipt(self, tables: Literal["all", "needed"]) -> Receipt:
        """A receipt with the tables of all entries, or of those that the counting rule needs to see."""
        if self.is_listed:
            msg = "a listed decision has no receipt: that of the whole decision names all tables"
            raise ValueError(msg)
        contest = self.contest
        entries = contest.entries if tables == "all" else self.counted.needed
        return Receipt(
            challenge=contest.challenge.name,
            board_name=self.board.name,
            rule=describe(self.rule),
            participation=contest.challenge.participation,
            organisers=_teams_of(entries, "organiser"),
            benchmarks=_teams_of(entries, "benchmark"),
            tables=tuple(self._records(entries, choosing=tables == "needed")),
            run_times=None if contest.run_times is None else FileRecord.of(contest.run_times),
            replicates=self.resampling.resamples,
            seed=self.resampling.seed,
            level=self.resampling.level,
            board=self.board.to_dict(),
            versions=software_versions(),
            methods=methods_of(self.board),
        )

    def _records(self, entries: Sequence[Entry], *, choosing: bool) -> Iterable[TableRecord]:
        """Records of entries for a receipt; where the chosen one counts, the needed ones are the chosen ones."""
        choosing = choosing and self.contest.challenge.participation.counts == "chosen"
        unread = [entry for entry in entries if not entry.digest]
        digests = dict(zip(unread, map(table_digest, self.contest.read_tables(unread)), strict=True))
        count: dict[str, int] = {}
        for entry in entries:
            count[entry.team] = count.get(entry.team, 0) + 1
            yield TableRecord(
                team=entry.team,
                position=count[entry.team],
                moment=entry.moment,
                chosen=entry.chosen or choosing,
                void=entry.void,
                file=entry.file,
                sha256=entry.digest or digests[entry],
            )


def _teams_of(entries: Iterable[Entry], role: Role) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.team for entry in entries if entry.role == role))


def _means_in_brackets(metric: Metric, rows: Iterable[_ValuesOfRow]) -> Iterable[tuple[str, str]]:
    """By row its mean and standard error, if every case has a number, or one that stands in."""
    for row, values, weights in rows:
        if all(number is not None and math.isfinite(number) for number in values):
            mean, error = mean_and_error(values, weights.values())
            # A single case has no error, which would say how many digits are worth printing.
            yield row, f"{metric.show(mean)}(–)" if math.isnan(error) else in_brackets(mean, error)
