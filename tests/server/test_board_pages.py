"""Boards on the site: who sees what of them, in pages, files, headers and tags."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from board_worlds import made, team
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import CASES, T0, TOML, World, snapshot
from isocenter.editions import alias
from isocenter.metrics import catalogue
from isocenter.ranking import Board, BoardRow, Component, MeanThenRank, WeightedRanks, WorstPossible
from isocenter.server.boards.board_files import harmless
from isocenter.server.boards.board_table import Digits, groups_in_words
from isocenter.server.boards.plots import axis_of, whisker
from isocenter.server.boards.what_if import reweighted, weights_of
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, CodeLink, Snapshot, Submission, Version
from isocenter.server.work import making

APRIL = datetime(2026, 4, 10, 12, tzinfo=UTC)  # the test phase is open, and hidden
MAY = datetime(2026, 5, 20, 12, tzinfo=UTC)  # its results are out; the final is open, teams see their own row
JUNE = datetime(2026, 6, 10, 12, tzinfo=UTC)  # all is out
OUTSIDERS = ("", "stranger", "waiting", "reader", "alice", "carol")
FILES = ("", "board.csv", "board.json", "receipt.json")


def addresses(phase: str) -> list[str]:
    of_board = [f"/c/neck/boards/{phase}/dice/{name}" for name in FILES]
    return ["/c/neck/boards/", f"/c/neck/progress/{phase}/", *of_board]


def answer(world: World, who: str, address: str) -> tuple[int, bytes, dict[str, str]]:
    """All that somebody learns from an address; only what is random in every answer is left out."""
    found = world.client(who).get(address)
    content = re.sub(rb'name="csrfmiddlewaretoken" value="\w+"', b"", found.getvalue())
    return found.status_code, content, {name: text for name, text in found.headers.items() if name != "Set-Cookie"}


def get(world: World, who: str, address: str) -> str:
    found = world.client(who).get(address)
    assert found.status_code == 200, (who, address, found.status_code)
    return found.getvalue().decode()


def board(*rows: tuple[str, float], role: str = "team", unlisted: tuple[BoardRow, ...] = ()) -> Board:
    placed = [
        BoardRow(name, score, float(place), role, 3, 0, 0, low=score - 0.05, high=score + 0.05, rank_low=1, rank_high=2)
        for place, (name, score) in enumerate(sorted(rows, key=lambda one: -one[1]), start=1)
    ]
    return Board("dice", "dice", "mean dice", tuple(placed), unlisted)


# --- nothing hidden gets out -----------------------------------------------------------------------------------------


hidden_boards = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["Rigi", "Pilatus", "Säntis", "Titlis"]), st.floats(0.1, 0.9)),
        unique_by=lambda row: row[0],
        max_size=4,
    ),
    max_size=3,
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(results=hidden_boards)
def test_two_worlds_that_differ_in_hidden_results_look_the_same(world, results):
    world.at.now = APRIL
    for name in ("Säntis", "Titlis"):
        if name not in world.teams:
            team(world, name)
    viewers = ("", "reader", "alice")
    before = {(who, url): answer(world, who, url) for who in viewers for url in addresses("test")}
    with transaction.atomic():
        for rows in results:
            for name, _ in rows:
                world.submission(name, "test", state=Submission.State.SCORED)
            world.at.move(hours=1)
            snapshot(world, "test", board(*rows))
        world.at.now = APRIL
        after = {key: answer(world, *key) for key in before}
        transaction.set_rollback(True)
    assert after == before


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(others=st.lists(st.floats(0.1, 0.9), max_size=3))
def test_where_teams_see_their_own_row_the_results_of_others_change_nothing(world, others):
    world.at.now = MAY
    with transaction.atomic():
        snapshot(world, "final", board(("Rigi", 0.5)))
        before = {url: answer(world, "alice", url) for url in addresses("final")}
        for number in range(len(others)):
            world.at.move(hours=1)
            snapshot(
                world, "final", board(("Rigi", 0.5), *((f"other {n}", s) for n, s in enumerate(others[: number + 1])))
            )
        world.at.now = MAY
        after = {url: answer(world, "alice", url) for url in addresses("final")}
        transaction.set_rollback(True)
    assert "0.5000" in before["/c/neck/boards/final/dice/"][1].decode()
    assert after == before


def test_a_team_that_no_board_lists_leaves_no_trace_on_a_public_one(world):
    team(world, "Hosts", "organiser")
    snapshot(world, "validation", board(("Rigi", 0.5), ("Pilatus", 0.6)))
    world.at.move(days=1)
    urls = addresses("validation")
    before = {(who, url): answer(world, who, url) for who in OUTSIDERS for url in urls}
    hidden = BoardRow("Hosts", 0.95, None, "organiser", 3, 0, 0)
    kept = world.at.now
    world.at.now = T0 + timedelta(hours=5)
    world.submission("Hosts", "validation", state=Submission.State.SCORED)
    made_later = snapshot(world, "validation", board(("Rigi", 0.5), ("Pilatus", 0.6), unlisted=(hidden,)))
    Snapshot.objects.filter(pk=made_later.pk).update(digest="f" * 64)
    world.at.now = kept
    assert {key: answer(world, *key) for key in before} == before
    assert world.client("alice").get(f"/c/neck/boards/at/{'f' * 64}/").status_code == 404
    assert "Hosts" in get(world, "organiser", f"/c/neck/boards/at/{'f' * 64}/")


@pytest.mark.parametrize("who", OUTSIDERS)
def test_a_hidden_phase_says_from_when_on_and_nothing_else(world, who):
    world.at.now = APRIL
    world.scored("Pilatus", "test", 3)
    made(world, "test")
    page = get(world, who, "/c/neck/boards/test/dice/")
    assert "Nobody sees results of this phase before" in page
    assert "10 May 2026" in page
    assert "1 submission" not in get(world, who, "/c/neck/boards/")
    for name in ("board.csv", "board.json", "receipt.json"):
        refused = world.client(who).get(f"/c/neck/boards/test/dice/{name}")
        assert refused.status_code == 403
        assert b"10 May 2026" in refused.content
    assert "nothing to see yet" in get(world, who, "/c/neck/progress/test/")


@pytest.mark.parametrize("who", ["organiser", "staff"])
def test_organisers_see_a_hidden_board_and_are_told_that_others_do_not(world, who):
    world.at.now = APRIL
    world.scored("Pilatus", "test", 3)
    made(world, "test")
    page = get(world, who, "/c/neck/boards/test/dice/")
    assert "Pilatus" in page
    assert "Everybody else sees the board from" in page
    assert json.loads(get(world, who, "/c/neck/boards/test/dice/receipt.json"))["board_name"] == "dice"


@pytest.mark.parametrize("who", OUTSIDERS)
def test_a_phase_that_is_not_announced_is_not_there(world, who):
    made(world, "final")
    for url in addresses("final")[1:]:
        assert world.client(who).get(url).status_code == 404
    assert "Final" not in get(world, who, "/c/neck/boards/")


def test_there_is_no_board_of_another_name(world):
    for url in (
        "/c/neck/boards/validation/jaccard/",
        "/c/neck/boards/validation/jaccard/board.csv",
        "/c/neck/boards/at/x/",
    ):
        assert world.client("organiser").get(url).status_code == 404


def test_only_the_first_and_who_consents_are_named_everywhere(world):
    team(world, "Säntis", consents=True)
    world.at.now = APRIL
    world.scored("Pilatus", "test", 4)
    world.scored("Säntis", "test", dict(zip(CASES, (4, 4, 3), strict=True)))
    world.scored("Rigi", "test", 3)
    made(world, "test")
    world.at.now = MAY
    other = alias("Rigi", b"a secret of the edition")
    for url in addresses("test")[:-1]:
        seen = get(world, "carol", url)
        assert "Rigi" not in seen
        if url.startswith("/c/neck/boards/test"):
            assert {"Pilatus", "Säntis", other} <= set(re.findall(r"Pilatus|Säntis|Team \w{6}", seen))
        own = get(world, "alice", url)
        assert other not in own
    assert "Rigi" in get(world, "alice", "/c/neck/boards/test/dice/")


def test_a_phase_that_announces_all_names_all_and_another_only_so_many(world):
    hidden = 'visibility = "hidden"'
    Version.objects.filter(challenge=world.challenge).update(toml=TOML.replace(hidden, f'{hidden}\nannounce = "all"'))
    world.challenge = Challenge.objects.get(pk=world.challenge.pk)
    world.at.now = APRIL
    world.scored("Pilatus", "test", 4)
    world.scored("Rigi", "test", 3)
    made(world, "test")
    world.at.now = MAY
    assert {"Rigi", "Pilatus"} <= set(re.findall(r"Rigi|Pilatus", get(world, "stranger", "/c/neck/boards/test/dice/")))
    page = get(world, "alice", "/c/neck/team/")
    assert "Only the first of a board is announced by name (Final)." in page
    phases = {one["name"]: one for one in json.loads(get(world, "stranger", "/api/v1/challenges/neck/phases"))}
    assert [phases[name]["announce"] for name in ("validation", "test", "final")] == [None, None, 1]


def test_who_led_while_nobody_saw_it_is_not_named_by_the_history(world):
    world.at.now = APRIL
    first = snapshot(world, "test", board(("Rigi", 0.6)))
    world.at.move(days=2)
    last = snapshot(world, "test", board(("Rigi", 0.6), ("Pilatus", 0.7)))
    for number, one in enumerate((first, last), start=1):
        Snapshot.objects.filter(pk=one.pk).update(digest=f"{number}" * 64)
        one.refresh_from_db()
    world.at.now = MAY
    page = get(world, "carol", "/c/neck/boards/test/dice/")
    assert "The board at another date" not in page
    for digest in (first.face, first.digest, last.digest):
        assert world.client("carol").get(f"/c/neck/boards/at/{digest}/").status_code == 404
    assert "Rigi" not in get(world, "carol", f"/c/neck/boards/at/{last.face}/")
    assert "Rigi" in get(world, "organiser", f"/c/neck/boards/at/{first.digest}/")


def test_equal_boards_of_two_phases_have_two_permanent_addresses(world):
    faces = {snapshot(world, phase, board(("Rigi", 0.6))).face for phase in ("validation", "test")}
    assert len(faces) == 2
    world.at.now = MAY
    for phase in ("validation", "test"):
        face = Snapshot.objects.get(phase=phase).face
        assert f"/c/neck/boards/{phase}/dice/" in get(world, "organiser", f"/c/neck/boards/at/{face}/")


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_a_live_board_shows_rank_set_interval_group_and_the_own_row(world):
    world.scored("Rigi", "validation", dict(zip(CASES, (4, 5, 3), strict=True)))
    world.scored("Pilatus", "validation", dict(zip(CASES, (4, 4, 3), strict=True)))
    found = made(world, "validation")
    page = get(world, "alice", "/c/neck/boards/validation/dice/")
    assert "0.9524" in page
    assert "0.9153" in page
    assert "1–2 cannot be told apart (group A)" in page
    assert page.index("Pilatus") < page.index('<tr class="own">') < page.index("Rigi")
    assert "dot-whisker" in page
    assert found.face[:12] in page
    assert f"/c/neck/submissions/{Submission.objects.get(team__name='Rigi').pk}/" in page
    assert f"/c/neck/submissions/{Submission.objects.get(team__name='Pilatus').pk}/" not in page
    assert '<tr class="own">' not in get(world, "", "/c/neck/boards/validation/dice/")


def test_columns_can_be_chosen_without_a_script(world):
    snapshot(world, "validation", board(("Rigi", 0.5), ("Pilatus", 0.6)))
    usual = get(world, "", "/c/neck/boards/validation/dice/")
    none = get(world, "", "/c/neck/boards/validation/dice/?columns=")
    other = get(world, "", "/c/neck/boards/validation/dice/?columns=&columns=cases&columns=rank_set")
    both = get(world, "", "/c/neck/boards/validation/dice/?columns=cases,rank_set")

    def headings(page: str) -> list[str]:
        return re.findall(r'<th scope="col"[^>]*title="[^"]*">([^<]+)</th>', page)

    assert headings(usual) == ["Rank set"]
    assert headings(none) == []
    assert headings(other) == headings(both) == ["Rank set", "Cases"]


def test_badges_say_who_stands_beside_and_where_code_is(world):
    team(world, "Ensemble", "benchmark")
    world.scored("Rigi", "validation", 3)
    world.scored("Pilatus", "validation", 4)
    world.scored("Ensemble", "validation", dict(zip(CASES, (4, 4, 3), strict=True)))
    made(world, "validation")
    link = CodeLink.objects.create(team=world.teams["Rigi"], phase="validation", url="https://example.org/rigi")
    page = get(world, "carol", "/c/neck/boards/validation/dice/")
    assert ">benchmark</span>" in page
    assert "example.org/rigi" not in page
    assert page.index("Pilatus") < page.index("Ensemble") < page.index("Rigi")
    link.released, link.released_to = T0, "final"
    link.save()
    assert "example.org/rigi" not in get(world, "carol", "/c/neck/boards/validation/dice/")
    link.released_to = ""
    link.save()
    assert "example.org/rigi" in get(world, "", "/c/neck/boards/validation/dice/")


def test_that_a_survey_is_missing_is_told_to_its_team_and_the_organisers(world):
    world.challenge.version.toml += '\n[[survey]]\nname = "method"\nlabel = "Method"\nkind = "text"\nrequired = true\n'
    world.challenge.version.save()
    world.at.now = MAY
    snapshot(world, "final", board(("Rigi", 0.5), ("Pilatus", 0.6)))
    found = Snapshot.objects.get()
    found.entries = [{"team": name, "row": name, "submission": None} for name in ("Rigi", "Pilatus")]
    found.save()
    world.at.now = JUNE
    count = {
        who: get(world, who, "/c/neck/boards/final/dice/").count(">survey missing<")
        for who in ("", "carol", "organiser")
    }
    assert count == {"": 0, "carol": 1, "organiser": 2}


def test_scores_have_no_more_digits_than_the_phase_gives_away(world):
    world.challenge.version.toml = world.challenge.version.toml.replace(
        'counts = "best"', 'counts = "best"\ndecimals = 2'
    )
    world.challenge.version.save()
    row = BoardRow("Rigi", 0.87654321, 1.0, "team", 3, 0, 0, low=0.81234567, high=0.91234567, p_first=0.123456)
    snapshot(world, "validation", Board("dice", "dice", "mean dice", (row,)))
    for url in (*addresses("validation")[:5], "/c/neck/boards/validation/dice/?columns=p_first"):
        seen = re.sub(r"isocenter \S+|[0-9a-f]{12,}", "", get(world, "carol", url))
        assert not re.search(r"0\.\d{3}", seen), url
    assert "0.88" in get(world, "carol", "/c/neck/boards/validation/dice/board.csv")
    assert "0.8765" in get(world, "organiser", "/c/neck/boards/validation/dice/board.json")
    assert "0.87654" not in get(world, "organiser", "/c/neck/boards/validation/dice/board.json")


def test_a_board_says_in_a_sentence_what_its_shares_are(world):
    row = BoardRow("Rigi", 0.8765, 1.0, "team", 3, 0, 0, low=0.81, high=0.91, p_first=0.98, p_best=0.67)
    snapshot(world, "validation", Board("dice", "dice", "mean dice", (row,)))
    sentences = (
        "<li>P(first) is the share of the bootstrap resamples",
        "<li>P(best) is the probability of being truly",
    )
    page = get(world, "carol", "/c/neck/boards/validation/dice/")
    assert [page.count(sentence) for sentence in sentences] == [1, 1]
    without = get(world, "carol", "/c/neck/boards/validation/dice/?columns=p_best")
    assert [without.count(sentence) for sentence in sentences] == [0, 1]


@pytest.mark.parametrize("more", ["", "ladder = 0.001\n"])
def test_nor_does_the_submission_that_a_row_opens_tell_more_digits(world, more):
    world.challenge.version.toml = world.challenge.version.toml.replace(
        'counts = "best"', f'counts = "best"\n{more}decimals = 1'
    )
    world.challenge.version.save()
    opened = []
    for sizes in ((3, 5), (5, 3)):  # 0.857 and 0.889 are both shown as 0.9: better, and worse, look the same
        Submission.objects.all().delete()
        Snapshot.objects.all().delete()
        for size in sizes:
            last = world.scored("Rigi", "validation", size)
            world.at.move(hours=1)
            making.make_boards(world.challenge, "validation")
        page = get(world, "alice", "/c/neck/boards/validation/dice/")
        assert ">0.9<" in page
        opened.append((str(last.pk) in page, page.count("/submissions/")))
    assert opened[0] == opened[1]
    assert opened[0][0] is not bool(more)


def test_files_are_what_the_page_shows(world):
    snapshot(world, "validation", board(("Rigi", 0.5), ("Pilatus", 0.6)))
    rows = list(csv.DictReader(io.StringIO(get(world, "", "/c/neck/boards/validation/dice/board.csv"))))
    assert [(row["rank"], row["team"], row["score"], row["rank_high"]) for row in rows] == [
        ("1", "Pilatus", "0.6", "2"),
        ("2", "Rigi", "0.5", "2"),
    ]
    content = json.loads(get(world, "", "/c/neck/boards/validation/dice/board.json"))
    assert content["version"] == Snapshot.objects.get().face
    assert content["made"] == "2026-03-02T12:00:00+00:00"
    assert [row["team"] for row in content["rows"]] == ["Pilatus", "Rigi"]
    assert content["complete"]


def test_a_spreadsheet_runs_no_name(world):
    snapshot(world, "validation", board(("=cmd|' /C calc'!A0", 0.5)))
    assert ",'=cmd|' /C calc'!A0," in get(world, "", "/c/neck/boards/validation/dice/board.csv")
    assert harmless("@x") == "'@x"
    assert harmless("Rigi") == "Rigi"
    assert harmless(-0.5) == -0.5


def test_a_name_that_is_markup_is_a_name(world):
    snapshot(world, "validation", board(("<script>alert(1)</script>", 0.5)))
    page = get(world, "", "/c/neck/boards/validation/dice/")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_what_has_not_changed_is_not_sent_again(world):
    snapshot(world, "validation", board(("Rigi", 0.5)))
    for url in (*addresses("validation")[:5], "/c/neck/boards/test/dice/"):
        first = world.client().get(url)
        again = world.client().get(url, headers={"if-none-match": first.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b""), url
    tag = world.client().get("/c/neck/boards/validation/dice/").headers["ETag"]
    world.at.move(hours=1)
    snapshot(world, "validation", board(("Rigi", 0.6)))
    assert world.client().get("/c/neck/boards/validation/dice/", headers={"if-none-match": tag}).status_code == 200
    assert "ETag" not in world.client("alice").get("/c/neck/boards/validation/dice/").headers


def test_the_board_as_it_was(world):
    for score in (0.5, 0.6):
        snapshot(world, "validation", board(("Rigi", score)))
        world.at.move(days=1)
    old, new = Snapshot.objects.order_by("made")
    page = get(world, "", "/c/neck/boards/validation/dice/")
    assert page.count("<option") == 2
    assert "0.6000" in page
    moved = world.client().get(f"/c/neck/boards/validation/dice/?at={old.face}")
    assert moved.status_code == 302
    assert moved["Location"] == f"/c/neck/boards/at/{old.face}/"
    past = get(world, "", moved["Location"])
    assert "0.5000" in past
    assert "The board in force" in past
    assert "0.5," in get(world, "", f"/c/neck/boards/validation/dice/board.csv?at={old.face}")
    assert "permanent address of the board in force" in get(world, "", f"/c/neck/boards/at/{new.face}/")
    assert world.client().get(f"/c/neck/boards/test/dice/board.csv?at={old.face}").status_code == 403


def test_of_very_many_boards_the_list_has_the_last_of_every_day(world):
    for number in range(70):
        snapshot(world, "validation", board(("Rigi", number / 100)))
        world.at.move(hours=6)
    page = get(world, "", "/c/neck/boards/validation/dice/")
    assert 17 <= page.count("<option") <= 19


def test_a_board_that_could_not_be_made_is_told_to_organisers(world):
    snapshot(world, "validation", board(("Rigi", 0.5)))
    world.at.move(hours=1)
    broken = snapshot(world, "validation", Board("dice", "dice", "mean dice", ()))
    Snapshot.objects.filter(pk=broken.pk).update(problem="Pilatus chose none")
    assert "Pilatus chose none" in get(world, "organiser", "/c/neck/boards/validation/dice/")
    seen = get(world, "carol", "/c/neck/boards/validation/dice/")
    assert "Pilatus" not in seen
    assert "0.5000" in seen


def test_an_empty_board_says_what_to_do(world):
    assert "/c/neck/submit/validation/" in get(world, "alice", "/c/neck/boards/validation/dice/")
    assert "nobody has a scored submission" in get(world, "", "/c/neck/boards/validation/dice/")


def test_a_board_that_is_being_made_says_so_to_whom_it_is_for(world):
    for phase in ("validation", "test"):
        making.refresh(world.challenge, phase)
    assert "is being made" in get(world, "", "/c/neck/boards/validation/dice/")
    world.at.move(days=40)
    assert "is being made" in get(world, "organiser", "/c/neck/boards/test/dice/")
    for name in ("", "alice"):
        assert "is being made" not in get(world, name, "/c/neck/boards/test/dice/")


# --- receipts --------------------------------------------------------------------------------------------------------


def test_a_receipt_is_for_everybody_when_it_tells_nothing_new(world):
    world.scored("Rigi", "validation", 3)
    world.scored("Pilatus", "validation", 4)
    found = made(world, "validation")
    url = "/c/neck/boards/validation/dice/receipt.json"
    assert world.client("alice").get(url).status_code == 403  # the board is live: digits could be fished for
    world.at.now = APRIL
    assert json.loads(get(world, "", url)) == found.receipt


@pytest.mark.parametrize("kind", ["organiser", "void"])
def test_a_receipt_that_names_who_is_not_listed_is_for_organisers(world, kind):
    world.scored("Rigi", "validation", 3)
    team(world, "Hosts", "organiser")
    if kind == "organiser":
        world.scored("Hosts", "validation", 4)
    found = made(world, "validation")
    if kind == "void":
        found.receipt["tables"][0]["void"] = True
        found.save()
    world.at.now = APRIL
    url = "/c/neck/boards/validation/dice/receipt.json"
    assert world.client("alice").get(url).status_code == 403
    assert "Receipt" not in get(world, "alice", "/c/neck/boards/validation/dice/")
    assert get(world, "organiser", url)


def test_a_receipt_keeps_the_seal_it_was_written_with(world):
    from isocenter.ranking import read_receipt

    world.scored("Rigi", "validation", 3)
    made(world, "validation")
    assert read_receipt(get(world, "organiser", "/c/neck/boards/validation/dice/receipt.json")).board_name == "dice"


# --- what if ---------------------------------------------------------------------------------------------------------


WEIGHED = WeightedRanks((("dice", 1.0), ("jaccard", 3.0)), missing=WorstPossible(), tie_breaks=("jaccard",))


def weighed() -> Board:
    rows = (
        BoardRow(
            "a", 1.25, 1.0, "team", 3, 0, 0, components=(Component("dice", 0.7, 2.0), Component("jaccard", 0.9, 1.0))
        ),
        BoardRow(
            "b", 1.75, 2.0, "team", 3, 0, 0, components=(Component("dice", 0.8, 1.0), Component("jaccard", 0.8, 2.0))
        ),
        BoardRow("slow", None, None, "team", 3, 0, 0, components=(Component("dice", 0.9, None),)),
    )
    return Board("all", WEIGHED.metric, str(WEIGHED), rows)


def test_other_weights_give_what_the_rule_itself_gives():
    assert weights_of(WEIGHED, weighed()) == {"dice": 1.0, "jaccard": 3.0}
    same = reweighted(WEIGHED, weighed(), {"dice": 1.0, "jaccard": 3.0})
    assert [(row.submission, row.score, row.rank) for row in same] == [("a", 1.25, 1.0), ("b", 1.75, 2.0)]
    other = reweighted(WEIGHED, weighed(), {"dice": 3.0, "jaccard": 1.0})
    assert [(row.submission, row.score, row.rank) for row in other] == [("b", 1.25, 1.0), ("a", 1.75, 2.0)]
    alone = reweighted(WEIGHED, weighed(), {"dice": 1.0, "jaccard": 0.0})
    assert [(row.submission, row.score) for row in alone] == [("b", 1.0), ("a", 2.0)]
    tied = reweighted(WEIGHED, weighed(), {"dice": 1.0, "jaccard": 1.0})
    assert [(row.submission, row.rank) for row in tied] == [("a", 1.0), ("b", 2.0)]  # the tie-break of the rule


@pytest.mark.parametrize("weights", [{"dice": 0.0, "jaccard": 0.0}, {"dice": -1.0}, {"dice": float("inf")}])
def test_weights_that_weigh_nothing_are_refused(weights):
    with pytest.raises(ValueError, match="weight"):
        reweighted(WEIGHED, weighed(), weights)


def test_there_is_nothing_to_weigh_where_a_board_has_no_weights_or_hides_them():
    plain = MeanThenRank("dice", missing=WorstPossible())
    assert weights_of(plain, board(("Rigi", 0.5))) == {}
    bare = replace(weighed(), rows=tuple(replace(row, components=()) for row in weighed().rows))
    assert weights_of(WEIGHED, bare) == {}


def test_the_page_answers_what_if_and_says_that_it_is_unofficial(world):
    version = world.challenge.version
    version.toml = version.toml.replace("hecktor2020", "doserad2026").replace('counts = "best"', 'counts = "last"')
    version.save()
    code = code_of(version.pk, "validation")
    name, rule = next((name, rule) for name, rule in code.boards.items() if isinstance(rule, WeightedRanks))
    first, *others = [metric for metric, _ in rule.metrics]
    rows = []
    for at, team_name in enumerate(("Rigi", "Pilatus")):
        better = {metric: catalogue.get(metric).better for metric in (first, *others)}
        values = {metric: 0.2 + 0.1 * ((at == 0) == (better[metric] == "higher")) for metric in others}
        values[first] = 0.2 + 0.1 * ((at == 1) == (better[first] == "higher"))
        parts = tuple(Component(metric, values[metric], None) for metric, _ in rule.metrics)
        rows.append(BoardRow(team_name, 1.0 + at, 1.0 + at, "team", 3, 0, 0, components=parts))
    snapshot(world, "validation", Board(name, rule.metric, str(rule), tuple(rows)))
    url = f"/c/neck/boards/validation/{name}/"
    plain = get(world, "", url)
    assert "What if metrics had other weights?" in plain
    assert "Unofficial ranks" not in plain
    only_first = "&".join(f"weight:{metric}={int(metric == first)}" for metric, _ in rule.metrics)
    asked = get(world, "", f"{url}?{only_first}")
    assert asked.index("Unofficial ranks") < asked.rindex(">Pilatus<") < asked.rindex(">Rigi<")
    nothing = only_first.replace("=1", "=0")
    for wrong in (f"weight:{first}=x", f"weight:{first}=nan", f"weight:{first}=-1", nothing):
        assert 'role="alert"' in get(world, "", f"{url}?{wrong}")


# --- small parts -----------------------------------------------------------------------------------------------------


def test_a_page_of_many_rows_asks_no_more_questions_than_one_of_few(world):
    def queries(rows: int) -> int:
        rng = random.Random(0)
        world.at.move(hours=1)
        snapshot(world, "validation", board(*((f"team {n}", rng.random()) for n in range(rows))))
        client = world.client("alice")
        with CaptureQueriesContext(connection) as found:
            assert client.get("/c/neck/boards/validation/dice/").status_code == 200
        return len(found)

    queries(1)  # the edition is read once
    few, many = queries(2), queries(44)
    assert many == few <= 16


def test_groups_are_said_in_words():
    def row(name: str, rank: float | None, group: str | None) -> BoardRow:
        return BoardRow(name, 0.5, rank, "team", 3, 0, 0, group=group)

    rows = [
        row("a", 1.0, "A"),
        row("x", None, "A"),
        row("b", 2.0, "A"),
        row("c", 3.0, "B"),
        row("d", 4.0, "C"),
        row("e", 4.0, "C"),
    ]
    assert groups_in_words(rows) == (
        "1–2 cannot be told apart (group A)",
        "The 2 on place 4 cannot be told apart (group C)",
    )


def test_digits_are_those_of_the_metric_or_fewer():
    dice = catalogue.get("dice")
    assert Digits(None).text(dice, 0.123456) == "0.1235"
    assert Digits(2).text(dice, 0.126) == "0.13"
    assert Digits(9).number(dice, 0.123456) == 0.1235
    assert Digits(0).number(dice, 0.6) == 1.0
    assert Digits(None).text(dice, None) == "–"
    assert Digits(None).text(dice, float("inf")) == "∞"
    assert Digits(None).number(dice, float("nan")) is None


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), decimals=st.integers(0, 6))
def test_an_axis_holds_all_values_and_says_no_more_decimals(values, decimals):
    rounded = [round(value, decimals) for value in values]
    axis = axis_of(rounded, decimals=decimals)
    assert axis is not None
    assert axis.low < axis.high
    assert all(axis.low - 1e-6 <= value <= axis.high + 1e-6 for value in rounded)
    assert all(len(text.partition(".")[2]) <= decimals for text in (axis.low_text, axis.high_text))


def test_a_score_without_an_interval_is_a_dot_and_none_is_nothing():
    axis = axis_of([0.2, 0.8], decimals=4)
    assert "reach" not in whisker(axis, 0.5, None, None)
    assert "circle" in whisker(axis, 0.5, None, None)
    assert whisker(axis, None, None, None) == whisker(None, 0.5, 0.4, 0.6) == ""


def test_a_metric_beside_a_mean_rank_has_its_mean_rank_and_its_interval_in_small_letters() -> None:
    from isocenter.ranking import BoardRow, Component
    from isocenter.server.boards.board_table import Digits, _cells

    part = Component("dice", 0.8317, 2.0957, low=0.8056, high=0.8552)
    row = BoardRow("aare", 2.16, 1.0, "team", cases=16, missing=0, failed=0, components=(part,))
    cell = _cells(row, Digits(None), {})["metric:dice"]
    assert (cell.text, cell.more) == ("0.8317", "rank 2.10 0.8056 to 0.8552")
