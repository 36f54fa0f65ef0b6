"""How many attempts a team has left, when it has the next one, and what is given back."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.editions import Attempt, Phase, quota_left
from isocenter.editions._quota import AttemptOutcome
from isocenter.ranking import within_quota

SUMMER = timezone(timedelta(hours=2))
FIRST = datetime(2022, 6, 1, 12, tzinfo=UTC)  # a Wednesday
WEEK, DAY, TICK = timedelta(days=7), timedelta(days=1), timedelta(microseconds=1)


def a_phase(**changes: Any) -> Phase:
    return Phase.model_validate(
        {
            "name": "tuning",
            "title": "Tuning",
            "opens": datetime(2022, 5, 20, tzinfo=SUMMER),
            "closes": datetime(2022, 10, 20, tzinfo=SUMMER),
            "results": datetime(2022, 10, 20, 18, tzinfo=SUMMER),
            **changes,
        }
    )


def scored(*moments: datetime) -> list[Attempt]:
    return [Attempt(moment, "scored") for moment in moments]


def test_without_a_quota_a_team_has_any_number() -> None:
    found = quota_left(a_phase(), scored(FIRST), FIRST)
    assert (found.left, found.next_slot, found.used) == (None, FIRST, 1)
    assert found.words == "Any number of attempts."


def test_a_quota_of_the_whole_phase_does_not_come_back() -> None:
    phase = a_phase(quota=2)
    assert quota_left(phase, scored(FIRST), FIRST + WEEK).left == 1
    found = quota_left(phase, scored(FIRST, FIRST), FIRST + 9 * WEEK)
    assert (found.left, found.next_slot) == (0, None)
    assert found.words == (
        "2 of 2 attempts used; none is left until the phase closes on 20 October 2022, 00:00 UTC+02:00 "
        "(19 October 2022, 22:00 UTC)."
    )


def test_a_week_is_seven_days_from_the_attempt_to_the_second() -> None:
    phase = a_phase(quota=1, quota_per="week")
    found = quota_left(phase, scored(FIRST), FIRST + WEEK - TICK)
    assert (found.left, found.next_slot, found.used) == (0, FIRST + WEEK, 1)
    assert found.words == (
        "1 of 1 attempt in any seven days used; the next one on 8 June 2022, 14:00 UTC+02:00 (12:00 UTC)."
    )
    found = quota_left(phase, scored(FIRST), FIRST + WEEK)
    assert (found.left, found.next_slot, found.used) == (1, FIRST + WEEK, 0)


def test_the_next_slot_is_that_of_the_oldest_attempt_that_still_counts() -> None:
    phase = a_phase(quota=2, quota_per="day")
    attempts = scored(FIRST + timedelta(hours=5), FIRST)
    assert quota_left(phase, attempts, FIRST + timedelta(hours=6)).next_slot == FIRST + DAY


@pytest.mark.parametrize(
    ("per", "slot"),
    [
        ("calendar-day", datetime(2022, 6, 2, tzinfo=SUMMER)),
        ("calendar-week", datetime(2022, 6, 6, tzinfo=SUMMER)),  # the Monday after
    ],
)
def test_a_day_or_week_of_the_calendar_begins_at_midnight_on_the_clock_of_the_phase(per: str, slot: datetime) -> None:
    phase = a_phase(quota=1, quota_per=per)
    assert quota_left(phase, scored(FIRST), slot - TICK).left == 0
    assert quota_left(phase, scored(FIRST), FIRST).next_slot == slot
    found = quota_left(phase, scored(FIRST), slot)
    assert (found.left, found.used) == (1, 0)


def test_midnight_is_that_of_the_phase_not_of_greenwich() -> None:
    late = datetime(2022, 6, 1, 22, 30, tzinfo=UTC)  # already the second of June where the phase opens
    phase = a_phase(quota=1, quota_per="calendar-day")
    assert quota_left(phase, scored(late), datetime(2022, 6, 2, 0, 30, tzinfo=UTC)).left == 0
    assert quota_left(phase, scored(late - timedelta(hours=1)), late).left == 1
    in_utc = a_phase(quota=1, quota_per="calendar-day", opens=datetime(2022, 5, 20, tzinfo=UTC))
    assert quota_left(in_utc, scored(late), datetime(2022, 6, 2, 0, 30, tzinfo=UTC)).left == 1


def test_the_words_are_those_of_the_calendar() -> None:
    phase = a_phase(quota=3, quota_per="calendar-week")
    assert quota_left(phase, scored(FIRST), FIRST).words == "1 of 3 attempts this week (from Monday) used."
    phase = a_phase(quota=1, quota_per="calendar-day")
    assert quota_left(phase, scored(FIRST), FIRST).words == (
        "1 of 1 attempt today used; the next one on 2 June 2022, 00:00 UTC+02:00 (1 June 2022, 22:00 UTC)."
    )


def test_a_slot_that_comes_after_the_closing_never_comes() -> None:
    phase = a_phase(quota=1, quota_per="week", closes=FIRST + WEEK, results=FIRST + WEEK)
    found = quota_left(phase, scored(FIRST), FIRST + DAY)
    assert (found.left, found.next_slot) == (0, None)
    assert "none is left until the phase closes" in found.words


def test_before_it_opens_a_phase_promises_its_quota_and_after_it_closed_nothing() -> None:
    phase = a_phase(quota=3)
    found = quota_left(phase, [], phase.opens - DAY)
    assert (found.left, found.next_slot) == (3, phase.opens)
    assert found.words.endswith("; the phase opens on 20 May 2022, 00:00 UTC+02:00 (19 May 2022, 22:00 UTC).")
    found = quota_left(phase, [], phase.closes)
    assert (found.left, found.next_slot) == (0, None)
    assert found.words.startswith("The phase is closed since 20 October 2022")
    assert quota_left(a_phase(), [], phase.closes).left == 0


COSTS = {
    "infrastructure": {"scored", "running", "failed"},
    "failed": {"scored", "running"},
    "none": {"scored", "running", "failed", "cancelled"},
}


@pytest.mark.parametrize("refund", COSTS)
@pytest.mark.parametrize("outcome", get_args(AttemptOutcome))
def test_what_an_attempt_costs(refund: str, outcome: AttemptOutcome) -> None:
    found = quota_left(a_phase(quota=5, refund=refund), [Attempt(FIRST, outcome)], FIRST + DAY)
    costs = outcome in COSTS[refund]
    assert (found.left, found.used, found.given_back) == ((4, 1, 0) if costs else (5, 0, 1))
    assert found.words == ("1 of 5 attempts used." if costs else "0 of 5 attempts used, 1 given back.")


def test_what_organisers_except_costs_nothing() -> None:
    attempt = Attempt(FIRST, "scored", excepted=True)
    found = quota_left(a_phase(quota=1), [attempt], FIRST)
    assert (found.left, found.used, found.given_back) == (1, 0, 1)


def test_what_organisers_grant_is_used_when_the_quota_is_used_up() -> None:
    phase = a_phase(quota=1, quota_per="week")
    found = quota_left(phase, scored(FIRST), FIRST + DAY, extra=2)
    assert (found.left, found.next_slot) == (2, FIRST + DAY)
    assert found.words == "1 of 1 attempt in any seven days used, and 2 more granted by the organisers."
    twice = scored(FIRST, FIRST + DAY)
    assert quota_left(phase, twice, FIRST + 2 * DAY, extra=2).left == 1
    # The one that was made on it does not take from the week that begins with it.
    assert quota_left(phase, twice, FIRST + WEEK, extra=2).left == 2
    assert quota_left(phase, twice, FIRST + WEEK, extra=1).left == 1


def test_an_attempt_of_a_clock_that_is_ahead_counts_already() -> None:
    for per in ("phase", "week", "day", "calendar-week", "calendar-day"):
        assert quota_left(a_phase(quota=1, quota_per=per), scored(FIRST + WEEK), FIRST).left == 0
    phase = a_phase(quota=1, quota_per="calendar-day")
    assert quota_left(phase, scored(FIRST + WEEK), FIRST).next_slot == datetime(2022, 6, 9, tzinfo=SUMMER)
    ahead = scored(FIRST + DAY, FIRST + 2 * DAY)
    assert quota_left(a_phase(quota=1, quota_per="day"), ahead, FIRST).next_slot == FIRST + 3 * DAY


def test_a_slot_is_never_told_too_early() -> None:
    made = FIRST + timedelta(milliseconds=1)
    assert "14:00:01 UTC+02:00" in quota_left(a_phase(quota=1, quota_per="week"), scored(made), made).words


def test_moments_have_a_zone_and_grants_are_not_negative() -> None:
    with pytest.raises(ValueError, match="now is 2022-06-01T12:00:00, which has no time zone"):
        quota_left(a_phase(), [], FIRST.replace(tzinfo=None))
    with pytest.raises(ValueError, match="the moment of an attempt is 2022-06-01T12:00:00, which has no time zone"):
        quota_left(a_phase(), scored(FIRST.replace(tzinfo=None)), FIRST)
    with pytest.raises(ValueError, match="0 or more attempts beyond the quota, not -1"):
        quota_left(a_phase(quota=1), [], FIRST, extra=-1)


hours = st.lists(st.integers(0, 60), max_size=10).map(sorted)
pers = st.sampled_from(["phase", "week", "day", "calendar-week", "calendar-day"])


@given(hours, st.integers(1, 3), st.sampled_from(["phase", "week", "day"]))
def test_who_is_let_in_by_what_is_left_is_whom_the_ranking_counts(steps: list[int], quota: int, per: Any) -> None:
    phase = a_phase(quota=quota, quota_per=per)
    moments = [FIRST + timedelta(hours=7 * step) for step in steps]
    made: list[Attempt] = []
    let_in = []
    for moment in moments:
        let_in.append(bool(quota_left(phase, made, moment).left))
        made += scored(moment) if let_in[-1] else []
    assert let_in == within_quota(moments, quota=quota, per=per)


@given(hours, st.integers(1, 3), pers, st.integers(0, 2))
def test_the_next_slot_is_the_first_moment_with_something_left(
    steps: list[int], quota: int, per: Any, extra: int
) -> None:
    phase = a_phase(quota=quota, quota_per=per)
    attempts = scored(*(FIRST + timedelta(hours=7 * step) for step in steps))
    now = FIRST + timedelta(hours=7 * 60)
    found = quota_left(phase, attempts, now, extra=extra)
    assert (found.next_slot == now) == bool(found.left)
    if found.next_slot is None:
        assert per == "phase"
    elif found.next_slot > now:
        assert quota_left(phase, attempts, found.next_slot - TICK, extra=extra).left == 0
        assert quota_left(phase, attempts, found.next_slot, extra=extra).left


@given(hours, st.integers(1, 3), pers, st.integers(0, 2), st.randoms(use_true_random=False))
def test_the_order_in_which_attempts_are_told_decides_nothing(
    steps: list[int], quota: int, per: Any, extra: int, random: Any
) -> None:
    phase = a_phase(quota=quota, quota_per=per)
    outcomes = itertools.cycle(get_args(AttemptOutcome))
    attempts = [Attempt(FIRST + timedelta(hours=7 * step), next(outcomes)) for step in steps]
    now = FIRST + timedelta(hours=300)
    shuffled = random.sample(attempts, len(attempts))
    assert quota_left(phase, shuffled, now, extra=extra) == quota_left(phase, attempts, now, extra=extra)
