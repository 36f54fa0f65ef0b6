"""Scanning a study: what is found, what belongs together, what must be chosen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest

from isocenter.volumes.dicom import AmbiguousStudyError, DicomError, _dataset, read_ct, read_dose, read_structures, scan

SQUARE = np.array([[0.0, 0, 0], [9, 0, 0], [9, 9, 0], [0, 9, 0]])


def reference(*uids: str) -> list[pydicom.Dataset]:
    found = []
    for uid in uids:
        item = pydicom.Dataset()
        item.ReferencedSOPClassUID, item.ReferencedSOPInstanceUID = "1.2.3", uid
        found.append(item)
    return found


def frame(uid: str) -> list[pydicom.Dataset]:
    item = pydicom.Dataset()
    item.FrameOfReferenceUID = uid
    return [item]


@pytest.fixture
def study(make: Any) -> Path:
    """A complete study, over several folders."""
    make.ct(prefix="images/ct")
    make.structures({"PTV": [SQUARE]}, SOPInstanceUID="1.2.3.4.70")
    make.plan(60.0, 70.0, SOPInstanceUID="1.2.3.4.71", ReferencedStructureSetSequence=reference("1.2.3.4.70"))
    make.dose(ReferencedRTPlanSequence=reference("1.2.3.4.71"))
    folder: Path = make.folder
    return folder


def zipped(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder), "zip", folder))


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_a_folder_and_a_zip_are_scanned_alike(study: Path, packed: bool) -> None:
    found = scan(zipped(study) if packed else study)
    assert [len(found.ct), len(found.doses), len(found.structures), len(found.plans)] == [1, 1, 1, 1]
    assert found.ct_series().names == ("images/ct0.dcm", "images/ct1.dcm", "images/ct2.dcm")
    assert read_ct(found.ct_series().files).grid.shape == (5, 4, 3)
    assert read_dose(found.dose().file).array.max() == 59 * 0.5
    assert read_structures(found.structure_set().file)["PTV"].number == 1
    assert found.remarks == ()


def test_a_dose_is_matched_with_its_structures_and_its_plan(study: Path) -> None:
    found = scan(study).match()
    assert (found.dose.name, found.structures.name) == ("dose.dcm", "structures.dcm")
    assert found.plan is not None
    assert found.plan.prescription == 70.0
    assert found.plan.prescriptions == (70.0, 60.0)
    assert (found.dose.units, found.dose.type, found.dose.summation) == ("GY", "PHYSICAL", "PLAN")


def test_a_plan_without_a_prescription_has_none(make: Any) -> None:
    make.plan()
    assert scan(make.folder).plans[0].prescription is None


def test_two_doses_must_be_chosen_from(study: Path, make: Any) -> None:
    make.dose(name="beam1.dcm", DoseSummationType="BEAM", SOPInstanceUID="1.2.3.4.81")
    make.dose(name="beam2.dcm", DoseSummationType="BEAM", SOPInstanceUID="1.2.3.4.82")
    found = scan(study)
    with pytest.raises(AmbiguousStudyError, match=r"3 candidates for the dose.*beam1.dcm \(BEAM sum, PHYSICAL, GY\)"):
        found.match()
    assert found.match(dose="PLAN").dose.name == "dose.dcm"
    assert found.match(dose="beam2.dcm").dose.uid == "1.2.3.4.82"
    assert found.match(dose="1.2.3.4.81").dose.name == "beam1.dcm"
    with pytest.raises(AmbiguousStudyError, match="2 candidates"):
        found.match(dose="BEAM")
    with pytest.raises(DicomError, match="no dose 'FRACTION'"):
        found.match(dose="FRACTION")


def test_of_two_structure_sets_the_one_of_the_plan_is_taken(study: Path, make: Any) -> None:
    make.structures({"PTV": []}, name="second.dcm", StructureSetLabel="second")
    found = scan(study)
    assert found.match().structures.name == "structures.dcm"
    assert found.match(structures="second").structures.name == "second.dcm"


def test_two_structure_sets_without_a_reference_must_be_chosen_from(make: Any) -> None:
    make.dose()
    make.structures({"PTV": []}, name="first.dcm")
    make.structures({"PTV": []}, name="second.dcm", StructureSetLabel="second")
    with pytest.raises(AmbiguousStudyError, match=r"2 candidates .*first.dcm \(drawn\); second.dcm \(second\)"):
        scan(make.folder).match()


def test_structures_in_another_frame_of_reference_are_never_used(make: Any) -> None:
    make.dose()
    make.structures({"PTV": []}, name="elsewhere.dcm", ReferencedFrameOfReferenceSequence=frame("1.2.9"))
    with pytest.raises(DicomError, match=r"no structure set lies in the frame of reference of dose.dcm"):
        scan(make.folder).match()
    with pytest.raises(DicomError, match="frame of reference"):
        scan(make.folder).match(structures="elsewhere.dcm")
    make.structures({"PTV": []}, name="here.dcm")
    assert scan(make.folder).match().structures.name == "here.dcm"


def test_what_is_missing_is_said(make: Any) -> None:
    make.dose()
    with pytest.raises(DicomError, match=r"study holds no structure set$"):
        scan(make.folder).match()
    with pytest.raises(DicomError, match="study holds no CT series"):
        scan(make.folder).ct_series()


def test_what_is_missing_may_be_in_a_file_that_cannot_be_read(make: Any) -> None:
    make.plan(60.0)
    make.dose().write_bytes(b"")
    structures = make.structures({"PTV": [SQUARE]})
    structures.write_bytes(structures.read_bytes()[:135])
    found = scan(make.folder)
    assert set(found.damaged) <= set(found.remarks)
    for look in (found.dose, found.structure_set):
        with pytest.raises(
            DicomError, match=r"perhaps it is what could not be read: dose.dcm: passed over: .* 0 bytes"
        ):
            look()
        with pytest.raises(DicomError, match=r"structures.dcm: damaged: no attribute after the preamble"):
            look()


def test_several_patients_must_be_chosen_from(study: Path, make: Any) -> None:
    make.dose(name="other.dcm", PatientID="somebody else")
    with pytest.raises(AmbiguousStudyError, match="2 patients; choose one by its ID: 'phantom', 'somebody else'"):
        scan(study)
    assert scan(study, patient="somebody else").dose().name == "other.dcm"
    assert scan(study, patient="phantom").match().dose.name == "dose.dcm"
    with pytest.raises(DicomError, match="no patient 'nobody'"):
        scan(study, patient="nobody")


def test_what_has_no_patient_belongs_to_any(study: Path, make: Any) -> None:
    make.dose(name="nobody.dcm", PatientID="", DoseSummationType="BEAM", SOPInstanceUID="1.2.3.4.83")
    found = scan(study)
    assert {dose.name for dose in found.doses} == {"dose.dcm", "nobody.dcm"}


def test_two_series_must_be_chosen_from(study: Path, make: Any) -> None:
    make.ct(prefix="second", SeriesInstanceUID="1.2.3.4.90", SeriesDescription="arterial")
    found = scan(study)
    with pytest.raises(AmbiguousStudyError, match=r"1.2.3.4.90 \(3 slices, arterial\)"):
        found.ct_series()
    assert found.ct_series("arterial").uid == "1.2.3.4.90"


def test_everything_else_is_passed_over_with_a_remark(study: Path, make: Any) -> None:
    (study / "readme.txt").write_text("x" * 400)
    (study / "empty").write_bytes(b"")
    (study / "short.dcm").write_bytes(b"\x08\0")
    make.save("mr.dcm", "MR", {})
    make.ct([99.0], prefix="scout", ImageType=["ORIGINAL", "PRIMARY", "LOCALIZER"], SeriesInstanceUID="1.2.3.4.91")
    shutil.copy(study / "dose.dcm", study / "z-copy.dcm")
    (study / "link.dcm").symlink_to(study / "dose.dcm")
    (study / "linked").symlink_to(study.parent)
    os.mkfifo(study / "pipe")
    found = scan(study)
    assert len(found.doses) == 1
    assert len(found.ct) == 1
    assert set(found.remarks) == {
        "1 file of modality MR passed over",
        "1 file of CT localizers passed over",
        "2 files not in DICOM passed over",
        "short.dcm: passed over: named as DICOM, but its 2 bytes are not",
        "link.dcm: a symbolic link; passed over",
        "linked: a symbolic link; passed over",
        "pipe: not a regular file; passed over",
        "z-copy.dcm: passed over: has the SOPInstanceUID of dose.dcm",
    }


def test_files_without_a_preamble_are_read_if_they_look_like_dicom(make: Any) -> None:
    make.dose(raw=True)
    make.ct(raw=True)
    make.structures({"PTV": [SQUARE]}, raw=True)
    assert (make.folder / "dose.dcm").read_bytes()[128:132] != b"DICM"
    found = scan(make.folder)
    assert read_dose(found.match().dose.file).array.max() == 59 * 0.5
    assert read_ct(found.ct_series().files).grid.shape == (5, 4, 3)
    assert len(read_structures(found.structure_set().file)["PTV"].contours) == 1


def test_a_folder_without_dicom_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing here")
    with pytest.raises(DicomError, match="no CT, RTDOSE, RTSTRUCT or RTPLAN was found; 1 file not in DICOM"):
        scan(tmp_path)


def test_a_folder_too_deep_or_too_full_is_not_looked_through(
    study: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.dose(name="/".join(["deep"] * 17) + "/dose.dcm", SOPInstanceUID="1.2.3.4.84")
    found = scan(study)
    assert len(found.doses) == 1
    assert found.remarks == ("/".join(["deep"] * 16) + ": what lies deeper than this is not looked at",)
    monkeypatch.setattr("isocenter.volumes.dicom._listing._MAX_FILES", 3)
    for path in (study, zipped(study)):
        with pytest.raises(DicomError, match="more than 3 files"):
            scan(path)


def test_neither_folder_nor_zip_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "study.tar").write_bytes(b"x" * 1000)
    with pytest.raises(DicomError, match=r"study.tar: neither a folder nor a zip"):
        scan(tmp_path / "study.tar")
    with pytest.raises(FileNotFoundError):
        scan(tmp_path / "absent")


@pytest.mark.parametrize("keep", [3, 100, 131, 140, 300, 600, 0.7, 0.9, 0.999])
def test_a_cut_off_file_costs_itself_or_is_refused_when_read(make: Any, keep: float) -> None:
    path = make.dose()
    make.plan(60.0)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if keep < 1 else int(keep)])
    found = scan(make.folder)
    assert len(found.plans) == 1
    with pytest.raises(DicomError):
        read_dose(path)


def test_no_damaged_byte_leads_to_anything_but_a_dose_or_a_dicom_error(make: Any, tmp_path: Path) -> None:
    data = make.dose().read_bytes()
    random = np.random.default_rng(4)
    read = refused = 0
    for _ in range(300):
        changed = bytearray(data)
        for place in random.integers(132, len(data) - 120, size=3):
            changed[place] = random.integers(256)
        path = tmp_path / "damaged.dcm"
        path.write_bytes(changed)
        try:
            dose = read_dose(path)
        except DicomError:
            refused += 1
        else:
            read += 1
            assert np.isfinite(dose.array).all()
    assert read > 0
    assert refused > 0


def test_no_damaged_byte_of_a_structure_set_leads_to_anything_else(make: Any, tmp_path: Path) -> None:
    data = make.structures({"PTV": [SQUARE, SQUARE + 3.0], "Cord": [SQUARE]}).read_bytes()
    random = np.random.default_rng(4)
    read = refused = 0
    for _ in range(300):
        changed = bytearray(data)
        for place in random.integers(132, len(data), size=3):
            changed[place] = random.integers(256)
        path = tmp_path / "damaged.dcm"
        path.write_bytes(changed)
        try:
            read_structures(path)
            read += 1
        except DicomError:
            refused += 1
    assert read > 0
    assert refused > 0


def test_a_deflated_file_is_not_inflated(make: Any, tmp_path: Path) -> None:
    """A megabyte could become a gigabyte."""
    dataset = pydicom.dcmread(make.dose())
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    dataset.save_as(tmp_path / "deflated.dcm")
    with pytest.raises(DicomError, match="deflated transfer syntax"):
        read_dose(tmp_path / "deflated.dcm")


def test_sequences_within_sequences_without_end_are_refused(make: Any) -> None:
    path = make.structures({"PTV": [SQUARE]})
    nested = b"\x06\x30\x39\x00\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff" * 20_000
    path.write_bytes(path.read_bytes() + nested)
    with pytest.raises(DicomError, match="damaged or cut off"):
        read_structures(path)


def test_a_file_that_is_too_large_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "huge.dcm"
    with path.open("wb") as file:
        file.write(b"\0" * 128 + b"DICM")
        file.truncate((1 << 30) + 1)  # a hole in the file: it takes no space
    with pytest.raises(DicomError, match=r"huge.dcm: 1,073,741,825 bytes; at most"):
        read_dose(path)


META = b"\x02\x00\x10\x00UI\x12\x001.2.840.10008.1.2\0"  # implicit little endian
MODALITY = b"\x08\x00\x60\x00\x06\x00\x00\x00RTDOSE"


def zeros_after(path: Path, start: bytes, size: int = 40_000_000) -> Path:
    with path.open("wb") as file:
        file.write(b"\0" * 128 + b"DICM" + start)
        file.truncate(file.tell() + size)
    return path


class Reads:
    """Counts how often a file is read, instead of the seconds it takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        read = _dataset._Patient.read

        def counted(stream: Any, size: int = -1) -> bytes:
            self.count += 1
            return read(stream, size)

        monkeypatch.setattr(_dataset._Patient, "read", counted)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"", "attribute of group 0000 after the preamble; the file meta group, 0002, was expected"),
        (b"\x08\0\x16\0UI\0\0", "attribute of group 0008 after the preamble"),
        (META, "attribute of group 0000 where the data set starts"),
        (META + MODALITY, "more than 20,000 attributes"),
        (META + b"\x08\0\x08\0\0\0\x20\0" + b"\0" * 0x200000, "no modality within 1,048,576 bytes"),
        (META + b"\x02\0\x12\0UI\0\0" * 5000, "more than 1,000 attributes in the file"),
        (META + MODALITY + b"\x0c\x30\x02\0\0\0\0\x02", r"attribute \(300C,0002\) of 33,554,432 bytes"),
    ],
)
def test_a_file_of_zeros_is_given_up_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: bytes, message: str
) -> None:
    path = zeros_after(tmp_path / "zeros.dcm", start)
    reads = Reads(monkeypatch)
    with pytest.raises(DicomError, match=f"zeros.dcm: damaged: .*{message}"):
        scan(tmp_path)
    assert 0 < reads.count < 50_000
    with zipfile.ZipFile(tmp_path.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "zeros.dcm")
    with pytest.raises(DicomError, match=message):
        scan(tmp_path.with_suffix(".zip"))


