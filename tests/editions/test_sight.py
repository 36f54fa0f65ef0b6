"""Who sees what of a phase, and when: a written table, and what holds for every phase, viewer and moment.

`sight.csv` is the specification: one row per visibility, state of the phase, viewer and thing. A change of who may see
what is a change of that file.
"""

from __future__ import annotations

import csv
from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.editions import Edition, Sight, Viewer, sight
from isocenter.editions._sight import ViewerKind

SUMMER = timezone(timedelta(hours=2))
ANNOUNCED, OPENS, CLOSES, RESULTS = (datetime(2020, month, 10, tzinfo=SUMMER) for month in (6, 7, 8, 9))
TICK = timedelta(microseconds=1)
THINGS = [field.name for field in fields(Sight) if isinstance(field.default, bool) and field.name != "several"]
LAST = {"unannounced": ANNOUNCED - TICK, "announced": OPENS - TICK, "open": CLOSES - TICK, "closed": RESULTS - TICK}
FIRST = {"announced": ANNOUNCED, "open": OPENS, "closed": CLOSES, "results": RESULTS}
VIEWERS = {
    "anonymous": Viewer("anonymous"),
    "reader": Viewer("reader"),
    "participant without a team": Viewer("participant"),
    "participant": Viewer("participant", team="Doubs"),
    "organiser": Viewer("organiser"),
    "staff": Viewer("staff"),
}
TABLE = list(csv.DictReader((Path(__file__).parent / "sight.csv").read_text().splitlines()))


def an_edition(*, announce: int | None = None, **changes: Any) -> Edition:
    phase = {
        "name": "test",
        "title": "Test phase",
        "announced": ANNOUNCED,
        "opens": OPENS,
        "closes": CLOSES,
        "results": RESULTS,
        **changes,
    }
    policies = {"announce": announce}
    data = {"challenge": "hecktor2020", "title": "HECKTOR", "phases": [phase], "policies": policies}
    return Edition.model_validate(data)


def seen(found: Sight) -> set[str]:
    return {thing for thing in THINGS if getattr(found, thing)}


def test_the_table_is_complete() -> None:
    keys = [(row["visibility"], row["state"], row["viewer"], row["thing"]) for row in TABLE]
    states = ["unannounced", *FIRST]
    assert sorted(keys) == sorted(
        (visibility, state, viewer, thing)
        for visibility in ("public", "own", "hidden")
        for state in states
        for viewer in VIEWERS
        for thing in THINGS
    )
    assert {VIEWERS[name].kind for name in VIEWERS} == set(get_args(ViewerKind))


@pytest.mark.parametrize("visibility", ["public", "own", "hidden"])
@pytest.mark.parametrize("viewer", VIEWERS)
def test_everybody_sees_what_the_table_says_from_the_first_moment_of_a_state_to_its_last(
    visibility: str, viewer: str
) -> None:
    edition = an_edition(visibility=visibility)
    for state in ("unannounced", *FIRST):
        told = {
            row["thing"]
            for row in TABLE
            if (row["visibility"], row["state"], row["viewer"], row["seen"]) == (visibility, state, viewer, "yes")
        }
        for moment in {
            FIRST.get(state, ANNOUNCED - timedelta(days=900)),
            LAST.get(state, RESULTS + timedelta(days=900)),
        }:
            assert seen(sight(edition, "test", VIEWERS[viewer], moment)) == told, (state, moment)


def test_a_phase_without_an_announcement_is_always_known() -> None:
    found = sight(an_edition(announced=None), "test", Viewer("anonymous"), OPENS - timedelta(days=900))
    assert seen(found) == {"known"}


@pytest.mark.parametrize("setting", [{"ladder": 0.01}, {"ladder": "parameter-free"}, {"decimals": 2}])
@pytest.mark.parametrize("visibility", ["public", "own"])
def test_a_board_that_gives_little_away_has_no_cases_no_intervals_and_no_progress(
    visibility: str, setting: dict[str, Any]
) -> None:
    viewer = VIEWERS["participant"]
    edition, plain = an_edition(visibility=visibility, **setting), an_edition(visibility=visibility)
    kept = {"own_cases", "details", "progress"}
    assert seen(sight(edition, "test", viewer, OPENS)) == seen(sight(plain, "test", viewer, OPENS)) - kept
    # What was rounded stays so; how teams came on may be told when all is over.
    after = seen(sight(edition, "test", viewer, RESULTS))
    assert after == seen(sight(plain, "test", viewer, RESULTS)) - {"own_cases", "details"}


def test_scores_have_the_decimals_of_the_phase_for_all_but_the_organisers() -> None:
    edition = an_edition(decimals=2, visibility="public")
    assert {sight(edition, "test", VIEWERS[name], RESULTS).decimals for name in list(VIEWERS)[:4]} == {2}
    assert {sight(edition, "test", VIEWERS[name], RESULTS).decimals for name in ("organiser", "staff")} == {None}


def test_so_many_as_the_policy_says_are_named_except_where_names_were_public_before() -> None:
    def first(visibility: str) -> int | None:
        return sight(an_edition(announce=3, visibility=visibility), "test", Viewer("anonymous"), RESULTS).first

    assert [first(visibility) for visibility in ("hidden", "own", "public")] == [3, 3, None]
    edition = an_edition(announce=3)
    assert sight(edition, "test", Viewer("organiser"), OPENS).first is None
    assert sight(edition, "test", Viewer("anonymous"), RESULTS, consents=["Emme"]).consents == {"Emme"}


