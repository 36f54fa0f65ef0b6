"""Outputs as the platform delivers them: stacks, and metadata that say which beam is where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk

from isocenter.problems import SubmissionRefused

METADATA = "stacked-photon-beam-level-metadata.json"
HUGE = 10**400


def deliver(
    job: Path,
    patients: Any,
    beams: Mapping[str, np.ndarray],
    tools: Any,
    places: Mapping[str, tuple[int, int]],
    **how: Any,
) -> Path:
    """The folder of a job: metadata in input/, stacks in output/, unused slots with one voxel."""
    metadata = []
    for number, patient in enumerate(patients):
        plan = json.loads(json.dumps(patient.plan))
        for beam in plan["beams"]:
            for point in beam["control_points"]:
                slot, at = places[point["cp_uuid"]]
                point["output_info"] = {"output_file_idx": slot, "idx_in_output": at, "minimum_cutoff": 0.0}
        metadata.append({"image_file_idx": number, "anatomical_region": "abdominal", "beams": plan["beams"]})
    inputs, outputs = how.get("folders", ("input", "output"))
    (job / inputs).mkdir(parents=True, exist_ok=True)
    (job / inputs / METADATA).write_text(json.dumps(metadata))
    for slot in range(10):
        path = job / outputs / "images" / f"stacked-radiation-dose-map-{slot + 1}" / "output.mha"
        inside = {at: uuid for uuid, (found, at) in places.items() if found == slot}
        if inside:
            grid = how.get("grid", patients[0].grid)
            tools.stack(
                path, [beams[inside[at]] for at in sorted(inside)], grid, compressed=how.get("compressed", True)
            )
        else:
            path.parent.mkdir(parents=True)
            sitk.WriteImage(sitk.Image(1, 1, sitk.sitkFloat32), str(path))
    return job


@pytest.fixture
def setting(two: Any, tools: Any, tmp_path: Path) -> dict[str, Any]:
    """Two patients, a team's doses, and the table of the plain folders."""
    beams: dict[str, np.ndarray] = {}
    for i, patient in enumerate(two):
        patient.save(tmp_path / "reference")
        mine = tools.off(patient.beams, seed=i)
        patient.answer(tmp_path / "plain", mine)
        beams |= mine
    table = tools.score(tmp_path / "reference", tmp_path / "plain").scores
    return {"beams": beams, "table": table, "reference": tmp_path / "reference", "job": tmp_path / "team" / "job1"}


def in_order(patients: Any) -> dict[str, tuple[int, int]]:
    """One stack per patient, in the order of its beams."""
    return {uuid: (i, at) for i, patient in enumerate(patients) for at, uuid in enumerate(patient.beams)}


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("folders", [("input", "output"), ("", ""), ("", "output")])
def test_stacks_give_the_same_table_as_single_files(
    two: Any, tools: Any, setting: dict[str, Any], compressed: bool, folders: tuple[str, str]
) -> None:
    deliver(setting["job"], two, setting["beams"], tools, in_order(two), compressed=compressed, folders=folders)
    for submission in (setting["job"].parent, setting["job"]):
        result = tools.score(setting["reference"], submission)
        assert result.problems == ()
        assert result.scores.equals(setting["table"])


