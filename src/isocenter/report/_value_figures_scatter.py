"""Points over two axes, and which of them no other beats in both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from markupsafe import Markup

from isocenter.report import _value_figures_frame as frame
from isocenter.report import _value_figures_labels as labels
from isocenter.report import _value_figures_lines as lines
from isocenter.report import _value_figures_points as given
from isocenter.report._curve_shape import Places, Scale, path
from isocenter.report._drawing import picture, placed, sentence, with_notes, words
from isocenter.report._scale import fit
from isocenter.report._value_figures_frame import Field, PlotAxis
from isocenter.report._value_figures_lines import PlotLine
from isocenter.report._value_figures_points import BY_NAME, BY_NUMBER, PlotPoint

Corner = Literal["none", "lower-left", "lower-right", "upper-left", "upper-right"]

_DRAWN = 1200  # points; of more the cells of the picture are counted
_SAMPLES = 120  # places at which an iso-line is worked out


def scatter_plot(
    points: Sequence[PlotPoint],
    *,
    x: PlotAxis,
    y: PlotAxis,
    title: str,
    name: str,
    frontier: Corner = "none",
    curves: Sequence[PlotLine] = (),
    iso: Mapping[str, Callable[[float], float]] | None = None,
) -> Markup:
    """Points with their labels beside them; of more than 12 with numbers, and their labels in a list below.

    More than 60 points have neither, as a pointer finds them; of more than 1200 it is drawn how many lie where.

    Parameters
    ----------
    points
        In the order of their numbers.
    x, y
        What the axes show. A point beyond the end of an axis is drawn there, which is said.
    title
        What the picture shows, for who cannot see it.
    name
        Prefix of the identifiers in the SVG: different for each picture of a page.
    frontier
        In which corner the best would be. The points that no other beats in both axes have a ring and are joined by
        steps.
    curves
        Lines behind the points, with their labels beside them: identity, regression.
    iso
        Fine dashed lines by their labels, each a function from x to y: equal F1, equal cost.

    Returns
    -------
    Markup
        One `svg` element, and sentences on what it does not show; only a sentence if there is nothing to draw.
    """
    lines.check(curves)
    shown, without = given.drawable(points, x, y)
    if not shown:
        return sentence(f"{title}: there is no finite point to draw.")
    scales = lines.scales_of(curves, shown, x, y)
    right = 100 - max(3.0, frame.room([scales[0].ticks[-1][1]], 4) / 2)
    field = Field(frame.room([text for _, text in scales[1].ticks]), right, 34.0, 394.0)
    best = unbeaten(shown, frontier)
    drawn = {n: traced for n, one in enumerate(curves) if (traced := lines.trace(one, (x, y), scales)).runs}
    level = {text: run for text, at in (iso or {}).items() if (run := _sampled(at, scales, (x, y)))}
    behind = [Markup('<path class="aim" d="{}"/>').format(path(run)) for runs in level.values() for run in runs]
    behind += [_steps(shown, best, scales, frontier)] if len(best) > 1 else []
    parts = [frame.style(), frame.framed(field, *scales), frame.inner(field, behind)]
    parts.append(lines.lines_of(curves, drawn, field, scales, dotted=False))
    parts.append(_corner(frontier, field))
    parts.append(_points(shown, best, field, scales))
    ends = [(curves[n].label, traced.middle) for n, traced in drawn.items()]
    ends += [(text, (float(runs[-1][-1, 0]), float(runs[-1][-1, 1]))) for text, runs in level.items()]
    parts.append(_tags(shown, ends, field, scales))
    height, key = _key(shown, field.bottom + 64)
    body = Markup('<g class="values">{}</g>').format(Markup("").join([*parts, key]))
    said, height = _said(shown, best), field.bottom + 44 + height
    whole = picture([body], height, name=name, title=title, description=said)
    return with_notes(whole, _notes(shown, without, scales))


def unbeaten(points: Sequence[PlotPoint], corner: Corner) -> list[int]:
    """The points that no other equals or beats in both axes, beating it in one; from left to right."""
    if corner == "none":
        return []
    signs = (1 if corner.endswith("left") else -1, 1 if corner.startswith("lower") else -1)
    at = sorted((signs[0] * point.x, signs[1] * point.y, n) for n, point in enumerate(points))
    found: list[int] = []
    least, where = float("inf"), (float("nan"), float("nan"))
    for across, up, n in at:
        if up < least or (across, up) == where:
            found.append(n)
            least, where = up, (across, up)
    return sorted(found, key=lambda n: (points[n].x, signs[0] * signs[1] * -points[n].y))


def _steps(points: Sequence[PlotPoint], best: Sequence[int], scales: tuple[Scale, Scale], corner: Corner) -> Markup:
    """The edge of what the points on the frontier beat."""
    at = np.column_stack(
        [scale.share([getattr(points[n], of) for n in best]) for scale, of in zip(scales, "xy", strict=True)]
    )
    # From one point to the next the edge first goes away from the corner.
    across_first = corner.endswith("left")
    corners = [at[:1]]
    for one, other in pairwise(at):
        turn = (other[0], one[1]) if across_first else (one[0], other[1])
        corners += [np.array([turn]), other[None]]
    return Markup('<path class="front" d="{}"/>').format(path(np.concatenate(corners)))


def _sampled(
    at: Callable[[float], float], scales: tuple[Scale, Scale], axes: tuple[PlotAxis, PlotAxis]
) -> list[Places]:
    """An iso-line where it is inside the axes."""
    ends = (scales[0].low, scales[0].high)
    xs = np.geomspace(*ends, _SAMPLES) if scales[0].log else np.linspace(*ends, _SAMPLES)
    ys = [_value(at, float(x)) for x in xs]
    inside = [axes[1].shows(y) and scales[1].low <= y <= scales[1].high for y in ys]
    line = PlotLine("", xs.tolist(), [y if ok else float("nan") for y, ok in zip(ys, inside, strict=True)])
    return [run for run in lines.trace(line, axes, scales).runs if len(run) > 1]


def _value(at: Callable[[float], float], x: float) -> float:
    try:
        return float(at(x))
    except (ArithmeticError, ValueError):
        return float("nan")


def _corner(corner: Corner, field: Field) -> Markup:
    if corner == "none":
        return Markup("")
    up, across = corner.split("-")
    return words(field.right, field.top - 14, f"best: {up} {across}", css="small end")


def _points(points: Sequence[PlotPoint], best: Sequence[int], field: Field, scales: tuple[Scale, Scale]) -> Markup:
    if len(points) > _DRAWN:
        return given.cells(points, field, scales)
    at = given.places(points, field, scales)
    rings = [placed(Markup('<circle class="ring" r="8.5"/>'), f"{at[n][0]:.2f}%", at[n][1]) for n in best]
    return Markup("").join(rings) + given.symbols(points, field, scales)


def _tags(
    points: Sequence[PlotPoint],
    ends: Sequence[tuple[str, tuple[float, float]]],
    field: Field,
    scales: tuple[Scale, Scale],
) -> Markup:
    """The labels of the points first, then those of curves and iso-lines."""
    at = given.places(points, field, scales) if len(points) <= BY_NUMBER else []
    texts = [point.label if len(points) <= BY_NAME else str(n) for n, point in enumerate(points, start=1)]
    items = [labels.Tag(text, *place) for text, place in zip(texts, at, strict=False)]
    items += [labels.Tag(text, field.x(x), field.y(y), "small") for text, (x, y) in ends]
    return labels.tags(items, field, avoid=at)


def _key(points: Sequence[PlotPoint], top: float) -> tuple[float, Markup]:
    """What symbols and numbers mean."""
    if len(points) > _DRAWN:
        return 0.0, Markup("")
    kinds = given.kinds_key(points, top=top)
    numbers = (0.0, Markup(""))
    if BY_NAME < len(points) <= BY_NUMBER:
        numbers = given.number_key(points, top=top + kinds[0])
    return kinds[0] + numbers[0] + (12 if kinds[0] or numbers[0] else 0), kinds[1] + numbers[1]


def _notes(points: Sequence[PlotPoint], without: Sequence[str], scales: tuple[Scale, Scale]) -> list[str]:
    notes = given.without_place(without)
    beyond = [
        point.label
        for point in points
        if not (scales[0].low <= point.x <= scales[0].high and scales[1].low <= point.y <= scales[1].high)
    ]
    if beyond:
        notes.append(f"Beyond the axes, drawn at their end: {frame.listed(beyond)}.")
    if len(points) > _DRAWN:
        notes.append(f"{len(points)} points; the area of a dot is the number of points around it.")
    return notes


def _said(points: Sequence[PlotPoint], best: Sequence[int]) -> str:
    """The points in words, and which are on the frontier."""
    said = " ".join(f"{given.said(point)}." for point in points[:BY_NUMBER])
    more = f" And {len(points) - BY_NUMBER} more." if len(points) > BY_NUMBER else ""
    edge = f" Beaten by no other: {', '.join(fit(points[n].label, 40) for n in best[:BY_NUMBER])}." if best else ""
    return said + more + edge
