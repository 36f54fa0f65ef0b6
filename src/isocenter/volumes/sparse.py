"""Sparse CSV, the file format of OpenKBP: one line per voxel that is not zero.

A file begins with the line ``,data`` and has a line ``index,value`` for every voxel that has a value, or ``index,`` for
every voxel of a mask. The index counts voxels in C order, ``(x·128 + y)·128 + z`` on the published 128×128×128 grid;
a voxel without a line is 0, and a line may say 0 explicitly. The lengths of a voxel's edges lie beside the files, in
``voxel_dimensions.csv``: three lines, millimetres. The format says nothing of where the patient lies, so a grid made
from it has its origin at 0 and its axes along the array's.

Any field may stand in quotes, as R, polars and pandas write them: ``"",data`` or ``"","data"``, then
``"515752","19.8"``.

Reading is strict where the published reader was not: there, an index of -1 fills the last voxel, one missing number
turns a dose into a mask, and of two lines for one voxel the last wins unseen.

References
----------
Babier A, et al. OpenKBP: the open-access knowledge-based planning grand challenge and dataset. Med Phys 48 (2021).
"""

from __future__ import annotations

import math
import os
import threading
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.atomic import replacing
from isocenter.volumes import _sparse_kernels as kernels
from isocenter.volumes._files import DiskFile, File, HeldFile
from isocenter.volumes._grid import Grid
from isocenter.volumes._header import VolumeError, shortened

__all__ = [
    "SHAPE",
    "SparseVolume",
    "first_line",
    "is_header",
    "read_mask",
    "read_sparse",
    "read_voxel_dimensions",
    "write_mask",
    "write_sparse",
    "write_voxel_dimensions",
]

Source = str | os.PathLike[str] | File
Shape = tuple[int, int, int]

SHAPE: Shape = (128, 128, 128)
"""Every published volume has this shape."""

HEADER = b",data"
_FEW_ODD = 256  # numbers of a file that the scanner leaves over, unless it is an unusual one
_KEPT = 1 << 24  # bytes of a buffer that is kept for the next file
_buffers = threading.local()
_LONGEST_LINE = 64  # bytes; an index, a double with its sign and exponent, and patience
_COMPLAINTS = {
    kernels.NO_INDEX: "does not begin with a whole number",
    kernels.NEGATIVE: "has a negative index",
    kernels.TOO_LARGE: "has an index outside of {shape}",
    kernels.NO_NUMBER: "holds a value that is no number",
    kernels.NOT_FINITE: "holds a value that is not finite",
    kernels.NO_VALUE: "has no value",
    kernels.A_VALUE: "has a value, but a mask has none",
    kernels.NO_COMMA: "has no comma",
}


@dataclass(frozen=True, eq=False)
class SparseVolume:
    """The voxels of a volume that have a line in its file.

    Attributes
    ----------
    index
        Positions in C order, ascending, each once.
    values
        One number per index; None for a mask.
    shape
        Of the whole volume.
    repeated
        How many lines were for a voxel that had one already. Of these the last counts.
    """

    index: NDArray[np.int64]
    values: NDArray[np.float64] | None
    shape: Shape = SHAPE
    repeated: int = 0

    def dense(self) -> NDArray[np.float64] | NDArray[np.bool_]:
        """The whole array, axes (x, y, z): float64, or boolean for a mask."""
        array = np.zeros(math.prod(self.shape), dtype=bool if self.values is None else np.float64)
        array[self.index] = True if self.values is None else self.values
        return array.reshape(self.shape)


def read_sparse(
    source: Source, *, shape: Shape = SHAPE, repeated: Literal["refuse", "last"] = "refuse"
) -> SparseVolume:
    """Read a volume of numbers: every line has a finite one.

    Parameters
    ----------
    repeated
        What several lines for one voxel mean: an error, or that the last counts, as in the published evaluator.

    Raises
    ------
    VolumeError
        With every kind of thing that is wrong, how often it occurs, and the first line that has it.
    """
    return _read(source, shape=shape, as_mask=False, repeated=repeated)


def read_mask(source: Source, *, shape: Shape = SHAPE, repeated: Literal["refuse", "last"] = "refuse") -> SparseVolume:
    """Read a mask: every line is an index and a comma."""
    return _read(source, shape=shape, as_mask=True, repeated=repeated)


