"""Bonuses that are won on the way: who led at a moment, from the log of submissions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import isocenter
from isocenter.contest import Contest, Entry, find_bonus_leaders, find_leaders
from isocenter.editions import Edition, EditionError, awards, new
from isocenter.editions._problems import check
from isocenter.evaluation import Challenge, load_challenge
from isocenter.ranking import Participation
from isocenter.scores import Row, frame

START = datetime(2017, 2, 7, tzinfo=UTC)
WEEK = timedelta(days=7)


def lung(**rules: Any) -> Challenge:
    rules = {"quota": None, "counts": "best"} | rules
    return replace(isocenter.challenge("lung2019"), participation=Participation(**rules))


def entry(team: str, score: float | None, day: float | None, **more: Any) -> Entry:
    metrics = ("s_score", "dice", "jaccard", "precision", "recall")
    rows = [Row(case, "", metric, score) for case in ("p1", "p2") for metric in metrics]
    rows += [Row(case, "", "missing", 1.0) for case in ("p1", "p2") if score is None]
    moment = None if day is None else START + timedelta(days=day)
    return Entry(team=team, table=frame(rows), moment=moment, **more)


def leaders(*entries: Entry, days: float = 7, challenge: Challenge | None = None, **more: Any) -> tuple[str, ...]:
    return find_leaders(Contest(challenge or lung(), entries), START + timedelta(days=days), **more)


def test_the_lead_is_that_of_all_submissions_before_the_moment() -> None:
    log = [entry("early", 0.4, 1), entry("middle", 0.5, 6.9), entry("late", 0.9, 8)]
    assert leaders(*log, days=2) == ("early",)
    assert leaders(*log, days=7) == ("middle",)
    assert leaders(*log, days=14) == ("late",)


def test_a_submission_at_the_very_moment_is_too_late() -> None:
    log = [entry("before", 0.4, 1), entry("sharp", 0.9, 7)]
    assert leaders(*log) == ("before",)
    assert leaders(*log, days=7 + 1e-6) == ("sharp",)


def test_a_moment_before_all_submissions_has_no_leader() -> None:
    assert leaders(entry("a", 0.4, 3), days=1) == ()


def test_organisers_benchmarks_and_void_submissions_never_lead() -> None:
    log = [
        entry("hosts", 0.9, 1, role="organiser"),
        entry("expert", 0.95, 1, role="benchmark"),
        entry("cheat", 0.8, 1, void=True),
        entry("honest", 0.3, 2),
    ]
    for organisers in ("unlisted", "unranked", "ranked"):
        assert leaders(*log, challenge=lung(organisers=organisers)) == ("honest",)


def test_a_void_submission_leaves_the_lead_of_the_others_of_its_team() -> None:
    log = [entry("a", 0.5, 1), entry("a", 0.9, 2, void=True), entry("b", 0.6, 2)]
    assert leaders(*log) == ("b",)


def test_of_teams_that_share_the_lead_the_one_that_reached_its_score_first_leads() -> None:
    log = [entry("slow", 0.6, 1), entry("fast", 0.7, 2), entry("slow", 0.7, 3), entry("fast", 0.7, 5)]
    # On the board, of equally good submissions the later one counts; the lead of fast is as old as its first.
    assert leaders(*log) == ("fast",)
    assert set(leaders(*log, ties="split")) == {"slow", "fast"}


def test_a_void_submission_of_the_same_score_does_not_make_a_lead_older() -> None:
    log = [entry("a", 0.7, 1, void=True), entry("b", 0.7, 2), entry("a", 0.7, 3)]
    assert leaders(*log) == ("b",)
    assert set(leaders(*log, ties="split")) == {"a", "b"}


def test_teams_that_reached_the_same_score_at_the_same_instant_share_the_lead() -> None:
    assert set(leaders(entry("a", 0.7, 2), entry("b", 0.7, 2), entry("c", 0.1, 1))) == {"a", "b"}


def test_where_the_last_submission_counts_the_lead_is_that_of_the_last_one() -> None:
    log = [entry("a", 0.9, 1), entry("a", 0.2, 3), entry("b", 0.5, 2)]
    assert leaders(*log, challenge=lung(counts="last")) == ("b",)


def test_a_submission_without_a_time_is_named() -> None:
    with pytest.raises(ValueError, match="submissions of b have no time"):
        leaders(entry("a", 0.9, 1), entry("b", 0.9, None))
    assert leaders(entry("a", 0.9, 1), entry("expert", 0.9, None, role="benchmark")) == ("a",)


def test_the_lead_equals_that_of_a_plain_replay_of_the_log() -> None:
    """Oracle: walk through the log in time, keep the best score of every team and who had the highest first."""
    rng = np.random.default_rng(19)
    for _ in range(25):
        log = [
            (f"t{rng.integers(5)}", int(rng.integers(1, 8)) / 10, float(day)) for day in np.sort(rng.random(20) * 20)
        ]
        best: dict[str, tuple[float, float]] = {}
        for team, score, day in log:
            if day < 12 and score > best.get(team, (-1.0, 0.0))[0]:
                best[team] = (score, day)
        expected = min(best, key=lambda team: (-best[team][0], best[team][1]))
        assert leaders(*(entry(*one) for one in log), days=12) == (expected,)


def test_the_bonuses_of_the_lung_contest_go_to_the_leaders_after_one_week_and_two() -> None:
    edition = new(load_challenge("lung2019"))
    contest = Contest(lung(), [entry("a", 0.4, 2), entry("b", 0.5, 9), entry("c", 0.6, 20)])
    lead = find_bonus_leaders(edition, contest, phase="phase-1")
    assert lead == {"Best solution after the first week": ("a",), "Best solution after the second week": ("b",)}
    won = awards(edition, contest.decide(resamples=0).board, phase="phase-1", leaders=lead)
    bonuses = [(award.submission, award.amount) for award in won if award.title in lead]
    assert sorted(bonuses) == [("a", Decimal(1500)), ("b", Decimal(1500))]
    assert sum(award.amount for award in won) == 10_000 + 7_000 + 5_000 + 3_000
    # Who leads at a moment that is still to come is not known.
    assert list(find_bonus_leaders(edition, contest, phase="phase-1", by=START + WEEK)) == list(lead)[:1]
    assert find_bonus_leaders(edition, contest, phase="phase-2") == {}


def an_edition(**bonus: Any) -> Edition:
    phase = {"name": "test", "title": "Test", "opens": START, "closes": START + 3 * WEEK, "results": START + 3 * WEEK}
    bonus = {"title": "Week", "amount": 100, "currency": "USD", "to": "leader", "at": START + WEEK} | bonus
    data = {"challenge": "lung2019", "title": "Lung", "phases": [phase], "bonuses": [bonus]}
    return check(data, line_of=lambda _: 1, name="challenge.toml")


def test_teams_that_share_a_lead_share_its_bonus_and_no_more_is_paid_than_there_is() -> None:
    board = Contest(lung(), [entry(team, 0.5, 1) for team in "abc"]).decide(resamples=0).board
    won = awards(an_edition(), board, leaders={"Week": ("a", "b", "c")})
    assert [(award.submission, award.title, award.amount) for award in won] == [
        (team, "Week, shared", Decimal("33.33")) for team in "abc"
    ]
    assert awards(an_edition(), board) == []


def test_a_lead_of_who_does_not_compete_is_an_error() -> None:
    log = [entry("hosts", 0.9, 1, role="organiser"), entry("a", 0.5, 1)]
    board = Contest(lung(), log).decide(resamples=0).board
    for team in ("hosts", "nobody"):
        with pytest.raises(ValueError, match="cannot win a bonus"):
            awards(an_edition(), board, leaders={"Week": (team,)})
    with pytest.raises(ValueError, match="no bonus 'Month'"):
        awards(an_edition(), board, leaders={"Month": ("a",)})


@pytest.mark.parametrize(
    ("bonus", "message"),
    [
        ({"at": None}, "at"),
        ({"to": "named"}, 'write to = "leader"'),
        ({"at": START - WEEK}, "write a moment in between"),
        ({"at": START}, "write a moment in between"),
        ({"at": START + 4 * WEEK}, "write a moment in between"),
        ({"ties": "toss"}, "split"),
    ],
)
def test_a_bonus_for_a_leader_has_a_moment_within_its_phase(bonus: dict[str, Any], message: str) -> None:
    given = {key: value for key, value in bonus.items() if value is not None}
    with pytest.raises(EditionError) as error:
        an_edition(**given) if given else check(
            an_edition().model_dump(mode="json", exclude={"bonuses": {0: {"at"}}}), line_of=lambda _: 1, name="x"
        )
    assert message in str(error.value)
    assert an_edition(at=START + 3 * WEEK).bonuses[0].at == START + 3 * WEEK
