"""The S-score against the volume of the tumour (eFigure 3), and how volumes are distributed (eFigure 2)."""

from __future__ import annotations

import math
import statistics
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
    Cell,
    Chart,
    Paragraph,
    PlotAxis,
    PlotLine,
    PlotPoint,
    Section,
    Table,
    case_values,
    lines_plot,
    scatter_plot,
    table,
)

V0 = 4 / 3 * math.pi * 30.0**3
"""mm³: a sphere of 30 mm radius, at which the S-score begins to punish absolute errors."""

_ERRORS = (0.1, 0.25, 0.5, 1.0, 2.0)  # E/V of the curves
_STEPS = 60
_BINS = 20  # of volumes
_MOST_ML = 10_000.0  # more than both lungs of an adult hold


def volumes(study: Study, panel: Panel | str) -> Section:
    """The winner's scores, curves of equal relative error, and the share of smaller tumours."""
    given, notes = _given(study)
    found = given or _measured(study, panel)
    blocks: list[Block] = [Paragraph(found, note=True)] if isinstance(found, str) else list(_blocks(study, found))
    if not isinstance(found, str):
        blocks += _distributions(study, found)
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


def _distributions(study: Study, ratios: Mapping[str, float]) -> Iterator[Block]:
    """Volumes of this cohort beside those of others, each with the normal distribution of its logarithms."""
    sets, notes = {"This phase": [ratio * V0 for ratio in ratios.values()]}, []
    for name, other in study.cohorts.items():
        given, wrong = _given(other)
        measured = given or _measured(other, "")
        if not isinstance(measured, str):
            sets[name] = [ratio * V0 for ratio in measured.values()]
        notes += [f"{name}: {text}" for text in wrong]
    public, wrong = _public(study)
    sets |= {f"{name} (public)" if name in sets else name: values for name, values in public.items()}
    notes += wrong
    if len(sets) == 1:
        text = (
            "Volumes of other data sets would stand beside these from cohorts/NAME/ or from a table volumes.csv with "
            "the columns dataset and volume_ml."
        )
        notes.append(text)
    logs = {name: [math.log(value) for value in values] for name, values in sets.items() if len(values) > 1}
    if logs:
        yield _distribution_chart(logs)
        yield _distribution_table(logs)
    yield from (Paragraph(note, note=True) for note in notes)


def _public(study: Study) -> tuple[dict[str, list[float]], list[str]]:
    """Volumes in mm³ by data set from volumes.csv, and which of its lines cannot be used."""
    rows = study.folder.rows("volumes.csv")
    if rows is None:
        return {}, []
    if not rows or not {"dataset", "volume_ml"} <= set(rows[0]):
        return {}, ["volumes.csv has no rows, or lacks the columns dataset and volume_ml."]
    sets: dict[str, list[float]] = {}
    lost = []
    for number, row in enumerate(rows, start=2):
        volume = _millilitres(row["volume_ml"])
        if volume is None or not row["dataset"]:
            lost.append(str(number))
        else:
            sets.setdefault(row["dataset"], []).append(1000 * volume)
    some = ", ".join(lost[:10]) + (" …" if len(lost) > 10 else "")
    text = (
        f"volumes.csv: a data set and a volume above 0 and at most {_MOST_ML:g} ml are needed; not so in line {some}."
    )
    return sets, [text] if lost else []


def _distribution_chart(logs: Mapping[str, list[float]]) -> Chart:
    everything = [value for values in logs.values() for value in values]
    low, high = math.floor(min(everything)), math.ceil(max(everything))
    high = max(high, low + 1)
    width = (high - low) / _BINS
    edges = [low + n * width for n in range(_BINS + 1)]
    lines, rows = [], []
    for name, values in logs.items():
        counts = [0] * _BINS
        for value in values:
            counts[min(int((value - low) / width), _BINS - 1)] += 1
        density = [count / (len(values) * width) for count in counts]
        lines.append(PlotLine(name, edges, [*density, 0.0], steps=True, strong=name == next(iter(logs))))
        mean, spread = statistics.fmean(values), statistics.stdev(values)
        if spread > 0:
            grid = [low + (high - low) * step / _STEPS for step in range(_STEPS + 1)]
            normal = statistics.NormalDist(mean, spread)
            lines.append(PlotLine(f"normal, {name}", grid, [normal.pdf(x) for x in grid]))
        rows += [(name, left, left + width, n) for left, n in zip(edges, counts, strict=False)]
    title = "Distribution of tumour volumes"
    return Chart(
        "volume-distributions",
        f"{title}: share of scans by the logarithm of the volume in mm³, as steps, and the normal distribution of the "
        f"same mean and standard deviation. n = {', '.join(f'{len(v)} ({name})' for name, v in logs.items())}.",
        lines_plot(
            lines,
            x=PlotAxis("ln of the volume in mm³", low=float(low), high=float(high)),
            y=PlotAxis("density", low=0.0),
            title=title,
            name="volume-distribution-lines",
        ),
        pl.DataFrame(rows, schema=["dataset", "ln_mm3_from", "ln_mm3_to", "scans"], orient="row"),
    )


def _distribution_table(logs: Mapping[str, list[float]]) -> Table:
    rows = []
    for name, values in logs.items():
        mean, spread = statistics.fmean(values), statistics.stdev(values)
        median = math.exp(statistics.median(values)) / 1000
        number = Cell(str(len(values)), len(values))
        rows.append((name, number, Cell(f"{mean:.2f} ({spread:.2f})", mean), Cell(f"{median:.3g}", median)))
    return table(
        "volume-statistics",
        "Volumes of tumours by data set.",
        ["Data set", "Scans #", "Mean (SD) of ln mm³ #", "Median, ml #"],
        rows,
    )
