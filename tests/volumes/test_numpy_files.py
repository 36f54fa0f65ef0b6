"""numpy's files of strangers: the array that numpy would give, or a VolumeError; never a pickle, never much memory."""

from __future__ import annotations

import io
import pickle
import struct
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy

from isocenter.volumes import MemoryFile, VolumeError, ZipMember, read_numpy

GOLDEN = Path(__file__).parents[1] / "golden" / "detection" / "files"
NNUNET = ("softmax", "probabilities")
SOFT = np.random.default_rng(2022).random((3, 4, 5)).astype(np.float32)  # (z, y, x)
CLASSES = np.stack([1 - SOFT, SOFT])


def saved(array: Any) -> MemoryFile:
    stream = io.BytesIO()
    np.save(stream, array)
    return MemoryFile("x.npy", stream.getvalue())


def zipped(*, compressed: bool = True, **arrays: Any) -> MemoryFile:
    stream = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(stream, **arrays)
    return MemoryFile("x.npz", stream.getvalue())


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as target, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a name is there twice
        for name, content in members:
            target.writestr(name, content)
    return stream.getvalue()


def with_header(header: str, *, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> MemoryFile:
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header.encode("latin1")))
    return MemoryFile("x.npy", npy.magic(*version) + length + header.encode("latin1") + data)


def plain(shape: str = "(2, 2, 2)", descr: str = "'<f4'", order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def refusal(file: Any, **arguments: Any) -> str:
    with pytest.raises(VolumeError) as error:
        read_numpy(file, **arguments)
    assert len(str(error.value)) < 400
    return str(error.value)


# What is read ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", NNUNET)
def test_of_the_golden_files_of_nnunet_the_lesion_is_read(key: str) -> None:
    with np.load(GOLDEN / f"{key}_example.npz") as arrays:
        expected = arrays[key][1].T
    found = read_numpy(GOLDEN / f"{key}_example.npz", keys=NNUNET, shape=(64, 64, 16))
    assert found.dtype == expected.dtype == np.float16
    assert np.array_equal(found, expected)
    assert found.any()


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "<i2", ">u2", "<i4", ">i8", "<u8", "<f2", ">f4", "<f8"])
@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("form", ["npy", "stored", "deflated"])
def test_every_type_comes_back_with_its_axes_turned(dtype: str, classes: int, form: str) -> None:
    channels = (np.random.default_rng(1).random((classes, 3, 4, 5)) * 100).astype(dtype)
    array, expected = (channels, channels[1]) if classes > 1 else (channels[0], channels[0])
    file = saved(array) if form == "npy" else zipped(compressed=form == "deflated", softmax=array)
    found = read_numpy(file, keys=NNUNET, shape=(5, 4, 3))
    assert found.shape == (5, 4, 3)
    assert found.dtype == np.dtype(dtype).newbyteorder("=")
    assert np.array_equal(found, expected.T)


def test_the_first_of_the_keys_is_read_or_else_the_only_array() -> None:
    two = zipped(probabilities=SOFT, softmax=2 * SOFT)
    assert np.array_equal(read_numpy(two, keys=NNUNET), 2 * SOFT.T)
    assert np.array_equal(read_numpy(two, keys=("heat", "probabilities")), SOFT.T)
    assert np.array_equal(read_numpy(zipped(arr_0=SOFT), keys=NNUNET), SOFT.T)
    assert np.array_equal(read_numpy(zipped(arr_0=SOFT)), SOFT.T)
    assert refusal(two) == "the archive holds 'probabilities', 'softmax'; a single array was expected"
    assert "softmax or probabilities or a single array was expected" in refusal(zipped(a=SOFT, b=SOFT), keys=NNUNET)
    assert "holds no array" in refusal(MemoryFile("x.npz", archive(("softmax.txt", b"0.5"))), keys=NNUNET)


def test_a_large_array_is_read_in_blocks_from_a_zip_in_a_zip(tmp_path: Path) -> None:
    soft = np.random.default_rng(3).random((9, 80, 90)).astype(np.float32)  # more than one block of 128 kB a class
    inner = zipped(probabilities=np.stack([1 - soft, soft])).content
    (tmp_path / "team.zip").write_bytes(archive(("maps/case.npz", inner)))
    found = read_numpy(ZipMember(tmp_path / "team.zip", "maps/case.npz"), keys=NNUNET, shape=(90, 80, 9))
    assert np.array_equal(found, soft.T)


