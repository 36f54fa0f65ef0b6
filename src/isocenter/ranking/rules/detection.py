"""Ranking by numbers of the whole cohort: AUROC of the patients, average precision of the lesions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, get_args

import numpy as np
import polars as pl

from isocenter.detections import CASE_METRICS, Detections, detections_of
from isocenter.metrics import catalogue
from isocenter.ranking._board import Board, BoardRow, Component, Note
from isocenter.ranking._cells import cohort_of
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import Disqualify, MissingSetting
from isocenter.ranking._ties import TIES_IN_WORDS, rank_values
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import CaseValues, Naming, RankingRule, check_ties, place, ranking_rule
from isocenter.ranking.rules._settings import TiesSetting, Tolerance
from isocenter.resampling.counts import Reject, Resamples
from isocenter.schema import Allowed, quoted

if TYPE_CHECKING:
    from isocenter.ranking.rules._variants import Asked, Variant

DetectionMetric = Literal["detection_score", "auroc", "average_precision"]
DetectionSetting = Annotated[
    DetectionMetric, Allowed(quoted(get_args(DetectionMetric), "or"), example='"auroc"'), "The metric that decides."
]
_PARTS: tuple[Literal["auroc", "average_precision"], ...] = ("auroc", "average_precision")


@ranking_rule("detection", "by auroc, average_precision, or the mean of both, detection_score")
@dataclass(frozen=True, slots=True)
class DetectThenRank(RankingRule):
    """Rank by a number of all findings together (PI-CAI 2022).

    Attributes
    ----------
    metric
        "auroc" of the patients, "average_precision" of the lesions, or "detection_score", the mean of both.
    missing
        What a case without a usable output does: it disqualifies, or is left out, with a note.
    ties
        What equal scores get; see `rank_values`.
    tolerance
        Scores closer than this × the larger of two are equal.

    Notes
    -----
    A submission of several trained instances has the mean of their scores. Case weights multiply the counts.

    Raises `ValueError` where the cohort leaves a number undefined (all patients healthy, no lesion to find): nobody has
    a score then, and 0 would be a lie.
    """

    roundable = True
    has_findings = True

    needs: ClassVar[tuple[str, ...]] = CASE_METRICS

    metric: DetectionSetting
    missing: MissingSetting = Disqualify()
    ties: TiesSetting = "min"
    tolerance: Tolerance = 1e-9

    def __post_init__(self) -> None:
        if self.metric not in get_args(DetectionMetric):
            msg = f"findings are ranked by one of {', '.join(get_args(DetectionMetric))}, not {self.metric!r}"
            raise ValueError(msg)
        check_ties(self.ties)

    @property
    def reads(self) -> tuple[str, ...]:
        """What is needed of every case."""
        return CASE_METRICS

    @property
    def components(self) -> tuple[str, ...]:
        """AUROC and average precision, where their mean decides."""
        return _PARTS if self.metric == "detection_score" else ()

    @property
    def _parts(self) -> tuple[Literal["auroc", "average_precision"], ...]:
        """The numbers that the score is made of."""
        return _PARTS if self.metric == "detection_score" else (self.metric,)

    def check(self) -> None:
        """Whether the policy for missing cases makes sense."""
        if not (self.missing.disqualifies or self.missing.leaves_out):
            msg = (
                f"{self.metric} is a number of all cases together: one that is missing disqualifies or is left out, "
                "but counts as no value"
            )
            raise ValueError(msg)

    def case_values(self) -> CaseValues:
        """There are none."""
        msg = f"{self.metric} has no value per case: it is a number of all cases together, which no paired test is for"
        raise ValueError(msg)

    def alternatives(self, asked: Asked) -> Iterator[Variant]:
        """Other numbers of the findings, and policies."""
        from isocenter.ranking.rules import _variants

        for metric in get_args(DetectionMetric):
            yield f"by {metric}", replace(self, metric=metric)
        yield from _variants.change_policy(self, asked)

    def words(self, name: Naming) -> str:  # noqa: ARG002 (its numbers have names of their own)
        """Number, missing cases and ties."""
        number = {
            "detection_score": "mean of the AUROC of all patients and the average precision of all lesions",
            "auroc": "AUROC of all patients",
            "average_precision": "average precision of all lesions",
        }[self.metric]
        counted = f"a missing or unusable case {self.missing}"
        return f"{number}, higher is better; {counted}; equals {TIES_IN_WORDS[self.ties]}"

    def pseudo_code(self) -> str:
        """Findings of all cases, their number for every trained instance, the mean, ranks."""
        score = {"auroc": "A", "average_precision": "P", "detection_score": "(A + P) / 2"}[self.metric]
        needs = {
            "A": "A = area under the ROC curve of the likelihoods of all patients",
            "P": "P = average precision of all lesion candidates, by their confidence",
        }
        lines = [
            "for each submission s:",
            f"    for each case i: {_lines.missing(self.missing, [self.metric])}",
            "    for each of its trained instances k, over all cases with their weights w[i]:",
            *(f"        {line}" for name, line in needs.items() if name in score),
            f"        y[k] = {score}",
            "    score[s] = mean over k of y[k]",
        ]
        better = catalogue.get(self.metric).better
        return _lines.with_ranks(lines, better=better, ties=self.ties, tolerance=self.tolerance)

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table; `roles` as in `MeanThenRank.rank`."""
        self.check()
        roles = roles or {}
        cases = cohort_of(scores)
        rows, truth = [], _Truth()
        for (submission,), table in sorted(scores.group_by("submission"), key=lambda group: str(group[0][0])):
            row = _counted(str(submission), table, cases, role=roles.get(str(submission), "team"))
            out = row.missing + row.failed > 0 and self.missing.disqualifies
            if out or row.missing + row.failed == len(cases):
                rows.append(replace(row, disqualified=True))
                continue
            instances = self.findings(table)
            for found in instances.values():
                truth.compare(str(submission), found)
            rows.append(self._scored(row, list(instances.values())))
        board = place(
            rows,
            metric=catalogue.get(self.metric),
            ties=self.ties,
            tolerance=self.tolerance,
            name=name or self.metric,
            rule=str(self),
        )
        return replace(board, rows=self._with_ranks(board.rows), notes=tuple(self._notes(rows, scores)))

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The scores in every draw of cases: means over the trained instances, which share the draws."""
        board = self.rank(scores, roles=roles)
        if any(row.missing + row.failed for row in board.rows):
            msg = "where cases are left out, submissions have cohorts of their own, and no draw is one of all"
            raise ValueError(msg)
        from isocenter.stats import detection_draws  # it is large, and scoring needs none of it

        names = sorted(row.submission for row in board.rows)
        found = [self.findings(scores.filter(pl.col("submission") == name)) for name in names]
        of = [_PARTS.index(part) for part in self._parts]
        asked = {part: part in self._parts for part in _PARTS}
        samples = np.array(
            [np.mean([detection_draws(one, draws.by_case, **asked) for one in its.values()], axis=0) for its in found]
        ).reshape(len(names), draws.replicates, 2)
        return Drawn(
            submissions=tuple(names),
            competing=np.array([board[name].role == "team" for name in names], np.bool_),
            full=np.array([board[name].score for name in names], np.float64),
            scores=samples[:, :, of].mean(axis=2),
            better="higher",
            ties=self.ties,
            tolerance=self.tolerance,
            components={part: samples[:, :, at] for at, part in enumerate(_PARTS)} if len(of) > 1 else {},
        )

    def rejects(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Reject:  # noqa: ARG002
        """Draws that do not define the number: without an ill patient or a healthy one, or without a lesion."""
        known = scores.filter(pl.col("metric") == "case_positive").drop_nulls("value")
        ill = dict(known.select("case", "value").unique().iter_rows())
        drawn = set(scores.filter((pl.col("metric") == "lesion") & (pl.col("value") == 1))["case"])
        # A case of weight 0 is no case. What only the other number needs may well be in no case of the cohort.
        cases = [case if weight > 0 else "" for case, weight in cohort_of(scores).items()]
        needed = {
            "auroc": [[ill.get(case) == 1 for case in cases], [ill.get(case) == 0 for case in cases]],
            "average_precision": [[case in drawn for case in cases]],
        }
        kinds = np.array([kind for part in self._parts for kind in needed[part]])
        return lambda counts: ((counts @ kinds.T.astype(np.int64)) == 0).any(axis=1)

    def findings(self, table: pl.DataFrame) -> dict[str, Detections]:
        """The findings of one submission, by trained instance, in the cases that count."""
        if self.missing.leaves_out:
            table = table.filter(pl.col("case").is_in(list(_measured(table))))
        return detections_of(table)

    def _scored(self, row: BoardRow, instances: Sequence[Detections]) -> BoardRow:
        parts = self._parts
        for found in instances:
            if reasons := [found.undefined[part] for part in parts if part in found.undefined]:
                msg = f"{self.metric} is undefined for {row.submission!r}: {'; '.join(reasons)}"
                raise ValueError(msg)
        means = [Component(part, _mean([getattr(found, part) for found in instances]), None) for part in parts]
        score = _mean([getattr(found, self.metric) for found in instances])
        return replace(row, score=score, components=tuple(means) if len(means) > 1 else ())

    def _with_ranks(self, rows: Sequence[BoardRow]) -> tuple[BoardRow, ...]:
        """Rows whose components have the ranks that they would have by themselves."""
        competing = [row for row in rows if row.rank is not None and row.components]
        ranks: dict[tuple[str, str], float] = {}
        for at, part in enumerate(_PARTS):
            values = [row.components[at].score for row in competing]
            for row, rank in zip(
                competing, rank_values(values, "higher", ties=self.ties, tolerance=self.tolerance), strict=True
            ):
                ranks[row.submission, part] = rank

        def ranked(row: BoardRow) -> tuple[Component, ...]:
            return tuple(replace(part, rank=ranks.get((row.submission, part.metric))) for part in row.components)

        return tuple(replace(row, components=ranked(row)) for row in rows)

    def _notes(self, rows: Sequence[BoardRow], scores: pl.DataFrame) -> list[Note]:
        listed = {row.submission for row in rows if not row.disqualified}
        instances = (
            scores.filter((pl.col("metric") == "case_likelihood") & pl.col("value").is_not_null())
            .group_by("submission")
            .agg(pl.col("part").n_unique())
            .sort("submission")
        )
        notes = [
            Note(f"{submission}: mean over {count} trained instances", submission)
            for submission, count in instances.iter_rows()
            if count > 1 and submission in listed
        ]
        return notes + [
            Note(f"{row.submission}: {row.cases - row.missing - row.failed} of {row.cases} cases", row.submission)
            for row in rows
            if row.submission in listed and row.missing + row.failed
        ]


class _Truth:
    """What the cases are, of which every submission must have been told the same."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def compare(self, submission: str, found: Detections) -> None:
        for case, positive in zip(found.cases, found.truth.tolist(), strict=True):
            if self._known.setdefault(case, positive) != positive:
                msg = f"case {case!r} is positive for some submissions and not for {submission!r}; score them all again"
                raise ValueError(msg)


def _measured(table: pl.DataFrame) -> set[str]:
    return set(table.filter((pl.col("metric") == "case_likelihood") & pl.col("value").is_not_null())["case"])


def _counted(submission: str, table: pl.DataFrame, cases: Mapping[str, float], *, role: Role) -> BoardRow:
    absent = cases.keys() - _measured(table)
    failed = absent & set(table.filter(pl.col("metric") == "failed")["case"])
    return BoardRow(
        submission=submission,
        score=None,
        rank=None,
        role=role,
        cases=len(cases),
        missing=len(absent - failed),
        failed=len(failed),
    )


def _mean(values: Sequence[float]) -> float:
    """Of one value, that value to the last bit."""
    return values[0] if len(values) == 1 else math.fsum(values) / len(values)
