"""Files that lie about themselves: a volume of the declared shape or a VolumeError, never much memory."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isocenter.volumes import Grid, MemoryFile, Volume, VolumeError, ZipMember, read, read_header, read_labels, write

GRID = Grid((5, 4, 3), spacing=(1, 1, 3), origin=(-3, 4, 5.5))
LABELS = np.random.default_rng(2020).integers(0, 3, GRID.shape)
MHD = "ObjectType = Image\nNDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\nElementDataFile = {}\n"
READERS = [read_header, read, read_labels]

every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], bytes]:
    """Good files by ending and type."""
    folder = tmp_path_factory.mktemp("written")
    files = {}
    for suffix in (".nii.gz", ".nii", ".mha", ".nrrd"):
        for dtype in ("uint8", "float32"):
            write(Volume(LABELS.astype(dtype), GRID), folder / f"x{suffix}")
            files[suffix, dtype] = (folder / f"x{suffix}").read_bytes()
    return files


# Damage of any kind ---------------------------------------------------------------------------------------------------

TOKENS = [
    *(struct.pack("<f", value) for value in (float("nan"), float("inf"), -1e38, 0.0)),
    *(struct.pack("<i", value) for value in (-1, 0x7F800001, 0x7FFFFFFF)),  # the second is a signalling NaN
    *(b"nan", b"inf", b"1e400", b"1e200", b"-1", b"0", b"9" * 400, b"LIST", b"/", b"\n", b"=", b": ", b"(", b"\0"),
]

Edit = tuple[str, int, bytes]
edits = st.lists(
    st.tuples(
        st.sampled_from(["flip", "put", "insert", "delete", "cut"]),
        st.integers(0, 700),
        st.sampled_from(TOKENS) | st.binary(min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
)


def damaged(content: bytes, edits: list[Edit]) -> bytes:
    new = bytearray(content)
    for how, place, token in edits:
        at = place % max(len(new), 1)
        if how == "flip":
            new[at : at + 1] = bytes(byte ^ token[0] for byte in new[at : at + 1])
        elif how == "put":
            new[at : at + len(token)] = token
        elif how == "insert":
            new[at:at] = token
        elif how == "delete":
            del new[at : at + len(token)]
        else:
            del new[at:]
    return bytes(new)


def attempt(reader: Callable[[MemoryFile], Any], file: MemoryFile) -> tuple[Any, str]:
    """What is read, or what the VolumeError says; any other exception, and any warning, fails the test."""
    try:
        return reader(file), ""
    except VolumeError as error:
        return None, str(error)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(
    ("suffix", "inside"),
    [(".nii", False), (".nii.gz", False), (".nii.gz", True), (".mha", False), (".nrrd", False)],
    ids=[".nii", ".nii.gz", "inside .nii.gz", ".mha", ".nrrd"],
)
@given(edits=edits)
@example(edits=[("put", 280, struct.pack("<f", float("inf")))])  # in the sform of a NIfTI
@example(edits=[("put", 280, struct.pack("<i", 0x7F800001))])
@settings(max_examples=250, deadline=None, derandomize=True)
def test_any_damage_is_a_volume_of_the_declared_shape_or_a_volume_error(
    edits: list[Edit], suffix: str, inside: bool, dtype: str, written: dict[tuple[str, str], bytes]
) -> None:
    content = written[suffix, dtype]
    content = gzip.compress(damaged(gzip.decompress(content), edits), 1) if inside else damaged(content, edits)
    file = MemoryFile(f"x{suffix}", content)
    header, refusal = attempt(read_header, file)
    assert len(refusal) < 1000
    for reader in (read, read_labels):
        found, said = attempt(reader, file)
        assert bool(said) >= bool(refusal)
        if found is not None:
            assert found.grid == header.grid
            assert found.array.shape == header.grid.shape


# Memory ---------------------------------------------------------------------------------------------------------------

MEASURE = """
import json, resource, sys, tracemalloc
from isocenter.volumes import VolumeError, read, read_header, read_labels

resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
peaks = {}
for path in sys.argv[1:]:
    for reader in (read_header, read, read_labels):
        tracemalloc.start()
        try:
            reader(path)
            said = ""
        except VolumeError as error:
            said = str(error)
        peaks[f"{reader.__name__} {path}"] = (tracemalloc.get_traced_memory()[1], said)
        tracemalloc.stop()
