"""The report of a challenge whose reader study is closed has its readers in it, in every stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import isocenter
from isocenter import editions, evaluation, phantoms, readers, scores
from isocenter.server import clock
from isocenter.server.archiving import artefacts, edition_folder
from isocenter.server.hosting import demo, demo_readers
from isocenter.server.models import Challenge, Evaluation, Submission, Team, User
from isocenter.server.organising import importing
from isocenter.server.policy import Visit
from isocenter.server.reading import protocol
from isocenter.server.work import queue

PHASE, TEAMS = "tuning", ("Limmat", "Ticino")


@pytest.fixture
def challenge(db: object, tmp_path: Path, at: Any, monkeypatch: pytest.MonkeyPatch) -> Challenge:
    """Twelve synthetic exams that five readers have read, six each in two stages, and two teams were scored on."""
    monkeypatch.setattr(demo_readers, "_SHARES", (1.0,) * 5)
    organiser, newcomer = (User.objects.create_user(f"{name}@example.org") for name in ("organiser", "newcomer"))
    code = isocenter.challenge("picai2022")
    edition = demo.shifted(editions.new(code), demo.STAGES["picai2022"], clock.now())
    edition = edition.model_copy(update={"declarations": ()})
    (tmp_path / "bundle" / "pages").mkdir(parents=True)
    (tmp_path / "bundle" / "challenge.toml").write_text(editions.render(edition), encoding="utf-8")
    (tmp_path / "bundle" / "pages" / "about.md").write_text("# About\n")
    made = importing.import_challenge(tmp_path / "bundle", user=organiser, slug="picai")
    demo_readers.begin_study(made, tmp_path / "study", organiser=organiser, newcomer=newcomer, seed=0)
    cohort = phantoms.write_picai_cohort(tmp_path / "cohort", cases=12)
    reference = importing.add_reference(made, "", cohort.reference, user=organiser)
    for name in TEAMS:
        team = Team.objects.create(challenge=made, name=name)
        one = Submission.objects.create(
            challenge=made,
            team=team,
            phase=PHASE,
            number=1,
            version=made.version,
            made=clock.now(),
            state=Submission.State.SCORED,
            sha256="0" * 64,
            size=0,
        )
        found = evaluation.evaluate(code, reference=cohort.reference, submission=cohort.submissions[name])
        scores.write(found.scores, tmp_path / "table.parquet", record=found.record)
        Evaluation.objects.create(
            submission=one,
            evaluator=found.record["code"],
            reference=reference,
            table=(tmp_path / "table.parquet").read_bytes(),
            digest="0" * 64,
            record=found.record,
            made=clock.now(),
        )
    return made


def test_readers_of_both_stages_are_compared_with_the_best_team(
    challenge: Challenge, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isocenter import papers

    written: dict[str, str] = {}
    plain, folder_of = papers.write_report, edition_folder.write_folder

    def kept(given: Challenge, phase: str, home: Path, **how: Any) -> Any:
        found = folder_of(given, phase, home, **how)
        written["reads.csv"] = (home / "reads.csv").read_text() if (home / "reads.csv").exists() else ""
        return found

    monkeypatch.setattr(artefacts, "_REPLICATES", 50)
    monkeypatch.setattr(artefacts, "write_folder", kept)
    monkeypatch.setattr(papers, "write_report", lambda report, folder: plain(report, folder, pdf=False))
    organiser = User.objects.get(email="organiser@example.org")

    def ordered() -> dict[str, str]:
        artefacts.order(Visit(organiser, challenge), "report", PHASE, all_names=True)
        claimed = queue.claim("worker", ["default"])
        assert claimed is not None
        made = artefacts.make(claimed)
        return {name: (data / made.folder / name).read_text() for name, _ in artefacts.files_of(made)}

    before = ordered()
    assert written.pop("reads.csv") == ""  # what is not closed is in no report
    assert "5 readers" not in before["report.html"]
    study = protocol.study_of(challenge)
    assert study is not None
    protocol.close(study, user=organiser, reason="All have read.")
    after = ordered()
    (tmp_path / "reads.csv").write_text(written["reads.csv"])
    reads = readers.read_reads(tmp_path / "reads.csv")
    reference = readers.open_reference(isocenter.challenge("picai2022"), tmp_path / "cohort" / "reference")
    panels = readers.score_reads(reads, reference).panels
    assert [(panel.modality, panel.readers, panel.cases) for panel in panels] == [("bpmri", 5, 12), ("mpmri", 5, 12)]
    for panel, name in zip(panels, ("reader-areas", "reader-areas-2"), strict=True):
        told = table(after["report.json"], name)
        assert told["Limmat"] == pytest.approx(33 / 35)
        assert told[f"5 readers of {panel.modality}"] == pytest.approx(panel.auroc)
    everything = "".join(after.values())
    assert not any(one in everything for one in study.readers.values_list("pseudonym", flat=True))


def table(report: str, name: str) -> dict[str, float]:
    """The AUROC of everybody in a table of the report."""
    blocks = [block for section in json.loads(report)["sections"] for block in section["blocks"]]
    (found,) = (block for block in blocks if block.get("name") == name)
    return {who: area["value"] for who, area, *_ in found["rows"]}
