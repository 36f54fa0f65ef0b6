"""One submission on several cohorts of its phase: from the upload to the boards, the archive and its report."""

from __future__ import annotations

import csv
import importlib
import io
import shlex
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core import mail
from django.urls import reverse
from typer.testing import CliRunner

from conftest import CASES, GRID, TOML, World, mask, zipped
from isocenter.cli import app
from isocenter.server import boards, clock
from isocenter.server.archiving import archive, artefacts
from isocenter.server.editions import code_of
from isocenter.server.hosting import checks
from isocenter.server.models import (
    Artefact,
    CaseResult,
    Challenge,
    Decision,
    Evaluation,
    Notification,
    Reference,
    Run,
    Snapshot,
    Submission,
    Version,
)
from isocenter.server.organising import importing, readiness, running, versioning
from isocenter.server.organising.versioning import Refused
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake, measured, uploads
from isocenter.server.work import children, faults, holding, making, working
from isocenter.server.work.in_force import evaluation_of
from isocenter.volumes import Volume, write

MAY = datetime(2026, 5, 15, 12, tzinfo=UTC)
"""The results of the phase are out since April, those of the holdout since the tenth."""
COHORTS = """visibility = "public"

[[phases.cohorts]]
name = "holdout"
title = "Holdout"
results = 2026-05-10T00:00:00Z
"""
SECOND = """
[[phases.cohorts]]
name = "external"
title = "Other hospitals"
visibility = "own"
"""
HOLDOUT = ("HOLD01", "HOLD02")
EXTERNAL = ("EXT001",)

SOURCE = '''
"""HECKTOR by an organiser whose code may break on a case of the holdout."""
from dataclasses import replace
from isocenter import evaluation

base = evaluation.load_challenge("hecktor2020")

def measure(reference, output):
    yield from base.measure(reference, output)

def prepare(case):
    if {broken} and case.name == "HOLD02":
        raise RuntimeError("SECRET of the holdout")
    return base.prepare(case)

challenge = replace(base, prepare=prepare, measure=measure)
'''


@dataclass
class Site:
    """The challenge whose validation phase has a holdout, and workers."""

    world: World
    commits: Any

    def reference(self, phase: str, cases: Mapping[str, int] | tuple[str, ...], **given: Any) -> Reference:
        """Upload a reference, as organisers do."""
        sizes = cases if isinstance(cases, Mapping) else dict.fromkeys(cases, 4)
        folder = self.world.scratch / f"reference-{phase}-{Reference.objects.count()}"
        folder.mkdir(parents=True)
        for case, size in sizes.items():
            write(Volume(mask(size), GRID), folder / f"{case}.nii.gz")
        return importing.add_reference(self.challenge, phase, folder, user=self.world.people["organiser"], **given)

    @property
    def challenge(self) -> Challenge:
        return Challenge.objects.get(pk=self.world.challenge.pk)

    def hand_in(self, name: str, sizes: Mapping[str, int], **more: Any) -> Submission:
        """Send a zip and hand it in, as a team does."""
        content = zipped(sizes, self.world.scratch / f"{name}-{Submission.objects.count()}")
        user = self.world.people[name]
        how = {"challenge": self.challenge, "phase": "validation", "purpose": "submission"}
        upload = uploads.begin(user, **how, name="t.zip", size=len(content))
        uploads.append(upload, io.BytesIO(content), offset=0, length=len(content))
        return intake.submit(self.visit(name), "validation", upload, declarations={}, **more)

    def work(self) -> None:
        """What a worker does until nothing waits."""
        with self.commits(execute=True):
            working.work(threading.Event(), name="w", once=True)

    def visit(self, name: str) -> Visit:
        return Visit(self.world.people[name], self.challenge)

    def rows(self, phase: str) -> list[tuple[str, float]]:
        """The teams of the last board of a phase, with their scores; the best first."""
        last = boards.latest(self.challenge, phase)
        return [] if last is None else [(row["submission"], round(row["score"], 3)) for row in last.content["rows"]]

    def page(self, name: str, path: str, status: int = 200) -> str:
        answer = self.world.client(name).get(path)
        assert answer.status_code == status, (path, answer.status_code)
        return answer.content.decode()


