"""A folder of outputs as the zip that is sent: the same bytes for the same files, so that a broken upload continues."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isocenter.problems import Problem

# What is packed already gains nothing by it, and takes as long.
_PACKED = (".gz", ".zip", ".png", ".jpg", ".npz", ".mp4")
_BEGINNING = (1980, 1, 1, 0, 0, 0)
_BLOCK = 1 << 20


def pack(folder: Path, to: Path, move: Callable[[int, int], None]) -> list[Problem]:
    """Zip a folder, without what operating systems leave behind; what is in the way, if it cannot be.

    Parameters
    ----------
    move
        Called with (bytes packed, bytes in all).
    """
    from isocenter.problems import Problem
    from isocenter.submissions import is_junk, list_files

    listing = list_files(folder)
    entries = [entry for entry in listing.entries if not is_junk(entry.name)]
    problems = [
        Problem("refused", entry.trouble, file=entry.name, code=entry.code) for entry in entries if entry.trouble
    ]
    problems += [replace(one, severity="refused") for one in listing.problems if one.severity != "note"]
    if not entries:
        problems.append(Problem("refused", "the folder holds no files", file=folder.name, code="no_output"))
    if problems:
        return problems
    done, total = 0, sum(entry.size for entry in entries)
    with zipfile.ZipFile(to, "w") as archive:
        for entry in sorted(entries, key=lambda entry: entry.name):
            member = zipfile.ZipInfo(entry.name, _BEGINNING)
            member.external_attr = 0o644 << 16
            member.create_system = 3
            packed = entry.name.lower().endswith(_PACKED)
            member.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            member.file_size = entry.size
            with (folder / entry.name).open("rb") as source, archive.open(member, "w") as target:
                shutil.copyfileobj(source, target, _BLOCK)
            done += entry.size
            move(done, total)
    return []


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
