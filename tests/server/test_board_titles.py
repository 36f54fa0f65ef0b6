"""Boards in words: what visitors read in place of the names that code gives them."""

from __future__ import annotations

import pytest

from isocenter.evaluation import load_challenge
from isocenter.server.boards.board_titles import rule_in_words, titles_of

CHALLENGES = ("doserad2026", "hecktor2020", "lung2019", "openkbp2020", "picai2022")


@pytest.mark.parametrize(
    ("challenge", "board", "title"),
    [
        ("lung2019", "s_score", "S score"),
        ("picai2022", "score", "Detection score"),
        ("openkbp2020", "dvh", "DVH error"),
        ("doserad2026", "as-run", "Weighted rank, as run"),
        ("doserad2026", "as-run-until-august", "Weighted rank, as run until august"),
    ],
)
def test_a_board_is_called_by_what_it_ranks_by(challenge: str, board: str, title: str) -> None:
    assert titles_of(load_challenge(challenge))[board] == title


@pytest.mark.parametrize("name", CHALLENGES)
def test_every_board_has_a_title_that_no_other_has_and_a_rule_without_names_of_code(name: str) -> None:
    code = load_challenge(name)
    titles = titles_of(code)
    assert list(titles) == list(code.boards)
    assert len(set(titles.values())) == len(titles)
    for title, rule in zip(titles.values(), code.boards.values(), strict=True):
        assert "_" not in title + rule_in_words(rule)


def test_a_rule_of_another_package_keeps_its_own_sentence() -> None:
    class Foreign:
        metric = "dose_error"
        reads = ("dose_error",)

        def __str__(self) -> str:
            return "by dose_error and no_such_metric"

    assert rule_in_words(Foreign()) == "by dose_error and no_such_metric"


def test_pages_name_boards_in_words_and_addresses_by_code(world) -> None:
    from isocenter.server.work import making

    one = world.scored("Rigi", "validation")
    making.make_boards(world.challenge, "validation")
    client = world.client("alice")
    index = client.get("/c/neck/boards/").content.decode()
    assert '<a href="/c/neck/boards/validation/dice/">Dice</a>' in index
    page = client.get("/c/neck/boards/validation/dice/").content.decode()
    assert '<h1>Dice <span class="acronym">Validation</span></h1>' in page
    assert "Dice: Dice similarity coefficient" in client.get("/c/neck/").content.decode()
    assert client.get(f"/c/neck/submissions/{one.pk}/").status_code == 200
