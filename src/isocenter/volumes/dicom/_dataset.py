"""One DICOM file of a stranger: whether it is one, and single attributes as plain numbers and text.

pydicom takes the file apart; what it finds is read here from the stored bytes, so that a malformed number is an error
with the name of its attribute, and neither a warning nor an exception of some other kind.
"""

from __future__ import annotations

import io
import math
import re
import struct
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes._files import File
from isocenter.volumes._header import MAX_BYTES, VolumeError, shortened

if TYPE_CHECKING:
    from pydicom import Dataset

# Enough for every file of a study; a whole RTDOSE or RTSTRUCT is held in memory while it is read.
MAX_FILE = 1 << 30
_PREAMBLE = 128
# Implicit and explicit little endian, and explicit big endian: voxels that are stored as they are.
_PLAIN = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2")
# Pixel data in other syntaxes is compressed but the header is readable; in this one the header is too, without limit.
_DEFLATED = "1.2.840.10008.1.2.1.99"
_LONG = (b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"UC", b"UN", b"UR", b"UT")
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LETTERS = b"0123456789+-.eE\\ \0"


class DicomError(VolumeError):
    """A DICOM file or study that cannot be used as asked; the message says what was found and what was expected."""


class NotDicomError(DicomError):
    """A file that does not even start as DICOM does."""


class AmbiguousStudyError(DicomError):
    """Several objects of a study could be meant; the message lists them, and the caller chooses one by name."""


def looks_like_dicom(head: bytes) -> bool:
    """Whether a file starts as DICOM does: the preamble and "DICM", or without them an attribute of group 2 or 8.

    Some planning systems leave the preamble out. Then the first attribute must be one of the file meta group or of the
    identifying group, and be followed by a value representation or by a sensible length.
    """
    if head[_PREAMBLE : _PREAMBLE + 4] == b"DICM":
        return True
    if len(head) < 16:
        return False
    group, element, length = struct.unpack("<HHI", head[:8])
    if group not in (0x0002, 0x0008) or element > 0x0100:
        return False
    return bool(re.fullmatch(rb"[A-Z]{2}", head[4:6])) or (group == 0x0008 and length <= 256 and length % 2 == 0)


def open_dataset(file: File, *, tags: Sequence[str] | None = None, pixels: bool = False) -> Dataset:
    """Take a file apart; `tags` limits what is kept, and without `pixels` reading stops before them.

    Raises
    ------
    DicomError
        When the file is not DICOM, is larger than 1 GiB, is deflated as a whole or is damaged.
    """
    from pydicom import dcmread

    if file.size() > MAX_FILE:
        msg = f"{file.name}: {file.size():,} bytes; at most {MAX_FILE:,} are read of a DICOM file"
        raise DicomError(msg)
    with file.open() as raw:
        stream = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw))
        try:
            head = stream.read(_PREAMBLE + 4)
            if not looks_like_dicom(head):
                msg = f"{file.name}: not a DICOM file"
                raise NotDicomError(msg)
            if _transfer_syntax(stream, start=_PREAMBLE + 4 if head.endswith(b"DICM") else 0) == _DEFLATED:
                msg = f"{file.name}: stored in the deflated transfer syntax; convert it to explicit little endian"
                raise DicomError(msg)
            stream.seek(0)
            with _quiet():
                dataset = dcmread(
                    stream,
                    force=True,  # it has been looked at above
                    stop_before_pixels=not pixels,
                    specific_tags=None if tags is None else list(tags),
                )
        except DicomError:
            raise
        except Exception as error:  # a hostile file can raise nearly anything in a parser
            msg = f"{file.name}: damaged or cut off: {shortened(str(error) or type(error).__name__, 200)}"
            raise DicomError(msg) from error
    return dataset


def _transfer_syntax(stream: BinaryIO, *, start: int) -> str:
    """The transfer syntax of the file meta group, "" without one; read here because pydicom would already inflate."""
    stream.seek(start)
    while len(header := stream.read(8)) == 8 and header[:2] == b"\x02\x00":
        length = struct.unpack("<H", header[6:])[0]
        if header[4:6] in _LONG:
            length = struct.unpack("<I", stream.read(4).ljust(4, b"\0"))[0]
        if header[2:4] == b"\x10\x00":
            return stream.read(min(length, 64)).decode("ascii", "replace").strip("\0 ")
        stream.seek(length, io.SEEK_CUR)
    return ""


def _quiet() -> warnings.catch_warnings[None]:
    """Remarks of pydicom on malformed values; those that matter here become errors of their own."""
    return warnings.catch_warnings(action="ignore")


def text(dataset: Dataset, keyword: str, *, default: str = "") -> str:
    """A text, decoded as the file says; several values stay joined by a backslash."""
    try:
        with _quiet():
            value = dataset.get(keyword)
    except Exception:  # a text that cannot be decoded is as good as none
        return default
    if value is None or value == "":
        return default
    many = not isinstance(value, str) and isinstance(value, Sequence)
    return "\\".join(str(v) for v in value).strip() if many else str(value).strip(" \0")


def items(dataset: Dataset, keyword: str) -> list[Dataset]:
    """The items of a sequence; none if it is absent, empty or not a sequence."""
    try:
        with _quiet():
            value = dataset.get(keyword)
    except Exception as error:
        msg = f"{keyword} is damaged: {shortened(str(error), 200)}"
        raise DicomError(msg) from error
    from pydicom import Sequence as Items

    return list(value) if isinstance(value, Items) else []


