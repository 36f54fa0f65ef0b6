"""Numbers as pictures: PNG from the standard library, two colour maps, and the outline of a mask."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

# Two maps made to be read by everyone: viridis, whose lightness only rises, so that it survives a grey print, and
# ColorBrewer's RdBu, whose middle is the neutral one.
_SEQUENTIAL = "440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725"
_DIVERGING = "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f"

Point = tuple[int, int]


def palette(*, diverging: bool) -> NDArray[np.uint8]:
    """255 colours, 255×3: dark to light, or blue over white (number 127) to red."""
    anchors = (_DIVERGING if diverging else _SEQUENTIAL).split()
    colours = np.array([list(bytes.fromhex(anchor)) for anchor in anchors], dtype=np.float64)
    places = np.linspace(0, len(anchors) - 1, 255)
    channels = [np.interp(places, np.arange(len(anchors)), colours[:, channel]) for channel in range(3)]
    return np.rint(np.column_stack(channels)).astype(np.uint8)


def coloured(values: NDArray[np.float64], *, low: float, high: float, diverging: bool) -> str:
    """An array of rows and columns as a PNG in a data address; values beyond `low` and `high` have the last colours."""
    share = (values - low) / (high - low)
    numbers = np.rint(share.clip(0, 1) * 254).astype(np.uint8)
    return f"data:image/png;base64,{base64.b64encode(png(numbers, palette(diverging=diverging))).decode('ascii')}"


def png(numbers: NDArray[np.uint8], colours: NDArray[np.uint8]) -> bytes:
    """A PNG of numbered colours; the same bytes for the same array, as there is no date or name of a program in it."""
    height, width = numbers.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each row begins with its filter, 0: as it is
    rows[:, 1:] = numbers
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, numbered colours
    chunks = (
        (b"IHDR", header),
        (b"PLTE", colours.tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def outlines(mask: NDArray[np.bool_]) -> list[list[tuple[float, float]]]:
    """The closed lines between what is in a mask and what is not, half way between pixel centres; in pixels.

    Marching squares: each square of four centres is crossed by at most two pieces of line, and pieces are joined at the
    sides of squares. Where two pixels touch at a corner only, the line keeps them together.

    Examples
    --------
    >>> outlines(np.ones((1, 1), dtype=bool))
    [[(-0.5, 0.0), (0.0, -0.5), (0.5, 0.0), (0.0, 0.5)]]
    """
    padded = np.pad(mask, 1)
    corners = padded[:-1, :-1], padded[1:, :-1], padded[1:, 1:], padded[:-1, 1:]
    count = sum(corner.astype(np.int8) for corner in corners)
    after: dict[Point, Point] = {}
    for i, j in np.argwhere((count > 0) & (count < 4)).tolist():
        # Sides of the square as it is walked around, in halves of a pixel so that they are whole numbers.
        sides = ((2 * i + 1, 2 * j), (2 * i + 2, 2 * j + 1), (2 * i + 1, 2 * j + 2), (2 * i, 2 * j + 1))
        within = [bool(corner[i, j]) for corner in corners]
        for side in range(4):
            if within[side] and not within[(side + 1) % 4]:  # out here, and back in at the next side where it is so
                back = next(s % 4 for s in range(side + 1, side + 4) if within[(s + 1) % 4])
                after[sides[side]] = sides[back]
    found = []
    while after:
        start = min(after)
        line, point = [start], after.pop(start)
        while point != start:
            line.append(point)
            point = after.pop(point)
        found.append([(x / 2 - 1, y / 2 - 1) for x, y in _straightened(line)])
    return found


def _straightened(line: list[Point]) -> list[Point]:
    """A closed line without the points in the middle of straight pieces."""
    around = zip([line[-1], *line[:-1]], line, [*line[1:], line[0]], strict=True)
    return [
        here
        for before, here, after in around
        if (here[0] - before[0]) * (after[1] - here[1]) != (here[1] - before[1]) * (after[0] - here[0])
    ]
