"""One DICOM file of a stranger: whether it is one, and single attributes as plain numbers and text.

pydicom takes the file apart; what it finds is read here from the stored bytes, so that a malformed number is an error
with the name of its attribute, and neither a warning nor an exception of some other kind.
"""

from __future__ import annotations

import io
import re
import struct
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from isocenter.problems import code_of_error
from isocenter.volumes._files import File
from isocenter.volumes._header import VolumeError, shortened

if TYPE_CHECKING:
    from pydicom import Dataset

# Enough for every file of a study; a whole RTDOSE or RTSTRUCT is held in memory while it is read.
MAX_FILE = 1 << 30
_PREAMBLE = 128
# A file meta group has about ten attributes, a data set some hundred before its sequences are counted.
_MAX_META, _MAX_ATTRIBUTES = 1_000, 20_000
# Of all reads of a parser, sequences included: a structure set of a hundred thousand contours takes about a million.
_MAX_READS = 4_000_000
# The modality is among the first attributes; and no attribute that says what a file is has more than some kilobytes.
_MAX_BEFORE_MODALITY, _MAX_KEPT = 1 << 20, 1 << 22
_MODALITY, _PIXELS = 0x00080060, (0x7FE00008, 0x7FE00009, 0x7FE00010)
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
    from pydicom.filereader import read_partial
    from pydicom.tag import Tag

    if file.size() > MAX_FILE:
        msg = f"{file.name}: {file.size():,} bytes; at most {MAX_FILE:,} are read of a DICOM file"
        raise DicomError(msg, code="too_large")
    with file.open() as raw:
        stream = _Patient(raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw)))
        try:
            head = stream.read(_PREAMBLE + 4)
            if not looks_like_dicom(head):
                msg = f"{file.name}: not a DICOM file"
                raise NotDicomError(msg, code="bad_format")
            if _check_start(stream, preamble=head.endswith(b"DICM")) == _DEFLATED:
                msg = "stored in the deflated transfer syntax; convert it to explicit little endian"
                raise DicomError(msg, code="bad_format")
            stream.seek(0)
            with _quiet():
                dataset = read_partial(
                    cast(BinaryIO, stream),
                    _Watch(stream, pixels=pixels, kept=None if tags is None else {Tag(tag) for tag in tags}),
                    force=True,  # it has been looked at above
                    specific_tags=None if tags is None else [Tag(tag) for tag in tags],
                )
        except NotDicomError:
            raise
        except DicomError as error:
            msg = f"{file.name}: {error}"
            raise DicomError(msg, code=code_of_error(error)) from error
        except Exception as error:  # a hostile file can raise nearly anything in a parser
            msg = f"{file.name}: damaged or cut off: {shortened(str(error) or type(error).__name__, 200)}"
            raise DicomError(msg, code="damaged") from error
    return dataset


