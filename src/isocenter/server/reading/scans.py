"""The scans of a turn, as the browser of a reader takes them: NIfTI on their own grid, and nothing of any other turn.

Opening a scan costs memory, so few are opened at once; what was opened last is kept, up to a bound.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import BoundedSemaphore, Lock

import numpy as np

from isocenter.server import files
from isocenter.server.reading.turns import Turn
from isocenter.volumes import Volume, read

AT_ONCE = 2
"""How many scans are opened at the same time."""
KEPT = 192 * 1024**2
"""How many bytes of scans are kept in memory, at most."""

_openings = BoundedSemaphore(AT_ONCE)
_kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
_lock = Lock()


class Busy(Exception):
    """Others open scans just now; it is worth asking again in a moment."""


def names(turn: Turn) -> list[str]:
    """The scans of a turn, in the order of its stage; one that the case lacks is left out."""
    return [name for name in turn.stage.images if name in turn.assignment.case.images]


def scan(turn: Turn, name: str) -> bytes | None:
    """A scan of a turn as compressed NIfTI; None if it is none of this turn.

    Its voxels are those of the file, without interpolation, so a place on it is a place of the patient. It says from
    where to where it is shown at first: see `window`.

    Raises
    ------
    Busy
        Others open scans just now.
    OSError, ValueError
        The file is gone, or cannot be read.
    """
    if name not in names(turn):
        return None
    folder = files.place(turn.assignment.reader.study.folder)
    path = folder / turn.assignment.case.images[name]["file"]
    key = (str(path), str(path.stat().st_mtime_ns))
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    if not _openings.acquire(blocking=False):
        raise Busy
    try:
        found = _opened(path)
    finally:
        _openings.release()
    with _lock:
        _kept[key] = found
        while len(_kept) > 1 and sum(map(len, _kept.values())) > KEPT:
            _kept.popitem(last=False)
    return found


def _opened(path: Path) -> bytes:
    from isocenter.viewer import nifti

    volume = read(path)
    return nifti(volume.array, volume.grid, window=window(volume))


def window(volume: Volume) -> tuple[float, float]:
    """From which value to which a scan is shown at first: its 1st and its 99th percentile."""
    known = volume.array[np.isfinite(volume.array)]
    if not known.size:
        return 0.0, 1.0
    low, high = (float(value) for value in np.percentile(known, (1, 99)))
    return (low, high) if high > low else (low, low + 1.0)
