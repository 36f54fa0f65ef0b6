"""ROC curves of readers, and what their average is: four answers to one question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from isocenter.stats._differences import one_of
from isocenter.stats.mrmc._design import Design, Floats, check_classes, design_of
from isocenter.stats.mrmc._reads import checked

Average = Literal["diagonal", "vertical", "horizontal", "pooled"]


@dataclass(frozen=True)
class Curve:
    """A ROC curve of straight lines from (0, 0) to (1, 1).

    Attributes
    ----------
    fpf, tpf
        False and true positive fractions of its corners, both increasing.
    """

    fpf: Floats
    tpf: Floats

    @property
    def area(self) -> float:
        """Area under the lines; of the curve of a reader, the AUC."""
        return float(np.trapezoid(self.tpf, self.fpf))


def reader_curves(reads: pl.DataFrame) -> dict[str, dict[str, Curve]]:
    """The empirical ROC curve of each reader, by modality and reader; every score that was given is a threshold.

    Raises
    ------
    ReadsError
        As `analyse`.
    """
    design = _design(reads)
    return {m: {design.reader[k]: _curve(design, [k]) for k in design.columns(m)} for m in design.modalities}


def average_curves(reads: pl.DataFrame, kind: Average = "diagonal") -> dict[str, Curve]:
    """The average ROC curve of the readers of each modality, all readers weighted equally.

    Parameters
    ----------
    reads
        As for `analyse`.
    kind
        "diagonal" averages the distance from the chance line along it; "vertical" the true positive fraction at each
        false positive fraction, "horizontal" the other way round. The area of these is the mean AUC of the readers.
        "pooled" takes the scores of all readers as those of one, and has another area: readers need not mean the same
        by a score.

    Notes
    -----
    Diagonal: with u = (FPF + TPF)/2 and v = (TPF − FPF)/2 each curve is a function v(u); its mean over readers at all
    corners of all curves is turned back. Nothing is sampled, so that areas are exact.

    References
    ----------
    Chen W, Samuelson FW. The average receiver operating characteristic curve in multireader multicase imaging studies.
    Br J Radiol 87 (2014).

    Examples
    --------
    >>> rows = [("r", "CT", c, t, s) for c, t, s in [("a", 0, 1), ("b", 0, 2), ("c", 1, 2), ("d", 1, 3)]]
    >>> columns = ["reader_id", "modality_id", "case_id", "truth", "score"]
    >>> average_curves(pl.DataFrame(rows, schema=columns, orient="row"))["CT"].area
    0.875
    """
    one_of("the kind of average", kind, ("diagonal", "vertical", "horizontal", "pooled"))
    design = _design(reads)
    if kind == "pooled":
        return {m: _curve(design, design.columns(m)) for m in design.modalities}
    mean = {"diagonal": _diagonal, "vertical": _vertical, "horizontal": _horizontal}[kind]
    return {m: mean([_curve(design, [k]) for k in design.columns(m)]) for m in design.modalities}


def _design(reads: pl.DataFrame) -> Design:
    design = design_of(checked(reads))
    check_classes(design, normal=True, diseased=True)
    return design


def _curve(design: Design, columns: list[int]) -> Curve:
    """Corners of the curve of the reads of some columns, from the highest score down, with the weights of cases."""
    read = design.read[columns]
    score = design.score[columns][read]
    weight = np.broadcast_to(design.weight, read.shape)[read]
    positive = np.broadcast_to(design.positive, read.shape)[read]
    _, level = np.unique(-score, return_inverse=True)
    false, true = (np.cumsum(np.bincount(level, weights=weight * of)) for of in (~positive, positive))
    return Curve(np.concatenate([[0.0], false / false[-1]]), np.concatenate([[0.0], true / true[-1]]))


def _diagonal(curves: list[Curve]) -> Curve:
    along = [(curve.fpf + curve.tpf) / 2 for curve in curves]
    u = np.unique(np.concatenate(along))
    v = np.mean([np.interp(u, at, (c.tpf - c.fpf) / 2) for at, c in zip(along, curves, strict=True)], axis=0)
    return Curve(u - v, u + v)


def _vertical(curves: list[Curve]) -> Curve:
    x = np.repeat(np.unique(np.concatenate([curve.fpf for curve in curves])), 2)
    y = np.mean([_ends(x, curve.fpf, curve.tpf) for curve in curves], axis=0)
    return Curve(np.concatenate([[0.0], x]), np.concatenate([[0.0], y]))


def _horizontal(curves: list[Curve]) -> Curve:
    swapped = _vertical([Curve(curve.tpf, curve.fpf) for curve in curves])
    return Curve(np.concatenate([swapped.tpf, [1.0]]), np.concatenate([swapped.fpf, [1.0]]))


def _ends(twice: Floats, x: Floats, y: Floats) -> Floats:
    """Y at each x, which stand in pairs: the lower end of a vertical line for the first, the upper for the second."""
    at = twice[::2]
    first, last = np.searchsorted(x, at, side="left"), np.searchsorted(x, at, side="right")
    between = np.interp(at, x, y)
    hit = last > first
    lower = np.where(hit, y[np.minimum(first, x.size - 1)], between)
    upper = np.where(hit, y[np.maximum(last - 1, 0)], between)
    return np.stack([lower, upper], axis=1).ravel()
