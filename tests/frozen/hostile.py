"""Submissions that strangers send, on purpose or by accident, each made from a perfect one of three cases.

The builders are those of the tests of hostile submissions as they were when the messages were frozen. They stay as they
are: what is compared is what isocenter says of the same bytes.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

CASES = ("CASE1", "CASE2", "CASE3")
SHAPE = (12, 10, 8)
TUMOUR = np.zeros(SHAPE, np.uint8)
TUMOUR[3:7, 2:6, 2:5] = 1
NAN, INF = float("nan"), float("inf")

Build = Callable[[Path], Path]
"""Spoils the submission in a folder; returns the path to submit, the same folder or a zip beside it."""


# Volumes by hand ------------------------------------------------------------------------------------------------------

NIFTI1 = {
    "sizeof_hdr": ("i", 0), "dim": ("8h", 40), "datatype": ("h", 70), "bitpix": ("h", 72), "pixdim": ("8f", 76),
    "vox_offset": ("f", 108), "scl_slope": ("f", 112), "scl_inter": ("f", 116), "qform_code": ("h", 252),
    "sform_code": ("h", 254), "srow_x": ("4f", 280), "srow_y": ("4f", 296), "srow_z": ("4f", 312), "magic": ("4s", 344),
}  # fmt: skip
NIFTI2 = {
    "sizeof_hdr": ("i", 0), "magic": ("8s", 4), "datatype": ("h", 12), "bitpix": ("h", 14), "dim": ("8q", 16),
    "pixdim": ("8d", 104), "vox_offset": ("q", 168), "scl_slope": ("d", 176), "scl_inter": ("d", 184),
    "qform_code": ("i", 344), "sform_code": ("i", 348), "srow_x": ("4d", 400), "srow_y": ("4d", 432),
    "srow_z": ("4d", 464),
}  # fmt: skip
DATATYPES = {"uint8": 2, "int16": 4, "float32": 16, "float64": 64, "int8": 256}


def nifti(voxels: np.ndarray = TUMOUR, *, order: str = "<", version: int = 1, **fields: object) -> bytes:
    """A single-file NIfTI on the cohort's grid; any header field may be said otherwise."""
    layout, length = (NIFTI1, 348) if version == 1 else (NIFTI2, 540)
    values: dict[str, object] = {
        "sizeof_hdr": length,
        "magic": b"n+1\0" if version == 1 else b"n+2\0\r\n\x1a\n",
        "dim": (3, *voxels.shape, 1, 1, 1, 1),
        "datatype": DATATYPES[voxels.dtype.name],
        "bitpix": 8 * voxels.dtype.itemsize,
        "pixdim": (1, 1, 1, 3, 1, 1, 1, 1),
        "vox_offset": length + 4,
        "sform_code": 1,
        "srow_x": (-1, 0, 0, 6),
        "srow_y": (0, -1, 0, 5),
        "srow_z": (0, 0, 3, 40),
        **fields,
    }
    header = bytearray(length + 4)
    for name, value in values.items():
        kind, offset = layout[name]
        struct.pack_into(order + kind, header, offset, *(value if isinstance(value, tuple) else (value,)))
    return bytes(header) + voxels.astype(voxels.dtype.newbyteorder(order)).tobytes(order="F")


def mha(voxels: bytes = TUMOUR.tobytes(order="F"), **fields: str | None) -> bytes:
    """A MetaImage on the cohort's grid; a field that is None is left out."""
    lines = {
        "ObjectType": "Image", "NDims": "3", "BinaryData": "True", "CompressedData": "False",
        "TransformMatrix": "1 0 0 0 1 0 0 0 1", "Offset": "-6 -5 40", "ElementSpacing": "1 1 3",
        "DimSize": "12 10 8", "ElementType": "MET_UCHAR", **fields,
    }  # fmt: skip
    lines["ElementDataFile"] = lines.pop("ElementDataFile", "LOCAL")  # behind it the voxels begin
    return "".join(f"{key} = {value}\n" for key, value in lines.items() if value is not None).encode() + voxels


