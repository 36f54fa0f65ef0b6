"""The files of a study, in a folder or a zip, listed without following links and without extracting anything."""

from __future__ import annotations

import os
import stat
import zipfile
from collections import Counter
from pathlib import Path

from isocenter.volumes._files import DiskFile, File, ZipMember
from isocenter.volumes.dicom._dataset import DicomError

_MAX_FILES = 100_000
_MAX_DEPTH = 16
# Deflate cannot do better than 1032:1; a member that claims to is a lie.
_MAX_RATIO = 1032
# Of a zip once inflated: nothing is written, but members that share their bytes could keep a reader busy for ever.
_MAX_INFLATED = 1 << 36


def list_study(path: Path) -> tuple[list[tuple[str, File]], list[str]]:
    """Names with `/` between folders, and their files, sorted by name; and remarks on what was passed over.

    Raises
    ------
    DicomError
        If the path is neither a folder nor a sound zip, or holds more than anybody's study.
    OSError
        If it is not there.
    """
    remarks: list[str] = []
    if path.is_dir():
        found = _folder(path, remarks)
    else:
        path.stat()
        if not zipfile.is_zipfile(path):
            msg = f"{path.name}: neither a folder nor a zip archive"
            raise DicomError(msg, code="bad_archive")
        found = _zip(path, remarks)
    if len(found) > _MAX_FILES:
        msg = f"{path.name}: more than {_MAX_FILES:,} files"
        raise DicomError(msg, code="too_many_files")
    return sorted(found, key=lambda pair: pair[0]), remarks


def _folder(root: Path, remarks: list[str]) -> list[tuple[str, File]]:
    def cannot(error: OSError) -> None:
        remarks.append(f"{Path(error.filename).name}: a folder that cannot be read: {error.strerror}")

    found: list[tuple[str, File]] = []
    for folder, folders, files in os.walk(root, onerror=cannot):
        below = Path(folder).relative_to(root)
        if len(below.parts) >= _MAX_DEPTH and folders:
            remarks.append(f"{below.as_posix()}: what lies deeper than this is not looked at")
            folders.clear()
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*files, *links):
            path, shown = Path(folder, name), (below / name).as_posix()
            try:
                mode = path.lstat().st_mode
            except OSError as error:
                remarks.append(f"{shown}: cannot be looked at: {error.strerror}")
                continue
            if stat.S_ISREG(mode):
                found.append((shown, DiskFile(path, follow=False)))
            else:
                remarks.append(
                    f"{shown}: {'a symbolic link' if stat.S_ISLNK(mode) else 'not a regular file'}; passed over"
                )
        if len(found) > _MAX_FILES:
            break
    return found


def _zip(path: Path, remarks: list[str]) -> list[tuple[str, File]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        msg = f"{path.name}: a damaged zip archive: {error}"
        raise DicomError(msg, code="bad_archive") from error
    twice = next((name for name, count in Counter(m.filename for m in members).items() if count > 1), None)
    if twice is not None:
        msg = f"{path.name}: {twice} stands in the archive more than once"
        raise DicomError(msg, code="unsafe_archive")
    lying = next((m for m in members if m.file_size > m.compress_size * _MAX_RATIO + 64), None)
    if lying is not None or sum(m.file_size for m in members) > _MAX_INFLATED:
        msg = f"{path.name}: claims to inflate to more than a zip of this size can or a study has"
        raise DicomError(msg, code="unsafe_archive")
    found: list[tuple[str, File]] = []
    for member in members:
        if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
            remarks.append(f"{member.filename}: a symbolic link or another special file; passed over")
        elif member.flag_bits & 0x2041:
            remarks.append(f"{member.filename}: protected by a password; passed over")
        else:
            found.append((member.filename, ZipMember(path, member.filename)))
    return found
