"""Who wins what: exact, shared as declared, and never by those who do not compete."""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.editions import Award, Bonus, Edition, EditionError, Payout, Prize, awards
from isocenter.editions._problems import check
from isocenter.metrics import catalogue
from isocenter.ranking import Board, BoardRow, Role, Ties, rank_values

catalogue.register(catalogue.Metric("test_award_error", "mm", "lower", (0.0, 100.0), 2, "an error, for these tests"))


def a_phase(name: str, *, month: int = 1) -> dict[str, Any]:
    opens, closes = f"2017-{month:02}-01T00:00:00Z", f"2017-{month:02}-21T00:00:00Z"
    return {"name": name, "title": name, "opens": opens, "closes": closes, "results": closes}


def an_edition(**changes: Any) -> Edition:
    return Edition.model_validate({"challenge": "x", "title": "X", "phases": [a_phase("test")], **changes})


def prizes(*amounts: object, currency: str = "USD", **more: Any) -> list[dict[str, Any]]:
    return [
        {"place": place, "amount": amount, "currency": currency, **more}
        for place, amount in enumerate(amounts, start=1)
    ]


def a_board(
    scores: dict[str, float], *, ties: Ties = "min", metric: str = "dice", roles: dict[str, Role] | None = None
) -> Board:
    """A board as a rule makes it: ranks among the teams, rows by score."""
    roles = roles or {}
    better = catalogue.get(metric).better
    assert better != "neither"
    teams = [name for name in scores if roles.get(name, "team") == "team"]
    ranks = dict(zip(teams, rank_values([scores[name] for name in teams], better, ties=ties), strict=True))
    sign = -1 if better == "higher" else 1
    rows = [
        BoardRow(name, score, ranks.get(name), roles.get(name, "team"), cases=1, missing=0, failed=0)
        for name, score in sorted(scores.items(), key=lambda item: (sign * item[1], item[0]))
    ]
    return Board(name="main", metric=metric, rule="", rows=tuple(rows))


def amounts(found: list[Award]) -> dict[str, Decimal]:
    totals: dict[str, Decimal] = {}
    for award in found:
        totals[award.submission] = totals.get(award.submission, Decimal()) + award.amount
    return totals


def test_a_place_wins_its_prize_best_first() -> None:
    found = awards(an_edition(prizes=prizes(500, 200)), a_board({"c": 0.7, "a": 0.8, "b": 0.9}))
    assert found == [Award("b", "place 1", Decimal(500), "USD"), Award("a", "place 2", Decimal(200), "USD")]


@pytest.mark.parametrize(("ties", "key"), [("split", "pooled_and_split"), ("all", "highest_for_all_tied")])
@pytest.mark.parametrize("counted", ["min", "average", "dense"])
def test_golden_ties(ties: Any, key: str, counted: Ties, golden_ranking: dict[str, Any]) -> None:
    """Whichever way the board counts its ranks, two second places take the third with them."""
    golden = golden_ranking["prize_ties"]
    board = a_board({"p": 0.9, "q": 0.8, "r": 0.8, "s": 0.7}, ties=counted)
    if counted == "min":
        assert {row.submission: row.rank for row in board} == golden["ranks_min"]
    assert amounts(awards(an_edition(prizes=prizes(*golden["prizes"])), board, ties=ties)) == golden[key]


def test_a_word_that_is_no_rule_for_ties_pays_nothing() -> None:
    with pytest.raises(ValueError, match="'split' or 'all', not by 'spilt'"):
        awards(an_edition(prizes=prizes(5)), a_board({"p": 0.9}), ties="spilt")  # type: ignore[arg-type]


def test_shared_places_are_named() -> None:
    board = a_board({"p": 0.9, "q": 0.8, "r": 0.8})
    edition = an_edition(prizes=prizes(3, 2, 1))
    assert [award.title for award in awards(edition, board)] == ["place 1"] + 2 * ["places 2 to 3, shared"]
    assert [award.title for award in awards(edition, board, ties="all")] == ["place 1", "place 2", "place 2"]


def test_a_tie_for_the_last_prize_shares_what_there_is() -> None:
    board = a_board({"p": 0.9, "q": 0.8, "r": 0.8, "s": 0.8})
    edition = an_edition(prizes=prizes(500, 100))
    assert amounts(awards(edition, board)) == {"p": 500} | dict.fromkeys("qrs", Decimal("33.33"))
    assert amounts(awards(edition, board, ties="all")) == {"p": 500} | dict.fromkeys("qrs", 100)


@given(
    st.lists(st.sampled_from([0.5, 0.6, 0.7]), min_size=1, max_size=8),
    st.lists(st.decimals(0, 10**6, places=3), max_size=6),
)
def test_shares_are_equal_within_a_tie_and_come_to_no_more_than_the_prizes(
    scores: list[float], given_amounts: list[Decimal]
) -> None:
    teams = {f"team{i}": score for i, score in enumerate(scores)}
    won = amounts(awards(an_edition(prizes=prizes(*given_amounts)), a_board(teams)))
    there = sum(given_amounts[: len(scores)], Decimal())
    assert there - Decimal("0.001") * len(scores) < sum(won.values(), Decimal()) <= there or there == 0
    for a, b in itertools.combinations(teams, 2):
        if teams[a] == teams[b]:
            assert won.get(a) == won.get(b)


