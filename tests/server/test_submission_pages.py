"""Handing in, the list, and a submission: what is shown to whom, and above all what is not."""

from __future__ import annotations

import io
import re
import uuid
from datetime import timedelta

import polars as pl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from isocenter.server import boards
from isocenter.server.editions import code_of
from isocenter.server.models import (
    Download,
    Evaluation,
    Membership,
    Reference,
    Run,
    Snapshot,
    Submission,
    Team,
    Upload,
    Version,
)
from isocenter.server.submitting.attempts import in_words
from isocenter.server.work import queue
from isocenter.server.work.score_tables import table_of, values_of

UNEVEN = {"CHUV001": 4, "CHUV002": 2, "CHUV003": 3}  # Dice 1, 2/3 and 6/7; mean 0.8413
DIGITS = ("0.8413", "8413", "0.84", "0.6667", "0.8571")


def scored(world, team, phase, sizes=UNEVEN, **fields):
    """A submission as a worker leaves it: with the score by board beside the table."""
    one = world.scored(team, phase, sizes, **fields)
    for evaluation in one.evaluations.all():
        evaluation.values = values_of(code_of(one.version_id, phase), table_of(evaluation))
        evaluation.save()
    return one


def addresses(one):
    base = f"/c/neck/submissions/{one.pk}/"
    return [
        "/c/neck/submissions/",
        "/c/neck/submissions/live/",
        base,
        f"{base}?by=dice",
        f"{base}scores.csv",
        f"{base}scores.parquet",
        f"{base}problems.txt",
        f"{base}cases/CHUV002/",
        f"{base}cases/CHUV002/sight.json",
        f"{base}cases/CHUV002/output.nii.gz",
        f"/c/neck/compare/?a={one.pk}&b={one.pk}",
    ]


def everything(response) -> str:
    body = b"".join(response.streaming_content) if response.streaming else response.content
    return f"{dict(response.headers)} {response.cookies} {body.decode('latin-1')}"


def edition(world, **replaced) -> None:
    """Change the settings of the edition, in place."""
    toml = world.challenge.version.toml
    for old, new in replaced.values():
        assert old in toml
        toml = toml.replace(old, new)
    version = Version.objects.create(challenge=world.challenge, number=2, toml=toml, pages=[], made=world.at.now)
    world.challenge.version = version
    world.challenge.save()


# What is hidden


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_a_hidden_phase_shows_no_digit_of_the_own_score_anywhere(world, name):
    world.at.move(days=31)
    one = scored(world, "Rigi", "test")
    client = world.client(name)
    for address in addresses(one):
        response = client.get(address)
        said = everything(response)
        assert not any(digits in said for digits in DIGITS), address
        if "cases" in address or "scores" in address or "compare" in address:
            assert response.status_code == 403, address
    page = client.get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert "hidden until the results are out" in page
    assert "not shown in this phase" in page


def test_with_the_results_a_hidden_phase_shows_the_score_but_never_its_cases(world):
    world.at.move(days=31)
    one = scored(world, "Rigi", "test")
    world.at.move(days=40)
    client = world.client("alice")
    assert "0.8413" in client.get("/c/neck/submissions/").content.decode()
    page = client.get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert "0.8413" in page
    assert "0.6667 –" in page  # the interval: the worst of three cases drawn three times
    assert ">CHUV002<" not in page
    assert client.get(f"/c/neck/submissions/{one.pk}/cases/CHUV002/").status_code == 403


def test_organisers_see_all_of_it_at_any_time(world):
    world.at.move(days=31)
    one = scored(world, "Rigi", "test")
    for name in ("organiser", "staff"):
        client = world.client(name)
        for address in addresses(one):
            assert client.get(address).status_code == 200, (name, address)
        assert "0.8413" in client.get("/c/neck/submissions/").content.decode()


