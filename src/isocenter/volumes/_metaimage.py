"""MetaImage headers (.mha, and .mhd with a data file beside it). Their world is LPS, as ours."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from isocenter.problems import code_of_error
from isocenter.volumes._grid import Grid
from isocenter.volumes._header import Header, VolumeError, check_dimensions, lengths, shortened

_TYPES = {
    "MET_UCHAR": "u1", "MET_CHAR": "i1", "MET_USHORT": "u2", "MET_SHORT": "i2", "MET_UINT": "u4", "MET_INT": "i4",
    "MET_ULONG": "u4", "MET_LONG": "i4", "MET_ULONG_LONG": "u8", "MET_LONG_LONG": "i8", "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}  # fmt: skip
_MAX_HEADER = 1 << 16


def read_header(stream: BinaryIO) -> Header:
    """Read ``key = value`` lines up to ElementDataFile, behind which the voxels begin."""
    fields: dict[str, str] = {}
    offset = 0
    while "ElementDataFile" not in fields:
        line = stream.readline(_MAX_HEADER)
        offset += len(line)
        key, equals, value = line.decode("latin-1").partition("=")
        if not equals or not line.endswith(b"\n") or offset > _MAX_HEADER:
            msg = "not a MetaImage file (no list of `key = value` lines that ends in ElementDataFile)"
            raise VolumeError(msg, code="bad_format")
        fields[key.strip()] = value.strip()
    try:
        return _header(fields, offset=offset)
    except ValueError as error:
        msg = f"MetaImage header: {shortened(str(error), 200)}"
        raise VolumeError(msg, code=code_of_error(error, otherwise="bad_format")) from error


def _header(fields: dict[str, str], *, offset: int) -> Header:
    if fields.get("ElementNumberOfChannels", "1") != "1":
        msg = f"{shortened(fields['ElementNumberOfChannels'])} numbers per voxel; one was expected"
        raise VolumeError(msg, code="bad_shape")
    kind = fields.get("ElementType", "(none)")
    if kind not in _TYPES:
        msg = f"ElementType {shortened(kind)} is not a plain number per voxel"
        raise VolumeError(msg, code="bad_format")
    if fields.get("BinaryData", "True").lower() != "true":
        msg = "voxels written as text are not read; save with BinaryData = True"
        raise VolumeError(msg, code="bad_format")
    sizes = lengths(fields.get("DimSize", ""))
    shape = check_dimensions(sizes)
    data_file = "" if fields["ElementDataFile"] in ("LOCAL", "Local", "local") else fields["ElementDataFile"]
    # ITK writes 4-D files with a 4×4 matrix; of a volume with a trailing axis of one the first three rows count.
    axes = len(sizes)
    matrix = np.array(_numbers(fields, ("TransformMatrix", "Rotation", "Orientation"), np.eye(axes).ravel()))
    spacing = _numbers(fields, ("ElementSpacing", "ElementSize"), np.ones(axes))
    origin = _numbers(fields, ("Offset", "Position", "Origin"), np.zeros(axes))
    big = fields.get("BinaryDataByteOrderMSB", fields.get("ElementByteOrderMSB", "False")).lower() == "true"
    if fields.get("HeaderSize", "0") != "0":
        msg = f"HeaderSize = {shortened(fields['HeaderSize'])} (voxels at an offset) is not read"
        raise VolumeError(msg, code="bad_format")
    return Header(
        # MetaImage lists the matrix axis by axis: a row of the file is the direction of one array axis.
        grid=Grid(
            shape,
            spacing=(spacing[0], spacing[1], spacing[2]),
            origin=(origin[0], origin[1], origin[2]),
            direction=tuple(matrix.reshape(axes, axes)[:3, :3].T.ravel()),
        ),
        dtype=np.dtype(f"{'>' if big else '<'}{_TYPES[kind]}"),
        offset=0 if data_file else offset,
        encoding="zlib" if fields.get("CompressedData", "False").lower() == "true" else "raw",
        data_file=data_file,
    )


def _numbers(fields: dict[str, str], names: tuple[str, ...], default: np.ndarray) -> list[float]:
    found = next((fields[name] for name in names if name in fields), None)
    if found is None:
        return [float(v) for v in default]
    numbers = [float(word) for word in found.split()]
    if len(numbers) != len(default):
        msg = f"{names[0]} holds {len(numbers)} numbers, expected {len(default)}"
        raise VolumeError(msg, code="bad_geometry")
    return numbers