def nrrd(voxels: bytes = TUMOUR.tobytes(order="F"), **fields: str | None) -> bytes:
    """An NRRD on the cohort's grid; a field that is None is left out."""
    lines = {
        "type": "uchar", "dimension": "3", "space": "left-posterior-superior", "sizes": "12 10 8",
        "space_directions": "(1,0,0) (0,1,0) (0,0,3)", "encoding": "raw", "space_origin": "(-6,-5,40)", **fields,
    }  # fmt: skip
    text = "".join(f"{key.replace('_', ' ')}: {value}\n" for key, value in lines.items() if value is not None)
    return b"NRRD0004\n" + text.encode() + b"\n" + voxels


def gz(content: bytes, level: int = 6) -> bytes:
    return gzip.compress(content, level, mtime=0)


def filled(value: float, dtype: type = np.float32) -> np.ndarray:
    """The tumour with one voxel of another value."""
    voxels = TUMOUR.astype(dtype)
    voxels[4, 4, 3] = value
    return voxels


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]


@cache
def bomb() -> bytes:
    """A good mask, and behind it a gigabyte of zeros in a megabyte."""
    return gz(nifti()) + gz(bytes(1 << 24)) * 64


HUGE = {"dim": (3, 3000, 3000, 1000, 1, 1, 1, 1), "datatype": 4}  # 18 GB


# Folders by hand ------------------------------------------------------------------------------------------------------


def put(content: bytes | Callable[[], bytes], name: str = "CASE1.nii.gz") -> Build:
    """The first case answered by these bytes under this name."""

    def build(folder: Path) -> Path:
        (folder / "CASE1.nii.gz").unlink()
        (folder / name).write_bytes(content if isinstance(content, bytes) else content())
        return folder

    return build


def masked(voxels: np.ndarray) -> Build:
    return put(gz(nifti(voxels)))


def add(name: str | bytes, content: bytes = b"") -> Build:
    """One more file."""

    def build(folder: Path) -> Path:
        Path(folder, os.fsdecode(name)).write_bytes(content or gz(nifti()))
        return folder

    return build


def rename(new: str) -> Build:
    def build(folder: Path) -> Path:
        (folder / "CASE1.nii.gz").rename(folder / new)
        return folder

    return build


def replace(make: Callable[[Path], object]) -> Build:
    """Something that is no file where the first case should be."""

    def build(folder: Path) -> Path:
        (folder / "CASE1.nii.gz").unlink()
        make(folder / "CASE1.nii.gz")
        return folder

    return build


def link_out(path: Path) -> None:
    secret = path.parents[1] / "secret.nii.gz"
    secret.write_bytes(gz(nifti()))
    path.symlink_to(secret)


def empty(folder: Path) -> Path:
    shutil.rmtree(folder)
    folder.mkdir()
    return folder


def only_a_zip(folder: Path) -> Path:
    content = zipped()(folder).read_bytes()
    empty(folder)
    (folder / "team.zip").write_bytes(content)
    return folder


# Zips by hand ---------------------------------------------------------------------------------------------------------


def zipped(
    *extra: tuple[str | zipfile.ZipInfo, bytes],
    without: str = "",
    prefix: str = "",
    change: Callable[[bytearray], object] = lambda content: None,
    method: int = zipfile.ZIP_STORED,
) -> Build:
    """The folder as a zip, with more members, or without one, or with its bytes changed.

    The members are stored, so that the local header of the first case is at byte 0 and its data at byte 42.
    """

    def build(folder: Path) -> Path:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a name that is there twice
            for case in CASES:
                if case != without:
                    archive.writestr(prefix + f"{case}.nii.gz", (folder / f"{case}.nii.gz").read_bytes())
            for name, content in extra:
                archive.writestr(name, content)
        content = bytearray(buffer.getvalue())
        change(content)
        path = folder.with_suffix(".zip")
        path.write_bytes(content)
        return path

    return build


