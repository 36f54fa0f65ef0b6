"""Rank by how many others a submission is significantly better than."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking._board import Board
from isocenter.ranking._cells import Cohort, read_cells, reject_undefined, with_undefined
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import (
    MissingSetting,
    UndefinedSetting,
    check_missing,
    check_undefined,
    leaves_undefined_out,
    undefined_in_words,
)
from isocenter.ranking._ties import TIES_IN_WORDS
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import CaseValues, Naming, OfOneMetric, of_part, place, rankable, ranking_rule
from isocenter.ranking.rules._over_cases import refuse_weights
from isocenter.ranking.rules._settings import MetricName, PartName, TiesSetting, Tolerance
from isocenter.ranking.rules.mean import MeanThenRank
from isocenter.resampling.counts import Reject, Resamples
from isocenter.resampling.matrices import Floats
from isocenter.schema import Allowed, Read, Within, Written, Wrong, choice

WIN_SHARE = catalogue.register(
    Metric("win_share", "", "higher", (0.0, 1.0), 3, "share of the others that it is significantly better than")
)

Adjustment = Literal["none", "holm", "bonferroni", "bh"]
# p values of all pairs in all draws that are held at once.
_MOST_VALUES = 20_000_000


def _read_decimals(value: object) -> object:
    """A number or a word; checked here, as a union would report a problem once per member."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 15
    if value in ("noise", "catalogue") or whole:
        return value
    raise Wrong(value)


Level = Annotated[
    float,
    Within(gt=0, lt=1),
    Allowed("a number above 0 and below 1", example="0.05", absent="it is 0.05"),
    "The level of significance.",
]
AdjustmentSetting = Annotated[
    Adjustment,
    choice(
        {
            '"none"': "every test has the level for itself",
            '"holm"': "the chance of any false win is at most the level",
            '"bonferroni"': "the same, more strictly than needed",
            '"bh"': "of the wins, the share of false ones is at most the level (Benjamini and Hochberg)",
        },
        example='"none"',
        absent="every test has the level for itself",
    ),
    "What is done about their number.",
]
Decimals = Annotated[
    int | Literal["catalogue"] | None,
    Written(
        Annotated[int | Literal["noise", "catalogue"], Read(_read_decimals)],
        read=lambda value: None if value == "noise" else value,
        write=lambda value: "noise" if value is None else value,
    ),
    choice(
        {
            '"noise"': "differences are not rounded; those that only rounding noise tells apart are ties",
            "a whole number": "from 0 to 15",
            '"catalogue"': "as many as tables print of the metric",
        },
        what='"noise", a whole number from 0 to 15, or "catalogue"',
        example='"noise"',
        absent="they are not, but rounding noise breaks no tie",
    ),
    "To how many decimals differences are rounded.",
]


