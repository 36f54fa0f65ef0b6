"""The voxels of a DICOM file, as they are stored."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes._header import MAX_BYTES
from isocenter.volumes.dicom._dataset import DicomError, number
from isocenter.volumes.dicom._dataset import stored as as_stored

if TYPE_CHECKING:
    from pydicom import Dataset

# Implicit and explicit little endian, and explicit big endian: voxels that are stored as they are.
_PLAIN = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2")


def stored_pixels(dataset: Dataset) -> NDArray[Any]:
    """The stored integers, frames × rows × columns, without any scaling.

    Pixel data must be uncompressed, of one sample per pixel and exactly as long as rows, columns and frames say. Bits
    above BitsStored, in which old scanners kept overlays, are cleared or, in signed data, take the sign.
    """
    syntax = str(getattr(dataset, "file_meta", {}).get("TransferSyntaxUID", _PLAIN[0]))
    if syntax not in _PLAIN:
        msg = f"pixel data is compressed (transfer syntax {syntax}); decompress it first, for instance with gdcmconv"
        raise DicomError(msg, code="bad_format")
    rows, columns = (int(number(dataset, name)) for name in ("Rows", "Columns"))
    frames = int(number(dataset, "NumberOfFrames", default=1.0))
    bits = int(number(dataset, "BitsAllocated"))
    stored, signed = int(number(dataset, "BitsStored", default=bits)), number(dataset, "PixelRepresentation", default=0)
    if min(rows, columns, frames) < 1 or int(number(dataset, "SamplesPerPixel", default=1.0)) != 1:
        msg = f"{frames} frames of {rows} rows and {columns} columns, one sample each, were expected to be at least one"
        raise DicomError(msg, code="bad_shape")
    if bits not in (8, 16, 32) or not 1 <= stored <= bits:
        msg = f"{stored} bits stored in {bits} allocated; 8, 16 or 32 were expected"
        raise DicomError(msg, code="bad_format")
    if math.prod((rows, columns, frames)) * 8 > MAX_BYTES:
        msg = f"{frames}×{rows}×{columns} voxels would take more than {MAX_BYTES:,} bytes"
        raise DicomError(msg, code="too_large")
    data = as_stored(dataset, "PixelData").value if "PixelData" in dataset else None
    expected = rows * columns * frames * bits // 8
    if not isinstance(data, bytes) or not expected <= len(data) <= expected + 1:
        found = f"{len(data):,} bytes" if isinstance(data, bytes) else "missing"
        msg = (
            f"PixelData: {found}; {expected:,} bytes were expected for {frames}×{rows}×{columns} voxels of {bits} bits"
        )
        raise DicomError(msg, code="damaged")
    order = ">" if dataset.original_encoding[1] is False else "<"
    kind = f"{order}{'i' if signed else 'u'}{bits // 8}"
    values = np.frombuffer(data, dtype=kind, count=rows * columns * frames).astype(kind[1:])
    if stored < bits:
        values = (values << (bits - stored)) >> (bits - stored)
    return values.reshape(frames, rows, columns)