def central(field: str, value: int | Callable[[int], int], *, also_local: bool = False) -> Callable[[bytearray], None]:
    """Change a field of the first member in the archive's directory."""
    kind, there, here = {
        "flags": ("H", 8, 6), "method": ("H", 10, 8), "crc": ("I", 16, 14), "packed": ("I", 20, 18),
        "size": ("I", 24, 22), "offset": ("I", 42, 0),
    }[field]  # fmt: skip

    def change(content: bytearray) -> None:
        for start in (content.find(b"PK\1\2") + there, *([here] if also_local else [])):
            (old,) = struct.unpack_from("<" + kind, content, start)
            struct.pack_into("<" + kind, content, start, value(old) if callable(value) else value)

    return change


def overlap(content: bytearray) -> None:
    """Let the second member be the bytes of the first."""
    second = content.find(b"PK\1\2", content.find(b"PK\1\2") + 4)
    struct.pack_into("<I", content, second + 42, 0)


def spanning(content: bytearray) -> None:
    """Say that the archive is the second of two disks, in the way of large archives."""
    end = content.rfind(b"PK\5\6")
    count, size, start = struct.unpack_from("<HII", content, end + 10)
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
    content[end:] = (
        record + struct.pack("<4sLQL", b"PK\6\7", 1, end, 2) + b"PK\5\6" + bytes(4) + b"\xff" * 12 + bytes(2)
    )


def far_away(content: bytearray) -> None:
    """Put the first member at byte 2^63, in the way of large archives."""
    start, end = content.find(b"PK\1\2"), content.rfind(b"PK\5\6")
    (name,) = struct.unpack_from("<H", content, start + 28)
    extra = struct.pack("<HHQ", 1, 8, 1 << 63)
    struct.pack_into("<I", content, end + 12, end - start + len(extra))
    struct.pack_into("<H", content, start + 30, len(extra))
    struct.pack_into("<I", content, start + 42, 0xFFFFFFFF)
    content[start + 46 + name : start + 46 + name] = extra


def nameless(content: bytearray) -> None:
    """Take the first letter of the last member's name away, which ends the name for most readers."""
    content[content.rfind(b"PK\1\2") + 46] = 0


def strange_local_name(content: bytearray) -> None:
    """A local name that claims to be UTF-8 and is not."""
    struct.pack_into("<H", content, 6, 0x800)
    content[30] = 0xFF


