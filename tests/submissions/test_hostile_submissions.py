"""What strangers send, on purpose or by accident: each problem is named, nothing crashes, nothing is changed.

Every row of the tables starts from a perfect submission of three cases and spoils one thing in it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from isocenter import evaluation
from isocenter.cli import app
from isocenter.evaluation import load_challenge
from isocenter.submissions import list_files, match
from isocenter.volumes import Grid, Volume, write

CASES = ("CASE1", "CASE2", "CASE3")
SHAPE = (12, 10, 8)
GRID = Grid(SHAPE, spacing=(1, 1, 3), origin=(-6, -5, 40))
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
        try:
            Path(folder, os.fsdecode(name)).write_bytes(content or gz(nifti()))
        except OSError:
            pytest.skip("this file system takes no such name")
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


def unreadable(folder: Path) -> Path:
    path = folder / "CASE1.nii.gz"
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user can read everything")
    return folder


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


@dataclass(frozen=True)
class Row:
    """One hostile submission.

    `score` is what becomes of the first case: its Dice, or "failed", or "missing", or "refused" if nothing is scored.
    """

    name: str
    build: Build
    words: tuple[str, ...]
    severity: str = "unusable"
    case: str = "CASE1"
    file: str = "CASE1.nii.gz"
    score: float | str = "failed"


def refused(name: str, build: Build, *words: str, file: str) -> Row:
    return Row(name, build, words, severity="refused", case="", file=file, score="refused")


def missing(name: str, build: Build) -> Row:
    return Row(name, build, ("expected CASE1.nii.gz",), severity="missing", file="", score="missing")


def in_mha(name: str, content: bytes, *words: str) -> Row:
    return Row(name, put(content, "CASE1.mha"), words, file="CASE1.mha")


def in_nrrd(name: str, content: bytes, *words: str) -> Row:
    return Row(name, put(content, "CASE1.nrrd"), words, file="CASE1.nrrd")


def in_nifti(name: str, *words: str, voxels: np.ndarray = TUMOUR, **fields: object) -> Row:
    return Row(name, put(gz(nifti(voxels, **fields))), words)


def stranger(name: str, file: str | bytes, shown: str) -> Row:
    """A file for a case that does not exist, under a name that must not reach the terminal as it is."""
    return Row(name, add(file), ("no case",), case=shown.removesuffix(".nii.gz"), file=shown, score=1.0)


FILES = [
    Row("a gzip that is cut off", put(gz(nifti())[:-30]), ("damaged or cut off",)),
    Row("a gzip with a flipped byte", put(flipped(gz(nifti(), 0), 800)), ("damaged", "CRC")),
    Row("a gzip with rubbish behind it", put(gz(nifti()) + b"rubbish"), ("damaged",)),
    Row("a gzip bomb behind a good mask", put(bomb), ("more data than the 960 bytes",)),
    Row(
        "18 GB declared in 400 bytes of .nii",
        put(nifti(**HUGE)[:400], "CASE1.nii"),
        ("18.0 GB", "400 bytes"),
        file="CASE1.nii",
    ),
    Row("18 GB declared in a small .nii.gz", put(gz(nifti(**HUGE)[:400])), ("18.0 GB", "cannot hold")),
    in_mha("18 GB declared in a small .mha", mha(DimSize="3000 3000 2000"), "18.0 GB", "cannot hold"),
    in_nrrd("18 GB declared in a small .nrrd", nrrd(sizes="3000 3000 2000"), "18.0 GB", "cannot hold"),
    Row("a slice too many", masked(np.zeros((12, 10, 9), np.uint8)), ("grid differs: 12×10×9", "reference 12×10×8")),
    in_nifti("x running the other way", "grid differs", "12.00 mm apart", srow_x=(1, 0, 0, -5)),
    in_nifti("an origin off by 0.6 voxels", "0.60 mm apart", "allowed 0.50 mm", srow_x=(-1, 0, 0, 6.6)),
    in_nifti("slices of 2.5 instead of 3 mm", "grid differs", "1×1×2.5 mm", srow_z=(0, 0, 2.5, 40)),
    Row("a voxel that is NaN", masked(filled(NAN)), ("holds nan", "whole numbers")),
    Row("a voxel that is infinite", masked(filled(INF)), ("holds inf",)),
    Row("a voxel of 0.5", masked(filled(0.5)), ("fractional value 0.5",)),
    Row("a voxel of 7", masked(filled(7, np.uint8)), ("label 7", "0, 1 (tumour), 2 (nodes)")),
    Row("a voxel of -1", masked(filled(-1, np.int16)), ("value -1",)),
    Row("a voxel of 1e30", masked(filled(1e30)), ("1e+30", "65535")),
    Row("an empty mask", masked(0 * TUMOUR), ("mask is empty",), severity="warning", score=0.0),
    Row("a file of no bytes", put(b""), ("empty",)),
    Row("a text called .nii.gz", put(b"Dear organisers,\n"), ("gzip",)),
    Row("a picture called .nii.gz", put(b"\x89PNG\r\n\x1a\n" + bytes(64)), ("gzip",)),
    Row("a .nii called .nii.gz", put(nifti()), ("gzip",)),
    Row("a .nii.gz called .nii", put(gz(nifti()), "CASE1.nii"), ("not a NIfTI file",), file="CASE1.nii"),
    Row("a .npy", rename("CASE1.npy"), ("not accepted", "expected CASE1.nii.gz"), file="CASE1.npy"),
    Row("a .png", rename("CASE1.png"), ("not accepted", "expected CASE1.nii.gz"), file="CASE1.png"),
    Row("a .nii.gz.txt", rename("CASE1.nii.gz.txt"), ("not accepted",), file="CASE1.nii.gz.txt"),
    Row("a .NII.GZ", rename("CASE1.NII.GZ"), ("expected CASE1.nii.gz",), file="CASE1.NII.GZ"),
]

NIFTI_HEADERS = [
    in_nifti("five dimensions", "5-D", "12×10×8×1×2", dim=(5, 12, 10, 8, 1, 2, 1, 1)),
    in_nifti("several volumes in one", "4-D", "12×10×4×2", dim=(4, 12, 10, 4, 2, 1, 1, 1)),
    in_nifti("a slice", "2-D", dim=(2, 12, 80, 1, 1, 1, 1, 1)),
    in_nifti("no dimensions", "declares 0 dimensions", dim=(0, 12, 10, 8, 1, 1, 1, 1)),
    in_nifti("nine dimensions", "declares 9 dimensions", dim=(9, 12, 10, 8, 1, 1, 1, 1)),
    in_nifti("a negative number of dimensions", "declares -3 dimensions", dim=(-3, 12, 10, 8, 1, 1, 1, 1)),
    in_nifti("a negative length", "12×-10×8", dim=(3, 12, -10, 8, 1, 1, 1, 1)),
    in_nifti("a length of zero", "12×0×8", dim=(3, 12, 0, 8, 1, 1, 1, 1)),
    in_nifti("colours", "data type 128", "colour", datatype=128),
    in_nifti("complex numbers", "data type 32", "complex", datatype=32),
    in_nifti("an unknown data type", "data type -7", datatype=-7),
    in_nifti("voxels at byte 0", "at byte 0", vox_offset=0),
    in_nifti("voxels at byte 2e9", "at byte 2e+09", vox_offset=2e9),
    in_nifti("voxels at byte NaN", "at byte nan", vox_offset=NAN),
    in_nifti("voxels at byte infinity", "at byte inf", vox_offset=INF),
    in_nifti("voxels behind the end", "ends before its voxels begin", vox_offset=5000),
    in_nifti("a slope that makes labels enormous", "labels lie between 0 and 65535", scl_slope=1e38),
    in_nifti("a slope that makes labels overflow", "holds", scl_slope=1e38, voxels=filled(1e38)),
    in_nifti("a slope that makes labels fractions", "fractional value 0.5", scl_slope=0.5),
    in_nifti("a slope with an intercept of NaN", "intercept", scl_slope=2.0, scl_inter=NAN),
    in_nifti("a sheared sform", "perpendicular", srow_x=(-1, 0.5, 0, 6)),
    in_nifti("an sform of zeros", "singular", srow_x=(0,) * 4, srow_y=(0,) * 4, srow_z=(0,) * 4),
    in_nifti("an sform with NaN", "not finite", srow_x=(NAN, 0, 0, 6)),
    in_nifti("an sform with infinity", "not finite", srow_x=(INF, 0, 0, 6)),
    in_nifti("an sform with an overflowing spacing", version=2, srow_x=(1e200, 0, 0, 6)),
    in_nifti("voxel sizes of zero and no form", "singular", sform_code=0, pixdim=(1, 0, 1, 3, 1, 1, 1, 1)),
    in_nifti("half of a .hdr/.img pair", "another file", magic=b"ni1\0"),
    in_nifti("no magic", "magic", magic=b"abc\0"),
]

TEXT_HEADERS = [
    in_mha("voxels in /etc/passwd", mha(b"", ElementDataFile="/etc/passwd"), "another file", "/etc/passwd"),
    in_mha("voxels in a folder above", mha(b"", ElementDataFile="../CASE2.raw"), "another file", "../CASE2.raw"),
    in_mha("voxels in a list of files", mha(b"/etc/passwd\n", ElementDataFile="LIST"), "another file", "LIST"),
    in_mha("a negative DimSize", mha(DimSize="12 -10 8"), "12×-10×8"),
    in_mha("a DimSize of words", mha(DimSize="a b c"), "header", "a b c"),
    in_mha("a DimSize of 400 digits", mha(DimSize=f"{'9' * 400} 10 8"), "header"),
    in_mha("three times 2 000 digits", mha(DimSize=" ".join(["9" * 2000] * 3)), "header"),
    in_mha("no DimSize", mha(DimSize=None), "0-D"),
    in_mha("spacing of NaN", mha(ElementSpacing="NaN 1 3"), "spacing", "nan"),
    in_mha("spacing of zero", mha(ElementSpacing="0 1 3"), "spacing", "0.0"),
    in_mha("spacing of 1e200", mha(ElementSpacing="1e200 1 3")),
    in_mha("an origin at 1e308", mha(Offset="1e308 1e308 0")),
    in_mha("a singular matrix", mha(TransformMatrix="1 0 0 1 0 0 0 0 1"), "perpendicular"),
    in_mha("a matrix of infinity", mha(TransformMatrix="inf 0 0 0 1 0 0 0 1")),
    in_mha("a matrix of 1e200", mha(TransformMatrix="1e200 0 0 0 1 0 0 0 1")),
    in_mha("a matrix of eight", mha(TransformMatrix="1 0 0 0 1 0 0 0"), "TransformMatrix holds 8 numbers"),
    in_mha("a header without end", mha(b"", ElementDataFile=None), "ElementDataFile"),
    in_mha("a header of one endless line", b"ObjectType = " + b"x" * 100_000, "not a MetaImage"),
    in_mha("a type of 50 000 letters", mha(ElementType="x" * 50_000), "ElementType"),
    in_mha("a type with escape codes", mha(ElementType="\x1b[2J"), r"\x1b[2J"),
    in_mha("colours per voxel", mha(ElementNumberOfChannels="3"), "3 numbers per voxel"),
    in_mha("voxels as text", mha(BinaryData="False"), "BinaryData"),
    in_mha(
        "a zlib stream that is cut off", mha(zlib.compress(TUMOUR.tobytes())[:-9], CompressedData="True"), "damaged"
    ),
    in_mha("a zlib stream of something else", mha(b"rubbish", CompressedData="True"), "damaged"),
    in_mha("a voxel missing", mha()[:-1], "cannot hold"),
    in_mha("a voxel too many", mha() + b"\0", "more data"),
    in_nrrd("voxels elsewhere", nrrd(b"", data_file="/etc/passwd"), "another file", "/etc/passwd"),
    in_nrrd("voxels elsewhere, spelt datafile", nrrd(b"", datafile="../x.raw"), "another file", "../x.raw"),
    in_nrrd("encoding bzip2", nrrd(encoding="bzip2"), "encoding bzip2", "raw or gzip"),
    in_nrrd("encoding ascii", nrrd(encoding="ascii"), "encoding ascii"),
    in_nrrd("encoding gzip of something else", nrrd(encoding="gzip"), "damaged"),
    in_nrrd("an unknown space", nrrd(space="scanner-xyz"), "space scanner-xyz", "left-posterior-superior"),
    in_nrrd("no sizes", nrrd(sizes=None), "no field 'sizes'"),
    in_nrrd("no type", nrrd(type=None), "no field 'type'"),
    in_nrrd("no encoding", nrrd(encoding=None), "no field 'encoding'"),
    in_nrrd("sizes of 400 digits", nrrd(sizes=f"{'9' * 400} 10 8"), "header"),
    in_nrrd("NaN in the directions", nrrd(space_directions="(NaN,0,0) (0,1,0) (0,0,3)"), "not finite"),
    in_nrrd("infinity in the directions", nrrd(space_directions="(inf,0,0) (0,1,0) (0,0,3)"), "not finite"),
    in_nrrd("two directions", nrrd(space_directions="(1,0,0) (0,1,0)"), "three vectors"),
    in_nrrd("two spacings", nrrd(space_directions=None, spacings="1 1"), "spacings"),
    in_nrrd("blocks for voxels", nrrd(type="block"), "type block"),
    in_nrrd("a header without end", nrrd(b"").rstrip(b"\n"), "no end"),
]

FOLDERS = [
    Row("two files for a case", add("CASE1.mha", mha()), ("more than one file", "CASE1.nii.gz"), file="CASE1.mha"),
    Row(
        "a case that does not exist",
        add("CASE9.nii.gz"),
        ("no case", "is it CASE"),
        case="CASE9",
        file="CASE9.nii.gz",
        score=1.0,
    ),
    Row(
        "a case in small letters",
        rename("case1.nii.gz"),
        ("no case", "CASE1"),
        case="case1",
        file="case1.nii.gz",
        score="missing",
    ),
    missing("a case left out", replace(lambda path: None)),
    Row("a link to a file outside", replace(link_out), ("symbolic link",)),
    Row("a link to itself", replace(lambda path: path.symlink_to(path)), ("symbolic link",)),
    Row("a link to nothing", replace(lambda path: path.symlink_to("nothing")), ("symbolic link",)),
    Row("a link to the folder above", replace(lambda path: path.symlink_to("..")), ("symbolic link",)),
    missing("a folder for a file", replace(Path.mkdir)),
    Row("a pipe for a file", replace(os.mkfifo), ("not a regular file",)),
    Row("a file that nobody may read", unreadable, ("ermission",)),
    Row(
        "an archive among the files",
        add("more.zip", b"PK\3\4"),
        ("an archive inside",),
        case="",
        file="more.zip",
        score=1.0,
    ),
    Row("a zip in a folder", only_a_zip, ("an archive inside",), case="", file="team.zip", score="refused"),
    stranger("a name of two lines", "CASE1\n.nii.gz", r"CASE1\n.nii.gz"),
    stranger("a name that paints the screen", "\x1b[2J\x1b[31m.nii.gz", r"\x1b[2J\x1b[31m.nii.gz"),
    stranger("a name that is no UTF-8", b"\xff\xfe.nii.gz", r"\udcff\udcfe.nii.gz"),
    stranger("a name of 250 letters", "n" * 243 + ".nii.gz", "n" * 243 + ".nii.gz"),
    stranger("a name that runs backwards", "\u202e1ESAC.nii.gz", r"\u202e1ESAC.nii.gz"),
    refused("an empty folder", empty, "holds no output", "3 cases", file="team"),
    refused("a file instead of a folder", plain_file, "neither a folder nor a zip", file="CASE1.nii.gz"),
]

OUT = "leads out of the archive"
ZIPS = [
    refused("a member above the archive", zipped(("../CASE9.nii.gz", b"x")), OUT, file="../CASE9.nii.gz"),
    refused("a member above, by backslash", zipped(("..\\CASE9.nii.gz", b"x")), OUT, file="..\\CASE9.nii.gz"),
    refused("a member above, further in", zipped(("a/../../x", b"x")), OUT, file="a/../../x"),
    refused("a member with an absolute path", zipped(("/etc/cron.d/x", b"x")), OUT, file="/etc/cron.d/x"),
    refused("a member on a drive", zipped(("C:\\x", b"x")), OUT, file="C:\\x"),
    refused(
        "a member that is a link",
        zipped((member("x", stat.S_IFLNK | 0o777), b"/etc/passwd")),
        "symbolic link",
        file="x",
    ),
    refused(
        "a member that is a pipe", zipped((member("x", stat.S_IFIFO | 0o666), b"")), "not a regular file", file="x"
    ),
    refused("a password", zipped(change=central("flags", 1, also_local=True)), "password", file="CASE1.nii.gz"),
    refused("a patch", zipped(change=central("flags", 0x20)), "unusual", file="CASE1.nii.gz"),
    refused("strong encryption", zipped(change=central("flags", 0x40)), "password", file="CASE1.nii.gz"),
    refused("a name twice", zipped(("CASE1.nii.gz", b"x")), "more than once", file="CASE1.nii.gz"),
    refused("a name twice, by backslash", zipped(("a/x", b"x"), ("a\\x", b"x")), "more than once", file="a/x"),
    refused("bzip2", zipped((member("x", method=zipfile.ZIP_BZIP2), b"x")), "unusual method", file="x"),
    refused("lzma", zipped((member("x", method=zipfile.ZIP_LZMA), b"x")), "unusual method", file="x"),
    refused(
        "an unknown method",
        zipped(change=central("method", 77, also_local=True)),
        "unusual method",
        file="CASE1.nii.gz",
    ),
    refused("members that overlap", zipped(change=overlap), "shares its bytes", "zip bomb", file="CASE1.nii.gz"),
    refused(
        "a size of 4 GB in 100 bytes",
        zipped(change=central("size", 4_000_000_000)),
        "claims to inflate",
        "4,000,000,000",
        file="CASE1.nii.gz",
    ),
    refused("a large member of no use", large_member, "MB when unpacked", "notes.bin", file="team.zip"),
    refused("the second of two disks", zipped(change=spanning), "damaged", file="team.zip"),
    refused("a zip that is cut off", cut_zip, "zip", file="team.zip"),
    refused("a zip of nothing", zip_of_nothing, "holds no output", file="team.zip"),
    Row("a size smaller than the data", zipped(change=central("size", 60)), ("damaged",)),
    Row("a wrong checksum", zipped(change=central("crc", 12345)), ("damaged", "CRC")),
    Row("another name in the member's own header", zipped(change=lambda b: b.__setitem__(34, 57)), ("damaged",)),
    Row("a member's own name that is no UTF-8", zipped(change=strange_local_name), ("damaged",)),
    Row("a member behind the end", zipped(change=central("offset", 0xFFFFFF00)), ("damaged",)),
    Row("a member at byte 2^63", zipped(change=far_away), ("damaged",)),
    Row("a file in a folder of the zip", zipped(("a/x.nii", b"")), ("no case",), case="a/x", file="a/x.nii", score=1.0),
    Row("a zip in a zip", zipped(("more.zip", b"PK\3\4")), ("an archive inside",), case="", file="more.zip", score=1.0),
    missing("a case left out of a zip", zipped(without="CASE1")),
]

ROWS = FILES + NIFTI_HEADERS + TEXT_HEADERS + FOLDERS + ZIPS

ACCEPTED = [
    ("an origin off by 0.4 voxels", put(gz(nifti(srow_x=(-1, 0, 0, 6.4)))), ""),
    ("a big-endian file", put(gz(nifti(order=">"))), ""),
    ("a NIfTI-2 file", put(gz(nifti(version=2))), ""),
    ("a big-endian NIfTI-2 file", put(gz(nifti(version=2, order=">"))), ""),
    ("a fourth axis of length one", put(gz(nifti(dim=(4, *SHAPE, 1, 1, 1, 1)))), ""),
    ("a slope of zero, which means none", put(gz(nifti(scl_slope=0, scl_inter=5))), ""),
    ("a slope of NaN, which means none", put(gz(nifti(scl_slope=NAN, scl_inter=NAN))), ""),
    ("a mask of doubles", masked(filled(1, np.float64)), "stored as float64"),
    ("a gzip in two pieces", put(gz(nifti()[:500]) + gz(nifti()[500:])), ""),
    ("a plain .nii", put(nifti(), "CASE1.nii"), ""),
    ("a plain .mha", put(mha(), "CASE1.mha"), ""),
    ("a packed .mha", put(mha(zlib.compress(TUMOUR.tobytes("F")), CompressedData="True"), "CASE1.mha"), ""),
    ("a plain .nrrd", put(nrrd(), "CASE1.nrrd"), ""),
    ("a packed .nrrd", put(nrrd(gz(TUMOUR.tobytes("F")), encoding="gzip"), "CASE1.nrrd"), ""),
    ("a file that was not asked for", add("notes.txt"), "ignored"),
    ("a zip", zipped(method=zipfile.ZIP_DEFLATED), ""),
    ("a zip of a folder", zipped(prefix="team/"), ""),
    ("a zip of a folder, from Windows", zipped(prefix="team\\"), ""),
    ("a zip of ./names, as tar makes it", zipped(("./", b""), prefix="./"), ""),
    ("what a Mac leaves in a zip", zipped(("__MACOSX/._CASE1.nii.gz", b"x"), (".DS_Store", b"x")), "operating system"),
]
"""Odd but good: name, how it is made, and words of the note that it gets, if it gets one."""

ODD_ZIPS = [
    ("a member without a name", zipped(("x", b""), change=nameless)),
    ("a member called ./.", zipped(("./.", b""))),
    ("a member called .\\", zipped((".\\", b""))),
    ("a member called .", zipped((".", b""))),
    ("a member called ..", zipped(("..", b""))),
    ("a member called /", zipped(("/", b""))),
    ("a name of 60 000 letters", zipped(("x" * 60_000 + ".nii.gz", b""))),
    ("a name of several lines", zipped(("a\nb\rc\x1b[2J\x85.nii.gz", b""))),
    ("a member longer on paper than in truth", zipped(change=central("size", lambda size: size + 50))),
    ("a member packed longer on paper than in truth", zipped(change=central("packed", lambda size: size + 20))),
    ("a member of 16 EB", zipped(change=central("size", 0xFFFFFFFF))),
]
"""Archives for which there is no single right answer; any but a crash or a flood will do."""


# What holds for all of them -------------------------------------------------------------------------------------------

HECKTOR = load_challenge("hecktor2020")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

every_row = pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])


@pytest.fixture(autouse=True)
def _never_hangs() -> Iterator[None]:
    def stop(*_: object) -> None:
        msg = "this took longer than half a minute"
        raise TimeoutError(msg)

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cohort")
    for case in CASES:
        write(Volume(TUMOUR, GRID), folder / f"{case}.nii.gz")
    return folder


@pytest.fixture
def team(tmp_path: Path, cohort: Path) -> Path:
    """A perfect submission, to be spoilt."""
    return Path(shutil.copytree(cohort, tmp_path / "sent" / "team"))


def run(command: str, cohort: Path, submission: Path, *options: str) -> Result:
    """A command in this process; whatever it does not catch itself is raised here."""
    arguments = [command, "hecktor2020", "--reference", str(cohort), "--submission", str(submission), *options]
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert not CONTROL.search(result.stdout)
    return result


def score(
    cohort: Path, submission: Path, out: Path, *options: str
) -> tuple[Result, dict[tuple[str, str], float | None]]:
    """The command's result, and the values of its table by case and metric; none if it wrote no table."""
    result = run("score", cohort, submission, "--out", str(out), "--workers", "1", *options)
    rows = pl.read_parquet(out).iter_rows(named=True) if out.exists() else ()
    return result, {(row["case"], row["metric"]): row["value"] for row in rows}


