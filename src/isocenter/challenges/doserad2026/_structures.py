"""structures.npy: masks of all structures of a case in one array (z, y, x, structure).

Read slice by slice, as with twenty structures it takes half a gigabyte, of which the voxels of the few that count are
kept.
"""

from __future__ import annotations

import math
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from isocenter.challenges.doserad2026._closest import Voxels
from isocenter.evaluation import CohortError
from isocenter.volumes import File, Grid

_MAX_HEADER = 1 << 14


def check_structures(file: File, grid: Grid, count: int) -> str:
    """What is wrong with the file, judged by its header and its size; "" if nothing is."""
    try:
        with file.open() as stream:
            shape, fortran, dtype, offset = _header(stream)
    except (ValueError, EOFError) as error:
        return f"{file.name} is not a NumPy array of masks: {error}"
    expected = (*grid.shape[::-1], count)
    if shape != expected:
        return f"{file.name} has shape {shape}; expected (z, y, x, structure) = {expected}"
    if dtype.hasobject or dtype.kind not in "bu" or dtype.itemsize != 1:
        return f"{file.name} holds {dtype}; expected uint8 or bool"
    if fortran:
        return f"{file.name} is stored in Fortran order; save it with numpy.ascontiguousarray"
    if file.size() != offset + math.prod(shape):
        return f"{file.name} has {file.size():,} bytes; {offset + math.prod(shape):,} would hold its masks"
    return ""


def read_structures(file: File, grid: Grid, count: int) -> list[Voxels]:
    """The voxels of each structure, as indices (x, y, z), of a file that has been checked."""
    nx, ny, nz = grid.shape
    found: list[list[Voxels]] = [[] for _ in range(count)]
    with file.open() as stream:
        _header(stream)
        for z in range(nz):
            masks = np.frombuffer(stream.read(ny * nx * count), np.uint8)
            if masks.size and masks.max() > 1:
                msg = f"{file.name} holds {int(masks.max())}; a mask holds only 0 and 1"
                raise CohortError(msg)
            y, x, structure = np.nonzero(masks.reshape(ny, nx, count))
            for number in np.unique(structure):
                here = structure == number
                found[number].append(np.stack([x[here], y[here], np.full(here.sum(), z)], axis=1))
    nothing: NDArray[np.intp] = np.empty((0, 3), np.intp)
    return [np.concatenate(slices) if slices else nothing for slices in found]


def _header(stream: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[np.generic], int]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream, max_header_size=_MAX_HEADER)
    return shape, fortran, dtype, stream.tell()
