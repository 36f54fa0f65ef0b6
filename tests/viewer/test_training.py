"""Released data to look at: which files are whose, and what is shown of a case that has nothing to be compared with."""

from __future__ import annotations

import gzip
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import isocenter
from isocenter.viewer import open_training
from isocenter.volumes import Grid, Volume, write

GRID = Grid((12, 10, 8), spacing=(1.0, 1.0, 3.0), origin=(-20.0, 5.0, 100.0))
PATIENTS = Path(__file__).parents[1] / "golden" / "dose" / "openkbp" / "reference"


def names(folder: Path, *files: str) -> Path:
    """A zip of files without any content: names are all that is looked at."""
    with zipfile.ZipFile(folder / "names.zip", "w") as archive:
        for name in files:
            archive.writestr(name, b"")
    return folder / "names.zip"


def seen(challenge: str, path: Path) -> dict[str, tuple[list[str], list[str]]]:
    """By case, what its scans call themselves, and where its labels are."""
    found = open_training(isocenter.challenge(challenge), path).cases
    return {case: ([scan.name for scan in one.scans], [name for name, _ in one.labels]) for case, one in found.items()}


@pytest.mark.parametrize(
    ("challenge", "files", "expected"),
    [
        (
            "hecktor2020",
            ["hecktor/CHGJ007_pt.nii.gz", "hecktor/CHGJ007_ct.nii.gz", "hecktor/CHGJ007_ct_gtvt.nii.gz"],
            {"CHGJ007": (["CT", "PT"], ["hecktor/CHGJ007_ct_gtvt.nii.gz"])},
        ),
        (
            "hecktor2020",
            ["images/A.nii.gz", "labels/A.nii.gz", "labels/B.nii.gz"],
            {"A": (["SCAN"], ["labels/A.nii.gz"]), "B": ([], ["labels/B.nii.gz"])},
        ),
        (
            "picai2022",
            [
                "10005/10005_1000005_t2w.mha",
                "10005/10005_1000005_adc.mha",
                "labels/10005_1000005.nii.gz",
                "labels/10005_1000005_detection_map.mha",
                "labels/10006_1000006_label.nii.gz",
            ],
            {
                "10005_1000005": (["T2W", "ADC"], ["labels/10005_1000005.nii.gz"]),
                "10006_1000006": ([], ["labels/10006_1000006.nii.gz"]),
            },
        ),
        (
            "openkbp2020",
            [
                "train/pt_1/ct.csv",
                "train/pt_1/dose.csv",
                "train/pt_1/PTV70.csv",
                "train/pt_2/ct.csv",
                "train/notes.csv",
            ],
            {"pt_1": (["CT"], ["train/pt_1"]), "pt_2": (["CT"], [])},
        ),
        (
            "doserad2026",
            ["1ABB001/image/ct.mha", "1ABB001/case.json", "1ABB001/gt_beam_doses.mha"],
            {"1ABB001": (["CT"], [])},
        ),
        ("lung2019", ["train/MR_001.mha", "train/ct.mha"], {"001": (["MR"], []), "train": (["CT"], [])}),
        ("hecktor2020", ["README.md", "cases.csv", "__MACOSX/A_ct.nii.gz", "ct.nii.gz", "a\x07b_ct.nii.gz"], {}),
    ],
)
def test_names_tell_scans_and_labels_and_whose_they_are(tmp_path, challenge, files, expected) -> None:
    assert seen(challenge, names(tmp_path, *files)) == expected