def test_beams_of_a_case_may_lie_anywhere(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    """Both patients mixed in two stacks, not in the order of their beams."""
    uuids = [uuid for patient in two for uuid in patient.beams][::-1]
    places = {uuid: (4 * (i % 2), i // 2) for i, uuid in enumerate(uuids)}
    deliver(setting["job"], two, setting["beams"], tools, places)
    table = tools.score(setting["reference"], setting["job"]).scores
    for patient in two:  # a sum of beams in another order differs in its last bits
        expected = tools.by_part(setting["table"], patient.name)
        assert tools.by_part(table, patient.name) == pytest.approx(expected, rel=1e-9)


def test_every_patient_may_have_a_job_of_its_own(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    for i, patient in enumerate(two):
        deliver(setting["job"].parent / f"job{i}", [patient], setting["beams"], tools, in_order([patient]))
    result = tools.score(setting["reference"], setting["job"].parent)
    assert result.problems == ()
    assert result.scores.equals(setting["table"])


def test_jobs_with_cases_that_are_not_asked_for_do_not_disturb(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    stranger = tools.patient("1ABB999", seed=9)
    beams = setting["beams"] | stranger.beams
    deliver(setting["job"], [*two, stranger], beams, tools, in_order([*two, stranger]))
    assert tools.score(setting["reference"], setting["job"]).scores.equals(setting["table"])


# Wrong ----------------------------------------------------------------------------------------------------------------


def said(result: Any, case: str) -> list[str]:
    return [problem.message for problem in result.problems if problem.case == case]


def test_a_stack_that_is_not_there_fails_its_case_only(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    first, second = two
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    (job / "output/images/stacked-radiation-dose-map-1/output.mha").unlink()
    result = tools.score(setting["reference"], job)
    assert tools.by_part(result.scores, first.name)["failed", ""] == 1.0
    assert tools.by_part(result.scores, second.name) == tools.by_part(setting["table"], second.name)
    assert any(
        text.startswith("images/stacked-radiation-dose-map-1/ holds no .mha") for text in said(result, first.name)
    )


def test_a_stack_with_too_few_doses_is_named(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    first, _ = two
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    path = job / "output/images/stacked-radiation-dose-map-1/output.mha"
    tools.stack(path, [setting["beams"][uuid] for uuid in list(first.beams)[:2]], first.grid)
    (text,) = said(tools.score(setting["reference"], job), first.name)
    assert f"beam {first.name}-beam2 " in text
    assert text.endswith("the metadata say place 2, but it holds 2 doses")


def test_many_doses_that_are_too_few_are_told_in_one_sentence(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    first, _ = two
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    path = job / "output/images/stacked-radiation-dose-map-1/output.mha"
    tools.stack(path, [setting["beams"][next(iter(first.beams))]], first.grid)
    (text,) = said(tools.score(setting["reference"], job), first.name)
    assert text.startswith(f"2 beams ({first.name}-beam1, {first.name}-beam2) (output/images/")
    assert text.endswith("the metadata say places from 1 to 2, but it holds 1 doses")


def test_a_placeholder_in_place_of_doses_is_named(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    first, _ = two
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    path = job / "output/images/stacked-radiation-dose-map-1/output.mha"
    sitk.WriteImage(sitk.Image(1, 1, sitk.sitkFloat32), str(path))
    (text,) = said(tools.score(setting["reference"], job), first.name)
    assert "a 2-D file (1×1); a 3-D volume was expected" in text


def test_a_stack_cut_off_in_the_middle_names_the_beams_that_are_lost(
    two: Any, tools: Any, setting: dict[str, Any]
) -> None:
    first, _ = two
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    path = job / "output/images/stacked-radiation-dose-map-1/output.mha"
    path.write_bytes(path.read_bytes()[:-700])
    (text,) = said(tools.score(setting["reference"], job), first.name)
    assert text.startswith(f"2 beams ({first.name}-beam1, {first.name}-beam2): ")
    assert text.count("cut off") == 1


def test_metadata_that_cannot_be_understood_refuse_the_submission(
    two: Any, tools: Any, setting: dict[str, Any]
) -> None:
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    for content, reason in (
        ("{", "is not JSON"),
        ("{}", "no list of images"),
        ("[1]", "has no list 'beams'"),
        ('[{"beams": [{"control_points": [{"gantry_angle": NaN}]}]}]', "NaN is no number"),
        (
            json.dumps([{"beams": [{"control_points": [{"gantry_angle": HUGE}]}]}]),
            "gantry_angle 10+[.]{3}0+; expected a fin",
        ),
        ('[{"beams": [{"control_points": [{"gantry_angle": 1e999}]}]}]', "gantry_angle inf"),
        ('[{"beams": [{"control_points": [{"gantry_angle": true}]}]}]', "gantry_angle True"),
        (json.dumps([{"beams": [{"rays": [{"ray_source": [0, 0, 0], "ray_target": [HUGE, 0, 0]}]}]}]), "three finite"),
        ('[{"beams": [{"rays": [{"ray_source": [0, 0, 1e999], "ray_target": [1e999, 0, 0]}]}]}]', "three finite num"),
        ('[{"beams": [{"rays": [{"ray_source": [0, 0, 0], "ray_target": [true, 0, 0]}]}]}]', "three finite numbers"),
    ):
        (job / "input" / METADATA).write_text(content)
        with pytest.raises(SubmissionRefused, match=reason):
            tools.score(setting["reference"], job)


LAST = int("9" * 4300)  # one more, and Python would not write it


@pytest.mark.parametrize("place", [(-1, 0), (0.5, 0), (True, 0), (None, 0), ("1", 0), (0, -2), (LAST, 0), (0, LAST)])
def test_a_place_that_is_none_fails_the_case(two: Any, tools: Any, setting: dict[str, Any], place: Any) -> None:
    first, _ = two
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    metadata = json.loads((job / "input" / METADATA).read_text())
    info = metadata[0]["beams"][0]["control_points"][1]["output_info"]
    info["output_file_idx"], info["idx_in_output"] = place
    (job / "input" / METADATA).write_text(json.dumps(metadata))
    result = tools.score(setting["reference"], job)
    assert tools.by_part(result.scores, first.name)["failed", ""] == 1.0
    (text,) = (text for text in said(result, first.name) if "expected whole numbers from 0" in text)
    assert text.startswith(f"beam {first.name}-beam1 has output_file_idx ")
    assert len(text) < 200


def test_places_that_are_none_are_told_once_for_all_beams(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    first, _ = two
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    metadata = json.loads((job / "input" / METADATA).read_text())
    for point in metadata[0]["beams"][0]["control_points"]:
        del point["output_info"]
    (job / "input" / METADATA).write_text(json.dumps(metadata))
    (text,) = (text for text in said(tools.score(setting["reference"], job), first.name) if "whole numbers" in text)
    names = ", ".join(first.beams)
    assert text == (
        f"3 beams ({names}) have output_file_idx None and idx_in_output None (the first); expected whole numbers from 0"
    )


def test_one_beam_in_two_places_fails_the_case(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    first, _ = two
    for job in ("job1", "job2"):
        deliver(setting["job"].parent / job, two, setting["beams"], tools, in_order(two))
    result = tools.score(setting["reference"], setting["job"].parent)
    assert tools.by_part(result.scores, first.name)["failed", ""] == 1.0
    (text,) = (text for text in said(result, first.name) if "two places" in text)
    names = ", ".join(first.beams)
    assert text.startswith(f"3 beams ({names}) have two places: ('job1/output/images/stacked-radiation-dose-map-1/")
    assert text.endswith(" (the first)")


def test_two_beams_in_one_place_fail_the_case(two: Any, tools: Any, setting: dict[str, Any]) -> None:
    first, _ = two
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    metadata = json.loads((job / "input" / METADATA).read_text())
    metadata[0]["beams"][0]["control_points"][1]["output_info"]["idx_in_output"] = 0
    (job / "input" / METADATA).write_text(json.dumps(metadata))
    result = tools.score(setting["reference"], job)
    assert tools.by_part(result.scores, first.name)["failed", ""] == 1.0
    (text,) = said(result, first.name)
    assert text.startswith(f"beams {first.name}-beam0 and {first.name}-beam1 have one place: 0 in ")
    metadata[0]["beams"][0]["control_points"][2]["output_info"]["idx_in_output"] = 0
    (job / "input" / METADATA).write_text(json.dumps(metadata))
    (text,) = said(tools.score(setting["reference"], job), first.name)
    assert text.endswith("; so have 1 more pairs")


def test_a_forged_index_is_thrown_away(two: Any, tools: Any, setting: dict[str, Any], tmp_path: Path) -> None:
    first, _ = two
    job = deliver(setting["job"], two, setting["beams"], tools, in_order(two))
    for submission in (job, tmp_path / "plain"):
        (submission / first.name).mkdir(exist_ok=True)
        (submission / first.name / "isocenter-index.json").write_text('{"x": ["../../secret.mha", 0]}')
        assert tools.score(setting["reference"], submission).scores.equals(setting["table"])
