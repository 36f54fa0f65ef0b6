"""How long a submission waited and took, by which worker, and its run time among others: told, and no more."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from test_submission_pages import scored

from conftest import snapshot
from isocenter.ranking import Board, BoardRow, Component
from isocenter.server.models import Challenge, Run
from isocenter.server.policy import Visit
from isocenter.server.submitting import times

HOST = "gpu-7.radiology.example.org 4711 2026-03-02T11:00:00Z"
BOARD = "as-run"


def ran(world, one, *, waited, took=None, **fields):
    """A run of a submission that waited and took so many seconds; without `took` it still goes on."""
    started = world.at.now + timedelta(seconds=waited)
    ended = {} if took is None else {"state": "done", "finished": started + timedelta(seconds=took)}
    given = {"state": "running", "attempt": 1, "worker": HOST} | ended | fields
    return Run.objects.create(
        kind="score", challenge=world.challenge, submission=one, queued=world.at.now, started=started, **given
    )


def page(world, who, one):
    return world.client(who).get(f"/c/neck/submissions/{one.pk}/").content.decode()


def facts(text):
    """What the page says of how it was measured, by its name."""
    found = re.findall(r"<dt>(\w+)</dt><dd[^>]*>(.*?)</dd>", text.partition("How it was measured")[2])
    return {name: re.sub(r"<[^>]+>", "", value).strip() for name, value in found}


def test_the_page_says_how_it_was_measured(world):
    one = scored(world, "Rigi", "validation")
    ran(world, one, waited=12.4, took=200, attempt=2)
    said = facts(page(world, "alice", one))
    assert said["Waited"] == "12 s"
    assert said["Took"] == "3 min 20 s"
    assert said["Attempts"] == "2 of at most 3; earlier ones were lost with their workers"
    assert said["Seed"].startswith("0, of 10000 bootstrap resamples of the cases. From it follow the 95 % intervals")
    assert {"Evaluator", "Reference", "Rules", "Measured"} <= said.keys()


def test_a_worker_has_a_label_that_tells_no_machine_but_to_organisers(world):
    one, other = scored(world, "Rigi", "validation"), scored(world, "Rigi", "validation")
    ran(world, one, waited=1, took=1)
    ran(world, other, waited=1, took=1, worker="gpu-8")
    mine = page(world, "alice", one)
    label = facts(mine)["Worker"]
    assert re.fullmatch("worker [0-9a-f]{4}", label)
    assert not any(word in mine for word in ("gpu-7", "radiology", "4711"))
    assert facts(page(world, "alice", other))["Worker"] != label
    assert facts(page(world, "organiser", one))["Worker"].split() == [*label.split(), *HOST.split()]
    elsewhere = Challenge.objects.create(slug="elsewhere", salt=b"another secret")
    assert times.worker_label(elsewhere, HOST) != label == times.worker_label(world.challenge, HOST)


def test_what_goes_on_has_waited_and_what_was_put_back_waits(world):
    one = world.submission("Rigi", "validation", state="running")
    run = ran(world, one, waited=7)
    said = facts(page(world, "alice", one))
    assert said["Waited"] == "7 s"
    assert "Took" not in said
    Run.objects.filter(pk=run.pk).update(state="queued", attempt=0)
    assert "Waited" not in facts(page(world, "alice", one))


def test_the_spans_of_a_teams_own_submissions_are_drawn_and_are_in_a_table(world):
    ones = [scored(world, "Rigi", "validation") for _ in range(3)]
    others = scored(world, "Pilatus", "validation")
    ran(world, ones[0], waited=999, took=999)
    world.at.move(hours=1)
    ran(world, ones[0], waited=5, took=10)  # evaluated again: the last run counts
    ran(world, ones[1], waited=130, took=61)
    ran(world, ones[2], waited=1, state="running")
    ran(world, others, waited=333, took=444)
    found = times.spans(Visit(world.people["alice"], world.challenge), ones[0])
    assert [(one.number, one.waited_words, one.took_words) for one in found] == [
        (1, "5 s", "10 s"),
        (2, "2 min 10 s", "61 s"),
    ]
    text = page(world, "alice", ones[2]).partition('id="spans"')[2]
    assert "<svg" in text
    assert '<th scope="row">No. 2</th><td class="number">2 min 10 s</td><td class="number">61 s</td>' in text
    assert "5 min 33 s" not in text
    assert 'id="spans"' not in page(world, "organiser", others), "one span is no figure"


def test_where_cases_are_hidden_spans_are_in_whole_minutes(world):
    world.at.move(days=31)
    ones = [world.submission("Rigi", "test", state="scored") for _ in range(2)]
    for one in ones:
        ran(world, one, waited=61.5, took=59.25)
    text = page(world, "alice", ones[0])
    assert (facts(text)["Waited"], facts(text)["Took"]) == ("at most 2 min", "at most 1 min")
    assert "Seed" not in facts(text)
    shown = text.partition('id="spans"')[2]
    assert "in whole minutes" in shown
    assert not re.search(r"\b(6[012]|59|120|121)\b(\.\d+)? ?(s|min)\b|1 min 1 s", shown)
    assert facts(page(world, "organiser", ones[0]))["Took"] == "59 s"


def metered(world, given, **entries):
    """The board of DoseRAD with these run times, by team; and which submission stands for a team."""
    version = world.challenge.version
    version.toml = version.toml.replace("hecktor2020", "doserad2026").replace('counts = "best"', 'counts = "last"')
    version.save()
    ones = {team: world.submission(team, phase, state="scored") for team, phase in entries.items()}
    for phase in set(entries.values()):
        rows = [
            BoardRow(team, 1.0 + at, 1.0 + at, "team", 3, 0, 0, components=(Component("run_time", value, None),))
            for at, (team, value) in enumerate(given.items())
        ]
        made = snapshot(world, phase, Board(BOARD, "mean_rank", "", tuple(rows)))
        made.entries = [{"team": team, "submission": str(one.pk), "row": team} for team, one in ones.items()]
        made.save()
    return ones


TIMES = {"Rigi": 0.42, "Pilatus": 0.31, "Säntis": 1.0}


def seen(world, who, one):
    found = times.run_times(Visit(world.people[who], world.challenge, world.at.now), one)
    return None if found is None else [(row.name, row.value, row.own, row.beyond) for row in found.rows]


def test_a_run_time_stands_among_those_of_the_board_with_the_limit(world):
    ones = metered(world, TIMES, Rigi="validation", Pilatus="validation")
    assert seen(world, "alice", ones["Rigi"]) == [
        ("Pilatus", 0.31, False, False),
        ("Rigi", 0.42, True, False),
        ("Säntis", 1.0, False, True),  # at the limit is excluded
    ]
    text = page(world, "alice", ones["Rigi"]).partition('id="run-time"')[2].partition("</section>")[0]
    assert "limit 1 s" in text
    assert re.search(r'Rigi <span[^>]*>this submission</span></th><td class="number">0.420<', text)
    assert re.search(r'Säntis <span[^>]*>beyond the limit</span></th><td class="number">1.000<', text)


def test_of_others_run_times_only_what_the_board_shows(world):
    ones = metered(world, TIMES, Rigi="final")
    world.at.move(days=72)  # the phase is open, and shows a team its own row
    assert seen(world, "alice", ones["Rigi"]) == [("Rigi", 0.42, True, False)]
    assert not re.search("0.310|Pilatus", page(world, "alice", ones["Rigi"]))
    assert len(seen(world, "organiser", ones["Rigi"])) == 3
    world.at.move(days=30)  # its results are out: the first is named, others have aliases
    names = [name for name, *_ in seen(world, "alice", ones["Rigi"])]
    assert names[1] == "Rigi"
    assert names[2].startswith("Team ")


@pytest.mark.parametrize(("setting", "phase"), [("decimals = 2\n", "validation"), ("", "test")])
def test_there_are_no_run_times_where_the_board_gives_no_details(world, setting, phase):
    ones = metered(world, TIMES, Rigi=phase)
    version = world.challenge.version
    version.toml = version.toml.replace('title = "Validation"\n', f'title = "Validation"\n{setting}')
    version.save()
    world.at.move(days=35 if phase == "test" else 0)
    assert seen(world, "alice", ones["Rigi"]) is None
    assert 'id="run-time"' not in page(world, "alice", ones["Rigi"])
    assert seen(world, "organiser", ones["Rigi"]) is not None


def test_a_submission_that_does_not_stand_on_the_board_has_no_run_time_there(world):
    metered(world, TIMES, Rigi="validation")
    assert seen(world, "alice", world.submission("Rigi", "validation", state="scored")) is None