def test_an_archive_that_cannot_be_trusted_has_no_cases_and_says_why(tmp_path: Path) -> None:
    training = open_training(isocenter.challenge("hecktor2020"), names(tmp_path, "A_ct.nii.gz", "../B_ct.nii.gz"))
    assert training.cases == {}
    assert "leads out of the archive" in training.listing.problems[0].message


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A and B have a CT, and A a label of 2 × 3 voxels in its slices 2 to 4; C has a label that is none."""
    scan = np.add.outer(np.add.outer(np.arange(12.0), np.arange(10.0)), np.arange(8.0)) * 40 - 1000
    label = np.zeros(GRID.shape, np.uint8)
    label[4:6, 3:6, 2:5] = 1
    label[4:6, 3:7, 3] = 2
    for case in "AB":
        write(Volume(scan.astype(np.int16), GRID), tmp_path / f"{case}_ct.nii.gz")
    write(Volume(label, GRID), tmp_path / "A.nii.gz")
    write(Volume(label * 7, GRID), tmp_path / "C.nii.gz")
    with zipfile.ZipFile(tmp_path / "released.zip", "w") as archive:
        for path in sorted(tmp_path.glob("*.nii.gz")):
            archive.write(path, f"train/{path.name}")
    return tmp_path / "released.zip"


def test_a_label_alone_is_shown_on_its_scan_and_begins_where_it_is_largest(released: Path) -> None:
    look = open_training(isocenter.challenge("hecktor2020"), released).look("A")
    said = look.sight.description()
    assert [(layer["key"], layer["role"]) for layer in said["layers"]] == [
        ("image-0", "image"),
        ("reference", "reference"),
    ]
    assert (said["compared"], said["alone"], look.sight.modes) == (
        False,
        "reference",
        (("outlines", "outlines"), ("filled", "filled")),
    )
    assert said["slices"]["worst"] == 3
    assert said["slices"]["said"][2:4] == ["outlined 6 mm²", "outlined 8 mm²"]
    assert look.sight.nifti("output") is None
    assert "<svg" in look.figures[0].picture
    assert look.notes == ()


def test_scans_without_a_label_begin_in_the_middle(released: Path) -> None:
    look = open_training(isocenter.challenge("hecktor2020"), released).look("B")
    said = look.sight.description()
    assert (said["alone"], look.sight.modes, said["slices"]["series"]) == ("", (), {})
    assert said["slices"]["worst"] == 4
    assert said["start"] == [12 - 1 - 6, 10 - 1 - 5, 4]
    assert "Nothing is marked" in look.figures[0].picture


def test_a_label_that_the_challenge_would_refuse_is_said_and_not_shown(released: Path) -> None:
    look = open_training(isocenter.challenge("hecktor2020"), released).look("C")
    assert look.sight is None
    assert look.notes == (
        "The mask train/C.nii.gz cannot be shown: "
        "holds the labels 7, 14; a mask may hold only 0, 1 (tumour), 2 (nodes).",
    )


def test_a_patient_of_openkbp_is_a_dose_with_structures(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "patients.zip", "w") as archive:
        for path in sorted(PATIENTS.rglob("*.csv")):
            archive.write(path, f"train/{path.relative_to(PATIENTS)}")
    training = open_training(isocenter.challenge("openkbp2020"), tmp_path / "patients.zip")
    case = next(iter(training.cases))
    look = training.look(case)
    said = look.sight.description()
    roles = {layer["role"] for layer in said["layers"]}
    assert (said["kind"], said["alone"], said["oriented"]) == ("dose", "reference", False)
    assert {"reference", "structure"} <= roles
    assert not {"output", "difference"} & roles
    assert look.sight.modes == (("reference", "reference"),)
    assert "Gy" in look.figures[0].caption


def huge(path: Path, shape: tuple[int, int, int]) -> None:
    """A file whose header announces more voxels than it has; it is large enough not to be an obvious lie."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *shape, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 4, 16)
    struct.pack_into("<8f", header, 76, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    struct.pack_into("<3f", header, 108, 352.0, 1.0, 0.0)
    struct.pack_into("<2h", header, 252, 0, 1)
    struct.pack_into("<12f", header, 280, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)
    header[344:348] = b"n+1\0"
    path.write_bytes(gzip.compress(bytes(header)) + bytes(2 * shape[0] * shape[1] * shape[2] // 1000))


def test_a_volume_that_would_fill_the_memory_is_refused_by_its_header(tmp_path: Path, released: Path) -> None:
    huge(tmp_path / "A_pt.nii.gz", (513, 512, 512))
    with zipfile.ZipFile(released, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "A_pt.nii.gz", "train/A_pt.nii.gz")
    look = open_training(isocenter.challenge("hecktor2020"), released).look("A")
    assert [layer.key for layer in look.sight.layers] == ["image-0", "reference"]
    assert look.notes == (
        "The scan A_pt.nii.gz cannot be shown: it would take 513 MiB of memory; at most 512 MiB are opened here.",
    )


@pytest.mark.parametrize("cut", [0, 30, 200])
def test_a_damaged_scan_leaves_the_label(tmp_path: Path, released: Path, cut: int) -> None:
    with zipfile.ZipFile(tmp_path / "cut.zip", "w") as archive:
        archive.writestr("A.nii.gz", (tmp_path / "A.nii.gz").read_bytes())
        archive.writestr("A_ct.nii.gz", (tmp_path / "A_ct.nii.gz").read_bytes()[:cut])
    look = open_training(isocenter.challenge("hecktor2020"), tmp_path / "cut.zip").look("A")
    assert [layer.key for layer in look.sight.layers] == ["reference"]
    assert "The scan A_ct.nii.gz cannot be shown" in look.notes[0]