print(json.dumps(peaks))
"""


def test_a_header_alone_costs_no_memory(tmp_path: Path, written: dict[tuple[str, str], bytes]) -> None:
    """18 GB declared in a few hundred bytes, and a gigabyte of zeros behind a small volume, in less than 50 MB."""
    nifti = bytearray(written[".nii", "uint8"])
    bomb = gzip.compress(bytes(nifti)) + gzip.compress(bytes(1 << 24)) * 64
    struct.pack_into("<4h", nifti, 40, 3, 3000, 3000, 2000)
    files = {
        "huge.nii": bytes(nifti[:400]),
        "huge.nii.gz": gzip.compress(bytes(nifti[:400])),
        "huge.mha": written[".mha", "uint8"].replace(b"DimSize = 5 4 3", b"DimSize = 3000 3000 2000"),
        "huge.nrrd": written[".nrrd", "uint8"].replace(b"sizes: 5 4 3", b"sizes: 3000 3000 2000"),
        "bomb.nii.gz": bomb,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    command = [sys.executable, "-c", MEASURE, *(str(tmp_path / name) for name in files)]
    peaks = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    assert len(peaks) == len(READERS) * len(files)
    for what, (peak, said) in peaks.items():
        assert peak < 50e6, what
        assert said or what.startswith("read_header"), what
        assert "huge" not in what or "18.0 GB" in said, what


# Particular tricks ----------------------------------------------------------------------------------------------------


@every_reader
@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../x.raw", "..", ".", "a\\b", "C:x", "LIST", "LIST 2D", "x%03d.raw 1 3 1", "x\0.raw"],
    ids=ascii,
)
def test_a_detached_header_names_only_a_file_beside_it(
    tmp_path: Path, reader: Callable[..., object], name: str
) -> None:
    (tmp_path / "x.mhd").write_text(MHD.format(name))
    with pytest.raises(VolumeError, match="plain file name beside"):
        reader(tmp_path / "x.mhd")


@every_reader
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_a_data_file_that_is_not_there_is_said_to_be_missing(
    tmp_path: Path, reader: Callable[..., object], packed: bool
) -> None:
    source: Path | ZipMember = tmp_path / "x.mhd"
    source.write_text(MHD.format("voxels.raw"))
    if packed:
        with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
            archive.write(source, "x.mhd")
        source = ZipMember(tmp_path / "x.zip", "x.mhd")
    with pytest.raises((VolumeError, OSError), match=r"voxels\.raw"):
        reader(source)


@every_reader
def test_a_member_that_is_not_there_is_an_error_of_input(tmp_path: Path, reader: Callable[..., object]) -> None:
    zipfile.ZipFile(tmp_path / "x.zip", "w").close()
    with pytest.raises((VolumeError, OSError), match=r"x\.nii"):
        reader(ZipMember(tmp_path / "x.zip", "x.nii"))


@every_reader
@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir], ids=["a pipe", "a folder"])
def test_what_is_no_file_is_not_waited_for(
    tmp_path: Path, reader: Callable[..., object], make: Callable[..., object]
) -> None:
    make(tmp_path / "x.nii")
    with pytest.raises(OSError, match="not a regular file"):
        reader(tmp_path / "x.nii")


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_that_were_forked_do_not_disturb_each_other_in_an_archive(tmp_path: Path) -> None:
    """An archive that was open before the fork has one place to read from, and every process moves it."""
    noise = np.random.default_rng(2020).integers(0, 2, (64, 64, 32), np.uint8)
    write(Volume(noise, Grid(noise.shape)), tmp_path / "x.nii")
    members = [ZipMember(tmp_path / "x.zip", f"{number}.nii") for number in range(16)]
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for member in members:
            archive.write(tmp_path / "x.nii", member.name)
    assert (read(members[0]).array == noise).all()
    with multiprocessing.get_context("fork").Pool(4) as pool:
        volumes = pool.map(read, members * 2, chunksize=1)
        pool.close()
        pool.join()  # rather than be terminated, which under coverage may wait for ever
    assert all((volume.array == noise).all() for volume in volumes)


def scaled(written: dict[tuple[str, str], bytes], *, slope: float, value: float) -> MemoryFile:
    """Single-precision voxels, all of one value, and a slope in the header."""
    content = bytearray(written[".nii", "float32"])
    struct.pack_into("<2f", content, 112, slope, 0.0)
    voxels = np.full(GRID.shape, value, np.float32).tobytes()
    return MemoryFile("x.nii", bytes(content[: -len(voxels)]) + voxels)


def test_scaled_numbers_are_read_in_double_precision(written: dict[tuple[str, str], bytes]) -> None:
    volume = read(scaled(written, slope=2.0, value=1e38))
    assert volume.array.dtype == np.float64
    assert volume.array.max() == pytest.approx(2e38)


def test_a_slope_may_lead_beyond_single_precision_without_a_warning(written: dict[tuple[str, str], bytes]) -> None:
    file = scaled(written, slope=1e38, value=1e38)
    assert read(file).array.max() == pytest.approx(1e76)
    with pytest.raises(VolumeError, match="labels lie between 0 and 65535"):
        read_labels(file)


@pytest.mark.parametrize("digits", [20, 400, 2000, 5000])
@pytest.mark.parametrize(("suffix", "field"), [(".mha", b"DimSize = "), (".nrrd", b"sizes: ")], ids=[".mha", ".nrrd"])
def test_a_length_of_many_digits_is_refused_in_a_few_words(
    digits: int, suffix: str, field: bytes, written: dict[tuple[str, str], bytes]
) -> None:
    lengths = b" ".join([b"9" * digits] * 3)
    content = written[suffix, "uint8"].replace(field + b"5 4 3", field + lengths)
    assert lengths in content
    with pytest.raises(VolumeError) as told:
        read_header(MemoryFile(f"x{suffix}", content))
    assert len(str(told.value)) < 1000


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e200", "1e308", "1e400", "1e-320", "-1", "0"])
@pytest.mark.parametrize(
    ("suffix", "field"),
    [
        (".mha", b"ElementSpacing = 1 1 3"),
        (".mha", b"Offset = -3 4 5.5"),
        (".mha", b"TransformMatrix = 1 0 0 0 1 0 0 0 1"),
        (".nrrd", b"space directions: (1,0,0)"),
        (".nrrd", b"space origin: (-3,4,5.5)"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.split()[0].decode(),
)
def test_no_number_in_a_header_upsets_the_geometry(
    number: str, suffix: str, field: bytes, written: dict[tuple[str, str], bytes]
) -> None:
    """The first number of each field is replaced; what can be read can also be compared."""
    content = written[suffix, "uint8"]
    assert field in content
    words = field.replace(b"-3", b"1").replace(b"1", number.encode(), 1)
    try:
        header = read_header(MemoryFile(f"x{suffix}", content.replace(field, words)))
    except VolumeError:
        return
    assert header.grid.deviation(GRID) >= 0
    assert header.grid.same_as(header.grid)