def test_prizes_of_two_currencies_are_shared_one_by_one() -> None:
    both = [*prizes(500), {"place": 2, "amount": 300, "currency": "EUR"}]
    found = awards(an_edition(prizes=both), a_board({"p": 0.9, "q": 0.9}))
    assert [(award.submission, award.amount, award.currency) for award in found] == [
        ("p", 250, "USD"),
        ("p", 150, "EUR"),
        ("q", 250, "USD"),
        ("q", 150, "EUR"),
    ]


@pytest.mark.parametrize("role", ["organiser", "benchmark"])
@pytest.mark.parametrize("ties", ["split", "all"])
def test_who_does_not_compete_wins_nothing_and_takes_no_place(role: Role, ties: Literal["split", "all"]) -> None:
    edition = an_edition(
        prizes=prizes(500, 200),
        bonuses=[{"title": "Thanks", "amount": 50, "currency": "USD", "to": "everybody"}],
        payout={"amount": 1, "currency": "USD", "per": "0.1", "above": "0.5"},
    )
    scores = {"a": 0.8, "b": 0.6}
    beside = a_board(scores | {"us": 0.9, "them": 0.8}, roles={"us": role, "them": role})
    assert awards(edition, beside, ties=ties) == awards(edition, a_board(scores), ties=ties)
    # The rows are enough: a rank given to them by mistake wins nothing either.
    mistaken = replace(beside, rows=tuple(replace(row, rank=row.rank or 1.0) for row in beside.rows))
    assert amounts(awards(edition, mistaken, ties=ties)).keys() == {"a", "b"}


def test_what_is_not_on_the_board_wins_nothing() -> None:
    board = a_board({"a": 0.8, "b": 0.6})
    out = BoardRow("c", None, None, "team", cases=1, missing=1, failed=0, disqualified=True)
    home = BoardRow("home", 0.9, None, "organiser", cases=1, missing=0, failed=0)
    assert amounts(awards(an_edition(prizes=prizes(5, 4, 3)), replace(board, unlisted=(out, home)))) == {"a": 5, "b": 4}
    assert awards(an_edition(prizes=prizes(5)), replace(board, rows=())) == []


# Phases.

PHASES = [a_phase("first", month=1), a_phase("final", month=5), a_phase("extra", month=3)]
PER_PHASE = an_edition(
    phases=PHASES,
    prizes=[*prizes(10, phase="first"), *prizes(20), *prizes(5, 4, phase="extra")],
    bonuses=[{"title": "Week one", "amount": 3, "currency": "USD", "phase": "first"}],
    payout={"amount": 1, "currency": "USD", "per": "0.1", "above": "0.5", "phase": "extra"},
)


@pytest.mark.parametrize(
    ("phase", "expected"),
    [("first", {"a": 10}), ("final", {"a": 20}), ("extra", {"a": 5 + 4, "b": 4 + 1}), (None, {"a": 20})],
)
def test_a_phase_has_its_own_prizes_and_no_phase_is_the_last(phase: str | None, expected: dict[str, int]) -> None:
    assert amounts(awards(PER_PHASE, a_board({"a": 0.9, "b": 0.6}), phase=phase)) == expected


def test_an_unknown_phase_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="there is no phase 'second'; the edition has first, final, extra"):
        awards(PER_PHASE, a_board({"a": 0.9}), phase="second")


# Bonuses.


def test_a_bonus_is_handed_to_who_is_named() -> None:
    board = a_board({"a": 0.9, "b": 0.6})
    named = {"Week one": "b"}
    found = awards(PER_PHASE, board, phase="first", named=named)
    assert found == [Award("a", "place 1", Decimal(10), "USD"), Award("b", "Week one", Decimal(3), "USD")]
    out = BoardRow("c", None, None, "team", cases=1, missing=1, failed=0, disqualified=True)
    late = awards(PER_PHASE, replace(board, unlisted=(out,)), phase="first", named={"Week one": "c"})
    assert late[-1] == Award("c", "Week one", Decimal(3), "USD"), "who led then need not have finished"


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"Week two": "a"}, r"no bonus 'Week two' is to be handed out; those of this phase are \['Week one'\]"),
        ({"Week one": "nobody"}, "'nobody' cannot win a bonus: it is no team on this board"),
        ({"Week one": "us"}, "'us' cannot win a bonus"),
        ({"Week one": "home"}, "'home' cannot win a bonus"),
    ],
)
def test_a_bonus_goes_to_a_team_or_to_nobody(named: dict[str, str], words: str) -> None:
    board = a_board({"a": 0.9, "us": 0.6}, roles={"us": "benchmark"})
    home = BoardRow("home", 0.9, None, "organiser", cases=1, missing=0, failed=0)
    with pytest.raises(ValueError, match=words):
        awards(PER_PHASE, replace(board, unlisted=(home,)), phase="first", named=named)


