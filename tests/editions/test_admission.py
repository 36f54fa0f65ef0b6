"""Who may submit to a phase, and what a team is told that may not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from isocenter.editions import Admission, Edition, TeamStanding, admitted
from isocenter.ranking import Board, BoardRow, Role

SUMMER = timezone(timedelta(hours=2))
OPENS = datetime(2022, 11, 10, tzinfo=SUMMER)
CLOSES = datetime(2022, 11, 30, tzinfo=SUMMER)
RESULTS = datetime(2022, 11, 12, 18, tzinfo=SUMMER)  # of the phase before, two days after this one opens
TICK = timedelta(microseconds=1)
UNTIL = "open until 30 November 2022, 00:00 UTC+02:00 (29 November 2022, 22:00 UTC)"
KNOWN_FROM = "who that is, is known from 12 November 2022, 18:00 UTC+02:00 (16:00 UTC)"


def an_edition(before: dict[str, Any] | None = None, **closed: Any) -> Edition:
    testing = {
        "name": "testing",
        "title": "Open testing",
        "opens": datetime(2022, 10, 20, tzinfo=SUMMER),
        "closes": datetime(2022, 10, 30, tzinfo=SUMMER),
        "results": RESULTS,
        **(before or {}),
    }
    phase = {"name": "closed", "title": "Closed testing", "opens": OPENS, "closes": CLOSES, "results": CLOSES, **closed}
    return Edition.model_validate({"challenge": "picai2022", "title": "PI-CAI", "phases": [testing, phase]})


def a_row(team: str, rank: float | None, *, role: Role = "team", score: float | None = 0.5) -> BoardRow:
    return BoardRow(team, score, rank, role, cases=10, missing=0, failed=0, disqualified=score is None)


def a_board(*rows: BoardRow, unlisted: tuple[BoardRow, ...] = ()) -> Board:
    return Board("score", "dice", "mean", rows, unlisted)


def ask(edition: Edition, team: TeamStanding | str, now: datetime = RESULTS, board: Board | None = None) -> Admission:
    def board_of(phase: str) -> Board | None:
        assert phase == "testing"
        return board

    team = TeamStanding(team) if isinstance(team, str) else team
    return admitted(edition, "closed", team, board_of=board_of, now=now)


def test_a_phase_takes_submissions_from_its_opening_until_just_before_its_closing() -> None:
    edition = an_edition()
    assert ask(edition, "Doubs", OPENS) == Admission(yes=True, reason=UNTIL)
    assert ask(edition, "Doubs", CLOSES - TICK).yes
    assert ask(edition, "Doubs", OPENS - TICK) == Admission(
        yes=False, reason="not open yet: opens 10 November 2022, 00:00 UTC+02:00 (9 November 2022, 22:00 UTC)"
    )
    assert ask(edition, "Doubs", CLOSES) == Admission(
        yes=False, reason="closed since 30 November 2022, 00:00 UTC+02:00 (29 November 2022, 22:00 UTC)"
    )


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ("none", "only on request; ask the organisers"),
        ("waiting", "waiting for the organisers' decision"),
        ("refused", "the organisers did not grant the request"),
        ("granted", UNTIL),
    ],
)
def test_on_request_the_organisers_decide(request_: Any, reason: str) -> None:
    found = ask(an_edition(admission="request"), TeamStanding("Doubs", request=request_))
    assert found == Admission(yes=request_ == "granted", reason=reason)


def test_all_reasons_are_told_at_once() -> None:
    lacking = ("survey missing", "terms version 2 not accepted")
    team = TeamStanding("Doubs", request="waiting", lacking=lacking)
    found = ask(an_edition(admission="request"), team, OPENS - TICK)
    assert not found.yes
    assert found.reason == (
        "not open yet: opens 10 November 2022, 00:00 UTC+02:00 (9 November 2022, 22:00 UTC); "
        "waiting for the organisers' decision; survey missing; terms version 2 not accepted"
    )
    assert ask(an_edition(), TeamStanding("Doubs", lacking=lacking[:1])) == Admission(
        yes=False, reason="survey missing"
    )


AFTER: dict[str, Any] = {"admission": "after", "after": "testing"}
INVITED: dict[str, Any] = {"admission": "invited", "after": "testing", "top": 2}
ONLY_TWO = 'only the two best of "Open testing" are invited'


def test_the_best_of_another_phase_are_invited() -> None:
    board = a_board(a_row("Aare", 1), a_row("Birs", 2), a_row("Doubs", 3))
    edition = an_edition(**INVITED)
    assert [ask(edition, team, board=board).yes for team in ("Aare", "Birs", "Doubs", "Emme")] == [
        True,
        True,
        False,
        False,
    ]
    assert ask(edition, "Doubs", board=board).reason == ONLY_TWO
    assert ask(edition, "Aare", board=None).reason == ONLY_TWO


def test_who_ties_for_the_last_place_is_invited_too_and_organisers_take_none() -> None:
    board = a_board(
        a_row("Host", 1, role="organiser"),
        a_row("Reader", None, role="benchmark"),
        a_row("Aare", 2),
        a_row("Birs", 3.5),
        a_row("Doubs", 3.5),
        a_row("Emme", 5),
    )
    edition = an_edition(**INVITED)
    teams = ("Host", "Reader", "Aare", "Birs", "Doubs", "Emme")
    assert [team for team in teams if ask(edition, team, board=board).yes] == ["Aare", "Birs", "Doubs"]


def test_of_several_rows_of_a_team_the_best_takes_one_place() -> None:
    board = a_board(a_row("Aare #2", 1), a_row("Aare #1", 2), a_row("Birs #1", 3), a_row("Doubs #1", 4))
    edition = an_edition({"counts": "all"}, **INVITED)
    assert [team for team in ("Aare", "Birs", "Doubs") if ask(edition, team, board=board).yes] == ["Aare", "Birs"]


def test_an_invitation_tells_nothing_before_the_results_do() -> None:
    edition = an_edition(**INVITED)
    best = a_board(a_row("Aare", 1), a_row("Birs", 2))
    worst = a_board(a_row("Birs", 1), a_row("Doubs", 2), a_row("Aare", 3))
    found = {ask(edition, "Aare", RESULTS - TICK, board) for board in (best, worst, None)}
    assert found == {Admission(yes=False, reason=f"{ONLY_TWO}; {KNOWN_FROM}")}
    assert ask(edition, "Aare", RESULTS, best) != ask(edition, "Aare", RESULTS, worst)


def test_whom_the_organisers_name_is_admitted_without_a_board() -> None:
    for settings in (INVITED, AFTER, {"admission": "invited"}):
        assert ask(an_edition(**settings), TeamStanding("Outsider", invited=True), OPENS).yes
    assert ask(an_edition(admission="invited"), "Doubs").reason == "only teams that the organisers invite take part"


def test_after_a_phase_is_for_those_with_a_result_there() -> None:
    host, failed = a_row("Host", None, role="organiser"), a_row("Failed", None, score=None)
    board = a_board(a_row("Aare", 1), a_row("Birs", 9), unlisted=(host, failed))
    edition = an_edition(**AFTER)
    teams = ("Aare", "Birs", "Host", "Failed", "Absent")
    assert [team for team in teams if ask(edition, team, board=board).yes] == ["Aare", "Birs", "Host"]
    assert ask(edition, "Failed", board=board).reason == 'only teams with a result in "Open testing" take part'
    assert not ask(edition, "Aare", board=None).yes


def test_a_result_is_known_to_a_team_when_it_sees_it() -> None:
    board = a_board(a_row("Aare", 1))
    told = Admission(yes=False, reason=f'only teams with a result in "Open testing" take part; {KNOWN_FROM}')
    assert {ask(an_edition(**AFTER), "Aare", OPENS, one) for one in (board, None)} == {told}
    for visibility in ("public", "own"):
        assert ask(an_edition({"visibility": visibility}, **AFTER), "Aare", OPENS, board).yes


def test_a_phase_that_is_not_announced_does_not_exist() -> None:
    edition = an_edition(announced=OPENS)
    team = TeamStanding("Doubs", invited=True)
    assert ask(edition, team, OPENS - TICK) == Admission(yes=False, reason='there is no phase "closed"')
    assert ask(edition, team, OPENS).yes
    gone = Edition.model_validate({**dict(edition), "phases": edition.phases[:1]})
    assert ask(gone, team, OPENS - TICK) == ask(edition, team, OPENS - TICK)


def test_no_reason_names_a_phase_that_is_not_announced() -> None:
    before = {"announced": OPENS + TICK, "opens": OPENS + TICK, "closes": CLOSES, "results": CLOSES}
    for settings in (INVITED, AFTER):
        assert ask(an_edition(before, **settings), "Doubs", OPENS).reason == (
            "only teams that the organisers invite take part"
        )


@pytest.mark.parametrize(
    ("top", "words"), [(1, "the best of"), (5, "the five best of"), (12, "the twelve best of"), (13, "the 13 best of")]
)
def test_how_many_are_invited_is_said_in_words(top: int, words: str) -> None:
    reason = ask(an_edition(**{**INVITED, "top": top}), "Doubs").reason
    assert words in reason
    assert reason.endswith("is invited" if top == 1 else "are invited")


def test_a_moment_has_a_zone() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        ask(an_edition(), "Doubs", datetime(2022, 11, 20))
    assert ask(an_edition(), "Doubs", datetime(2022, 11, 20, tzinfo=UTC)).yes
