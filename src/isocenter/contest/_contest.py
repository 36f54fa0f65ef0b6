"""A contest: a challenge with its rules in force, and everybody's entries; and the one way to decide a board."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import polars as pl

from isocenter.contest._counting import Counted, Read, Unchosen, count_entries
from isocenter.contest._decision import Decision, Resampling
from isocenter.contest._entry import Entry, Tables, label_table, make_entries, read_tables
from isocenter.contest._guard import Progress, RuleFailed, describe_rule, guard_rule, rank_scores
from isocenter.evaluation import Challenge, load_challenge
from isocenter.ranking import (
    Board,
    Note,
    RankUncertainty,
    as_shown,
    bootstrap_ranks,
    capabilities_of,
    explain_first,
    mark_uncertainty,
)


class Contest:
    """A challenge and the entries to it, from which any of its boards can be decided.

    Parameters
    ----------
    challenge
        With the rules of the edition and the phase in force; its name does for an installed one.
    entries
        All submissions, those of a team in the order in which they were made; or their tables by team, see
        `make_entries`.
    run_times
        The file of run times that were metered elsewhere, for a challenge that ranks by them.
    read
        Reads the tables of several entries at once; see `read_tables`.
    unchosen
        What becomes of a team that has to choose a submission and has not: there is no board ("refuse"), or the team
        does not stand on it yet ("wait").

    Examples
    --------
    >>> from isocenter.contest import Contest, Entry
    >>> from isocenter.scores import Row, frame
    >>> tables = {"a": frame([Row("p1", "", "dice", 0.8)]), "b": frame([Row("p1", "", "dice", 0.7)])}
    >>> contest = Contest("hecktor2020", [Entry(team=team, table=table) for team, table in tables.items()])
    >>> print(contest.decide(resamples=0).board)
    rank  submission  dice ↑  missing  failed
       1  a           0.8000        0       0
       2  b           0.7000        0       0
    """

    def __init__(
        self,
        challenge: str | Challenge,
        entries: Mapping[str, Tables] | Iterable[Entry],
        run_times: Path | None = None,
        *,
        read: Read = read_tables,
        unchosen: Unchosen = "refuse",
    ) -> None:
        self.challenge = load_challenge(challenge)
        self.entries = tuple(make_entries(entries))
        self.run_times = run_times
        self._read, self._unchosen = read, unchosen
        self._tables: dict[Entry, pl.DataFrame] = {}

    def __repr__(self) -> str:
        teams = len({entry.team for entry in self.entries})
        return f"<Contest {self.challenge.name}: {len(self.entries)} entries of {teams} teams>"

    def count(self, board: str | None = None) -> Counted:
        """The entries that count on a board, the main one if not said."""
        name = self.find_board(board)
        return count_entries(
            self.entries,
            self.challenge.boards[name],
            self.challenge.participation,
            board=name,
            read=self._read_timed,
            unchosen=self._unchosen,
        )

    def decide(
        self,
        board: str | None = None,
        *,
        resamples: int = 10_000,
        level: float = 0.95,
        seed: int = 0,
        strata: Mapping[str, object] | None = None,
        progress: Progress | None = None,
    ) -> Decision:
        """Decide a board: count, rank, and say how sure the ranks are.

        Parameters
        ----------
        board
            Which of the challenge's boards; the main one if not said.
        resamples
            How many bootstrap resamples of the cases are made for intervals, rank sets, P(first) and P(best); 0: none.
        level, seed
            The coverage of intervals and rank sets, and the seed of the resamples.
        strata
            A label for every case; each stratum keeps its size in every resample.

        Raises
        ------
        ValueError
            There is no such board, no single submission of a team that counts, or the rule finds no ranking.
        """
        name = self.find_board(board)
        how = Resampling(resamples, level, seed)
        counted = self.count(name)
        ranked = self._rank(name, counted)
        ranked, uncertainty = self._bootstrap(ranked, counted, how, strata, progress)
        return Decision(self, ranked, counted, uncertainty, how)

    def find_board(self, board: str | None) -> str:
        """The name of a board that there is: the main one if none is named."""
        boards = self.challenge.boards
        if board is not None and board not in boards:
            msg = f"{self.challenge.name} has no board {board!r}; it has {', '.join(boards)}"
            raise ValueError(msg)
        return board or next(iter(boards))

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the run times for the organisers; they do not belong on a board."""
        return self._times[1]

    @cached_property
    def _times(self) -> tuple[Mapping[str, pl.DataFrame], tuple[str, ...]]:
        """By team, its rows of run times; and remarks on them."""
        if self.run_times is None or not self.entries:
            return {}, ()
        if self.challenge.run_times is None:
            msg = f"{self.challenge.name} does not rank by run time"
            raise ValueError(msg)
        rows, remarks = self.challenge.run_times(self.run_times, list(dict.fromkeys(one.team for one in self.entries)))
        return rows, tuple(remarks)

    def read_tables(self, entries: Sequence[Entry]) -> list[pl.DataFrame]:
        """The tables of entries as they were scored; each is read once."""
        lacking = [entry for entry in entries if entry not in self._tables]
        tables = list(self._read(lacking))
        if len(tables) != len(lacking):
            msg = f"of {len(lacking)} entries, {len(tables)} tables were read: read gives one for each, in their order"
            raise ValueError(msg)
        self._tables.update(zip(lacking, tables, strict=True))
        return [self._tables[entry] for entry in entries]

    def _read_timed(self, entries: Sequence[Entry]) -> list[pl.DataFrame]:
        """The tables of entries, each with the run times of its team below it."""
        times, _ = self._times
        for entry, table in zip(entries, self.read_tables(entries), strict=True):
            if table.is_empty():
                msg = f"the score table of {entry.team!r} has no rows"
                raise ValueError(msg)
        return [
            pl.concat([table, label_table(times[entry.team], entry.team).select(table.columns)])
            if entry.team in times
            else table
            for entry, table in zip(entries, self.read_tables(entries), strict=True)
        ]

    def _rank(self, name: str, counted: Counted) -> Board:
        """The board of what counts, with only those rows and notes that may be listed."""
        rule, rules = self.challenge.boards[name], self.challenge.participation
        if not counted.rows:
            return Board(name=name, metric=rule.metric, rule=describe_rule(rule), rows=())
        ranked = rank_scores(rule, counted.scores, name=name, roles=counted.roles(rules))
        if rules.discreet:
            if not capabilities_of(rule).roundable:
                msg = f"scores of ranks cannot be shown rounded, or on a ladder ({rule})"
                raise ValueError(msg)
            ranked = as_shown(ranked, rule, shown=counted.shown, decimals=rules.decimals)
        # Organisers that may be ranked were ranked as teams.
        rows = [replace(row, role=counted.rows[row.submission].role) for row in ranked.rows]
        listed = tuple(row for row in rows if rules.lists(row.role))
        hidden = tuple(row for row in rows if not rules.lists(row.role))
        unlisted = (*ranked.unlisted, *hidden)
        secret = {row.submission for row in unlisted} | self._secret_teams
        # Teams that are not here as they compete on other boards only may be named, the disqualified may not.
        elsewhere = {row.submission for row in ranked.unlisted if row.role == "team" and not row.disqualified}
        notes = [note for note in ranked.notes if note.team not in secret - elsewhere]
        named = {counted.rows[row.submission].team for row in listed}
        notes += [note for note in counted.notes if note.team in named]
        return replace(ranked, rows=listed, unlisted=unlisted, notes=tuple(notes))

    @property
    def _secret_teams(self) -> set[str]:
        """Teams of the organisers, where no board lists them."""
        if self.challenge.participation.organisers != "unlisted":
            return set()
        return {entry.team for entry in self.entries if entry.role == "organiser"}

    def _bootstrap(
        self,
        board: Board,
        counted: Counted,
        how: Resampling,
        strata: Mapping[str, object] | None,
        progress: Progress | None,
    ) -> tuple[Board, RankUncertainty | None]:
        """The board with what the bootstrap tells in its rows.

        The board comes back as it is if its rule knows no uncertainty, if nobody is ranked, and if it gives little
        away: an interval would say what such a board keeps to itself. Where the rest cannot be known, a note says why.
        """
        rule, rules = self.challenge.boards[board.name], self.challenge.participation
        ranked = any(row.rank is not None for row in board.rows)
        if not how.resamples or not capabilities_of(rule).drawable or not ranked or rules.discreet:
            return board, None
        try:
            with guard_rule(rule, progress) as watched:
                uncertainty = bootstrap_ranks(
                    counted.scores,
                    rule,
                    replicates=how.resamples,
                    seed=how.seed,
                    level=how.level,
                    strata=strata,
                    roles=counted.roles(rules),
                    progress=watched,
                )
                marked = mark_uncertainty(board, uncertainty)
        except ValueError as error:
            # Everybody reads the notes of a board, and the message of a foreign error may name anybody.
            reason = error.public if isinstance(error, RuleFailed) else str(error)
            return replace(board, notes=(*board.notes, Note(f"How sure the ranks are is not known: {reason}"))), None
        notes = (*board.notes, *explain_first(marked, uncertainty), how.describe(uncertainty))
        return replace(marked, notes=notes), uncertainty


