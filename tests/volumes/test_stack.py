"""Stacks: frame by frame the same voxels as SimpleITK reads, in little memory, and nothing believed of a header."""

from __future__ import annotations

import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isocenter.volumes import DiskFile, Grid, MemoryFile, Volume, VolumeError, ZipMember, read, write
from isocenter.volumes._stack import Frame, read_frames, read_stack_header

GRID = Grid((6, 5, 4), spacing=(1.0, 2.0, 3.0), origin=(-10.0, 5.0, 100.0))
HEADER = (
    "ObjectType = Image\nNDims = 4\nBinaryData = True\nBinaryDataByteOrderMSB = {msb}\nCompressedData = {compressed}\n"
    "DimSize = {size}\nElementSpacing = 1 2 3 1\nOffset = -10 5 100 0\nElementType = {kind}\nElementDataFile = LOCAL\n"
)


def doses(count: int, grid: Grid = GRID) -> list[np.ndarray]:
    """Frames with content in a corner each, one of them without any."""
    rng = np.random.default_rng(2026)
    frames = []
    for i in range(count):
        frame = np.zeros(grid.shape, np.float32)
        if i != 1:
            frame[i % 3 : 4, 1:3, i % 4 : i % 4 + 1] = rng.random((4 - i % 3, 2, 1)) + 0.1
        frames.append(frame)
    return frames


def save(path: Path, frames: list[np.ndarray], *, grid: Grid = GRID, compressed: bool = True) -> Path:
    """A stack as the field makes them: volumes joined to a series."""
    images = []
    for frame in frames:
        image = sitk.GetImageFromArray(np.ascontiguousarray(frame.T))
        image.SetSpacing(grid.spacing)
        image.SetOrigin(grid.origin)
        image.SetDirection(grid.direction)
        images.append(image)
    sitk.WriteImage(sitk.JoinSeries(images), str(path), useCompression=compressed)
    return path


def header(size: str = "6 5 4 3", *, kind: str = "MET_FLOAT", compressed: bool = False, msb: bool = False) -> bytes:
    return HEADER.format(size=size, kind=kind, compressed=compressed, msb=msb).encode()


# Reading --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("indices", [None, [], [0], [1], [0, 3, 4], [5], range(6)])
def test_frames_are_the_volumes_that_were_joined(tmp_path: Path, compressed: bool, indices: list[int] | None) -> None:
    frames = doses(6)
    path = save(tmp_path / "output.mha", frames, compressed=compressed)
    found = list(read_frames(path, indices))
    assert [frame.index for frame in found] == list(range(6) if indices is None else indices)
    for frame in found:
        assert frame.array.dtype == np.float32
        assert np.array_equal(frame.array, frames[frame.index])


def test_the_header_tells_the_grid_of_a_frame(tmp_path: Path) -> None:
    turned = Grid(GRID.shape, spacing=GRID.spacing, origin=GRID.origin, direction=(0, -1, 0, 1, 0, 0, 0, 0, 1))
    for grid in (GRID, turned):
        stack = read_stack_header(save(tmp_path / "output.mha", doses(3), grid=grid))
        assert (stack.grid, stack.frames, stack.dtype) == (grid, 3, np.float32)


@pytest.mark.parametrize("suffix", [".mha", ".nii.gz", ".nii", ".nrrd"])
def test_a_file_with_one_volume_is_a_stack_of_one(tmp_path: Path, suffix: str) -> None:
    (frame,) = doses(1)
    path = tmp_path / f"beam{suffix}"
    write(Volume(frame, GRID), path)
    assert read_stack_header(path).frames == 1
    (found,) = read_frames(path)
    assert np.array_equal(found.array, read(path).array)
    assert found.box == (slice(0, 4), slice(1, 3), slice(0, 1))


