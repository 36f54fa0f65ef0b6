"""A challenge that runs: results come out once, decisions take effect once, and what has happened stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.core import mail
from many_at_once import at_once, database_on_disk  # noqa: F401 (a fixture)

from conftest import CASES, T0, TOML
from isocenter import scores
from isocenter.editions import EditionError
from isocenter.scores import Row
from isocenter.server import boards
from isocenter.server.editions import code_of
from isocenter.server.models import (
    Access,
    Announcement,
    Artefact,
    Challenge,
    CodeLink,
    Decision,
    Evaluation,
    Membership,
    Notification,
    Registration,
    Role,
    Run,
    Submission,
    Team,
    Upload,
)
from isocenter.server.organising import (
    admitting,
    benchmarks,
    dryrun,
    importing,
    readiness,
    refereeing,
    running,
    versioning,
)
from isocenter.server.organising.versioning import Refused, save
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake, uploads
from isocenter.server.work import making

RESULTS = "results = 2026-04-01T00:00:00Z"


def visit(world, who="organiser"):
    return Visit(world.people[who], Challenge.objects.get(slug="neck"))


def told(world, who):
    return [one.text for one in Notification.objects.filter(user=world.people[who])]


def decided():
    return list(Decision.objects.order_by("number").values_list("what", "subject"))


# Results


def test_results_are_announced_at_their_moment_and_once(world, django_capture_on_commit_callbacks):
    world.scored("Rigi", "validation")
    assert running.due(world.at.now) == 0
    world.at.move(days=40)
    with django_capture_on_commit_callbacks(execute=True):
        assert running.due(world.at.now) == 1
    assert running.due(world.at.now) == 0
    assert decided() == [("results are out", "validation")]
    assert Decision.objects.get().actor == "the site"
    assert Announcement.objects.get().phase == "validation"
    assert told(world, "alice") == ["Tumours of the neck: The results of Validation are out."]
    assert told(world, "waiting") == []
    mails = {one.to[0].partition("@")[0]: one.body for one in mail.outbox}
    assert sorted(mails) == ["alice", "bob", "carol", "organiser"]
    # Organisers get how far the log goes, by which they can tell later that its end was cut off.
    last = Decision.objects.get()
    assert [name for name, body in mails.items() if last.hash in body] == ["organiser"]
    assert "Decision 1 is the last" in mails["organiser"]
    assert Run.objects.filter(kind="board", state="queued").count() == 1


def test_nothing_is_announced_of_a_challenge_or_phase_that_has_nothing_to_show(world):
    world.at.move(days=40)
    assert running.due(world.at.now) == 0
    world.scored("Rigi", "validation")
    Challenge.objects.update(published=False)
    assert running.due(world.at.now) == 0
    assert not Announcement.objects.exists()


def test_results_that_are_put_off_are_announced_at_their_new_moment(world):
    world.scored("Rigi", "validation")
    text = TOML.replace(RESULTS, "results = 2026-04-20T00:00:00Z")
    save(world.challenge, None, base=1, note="We need more time.", toml=text)
    world.at.move(days=40)
    assert running.due(world.at.now) == 0
    world.at.move(days=10)
    assert running.due(world.at.now) == 1


@pytest.mark.django_db(transaction=True)
def test_workers_that_look_at_once_announce_results_once(as_on_a_site, world, caplog):
    world.scored("Rigi", "validation")
    world.at.move(days=40)
    assert sorted(at_once(4, lambda _: running.due(world.at.now))) == [0, 0, 0, 1]
    assert caplog.text == ""
    assert decided() == [("results are out", "validation")]
    assert Announcement.objects.count() == 1
    assert told(world, "alice") == ["Tumours of the neck: The results of Validation are out."]


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_many_times_at_once_does_its_work_once(as_on_a_site, world):
    one = world.scored("Rigi", "validation")
    assert sum(at_once(4, lambda _: refereeing.refund(visit(world), one, "A bug."))) == 1
    grants = at_once(4, lambda _: refereeing.grant(visit(world), world.teams["Rigi"], "test", 1, "A bug.", seen=0))
    assert sum(grants) == 1
    assert len(decided()) == 2


def test_a_challenge_that_cannot_be_read_does_not_keep_others_from_their_results(world, caplog):
    world.scored("Rigi", "validation")
    broken = Challenge.objects.create(slug="broken", published=True, salt=b"x")
    broken.version = broken.versions.create(number=1, toml="challenge =")
    broken.save()
    world.at.move(days=40)
    assert running.due(world.at.now) == 1
    assert "broken" in caplog.text


def test_results_can_be_published_now_but_not_before_the_phase_is_closed(world):
    with pytest.raises(Refused, match="Close it first"):
        running.results_now(visit(world), "validation", "Impatience.", base=1)
    world.at.move(days=61)  # 2 May: the test phase is closed, its results are not out
    world.scored("Rigi", "test")
    assert not visit(world, "alice").sight("test").own_scores
    assert running.results_now(visit(world), "test", "All is scored.", base=1).number == 2
    assert visit(world, "alice").sight("test").other_scores
    assert decided() == [("reschedule the results", "test"), ("results are out", "test")]
    assert running.results_now(visit(world), "test", "All is scored.", base=1) is None
    assert len(decided()) == 2


@pytest.mark.parametrize(
    ("scored", "said"), [(True, "The results of Test are out."), (False, "The results of Test are out on 2 May 2026")]
)
def test_who_takes_part_is_told_once_that_results_are_published_now(
    world, mailoutbox, django_capture_on_commit_callbacks, scored, said
):
    world.at.move(days=61)
    if scored:
        world.scored("Rigi", "test")
    with django_capture_on_commit_callbacks(execute=True):
        running.results_now(visit(world), "test", "All is scored.", base=1)
    for name in ("alice", "carol"):
        assert len(told(world, name)) == 1
        assert said in told(world, name)[0]
        assert len([one for one in mailoutbox if one.to == [f"{name}@example.org"]]) == 1


def test_a_phase_can_be_closed_now(world):
    world.at.now += timedelta(microseconds=7)
    assert visit(world, "alice").admission("validation").yes
    running.close_now(visit(world), "validation", "A leak.", base=1)
    assert "closed since 2 March 2026, 12:00:01 UTC" in _next_second(world).reason
    assert decided() == [("close earlier", "validation")]
    assert running.close_now(visit(world), "validation", "A leak.", base=2) is None
    with pytest.raises(Refused, match="not open yet"):
        running.close_now(visit(world), "test", "Why not.", base=2)


def _next_second(world):
    world.at.move(seconds=1)
    return visit(world, "alice").admission("validation")


# Versions


def test_an_extension_changes_who_may_submit_is_recorded_and_told(world):
    text = TOML.replace(
        "closes = 2026-04-01T00:00:00Z\nresults = 2026-04-01", "closes = 2026-04-15T00:00:00Z\nresults = 2026-04-15", 1
    )
    world.at.move(days=35)
    assert not visit(world, "alice").admission("validation").yes
    save(world.challenge, world.people["organiser"], base=1, note="The server was down.", toml=text)
    assert visit(world, "alice").admission("validation").yes
    first = Decision.objects.order_by("number").first()
    assert (first.what, first.subject) == ("extend", "validation")
    assert first.actor == "Organiser <organiser@example.org>"
    assert first.reason.startswith("The server was down. (Validation closes on 15 April 2026, 00:00 UTC")
    assert "closes on 15 April 2026" in told(world, "alice")[0]
    assert told(world, "stranger") == told(world, "waiting") == []


def test_nobody_is_told_of_a_phase_that_is_not_announced(world):
    text = TOML.replace("closes = 2026-06-01", "closes = 2026-06-03")
    save(world.challenge, None, base=1, note="Two more days.", toml=text)
    assert decided() == [("extend", "final")]
    assert told(world, "alice") == []


def test_nobody_is_told_of_a_challenge_that_is_not_published(world):
    Challenge.objects.update(published=False)
    save(world.challenge, None, base=1, note="x", toml=TOML.replace("quota = 3", "quota = 4"))
    assert decided() == [("change the quota", "validation")]
    assert told(world, "alice") == []


BREAKING = {
    "a phase with submissions is removed": (
        TOML.replace('name = "validation"', 'name = "tuning"'),
        "removed or renamed",
    ),
    "another challenge": (TOML.replace("hecktor2020", "lung2019"), "cannot become"),
    "it opens after somebody handed in": (
        TOML.replace("opens = 2026-03-01T00:00:00Z", "opens = 2026-03-03T00:00:00Z"),
        "a team handed in before",
    ),
    "it closed before somebody handed in": (
        TOML.replace("closes = 2026-04-01T00:00:00Z", "closes = 2026-03-02T00:00:00Z", 1),
        "a team handed in after",
    ),
    "a known phase is hidden": (
        TOML.replace('name = "test"', 'name = "test"\nannounced = 2026-03-30T00:00:00Z'),
        "knows of test already",
    ),
    "other terms under the same version": (TOML.replace("Be fair.", "Be quick."), "version must change"),
}


@pytest.mark.parametrize("what", BREAKING)
def test_a_change_that_would_undo_what_happened_is_refused_in_words(world, what):
    text, said = BREAKING[what]
    world.scored("Rigi", "validation")
    with pytest.raises(Refused, match=said):
        save(world.challenge, None, base=1, note="x", toml=text)
    assert world.challenge.versions.count() == 1
    assert decided() == []


def test_a_benchmark_stands_in_the_way_of_no_date_but_keeps_its_phase(world):
    tool = Team.objects.create(challenge=world.challenge, name="Tool", kind="benchmark")
    world.teams["Tool"] = tool
    world.submission("Tool", "test")  # a month before the phase opens
    save(world.challenge, None, base=1, note="x", toml=TOML.replace("opens = 2026-04-01", "opens = 2026-04-02"))
    with pytest.raises(Refused, match="it has submissions"):
        save(world.challenge, None, base=2, note="x", toml=TOML.replace('"test"', '"exam"'))


def test_results_that_are_out_stay_out(world):
    world.at.move(days=75)
    text = TOML.replace("results = 2026-05-10", "results = 2026-05-30")
    with pytest.raises(Refused, match="cannot be taken back"):
        save(world.challenge, None, base=1, note="x", toml=text)


def test_what_nobody_knows_of_yet_can_be_put_off(world):
    """Who begins with an installed challenge has the dates of its first edition."""
    world.at.move(days=75)
    world.challenge.published = False
    world.challenge.save()
    text = TOML.replace("results = 2026-05-10", "results = 2026-05-30")
    later = text.replace("announced = 2026-05-10", "announced = 2026-05-20").replace(
        "opens = 2026-05-12", "opens = 2026-05-21"
    )
    assert save(world.challenge, None, base=1, note="The dates of this year.", toml=text).number == 2
    assert save(world.challenge, None, base=2, note="Said later.", toml=later).number == 3


def test_a_phase_without_traces_may_go(world):
    world.challenge.references.filter(phase="final").delete()
    text = TOML[: TOML.index('[[phases]]\nname = "final"')] + TOML[TOML.index("[policies]") :]
    save(world.challenge, None, base=1, note="No final.", toml=text)
    assert decided() == [("remove a phase", "final")]
    assert told(world, "alice") == []


def test_a_version_needs_a_note_and_a_right_text(world):
    with pytest.raises(Refused, match="Say what changed"):
        save(world.challenge, None, base=1, note=" ", toml=TOML.replace("neck", "head"))
    with pytest.raises(EditionError):
        save(world.challenge, None, base=1, note="x", toml=TOML.replace("quota = 3", "quota = 0"))


def test_pages_alone_are_a_version_that_nobody_is_told_of(world):
    save(world.challenge, None, base=1, note="Words.", pages=[{"name": "a", "title": "A", "text": "x"}])
    assert decided() == []
    assert told(world, "alice") == []


# Teams


def test_a_disqualified_team_leaves_the_board_once_and_comes_back(world):
    world.scored("Rigi", "validation", 4)
    world.scored("Pilatus", "validation", 3)

    def on_the_board():
        world.at.move(seconds=1)
        making.make_boards(world.challenge, "validation")
        return [
            row.submission
            for row in boards.shown(visit(world, "carol"), boards.latest(world.challenge, "validation")).rows
        ]

    assert on_the_board() == ["Rigi", "Pilatus"]
    assert refereeing.disqualify(visit(world), world.teams["Rigi"], "Two accounts.")
    assert not refereeing.disqualify(visit(world), world.teams["Rigi"], "Two accounts.")
    assert on_the_board() == ["Pilatus"]
    assert "disqualified" in visit(world, "alice").admission("validation").reason
    assert told(world, "bob") == ["The team Rigi was disqualified: Two accounts."]
    assert refereeing.reinstate(visit(world), world.teams["Rigi"], "It was a mistake.")
    assert on_the_board() == ["Rigi", "Pilatus"]
    assert decided() == [("disqualify", "Rigi"), ("reinstate", "Rigi")]


def test_no_decision_without_a_reason(world):
    one = world.scored("Rigi", "validation")
    for decide in (
        lambda: refereeing.disqualify(visit(world), world.teams["Rigi"], "  "),
        lambda: refereeing.refund(visit(world), one, ""),
        lambda: refereeing.void(visit(world), one, "\n"),
        lambda: refereeing.grant(visit(world), world.teams["Rigi"], "validation", 1, "", seen=0),
        lambda: refereeing.invite(visit(world), world.teams["Rigi"], "final", ""),
        lambda: running.publish(visit(world), ""),
        lambda: admitting.add_role(visit(world), "alice@example.org", "reader", ""),
    ):
        with pytest.raises(Refused, match="Say why"):
            decide()
    assert decided() == []


def test_a_refund_gives_an_attempt_back_once(world):
    for _ in range(3):
        one = world.scored("Rigi", "validation")
    assert intake.quota(visit(world, "alice"), "validation").left == 0
    assert refereeing.refund(visit(world), one, "A bug of ours.")
    assert not refereeing.refund(visit(world), one, "A bug of ours.")
    assert intake.quota(visit(world, "alice"), "validation").left == 1
    assert decided() == [("refund", "Rigi, validation, submission 3")]


def test_attempts_are_granted_once_however_often_the_form_is_sent(world):
    for _ in range(2):
        refereeing.grant(visit(world), world.teams["Rigi"], "validation", 2, "A bug.", seen=0)
    assert refereeing.granted_to(world.teams["Rigi"], "validation") == 2
    assert intake.quota(visit(world, "alice"), "validation").left == 5
    assert intake.quota(visit(world, "carol"), "validation").left == 3
    assert refereeing.grant(visit(world), world.teams["Rigi"], "validation", 1, "Another bug.", seen=2)
    assert len(decided()) == 2
    with pytest.raises(Refused):
        refereeing.grant(visit(world), world.teams["Rigi"], "validation", 0, "x", seen=3)


def test_an_invitation_to_a_phase_that_is_not_announced_is_told_nobody(world):
    assert refereeing.invite(visit(world), world.teams["Pilatus"], "final", "From another contest.")
    assert not refereeing.invite(visit(world), world.teams["Pilatus"], "final", "From another contest.")
    assert told(world, "carol") == []
    world.at.move(days=72)
    assert visit(world, "carol").admission("final").yes
    assert not visit(world, "alice").admission("final").yes
    with pytest.raises(Refused, match="open to every team"):
        refereeing.invite(visit(world), world.teams["Pilatus"], "validation", "x")


def test_a_request_is_granted_or_refused_and_told(world):
    access = Access.objects.create(team=world.teams["Rigi"], phase="test", text="Please.")
    assert refereeing.decide_access(visit(world), access, granted=False, reason="Too late.")
    assert not refereeing.decide_access(visit(world), access, granted=False, reason="Too late.")
    assert told(world, "alice") == ["Your request for Test was refused: Too late."]
    assert refereeing.decide_access(visit(world), access, granted=True, reason="After all.")
    access.refresh_from_db()
    assert access.state == "granted"
    assert [what for what, _ in decided()] == ["refuse a request", "grant a request"]


def test_a_team_of_the_organisers_is_off_the_board(world):
    world.scored("Rigi", "validation")
    assert refereeing.set_kind(visit(world), world.teams["Rigi"], "organiser", "Same hospital.")
    making.make_boards(world.challenge, "validation")
    assert boards.shown(visit(world, "carol"), boards.latest(world.challenge, "validation")).rows == ()
    with pytest.raises(Refused):
        refereeing.set_kind(visit(world), world.teams["Rigi"], "king", "x")


def test_a_renamed_team_has_its_new_name_on_boards_that_are_made_anew(world):
    world.scored("Rigi", "validation")
    assert refereeing.rename(visit(world), world.teams["Rigi"], "Säntis", "It asked for it.")
    assert not refereeing.rename(visit(world), world.teams["Rigi"], "Säntis", "It asked for it.")
    assert Run.objects.filter(kind="board", state="queued").exists()
    with pytest.raises(Refused):
        refereeing.rename(visit(world), world.teams["Pilatus"], "SÄNTIS", "x")


def test_a_member_is_moved_once_and_submissions_stay(world):
    world.scored("Rigi", "validation")
    bob = Membership.objects.get(user=world.people["bob"])
    assert refereeing.move(visit(world), bob, world.teams["Pilatus"], "Changed hospitals.")
    assert not refereeing.move(visit(world), bob, world.teams["Pilatus"], "Changed hospitals.")
    assert Membership.objects.get(user=world.people["bob"]).team == world.teams["Pilatus"]
    assert world.teams["Rigi"].submissions.count() == 1


def test_a_void_submission_does_not_count_until_it_does_again(world):
    world.scored("Rigi", "validation", 2)
    best = world.scored("Rigi", "validation", 4)

    def score():
        world.at.move(seconds=1)
        making.make_boards(world.challenge, "validation")
        return boards.thaw(boards.latest(world.challenge, "validation").content)["Rigi"].score

    assert score() == 1.0
    refereeing.void(visit(world), best, "Trained on test cases.")
    assert score() < 1.0
    refereeing.void(visit(world), best, "It was not.", on=False)
    assert score() == 1.0
    assert [what for what, _ in decided()] == ["void", "count again"]


# People


def test_registrations_are_decided_once_and_told(world):
    row = Registration.objects.get(user=world.people["waiting"])
    assert admitting.decide(visit(world), [row], accepted=True, reason="Welcome.") == 1
    assert admitting.decide(visit(world), [row], accepted=True, reason="Welcome.") == 0
    assert visit(world, "waiting").accepted
    assert told(world, "waiting") == ["You take part in Tumours of the neck."]
    assert decided() == [("accept a registration", "Waiting")]


def test_the_last_organiser_stays(world):
    role = Role.objects.get(user=world.people["organiser"])
    with pytest.raises(Refused, match="last organiser"):
        admitting.remove_role(visit(world), role, "Tired.")
    assert admitting.add_role(visit(world), "ALICE@example.org", "organiser", "Helps.")
    assert not admitting.add_role(visit(world), "alice@example.org", "organiser", "Helps.")
    assert admitting.remove_role(visit(world, "alice"), role, "Tired.")
    assert not visit(world).organises
    with pytest.raises(Refused, match="no account"):
        admitting.add_role(visit(world, "alice"), "nobody@example.org", "reader", "x")


# Publishing


def test_a_challenge_is_published_once_and_hidden_only_while_nobody_has_registered(world):
    Challenge.objects.update(published=False)
    assert running.publish(visit(world), "Ready.")
    assert not running.publish(visit(world), "Ready.")
    with pytest.raises(Refused, match="registered already"):
        running.unpublish(visit(world), "Oops.")
    Registration.objects.all().delete()
    assert running.unpublish(visit(world), "Oops.")
    assert decided() == [("publish", "neck"), ("hide", "neck")]


def test_code_is_released_to_a_phase(world):
    link = CodeLink.objects.create(team=world.teams["Rigi"], phase="validation", url="https://example.org")
    assert running.release_code(visit(world), link, "final", "As the rules say.")
    assert not running.release_code(visit(world), link, "final", "As the rules say.")
    link.refresh_from_db()
    assert (link.released, link.released_to) == (T0, "final")


def test_a_report_is_not_published_before_the_results_of_its_phase_are_out(world):
    report = Artefact.objects.create(challenge=world.challenge, phase="test", kind="report", folder="artefacts/x")
    archive = Artefact.objects.create(challenge=world.challenge, kind="archive", folder="artefacts/y")
    with pytest.raises(Refused, match="not out"):
        running.publish_artefact(visit(world), report, "Done.")
    with pytest.raises(Refused, match="for organisers alone"):
        running.publish_artefact(visit(world), archive, "Done.")
    world.at.move(days=80)
    assert running.publish_artefact(visit(world), report, "Done.")
    assert not running.publish_artefact(visit(world), report, "Done.")


# Benchmarks


def sent(world, content, name="x.zip"):
    from io import BytesIO

    upload = uploads.begin(
        world.people["organiser"],
        challenge=world.challenge,
        phase="",
        purpose=Upload.Purpose.REFERENCE,
        name=name,
        size=len(content),
    )
    uploads.append(upload, BytesIO(content), offset=0, length=len(content))
    return upload


def test_a_table_made_elsewhere_stands_on_the_board_without_a_rank(world, tmp_path):
    world.scored("Rigi", "validation", 3)
    scores.write(scores.frame([Row(case, "", "dice", 0.9) for case in CASES]), tmp_path / "t.parquet")
    team = benchmarks.add(visit(world), "Radiologist", "A second reader.")
    one = benchmarks.hand_in(
        visit(world), team, "validation", sent(world, (tmp_path / "t.parquet").read_bytes()), "Read in 2025."
    )
    assert one.state == "scored"
    assert Evaluation.objects.get(submission=one).values == {"dice": pytest.approx(0.9)}
    Evaluation.objects.exclude(submission=one).update(evaluator=Evaluation.objects.get(submission=one).evaluator)
    making.make_boards(world.challenge, "validation")
    board = boards.thaw(boards.latest(world.challenge, "validation").content)
    assert {row.submission: (row.rank, row.role) for row in board.rows} == {
        "Radiologist": (None, "benchmark"),
        "Rigi": (1, "team"),
    }


def test_a_table_of_other_cases_or_metrics_is_refused(world, tmp_path):
    team = benchmarks.add(visit(world), "Radiologist", "A second reader.")
    rows = [Row("STRANGER", "", "jaccard", 0.9), *(Row(case, "", "dice", 0.9) for case in CASES[:2])]
    scores.write(scores.frame(rows), tmp_path / "t.parquet")
    with pytest.raises(Refused) as caught:
        benchmarks.hand_in(visit(world), team, "validation", sent(world, (tmp_path / "t.parquet").read_bytes()), "x")
    said = " ".join(caught.value.problems)
    assert "no metric jaccard" in said
    assert "STRANGER is no case" in said
    assert "1 of 3 cases are not in the table: CHUV003" in said
    with pytest.raises(Refused):
        benchmarks.hand_in(visit(world), team, "validation", sent(world, b"PAR1 and nothing more"), "x")
    assert not Submission.objects.exists()


def test_only_benchmarks_are_handed_in_for(world):
    with pytest.raises(Refused, match="no benchmark"):
        benchmarks.hand_in(visit(world), world.teams["Rigi"], "validation", sent(world, b"x"), "x")
    with pytest.raises(Refused):
        benchmarks.add(visit(world), "RIGI", "x")


def test_outputs_of_a_benchmark_wait_to_be_scored_whatever_the_phase(world):
    team = benchmarks.add(visit(world), "Tool", "A commercial tool.")
    one = benchmarks.hand_in(visit(world), team, "test", sent(world, b"PK zip"), "x")
    assert (one.state, one.number, one.runs.get().kind) == ("queued", 1, "score")
    assert (world.data / one.file).read_bytes() == b"PK zip"


# Readiness


def test_a_title_that_was_taken_over_is_pointed_out(world):
    assert readiness.steps(world.challenge, world.at.now)[0].notes == ()
    begun = importing.begin_challenge("hecktor2020", user=world.people["staff"], slug="neck-2028")
    design, _, _, _, ranking, _, _ = readiness.steps(begun, world.at.now)
    assert design.notes[0].startswith("The title is still “HECKTOR 2020")
    assert ranking.what == "One board: Dice."
    begun.slug = "hecktor2020"
    assert readiness.steps(begun, world.at.now)[0].notes == ()


def test_what_is_odd_about_dates_is_said(world):
    said = "\n".join(readiness.conflicts(visit(world).edition))
    assert "Validation closes at midnight, when Tuesday 31 March ends" in said
    assert "Final closes on a weekend (Sunday)" in said
    assert "Nothing is open for 11 days between Test and Final, from 1 May 2026, 00:00 UTC." in said
    second = TOML.replace("closes = 2026-04-01T00:00:00Z", "closes = 2026-03-31T23:59:59Z")
    assert "between Validation and Test" not in "\n".join(readiness.conflicts(versioning.checked(second)))
    early = TOML.replace("opens = 2026-05-12", "opens = 2026-04-20").replace("announced = 2026-05-10T00:00:00Z\n", "")
    said = "\n".join(readiness.conflicts(versioning.checked(early)))
    assert "Test and Final overlap from 20 April 2026, 00:00 UTC to 1 May 2026, 00:00 UTC." in said
    assert "Final opens before the results of Test are out" in said
    night = TOML.replace("closes = 2026-05-01T00:00:00Z", "closes = 2026-05-01T03:30:00+02:00")
    assert "Test closes at night, at 03:30 on its own clock." in readiness.conflicts(versioning.checked(night))


def test_a_phase_without_a_reference_is_not_ready(world):
    assert all(step.done for step in readiness.steps(world.challenge, T0))
    world.challenge.references.filter(phase="final").delete()
    todo = [text for step in readiness.steps(world.challenge, T0) for text in step.todo]
    assert todo == ["Final has no reference, so nothing can be scored."]


@pytest.mark.parametrize("code", ["hecktor2020", "openkbp2020", "picai2022", "doserad2026", "lung2019"])
def test_synthetic_teams_show_every_rule_at_work_and_always_the_same(world, code):
    from isocenter.evaluation import load_challenge

    found = dryrun.dry_run(load_challenge(code))
    assert all(one.board is not None for one in found)
    for one in found:
        equal = {row.rank for row in one.board if row.submission in (dryrun.TWIN, dryrun.ORIGINAL)}
        assert len(equal) == 1
        assert one.board[dryrun.LACKING].missing == 1
        assert one.board[dryrun.HOME].rank is None
    assert found == dryrun.dry_run(load_challenge(code))


@pytest.mark.parametrize(
    "statistic", ["balanced_accuracy", "quadratic_kappa", "brier_score", "c_index", "aggregated_dice"]
)
def test_the_dry_run_knows_statistics_of_the_cohort(statistic):
    from isocenter.evaluation import load_challenge
    from isocenter.ranking import CohortStatistic, Disqualify

    rule = CohortStatistic(statistic=statistic, missing=Disqualify())
    code = replace(load_challenge("hecktor2020"), metrics=rule.reads, boards={"board": rule})
    (found,) = dryrun.dry_run(code)
    assert found.problem == ""
    ranks = {row.submission: row.rank for row in found.board.rows}
    assert ranks["Birch"] == ranks["Cedar (as Birch)"]
    assert found.board[dryrun.LACKING].disqualified


def test_the_dry_run_goes_by_the_policies_of_the_edition(world):
    for policy, rank in (("0", 4), ('"leave-out"', 2), ('"disqualify"', None)):
        text = TOML.replace("[policies]", f"[policies]\nmissing = {policy}")
        version = world.challenge.versions.create(number=world.challenge.versions.count() + 1, toml=text)
        assert dryrun.dry_run(code_of(version.pk, "test"))[0].board[dryrun.LACKING].rank == rank
