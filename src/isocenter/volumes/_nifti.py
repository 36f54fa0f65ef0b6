"""NIfTI-1 and NIfTI-2 headers.

NIfTI's world is RAS; ours is LPS, so the first two rows change sign. The matrix of the sform is taken where there is
one with perpendicular axes, else the quaternion of the qform, else voxel sizes alone.

Reference: Cox RW et al. A (sort of) new image data format standard: NIfTI-1 (2004), nifti1.h.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes._grid import Grid
from isocenter.volumes._header import Header, VolumeError, check_dimensions

_TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8"}
_MAX_EXTENSIONS = 1 << 24

# Only the fields that are read, by name, type and offset.
_NIFTI1 = {
    "dim": ("i2", 8, 40), "datatype": ("i2", 1, 70), "pixdim": ("f4", 8, 76), "vox_offset": ("f4", 1, 108),
    "scl_slope": ("f4", 1, 112), "scl_inter": ("f4", 1, 116), "xyzt_units": ("u1", 1, 123),
    "qform_code": ("i2", 1, 252), "sform_code": ("i2", 1, 254), "quatern": ("f4", 3, 256), "qoffset": ("f4", 3, 268),
    "srow": ("f4", 12, 280),
}  # fmt: skip
_NIFTI2 = {
    "dim": ("i8", 8, 16), "datatype": ("i2", 1, 12), "pixdim": ("f8", 8, 104), "vox_offset": ("i8", 1, 168),
    "scl_slope": ("f8", 1, 176), "scl_inter": ("f8", 1, 184), "xyzt_units": ("i4", 1, 500),
    "qform_code": ("i4", 1, 344), "sform_code": ("i4", 1, 348), "quatern": ("f8", 3, 352), "qoffset": ("f8", 3, 376),
    "srow": ("f8", 12, 400),
}  # fmt: skip


def read_header(stream: BinaryIO) -> Header:
    """Read the header from an (inflated) stream, and the extensions behind it; leaves the stream at the voxels."""
    start = stream.read(4)
    if not start:
        msg = "the file is empty"
        raise VolumeError(msg, code="damaged")
    sizes = {order: int.from_bytes(start, "little" if order == "<" else "big") for order in "<>"}
    order, length = next(((o, n) for o, n in sizes.items() if n in (348, 540)), ("", 0))
    if not length or len(start) < 4:
        msg = "not a NIfTI file (it does not start with the header size 348 or 540)"
        raise VolumeError(msg, code="bad_format")
    block = start + stream.read(length - 4)
    if len(block) < length:
        msg = f"the file ends after {len(block)} bytes, inside the NIfTI header of {length}"
        raise VolumeError(msg, code="damaged")
    magic = block[344:348] if length == 348 else block[4:8]
    if magic in (b"ni1\0", b"ni2\0"):
        msg = "a NIfTI header whose voxels are in another file (.hdr/.img pair); save it as one .nii or .nii.gz"
        raise VolumeError(msg, code="bad_format")
    if magic not in (b"n+1\0", b"n+2\0"):
        msg = f"not a NIfTI file (its magic is {magic!r})"
        raise VolumeError(msg, code="bad_format")
    header = _parse(block, order)
    if len(stream.read(header.offset - length)) < header.offset - length:
        msg = "the file ends before its voxels begin"
        raise VolumeError(msg, code="damaged")
    return header


@lru_cache(maxsize=512)
def _parse(block: bytes, order: str) -> Header:
    """What the bytes of a header say. They are met again whenever a file, or another on the same grid, is opened."""
    layout = _NIFTI1 if len(block) == 348 else _NIFTI2
    field = {
        name: np.frombuffer(block, dtype=f"{order}{kind}", count=count, offset=offset)
        for name, (kind, count, offset) in layout.items()
    }
    with np.errstate(all="ignore"):  # odd numbers are found by their value, not by a warning on the way
        return _header(field, order=order, length=len(block))


def _header(field: dict[str, NDArray[Any]], *, order: str, length: int) -> Header:
    dim = [int(n) for n in field["dim"]]
    if not 1 <= dim[0] <= 7:
        msg = f"the NIfTI header declares {dim[0]} dimensions"
        raise VolumeError(msg, code="bad_shape")
    shape = check_dimensions(dim[1 : dim[0] + 1])
    code = int(field["datatype"][0])
    if code not in _TYPES:
        msg = f"NIfTI data type {code} is not a plain number per voxel (colour, complex or bit data)"
        raise VolumeError(msg, code="bad_format")
    offset = float(field["vox_offset"][0])
    if not length <= offset <= _MAX_EXTENSIONS:
        msg = f"the NIfTI header puts the voxels at byte {offset:g}"
        raise VolumeError(msg, code="bad_format")
    slope, intercept = float(field["scl_slope"][0]), float(field["scl_inter"][0])
    if not math.isfinite(slope) or slope == 0:  # how the format says "not scaled"
        slope, intercept = 1.0, 0.0
    elif not math.isfinite(intercept):
        msg = f"the NIfTI header scales by {slope:g} with an intercept of {intercept}"
        raise VolumeError(msg, code="bad_format")
    grid, other_grid = _grids(field, shape)
    return Header(
        grid=grid,
        dtype=np.dtype(f"{order}{_TYPES[code]}"),
        offset=int(offset),
        slope=slope,
        intercept=intercept,
        other_grid=other_grid,
    )


def _grids(field: dict[str, NDArray[Any]], shape: tuple[int, int, int]) -> tuple[Grid, Grid | None]:
    """The grid in LPS mm, from the best of the header's three descriptions; and that of the qform, if it differs."""
    sform, qform = int(field["sform_code"][0]) > 0, int(field["qform_code"][0]) > 0
    tries = []
    if sform:
        tries.append(_affine(field["srow"].astype(float).reshape(3, 4)))
    if qform or not sform:
        tries.append(_qform(field) if qform else _sizes_only(field))
    # 1 is metre, 2 millimetre, 3 micrometre; 0 says nothing and means millimetre.
    scale = {1: 1000.0, 3: 0.001}.get(int(field["xyzt_units"][0]) & 7, 1.0)
    grids: list[Grid] = []
    error: ValueError | None = None
    for ras in tries:
        lps = ras * np.array([[-scale], [-scale], [scale], [1.0]])
        try:
            grids.append(Grid.from_affine(lps, shape))
        except ValueError as problem:
            error = error or problem
    if not grids:
        msg = f"unusable geometry: {error}"
        raise VolumeError(msg, code="bad_geometry") from error
    differs = len(grids) == 2 and not grids[0].same_as(grids[1])
    return grids[0], grids[1] if differs else None


