"""Stacks: many volumes of one grid in one 4-D MetaImage, read one after the other.

A stack of a thousand doses takes a hundred gigabytes once inflated, of which one dose has content in a small part.
`read_frames` goes through the file once, in order, and gives one 3-D frame at a time. A frame is an array of full size
whose empty part costs nothing: blocks of zeros are recognised by one comparison and never written, and pages of memory
that nobody wrote to are not there.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes import _metaimage
from isocenter.volumes._files import DiskFile, File
from isocenter.volumes._grid import Grid
from isocenter.volumes._header import SUFFIXES, Header, VolumeError, check_size, lengths, shortened, suffix_of
from isocenter.volumes._read import _BLOCK, _DAMAGE, _PARSERS, _ZEROS, Source, _decoded, _exactly, _gunzip, _scaled

Box = tuple[slice, slice, slice]

# As the header of a single volume: whatever is longer is none.
_MAX_HEADER = 1 << 16


@dataclass(frozen=True, slots=True)
class Stack:
    """What a stack says of itself: the grid that all of its volumes lie on, and how many there are."""

    grid: Grid
    frames: int
    dtype: np.dtype[np.generic]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One volume of a stack.

    Attributes
    ----------
    index
        Its place in the stack, from 0.
    array
        All of its voxels, axes (x, y, z).
    box
        The smallest part outside of which all voxels are zero: ``frame.array[frame.box]``. Of a frame of zeros, an
        empty part.
    """

    index: int
    array: NDArray[Any]
    box: Box


def read_stack_header(source: Source) -> Stack:
    """Grid and number of volumes, without voxels; a promise that the file cannot keep is an error already here.

    A file with one volume, in any of the formats that are read, is a stack of one.
    """
    with _opened_stack(source) as (header, frames, _):
        return Stack(header.grid, frames, header.dtype)


def read_frames(source: Source, indices: Iterable[int] | None = None) -> Iterator[Frame]:
    """The volumes of a stack, one at a time and in the order of the file.

    Parameters
    ----------
    indices
        Which ones, ascending; all if not given. Of a compressed file the others are inflated and forgotten, and
        nothing behind the last one that is asked for is looked at.

    Raises
    ------
    VolumeError
        A file that is no stack, is damaged, or has fewer volumes than are asked for.
    """
    with _opened_stack(source) as (header, frames, stream):
        wanted = range(frames) if indices is None else [int(index) for index in indices]
        _check_indices(wanted, frames)
        at = 0
        for index in wanted:
            _skip(stream, header.nbytes * (index - at), seekable=header.encoding == "raw")
            yield _frame(stream, header, index)
            at = index + 1
        # Asking for one byte more also makes the inflater verify its checksum.
        if at == frames and stream.read(1):
            msg = f"more data than the {frames} volumes of {header.nbytes:,} bytes that the header declares"
            raise VolumeError(msg, code="damaged")


def _check_indices(wanted: range | list[int], frames: int) -> None:
    if any(second <= first for first, second in pairwise(wanted)):
        msg = f"the volumes of a stack are read in ascending order, not as {list(wanted)}"
        raise ValueError(msg)
    if wanted and (wanted[0] < 0 or wanted[-1] >= frames):
        index = wanted[0] if wanted[0] < 0 else wanted[-1]
        msg = f"there is no volume {index}: the stack holds {frames}, from 0 to {frames - 1}"
        raise VolumeError(msg, code="bad_shape")


@contextmanager
def _opened_stack(source: Source) -> Iterator[tuple[Header, int, BinaryIO]]:
    """The header of one volume, the number of volumes, and a stream of their voxels."""
    file = DiskFile(Path(source)) if isinstance(source, str | os.PathLike) else source
    suffix = suffix_of(file.name)
    if not suffix or suffix == ".mhd":
        msg = f"{file.name}: not a stack; one file that ends in {', '.join(s for s in SUFFIXES if s != '.mhd')} is"
        raise VolumeError(msg, code="bad_format")
    try:
        with file.open() as raw:
            stream = _gunzip(raw) if suffix == ".nii.gz" else raw
            header, frames = _stack_header(stream) if suffix == ".mha" else (_PARSERS[suffix](stream), 1)
            if header.data_file:
                msg = f"the header points to another file ({shortened(header.data_file)!r}); save both in one"
                raise VolumeError(msg, code="bad_format")
            _check_sizes(file, header, frames, compressed=suffix == ".nii.gz" or header.encoding != "raw")
            yield header, frames, _decoded(stream, header)
    except _DAMAGE as error:
        msg = f"damaged or cut off: {str(error).rstrip('.') or type(error).__name__}"
        raise VolumeError(msg, code="damaged") from error


