"""Prizes that need verified profiles: held until they are, and passed on only where the phase says so."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from isocenter.editions import Edition, Profile, Verdict, awards, new, verdict_on
from isocenter.evaluation import load_challenge
from isocenter.ranking import Board, BoardRow

GOOD = Profile("Ada", "Hospital", ("Ada", "Hospital"), "verified")
BAD = Profile("Bob", "", ("Bob", ""), "refused")


@pytest.mark.parametrize(
    ("members", "verdict"),
    [
        ([GOOD], "verified"),
        ([GOOD, Profile("Cy", "Hospital")], "waiting"),
        ([GOOD, BAD], "refused"),
        ([Profile("Cy", "Hospital"), BAD], "refused"),
        ([], "waiting"),
    ],
)
def test_a_team_is_verified_if_all_are_and_refused_if_one_is(members: list[Profile], verdict: Verdict) -> None:
    assert verdict_on(members) == verdict


@pytest.mark.parametrize("shown", [("Ada Smith", "Hospital"), ("Ada", "Another"), ("Ada", "")])
@pytest.mark.parametrize("verdict", ["verified", "refused"])
def test_a_verdict_lapses_when_name_or_affiliation_change(shown: tuple[str, str], verdict: Verdict) -> None:
    assert Profile(*shown, checked=("Ada", "Hospital"), verdict=verdict).standing == "waiting"


def an_edition(verification: str | None, **more: Any) -> Edition:
    phase = {"name": "test", "title": "Test", "opens": "2020-01-01T00:00:00Z", "closes": "2020-02-01T00:00:00Z"}
    phase |= {"results": "2020-02-01T00:00:00Z", "verification": verification}
    prizes = [{"place": place, "amount": 400 - 100 * place, "currency": "EUR"} for place in (1, 2, 3)]
    return Edition.model_validate({"challenge": "x", "title": "X", "phases": [phase], "prizes": prizes, **more})


BOARD = Board(
    "main",
    "dice",
    "",
    tuple(BoardRow(name, 0.9 - at / 10, at + 1.0, "team", 1, 0, 0) for at, name in enumerate("abcd")),
)
VERDICTS: dict[str, Verdict] = {"a": "refused", "b": "verified", "c": "waiting"}


def won(edition: Edition, **more: Any) -> list[tuple[str, str, Decimal, bool]]:
    found = awards(edition, BOARD, verdicts=VERDICTS, **more)
    return [(one.submission, one.title, one.amount, one.held) for one in found]


def test_without_the_rule_nobody_is_asked() -> None:
    assert [held for *_, held in won(an_edition(None))] == [False] * 3


def test_the_prize_of_a_team_that_is_not_verified_is_held_and_nobody_else_gets_it() -> None:
    assert won(an_edition("held")) == [
        ("a", "place 1", Decimal(300), True),
        ("b", "place 2", Decimal(200), False),
        ("c", "place 3", Decimal(100), True),
    ]


def test_where_the_phase_says_so_a_refused_team_leaves_its_prize_to_the_next_and_one_that_waits_does_not() -> None:
    assert won(an_edition("next")) == [
        ("b", "place 1", Decimal(300), False),
        ("c", "place 2", Decimal(200), True),
        ("d", "place 3", Decimal(100), True),
    ]


def test_bonuses_and_payouts_wait_too() -> None:
    bonus = {"title": "Jury", "amount": 5, "currency": "EUR", "to": "named"}
    payout = {"amount": 1, "currency": "EUR", "per": "0.1", "above": "0.8"}
    for rule, expected in (("held", {("Jury", True), ("performance", True)}), ("next", set())):
        edition = an_edition(rule, prizes=[], bonuses=[bonus], payout=payout)
        assert {(title, held) for _, title, _, held in won(edition, named={"Jury": "a"})} == expected


def test_a_team_of_which_nothing_is_known_waits() -> None:
    assert all(award.held for award in awards(an_edition("held"), BOARD))


def test_prizes_of_the_closed_phase_of_picai_need_verified_profiles() -> None:
    phases = {phase.name: phase for phase in new(load_challenge("picai2022")).phases}
    assert phases["closed-testing"].verification == "held"
    assert phases["testing"].verification is None
