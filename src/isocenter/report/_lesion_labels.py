"""Outlines of findings in a slice, and a text for each where it hides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report._dose_image import outlines
from isocenter.report._dose_overlay import HEAD, Box, Frame, left_of
from isocenter.report._lesion_findings import Finding, Kind

Points = NDArray[np.float64]

_LONGEST = 1000  # pixels of an outline; a longer one is drawn coarser, so that no map can make a page of megabytes
_LETTER, _ROOM = 7.4, 15.0  # width of a letter, and of a symbol before the text, in units of the picture
_REACHES = np.array([10.0, 20.0, 34.0, 50.0, 70.0])  # from an outline to its text
_TURNS = np.arange(16) * np.pi / 8
_SHIFTS = (_REACHES[:, None, None] * np.column_stack([np.cos(_TURNS), np.sin(_TURNS)])).reshape(-1, 2)
_LEADER = np.linspace(0.15, 1, 6)  # where along the line to a text it is looked whether it crosses anything

# Of a candidate that is on a lesion, and of one that is not; within five units around the middle.
SYMBOLS: dict[Kind, str] = {"hit": "M-4.5 0L-1.5 3.5L4.5-4", "false": "M-4-4L4 4M-4 4L4-4"}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A finding in a panel: its closed outlines, in units of the picture."""

    finding: Finding
    lines: list[Points]

    @property
    def path(self) -> str:
        """The outlines as SVG wants them."""
        return "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line) + "Z" for line in self.lines)

    @property
    def points(self) -> Points:
        """Points all along the outlines, a few units from each other."""
        found = []
        for line in self.lines:
            ends = np.roll(line, -1, axis=0)
            steps = max(1, int(np.hypot(*(ends - line).T).max() / 4))
            found += [line + (ends - line) * share for share in np.arange(steps) / steps]
        return np.concatenate(found)


@dataclass(frozen=True, slots=True)
class Label:
    """Where the line to a text begins, on the outline, and where the text lies."""

    start: Points
    box: Points

    @property
    def end(self) -> Points:
        """Where the line meets the text: above or below it, or near the middle of its side."""
        left, top, right, bottom = self.box
        beside = 4 if not left <= self.start[0] <= right else 0
        return np.clip(self.start, [left, top + beside], [right, bottom - beside])

    @property
    def leader(self) -> Points:
        """Points along the line."""
        return self.start + (self.end - self.start) * _LEADER[:, None]


def drawn(finding: Finding, k: int, frame: Frame) -> Drawn:
    """A finding in a slice that meets it."""
    mask = finding.within(k, frame.box)
    coarse = 1
    while _length(_pooled(mask, coarse)) > _LONGEST:
        coarse *= 2
    lines = outlines(_pooled(mask, coarse))
    middle = (coarse - 1) / 2
    unit = np.array(frame.spacing) * frame.scale
    corner = np.array([left_of(0, frame), HEAD])
    return Drawn(finding, [corner + (np.array(line) * coarse + middle + 0.5) * unit for line in lines])


def outlined(items: Sequence[Drawn]) -> Markup:
    """Candidates filled and dashed, then lesions solid; on a casing, so that they are seen on any grey."""
    pair = Markup('<path class="casing" d="{d}"/><path class="{}" d="{d}"><title>{}</title></path>')
    ordered = sorted(items, key=lambda item: item.finding.kind == "lesion")
    return Markup("").join(pair.format(item.finding.kind, item.finding.said, d=item.path) for item in ordered)


def labelled(items: Sequence[Drawn], frame: Frame, *, taken: Sequence[Box]) -> Markup:
    """The texts, each at the end of a short line from its outline.

    Small findings have the first choice; then all choose again, knowing the others.
    """
    ordered = sorted(items, key=lambda item: len(item.points))
    chosen: dict[int, Label] = {}
    for n in [*range(len(ordered)), *range(len(ordered))]:
        rest = [label for m, label in chosen.items() if m != n]
        outlines_of_others = [_few(item.points) for m, item in enumerate(ordered) if m != n]
        chosen[n] = _best(ordered[n], frame, labels=rest, outlined=outlines_of_others, taken=taken)
    return Markup("").join(_drawn_label(ordered[n].finding, chosen[n]) for n in sorted(chosen))


def symbol(kind: Kind, x: float, y: float) -> Markup:
    """A tick or a cross, on a casing."""
    mark = Markup('<path class="{}" transform="translate({:.1f} {:.1f})" d="{}"/>')
    return Markup("").join(mark.format(css, x, y, SYMBOLS[kind]) for css in ("casing", f"sign {kind}-sign"))


