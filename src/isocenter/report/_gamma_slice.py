"""A slice of two doses and of their gamma, as SVG with the pixels as PNG inside."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report import _dose_overlay as overlay
from isocenter.report._dose_image import coloured, png
from isocenter.report._dose_overlay import GAP, HEAD, PANEL, Frame, left_of
from isocenter.report._dose_slices import _checked, _frame, _mask, _panel, _round_up, _style

_TOP = 2.0  # gamma with the last colour
# Pale where it passes and dark where it fails, so that a grey print tells them apart; the last one is outside.
_PASSES, _FAILS, _OUTSIDE = ("f4f8fc", "a6cbe8"), ("e0641a", "5a1c02"), "c9c9c9"


def gamma_slice(
    reference: NDArray[Any],
    evaluation: NDArray[Any],
    gamma: NDArray[Any],
    *,
    spacing: tuple[float, float],
    masks: Mapping[str, NDArray[np.bool_]] | None = None,
    title: str,
    criterion: str,
    names: tuple[str, str] = ("Reference", "Team"),
    letters: str = "",
    name: str = "gamma",
) -> Markup:
    """Three pictures of one slice: the dose of the reference, that of a team, and gamma.

    Both doses have one scale, from 0 to the highest of either. Gamma is pale up to 1, where it passes, and dark above;
    2 and more have the last colour, and what was not evaluated is grey.

    Parameters
    ----------
    reference, evaluation
        Doses in Gy, axes (x, y); see `dose_slices`.
    gamma
        Of the same shape, NaN where it was not evaluated.
    criterion
        Such as "1 % local, 1 mm".
    spacing, masks, title, names, letters, name
        As in `dose_slices`.

    Returns
    -------
    Markup
        One `svg` element in a box that scrolls where the page is narrow.
    """
    doses = [_checked(dose, what) for dose, what in ((reference, "the reference"), (evaluation, "the evaluation"))]
    if len({doses[0].shape, doses[1].shape, gamma.shape}) > 1:
        shapes = ", ".join(str(array.shape) for array in (*doses, gamma))
        msg = f"reference, evaluation and gamma are no one slice: their shapes are {shapes}"
        raise ValueError(msg)
    shown = {key: _mask(mask, key, gamma.shape) for key, mask in (masks or {}).items()}
    frame = _frame(doses, shown, spacing)
    seen, found = [dose[frame.box] for dose in doses], gamma[frame.box].astype(np.float64)
    shown = {key: mask[frame.box] for key, mask in shown.items() if mask.any()}
    top = _round_up(max(float(dose.max()) for dose in seen))
    panels = [
        _panel(0, names[0], coloured(seen[0].T, low=0.0, high=top, diverging=False), frame),
        _panel(1, names[1], coloured(seen[1].T, low=0.0, high=top, diverging=False), frame),
        _panel(2, f"Gamma, {criterion}", _painted(found.T), frame),
    ]
    bar, place = overlay.ruler(frame)
    directions, places = overlay.direction_letters(letters, frame)
    parts = [_style(), *panels, *(overlay.outlined(shown, number, frame) for number in range(3))]
    parts += [overlay.named(shown, frame, taken=[place, *places]) if shown else Markup(""), bar, directions]
    parts.append(overlay.colour_bar(0, 2, low=0.0, high=top, diverging=False, clipped=(False, False), frame=frame))
    parts.append(_bar(frame))
    width, height = 3 * PANEL + 2 * GAP, HEAD + frame.height + 62
    return Markup(
        '<div class="scroll"><svg class="plot dose" viewBox="0 0 {:.0f} {:.0f}" width="100%" style="min-width:40rem" '
        'role="img" aria-labelledby="{n}-title {n}-desc"><title id="{n}-title">{}</title><desc id="{n}-desc">{}</desc>'
        "{}</svg></div>"
    ).format(width, height, title, _said(found, criterion, shown), Markup("").join(parts), n=name)


def _said(gamma: NDArray[np.float64], criterion: str, masks: Mapping[str, object]) -> str:
    """The picture in a sentence or two."""
    inside = gamma[~np.isnan(gamma)]
    text = (
        f"{100 * float((inside <= 1).mean()):.1f} % of the {inside.size} pixels evaluated in this slice pass "
        f"{criterion}; the largest gamma is {float(inside.max()):.2f}."
        if inside.size
        else "No pixel of this slice was evaluated."
    )
    return f"{text} Outlined: {', '.join(masks)}." if masks else text


def _colours() -> NDArray[np.uint8]:
    """256 colours: 128 that pass, up to γ = 1, 127 that fail, and that of what was not evaluated."""
    ramps = []
    for ends, count in ((_PASSES, 128), (_FAILS, 127)):
        first, last = (np.array(list(bytes.fromhex(end)), dtype=np.float64) for end in ends)
        ramps.append(first + (last - first) * np.linspace(0, 1, count)[:, None])
    return np.rint([*ramps[0], *ramps[1], list(bytes.fromhex(_OUTSIDE))]).astype(np.uint8)


def _painted(gamma: NDArray[np.float64]) -> str:
    """Rows and columns of gamma as a PNG in a data address."""
    inside = np.clip(np.nan_to_num(gamma, nan=0.0, posinf=_TOP), 0.0, _TOP)
    passes, fails = np.rint(127 * inside), 128 + np.rint(126 * (inside - 1) / (_TOP - 1))
    numbers = np.where(np.isnan(gamma), 255, np.where(inside <= 1, passes, fails)).astype(np.uint8)
    return f"data:image/png;base64,{base64.b64encode(png(numbers, _colours())).decode('ascii')}"


def _bar(frame: Frame) -> Markup:
    """What the colours of gamma mean, under the last panel."""
    left, y = left_of(2, frame), HEAD + frame.height + 14
    image = _painted(np.linspace(0.0, _TOP, 256)[None, :])
    parts = [
        Markup('<image x="{:.1f}" y="{:.1f}" width="{:.1f}" height="10" preserveAspectRatio="none" href="{}"/>').format(
            left, y, frame.width, image
        )
    ]
    words = Markup('<text class="small {}" x="{:.1f}" y="{:.1f}">{}</text>')
    for share, css, text in ((0.0, "", "0"), (0.5, "middle", "1"), (1.0, "end", f"≥ {_TOP:g}")):
        parts.append(words.format(css, left + share * frame.width, y + 25, text))
    for share, text in ((0.25, "passes"), (0.75, "fails")):
        parts.append(words.format("middle", left + share * frame.width, y + 25, text))
    parts.append(words.format("ink middle", left + frame.width / 2, y + 43, "Gamma; grey: not evaluated"))
    return Markup("").join(parts)