def sizes(own: int, holdout: int) -> dict[str, int]:
    """Masks of a submission: of so many slices in the phase's own cases, and in those of the holdout."""
    return dict.fromkeys(CASES, own) | dict.fromkeys(HOLDOUT, holdout)


DICE = {size: round(2 * min(size, 4) / (size + 4), 3) for size in range(1, 8)}
"""By slices of a mask, its Dice with a reference of four."""


def with_cohorts(world: World, more: str = "") -> None:
    text = TOML.replace('visibility = "public"\n', COHORTS + more, 1)
    number = Version.objects.filter(challenge=world.challenge).count() + 1
    version = Version.objects.create(challenge=world.challenge, number=number, toml=text, made=world.at.now)
    world.challenge.version = version
    world.challenge.save()


@pytest.fixture
def site(world, monkeypatch, django_capture_on_commit_callbacks) -> Site:
    def tick() -> Any:
        world.at.move(milliseconds=1)
        return world.at.now

    monkeypatch.setattr(clock, "source", tick)  # boards follow one another
    with_cohorts(world)
    return Site(world, django_capture_on_commit_callbacks)


@pytest.fixture
def played(site) -> Site:
    """Rigi handed in twice, Pilatus once; everything is scored, on the holdout too."""
    site.reference("validation.holdout", HOLDOUT)
    site.hand_in("alice", sizes(4, 1))
    site.hand_in("alice", sizes(2, 4), again=True)
    site.hand_in("carol", sizes(3, 3))
    site.work()
    return site


# Handing in


def test_outputs_of_all_cohorts_are_asked_for_in_one_list(site):
    site.reference("validation.holdout", HOLDOUT)
    with pytest.raises(intake.Refused) as refused:
        site.hand_in("alice", {"CHUV001": 4, "HOLD01": 4})
    assert [one.case for one in refused.value.problems] == ["CHUV002", "CHUV003", "HOLD02"]
    submit = site.page("alice", "/c/neck/submit/validation/")
    for case in (*CASES, *HOLDOUT):
        assert case in submit
    assert "Holdout" not in submit  # which cases are held out is not said there


def test_files_of_the_other_cohort_are_not_unexpected(played):
    one = Submission.objects.get(team__name="Pilatus")
    assert (one.state, one.problems) == ("scored", [])


