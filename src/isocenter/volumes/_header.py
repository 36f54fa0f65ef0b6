"""What a volume file says of itself before any voxel is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from isocenter.problems import CodedError
from isocenter.volumes._grid import Grid

SUFFIXES = (".nii.gz", ".nii", ".mha", ".mhd", ".nrrd")
"""Endings of the files that can be read and written."""

MAX_BYTES = 1 << 32
"""No volume is read that is larger than this once inflated (4 GiB: a 1024³ CT in single precision)."""

# Deflate cannot shrink data to less than one part in 1032, so a small file cannot hold a large volume.
_DEFLATE_LIMIT = 1032


class VolumeError(CodedError):
    """A file that cannot be read as the volume it should be; the message says what was found."""


@dataclass(frozen=True, slots=True)
class Header:
    """Geometry and storage of a volume.

    Attributes
    ----------
    grid
        Where the voxels are.
    dtype
        How they are stored, with byte order.
    offset
        Where they start, in bytes from the start of the (inflated) file that holds them.
    encoding
        "raw"; "gzip" or "zlib" if the voxels, but not the header, are compressed. A .nii.gz is inflated as a whole, so
        its voxels count as raw.
    slope, intercept
        Stored number × slope + intercept = value.
    data_file
        Name of the file beside the header that holds the voxels; "" if it is this one.
    other_grid
        Where the header puts the voxels a second time, if that is somewhere else: the qform of a NIfTI whose sform is
        `grid`. None if there is one place only.
    """

    grid: Grid
    dtype: np.dtype[np.generic]
    offset: int
    encoding: Literal["raw", "gzip", "zlib"] = "raw"
    slope: float = 1.0
    intercept: float = 0.0
    data_file: str = ""
    other_grid: Grid | None = None

    @property
    def nbytes(self) -> int:
        """Size of the voxels in memory as they are stored."""
        return self.grid.voxels * self.dtype.itemsize

    @property
    def scaled(self) -> bool:
        """Whether values differ from the stored numbers."""
        return (self.slope, self.intercept) != (1.0, 0.0)


def check_size(header: Header, *, stored: int, compressed: bool) -> None:
    """Refuse a header that promises more than a file of `stored` bytes can hold, before anything is allocated."""
    possible = stored * _DEFLATE_LIMIT if compressed else stored - header.offset
    if header.nbytes > possible:
        msg = (
            f"the header declares {header.grid.voxels:,} voxels of {header.dtype.name} ({_human(header.nbytes)}), "
            f"which a file of {_human(stored)} cannot hold: it is cut off or not what it says"
        )
        raise VolumeError(msg, code="damaged")
    if header.nbytes > MAX_BYTES:
        msg = f"the volume would take {_human(header.nbytes)}; at most {_human(MAX_BYTES)} are read"
        raise VolumeError(msg, code="too_large")


def suffix_of(name: str) -> str:
    """The ending that tells the format, in lower case; "" if it is none that can be read.

    Examples
    --------
    >>> suffix_of("CHUV001.nii.gz"), suffix_of("scan.MHA"), suffix_of("notes.txt")
    ('.nii.gz', '.mha', '')
    """
    return next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), "")


def lengths(text: str) -> list[int]:
    """The lengths of the axes as a text header lists them."""
    words = text.split()
    if not all(re.fullmatch(r"-?[0-9]{1,9}", word) for word in words):
        msg = f"the lengths of the axes are given as {shortened(text)!r}"
        raise VolumeError(msg, code="bad_shape")
    return [int(word) for word in words]


def shortened(text: str, most: int = 60) -> str:
    """A text of a stranger's file, short enough for a message."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def check_dimensions(sizes: list[int]) -> tuple[int, int, int]:
    """Three axes, or four of which the last has length one, as some tools write a 3-D volume."""
    if len(sizes) == 4 and sizes[3] == 1:
        sizes = sizes[:3]
    if len(sizes) != 3:
        msg = f"a {len(sizes)}-D file ({'×'.join(map(str, sizes))}); a 3-D volume was expected"
        raise VolumeError(msg, code="bad_shape")
    if min(sizes) < 1:
        msg = f"an axis without voxels: {'×'.join(map(str, sizes))}"
        raise VolumeError(msg, code="bad_shape")
    return sizes[0], sizes[1], sizes[2]


def _human(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if size < 1000 or unit == "PB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
