"""Reads against the reference: hits, calls, and how well readers do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

import numpy as np

from isocenter.metrics import LesionCounts, auroc, match_points, operating_point, why_no_auroc
from isocenter.problems import Problem
from isocenter.readers._places import check_places
from isocenter.readers._reads import OPERATING_POINTS, Read, Reads, ReadsError
from isocenter.readers._reference import ReferenceCase, Truth, ready
from isocenter.readers._results import PanelResult, ReaderPoint, ReaderResult, ReaderScores, ScoredRead
from isocenter.stats import Interval, bootstrap_ci, delong
from isocenter.volumes import Grid


def score_reads(
    reads: Reads, reference: Mapping[str, ReferenceCase | tuple[Any, Grid]], *, margin_mm: float = 5.0
) -> ReaderScores:
    """Score every reader in every modality, on the cases that the reader read there, at PI-RADS 3, 4 and 5 or above.

    Marks below an operating point are removed before anything is matched. A patient is called positive by a mark of
    that PI-RADS or above, or by such a PI-RADS of the patient. Cases that nobody read have no part in anything.

    Parameters
    ----------
    reads
        Made by `read_reads`, or of `Read`s.
    reference
        Lesions, grid and weight by case, as `open_reference` gives them; a tuple of a label array and its grid will do.
    margin_mm
        How far from a lesion a mark may lie to hit it; see `isocenter.metrics.match_points`.

    Raises
    ------
    ReadsError
        Naming every read of a case that the reference does not have, and every mark more than 100 mm outside of its
        image. Marks beside the image are matched like any other, and remarked upon.

    References
    ----------
    Saha A, Bosma JS, Twilt JJ, et al. Artificial intelligence and radiologists in prostate cancer detection on MRI
    (PI-CAI): an international, paired, non-inferiority, confirmatory study. Lancet Oncol 25 (2024).

    Examples
    --------
    >>> from isocenter.metrics import Mark
    >>> from isocenter.volumes import Grid
    >>> label = np.zeros((20, 20, 5), np.uint8)
    >>> grid = Grid(label.shape)
    >>> ill = label.copy()
    >>> ill[5:8, 5:8, 2] = 1
    >>> found = Read("Ann", "A", (Mark((6.0, 6.0, 2.0), 4),)), Read("Ann", "B", (Mark((9.0, 9.0, 2.0), 3),))
    >>> scores = score_reads(Reads(found), {"A": (ill, grid), "B": (label, grid)})
    >>> scores.readers[0].points[3]
    ReaderPoint(sensitivity=1.0, specificity=0.0, recall=1.0, precision=0.5, false_positives_per_case=0.5)
    """
    truths = {case: ready(ReferenceCase(*reference[case]), name=case) for case in reads.cases if case in reference}
    problems, remarks = check_places((read for read in reads if read.case in truths), truths)
    unknown = [
        Problem(
            "refused",
            f"read by {' in '.join(filter(None, read.key[:2]))}, but not in the reference",
            case=read.case,
            code="bad_name",
        )
        for read in reads
        if read.case not in truths
    ]
    if unknown or problems:
        raise ReadsError(reads.name, [*unknown, *problems])
    scored = tuple(_scored(read, truths[read.case], margin_mm) for read in reads)
    if hidden := len({one.read.case for one in scored if not one.drawn}):
        remarks.append(f"{hidden} of {len(truths)} patients have a cancer that is not drawn: they count, marks do not.")
    results = tuple(_result(list(group)) for _, group in groupby(scored, key=lambda one: one.read.key[:2]))
    panels, lacking = _panels(results, scored)
    return ReaderScores(results, panels, scored, (*remarks, *lacking))


def _scored(read: Read, truth: Truth, margin_mm: float) -> ScoredRead:
    scored = ScoredRead(read, truth.positive, truth.lesions.count, truth.weight, None)
    if read.marks is None or not scored.drawn:
        return scored
    return scored._replace(hits={t: _hits(read, truth, threshold=t, margin_mm=margin_mm) for t in OPERATING_POINTS})


def _hits(read: Read, truth: Truth, *, threshold: int, margin_mm: float) -> LesionCounts:
    rows = match_points(
        read.marks or (), truth.lesions, grid=truth.grid, threshold=threshold, margin_mm=margin_mm, max_marks=None
    )
    found = sum(row.is_lesion == 1 and row.confidence > 0 for row in rows)
    made_up = sum(row.is_lesion == 0 for row in rows)
    return LesionCounts(tp=found, fp=made_up, fn=len(rows) - found - made_up)


def _result(mine: Sequence[ScoredRead]) -> ReaderResult:
    """The numbers of one reader in one modality."""
    read = mine[0].read
    area, undefined = _area(mine)
    if nowhere := sum(one.read.marks is None for one in mine):
        undefined["lesion-level result"] = f"{nowhere} of {len(mine)} reads have a PI-RADS of the patient only"
    elif not any(one.drawn for one in mine):
        undefined["lesion-level result"] = "of no case it is drawn where the lesions are"
    return ReaderResult(
        reader=read.reader,
        modality=read.modality,
        cases=len(mine),
        positives=sum(one.positive for one in mine),
        lesions=sum(one.lesions for one in mine),
        auroc=area,
        points={t: _point(mine, t) for t in OPERATING_POINTS},
        undefined=undefined,
    )


def _point(mine: Sequence[ScoredRead], threshold: int) -> ReaderPoint:
    patients = operating_point(
        [int(one.positive) for one in mine],
        [int(one.read.calls(threshold)) for one in mine],
        threshold=1,
        weight=[one.weight for one in mine],
    )
    hits = [(one.weight, one.hits[threshold]) for one in mine if one.hits is not None]
    if not hits or any(one.read.marks is None for one in mine):
        return ReaderPoint(patients.sensitivity, patients.specificity, math.nan, math.nan, math.nan)
    tp, fp, fn = (
        math.fsum(weight * count for weight, count in counts)
        for counts in zip(*(((w, found.tp), (w, found.fp), (w, found.fn)) for w, found in hits), strict=True)
    )
    return ReaderPoint(
        sensitivity=patients.sensitivity,
        specificity=patients.specificity,
        recall=tp / (tp + fn) if tp + fn else math.nan,
        precision=tp / (tp + fp) if tp + fp else math.nan,
        false_positives_per_case=fp / math.fsum(weight for weight, _ in hits),
    )


def _area(mine: Sequence[ScoredRead]) -> tuple[Interval, dict[str, str]]:
    """AUROC of the scores with its interval, NaN where there is none; and why there is none."""
    nothing = Interval(math.nan, math.nan, math.nan)
    scores = [one.read.score for one in mine if one.read.score is not None]
    if lacking := len(mine) - len(scores):
        reason = f"{lacking} of {len(mine)} reads have no score" if scores else "no read has a score"
        return nothing, {"AUROC": reason}
    truth, weight = np.array([one.positive for one in mine]), np.array([one.weight for one in mine])
    if one_class := why_no_auroc(truth):
        return nothing, {"AUROC": one_class}
    area = auroc(truth, scores, weight=weight)
    alone = Interval(area, math.nan, math.nan)
    if min(truth.sum(), (~truth).sum()) < 2:
        return alone, {"interval": "a single patient is positive, or a single one negative"}
    if np.ptp(weight) > 0:
        _, low, high = bootstrap_ci(truth, scores, weight=weight).auroc
    else:
        low, high = delong(truth, scores).interval()
    if low == high:
        return alone, {"interval": "all pairs of patients are ordered alike, which says nothing of others"}
    return Interval(area, low, high), {}


def _panels(results: Sequence[ReaderResult], scored: Sequence[ScoredRead]) -> tuple[tuple[PanelResult, ...], list[str]]:
    """Means over readers by modality; and of which numbers not all readers have one."""
    panels, remarks = [], []
    for modality in sorted({one.modality for one in results}):
        members = [one for one in results if one.modality == modality]
        if len(members) < 2:
            continue
        patients = {one.read.case: one for one in scored if one.read.modality == modality}.values()
        panels.append(
            PanelResult(
                modality=modality,
                readers=len(members),
                cases=len(patients),
                positives=sum(one.positive for one in patients),
                lesions=sum(one.lesions for one in patients),
                auroc=_mean([one.auroc.value for one in members]),
                points={
                    t: ReaderPoint(*map(_mean, zip(*(one.points[t] for one in members), strict=True)))
                    for t in OPERATING_POINTS
                },
            )
        )
        remarks += _left_out(members)
    return tuple(panels), remarks


def _mean(values: Sequence[float]) -> float:
    """Over those that there are; NaN if there are none."""
    known = [value for value in values if not math.isnan(value)]
    return fmean(known) if known else math.nan


def _left_out(members: Sequence[ReaderResult]) -> list[str]:
    """Numbers of a panel that are the mean over some of its readers only."""
    of = f"{len(members)} readers" + (f" of {members[0].modality}" if members[0].modality else "")
    by_count: dict[int, list[str]] = {sum(not math.isnan(one.auroc.value) for one in members): ["AUROC"]}
    for place, name in enumerate(ReaderPoint._fields):
        counts = {t: sum(not math.isnan(one.points[t][place]) for one in members) for t in OPERATING_POINTS}
        for count in dict.fromkeys(counts.values()):
            where = [str(t) for t in OPERATING_POINTS if counts[t] == count]
            at = "" if len(where) == len(counts) else f" at PI-RADS ≥ {' and '.join(where)}"
            by_count.setdefault(count, []).append(name.replace("_", " ") + at)
    return [
        f"Mean over {count} of {of} only, as the others have no such number: {', '.join(names)}."
        for count, names in by_count.items()
        if 0 < count < len(members)
    ]
