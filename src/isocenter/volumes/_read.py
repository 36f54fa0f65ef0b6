"""Reading volumes, block by block, so that a damaged or oversized file is noticed before it costs memory."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

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


@dataclass(frozen=True, eq=False)
class Foreground:
    """What is not 0 in a volume that is nearly all background.

    Attributes
    ----------
    grid
        The whole grid.
    voxels
        Where it is, ascending in the flattened volume (x fastest).
    values
        The numbers there, in the type in which `read` gives them.
    """

    grid: Grid
    voxels: NDArray[np.int64]
    values: NDArray[Any]

    @classmethod
    def of_volume(cls, volume: Volume) -> Self:
        """What is not 0 in a whole volume."""
        flat = volume.array.ravel(order="F")
        voxels = np.flatnonzero(flat != 0)
        return cls(volume.grid, voxels, flat[voxels])


@dataclass(frozen=True, eq=False, slots=True)
class OpenVolume:
    """A file whose header has been read, and whose voxels can be read once."""

    header: Header
    _stream: BinaryIO

    def read(self) -> Volume:
        """The whole volume, in the type it is stored in (float64 if the header scales the stored numbers)."""
        header = self.header
        # Zeros need not be written: memory that is not touched is zero already, and costs nothing.
        flat = np.zeros(header.grid.voxels, dtype=header.dtype)
        buffer = flat.view(np.uint8)
        for start, block in _filled_blocks(self._stream, header):
            buffer[start : start + len(block)] = np.frombuffer(block, np.uint8)
        values = flat.astype(header.dtype.newbyteorder("="), copy=False)
        if header.scaled:
            values = _scaled(values, header)
        return Volume(values.reshape(header.grid.shape, order="F"), header.grid)

    def read_labels(self) -> LabelMap:
        """The map of labels, of which only the bounding box of the foreground is kept."""
        builder = LabelMapBuilder(self.header.grid)
        for start, values in self._pieces():
            builder.add(start, values)
        return builder.finish()

    def read_foreground(self) -> Foreground:
        """All that is not 0."""
        header = self.header
        kind = np.dtype(np.float64) if header.scaled else header.dtype.newbyteorder("=")
        voxels, found = [np.zeros(0, np.int64)], [np.zeros(0, kind)]
        for start, values in self._pieces():
            inside = np.flatnonzero(values != 0)  # of truth values; of numbers numpy asks one by one
            voxels.append(inside + start)
            found.append(values[inside].astype(kind, copy=False))
        return Foreground(header.grid, np.concatenate(voxels), np.concatenate(found))

    def _pieces(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Where each piece of the flattened volume begins, and its values; pieces of zeros are left out."""
        header = self.header
        size, scaled = header.dtype.itemsize, header.scaled
        for start, block in _filled_blocks(self._stream, header, zeros=scaled and header.intercept != 0):
            values = np.frombuffer(block, dtype=header.dtype)
            yield start // size, _scaled(values, header) if scaled else values


def read_header(source: Source) -> Header:
    """Read geometry and storage, without voxels; a promise that the file cannot keep is an error already here."""
    with open_volume(source) as opened:
        return opened.header


def read(source: Source) -> Volume:
    """Read a whole volume, in the type it is stored in (float64 if the header scales the stored numbers)."""
    with open_volume(source) as opened:
        return opened.read()


def read_labels(source: Source) -> LabelMap:
    """Read a map of labels, keeping only the bounding box of its foreground.

    The file is inflated in blocks of 128 kB. A block of zeros, as nearly all of a mask are, is recognised by one
    comparison and forgotten, so neither time nor memory is spent on background.
    """
    with open_volume(source) as opened:
        return opened.read_labels()


def _scaled(stored: NDArray[Any], header: Header) -> NDArray[np.float64]:
    """Stored number × slope + intercept, in double precision; what overflows becomes infinite, and is found later."""
    with np.errstate(over="ignore", invalid="ignore"):
        return stored.astype(np.float64) * header.slope + header.intercept


@contextmanager
def open_volume(source: Source) -> Iterator[OpenVolume]:
    """Open a file for its header, and then for its voxels; whatever is damaged in it becomes a VolumeError."""
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
                yield OpenVolume(header, _decoded(stream, header))
                return
            data = _data_file(file, header, suffix)
            check_size(header, stored=data.size(), compressed=header.encoding != "raw")
            with data.open() as stream:
                yield OpenVolume(header, _decoded(stream, header))
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


def _filled_blocks(stream: BinaryIO, header: Header, *, zeros: bool = False) -> Iterator[tuple[int, bytes]]:
    """The voxels in blocks of whole voxels, each with its first byte; exactly as many as declared, or an error.

    Blocks of zeros are left out, unless they are asked for.
    """
    nbytes, read = header.nbytes, stream.read
    done = 0
    while done < nbytes:
        wanted = min(nbytes - done, _BLOCK)
        block = read(wanted)
        if block == _ZEROS and not zeros:  # the most frequent by far
            done += _BLOCK
            continue
        if len(block) < wanted:  # a stream may give less than it is asked for
            block += _exactly(stream, wanted - len(block))
            if len(block) < wanted:
                msg = f"cut off: {done + len(block):,} of {nbytes:,} bytes of voxels are there"
                raise VolumeError(msg, code="damaged")
        if zeros or block != _ZEROS[:wanted]:
            yield done, block
        done += wanted
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