def _stack_header(stream: BinaryIO) -> tuple[Header, int]:
    """The header as that of a 4-D volume with one frame, which is read like any other, and the number of frames."""
    lines: list[bytes] = []
    frames, offset, last = 1, 0, False
    axes, sizes = "", list[int]()
    while not last:
        line = stream.readline(_MAX_HEADER)
        offset += len(line)
        key, equals, value = line.decode("latin-1").partition("=")
        last = key.strip() == "ElementDataFile" or not equals or offset > _MAX_HEADER
        if key.strip() == "NDims":
            axes = value.strip()
        if key.strip() == "DimSize":
            sizes = lengths(value)
            frames = sizes[3] if len(sizes) == 4 else 1
            if len(sizes) == 4:
                line = f"DimSize = {' '.join(map(str, sizes[:3]))} 1\n".encode()
        lines.append(line)
    if frames < 1:
        msg = f"a stack of {frames} volumes"
        raise VolumeError(msg, code="bad_shape")
    header = _metaimage.read_header(io.BytesIO(b"".join(lines)))
    if axes and axes != str(len(sizes)):
        msg = f"NDims is {shortened(axes)}, but DimSize lists {len(sizes)} axes ({'×'.join(map(str, sizes))})"
        raise VolumeError(msg, code="bad_shape")
    return replace(header, offset=offset), frames


def _check_sizes(file: File, header: Header, frames: int, *, compressed: bool) -> None:
    """Refuse what the file cannot hold, of one volume and of all, before anything is allocated."""
    stored = file.size()
    check_size(header, stored=stored, compressed=compressed)
    x, y, z = header.grid.shape
    if frames > 1:
        # Deflate cannot do better than 1032:1.
        possible = stored * 1032 if compressed else stored - header.offset
        if header.nbytes * frames > possible:
            msg = (
                f"the header declares {frames:,} volumes of {x}×{y}×{z} {header.dtype.name}, which a file of "
                f"{stored:,} bytes cannot hold: it is cut off or not what it says"
            )
            raise VolumeError(msg, code="damaged")


def _skip(stream: BinaryIO, count: int, *, seekable: bool) -> None:
    if seekable and count and stream.seekable():
        stream.seek(count, os.SEEK_CUR)
        return
    while count:
        block = _exactly(stream, min(count, _BLOCK))
        if not block:
            msg = "cut off in the middle of its voxels"
            raise VolumeError(msg, code="damaged")
        count -= len(block)


def _frame(stream: BinaryIO, header: Header, index: int) -> Frame:
    flat = np.zeros(header.grid.voxels, dtype=header.dtype)
    buffer = flat.view(np.uint8)
    first, last = header.nbytes, 0
    for start in range(0, header.nbytes, _BLOCK):
        size = min(_BLOCK, header.nbytes - start)
        block = _exactly(stream, size)
        if len(block) < size:
            msg = f"cut off: {start + len(block):,} of {header.nbytes:,} bytes of volume {index} are there"
            raise VolumeError(msg, code="damaged")
        if block != _ZEROS[:size]:
            buffer[start : start + size] = np.frombuffer(block, np.uint8)
            first, last = min(first, start), start + size
    values = flat.astype(header.dtype.newbyteorder("="), copy=False)
    if header.scaled:
        values, first, last = _scaled(values, header), 0, header.nbytes
    array = values.reshape(header.grid.shape, order="F")
    # Bytes run through x, then y, then z: what was written lies between two slices.
    slice_bytes = header.nbytes // header.grid.shape[2]
    return Frame(index, array, _support(array, first // slice_bytes, -(-last // slice_bytes)))


def _support(array: NDArray[Any], start: int, stop: int) -> Box:
    """The bounding box of what is not zero, which lies in the slices from `start` to `stop`."""
    if start >= stop:
        return slice(0, 0), slice(0, 0), slice(0, 0)
    filled = array[:, :, start:stop] != 0
    in_slice = filled.any(axis=2)
    box = []
    for line, offset in ((in_slice.any(axis=1), 0), (in_slice.any(axis=0), 0), (filled.any(axis=(0, 1)), start)):
        places = np.flatnonzero(line)
        box.append(slice(offset + int(places[0]), offset + int(places[-1]) + 1) if places.size else slice(0, 0))
    return box[0], box[1], box[2]