def snapshot(root: Path) -> dict[str, tuple[int, int, str | bytes]]:
    """Kind, time and content of all that lies below a folder; nothing is followed."""
    seen: dict[str, tuple[int, int, str | bytes]] = {}
    todo = [root]
    while todo:
        path = todo.pop()
        status = path.lstat()
        content: str | bytes = b""
        if stat.S_ISDIR(status.st_mode):
            todo += path.iterdir()
        elif stat.S_ISLNK(status.st_mode):
            content = os.fspath(path.readlink())
        elif stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK):
            content = path.read_bytes()
        seen[os.fspath(path)] = (status.st_mode, status.st_mtime_ns, content)
    return seen


@every_row
def test_check_names_the_problem(row: Row, team: Path, cohort: Path) -> None:
    problems = evaluation.check(HECKTOR, reference=cohort, submission=row.build(team))
    told = [p.message for p in problems if (p.severity, p.case, p.file) == (row.severity, row.case, row.file)]
    assert any(all(word in message for word in row.words) for message in told), problems
    assert all(len(p.message) < 1000 for p in problems), "a message is for a person to read"


@every_row
def test_check_exits_with_1_and_leaves_the_submission_as_it_was(row: Row, team: Path, cohort: Path) -> None:
    submission = row.build(team)
    before = snapshot(team.parent)
    result = run("check", cohort, submission)
    assert result.exit_code == 1
    assert row.case in result.stdout
    assert row.file in result.stdout
    assert snapshot(team.parent) == before


