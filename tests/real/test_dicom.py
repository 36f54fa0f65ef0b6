"""Three DICOM studies of other people: a tiny complete one, a head-and-neck CT with contours, and a troublesome one."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk

from isocenter.metrics.dvh import dvh_of
from isocenter.volumes import Grid, dicom

TINY = "plastimatch_tiny-rt-study"
HEAD = "rtog-head-and-neck-cetuximab"
XIO = "xio-4.60.00-phantom-irregular-spacing"
OVERLAP = ("contours overlap on 6 planes; by the even-odd rule what two share is outside",)


@pytest.fixture(scope="session")
def study(data: Path) -> dict[str, dicom.Study]:
    return {name: dicom.scan(data / f"dicom-{name}.zip") for name in (TINY, HEAD, XIO)}


@pytest.fixture(scope="session")
def unpacked(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For readers that cannot look into a zip."""
    root = tmp_path_factory.mktemp("dicom")
    for name in (TINY, HEAD):
        shutil.unpack_archive(data / f"dicom-{name}.zip", root / name)
    return {name: root / name for name in (TINY, HEAD)}


@pytest.fixture(scope="session")
def head_ct(study: dict[str, dicom.Study]) -> Grid:
    return dicom.read_ct(study[HEAD].ct_series().files).grid


def drawn_volume(roi: dicom.Roi) -> float:
    """Areas by the shoelace formula × 3 mm, cc; no contour of this study is a hole."""
    areas = [abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2 for x, y, _ in (contour.T for contour in roi.contours)]
    return sum(areas) * 3.0 / 1000


class TestTinyStudy:
    def test_dose_structures_and_ct_are_found(self, study: dict[str, dicom.Study]) -> None:
        found = study[TINY]
        matched = found.match()
        assert len(found.ct_series().files) == 10
        assert matched.plan is None  # the dose names a plan that is not in the study
        assert [roi.label for roi in dicom.read_structures(matched.structures.file)] == [
            "Body_Contour",
            "Tumor_Contour",
        ]

    def test_dose_and_ct_lie_where_itk_says(self, study: dict[str, dicom.Study], unpacked: dict[str, Path]) -> None:
        dose = dicom.read_dose(study[TINY].dose().file)
        itk = sitk.ReadImage(str(unpacked[TINY] / study[TINY].dose().name))
        assert dose.grid.shape == itk.GetSize()
        for index in [(0, 0, 0), (9, 9, 9)]:
            ours = (dose.grid.affine @ [*index, 1.0])[:3]
            assert tuple(ours) == pytest.approx(itk.TransformIndexToPhysicalPoint(index), abs=1e-6)
        # ITK leaves the scaling to others.
        np.testing.assert_allclose(dose.array, sitk.GetArrayFromImage(itk).T * 1.07734e-8, rtol=1e-12)

        names = sorted(study[TINY].ct_series().names)  # numbered from the feet up
        itk = sitk.ReadImage([str(unpacked[TINY] / name) for name in names])
        ct = dicom.read_ct(study[TINY].ct_series().files)
        assert ct.grid.origin == pytest.approx(itk.GetOrigin())
        assert ct.grid.spacing == pytest.approx(itk.GetSpacing())
        np.testing.assert_allclose(ct.array, sitk.GetArrayFromImage(itk).T)

    def test_a_histogram_from_beginning_to_end(self, study: dict[str, dicom.Study]) -> None:
        matched = study[TINY].match()
        dose = dicom.read_dose(matched.dose.file)
        tumour = dicom.read_structures(matched.structures.file)["Tumor_Contour"]
        mask = dicom.roi_mask(tumour, dose.grid).weights
        parts = dicom.partial_volumes(tumour, dose.grid).weights
        assert mask.sum() == 5  # a tumour of five voxels, 49 × 49 × 23 mm each
        whole = dvh_of(dose.array[mask], voxel_volume=dose.grid.voxel_volume)
        weighted = dvh_of(dose.array, voxel_volume=dose.grid.voxel_volume, weights=parts)
        assert whole.volume == pytest.approx(5 * 49 * 49 * 23 / 1000)
        assert weighted.volume == pytest.approx(193.281, abs=1e-3)  # area of the polygons × 23 mm
        assert float(whole.evaluate("Max[Gy]")) == pytest.approx(45.309, abs=0.001)
        assert 26 < weighted.mean < 46


