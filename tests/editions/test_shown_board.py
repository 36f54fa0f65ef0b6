"""A board as one viewer sees it: boards that differ only in what is hidden look the same."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.editions import Sight, alias, show_board
from isocenter.ranking import Board, BoardRow, Component, Role

SALT = b"a secret of the edition"
ALIAS = re.compile(r"Team [2-9B-Z]{6}")
TEAMS = ["Aare", "Birs", "Doubs", "Emme", "Limmat"]

PUBLIC = Sight(known=True, other_scores=True, ranks=True, names=True, details=True, counts=True, progress=True)
OWN_ONLY = Sight(known=True, own_scores=True, own_cases=True, details=True, team="Doubs")
BOTH = replace(PUBLIC, own_scores=True, team="Doubs")
NOTHING = Sight(known=True, team="Doubs")
ALL = replace(BOTH, own_cases=True, downloads=True, reference=True, unlisted=True)


def a_row(team: str, rank: float | None, *, score: float | None = None, role: Role = "team", **more: Any) -> BoardRow:
    value = 0.9 - 0.1234 * (rank or 7) if score is None else score
    part = Component("dice", value, rank, value - 0.1, value + 0.1)
    bounds = {"low": value - 0.1, "high": value + 0.1, "rank_low": 1, "rank_high": 4, "p_first": 0.25, "group": "A"}
    found = BoardRow(team, value, rank, role, cases=10, missing=1, failed=2, components=(part,))
    return replace(found, **{**bounds, **more})


def a_board(*rows: BoardRow, **more: Any) -> Board:
    return Board("main", "dice", "mean of dice", rows, **more)


BOARD = a_board(
    a_row("Aare", 1),
    a_row("Reader", None, role="benchmark"),
    a_row("Birs", 2),
    a_row("Doubs", 3),
    a_row("Emme", 4),
    unlisted=(a_row("Host", None, role="organiser"),),
    notes=("Emme: 3 submissions, of which the quota admits 2; the others do not count",),
)


def names(board: Board) -> list[str]:
    return [row.submission for row in board.rows]


def test_organisers_see_the_board_as_it_is() -> None:
    assert show_board(BOARD, ALL) == BOARD


def test_the_public_sees_all_rows_but_those_that_are_not_listed() -> None:
    assert show_board(BOARD, PUBLIC) == replace(BOARD, unlisted=())


def test_a_team_that_sees_its_own_row_sees_nothing_of_the_others() -> None:
    shown = show_board(BOARD, OWN_ONLY)
    (row,) = shown.rows
    own = BOARD["Doubs"]
    assert (row.submission, row.score, row.low, row.high) == ("Doubs", own.score, own.low, own.high)
    assert (row.cases, row.missing, row.failed) == (10, 1, 2)
    assert (row.rank, row.rank_low, row.rank_high, row.p_first, row.group) == (None,) * 5
    assert [(part.score, part.rank) for part in row.components] == [(own.score, None)]
    assert (shown.unlisted, shown.notes) == ((), ())


def test_who_sees_nothing_sees_an_empty_board() -> None:
    for seen in (NOTHING, replace(OWN_ONLY, team=""), replace(OWN_ONLY, team="Stranger")):
        shown = show_board(BOARD, seen)
        assert (shown.rows, shown.unlisted, shown.notes) == ((), (), ())


def test_of_a_phase_that_is_not_known_there_is_no_board() -> None:
    with pytest.raises(LookupError, match="there is no such phase"):
        show_board(BOARD, Sight())


@pytest.mark.parametrize("metric", ["mean_rank", "weighted_rank", "win_share", "normalised_sum"])
def test_a_score_that_compares_teams_is_hidden_with_the_ranks(metric: str) -> None:
    board = replace(BOARD, metric=metric)
    (row,) = show_board(board, OWN_ONLY).rows
    assert (row.score, row.low, row.high) == (None, None, None)
    assert row.components[0].score == BOARD["Doubs"].score
    assert show_board(board, PUBLIC)["Doubs"].score == BOARD["Doubs"].score


def test_a_board_that_gives_little_away_shows_scores_and_ranks_with_few_decimals_alone() -> None:
    shown = show_board(BOARD, replace(BOTH, details=False, decimals=2))
    assert [(row.rank, row.score) for row in shown.rows] == [(1, 0.78), (None, 0.04), (2, 0.65), (3, 0.53), (4, 0.41)]
    for row in shown.rows:
        assert (row.components, row.low, row.high, row.rank_low, row.rank_high, row.p_first, row.group) == (
            (),
            *[None] * 6,
        )
    assert shown.notes == ()


def test_the_first_are_named_the_others_only_with_their_consent_and_oneself_always() -> None:
    shown = show_board(BOARD, replace(PUBLIC, first=1), salt=SALT)
    assert names(shown)[:2] == ["Aare", "Reader"]
    assert names(shown)[2:] == [alias(team, SALT) for team in ("Birs", "Doubs", "Emme")]
    assert all(ALIAS.fullmatch(name) for name in names(shown)[2:])
    assert [row.score for row in shown.rows] == [row.score for row in BOARD.rows]
    consented = show_board(BOARD, replace(BOTH, first=1, consents=frozenset({"Emme"})), salt=SALT)
    assert names(consented) == ["Aare", "Reader", alias("Birs", SALT), "Doubs", "Emme"]


def test_a_note_about_a_team_that_is_not_named_is_not_told() -> None:
    assert show_board(BOARD, replace(PUBLIC, first=1), salt=SALT).notes == ()


def test_who_ties_for_the_last_place_that_is_named_is_named() -> None:
    board = a_board(a_row("Host", 1, role="organiser"), a_row("Aare", 2), a_row("Birs", 3.5), a_row("Doubs", 3.5))
    shown = show_board(board, replace(PUBLIC, first=2), salt=SALT)
    assert names(shown) == [alias("Host", SALT), "Aare", "Birs", "Doubs"]


def test_rows_of_one_team_have_one_alias() -> None:
    board = a_board(
        a_row("Aare #1", 1), a_row("Birs #2", 2), a_row("Birs #1", 3), a_row("Doubs #10", 4), a_row("Doubs #9", 5)
    )
    seen = replace(PUBLIC, first=1, several=True)
    hidden = alias("Birs", SALT)
    assert names(show_board(board, seen, salt=SALT))[:3] == ["Aare #1", f"{hidden} #2", f"{hidden} #1"]
    assert names(show_board(board, replace(OWN_ONLY, several=True))) == ["Doubs #9", "Doubs #10"]


def test_an_alias_stays_the_same_whatever_the_rank_and_is_another_for_another_edition() -> None:
    turned = a_board(*(replace(row, rank=5 - (row.rank or 9)) for row in reversed(BOARD.rows) if row.role == "team"))
    seen = replace(PUBLIC, names=False)
    assert set(names(show_board(turned, seen, salt=SALT))) == {alias(team, SALT) for team in TEAMS[:4]}
    assert alias("Aare", SALT) != alias("Aare", b"another")
    assert len({alias(f"team {number}", SALT) for number in range(1000)}) == 1000


def test_aliases_in_their_order_are_not_in_that_of_names_or_numbers() -> None:
    aliases = [alias(f"team {number}", SALT) for number in range(100)]
    rises = sum(one < other for one, other in pairwise(aliases))
    assert 30 < rises < 70


def test_nobody_is_hidden_without_a_secret() -> None:
    with pytest.raises(ValueError, match="need a salt, a secret of the edition"):
        show_board(BOARD, replace(PUBLIC, first=1))
    assert show_board(BOARD, replace(PUBLIC, first=4)).rows == BOARD.rows


def test_a_team_that_is_not_listed_keeps_its_own_row_and_no_other() -> None:
    out = a_row("Doubs", None, disqualified=True)
    board = replace(BOARD, rows=BOARD.rows[:1], unlisted=(*BOARD.unlisted, out))
    for seen in (OWN_ONLY, BOTH):
        assert [row.submission for row in show_board(board, seen).unlisted] == ["Doubs"]
        assert "Doubs" not in names(show_board(board, seen))
    assert show_board(board, NOTHING).unlisted == ()


@st.composite
def boards(draw: Any, *, without: str = "") -> Board:
    teams = draw(st.lists(st.sampled_from([team for team in TEAMS if team != without]), unique=True))
    numbers = st.floats(0, 1)
    rows = [
        a_row(
            team,
            draw(st.none() | st.integers(1, 5)),
            score=draw(numbers),
            role=draw(st.sampled_from(["team", "organiser", "benchmark"])),
            p_first=draw(numbers),
            group=draw(st.sampled_from("AB")),
            missing=draw(st.integers(0, 3)),
        )
        for team in teams
    ]
    cut = draw(st.integers(0, len(rows)))
    return a_board(*rows[:cut], unlisted=tuple(rows[cut:]), notes=tuple(draw(st.lists(st.sampled_from(TEAMS)))))


@given(boards(without="Doubs"), boards(without="Doubs"), st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_boards_that_differ_only_in_other_teams_look_the_same_to_who_sees_only_the_own_row(
    one: Board, other: Board, at: int, there: int, listed: bool
) -> None:
    def with_own(board: Board, position: int, rank: int) -> Board:
        own = a_row("Doubs", rank, score=0.625, p_first=rank / 10, rank_low=rank, rank_high=rank)
        own = replace(own, components=(replace(own.components[0], rank=rank),))
        part = [*(board.rows if listed else board.unlisted)]
        part.insert(position, own)
        return replace(board, rows=tuple(part)) if listed else replace(board, unlisted=tuple(part))

    shown = [show_board(with_own(board, i, i + 1), OWN_ONLY) for board, i in ((one, at), (other, there))]
    assert shown[0] == shown[1]
    assert shown[0].to_json() == shown[1].to_json()
    assert show_board(one, NOTHING) == show_board(other, NOTHING)


@given(boards(), boards())
def test_what_is_not_listed_changes_nothing_for_who_does_not_take_part(one: Board, other: Board) -> None:
    exchanged = replace(one, unlisted=other.unlisted)
    seen = replace(PUBLIC, first=2)
    assert show_board(one, seen, salt=SALT) == show_board(exchanged, seen, salt=SALT)


def facts(board: Board) -> set[tuple[str, object]]:
    """What a board says, without names."""
    return {
        (name, value)
        for row in (*board.rows, *board.unlisted)
        for name in ("score", "rank", "low", "high", "p_first", "group", "rank_low", "rank_high", "components")
        if (value := getattr(row, name)) is not None and value != ()
    }


@given(boards())
def test_whoever_stands_nearer_is_shown_no_less(board: Board) -> None:
    for order in ([NOTHING, OWN_ONLY, BOTH, ALL], [NOTHING, PUBLIC, BOTH, ALL]):
        shown = [show_board(board, seen, salt=SALT) for seen in order]
        for less, more in pairwise(shown):
            ranked = {(name, value) for name, value in facts(less) if name != "components"}
            assert ranked <= facts(more)
            assert set(names(less)) <= set(names(more))


@given(boards(), st.integers(1, 3), st.sets(st.sampled_from(TEAMS)))
def test_a_hidden_name_stands_nowhere(board: Board, first: int, consents: set[str]) -> None:
    seen = replace(PUBLIC, first=first, consents=frozenset(consents))
    shown = show_board(board, seen, salt=SALT)
    named = {row.submission for row in shown.rows if not ALIAS.fullmatch(row.submission)}
    better = {
        row.submission: 1 + sum(o.rank < row.rank for o in board.rows if o.role == "team" and o.rank is not None)
        for row in board.rows
        if row.role == "team" and row.rank is not None
    }
    may = {team for team, place in better.items() if place <= first} | consents
    may |= {row.submission for row in board.rows if row.role == "benchmark"}
    assert named == may & set(names(board))
    assert not [team for team in TEAMS if team not in named and team in shown.to_json()]