def test_the_box_holds_all_that_is_not_zero_and_no_less(tmp_path: Path) -> None:
    for frame in read_frames(save(tmp_path / "output.mha", doses(6))):
        outside = frame.array.copy()
        outside[frame.box] = 0
        assert not outside.any()
        inside = frame.array[frame.box]
        if frame.index == 1:
            assert inside.size == 0
            continue
        for axis in range(3):
            for end in (0, -1):
                assert inside.take(end, axis=axis).any()


def test_numbers_may_be_of_any_plain_type_and_byte_order(tmp_path: Path) -> None:
    values = np.arange(2 * 120).reshape(6, 5, 4, 2, order="F") % 100
    for kind, dtype in (("MET_SHORT", "i2"), ("MET_DOUBLE", "f8"), ("MET_UCHAR", "u1")):
        for msb in (False, True):
            stored = values.astype(f"{'>' if msb else '<'}{dtype}").tobytes(order="F")
            file = MemoryFile("x.mha", header("6 5 4 2", kind=kind, msb=msb) + stored)
            for i, frame in enumerate(read_frames(file)):
                assert np.array_equal(frame.array, values[..., i])
                assert frame.array.dtype == np.dtype(dtype)


def test_negative_dose_and_not_a_number_are_content_not_background() -> None:
    values = np.zeros((6, 5, 4, 2), "<f4")
    values[2, 3, 1, 0], values[5, 4, 3, 1] = -1.0, np.nan
    first, second = read_frames(MemoryFile("x.mha", header("6 5 4 2") + values.tobytes(order="F")))
    assert first.box == (slice(2, 3), slice(3, 4), slice(1, 2))
    assert second.box == (slice(5, 6), slice(4, 5), slice(3, 4))


def test_a_scaled_volume_has_its_values(tmp_path: Path) -> None:
    image = sitk.GetImageFromArray(np.ones((4, 5, 6), np.uint8))
    path = tmp_path / "x.nii"
    sitk.WriteImage(image, str(path))
    content = bytearray(path.read_bytes())
    content[112:120] = np.array([0.5, -2.0], "<f4").tobytes()  # scl_slope and scl_inter
    path.write_bytes(content)
    (frame,) = read_frames(path)
    assert (frame.array == -1.5).all()
    assert frame.array[frame.box].shape == (6, 5, 4)


