"""A mask as bits: eight voxels to a byte, and only the rows that hold foreground.

Many masks of a case are held at once, so each has to be small. A tumour takes some kilobytes this way, and so do a
hundred scattered voxels, around which a box would hold the whole scan. What is still large (the body, or everything)
is deflated plane by plane.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from isocenter.ensembles._error import EnsembleError
from isocenter.volumes import LabelMap

Corner = tuple[int, int, int]

_SMALL = 1 << 16  # bytes of words that are never deflated, nor is a sixty-fourth of what the mask itself would take


@dataclass(frozen=True, eq=False)
class Ballot:
    """A mask as bits.

    Attributes
    ----------
    shape
        Of the whole volume, axes (x, y, z).
    rows
        Plane z and row y of each row that holds foreground, in this order; n×2.
    words
        Its voxels, n×m: bit b of word w is voxel x = start + 64·w + b. Of a large mask, deflated by plane.
    start
        The x of the first bit.
    low, high
        The bounding box of the foreground: its first voxel, and one past its last.
    """

    shape: tuple[int, ...]
    rows: NDArray[np.int32]
    words: NDArray[np.uint64] | Mapping[int, bytes]
    start: int
    low: Corner
    high: Corner

    @property
    def empty(self) -> bool:
        """Whether nothing is marked."""
        return len(self.rows) == 0

    @property
    def width(self) -> int:
        """How many voxels a row of words has, from `start` on."""
        return 64 * -(-(self.high[0] - self.start) // 64)

    def planes(self, first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """Rows and words of the planes from `first` to before `last`."""
        a, b = np.searchsorted(self.rows[:, 0], (first, last))
        if isinstance(self.words, np.ndarray):
            return self.rows[a:b], self.words[a:b]
        # A bytearray, as numba would compile the loops once more for words that cannot be written to.
        data = bytearray().join(zlib_ng.decompress(self.words[z]) for z in range(first, last) if z in self.words)
        return self.rows[a:b], np.frombuffer(data, dtype="<u8").reshape(b - a, self.width // 64)

    def digest(self) -> str:
        """A fingerprint of the mask: the same voxels, the same text."""
        found = hashlib.sha256(np.array([*self.shape, *self.low, *self.high], dtype=np.int64).tobytes())
        shift, columns = self.low[0] - self.start, self.high[0] - self.low[0]
        for z in range(self.low[2], self.high[2]):
            rows, words = self.planes(z, z + 1)
            voxels = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")[:, shift : shift + columns]
            found.update(rows.tobytes() + np.packbits(voxels).tobytes())
        return found.hexdigest()

    def inside(self, low: Corner, high: Corner) -> int:
        """How many marked voxels lie in a box."""
        columns = self.start + np.arange(self.width)
        wanted = np.packbits((columns >= low[0]) & (columns < high[0]), bitorder="little").view("<u8")
        total = 0
        for z in range(max(low[2], self.low[2]), min(high[2], self.high[2])):
            rows, words = self.planes(z, z + 1)
            chosen = (rows[:, 1] >= low[1]) & (rows[:, 1] < high[1])
            total += int(np.bitwise_count(words[chosen] & wanted).sum())
        return total


def pack(mask: LabelMap | NDArray[Any], *, labels: Sequence[int] | None = None) -> Ballot:
    """The ballot of a mask: a label map, or a whole array with axes (x, y, z), quickest in Fortran order.

    Parameters
    ----------
    labels
        Which labels are foreground; all but 0 if not said.
    """
    box, corner, shape = (
        (mask.box, mask.corner, mask.grid.shape) if isinstance(mask, LabelMap) else (mask, (0, 0, 0), mask.shape)
    )
    if box.ndim != 3 or box.dtype.kind not in "bui":
        msg = f"a mask is an array of booleans or labels with three axes, not {box.dtype} with {box.ndim}"
        raise EnsembleError(msg)
    bits = _bits(box.T, labels)
    columns = np.zeros(bits.shape[2], dtype=np.uint64)
    taken = np.zeros(bits.shape[:2], dtype=np.bool_)
    _find(bits, taken, columns)
    rows = np.argwhere(taken).astype(np.int32)
    if len(rows) == 0:
        return blank(shape)
    words = bits[taken]
    marked = np.flatnonzero(np.unpackbits(columns.view(np.uint8), bitorder="little"))
    x, y, z = corner
    rows += np.array([z, y], dtype=np.int32)
    low = (x + int(marked[0]), int(rows[:, 1].min()), int(rows[0, 0]))
    high = (x + int(marked[-1]) + 1, int(rows[:, 1].max()) + 1, int(rows[-1, 0]) + 1)
    words = words[:, : -(-(high[0] - x) // 64)]
    small = words.nbytes <= max(_SMALL, math.prod(shape) // 64)
    kept = np.ascontiguousarray(words) if small else _deflated(rows, words)
    return Ballot(tuple(shape), rows, kept, x, low, high)


def blank(shape: Sequence[int]) -> Ballot:
    """The ballot of who marks nothing."""
    nothing = np.zeros((0, 2), dtype=np.int32), np.zeros((0, 0), dtype=np.uint64)
    return Ballot(tuple(shape), *nothing, 0, (0, 0, 0), (0, 0, 0))


def around(ballots: Sequence[Ballot]) -> tuple[Corner, Corner]:
    """The bounding box of the foreground of all: its first voxel, and one past its last."""
    marked = [ballot for ballot in ballots if not ballot.empty]
    if not marked:
        return (0, 0, 0), (0, 0, 0)
    low = np.min([ballot.low for ballot in marked], axis=0)
    high = np.max([ballot.high for ballot in marked], axis=0)
    return tuple(low.tolist()), tuple(high.tolist())


def _bits(rows: NDArray[Any], labels: Sequence[int] | None) -> NDArray[np.uint64]:
    """Rows of voxels, axes (z, y, x), as words of 64 bits; the last word of a row ends in zeros."""
    if labels is not None:
        planes = [_bits(np.isin(rows[z : z + 1], labels), None) for z in range(len(rows))]
        return np.concatenate(planes) if planes else np.zeros((0, 0, 0), dtype=np.uint64)
    if rows.shape[2] % 64 == 0 and rows.flags.c_contiguous:  # as one long row, which is twice as quick
        flat = np.packbits(rows.reshape(-1), bitorder="little").view("<u8")
        return flat.reshape(*rows.shape[:2], rows.shape[2] // 64)
    packed = np.packbits(rows, axis=-1, bitorder="little")
    missing = -packed.shape[2] % 8
    padded = np.pad(packed, ((0, 0), (0, 0), (0, missing))) if missing else packed
    return np.ascontiguousarray(padded).view("<u8")


def _deflated(rows: NDArray[np.int32], words: NDArray[np.uint64]) -> dict[int, bytes]:
    """Words by plane, deflated."""
    planes, starts = np.unique(rows[:, 0], return_index=True)
    parts = zip(planes.tolist(), np.split(words, starts[1:]), strict=True)
    return {z: zlib_ng.compress(part.tobytes(), 1) for z, part in parts}


@njit(nogil=True, cache=True)
def _find(bits: NDArray[np.uint64], taken: NDArray[np.bool_], columns: NDArray[np.uint64]) -> None:
    """Which rows hold foreground, and in which columns it lies."""
    for k in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            for w in range(bits.shape[2]):
                if bits[k, j, w] != 0:
                    columns[w] |= bits[k, j, w]
                    taken[k, j] = True
