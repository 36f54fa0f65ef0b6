"""Prepared references on disk, by content: of the reference files, and of the code that prepared them."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from isocenter.volumes import DiskFile, File, Folder, HeldFile, ZipMember, digest

# A file that changed this recently may change again within one tick of the file system's clock.
_SETTLED_NANOSECONDS = 2_000_000_000
_KEEP_SECONDS = 30 * 24 * 3600


def cache_folder() -> Path | None:
    """Where prepared references are kept, or None if they are not.

    `ISOCENTER_CACHE` names the folder, or says `off`; otherwise `isocenter` in the user's cache folder.
    """
    named = os.environ.get("ISOCENTER_CACHE", "")
    if named == "off":
        return None
    home = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "isocenter"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = home.stat()
    except (OSError, RuntimeError):
        return None
    # The entries are pickles, and a pickle runs code: a folder that others can write to is none of ours.
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        return None
    return home


def reference_digest(folder: Path | None, file: File) -> str:
    """The hash of the organisers' file or folder, remembered for as long as the file system says that it is the same.

    Hashing a cohort takes as long as scoring it. What is asked of the file system (device, inode, size, and the times
    of the last change of content and of status) cannot stay the same when somebody writes to the file, except within
    one tick of its clock: a file that was changed just now is hashed again.
    """
    if folder is None or (state := _state(file)) is None:
        return digest(file)
    stamp, newest = state
    name = hashlib.sha256(stamp.encode("utf-8", "surrogateescape")).hexdigest()
    path = folder / "digests" / name[:2] / name
    try:
        known = path.read_text(encoding="ascii")
        if len(known) == 64:
            return known
    except (OSError, UnicodeDecodeError):
        pass
    found = digest(file)
    if time.time_ns() - newest > _SETTLED_NANOSECONDS and _state(file) == state:
        _store(path, found.encode("ascii"))
    return found


def _state(file: File) -> tuple[str, int] | None:
    """What the file system says of a file, and when it last changed; None for what is no file of its own."""
    if isinstance(file, Folder):
        parts = [(name, _state(member)) for name, member in sorted(file.files.items())]
        found = [(name, part) for name, part in parts if part is not None]
        if not found or len(found) < len(parts):
            return None
        return "\n".join(f"{name}\0{part[0]}" for name, part in found), max(part[1] for _, part in found)
    if isinstance(file, HeldFile):
        return _state(file.file)
    if isinstance(file, DiskFile):
        path, member = file.path, ""
    elif isinstance(file, ZipMember):
        path, member = file.archive, file.member
    else:
        return None
    status = path.stat()
    stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return f"{path.absolute()}\0{member}\0{stamp}", max(status.st_mtime_ns, status.st_ctime_ns)


def prepared(folder: Path | None, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
    """What `make` returns, from the cache if it is there.

    A damaged entry is made anew. Two processes that make the same entry do not disturb each other.
    """
    if folder is None:
        return make()
    name = hashlib.sha256("\0".join(key).encode()).hexdigest()
    path = folder / "prepared" / name[:2] / f"{name}.pickle"
    try:
        with path.open("rb") as stream:  # arrays are read into their own memory, and not cut out of the whole
            value = pickle.load(stream)  # noqa: S301 (written by this user, into a folder of their own)
        os.utime(path)
        return value
    except Exception:  # not there, or cut off, or made by code that is gone
        value = make()
    _store(path, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
    return value


def _store(path: Path, content: bytes) -> None:
    """Write an entry whole, or not at all: a full disk must not cost the result."""
    partial = ""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(partial, path)
    except OSError:
        if partial:
            Path(partial).unlink(missing_ok=True)


def prune(folder: Path | None, *, now: float | None = None) -> None:
    """Forget what nobody has asked for in 30 days."""
    if folder is None:
        return
    oldest = (time.time() if now is None else now) - _KEEP_SECONDS
    for path in (*(folder / "prepared").glob("*/*"), *(folder / "digests").glob("*/*")):
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except OSError:
            continue
