"""Label maps, kept only where there is something to keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes._grid import Grid
from isocenter.volumes._header import VolumeError

Corner = tuple[int, int, int]

# Labels up to which each is looked for by itself; and voxels of an array that are looked at together.
_FEW = 16
_PIECE = 1 << 17


@dataclass(frozen=True, eq=False)
class LabelMap:
    """A volume of labels, of which only the bounding box of what is not 0 is held.

    A tumour fills a thousandth of its scan: 40 kB instead of 40 MB, and every count and distance is as much quicker.

    Attributes
    ----------
    grid
        The whole grid.
    box
        Labels inside the bounding box, axes (x, y, z), unsigned integers; empty if the map is.
    corner
        Index of the first voxel of the box.
    labels
        The labels that occur, without 0, in ascending order.
    """

    grid: Grid
    box: NDArray[Any]
    corner: Corner
    labels: tuple[int, ...]

    @classmethod
    def from_array(cls, array: NDArray[Any], grid: Grid) -> LabelMap:
        """The map of a whole array of whole numbers."""
        if array.shape != grid.shape:
            msg = f"the array has shape {array.shape}, its grid {grid.shape}"
            raise ValueError(msg)
        builder = LabelMapBuilder(grid)
        flat = np.asarray(array).ravel(order="F")
        for start in range(0, flat.size, _PIECE):
            builder.add(start, flat[start : start + _PIECE])
        return builder.finish()

    @property
    def array(self) -> NDArray[Any]:
        """All voxels, also the zeros."""
        whole = np.zeros(self.grid.shape, dtype=self.box.dtype, order="F")
        whole[self._slices] = self.box
        return whole

    @property
    def empty(self) -> bool:
        """Whether every voxel is 0."""
        return not self.labels

    @property
    def _slices(self) -> tuple[slice, ...]:
        return tuple(slice(c, c + n) for c, n in zip(self.corner, self.box.shape, strict=True))


def side_by_side(
    first: LabelMap, second: LabelMap, *, labels: Iterable[int] | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two maps as boolean arrays of one shape, cut to the box that holds the foreground of both.

    Counts and distances of foreground are the same inside the box as in the whole volume, and much cheaper.

    Parameters
    ----------
    labels
        Which labels are foreground; all but 0 if not said.
    """
    if first.grid.shape != second.grid.shape:
        msg = f"maps on different grids: {first.grid} and {second.grid}"
        raise ValueError(msg)
    wanted = None if labels is None else tuple(labels)
    present = [m for m in (first, second) if not m.empty]
    low = np.min([m.corner for m in present], axis=0) if present else np.zeros(3, dtype=int)
    high = np.max([np.add(m.corner, m.box.shape) for m in present], axis=0) if present else low
    shape = tuple(int(n) for n in high - low)
    return _placed(first, wanted, low, shape), _placed(second, wanted, low, shape)