def _drawn_label(finding: Finding, label: Label) -> Markup:
    leader = Markup('<path class="casing" d="{d}"/><path class="leader" d="{d}"/>').format(
        d=f"M{label.start[0]:.1f} {label.start[1]:.1f}L{label.end[0]:.1f} {label.end[1]:.1f}"
    )
    left, top, right, _ = label.box
    room = _ROOM if finding.kind in SYMBOLS else 0.0
    sign = symbol(finding.kind, left + 8, top + 7.5) if room else Markup("")
    # Letters may be narrower than expected: the text stands at the side from which the line comes.
    css, x = (" end", right - 2) if not room and label.start[0] >= right else ("", left + 2 + room)
    words = Markup('<text class="small on{}" x="{:.1f}" y="{:.1f}">{}</text>')
    return leader + sign + words.format(css, x, top + 11.5, finding.text)


def _best(
    item: Drawn, frame: Frame, *, labels: Sequence[Label], outlined: Sequence[Points], taken: Sequence[Box]
) -> Label:
    """The best of many places.

    Within the panel before all; then clear of other texts, outlines and lines; then off its own outline, and near.
    """
    width = _LETTER * len(item.finding.text) + (_ROOM if item.finding.kind in SYMBOLS else 0.0) + 4
    starts = np.repeat(item.points[:: max(1, len(item.points) // 24)], len(_SHIFTS), axis=0)
    away = np.tile(_SHIFTS, (len(starts) // len(_SHIFTS), 1))
    ends = starts + away
    left = ends[:, 0] - np.select([away[:, 0] > 1, away[:, 0] < -1], [0.0, width], width / 2)
    options = np.column_stack([left, ends[:, 1] - 8, left + width, ends[:, 1] + 8])
    inside = np.array([left_of(0, frame) + 2, HEAD + 2, left_of(0, frame) + frame.width - 2, HEAD + frame.height - 2])
    cost = 50 * (inside[:2] - options[:, :2]).clip(0, None).sum(axis=1)
    cost += 50 * (options[:, 2:] - inside[2:]).clip(0, None).sum(axis=1) + np.hypot(*away.T) / 4
    boxes = [*(np.array(box) for box in taken), *(label.box for label in labels)]
    for box in boxes:
        gap = np.maximum(options[:, :2], box[:2]) - np.minimum(options[:, 2:], box[2:])
        apart = np.hypot(*gap.clip(0, None).T)
        cost += np.where((gap < 0).all(axis=1), 60 + gap.prod(axis=1), (8 - apart).clip(0, None))
    few = np.argsort(cost, kind="stable")[:900]  # what follows takes longer
    cost, options = cost[few], options[few]
    along = starts[few, None] + away[few, None] * _LEADER[:, None]
    for box in boxes:
        cost += 25 * _within(along, box).sum(axis=1)
    for weight, lines in ((2, [_few(item.points)]), (8, outlined), (20, [label.leader for label in labels])):
        hidden = np.concatenate([np.empty((0, 2)), *lines])
        cost += weight * _within(hidden, options[:, None]).sum(axis=1)
    for line in outlined:
        near = (abs(along[:, :, None, 0] - line[:, 0]) < 3) & (abs(along[:, :, None, 1] - line[:, 1]) < 3)
        cost += 4 * near.any(axis=2).sum(axis=1)
    best = int(cost.argmin())
    return Label(starts[few[best]], options[best])


def _within(points: Points, box: Points) -> NDArray[np.bool_]:
    """Which points lie in a box: left, top, right, bottom."""
    x, y = points[..., 0], points[..., 1]
    return np.asarray((x > box[..., 0]) & (y > box[..., 1]) & (x < box[..., 2]) & (y < box[..., 3]))


def _few(points: Points) -> Points:
    """At most about a hundred of some points."""
    return points[:: max(1, len(points) // 100)]


def _length(mask: NDArray[np.bool_]) -> int:
    """Squares of four pixels that the outlines of a mask cross."""
    padded = np.pad(mask, 1)
    corners = padded[:-1, :-1], padded[1:, :-1], padded[1:, 1:], padded[:-1, 1:]
    return int(np.count_nonzero(np.logical_or.reduce(corners) & ~np.logical_and.reduce(corners)))


def _pooled(mask: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    """A coarser mask: the blocks of `size` × `size` pixels in which there is anything."""
    padded = np.pad(mask, [(0, -n % size) for n in mask.shape])
    blocks = padded.reshape(padded.shape[0] // size, size, padded.shape[1] // size, size)
    return np.asarray(blocks.any(axis=(1, 3)))
