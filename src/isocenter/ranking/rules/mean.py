"""Rank by the mean over the cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.ranking._board import Board, Note
from isocenter.ranking._cells import (
    Cohort,
    Over,
    left_out_notes,
    mean_of,
    read_cells,
    reject_undefined,
    with_undefined,
)
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import (
    MissingSetting,
    UndefinedSetting,
    leaves_undefined_out,
    refuse_other,
    undefined_in_words,
)
from isocenter.ranking._ties import TIES_IN_WORDS
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import (
    CaseValues,
    Naming,
    OfOneMetric,
    check_part,
    check_ties,
    of_part,
    place,
    ranking_rule,
)
from isocenter.ranking.rules._settings import MetricName, PartName, TiesSetting, Tolerance
from isocenter.resampling.counts import Reject, Resamples
from isocenter.resampling.estimates import resample_means, resample_ratios
from isocenter.schema import choice

if TYPE_CHECKING:
    from isocenter.ranking.rules._variants import Asked, Variant

OverSetting = Annotated[
    Over,
    choice(
        {
            '"cases"': "the cases, each of which has one number",
            '"parts"': "all parts of all cases, so that a case with more parts has more say",
            '"parts-within-cases"': "the parts of each case first, then the cases",
        },
        example='"cases"',
        absent="it is the cases",
    ),
    "Over what the mean is, of values or of ranks.",
]


@ranking_rule("mean", "by the mean of a metric over the cases")
@dataclass(frozen=True, slots=True)
class MeanThenRank(OfOneMetric):
    """Mean over the cases, or over all their parts, then rank by the mean.

    Attributes
    ----------
    metric
        What is averaged, and by its direction in the catalogue ranked.
    missing
        What a case counts as that has no output, or one that could not be measured.
    ties
        What equal means get; see `rank_values`.
    tolerance
        Means closer than this × the larger of two are equal.
    over
        "cases": one number per case. "parts": every part of every case is one number, so that a case with more parts
        has more say (the DVH score of OpenKBP). "parts-within-cases": the mean of the parts of each case first.
    undefined
        What becomes of a case that was measured, but for which the metric is undefined: "refuse" to make a board; leave
        the submission off this board ("unlisted") because it competes on others only; leave the case out of the metric
        for all teams, if none has a value there ("leave-out"), or else let it count as missing for those without one
        ("leave-out-or-missing"); or the value that the metric counts as there.
    part
        The part whose value is the value of the case, such as one region of a tumour; "" for the case as a whole.

    Notes
    -----
    score = Σ wᵢ xᵢ / Σ wᵢ over all cases i of the cohort, wᵢ the case weights; over parts, each part has the weight of
    its case. It is summed exactly, so that neither the order of the cases nor the number of workers can move its last
    bit. The cohort is every case that any of the submissions was asked for: a case absent from one table is missing
    there, not left out.

    A metric that is undefined for a case (its value is null, though the output was there and could be read) has no
    place in a mean, so the rule does not guess, and says which case it is, unless organisers declared what it counts
    as. With "leave-out" the sums are over the cases in which the metric is defined, the same for all teams; so they are
    in bootstrap resamples of all cases, and a resample without such a case is made again.
    """

    roundable = True
    shows_means = True

    metric: MetricName
    missing: MissingSetting
    ties: TiesSetting = "min"
    tolerance: Tolerance = 1e-9
    over: OverSetting = "cases"
    undefined: UndefinedSetting = "refuse"
    part: PartName = ""

    def __post_init__(self) -> None:
        check_ties(self.ties)
        check_part(self.part, self.over)
        refuse_other(self.missing)

    @property
    def laddered(self) -> bool:
        """A mean over cases has a standard error."""
        return self.over == "cases"

    @property
    def mean_metric(self) -> str | None:
        """The metric, where the mean is over cases."""
        return self.metric if self.over == "cases" else None

    @property
    def rank_set_basis(self) -> str:
        """Differences of values, where each case has one."""
        return _lines.DIFFERENCES if self.over == "cases" else _lines.COVARIANCE

    def case_values(self) -> CaseValues:
        """The metric, over what the mean is."""
        metric = catalogue.get(self.metric)
        return CaseValues(metric, self.missing, over=self.over, undefined=self.undefined, part=self.part)

    def aggregations(self, asked: Asked) -> Iterator[Variant]:
        """By parts, the other way to put them together; the other aggregations know one number per case."""
        if self.over == "cases":
            yield from OfOneMetric.aggregations(self, asked)
            return
        yield "mean of all parts", replace(self, over="parts")
        yield "mean within cases first", replace(self, over="parts-within-cases")

    def words(self, name: Naming) -> str:
        """Mean, direction, missing cases and ties."""
        metric = catalogue.get(self.metric)
        over = {
            "cases": "all cases",
            "parts": "all parts of all cases",
            "parts-within-cases": "the parts of each case, then over all cases",
        }[self.over]
        return (
            f"mean {name(self.metric)}{of_part(self.part)} over {over}, {metric.better} is better; a missing or "
            f"unusable case {self.missing.words(metric.unit)}{undefined_in_words(self.undefined)}; equals "
            f"{TIES_IN_WORDS[self.ties]}"
        )

    def pseudo_code(self) -> str:
        """Values, mean, ranks."""
        lines = ["for each submission s:"]
        if self.over == "cases":
            lines += _lines.cells(self.metric, self.missing, self.undefined, self.part)
        else:
            lines += [
                "    for each case i and each of its parts p:",
                f"        x[s, i, p] = {self.metric} of s in p of i",
                *(
                    f"        {line.replace(' in i', ' in p of i').replace('leave i', 'leave p of i')}"
                    for line in _lines.undefined(self.undefined, self.metric, "x[s, i, p]")
                ),
                f"        {_lines.missing(self.missing, [self.metric], 'x[s, i, p]')}",
            ]
        if self.over == "parts-within-cases":
            lines.append("    x[s, i] = mean over p of x[s, i, p]")
        pooled = "Σᵢ Σₚ w[i] · x[s, i, p] / Σᵢ Σₚ w[i]"
        lines.append(f"    score[s] = {pooled if self.over == 'parts' else 'Σᵢ w[i] · x[s, i] / Σᵢ w[i]'}")
        if self.undefined == "unlisted":
            lines.append(f"    if {self.metric} is undefined for an output of s: s stands on no board")
        better = catalogue.get(self.metric).better
        return _lines.with_ranks(lines, better=better, ties=self.ties, tolerance=self.tolerance)

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table.

        Parameters
        ----------
        name
            What the board is called.
        roles
            Organisers' and benchmark rows by submission: scored like the others, but without a rank, and without
            moving anybody else's.
        """
        self.check()
        cohort = self._read(scores, roles)
        rows = [
            replace(entry.row, score=mean_of(entry.numbers, cohort.weights) if entry.numbers is not None else None)
            for entry in cohort.entries
        ]
        metric = catalogue.get(self.metric)
        board = place(
            rows, metric=metric, ties=self.ties, tolerance=self.tolerance, name=name or self.metric, rule=str(self)
        )
        absent = [row for row in rows if row.score is None and not row.disqualified]
        notes = [
            Note(f"{row.submission} is not on this board: it has no {self.metric} in some cases", row.submission)
            for row in absent
        ]
        if self.over == "parts":
            cells = {cell for entry in cohort.scored for cell in entry.numbers or ()}
            notes.insert(0, Note(f"{len(cells):,} values in {len(cohort.weights)} cases"))
        if self.missing.leaves_out:
            notes += left_out_notes(cohort.entries)
        return with_undefined(replace(board, notes=tuple(notes)), [cohort])

    def rejects(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Reject | None:
        """Draws without a case in which the metric is defined."""
        return reject_undefined([self._read(scores, roles)]) if leaves_undefined_out(self.undefined) else None

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The means in every draw of cases."""
        self.check()
        cohort = self._read(scores, roles)
        total, count = cohort.sums()
        plain = bool((count == 1).all())
        total, count, weight = cohort.among_all(total), cohort.among_all(count), cohort.weights_of_all()
        better = catalogue.get(self.metric).better
        assert better != "neither"
        return Drawn(
            submissions=tuple(entry.row.submission for entry in cohort.scored),
            competing=np.array([entry.row.role == "team" for entry in cohort.scored], np.bool_),
            full=np.array([mean_of(entry.numbers or {}, cohort.weights) for entry in cohort.scored]),
            scores=resample_means(total, draws, weight=weight)
            if plain
            else resample_ratios(total, count, draws, weight=weight),
            better=better,
            ties=self.ties,
            tolerance=self.tolerance,
            values=total if plain else None,
            weight=weight if plain else None,
        )

    def _read(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> Cohort:
        how: dict[str, Any] = {"over": self.over, "undefined": self.undefined, "part": self.part}
        return read_cells(scores, self.metric, self.missing, roles=roles, **how)
