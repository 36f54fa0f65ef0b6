from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isocenter.volumes import Grid, LabelMap, Volume, VolumeError, _labels, read_labels, side_by_side, write

small = hnp.array_shapes(min_dims=3, max_dims=3, max_side=6)
label_arrays = small.flatmap(
    lambda shape: hnp.arrays(np.uint8, shape, elements=st.sampled_from([0, 0, 0, 0, 1, 2, 255]))
)


@given(label_arrays)
def test_a_label_map_is_its_array(array: np.ndarray) -> None:
    labels = LabelMap.from_array(array, Grid(array.shape))
    np.testing.assert_array_equal(labels.array, array)
    assert labels.labels == tuple(np.unique(array[array > 0]))
    assert labels.empty == (not array.any())


@given(label_arrays)
def test_the_box_is_the_smallest_that_holds_the_foreground(array: np.ndarray) -> None:
    box = LabelMap.from_array(array, Grid(array.shape)).box
    if array.any():
        for axis in range(3):
            others = tuple(a for a in range(3) if a != axis)
            assert box.any(axis=others)[[0, -1]].all()
    else:
        assert box.size == 0


@given(st.data())
def test_two_maps_side_by_side_keep_every_count(data: st.DataObject) -> None:
    shape = data.draw(small)
    first, second = (data.draw(hnp.arrays(np.uint8, shape, elements=st.integers(0, 2))) for _ in range(2))
    grid = Grid(shape)
    a, b = side_by_side(LabelMap.from_array(first, grid), LabelMap.from_array(second, grid))
    assert a.shape == b.shape
    assert a.sum() == np.count_nonzero(first)
    assert b.sum() == np.count_nonzero(second)
    assert (a & b).sum() == np.count_nonzero((first > 0) & (second > 0))
    a, b = side_by_side(LabelMap.from_array(first, grid), LabelMap.from_array(second, grid), labels=[2])
    assert (a & b).sum() == np.count_nonzero((first == 2) & (second == 2))


def test_maps_on_different_grids_do_not_stand_side_by_side() -> None:
    a, b = (LabelMap.from_array(np.ones(s, np.uint8), Grid(s)) for s in [(2, 2, 2), (2, 2, 3)])
    with pytest.raises(ValueError, match="different grids"):
        side_by_side(a, b)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32, np.float32, np.float64])
def test_streaming_a_file_larger_than_a_block_gives_what_is_in_it(tmp_path: Path, dtype: type) -> None:
    array = np.zeros((97, 89, 41), dtype)  # 354 thousand voxels: several blocks, none of which ends with a slice
    array[3, 5, 0] = 1
    array[40:60, 30:50, 20:22] = 2
    array[96, 88, 40] = 7
    write(Volume(array, Grid(array.shape)), tmp_path / "x.nii.gz")
    labels = read_labels(tmp_path / "x.nii.gz")
    np.testing.assert_array_equal(labels.array, array)
    assert labels.labels == (1, 2, 7)


def test_labels_above_255_keep_their_value() -> None:
    array = np.zeros((2, 2, 2), np.int32)
    array[0, 0, 0], array[1, 1, 1] = 1, 65535
    labels = LabelMap.from_array(array, Grid((2, 2, 2)))
    np.testing.assert_array_equal(labels.array, array)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.5, "fractional value 0.5"), (np.nan, "nan"), (np.inf, "inf"), (-1, "value -1"), (70000, "value 70000")],
)
def test_what_is_no_label_is_named(value: float, words: str) -> None:
    array = np.zeros((3, 3, 3), np.float64)
    array[1, 1, 1] = value
    with pytest.raises(VolumeError, match=words):
        LabelMap.from_array(array, Grid((3, 3, 3)))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, ">i4", np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("seed", range(4))
def test_a_map_of_many_labels_is_the_box_and_the_labels_that_numpy_finds(
    dtype: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 14, 3))
    array = np.zeros(shape, dtype)
    most = {np.uint8: 255, np.int16: 30000}.get(dtype, 60000)
    for label in rng.choice([1, 2, 3, 16, 17, 200, 255, 256, 60000], 5):  # one slice on, a label may need more bytes
        low = [rng.integers(0, n) for n in shape]
        array[tuple(slice(a, a + rng.integers(1, 6)) for a in low)] = min(label, most)
    for piece in (1, 7, 50, 1 << 17):  # voxels that are looked at together: less than a slice, and many slices
        monkeypatch.setattr(_labels, "_PIECE", piece)
        labels = LabelMap.from_array(array, Grid(shape))
        where = np.nonzero(array)
        corner = tuple(int(axis.min()) for axis in where)
        np.testing.assert_array_equal(labels.array, array)
        assert labels.corner == corner
        assert labels.box.shape == tuple(int(axis.max()) + 1 - a for axis, a in zip(where, corner, strict=True))
        assert labels.labels == tuple(int(label) for label in np.unique(array) if label)
        assert labels.box.flags.f_contiguous


def test_a_wrong_value_among_labels_is_named_wherever_it_is() -> None:
    for value, words in ((1.25, "fractional value 1.25"), (np.nan, "nan"), (-2, "value -2"), (65536, "value 65536")):
        array = np.ones((70, 70, 70))
        array[69, 69, 68] = value
        with pytest.raises(VolumeError, match=words):
            LabelMap.from_array(array, Grid(array.shape))


@pytest.mark.parametrize("fill", ["nothing", "a tumour", "everything", "two far corners"])
def test_a_mask_costs_its_foreground_and_never_much_more_than_itself(tmp_path: Path, fill: str) -> None:
    array = np.zeros((256, 256, 64), np.uint8)
    where = {"a tumour": np.s_[100:120, 90:110, 30:36], "everything": np.s_[:], "nothing": np.s_[:0]}
    array[where.get(fill, np.s_[::255, ::255, ::63])] = 1
    write(Volume(array, Grid(array.shape)), tmp_path / "x.nii.gz")
    read_labels(tmp_path / "x.nii.gz")
    tracemalloc.start()
    labels = read_labels(tmp_path / "x.nii.gz")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (1.4 if fill in ("everything", "two far corners") else 0.7) * array.nbytes
    np.testing.assert_array_equal(labels.array, array)
