"""Two doses in one slice, side by side, and their difference, as SVG with the pixels as PNG inside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report import _dose_overlay as overlay
from isocenter.report._dose_image import coloured
from isocenter.report._dose_overlay import GAP, HEAD, PANEL, Frame, left_of, signed
from isocenter.report._scale import fit
from isocenter.volumes import Grid

_TALLEST = 340.0  # a panel's greatest height, in units of the picture
_MARGIN_MM = 8.0  # around what is worth seeing
_SEEN = 0.05  # of the highest dose: what lies below it at the edges is cut off


def pick_slice(volume: NDArray[Any]) -> int:
    """The number of the slice, along the last axis, that holds most: the largest sum of absolute values.

    Of the mask of a target it is the slice with the largest area, the same for every team: the one to show of a case.
    Of a difference of doses it is the slice with the largest error, where there is no target or the error is the point.
    The first of several that are equal; the middle one if all are 0.

    Examples
    --------
    >>> target = np.zeros((4, 4, 6), dtype=bool)
    >>> target[1, 1, 2], target[1:3, 1:3, 4] = True, True
    >>> pick_slice(target)
    4
    """
    if volume.ndim != 3 or not volume.size:
        msg = f"a slice is picked from a volume of three axes, not from shape {volume.shape}"
        raise ValueError(msg)
    sums = np.abs(volume, dtype=np.float64).sum(axis=(0, 1))
    if not np.isfinite(sums).all():
        msg = f"slice {int(np.flatnonzero(~np.isfinite(sums))[0])} holds values that are not finite"
        raise ValueError(msg)
    return int(sums.argmax()) if sums.any() else volume.shape[2] // 2


def axial_letters(grid: Grid) -> str:
    """The letters left, right, above and below a slice of the first two axes: "RLAP" of a grid along LPS axes."""
    letters = ""
    for axis in (0, 1):
        column = np.asarray(grid.direction).reshape(3, 3)[:, axis]
        main = int(np.abs(column).argmax())
        ends = ("RL", "AP", "IS")[main]
        letters += ends if column[main] > 0 else ends[::-1]
    return letters


def dose_slices(
    reference: NDArray[Any],
    evaluation: NDArray[Any],
    *,
    spacing: tuple[float, float],
    masks: Mapping[str, NDArray[np.bool_]] | None = None,
    title: str,
    names: tuple[str, str] = ("Reference", "Team"),
    letters: str = "",
    limit: float | None = None,
    name: str = "slice",
) -> Markup:
    """Three pictures of one slice: the dose of the reference, that of a team, and the second less the first.

    Both doses have one scale, from 0 to the highest of either. The difference is blue where the team gives less, white
    where it agrees and red where it gives more; the largest of either kind are marked with their value. What lies far
    outside, with less than a twentieth of the highest dose, is cut off.

    Parameters
    ----------
    reference, evaluation
        Doses in Gy, axes (x, y): ``dose.array[:, :, k]``. The first axis runs to the right, the second down.
    spacing
        Of the two axes, mm.
    masks
        Structures by name, of the same shape, drawn as outlines; those that the slice does not meet are left out.
    title
        What the picture shows, for who cannot see it.
    names
        Of the reference and the team.
    letters
        Directions left, right, above and below, such as "RLAP"; see `axial_letters`. None if not given: whoever does
        not know them must not guess.
    limit
        The difference, Gy, with the last colours; if not given, a round number that 99.5 % of the pixels do not exceed.
    name
        Prefix of the identifiers in the SVG: different for each picture of a page.

    Returns
    -------
    Markup
        One `svg` element in a box that scrolls where the page is narrow.
    """
    doses = [_checked(dose, what) for dose, what in ((reference, "the reference"), (evaluation, "the evaluation"))]
    if doses[0].shape != doses[1].shape:
        msg = f"the reference has shape {doses[0].shape}, the evaluation {doses[1].shape}: they are no one slice"
        raise ValueError(msg)
    shown = {key: _mask(mask, key, doses[0].shape) for key, mask in (masks or {}).items()}
    if not all(0 < s < math.inf for s in spacing):
        msg = f"spacing must be two positive numbers of millimetres, not {spacing}"
        raise ValueError(msg)
    if len(letters) not in (0, 4):
        msg = f'letters are four, left, right, above and below, such as "RLAP", not {letters!r}'
        raise ValueError(msg)
    frame = _frame(doses, shown, spacing)
    seen = [dose[frame.box] for dose in doses]
    shown = {key: mask[frame.box] for key, mask in shown.items() if mask.any()}
    difference = seen[1] - seen[0]
    top = _round_up(max(float(dose.max()) for dose in seen))
    limit = _round_up(float(np.percentile(abs(difference), 99.5))) if limit is None else limit
    if not 0 < limit < math.inf:
        msg = f"the limit of the difference is a positive number of Gy, not {limit}"
        raise ValueError(msg)
    minus = f"{names[1]} − {names[0].lower() if names[0] == 'Reference' else names[0]}"
    panels = [
        _panel(0, names[0], coloured(seen[0].T, low=0.0, high=top, diverging=False), frame),
        _panel(1, names[1], coloured(seen[1].T, low=0.0, high=top, diverging=False), frame),
        _panel(2, minus, coloured(difference.T, low=-limit, high=limit, diverging=True), frame),
    ]
    parts = [_style(), *panels]
    parts += [overlay.outlined(shown, number, frame) for number in range(3)]
    bar, place = overlay.ruler(frame)
    directions, places = overlay.direction_letters(letters, frame)
    parts += [overlay.named(shown, frame, taken=[place, *places]) if shown else Markup(""), bar, directions]
    parts.append(overlay.extremes(difference, frame))
    parts.append(overlay.colour_bar(0, 2, low=0.0, high=top, diverging=False, clipped=(False, False), frame=frame))
    ends = (bool(difference.min() < -limit), bool(difference.max() > limit))
    parts.append(overlay.colour_bar(2, 1, low=-limit, high=limit, diverging=True, clipped=ends, frame=frame))
    width, height = 3 * PANEL + 2 * GAP, HEAD + frame.height + 62
    said = (
        f"{names[1]} differs from {names[0]} by {float(abs(difference).mean()):.2f} Gy on average in this slice, "
        f"by {signed(float(difference.min()))} to {signed(float(difference.max()))} Gy at most."
    )
    if shown:
        said += f" Outlined: {', '.join(shown)}."
    return Markup(
        '<div class="scroll"><svg class="plot dose" viewBox="0 0 {:.0f} {:.0f}" width="100%" style="min-width:40rem" '
        'role="img" aria-labelledby="{n}-title {n}-desc"><title id="{n}-title">{}</title><desc id="{n}-desc">{}</desc>'
        "{}</svg></div>"
    ).format(width, height, title, said, Markup("").join(parts), n=name)


def _style() -> Markup:
    return Markup(
        "<style>.dose image{image-rendering:pixelated}.dose path,.dose line,.dose rect{fill:none}"
        ".dose .case0{stroke:#000;stroke-opacity:.55;stroke-width:3}.dose .line0{stroke:#fff;stroke-width:1.3}"
        ".dose .case1{stroke:#fff;stroke-opacity:.7;stroke-width:3}.dose .line1{stroke:#222;stroke-width:1.1}"
        ".dose path{stroke-linejoin:round}.dose text.on{fill:#fff;stroke:#000;stroke-width:3px;stroke-opacity:.8}"
        ".dose text.under{fill:#111;stroke:#fff;stroke-width:3px}.dose text{font-size:13px}"
        ".dose text.small{font-size:12px}.dose .mark{fill:#111;stroke:#fff;stroke-width:1}</style>"
    )


def _checked(dose: NDArray[Any], what: str) -> NDArray[np.float64]:
    array = np.asarray(dose)
    if array.ndim != 2 or not array.size or array.dtype.kind not in "fiu":
        msg = f"{what} must be an array of doses with two axes, not {array.dtype} of shape {array.shape}"
        raise ValueError(msg)
    values = array.astype(np.float64)
    if not np.isfinite(values).all():
        msg = f"{what} is not finite in {int((~np.isfinite(values)).sum())} of {values.size} pixels"
        raise ValueError(msg)
    return values


def _mask(mask: NDArray[Any], key: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if mask.shape != shape:
        msg = f"the mask of {key} has shape {mask.shape}, the slice {shape}"
        raise ValueError(msg)
    return mask.astype(np.bool_)


def _frame(
    doses: list[NDArray[np.float64]], masks: Mapping[str, NDArray[np.bool_]], spacing: tuple[float, float]
) -> Frame:
    """The box of what is worth seeing and a margin, as large as fits into a panel."""
    level = _SEEN * max(float(dose.max()) for dose in doses)
    worth = np.logical_or.reduce([*(dose > max(level, 0.0) for dose in doses), *masks.values()])
    slices = []
    for axis in (0, 1):
        used = np.flatnonzero(worth.any(axis=1 - axis))
        first, last = (int(used[0]), int(used[-1])) if used.size else (0, worth.shape[axis] - 1)
        margin = math.ceil(_MARGIN_MM / spacing[axis])
        slices.append(slice(max(0, first - margin), min(worth.shape[axis], last + 1 + margin)))
    across, down = ((part.stop - part.start) * s for part, s in zip(slices, spacing, strict=True))
    scale = min(PANEL / across, _TALLEST / down)
    return Frame((slices[0], slices[1]), spacing, scale, across * scale, down * scale)


def _panel(number: int, name: str, image: str, frame: Frame) -> Markup:
    left = left_of(number, frame)
    return Markup(
        '<text class="name" x="{x:.1f}" y="15">{}</text><image x="{x:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" '
        'preserveAspectRatio="none" href="{}"/>'
    ).format(fit(name, 34), HEAD, frame.width, frame.height, image, x=left)


def _round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        step * power for step in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0) if step * power >= value * (1 - 1e-9)
    )
