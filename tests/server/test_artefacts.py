"""Reports: ordered, made by a worker, and shown to whom they may be shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from board_worlds import hosts, made
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conftest import CASES, World
from isocenter.editions import alias, parse
from isocenter.papers import FolderError, open_folder
from isocenter.server.archiving import artefacts
from isocenter.server.archiving.edition_folder import listed, write_folder
from isocenter.server.boards.names_told import Names
from isocenter.server.models import Artefact, Download, Membership, Registration, Run, SurveyAnswers
from isocenter.server.policy import Visit
from isocenter.server.work import queue

APRIL = datetime(2026, 4, 10, 12, tzinfo=UTC)
MAY = datetime(2026, 5, 20, 12, tzinfo=UTC)
HIDDEN = alias("Rigi", b"a secret of the edition")


def visit(world: World, who: str = "organiser") -> Visit:
    return Visit(world.people[who], world.challenge)


def results(world: World) -> None:
    """Results of the test phase: Pilatus is first, and the only one who is announced."""
    world.at.now = APRIL
    world.scored("Rigi", "test", 3)
    world.scored("Pilatus", "test", dict(zip(CASES, (4, 4, 3), strict=True)))
    made(world, "test")


def work(run: Run) -> Artefact:
    claimed = queue.claim("worker", ["default"])
    assert claimed is not None
    assert claimed.pk == run.pk
    return artefacts.make(claimed)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few draws, and no PDF: what is tested here is who gets what."""
    from isocenter import papers

    monkeypatch.setattr(artefacts, "_REPLICATES", 50)
    plain = papers.write_report
    monkeypatch.setattr(papers, "write_report", lambda report, folder: plain(report, folder, pdf=False))


def test_only_organisers_order(world):
    for who in ("alice", "reader", "stranger"):
        with pytest.raises(PermissionDenied):
            artefacts.order(visit(world, who), "report", "test")
    with pytest.raises(ValueError, match="phases are validation, test, final"):
        artefacts.order(visit(world), "report", "nothing")
    with pytest.raises(ValueError, match="There is no poem"):
        artefacts.order(visit(world), "poem")
    assert not Run.objects.exists()


def test_who_orders_twice_gets_one_and_other_wishes_are_others(world):
    first = artefacts.order(visit(world), "report", "test")
    assert artefacts.order(visit(world), "report", "test") == first
    assert artefacts.order(visit(world), "report", "test", all_names=True) != first
    assert artefacts.order(visit(world), "report") != first
    assert artefacts.order(visit(world), "archive", submissions=True) != artefacts.order(visit(world), "archive")


def test_a_report_is_made_whole_with_a_pdf(world, monkeypatch):
    monkeypatch.setattr(artefacts, "_REPLICATES", 50)
    results(world)
    found = work(artefacts.order(visit(world), "report", "test"))
    names = dict(artefacts.files_of(found))
    assert {"report.html", "report.pdf", "report.json"} <= set(names)
    assert any(name.startswith("data/") for name in names)
    assert all(names.values())
    assert Run.objects.get().state == Run.State.DONE
    left = [path.name for path in (world.data / "artefacts").iterdir()]
    assert left == [str(found.pk)]  # no folder of an edition, no half-made report


def test_a_report_has_the_names_that_are_announced(world, quick):
    results(world)
    found = work(artefacts.order(visit(world), "report", "test"))
    texts = [path.read_text() for path in (world.data / found.folder).rglob("*") if path.is_file()]
    assert any("Pilatus" in text and HIDDEN in text for text in texts)
    assert not any("Rigi" in text for text in texts)


def told(world: World, artefact: Artefact) -> str:
    return "".join(path.read_text() for path in (world.data / artefact.folder).rglob("*") if path.is_file())


