"""Means with their standard errors, one row each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from isocenter.report import _value_figures_frame as frame
from isocenter.report._drawing import line, name_of, picture, placed, sentence, with_notes, words
from isocenter.report._value_figures_frame import Field, PlotAxis

_ROW, _HEADING = 23.0, 30.0
_LEFT, _RIGHT = 26.0, 72.0  # per cent of the width between which values are drawn
_MOST_ROWS = 400


@dataclass(frozen=True, slots=True)
class MeanRow:
    """A mean.

    Attributes
    ----------
    error
        Its standard error; NaN where it has none.
    text
        What stands beside it: the two in brackets, how many cases.
    heading
        Begins a block of rows.
    """

    label: str
    mean: float
    error: float
    text: str = ""
    heading: str = ""


def means_plot(
    rows: Sequence[MeanRow],
    *,
    label: str,
    title: str,
    name: str,
    unit: str = "",
    better: Literal["higher", "lower", "neither"] = "neither",
    lines: Mapping[str, float] | None = None,
) -> Markup:
    """A dot for each mean, with a line of one standard error to both sides.

    Parameters
    ----------
    rows
        In the order in which they are drawn. One whose mean is not finite has its text only.
    label, unit, better
        What the axis shows, and where better is.
    lines
        Dashed lines by their labels: the agreement of experts.
    """
    known = [row for row in rows[:_MOST_ROWS] if math.isfinite(row.mean)]
    if not known:
        return sentence(f"{title}: there is no finite mean to draw.")
    aims = {text: at for text, at in (lines or {}).items() if math.isfinite(at)}
    ends = [row.mean + side * _error(row) for row in known for side in (-1, 1)]
    scale = frame.scale_of(PlotAxis(label, unit), [*ends, *aims.values()])
    top = 8.0 + 18.0 * len(aims)
    bottom = top + sum(_ROW + (_HEADING if row.heading else 0.0) for row in rows[:_MOST_ROWS])
    field = Field(_LEFT, _RIGHT, top, bottom)

    def x(value: float) -> float:
        return field.x(min(max(float(scale.share([value])[0]), 0.0), 1.0))

    parts = [line("tick", x(at), x(at), y=bottom, up=bottom - top) for at, _ in scale.ticks]
    for number, (text, at) in enumerate(aims.items()):
        parts.append(
            Markup('<g stroke-dasharray="5 4">{}</g>').format(
                line("whisker", x(at), x(at), y=bottom, up=bottom - 18.0 * number - 8)
            )
        )
        css = "small ink end" if x(at) > 50 else "small ink"
        parts.append(
            words(x(at) + (-1 if x(at) > 50 else 1), 18.0 * number + 14, name_of(text, narrow=24, wide=50), css=css)
        )
    y = top
    for row in rows[:_MOST_ROWS]:
        if row.heading:
            y += _HEADING
            parts.append(words(0, y - 7, name_of(row.heading, narrow=38, wide=80), css="name"))
        parts.append(_row(row, y + _ROW / 2, x))
        y += _ROW
    parts += [words(x(at), bottom + 16, text, css="small middle") for at, text in scale.ticks]
    arrow = {"higher": ", higher is better →", "lower": ", ← lower is better", "neither": ""}[better]
    parts.append(words(_RIGHT, bottom + 36, frame.with_unit(label, unit) + arrow, css="small ink end"))
    described = " ".join(
        f"{row.heading or ''} {row.label}: {row.text or format(row.mean, '.4g')}.".strip() for row in rows
    )
    notes = [f"The first {_MOST_ROWS} of {len(rows)} rows."] if len(rows) > _MOST_ROWS else []
    return with_notes(picture(parts, bottom + 42, name=name, title=title, description=described), notes)


def _error(row: MeanRow) -> float:
    return row.error if math.isfinite(row.error) else 0.0


def _row(row: MeanRow, y: float, x: Callable[[float], float]) -> Markup:
    """One mean; `x` says where a value lies, per cent of the width."""
    parts = [words(0, y + 4.5, name_of(row.label, narrow=11, wide=24), css="small ink")]
    if math.isfinite(row.mean):
        low, high = x(row.mean - _error(row)), x(row.mean + _error(row))
        parts.append(line("whisker", low, high, y=y))
        parts += [line("whisker", end, end, y=y, up=5, down=5) for end in (low, high) if _error(row)]
        dot = Markup('<circle class="dot" r="4.5"><title>{}</title></circle>').format(f"{row.label}: {row.text}")
        parts.append(placed(dot, f"{x(row.mean):.2f}%", y))
    parts.append(words(100, y + 4.5, row.text, css="small end"))
    return Markup("").join(parts)
