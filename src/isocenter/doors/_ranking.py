"""Score tables of teams to a board."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import polars as pl

from isocenter.doors._counting import counting_scores, is_team, roles_of, shown_on_the_ladder, within_the_quota
from isocenter.evaluation import Challenge, load_challenge
from isocenter.ranking import (
    Board,
    DetectThenRank,
    MeanThenRank,
    Note,
    QuantileThenRank,
    TrimmedMeanThenRank,
    as_shown,
)


def rank(
    challenge: str | Challenge,
    scores: Mapping[str, pl.DataFrame | Sequence[pl.DataFrame]],
    *,
    board: str | None = None,
    organisers: Collection[str] = (),
    benchmarks: Collection[str] = (),
    chosen: Mapping[str, int] | None = None,
    moments: Mapping[str, Sequence[datetime]] | None = None,
    void: Mapping[str, Collection[int]] | None = None,
) -> Board:
    """Rank score tables by the challenge's own rule.

    Parameters
    ----------
    scores
        By team: the table of its submission, or the tables of all its submissions in the order they were made, of
        which the challenge's counting rule takes one. Those over the quota are left out and noted.
    board
        Which of the challenge's boards; the main one if not said.
    organisers
        Teams of the organisers' institutes, unlisted or unranked as the challenge says.
    benchmarks
        Rows to compare with (observers, ensembles, a commercial tool): listed, never ranked.
    chosen
        By team, the position of the submission that it chose, where the challenge counts that one.
    moments
        By team, when each of its submissions was made, for a quota per week or day.
    void
        By team, the positions of submissions that do not count, such as those without a survey that is asked for. They
        have used up the quota all the same.
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    name = board or next(iter(which.boards))
    if name not in which.boards:
        msg = f"{which.name} has no board {name!r}; it has {', '.join(which.boards)}"
        raise ValueError(msg)
    for role, names in (("organiser", organisers), ("benchmark", benchmarks)):
        if unknown := sorted(set(names) - set(scores)):
            msg = f"there are no scores of the {role} {', '.join(unknown)}"
            raise ValueError(msg)
    rule, rules = which.boards[name], which.participation
    _refuse_names(scores)
    for option, positions in (("chosen", chosen or {}), ("void", void or {}), ("moments", moments or {})):
        if unknown := sorted(set(positions) - set(scores)):
            msg = f"{option} is said of {', '.join(unknown)}, of whom there are no scores"
            raise ValueError(msg)
    counted = counting_scores(which, scores, board=name, chosen=chosen, moments=moments, void=void)
    if counted.is_empty():
        return Board(name=name, metric=rule.metric, rule=str(rule), rows=())
    ranked = rule.rank(counted, name=name, roles=roles_of(rules, counted, organisers, benchmarks))
    if rules.discreet:
        if not isinstance(rule, MeanThenRank | QuantileThenRank | TrimmedMeanThenRank | DetectThenRank):
            msg = f"scores of ranks cannot be shown rounded, or on a ladder ({rule})"
            raise ValueError(msg)
        seen = shown_on_the_ladder(which, scores, rule, moments=moments or {}, void=void or {})
        ranked = as_shown(ranked, rule, shown=seen, decimals=rules.decimals)
    if rules.organisers == "ranked":
        rows = [replace(row, role="organiser") if is_team(row.submission, organisers) else row for row in ranked.rows]
        ranked = replace(ranked, rows=tuple(rows))
    hidden = tuple(row for row in ranked.rows if not rules.lists(row.role))
    shown = tuple(row for row in ranked.rows if rules.lists(row.role))
    secret = {row.submission for row in (*ranked.unlisted, *hidden)}
    secret |= {team for team in organisers if rules.organisers == "unlisted"}
    notes = tuple(
        Note(f"{team}: {len(tables)} submissions, of which the quota admits {count}; {which_ones} do not count", team)
        for team, tables in scores.items()
        if not isinstance(tables, pl.DataFrame) and team not in secret
        if (count := len(within_the_quota(tables, rules, (moments or {}).get(team)))) < len(tables)
        for which_ones in ["later ones" if rules.per == "phase" else "the others"]
    )
    # Who competes on other boards only may be named, who is disqualified or of the organisers may not.
    unnamed = secret - {row.submission for row in ranked.unlisted if row.role == "team" and not row.disqualified}
    said = tuple(note for note in (*ranked.notes, *notes) if note.team not in unnamed)
    return replace(ranked, rows=shown, unlisted=(*ranked.unlisted, *hidden), notes=said)


def _refuse_names(scores: Mapping[str, object]) -> None:
    """Where all submissions have rows, they are called "team #1"; nobody else may be called so."""
    for name in scores:
        team, _, number = name.rpartition(" #")
        if number.isdecimal() and team in scores:
            msg = f"a team cannot be called {name!r}: so is a submission of {team!r}"
            raise ValueError(msg)
