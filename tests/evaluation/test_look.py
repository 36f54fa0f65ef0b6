"""What names and sizes tell of a submission before a file of it is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from isocenter.evaluation import check, evaluate, load_challenge, look, open_cohort
from isocenter.problems import SubmissionRefused


def test_looking_opens_no_file_and_finds_what_checking_finds_first(reference: Path, submission: Path) -> None:
    challenge = load_challenge("hecktor2020")
    cohort = open_cohort(challenge, reference)
    (submission / "CHUV001.nii.gz").unlink()
    (submission / "CHUV002.nii.gz").write_bytes(b"no image at all")
    (submission / "readme.txt").write_text("hello")
    found = look(challenge, cohort=cohort, submission=submission)
    assert [(one.severity, one.case, one.file) for one in found] == [
        ("missing", "CHUV001", ""),
        ("note", "", "readme.txt"),
    ]
    assert set(found) <= set(check(challenge, reference=reference, submission=submission))


def test_what_is_refused_when_looked_at_is_refused_when_scored(reference: Path, tmp_path: Path) -> None:
    challenge = load_challenge("hecktor2020")
    (tmp_path / "empty").mkdir()
    found = look(challenge, cohort=open_cohort(challenge, reference), submission=tmp_path / "empty")
    assert found[0].severity == "refused"
    with pytest.raises(SubmissionRefused) as error:
        evaluate(challenge, reference=reference, submission=tmp_path / "empty")
    assert error.value.problems == found
