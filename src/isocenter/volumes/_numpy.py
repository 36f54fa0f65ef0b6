"""Arrays from numpy's own files, `.npy` and `.npz`, of strangers: nothing is unpickled, nothing allocated on a promise.

The files say nothing of geometry, and in the field their axes are (z, y, x): slices first.

Reference: NEP 1, A simple file format for numpy arrays (2007).
"""

from __future__ import annotations

import math
import os
import struct
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from isocenter.volumes._files import DiskFile, File
from isocenter.volumes._header import _DEFLATE_LIMIT, MAX_BYTES, VolumeError, _human, shortened
from isocenter.volumes._read import _BLOCK, _DAMAGE, Source, _exactly

NUMPY_SUFFIXES = (".npy", ".npz")
"""Endings of numpy's files."""

# The header of a plain array takes 128 bytes.
_MAX_HEADER = 1 << 12
_PARSERS: dict[tuple[int, int], Callable[..., tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}
# What the standard library raises at an archive that was made to confuse it.
_BAD_ZIP: tuple[Any, ...] = (
    *_DAMAGE,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
)
_LESION = 1


def read_numpy(file: Source, *, keys: tuple[str, ...] = (), shape: tuple[int, int, int] | None = None) -> NDArray[Any]:
    """Read a volume from a `.npy` or `.npz` as it is stored, but with its axes turned from (z, y, x) to (x, y, z).

    An array with four axes is (class, z, y, x), as nnU-Net writes likelihoods; of it, class 1, the lesion, is returned.
    The others are never in memory, and what lies behind is not even inflated. An archive's checksum covers the whole
    array: it is verified, except where there are more than two classes.

    Parameters
    ----------
    keys
        For a `.npz`: names of arrays, of which the first that is there is read; nnU-Net's are "softmax" (version 1) and
        "probabilities" (version 2). If none of them is there, the archive must hold a single array.
    shape
        How many voxels there must be along (x, y, z).

    Raises
    ------
    VolumeError
        Says what was found: anything but one real number of 8 to 64 bits per voxel, Fortran order, another shape, more
        or less than the header declares, a damaged archive.
    """
    file = DiskFile(Path(file)) if isinstance(file, str | os.PathLike) else file
    try:
        with _opened(file, keys) as (stream, stored):
            return _read(stream, stored, shape)
    except _DAMAGE as error:
        msg = f"damaged or cut off: {_reason(error)}"
        raise VolumeError(msg, code="damaged") from error


@contextmanager
def _opened(file: File, keys: tuple[str, ...]) -> Iterator[tuple[BinaryIO, int]]:
    """The bytes of one array with its header, and how many there are."""
    suffix = next((suffix for suffix in NUMPY_SUFFIXES if file.name.lower().endswith(suffix)), "")
    if not suffix:
        msg = f"{file.name}: not a numpy file; one of {', '.join(NUMPY_SUFFIXES)} was expected"
        raise VolumeError(msg, code="bad_format")
    with file.open() as raw:
        if suffix == ".npy":
            yield raw, file.size()
            return
        try:
            archive = zipfile.ZipFile(raw)
        except _BAD_ZIP as error:
            msg = f"not a zip archive, as a .npz is, or a damaged one: {_reason(error)}"
            raise VolumeError(msg, code="damaged") from error
        with archive:
            member = _member(archive, keys)
            _check_member(member, file.size())
            try:
                stream = archive.open(member)
            except _BAD_ZIP as error:
                msg = f"the array {_shown(member)} is damaged: {_reason(error)}"
                raise VolumeError(msg, code="damaged") from error
            with stream:
                yield cast(BinaryIO, stream), member.file_size


def _member(archive: zipfile.ZipFile, keys: tuple[str, ...]) -> zipfile.ZipInfo:
    """The array that is meant."""
    members = archive.infolist()
    if twice := [name for name, count in Counter(member.filename for member in members).items() if count > 1]:
        msg = f"the archive holds {shortened(twice[0])!r} more than once"
        raise VolumeError(msg, code="bad_format")
    arrays = {name.removesuffix(".npy"): archive.getinfo(name) for name in archive.namelist() if name.endswith(".npy")}
    for key in keys:
        if key in arrays:
            return arrays[key]
    if len(arrays) != 1:
        held = shortened(", ".join(map(repr, arrays))) or "no array"
        msg = f"the archive holds {held}; {' or '.join([*keys, 'a single array'])} was expected"
        raise VolumeError(msg, code="bad_format")
    return next(iter(arrays.values()))


def _check_member(member: zipfile.ZipInfo, size: int) -> None:
    """Refuse what an archive of `size` bytes cannot hold, or hides."""
    if member.flag_bits & 0x2041:
        msg = f"the array {_shown(member)} is protected by a password"
        raise VolumeError(msg, code="bad_format")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 0x20:
        msg = f"the array {_shown(member)} is packed with an unusual method; numpy stores or deflates"
        raise VolumeError(msg, code="bad_format")
    ratio = 1 if member.compress_type == zipfile.ZIP_STORED else _DEFLATE_LIMIT
    if member.compress_size > size or member.file_size > member.compress_size * ratio:
        msg = f"the array {_shown(member)} claims to be {member.compress_size:,} bytes that unpack to "
        msg += f"{member.file_size:,}, which a file of {_human(size)} cannot hold"
        raise VolumeError(msg, code="damaged")


def _reason(error: Exception) -> str:
    """What an error says, of which others may have written much."""
    return shortened(str(error).partition("\n")[0].rstrip(".") or type(error).__name__, 120)


def _shown(member: zipfile.ZipInfo) -> str:
    return repr(shortened(member.filename))


def _read(stream: BinaryIO, stored: int, shape: tuple[int, int, int] | None) -> NDArray[Any]:
    start = _Start(stream)
    axes, dtype = _header(start)
    classes, volume = (axes[0], axes[1:]) if len(axes) == 4 else (1, axes)
    _check_shape(axes, shape)
    nbytes = math.prod(volume) * dtype.itemsize
    if nbytes > MAX_BYTES:
        msg = f"{_times(volume)} voxels of {dtype.name} would take more than {_human(MAX_BYTES)}"
        raise VolumeError(msg, code="too_large")
    if (declared := classes * nbytes) != stored - start.done:
        held = f"{_times(axes)} numbers of {dtype.name} ({shortened(f'{declared:,}')} bytes)"
        msg = f"the header declares {held}, but {stored - start.done:,} bytes follow: cut off, or not what it says"
        raise VolumeError(msg, code="damaged")
    if classes > 1:
        for _ in _blocks(stream, _LESION * nbytes):
            pass
    flat = np.empty(math.prod(volume), dtype)
    buffer, done = flat.view(np.uint8), 0
    for block in _blocks(stream, nbytes):
        buffer[done : done + len(block)] = np.frombuffer(block, np.uint8)
        done += len(block)
    if classes <= _LESION + 1:
        stream.read(1)  # at the end of an archive's member its checksum is verified
    # A boolean that is neither 0 nor 1 was not made by numpy, whose operations do not agree on what it is.
    values = buffer != 0 if dtype.kind == "b" else flat.astype(dtype.newbyteorder("="), copy=False)
    return values.reshape(volume).T


class _Start:
    """The first bytes of a stream and no more: numpy reads a header of any length before it asks how long it may be."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.done = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, _MAX_HEADER - self.done))
        self.done += len(data)
        return data


def _header(start: _Start) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The axes of an array of plain numbers, slowest first, and their type."""
    try:
        with warnings.catch_warnings(action="ignore"):  # such as that a file is as old as Python 2
            version = npy.read_magic(cast(BinaryIO, start))
            if version not in _PARSERS:
                msg = f"format version {version[0]}.{version[1]}, which no array of plain numbers needs"
                raise ValueError(msg)
            axes, fortran, dtype = _PARSERS[version](start, max_header_size=_MAX_HEADER)
    except _DAMAGE:
        raise
    except Exception as error:  # the header is parsed as Python, and a hostile one raises whatever that can raise
        msg = f"the header of the array cannot be read: {_reason(error)}"
        raise VolumeError(msg, code="damaged") from error
    if dtype.hasobject:
        msg = "an array of Python objects, which is never unpickled; one real number per voxel was expected"
        raise VolumeError(msg, code="bad_format")
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        msg = f"an array of {shortened(str(dtype))}; one real number of 8 to 64 bits per voxel was expected"
        raise VolumeError(msg, code="bad_format")
    if fortran:
        msg = "the array is stored in Fortran order; save numpy.ascontiguousarray of it, with its axes (z, y, x)"
        raise VolumeError(msg, code="bad_format")
    return tuple(int(n) for n in axes), dtype


def _check_shape(axes: tuple[int, ...], shape: tuple[int, int, int] | None) -> None:
    if len(axes) not in (3, 4):
        msg = f"an array of shape {shortened(str(axes))}; (z, y, x) or (class, z, y, x) was expected"
        raise VolumeError(msg, code="bad_shape")
    if min(axes) < 1:
        msg = f"an axis without voxels: {_times(axes)}"
        raise VolumeError(msg, code="bad_shape")
    if len(axes) == 4 and axes[0] <= _LESION:
        msg = f"an array of shape {_times(axes)} has a single class; of (class, z, y, x) the lesion is the second"
        raise VolumeError(msg, code="bad_shape")
    if shape is not None and axes[-3:] != shape[::-1]:
        hint = "; are its axes (x, y, z)? (z, y, x) was expected" if axes[-3:] == shape else ""
        msg = f"has {_times(axes[:-4:-1])} voxels along (x, y, z), expected {_times(shape)}{hint}"
        raise VolumeError(msg, code="bad_shape")


def _times(axes: tuple[int, ...]) -> str:
    return shortened("×".join(map(str, axes)))


def _blocks(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Exactly `size` bytes in blocks, or an error."""
    left = size
    while left:
        block = _exactly(stream, min(left, _BLOCK))
        if not block:
            msg = f"{size - left:,} of {size:,} bytes are there"
            raise EOFError(msg)
        left -= len(block)
        yield block
