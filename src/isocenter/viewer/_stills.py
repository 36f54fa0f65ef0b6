"""Pictures for browsers that cannot draw volumes: masks and doses in one slice, as SVG."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report import Figure, axial_letters, contour_slices
from isocenter.viewer._sight import Sight
from isocenter.viewer._strip import LEAST_SHARE

_MARGIN_MM, _SMALLEST_MM = 15.0, 60.0
_BANDS = ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725")  # viridis, as on the page


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


def output_still(sight: Sight, *, case: str, team: str) -> Figure:
    """The mask of the output alone, on the first scan, in the slice in which it is largest."""
    layers = {layer.role: layer.array for layer in reversed(sight.layers)}
    images = (
        {next(one.name for one in sight.layers if one.role == "image"): layers["image"]} if "image" in layers else {}
    )
    title = f"Outlines of {case} by {team}"
    picture = contour_slices({team: layers["output"]}, grid=sight.grid, images=images, title=title, name="still")
    return Figure(
        "still", f"{case}: what {team} outlined", f"{title}, in the slice in which they are largest.", picture
    )


def dose_still(sight: Sight, *, case: str, team: str) -> Figure:
    """The dose of the output or of the reference alone in the slice that has most, in bands of one colour."""
    assert sight.ceiling is not None
    k, (top, _) = sight.strip.worst, sight.ceiling
    dose = next(layer.array for layer in sight.layers if layer.role == sight.alone)[:, :, k]
    edges = [top * number / len(_BANDS) for number in range(len(_BANDS))]
    box = _box(dose > LEAST_SHARE * top, sight.grid.spacing[:2])
    dose, (sx, sy) = dose[box], sight.grid.spacing[:2]
    least = [LEAST_SHARE * top, *edges[1:]]
    areas = Markup("").join(
        Markup('<path fill="{}" d="{}"/>').format(colour, _runs(dose >= edge))
        for colour, edge in zip(_BANDS, least, strict=True)
    )
    width, height = dose.shape
    title = f"Dose of {team} in slice {k} of {case}: {sight.strip.said[k]}"
    picture = Markup(
        '<svg class="still" viewBox="0 0 {w:.1f} {h:.1f}" role="img" aria-label="{title}">'
        '<rect class="ground" width="{w:.1f}" height="{h:.1f}"/>'
        '<g transform="scale({sx:.4f} {sy:.4f})">{areas}</g></svg>'
    ).format(w=width * sx, h=height * sy, title=title, sx=sx, sy=sy, areas=areas)
    caption = f"{title}. A colour for every {top / len(_BANDS):.3g} Gy, yellow is the highest."
    return Figure("still", f"{case}: the dose of {team}", caption, picture)


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
