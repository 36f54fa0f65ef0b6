"""The best teams as curves, with bands and with the readers' operating points; and the two parts of their score."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from isocenter.detections import Detections
from isocenter.metrics import operating_point
from isocenter.papers._words import counted
from isocenter.papers.picai2022._bands import bands, draws_for
from isocenter.papers.picai2022._given import CALLS, Given
from isocenter.ranking import BoardRow
from isocenter.readers import ReaderPoint, rate_patient
from isocenter.report import (
    Band,
    Block,
    Chart,
    OperatingMark,
    Paragraph,
    PlotAxis,
    PlotPoint,
    Section,
    froc_plot,
    precision_recall_plot,
    roc_plot,
    scatter_plot,
)

_DRAWN = 10  # teams with a curve: there are ten kinds of line
_BANDED = 2  # of them with a band; more would lie on each other
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
_MOST_LINES = 8


def curves(given: Given) -> Section:
    """ROC, precision–recall and FROC curves of the best teams."""
    return Section("curves", "Curves of the best teams", tuple(_curves(given)))


def _curves(given: Given) -> Iterator[Block]:
    settings = given.study.settings
    shown = {team: median(instances) for team, instances in list(given.teams.items())[:_DRAWN]}
    found = {}
    for number, team in enumerate(list(shown)[:_BANDED]):
        given.study.move(number, _BANDED, f"drawing cases for the curves of {team}")
        found[team] = bands(shown[team], replicates=settings.replicates, level=settings.level, seed=settings.seed)
    first = next(iter(shown.values()))
    ill, lesions = int(first.truth.sum()), int(first.is_lesion.sum())
    text = _shown(given, banded=list(found))
    places = {
        "roc": [*marks(given, lambda at: (1 - at.specificity, at.sensitivity)), *_marks_of_routine(given)],
        "pr": marks(given, lambda at: (at.recall, at.precision)),
        "froc": marks(given, lambda at: (at.false_positives_per_case, at.recall)),
    }
    if 0 < ill < len(first.cases):
        title = "ROC curves of the patients"
        roc = roc_plot(
            {team: one.roc() for team, one in shown.items()},
            title=title,
            points=places["roc"],
            bands=_given({team: one.roc for team, one in found.items()}),
            name="picai-roc",
        )
        caption = (
            f"{title}: {ill} with significant cancer and {len(first.cases) - ill} without. {text}{_read(places['roc'])}"
        )
        yield Chart("roc", caption, roc, _frame(shown, _roc_points, ("false_positive_rate", "sensitivity")))
    if lesions:
        what = f"{counted(lesions, 'lesion')} in {counted(len(first.cases), 'patient')}"
        title = "Precision and recall of the lesions"
        picture = precision_recall_plot(
            {team: one.precision_recall() for team, one in shown.items()},
            title=title,
            points=places["pr"],
            bands=_given({team: one.precision_recall for team, one in found.items()}),
            name="picai-precision-recall",
        )
        steps = (
            "AP is the area under the steps, without interpolation; a recall that a draw does not reach counts as 0."
        )
        data = _frame(shown, _recall_points, ("recall", "precision"))
        yield Chart("precision-recall", f"{title}: {what}. {steps} {text}{_read(places['pr'])}", picture, data)
        title = "FROC curves of the lesions"
        picture = froc_plot(
            {team: one.froc() for team, one in shown.items()},
            title=title,
            points=places["froc"],
            bands=_given({team: one.froc for team, one in found.items()}),
            name="picai-froc",
        )
        data = _frame(shown, _froc_points, ("false_positives_per_case", "sensitivity"))
        yield Chart(
            "froc", f"{title}: {what}, false positives per patient. {text}{_read(places['froc'])}", picture, data
        )
    for note in given.readers_notes:
        yield Paragraph(note, note=True)
    yield from _scatter(given)


def _shown(given: Given, *, banded: Sequence[str]) -> str:
    """What can be seen in all three pictures."""
    settings, parts = given.study.settings, []
    if len(given.teams) > _DRAWN:
        parts.append(f"The first {_DRAWN} of {len(given.teams)} teams.")
    if settings.replicates:
        draws, names = draws_for(settings.replicates), " and ".join(banded)
        parts.append(
            f"Shaded: {100 * settings.level:g} % of {draws:,} draws of the cases, point by point, for {names}."
        )
    if any(len(instances) > 1 for instances in given.teams.values()):
        parts.append("Of several trained instances the one with the median score is drawn.")
    return " ".join(parts)


def _read(places: Sequence[OperatingMark]) -> str:
    routine = any(place.kind.startswith("Routine") for place in places)
    who = ["readers, each on the cases that they read"] * any(not p.kind.startswith("Routine") for p in places)
    who += ["clinical routine"] * routine
    return f" Symbols: {' and '.join(who)}." if who else ""


def median(instances: Sequence[Detections]) -> Detections:
    """The instance in the middle by its score; of an even number, the lower one."""
    order = sorted(range(len(instances)), key=lambda at: (instances[at].detection_score, at))
    return instances[order[(len(order) - 1) // 2]]


def _given(areas: Mapping[str, Band | None]) -> dict[str, Band]:
    return {team: area for team, area in areas.items() if area is not None}


def marks(
    given: Given, place: Callable[[ReaderPoint], tuple[float, float]], *, modality: str | None = None
) -> list[OperatingMark]:
    """Where the readers operate, of one modality or of all; who lacks one of the numbers is not shown."""
    if given.readers is None:
        return []
    several = len({one.modality for one in given.readers.readers}) > 1
    found = []
    for threshold in CALLS:
        for one in given.readers.readers:
            x, y = place(one.points[threshold])
            of = f", {one.modality}" if several else ""
            if modality in (None, one.modality) and math.isfinite(x) and math.isfinite(y):
                found.append(OperatingMark(one.reader, x, y, f"Readers{of}, PI-RADS ≥ {threshold}"))
    return found


def _marks_of_routine(given: Given) -> list[OperatingMark]:
    """Where clinical routine operates."""
    if given.routine is None:
        return []
    reads = given.routine.reads
    ill, weight = np.array([one.positive for one in reads]), np.array([one.weight for one in reads])
    pirads = np.array([rate_patient(one.read) for one in reads])
    if not 0 < ill.sum() < ill.size:
        return []
    marks = []
    for threshold in CALLS:
        point = operating_point(ill, pirads, threshold=threshold, weight=weight)
        kind = f"Routine, PI-RADS ≥ {threshold}"
        marks.append(OperatingMark(kind, 1 - point.specificity, point.sensitivity, kind))
    return marks


def _frame(
    shown: Mapping[str, Detections],
    points: Callable[[Detections], tuple[Sequence[float], Sequence[float]]],
    names: tuple[str, str],
) -> pl.DataFrame:
    rows = [(team, x, y) for team, one in shown.items() for x, y in zip(*points(one), strict=True)]
    return pl.DataFrame(rows, schema={"team": pl.String, names[0]: pl.Float64, names[1]: pl.Float64}, orient="row")


def _roc_points(found: Detections) -> tuple[Sequence[float], Sequence[float]]:
    curve = found.roc()
    return curve.false_positive_rate.tolist(), curve.sensitivity.tolist()


def _recall_points(found: Detections) -> tuple[Sequence[float], Sequence[float]]:
    curve = found.precision_recall()
    return curve.recall[::-1].tolist(), curve.precision[::-1].tolist()


def _froc_points(found: Detections) -> tuple[Sequence[float], Sequence[float]]:
    curve = found.froc()
    return curve.false_positives.tolist(), curve.sensitivity.tolist()


def _scatter(given: Given) -> Iterator[Block]:
    """AUROC against AP; teams on one line have the same score."""
    rows = [row for row in given.study.main.board.rows if row.submission in given.teams and len(row.components) == 2]
    if not rows:
        return
    title = "Diagnosis of patients and detection of lesions, by team"
    scores = [row.score for row in rows if row.score is not None]
    interval = any(row.components[1].low is not None for row in rows)
    picture = scatter_plot(
        [_point(row) for row in rows],
        x=PlotAxis("AUROC"),
        y=PlotAxis("Average precision"),
        title=title,
        name="picai-parts",
        iso={f"score {level:.3g}": _equal(level) for level in _levels(min(scores), max(scores))},
    )
    reach = f" Bars: {100 * given.study.settings.level:g} % interval of the average precision." if interval else ""
    yield Chart(
        "auroc-and-average-precision",
        f"{title}: on a dashed line all have the same score, the mean of both.{reach}",
        picture,
        pl.DataFrame(
            [(row.submission, *(part.score for part in row.components), row.score) for row in rows],
            schema=["team", "auroc", "average_precision", "score"],
            orient="row",
        ),
    )


def _point(row: BoardRow) -> PlotPoint:
    auroc, precision = row.components
    return PlotPoint(row.submission, auroc.score, precision.score, low=precision.low, high=precision.high)


def _levels(low: float, high: float) -> list[float]:
    """Round scores around those of the teams."""
    step = next((s for s in _STEPS if (high - low) / s <= _MOST_LINES - 2), _STEPS[-1])
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(n * step, 6) for n in range(max(first, 0), last + 1) if n * step <= 1]


def _equal(score: float) -> Callable[[float], float]:
    return lambda auroc: 2 * score - auroc
