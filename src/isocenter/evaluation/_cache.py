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


def prepared(folder: Path | None, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
    """What `make` returns, from the cache if it is there.

    A damaged entry is made anew. Two processes that make the same entry do not disturb each other.
    """
    if folder is None:
        return make()
    name = hashlib.sha256("\0".join(key).encode()).hexdigest()
    path = folder / "prepared" / name[:2] / f"{name}.pickle"
    try:
        value = pickle.loads(path.read_bytes())  # noqa: S301 (written by this user, into a folder of their own)
        os.utime(path)
        return value
    except Exception:  # not there, or cut off, or made by code that is gone
        value = make()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            pickle.dump(value, stream, protocol=pickle.HIGHEST_PROTOCOL)
        os.replace(partial, path)
    except OSError:  # a full disk must not cost the result
        return value
    return value


def prune(folder: Path | None, *, now: float | None = None) -> None:
    """Forget what nobody has asked for in 30 days."""
    if folder is None:
        return
    oldest = (time.time() if now is None else now) - _KEEP_SECONDS
    for path in (folder / "prepared").glob("*/*"):
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except OSError:
            continue
