"""`isocenter dvh`: the table and the plot of a study made here, whose numbers can be counted by hand."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pydicom
import pytest
import typer
from typer.testing import CliRunner, Result

from isocenter.cli import _dvh
from isocenter.volumes import Grid, Volume, write

Maker = runpy.run_path(str(Path(__file__).parents[1] / "volumes" / "dicom" / "conftest.py"))["Maker"]

app = typer.Typer()
app.command()(_dvh.dvh)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def data(*arguments: object) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def square(low: float, high: float, *, places: tuple[float, ...] = (0.0, 2.0)) -> list[np.ndarray]:
    return [np.array([[low, low, z], [high, low, z], [high, high, z], [low, high, z]]) for z in places]


# Ten columns of 10 × 2 voxels of 2 mm; the dose is 5 Gy × the number of the column, 5 to 50.
STORED = np.broadcast_to(np.arange(1, 11, dtype=np.uint16), (2, 10, 10)).copy()
DOSE: dict[str, Any] = {
    "ImagePositionPatient": [1.0, 1.0, 0.0],
    "PixelSpacing": [2.0, 2.0],
    "GridFrameOffsetVector": [0, 2],
    "DoseGridScaling": 5.0,
}
ROIS = {
    "PTV": square(12, 20),  # columns 7 to 10: 35, 40, 45 and 50 Gy; 4 × 4 × 2 voxels of 8 mm³
    "Cord": square(0, 4),  # columns 1 and 2
    "Isocenter": [],
}


@pytest.fixture
def make(tmp_path: Path) -> Any:
    return Maker(tmp_path / "study")


@pytest.fixture
def study(make: Any) -> Path:
    make.dose(STORED, **DOSE)
    make.structures(ROIS)
    make.plan(40.0, 36.0)
    folder: Path = make.folder
    return folder


def test_the_usual_numbers_of_all_structures(study: Path) -> None:
    found = data(study, "--rule", "exact")
    ptv, cord = found["structures"]
    assert ptv == {
        "structure": "PTV",
        "Volume[cc]": pytest.approx(32 * 8 / 1000),
        "Min[Gy]": 35.0,
        "Mean[Gy]": 42.5,
        "Max[Gy]": 50.0,
        "D98%[Gy]": 35.0,
        "D95%[Gy]": 35.0,
        "D50%[Gy]": 45.0,
        "D2%[Gy]": 50.0,
        "D0.1cc[Gy]": 45.0,  # the 13th hottest voxel of 8 mm³; 8 of them have 50 Gy
        "V95%[%]": 75.0,  # of 40 Gy: the columns with 40, 45 and 50 Gy
        "flags": [],
        "outside": 0.0,
    }
    assert cord["Mean[Gy]"] == 7.5
    assert found["prescription"] == 40.0
    assert found["notes"][:2] == [
        "Read by the rule exact. Prescription 40 Gy, the highest of 40, 36, from plan.dcm.",
        "Dose: dose.dcm (PLAN sum, PHYSICAL, GY). Structures: structures.dcm (drawn).",
    ]
    assert "Without a closed contour, not shown: Isocenter." in found["notes"]


def test_the_table_is_readable(study: Path) -> None:
    result = run(study, "--rule", "exact")
    assert result.exit_code == 0
    words = result.stdout.split()
    assert words[words.index("PTV") : words.index("PTV") + 5] == ["PTV", "0.26", "35.00", "42.50", "50.00"]
    assert "dose.dcm (PLAN sum, PHYSICAL, GY)" in result.stdout
    assert "Read by the rule exact." in result.stdout


def test_a_zip_is_as_good_as_a_folder(study: Path) -> None:
    packed = shutil.make_archive(str(study), "zip", study)
    assert data(packed)["structures"] == data(study)["structures"]


def test_chosen_structures_and_requests(study: Path) -> None:
    found = data(study, "--structure", "Cord", "--request", "D0.1cc[Gy]", "--request", "V7Gy[cc]", "--rule", "exact")
    (cord,) = found["structures"]
    assert list(cord) == ["structure", "D0.1cc[Gy]", "V7Gy[cc]", "flags", "outside"]
    assert cord["V7Gy[cc]"] == pytest.approx(4 * 8 / 1000)
    assert cord["flags"] == ["smaller-than-asked"]  # 64 mm³ are less than 0.1 cc


def test_an_empty_structure_is_shown_if_asked_for(study: Path) -> None:
    (row,) = data(study, "--structure", "Isocenter")["structures"]
    assert row["Volume[cc]"] == 0.0
    assert row["Mean[Gy]"] is None
    assert row["flags"] == ["empty"]


def test_parts_of_voxels_count_by_default(make: Any) -> None:
    make.dose(STORED, **DOSE)
    make.structures({"PTV": square(13, 17)})  # half of column 7, column 8, half of column 9; and so in y
    whole = data(make.folder, "--request", "Volume[cc]", "--rule", "exact")["structures"][0]
    parts = data(make.folder, "--request", "Volume[cc]", "--request", "Mean")
    assert parts["structures"][0]["Volume[cc]"] == pytest.approx(4 * 4 * 4 / 1000)
    assert parts["structures"][0]["Mean[Gy]"] == pytest.approx((35 * 1 + 40 * 2 + 45 * 1) / 4)
    assert whole["Volume[cc]"] == pytest.approx(4 * 4 * 4 / 1000)  # half-open: one of two rows of centres on an edge


def circle(radius: float, z: float) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    return np.column_stack([10 + radius * np.cos(angle), 10 + radius * np.sin(angle), np.full(180, z)])


def test_the_volume_of_a_sphere_comes_out_closer_by_partial_volumes_and_the_rule_is_named(
    make: Any, tmp_path: Path
) -> None:
    heights = np.arange(-6.8, 7.0, 0.8)
    make.dose(STORED, **(DOSE | {"GridFrameOffsetVector": [0, 2]}))
    make.structures({"Ball": [circle(np.sqrt(49 - z * z), z + 1) for z in heights if abs(z) < 7]})
    volumes = {}
    for rule in ("partial-volume", "exact"):
        (row,) = data(make.folder, "--request", "Volume[cc]", "--rule", rule)["structures"]
        volumes[rule] = row["Volume[cc]"]
    # The dose has two planes of 2 mm: a slab of the ball from −2 to 2 mm about its centre, π ∫ (49 − z²) dz.
    truth = np.pi * (49 * 4 - 2 * 8 / 3) / 1000
    errors = {rule: abs(volume - truth) / truth for rule, volume in volumes.items()}
    assert errors["partial-volume"] < 0.005 < errors["exact"]
    by_default = run(make.folder, "--csv", tmp_path / "dvh.csv")
    assert "Read by the rule partial-volume." in by_default.stdout
    assert "Voxels on the boundary of contours count with the part that is inside." in by_default.stdout
    assert pl.read_csv(tmp_path / "dvh.csv")["rule"].to_list() == ["partial-volume"]


def test_a_structure_that_lies_outside_the_dose_as_a_whole_is_said(make: Any) -> None:
    make.dose(STORED, **DOSE)
    make.structures({"PTV": square(12, 20), "Couch": square(112, 120)})
    sentence = "Couch lies outside the dose grid as a whole: it has no dose to be read."
    assert sentence in data(make.folder)["notes"]
    asked = run(make.folder, "--structure", "Couch")
    assert asked.exit_code == 1
    assert sentence in asked.stdout


def test_a_sliver_outside_the_dose_is_flagged_and_said(make: Any) -> None:
    make.dose(STORED, **DOSE)
    make.structures({"PTV": square(0, 20.004)})
    found = data(make.folder)
    assert found["structures"][0]["flags"] == ["outside-dose-grid"]
    assert "PTV: less than 0.1% lie outside the dose grid and are left out." in found["notes"]


@pytest.mark.parametrize("rule", ["openkbp", "doserad"])
def test_other_rules_read_the_same_voxels_otherwise(study: Path, rule: str) -> None:
    (row,) = data(study, "--structure", "PTV", "--request", "D50%[Gy]", "--rule", rule)["structures"]
    assert row["D50%[Gy]"] == np.median(np.repeat([35.0, 40.0, 45.0, 50.0], 8))


def test_a_prescription_on_the_command_line_wins(study: Path) -> None:
    found = data(study, "--prescription", "50", "--request", "V100%[%]", "--structure", "PTV", "--rule", "exact")
    assert found["structures"][0]["V100%[%]"] == 25.0
    assert found["notes"][0] == "Read by the rule exact. Prescription 50 Gy, as given."


def test_without_a_prescription_nothing_is_asked_of_it(study: Path) -> None:
    (study / "plan.dcm").unlink()
    found = data(study)
    assert "V95%[%]" not in found["structures"][0]
    assert found["notes"][0] == "Read by the rule partial-volume. Without a prescription."
    result = run(study, "--request", "V95%[%]")
    assert result.exit_code == 2
    assert "--prescription" in result.output


def test_a_target_far_from_its_prescription_is_pointed_out(study: Path) -> None:
    told = [note for note in data(study, "--prescription", "4000")["notes"] if note.startswith("Look at")]
    assert told == ["Look at PTV: half of it receives 45 Gy of the 4000 Gy prescribed."]
    assert not [note for note in data(study)["notes"] if note.startswith("Look at")]


def test_what_lies_outside_the_dose_is_left_out_and_said(make: Any) -> None:
    make.dose(STORED, **DOSE)
    make.structures({"PTV": [c - [8.0, 0, 0] for c in square(0, 16)], "Away": square(500, 510)})
    found = data(make.folder)
    ptv, away = found["structures"]
    assert ptv["outside"] == pytest.approx(0.5)
    assert ptv["flags"] == ["outside-dose-grid"]
    assert "PTV: 50.0% lie outside the dose grid and are left out." in found["notes"]
    assert away["Volume[cc]"] == 0.0
    assert "empty" in away["flags"]


def test_csv_has_all_digits(study: Path, tmp_path: Path) -> None:
    result = run(study, "--csv", tmp_path / "new" / "dvh.csv")
    assert result.exit_code == 0
    table = pl.read_csv(tmp_path / "new" / "dvh.csv")
    assert table["structure"].to_list() == ["PTV", "Cord"]
    assert table["Volume[cc]"].to_list() == pytest.approx([0.256, 0.064], abs=1e-15)


def test_names_in_csv_are_no_formulas(make: Any, tmp_path: Path) -> None:
    make.dose(STORED, **DOSE)
    names = ['=HYPERLINK("x")', "+1", "-1", "@SUM(A1)", "PTV-=1", "'quoted"]
    make.structures({name: square(0, 4) for name in names})
    assert run(make.folder, "--csv", tmp_path / "dvh.csv").exit_code == 0
    written = pl.read_csv(tmp_path / "dvh.csv")["structure"].to_list()
    assert written == ['\'=HYPERLINK("x")', "'+1", "'-1", "'@SUM(A1)", "PTV-=1", "'quoted"]
    assert [row["structure"] for row in data(make.folder)["structures"]] == names


def test_html_and_svg_are_complete_and_escaped(make: Any, tmp_path: Path) -> None:
    make.dose(STORED, **DOSE)
    make.structures({"<script>alert(1)</script>": square(0, 4), "PTV": square(12, 20)})
    for name in ("dvh.html", "dvh.svg"):
        assert run(make.folder, "--out", tmp_path / name).exit_code == 0
    page = (tmp_path / "dvh.html").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<td>42.50</td>" in page
    assert page.rstrip().endswith("</html>")
    root = ET.fromstring((tmp_path / "dvh.svg").read_text())  # well-formed, with its namespace
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(root.findall(".//{http://www.w3.org/2000/svg}path")) == 2


def test_control_characters_in_names_are_shown_escaped(make: Any) -> None:
    make.dose(STORED, **DOSE)
    make.structures({"PTV\x1b[31m": square(12, 20)}, SpecificCharacterSet="ISO_IR 192")
    result = run(make.folder)
    assert "\x1b[31m" not in result.stdout
    assert "PTV\\x1b[31m" in result.stdout


def test_a_study_without_any_contour_says_so(make: Any, tmp_path: Path) -> None:
    make.dose(STORED, **DOSE)
    make.structures({"Isocenter": []})
    result = run(make.folder, "--out", tmp_path / "dvh.html")
    assert result.exit_code == 1
    assert "There is no structure to show." in result.stdout


def test_a_structure_that_cannot_be_painted_costs_only_itself(make: Any) -> None:
    make.dose(STORED, **DOSE)
    tilted = square(4, 8)
    tilted[0][:, 2] = [0, 1, 1, 0]
    make.structures({"Tilted": tilted, "PTV": square(12, 20)})
    result = run(make.folder)
    assert result.exit_code == 1
    assert "Not shown: 'Tilted': a contour around" in result.stdout
    assert "42.50" in result.stdout


def test_a_contour_that_cannot_be_read_costs_only_its_structure(make: Any) -> None:
    make.dose(STORED, **DOSE)
    cord = square(0, 4)
    cord[0][2, 0] = 3.75
    path = make.structures({"Cord": cord, "PTV": square(12, 20)})
    path.write_bytes(path.read_bytes().replace(b"3.75", b"3x75"))
    result = run(make.folder)
    assert result.exit_code == 1
    assert "Not shown: 'Cord': ContourData has the value '3x75', which is no number" in result.stdout
    assert "Without a closed contour" not in result.stdout
    assert "42.50" in result.stdout


def test_a_file_that_cannot_be_read_is_named_when_something_is_missing(study: Path) -> None:
    whole = (study / "structures.dcm").read_bytes()
    (study / "structures.dcm").write_bytes(whole[:150])
    result = run(study)
    assert result.exit_code == 1
    assert "holds no structure set; perhaps it is what could not be read: structures.dcm:" in result.stderr
    (study / "structures.dcm").write_bytes(whole)
    (study / "dose.dcm").write_bytes(b"")
    result = run(study)
    assert result.exit_code == 1
    assert "holds no dose; perhaps it is what could not be read: dose.dcm:" in result.stderr


def test_a_relative_dose_is_refused_in_words_of_the_command(study: Path, make: Any) -> None:
    make.dose(STORED, DoseUnits="RELATIVE", **DOSE)
    result = run(study)
    assert result.exit_code == 1
    assert "DoseUnits is RELATIVE; GY was expected. Export the dose in gray" in result.stderr


def test_a_structure_in_another_frame_of_reference_is_not_shown(make: Any) -> None:
    """One structure set may hold contours on two scans, and millimetres of one mean nothing on the other."""
    make.dose(STORED, **DOSE)
    path = make.structures({"PTV": square(12, 20), "On the MR": square(0, 4)})
    drawn = pydicom.dcmread(path)
    drawn.StructureSetROISequence[1].ReferencedFrameOfReferenceUID = "1.2.9"
    drawn.save_as(path)
    result = run(make.folder)
    assert result.exit_code == 1
    assert "Not shown: 'On the MR' is drawn in another frame of reference" in result.stdout
    assert "42.50" in result.stdout


def test_two_doses_are_listed_until_one_is_chosen(study: Path, make: Any) -> None:
    make.dose(STORED * 2, name="beam.dcm", DoseSummationType="BEAM", SOPInstanceUID="1.2.3.4.80", **DOSE)
    result = run(study)
    assert result.exit_code == 1
    assert "beam.dcm (BEAM sum" in result.stderr
    assert "dose.dcm (PLAN sum" in result.stderr
    assert data(study, "--dose", "PLAN")["structures"][0]["Max[Gy]"] == 50.0
    assert data(study, "--dose", "beam.dcm")["structures"][0]["Max[Gy]"] == 100.0


def test_several_patients_are_listed_until_one_is_chosen(study: Path, make: Any) -> None:
    make.dose(STORED, name="other.dcm", PatientID="other", **DOSE)
    assert run(study).exit_code == 1
    assert data(study, "--patient", "phantom")["structures"][0]["structure"] == "PTV"


def test_irregular_planes_are_refused_unless_named(make: Any) -> None:
    three = np.concatenate([STORED, STORED, STORED[:1]])
    make.dose(three, **(DOSE | {"GridFrameOffsetVector": [0, 2, 4, 6, 10]}))
    make.structures({"PTV": square(12, 20)})
    result = run(make.folder)
    assert result.exit_code == 1
    assert "unequal distances" in result.stderr
    assert data(make.folder, "--irregular", "resample")["structures"][0]["Mean[Gy]"] == pytest.approx(42.5)


def test_a_dose_that_is_a_difference_has_no_histogram(make: Any) -> None:
    make.dose(STORED, DoseType="ERROR", **DOSE)
    make.structures(ROIS)
    result = run(make.folder)
    assert result.exit_code == 1
    assert "type ERROR" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rule", "nearest"], "'nearest' is not one of exact"),
        (["--irregular", "guess"], "'guess' is not one of refuse, resample"),
        (["--request", "D95"], "D95"),
        (["--structure", "ptv"], "no structure 'ptv'"),
        (["--out", "dvh.png"], "should end in .html or .svg"),
        (["--prescription", "0"], "positive"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_wrong_usage_exits_with_2(study: Path, arguments: list[str], message: str) -> None:
    result = run(study, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


class TestPlainFiles:
    """A dose and a mask per structure, in NIfTI."""

    GRID = Grid((10, 10, 2), spacing=(2.0, 2.0, 2.0))

    @pytest.fixture
    def files(self, tmp_path: Path) -> list[Any]:
        dose = np.broadcast_to(5.0 * np.arange(1, 11)[:, None, None], (10, 10, 2)).copy()
        write(Volume(dose, self.GRID), tmp_path / "dose.nii.gz")
        masks = tmp_path / "masks"
        masks.mkdir()
        ptv = np.zeros((10, 10, 2), dtype=np.uint8)
        ptv[6:, :4] = 1
        write(Volume(ptv, self.GRID), masks / "PTV70.nii.gz")
        write(Volume(ptv[::-1].astype(np.float32) / 2, self.GRID), masks / "Cord.mha")
        (masks / "notes.txt").write_text("not a mask")
        return ["--dose", tmp_path / "dose.nii.gz", "--structures", masks]

    def test_masks_are_structures_and_weights_are_parts(self, files: list[Any]) -> None:
        cord, ptv = data(*files)["structures"]
        assert (ptv["structure"], ptv["Mean[Gy]"], ptv["Volume[cc]"]) == ("PTV70", 42.5, pytest.approx(0.256))
        assert (cord["structure"], cord["Mean[Gy]"], cord["Volume[cc]"]) == ("Cord", 12.5, pytest.approx(0.128))

    def test_a_mask_on_a_finer_grid_gets_an_interpolated_dose(self, files: list[Any]) -> None:
        fine = Grid((20, 20, 4), spacing=(1.0, 1.0, 1.0), origin=(-0.5, -0.5, -0.5))
        mask = np.zeros(fine.shape, dtype=np.uint8)
        mask[8:10] = 1  # x from 7 to 9 mm: around the centre of column 5, where the dose is 25 Gy
        write(Volume(mask, fine), files[3] / "Fine.nii.gz")
        (row,) = data(*files, "--structure", "Fine")["structures"]
        assert row["Mean[Gy]"] == pytest.approx(25.0)
        assert row["Volume[cc]"] == pytest.approx(2 * 20 * 4 / 1000)

    def test_a_mask_that_leaves_the_dose_is_cut_and_said(self, files: list[Any]) -> None:
        wide = Grid((20, 10, 2), spacing=(2.0, 2.0, 2.0))
        write(Volume(np.ones(wide.shape, dtype=np.uint8), wide), files[3] / "Wide.nii.gz")
        found = data(*files, "--structure", "Wide")
        assert found["structures"][0]["outside"] == 0.5
        assert "Wide: 50.0% lie outside the dose grid and are left out." in found["notes"]

    def test_a_damaged_mask_costs_itself(self, files: list[Any]) -> None:
        (files[3] / "Bad.nii.gz").write_bytes(b"x")
        result = run(*files)
        assert result.exit_code == 1
        assert "Not shown: Bad.nii.gz" in result.stdout
        assert "42.50" in result.stdout

    def test_a_rule_of_whole_voxels_refuses_weights(self, files: list[Any]) -> None:
        result = run(*files, "--rule", "openkbp")
        assert result.exit_code == 1
        assert "whole voxels" in result.stderr
        assert data(*files, "--rule", "openkbp", "--structure", "PTV70")["structures"][0]["D50%[Gy]"] == 42.5

    @pytest.mark.parametrize(
        ("keep", "message"),
        [([], "give a DICOM study"), ([0, 1], "give a DICOM study"), ([0, 1, 2], "is not a folder")],
        ids=["nothing", "no masks", "no folder"],
    )
    def test_half_of_the_files_is_wrong_usage(self, files: list[Any], keep: list[int], message: str) -> None:
        arguments = [files[k] for k in keep]
        result = run(*arguments, *(["nowhere"] if len(keep) == 3 else []))
        assert result.exit_code == 2
        assert message in " ".join(result.output.replace("│", " ").split())

    def test_two_masks_of_one_structure_are_refused(self, files: list[Any]) -> None:
        shutil.copy(files[3] / "Cord.mha", files[3] / "PTV70.mha")
        result = run(*files)
        assert result.exit_code == 2
        assert "both masks of PTV70" in " ".join(result.output.replace("│", " ").split())

    def test_an_unknown_structure_is_refused(self, files: list[Any]) -> None:
        result = run(*files, "--structure", "Heart")
        assert result.exit_code == 2
        assert "no mask for Heart; there is Cord, PTV70" in " ".join(result.output.replace("│", " ").split())


def test_help_needs_nothing_heavy() -> None:
    code = (
        "import sys, isocenter.cli._dvh; "
        "sys.exit(', '.join(m for m in ('pydicom', 'numpy', 'polars', 'numba') if m in sys.modules) or None)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