def test_zeros_in_a_sequence_without_length_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dataset, "_MAX_READS", 10_000)
    sequence = b"\x0c\x30\x02\0\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff"
    zeros_after(tmp_path / "zeros.dcm", META + MODALITY + sequence)
    with pytest.raises(DicomError, match=r"zeros.dcm: damaged: no end after 10,000 reads"):
        scan(tmp_path)


class TestHostileZips:
    def test_a_member_twice_is_refused(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "study.zip", "w") as archive:
            archive.writestr("dose.dcm", b"1")
            with pytest.warns(UserWarning, match="Duplicate"):
                archive.writestr("dose.dcm", b"2")
        with pytest.raises(DicomError, match=r"dose.dcm stands in the archive more than once"):
            scan(tmp_path / "study.zip")

    def test_links_and_locked_members_are_passed_over(self, study: Path) -> None:
        path = zipped(study)
        link = zipfile.ZipInfo("link.dcm")
        link.external_attr = 0o120777 << 16
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(link, "/etc/passwd")
            archive.writestr("locked.dcm", b"secret")
            archive.filelist[-1].flag_bits |= 0x1  # said in the directory that is written at the end
        found = scan(path)
        assert found.match().dose.name == "dose.dcm"
        assert found.remarks == (
            "link.dcm: a symbolic link or another special file; passed over",
            "locked.dcm: protected by a password; passed over",
        )

    def test_a_damaged_member_costs_itself(self, study: Path) -> None:
        path = zipped(study)
        with zipfile.ZipFile(path) as archive:
            start = archive.getinfo("plan.dcm").header_offset + 60
        data = bytearray(path.read_bytes())
        data[start : start + 200] = b"\xff" * 200
        path.write_bytes(data)
        found = scan(path)
        assert found.plans == ()
        assert any(remark.startswith("plan.dcm: passed over") for remark in found.remarks)
        assert len(found.doses) == 1

    def test_a_member_that_claims_the_impossible_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "bomb.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("dose.dcm", b"1234")
            archive.filelist[-1].file_size = 1 << 31
        with pytest.raises(DicomError, match="claims to inflate"):
            scan(path)

    def test_a_cut_off_zip_is_refused(self, study: Path) -> None:
        path = zipped(study)
        path.write_bytes(path.read_bytes()[:-30])
        with pytest.raises(DicomError, match=r"study.zip: neither a folder nor a zip"):
            scan(path)


def test_nothing_heavy_is_imported_before_a_file_is_read() -> None:
    code = (
        "import sys, isocenter.volumes.dicom; "
        "sys.exit(', '.join(m for m in ('pydicom', 'numba', 'SimpleITK', 'scipy') if m in sys.modules) or None)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
