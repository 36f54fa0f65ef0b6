"""Observer studies: pairs of masks, each observer as the truth in turn, for any metric.

Intra-observer: the second pass of a reader against the first. Inter-observer: all pairs of readers. Style: every
algorithm against every reader. All are lists of pairs, and all give rows of a score table whose part is "A|B".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.ensembles._agreement import in_both, places, states_of
from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._measured import masks_of
from isocenter.ensembles._open import REFERENCE, AsksForMasks, Cohort, Path, Roll, State, open_votes
from isocenter.ensembles._scores import METRICS, SYMMETRIC, score_from_counts
from isocenter.ensembles._votes import Votes
from isocenter.metrics import Overlap
from isocenter.scores import Row, frame
from isocenter.submissions import GridPolicy
from isocenter.volumes import Grid, LabelMap, side_by_side

Mask = NDArray[np.bool_]
Pair = tuple[str, str]
"""Who is taken for the truth, and who is measured against it."""

PairMetric = Callable[[Mask, Mask, Grid], float]
"""A metric of (truth, prediction, grid); the grid has the spacing of the arrays."""


def all_pairs(names: Iterable[str], *, ordered: bool) -> list[Pair]:
    """Every name with every other: K(K−1)/2 pairs, or K(K−1) if it matters who is taken for the truth.

    Examples
    --------
    >>> len(all_pairs("ABCDEF", ordered=False)), len(all_pairs("ABCDEF", ordered=True))
    (15, 30)
    """
    return list(permutations(names, 2) if ordered else combinations(names, 2))


def against(truths: Iterable[str], others: Iterable[str]) -> list[Pair]:
    """Every one of the others against every one of the truths: each observer as the truth in turn."""
    others = list(others)
    return [(truth, other) for truth in truths for other in others if truth != other]


def pair_table(
    votes: Votes, *, metrics: Sequence[str], pairs: Sequence[Pair] | None = None, reference: bool = False
) -> pl.DataFrame:
    """Scores of one voter against another as a score table, in the part "A|B": A is taken for the truth.

    Parameters
    ----------
    metrics
        Metrics that are functions of overlap counts; others, if the votes were counted with `keep_masks`. For functions
        of your own see `measure_pairs`.
    pairs
        Which; "reference" is the truth itself. All pairs of voters if not said: of metrics that are symmetric each
        pair once, of others both ways.
    reference
        Whether every voter is also measured against the truth.

    Notes
    -----
    Where one of the two has no mask, the value is null and an observation, `missing` or `failed`, says why.
    """
    rows: list[Row] = []
    chosen = {
        metric: [
            *(against([REFERENCE], votes.voters) if reference else ()),
            *(pairs if pairs is not None else all_pairs(votes.voters, ordered=metric not in SYMMETRIC)),
        ]
        for metric in metrics
    }
    for case in votes.cases:
        both, where, states = in_both(case.patterns), places(case.patterns), states_of(case)
        noted: dict[str, Row] = {}
        for metric in metrics:
            for a, b in chosen[metric]:
                part = f"{a}|{b}"
                value = None
                if absent := _absent(states[a], states[b]):
                    noted[part] = Row(case.case, part, absent, 1.0, case.weight)
                elif metric not in METRICS:
                    value = masks_of(case, metric).of_pair(a, b, metric)
                else:
                    tp = int(both[where[a], where[b]])
                    counts = Overlap(tp, int(both[where[b], where[b]]) - tp, int(both[where[a], where[a]]) - tp)
                    value = score_from_counts(metric, counts, voxel_volume=case.patterns.voxel_volume)
                rows.append(Row(case.case, part, metric, value, case.weight))
        rows += noted.values()
    return frame(rows)


def measure_pairs(
    maps: Iterable[tuple[str, Mapping[str, LabelMap | None]]],
    *,
    metrics: Mapping[str, PairMetric],
    pairs: Sequence[Pair],
) -> pl.DataFrame:
    """The same as `pair_table` for any metric of two masks, such as a distance of surfaces.

    Parameters
    ----------
    maps
        Cases with the maps of those who have one, as `read_maps` reads them; all labels but 0 are foreground.
    metrics
        Functions by their name in the catalogue. They get the two masks, cut to the box that holds both, and the grid.

    Examples
    --------
    >>> from isocenter import metrics
    >>> spaced = {"s_score": lambda truth, other, grid: metrics.s_score(truth, other, spacing=grid.spacing)}
    """
    rows: list[Row] = []
    for case, by_name in maps:
        for a, b in pairs:
            truth, other = by_name.get(a), by_name.get(b)
            part = f"{a}|{b}"
            if truth is None or other is None:
                rows += [Row(case, part, metric, None) for metric in metrics] + [Row(case, part, "missing", 1.0)]
                continue
            masks = side_by_side(truth, other)
            rows += [Row(case, part, metric, float(of(*masks, truth.grid))) for metric, of in metrics.items()]
    return frame(rows)


def read_maps(
    challenge: AsksForMasks, cohort: Cohort, submissions: Mapping[str, Path], *, grid: GridPolicy = "refuse"
) -> Iterator[tuple[str, dict[str, LabelMap | None]]]:
    """The maps of all voters, and of the truth if there is one, case by case."""
    tasks, _ = open_votes(challenge, cohort, submissions, grid=grid)
    for task in tasks:
        yield task.case, {REFERENCE: task.read_truth(), **dict(task.maps(Roll()))}


def _absent(*states: State) -> str:
    """Why a pair cannot be compared, as the name of an observation; "" if it can."""
    return next((kind for kind in ("missing", "failed") if kind in states), "")


@dataclass(frozen=True, slots=True)
class PairSummary:
    """A table of pairs in a line.

    Attributes
    ----------
    mean
        Over pairs and cases.
    sd
        Standard deviation of the scores of single pairs in single cases (n−1 in the denominator); None for one score.
    se
        Standard error of the mean, sd/√n, as if the n scores were independent: those of one observer on different
        cases are, those of many pairs are not.
    scores
        How many scores there are.
    absent, undefined
        How many are not: because somebody had no usable mask, or because the metric says nothing there.
    """

    mean: float
    sd: float | None
    se: float | None
    scores: int
    absent: int
    undefined: int


def summarise_pairs(table: pl.DataFrame, *, metric: str) -> PairSummary:
    """Mean and spread of a metric over pairs and cases."""
    rows = table.filter(pl.col("metric") == metric)
    scores = rows["value"].drop_nulls().to_list()
    if not scores:
        msg = f"the table has no {metric} of any pair"
        raise EnsembleError(msg)
    observed = table.filter(pl.col("metric").is_in(["missing", "failed"]))
    absent = rows.filter(pl.col("value").is_null()).join(observed, on=["case", "part"], how="semi").height
    sd = statistics.stdev(scores) if len(scores) > 1 else None
    return PairSummary(
        mean=math.fsum(scores) / len(scores),
        sd=sd,
        se=None if sd is None else sd / math.sqrt(len(scores)),
        scores=len(scores),
        absent=absent,
        undefined=rows["value"].null_count() - absent,
    )