@every_row
def test_score_says_the_same_and_refuses_or_leaves_the_case_without_value(
    row: Row, team: Path, cohort: Path, tmp_path: Path
) -> None:
    submission = row.build(team)
    before = snapshot(team.parent)
    checked = [p.to_dict() for p in evaluation.check(HECKTOR, reference=cohort, submission=submission)]
    result, table = score(cohort, submission, tmp_path / "out" / "team.parquet", "--json")
    assert json.loads(result.stdout)["problems"] == checked
    assert snapshot(team.parent) == before
    if row.score == "refused":
        assert result.exit_code == 1
        assert not list(tmp_path.glob("out/*"))
        return
    expected = {(case, "dice"): 1.0 for case in CASES}
    if isinstance(row.score, str):
        expected |= {("CASE1", "dice"): None, ("CASE1", row.score): 1.0}
    else:
        expected["CASE1", "dice"] = row.score
    assert table == expected
    assert result.exit_code == any(problem["severity"] == "unusable" for problem in checked)


@pytest.mark.parametrize(("build", "note"), [row[1:] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
def test_odd_but_good_is_accepted(build: Build, note: str, team: Path, cohort: Path, tmp_path: Path) -> None:
    submission = build(team)
    problems = evaluation.check(HECKTOR, reference=cohort, submission=submission)
    assert {problem.severity for problem in problems} <= {"note"}
    assert all(note in problem.message for problem in problems)
    assert bool(problems) == bool(note)
    assert run("check", cohort, submission).exit_code == 0
    result, table = score(cohort, submission, tmp_path / "team.parquet")
    assert result.exit_code == 0
    assert table == {(case, "dice"): 1.0 for case in CASES}


@pytest.mark.parametrize("build", [row[1] for row in ODD_ZIPS], ids=[row[0] for row in ODD_ZIPS])
def test_an_odd_archive_neither_crashes_nor_floods(build: Build, team: Path, cohort: Path, tmp_path: Path) -> None:
    submission = build(team)
    result = run("check", cohort, submission)
    assert result.exit_code in (0, 1)
    assert len(result.stdout) < 20_000
    result, _ = score(cohort, submission, tmp_path / "team.parquet")
    assert result.exit_code in (0, 1)


# The real program -----------------------------------------------------------------------------------------------------


def program(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`isocenter` as it is installed, in a process of its own."""
    command = [str(Path(sys.executable).with_name("isocenter")), *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, encoding="utf-8", timeout=25, check=False
    )


@pytest.mark.parametrize(
    "name",
    [
        "a gzip bomb behind a good mask",
        "18 GB declared in 400 bytes of .nii",
        "a pipe for a file",
        "a name that paints the screen",
        "a name that is no UTF-8",
        "a member above the archive",
        "the second of two disks",
    ],
)
def test_the_program_itself_exits_with_1_and_without_traceback(name: str, team: Path, cohort: Path) -> None:
    row = next(row for row in ROWS if row.name == name)
    submission = row.build(team)
    before = snapshot(team.parent)
    result = program("check", "hecktor2020", "--reference", cohort, "--submission", submission)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "Warning" not in result.stderr
    assert row.file in result.stdout
    assert snapshot(team.parent) == before


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_knows_few_letters_still_shows_the_problems(encoding: str, team: Path, cohort: Path) -> None:
    """A file name of a stranger has letters that the organiser's terminal has not."""
    rename("患者.nii.gz")(team)
    result = program("check", "hecktor2020", "--reference", cohort, "--submission", team, PYTHONIOENCODING=encoding)
    assert "Traceback" not in result.stderr
    assert result.returncode == 1
    assert "expected CASE1.nii.gz" in result.stdout


@pytest.mark.parametrize("name", ["te\nam", "te\x1b]0;am\x07", "te\u202eam", "te\udcffam"], ids=ascii)
@pytest.mark.parametrize("spoilt", [False, True], ids=["good", "spoilt"])
def test_the_name_of_the_submission_itself_is_hostile_too(name: str, spoilt: bool, team: Path, cohort: Path) -> None:
    if spoilt:
        empty(team)
    try:
        submission = team.rename(team.with_name(name))
    except OSError:
        pytest.skip("this file system takes no such name")
    result = run("check", cohort, submission)
    assert result.exit_code == spoilt
    assert name not in result.stdout
    result, _ = score(cohort, submission, team.with_name("team.parquet"))
    assert result.exit_code == spoilt
    assert name not in result.stdout


# Particular tricks ----------------------------------------------------------------------------------------------------


long_paths = pytest.mark.skipif(os.pathconf("/", "PC_PATH_MAX") < 4096, reason="this system has no such long paths")


@long_paths
def test_a_thousand_folders_in_each_other_are_no_way_to_crash(team: Path, cohort: Path) -> None:
    nest = [Path(f"{team}{'/a' * depth}") for depth in range(1, 1101)]
    for folder in nest:
        folder.mkdir()
    try:
        assert run("check", cohort, team).exit_code in (0, 1)
    finally:
        for folder in reversed(nest):
            folder.rmdir()


@long_paths
def test_a_path_too_long_for_the_system_is_no_way_to_crash(team: Path, cohort: Path) -> None:
    folder = os.open(team, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("x" * 200, dir_fd=folder)
        deeper = os.open("x" * 200, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(os.open("y" * 250, os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    assert run("check", cohort, team).exit_code in (0, 1)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("CASE1.nii", lambda path: path.symlink_to("/etc/passwd")),
        ("CASE1.nii", os.mkfifo),
        ("CASE1.json", Path.touch),
        ("CASE1.nii.gz.sha256", Path.touch),
    ],
    ids=["a link", "a pipe", "a .json", "a checksum"],
)
def test_a_case_is_called_unusable_exactly_if_it_is_not_measured(
    name: str, make: Callable[[Path], object], team: Path, cohort: Path, tmp_path: Path
) -> None:
    """Whatever lies beside a good file: what is said of the case and what is done with it are the same."""
    make(team / name)
    problems = evaluation.check(HECKTOR, reference=cohort, submission=team)
    unusable = any(problem.case == "CASE1" and problem.severity == "unusable" for problem in problems)
    _, table = score(cohort, team, tmp_path / "team.parquet")
    assert unusable == (table["CASE1", "dice"] is None)


def test_a_case_with_a_file_that_must_not_be_read_has_none(team: Path) -> None:
    (team / "CASE1.nii").symlink_to("/etc/passwd")
    assert not match(list_files(team), HECKTOR.output, cases=CASES).files["CASE1"]


@pytest.mark.parametrize("change", [central("crc", 12345), strange_local_name, far_away], ids=["crc", "name", "offset"])
def test_a_run_continues_even_if_the_archive_has_been_damaged_since(
    change: Callable[[bytearray], None], team: Path, cohort: Path, tmp_path: Path
) -> None:
    line = {"case": "CASE1", "state": "measured", "scores": [["dice", 1.0, ""]], "problems": [], "key": {}}
    (tmp_path / "team.parquet.journal").write_text(json.dumps(line) + "\n")
    submission = zipped(change=change)(team)
    result, table = score(cohort, submission, tmp_path / "team.parquet")
    assert result.exit_code == 1
    assert table["CASE1", "dice"] is None
    assert table["CASE1", "failed"] == 1.0


def test_far_more_files_than_an_answer_has_are_refused_in_one_line(tmp_path: Path, cohort: Path) -> None:
    with zipfile.ZipFile(tmp_path / "team.zip", "w") as archive:
        for number in range(2_000):
            archive.writestr(f"{number:05}.txt", b"")
    (problem,) = evaluation.check(HECKTOR, reference=cohort, submission=tmp_path / "team.zip")
    assert (problem.severity, problem.file) == ("refused", "team.zip")
    assert problem.message.startswith("2,000 files; an answer to ")


def test_resampling_has_an_end(team: Path, cohort: Path) -> None:
    """64 million voxels in 64 kB are no answer to a scan of a thousand, whatever the policy."""
    content = nifti(np.zeros((1, 1, 1), np.uint8), dim=(3, 512, 512, 256, 1, 1, 1, 1))[:352]
    put(gz(content) + gz(b"\1" * (1 << 24)) * 4)(team)
    problems = evaluation.check(HECKTOR, reference=cohort, submission=team, grid="resample")
    assert [(p.severity, p.case) for p in problems] == [("unusable", "CASE1")]


@pytest.mark.parametrize("policy", ["resample", "trust-index"])
@pytest.mark.parametrize("field", [{"ElementSpacing": "1e200 1 3"}, {"Offset": "1e308 1e308 0"}], ids=str)
def test_no_policy_brings_infinity_into_the_table(
    policy: str, field: dict[str, str], team: Path, cohort: Path, tmp_path: Path
) -> None:
    put(mha(**field), "CASE1.mha")(team)
    _, table = score(cohort, team, tmp_path / "team.parquet", "--grid", policy)
    assert all(value is None or np.isfinite(value) for value in table.values())


edits = st.lists(
    st.tuples(st.sampled_from(["flip", "insert", "delete", "cut"]), st.floats(0, 1), st.integers(0, 255)),
    min_size=1,
    max_size=4,
)


@given(edits=edits, at_the_end=st.booleans())
@settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_damage_to_a_zip_is_a_list_of_problems(
    edits: list[tuple[str, float, int]], at_the_end: bool, team: Path, cohort: Path
) -> None:
    path = zipped()(team)
    content = bytearray(path.read_bytes())
    low = content.find(b"PK\1\2") if at_the_end else 0
    for how, place, byte in edits:
        at = max(0, int(low + place * (len(content) - 1 - low)))
        if at >= len(content):
            break
        if how == "flip":
            content[at] ^= byte
        elif how == "insert":
            content[at:at] = bytes([byte])
        elif how == "delete":
            del content[at]
        elif at > len(content) // 2:
            del content[at:]
    path.write_bytes(content)
    for problem in evaluation.check(HECKTOR, reference=cohort, submission=path):
        assert problem.message.isprintable()
