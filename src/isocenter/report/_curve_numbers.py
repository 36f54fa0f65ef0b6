"""Where on its curve the number of a team stands, so that it is read as the number of that curve and no other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isocenter.report._curve_shape import Places

RADIUS = 8.0  # pixels, of the disc with the number

_SMALL = 290.0  # pixels of the square's side on a telephone: what does not meet there meets nowhere
_TRIED = np.linspace(0.03, 0.97, 48)  # shares of a curve's length
_APART, _CLEAR, _RIM = 2 * RADIUS + 2, RADIUS + 5, RADIUS + 3  # pixels to other discs, to other curves, to the frame


def number_places(lines: Sequence[Places], marks: Places) -> Places:
    """A place for each of some curves: away from other curves, numbers and marks, and not on the frame.

    Each takes the best place that those before it left, and once more when all have one.
    """
    pixels = [line * _SMALL for line in lines]
    dense = [_along(line, np.linspace(0, 1, 240)) for line in pixels]
    tried = [_along(line, _TRIED) for line in pixels]
    own = [_own_costs(n, places, dense, marks * _SMALL) for n, places in enumerate(tried)]
    chosen: dict[int, Places] = {}
    for n in [*range(len(lines)), *range(len(lines))]:
        others = [place for other, place in chosen.items() if other != n]
        cost = own[n] + sum((20 * _nearer(tried[n], place[None], _APART) for place in others), np.zeros(len(_TRIED)))
        chosen[n] = tried[n][int(cost.argmin())]
    return np.array([chosen[n] for n in range(len(lines))]).reshape(-1, 2) / _SMALL


def _own_costs(number: int, tried: Places, dense: Sequence[Places], marks: Places) -> Places:
    """What speaks against each place, whatever the other numbers do."""
    cost = 0.05 * abs(_TRIED - 0.5)
    for other, points in enumerate(dense):
        if other != number:
            cost += _nearer(tried, points, _CLEAR)
    if len(marks):
        cost += 2 * _nearer(tried, marks, _APART)
    rim = np.minimum(tried, _SMALL - tried).min(axis=1)
    return np.asarray(cost + (_RIM - rim).clip(0, None))


def _nearer(tried: Places, points: Places, distance: float) -> Places:
    """How many pixels each place is nearer than it should be to the nearest of some points."""
    steps = tried[:, None] - points[None]
    return np.asarray((distance - np.hypot(steps[..., 0], steps[..., 1]).min(axis=1)).clip(0, None))


def _along(line: Places, shares: Places) -> Places:
    """Places on a line at shares of its length."""
    length = np.append(0.0, np.cumsum(np.hypot(*np.diff(line, axis=0).T)))
    at = shares * length[-1]
    return np.column_stack([np.interp(at, length, line[:, axis]) for axis in (0, 1)])
