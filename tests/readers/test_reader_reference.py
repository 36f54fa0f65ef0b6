"""The reference of a challenge as readers are scored against it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isocenter
from isocenter.evaluation import CohortError
from isocenter.readers import label_slot, open_reference
from isocenter.submissions import ImageFile, MaskFile, Reading
from isocenter.volumes import Grid, Volume, write

HECKTOR = isocenter.challenge("hecktor2020")


def test_lesions_grids_and_weights_of_a_folder_and_of_a_zip(reference: Path, tmp_path: Path) -> None:
    (reference / "cases.csv").write_text(
        "case,weight\n" + "".join(f"CHUV00{n},{w}\n" for n, w in enumerate((1, 2, 0.5, 1), start=1))
    )
    archive = shutil.make_archive(str(tmp_path / "zipped"), "zip", reference)
    for path in (reference, archive):
        found = open_reference(HECKTOR, path)
        assert {name: case.label.count for name, case in found.items()} == {
            "CHUV001": 1,
            "CHUV002": 1,
            "CHUV003": 2,  # a tumour and a node, which do not touch
            "CHUV004": 1,
        }
        assert [case.weight for case in found.values()] == [1.0, 2.0, 0.5, 1.0]
        assert found["CHUV001"].grid.same_as(Grid((12, 10, 8), (1.0, 1.0, 3.0), (-20.0, 5.0, 100.0)))


def test_only_wanted_cases_are_read_and_progress_is_told(reference: Path, truth: dict[str, np.ndarray]) -> None:
    write(Volume(truth["CHUV001"] * 7, Grid((12, 10, 8))), reference / "CHUV001.nii.gz")
    told: list[tuple[int, int, str]] = []
    found = open_reference(
        HECKTOR, reference, cases={"CHUV003", "CHUV002", "lost"}, progress=lambda *state: told.append(state)
    )
    assert list(found) == ["CHUV002", "CHUV003"]
    assert told == [(1, 2, "CHUV002"), (2, 2, "CHUV003")]


def test_all_files_that_cannot_be_used_are_named(reference: Path, truth: dict[str, np.ndarray]) -> None:
    grid = Grid((12, 10, 8))
    write(Volume(truth["CHUV001"] * 7, grid), reference / "CHUV001.nii.gz")
    write(Volume(truth["CHUV002"] * np.float32(0.5), grid), reference / "CHUV002.nii.gz")
    with pytest.raises(CohortError) as refused:
        open_reference(HECKTOR, reference)
    assert "CHUV001.nii.gz  holds the label 7" in str(refused.value)
    assert "CHUV002.nii.gz  holds the fractional value 0.5" in str(refused.value)
    assert "CHUV003" not in str(refused.value)


@pytest.mark.parametrize("name", ["openkbp2020", "doserad2026"])
def test_a_challenge_without_a_label_volume_has_nothing_to_mark(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"the reference of {name} has none"):
        open_reference(isocenter.challenge(name), tmp_path)


def test_the_one_label_volume_is_found_among_images() -> None:
    among = replace(HECKTOR, reference={"ct": ImageFile(pattern="{case}_ct"), "mask": MaskFile()})
    assert label_slot(among) == "mask"
    with pytest.raises(ValueError, match="the reference of hecktor2020 has mask, other"):
        label_slot(replace(HECKTOR, reference={"mask": MaskFile(), "other": MaskFile(pattern="{case}_other")}))


def test_readers_and_algorithms_have_one_truth(tmp_path: Path) -> None:
    grid = Grid((12, 10, 8))
    for name in ("PCA001", "PCA002"):
        write(Volume(np.zeros(grid.shape, np.uint8), grid), tmp_path / f"{name}.nii.gz")
    (tmp_path / "cases.csv").write_text("case,cspca\nPCA001,YES\nPCA002,NO\n")
    found = open_reference(isocenter.challenge("picai2022"), tmp_path)
    assert [(case.positive, case.label.count) for case in found.values()] == [(True, 0), (False, 0)]
    (tmp_path / "cases.csv").write_text("case,cspca\nPCA001,perhaps\nPCA002,NO\n")
    with pytest.raises(CohortError, match=r"PCA001 .* 'perhaps'"):
        open_reference(isocenter.challenge("picai2022"), tmp_path)


@dataclass(frozen=True, kw_only=True)
class _OtherFile(MaskFile):
    """A kind of file that some challenge made for itself."""

    value: Any = None

    def read(self, file: Any, *, grid: Any, policy: Any) -> Reading:
        return Reading(self.value)


def test_kinds_of_other_challenges_may_read_volumes_and_nothing_else(
    reference: Path, truth: dict[str, np.ndarray]
) -> None:
    volume = Volume(truth["CHUV003"], Grid((12, 10, 8)))
    found = open_reference(replace(HECKTOR, reference={"mask": _OtherFile(value=volume)}), reference)
    assert {case.label.count for case in found.values()} == {2}
    with pytest.raises(CohortError, match=r"CHUV001.nii.gz +is read as a str, not as a label volume"):
        open_reference(replace(HECKTOR, reference={"mask": _OtherFile(value="positive")}), reference)
