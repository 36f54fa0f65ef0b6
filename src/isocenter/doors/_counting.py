"""Of all submissions of a team, the one that counts, and what its team takes part as."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import polars as pl

from isocenter.evaluation import Challenge, load_challenge
from isocenter.metrics import catalogue
from isocenter.ranking import (
    NormalisedSum,
    Participation,
    Penalty,
    RankThenMean,
    Role,
    Rule,
    TestThenRank,
    WeightedRanks,
    WorstObserved,
    climb,
    counting,
    rounded,
    within_quota,
)
from isocenter.scores import SCHEMA
from isocenter.scores import check as check_table


def counting_scores(
    challenge: str | Challenge,
    scores: Mapping[str, pl.DataFrame | Sequence[pl.DataFrame]],
    *,
    board: str | None = None,
    chosen: Mapping[str, int] | None = None,
    moments: Mapping[str, Sequence[datetime]] | None = None,
    void: Mapping[str, Collection[int]] | None = None,
) -> pl.DataFrame:
    """The one submission of every team that counts, as one table with a `submission` column; see `rank`.

    Where all count, those of a team that has several are called "team #1", "team #2" and so on.
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    rule, rules = which.boards[board or next(iter(which.boards))], which.participation
    if rules.ladder is not None and rules.counts in ("all", "chosen"):
        msg = f"a ladder decides which submission is shown; it cannot be that {rules.counts!r} counts"
        raise ValueError(msg)
    found = []
    for team, given in scores.items():
        tables = [table_of(table, team) for table in ([given] if isinstance(given, pl.DataFrame) else given)]
        admitted = within_the_quota(tables, rules, (moments or {}).get(team))
        admitted = [at for at in admitted if at not in (void or {}).get(team, ())]
        if not admitted:
            continue
        if rules.counts == "all":
            named = [(at, f"{team} #{at + 1}" if len(tables) > 1 else team) for at in admitted]
            found += [tables[at].with_columns(pl.lit(name).alias("submission")) for at, name in named]
            continue
        if rules.ladder is not None:
            found.append(tables[admitted[climb([tables[at] for at in admitted], rule, rules.ladder)[0]]])
            continue
        if rules.counts == "best" and len(admitted) > 1:
            refuse_relative(rule)
        boards = [rule.rank(tables[at]) for at in admitted] if rules.counts == "best" else []
        values = [_as_shown(board[team].score, rules) for board in boards] or [None] * len(admitted)
        wish = (chosen or {}).get(team)
        if wish is not None and wish not in admitted:
            msg = f"{team} chose submission {wish + 1}, which is none of those that count"
            raise ValueError(msg)
        try:
            at = counting(
                values,
                quota=None,
                counts=rules.counts,
                better=catalogue.get(boards[0].metric).better if boards else "higher",
                chosen=None if wish is None else admitted.index(wish),
            )
        except ValueError as error:
            msg = f"{team}: {error}"
            raise ValueError(msg) from None
        found.append(tables[admitted[at]])
    return pl.concat(found) if found else pl.DataFrame(schema=SCHEMA)


def _as_shown(score: float | None, rules: Participation) -> float | None:
    """A score as the board shows it: which one counts must not tell more digits than that."""
    if score is None or rules.decimals is None or not math.isfinite(score):
        return score
    return rounded(score, rules.decimals)


def shown_on_the_ladder(
    challenge: Challenge,
    scores: Mapping[str, pl.DataFrame | Sequence[pl.DataFrame]],
    rule: Rule,
    *,
    moments: Mapping[str, Sequence[datetime]],
    void: Mapping[str, Collection[int]],
) -> dict[str, float]:
    """By team, the score that its ladder shows; empty without one."""
    rules = challenge.participation
    shown: dict[str, float] = {}
    for team, given in scores.items() if rules.ladder is not None else ():
        tables = [table_of(table, team) for table in ([given] if isinstance(given, pl.DataFrame) else given)]
        admitted = [at for at in within_the_quota(tables, rules, moments.get(team)) if at not in void.get(team, ())]
        if admitted and rules.ladder is not None:
            shown[team] = climb([tables[at] for at in admitted], rule, rules.ladder)[1]
    return shown


def refuse_relative(rule: Rule) -> None:
    """A score that depends on who else takes part does not tell which of a team's own is best."""
    relative = isinstance(rule, RankThenMean | WeightedRanks | TestThenRank | NormalisedSum)
    if relative or isinstance(getattr(rule, "missing", None), WorstObserved | Penalty):
        msg = f"which submission is the best cannot be said by a score that depends on the other teams ({rule})"
        raise ValueError(msg)


def is_team(submission: str, names: Collection[str]) -> bool:
    """Whether a row is of one of these teams, also where each of its submissions has a row."""
    team, _, number = submission.rpartition(" #")
    return submission in names or (number.isdecimal() and team in names)


def roles_of(
    rules: Participation, counted: pl.DataFrame, organisers: Collection[str], benchmarks: Collection[str]
) -> dict[str, Role]:
    """What each row takes part as, when ranks are given."""
    roles: dict[str, Role] = {}
    for name in counted["submission"].unique():
        if is_team(name, organisers) and rules.organisers != "ranked":
            roles[name] = "organiser"
        elif is_team(name, benchmarks):
            roles[name] = "benchmark"
    return roles


def within_the_quota(tables: Sequence[object], rules: Participation, moments: Sequence[datetime] | None) -> list[int]:
    """Positions of the submissions that the quota admits, in the order they were made."""
    if moments is None:
        return list(range(len(tables)))[: rules.quota if rules.per == "phase" else None]
    if len(moments) != len(tables):
        msg = f"there are {len(tables)} submissions, but {len(moments)} moments at which they were made"
        raise ValueError(msg)
    admitted = within_quota(moments, quota=rules.quota, per=rules.per)
    order = sorted(range(len(tables)), key=lambda at: (moments[at], at))
    return [at for at in order if admitted[at]]


def table_of(table: pl.DataFrame, team: str) -> pl.DataFrame:
    """A team's table with its name in the first column."""
    if not isinstance(table, pl.DataFrame):
        msg = f"the scores of {team!r} are a {type(table).__name__}; isocenter.scores.read(path) reads a table"
        raise TypeError(msg)
    table = check_table(table, name=f"the score table of {team!r}")
    count = table["submission"].n_unique() if "submission" in table.columns else 1
    if count > 1:
        msg = f"the score table of {team!r} holds {count} submissions; give each as its own team"
        raise ValueError(msg)
    return table.select(pl.lit(team).alias("submission"), pl.exclude("submission"))