@ranking_rule("tests", "by how many others a team is significantly better than")
@dataclass(frozen=True, slots=True)
class TestThenRank(OfOneMetric):
    """Test every submission against every other, then rank by how many it beats (as challengeR's test-then-rank).

    Attributes
    ----------
    metric, missing, ties, tolerance, undefined, part
        As in `MeanThenRank`.
    alpha
        The level of significance.
    adjust
        For how many tests are made: all K (K - 1) ordered pairs are one family.
    decimals
        To how many decimals differences are rounded before they are ranked. None: they are not, and those that only
        rounding noise tells apart are ties. "catalogue" takes the decimals that tables print of the metric.

    Notes
    -----
    score = #{others beaten} / (K - 1), by the one-sided paired Wilcoxon signed-rank test with continuity correction.
    What only stands beside the teams is tested against them, and against nobody else. Beating is not transitive, and
    in few cases nobody beats anybody: then all share the first rank, which is what the data say.
    """

    relative = True

    __test__ = False  # for pytest, which takes the name for one of its own

    metric: MetricName
    missing: MissingSetting
    alpha: Level = 0.05
    adjust: AdjustmentSetting = "none"
    decimals: Decimals = None
    ties: TiesSetting = "min"
    tolerance: Tolerance = 1e-9
    undefined: UndefinedSetting = "refuse"
    part: PartName = ""

    @property
    def stand_in(self) -> float | None:
        """A score is no mean of values, and a value says nothing of it."""
        return None

    @property
    def beside(self) -> tuple[MeanThenRank, ...]:
        """The mean of the metric."""
        how = {"ties": self.ties, "tolerance": self.tolerance, "undefined": self.undefined, "part": self.part}
        return (MeanThenRank(self.metric, self.missing, **how),)  # type: ignore[arg-type]

    def check(self) -> None:
        """Whether the metric can be ranked, and can have the value that a missing case counts as."""
        metric = rankable(self.metric)
        if self.ties not in TIES_IN_WORDS or not 0 < self.alpha < 1:
            known = f"ties {', '.join(TIES_IN_WORDS)} and a level within 0 and 1"
            msg = f"a rule of tests has {known}, not {self.ties!r} and {self.alpha}"
            raise ValueError(msg)
        check_missing(self.missing, metric)
        check_undefined(self.undefined, metric)
        if self.missing.leaves_out:
            msg = "a paired test needs all cases of both; take another policy for missing cases"
            raise ValueError(msg)

    def case_values(self) -> CaseValues:
        """The metric, with the decimals of the tests."""
        return CaseValues(
            catalogue.get(self.metric), self.missing, self._decimals, undefined=self.undefined, part=self.part
        )

    @property
    def _decimals(self) -> int | Literal["noise"]:
        if self.decimals == "catalogue":
            return catalogue.get(self.metric).decimals
        return "noise" if self.decimals is None else self.decimals

    def words(self, name: Naming) -> str:
        """Tests, missing cases and ties."""
        metric = catalogue.get(self.metric)
        family = "" if self.adjust == "none" else f", {self.adjust} over all ordered pairs"
        return (
            f"share of the others beaten by {name(self.metric)}{of_part(self.part)} ({metric.better} is better) in "
            f"one-sided paired Wilcoxon tests at {self.alpha:g}{family}; a missing or unusable case "
            f"{self.missing}{undefined_in_words(self.undefined)}; equals {TIES_IN_WORDS[self.ties]}"
        )

    def pseudo_code(self) -> str:
        """Values, tests of all pairs, shares, ranks."""
        family = [f"P = P adjusted by {self.adjust} over all K (K − 1) ordered pairs"] if self.adjust != "none" else []
        wins = f"{catalogue.get(self.metric).better} wins"
        kept = self._decimals
        rounded = ", sizes within rounding noise made equal" if kept == "noise" else f", rounded to {kept} decimals"
        lines = [
            "for each submission s:",
            *_lines.cells(self.metric, self.missing, self.undefined, self.part),
            "for each pair s ≠ t of the K submissions:",
            f"    d[i] = x[s, i] − x[t, i]{rounded}",
            f"    P[s, t] = one-sided p of the signed-rank test of d, with continuity correction ({wins})",
            *family,
            "for each submission s:",
            f"    score[s] = #{{t ≠ s: P[s, t] ≤ {self.alpha:g}}} / (K − 1)",
        ]
        return _lines.with_ranks(lines, better=WIN_SHARE.better, ties=self.ties, tolerance=self.tolerance)

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table; `roles` as in `MeanThenRank.rank`."""
        cohort, values, competing = self._read(scores, roles)
        shares = self._shares(values, competing, Resamples.all_cases(len(cohort.weights)))[:, 0].tolist()
        by_name = dict(zip((entry.row.submission for entry in cohort.scored), shares, strict=True))
        board = place(
            [replace(entry.row, score=by_name.get(entry.row.submission)) for entry in cohort.entries],
            metric=WIN_SHARE,
            ties=self.ties,
            tolerance=self.tolerance,
            name=name or self.metric,
            rule=str(self),
        )
        return with_undefined(board, [cohort])

    def rejects(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Reject | None:
        """Draws without a case in which the metric is defined."""
        return reject_undefined([self._read(scores, roles)[0]]) if leaves_undefined_out(self.undefined) else None

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The shares in every draw of cases; a case that is drawn twice counts twice in the tests."""
        cohort, values, competing = self._read(scores, roles)
        return Drawn(
            submissions=tuple(entry.row.submission for entry in cohort.scored),
            competing=competing,
            full=self._shares(values, competing, Resamples.all_cases(len(cohort.weights)))[:, 0],
            scores=self._shares(values, competing, cohort.resamples(draws)),
            better="higher",
            ties=self.ties,
            tolerance=self.tolerance,
        )

    def _read(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> tuple[Cohort, Floats, NDArray[np.bool_]]:
        self.check()
        cohort = read_cells(scores, self.metric, self.missing, undefined=self.undefined, part=self.part, roles=roles)
        refuse_weights(cohort, "signed-rank test")
        competing = np.array([entry.row.role == "team" for entry in cohort.scored], np.bool_)
        return cohort, cohort.sums()[0], competing

    def _adjust(self, p: Floats, family: NDArray[np.bool_], competing: NDArray[np.bool_]) -> None:
        """Adjust in place: teams among themselves, and what stands beside them each as if it were one more team."""
        from isocenter.stats import adjust

        of_teams = p[family].copy()
        for row in np.flatnonzero(~competing):
            others = np.flatnonzero(competing)
            with_it = np.concatenate([p[row, others], p[others, row], of_teams])
            p[row, others] = adjust(with_it, self.adjust)[: others.size]
        p[family] = adjust(of_teams, self.adjust)

    def _shares(self, values: Floats, competing: NDArray[np.bool_], draws: Resamples) -> Floats:
        """Submissions × draws: the share of teams, itself not counted, that each beats."""
        size = len(values)
        shares = np.zeros((size, draws.replicates))
        if size < 2:
            return shares
        from isocenter.stats import signed_rank_matrix  # it is large, and scoring needs none of it

        metric = catalogue.get(self.metric)
        assert metric.better != "neither"
        others = competing.sum() - competing
        step = max(1, _MOST_VALUES // size**2)
        family = np.outer(competing, competing) & ~np.eye(size, dtype=np.bool_)
        for start in range(0, draws.replicates, step):
            weights = draws.counts[start : start + step]
            p = signed_rank_matrix(values, better=metric.better, decimals=self._decimals, weights=weights)
            if self.adjust != "none":
                for matrix in p:
                    self._adjust(matrix, family, competing)
            beaten = ((p <= self.alpha) & competing & ~np.eye(size, dtype=np.bool_)).sum(axis=2)
            shares[:, start : start + step] = (beaten / np.maximum(others, 1)).T
        return shares
