from __future__ import annotations

import gzip
from dataclasses import replace

import nibabel
import numpy as np
import pytest

from isocenter.evaluation import DosePicture
from isocenter.viewer import dose_sight, mask_sight
from isocenter.volumes import Grid, Volume

GRID = Grid((6, 5, 4), spacing=(2.0, 2.0, 3.0))


def masks() -> tuple[Volume, Volume]:
    truth, output = np.zeros((2, 6, 5, 4), np.uint8)
    truth[1:3, 1:3, 1:3] = 2
    output[1:3, 1:3, 1] = 1
    return Volume(truth, GRID), Volume(output, GRID)


def dose_picture(*, oriented: bool = True) -> DosePicture:
    truth, output = np.zeros((2, 6, 5, 4))
    truth[2:4, 2:4, 1:3] = 60.0
    output[2:4, 2:4, 1:3] = 57.0
    output[2, 2, 2] = 30.0
    structures = {"PTV": truth > 0, "nowhere": np.zeros(GRID.shape, bool)}
    return DosePicture(Volume(truth, GRID), Volume(output, GRID), structures, oriented)


def served(sight, key: str) -> nibabel.Nifti1Image:
    return nibabel.Nifti1Image.from_bytes(gzip.decompress(sight.nifti(key)))


def test_a_page_begins_where_most_is_wrong() -> None:
    said = mask_sight(*masks()).description()
    assert said["slices"]["worst"] == 2
    assert said["slices"]["said"][1] == "Dice 1.000, missed 0 mm², extra 0 mm²"
    x, y, z = said["start"]
    assert z == 2
    # Files run to the right and to the front, arrays to the left and to the back.
    assert (5 - x, 4 - y) in {(1, 1), (2, 2), (1, 2), (2, 1)}
    assert [layer["key"] for layer in said["layers"]] == ["reference", "output"]


def test_all_labels_are_one_mask_and_a_missing_output_is_an_empty_one() -> None:
    truth, _ = masks()
    sight = mask_sight(truth, None)
    assert np.asarray(served(sight, "reference").dataobj).max() == 1
    assert not np.asarray(served(sight, "output").dataobj).any()
    assert sight.strip.series["missed"] == (0.0, 16.0, 16.0, 0.0)


def test_small_masks_are_enlarged_and_large_ones_are_not() -> None:
    small, whole = np.zeros((40, 40, 4), np.uint8), np.ones((40, 40, 4), np.uint8)
    small[20, 20, 2] = 1
    grid = Grid(small.shape)
    assert mask_sight(Volume(small, grid), None).description()["zoom"] == 4.0
    assert mask_sight(Volume(whole, grid), None).description()["zoom"] == 1.0
    assert mask_sight(Volume(0 * whole, grid), None).description()["zoom"] == 1.0


def test_a_dose_brings_its_difference_its_structures_and_its_colours() -> None:
    sight = dose_sight(dose_picture())
    assert [layer.name for layer in sight.layers if layer.role == "structure"] == ["PTV"]
    difference = np.asarray(served(sight, "difference").dataobj)
    assert (difference.min(), difference.max()) == (-30.0, 0.0)
    assert sight.ceiling is not None
    assert sight.ceiling[0] == 60.0
    assert sight.description()["slices"]["worst"] == 2
    assert sight.nifti("structure-1") is None


def test_arrays_that_know_no_patient_begin_at_the_top() -> None:
    known, unknown = dose_sight(dose_picture()), dose_sight(dose_picture(oriented=False))
    assert not known.description()["slices"]["flipped"]
    assert unknown.description()["slices"]["flipped"]
    assert not unknown.description()["oriented"]
    assert unknown.description()["start"][2] == 4 - 1 - known.description()["start"][2]


@pytest.mark.parametrize(("name", "low", "hounsfield"), [("CT", -1000, True), ("CT", 0, False), ("PT", -1000, False)])
def test_hounsfield_units_are_known_by_air(name: str, low: int, hounsfield: bool) -> None:
    image = np.linspace(low, 1000, GRID.voxels).reshape(GRID.shape)
    layer = mask_sight(*masks(), images=[(name, Volume(image, GRID))]).description()["layers"][0]
    assert layer["hounsfield"] is hounsfield
    assert layer["low"] < layer["high"]


def test_an_image_of_one_value_has_a_window() -> None:
    flat = Volume(np.zeros(GRID.shape), GRID)
    layer = mask_sight(*masks(), images=[("PT", flat)]).description()["layers"][0]
    assert layer["high"] > layer["low"]


def test_no_dose_at_all_has_a_scale() -> None:
    picture = dose_picture()
    zero = Volume(np.zeros(GRID.shape), GRID)
    assert dose_sight(replace(picture, reference=zero, output=zero)).ceiling == (1.0, 1.0)


def window(array: np.ndarray) -> dict[str, float]:
    (said, *_) = mask_sight(*masks(), images=[("CT", Volume(array, GRID))]).description()["layers"]
    return said


def test_grey_levels_are_those_of_the_voxels_that_are_numbers() -> None:
    whole = np.linspace(-1000.0, 1000.0, 120).reshape(GRID.shape)
    holes = whole.copy()
    holes[1::2] = np.nan
    holes[0, 1] = np.inf
    assert window(holes) == window(whole)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.7e308, -1.7e308])
def test_an_image_of_one_strange_value_has_grey_levels_that_json_can_hold(value: float) -> None:
    said = window(np.full(GRID.shape, value))
    assert np.isfinite([said["low"], said["high"]]).all()


def test_a_number_is_looked_for_in_every_voxel_before_there_is_none() -> None:
    array = np.full(GRID.shape, np.nan)
    array[1, 1, 1] = 7.0
    assert window(array)["low"] == 7.0
