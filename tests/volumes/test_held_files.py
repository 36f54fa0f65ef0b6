"""A file that is held is read once: its hash and its content are of the same bytes."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from isocenter.problems import FileError
from isocenter.volumes import DiskFile, Folder, ZipMember, digest, hold
from isocenter.volumes.sparse import read_sparse, write_sparse

MOST = 1 << 20


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> DiskFile:
    path = tmp_path / "case.csv"
    path.write_bytes(b",data\n5,1.5\n7,2.5\n")
    return DiskFile(path)


def test_what_is_read_is_what_was_hashed_even_if_the_file_changes_in_between(file: DiskFile) -> None:
    before = file.path.read_bytes()
    held = hold(file, most=MOST)
    assert digest(held) == sha256(before)
    file.path.write_bytes(b",data\n5,9.5\n")
    with held.open() as stream:
        assert stream.read() == before
    assert held.size() == len(before)
    values = read_sparse(held).values
    assert values is not None
    assert values.tolist() == [1.5, 2.5]


def test_a_file_that_was_not_hashed_is_read_from_disk(file: DiskFile) -> None:
    held = hold(file, most=MOST)
    file.path.write_bytes(b",data\n5,9.5\n")
    values = read_sparse(held).values
    assert values is not None
    assert values.tolist() == [9.5]


def test_a_large_file_is_hashed_but_not_held(file: DiskFile) -> None:
    held = hold(file, most=8)
    assert digest(held) == sha256(file.path.read_bytes())
    file.path.write_bytes(b"other")
    with held.open() as stream:
        assert stream.read() == b"other"


def test_as_many_bytes_as_may_be_held_are_held(file: DiskFile) -> None:
    size = file.size()
    for most, content in ((size, file.path.read_bytes()), (size - 1, b"other")):
        held = hold(DiskFile(file.path), most=most)
        digest(held)
        before = file.path.read_bytes()
        file.path.write_bytes(b"other")
        with held.open() as stream:
            assert stream.read() == content
        file.path.write_bytes(before)


def test_the_last_line_of_a_held_file_needs_no_end(file: DiskFile) -> None:
    file.path.write_bytes(file.path.read_bytes().rstrip())
    held = hold(file, most=MOST)
    digest(held)
    values = read_sparse(held).values
    assert values is not None
    assert values.tolist() == [1.5, 2.5]


def test_a_file_that_grows_while_it_is_read_is_hashed_as_it_is_found(
    file: DiskFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = file.path.read_bytes()
    monkeypatch.setattr(DiskFile, "size", lambda _: len(content) - 3)
    assert digest(hold(file, most=MOST)) == sha256(content)
    monkeypatch.setattr(DiskFile, "size", lambda _: len(content) + 3)
    assert digest(hold(file, most=MOST)) == sha256(content)


def test_a_stream_of_what_is_held_can_be_read_line_by_line_and_sought(file: DiskFile) -> None:
    held = hold(file, most=MOST)
    digest(held)
    with held.open() as stream:
        assert stream.readline() == b",data\n"
        stream.seek(-4, os.SEEK_END)
        assert stream.read() == b"2.5\n"
        stream.seek(0)
        assert stream.read(5) == b",data"
        stream.seek(2, os.SEEK_CUR)
        assert stream.read() == b",1.5\n7,2.5\n"


def test_an_empty_file_is_held(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    held = hold(DiskFile(path), most=MOST)
    assert digest(held) == sha256(b"")
    with held.open() as stream:
        assert stream.read() == b""


def test_a_folder_is_held_whole_or_not_at_all(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode() * 10)
    folder = Folder("case", {name: DiskFile(tmp_path / name) for name in ("a", "b")})
    for most in (20, 19):
        held = hold(folder, most=most)
        assert digest(held) == digest(folder)
        assert (held is folder) == (most == 19)
        assert isinstance(held, Folder)
        with held.files["a"].open() as stream:
            assert stream.read() == b"a" * 10


def test_a_member_of_a_zip_is_inflated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "team.zip"
    rng = np.random.default_rng(0)
    write_sparse(tmp_path / "pt_1.csv", rng.uniform(0, 70, (128, 128, 128)), where=rng.random((128, 128, 128)) < 0.01)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write(tmp_path / "pt_1.csv", "pt_1.csv")
    opened = 0
    plain_open = ZipMember.open

    def count(member: ZipMember) -> object:
        nonlocal opened
        opened += 1
        return plain_open(member)

    monkeypatch.setattr(ZipMember, "open", count)
    held = hold(ZipMember(archive, "pt_1.csv"), most=1 << 26)
    assert digest(held) == sha256((tmp_path / "pt_1.csv").read_bytes())
    from_zip, from_disk = read_sparse(held), read_sparse(tmp_path / "pt_1.csv")
    assert opened == 1
    np.testing.assert_array_equal(from_zip.index, from_disk.index)
    np.testing.assert_array_equal(from_zip.values, from_disk.values)


def test_a_damaged_member_is_an_error_of_the_file(tmp_path: Path) -> None:
    archive = tmp_path / "team.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.csv", bytes(range(256)) * 100)
    content = bytearray(archive.read_bytes())
    content[60] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(FileError, match="damaged") as caught:
        digest(hold(ZipMember(archive, "a.csv"), most=MOST))
    assert caught.value.code == "damaged"