def numbers(dataset: Dataset, keyword: str) -> NDArray[np.float64]:
    """All values of a decimal or integer attribute; empty if it is absent.

    They must be finite. Texts are read from the stored bytes: a contour of thousands of points costs no objects.
    """
    from pydicom.dataelem import RawDataElement

    if keyword not in dataset:
        return np.empty(0)
    element = _stored(dataset, keyword)
    value = element.value
    if isinstance(element, RawDataElement) and _is_text(keyword):
        found = _parsed(keyword, value or b"")
    else:
        try:
            with _quiet():
                value = dataset[keyword].value
            found = np.atleast_1d(np.asarray([] if value is None else value, dtype=np.float64))
        except Exception as error:
            msg = f"{keyword} cannot be read: {shortened(str(error), 200)}"
            raise DicomError(msg) from error
    if not np.isfinite(found).all():
        msg = f"{keyword} holds a value that is not finite"
        raise DicomError(msg)
    return found


def _stored(dataset: Dataset, keyword: str) -> Any:
    """The attribute as it stands in the file, if pydicom can tell it."""
    try:
        with _quiet():
            return dataset.get_item(keyword)
    except Exception as error:
        msg = f"{keyword} is damaged: {shortened(str(error), 200)}"
        raise DicomError(msg) from error


def _parsed(keyword: str, value: bytes) -> NDArray[np.float64]:
    """Numbers as DICOM writes them, between backslashes and padded with blanks."""
    if not value.strip(b" \0"):
        return np.empty(0)
    parts = value.split(b"\\")
    try:
        if value.translate(None, _LETTERS):  # "nan", "1_000" and the like are numbers to Python, but not here
            raise ValueError
        return np.array([part.strip(b" \0") for part in parts]).astype(np.float64)
    except ValueError:
        wrong = next((part for part in parts if not _NUMBER.fullmatch(part.strip(b" \0"))), value)
        msg = f"{keyword} has the value {shortened(wrong.decode('latin-1'))!r}, which is no number"
        raise DicomError(msg) from None


def exactly(dataset: Dataset, keyword: str, count: int) -> NDArray[np.float64]:
    """As many values as the attribute must have."""
    found = numbers(dataset, keyword)
    if found.size != count:
        msg = f"{keyword} has {found.size or 'no'} values; {count} were expected"
        raise DicomError(msg)
    return found


def number(dataset: Dataset, keyword: str, *, default: float | None = None) -> float:
    """A single value; absent, it is the default, or an error without one."""
    found = numbers(dataset, keyword)
    if found.size == 0 and default is not None:
        return default
    if found.size != 1:
        msg = f"{keyword} is missing" if found.size == 0 else f"{keyword} has {found.size} values; one was expected"
        raise DicomError(msg)
    return float(found[0])


def stored_pixels(dataset: Dataset) -> NDArray[Any]:
    """The stored integers, frames × rows × columns, without any scaling.

    Pixel data must be uncompressed, of one sample per pixel and exactly as long as rows, columns and frames say. Bits
    above BitsStored, in which old scanners kept overlays, are cleared or, in signed data, take the sign.
    """
    syntax = str(getattr(dataset, "file_meta", {}).get("TransferSyntaxUID", _PLAIN[0]))
    if syntax not in _PLAIN:
        msg = f"pixel data is compressed (transfer syntax {syntax}); decompress it first, for instance with gdcmconv"
        raise DicomError(msg)
    rows, columns = (int(number(dataset, name)) for name in ("Rows", "Columns"))
    frames = int(number(dataset, "NumberOfFrames", default=1.0))
    bits = int(number(dataset, "BitsAllocated"))
    stored, signed = int(number(dataset, "BitsStored", default=bits)), number(dataset, "PixelRepresentation", default=0)
    if min(rows, columns, frames) < 1 or int(number(dataset, "SamplesPerPixel", default=1.0)) != 1:
        msg = f"{frames} frames of {rows} rows and {columns} columns, one sample each, were expected to be at least one"
        raise DicomError(msg)
    if bits not in (8, 16, 32) or not 1 <= stored <= bits:
        msg = f"{stored} bits stored in {bits} allocated; 8, 16 or 32 were expected"
        raise DicomError(msg)
    if math.prod((rows, columns, frames)) * 8 > MAX_BYTES:
        msg = f"{frames}×{rows}×{columns} voxels would take more than {MAX_BYTES:,} bytes"
        raise DicomError(msg)
    data = _stored(dataset, "PixelData").value if "PixelData" in dataset else None
    expected = rows * columns * frames * bits // 8
    if not isinstance(data, bytes) or not expected <= len(data) <= expected + 1:
        found = f"{len(data):,} bytes" if isinstance(data, bytes) else "missing"
        msg = (
            f"PixelData: {found}; {expected:,} bytes were expected for {frames}×{rows}×{columns} voxels of {bits} bits"
        )
        raise DicomError(msg)
    order = ">" if dataset.original_encoding[1] is False else "<"
    kind = f"{order}{'i' if signed else 'u'}{bits // 8}"
    values = np.frombuffer(data, dtype=kind, count=rows * columns * frames).astype(kind[1:])
    if stored < bits:
        values = (values << (bits - stored)) >> (bits - stored)
    return values.reshape(frames, rows, columns)


def _is_text(keyword: str) -> bool:
    from pydicom.datadict import dictionary_VR

    return dictionary_VR(keyword) in ("DS", "IS")
