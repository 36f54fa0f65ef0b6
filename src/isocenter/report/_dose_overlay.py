"""What is drawn over and under the pictures of a dose: outlines and their names, a ruler, letters, colour bars."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.metrics import Metric
from isocenter.report._dose_image import coloured, outlines
from isocenter.report._scale import axis_for, fit

PANEL, GAP, HEAD = 286.0, 21.0, 26.0  # width of a panel, between two, and above them for names; in units of the picture

Box = tuple[float, float, float, float]

_AROUND = [(math.cos(turn), math.sin(turn)) for turn in np.arange(8) * math.pi / 4]  # eight directions to put a name


@dataclass(frozen=True, slots=True)
class Frame:
    """What of the slice is shown, and how large: picture units per millimetre, and size of a panel."""

    box: tuple[slice, slice]
    spacing: tuple[float, float]
    scale: float
    width: float
    height: float


def left_of(number: int, frame: Frame) -> float:
    """Where a panel begins; one narrower than its place stands in the middle of it."""
    return number * (PANEL + GAP) + (PANEL - frame.width) / 2


def _at(number: int, place: tuple[float, float], frame: Frame) -> tuple[float, float]:
    """A place in pixels of the box, in the picture."""
    x, y = ((p + 0.5) * s * frame.scale for p, s in zip(place, frame.spacing, strict=True))
    return left_of(number, frame) + x, HEAD + y


def outlined(masks: Mapping[str, NDArray[np.bool_]], number: int, frame: Frame) -> Markup:
    """Outlines with a casing, so that they are seen on any colour."""
    parts = []
    for key, mask in masks.items():
        lines = []
        for line in outlines(mask):
            points = (_at(number, place, frame) for place in line)
            lines.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z")
        kind = 1 if number == 2 else 0
        pair = Markup('<path class="case{k}" d="{d}"/><path class="line{k}" d="{d}"><title>{}</title></path>')
        parts.append(pair.format(key, k=kind, d="".join(lines)))
    return Markup("").join(parts)


def named(masks: Mapping[str, NDArray[np.bool_]], frame: Frame, *, taken: Sequence[Box]) -> Markup:
    """The names of the structures in the first panel, each at the end of a short line from its outline.

    Many places are tried; the best is within the panel, hides no outline and no other name, is not crowded by one, and
    begins where the outline is not that of a neighbour too.
    """
    lines = {
        key: np.array([_at(0, place, frame) for line in outlines(mask) for place in line])
        for key, mask in masks.items()
    }
    boxes = list(taken)
    parts = []
    for key in sorted(lines, key=lambda key: len(lines[key])):  # small ones first: they have fewer places
        text = fit(key, 20)
        others = np.concatenate([points for other, points in lines.items() if other != key] or [np.empty((0, 2))])
        everything = np.concatenate(list(lines.values()))
        options: list[tuple[float, int, Box, NDArray[np.float64], NDArray[np.float64]]] = []
        for start in lines[key][:: max(1, len(lines[key]) // 48)]:
            shared = int((np.hypot(*(others - start).T) < 4).any())
            for reach, (right, down) in itertools.product((12.0, 24.0, 38.0), _AROUND):
                end = start + reach * np.array([right, down])
                box = _box(end, text, right)
                hidden = _count_inside(everything, box)
                crowded = sum(_crowding(box, other) for other in boxes)
                cost = 5 * _beyond(box, frame) + crowded + 6 * hidden + 8 * shared + reach / 4
                options.append((cost, len(options), box, start, end))
        _, _, box, start, end = min(options)
        boxes.append(box)
        leader = f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"
        drawn = Markup('<path class="case0" d="{d}"/><path class="line0" d="{d}"/>').format(d=leader)
        words = Markup('<text class="small on" x="{:.1f}" y="{:.1f}">{}</text>').format(box[0] + 2, box[1] + 11, text)
        parts.append(drawn + words)
    return Markup("").join(parts)


def _box(end: NDArray[np.float64], text: str, right: float) -> Box:
    """Where a text lies at the end of a line that goes to the right (or left, or up and down) to it."""
    wide = 6.9 * len(text) + 4
    x = float(end[0]) - (0 if right > 0.1 else wide if right < -0.1 else wide / 2)
    return x, float(end[1]) - 7, x + wide, float(end[1]) + 7


def _beyond(box: Box, frame: Frame) -> float:
    left, bottom = left_of(0, frame), HEAD + frame.height
    across = max(0.0, left + 2 - box[0]) + max(0.0, box[2] - left - frame.width + 2)
    return across + max(0.0, HEAD + 2 - box[1]) + max(0.0, box[3] - bottom + 2)


def _count_inside(points: NDArray[np.float64], box: Box) -> int:
    return int(((points > box[:2]) & (points < box[2:])).all(axis=1).sum())


def _crowding(one: Box, other: Box) -> float:
    """How bad it is that two texts are so near: much where they overlap, nothing from some distance on."""
    across = max(one[0], other[0]) - min(one[2], other[2])
    down = max(one[1], other[1]) - min(one[3], other[3])
    if across < 0 and down < 0:
        return 20 + across * down
    return max(0.0, 20 - math.hypot(max(across, 0.0), max(down, 0.0)))


def ruler(frame: Frame) -> tuple[Markup, Box]:
    """A length in millimetres, at the lower left of the first panel, and the place it takes."""
    room = frame.width / frame.scale / 3
    length = next((mm for mm in (100, 50, 20, 10, 5, 2, 1) if mm <= room), room)
    x, y = left_of(0, frame) + 10, HEAD + frame.height - 10
    bar = Markup('<path class="{}" d="M{:.1f} {y:.1f}v-5v5h{:.1f}v-5"/>')
    parts = [bar.format(css, x, length * frame.scale, y=y) for css in ("case0", "line0")]
    parts.append(Markup('<text class="small on" x="{:.1f}" y="{:.1f}">{:g} mm</text>').format(x + 3, y - 8, length))
    return Markup("").join(parts), (x, y - 20, x + max(length * frame.scale, 50), y + 4)


def direction_letters(letters: str, frame: Frame) -> tuple[Markup, list[Box]]:
    """Left, right, above and below, just inside the first panel, and the places they take."""
    left, right = left_of(0, frame) + 5, left_of(0, frame) + frame.width - 5
    middle, bottom = (left + right) / 2, HEAD + frame.height
    height = HEAD + frame.height / 2 + 4
    places = [("", left, height), ("end", right, height), ("middle", middle, HEAD + 14), ("middle", middle, bottom - 5)]
    text = Markup('<text class="small on {}" x="{:.1f}" y="{:.1f}">{}</text>')
    drawn = [text.format(*place, letter) for place, letter in zip(places, letters, strict=False)]
    return Markup("").join(drawn), [(x - 10, y - 12, x + 10, y + 3) for _, x, y in places[: len(drawn)]]


def extremes(difference: NDArray[np.float64], frame: Frame) -> Markup:
    """Triangles with the value where the team gives most too much, upwards, and most too little, downwards."""
    triangle = Markup('<path class="mark" d="M{:.1f} {:.1f}l5 {}h-10Z"/>')
    words = Markup('<text class="small under {}" x="{:.1f}" y="{:.1f}">{} Gy</text>')
    parts = []
    for index, up in ((difference.argmax(), True), (difference.argmin(), False)):
        column, row = (int(i) for i in np.unravel_index(int(index), difference.shape))
        value = float(difference[column, row])
        if value == 0 or (value > 0) != up:
            continue
        x, y = _at(2, (column, row), frame)
        right = x < left_of(2, frame) + frame.width * 0.7
        low = min(max(y + 4.5, HEAD + 12), HEAD + frame.height - 4)
        parts.append(triangle.format(x, y - 5 if up else y + 5, 9 if up else -9))
        parts.append(words.format("" if right else "end", x + (11 if right else -11), low, signed(value)))
    return Markup("").join(parts)


def colour_bar(
    first: int, panels: int, *, low: float, high: float, diverging: bool, clipped: tuple[bool, bool], frame: Frame
) -> Markup:
    """A colour bar under one panel or two, with round numbers and the unit."""
    left = left_of(first, frame)
    width = left_of(first + panels - 1, frame) + frame.width - left
    y = HEAD + frame.height + 14
    image = coloured(np.linspace(low, high, 255)[None, :], low=low, high=high, diverging=diverging)
    parts = [
        Markup('<image x="{:.1f}" y="{:.1f}" width="{:.1f}" height="10" preserveAspectRatio="none" href="{}"/>').format(
            left, y, width, image
        )
    ]
    if diverging:
        ticks = [-high, -high / 2, 0.0, high / 2, high]
    else:
        ticks = list(axis_for(Metric("dose", "Gy", "neither", (low, high), 1, "dose"), []).ticks)
    for number, tick in enumerate(ticks):
        x = left + (tick - low) / (high - low) * width
        css = "" if number == 0 else "end" if number == len(ticks) - 1 else "middle"
        more = "≤ " if number == 0 and clipped[0] else "≥ " if number == len(ticks) - 1 and clipped[1] else ""
        text = more + (signed(tick, decimals=None) if diverging else f"{tick:g}")
        parts.append(Markup('<text class="small {}" x="{:.1f}" y="{:.1f}">{}</text>').format(css, x, y + 25, text))
    label = "Difference (Gy)" if diverging else "Dose (Gy)"
    parts.append(
        Markup('<text class="small ink middle" x="{:.1f}" y="{:.1f}">{}</text>').format(left + width / 2, y + 43, label)
    )
    return Markup("").join(parts)


def signed(value: float, *, decimals: int | None = 1) -> str:
    size = f"{abs(value):g}" if decimals is None else f"{abs(value):.{decimals}f}"
    return f"{'−' if value < 0 else '+' if value > 0 else ''}{size}"
