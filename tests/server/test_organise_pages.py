"""The pages of organisers: who gets in, what they show, what a form does, and that it does it once."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from isocenter.evaluation import load_challenge
from isocenter.server import decisions
from isocenter.server.models import (
    Access,
    Artefact,
    Challenge,
    CodeLink,
    Decision,
    Download,
    Grant,
    Membership,
    Notification,
    Reference,
    Registration,
    Release,
    Role,
    Run,
    Submission,
    Team,
    Upload,
    Version,
)
from isocenter.server.organising import running
from isocenter.server.submitting.expected import described
from isocenter.server.work import making

PLAIN = [
    "organise",
    "organise_setup",
    "organise_dry_run",
    "organise_code",
    "organise_export",
    "organise_policies",
    "organise_prizes",
    "organise_pages",
    "organise_data",
    "organise_participants",
    "organise_participants_csv",
    "organise_roles",
    "organise_equity",
    "organise_teams",
    "organise_requests",
    "organise_profiles",
    "organise_submissions",
    "organise_faults",
    "organise_publishing",
    "organise_decisions",
    "organise_decisions_csv",
    "organise_decisions_json",
    "organise_downloads",
]


def url(name, *args):
    return reverse(name, args=["neck", *args])


def post(world, page, /, *args, who="organiser", **fields):
    return world.client(who).post(url(page, *args), fields, follow=True)


@pytest.mark.parametrize("name", PLAIN)
def test_a_page_is_for_organisers_and_staff_alone(world, name):
    world.scored("Rigi", "validation")
    for who in ("organiser", "staff"):
        assert world.client(who).get(url(name)).status_code == 200
    for who in ("alice", "reader", "waiting", "stranger"):
        assert world.client(who).get(url(name)).status_code == 403
    assert world.client().get(url(name)).status_code == 302


@pytest.mark.parametrize("name", ["organise_publish", "organise_import", "organise_reference", "organise_release"])
def test_what_changes_something_is_not_done_by_looking(world, name):
    assert world.client("organiser").get(url(name)).status_code == 405
    assert world.client("alice").post(url(name)).status_code == 403
    assert Version.objects.count() == 1


def test_what_is_of_another_challenge_is_not_there(world):
    other = Challenge.objects.create(slug="other", salt=b"x", published=True)
    other.version = other.versions.create(number=1, toml=world.challenge.version.toml)
    other.save()
    team = Team.objects.create(challenge=other, name="Elsewhere")
    role = Role.objects.create(user=world.people["alice"], challenge=other, kind="organiser")
    access = Access.objects.create(team=team, phase="final", document="documents/x.pdf")
    release = Release.objects.create(challenge=other, title="x", name="x", file="x", size=1, sha256="")
    client = world.client("organiser")
    assert client.get(url("organise_team", team.key)).status_code == 404
    assert client.post(url("organise_team", team.key), {"action": "disqualify", "reason": "x"}).status_code == 404
    assert client.get(url("organise_document", access.key)).status_code == 404
    assert client.get(url("organise_release_edit", release.key)).status_code == 404
    assert client.post(url("organise_roles"), {"action": "remove", "role": role.pk, "reason": "x"}).status_code == 404
    moved = {"action": "move", "member": Membership.objects.first().key, "to": team.key, "reason": "x"}
    assert client.post(url("organise_team", world.teams["Rigi"].key), moved).status_code == 404
    assert not Decision.objects.exists()


# A new challenge


def test_only_staff_begin_a_challenge(world):
    assert world.client().get("/new/").status_code == 302
    for who in ("organiser", "alice"):
        assert world.client(who).get("/new/").status_code == 403
    client = world.client("staff")
    assert "HECKTOR 2020" in client.get("/new/").content.decode()
    answer = client.post("/new/", {"from": "code", "code": "hecktor2020", "slug": "neck-2027"})
    assert answer["Location"] == "/c/neck-2027/organise/setup/"
    assert client.get(answer["Location"]).status_code == 200
    assert world.client("alice").get("/c/neck-2027/").status_code == 404


def test_a_challenge_that_cannot_be_made_is_said_to_be_so(world):
    client = world.client("staff")
    for given in ({"code": "hecktor2020", "slug": "neck"}, {"code": "nothing", "slug": "neck-2"}):
        answer = client.post("/new/", {"from": "code", **given})
        assert answer.status_code == 422
        assert "Nothing was made" in answer.content.decode()
    wrong = bundle(**{"challenge.toml": world.challenge.version.toml.replace('counts = "best"', 'counts = "bst"')})
    answer = client.post("/new/", {"from": "folder", "slug": "neck-2", "file": wrong})
    assert "Line 12: phases[1].counts" in answer.content.decode()
    assert client.post("/new/", {"from": "folder", "slug": "neck-2"}).status_code == 422
    assert Challenge.objects.count() == 1


def bundle(**files) -> SimpleUploadedFile:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return SimpleUploadedFile("bundle.zip", stream.getvalue())


def test_a_challenge_is_imported_and_exported_on_the_site(world):
    toml = world.challenge.version.toml
    client = world.client("staff")
    sent = bundle(**{"challenge.toml": toml, "pages/hello.md": "# Hello\n"})
    client.post("/new/", {"from": "folder", "slug": "copy", "file": sent})
    out = client.get("/c/copy/organise/code/export/")
    assert out["Content-Disposition"] == 'attachment; filename="copy-1.zip"'
    with zipfile.ZipFile(io.BytesIO(out.content)) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            "challenge.toml": toml,
            "pages/hello.md": "# Hello\n",
        }
    assert (
        post(world, "organise_import", file=bundle(**{"challenge.toml": toml}), base=1, note="No pages.").status_code
        == 200
    )
    world.challenge.refresh_from_db()
    assert (world.challenge.version.number, world.challenge.version.pages) == (2, [])


# challenge.toml


def edited(world, old, new, *, who="organiser", button="save", **fields):
    text = world.challenge.version.toml.replace(old, new)
    given = {"toml": text.replace("\n", "\r\n"), "base": 1, "note": "Because.", button: "1"} | fields
    return world.client(who).post(url("organise_code"), given)


def test_all_problems_of_the_text_are_listed_with_their_lines_and_nothing_is_saved(world):
    answer = edited(world, 'counts = "best"', 'counts = "bst"\nnonsense = 1')
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "Line 12" in page
    assert "Line 13" in page
    assert "counts = &quot;bst&quot;" in page  # the text is still there to be mended
    assert Version.objects.count() == 1


def test_a_change_is_shown_before_it_is_made(world):
    answer = edited(
        world,
        "closes = 2026-04-01T00:00:00Z\nresults = 2026-04-01",
        "closes = 2026-04-09T00:00:00Z\nresults = 2026-04-09",
        button="check",
    )
    page = answer.content.decode()
    assert "Validation closes on 9 April 2026, 00:00 UTC; it was 1 April 2026, 00:00 UTC." in page
    assert "3 people will be told by mail" in page
    assert "+closes = 2026-04-09T00:00:00Z" in page
    assert Version.objects.count() == 1
    assert not Decision.objects.exists()


def test_a_text_is_saved_with_line_ends_as_files_have_them(world):
    answer = edited(world, "Tumours of the neck", "Tumours of the head")
    assert answer.status_code == 302
    assert "\r" not in Version.objects.get(number=2).toml
    edited(world, "Tumours of the neck", "Tumours of the head", base=2)
    assert Version.objects.count() == 2


def test_the_second_of_two_editors_is_told_and_sees_what_the_first_did(world):
    edited(world, "Tumours of the neck", "Tumours of the head")
    answer = edited(world, "quota = 3", "quota = 4", who="staff")
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "Organiser saved version 2 while you were editing" in page
    assert "+title = &quot;Tumours of the head&quot;" in page
    assert Version.objects.count() == 2


def test_a_change_that_breaks_is_refused_on_the_page(world):
    world.scored("Rigi", "validation")
    answer = edited(world, 'name = "validation"', 'name = "tuning"', button="check")
    assert "cannot be removed or renamed: it has submissions" in answer.content.decode()


# Forms


def phase_form(world, phase="validation", **changed):
    form = world.client("organiser").get(url("organise_phase", phase)).context["form"]
    given = {field.name: field.value() for field in form}
    return {key: value for key, value in (given | changed).items() if value not in (None, "")}


def test_a_form_that_is_not_changed_changes_nothing(world):
    for phase in ("validation", "test", "final"):
        answer = world.client("organiser").post(url("organise_phase", phase), phase_form(world, phase, save="1"))
        assert answer.status_code == 302
    assert Version.objects.count() == 1


def test_a_phase_is_extended_and_its_quota_raised_by_a_form(world):
    given = phase_form(
        world, closes="2026-04-10T23:59:59", results="2026-04-12T12:00:00", quota="5", note="A holiday.", save="1"
    )
    assert world.client("organiser").post(url("organise_phase", "validation"), given).status_code == 302
    world.challenge.refresh_from_db()
    phase = world.challenge.edition.phases[0]
    assert (phase.closes.isoformat(), phase.quota) == ("2026-04-10T23:59:59+00:00", 5)
    assert set(Decision.objects.values_list("what", flat=True)) == {
        "extend",
        "reschedule the results",
        "change the quota",
    }
    assert world.challenge.edition.phases[1:] == Version.objects.get(number=1).challenge.edition.phases[1:]


@pytest.mark.parametrize(("given", "kept", "told"), [("all", "all", "all teams"), ("2", 2, "the first 2")])
def test_how_many_are_named_is_set_for_a_phase_and_told(world, given, kept, told):
    given = phase_form(world, "test", announce=given, note="The document says so.", save="1")
    assert world.client("organiser").post(url("organise_phase", "test"), given).status_code == 302
    world.challenge.refresh_from_db()
    assert world.challenge.edition.phases[1].announce == kept
    decision = Decision.objects.get()
    assert decision.what == "change who is named"
    assert f"names {told}." in decision.reason


def test_another_clock_moves_all_dates_of_a_phase(world):
    given = phase_form(world, clock="120", note="On our clock.", save="1")
    world.client("organiser").post(url("organise_phase", "validation"), given)
    world.challenge.refresh_from_db()
    assert world.challenge.edition.phases[0].closes.isoformat() == "2026-04-01T00:00:00+02:00"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"closes": "2026-02-01T00:00:00"}, "is not after the phase opens"),
        ({"results": "2026-03-20T00:00:00"}, "is before the phase closes"),
        ({"closes": "soon"}, "Enter a valid date"),
        ({"quota": "0"}, "greater than or equal to 1"),
        ({"announce": "0"}, "Write a whole number from 1 on, or all."),
        ({"admission": "after"}, "name of a phase"),
        ({"note": ""}, "Say what changed"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(world, changed, said):
    given = phase_form(world, **{"quota": "4", "note": "x", "save": "1"} | changed)
    answer = world.client("organiser").post(url("organise_phase", "validation"), given)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert Version.objects.count() == 1


def test_policies_and_prizes_are_set_by_forms(world):
    client = world.client("organiser")
    given = {
        "missing": "worst",
        "undefined": "leave-out",
        "ties": "average",
        "grid": "refuse",
        "organisers": "unranked",
        "announce": "",
        "base": 1,
    }
    assert client.post(url("organise_policies"), given | {"note": "Fairer.", "save": "1"}).status_code == 302
    rows = {
        "form-TOTAL_FORMS": 3,
        "form-INITIAL_FORMS": 1,
        "form-0-place": 1,
        "form-0-amount": "750",
        "form-0-currency": "eur",
    }
    rows |= {"form-1-place": 2, "form-1-amount": "250.50", "form-1-currency": "CHF", "form-1-phase": "test"}
    assert client.post(url("organise_prizes"), rows | {"note": "More.", "base": 2, "save": "1"}).status_code == 302
    world.challenge.refresh_from_db()
    edition = world.challenge.edition
    assert (edition.policies.missing, edition.policies.ties, edition.policies.announce) == ("worst", "average", None)
    assert edition.policies.undefined == "leave-out"
    assert [(p.place, str(p.amount), p.currency, p.phase) for p in edition.prizes] == [
        (1, "750", "EUR", None),
        (2, "250.50", "CHF", "test"),
    ]


def test_a_policy_that_no_board_can_have_is_refused_beside_its_field(world):
    given = {
        "missing": "2",
        "grid": "refuse",
        "organisers": "unlisted",
        "announce": "1",
        "base": 1,
        "note": "x",
        "save": "1",
    }
    answer = world.client("organiser").post(url("organise_policies"), given)
    assert answer.status_code == 422
    assert answer.context["form"].errors["missing"]
    answer = world.client("organiser").post(url("organise_policies"), given | {"missing": "0", "undefined": "7"})
    assert answer.status_code == 422
    assert answer.context["form"].errors["undefined"]


# Pages


def test_a_page_is_written_looked_at_and_saved(world):
    client = world.client("organiser")
    given = {"name": "team", "title": "Who we are", "text": "# Us\r\n\r\n<script>alert(1)</script> **bold**", "base": 1}
    page = client.post(url("organise_page", "new-page"), given | {"preview": "1"}).content.decode()
    assert "<strong>bold</strong>" in page
    assert "<script>alert" not in page
    assert Version.objects.count() == 1
    assert client.post(url("organise_page", "new-page"), given | {"save": "1"}).status_code == 302
    assert Version.objects.get(number=2).pages[1] == {
        "name": "team",
        "title": "Who we are",
        "text": "# Us\n\n<script>alert(1)</script> **bold**",
    }
    assert client.post(url("organise_page", "new-page"), given | {"save": "1", "base": 2}).status_code == 422
    assert client.post(url("organise_page", "team"), given | {"remove": "1", "base": 2}).status_code == 302
    assert [one["name"] for one in Version.objects.get(number=3).pages] == ["about"]


def test_pages_are_put_into_another_order(world):
    pages = [{"name": name, "title": name, "text": "x"} for name in ("a", "b", "c")]
    Version.objects.filter(number=1).update(pages=pages)
    client = world.client("organiser")
    given = {"order": ["a", "b", "c"], "place-a": "30", "place-b": "20", "place-c": "10", "base": 1}
    client.post(url("organise_pages"), given)
    assert [one["name"] for one in Version.objects.get(number=2).pages] == ["c", "b", "a"]
    client.post(url("organise_pages"), given | {"order": ["a", "b"], "base": 2})
    assert Version.objects.count() == 2


# Data


def reference_zip(world, cases=("CHUV001", "CHUV002", "CHUV003")):
    folder = world.data / world.references["test"].folder
    return bundle(
        **{f"{case}.nii.gz": (folder / f"{case}.nii.gz").read_bytes() for case in cases}
        | {"cases.csv": "case\n" + "\n".join(cases)}
    )


def test_a_reference_is_uploaded_on_the_page_and_what_is_behind_is_told(world):
    world.scored("Rigi", "test")
    page = post(world, "organise_reference", phase="test", reason="Mended.", file=reference_zip(world)).content.decode()
    assert "Version 2 of the reference is in force: 3 cases" in page
    assert "1 submission has results of another version" in page
    assert Reference.objects.get(phase="test", number=2).note == "Mended."
    assert not Upload.objects.exists()


def test_a_reference_that_cannot_be_used_is_refused_with_all_problems(world):
    sent = bundle(**{"CHUV001.nii.gz": b"x", "CHUV002.nii.gz": b"y"})
    page = post(world, "organise_reference", phase="test", reason="x", file=sent).content.decode()
    assert "CHUV001" in page
    assert "CHUV002" in page
    assert Reference.objects.filter(phase="test").count() == 1
    assert not Upload.objects.exists()


def test_a_file_that_is_refused_is_called_as_it_was_sent(world):
    sent = SimpleUploadedFile("notes.txt", b"no zip at all")
    page = post(world, "organise_reference", phase="test", reason="x", file=sent).content.decode()
    assert "notes.txt: neither a folder nor a zip archive" in page


def test_a_file_that_came_in_pieces_before_is_used_once_and_by_who_sent_it(world):
    from isocenter.server.submitting import uploads

    content = reference_zip(world).read()

    def begun(who):
        upload = uploads.begin(
            world.people[who],
            challenge=world.challenge,
            phase="test",
            purpose="reference",
            name="r.zip",
            size=len(content),
        )
        uploads.append(upload, io.BytesIO(content), offset=0, length=len(content))
        return upload.pk

    theirs, mine = begun("staff"), begun("organiser")
    for upload in (theirs, "nonsense", ""):
        post(world, "organise_reference", phase="test", reason="x", upload=upload)
        assert Reference.objects.filter(phase="test").count() == 1
    for _ in range(2):
        post(world, "organise_reference", phase="test", reason="x", upload=mine)
    assert Reference.objects.filter(phase="test").count() == 2
    assert Upload.objects.get().pk == theirs


def test_data_are_released_changed_and_withdrawn(world):
    sent = SimpleUploadedFile("train.zip", b"data")
    post(
        world,
        "organise_release",
        title="Training",
        phase="validation",
        licence="CC BY",
        released="2026-03-05T12:00",
        file=sent,
    )
    one = Release.objects.get()
    assert (one.name, one.phase, one.licence, one.released.isoformat()) == (
        "train.zip",
        "validation",
        "CC BY",
        "2026-03-05T12:00:00+00:00",
    )
    assert (world.data / one.file).read_bytes() == b"data"
    post(
        world,
        "organise_release_edit",
        one.key,
        title="Training cases",
        licence="CC BY 4.0",
        text="",
        released="",
        reason="A typo.",
    )
    one.refresh_from_db()
    assert (one.title, one.released) == ("Training cases", None)
    post(world, "organise_release_edit", one.key, withdraw="1", reason="A name was in it.")
    assert not Release.objects.exists()
    assert list(Decision.objects.values_list("what", flat=True)) == ["change a release", "withdraw data"]


# People and teams


def test_registrations_are_decided_with_their_answers_beside(world):
    toml = (
        world.challenge.version.toml
        + '\n[[registration]]\nname = "area"\nlabel = "Research area"\nkind = "text"\nrequired = true\n'
    )
    Version.objects.filter(number=1).update(toml=toml)
    row = Registration.objects.get(user=world.people["waiting"])
    row.answers = {"area": "Physics <b>"}
    row.save()
    page = world.client("organiser").get(url("organise_participants"), {"state": "waiting"}).content.decode()
    assert "Research area" in page
    assert "Physics &lt;b&gt;" in page
    assert "alice@example.org" not in page
    post(world, "organise_participants", registration=row.pk, action="refuse", reason="")
    row.refresh_from_db()
    assert row.state == "waiting"
    for _ in range(2):
        post(world, "organise_participants", registration=row.pk, action="accept")
    row.refresh_from_db()
    assert row.state == "accepted"
    assert Decision.objects.count() == Notification.objects.filter(user=world.people["waiting"]).count() == 1


def test_the_table_of_participants_is_safe_for_a_spreadsheet_and_has_no_answers_on_equity(world):
    world.people["alice"].name = "=cmd()"
    world.people["alice"].save()
    text = world.client("organiser").get(url("organise_participants_csv")).content.decode()
    assert "'=cmd()" in text
    assert text.splitlines()[0] == "name,email,institution,state,team,registered"
    text = world.client("organiser").get(url("organise_participants_csv"), {"q": "carol"}).content.decode()
    assert len(text.splitlines()) == 2


def test_a_decision_on_a_team_by_a_form_is_done_once(world):
    team = world.teams["Rigi"]
    for _ in range(2):
        post(world, "organise_team", team.key, action="disqualify", reason="Two accounts.")
        post(world, "organise_team", team.key, action="grant", phase="validation", extra="2", seen="0", reason="A bug.")
        post(world, "organise_team", team.key, action="invite", phase="final", reason="Good work.")
    assert Decision.objects.count() == 3
    assert Grant.objects.get().extra == 2
    page = post(world, "organise_team", team.key, action="reinstate", reason=" ").content.decode()
    assert "Say why" in page
    page = post(world, "organise_team", team.key, action="explode", reason="x").content.decode()
    assert "nothing was changed" in page
    assert Decision.objects.count() == 3


def test_a_document_of_a_request_is_downloaded_by_organisers_and_logged(world):
    (world.data / "documents").mkdir()
    (world.data / "documents/x.pdf").write_bytes(b"%PDF")
    access = Access.objects.create(team=world.teams["Rigi"], phase="final", text="Please.", document="documents/x.pdf")
    assert world.client("carol").get(url("organise_document", access.key)).status_code == 403
    answer = world.client("organiser").get(url("organise_document", access.key))
    assert b"".join(answer.streaming_content) == b"%PDF"
    assert answer["Content-Disposition"].startswith("attachment")
    assert Download.objects.get().what == "document of Rigi for final"
    page = post(world, "organise_requests", access=access.key, action="grant", reason="Welcome.").content.decode()
    assert "Rigi takes part, and is told." in page


def test_organisers_are_added_by_their_address(world):
    page = post(
        world, "organise_roles", action="add", email="carol@example.org", kind="organiser", reason="Helps."
    ).content
    assert b"Added, and told by mail." in page
    assert world.client("carol").get(url("organise")).status_code == 200
    post(world, "organise_roles", action="approve", reason="A closed event.")
    world.challenge.refresh_from_db()
    assert world.challenge.approval


# Submissions


def test_a_submission_is_refunded_voided_and_evaluated_again(world):
    one = world.scored("Rigi", "validation")
    for action in ("refund", "void", "again", "again"):
        post(world, "organise_submission", one.pk, action=action, reason="A bug.")
    one.refresh_from_db()
    assert (one.excepted, one.void) == (True, True)
    assert list(Decision.objects.order_by("number").values_list("what", flat=True)) == ["refund", "void", "re-evaluate"]
    assert Run.objects.filter(kind="score", submission=one).count() == 1


def test_one_that_waits_is_cancelled_at_no_cost(world):
    from isocenter.server.work import queue

    one = world.submission("Rigi", "validation")
    queue.enqueue("score", world.challenge, submission=one)
    post(world, "organise_submission", one.pk, action="cancel", reason="It hangs.")
    one.refresh_from_db()
    assert (one.state, one.excepted) == ("cancelled", True)
    page = post(world, "organise_submission", one.pk, action="cancel", reason="It hangs.").content.decode()
    assert "nothing to cancel" in page


def test_everything_of_a_phase_is_evaluated_again_once(world):
    for team in ("Rigi", "Pilatus"):
        world.scored(team, "validation")
    page = post(world, "organise_again", phase="validation", reason="A new metric.").content.decode()
    assert "2 submissions to Validation are evaluated again." in page
    post(world, "organise_again", phase="validation", reason="A new metric.")
    assert Run.objects.filter(kind="score").count() == 2
    assert Decision.objects.get().subject == "validation, 2 submissions"


def test_what_a_program_printed_is_for_organisers_alone(world):
    one = world.submission("Rigi", "validation", state="failed", reason="crashed")
    Run.objects.create(
        kind="score", challenge=world.challenge, submission=one, state="failed", detail="secret of the evaluator"
    )
    assert "secret of the evaluator" in world.client("organiser").get(url("organise")).content.decode()
    assert (
        "secret of the evaluator" in world.client("organiser").get(url("organise_submission", one.pk)).content.decode()
    )
    assert world.client("alice").get(url("organise_submission", one.pk)).status_code == 403
    assert "secret of the evaluator" not in world.client("alice").get(url("submission", one.pk)).content.decode()


def test_a_benchmark_is_handed_in_by_a_form(world):
    sent = reference_zip(world)
    page = post(world, "organise_benchmark", name="Human", phase="test", reason="A reader.", file=sent).content.decode()
    assert "Human waits to be scored." in page
    assert Submission.objects.get().team.kind == "benchmark"
    page = post(
        world, "organise_benchmark", phase="test", reason="A reader.", file=reference_zip(world)
    ).content.decode()
    assert "Choose a benchmark, or name a new one." in page
    wrong = SimpleUploadedFile("t.parquet", b"PAR1 and nothing more")
    post(world, "organise_benchmark", name="Ghost", phase="test", reason="A reader.", file=wrong)
    assert not Team.objects.filter(name="Ghost").exists()


# Publishing


def test_results_are_published_now_by_a_form_once(world):
    world.at.move(days=61)
    world.scored("Rigi", "test")
    making.make_boards(world.challenge, "test")
    page = post(
        world, "organise_publishing", action="results", phase="test", reason="All is scored.", base=1
    ).content.decode()
    assert "The results are out" in page
    post(world, "organise_publishing", action="results", phase="test", reason="All is scored.", base=1)
    assert Version.objects.count() == 2
    assert running.due(world.at.now) == 0
    told = Notification.objects.filter(user=world.people["alice"], text__contains="are out.")
    assert told.count() == 1


def test_code_is_released_and_reports_are_ordered_by_a_form(world):
    link = CodeLink.objects.create(team=world.teams["Rigi"], phase="validation", url="https://example.org")
    post(world, "organise_publishing", action="code", link=link.pk, to="test", reason="As the rules say.")
    link.refresh_from_db()
    assert link.released_to == "test"
    world.scored("Rigi", "validation")
    for _ in range(2):
        post(world, "organise_publishing", action="report", phase="validation", pictures="1", evil="1")
    post(world, "organise_publishing", action="archive", references="1")
    assert sorted(Run.objects.filter(kind__in=["report", "archive"]).values_list("kind", flat=True)) == [
        "archive",
        "report",
    ]


def test_what_is_for_organisers_alone_says_why_and_offers_no_button(world):
    made = Artefact.objects.create(
        challenge=world.challenge, kind="archive", folder="artefacts/one", phase="", made=world.at.now
    )
    (world.data / made.folder).mkdir(parents=True)
    note = world.data / made.folder / "artefact.json"
    note.write_text('{"phases": ["test"], "everybody": false, "why": "It holds <files> of teams."}')
    page = world.client("organiser").get(url("organise_publishing")).content.decode()
    assert "It holds &lt;files&gt; of teams." in page
    assert "Everybody can read it from now on." not in page
    note.write_text('{"phases": ["test"], "everybody": true, "why": ""}')
    assert (
        "Everybody can read it from now on."
        in world.client("organiser").get(url("organise_publishing")).content.decode()
    )


def test_decisions_on_a_team_are_of_this_team_and_no_other(world):
    for subject in ("Rigi", "Rigi, test", "Rigi Kulm", "Rigi Kulm, test"):
        decisions.record(world.challenge, world.people["organiser"], "grant", subject, f"for {subject}.")
    page = world.client("organiser").get(url("organise_team", world.teams["Rigi"].key)).content.decode()
    assert "for Rigi." in page
    assert "for Rigi, test." in page
    assert "Kulm" not in page


def test_a_bonus_that_no_board_decides_is_handed_out_once(world):
    bonus = '\n[[bonuses]]\ntitle = "Best idea"\namount = "100"\ncurrency = "EUR"\nphase = "validation"\n'
    Version.objects.filter(number=1).update(toml=world.challenge.version.toml + bonus)
    world.scored("Rigi", "validation")
    making.make_boards(world.challenge, "validation")
    page = world.client("organiser").get(url("organise_publishing")).content.decode()
    assert "Hand out “Best idea”" in page
    given = {"action": "bonus", "phase": "validation", "title": "Best idea", "team": "Rigi", "reason": "It was."}
    for _ in range(2):
        page = post(world, "organise_publishing", **given).content.decode()
    assert Decision.objects.count() == 1
    assert "Hand out “Best idea”" not in page


def test_the_challenge_is_published_with_a_reason(world):
    Challenge.objects.update(published=False)
    assert world.client("stranger").get("/c/neck/").status_code == 404
    page = post(world, "organise_publish", action="publish", reason="").content.decode()
    assert "Say why" in page
    post(world, "organise_publish", action="publish", reason="All is ready.")
    assert world.client("stranger").get("/c/neck/").status_code == 200
    assert decisions.entries(world.challenge)[0].decision.what == "publish"


def test_a_phase_that_was_closed_just_now_can_be_published_at_once(world):
    world.at.move(microseconds=250_000)  # moments of phases are whole seconds, so it closes at the next one
    page = post(
        world, "organise_publishing", action="close", phase="validation", base="1", reason="A leak."
    ).content.decode()
    assert "The phase is closed" in page
    assert "Publish the results now" in page
    assert "Close it now" not in page


@pytest.mark.parametrize("code", ["openkbp2020", "picai2022", "doserad2026", "hecktor2020"])
def test_files_are_described_to_people_and_not_to_programmers(code):
    challenge = load_challenge(code)
    for spec in (*challenge.output.values(), *challenge.reference.values()):
        said = described(spec).what
        assert "(or" not in described(spec).name
        assert len(said.split()) > 4
        assert not any(word in said for word in ("Attributes", "---", "ead as", "`"))


def test_who_uploads_a_reference_reads_what_it_holds(world):
    page = world.client("organiser").get(url("organise_data")).content.decode()
    assert "A mask: 0 is nothing, 1 is tumour, 2 is nodes." in page