def test_a_report_for_everybody_has_the_cases_of_no_hidden_phase(world, quick):
    world.challenge.version.cohort = [{"phase": "test", "case": case, "grade": "G4"} for case in CASES]
    world.challenge.version.save()
    for name, size in (("Rigi", 3), ("Pilatus", 4)):
        world.scored(name, "validation", size)
    made(world, "validation")
    open_to_all = work(artefacts.order(visit(world), "report", "validation"))  # teams see their cases there
    assert CASES[0] in told(world, open_to_all)
    results(world)
    whole = work(artefacts.order(visit(world), "report", "test", all_names=True))
    assert CASES[0] in told(world, whole)
    assert "winner-differences" in told(world, whole)
    for phase in ("test", "validation"):  # of the one, and of one that draws from it when its results are out
        world.at.now = MAY
        found = work(artefacts.order(visit(world), "report", phase))
        assert artefacts.note_of(found).everybody
        assert not any(case in told(world, found) for case in CASES)
        assert "G4" not in told(world, found)
        assert "0.9523809" not in told(world, found)
        assert "board-dice" in told(world, found)


def test_a_report_with_all_names_is_for_organisers_whatever_is_published(world, quick):
    results(world)
    found = work(artefacts.order(visit(world), "report", "test", all_names=True))
    assert "Rigi" in (world.data / found.folder / "report.html").read_text()
    Artefact.objects.update(published=True)
    world.at.now = MAY
    url = f"/c/neck/artefacts/{found.pk}/"
    assert world.client("alice").get(url).status_code == 404
    assert "for organisers alone" in world.client("organiser").get(url).content.decode()


def test_others_see_a_report_once_it_is_published_and_its_results_are_out(world, quick):
    results(world)
    found = work(artefacts.order(visit(world), "report", "test"))
    page, html = f"/c/neck/artefacts/{found.pk}/", f"/c/neck/artefacts/{found.pk}/files/report.html"

    def seen(who: str) -> tuple[int, int, bool]:
        client = world.client(who)
        listed = str(found.pk) in client.get("/c/neck/boards/").content.decode()
        served = client.get(html)
        served.close()
        return client.get(page).status_code, served.status_code, listed

    for who in ("", "alice", "reader"):
        assert seen(who) == (404, 404, False)
    assert seen("organiser")[:2] == (200, 200)
    Artefact.objects.update(published=True)
    assert seen("alice") == (404, 404, False)  # the results are not out
    world.at.now = MAY
    for who in ("", "alice", "reader"):
        assert seen(who) == (200, 200, True)


def test_a_report_runs_in_a_sandbox_and_its_other_files_are_downloads(world, quick):
    results(world)
    found = work(artefacts.order(visit(world), "report", "test"))
    client = world.client("organiser")
    page = client.get(f"/c/neck/artefacts/{found.pk}/files/report.html")
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy
    assert "attachment" not in page.headers.get("Content-Disposition", "")
    page.close()
    data = client.get(f"/c/neck/artefacts/{found.pk}/files/report.json")
    assert data.headers["Content-Disposition"].startswith("attachment")
    assert json.loads(data.getvalue())
    assert [one.what.partition(": ")[2] for one in Download.objects.order_by("pk")] == ["report.html", "report.json"]


@pytest.mark.parametrize(
    "name", ["artefact.json", "../../secret.key", "..%2f..%2fsecret.key", "data", "/etc/passwd", "nothing.csv"]
)
def test_no_other_file_is_served(world, quick, name):
    (world.data / "secret.key").write_text("secret")
    results(world)
    found = work(artefacts.order(visit(world), "report", "test"))
    assert world.client("organiser").get(f"/c/neck/artefacts/{found.pk}/files/{name}").status_code == 404


def test_another_challenge_has_none_of_its_artefacts(world, quick):
    results(world)
    found = work(artefacts.order(visit(world), "report", "test"))
    Artefact.objects.update(published=True)
    world.at.now = MAY
    world.challenge.pk = None
    world.challenge.slug, world.challenge.salt = "other", b"another"
    world.challenge.save()
    assert world.client("staff").get(f"/c/other/artefacts/{found.pk}/").status_code == 404


def test_an_early_report_has_nothing_of_later_phases(world, quick):
    results(world)
    world.at.now = MAY
    before = work(artefacts.order(visit(world), "report", "test"))
    world.scored("Pilatus", "final", 4)
    made(world, "final")
    after = work(artefacts.order(visit(world), "report", "test"))
    assert artefacts.note_of(after).phases == ("validation", "test")
    first, second = (
        {path.name: path.read_bytes() for path in (world.data / one.folder).rglob("*") if path.is_file()}
        for one in (before, after)
    )
    assert first == second