def read_voxel_dimensions(source: Source) -> tuple[float, float, float]:
    """The lengths of a voxel's edges along x, y, z, mm."""
    data, size = _bytes(source, most=4096)
    text = data[:size].tobytes().decode("utf-8-sig", "replace")
    words = text.split()
    try:
        x, y, z = (float(word) for word in words)
    except ValueError:
        msg = f"three numbers were expected, one per line; found {shortened(text.strip())!r}"
        raise VolumeError(msg, code="bad_values") from None
    try:
        Grid(SHAPE, spacing=(x, y, z))
    except ValueError as error:
        raise VolumeError(str(error), code="bad_geometry") from None
    return x, y, z


def write_sparse(
    path: str | os.PathLike[str], array: NDArray[np.floating], *, where: NDArray[np.bool_] | None = None
) -> None:
    """Write a volume of numbers, each with as many digits as its type needs to be read back unchanged.

    Parameters
    ----------
    where
        The voxels that get a line, zeros too; without it, those that are not 0.
    """
    import polars as pl

    if not np.isfinite(array).all():
        msg = "a volume to be written holds values that are not finite"
        raise ValueError(msg)
    index = np.flatnonzero(array if where is None else where)
    rows = pl.DataFrame({"index": index, "data": np.ascontiguousarray(array).ravel()[index]})
    with replacing(path) as partial, partial.open("wb") as stream:
        stream.write(HEADER + b"\n")
        rows.write_csv(stream, include_header=False)


def write_mask(path: str | os.PathLike[str], mask: NDArray[np.bool_]) -> None:
    """Write a mask."""
    import polars as pl

    with replacing(path) as partial, partial.open("wb") as stream:
        stream.write(HEADER + b"\n")
        pl.DataFrame({"index": np.flatnonzero(mask), "data": ""}).write_csv(
            stream, include_header=False, quote_style="never"
        )


def write_voxel_dimensions(path: str | os.PathLike[str], spacing: tuple[float, float, float]) -> None:
    """Write the lengths of a voxel's edges, with all digits, as they were published."""
    with replacing(path) as partial:
        partial.write_text("".join(f"{edge:.18e}\n" for edge in spacing), encoding="ascii")


def _read(source: Source, *, shape: Shape, as_mask: bool, repeated: Literal["refuse", "last"]) -> SparseVolume:
    voxels = math.prod(shape)
    original, size = _bytes(source, most=2 * voxels * _LONGEST_LINE)
    start = _after_header(original[:size])
    lines, quoted = kernels.count_lines(original, start, size)
    data = original
    if quoted:
        data = np.empty_like(original)
        size = kernels.unquote(original, start, size, data)
    index, values = np.empty(lines + kernels.SPARE, np.int64), np.empty(0 if as_mask else lines, np.float64)
    odd, odds = np.empty((_FEW_ODD, 3), np.int64), 0
    while True:
        trouble = np.zeros((kernels.KINDS, 2), np.int64)
        rows, odds, ascending = kernels.scan(
            data, start, size, voxels, as_mask, index, values.view(np.uint64), odd, trouble
        )
        if odds <= len(odd):
            break
        odd = np.empty((odds, 3), np.int64)
    for row, begin, end in odd[:odds]:
        values[row] = _number(data[begin:end].tobytes(), trouble, offset=begin)
    if trouble[:, 0].any():
        code = "nan" if trouble[kernels.NOT_FINITE, 0] else "bad_values"
        raise VolumeError(_explained(data[:size].tobytes(), original.tobytes(), trouble, shape), code=code)
    index, values = index[:rows], values[:rows]
    if 2 * rows < lines:  # do not keep the room for lines that are empty
        index, values = index.copy(), values.copy()
    if not ascending:
        order = _in_order(index)
        index, values = index[order], values if as_mask else values[order]
    if len(index) < rows and repeated == "refuse":
        msg = f"{rows - len(index):,} lines are for a voxel that has one already; each may have one"
        raise VolumeError(msg, code="bad_values")
    return SparseVolume(index, None if as_mask else values, shape, repeated=rows - len(index))


