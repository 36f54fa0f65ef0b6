"""Depth doses of single beams in DoseRAD2026: the winner's best and worst, with the next teams beside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.evaluation import Challenge, Cohort, open_cohort
from isocenter.metrics import Direction, catalogue, curve_distance, depth_dose_of_plane
from isocenter.papers._files import first_line, grid_policy
from isocenter.papers._study import Study
from isocenter.report import Block, Chart, Paragraph, PlotAxis, PlotLine, Section, lines_plot
from isocenter.submissions import GridPolicy, list_files, match
from isocenter.volumes import Frame, Grid

Curve = NDArray[np.float64]

_METRIC = "idd_distance"
_TEAMS = 3  # drawn with the reference
_UNIT = "% of the reference's peak"
_SEEN = 0.005  # of the peak: where curves begin and end

NO_FILES = "need the organisers' files in reference/ and those of teams in submissions/."


class _Beam(NamedTuple):
    """A beam of the reference: its curve, and what it takes to work out another on the same grid."""

    grid: Grid
    direction: Direction
    curve: Curve


def teams_with_files(study: Study) -> list[str]:
    """The ranked teams whose outputs are at hand, best first; none without a reference."""
    if study.folder.file("reference") is None:
        return []
    return [team for team in study.main.ranked if team in study.outputs]


def depth_doses(study: Study) -> Section:
    """Integrated depth doses of the beam with the smallest and of that with the largest distance."""
    return Section("doserad-beams", "Depth doses of single beams", tuple(_depth_doses(study)))


def _depth_doses(study: Study) -> Iterator[Block]:
    teams = teams_with_files(study)[:_TEAMS]
    if not teams:
        yield Paragraph(f"Depth doses of beams {NO_FILES}", note=True)
        return
    rows = study.main.scores.filter(
        pl.col("submission") == teams[0], pl.col("metric") == _METRIC, pl.col("part") != "", pl.col("value").is_finite()
    ).sort("value", "case", "part")
    if rows.is_empty():
        yield Paragraph(f"The score table of {teams[0]} has no {_METRIC} of single beams.", note=True)
        return
    ends = {"best": rows.row(0, named=True), "worst": rows.row(-1, named=True)}
    for number, (which, row) in enumerate(list(ends.items())[: rows.height]):
        study.move(number, len(ends), f"drawing the {which} beam")
        try:
            yield from _charts(study, which, row, teams)
        except (ValueError, OSError, ArithmeticError) as error:
            yield Paragraph(f"The {which} beam of {teams[0]} cannot be drawn: {first_line(error, study)}", note=True)


def _charts(study: Study, which: str, row: Mapping[str, Any], teams: list[str]) -> Iterator[Block]:
    case, uuid = row["case"], row["part"]
    cohort = open_cohort(study.challenge, study.folder.path / "reference")
    beam = _reference(study.challenge, cohort, case, uuid)
    curves, lost, distances = dict[str, Curve](), [], []
    for team in teams:
        path, policy = study.outputs[team].outputs, grid_policy(study)
        found = _predicted(study.challenge, cohort, path, (case, uuid), policy=policy)
        if found is None or found.array.shape != beam.grid.shape or not np.isfinite(found.array[found.box]).all():
            lost.append(team)
        else:
            curves[team] = _curve(found, beam.grid, beam.direction)
            apart = curve_distance(beam.curve, curves[team])
            distances.append(f"{team} {catalogue.get(_METRIC).show(apart)}")
    along, reference, shown = _cut(beam.curve, curves, step=max(beam.grid.spacing[:2]))
    title = f"Integrated depth dose of the beam that {teams[0]} meets {which}, of case {case}"
    caption = (
        f"{title} ({uuid}): dose summed across the beam, in per cent of the reference's peak, as handed in. Distance "
        f"from the reference: {', '.join(distances) or 'not known'}."
    )
    lines = [PlotLine(team, along, values) for team, values in shown.items()]
    highest = max(map(max, [reference, *shown.values()]))
    yield Chart(
        f"doserad-beam-{which}",
        caption + (f" Not drawn, as there is no usable dose: {', '.join(lost)}." if lost else ""),
        _plot(
            [PlotLine("Reference", along, reference, strong=True), *lines],
            y=PlotAxis("integrated dose", _UNIT, high=10.0 * math.ceil(highest / 10)),
            title=title,
            name=f"doserad-depth-{which}",
        ),
        pl.DataFrame(
            {"along_mm": along, "reference": reference, **{f"dose of {team}": y for team, y in shown.items()}}
        ),
    )
    if lines:
        title = f"Difference of these depth doses from the reference, {which} beam of {teams[0]}"
        # With the reference, as the same line has the same colour in both pictures then.
        nothing = PlotLine("Reference", along, [0.0] * len(along), strong=True)
        less = [PlotLine(line.label, along, np.subtract(line.y, reference).tolist()) for line in lines]
        yield Chart(
            f"doserad-beam-{which}-difference",
            f"{title}: team less reference, in per cent of the reference's peak.",
            _plot([nothing, *less], y=PlotAxis("difference", _UNIT), title=title, name=f"doserad-difference-{which}"),
        )


def _plot(lines: list[PlotLine], *, y: PlotAxis, title: str, name: str) -> Markup:
    return lines_plot(
        lines,
        x=PlotAxis("along the beam", "mm", low=0.0, high=lines[0].x[-1]),
        y=y,
        title=title,
        name=name,
    )


def _reference(challenge: Challenge, cohort: Cohort, case: str, uuid: str) -> _Beam:
    """A beam of the organisers' files.

    Raises
    ------
    ValueError
        They do not have it, or it has no dose.
    """
    files = next((one.files for one in cohort.cases if one.name == case), None)
    if files is None:
        msg = f"reference/ has no case {case}"
        raise ValueError(msg)
    truth = challenge.reference["truth"].read(files["truth"], grid=None, policy="refuse").value
    for beam, frame in truth.frames():
        if beam.uuid == uuid:
            curve = _curve(frame, truth.grid, beam.direction)
            if curve.max() > 0:
                return _Beam(truth.grid, beam.direction, curve)
    msg = f"reference/ has no dose of beam {uuid} of {case}"
    raise ValueError(msg)


def _predicted(
    challenge: Challenge, cohort: Cohort, path: Any, place: tuple[str, str], *, policy: GridPolicy
) -> Frame | None:
    """What a team handed in for a beam, given by case and uuid; None if nothing can be used."""
    case, uuid = place
    listing = list_files(path)
    if any(problem.severity == "refused" for problem in listing.problems):
        return None
    if challenge.arrange is not None:
        listing = challenge.arrange(listing, {one.name: one.files for one in cohort.cases})
    file = match(listing, challenge.output, cases=[one.name for one in cohort.cases]).files[case].get("beams")
    if file is None:
        return None
    beams = challenge.output["beams"].read(file, grid=None, policy=policy).value
    return next((frame for _, frame in beams.frames({uuid: None}) if isinstance(frame, Frame)), None)


def _curve(frame: Frame, grid: Grid, direction: Direction) -> Curve:
    plane = np.zeros(grid.shape[:2])
    plane[frame.box[:2]] = frame.array[frame.box].sum(axis=2, dtype=np.float64)
    return depth_dose_of_plane(plane, spacing=grid.spacing[:2], direction=direction)


def _cut(
    reference: Curve, curves: Mapping[str, Curve], *, step: float
) -> tuple[list[float], list[float], dict[str, list[float]]]:
    """Places in mm, and curves in per cent of the reference's peak, from where to where any is worth seeing."""
    peak = float(reference.max())
    worth = np.flatnonzero(np.any([np.abs(curve) > _SEEN * peak for curve in (reference, *curves.values())], axis=0))
    part = slice(max(int(worth[0]) - 1, 0), int(worth[-1]) + 2)
    shown = {team: (100.0 * curve[part] / peak).tolist() for team, curve in curves.items()}
    there = (100.0 * reference[part] / peak).tolist()
    return (step * np.arange(len(there))).tolist(), there, shown
