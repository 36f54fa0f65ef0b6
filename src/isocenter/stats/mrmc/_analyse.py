"""Multi-reader multi-case analysis: from reads to differences of modalities that hold for other readers and cases."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl

from isocenter.stats._adjust import adjust
from isocenter.stats._provenance import versions
from isocenter.stats._weights import effective_size
from isocenter.stats.mrmc._covariance import Covariance, covariance_of, unbiased
from isocenter.stats.mrmc._design import Design, Floats, check_classes, design_of
from isocenter.stats.mrmc._inference import reach, two_sided, used_df
from isocenter.stats.mrmc._obuchowski import ObuchowskiRockette
from isocenter.stats.mrmc._options import Options, fixed_modalities
from isocenter.stats.mrmc._reads import checked
from isocenter.stats.mrmc._result import Analysis, Modality, Pair, Pairs, Reader
from isocenter.stats.mrmc._spread import Spread
from isocenter.stats.mrmc._sums import Sums, auc_sums, proportion_sums
from isocenter.stats.mrmc._ustat import UStatistics


def analyse(
    reads: pl.DataFrame,
    *,
    method: Literal["ustat", "or"] = "ustat",
    endpoint: Literal["auc", "sensitivity", "specificity"] = "auc",
    threshold: float | None = None,
    level: float = 0.95,
    readers: Literal["random", "fixed"] = "random",
    cases: Literal["random", "fixed"] = "random",
    fixed: Collection[str] = (),
    reader_weight: Literal["equal", "pairs"] | None = None,
    variance: Literal["unbiased", "mle"] = "unbiased",
    df: Literal["bdg", "hillis"] | None = None,
    covariance: Covariance = "unbiased",
    blocks: bool = False,
    pooled: bool = False,
    compat: Literal["imrmc-4.0.3"] | None = None,
) -> Analysis:
    """Compare modalities that several readers used on several cases.

    Parameters
    ----------
    reads
        One row per read: reader_id, modality_id, case_id, truth (0 or 1), score, and, if wanted, weight, one per case.
        A row that is absent is a case that was not read. Readers are matched by name across modalities.
    method
        "ustat" for any design; "or" is the analysis of variance of Obuchowski and Rockette, for readers who are the
        same in all modalities, or all others, or one algorithm against a panel.
    endpoint, threshold
        What is estimated of each reader: the empirical AUC, or the share of diseased cases with a score of at least the
        threshold (sensitivity), or of normal ones below it (specificity).
    level
        Coverage of the intervals.
    readers, cases
        Whether the result is to hold for other readers, other cases, or both. Fixed cases are for "or" only.
    fixed
        Modalities whose readers are no sample of anything, such as one algorithm. A modality with one reader always is.
    reader_weight
        "equal" (the default) averages readers; "pairs" weighs a reader by N₀·N₁, the pairs of cases read. For "ustat".
    variance
        Which estimate to use, if it is positive; the other is always reported. For "ustat".
    df
        "bdg", the default, for any design, or "hillis" if it is fully crossed. For "ustat"; "or" takes Hillis'.
    covariance
        Of readers over cases. "delong" needs all cases read by all readers; "jackknife" is what most software has; both
        are for the AUC. For "or".
    blocks
        Whether groups of readers who share no case get the analysis of Hillis 2014. For "or".
    pooled
        Whether all pairs have one error term, from all modalities. For "or".
    compat
        "imrmc-4.0.3" does as that program: weights of "pairs", df rounded down, normal distribution from 50 on.

    Raises
    ------
    ReadsError
        With all that is wrong with the reads.
    ValueError
        If options contradict each other or the design.

    Notes
    -----
    Cov(A, B) of "ustat" is Σ cₖMₖ over the moments of products of kernels that share reader, normal and diseased case,
    or not; the coefficients depend on the design only. Degrees of freedom are V² / Σ (MS² / df³) over the random
    factors, modality by modality for those that the two do not share. A variance that is not positive is replaced, in
    this order, by the estimate of the other kind and by one from the spread of readers, MS(R)/r + max(Cov2, 0), with
    degrees of freedom by Hillis from r − 1 on; `status` says so.

    Case weights, such as inverse probabilities of selection, are taken as fixed. Kernels are then centred at the AUC of
    their reader, so that variances are those of a ratio of sums, whether heavy cases are harder or not;
    `bootstrap_check` finds the same by drawing. Where reads are missing, and not by blocks, this is another estimate
    than that of reads without weights, which is iMRMC's, even if weights are almost equal; a note says so.

    References
    ----------
    Gallas BD. One-shot estimate of MRMC variance: AUC. Acad Radiol 13 (2006).
    Gallas BD, Bandos A, Samuelson FW, Wagner RF. A framework for random-effects ROC analysis: biases with the bootstrap
    and other variance estimators. Commun Stat Theory Methods 38 (2009).
    Obuchowski NA, Gallas BD, Hillis SL. Multi-reader ROC studies with split-plot designs: a comparison of statistical
    methods. Acad Radiol 19 (2012).
    Obuchowski NA, Rockette HE. Hypothesis testing of diagnostic accuracy for multiple readers and multiple tests.
    Commun Stat Simul Comput 24 (1995).

    Examples
    --------
    >>> given = {("r1", "CT"): [1, 2, 3, 3, 4, 5], ("r1", "MR"): [1, 3, 2, 2, 4, 3],
    ...          ("r2", "CT"): [1, 1, 2, 4, 3, 5], ("r2", "MR"): [2, 1, 3, 3, 2, 4]}
    >>> rows = [(r, m, c, c in "def", s) for (r, m), scores in given.items() for c, s in zip("abcdef", scores)]
    >>> columns = ["reader_id", "modality_id", "case_id", "truth", "score"]
    >>> found = analyse(pl.DataFrame(rows, schema=columns, orient="row"))
    >>> round(found.modalities["CT"].auc, 3), round(found.pairs["CT", "MR"].difference, 3)
    (0.972, 0.194)
    """
    options = Options(method, endpoint, threshold, level, readers, cases, reader_weight, variance, df, covariance,
                      blocks, pooled, compat)  # fmt: skip
    options.check()
    design = design_of(checked(reads))
    check_classes(design, normal=endpoint != "sensitivity", diseased=endpoint != "specificity")
    held, notes = fixed_modalities(design, fixed, options)
    sums = _sums(design, options)
    weight = np.ones(len(design.reader)) if options.weighting == "pairs" else 1 / sums.size
    study = _study(design, sums, weight, held, options)
    estimate = {m: _mean(sums.estimate, weight * sums.size, design.columns(m)) for m in design.modalities}
    modalities = {m: _modality(estimate[m], study.of_modality(m), _readers(design, sums, m), options) for m in estimate}
    pairs = [_pair(a, b, estimate[a] - estimate[b], study.of_pair(a, b), options) for a, b in combinations(estimate, 2)]
    together = adjust([pair.p for pair in pairs], "holm").tolist()
    pairs = [replace(pair, adjusted=p) for pair, p in zip(pairs, together, strict=True)]
    return Analysis(
        endpoint=endpoint,
        method=options.described,
        df_rule=options.df_described,
        level=level,
        modalities=modalities,
        pairs=Pairs(pairs),
        overall=study.overall() if isinstance(study, ObuchowskiRockette) else None,
        counts=_counts(design),
        notes=(*notes, *_weighted(design), *_constant(design), *_disagreements(pairs, options)),
        versions=versions(),
    )


def _sums(design: Design, options: Options) -> Sums:
    if options.threshold is None:
        return auc_sums(design)
    return proportion_sums(design, options.threshold, diseased=options.endpoint == "sensitivity")


def _study(
    design: Design, sums: Sums, weight: Floats, held: Collection[str], options: Options
) -> UStatistics | ObuchowskiRockette:
    if options.method == "or":
        matrix = covariance_of(design, sums, options.covariance)
        return ObuchowskiRockette(
            design, sums.estimate, matrix, held, options.readers, options.cases, options.blocks, options.pooled
        )
    hillis = None
    if options.df == "hillis":
        hillis = ObuchowskiRockette(
            design, sums.estimate, unbiased(sums), held, "random", "random", blocks=False, pooled=False
        )
    return UStatistics(design, sums, weight, held, options.endpoint, options.variance, hillis)


def _mean(values: Floats, weights: Floats, at: list[int]) -> float:
    return float(np.average(values[at], weights=weights[at]))


def _modality(estimate: float, spread: Spread, readers: dict[str, Reader], options: Options) -> Modality:
    df = used_df(spread.df, options.compat)
    half = reach(spread.variance, df, options.level) if spread.variance > 0 else 1.0
    low, high = max(0.0, estimate - half), min(1.0, estimate + half)
    return Modality(estimate, spread.variance, df, low, high, spread.status, spread.variances, spread.tables, readers)


def _readers(design: Design, sums: Sums, modality: str) -> dict[str, Reader]:
    own = np.diag(unbiased(sums))
    normal, diseased = ((design.read & of).sum(axis=1).tolist() for of in (~design.positive, design.positive))
    return {
        design.reader[k]: Reader(float(sums.estimate[k]), float(own[k]), normal[k], diseased[k])
        for k in design.columns(modality)
    }


def _pair(a: str, b: str, difference: float, spread: Spread, options: Options) -> Pair:
    df = used_df(spread.df, options.compat)
    half = reach(spread.variance, df, options.level)
    low, high = (difference - half, difference + half) if spread.variance > 0 else (-1.0, 1.0)
    p = two_sided(difference, spread.variance, df)
    return Pair(a, b, difference, spread.variance, df, low, high, p, p, spread.status, spread.variances, spread.tables)


def _counts(design: Design) -> dict[str, int]:
    diseased = int(np.count_nonzero(design.positive))
    return {
        "readers": len(set(design.reader)),
        "normal": design.positive.size - diseased,
        "diseased": diseased,
        "reads": int(np.count_nonzero(design.read)),
    }


def _weighted(design: Design) -> list[str]:
    """What weighted cases of a class are worth, (Σw)² / Σw²; and that variances are others where reads are missing."""
    counts = {"normal": design.weight[~design.positive], "diseased": design.weight[design.positive]}
    if all((weight == weight[:1]).all() for weight in counts.values()):
        return []
    worth = [f"{w.size} {name} ones are worth {effective_size(w):.1f}" for name, w in counts.items() if w.size]
    notes = [f"cases are weighted: {', '.join(worth)} of equal weight"]
    if not design.balanced:
        notes.append(
            "as cases are weighted, variances are those of a ratio of sums; where reads are missing, that is another "
            "estimate than the one of reads without weights"
        )
    return notes


def _constant(design: Design) -> list[str]:
    """Who gave one score to all cases."""
    return [
        f"reader {reader} gave the score {np.nanmin(scores):g} to every case in modality {modality}"
        for modality, reader, scores in zip(design.modality, design.reader, design.score, strict=True)
        if np.nanmin(scores) == np.nanmax(scores)
    ]


def _disagreements(pairs: list[Pair], options: Options) -> list[str]:
    """Pairs that one estimate of the variance finds different and the other does not."""
    if options.method == "or":
        return []
    alpha = 1 - options.level
    found = []
    for pair in pairs:
        kinds = [two_sided(pair.difference, pair.variances[kind], pair.df) for kind in ("unbiased", "mle")]
        if (kinds[0] <= alpha) != (kinds[1] <= alpha):
            found.append(f"{pair.a} and {pair.b} differ at the level of {alpha:g} with one of the two variances only")
    return found
