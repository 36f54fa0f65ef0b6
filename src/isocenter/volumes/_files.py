"""A file on disk or inside a zip, opened the same way and never extracted."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from isocenter.problems import FileError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PADDING = 128
"""Bytes behind the content of a file that is held, for scanners that look further than they need."""


class File(Protocol):
    """Something with a name, a size and bytes; small enough to be sent to another process."""

    @property
    def name(self) -> str:
        """The name as its owner knows it, for messages and for telling the format."""
        ...

    def size(self) -> int:
        """Number of bytes."""
        ...

    def open(self) -> BinaryIO:
        """A fresh stream from the first byte on."""
        ...

    def beside(self, name: str) -> File:
        """Another file in the same folder."""
        ...


@dataclass(frozen=True, slots=True)
class DiskFile:
    """A regular file. Pipes, devices and folders are refused, as reading them may never end."""

    path: Path
    follow: bool = True
    """Whether the path may be a symbolic link; never in what strangers sent."""

    @property
    def name(self) -> str:
        """File name without its folder."""
        return self.path.name

    def size(self) -> int:
        """Number of bytes."""
        return self.path.stat().st_size

    def open(self) -> BinaryIO:
        """Open for reading."""
        # O_NONBLOCK so that a pipe, checked a moment ago or not, cannot hang the open itself.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(self.path, flags if self.follow else flags | getattr(os, "O_NOFOLLOW", 0))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            msg = "not a regular file"
            raise FileError(msg, code="not_a_file")
        return os.fdopen(handle, "rb")

    def beside(self, name: str) -> DiskFile:
        """Another file in the same folder."""
        return DiskFile(self.path.with_name(name), self.follow)


@dataclass(frozen=True, slots=True)
class ZipMember:
    """A member of a zip archive, read in place."""

    archive: Path
    member: str

    @property
    def name(self) -> str:
        """Member name without its folders."""
        return self.member.rpartition("/")[2]

    def size(self) -> int:
        """Number of bytes once inflated, as the archive declares it; reading never gives more."""
        return self._info().file_size

    def open(self) -> BinaryIO:
        """Open for reading."""
        info = self._info()
        try:
            return cast(BinaryIO, _directory(self.archive).open(info))
        except (NotImplementedError, RuntimeError, ValueError, OverflowError, zipfile.BadZipFile) as error:
            msg = f"damaged or of an unusual kind: {error}"
            raise FileError(msg, code="damaged") from error

    def _info(self) -> zipfile.ZipInfo:
        try:
            return _directory(self.archive).getinfo(self.member)
        except KeyError:
            msg = f"{self.member} is not in {self.archive.name}"
            raise FileNotFoundError(msg) from None
        except zipfile.BadZipFile as error:
            msg = f"{self.archive.name} is damaged: {error}"
            raise FileError(msg, code="damaged") from error

    def beside(self, name: str) -> ZipMember:
        """Another member of the same folder."""
        folder, slash, _ = self.member.rpartition("/")
        return ZipMember(self.archive, f"{folder}{slash}{name}")


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A small file that exists in memory only."""

    name: str
    content: bytes

    def size(self) -> int:
        """Number of bytes."""
        return len(self.content)

    def open(self) -> BinaryIO:
        """Open for reading."""
        return io.BytesIO(self.content)

    def beside(self, name: str) -> File:
        """It lies in no folder."""
        raise FileNotFoundError(name)


def _directory(path: Path) -> zipfile.ZipFile:
    """The archive, whose directory is read once and not once for every member."""
    status = path.stat()
    # Not across a fork: parent and child would share one position in the file.
    return _read_directory(path, (status.st_ino, status.st_size, status.st_mtime_ns, os.getpid()))


@lru_cache(maxsize=2)
def _read_directory(path: Path, _state: tuple[int, ...]) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


@dataclass(frozen=True)
class Folder:
    """The files of one case, where they are many: by their names below the case's folder."""

    name: str
    files: Mapping[str, File]

    def size(self) -> int:
        """Number of bytes of all files together."""
        return sum(file.size() for file in self.files.values())

    def open(self) -> BinaryIO:
        """A folder has no bytes of its own."""
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))

    def beside(self, name: str) -> File:
        """One of its files."""
        return self.files[name]


class HeldFile:
    """A file that is read once: what is hashed and what is measured are the same bytes.

    Hashing it keeps its content, if `most` bytes hold it, and whoever opens it then reads from memory. A file that was
    not hashed, or is larger, is opened as ever.
    """

    def __init__(self, file: File, *, most: int) -> None:
        self.file = file
        self._most = most
        self._content: NDArray[np.uint8] | None = None

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.file.name

    def size(self) -> int:
        """Number of bytes."""
        return self.file.size() if self._content is None else len(self._content) - PADDING

    def open(self) -> BinaryIO:
        """A fresh stream: of what is held, or of the file."""
        if self._content is None:
            return self.file.open()
        return cast(BinaryIO, io.BufferedReader(_Memory(self._content[:-PADDING].data)))

    def beside(self, name: str) -> File:
        """Another file in the same folder."""
        return self.file.beside(name)

    def padded(self) -> NDArray[np.uint8] | None:
        """What is held, then a line end and zeros, `PADDING` bytes in all; None if nothing is."""
        return self._content

    def digest(self) -> str:
        """SHA-256 of its bytes, in hexadecimal; they are held from now on."""
        if self._content is None:
            self._content = self._load()
        if self._content is None:
            return digest(self.file)
        return hashlib.sha256(self._content[:-PADDING].data).hexdigest()

    def _load(self) -> NDArray[np.uint8] | None:
        """All bytes of the file with the padding behind them; None if they are too many, or not as many as it says."""
        size = self.file.size()
        if size > self._most:
            return None
        content = np.empty(size + PADDING, np.uint8)
        with _telling_damage(self.file), self.file.open() as stream:
            done = 0
            while done < size and (count := stream.readinto(content[done:size].data)):  # type: ignore[attr-defined]
                done += count
            if done < size or stream.read(1):
                return None
        content[size] = ord("\n")
        content[size + 1 :] = 0
        return content


class _Memory(io.RawIOBase):
    """A stream of bytes that somebody else keeps; nothing is copied before it is read."""

    def __init__(self, content: memoryview) -> None:
        self._content = content
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self._content)}[whence]
        self._at = min(max(start + offset, 0), len(self._content))
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        piece = self._content[self._at : self._at + len(view)]
        view[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def hold(file: File, *, most: int) -> File:
    """The same file, or folder of files, to be read once; as it is, if its bytes are more than `most`."""
    if isinstance(file, Folder):
        if file.size() > most:
            return file
        return Folder(file.name, {name: HeldFile(member, most=most) for name, member in file.files.items()})
    return HeldFile(file, most=most)


def read_bytes(file: File, *, most: int) -> bytes:
    """A small file as a whole; one that is damaged, or longer than `most` bytes, is an `OSError`."""
    with _telling_damage(file), file.open() as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        msg = f"{file.name} is longer than {most:,} bytes"
        raise FileError(msg, code="too_large")
    return content


def digest(file: File) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; of a folder, of the names and hashes of its files."""
    if isinstance(file, Folder):
        lines = "".join(f"{name}\0{digest(member)}\n" for name, member in sorted(file.files.items()))
        return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
    if isinstance(file, HeldFile):
        return file.digest()
    with _telling_damage(file), file.open() as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


@contextmanager
def _telling_damage(file: File) -> Iterator[None]:
    """Let what an archive says of a damaged member become an error of the file."""
    try:
        yield
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        msg = f"{file.name} is damaged: {error}"
        raise FileError(msg, code="damaged") from error