def test_a_file_as_old_as_python_2_is_read_in_silence() -> None:
    old = with_header(plain("(2L, 2L, 2L)"), data=np.arange(8, dtype="<f4").tobytes())
    assert np.array_equal(read_numpy(old), np.arange(8).reshape(2, 2, 2).T)


def test_a_boolean_is_true_or_false_whatever_its_byte() -> None:
    strange = with_header(plain(descr="'|b1'"), data=bytes(range(8)))
    assert read_numpy(strange).T.astype(np.float32).ravel().tolist() == [0, 1, 1, 1, 1, 1, 1, 1]


def test_what_lies_behind_the_lesion_is_not_inflated() -> None:
    rest = np.random.default_rng(4).random((1, 60, 70, 80)).astype(np.float32)
    three = np.concatenate([rest * 0, rest * 0 + 0.5, rest])
    content = bytearray(zipped(softmax=three).content)
    content[len(content) // 2] ^= 0xFF  # in the third class
    with pytest.raises(zipfile.BadZipFile, match="CRC"), np.load(io.BytesIO(content)) as arrays:
        arrays["softmax"]
    assert np.array_equal(read_numpy(MemoryFile("x.npz", bytes(content)), keys=NNUNET), three[1].T)


def test_only_the_lesion_is_kept_in_memory() -> None:
    file = zipped(softmax=np.zeros((6, 64, 128, 128), np.float32))
    tracemalloc.start()
    found = read_numpy(file, keys=NNUNET)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.nbytes <= peak < 1.5 * found.nbytes


# What is refused ------------------------------------------------------------------------------------------------------


class Trap:
    """What runs code when it is unpickled."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> Any:
        return Path.touch, (self.victim,)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    array = np.array([[[Trap(tmp_path / "sprung")]]], dtype=object)
    for file in (saved(array), zipped(softmax=array)):
        assert "Python objects, which is never unpickled" in refusal(file, keys=NNUNET)
    assert "cannot be read" in refusal(MemoryFile("x.npy", pickle.dumps(array)))
    assert "cannot be read" in refusal(MemoryFile("x.npz", archive(("x.npy", pickle.dumps(array)))))
    assert not (tmp_path / "sprung").exists()
    np.load(io.BytesIO(saved(array).content), allow_pickle=True)
    assert (tmp_path / "sprung").exists()  # so the trap is one


@pytest.mark.parametrize(
    "dtype", ["c8", "c16", "S3", "U2", "M8[s]", "m8[s]", "V4", "f4,i2", "(2,)f4", "longdouble", "O"], ids=str
)
def test_only_one_real_number_per_voxel_is_read(dtype: str) -> None:
    descr = repr([("a", "<f4"), ("b", "<i2")]) if dtype == "f4,i2" else repr(np.dtype(dtype).str)
    said = refusal(with_header(plain(descr="('<f4', (2,))" if dtype == "(2,)f4" else descr), data=bytes(256)))
    assert "one real number" in said


def test_structured_names_of_other_alphabets_have_a_format_of_their_own() -> None:
    assert "format version 3.0, which no array of plain numbers needs" in refusal(
        with_header(plain(), data=bytes(32), version=(3, 0))
    )


def test_fortran_order_is_refused_with_what_to_do() -> None:
    assert "Fortran order; save numpy.ascontiguousarray of it" in refusal(saved(SOFT.T))
    assert np.array_equal(read_numpy(saved(np.ascontiguousarray(SOFT.T))), SOFT)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("()", r"shape ()"),
        ("(8,)", "(z, y, x) or (class, z, y, x) was expected"),
        ("(2, 1, 2, 2, 2)", "shape (2, 1, 2, 2, 2)"),
        ("(1, 2, 2, 2)", "1×2×2×2 has a single class"),
        ("(2, 0, 4)", "an axis without voxels: 2×0×4"),
        ("(-2, -2, 2)", "an axis without voxels: -2×-2×2"),
        ("(True, False, True)", "an axis without voxels: 1×0×1"),
        ("(2, 2, 3)", "2×2×3 numbers of float32 (48 bytes), but 32 bytes follow"),
        ("(2, 2, 1)", "2×2×1 numbers of float32 (16 bytes), but 32 bytes follow"),
        ("(4294967296, 4294967296, 2)", "would take more than 4.3 GB"),
        (f"({10**200}, {10**200}, {10**200})", "would take more than 4.3 GB"),
        (f"({10**400}, 2, 2, 2)", "but 32 bytes follow"),
        ("(1.5, 2, 2)", "shape is not valid"),
        ("[2, 2, 2]", "shape is not valid"),
        (f"(2, 2, {'9' * 4100})", "cannot be read"),
    ],
    ids=lambda text: text[:30],
)
def test_absurd_shapes(shape: str, words: str) -> None:
    assert words in refusal(with_header(plain(shape), data=bytes(32)))


@pytest.mark.parametrize("array", [SOFT, CLASSES], ids=["volume", "classes"])
def test_another_shape_than_the_expected_is_named(array: np.ndarray) -> None:
    assert refusal(saved(array), shape=(5, 4, 2)) == "has 5×4×3 voxels along (x, y, z), expected 5×4×2"
    assert refusal(saved(array), shape=(3, 4, 5)).endswith(
        "expected 3×4×5; are its axes (x, y, z)? (z, y, x) was expected"
    )


@pytest.mark.parametrize(
    "header",
    [
        "",
        "None",
        "{}",
        "{[]: 1}",
        "{'descr': '<f4'}",
        "(" * 2000,
        "-" * 4000 + "1",
        "[" * 90 + "]" * 90,
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 2, 2)}",
        "__import__('os').abort()",
        "'\\d' \\",
        "\0" * 20,
        plain(descr="()"),
        plain(descr="[]"),
        plain(descr="7"),
        plain(descr="'nonsense'"),
        plain(descr="'f4,' * 9"),
        plain(descr="'(2'"),
        plain(descr="{'names': 3}"),
        plain(descr="[('a', '<f4'), ('a', '<f4')]"),
        plain(descr="('<f4', (-1,))"),
        plain() + " " * 60_000,
        "é" * 100,
    ],
    ids=lambda header: header[:20],
)
@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_headers_that_are_none(header: str, version: tuple[int, int]) -> None:
    assert "\n" not in refusal(with_header(header, data=bytes(32), version=version))


@pytest.mark.parametrize("file", [saved(SOFT), zipped(softmax=CLASSES), zipped(compressed=False, softmax=CLASSES)])
def test_a_file_that_is_cut_off_anywhere(file: MemoryFile) -> None:
    for size in range(len(file.content)):
        assert refusal(MemoryFile(file.name, file.content[:size]), keys=NNUNET)


def test_a_file_that_goes_on() -> None:
    assert "but 248 bytes follow" in refusal(MemoryFile("x.npy", saved(SOFT).content + b"12345678"))
    inside = archive(("softmax.npy", saved(SOFT).content + b"12345678"))
    assert "but 248 bytes follow" in refusal(MemoryFile("x.npz", inside), keys=NNUNET)


@pytest.mark.parametrize("compressed", [True, False])
def test_a_wrong_checksum_is_found(compressed: bool) -> None:
    content = bytearray(zipped(compressed=compressed, softmax=CLASSES).content)
    for start in (content.index(b"PK\x03\x04") + 14, content.index(b"PK\x01\x02") + 16):
        content[start] ^= 1
    assert "Bad CRC-32" in refusal(MemoryFile("x.npz", bytes(content)), keys=NNUNET)


def patched(content: bytes, field: int, value: bytes) -> MemoryFile:
    """An archive with a field of its (only) member changed in the central directory."""
    start = content.index(b"PK\x01\x02") + field
    return MemoryFile("x.npz", content[:start] + value + content[start + len(value) :])


def test_archives_that_are_not_what_numpy_writes() -> None:
    good = saved(SOFT).content
    assert "protected by a password" in refusal(patched(archive(("a.npy", good)), 8, b"\x01\x00"))
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert "unusual method" in refusal(MemoryFile("x.npz", archive(("a.npy", good), method=method)))
    twice = archive(("a.npy", good), ("a.npy", good))
    assert refusal(MemoryFile("x.npz", twice)) == "the archive holds 'a.npy' more than once"
    assert "not a zip archive" in refusal(MemoryFile("x.npz", good))
    assert "not a zip archive" in refusal(MemoryFile("x.npz", b""))
    assert "damaged" in refusal(patched(archive(("a.npy", good)), 46, b"b"))  # another name than in front of the data
    assert "damaged" in refusal(patched(archive(("a" * 300 + ".npy", good)), 46, b"b"))
    assert "magic" in refusal(MemoryFile("x.npy", archive(("a.npy", good))))
    assert "one of .npy, .npz was expected" in refusal(MemoryFile("x.nii", good))


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_numpy(tmp_path / "x.npy")


# Memory ---------------------------------------------------------------------------------------------------------------


def bombs() -> dict[str, tuple[MemoryFile, dict[str, Any], str]]:
    start = with_header(plain("(512, 1024, 1024)")).content  # 2 GiB
    promise = archive(("softmax.npy", start + bytes(1 << 20)))
    zeros = zipped(softmax=np.zeros((2, 64, 512, 512), np.float32))  # honest, 128 MiB of zeros
    endless = npy.magic(2, 0) + struct.pack("<I", 0xFFFFFFFF) + b" " * (64 << 20)
    return {
        "npy": (MemoryFile("x.npy", start), {}, "but 0 bytes follow"),
        "npz": (MemoryFile("x.npz", promise), {}, "but 1,048,576 bytes follow"),
        "claim": (patched(promise, 24, struct.pack("<I", (1 << 31) + len(start))), {}, "claims to be"),
        "stored": (patched(promise, 10, b"\0\0"), {}, "claims to be"),
        "packed": (patched(promise, 20, struct.pack("<I", 1 << 31)), {}, "claims to be"),
        "shape": (zeros, {"shape": (512, 512, 63)}, "expected 512×512×63"),
        "header": (MemoryFile("x.npz", archive(("a.npy", endless))), {}, "cannot be read"),
        "long": (MemoryFile("x.npy", endless), {}, "cannot be read"),
    }


@pytest.mark.parametrize("name", ["npy", "npz", "claim", "stored", "packed", "shape", "header", "long"])
def test_a_promise_costs_no_memory(name: str) -> None:
    file, arguments, words = bombs()[name]
    tracemalloc.start()
    said = refusal(file, **arguments)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert words in said
    assert peak < 1 << 20


# Damage of any kind ---------------------------------------------------------------------------------------------------

damage = st.lists(
    st.tuples(
        st.sampled_from(["flip", "put", "insert", "delete", "cut"]),
        st.integers(0, 2000),
        st.sampled_from([b"\xff\xff\xff\xff", b"\0\0\0\0", b"PK\1\2", b"9" * 40, b"(", b"'", b"}", b"O", b">f8"])
        | st.binary(min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("file", [saved(SOFT), zipped(softmax=CLASSES), zipped(compressed=False, softmax=CLASSES)])
@given(edits=damage)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_any_damage_is_an_array_of_the_expected_shape_or_a_volume_error(
    edits: list[tuple[str, int, bytes]], file: MemoryFile
) -> None:
    new = bytearray(file.content)
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
    found, said = attempt(MemoryFile(file.name, bytes(new)))
    assert len(said) < 400
    if found is not None:
        assert found.shape == (5, 4, 3)
        assert found.dtype.kind in "biuf"
        assert file.name == "x.npy" or np.array_equal(found, SOFT.T)  # an archive has a checksum


def attempt(file: MemoryFile) -> tuple[np.ndarray | None, str]:
    """What is read, or what the VolumeError says; any other exception, and any warning, fails the test."""
    try:
        return read_numpy(file, keys=NNUNET, shape=(5, 4, 3)), ""
    except VolumeError as error:
        return None, str(error)