def test_a_phase_may_say_by_itself_how_many_are_named() -> None:
    def first(announce: object, policy: int | None) -> int | None:
        data = an_edition(announce=policy).model_dump() | {}
        data["phases"][0]["announce"] = announce
        return sight(Edition.model_validate(data), "test", Viewer("anonymous"), RESULTS).first

    assert [first(announce, 3) for announce in (None, 5, "all")] == [3, 5, None]
    assert [first(announce, None) for announce in (None, 5, "all")] == [None, 5, None]


@pytest.mark.parametrize("announce", [0, -1, True, "five", "", 1.5])
def test_what_a_phase_announces_is_a_number_of_teams_or_all(announce: object) -> None:
    with pytest.raises(ValueError, match="not a number of teams"):
        Edition.model_validate(
            an_edition().model_dump() | {"phases": [an_edition().phases[0].model_dump() | {"announce": announce}]}
        )


def test_the_open_phases_of_picai_name_everybody_and_the_closed_one_five() -> None:
    from isocenter.editions import new
    from isocenter.evaluation import load_challenge

    edition = new(load_challenge("picai2022"))
    named = {phase.name: edition.named_in(phase) for phase in edition.phases}
    assert (named["tuning"], named["testing"], named["closed-testing"]) == (None, None, 5)


@pytest.mark.parametrize("admission", ["invited", "request"])
def test_the_data_of_a_phase_are_for_those_who_are_admitted(admission: str) -> None:
    edition = an_edition(admission=admission)
    team = Viewer("participant", team="Doubs")
    assert not sight(edition, "test", team, OPENS).downloads
    assert sight(edition, "test", replace(team, admitted=True), OPENS).downloads
    assert not sight(edition, "test", replace(team, admitted=True), OPENS - TICK).downloads


def test_a_viewer_is_of_a_known_kind_and_only_participants_and_organisers_have_teams() -> None:
    kind: Any = "admin"
    with pytest.raises(ValueError, match="a viewer is anonymous, participant, organiser, staff, reader, not 'admin'"):
        Viewer(kind)
    for kind in ("anonymous", "reader"):
        with pytest.raises(ValueError, match="has no team, but 'Doubs' is given"):
            Viewer(kind, team="Doubs")


def test_a_moment_has_a_zone() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        sight(an_edition(), "test", Viewer("organiser"), datetime(2020, 9, 1))


@st.composite
def editions(draw: Any) -> Edition:
    return an_edition(
        announce=draw(st.none() | st.integers(1, 3)),
        announced=draw(st.sampled_from([None, ANNOUNCED, OPENS])),
        visibility=draw(st.sampled_from(["public", "own", "hidden"])),
        ladder=draw(st.sampled_from([None, 0.01, "parameter-free"])),
        decimals=draw(st.none() | st.integers(0, 3)),
        counts=draw(st.sampled_from(["last", "best", "chosen", "all"])),
        admission=draw(st.sampled_from(["open", "invited", "request"])),
        results=draw(st.sampled_from([CLOSES, RESULTS])),
    )


moments = st.datetimes(datetime(2020, 5, 1), datetime(2020, 10, 1), timezones=st.just(SUMMER))
moments |= st.sampled_from([moment + shift for moment in FIRST.values() for shift in (-TICK, timedelta(), TICK)])
viewers = st.sampled_from([*VIEWERS.values(), Viewer("participant", team="Doubs", admitted=True)])


@given(editions(), moments)
def test_whoever_stands_nearer_sees_no_less(edition: Edition, now: datetime) -> None:
    order = [
        Viewer("anonymous"),
        Viewer("participant"),
        Viewer("participant", team="Doubs"),
        Viewer("participant", team="Doubs", admitted=True),
        Viewer("organiser"),
    ]
    found = [seen(sight(edition, "test", viewer, now)) for viewer in order]
    assert all(less <= more for less, more in pairwise(found))
    assert sight(edition, "test", Viewer("staff"), now) == sight(edition, "test", Viewer("organiser"), now)
    assert sight(edition, "test", Viewer("reader"), now) == sight(edition, "test", Viewer("anonymous"), now)


@given(editions(), viewers, moments, moments)
def test_time_only_opens(edition: Edition, viewer: Viewer, one: datetime, other: datetime) -> None:
    before, after = (sight(edition, "test", viewer, moment) for moment in sorted([one, other]))
    assert seen(before) <= seen(after)
    if before.names:
        assert (before.first, before.decimals) == (after.first, after.decimals)


@given(editions(), viewers, moments)
def test_a_phase_that_is_not_announced_is_like_one_that_does_not_exist(
    edition: Edition, viewer: Viewer, now: datetime
) -> None:
    if viewer.kind not in ("organiser", "staff") and not sight(edition, "test", viewer, now).known:
        assert sight(edition, "test", viewer, now) == sight(edition, "no-such-phase", viewer, now) == Sight()


@given(editions(), moments)
def test_nobody_but_organisers_and_staff_ever_sees_the_reference_or_who_is_not_listed(
    edition: Edition, now: datetime
) -> None:
    for name in list(VIEWERS)[:4]:
        assert not seen(sight(edition, "test", VIEWERS[name], now)) & {"reference", "unlisted"}
