"""Boards that give little away: ladders and rounded scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import isocenter
from isocenter.contest import Contest, make_entries
from isocenter.ranking import Participation
from isocenter.scores import Row, frame


def table(values: Any) -> pl.DataFrame:
    return frame(Row(f"c{at:02d}", "", "dice", float(value)) for at, value in enumerate(values))


def hecktor(**rules: Any) -> Any:
    return replace(isocenter.challenge("hecktor2020"), participation=Participation(**rules))


CASES = np.linspace(0.5, 0.9, 20)
NOISE = np.random.default_rng(0).normal(0, 0.05, 20)
FIRST, LUCKY, BETTER = table(CASES), table(np.clip(CASES + NOISE - NOISE.mean() + 0.005, 0, 1)), table(CASES + 0.08)


def test_a_gain_within_the_noise_is_not_shown_and_a_real_one_is() -> None:
    ladder = hecktor(ladder="parameter-free")
    board = isocenter.rank(ladder, {"a": [FIRST, LUCKY]})
    assert board["a"].score == pytest.approx(0.7)
    assert isocenter.rank(ladder, {"a": [FIRST, LUCKY, BETTER]})["a"].score == pytest.approx(0.78)
    assert isocenter.rank(ladder, {"a": [FIRST, BETTER, FIRST]})["a"].score == pytest.approx(0.78)
    assert isocenter.rank(hecktor(counts="best"), {"a": [FIRST, LUCKY]})["a"].score == pytest.approx(0.705)


def test_a_fixed_step_shows_multiples_of_it() -> None:
    board = isocenter.rank(hecktor(ladder=0.05), {"a": [FIRST, LUCKY], "b": [BETTER]})
    assert [(row.submission, row.score) for row in board.rows] == [("b", pytest.approx(0.8)), ("a", pytest.approx(0.7))]
    assert "better by enough" in board.notes[-1]


def test_what_is_shown_alike_is_ranked_alike() -> None:
    tables = {"a": FIRST, "b": LUCKY, "c": BETTER}
    board = isocenter.rank(hecktor(decimals=2), tables)
    assert [(row.submission, row.score, row.rank) for row in board.rows] == [
        ("c", 0.78, 1),
        ("b", 0.71, 2),
        ("a", 0.7, 3),
    ]
    assert (
        isocenter.rank(hecktor(decimals=1), tables)["a"].rank == isocenter.rank(hecktor(decimals=1), tables)["b"].rank
    )


def test_the_best_is_found_among_what_is_shown_so_that_which_one_counts_tells_no_digit_more() -> None:
    # 0.7, 0.705 and 0.695 are all shown as 0.7: of equals the later counts, whichever is really better.
    worse = table(CASES - 0.005)
    for given in ([FIRST, LUCKY], [LUCKY, FIRST], [LUCKY, worse]):
        counted = Contest(hecktor(counts="best", decimals=1), make_entries({"a": given})).count()
        assert counted.scores["value"].to_list() == given[-1]["value"].to_list()
    kept = Contest(hecktor(counts="best", decimals=2), make_entries({"a": [LUCKY, FIRST]})).count()
    assert kept.scores["value"].to_list() == LUCKY["value"].to_list()


def test_such_boards_have_no_interval_that_would_tell() -> None:
    challenge = hecktor(decimals=2)
    tables = {"a": FIRST, "b": BETTER}
    decision = Contest(challenge, make_entries(tables)).decide()
    assert decision.uncertainty is None
    assert decision.board == isocenter.rank(challenge, tables, resamples=0)


def test_nor_anything_else_that_would() -> None:
    from isocenter.report import leaderboard_page

    challenge = hecktor(decimals=1)
    tables = {"a": FIRST, "b": BETTER}
    decision = Contest(challenge, make_entries(tables)).decide()
    assert decision.means() == {}
    page = leaderboard_page("t", decision.board, decision.scores, discreet=True)
    assert "c00" not in page
    assert "0.78" not in page
    assert "0.78" in leaderboard_page("t", decision.board, decision.scores)


def test_a_ladder_needs_a_mean_of_cases() -> None:
    other = replace(isocenter.challenge("picai2022"), participation=Participation(ladder=0.01))
    with pytest.raises(ValueError, match="a ladder needs a mean over cases"):
        isocenter.rank(other, {"a": [FIRST]})
