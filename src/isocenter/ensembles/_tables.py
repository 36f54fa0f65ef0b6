"""Score tables of ensembles: the same columns as any submission's, with the ensemble's name in the first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._fusion import Rule, overlap_of
from isocenter.ensembles._measured import masks_of, painted_scores
from isocenter.ensembles._scores import METRICS, Scores, score_from_counts, scores_from_counts
from isocenter.ensembles._subsets import every_ensemble, overlaps
from isocenter.ensembles._votes import CaseVotes, Votes
from isocenter.metrics import catalogue
from isocenter.scores import SCHEMA, check

MOST_ROWS = 2_000_000
"""A table of more rows than this is nobody's to read."""

ORACLE_SOLUTION = "oracle: best solution per case"
ORACLE_ENSEMBLE = "oracle: best ensemble per case"


def score_table(votes: Votes, rules: Iterable[Rule] | None = None, *, metrics: Sequence[str]) -> pl.DataFrame:
    """The scores of ensembles, as a score table.

    Parameters
    ----------
    rules
        Which: any `Ensemble` or `StapleRule`. All N·2^(N−1) ensembles if not said.
    metrics
        Metrics that are functions of overlap counts: dice, jaccard, precision, recall, volume_similarity, s_score; and
        others of `isocenter.metrics.mask_metrics`, if the votes were counted with `keep_masks`.
    """
    if rules is not None:
        chosen = list(rules)
        values = {case.case: _of_rules(case, chosen, metrics) for case in checked(votes, metrics)}
        return _table(votes, [str(rule) for rule in chosen], metrics, values)
    ensembles = len(votes.voters) << (len(votes.voters) - 1)
    if (rows := ensembles * len(votes.cases) * len(metrics)) > MOST_ROWS:
        msg = (
            f"{ensembles:,} ensembles × {len(votes.cases)} cases × {len(metrics)} metrics are {rows:,} rows, more than "
            f"{MOST_ROWS:,}; name the ensembles that are wanted"
        )
        raise EnsembleError(msg)
    values = {case.case: np.stack([all_scores(case, metric) for metric in metrics]) for case in checked(votes, metrics)}
    return _table(votes, [str(ensemble) for ensemble in every_ensemble(votes.voters)], metrics, values)


def all_scores(case: CaseVotes, metric: str) -> Scores:
    """The metric of every ensemble in one case, in the order of `every_ensemble`."""
    if metric not in METRICS:
        return painted_scores(case, metric)
    tp, fp = overlaps(case.patterns)
    return scores_from_counts(metric, tp, fp, case.patterns.positives - tp, voxel_volume=case.patterns.voxel_volume)


def oracle_table(votes: Votes, *, metrics: Sequence[str]) -> pl.DataFrame:
    """What could be reached by always picking the best: per case, and by knowing the truth.

    Two rows per case and metric: the best single solution, and the best of all ensembles. Each metric has its own best.
    Both are limits, not methods: whoever could pick so would need no algorithm. Their names begin with "oracle".
    """
    values: dict[str, Scores] = {}
    for case in checked(votes, metrics):
        best = []
        for metric in metrics:
            # In the order of ensembles the N single ones come first.
            scores, pick = all_scores(case, metric), np.fmax if catalogue.get(metric).better == "higher" else np.fmin
            best.append([pick.reduce(scores[: len(votes.voters)]), pick.reduce(scores)])
        values[case.case] = np.array(best)
    return _table(votes, [ORACLE_SOLUTION, ORACLE_ENSEMBLE], metrics, values)


def checked(votes: Votes, metrics: Sequence[str]) -> tuple[CaseVotes, ...]:
    """The cases, if they have a truth to be scored against and the metrics can be."""
    for metric in metrics:
        if metric not in METRICS and votes.cases:
            masks_of(votes.cases[0], metric)
    if without := [case.case for case in votes.cases if case.patterns.truth is None]:
        msg = f"there is no reference to score against in {', '.join(without[:5])}{' …' if len(without) > 5 else ''}"
        raise EnsembleError(msg)
    return votes.cases


def _of_rules(case: CaseVotes, rules: Sequence[Rule], metrics: Sequence[str]) -> Scores:
    """Scores by metric and rule."""
    return np.array([scores_of(case, rules, metric) for metric in metrics])


def scores_of(case: CaseVotes, rules: Sequence[Rule], metric: str) -> list[float]:
    """The metric of what some rules make of a case, from counts, or painted and measured."""
    if metric not in METRICS:
        return masks_of(case, metric).of_rules(case.patterns, [rule.accept(case.patterns) for rule in rules], metric)
    volume = case.patterns.voxel_volume
    return [score_from_counts(metric, overlap_of(rule, case.patterns), voxel_volume=volume) for rule in rules]


def _table(votes: Votes, names: Sequence[str], metrics: Sequence[str], values: dict[str, Scores]) -> pl.DataFrame:
    """Rows by submission, case and metric, from scores by case, metric and submission."""
    cases, shape = votes.cases, (len(names), len(votes.cases), len(metrics))
    which, where, what = (index.ravel() for index in np.indices(shape, dtype=np.uint32))
    numbers = np.stack([values[case.case] for case in cases]) if cases else np.zeros((0, *shape[::2]))
    frame = pl.DataFrame(
        {
            "submission": pl.Series(names, dtype=pl.String).gather(which),
            "case": pl.Series([case.case for case in cases], dtype=pl.String).gather(where),
            "part": pl.repeat("", which.size, eager=True),
            "metric": pl.Series(metrics, dtype=pl.String).gather(what),
            "value": np.moveaxis(numbers, -1, 0).ravel(),
            "weight": pl.Series([case.weight for case in cases], dtype=pl.Float64).gather(where),
        },
        schema=SCHEMA,
    )
    return check(frame.with_columns(pl.col("value").fill_nan(None)))