@pytest.mark.parametrize("name", ["carol", "reader", "waiting", "stranger"])
def test_to_everybody_else_a_submission_does_not_exist(world, name):
    one = scored(world, "Rigi", "validation")
    client = world.client(name)
    for address in addresses(one)[2:]:
        response = client.get(address)
        assert response.status_code == 404, address
        assert not any(digits in everything(response) for digits in DIGITS)
    for action in ("cancel", "file"):
        assert client.post(f"/c/neck/submissions/{one.pk}/{action}/").status_code in (404, 405)
    assert client.get(f"/c/neck/submissions/{one.pk}/file/").status_code == 404
    listed = client.get("/c/neck/submissions/")
    assert str(one.pk) not in everything(listed)
    assert listed.status_code == (200 if name == "carol" else 403)


def test_who_is_not_signed_in_is_asked_to(world):
    one = scored(world, "Rigi", "validation")
    for address in [*addresses(one), f"/c/neck/submissions/{one.pk}/file/", "/c/neck/submit/validation/"]:
        response = world.client().get(address)
        assert response.status_code == 302, address
        assert response["Location"].startswith("/accounts/login/")


def test_a_submission_to_a_phase_that_is_not_announced_any_more_is_gone(world):
    one = scored(world, "Rigi", "final")
    assert world.client("alice").get(f"/c/neck/submissions/{one.pk}/").status_code == 404
    assert str(one.pk) not in everything(world.client("alice").get("/c/neck/submissions/"))
    assert world.client("organiser").get(f"/c/neck/submissions/{one.pk}/").status_code == 200


def test_few_decimals_are_few_everywhere_and_cases_are_hidden_then(world):
    edition(world, few=('visibility = "public"\n', 'visibility = "public"\ndecimals = 2\n'))
    one = scored(world, "Rigi", "validation")
    client = world.client("alice")
    assert ">0.84<" in client.get("/c/neck/submissions/").content.decode()
    for address in addresses(one):
        assert not any(digits in everything(client.get(address)) for digits in ("0.841", "8413", "0.6667"))


def test_where_a_ladder_decides_single_scores_are_shown_nowhere(world):
    edition(world, ladder=('visibility = "public"\n', 'visibility = "public"\nladder = 0.01\n'))
    one = scored(world, "Rigi", "validation")
    client = world.client("alice")
    for address in addresses(one):
        assert not any(digits in everything(client.get(address)) for digits in DIGITS), address
    assert "single scores nowhere" in client.get(f"/c/neck/submissions/{one.pk}/").content.decode()


# The list


def test_the_list_says_where_a_submission_stands_and_what_cancelling_costs(world):
    one = world.submission("Rigi", "validation")
    run = queue.enqueue(Run.Kind.SCORE, world.challenge, submission=one)
    client = world.client("bob")
    page = client.get("/c/neck/submissions/").content.decode()
    assert "waits for a machine" in page
    assert "The attempt is given back." in page
    assert 'hx-trigger="every 3s"' in page
    Submission.objects.filter(pk=one.pk).update(state="running")
    Run.objects.filter(pk=run.pk).update(
        state="running", done=1, total=3, attempt=2, reason="worker_lost", started=world.at.now
    )
    page = client.get("/c/neck/submissions/live/").content.decode()
    assert 'value="33"' in page
    assert "1 of 3 cases" in page
    assert "worker lost, attempt 2 of 3" in page
    response = client.post(f"/c/neck/submissions/{one.pk}/cancel/", follow=True)
    assert "is cancelled" in response.content.decode()
    one.refresh_from_db()
    assert one.state == "cancelled"
    page = response.content.decode()
    assert "given back" in page
    assert "hx-trigger" not in page
    again = client.post(f"/c/neck/submissions/{one.pk}/cancel/", follow=True)
    assert "nothing to cancel" in again.content.decode()


