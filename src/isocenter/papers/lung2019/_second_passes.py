"""How far observers agree with themselves when they draw scans again: intra-observer, eTables 3 and 5."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from isocenter.ensembles import REFERENCE, count_votes, pair_table
from isocenter.evaluation import open_cohort
from isocenter.papers._files import find_masks, first_line, grid_policy, name_of_masks
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.report import Cell
from isocenter.stats import in_brackets, mean_and_error

FOLDER = "second-pass"
WITHIN = "Within observers"
_FIRST, _SECOND = "first", "second"

LACKS = (
    f"How far an observer agrees with itself is not known: {FOLDER}/NAME/ would hold the scans that the observer of "
    f"observers/NAME/ drew again, and {FOLDER}/{REFERENCE}/ those that were drawn again by whoever drew the reference."
)


@dataclass(frozen=True)
class SecondPasses:
    """What observers drew again, measured against their first pass, which is the truth.

    Attributes
    ----------
    scores
        By metric, by observer and by case.
    without_first
        Observers without a first pass of the same scans.
    """

    scores: Mapping[str, Mapping[str, Mapping[str, float]]]
    without_first: tuple[str, ...] = ()

    def of(self, metric: str) -> list[float]:
        """Scores of all observers in all cases that they drew twice."""
        return [value for by_case in self.scores.get(metric, {}).values() for value in by_case.values()]

    def cell(self, metric: str) -> Cell:
        """Mean, its standard error (SD/√n) in brackets, and n; a dash if nobody drew a scan twice."""
        values = self.of(metric)
        if not values:
            return Cell("–")
        mean, error = mean_and_error(values)
        text = f"{in_brackets(round(mean, 4), error)}, n = {len(values)}"
        return Cell(text, mean, error=None if math.isnan(error) else error)

    def describe(self) -> str:
        """Who drew how many scans twice, and who has no first pass; a note of a table."""
        drawn = {name: len(by_case) for by_name in self.scores.values() for name, by_case in by_name.items()}
        names = ", ".join(
            f"{'the observer of the reference' if name == REFERENCE else name} ({counted(count, 'scan')})"
            for name, count in sorted(drawn.items())
        )
        note = f"{WITHIN}: second passes against the first, which is the truth, by {names}."
        if self.without_first:
            note += f" Without a first pass of the same scans: {', '.join(self.without_first)}."
        return note


def read_second_passes(study: Study) -> SecondPasses | str:
    """Every second pass against the first; a sentence that says why not, if that cannot be.

    The first pass of an observer lies in observers/, that of `reference` is the reference itself. Whoever is in
    submissions.csv is not an observer.
    """
    folder, reference = study.folder.file(FOLDER), study.folder.file("reference")
    if folder is None or reference is None:
        return LACKS
    taking_part = {entry.team for entry in study.folder.entries}
    try:
        names = sorted({name_of_masks(path) for path in folder.iterdir()} - taking_part - {""})
        first = {name: find_masks(study.folder.path / "observers", name) for name in names if name != REFERENCE}
        known = [name for name in names if name == REFERENCE or first[name] is not None]
        cohort = open_cohort(study.challenge, reference)
        scores: dict[str, dict[str, dict[str, float]]] = {}
        for number, name in enumerate(known):
            study.move(number, len(known), "reading second passes")
            voters = {_FIRST: first.get(name), _SECOND: find_masks(folder, name)}
            files = {voter: path for voter, path in voters.items() if path is not None}
            votes = count_votes(study.challenge, cohort, files, grid=grid_policy(study))
            pair = (REFERENCE if name == REFERENCE else _FIRST, _SECOND)
            table = pair_table(votes, metrics=study.challenge.metrics, pairs=[pair])
            rows = table.filter(pl.col("metric").is_in(study.challenge.metrics) & pl.col("value").is_finite())
            for case, metric, value in rows.select("case", "metric", "value").iter_rows():
                scores.setdefault(metric, {}).setdefault(name, {})[case] = value
    except (ValueError, OSError) as error:
        return f"Second passes cannot be measured: {first_line(error, study)}"
    if not scores:
        return f"No scan of {FOLDER}/ has a first pass of the same observer." if names else LACKS
    measured = {name for by_name in scores.values() for name in by_name}
    return SecondPasses(scores, tuple(name for name in names if name not in measured))
