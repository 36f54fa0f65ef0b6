"""Files that were released, looked into: what an archive holds, and the cases of it that can be looked at.

Of an archive its directory alone is read, and kept in memory for as long as file system and version say that nothing
changed. Volumes take much memory, so only so many cases are opened at once, and the last few stay open.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from isocenter.server import files
from isocenter.server.editions import code_of

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge as Code
    from isocenter.server.models import Release
    from isocenter.server.policy import Visit
    from isocenter.viewer import Look, Training

AT_ONCE = 3
"""Cases that are read at the same time, and cases that stay in memory."""
WAIT = 10
"""Seconds after which to ask again, if so many are being read."""

_MOST_FILES = 200_000  # of all archives whose directories are kept
_Key = tuple[object, ...]


class Busy(Exception):
    """Too many cases are being read; whoever asks again a little later gets theirs."""


class _Shelf:
    """What was read last, and what is being read."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._trainings: OrderedDict[_Key, Training] = OrderedDict()
        self._looks: OrderedDict[_Key, Look] = OrderedDict()
        self._coming: dict[_Key, Future[Look]] = {}

    def training(self, key: _Key, make: Callable[[], Training]) -> Training:
        """The archive, its directory read if it is not known."""
        with self._lock:
            found = self._trainings.get(key)
        if found is None:  # nobody else waits while it is read
            found = make()
        with self._lock:
            self._trainings[key] = found
            self._trainings.move_to_end(key)
            while len(self._trainings) > 1 and self._files() > _MOST_FILES:
                self._trainings.popitem(last=False)
        return found

    def _files(self) -> int:
        return sum(len(one.listing.entries) + len(one.listing.problems) for one in self._trainings.values())

    def look(self, key: _Key, make: Callable[[], Look]) -> Look:
        """The case, read once however many ask for it; `Busy` if that is one too many."""
        with self._lock:
            if key in self._looks:
                self._looks.move_to_end(key)
                return self._looks[key]
            coming = self._coming.get(key)
            if coming is None:
                if len(self._coming) >= AT_ONCE:
                    raise Busy
                mine = self._coming[key] = Future()
        return coming.result() if coming is not None else self._made(key, mine, make)

    def _made(self, key: _Key, mine: Future[Look], make: Callable[[], Look]) -> Look:
        try:
            found = make()
        except BaseException as error:
            with self._lock:
                del self._coming[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._coming[key]
            self._looks[key] = found
            while len(self._looks) > AT_ONCE:
                self._looks.popitem(last=False)
        mine.set_result(found)
        return found


_shelf = _Shelf()


def training_of(visit: Visit, release: Release) -> Training | None:
    """What a released file holds, and its cases; None if the file is gone.

    Whoever asks has made sure that the visitor may have the file.
    """
    from isocenter.viewer import open_training

    path = files.at(release.file)
    key = _key(visit, release, path)
    return None if key is None else _shelf.training(key, lambda: open_training(_code(visit, release), path))


def look(visit: Visit, release: Release, case: str) -> Look | None:
    """What there is to see of a case of a released file; None if there is no such case. Raises `Busy`."""
    training = training_of(visit, release)
    key = _key(visit, release, files.at(release.file))
    if training is None or key is None or case not in training.cases:
        return None
    return _shelf.look((*key, case), lambda: training.look(case))


def _code(visit: Visit, release: Release) -> Code:
    """The challenge as code; a file of no phase, or of one that is gone, is read as one of the last phase."""
    phases = [phase.name for phase in visit.edition.phases]
    phase = release.phase if release.phase in phases else visit.edition.last_phase.name
    return code_of(visit.challenge.version_id, phase)


def _key(visit: Visit, release: Release, path: Path) -> _Key | None:
    """The file as the file system knows it, and the rules under which it is read; None if there is no file."""
    if not path.is_file():
        return None
    status = path.stat()
    return str(path), status.st_size, status.st_mtime_ns, visit.challenge.version_id, release.phase
