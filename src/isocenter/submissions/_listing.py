"""The files of a folder or a zip, listed without following, extracting or opening anything."""

from __future__ import annotations

import os
import stat
import zipfile
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath

from isocenter.problems import Problem
from isocenter.volumes import DiskFile, File, ZipMember

_MAX_MEMBERS = 100_000
# Answers lie at the top, or one or two folders down; nothing deeper is looked for.
_MAX_DEPTH = 8
# Deflate cannot do better than 1032:1; a member that claims to is a lie.
_MAX_RATIO = 1032
_MAX_NAME = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its name with `/` between folders, and what to read, or why it must not be read.

    Attributes
    ----------
    trouble
        Why it must not be read, in words; "" if it may.
    code
        The code of the trouble.
    """

    name: str
    file: File
    size: int
    trouble: str = ""
    code: str = "not_a_file"


@dataclass(frozen=True, slots=True)
class Listing:
    """What a folder or zip holds, and what is wrong with it as a whole."""

    name: str
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    folders: tuple[str, ...] = ()
    """Names of all folders, the empty ones too."""

    @property
    def size(self) -> int:
        """Bytes of all files together, inflated if it is a zip."""
        return sum(entry.size for entry in self.entries)


def list_files(path: str | os.PathLike[str], *, trusted: bool = False) -> Listing:
    """List a folder or a zip.

    Parameters
    ----------
    trusted
        The organisers' own data: symbolic links are followed. In a submission a link would read what is none of its
        business, so it is listed with its trouble.
    """
    path = Path(path)
    if path.is_dir():
        return _folder(path, trusted=trusted)
    try:
        if zipfile.is_zipfile(path):
            return _zip(path)
        path.stat()
        kind = "a damaged or cut off zip archive" if path.suffix == ".zip" else "neither a folder nor a zip archive"
    except zipfile.BadZipFile as error:
        kind = f"a damaged zip archive: {error}"
    return Listing(path.name, (), (Problem("refused", kind, file=path.name, code="bad_archive"),))


def _folder(root: Path, *, trusted: bool) -> Listing:
    entries: list[Entry] = []
    problems: list[Problem] = []
    seen: list[str] = []

    def cannot(error: OSError) -> None:
        name = Path(error.filename).relative_to(root).as_posix()
        message = f"a folder that cannot be read: {error.strerror}"
        problems.append(Problem("warning", message, file=name, code="not_looked_at"))

    for folder, folders, files in os.walk(root, followlinks=trusted, onerror=cannot):
        home = Path(folder)
        below = home.relative_to(root)
        above = f"{below.as_posix()}/" if below.parts else ""
        if len(below.parts) >= _MAX_DEPTH and folders:
            message = "what lies deeper than this is not looked at"
            problems.append(Problem("note", message, file=below.as_posix(), code="not_looked_at"))
            folders.clear()
        folders.sort()
        seen += [f"{above}{name}" for name in folders]
        links = [] if trusted else [name for name in folders if (home / name).is_symlink()]
        entries += [_entry(home / name, f"{above}{name}", trusted=trusted) for name in sorted(files + links)]
    return Listing(root.name or str(root), tuple(entries), tuple(problems), tuple(seen))


def _entry(path: Path, name: str, *, trusted: bool) -> Entry:
    file = DiskFile(path, follow=trusted)
    try:
        status = path.stat() if trusted else path.lstat()
    except OSError as error:
        return Entry(name, file, 0, f"cannot be looked at: {error.strerror}", "unreadable")
    if stat.S_ISREG(status.st_mode):
        return Entry(name, file, status.st_size)
    link = stat.S_ISLNK(status.st_mode)
    trouble = "a symbolic link; put the file itself there" if link else "not a regular file"
    return Entry(name, file, 0, trouble, "not_a_file")


def _zip(path: Path) -> Listing:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        damage = Problem("refused", f"the zip archive is damaged: {error}", file=path.name, code="bad_archive")
        return Listing(path.name, (), (damage,))
    if len(members) > _MAX_MEMBERS:
        message = f"{len(members):,} members; at most {_MAX_MEMBERS:,} are read"
        problem = Problem("refused", message, file=path.name, code="too_many_files")
        return Listing(path.name, (), (problem,))
    troubles = [_member_trouble(m) for m in members]
    problems = [
        Problem("refused", t, file=m.filename, code="unsafe_archive")
        for m, t in zip(members, troubles, strict=True)
        if t
    ]
    good = [m for m, trouble in zip(members, troubles, strict=True) if not trouble and not m.is_dir()]
    twice = [name for name, count in Counter(_slashes(m.filename) for m in members).items() if count > 1]
    repeated = "stands in the archive more than once"
    problems += [Problem("refused", repeated, file=name, code="unsafe_archive") for name in twice]
    problems += _overlaps(members)
    entries = tuple(
        Entry(_slashes(m.filename), ZipMember(path, m.filename), m.file_size)
        for m in sorted(good, key=lambda m: m.filename)
    )
    folders = {_slashes(m.filename).rstrip("/") for m in members if m.filename.endswith("/")}
    folders |= {parent.as_posix() for entry in entries for parent in PurePosixPath(entry.name).parents}
    return Listing(path.name, entries, tuple(problems), tuple(sorted(folders - {"."})))


def _member_trouble(member: zipfile.ZipInfo) -> str:
    """Why a member makes its whole archive unacceptable, or ""."""
    name = _slashes(member.filename)
    mode = stat.S_IFMT(member.external_attr >> 16)
    if name.startswith("/") or name[1:2] == ":" or ".." in name.split("/"):
        return "the name leads out of the archive; use plain names without .. or a leading /"
    if len(name) > _MAX_NAME or not (PurePosixPath(name).parts or member.filename.endswith("/")):
        return "not a file name"
    if mode == stat.S_IFLNK:
        return "a symbolic link; put the file itself there"
    if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "not a regular file"
    if member.flag_bits & 0x2041:
        return "protected by a password"
    if (
        member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        or member.flag_bits & 0x20
        or member.volume
    ):
        return "packed with an unusual method; use a plain zip (deflate)"
    if member.file_size > member.compress_size * _MAX_RATIO + 64:
        return f"claims to inflate {member.compress_size:,} bytes to {member.file_size:,}, which deflate cannot"
    return ""


def _overlaps(members: list[zipfile.ZipInfo]) -> list[Problem]:
    """Members that share bytes: the trick by which a few kilobytes inflate to terabytes."""
    ordered = sorted(members, key=lambda m: m.header_offset)
    return [
        Problem(
            "refused",
            f"shares its bytes with {second.filename!r}, as a zip bomb does",
            file=first.filename,
            code="unsafe_archive",
        )
        for first, second in pairwise(ordered)
        if first.header_offset + 30 + first.compress_size > second.header_offset
    ]


def _slashes(name: str) -> str:
    """Some zips made on Windows write backslashes, and some made by tar a ./ before every name."""
    return name.replace("\\", "/").removeprefix("./")