def test_an_output_that_cannot_be_used_refuses_it_whatever_its_cohort(site):
    site.reference("validation.holdout", HOLDOUT)
    one = site.hand_in("alice", sizes(4, 4))
    broken = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO((site.world.data / one.file).read_bytes())) as old,
        zipfile.ZipFile(broken, "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, b"no image" if name in ("HOLD01.nii.gz", "CHUV002.nii.gz") else old.read(name))
    (site.world.data / one.file).write_bytes(broken.getvalue())
    site.work()
    one.refresh_from_db()
    assert one.state == "refused"
    assert [row["case"] for row in one.problems] == ["CHUV002", "HOLD01"]
    assert not Evaluation.objects.exists()


def test_gaps_that_are_meant_count_as_the_rules_say_and_are_told(site):
    site.reference("validation.holdout", HOLDOUT)
    one = site.hand_in("alice", dict.fromkeys(CASES, 4) | {"HOLD01": 4}, gaps=True)
    site.work()
    one.refresh_from_db()
    assert site.rows("validation.holdout") == [("Rigi", 0.5)]
    assert [(row["case"], row["severity"]) for row in one.problems] == [("HOLD02", "missing")]


# Scores and boards


def test_a_submission_is_scored_on_every_cohort_and_each_has_its_board(played):
    one = Submission.objects.get(team__name="Pilatus")
    assert {
        row.reference.phase: round(row.values["dice"], 3) for row in one.evaluations.select_related("reference")
    } == {
        "validation": DICE[3],
        "validation.holdout": DICE[3],
    }
    assert set(CaseResult.objects.filter(submission=one).values_list("case", flat=True)) == {*CASES, *HOLDOUT}
    assert played.rows("validation") == [("Rigi", 1.0), ("Pilatus", DICE[3])]


def test_which_submission_counts_is_decided_without_the_holdout(played):
    """On the holdout the second submission of Rigi is perfect; the first counts, as it is the best in the phase."""
    first = Submission.objects.get(team__name="Rigi", number=1)
    assert played.rows("validation.holdout") == [("Pilatus", DICE[3]), ("Rigi", DICE[1])]
    last = boards.latest(played.challenge, "validation.holdout")
    assert {entry["row"]: entry["submission"] for entry in last.entries}["Rigi"] == str(first.pk)
    Submission.objects.filter(pk=first.pk).update(void=True)
    for phase in ("validation", "validation.holdout"):
        making.make_boards(played.challenge, phase)
    assert played.rows("validation.holdout") == [("Rigi", 1.0), ("Pilatus", DICE[3])]


def test_a_team_is_told_once_that_it_was_scored(played):
    told = Notification.objects.filter(user=played.world.people["carol"]).values_list("text", flat=True)
    assert list(told) == ["Validation: submission 1 was scored."]


def test_a_reference_that_comes_later_has_everything_scored_on_it(site):
    one = site.hand_in("alice", sizes(4, 2))
    site.work()
    assert not site.rows("validation.holdout")
    assert "has no reference yet" in site.page("organiser", "/c/neck/organise/data/")
    (note,) = [
        note for step in readiness.steps(site.challenge, site.world.at.now) for note in step.notes if "Holdout" in note
    ]
    assert note.endswith("submissions are scored on it as soon as it has.")
    site.reference("validation.holdout", HOLDOUT)
    assert Decision.objects.filter(what="re-evaluate", subject__startswith="Rigi, validation.holdout").exists()
    site.work()
    assert site.rows("validation.holdout") == [("Rigi", DICE[2])]
    assert round(evaluation_of(one, "holdout").values["dice"], 3) == DICE[2]
    assert round(evaluation_of(one).values["dice"], 3) == 1.0


def test_a_new_reference_is_used_when_the_organisers_say_so_and_only_there(played):
    before = evaluation_of(Submission.objects.get(team__name="Pilatus")).pk
    played.reference("validation.holdout", dict.fromkeys(HOLDOUT, 3))
    assert played.rows("validation.holdout")[0] == ("Pilatus", DICE[3])
    sent = {"phase": "validation.holdout", "reason": "Mended.", "action": "again"}
    assert played.world.client("organiser").post("/c/neck/organise/submissions/again/", sent).status_code == 302
    played.work()
    assert played.rows("validation.holdout") == [("Pilatus", 1.0), ("Rigi", 0.5)]
    assert evaluation_of(Submission.objects.get(team__name="Pilatus")).pk == before


def test_the_reference_of_all_phases_is_none_of_a_cohort(site):
    site.reference("", CASES)
    one = site.hand_in("alice", sizes(4, 4))
    site.work()
    assert [row.reference.phase for row in one.evaluations.all()] == ["validation"]


# Faults


@pytest.fixture
def modules(tmp_path_factory) -> Iterator[dict[bool, Any]]:
    folder = tmp_path_factory.mktemp("evaluators")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        children.end()
        for broken in (True, False):
            (folder / f"cohorts_{broken}.py").write_text(SOURCE.format(broken=broken))
        yield {broken: importlib.import_module(f"cohorts_{broken}").challenge for broken in (True, False)}
        children.end()
    for broken in (True, False):
        sys.modules.pop(f"cohorts_{broken}", None)


def test_a_fault_on_the_holdout_costs_no_team_anything_and_holds_back_the_holdout_alone(site, modules, monkeypatch):
    def deploy(broken: bool) -> None:
        monkeypatch.setattr("isocenter.evaluation.load_challenge", lambda _: modules[broken])
        code_of.cache_clear()

    site.reference("validation.holdout", HOLDOUT)
    deploy(True)
    one = site.hand_in("alice", sizes(4, 4))
    site.work()
    one.refresh_from_db()
    assert (one.state, one.reason, one.problems) == ("scored", "", [])
    assert site.rows("validation") == [("Rigi", 1.0)]
    assert not site.rows("validation.holdout")
    (fault,) = faults.list_faults(site.challenge)
    assert (fault.phase, fault.cases) == ("validation.holdout", (("HOLD02", 1),))
    assert intake.quota(site.visit("alice"), "validation").used == 1
    assert "SECRET" not in site.page("alice", f"/c/neck/submissions/{one.pk}/")
    assert "Validation, Holdout" in site.page("organiser", "/c/neck/organise/submissions/faults/")
    assert holding.held_phases(site.challenge) == {"validation.holdout": 1}
    site.world.at.now = MAY
    assert site.visit("alice").is_out(site.challenge.edition.phases[0])
    assert site.visit("alice").is_held("validation.holdout")
    running.due(site.world.at.now)
    assert list(Decision.objects.filter(what=holding.OUT).values_list("subject", flat=True)) == ["validation"]
    # The other case is measured already; a mended evaluator has the rest done.
    deploy(False)
    sent = {"phase": "validation.holdout", "reason": "Mended.", "action": "again"}
    assert site.world.client("organiser").post("/c/neck/organise/submissions/faults/", sent).status_code == 302
    site.work()
    assert site.rows("validation.holdout") == [("Rigi", 1.0)]
    assert not faults.list_faults(site.challenge)
    running.due(site.world.at.now)
    assert "validation.holdout" in Decision.objects.filter(what=holding.OUT).values_list("subject", flat=True)


def test_results_of_a_cohort_can_come_out_without_those_that_wait(site, modules, monkeypatch):
    monkeypatch.setattr("isocenter.evaluation.load_challenge", lambda _: modules[True])
    code_of.cache_clear()
    site.reference("validation.holdout", HOLDOUT)
    site.hand_in("alice", sizes(4, 4))
    site.work()
    site.world.at.now = MAY
    assert running.publish_without(site.visit("organiser"), "validation.holdout", "It cannot be mended.")
    assert site.visit("alice").is_out(site.challenge.edition.find_scored("validation.holdout"))


def test_a_reference_that_cannot_be_used_stops_nothing_but_its_cohort(site):
    reference = site.reference("validation.holdout", HOLDOUT)
    one = site.hand_in("alice", sizes(4, 4))
    (site.world.data / reference.folder / "HOLD01.nii.gz").write_bytes(b"gone bad")
    site.work()
    one.refresh_from_db()
    assert one.state == "scored"
    assert site.rows("validation") == [("Rigi", 1.0)]
    assert Run.objects.get(cohort="holdout").reason == "reference"


def test_a_run_on_a_cohort_goes_on_where_a_lost_worker_stopped(site):
    site.reference("validation.holdout", HOLDOUT)
    one = site.hand_in("alice", sizes(4, 3))
    site.work()
    before = set(CaseResult.objects.values_list("pk", flat=True))
    Evaluation.objects.filter(reference__phase="validation.holdout").delete()
    from isocenter.server.work.reevaluation import score_cohorts

    (run,) = score_cohorts(one)
    assert (run.cohort, run.scored_phase) == ("holdout", "validation.holdout")
    site.work()
    assert set(CaseResult.objects.values_list("pk", flat=True)) == before
    assert site.rows("validation.holdout") == [("Rigi", DICE[3])]


# Who sees what, when


def test_the_holdout_is_hidden_until_its_moment_and_then_seen_by_everybody(played):
    one = Submission.objects.get(team__name="Rigi", number=1)
    board, page = "/c/neck/boards/validation.holdout/dice/", f"/c/neck/submissions/{one.pk}/"
    for viewer in ("", "alice", "reader", "waiting"):
        hidden = played.page(viewer, board)
        assert "Nobody sees results of this cohort before" in hidden
        assert "Pilatus" not in hidden
        played.page(viewer, f"{board}board.json", 403)
    assert "0.4000" not in played.page("alice", page)
    played.page("alice", f"{page}?cohort=holdout", 403)
    played.page("alice", f"{page}scores.csv?cohort=holdout", 403)
    assert "Pilatus" in played.page("organiser", board)
    played.world.at.now = MAY
    out = played.page("", board)
    assert "Pilatus" in out
    assert "Rigi" not in out  # one team is announced
    shown = played.page("alice", page)
    assert "/c/neck/boards/validation.holdout/dice/" in shown
    assert "0.4000" in shown
    played.page("alice", f"{page}?cohort=holdout")
    # Cases of a hidden cohort are never shown.
    played.page("alice", f"{page}scores.csv?cohort=holdout", 403)
    assert played.world.client("alice").get(reverse("case", args=["neck", one.pk, "HOLD01"])).status_code == 404
    assert played.world.client("alice").get(reverse("case", args=["neck", one.pk, "CHUV001"])).status_code == 200


def test_a_cohort_whose_own_scores_are_seen_shows_them_side_by_side(world, site):
    with_cohorts(world, SECOND)
    site.reference("validation.holdout", HOLDOUT)
    site.reference("validation.external", EXTERNAL)
    one = site.hand_in("alice", sizes(4, 1) | {"EXT001": 3})
    site.work()
    page = site.page("alice", f"/c/neck/submissions/{one.pk}/")
    assert "/c/neck/boards/validation.external/dice/" in page
    assert f"{DICE[3]:.3f}" in page
    assert "oldout" not in page
    cases = site.page("alice", f"/c/neck/submissions/{one.pk}/?cohort=external")
    assert "EXT001" in cases
    assert "CHUV001" not in cases.split('id="cases"')[1]
    assert site.world.client("alice").get(reverse("case", args=["neck", one.pk, "EXT001"])).status_code == 200
    table = site.page("alice", f"/c/neck/submissions/{one.pk}/scores.csv?cohort=external")
    assert {row["case"] for row in csv.DictReader(io.StringIO(table))} == {"EXT001"}
    assert site.visit("carol").sight("validation.external").other_scores is False


def test_boards_lead_from_one_cohort_to_the_other(played):
    page = played.page("", "/c/neck/boards/validation/dice/")
    assert "/c/neck/boards/validation.holdout/dice/" in page
    back = played.page("organiser", "/c/neck/boards/validation.holdout/dice/")
    assert "/c/neck/boards/validation/dice/" in back
    assert "nobody’s best is chosen on this cohort" in back
    assert "/c/neck/submit/validation.holdout/" not in back
    for address in ("progress", "submit"):
        played.page("organiser", f"/c/neck/{address}/validation.holdout/", 404)
    assert "Validation, Holdout" in played.page("", "/c/neck/boards/")
    rules = played.page("", "/c/neck/rules/")
    assert "Which submission counts is decided without them." in rules


def test_the_api_gives_what_may_be_seen_of_cohorts(played):
    one = Submission.objects.get(team__name="Rigi", number=1)

    def get(name: str, path: str) -> Any:
        return played.world.client(name).get(f"/api/v1/challenges/neck/{path}").json()

    (phase, *_) = get("", "phases")
    assert phase["cohorts"] == [
        {
            "name": "validation.holdout",
            "title": "Holdout",
            "visibility": "hidden",
            "results": "2026-05-10T00:00:00Z",
            "out": False,
        }
    ]
    assert [row["phase"] for row in get("alice", "boards")] == ["validation"]
    assert get("alice", f"submissions/{one.pk}")["cohorts"] == []
    assert [row["phase"] for row in get("organiser", "boards") if "." in row["phase"]] == ["validation.holdout"]
    (shown,) = get("organiser", f"submissions/{one.pk}")["cohorts"]
    assert (shown["cohort"], shown["scores"][0]["value"]) == ("validation.holdout", "0.4000")
    assert {row["case"] for row in get("organiser", f"submissions/{one.pk}/cases?cohort=holdout")["items"]} == set(
        HOLDOUT
    )
    played.world.at.now = MAY
    assert "validation.holdout" in [row["phase"] for row in get("", "boards")]
    assert get("", "boards/validation.holdout/dice")["rows"][0]["team"] == "Pilatus"
    assert get("alice", f"submissions/{one.pk}")["cohorts"][0]["scores"][0]["value"] == "0.4000"


def test_people_hear_of_results_at_each_moment_once(played):
    mail.outbox.clear()
    played.world.at.now = datetime(2026, 4, 2, tzinfo=UTC)
    running.due(played.world.at.now)
    played.world.at.now = MAY
    running.due(played.world.at.now)
    running.due(played.world.at.now)
    told = Notification.objects.filter(user=played.world.people["carol"], text__contains="results").values_list(
        "text", flat=True
    )
    assert sorted(told) == [
        "Tumours of the neck: The results of Validation are out.",
        "Tumours of the neck: The results of Validation, Holdout are out.",
    ]
    assert all(DICE_TEXT not in one.body for one in mail.outbox for DICE_TEXT in ("0.4", "0.857"))


def test_organisers_see_all_cohorts_of_a_submission(played):
    one = Submission.objects.get(team__name="Rigi", number=1)
    desk = played.page("organiser", f"/c/neck/organise/submissions/{one.pk}/")
    assert "Validation, Holdout, version 1" in desk
    assert "Validation, Holdout" in played.page("organiser", "/c/neck/organise/publishing/")
    assert "Validation, Holdout" in played.page("organiser", "/c/neck/organise/data/")


def test_reference_numbers_tell_a_team_nothing_of_a_hidden_cohort(played):
    one = Submission.objects.get(team__name="Rigi", number=1)
    (own,) = measured.reference_numbers(played.visit("alice"), "validation").values()
    assert own == 1
    assert evaluation_of(one).reference_id in measured.reference_numbers(played.visit("alice"), "validation")


# What organisers may change


def test_a_cohort_in_use_stays_and_results_that_are_out_are_not_taken_back(played):
    toml = played.challenge.version.toml
    without = toml.replace(COHORTS, 'visibility = "public"\n', 1)
    base = played.challenge.version.number
    organiser = played.world.people["organiser"]
    with pytest.raises(
        Refused, match=r"The cohort 'validation\.holdout' cannot be removed or renamed: it has a reference"
    ):
        versioning.save(played.challenge, organiser, base=base, note="Gone.", toml=without)
    later = toml.replace("2026-05-10T00:00:00Z\n", "2026-08-10T00:00:00Z\n", 1)
    played.world.at.now = MAY
    with pytest.raises(Refused, match=r"The results of validation\.holdout are out since"):
        versioning.save(played.challenge, organiser, base=base, note="Later.", toml=later)


def test_a_change_of_a_cohort_is_a_decision(site):
    toml = site.challenge.version.toml.replace("2026-05-10T00:00:00Z\n", "2026-06-10T00:00:00Z\n", 1)
    base = site.challenge.version.number
    versioning.save(site.challenge, site.world.people["organiser"], base=base, note="Later.", toml=toml)
    assert Decision.objects.get().subject == "validation.holdout"
    assert "Validation, Holdout" in Decision.objects.get().reason


def test_a_reference_is_for_a_cohort_that_there_is_and_has_its_cases(site):
    with pytest.raises(Refused, match=r"There is no phase 'validation\.none'"):
        site.reference("validation.none", HOLDOUT)
    text = site.challenge.version.toml.replace("2026-05-10T00:00:00Z\n", "2026-05-10T00:00:00Z\ncases = 3\n", 1)
    Version.objects.filter(pk=site.challenge.version_id).update(toml=text)
    from isocenter.server.editions import edition_of

    edition_of.cache_clear()
    code_of.cache_clear()
    with pytest.raises(Refused, match=r"There are 2 cases; validation\.holdout has cases = 3"):
        site.reference("validation.holdout", HOLDOUT)


def test_who_runs_the_site_is_told_of_a_cohort_without_a_reference(site):
    site.world.at.now = MAY
    assert [one for one in checks.findings() if "Validation, Holdout has no reference" in one.title]


# Afterwards


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})