class TestHeadAndNeck:
    def test_ct_is_the_one_that_itk_reads(self, study: dict[str, dicom.Study], unpacked: dict[str, Path]) -> None:
        series = study[HEAD].ct_series()
        ct = dicom.read_ct(series.files)
        assert str(ct.grid) == "512×512×130 at 1.08×1.08×3 mm"
        folder = unpacked[HEAD] / Path(series.names[0]).parent
        sorter = sitk.ImageSeriesReader()
        itk = sitk.ReadImage(sorter.GetGDCMSeriesFileNames(str(folder)))
        assert ct.grid.origin == pytest.approx(itk.GetOrigin())
        assert ct.grid.spacing == pytest.approx(itk.GetSpacing())
        np.testing.assert_allclose(ct.array[::8, ::8], sitk.GetArrayFromImage(itk).T[::8, ::8], atol=1e-3)

    def test_there_is_no_dose_and_the_plan_prescribes_nothing(self, study: dict[str, dicom.Study]) -> None:
        with pytest.raises(dicom.DicomError, match="holds no dose"):
            study[HEAD].match()
        assert study[HEAD].plans[0].prescription is None

    def test_volumes_of_all_structures_are_those_of_their_polygons(
        self, study: dict[str, dicom.Study], head_ct: Grid
    ) -> None:
        drawn = dicom.read_structures(study[HEAD].structure_set().file)
        assert len(drawn) == 16
        for roi in drawn:
            expected = drawn_volume(roi)
            assert roi.spacing_mm == 3.0
            # Six planes of the GTV have contours that overlap a little, which counts neither for one nor for the other.
            tolerance = 5e-3 if roi.label == "GTV" else 5e-5
            parts = dicom.partial_volumes(roi, head_ct, factor=1)
            assert parts.weights.sum() * head_ct.voxel_volume / 1000 == pytest.approx(expected, rel=tolerance), (
                roi.label
            )
            assert parts.remarks == (OVERLAP if roi.label == "GTV" else ())
            # With voxel centres, pixels of 1.08 mm along the boundary count or do not: half a per cent at most here.
            mask = dicom.roi_mask(roi, head_ct)
            assert mask.weights.sum() * head_ct.voxel_volume / 1000 == pytest.approx(expected, rel=6e-3), roi.label
            assert mask.outside == 0.0

    def test_volumes_are_the_same_on_a_grid_of_doses(self, study: dict[str, dicom.Study], head_ct: Grid) -> None:
        coarse = Grid((150, 150, 84), (4.0, 4.0, 5.0), (head_ct.origin[0], head_ct.origin[1], head_ct.origin[2] - 5))
        for roi in dicom.read_structures(study[HEAD].structure_set().file):
            parts, fine = (dicom.partial_volumes(roi, grid, factor=1).weights.sum() for grid in (coarse, head_ct))
            assert parts * coarse.voxel_volume == pytest.approx(fine * head_ct.voxel_volume, rel=2e-5), roi.label


class TestIrregularPhantom:
    """Files without the preamble, CT slices at unequal distances."""

    def test_files_without_preamble_are_read(self, study: dict[str, dicom.Study]) -> None:
        found = study[XIO]
        matched = found.match()
        assert len(found.ct_series().files) == 26
        assert matched.plan is not None
        assert found.remarks == ("1 file not in DICOM passed over",)
        dose = dicom.read_dose(matched.dose.file)
        assert str(dose.grid) == "16×16×15 at 3.5×3.5×3.5 mm"
        assert dose.grid.origin == (-25.15, -26.05, -24.4)
        assert dose.array.max() == pytest.approx(10.061)

    def test_irregular_slices_are_refused_by_name_and_resampled_on_demand(self, study: dict[str, dicom.Study]) -> None:
        files = study[XIO].ct_series().files
        with pytest.raises(
            dicom.DicomError, match=r"26 planes at unequal distances, usually 2.5 mm, but 1.3 mm between"
        ):
            dicom.read_ct(files)
        ct = dicom.read_ct(files, irregular="resample")
        assert ct.grid.shape == (512, 512, 20)
        last = ct.grid.origin[2] + 19 * ct.grid.spacing[2]
        assert (ct.grid.origin[2], last) == pytest.approx((-23.8, 24.0))

    def test_the_cube_of_20_mm_has_8_cc_on_the_grid_of_the_dose(self, study: dict[str, dicom.Study]) -> None:
        matched = study[XIO].match()
        dose = dicom.read_dose(matched.dose.file)
        drawn = dicom.read_structures(matched.structures.file)
        target = dicom.partial_volumes(drawn["Target vol. 1"], dose.grid)
        assert target.weights.sum() * dose.grid.voxel_volume / 1000 == pytest.approx(8.0, rel=1e-4)
        histogram = dvh_of(dose.array, voxel_volume=dose.grid.voxel_volume, weights=target.weights)
        assert float(histogram.evaluate("D95%[Gy]")) == pytest.approx(10.0, abs=0.1)
        assert drawn["Isocenter 1"].remarks == ("1 contour of type POINT left out", "has no closed contour")
