"""Pictures for browsers that cannot draw volumes: two masks in their worst slices, as SVG."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report import Figure, axial_letters
from isocenter.viewer._sight import Sight

_MARGIN_MM, _SMALLEST_MM = 15.0, 60.0


def mask_still(sight: Sight, *, case: str, team: str) -> Figure:
    """The worst slice: what both have, what was missed, what is extra."""
    k = sight.strip.worst
    layers = {layer.role: layer.array[:, :, k] for layer in sight.layers}
    reference, output = layers["reference"], layers["output"]
    box = _box(reference | output, sight.grid.spacing[:2])
    reference, output = reference[box], output[box]
    (sx, sy), (width, height) = sight.grid.spacing[:2], reference.shape
    classes = {"both": reference & output, "missed": reference & ~output, "extra": output & ~reference}
    areas = Markup("").join(Markup('<path class="{}" d="{}"/>').format(n, _runs(mask)) for n, mask in classes.items())
    title = f"Slice {k} of {case}: {sight.strip.said[k]}"
    picture = Markup(
        '<svg class="still" viewBox="0 0 {w:.1f} {h:.1f}" role="img" aria-label="{title}">'
        '<rect class="ground" width="{w:.1f}" height="{h:.1f}"/>'
        '<g transform="scale({sx:.4f} {sy:.4f})">{areas}</g></svg>'
        '<p class="marks"><span class="both">both</span> <span class="missed">missed: reference only</span> '
        '<span class="extra">extra: {team} only</span></p>'
    ).format(w=width * sx, h=height * sy, title=title, sx=sx, sy=sy, areas=areas, team=team)
    left, right, above, below = tuple(axial_letters(sight.grid))
    caption = f"{title}. Left is {left}, right {right}, above {above}, below {below}."
    return Figure("still", f"{case}: the worst slice of {team}", caption, picture)


def _box(mask: NDArray[np.bool_], spacing: tuple[float, ...]) -> tuple[slice, slice]:
    """What there is, with a margin; the whole slice if there is nothing."""
    if not mask.any():
        return slice(0, mask.shape[0]), slice(0, mask.shape[1])
    found = []
    for axis in (0, 1):
        used = np.flatnonzero(mask.any(axis=1 - axis))
        first, last = int(used[0]), int(used[-1]) + 1
        margin = max(_MARGIN_MM, (_SMALLEST_MM - (last - first) * spacing[axis]) / 2)
        voxels = round(margin / spacing[axis])
        found.append(slice(max(0, first - voxels), min(mask.shape[axis], last + voxels)))
    return found[0], found[1]


def _runs(mask: NDArray[Any]) -> str:
    """The pixels of a mask, axes (x, y), as rectangles of one row each."""
    steps = np.diff(np.pad(mask.astype(np.int8), ((1, 1), (0, 0))), axis=0)
    starts, stops = np.argwhere(steps.T == 1), np.argwhere(steps.T == -1)
    runs = zip(starts.tolist(), stops.tolist(), strict=True)
    return "".join(f"M{x} {y}h{end - x}v1h-{end - x}z" for (y, x), (_, end) in runs)
