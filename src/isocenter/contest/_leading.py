"""Who led a contest at a moment, from the log of its submissions: for bonuses that are won on the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from isocenter.contest._contest import Contest, score_alone
from isocenter.contest._decision import Decision
from isocenter.contest._entry import Entry
from isocenter.editions import Edition
from isocenter.ranking import BoardRow, capabilities_of, rounded


def find_bonus_leaders(
    edition: Edition, contest: Contest, *, phase: str | None = None, by: datetime | None = None
) -> dict[str, tuple[str, ...]]:
    """By title of a bonus of a phase for its leader at a moment, the teams that get it; for `editions.awards`.

    A bonus for a moment at which nobody had a rank has no winner.

    Parameters
    ----------
    contest
        Of the phase, with all its submissions and their moments.
    phase
        The one that closes last if not said.
    by
        Bonuses for later moments are left out: who leads then is not known yet.

    Raises
    ------
    ValueError
        A submission has no moment, or no board can be made of the log.
    """
    return {
        bonus.title: find_leaders(contest, bonus.at, ties=bonus.ties or "earlier")
        for bonus in edition.bonuses_of(phase)
        if bonus.at is not None and (by is None or bonus.at <= by)
    }


def find_leaders(
    contest: Contest, at: datetime, *, board: str | None = None, ties: Literal["earlier", "split"] = "earlier"
) -> tuple[str, ...]:
    """The teams that lead a board that is made of all submissions before a moment, by today's results and rules.

    Organisers and benchmarks never lead, nor do void submissions; a submission made at the very moment is too late.
    It is the log that decides, not what a page showed then: submissions that waited in a queue count from the moment
    they were made, and one that was found void since does not count.

    Parameters
    ----------
    ties
        What becomes of teams that share the lead: "earlier", it is with the one that reached its score first, and only
        those that did so at the same instant share it; "split", all of them share it.

    Raises
    ------
    ValueError
        A submission has no moment, or the board cannot be made.
    """
    if unknown := sorted({entry.team for entry in contest.entries if entry.moment is None and _competes(entry)}):
        names = ", ".join(unknown[:5]) + (" …" if len(unknown) > 5 else "")
        msg = f"who led at a moment is not known: submissions of {names} have no time"
        raise ValueError(msg)
    then = Contest(
        # A team that has not chosen yet does not lead; whether it may stay so is a question for the end.
        contest.challenge,
        [entry for entry in contest.entries if entry.moment is None or entry.moment < at],
        contest.run_times,
        read=contest.read_tables,
        unchosen="wait",
    )
    decision = then.decide(board, resamples=0)
    ranked = [row for row in decision.board.rows if row.role == "team" and row.rank is not None]
    best = min((row.rank for row in ranked if row.rank is not None), default=None)
    first: dict[str, datetime] = {}
    for row in ranked:
        if row.rank == best:
            team, moment = decision.counted.rows[row.submission].team, _reached(decision, row)
            first[team] = min(moment, first.get(team, moment))
    if ties == "split":
        return tuple(first)
    return tuple(team for team, moment in first.items() if moment == min(first.values()))


def _competes(entry: Entry) -> bool:
    return entry.role != "benchmark" and not entry.void


def _reached(decision: Decision, row: BoardRow) -> datetime:
    """When a team first had the score that it leads with.

    Of equally good submissions the later one counts on a board of the best, but the lead is as old as the first.
    """
    counted, rules = decision.counted.rows[row.submission], decision.contest.challenge.participation
    assert counted.moment is not None
    if rules.counts != "best" or rules.ladder is not None or capabilities_of(decision.rule).relative:
        return counted.moment
    own = [entry for entry in decision.contest.entries if entry.team == counted.team and not entry.void]
    scores = _alone(decision, own)
    equal = [entry.moment for entry, score in zip(own, scores, strict=True) if _same(score, row.score, rules.decimals)]
    return min([counted.moment, *(moment for moment in equal if moment is not None)])


def _alone(decision: Decision, entries: Sequence[Entry]) -> list[float | None]:
    """The scores of entries without others, as they know them or from their tables."""
    board, contest = decision.board.name, decision.contest
    unknown = [entry for entry in entries if board not in entry.alone]
    tables = dict(zip(unknown, contest.read_tables(unknown), strict=True))
    return [
        score_alone(contest.challenge, tables[entry], board, team=entry.team)[entry.team].score
        if entry in tables
        else entry.alone[board]
        for entry in entries
    ]


def _same(score: float | None, other: float | None, decimals: int | None) -> bool:
    if score is None or other is None:
        return False
    shown = score if decimals is None or not math.isfinite(score) else rounded(score, decimals)
    return shown == other or math.isclose(shown, other, rel_tol=1e-9)
