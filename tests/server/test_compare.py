"""Two submissions, case by case."""

from __future__ import annotations

import re

import pytest

from isocenter.server.models import Evaluation, Submission

A = {"CHUV001": 4, "CHUV002": 4, "CHUV003": 3}  # Dice 1, 1, 6/7
B = {"CHUV001": 2, "CHUV002": 3, "CHUV003": 4}  # Dice 2/3, 6/7, 1


def compared(world, name, a, b, **more):
    query = "&".join(f"{key}={value}" for key, value in more.items())
    return world.client(name).get(f"/c/neck/compare/?a={getattr(a, 'pk', a)}&b={getattr(b, 'pk', b)}&{query}")


def test_the_cases_in_which_the_first_is_far_ahead_come_first(world):
    a, b = world.scored("Rigi", "validation", A), world.scored("Rigi", "validation", B)
    page = compared(world, "bob", a, b).content.decode()
    table = page[page.index("All cases; on top") :]
    assert re.findall(r'<th scope="row">(\w+)</th>', table) == ["CHUV001", "CHUV002", "CHUV003"]
    for difference in ("+0.3333", "+0.1429", "−0.1429"):
        assert difference in table
    assert "2 cases the first, 1 the second, 0 neither" in page
    assert "+0.1111" in page  # the mean of the three
    assert "Wilcoxon signed-rank test of 3 pairs" in page
    assert "p = 0.586" in page  # W⁺ = 4.5 of 6 with a tie: two-sided, by the normal approximation
    assert "<svg" in page


def test_turned_round_the_differences_turn_round(world):
    a, b = world.scored("Rigi", "validation", A), world.scored("Rigi", "validation", B)
    page = compared(world, "alice", b, a).content.decode()
    assert "−0.3333" in page
    assert "1 case the first, 2 the second" in page


def test_equal_ones_do_not_differ(world):
    a, b = world.scored("Rigi", "validation", A), world.scored("Rigi", "validation", A)
    page = compared(world, "alice", a, b).content.decode()
    assert "0 cases the first, 0 the second, 3 neither" in page
    assert "p = 1" in page


def test_a_missing_case_counts_as_the_rules_say(world):
    a = world.scored("Rigi", "validation", A)
    b = world.scored("Rigi", "validation", {case: B[case] for case in ("CHUV001", "CHUV003")})
    page = compared(world, "alice", a, b).content.decode()
    assert "counts as the rules of the board say" in page
    assert "+0.3968" in page  # (1/3 + 1 - 1/7) / 3
    table = page[page.index("All cases; on top") :]
    rows = re.findall(r'<th scope="row">(\w+)</th>((?:<td class="number">[^<]*</td>)+)', table)
    numbers = {case: re.findall(r">([^<]*)<", cells) for case, cells in rows}
    shown = {case: [cell for cell in cells if cell] for case, cells in numbers.items()}
    assert list(shown) == ["CHUV002", "CHUV001", "CHUV003"]
    assert shown["CHUV002"] == ["1.0000", "0.0000*", "+1.0000"]  # what is shown is what the mean is of
    assert "this is what the rules of the board count instead" in table
    assert "2 cases the first, 1 the second, 0 neither" in page


def test_nothing_stands_in_where_all_was_measured(world):
    a, b = world.scored("Rigi", "validation", A), world.scored("Rigi", "validation", B)
    assert "count instead" not in compared(world, "alice", a, b).content.decode()


def test_organisers_compare_any_teams_and_teams_their_own(world):
    a, b = world.scored("Rigi", "validation", A), world.scored("Pilatus", "validation", B)
    page = compared(world, "organiser", a, b).content.decode()
    assert "Rigi no. 1" in page
    assert "Pilatus no. 1" in page
    for name in ("alice", "carol", "reader", "stranger"):
        assert compared(world, name, a, b).status_code == 404
        assert compared(world, name, b, a).status_code == 404
    chooser = world.client("alice").get("/c/neck/compare/").content.decode()
    assert str(b.pk) not in chooser


def test_a_hidden_phase_is_not_compared(world):
    world.at.move(days=31)
    a, b = world.scored("Rigi", "test", A), world.scored("Rigi", "test", B)
    response = compared(world, "alice", a, b)
    assert response.status_code == 403
    assert "0.1111" not in response.content.decode()
    assert str(a.pk) not in world.client("alice").get("/c/neck/compare/").content.decode()
    world.at.move(days=60)
    assert compared(world, "alice", a, b).status_code == 403
    assert compared(world, "organiser", a, b).status_code == 200


def test_what_cannot_be_compared_is_said(world):
    a = world.scored("Rigi", "validation", A)
    assert "one and the same" in compared(world, "alice", a, a).content.decode()
    world.at.move(days=80)
    other = world.scored("Rigi", "final", B)
    assert "two phases" in compared(world, "organiser", a, other).content.decode()
    bare = world.submission("Rigi", "validation")
    assert compared(world, "alice", a, bare).status_code == 403
    for key in ("nonsense", "%01", "00000000-0000-0000-0000-000000000000"):
        assert compared(world, "alice", a, key).status_code == 404
    assert "It takes two scored submissions" in world.client("carol").get("/c/neck/compare/").content.decode()


def test_it_is_said_when_two_were_not_measured_alike(world):
    a, b = world.scored("Rigi", "validation", A), world.scored("Rigi", "validation", B)
    assert "two versions of the evaluator" not in compared(world, "alice", a, b).content.decode()
    Evaluation.objects.filter(submission=b).update(evaluator="another")
    assert "two versions of the evaluator" in compared(world, "alice", a, b).content.decode()


@pytest.mark.parametrize("by", ["dice", "nothing", "%01", "<script>"])
def test_any_metric_may_be_asked_for(world, by):
    a, b = world.scored("Rigi", "validation", A), world.scored("Rigi", "validation", B)
    response = compared(world, "alice", a, b, by=by)
    assert response.status_code == 200
    assert "Dice similarity" in response.content.decode()
    assert Submission.objects.count() == 2
