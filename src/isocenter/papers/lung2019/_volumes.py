"""The S-score against the volume of the tumour, with how volumes are distributed (eFigure 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import polars as pl

from isocenter.ensembles import REFERENCE, read_maps
from isocenter.evaluation import open_cohort
from isocenter.papers._files import first_line
from isocenter.papers._mask_votes import Panel
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.report import (
    Block,
    Chart,
    Paragraph,
    PlotAxis,
    PlotLine,
    PlotPoint,
    Section,
    case_values,
    lines_plot,
    scatter_plot,
)

V0 = 4 / 3 * math.pi * 30.0**3
"""mm³: a sphere of 30 mm radius, at which the S-score begins to punish absolute errors."""

_ERRORS = (0.1, 0.25, 0.5, 1.0, 2.0)  # E/V of the curves
_STEPS = 60
_MOST_ML = 10_000.0  # more than both lungs of an adult hold


def volumes(study: Study, panel: Panel | str) -> Section:
    """The winner's scores, curves of equal relative error, and the share of smaller tumours."""
    given, notes = _given(study)
    found = given or _measured(study, panel)
    blocks = [Paragraph(found, note=True)] if isinstance(found, str) else list(_blocks(study, found))
    blocks += [Paragraph(note, note=True) for note in notes]
    return Section("volumes", "The S-score and the volume of tumours", tuple(blocks))


def s_of(error: float, ratio: float) -> float:
    """S = exp(−E/(2V) · (1 + (V/V₀)^⅓)) of a relative error E/V and a relative volume V/V₀."""
    return math.exp(-error / 2 * (1 + math.cbrt(ratio)))


def _given(study: Study) -> tuple[dict[str, float], list[str]]:
    """By scored case V/V₀ from cases.csv, and which of its volumes cannot be."""
    cohort = set(study.main.scores["case"])
    texts = {case: fact.get("volume_ml", "") for case, fact in study.folder.facts().items() if case in cohort}
    volumes = {case: _millilitres(text) for case, text in texts.items() if text}
    notes = []
    if wrong := [case for case, volume in volumes.items() if volume is None]:
        some = ", ".join(f"{texts[case]} of {case}" for case in wrong[:5]) + (" …" if len(wrong) > 5 else "")
        notes.append(f"cases.csv: a volume is above 0 and at most {_MOST_ML:g} ml; left out is what is not ({some}).")
    return {case: 1000 * volume / V0 for case, volume in volumes.items() if volume is not None}, notes


def _measured(study: Study, panel: Panel | str) -> dict[str, float] | str:
    """By scored case V/V₀ from the reference masks, or why that is not known."""
    if not isinstance(panel, str):
        counts = {case.case: case.patterns.positives * case.patterns.voxel_volume for case in panel.votes.cases}
    elif (reference := study.folder.file("reference")) is not None:
        try:
            maps = read_maps(study.challenge, open_cohort(study.challenge, reference), {})
            counts = {
                case: float((truth.box != 0).sum()) * truth.grid.voxel_volume
                for case, by_name in maps
                if (truth := by_name[REFERENCE]) is not None
            }
        except (ValueError, OSError) as error:
            return f"Volumes are not known: {first_line(error, study)}"
    else:
        return "Volumes of tumours need the masks in reference/, or a column `volume_ml` in cases.csv."
    cohort = set(study.main.scores["case"])
    found = {case: volume / V0 for case, volume in counts.items() if volume > 0 and case in cohort}
    return found or "No reference of a scored case holds a tumour, so there are no volumes."


def _millilitres(text: str) -> float | None:
    """A volume that a tumour can have."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number <= _MOST_ML else None


def _blocks(study: Study, ratios: Mapping[str, float]) -> Iterator[Block]:
    decided = study.boards.get("s_score", study.main)
    values = case_values(decided.board, decided.scores) if decided.board.metric == "s_score" else {}
    winner = next((team for team in decided.ranked if team in values), None)
    cells = dict(values.get(winner or "", ()))
    points = [PlotPoint(case, ratio, cells[case], winner or "") for case, ratio in ratios.items() if case in cells]
    ordered = sorted(ratios.values())
    low, high = min(ordered[0] / 1.5, 0.1), max(ordered[-1] * 1.5, 1.0)
    grid = [low * (high / low) ** (step / _STEPS) for step in range(_STEPS + 1)]
    curves = [PlotLine(f"E/V = {error:g}", grid, [s_of(error, ratio) for ratio in grid]) for error in _ERRORS]
    shares = [(n + 1) / len(ordered) for n in range(len(ordered))]
    curves.append(PlotLine("share smaller", [low, *ordered, high], [0.0, *shares, 1.0], steps=True, strong=True))
    median = ordered[len(ordered) // 2] if len(ordered) % 2 else sum(ordered[len(ordered) // 2 - 1 :][:2]) / 2
    above = sum(ratio > 1 for ratio in ordered)
    yield Paragraph(
        f"The median volume is {median * V0 / 1000:.3g} ml, {median:.2g} of V₀ = {V0 / 1000:.1f} ml (a sphere of 30 mm "
        f"radius); {above} of {counted(len(ordered), 'tumour')} are larger, and lose more S-score by the same relative "
        "error."
    )
    title = "S-score against the volume of the tumour"
    whose = f"Dots: the cases of {winner}. " if points else ""
    caption = (
        f"{title}, in units of V₀. {whose}Curves: the score where the error volume E is so large a part of "
        f"the tumour's V. Steps: the share of cases with a tumour no larger. n = {counted(len(ordered), 'case')}."
    )
    rows = [(case, ratio * V0 / 1000, ratio, cells.get(case)) for case, ratio in ratios.items()]
    yield Chart(
        "score-by-volume",
        caption,
        scatter_plot(
            points,
            x=PlotAxis("V/V₀", log=True, low=low, high=high),
            y=PlotAxis("S-score", low=0.0, high=1.0),
            curves=curves,
            title=title,
            name="volume-points",
        )
        if points
        else lines_plot(
            curves,
            x=PlotAxis("V/V₀", log=True, low=low, high=high),
            y=PlotAxis("S-score", low=0.0, high=1.0),
            title=title,
            name="volume-points",
        ),
        pl.DataFrame(
            rows,
            schema={"case": pl.String, "volume_ml": pl.Float64, "v_v0": pl.Float64, "s_score": pl.Float64},
            orient="row",
        ),
    )
