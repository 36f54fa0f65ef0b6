"""What the kernels of the matched bootstrap go through: the cases, and the rows of each instance from the top down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.stats._bootstrap import LesionRows
from isocenter.stats._differences import Floats, Ints
from isocenter.stats._weights import near_one

_NAMED = 5


class Rows(NamedTuple):
    """Cases and rows, as the kernels take them.

    Attributes
    ----------
    of_case
        Per case: weight, positives, negatives, positives called so by the routine, negatives called positive by it.
    case, kind, starts
        The rows of all instances one after another, each with its case and what it is; where each instance starts.
    """

    of_case: Floats
    case: Ints
    kind: Ints
    starts: Ints


def patient_rows(truth: ArrayLike, call: ArrayLike, scores: ArrayLike, weight: ArrayLike | None) -> Rows:
    """Cases are rows of their own; everything that is wrong with the arrays is said at once."""
    t, c = np.asarray(truth), np.asarray(call)
    s = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    w = np.ones(t.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    problems = []
    if t.ndim != 1 or t.shape != c.shape or w.shape != t.shape or s.ndim != 2 or s.shape[1:] != t.shape or not s.size:
        problems.append(
            "truth, calls and weights are one per case and scores one row per instance; "
            f"their shapes are {t.shape}, {c.shape}, {w.shape} and {s.shape}"
        )
    for name, values in (("truth", t), ("the routine's call", c)):
        if wrong := _places(~((values == 0) | (values == 1))):
            problems.append(f"{name} is 0 or 1, but not in cases {wrong}")
    for k, row in enumerate(s if s.ndim == 2 else ()):
        if wrong := _places(~np.isfinite(row)):
            problems.append(f"instance {k} has no finite score in cases {wrong}")
    problems += _problems_of_weights(w)
    _raise(problems)
    positive, called, w = t.astype(bool), c.astype(bool), near_one(w)
    _raise(
        [
            f"there are no {name} cases of a weight above 0"
            for name, group in (("positive", positive), ("negative", ~positive))
            if not w[group].sum() > 0
        ]
    )
    of_case = np.column_stack([w, positive, ~positive, positive & called, ~positive & called]).astype(np.float64)
    every = np.arange(t.size)
    return _rows(of_case, [(every, positive, row) for row in s])


def lesion_rows(routine: LesionRows, instances: Sequence[LesionRows], cases: int, weight: ArrayLike | None) -> Rows:
    """Lesions and candidates are rows; everybody has the same number of lesions in a case."""
    w = np.ones(cases) if weight is None else np.asarray(weight, dtype=np.float64)
    problems = _problems_of_weights(w)
    if w.shape != (cases,):
        problems.append(f"weights are one per case: {cases} of them, not an array of shape {w.shape}")
    if not instances:
        problems.append("there are no instances")
    of_all = {"the routine": routine} | {f"instance {k}": rows for k, rows in enumerate(instances)}
    for name, rows in of_all.items():
        problems += _problems_of_rows(name, rows, cases)
    _raise(problems)
    w, columns = near_one(w), {name: _columns(rows) for name, rows in of_all.items()}
    case, lesion, confidence = columns.pop("the routine")
    lesions = np.bincount(case[lesion], minlength=cases)
    for name, (its_case, its_lesion, its_confidence) in columns.items():
        differ = _places(np.bincount(its_case[its_lesion], minlength=cases) != lesions)
        if differ:
            problems.append(f"{name} has other numbers of lesions than the routine in cases {differ}")
        if not (w[its_case] * (its_confidence > 0)).any():
            problems.append(f"{name} has no candidates")
    called = confidence > 0
    if not (w[case] * called).any():
        problems.append("the routine calls nothing")
    if not w @ lesions > 0:
        problems.append("there are no lesions of a weight above 0")
    _raise(problems)
    right, wrong = (np.bincount(case[called & of], minlength=cases) for of in (lesion, ~lesion))
    of_case = np.column_stack([w, lesions, np.zeros(cases), right, wrong]).astype(np.float64)
    found = [(c[s > 0], lesion[s > 0], s[s > 0]) for c, lesion, s in columns.values()]
    return _rows(of_case, found)


def _rows(of_case: Floats, instances: list[tuple[Ints, NDArray[np.bool_], Floats]]) -> Rows:
    from isocenter.stats._matched_kernels import LAST, TRUE

    cases, kinds = [], []
    for case, positive, score in instances:
        order = np.argsort(-score, kind="stable")
        ordered = score[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        cases.append(case[order])
        kinds.append(TRUE * positive[order] + LAST * last)
    starts = np.cumsum([0, *(len(case) for case in cases)])
    return Rows(
        np.ascontiguousarray(of_case),
        np.concatenate(cases).astype(np.int64),
        np.concatenate(kinds).astype(np.int64),
        starts.astype(np.int64),
    )


def _columns(rows: LesionRows) -> tuple[Ints, NDArray[np.bool_], Floats]:
    """As arrays; confidences are compared in single precision, as everywhere in the house."""
    confidence = np.asarray(rows.confidence, dtype=np.float32).astype(np.float64)
    return np.asarray(rows.case, dtype=np.int64), np.asarray(rows.is_lesion, dtype=bool), confidence


def _problems_of_rows(name: str, rows: LesionRows, cases: int) -> list[str]:
    case, lesion = np.asarray(rows.case), np.asarray(rows.is_lesion)
    confidence = np.asarray(rows.confidence, dtype=np.float64)
    problems = []
    if case.ndim != 1 or case.shape != lesion.shape or case.shape != confidence.shape:
        problems.append(
            f"{name}: case, is_lesion and confidence are columns of one length; "
            f"their shapes are {case.shape}, {lesion.shape} and {confidence.shape}"
        )
    elif case.size and not (case.dtype.kind in "iu" and case.min() >= 0 and case.max() < cases):
        found = f"{case.dtype} {case.min()}…{case.max()}"
        problems.append(f"{name}: a case is a position from 0 to {cases - 1}; found {found}")
    if wrong := _places(~((lesion == 0) | (lesion == 1))):
        problems.append(f"{name}: is_lesion is 0 or 1, but not in rows {wrong}")
    if wrong := _places(~((confidence >= 0) & (confidence <= np.finfo(np.float32).max))):
        problems.append(f"{name}: a confidence is finite and not negative, but not in rows {wrong}")
    return problems


def _problems_of_weights(weight: Floats) -> list[str]:
    wrong = _places(~(np.isfinite(weight) & (weight >= 0)))
    return [f"weights are finite and not negative, but not in cases {wrong}"] if wrong else []


def _places(wrong: NDArray[np.bool_]) -> str:
    """The first few positions, as text; empty if there are none."""
    at = np.flatnonzero(wrong)
    return ", ".join(map(str, at[:_NAMED])) + (f" and {at.size - _NAMED} more" if at.size > _NAMED else "")


def _raise(problems: list[str]) -> None:
    if problems:
        msg = "there is nothing to compare (positions count from 0): " + "; ".join(problems)
        raise ValueError(msg)
