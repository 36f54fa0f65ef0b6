"""The figures of detection and diagnosis: ROC, precision–recall and FROC curves of all teams."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from isocenter.detections import Detections
from isocenter.readers import ReaderScores
from isocenter.report._curve_given import OperatingMark
from isocenter.report._curves import froc_plot, precision_recall_plot, roc_plot
from isocenter.report._figures import Figure

_THRESHOLDS = (3, 4)
"""PI-RADS from which on a finding counts, of the operating points that are shown."""


def detection_figures(
    teams: Mapping[str, Sequence[Detections]],
    *,
    readers: ReaderScores | None = None,
    name: str = "detection",
) -> list[Figure]:
    """Three curves of each team; where it has several trained instances, of the one with the median score.

    Parameters
    ----------
    teams
        In the order in which they are listed; of each its instances.
    readers
        People who read the same cases, or some of them; each is marked where PI-RADS 3 and PI-RADS 4 put them.
    name
        Prefix of the names of the figures, its own for every call that serves one page.
    """
    shown = {team: _median(instances) for team, instances in teams.items() if instances}
    if not shown:
        return []
    first = next(iter(shown.values()))
    several = " Of several trained instances the one with the median score is drawn." * any(
        len(instances) > 1 for instances in teams.values()
    )
    positives, lesion_count = int(first.truth.sum()), int(first.is_lesion.sum())
    figures = []
    if 0 < positives < len(first.cases):
        roc = roc_plot(
            {team: found.roc() for team, found in shown.items()},
            title="ROC curves of the patients",
            points=_marks(readers, "specificity", "sensitivity"),
            name=f"{name}-roc",
        )
        caption = f"{positives} patients with a lesion and {len(first.cases) - positives} without.{several}"
        figures.append(Figure(f"{name}-roc", "Patients: who has a lesion?", caption, roc))
    if lesion_count:
        recall = precision_recall_plot(
            {team: found.precision_recall() for team, found in shown.items()},
            title="Precision and recall of the lesions",
            points=_marks(readers, "recall", "precision"),
            name=f"{name}-pr",
        )
        free = froc_plot(
            {team: found.froc() for team, found in shown.items()},
            title="FROC curves of the lesions",
            points=_marks(readers, "false_positives_per_case", "recall"),
            name=f"{name}-froc",
        )
        counted = f"{lesion_count} lesions in {len(first.cases)} patients"
        steps = "The average precision is the area under the steps, without interpolation."
        figures += [
            Figure(f"{name}-pr", "Lesions: precision and recall", f"{counted}. {steps}{several}", recall),
            Figure(
                f"{name}-froc",
                "Lesions: found, against false positives",
                f"{counted}. False positives are counted per patient, with and without a lesion.{several}",
                free,
            ),
        ]
    return figures


def _marks(readers: ReaderScores | None, x: str, y: str) -> list[OperatingMark]:
    """Where the readers operate, by two of their numbers; who lacks one of them is not shown."""
    marks = [
        OperatingMark(
            one.reader,
            1 - point.specificity if x == "specificity" else getattr(point, x),
            getattr(point, y),
            f"Readers, PI-RADS ≥ {threshold}",
        )
        for threshold in _THRESHOLDS
        for one in (readers.readers if readers else ())
        for point in [one.points[threshold]]
    ]
    return [mark for mark in marks if not (math.isnan(mark.x) or math.isnan(mark.y))]


def _median(instances: Sequence[Detections]) -> Detections:
    """The instance in the middle by its score; of an even number, the lower one."""
    ordered = sorted(range(len(instances)), key=lambda at: (instances[at].detection_score, at))
    return instances[ordered[(len(ordered) - 1) // 2]]