class _Patient:
    """A stream that is read only so many times, for a file can keep a parser busy with elements of eight bytes."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._left = _MAX_READS
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, size: int = -1) -> bytes:
        self._left -= 1
        if self._left < 0:
            msg = f"damaged: no end after {_MAX_READS:,} reads"
            raise DicomError(msg, code="damaged")
        return self._stream.read(size)


class _Watch:
    """Whether to stop before an attribute of the data set; an error where going on would lead nowhere."""

    def __init__(self, stream: _Patient, *, pixels: bool, kept: set[Any] | None) -> None:
        self._stream, self._pixels, self._kept = stream, pixels, kept
        self._seen, self._modality = 0, False

    def __call__(self, tag: int, _: str | None, length: int) -> bool:
        if not self._pixels and tag in _PIXELS:
            return True
        self._seen += 1
        self._modality |= tag == _MODALITY
        if self._seen > _MAX_ATTRIBUTES:
            msg = f"damaged: more than {_MAX_ATTRIBUTES:,} attributes"
            raise DicomError(msg, code="damaged")
        if not self._modality and self._stream.tell() > _MAX_BEFORE_MODALITY:
            msg = f"damaged: no modality within {_MAX_BEFORE_MODALITY:,} bytes"
            raise DicomError(msg, code="damaged")
        if self._kept is not None and tag in self._kept and _MAX_KEPT < length < 0xFFFFFFFF:
            msg = f"damaged: attribute ({tag >> 16:04X},{tag & 0xFFFF:04X}) of {length:,} bytes"
            raise DicomError(msg, code="damaged")
        return False


def _check_start(stream: _Patient, *, preamble: bool) -> str:
    """The transfer syntax of the file meta group, "" without one; read here because pydicom would already inflate.

    After a preamble there must be such a group, and after it something other than group 0, of which zeros would be.
    """
    stream.seek(_PREAMBLE + 4 if preamble else 0)
    syntax = ""
    for count in range(_MAX_META):
        header = stream.read(8)
        group = header[:2]
        if preamble and count == 0 and (group != b"\x02\x00" or len(header) < 8):
            found = f"an attribute of group {group[::-1].hex()}" if len(header) == 8 else "no attribute"
            msg = f"damaged: {found} after the preamble; the file meta group, 0002, was expected"
            raise DicomError(msg, code="damaged")
        if group != b"\x02\x00" or len(header) < 8:
            if group == b"\0\0":
                msg = "damaged: an attribute of group 0000 where the data set starts; group 0008 was expected"
                raise DicomError(msg, code="damaged")
            return syntax
        length = struct.unpack("<H", header[6:])[0]
        if header[4:6] in _LONG:
            length = struct.unpack("<I", stream.read(4).ljust(4, b"\0"))[0]
        if header[2:4] == b"\x10\x00":
            value = stream.read(min(length, 64))
            syntax = value.decode("ascii", "replace").strip("\0 ")
            length -= len(value)
        stream.seek(length, io.SEEK_CUR)
    msg = f"damaged: more than {_MAX_META:,} attributes in the file meta group"
    raise DicomError(msg, code="damaged")


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
    if keyword in dataset:
        _check_items(keyword, stored(dataset, keyword))
    try:
        with _quiet():
            value = dataset.get(keyword)
    except Exception as error:
        msg = f"{keyword} is damaged: {shortened(str(error), 200)}"
        raise DicomError(msg, code="damaged") from error
    from pydicom import Sequence as Items

    return list(value) if isinstance(value, Items) else []


def _check_items(keyword: str, element: Any) -> None:
    """Refuse a sequence of anything but items: pydicom would make an item of every eight zeros."""
    if not isinstance(value := element.value, bytes):
        return  # already taken apart, reading by reading
    order = "<" if element.is_little_endian else ">"
    place = 0
    while place + 8 <= len(value):
        group, kind, length = struct.unpack_from(f"{order}HHI", value, place)
        if (group, kind) == (0xFFFE, 0xE0DD) or length == 0xFFFFFFFF:
            return  # the end, or an item that does not say where it ends
        place += 8
        if (group, kind) != (0xFFFE, 0xE000) or (length >= 8 and value[place : place + 2] == b"\0\0"):
            msg = f"{keyword} is damaged: it holds something that is not an item, or an item of zeros"
            raise DicomError(msg, code="damaged")
        place += length


def numbers(dataset: Dataset, keyword: str) -> NDArray[np.float64]:
    """All values of a decimal or integer attribute; empty if it is absent.

    They must be finite. Texts are read from the stored bytes: a contour of thousands of points costs no objects.
    """
    from pydicom.dataelem import RawDataElement

    if keyword not in dataset:
        return np.empty(0)
    element = stored(dataset, keyword)
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
            raise DicomError(msg, code="damaged") from error
    if not np.isfinite(found).all():
        msg = f"{keyword} holds a value that is not finite"
        raise DicomError(msg, code="nan")
    return found


def stored(dataset: Dataset, keyword: str) -> Any:
    """The attribute as it stands in the file, if pydicom can tell it."""
    try:
        with _quiet():
            return dataset.get_item(keyword)
    except Exception as error:
        msg = f"{keyword} is damaged: {shortened(str(error), 200)}"
        raise DicomError(msg, code="damaged") from error


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
        raise DicomError(msg, code="bad_format") from None


def exactly(dataset: Dataset, keyword: str, count: int) -> NDArray[np.float64]:
    """As many values as the attribute must have."""
    found = numbers(dataset, keyword)
    if found.size != count:
        msg = f"{keyword} has {found.size or 'no'} values; {count} were expected"
        raise DicomError(msg, code="bad_format")
    return found


def number(dataset: Dataset, keyword: str, *, default: float | None = None) -> float:
    """A single value; absent, it is the default, or an error without one."""
    found = numbers(dataset, keyword)
    if found.size == 0 and default is not None:
        return default
    if found.size != 1:
        msg = f"{keyword} is missing" if found.size == 0 else f"{keyword} has {found.size} values; one was expected"
        raise DicomError(msg, code="bad_format")
    return float(found[0])


def _is_text(keyword: str) -> bool:
    from pydicom.datadict import dictionary_VR

    return dictionary_VR(keyword) in ("DS", "IS")