def _bytes(source: Source, *, most: int) -> tuple[NDArray[np.uint8], int]:
    """The bytes of a file and a line end behind them, then zeros for the scanner to look at; and how many are data."""
    file = DiskFile(Path(source)) if isinstance(source, str | os.PathLike) else source
    size = file.size()
    if size > most:
        msg = f"{size:,} bytes; a file of this kind has at most {most:,}"
        raise VolumeError(msg, code="too_large")
    if isinstance(file, HeldFile) and (held := file.padded()) is not None:
        return held, size + 1
    data = _buffer(size + 1 + kernels.SLACK)
    done = 0
    try:
        with file.open() as stream:
            while done < size and (count := stream.readinto(data[done:size].data)):  # type: ignore[attr-defined]
                done += count
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        msg = f"damaged or cut off: {error}"
        raise VolumeError(msg, code="damaged") from error
    data[done] = ord("\n")
    data[done + 1 : done + 1 + kernels.SLACK] = 0
    return data[: done + 1 + kernels.SLACK], done + 1


def _buffer(size: int) -> NDArray[np.uint8]:
    """Bytes to read into, the same ones for every file of a thread: memory that is new has to be cleared first."""
    if size > _KEPT:
        return np.empty(size, np.uint8)
    kept: NDArray[np.uint8] | None = getattr(_buffers, "bytes", None)
    if kept is None or len(kept) < size:
        _buffers.bytes = kept = np.empty(max(size, _KEPT // 4), np.uint8)
    return kept[:size]


def first_line(source: Source) -> str:
    """The first line of a text file, without its line end; at most 100 characters of it."""
    file = DiskFile(Path(source)) if isinstance(source, str | os.PathLike) else source
    try:
        with file.open() as stream:
            return stream.readline(100).decode("utf-8-sig", "replace").rstrip("\r\n")
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        msg = f"damaged or cut off: {error}"
        raise VolumeError(msg, code="damaged") from error


def is_header(line: str) -> bool:
    """Whether a line is the first of a sparse CSV: ``,data``, either field in quotes or not."""
    index, comma, name = line.partition(",")
    return bool(comma) and index in ("", '""') and name in ("data", '"data"')


def _after_header(data: NDArray[np.uint8]) -> int:
    """Where the first line after ``,data`` begins."""
    line, _, _ = data[:1000].tobytes().partition(b"\n")
    if not is_header(line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r").decode("utf-8", "replace")):
        found = shortened(line.decode("utf-8", "replace"))
        msg = f"the first line is {found!r}; a sparse CSV begins with {HEADER.decode()!r}"
        raise VolumeError(msg, code="bad_format")
    return len(line) + 1


def _number(token: bytes, trouble: NDArray[np.int64], *, offset: int) -> float:
    """A number that the scanner left over: very long, very large, or none."""
    try:
        value = float(token) if b"_" not in token else None
    except ValueError:
        value = None
    kind = kernels.NO_NUMBER if value is None else kernels.NOT_FINITE
    if value is None or not math.isfinite(value):
        if trouble[kind, 0] == 0:
            trouble[kind, 1] = offset
        trouble[kind, 0] += 1
        return 0.0
    return value


def _in_order(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in ascending order of their voxels; of several for one voxel the last of the file."""
    order = np.argsort(index, kind="stable")
    last = np.ones(len(index), bool)
    last[:-1] = index[order[1:]] != index[order[:-1]]
    return order[last]


def _explained(data: bytes, original: bytes, trouble: NDArray[np.int64], shape: Shape) -> str:
    """Every kind of complaint once, with the first line that earns it; the original still has its quotes."""
    found = []
    for kind in np.argsort(trouble[:, 1], kind="stable"):
        count, offset = (int(n) for n in trouble[kind])
        if count == 0:
            continue
        number = data.count(b"\n", 0, offset) + 1
        line = original.split(b"\n", number)[number - 1][:1000].rstrip(b"\r").decode("utf-8", "replace")
        what = _COMPLAINTS[int(kind)].format(shape="×".join(map(str, shape)))
        others = f", as {'does' if count == 2 else 'do'} {count - 1:,} more" if count > 1 else ""
        found.append(f"line {number:,} ({shortened(line, 40)!r}) {what}{others}")
    return "; ".join(found)