def test_a_report_does_not_say_that_nobody_took_part_in_a_phase_whose_numbers_are_hidden(world, quick):
    for name in ("Rigi", "Pilatus"):
        world.scored(name, "validation", 3)
    made(world, "validation")
    results(world)
    found = work(artefacts.order(visit(world), "report", "validation"))
    rows = (world.data / found.folder / "data" / "participation-by-phase.csv").read_text().splitlines()
    assert [row.rsplit(",", 2)[1:] for row in rows[1:]] == [["2", "2"], ["", ""]]


def test_a_report_does_not_speak_of_a_phase_that_nobody_has_heard_of(world, quick):
    results(world)
    world.challenge.version.toml = world.challenge.version.toml.replace('title = "Final"', 'title = "Grande Finale"')
    world.challenge.version.save()
    found = work(artefacts.order(visit(world), "report", "test"))  # in April, the final is not announced
    assert "Grande Finale" not in (world.data / found.folder / "report.html").read_text()
    world.at.now = MAY
    later = work(artefacts.order(visit(world), "report", "test"))
    assert "Grande Finale" in (world.data / later.folder / "report.html").read_text()


def test_whoever_lost_the_lease_leaves_nothing(world, quick):
    results(world)
    artefacts.order(visit(world), "report", "test")
    run = queue.claim("worker", ["default"])
    assert run is not None
    Run.objects.filter(pk=run.pk).update(lease="00000000-0000-0000-0000-000000000001")
    with pytest.raises(queue.LeaseLost):
        artefacts.make(run)
    assert not Artefact.objects.exists()
    assert list((world.data / "artefacts").iterdir()) == []


def test_without_results_there_is_no_report_but_a_reason(world, quick):
    artefacts.order(visit(world), "report", "test")
    run = queue.claim("worker", ["default"])
    assert run is not None
    with pytest.raises(FolderError):
        artefacts.make(run)
    assert not Artefact.objects.exists()


def test_a_report_that_came_from_elsewhere_is_as_public_as_it_is_made(world):
    folder = world.data / "artefacts" / "own"
    folder.mkdir(parents=True)
    (folder / "report.html").write_text("<h1>Own</h1>")
    made: dict[str, Any] = {"challenge": world.challenge, "phase": "validation", "folder": "artefacts/own"}
    report = Artefact.objects.create(kind="report", published=True, **made)
    archive = Artefact.objects.create(kind="archive", published=True, **made)
    assert not artefacts.may_see(visit(world, "alice"), report)
    world.at.now = APRIL
    assert artefacts.may_see(visit(world, "alice"), report)
    assert not artefacts.may_see(visit(world, "alice"), archive)
    (folder / "artefact.json").write_text("{broken")
    assert not artefacts.may_see(visit(world, "alice"), report)


# --- the folder ------------------------------------------------------------------------------------------------------


def folder(world: World, home: Path, phase: str = "test", **options: Any) -> Path:
    names = options.pop("names", Names(world.challenge, announced=False))
    write_folder(world.challenge, phase, home, phases=["validation", "test"], names=names, **options)
    return home


def test_the_folder_is_one_that_the_library_reads(world, tmp_path):
    results(world)
    hosts(world)
    world.scored("Hosts", "test", 4)
    lost = world.scored("Rigi", "test", 2, void=True)
    found = open_folder(folder(world, tmp_path / "edition", pictures=True), phase="test")
    entries = {(entry.team, entry.role, entry.void) for entry in found.entries}
    assert entries == {
        ("Rigi", "team", False),
        ("Rigi", "team", True),
        ("Pilatus", "team", False),
        ("Hosts", "organiser", False),
    }
    assert all(entry.outputs is not None and entry.outputs.exists() for entry in found.entries)
    assert next(entry for entry in found.entries if entry.void).table.stem == str(lost.pk)
    assert sorted(path.name for path in (tmp_path / "edition" / "reference").iterdir()) == [
        f"{c}.nii.gz" for c in CASES
    ]


