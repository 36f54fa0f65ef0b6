"""Reading volumes, block by block, so that a damaged or oversized file is noticed before it costs memory."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from zlib_ng import gzip_ng, zlib_ng

from isocenter.volumes import _metaimage, _nifti, _nrrd
from isocenter.volumes._files import DiskFile, File
from isocenter.volumes._grid import Grid
from isocenter.volumes._header import SUFFIXES, Header, VolumeError, check_size, suffix_of
from isocenter.volumes._labels import LabelMap, LabelMapBuilder

Source = str | os.PathLike[str] | File

_PARSERS: dict[str, Callable[[BinaryIO], Header]] = {
    ".nii.gz": _nifti.read_header,
    ".nii": _nifti.read_header,
    ".mha": _metaimage.read_header,
    ".mhd": _metaimage.read_header,
    ".nrrd": _nrrd.read_header,
}
# Large enough to spend the time in the inflater, small enough to stay in the processor's cache.
_BLOCK = 1 << 17
_ZEROS = bytes(_BLOCK)
_DAMAGE: tuple[Any, ...] = (
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    zlib_ng.error,
    gzip_ng.BadGzipFile,
)


@dataclass(frozen=True, eq=False)
class Volume:
    """A numpy array with its place in the patient; axes (x, y, z).

    Examples
    --------
    >>> dose = Volume(np.zeros((2, 3, 4)), Grid((2, 3, 4), spacing=(2.5, 2.5, 2.5)))
    >>> dose.grid.voxel_volume
    15.625
    """

    array: NDArray[Any]
    grid: Grid

    def __post_init__(self) -> None:
        if self.array.shape != self.grid.shape:
            msg = f"the array has shape {self.array.shape}, its grid {self.grid.shape}"
            raise ValueError(msg)


def read_header(source: Source) -> Header:
    """Read geometry and storage, without voxels; a promise that the file cannot keep is an error already here."""
    with _opened(source) as (header, _):
        return header


def read(source: Source) -> Volume:
    """Read a whole volume, in the type it is stored in (float64 if the header scales the stored numbers)."""
    with _opened(source) as (header, stream):
        # Zeros need not be written: memory that is not touched is zero already, and costs nothing.
        flat = np.zeros(header.grid.voxels, dtype=header.dtype)
        buffer = flat.view(np.uint8)
        done = 0
        for block in _blocks(stream, header):
            if block != _ZEROS[: len(block)]:
                buffer[done : done + len(block)] = np.frombuffer(block, np.uint8)
            done += len(block)
    values = flat.astype(header.dtype.newbyteorder("="), copy=False)
    if header.scaled:
        values = _scaled(values, header)
    return Volume(values.reshape(header.grid.shape, order="F"), header.grid)


def read_labels(source: Source) -> LabelMap:
    """Read a map of labels, keeping only the bounding box of its foreground.

    The file is inflated in blocks of 128 kB. A block of zeros, as nearly all of a mask are, is recognised by one
    comparison and forgotten, so neither time nor memory is spent on background.
    """
    with _opened(source) as (header, stream):
        builder = LabelMapBuilder(header.grid)
        start = 0
        for block in _blocks(stream, header):
            if header.scaled:
                builder.add(start, _scaled(np.frombuffer(block, dtype=header.dtype), header))
            elif block != _ZEROS[: len(block)]:
                builder.add(start, np.frombuffer(block, dtype=header.dtype))
            start += len(block) // header.dtype.itemsize
        return builder.finish()


def _scaled(stored: NDArray[Any], header: Header) -> NDArray[np.float64]:
    """Stored number × slope + intercept, in double precision; what overflows becomes infinite, and is found later."""
    with np.errstate(over="ignore", invalid="ignore"):
        return stored.astype(np.float64) * header.slope + header.intercept


@contextmanager
def _opened(source: Source) -> Iterator[tuple[Header, BinaryIO]]:
    """The header and a stream of exactly the voxels; whatever goes wrong inside becomes a VolumeError."""
    file = DiskFile(Path(source)) if isinstance(source, str | os.PathLike) else source
    suffix = suffix_of(file.name)
    if not suffix:
        msg = f"{file.name}: not a format that is read; one of {', '.join(SUFFIXES)} was expected"
        raise VolumeError(msg, code="bad_format")
    try:
        with file.open() as raw:
            stream = _gunzip(raw) if suffix == ".nii.gz" else raw
            header = _PARSERS[suffix](stream)
            if not header.data_file:
                check_size(header, stored=file.size(), compressed=suffix == ".nii.gz" or header.encoding != "raw")
                yield header, _decoded(stream, header)
                return
            data = _data_file(file, header, suffix)
            check_size(header, stored=data.size(), compressed=header.encoding != "raw")
            with data.open() as stream:
                yield header, _decoded(stream, header)
    except _DAMAGE as error:
        msg = f"damaged or cut off: {str(error).rstrip('.') or type(error).__name__}"
        raise VolumeError(msg, code="damaged") from error


def _data_file(file: File, header: Header, suffix: str) -> File:
    name = header.data_file
    if suffix != ".mhd":
        msg = f"the header points to another file ({name!r}); save header and voxels in one"
        raise VolumeError(msg, code="bad_format")
    if name in ("", ".", "..", "LIST") or name.startswith("LIST ") or any(mark in name for mark in "/\\%:\0"):
        msg = f"the header names {name!r} as its data file; only a plain file name beside the header is followed"
        raise VolumeError(msg, code="bad_format")
    return file.beside(name)


def _decoded(stream: BinaryIO, header: Header) -> BinaryIO:
    if header.encoding == "gzip":
        return _gunzip(stream)
    return cast(BinaryIO, _Zlib(stream)) if header.encoding == "zlib" else stream


def _gunzip(stream: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, gzip_ng.GzipNGFile(fileobj=stream, mode="rb"))


def _blocks(stream: BinaryIO, header: Header) -> Iterator[bytes]:
    """All voxels in blocks of whole voxels; exactly as many as the header declares, or an error."""
    left = header.nbytes
    while left:
        block = _exactly(stream, min(left, _BLOCK))
        left -= len(block)
        if len(block) < _BLOCK and left:
            msg = f"cut off: {header.nbytes - left:,} of {header.nbytes:,} bytes of voxels are there"
            raise VolumeError(msg, code="damaged")
        yield block
    # Asking for one byte more also makes the inflater verify its checksum.
    if stream.read(1):
        msg = f"more data than the {header.nbytes:,} bytes of voxels that the header declares"
        raise VolumeError(msg, code="damaged")


def _exactly(stream: BinaryIO, size: int) -> bytes:
    """`size` bytes, or fewer only at the end of the stream; a single read may give less in between."""
    data = stream.read(size)
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


class _Zlib:
    """The zlib stream of a compressed MetaImage, inflated as it is read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._inflater = zlib_ng.decompressobj()
        self._pending = b""

    def read(self, size: int) -> bytes:
        while not self._inflater.eof:
            if not self._pending:
                self._pending = self._stream.read(_BLOCK)
            at_end = not self._pending
            data: bytes = self._inflater.decompress(self._pending, size)
            self._pending = self._inflater.unconsumed_tail
            if data:
                return data
            if at_end:
                msg = "the compressed voxels end too early"
                raise EOFError(msg)
        return b""
