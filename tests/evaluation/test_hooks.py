"""What a challenge may do beside measuring: remarks, refusals with a reason, other layouts of a submission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import isocenter
from isocenter.evaluation import CohortError, OutputError, Remark, Score, check, evaluate
from isocenter.submissions import Entry, Listing
from isocenter.volumes import File, LabelMap

HECKTOR = isocenter.challenge("hecktor2020")


def small(reference: LabelMap, output: Mapping[str, LabelMap]) -> Iterator[Remark]:
    if output["mask"].box.sum() < reference.box.sum():
        yield Remark("warning", "smaller than the reference")


def test_remarks_on_outputs_come_from_check_and_from_score(reference: Path, submission: Path) -> None:
    challenge = replace(HECKTOR, inspect=small)
    checked = check(challenge, reference=reference, submission=submission)
    scored = evaluate(challenge, reference=reference, submission=submission)
    assert checked == scored.problems
    assert {(p.severity, p.message) for p in checked} == {("warning", "smaller than the reference")}
    assert scored.scores.equals(evaluate(HECKTOR, reference=reference, submission=submission).scores)


def test_a_reference_that_cannot_be_prepared_is_found_by_check_too(reference: Path, submission: Path) -> None:
    def broken(case: Any) -> Any:
        msg = "no target"
        raise CohortError(msg)

    with pytest.raises(CohortError, match="no target"):
        check(replace(HECKTOR, inspect=small, prepare=broken), reference=reference, submission=submission)


def test_an_output_error_is_told_to_the_team_as_it_is(reference: Path, submission: Path) -> None:
    def measure(reference: Any, output: Any) -> Iterator[Score]:
        msg = "beam 7 is missing"
        raise OutputError(msg)
        yield

    result = evaluate(replace(HECKTOR, measure=measure), reference=reference, submission=submission)
    assert {p.message for p in result.problems} == {"beam 7 is missing"}
    assert result.record["cases"]["failed"] == 4


def test_a_submission_may_be_arranged_before_it_is_matched(reference: Path, submission: Path) -> None:
    for path in list(submission.iterdir()):
        path.rename(path.with_name(f"output-{path.name}"))

    def arrange(listing: Listing, cases: Mapping[str, Mapping[str, File]]) -> Listing:
        assert sorted(cases["CHUV001"]) == ["mask"]
        return replace(
            listing,
            entries=tuple(Entry(e.name.removeprefix("output-"), e.file, e.size, e.trouble) for e in listing.entries),
        )

    challenge = replace(HECKTOR, arrange=arrange)
    assert evaluate(challenge, reference=reference, submission=submission).record["cases"]["measured"] == 4
