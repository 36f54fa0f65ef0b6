"""Masks of one case over its images: the outlines of several in the same slices, each with a line of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report._curve_key import KEY_STYLE, Entry, key
from isocenter.report._dose_image import outlines
from isocenter.report._dose_overlay import HEAD, PANEL, Frame, direction_letters, left_of, ruler
from isocenter.report._dose_slices import axial_letters
from isocenter.report._lesion_labels import _LONGEST, _length, _pooled
from isocenter.report._lesion_slices import _TALLEST, _grey
from isocenter.report._scale import fit
from isocenter.volumes import Grid

Mask = NDArray[np.bool_]

_MARGIN_MM, _SMALLEST_MM = 12.0, 60.0  # around the masks, and the least that is shown of a slice
# Light on any image, and told apart by their dashes where colours are not seen.
_LINES = (("#fff", "none"), ("#6cc4ff", "6 2.5"), ("#ffa64d", "2 2.5"), ("#9be36f", "8 2.5 2 2.5"))
MOST_MASKS = len(_LINES)
"""So many kinds of lines there are."""


class _View(NamedTuple):
    """A slice, and which image is its ground; None has a plain one."""

    k: int
    image: str | None


def contour_slices(
    masks: Mapping[str, NDArray[Any]],
    *,
    grid: Grid,
    images: Mapping[str, NDArray[Any]] | None = None,
    title: str,
    name: str,
) -> Markup:
    """The axial slice in which the first mask is largest, and that in which the second differs most from it.

    Parameters
    ----------
    masks
        Up to four by whose they are, axes (x, y, z), all of the grid's shape; what is not 0 is inside. The first, the
        reference, has a solid line.
    grid
        Where they lie: the first axis runs to the right, the second down.
    images
        Of the same shape, by their names; each is the ground of a panel, in grey from its first to its last percentile.
    title
        What the picture shows, for who cannot see it.
    name
        Prefix of the identifiers in the SVG: different for each picture of a page.

    Returns
    -------
    Markup
        One `div` element: panels that stand beside each other where there is room, and a key.
    """
    grounds = dict(images or {})
    given = {whose: np.asarray(mask) != 0 for whose, mask in masks.items()}
    wrong = [f"{what} has shape {a.shape}" for what, a in (*given.items(), *grounds.items()) if a.shape != grid.shape]
    if wrong or not 1 <= len(given) <= MOST_MASKS:
        msg = (
            f"one to {MOST_MASKS} masks and their images have the shape {grid.shape}: {'; '.join(wrong) or len(given)}"
        )
        raise ValueError(msg)
    slices = _slices(list(given.values()))
    frame = _frame(list(given.values()), slices, grid)
    pictures = {image: _grey(np.nan_to_num(array), slices, frame) for image, array in grounds.items()}
    views = [_View(k, image) for k in slices for image in (grounds or (None,))]
    panels = [
        _panel(
            given,
            view,
            None if view.image is None else pictures[view.image][slices.index(view.k)],
            frame,
            grid=grid,
            first=number == 0,
            name=f"{name}-{number}",
        )
        for number, view in enumerate(views)
    ]
    empty = [whose for whose, mask in given.items() if not mask.any()]
    said = f"Nothing is marked by {', '.join(fit(whose, 40) for whose in empty)}." if empty else ""
    return Markup('<div class="contours" role="group" aria-label="{}"><div class="panels">{}</div>{}{}</div>').format(
        title,
        Markup("").join(panels),
        key([Entry(_sample(number), whose) for number, whose in enumerate(given)]),
        Markup('<p class="note">{}</p>').format(said) if said else Markup(""),
    )


def _slices(masks: Sequence[Mask]) -> list[int]:
    """One slice or two, from below to above; the middle one if nothing is marked."""
    sizes = masks[0].sum(axis=(0, 1)) if masks[0].any() else np.sum([mask.sum(axis=(0, 1)) for mask in masks], axis=0)
    if not sizes.any():
        return [len(sizes) // 2]
    found = {int(sizes.argmax())}
    if len(masks) > 1 and (wrong := (masks[0] ^ masks[1]).sum(axis=(0, 1))).any():
        found.add(int(wrong.argmax()))
    return sorted(found)


def _frame(masks: Sequence[Mask], slices: Sequence[int], grid: Grid) -> Frame:
    """The region of what is marked in the slices, with a margin; not too small, and no narrower than three to four."""
    marked = np.logical_or.reduce([mask[:, :, k] for mask in masks for k in slices])
    spacing = (float(grid.spacing[0]), float(grid.spacing[1]))
    places = np.argwhere(marked)
    low, high = (places.min(axis=0), places.max(axis=0) + 1) if places.size else (np.zeros(2), np.array(marked.shape))
    sizes = (high - low) * np.array(spacing) + 2 * _MARGIN_MM
    sizes = np.maximum(sizes, max(_SMALLEST_MM, 0.75 * float(sizes.max())))
    box = []
    for axis in (0, 1):
        count = min(marked.shape[axis], math.ceil(sizes[axis] / spacing[axis]))
        first = min(max(0, int(low[axis] + high[axis] - count) // 2), marked.shape[axis] - count)
        box.append(slice(first, first + count))
    across, down = ((part.stop - part.start) * step for part, step in zip(box, spacing, strict=True))
    scale = min(PANEL / across, _TALLEST / down)
    return Frame((box[0], box[1]), spacing, scale, across * scale, down * scale)


def _panel(
    masks: Mapping[str, Mask], view: _View, ground: str | None, frame: Frame, *, grid: Grid, first: bool, name: str
) -> Markup:
    place = Markup('x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"').format(
        left_of(0, frame), HEAD, frame.width, frame.height
    )
    plain, pixels = Markup('<rect class="ground" {}/>'), Markup('<image {} preserveAspectRatio="none" href="{}"/>')
    parts = [plain.format(place) if ground is None else pixels.format(place, ground)]
    # The reference lies on top.
    for number, (whose, mask) in reversed(list(enumerate(masks.items()))):
        parts.append(_outlined(mask[:, :, view.k][frame.box], whose, number, frame))
    parts.append(direction_letters(axial_letters(grid), frame)[0])
    if first:
        parts.append(ruler(frame)[0])
    text = f"Slice {view.k}" if view.image is None else f"{view.image}, slice {view.k}"
    sizes = "; ".join(f"{whose}: {int(mask[:, :, view.k].sum())} pixels" for whose, mask in masks.items())
    return Markup(
        '<svg class="plot" viewBox="0 0 {:.0f} {:.1f}" width="100%" role="img" aria-labelledby="{n}-title {n}-desc">'
        '<title id="{n}-title">{t}</title><desc id="{n}-desc">{}.</desc>{}'
        '<text class="name" x="{:.1f}" y="17">{t}</text>{}</svg>'
    ).format(
        PANEL,
        HEAD + frame.height,
        sizes,
        _style() if first else Markup(""),
        left_of(0, frame),
        Markup("").join(parts),
        n=name,
        t=text,
    )


def _outlined(mask: Mask, whose: str, number: int, frame: Frame) -> Markup:
    """The closed outlines of a mask in a panel, on a casing; a very long one is drawn coarser."""
    coarse = 1
    while _length(_pooled(mask, coarse)) > _LONGEST:
        coarse *= 2
    unit = np.array(frame.spacing) * frame.scale
    corner = np.array([left_of(0, frame), HEAD])
    path = ""
    for line in outlines(_pooled(mask, coarse)):
        points = corner + (np.array(line) * coarse + (coarse - 1) / 2 + 0.5) * unit
        path += "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"
    if not path:
        return Markup("")
    pair = Markup('<path class="casing" d="{d}"/><path class="mask{}" d="{d}"><title>{}</title></path>')
    return pair.format(number, whose, d=path)


def _sample(number: int) -> Markup:
    ground = Markup('<rect class="ground" x="-20" y="-10" width="40" height="20" rx="2"/>')
    return ground + Markup('<path class="mask{}" d="M-17 0H17"/>').format(number)


def _style() -> Markup:
    """The same on light and dark pages: an image is dark on either, and outlines are made for it."""
    lines = Markup("").join(
        Markup(".contours .mask{}{{stroke:{};stroke-dasharray:{}}}").format(number, colour, dashes)
        for number, (colour, dashes) in enumerate(_LINES)
    )
    return Markup(
        "<style>.contours .panels{{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,"
        "18rem),1fr));margin-bottom:1rem}}.contours .panels svg{{max-width:22rem;height:auto}}"
        ".contours path{{fill:none;stroke-linejoin:round;stroke-width:1.8}}.contours .ground{{fill:#30353b}}"
        ".contours .casing{{stroke:#000;stroke-opacity:.55;stroke-width:3.2}}"
        ".contours .case0{{stroke:#000;stroke-opacity:.55;stroke-width:3}}"
        ".contours .line0{{stroke:#fff;stroke-width:1.3}}"
        ".contours text.on{{fill:#fff;stroke:#000;stroke-width:3px;stroke-opacity:.8}}"
        ".contours text.small{{font-size:13px}}{}{}</style>"
    ).format(lines, KEY_STYLE)