def test_of_what_came_at_one_moment_the_order_is_always_the_same(world, tmp_path):
    world.at.now = APRIL
    for key, team in ((2, "Rigi"), (1, "Pilatus")):
        world.scored(team, "test", 4, id=UUID(int=key))
    with CaptureQueriesContext(connection) as asked:
        home = folder(world, tmp_path / "edition", people=True)
    rows = (home / "submissions.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["Pilatus", "Rigi"]
    # A database may keep its own order by chance, so the question itself is looked at.
    for table in ("submission", "registration"):
        [last] = {
            one["sql"].rsplit("ORDER BY", 1)[-1].split(",")[-1].strip()
            for one in asked.captured_queries
            if f'FROM "site_{table}"' in one["sql"] and f'"site_{table}"."made" ASC' in one["sql"]
        }
        assert last == f'"site_{table}"."id" ASC'


def test_what_was_granted_beyond_the_quota_counts_in_the_folder_too(world, tmp_path):
    world.at.now = APRIL
    for size in (2, 3, 4):  # the quota of the phase is 2, and the last counts
        world.scored("Rigi", "test", size)
        world.at.move(hours=1)
    home = folder(world, tmp_path / "edition")
    edition = parse((home / "challenge.toml").read_text())
    assert [phase.quota for phase in edition.phases] == [3, None, 1]
    assert edition.title == world.challenge.edition.title


def test_a_file_that_fits_is_left_as_the_organisers_wrote_it(world, tmp_path):
    results(world)
    home = folder(world, tmp_path / "edition")
    assert (home / "challenge.toml").read_text() == world.challenge.version.toml


def test_a_submission_that_was_let_in_late_has_no_time(world, tmp_path):
    world.at.now = MAY
    world.scored("Rigi", "test", 3)
    home = folder(world, tmp_path / "edition")
    (entry,) = open_folder(home, phase="test").entries
    assert entry.moment is None
    assert not entry.void


def test_teams_that_have_to_choose_and_have_not_do_not_count(world):
    world.challenge.version.toml = world.challenge.version.toml.replace('counts = "last"', 'counts = "chosen"')
    world.challenge.version.save()
    world.at.now = APRIL
    for name in ("Rigi", "Rigi", "Pilatus", "Pilatus"):
        world.scored(name, "test", 3)
    world.teams["Pilatus"].submissions.filter(number=1).update(nominated=True)
    said = {
        (one.submission.team.name, one.submission.number): (one.void, one.chosen)
        for one in listed(world.challenge, ["test"])
    }
    assert said == {
        ("Rigi", 1): (True, False),
        ("Rigi", 2): (True, False),
        ("Pilatus", 1): (False, True),
        ("Pilatus", 2): (False, False),
    }


FORMS = """
[[registration]]
name = "country"
label = "Country"
kind = "country"

[[registration]]
name = "full_name"
label = "Name"
kind = "text"

[[survey]]
name = "network"
label = "Network"
kind = "choice"
choices = ["U-Net", "Other…"]

[[survey]]
name = "words"
label = "In words"
kind = "long"
"""


def test_answers_in_own_words_are_in_no_file(world, tmp_path):
    world.challenge.version.toml += FORMS
    world.challenge.version.save()
    results(world)
    Registration.objects.update(answers={"country": "Norway", "full_name": "Alice Example"})
    answers = {"network": "Other: by Alice Example", "words": "We are alice@example.org"}
    SurveyAnswers.objects.create(team=world.teams["Rigi"], answers=answers)
    home = folder(world, tmp_path / "edition", people=True, names=Names(world.challenge, announced=True))
    assert (home / "survey.csv").read_text() == f"team,network\n{HIDDEN},Other\n"
    rows = (home / "participants.csv").read_text().splitlines()
    assert rows[0] == "team,country"
    assert sorted(rows[1:]) == sorted([f"{HIDDEN},Norway"] * 2 + ["Pilatus,Norway"])
    everything = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"Alice" not in everything
    assert b"@example.org" not in everything
    assert Membership.objects.count() == 3


def test_facts_about_cases_are_those_of_the_phase(world, tmp_path):
    world.challenge.version.cohort = [
        {"phase": "test", "case": "CHUV001", "centre": "A"},
        {"phase": "final", "case": "SECRET", "centre": "B"},
        {"case": "CHUV002", "centre": "C"},
    ]
    world.challenge.version.save()
    results(world)
    home = folder(world, tmp_path / "edition")
    assert (home / "cases.csv").read_text() == "case,centre\nCHUV001,A\nCHUV002,C\n"
