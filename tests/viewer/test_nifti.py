from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import nibabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.viewer._nifti import nifti, turn_of, turned
from isocenter.volumes import Grid, Volume, read

DIRECTIONS = [
    tuple((np.eye(3)[list(order)] * np.array(signs)[:, None]).ravel())
    for order in itertools.permutations(range(3))
    for signs in itertools.product((1.0, -1.0), repeat=3)
]


@given(direction=st.sampled_from(DIRECTIONS), voxel=st.tuples(*(st.integers(0, n - 1) for n in (3, 4, 5))))
def test_axes_run_to_the_right_the_front_and_the_head_and_no_voxel_moves(direction, voxel) -> None:
    grid = Grid((3, 4, 5), spacing=(1.0, 2.0, 3.0), origin=(7.0, -8.0, 9.0), direction=direction)
    array = np.arange(60, dtype=np.int16).reshape(grid.shape)
    image = nibabel.Nifti1Image.from_bytes(gzip.decompress(nifti(array, grid)))
    assert nibabel.aff2axcodes(image.affine) == ("R", "A", "S")
    turn = turn_of(grid)
    there = turn.index(voxel, grid.shape)
    assert np.asarray(image.dataobj)[there] == array[voxel] == turned(array, turn)[there]
    lps = grid.affine @ [*voxel, 1.0]
    np.testing.assert_allclose(image.affine @ [*there, 1.0], lps * [-1, -1, 1, 1], atol=1e-4)


def test_an_oblique_grid_stays_oblique(tmp_path: Path) -> None:
    c, s = np.cos(0.3), np.sin(0.3)
    grid = Grid((3, 4, 5), spacing=(1.0, 2.0, 3.0), direction=(1, 0, 0, 0, c, -s, 0, s, c))
    (tmp_path / "a.nii.gz").write_bytes(nifti(np.ones(grid.shape), grid))
    found = read(tmp_path / "a.nii.gz")
    assert sorted(map(tuple, found.grid.corners().round(3))) == sorted(map(tuple, grid.corners().round(3)))


@pytest.mark.parametrize(
    ("array", "stored"),
    [
        (np.array([0, 1], bool), np.uint8),
        (np.array([0, 200], np.uint8), np.uint8),
        (np.array([-1000, 3000], np.int64), np.int16),
        (np.array([0, 40000], np.uint16), np.float32),
        (np.array([0.25, 70.5]), np.float32),
    ],
)
def test_values_survive_in_the_smallest_type_that_browsers_know(array, stored, tmp_path: Path) -> None:
    grid = Grid((2, 1, 1), direction=(-1, 0, 0, 0, -1, 0, 0, 0, 1))
    (tmp_path / "a.nii.gz").write_bytes(nifti(array.reshape(2, 1, 1), grid))
    found = nibabel.load(tmp_path / "a.nii.gz")
    assert found.get_data_dtype() == stored
    np.testing.assert_array_equal(np.asarray(found.dataobj).ravel(), array)


def test_slices_are_found_again_when_the_scan_was_made_from_the_side() -> None:
    sagittal = Grid((3, 4, 5), direction=(0, 0, 1, 1, 0, 0, 0, -1, 0))  # slices from right to left
    turn = turn_of(sagittal)
    assert turn.slice_axis == 0
    assert turn.flipped[0]
    assert turn.index((0, 0, 1), sagittal.shape)[0] == 3
    assert Volume(np.zeros((3, 4, 5)), sagittal).grid is sagittal


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_what_is_no_number_is_sent_as_the_lowest_and_the_infinite_as_the_nearest(kind: type) -> None:
    grid = Grid((5, 1, 1))
    array = np.array([np.nan, -3.0, np.inf, 7.0, -np.inf], kind).reshape(grid.shape)
    sent = np.asarray(nibabel.Nifti1Image.from_bytes(gzip.decompress(nifti(array, grid))).dataobj)
    assert sent.dtype == np.float32
    assert turned(sent, turn_of(grid)).ravel().tolist() == [-3.0, -3.0, 7.0, 7.0, -3.0]
    assert np.isnan(array[0, 0, 0])


@pytest.mark.parametrize(("value", "sent"), [(np.nan, 0.0), (1.7e308, np.finfo(np.float32).max)])
def test_a_volume_without_numbers_and_one_too_large_for_the_page_are_sent(value: float, sent: float) -> None:
    grid = Grid((2, 2, 2))
    data = gzip.decompress(nifti(np.full(grid.shape, value), grid))
    assert (np.asarray(nibabel.Nifti1Image.from_bytes(data).dataobj) == sent).all()