def _placed(
    labels: LabelMap, wanted: tuple[int, ...] | None, low: NDArray[Any], shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    mask = np.zeros(shape, dtype=np.bool_, order="F")
    if not labels.empty:
        start = np.subtract(labels.corner, low)
        inside = tuple(slice(s, s + n) for s, n in zip(start, labels.box.shape, strict=True))
        mask[inside] = labels.box != 0 if wanted is None else np.isin(labels.box, wanted)
    return mask


class LabelMapBuilder:
    """Collects a label map from pieces of the flat volume, as they come out of a compressed file.

    Labels go straight to their place in one array, which begins with the first slice that has foreground and grows to
    the last one. The box is cut out inside it, so that there is never a second copy.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._plane = grid.shape[0] * grid.shape[1]
        self._base = 0  # where the array begins
        self._last = -1  # of what is not 0
        self._held: NDArray[Any] = np.zeros(0, np.uint8)
        self._shadow: NDArray[Any] = np.zeros(0, np.uint16)  # all slices laid upon each other
        self._labels: set[int] = set()

    def add(self, start: int, values: NDArray[Any]) -> None:
        """Take voxels `start` … `start + len(values) - 1`, x running fastest.

        Pieces come in the order of the volume; pieces of zeros may be left out.
        """
        filled = values != 0
        before = int(filled.argmax())
        if not filled[before]:
            return
        piece = _whole_numbers(values[before : values.size - int(filled[::-1].argmax())])
        start += before
        if self._last < 0:
            self._base = start - start % self._plane
            self._shadow = np.zeros(self._plane, np.uint16)
        self._last = start + piece.size - 1
        self._make_room(piece.dtype)
        self._held[start - self._base : start - self._base + piece.size] = piece
        self._cast_shadow(start % self._plane, piece)
        self._note_labels(piece)

    def _make_room(self, kind: np.dtype[Any]) -> None:
        """Let the array reach to the end of the last slice, and hold labels of this kind."""
        if kind.itemsize > self._held.itemsize:
            self._held = self._held.astype(kind)
        needed = self._last - self._last % self._plane + self._plane - self._base
        if needed > self._held.size:
            # A quarter more each time, so that all growing together costs little.
            room = min(needed + needed // 4 // self._plane * self._plane, self._grid.voxels - self._base)
            self._held.resize(room, refcheck=False)

    def _cast_shadow(self, start: int, piece: NDArray[Any]) -> None:
        """Mark where along x and y the piece, which begins at `start` of a slice, has labels."""
        if start:
            head = piece[: self._plane - start]
            self._shadow[start : start + head.size] |= head
            piece = piece[head.size :]
        slices = piece.size // self._plane
        if slices:
            whole = piece[: slices * self._plane].reshape(slices, self._plane)
            self._shadow |= np.bitwise_or.reduce(whole, axis=0)
        tail = piece[slices * self._plane :]
        self._shadow[: tail.size] |= tail

    def _note_labels(self, piece: NDArray[Any]) -> None:
        highest = int(piece.max())
        if highest > _FEW:
            self._labels.update(int(label) for label in np.flatnonzero(np.bincount(piece)) if label)
            return
        # A comparison is far quicker than counting, and soon all labels are known.
        for label in range(1, highest + 1):
            if label not in self._labels and (label == highest or (piece == label).any()):
                self._labels.add(label)

    def finish(self) -> LabelMap:
        """The map of all that was added; the builder is used up."""
        if self._last < 0:
            return LabelMap(self._grid, np.zeros((0, 0, 0), dtype=np.uint8), (0, 0, 0), ())
        columns, rows, _ = self._grid.shape
        filled = self._shadow.reshape(rows, columns) != 0
        y, x = (np.flatnonzero(filled.any(axis=axis)) for axis in (1, 0))
        across, down = slice(int(x[0]), int(x[-1]) + 1), slice(int(y[0]), int(y[-1]) + 1)
        shape = (across.stop - across.start, down.stop - down.start, (self._last - self._base) // self._plane + 1)
        # Slice by slice to the front of the array, of which the rest is then given back.
        size = shape[0] * shape[1]
        if size < self._plane:
            for z in range(shape[2]):
                plane = self._held[z * self._plane : (z + 1) * self._plane].reshape(rows, columns)
                self._held[z * size : (z + 1) * size] = plane[down, across].reshape(-1)
        self._held.resize(size * shape[2], refcheck=False)
        corner = (across.start, down.start, self._base // self._plane)
        return LabelMap(self._grid, self._held.reshape(shape, order="F"), corner, tuple(sorted(self._labels)))


def _whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Values as small unsigned integers, or an error that names one that is none."""
    low, high = values.min(), values.max()
    if low >= 0 and high <= 65535:  # false if anything is not a number
        labels = values.astype(np.uint8 if high <= 255 else np.uint16, copy=False)
        if values.dtype.kind != "f" or bool((labels == values).all()):
            return labels
    raise _refusal(values)


def _refusal(values: NDArray[Any]) -> VolumeError:
    if values.dtype.kind == "f":
        finite = np.isfinite(values)
        if not finite.all():
            msg = f"holds {values[~finite][0]}; labels are whole numbers"
            return VolumeError(msg, code="nan")
        fractional = values != np.rint(values)
        if fractional.any():
            msg = f"holds the fractional value {values[fractional][0]:.6g}; labels are whole numbers"
            return VolumeError(msg, code="bad_values")
    low, high = values.min(), values.max()
    msg = f"holds the value {low if low < 0 else high:g}; labels lie between 0 and 65535"
    return VolumeError(msg, code="bad_values")