def rank(
    challenge: str | Challenge,
    scores: Mapping[str, Tables] | Iterable[Entry],
    *,
    board: str | None = None,
    organisers: Collection[str] = (),
    benchmarks: Collection[str] = (),
    run_times: Path | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Board:
    """Rank score tables by the challenge's own rule: the board that `isocenter rank` prints.

    Every row has its score with interval (`low`, `high`), the ranks that the data do not exclude (`rank_low`,
    `rank_high`), the share of bootstrap resamples in which nobody is better (`p_first`), the
    probability of being truly the best (`p_best`), and its `group`.

    Parameters
    ----------
    scores
        By team: the table of its submission, or the tables of all its submissions in the order they were made, of
        which the challenge's counting rule takes one; files do, too. Or entries, which also say when each was made,
        which one the team chose, and which are void; see `Entry`.
    board
        Which of the challenge's boards; the main one if not said.
    organisers
        Teams of the organisers' institutes, unlisted or unranked as the challenge says.
    benchmarks
        Rows to compare with (observers, ensembles, a commercial tool): listed, never ranked.
    run_times, resamples, level, seed
        As for `Contest` and `Contest.decide`, which gives more than the board.
    """
    entries = make_entries(scores, organisers=organisers, benchmarks=benchmarks)
    return Contest(challenge, entries, run_times).decide(board, resamples=resamples, level=level, seed=seed).board


def score_alone(challenge: str | Challenge, table: pl.DataFrame, board: str, *, team: str) -> Board:
    """The board of one submission without others, by the rule as it is: what it reached, but not what that is worth.

    Raises `ValueError` where the rule has no number for it, or none without others to compare with.
    """
    rules = load_challenge(challenge)
    return rank_scores(rules.boards[board], label_table(table, team), name=board)