def test_what_everybody_gets_is_nobodys_to_be_named_for() -> None:
    edition = an_edition(bonuses=[{"title": "Thanks", "amount": 50, "currency": "USD", "to": "everybody"}])
    board = a_board({"a": 0.9, "b": 0.9, "c": 0.1})
    assert amounts(awards(edition, board)) == {"a": 50, "b": 50, "c": 50}
    with pytest.raises(ValueError, match="no bonus 'Thanks' is to be handed out"):
        awards(edition, board, named={"Thanks": "a"})


# Payouts.

LUNG = {"amount": 15, "currency": "USD", "per": "0.001", "above": "0.574", "round_up_to": 25}


def test_golden_payouts(golden_ranking: dict[str, Any]) -> None:
    examples = golden_ranking["lung_prizes"]["phase3_payout_examples"]
    assert len(examples) == 12
    edition = an_edition(payout=LUNG)
    for example in examples:
        on_board = awards(edition, a_board({"a": float(example["score"])}))
        assert amounts(on_board).get("a", 0) == example["payout_usd"], example
        official = awards(edition, a_board({"a": 0.1}), scores={"a": Decimal(example["score"])})
        assert official == on_board


def test_the_rounding_of_a_mean_costs_nobody_a_step() -> None:
    mean = 0.624 + 2e-16
    assert mean != 0.624
    (award,) = awards(an_edition(payout=LUNG), a_board({"a": mean}))
    assert award == Award("a", "performance", Decimal(750), "USD")
    # A real difference does count, and so does one that was published.
    assert amounts(awards(an_edition(payout=LUNG), a_board({"a": 0.624 + 1e-9}))) == {"a": 775}
    published = {"a": Decimal("0.6240000000000002")}
    assert amounts(awards(an_edition(payout=LUNG), a_board({"a": 0.624}), scores=published)) == {"a": 775}


@given(st.integers(0, 10**6), st.integers(1, 10**4), st.integers(1, 10**5), st.integers(1, 10**4))
def test_a_payout_is_the_smallest_multiple_that_is_enough(score: int, per: int, amount: int, multiple: int) -> None:
    exact = Decimal(score).scaleb(-6)
    payout = {
        "amount": Decimal(amount).scaleb(-2),
        "currency": "EUR",
        "per": Decimal(per).scaleb(-6),
        "above": "0.4",
        "round_up_to": Decimal(multiple).scaleb(-2),
    }
    paid = amounts(awards(an_edition(payout=payout), a_board({"a": 0.1}), scores={"a": exact})).get("a", Decimal())
    owed = max(Fraction(), Fraction(amount, 100) * Fraction(score - 400_000, per))
    assert Fraction(paid) >= owed > Fraction(paid) - Fraction(multiple, 100) or paid == owed == 0
    assert Fraction(paid) / Fraction(multiple, 100) == int(Fraction(paid) / Fraction(multiple, 100))


def test_without_rounding_up_it_is_rounded_down_to_a_hundredth() -> None:
    payout = {"amount": "0.1", "currency": "EUR", "per": "0.3", "above": "0.5"}
    assert amounts(awards(an_edition(payout=payout), a_board({"a": 0.7}))) == {"a": Decimal("0.06")}


def test_where_less_is_better_steps_are_counted_downwards() -> None:
    payout = {"amount": 10, "currency": "EUR", "per": "0.5", "above": "3"}
    board = a_board({"a": 1.0, "b": 2.9, "c": 3.0, "d": 4.0}, metric="test_award_error")
    assert amounts(awards(an_edition(payout=payout), board)) == {"a": 40, "b": 2}


def test_official_scores_are_those_of_everybody() -> None:
    with pytest.raises(ValueError, match="no official score of 'b'"):
        awards(an_edition(payout=LUNG), a_board({"a": 0.6, "b": 0.5}), scores={"a": Decimal("0.6")})


# How an edition says it in code.


def test_tables_of_our_own_are_checked_like_those_of_a_file() -> None:
    prize = Prize(place=1, amount=Decimal(5), currency="EUR")
    bonus = Bonus(title="B", amount=Decimal(5), currency="EUR", phase="tst")
    payout = Payout.model_validate({**LUNG, "phase": "other"})
    data = {"challenge": "x", "title": "X", "phases": [a_phase("test")], "payout": payout}
    with pytest.raises(EditionError) as caught:
        check({**data, "prizes": [prize, prize], "bonuses": (bonus,)}, line_of=lambda _: None, name="x")
    assert {problem.where for problem in caught.value.problems} == {
        "prizes[2].place",
        "bonuses[1].phase",
        "payout.phase",
    }


def test_prizes_that_can_be_read_only_once_are_still_checked() -> None:
    data = {"challenge": "x", "title": "X", "phases": [a_phase("test")]}
    with pytest.raises(EditionError, match=r"prizes: .*heading"):
        check({**data, "prizes": iter(prizes(5, phase="tst"))}, line_of=lambda _: None, name="x")