def member(name: str, mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.compress_type = method
    return info


def cut_zip(folder: Path) -> Path:
    path = zipped()(folder)
    path.write_bytes(path.read_bytes()[:-40])
    return path


def large_member(folder: Path) -> Path:
    return zipped(("notes.bin", bytes(70_000_000)), method=zipfile.ZIP_DEFLATED)(folder)


def zip_of_nothing(folder: Path) -> Path:
    path = folder.with_suffix(".zip")
    zipfile.ZipFile(path, "w").close()
    return path


def plain_file(folder: Path) -> Path:
    return folder / "CASE1.nii.gz"


# The tables -----------------------------------------------------------------------------------------------------------

FILES: Mapping[str, Build] = {
    "a gzip that is cut off": put(gz(nifti())[:-30]),
    "a gzip with a flipped byte": put(flipped(gz(nifti(), 0), 800)),
    "a gzip with rubbish behind it": put(gz(nifti()) + b"rubbish"),
    "a gzip bomb behind a good mask": put(bomb),
    "18 GB declared in 400 bytes of .nii": put(nifti(**HUGE)[:400], "CASE1.nii"),
    "18 GB declared in a small .nii.gz": put(gz(nifti(**HUGE)[:400])),
    ".mha: 18 GB declared in a small .mha": put(mha(DimSize="3000 3000 2000"), "CASE1.mha"),
    ".nrrd: 18 GB declared in a small .nrrd": put(nrrd(sizes="3000 3000 2000"), "CASE1.nrrd"),
    "a slice too many": masked(np.zeros((12, 10, 9), np.uint8)),
    "x running the other way": put(gz(nifti(srow_x=(1, 0, 0, -5)))),
    "an origin off by 0.6 voxels": put(gz(nifti(srow_x=(-1, 0, 0, 6.6)))),
    "slices of 2.5 instead of 3 mm": put(gz(nifti(srow_z=(0, 0, 2.5, 40)))),
    "a voxel that is NaN": masked(filled(NAN)),
    "a voxel that is infinite": masked(filled(INF)),
    "a voxel of 0.5": masked(filled(0.5)),
    "a voxel of 7": masked(filled(7, np.uint8)),
    "a voxel of -1": masked(filled(-1, np.int16)),
    "a voxel of 1e30": masked(filled(1e30)),
    "an empty mask": masked(0 * TUMOUR),
    "a file of no bytes": put(b""),
    "a text called .nii.gz": put(b"Dear organisers,\n"),
    "a picture called .nii.gz": put(b"\x89PNG\r\n\x1a\n" + bytes(64)),
    "a .nii called .nii.gz": put(nifti()),
    "a .nii.gz called .nii": put(gz(nifti()), "CASE1.nii"),
    "a .npy": rename("CASE1.npy"),
    "a .png": rename("CASE1.png"),
    "a .nii.gz.txt": rename("CASE1.nii.gz.txt"),
    "a .NII.GZ": rename("CASE1.NII.GZ"),
}

NIFTI_HEADERS: Mapping[str, Build] = {
    "five dimensions": put(gz(nifti(dim=(5, 12, 10, 8, 1, 2, 1, 1)))),
    "several volumes in one": put(gz(nifti(dim=(4, 12, 10, 4, 2, 1, 1, 1)))),
    "a slice": put(gz(nifti(dim=(2, 12, 80, 1, 1, 1, 1, 1)))),
    "no dimensions": put(gz(nifti(dim=(0, 12, 10, 8, 1, 1, 1, 1)))),
    "nine dimensions": put(gz(nifti(dim=(9, 12, 10, 8, 1, 1, 1, 1)))),
    "a negative number of dimensions": put(gz(nifti(dim=(-3, 12, 10, 8, 1, 1, 1, 1)))),
    "a negative length": put(gz(nifti(dim=(3, 12, -10, 8, 1, 1, 1, 1)))),
    "a length of zero": put(gz(nifti(dim=(3, 12, 0, 8, 1, 1, 1, 1)))),
    "colours": put(gz(nifti(datatype=128))),
    "complex numbers": put(gz(nifti(datatype=32))),
    "an unknown data type": put(gz(nifti(datatype=-7))),
    "voxels at byte 0": put(gz(nifti(vox_offset=0))),
    "voxels at byte 2e9": put(gz(nifti(vox_offset=2e9))),
    "voxels at byte NaN": put(gz(nifti(vox_offset=NAN))),
    "voxels at byte infinity": put(gz(nifti(vox_offset=INF))),
    "voxels behind the end": put(gz(nifti(vox_offset=5000))),
    "a slope that makes labels enormous": put(gz(nifti(scl_slope=1e38))),
    "a slope that makes labels overflow": put(gz(nifti(scl_slope=1e38, voxels=filled(1e38)))),
    "a slope that makes labels fractions": put(gz(nifti(scl_slope=0.5))),
    "a slope with an intercept of NaN": put(gz(nifti(scl_slope=2.0, scl_inter=NAN))),
    "a sheared sform": put(gz(nifti(srow_x=(-1, 0.5, 0, 6)))),
    "an sform of zeros": put(gz(nifti(srow_x=(0,) * 4, srow_y=(0,) * 4, srow_z=(0,) * 4))),
    "an sform with NaN": put(gz(nifti(srow_x=(NAN, 0, 0, 6)))),
    "an sform with infinity": put(gz(nifti(srow_x=(INF, 0, 0, 6)))),
    "an sform with an overflowing spacing": put(gz(nifti(version=2, srow_x=(1e200, 0, 0, 6)))),
    "voxel sizes of zero and no form": put(gz(nifti(sform_code=0, pixdim=(1, 0, 1, 3, 1, 1, 1, 1)))),
    "half of a .hdr/.img pair": put(gz(nifti(magic=b"ni1\0"))),
    "no magic": put(gz(nifti(magic=b"abc\0"))),
}

TEXT_HEADERS: Mapping[str, Build] = {
    ".mha: voxels in /etc/passwd": put(mha(b"", ElementDataFile="/etc/passwd"), "CASE1.mha"),
    ".mha: voxels in a folder above": put(mha(b"", ElementDataFile="../CASE2.raw"), "CASE1.mha"),
    ".mha: voxels in a list of files": put(mha(b"/etc/passwd\n", ElementDataFile="LIST"), "CASE1.mha"),
    ".mha: a negative DimSize": put(mha(DimSize="12 -10 8"), "CASE1.mha"),
    ".mha: a DimSize of words": put(mha(DimSize="a b c"), "CASE1.mha"),
    ".mha: a DimSize of 400 digits": put(mha(DimSize=f"{'9' * 400} 10 8"), "CASE1.mha"),
    ".mha: three times 2 000 digits": put(mha(DimSize=" ".join(["9" * 2000] * 3)), "CASE1.mha"),
    ".mha: no DimSize": put(mha(DimSize=None), "CASE1.mha"),
    ".mha: spacing of NaN": put(mha(ElementSpacing="NaN 1 3"), "CASE1.mha"),
    ".mha: spacing of zero": put(mha(ElementSpacing="0 1 3"), "CASE1.mha"),
    ".mha: spacing of 1e200": put(mha(ElementSpacing="1e200 1 3"), "CASE1.mha"),
    ".mha: an origin at 1e308": put(mha(Offset="1e308 1e308 0"), "CASE1.mha"),
    ".mha: a singular matrix": put(mha(TransformMatrix="1 0 0 1 0 0 0 0 1"), "CASE1.mha"),
    ".mha: a matrix of infinity": put(mha(TransformMatrix="inf 0 0 0 1 0 0 0 1"), "CASE1.mha"),
    ".mha: a matrix of 1e200": put(mha(TransformMatrix="1e200 0 0 0 1 0 0 0 1"), "CASE1.mha"),
    ".mha: a matrix of eight": put(mha(TransformMatrix="1 0 0 0 1 0 0 0"), "CASE1.mha"),
    ".mha: a header without end": put(mha(b"", ElementDataFile=None), "CASE1.mha"),
    ".mha: a header of one endless line": put(b"ObjectType = " + b"x" * 100_000, "CASE1.mha"),
    ".mha: a type of 50 000 letters": put(mha(ElementType="x" * 50_000), "CASE1.mha"),
    ".mha: a type with escape codes": put(mha(ElementType="\x1b[2J"), "CASE1.mha"),
    ".mha: colours per voxel": put(mha(ElementNumberOfChannels="3"), "CASE1.mha"),
    ".mha: voxels as text": put(mha(BinaryData="False"), "CASE1.mha"),
    ".mha: a zlib stream that is cut off": put(
        mha(zlib.compress(TUMOUR.tobytes())[:-9], CompressedData="True"), "CASE1.mha"
    ),
    ".mha: a zlib stream of something else": put(mha(b"rubbish", CompressedData="True"), "CASE1.mha"),
    ".mha: a voxel missing": put(mha()[:-1], "CASE1.mha"),
    ".mha: a voxel too many": put(mha() + b"\0", "CASE1.mha"),
    ".nrrd: voxels elsewhere": put(nrrd(b"", data_file="/etc/passwd"), "CASE1.nrrd"),
    ".nrrd: voxels elsewhere, spelt datafile": put(nrrd(b"", datafile="../x.raw"), "CASE1.nrrd"),
    ".nrrd: encoding bzip2": put(nrrd(encoding="bzip2"), "CASE1.nrrd"),
    ".nrrd: encoding ascii": put(nrrd(encoding="ascii"), "CASE1.nrrd"),
    ".nrrd: encoding gzip of something else": put(nrrd(encoding="gzip"), "CASE1.nrrd"),
    ".nrrd: an unknown space": put(nrrd(space="scanner-xyz"), "CASE1.nrrd"),
    ".nrrd: no sizes": put(nrrd(sizes=None), "CASE1.nrrd"),
    ".nrrd: no type": put(nrrd(type=None), "CASE1.nrrd"),
    ".nrrd: no encoding": put(nrrd(encoding=None), "CASE1.nrrd"),
    ".nrrd: sizes of 400 digits": put(nrrd(sizes=f"{'9' * 400} 10 8"), "CASE1.nrrd"),
    ".nrrd: NaN in the directions": put(nrrd(space_directions="(NaN,0,0) (0,1,0) (0,0,3)"), "CASE1.nrrd"),
    ".nrrd: infinity in the directions": put(nrrd(space_directions="(inf,0,0) (0,1,0) (0,0,3)"), "CASE1.nrrd"),
    ".nrrd: two directions": put(nrrd(space_directions="(1,0,0) (0,1,0)"), "CASE1.nrrd"),
    ".nrrd: two spacings": put(nrrd(space_directions=None, spacings="1 1"), "CASE1.nrrd"),
    ".nrrd: blocks for voxels": put(nrrd(type="block"), "CASE1.nrrd"),
    ".nrrd: a header without end": put(nrrd(b"").rstrip(b"\n"), "CASE1.nrrd"),
}

FOLDERS: Mapping[str, Build] = {
    "two files for a case": add("CASE1.mha", mha()),
    "a case that does not exist": add("CASE9.nii.gz"),
    "a case in small letters": rename("case1.nii.gz"),
    "a case left out": replace(lambda path: None),
    "a link to a file outside": replace(link_out),
    "a link to itself": replace(lambda path: path.symlink_to(path)),
    "a link to nothing": replace(lambda path: path.symlink_to("nothing")),
    "a link to the folder above": replace(lambda path: path.symlink_to("..")),
    "a folder for a file": replace(Path.mkdir),
    "a pipe for a file": replace(os.mkfifo),
    "an archive among the files": add("more.zip", b"PK\3\4"),
    "a zip in a folder": only_a_zip,
    "a name of two lines": add("CASE1\n.nii.gz"),
    "a name that paints the screen": add("\x1b[2J\x1b[31m.nii.gz"),
    "a name that is no UTF-8": add(b"\xff\xfe.nii.gz"),
    "a name of 250 letters": add("n" * 243 + ".nii.gz"),
    "a name that runs backwards": add("\u202e1ESAC.nii.gz"),
    "an empty folder": empty,
    "a file instead of a folder": plain_file,
}

ZIPS: Mapping[str, Build] = {
    "a member above the archive": zipped(("../CASE9.nii.gz", b"x")),
    "a member above, by backslash": zipped(("..\\CASE9.nii.gz", b"x")),
    "a member above, further in": zipped(("a/../../x", b"x")),
    "a member with an absolute path": zipped(("/etc/cron.d/x", b"x")),
    "a member on a drive": zipped(("C:\\x", b"x")),
    "a member that is a link": zipped((member("x", stat.S_IFLNK | 0o777), b"/etc/passwd")),
    "a member that is a pipe": zipped((member("x", stat.S_IFIFO | 0o666), b"")),
    "a password": zipped(change=central("flags", 1, also_local=True)),
    "a patch": zipped(change=central("flags", 0x20)),
    "strong encryption": zipped(change=central("flags", 0x40)),
    "a name twice": zipped(("CASE1.nii.gz", b"x")),
    "a name twice, by backslash": zipped(("a/x", b"x"), ("a\\x", b"x")),
    "bzip2": zipped((member("x", method=zipfile.ZIP_BZIP2), b"x")),
    "lzma": zipped((member("x", method=zipfile.ZIP_LZMA), b"x")),
    "an unknown method": zipped(change=central("method", 77, also_local=True)),
    "members that overlap": zipped(change=overlap),
    "a size of 4 GB in 100 bytes": zipped(change=central("size", 4_000_000_000)),
    "a large member of no use": large_member,
    "the second of two disks": zipped(change=spanning),
    "a zip that is cut off": cut_zip,
    "a zip of nothing": zip_of_nothing,
    "a size smaller than the data": zipped(change=central("size", 60)),
    "a wrong checksum": zipped(change=central("crc", 12345)),
    "another name in the member's own header": zipped(change=lambda b: b.__setitem__(34, 57)),
    "a member's own name that is no UTF-8": zipped(change=strange_local_name),
    "a member behind the end": zipped(change=central("offset", 0xFFFFFF00)),
    "a member at byte 2^63": zipped(change=far_away),
    "a file in a folder of the zip": zipped(("a/x.nii", b"")),
    "a zip in a zip": zipped(("more.zip", b"PK\3\4")),
    "a case left out of a zip": zipped(without="CASE1"),
}

ACCEPTED: Mapping[str, Build] = {
    "an origin off by 0.4 voxels": put(gz(nifti(srow_x=(-1, 0, 0, 6.4)))),
    "a big-endian file": put(gz(nifti(order=">"))),
    "a NIfTI-2 file": put(gz(nifti(version=2))),
    "a big-endian NIfTI-2 file": put(gz(nifti(version=2, order=">"))),
    "a fourth axis of length one": put(gz(nifti(dim=(4, *SHAPE, 1, 1, 1, 1)))),
    "a slope of zero, which means none": put(gz(nifti(scl_slope=0, scl_inter=5))),
    "a slope of NaN, which means none": put(gz(nifti(scl_slope=NAN, scl_inter=NAN))),
    "a mask of doubles": masked(filled(1, np.float64)),
    "a gzip in two pieces": put(gz(nifti()[:500]) + gz(nifti()[500:])),
    "a plain .nii": put(nifti(), "CASE1.nii"),
    "a plain .mha": put(mha(), "CASE1.mha"),
    "a packed .mha": put(mha(zlib.compress(TUMOUR.tobytes("F")), CompressedData="True"), "CASE1.mha"),
    "a plain .nrrd": put(nrrd(), "CASE1.nrrd"),
    "a packed .nrrd": put(nrrd(gz(TUMOUR.tobytes("F")), encoding="gzip"), "CASE1.nrrd"),
    "a file that was not asked for": add("notes.txt"),
    "a zip": zipped(method=zipfile.ZIP_DEFLATED),
    "a zip of a folder": zipped(prefix="team/"),
    "a zip of a folder, from Windows": zipped(prefix="team\\"),
    "a zip of ./names, as tar makes it": zipped(("./", b""), prefix="./"),
    "what a Mac leaves in a zip": zipped(("__MACOSX/._CASE1.nii.gz", b"x"), (".DS_Store", b"x")),
}

ODD_ZIPS: Mapping[str, Build] = {
    "a member without a name": zipped(("x", b""), change=nameless),
    "a member called ./.": zipped(("./.", b"")),
    "a member called .\\": zipped((".\\", b"")),
    "a member called .": zipped((".", b"")),
    "a member called ..": zipped(("..", b"")),
    "a member called /": zipped(("/", b"")),
    "a name of 60 000 letters": zipped(("x" * 60_000 + ".nii.gz", b"")),
    "a name of several lines": zipped(("a\nb\rc\x1b[2J\x85.nii.gz", b"")),
    "a member longer on paper than in truth": zipped(change=central("size", lambda size: size + 50)),
    "a member packed longer on paper than in truth": zipped(change=central("packed", lambda size: size + 20)),
    "a member of 16 EB": zipped(change=central("size", 0xFFFFFFFF)),
}

GROUPS: Mapping[str, Mapping[str, Build]] = {
    "files": FILES,
    "nifti-headers": NIFTI_HEADERS,
    "text-headers": TEXT_HEADERS,
    "folders": FOLDERS,
    "zips": ZIPS,
    "odd-but-good": ACCEPTED,
    "odd-zips": ODD_ZIPS,
}
"""All of them, by group and name."""


def perfect(folder: Path) -> Path:
    """Three good masks, which are the reference, too."""
    folder.mkdir(parents=True)
    for case in CASES:
        (folder / f"{case}.nii.gz").write_bytes(gz(nifti()))
    return folder
