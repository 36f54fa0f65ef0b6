"""Phases after the end: a board that goes on, and gives away nothing that the phase kept to itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from isocenter.editions import Edition, EditionError, Viewer, new, sight
from isocenter.editions._problems import check
from isocenter.evaluation import load_challenge

OPENS = datetime(2022, 1, 1, tzinfo=UTC)
RESULTS = OPENS + timedelta(days=60)
LATER = RESULTS + timedelta(days=100)


def an_edition(before: dict[str, Any] | None = None, **changes: Any) -> Edition:
    test = {"name": "test", "title": "Test", "opens": OPENS, "closes": OPENS + timedelta(days=30), "results": RESULTS}
    later = {
        "name": "later",
        "title": "After the end",
        "opens": RESULTS,
        "closes": RESULTS + timedelta(days=9999),
        "results": RESULTS + timedelta(days=9999),
        "continues": "test",
        "admission": "request",
        "visibility": "public",
        **changes,
    }
    data = {"challenge": "x", "title": "X", "phases": [test | (before or {}), later]}
    return check(data, line_of=lambda _: 1, name="challenge.toml")


def test_a_phase_after_the_end_never_decides() -> None:
    edition = an_edition()
    assert edition.last_phase.name == "test"
    assert edition.continued_by(edition.phases[1]) == edition.phases[0]
    assert edition.continued_by(edition.phases[0]) is None


@pytest.mark.parametrize("visibility", ["public", "own", "hidden"])
def test_its_board_is_open_and_tells_no_more_of_cases_than_the_phase_did(visibility: str) -> None:
    edition = an_edition({"visibility": visibility})
    seen = sight(edition, "later", Viewer("participant", team="Doubs", admitted=True), LATER)
    assert seen.other_scores
    assert seen.own_cases == (visibility != "hidden")
    before_it_opens = sight(edition, "later", Viewer("anonymous"), RESULTS - timedelta.resolution)
    assert not before_it_opens.other_scores


@pytest.mark.parametrize(("before", "own", "named"), [(None, None, None), (3, None, 3), (3, "all", 3), (None, 2, None)])
def test_it_names_no_more_teams_than_the_phase_did(before: Any, own: Any, named: int | None) -> None:
    edition = an_edition({"announce": before}, announce=own)
    assert sight(edition, "later", Viewer("anonymous"), LATER).first == named
    hidden = an_edition({"announce": before}, announce=own, visibility="own")
    counts = [count for count in (before, own) if isinstance(count, int)]
    assert hidden.named_in(hidden.phases[1]) == min(counts, default=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"continues": "nothing"}, "there is no phase"),
        ({"opens": RESULTS - timedelta(seconds=1)}, "before its results are out"),
        ({"decimals": 2}, "decimals has to be the same"),
        ({"ladder": 0.1}, "ladder has to be the same"),
    ],
)
def test_what_would_tell_too_early_or_too_much_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(EditionError) as error:
        an_edition(**changes)
    assert message in str(error.value)


def test_the_board_of_tuning_stays_open_and_that_of_testing_on_request_in_picai() -> None:
    edition = new(load_challenge("picai2022"))
    after = {phase.continues: phase for phase in edition.phases if phase.continues}
    assert set(after) == {"tuning", "testing"}
    assert (after["tuning"].admission, after["testing"].admission) == ("open", "request")
    assert edition.last_phase.name == "closed-testing"
    now = datetime(2023, 6, 1, tzinfo=UTC)
    seen = sight(edition, after["testing"].name, Viewer("participant", team="Doubs", admitted=True), now)
    assert (seen.other_scores, seen.own_scores, seen.own_cases) == (True, True, False)