def test_the_archive_replays_and_its_report_shows_both_cohorts(played, tmp_path, monkeypatch):
    played.world.at.now = MAY
    (tmp_path / "out").mkdir()
    archive.make(played.challenge, tmp_path / "out", references=True)
    with zipfile.ZipFile(tmp_path / "out" / archive.NAME) as packed:
        packed.extractall(tmp_path)
    home = tmp_path / "neck"
    monkeypatch.chdir(home)
    one = Submission.objects.get(team__name="Pilatus")
    assert (home / "cohorts" / "holdout" / "scores" / "validation" / f"{one.pk}.parquet").is_file()
    assert (home / "reference" / "validation.holdout" / "HOLD01.nii.gz").is_file()
    assert not (home / "former").exists()
    lines = [line.strip() for line in (home / "README.txt").read_text().splitlines()]
    verify = [shlex.split(line)[1:] for line in lines if line.startswith("isocenter verify ")]
    assert [command[1] for command in verify] == [
        "boards/validation/dice/receipt.json",
        "boards/validation.holdout/dice/receipt.json",
    ]
    for command in verify:
        told = run(*command)
        assert told.exit_code == 0, told.output
        assert "to the last bit" in told.output
    told = run("report", ".", "--phase", "validation", "--out", "report", "--no-pdf", "--replicates", "50")
    assert told.exit_code == 0, told.output
    from isocenter.papers import Settings, Study, open_folder

    study = Study(open_folder(home, phase="validation"), Settings(replicates=50))
    (cohort,) = study.cohorts.values()
    assert {row.submission: round(row.score, 3) for row in cohort.main.board.rows} == {
        "Pilatus": DICE[3],
        "Rigi": DICE[1],
    }


