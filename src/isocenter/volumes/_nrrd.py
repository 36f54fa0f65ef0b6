"""NRRD headers. The world is the one that `space` names; RAS and LAS are turned into LPS.

Reference: Kindlmann G. Definition of NRRD file format, teem.sourceforge.net/nrrd/format.html.
"""

from __future__ import annotations

import re
from typing import BinaryIO, Literal

import numpy as np

from isocenter.problems import code_of_error
from isocenter.volumes._grid import Grid
from isocenter.volumes._header import Header, VolumeError, check_dimensions, lengths, shortened

_TYPES = {
    "signed char": "i1", "int8": "i1", "int8_t": "i1", "uchar": "u1", "unsigned char": "u1", "uint8": "u1",
    "uint8_t": "u1", "short": "i2", "short int": "i2", "signed short": "i2", "signed short int": "i2", "int16": "i2",
    "int16_t": "i2", "ushort": "u2", "unsigned short": "u2", "unsigned short int": "u2", "uint16": "u2",
    "uint16_t": "u2", "int": "i4", "signed int": "i4", "int32": "i4", "int32_t": "i4", "uint": "u4",
    "unsigned int": "u4", "uint32": "u4", "uint32_t": "u4", "longlong": "i8", "long long": "i8", "long long int": "i8",
    "signed long long": "i8", "signed long long int": "i8", "int64": "i8", "int64_t": "i8", "ulonglong": "u8",
    "unsigned long long": "u8", "unsigned long long int": "u8", "uint64": "u8", "uint64_t": "u8", "float": "f4",
    "double": "f8",
}  # fmt: skip
_ENCODINGS: dict[str, Literal["raw", "gzip"]] = {"raw": "raw", "gzip": "gzip", "gz": "gzip"}
_TO_LPS = {
    "left-posterior-superior": (1, 1, 1), "LPS": (1, 1, 1),
    "right-anterior-superior": (-1, -1, 1), "RAS": (-1, -1, 1),
    "left-anterior-superior": (1, -1, 1), "LAS": (1, -1, 1),
}  # fmt: skip
_MAX_HEADER = 1 << 16


def read_header(stream: BinaryIO) -> Header:
    """Read the ``key: value`` lines up to the empty line behind which the voxels begin."""
    magic = stream.readline(16)
    if not re.fullmatch(rb"NRRD000[1-9]\r?\n", magic):
        msg = "not an NRRD file (it does not start with NRRD000…)"
        raise VolumeError(msg, code="bad_format")
    fields: dict[str, str] = {}
    offset = len(magic)
    while True:
        line = stream.readline(_MAX_HEADER)
        offset += len(line)
        if not line.endswith(b"\n") or offset > _MAX_HEADER:
            if fields.get("data file") or fields.get("datafile"):
                break  # a detached header may simply end
            msg = "the NRRD header has no end (an empty line)"
            raise VolumeError(msg, code="damaged")
        text = line.decode("utf-8", "replace").strip()
        if not text:
            break
        key, colon, value = text.partition(":")
        if colon and not text.startswith("#") and not value.startswith("="):
            fields[key.strip().lower()] = value.strip()
    try:
        return _header(fields, offset=offset)
    except (ValueError, KeyError) as error:
        missing = "no field " if isinstance(error, KeyError) else ""
        msg = f"NRRD header: {missing}{shortened(str(error), 200)}"
        raise VolumeError(msg, code=code_of_error(error, otherwise="bad_format")) from error


def _header(fields: dict[str, str], *, offset: int) -> Header:
    kind = fields["type"].lower()
    if kind not in _TYPES:
        msg = f"type {shortened(kind)} is not a plain number per voxel"
        raise VolumeError(msg, code="bad_format")
    encoding = fields["encoding"].lower()
    if encoding not in _ENCODINGS:
        msg = f"encoding {shortened(encoding)} is not read; save as raw or gzip"
        raise VolumeError(msg, code="bad_format")
    if any(fields.get(name, "0") != "0" for name in ("line skip", "lineskip", "byte skip", "byteskip")):
        msg = "voxels at an offset (line skip, byte skip) are not read"
        raise VolumeError(msg, code="bad_format")
    shape = check_dimensions(lengths(fields["sizes"]))
    order = ">" if fields.get("endian", "little").lower() == "big" else "<"
    data_file = fields.get("data file", fields.get("datafile", ""))
    return Header(
        grid=Grid.from_affine(_affine(fields), shape),
        dtype=np.dtype(f"{order}{_TYPES[kind]}"),
        offset=0 if data_file else offset,
        encoding=_ENCODINGS[encoding],
        data_file=data_file,
    )


def _affine(fields: dict[str, str]) -> np.ndarray:
    """Index to LPS; a file without a `space` has only spacings, and lies along the axes."""
    affine = np.eye(4)
    if "space directions" not in fields:
        spacings = [float(word) for word in fields.get("spacings", "1 1 1").split()]
        if len(spacings) != 3:
            msg = f"spacings {shortened(fields['spacings'])!r} are not three numbers"
            raise VolumeError(msg, code="bad_geometry")
        affine[:3, :3] = np.diag(spacings)
        return affine
    space = fields.get("space", "(none)")
    if space not in _TO_LPS:
        msg = f"space {shortened(space)} is not one of {', '.join(name for name in _TO_LPS if '-' in name)}"
        raise VolumeError(msg, code="bad_geometry")
    directions = re.findall(r"\(([^)]*)\)", fields["space directions"])
    if len(directions) < 3:
        msg = f"space directions {shortened(fields['space directions'])!r} are not three vectors"
        raise VolumeError(msg, code="bad_geometry")
    affine[:3, :3] = np.array([_vector(words) for words in directions[:3]]).T
    affine[:3, 3] = _vector(fields.get("space origin", "(0,0,0)").strip("()"))
    affine[:3] *= np.array(_TO_LPS[space])[:, None]
    return affine


def _vector(words: str) -> list[float]:
    numbers = [float(word) for word in words.split(",")]
    if len(numbers) != 3:
        msg = f"({shortened(words)}) is not a vector of three numbers"
        raise VolumeError(msg, code="bad_geometry")
    return numbers
