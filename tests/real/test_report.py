"""The report of an edition on real patients: OpenKBP's public ones, and what two crude teams make of their doses."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import isocenter
from isocenter import editions, scores
from isocenter.evaluation import evaluate
from isocenter.papers import Settings, Study, make_report, open_folder, write_report
from isocenter.phantoms import write_openkbp_predictions
from isocenter.volumes import sparse

PATIENTS = 4


@pytest.fixture(scope="module")
def edition(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four patients; one team gives 3 % too much, the other forgets everything below 20 Gy."""
    home = tmp_path_factory.mktemp("report") / "edition"
    challenge = isocenter.challenge("openkbp2020")
    editions.write(editions.new(challenge), home)
    with zipfile.ZipFile(data / "openkbp-validation.zip") as archive:
        cases = sorted({name.split("/")[-2] for name in archive.namelist() if name.endswith("/dose.csv")})[:PATIENTS]
        for name in archive.namelist():
            parts = Path(name).parts
            if len(parts) >= 2 and parts[-2] in cases and name.endswith(".csv"):
                target = home / "reference" / parts[-2] / parts[-1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
    for case in cases:
        dose = sparse.read_sparse(home / "reference" / case / "dose.csv").dense()
        for team, made in (("Hot", 1.03 * dose), ("Cold", np.where(dose < 20, 0.0, dose))):
            (home / "submissions" / team).mkdir(parents=True, exist_ok=True)
            write_openkbp_predictions(home / "submissions" / team, {case: made})
    for team in ("Hot", "Cold"):
        result = evaluate(challenge, reference=home / "reference", submission=home / "submissions" / team)
        scores.write(result.scores, home / "scores" / f"{team}.parquet", record=result.record)
    return home


def test_a_report_on_real_patients_has_its_pictures_and_its_numbers(edition: Path) -> None:
    made = make_report(Study(open_folder(edition), Settings(replicates=500)), command="isocenter report edition")
    write_report(made, edition / "report")
    names = {block.name for block in made.named()}
    assert {"board-dose", "board-dvh", "picture-hardest-case-dvh", "picture-easiest-case-slice"} <= names
    data = json.loads((edition / "report" / "report.json").read_text("utf-8"))
    blocks = {block.get("name"): block for section in data["sections"] for block in section["blocks"]}
    errors = {row[1]: row[2]["value"] for row in blocks["board-dose"]["rows"]}
    table = scores.read(edition / "scores" / "Hot.parquet")
    assert errors["Hot"] == pytest.approx(table.filter(metric="dose_error")["value"].mean(), rel=1e-12)
    assert (edition / "report" / "report.pdf").read_bytes().startswith(b"%PDF")