def test_a_report_tells_of_a_cohort_only_once_it_is_out(played):
    organiser = played.visit("organiser")

    def made() -> Artefact:
        artefacts.order(organiser, "report", "validation")
        played.work()
        return Artefact.objects.latest("made")

    played.world.at.now = datetime(2026, 4, 2, tzinfo=UTC)
    early = artefacts.note_of(made())
    assert early.phases == ("validation",)
    played.world.at.now = MAY
    late = made()
    assert artefacts.note_of(late).phases == ("validation", "test", "validation.holdout")
    Artefact.objects.filter(pk=late.pk).update(published=True)
    late.refresh_from_db()
    assert artefacts.may_see(played.visit("carol"), late)
    played.world.at.now = datetime(2026, 4, 2, tzinfo=UTC)
    assert not artefacts.may_see(played.visit("carol"), late)


def test_boards_of_a_cohort_have_a_past_and_a_permanent_address(played):
    last = Snapshot.objects.filter(phase="validation.holdout").latest("made")
    address = f"/c/neck/boards/at/{last.digest}/"
    assert "Pilatus" in played.page("organiser", address)
    played.page("alice", f"/c/neck/boards/at/{last.face}/", 404)
    played.world.at.now = MAY
    assert "Pilatus" in played.page("", f"/c/neck/boards/at/{last.face}/")