def _qform(field: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Rotation of the unit quaternion (a, b, c, d), of which the header stores b, c, d in single precision.

    a = √(1 - b² - c² - d²) is all rounding noise near a half turn, where the sum is 1. The format's own library takes a
    as 0 there (below 1e-7) and makes the rest a unit vector; so must every reader, or a corner of a real prostate scan
    moves by two thirds of a voxel.
    """
    b, c, d = (float(v) for v in field["quatern"])
    rest = 1.0 - (b * b + c * c + d * d)
    if rest < 1e-7:
        length = math.sqrt(b * b + c * c + d * d)
        if not math.isfinite(length):
            return np.full((4, 4), math.nan)
        a, b, c, d = 0.0, b / length, c / length, d / length
    else:
        a = math.sqrt(rest)
    rotation = np.array([
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b],
    ])  # fmt: skip
    sizes = field["pixdim"][1:4].astype(float)
    handed = -1.0 if field["pixdim"][0] < 0 else 1.0
    return _affine(np.column_stack([rotation * sizes * [1.0, 1.0, handed], field["qoffset"].astype(float)]))


def _sizes_only(field: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    return np.diag([*field["pixdim"][1:4].astype(float), 1.0])


def _affine(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.vstack([rows, [0.0, 0.0, 0.0, 1.0]])
