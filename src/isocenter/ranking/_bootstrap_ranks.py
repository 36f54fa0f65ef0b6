"""The bootstrap resamples behind a board: each of them is ranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import polars as pl
from numpy.typing import ArrayLike

from isocenter.metrics import catalogue
from isocenter.ranking._cells import cohort_of
from isocenter.ranking._drawn import Drawable, Drawn, Rejecting, together
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import Disqualify
from isocenter.ranking._rank_sets import rank_sets_of_cases
from isocenter.ranking._uncertainty import RankUncertainty, ranks_on_all
from isocenter.ranking.rules._base import Rule
from isocenter.ranking.rules._beside import draw_beside
from isocenter.ranking.rules.mean import MeanThenRank
from isocenter.resampling.counts import Resamples, resample_in_parts
from isocenter.resampling.matrices import Floats


def bootstrap_ranks(
    scores: pl.DataFrame,
    rule: Rule,
    *,
    replicates: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: ArrayLike | None = None,
    indices: ArrayLike | None = None,
    strata: Mapping[str, object] | None = None,
    interval: Literal["percentile", "bca"] = "percentile",
    roles: Mapping[str, Role] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RankUncertainty:
    """Rank the submissions in every bootstrap resample of the cases.

    One matrix of counts serves all submissions, so that what is compared is always compared on the same cases. The unit
    is the case, the patient: its parts, beams, lesions and criteria are drawn together.

    Parameters
    ----------
    scores, rule, roles
        As for `rule.rank`.
    weights
        Draws × cases (in alphabetical order): how often each case is in each draw, in place of draws by seed, so that
        draws can be replayed.
    indices
        The same as positions of the cases drawn, draws × draws' size.
    strata
        A label for every case; each stratum keeps its size in every draw.
    interval
        Of the scores: percentiles of the draws, or bias-corrected and accelerated ones ("bca").
    progress
        Called with how many draws are done, and of how many.

    Raises
    ------
    ValueError
        Nobody competes, a rule that knows no uncertainty, or draws that do not fit.
    """
    if not isinstance(rule, Drawable):
        msg = f"{type(rule).__name__} says nothing of how its scores vary with the cases"
        raise ValueError(msg)  # noqa: TRY004 (a rule of its own is a rule)
    cases = list(cohort_of(scores))
    parts: list[Drawn] = []
    kept, redrawn = None, 0
    labels = None if strata is None else _labels(strata, cases)
    reject = rule.rejects(scores, roles=roles) if isinstance(rule, Rejecting) else None
    replayed = _replayed(weights, indices, len(cases))
    for draws in (
        [replayed]
        if replayed
        else resample_in_parts(len(cases), replicates=replicates, seed=seed, strata=labels, reject=reject)
    ):
        parts.append(draw_beside(rule.draw(scores, draws, roles=roles), rule, scores, draws, roles))
        kept, redrawn = draws, redrawn + draws.redrawn
        if not parts[-1].competing.any():
            msg = "there is nobody to rank"
            raise ValueError(msg)
        if progress is not None:
            progress(sum(part.scores.shape[1] for part in parts), replayed.replicates if replayed else replicates)
    drawn = together(parts)
    return RankUncertainty(
        drawn=drawn,
        draws=kept if len(parts) == 1 else None,
        full_ranks=_full_ranks(drawn, rule, scores, len(cases), roles),
        level=level,
        seed=None if replayed else seed,
        cases=len(cases),
        redrawn=redrawn,
        jackknife=rule.draw(scores, Resamples.leave_one_out(len(cases)), roles=roles).scores
        if interval == "bca"
        else None,
    )


def rank_sets(
    scores: pl.DataFrame | Mapping[str, Sequence[float]],
    rule: Rule | None = None,
    *,
    level: float = 0.95,
    better: Literal["higher", "lower"] = "higher",
    replicates: int = 10_000,
    seed: int = 0,
    roles: Mapping[str, Role] | None = None,
) -> dict[str, tuple[int, int]]:
    """By submission, the ranks that the data do not exclude: sets that hold all true ranks at once with this coverage.

    Parameters
    ----------
    scores
        A score table with a `submission` column; or by submission its values in the same cases, which are averaged.
    rule
        For a table: how it is ranked. Left out, by the mean of the one metric in it that can be ranked.
    better
        For plain values, whether higher or lower ones are better.

    References
    ----------
    Mogstad M, Romano JP, Shaikh AM, Wilhelm D. Inference for ranks with applications to mobility across neighbourhoods
    and academic achievement across countries. Rev Econ Stud 91 (2024) 476-518.

    Examples
    --------
    >>> rank_sets({"a": [0.9, 0.8, 0.85, 0.8], "b": [0.3, 0.2, 0.2, 0.3], "c": [0.3, 0.2, 0.3, 0.2]})
    {'a': (1, 1), 'b': (2, 3), 'c': (2, 3)}
    """
    if not isinstance(scores, pl.DataFrame):
        found = rank_sets_of_cases(list(scores.values()), better=better, level=level, seed=seed)
        pairs = zip(found.low.tolist(), found.high.tolist(), strict=True)
        return dict(zip(scores, pairs, strict=True))
    if rule is None:
        metrics = [name for name in scores["metric"].unique().sort() if catalogue.get(name).better != "neither"]
        if len(metrics) != 1:
            several = ", ".join(metrics) or "no metric that can be ranked"
            msg = f"the table holds {several}; say by which rule it is ranked"
            raise ValueError(msg)
        rule = MeanThenRank(metrics[0], missing=Disqualify())
    return bootstrap_ranks(scores, rule, replicates=replicates, seed=seed, level=level, roles=roles).rank_sets


def _replayed(weights: ArrayLike | None, indices: ArrayLike | None, cases: int) -> Resamples | None:
    if weights is not None and indices is not None:
        msg = "draws are given as weights or as indices, not as both"
        raise ValueError(msg)
    if weights is None and indices is None:
        return None
    resamples = Resamples.of_indices(indices, cases=cases) if weights is None else Resamples.of_weights(weights)  # type: ignore[arg-type]
    if resamples.cases != cases:
        msg = f"the draws are of {resamples.cases} cases, the table has {cases}"
        raise ValueError(msg)
    return resamples


def _labels(strata: Mapping[str, object], cases: Sequence[str]) -> list[str]:
    if lacking := [case for case in cases if case not in strata]:
        msg = f"no stratum is known of {', '.join(lacking[:5])}{' …' if len(lacking) > 5 else ''}"
        raise ValueError(msg)
    return [str(strata[case]) for case in cases]


def _full_ranks(
    drawn: Drawn, rule: Drawable, scores: pl.DataFrame, cases: int, roles: Mapping[str, Role] | None
) -> Floats:
    """The ranks on all cases: a draw in which each of them is once."""
    if drawn.keys is not None:
        return rule.draw(scores, Resamples.all_cases(cases), roles=roles).ranks()[:, 0]
    return ranks_on_all(drawn)
