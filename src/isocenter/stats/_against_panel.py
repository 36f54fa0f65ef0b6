"""An algorithm against the readers of a study in one call: areas for other readers and cases, and operating points."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from isocenter.stats._adjust import adjust
from isocenter.stats._against_panel_result import AgainstPanel, AtPoint
from isocenter.stats._lesion_points import (
    at_the_readers_point,
    checked_lesions,
    lesion_calls,
    lesion_gaps_of,
    lesion_rates,
)
from isocenter.stats._matching import CONJUGATES, LesionMatch, PatientMatch, Tie
from isocenter.stats._non_inferiority import NonInferiorityPreset
from isocenter.stats._panels import Conjugates, PanelOptions, Resampled, compare_with_panel, compared
from isocenter.stats._patient_points import patient_calls, scores_on
from isocenter.stats._permutation import PermutationStatistic
from isocenter.stats._two_way import TestMethod, smaller_class
from isocenter.stats._weights import effective_size
from isocenter.stats.mrmc._analyse import analyse
from isocenter.stats.mrmc._check import bootstrap_check
from isocenter.stats.mrmc._reads import checked
from isocenter.stats.mrmc._result import Pairs

_PATIENT: tuple[PatientMatch, ...] = ("sensitivity", "specificity")
_LESION: tuple[LesionMatch, ...] = ("recall", "precision")


class _Asked(NamedTuple):
    ai: str
    panel: str
    options: PanelOptions


def ai_against_panel(
    reads: pl.DataFrame,
    lesions: pl.DataFrame | None = None,
    *,
    ai: str,
    panel: str,
    readers: Collection[str] | None = None,
    points: Sequence[float] = (),
    margin: float | None = None,
    preset: NonInferiorityPreset | None = "picai",
    level: float = 0.95,
    fixed: bool = False,
    tie: Tie = "mean",
    statistic: PermutationStatistic = "difference",
    method: TestMethod = "two-way",
    replicates: int = 1000,
    bootstrap: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> AgainstPanel:
    """An algorithm against a panel of readers, as PI-CAI compares them: AUROC, and operating points of the readers.

    Parameters
    ----------
    reads
        As for `mrmc.analyse`; instances of the algorithm are the readers of its modality. `rating`, if there is such a
        column, is what readers call by, such as PI-RADS; else it is their score. Weights of cases go into everything.
    lesions
        One row per lesion, found or missed, and per false mark or candidate, of both modalities: reader_id,
        modality_id, case_id, is_lesion (0 or 1), confidence (the rating of the mark, the likelihood of the candidate; 0
        for a lesion that was missed). If the marks of readers were matched to lesions for each operating point anew, a
        column `point` says for which. Left out: patients only.
    ai, panel
        The modalities.
    readers
        Those of the panel who count, such as the experts; all if left out.
    points
        Ratings from which on readers call a patient or a lesion, such as 3 and 4. None: only areas are compared.
    margin, preset
        Of `non_inferiority`, for the difference of AUCs; neither gives no verdict.
    level
        Coverage of intervals.
    fixed
        Whether the result is to hold for these instances of the algorithm only, and not for others like them. A single
        instance is always fixed.
    tie, statistic, method, replicates
        Of the tests at operating points, see `compare_with_panel`.
    bootstrap, seed, progress
        Replicates of `mrmc.bootstrap_check`, none by default; the seed of all resamples; called with the number done
        and of all.

    Raises
    ------
    isocenter.stats.mrmc.ReadsError
        With all that is wrong with reads or lesions.
    ValueError
        If a modality or a reader is not in the study, or the modalities share readers.

    Notes
    -----
    Each operating point has two tests for patients, specificities at each reader's sensitivity and the other way round,
    and two for lesions, precisions at equal recall and the other way round. All are one-sided, the algorithm better
    than the readers. Like the areas, they speak of other readers, trainings and cases; the published permutation tests
    beside them, of other readers and trainings on the same cases.

    References
    ----------
    Saha A, Bosma JS, Twilt JJ, et al. Artificial intelligence and radiologists in prostate cancer detection on MRI
    (PI-CAI): an international, paired, non-inferiority, confirmatory study. Lancet Oncol 25 (2024).
    """
    reads = checked(reads)
    rows = _both(reads, ai, panel, readers)
    study = analyse(rows, fixed=[ai] if fixed else (), level=level)
    pair, wanted = study.pairs[ai, panel], margin is not None or preset is not None
    study = replace(study, pairs=Pairs([pair]))
    asked = _Asked(ai, panel, PanelOptions(tie, statistic, "greater", method, level, replicates, seed))
    asked.options.check()
    found = [one for point in points for one in _patients(rows, asked, point)]
    if lesions is not None:
        known = checked_lesions(lesions, reads)
        found += [one for point in points for one in _lesions(rows, known, asked, point)]
    together = adjust([one.comparison.p_value for one in found], "holm").tolist()
    weight = rows.select("case_id", "weight").unique()["weight"].to_numpy()
    return AgainstPanel(
        ai=ai,
        panel=panel,
        study=study,
        verdict=pair.non_inferiority(margin=margin, level=level, preset=preset) if wanted else None,
        points=tuple(one._replace(adjusted=p) for one, p in zip(found, together, strict=True)),
        bootstrap=bootstrap_check(
            rows, fixed=[ai] if fixed else (), replicates=bootstrap, level=level, seed=seed, progress=progress
        )
        if bootstrap
        else None,
        cases=weight.size,
        effective_cases=effective_size(weight),
    )


def _both(reads: pl.DataFrame, ai: str, panel: str, readers: Collection[str] | None) -> pl.DataFrame:
    """The reads of the algorithm, and those of the readers in question."""
    known = sorted(reads["modality_id"].unique())
    problems = [
        f"{name!r} is not a modality of the study, which has {known}" for name in (ai, panel) if name not in known
    ]
    of_panel = reads.filter(modality_id=panel)
    of_ai = reads.filter(modality_id=ai)
    if readers is not None:
        unknown = sorted(set(readers) - set(of_panel["reader_id"]))
        problems += [f"reader {name!r} has not read in {panel!r}" for name in unknown]
        of_panel = of_panel.filter(pl.col("reader_id").is_in(list(readers)))
    if shared := sorted(set(of_panel["reader_id"]) & set(of_ai["reader_id"])):
        problems.append(
            f"{', '.join(shared)} read in both modalities, so neither is an algorithm: take compare_readers"
        )
    if problems or of_panel.is_empty():
        raise ValueError("; ".join(problems or ["there are no readers"]))
    return pl.concat([of_ai, of_panel])


def _patients(rows: pl.DataFrame, asked: _Asked, point: float) -> Iterator[AtPoint]:
    calls = patient_calls(rows, asked.panel, point)
    scores = scores_on(rows, asked.ai, calls.cases)
    for match in _PATIENT:
        found = compare_with_panel(
            calls.truth, calls.calls, scores, match=match, weight=calls.weight, **asked.options._asdict()
        )
        yield AtPoint("patients", point, found, math.nan)


def _lesions(rows: pl.DataFrame, lesions: pl.DataFrame, asked: _Asked, point: float) -> Iterator[AtPoint]:
    calls = patient_calls(rows, asked.panel, point)
    every = lesion_calls(lesions, rows, calls.cases, point)
    instances = {reader: found for (modality, reader), found in every.items() if modality == asked.ai}
    mine = {reader: every[asked.panel, reader] for reader in calls.readers}
    rates = lesion_rates(mine, calls.weight, point, modality=asked.panel)
    read = ~np.isnan(calls.calls)
    for match in _LESION:
        targets, own = (np.array([rates[r][name] for r in calls.readers]) for name in (match, CONJUGATES[match]))
        tie = asked.options.tie
        theirs = at_the_readers_point(instances, read, calls.weight, targets, match=match, tie=tie)
        resampled = None
        if asked.options.method == "two-way":
            gaps = lesion_gaps_of(
                [*mine.values()], [*instances.values()], read, calls.weight, point=point, match=match, tie=tie
            )
            resampled = Resampled(gaps, smaller_class(calls.truth.astype(np.float64), calls.weight), [])
        found = compared(Conjugates(own, theirs, theirs), resampled, calls.weight, asked.options, match=match)
        yield AtPoint("lesions", point, found, math.nan)