def test_a_stack_in_a_zip_is_read_in_place(tmp_path: Path) -> None:
    frames = doses(4)
    for compressed in (True, False):
        with zipfile.ZipFile(tmp_path / "team.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(save(tmp_path / "output.mha", frames, compressed=compressed), "images/1/output.mha")
        found = list(read_frames(ZipMember(tmp_path / "team.zip", "images/1/output.mha"), [2, 3]))
        assert all(np.array_equal(frame.array, frames[frame.index]) for frame in found)


def test_only_the_frames_that_are_held_cost_memory(tmp_path: Path) -> None:
    grid = Grid((100, 100, 50))
    frames = doses(12, grid)
    path = save(tmp_path / "output.mha", frames, grid=grid)
    one = frames[0].nbytes
    del frames
    tracemalloc.start()
    try:
        largest = sum(float(frame.array[frame.box].sum()) for frame in read_frames(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert largest > 0
    assert peak < 2.5 * one  # the one that is held and the one being made


# What is refused ------------------------------------------------------------------------------------------------------


def frames_of(file: MemoryFile | DiskFile | Path, indices: list[int] | None = None) -> list[Frame]:
    return list(read_frames(file, indices))


@pytest.mark.parametrize("indices", [[1, 0], [2, 2], [0, 2, 1]])
def test_frames_are_asked_for_in_order(tmp_path: Path, indices: list[int]) -> None:
    with pytest.raises(ValueError, match="ascending order"):
        frames_of(save(tmp_path / "output.mha", doses(3)), indices)


@pytest.mark.parametrize(("indices", "which"), [([3], "3"), ([0, 700], "700"), ([-1, 0], "-1")])
def test_a_frame_that_is_not_there_is_named(tmp_path: Path, indices: list[int], which: str) -> None:
    with pytest.raises(VolumeError, match=f"there is no volume {which}: the stack holds 3, from 0 to 2"):
        frames_of(save(tmp_path / "output.mha", doses(3)), indices)


VOXELS = np.arange(360, dtype="<f4").tobytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (header() + VOXELS[:-4], "which a file of"),
        (header() + VOXELS + b"\0", "more data than the 3 volumes"),
        (header("6 5 4 999999999") + VOXELS, "declares 999,999,999 volumes of 6×5×4 float32"),
        (header("99999 99999 99999 2") + VOXELS, "cannot hold"),
        (header("6 5 4 0") + VOXELS, "a stack of 0 volumes"),
        (header("6 5 4 -3") + VOXELS, "a stack of -3 volumes"),
        (header("6 5 0 3") + VOXELS, "an axis without voxels"),
        (header("6 5 4 3 1") + VOXELS, "a 5-D file"),
        (header("6 5") + VOXELS, "a 2-D file"),
        (header().replace(b"NDims = 4", b"NDims = 5") + VOXELS, r"NDims is 5, but DimSize lists 4 axes \(6×5×4×3\)"),
        (header().replace(b"NDims = 4", b"NDims = 3") + VOXELS, "NDims is 3, but DimSize lists 4 axes"),
        (header().replace(b"NDims = 4", b"NDims = four") + VOXELS, "NDims is four"),
        (header("6 5 4 1e3") + VOXELS, "the lengths of the axes"),
        (header(compressed=True) + zlib.compress(VOXELS)[:-9], "damaged or cut off"),
        (header(compressed=True) + zlib.compress(VOXELS)[:-1] + b"!", "damaged or cut off"),
        (header(compressed=True) + zlib.compress(VOXELS[:-8]), "cut off"),
        (header(compressed=True) + zlib.compress(VOXELS + bytes(9)), "more data than"),
        (header().replace(b"LOCAL", b"../other.raw") + VOXELS, "points to another file"),
        (header().replace(b"MET_FLOAT", b"MET_FLOAT_ARRAY") + VOXELS, "is not a plain number"),
        (header().replace(b"ElementType", b"ElementNumberOfChannels = 3\nElementType") + VOXELS, "numbers per voxel"),
        (b"", "not a MetaImage file"),
        (b"NDims = 4\n" * 20_000, "not a MetaImage file"),
        (b"\x93NUMPY", "not a MetaImage file"),
    ],
)
def test_a_stack_that_lies_about_itself_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(VolumeError, match=said):
        frames_of(MemoryFile("x.mha", content))


def test_a_promise_of_terabytes_costs_nothing() -> None:
    file = MemoryFile("x.mha", header("1000 1000 900 400", compressed=True) + zlib.compress(bytes(1 << 20)))
    tracemalloc.start()
    try:
        with pytest.raises(VolumeError, match="cannot hold"):
            frames_of(file)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["x.mhd", "x.txt", "x"])
def test_other_files_are_no_stacks(name: str) -> None:
    with pytest.raises(VolumeError, match="not a stack"):
        frames_of(MemoryFile(name, header() + VOXELS))


@given(
    place=st.integers(0, 400),
    token=st.binary(min_size=1, max_size=4) | st.sampled_from([b"nan", b"-1", b"9" * 40, b"\n", b"= ", b"LIST"]),
    compressed=st.booleans(),
)
@example(place=210, token=b"\0\0\0", compressed=False)  # the voxels become a file name
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_damage_gives_frames_of_the_declared_shape_or_a_volume_error(
    place: int, token: bytes, compressed: bool
) -> None:
    whole = header(compressed=compressed) + (zlib.compress(VOXELS) if compressed else VOXELS)
    file = MemoryFile("x.mha", whole[:place] + token + whole[place + len(token) :])
    try:
        stack = read_stack_header(file)
        found = frames_of(file)
    except VolumeError as error:
        said = str(error)
    else:
        said = "a stack"
        assert len(found) == stack.frames
        assert all(frame.array.shape == stack.grid.shape for frame in found)
    assert 0 < len(said) < 1000
