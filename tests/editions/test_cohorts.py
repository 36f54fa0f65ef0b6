"""Further cohorts of a phase: how they are written, what is refused with its line, and who sees them when."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from isocenter.editions import EditionError, Sight, Viewer, parse, phase_of, render, sight, split_cohort

TOML = """\
challenge = "hecktor2020"
title = "Neck"
[policies]
announce = 2
[[phases]]
name = "test"
title = "Test"
opens = 2026-04-01T00:00:00Z
closes = 2026-05-01T00:00:00Z
results = 2026-05-10T00:00:00Z
counts = "best"
visibility = "own"
[[phases.cohorts]]
name = "holdout"
title = "Holdout"
[[phases.cohorts]]
name = "external"
title = "Other hospitals"
visibility = "own"
results = 2026-07-01T00:00:00Z
cases = 20
[[phases]]
name = "later"
title = "Later"
opens = 2026-08-01T00:00:00Z
closes = 2027-05-01T00:00:00Z
results = 2027-05-10T00:00:00Z
"""
APRIL, MAY, JULY = (datetime(2026, month, 15, tzinfo=UTC) for month in (4, 5, 7))
TEAM = Viewer("participant", team="Rigi")


def problems(text: str) -> list[str]:
    with pytest.raises(EditionError) as error:
        parse(text)
    return [f"{one.line} {one.where}: {one.message}" for one in error.value.problems]


def test_cohorts_stand_below_their_phase_and_come_back_from_a_file():
    edition = parse(TOML)
    assert [phase.name for phase in edition.scored] == ["test", "test.holdout", "test.external", "later"]
    assert parse(render(edition)) == edition
    holdout, external = edition.phases[0].scored[1:]
    assert (holdout.title, holdout.visibility, holdout.results) == (
        "Test, Holdout",
        "hidden",
        edition.phases[0].results,
    )
    assert (external.visibility, external.cases, external.results) == ("own", 20, datetime(2026, 7, 1, tzinfo=UTC))
    assert (external.counts, external.opens) == ("best", edition.phases[0].opens)


def test_a_phase_is_found_with_its_cohort():
    edition = parse(TOML)
    assert phase_of(edition, "test.holdout").title == "Test, Holdout"
    assert edition.find_scored("later.holdout") is None
    assert split_cohort("test.holdout") == ("test", "holdout")
    with pytest.raises(EditionError, match="there is no phase"):
        phase_of(edition, "test.none")


def test_all_that_is_wrong_is_told_with_its_line():
    wrong = TOML.replace('"external"', '"holdout"').replace("2026-07-01", "2026-05-09")
    wrong = wrong.replace('visibility = "own"\nresults = 2026-05-09', 'visibility = "public"\nresults = 2026-05-09')
    assert problems(wrong) == [
        '17 phases[1].cohorts[2].name: "holdout" is already the name of cohort 1; write another',
        '19 phases[1].cohorts[2].visibility: "public" shows more than the board of the phase ("own"), and so which '
        "submission is the best there; write what the phase has, or less",
        "20 phases[1].cohorts[2].results: 2026-05-09T00:00:00+00:00 is before the results of the phase are out "
        "(2026-05-10T00:00:00+00:00); write this moment or a later one",
    ]
    assert problems(TOML.replace("cases = 20", "cases = 0")) == [
        "21 phases[1].cohorts[2].cases: 0 is not allowed; write a whole number, 1 or more"
    ]
    long = TOML.replace('"external"', f'"{"x" * 60}"')
    assert "has more than 60 characters" in problems(long)[0]


def test_a_visible_part_of_a_hidden_test_set_needs_a_rule_that_it_does_not_tell_of():
    """Teams choose, and see how they do on the visible part; the hidden part decides."""
    text = TOML.replace('visibility = "own"\n[[', 'visibility = "hidden"\n[[').replace('"best"', '"chosen"')
    assert parse(text).find_scored("test.external").visibility == "own"
    assert "shows more than the board" in problems(text.replace('"chosen"', '"best"'))[0]


def test_a_phase_that_continues_another_has_no_cohort_of_its_own():
    later = f'{TOML}continues = "test"\n[[phases.cohorts]]\nname = "external"\ntitle = "Other hospitals"\n'
    assert parse(later).find_scored("later.external").continues == "test.external"
    assert (
        "has no cohort" in problems(f'{TOML}continues = "test"\n[[phases.cohorts]]\nname = "new"\ntitle = "New"\n')[0]
    )
    early = later.replace("2026-07-01", "2026-09-01")
    assert "before the results of that are out" in problems(early)[0]


@pytest.mark.parametrize(
    ("moment", "holdout", "external"),
    [
        (APRIL, (False, False), (True, False)),
        (MAY, (True, True), (True, False)),
        (JULY, (True, True), (True, True)),
    ],
)
def test_each_cohort_is_seen_at_its_own_moment(moment, holdout, external):
    """The team's own score, and the board."""
    edition = parse(TOML)
    for name, expected in (("test.holdout", holdout), ("test.external", external)):
        seen = sight(edition, name, TEAM, moment)
        assert (seen.own_scores, seen.other_scores) == expected
        assert sight(edition, name, Viewer("anonymous"), moment).other_scores == expected[1]
        assert sight(edition, name, Viewer("organiser"), moment).other_scores


def test_a_hidden_cohort_shows_no_cases_ever_and_names_as_many_as_are_announced():
    seen = sight(parse(TOML), "test.holdout", TEAM, JULY)
    assert not seen.own_cases
    assert seen.first == 2
    assert sight(parse(TOML), "test.external", TEAM, JULY).own_cases
    assert sight(parse(TOML), "test.none", TEAM, JULY) == Sight()