def test_a_page_is_not_sent_again_as_long_as_nothing_changes(world):
    one = world.submission("Rigi", "validation")
    queue.enqueue(Run.Kind.SCORE, world.challenge, submission=one)
    client = world.client("alice")
    first = client.get("/c/neck/submissions/live/")
    assert first["Cache-Control"] == "private, no-cache"
    again = client.get("/c/neck/submissions/live/", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    queue.cancel(one)
    assert client.get("/c/neck/submissions/live/", headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_reasons_come_with_advice_and_details_of_the_machine_only_to_organisers(world):
    one = world.submission("Rigi", "validation", state="infrastructure", reason="worker_lost")
    run = queue.enqueue(Run.Kind.SCORE, world.challenge, submission=one)
    Run.objects.filter(pk=run.pk).update(
        state="failed", reason="worker_lost", detail="Traceback: /secret/place", worker="pc-7"
    )
    Evaluation.objects.create(
        submission=one, evaluator="e", reference=world.references["validation"], digest="", table=b""
    )
    mine = world.client("alice").get("/c/neck/submissions/").content.decode()
    assert "failure of our machines" in mine
    assert "given back" in mine
    Evaluation.objects.all().delete()
    for address in ("/c/neck/submissions/", f"/c/neck/submissions/{one.pk}/"):
        said = world.client("alice").get(address).content.decode()
        assert "/secret/place" not in said
        assert "pc-7" not in said
    told = world.client("organiser").get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert "pc-7" in told
    assert "/secret/place" in told


def test_organisers_filter_and_turn_pages_and_teams_see_their_own_whatever_they_ask_for(world):
    for number in range(60):
        world.submission("Rigi" if number % 2 else "Pilatus", "validation", state="failed" if number == 1 else "scored")
    organiser, alice = world.client("organiser"), world.client("alice")
    assert "Page 1 of 2" in organiser.get("/c/neck/submissions/").content.decode()
    assert organiser.get("/c/neck/submissions/?page=2").content.decode().count("<tr id=") == 10
    team = world.teams["Pilatus"].key
    assert organiser.get(f"/c/neck/submissions/?team={team}").content.decode().count("<tr id=") == 30
    assert organiser.get("/c/neck/submissions/?state=failed").content.decode().count("<tr id=") == 1
    assert "No submission fits" in organiser.get("/c/neck/submissions/?phase=test").content.decode()
    assert alice.get(f"/c/neck/submissions/?team={team}").content.decode().count("<tr id=") == 0
    assert alice.get("/c/neck/submissions/").content.decode().count("<tr id=") == 30


def test_the_phase_is_said_once_where_all_rows_have_one(world):
    world.submission("Rigi", "validation", state="scored")
    client = world.client("alice")
    page = client.get("/c/neck/submissions/").content.decode()
    assert ">No. 1</a>" in page
    assert "Submissions of Rigi to Validation, the latest first" in page
    world.at.move(days=31)
    world.submission("Rigi", "test", state="scored")
    page = client.get("/c/neck/submissions/").content.decode()
    assert ">Validation, no. 1</a>" in page
    assert ">Test, no. 1</a>" in page


def test_the_list_says_how_many_cases_have_no_result(world):
    one = world.scored("Rigi", "validation", {"CHUV001": 4})
    one.problems = [
        {"severity": "unusable", "case": "CHUV001", "file": "a", "message": "holds nan"},
        {"severity": "unusable", "case": "CHUV001", "file": "b", "message": "other grid"},
        {"severity": "unusable", "case": "no-such-case", "file": "c", "message": "no case has this name"},
        {"severity": "missing", "case": "CHUV002", "file": "", "message": "expected"},
        {"severity": "missing", "case": "CHUV003", "file": "", "message": "expected"},
    ]
    one.save()
    page = world.client("alice").get("/c/neck/submissions/").content.decode()
    assert "1 case unusable, 2 cases without an output" in page


def test_two_are_offered_to_compare_only_where_there_are_two_with_cases(world):
    client = world.client("alice")
    world.scored("Rigi", "validation")
    assert "Compare two submissions" not in client.get("/c/neck/submissions/").content.decode()
    world.scored("Rigi", "validation")
    assert "Compare two submissions" in client.get("/c/neck/submissions/").content.decode()


def test_who_has_no_team_yet_is_shown_the_way_to_one(world):
    Membership.objects.filter(user=world.people["carol"]).delete()
    client = world.client("carol")
    assert 'href="/c/neck/submissions/"' not in client.get("/c/neck/").content.decode()
    refused = client.get("/c/neck/submissions/")
    assert refused.status_code == 403
    assert '<a class="button" href="/c/neck/team/">' in refused.content.decode()
    assert 'href="/c/neck/submissions/"' in world.client("organiser").get("/c/neck/").content.decode()


@pytest.mark.parametrize(
    "query", ["page=x", "page=-1", "team=" + "9" * 400, "team=²", "phase=%01", "state='", "by=%01"]
)
def test_no_question_of_a_stranger_breaks_the_list(world, query):
    world.submission("Rigi", "validation")
    for name in ("alice", "organiser"):
        assert world.client(name).get(f"/c/neck/submissions/?{query}").status_code == 200


def test_a_longer_list_asks_the_database_no_more_often(world, django_assert_max_num_queries):
    for _ in range(40):
        world.submission("Rigi", "validation", state="scored")
    for name in ("alice", "organiser"):
        client = world.client(name)
        client.get("/c/neck/submissions/")
        with django_assert_max_num_queries(30):
            client.get("/c/neck/submissions/")


def test_a_team_chooses_its_final_one_where_the_chosen_one_counts(world):
    edition(world, chosen=('counts = "best"', 'counts = "chosen"'))
    first, second = (scored(world, "Rigi", "validation") for _ in range(2))
    client = world.client("alice")
    page = client.get("/c/neck/submissions/").content.decode()
    assert page.count('type="radio"') == 2
    assert 'form="nominate-validation"' in page
    response = client.post("/c/neck/submissions/nominate/", {"submission": str(first.pk)}, follow=True)
    assert "is your final one now" in response.content.decode()
    first.refresh_from_db()
    assert first.nominated
    client.post("/c/neck/submissions/nominate/", {"submission": str(second.pk)})
    assert list(Submission.objects.filter(nominated=True)) == [second]
    theirs = scored(world, "Pilatus", "validation")
    for key in (str(theirs.pk), str(uuid.uuid4()), "nonsense", ""):
        assert client.post("/c/neck/submissions/nominate/", {"submission": key}).status_code == 404
    world.at.move(days=60)
    assert 'type="radio"' not in client.get("/c/neck/submissions/").content.decode()


def test_an_empty_list_says_what_to_do_next(world):
    page = world.client("alice").get("/c/neck/submissions/").content.decode()
    assert "has handed in nothing yet" in page
    assert "/c/neck/submit/validation/" in page


def test_spans_of_time_as_people_say_them():
    assert in_words(timedelta(seconds=-3)) == "less than a minute"
    assert in_words(timedelta(seconds=59)) == "about 1 minute"
    assert in_words(timedelta(minutes=95)) == "about 2 hours"
    assert in_words(timedelta(days=3)) == "about 3 days"


# One submission


def test_cases_are_sorted_the_worst_first_and_files_come_back(world):
    one = scored(world, "Rigi", "validation", comment="seed 3")
    client = world.client("alice")
    page = client.get(f"/c/neck/submissions/{one.pk}/").content.decode()
    table = page[page.index("Cases, the worst first") :]
    assert re.findall(r">(CHUV\d+)</a>", table) == ["CHUV002", "CHUV003", "CHUV001"]
    assert "0.6667 –" in page
    assert "seed 3" in page
    back = client.get(f"/c/neck/submissions/{one.pk}/file/")
    assert b"".join(back.streaming_content) == (world.data / one.file).read_bytes()
    assert 'filename="Rigi.zip"' in back["Content-Disposition"]
    assert Download.objects.get().user == world.people["alice"]


def test_the_score_table_can_be_taken_home(world):
    one = scored(world, "Rigi", "validation")
    client = world.client("alice")
    csv = pl.read_csv(io.BytesIO(client.get(f"/c/neck/submissions/{one.pk}/scores.csv").content))
    parquet = pl.read_parquet(io.BytesIO(client.get(f"/c/neck/submissions/{one.pk}/scores.parquet").content))
    assert csv["value"].to_list() == pytest.approx([1.0, 2 / 3, 6 / 7])
    assert parquet["case"].to_list() == csv["case"].to_list() == ["CHUV001", "CHUV002", "CHUV003"]
    assert client.get(f"/c/neck/submissions/{one.pk}/scores.exe").status_code == 404


def test_names_that_a_spreadsheet_would_run_are_texts_in_the_file(world):
    one = scored(world, "Rigi", "validation")
    evaluation = one.evaluations.get()
    table = table_of(evaluation).with_columns(case=pl.lit("=1+1"), part=pl.col("case"))
    stream = io.BytesIO()
    table.write_parquet(stream)
    Evaluation.objects.filter(pk=evaluation.pk).update(table=stream.getvalue(), digest="1" * 64)
    assert b"'=1+1" in world.client("alice").get(f"/c/neck/submissions/{one.pk}/scores.csv").content


def test_problems_are_all_listed_and_names_of_strangers_are_text(world):
    found = [
        {"severity": "unusable", "message": "grid differs", "case": "CHUV001", "file": "<script>alert(1)</script>"},
        {"severity": "missing", "message": "expected CHUV002.nii.gz", "case": "CHUV002", "file": ""},
    ]
    one = world.submission("Rigi", "validation", state="refused", reason="refused", problems=found)
    client = world.client("alice")
    page = client.get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert "grid differs" in page
    assert "expected CHUV002.nii.gz" in page
    assert "<script>alert" not in page
    text = client.get(f"/c/neck/submissions/{one.pk}/problems.txt")
    assert text["Content-Type"].startswith("text/plain")
    assert "grid differs" in text.content.decode()


def test_a_team_counts_the_references_that_it_was_measured_with_and_no_others(world):
    one = scored(world, "Rigi", "validation")
    folder = one.evaluations.get().reference.folder
    last = None
    for number in (7, 9):
        last = Reference.objects.create(
            challenge=world.challenge, phase="validation", number=number, folder=folder, digest="", cases=[]
        )
        other = scored(world, "Pilatus", "validation").evaluations.get()
        Evaluation.objects.filter(pk=other.pk).update(reference=last)
    newer = scored(world, "Rigi", "validation").evaluations.get()
    Evaluation.objects.filter(pk=newer.pk).update(submission=one, reference=last)
    page = world.client("alice").get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert re.findall(r"version (\d+)<", page) == ["2", "1", "2"]
    page = world.client("organiser").get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert re.findall(r"version (\d+)<", page) == ["9", "1", "9"]


def test_older_evaluations_stay_and_are_compared(world):
    one = scored(world, "Rigi", "validation")
    old = one.evaluations.get()
    newer = Reference.objects.create(
        challenge=world.challenge, phase="validation", number=2, folder=old.reference.folder, digest="", cases=[]
    )
    other = scored(world, "Rigi", "validation", {"CHUV001": 4, "CHUV002": 4, "CHUV003": 4}).evaluations.get()
    Evaluation.objects.filter(pk=other.pk).update(submission=one, reference=newer)
    client = world.client("alice")
    page = client.get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert "Evaluated 2 times" in page
    assert page.index("1.0000") < page.index("0.8413")
    compared = client.get(f"/c/neck/submissions/{one.pk}/?against=1").content.decode()
    assert "+0.3333" in compared
    for wrong in ("999", "x", "%01"):
        assert client.get(f"/c/neck/submissions/{one.pk}/?against={wrong}").status_code == 200


def field(world, teams: int) -> Submission:
    """A board with so many other teams on it."""
    mine = scored(world, "Rigi", "validation")
    entries = [{"team": "Rigi", "submission": str(mine.pk), "row": "Rigi"}]
    tables = {"Rigi": table_of(mine.evaluations.get())}
    for number in range(teams):
        name = f"Team{number}"
        world.teams[name] = Team.objects.create(challenge=world.challenge, name=name)
        one = scored(world, name, "validation", 1 + number % 3)
        entries.append({"team": name, "submission": str(one.pk), "row": name})
        tables[name] = table_of(one.evaluations.get())
    table = pl.concat([table.with_columns(submission=pl.lit(name)) for name, table in tables.items()])
    board = code_of(world.challenge.version_id, "validation").boards["dice"].rank(table, name="dice")
    Snapshot.objects.create(
        challenge=world.challenge, phase="validation", board="dice", version=world.challenge.version,
        content=boards.freeze(board), entries=entries, digest="", made=world.at.now,
    )  # fmt: skip
    return mine


@pytest.mark.parametrize(("teams", "shown"), [(4, False), (5, True)])
def test_other_teams_are_a_line_without_names_and_only_if_they_are_enough(world, teams, shown):
    one = field(world, teams)
    page = world.client("alice").get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert ('class="field-strip"' in page) is shown
    assert ("Other teams" in page) is shown
    assert "Team0" not in page


def test_nobody_sees_how_others_did_while_only_the_own_result_is_shown(world):
    edition(world, own=('visibility = "public"', 'visibility = "own"'))
    one = field(world, 6)
    page = world.client("alice").get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert "0.8413" in page
    assert "field-strip" not in page
    assert "Other teams" not in page


def test_means_by_facts_of_cases_are_for_organisers(world):
    one = scored(world, "Rigi", "validation")
    facts = zip(UNEVEN, ("north", "south", "north"), strict=True)
    cohort = [{"phase": "validation", "case": case, "centre": centre} for case, centre in facts]
    Version.objects.filter(pk=one.version_id).update(cohort=cohort)
    assert "by centre" in world.client("organiser").get(f"/c/neck/submissions/{one.pk}/").content.decode()
    assert "centre" not in world.client("alice").get(f"/c/neck/submissions/{one.pk}/").content.decode()


# Handing in


def test_the_page_says_who_may_hand_in_and_what_is_asked_for(world):
    page = world.client("alice").get("/c/neck/submit/validation/").content.decode()
    assert "0 of 3 attempts in any seven days used" in page
    assert "&lt;case&gt;.nii.gz" in page
    assert "  CHUV001.nii.gz" in page
    assert "1 is tumour, 2 is nodes" in page
    assert "isocenter submit" in page
    assert "data-upload" in page


@pytest.mark.parametrize(("name", "why", "where"), [
    ("stranger", "you are not registered", "/c/neck/register/"),
    ("waiting", "not accepted yet", "/c/neck/register/"),
])  # fmt: skip
def test_who_may_not_is_told_why_and_where_to_go_and_learns_no_case(world, name, why, where):
    page = world.client(name).get("/c/neck/submit/validation/").content.decode()
    assert why in page
    assert f'href="{where}"' in page
    assert "data-upload" not in page
    assert "CHUV" not in page


def test_names_of_cases_are_not_told_before_a_phase_opens(world):
    page = world.client("alice").get("/c/neck/submit/test/").content.decode()
    assert "not open yet" in page
    assert "CHUV" not in page


def test_a_phase_that_is_not_announced_has_no_page(world):
    assert world.client("alice").get("/c/neck/submit/final/").status_code == 404
    assert world.client("alice").get("/c/neck/submit/%00/").status_code == 404
    assert world.client("organiser").get("/c/neck/submit/final/").status_code == 200


QUESTION = (
    '[terms]\nversion = "1"',
    '[[declarations]]\nname = "external_data"\nlabel = "Data from elsewhere"\nkind = "long"\nrequired = true\n\n'
    '[terms]\nversion = "1"',
)


def test_without_a_script_a_file_is_handed_in_with_the_form(world):
    client = world.client("alice")
    one = world.submission("Pilatus", "validation", UNEVEN)
    content = (world.data / one.file).read_bytes()
    sent = SimpleUploadedFile("ours.zip", content, "application/zip")
    response = client.post("/c/neck/submit/validation/", {"file": sent, "comment": "first try"}, follow=True)
    assert response.status_code == 200
    made = Submission.objects.get(team=world.teams["Rigi"])
    assert response.redirect_chain[-1][0] == f"/c/neck/submissions/{made.pk}/"
    assert (made.state, made.number, made.name, made.comment) == ("queued", 1, "ours.zip", "first try")
    assert (world.data / made.file).read_bytes() == content
    assert "1 of 3 attempts" in client.get("/c/neck/submit/validation/").content.decode()


def test_a_form_that_lacks_an_answer_keeps_the_file(world):
    edition(world, asked=QUESTION)
    content = (world.data / world.submission("Pilatus", "validation").file).read_bytes()
    client = world.client("alice")
    sent = SimpleUploadedFile("ours.zip", content, "application/zip")
    refused = client.post("/c/neck/submit/validation/", {"file": sent, "declared-external_data": ""})
    assert refused.status_code == 422
    page = refused.content.decode()
    assert "no attempt was used" in page
    assert "Data from elsewhere" in page
    (key,) = re.findall(r'name="upload" value="([^"]+)"', page)
    assert Upload.objects.get(pk=key).taken is None
    assert not Submission.objects.filter(team=world.teams["Rigi"]).exists()
    stolen = world.client("carol").post("/c/neck/submit/validation/", {"upload": key, "declared-external_data": "none"})
    assert stolen.status_code == 422
    assert not Submission.objects.filter(
        team=world.teams["Pilatus"], state="queued", declarations__external_data="none", number=2
    ).exists()
    again = client.post("/c/neck/submit/validation/", {"upload": key, "declared-external_data": "none"}, follow=True)
    assert "is handed in" in again.content.decode()
    assert Submission.objects.get(team=world.teams["Rigi"]).declarations == {"external_data": "none"}
    twice = client.post("/c/neck/submit/validation/", {"upload": key, "declared-external_data": "none"})
    assert (twice.status_code, twice.headers["Location"]) == (302, f"/c/neck/submissions/{key}/")  # a double click
    assert Submission.objects.filter(team=world.teams["Rigi"]).count() == 1


def test_a_file_that_cannot_be_used_is_listed_with_all_that_is_wrong_and_costs_nothing(world):
    client = world.client("alice")
    sent = SimpleUploadedFile("notes.zip", b"no zip at all", "application/zip")
    refused = client.post("/c/neck/submit/validation/", {"file": sent})
    assert refused.status_code == 422
    page = refused.content.decode()
    assert "no attempt was used" in page
    assert "not accepted" in page
    assert "notes.zip" in page
    assert "is here already" not in page
    assert "0 of 3 attempts" in client.get("/c/neck/submit/validation/").content.decode()


def test_the_same_file_again_has_to_be_meant(world):
    client = world.client("alice")
    content = (world.data / world.submission("Pilatus", "validation").file).read_bytes()

    def send(**more):
        sent = SimpleUploadedFile("ours.zip", content, "application/zip")
        return client.post("/c/neck/submit/validation/", {"file": sent, **more})

    assert send().status_code == 302
    asked = send()
    assert asked.status_code == 422
    assert "I mean it" in asked.content.decode()
    assert send(again="yes").status_code == 302


def test_nothing_is_sent_and_nothing_breaks(world):
    client = world.client("alice")
    assert "Choose a file first" in client.post("/c/neck/submit/validation/", {}).content.decode()
    assert client.post("/c/neck/submit/validation/", {"upload": "nonsense"}).status_code == 404
    assert client.post("/c/neck/submit/validation/", {"upload": str(uuid.uuid4())}).status_code == 422
    assert client.put("/c/neck/submit/validation/").status_code == 405
