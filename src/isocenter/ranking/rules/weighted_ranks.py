"""Rank by each of several metrics, then rank by the weighted mean of the ranks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking._board import Board, BoardRow, Component, Note
from isocenter.ranking._cells import Cohort, read_cells, reject_undefined, with_undefined
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import (
    MissingSetting,
    UndefinedOfSeveralSetting,
    check_undefined,
    check_undefined_names,
    freeze_undefined,
    keep_undefined,
    leaves_undefined_out,
    tell_metric,
    undefined_in_words,
    undefined_of,
)
from isocenter.ranking._rank_draws import ranks_of
from isocenter.ranking._ties import TIES_IN_WORDS, Ties, rank_values
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import Naming, RankingRule, check_ties, in_words, of_part, ranking_rule
from isocenter.ranking.rules._settings import MetricOfRule, PartName, TiesSetting, Tolerance, WeightedMetrics
from isocenter.ranking.rules.mean import MeanThenRank
from isocenter.resampling.counts import Reject, Resamples
from isocenter.resampling.matrices import Floats
from isocenter.schema import Allowed, Within, Written, choice

if TYPE_CHECKING:
    from isocenter.ranking.rules._variants import Asked, Variant

WEIGHTED_RANK = catalogue.register(
    Metric("weighted_rank", "", "lower", (1.0, math.inf), 2, "weighted mean of the ranks by several metrics")
)

Values = Mapping[str, float]
"""By metric, what a submission reached over all cases."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Who is beyond it does not compete at all: such a submission is left out before anybody is ranked.

    Attributes
    ----------
    metric
        A metric of the rule; its direction in the catalogue says which side is beyond.
    value
        The limit, in the unit of the metric.
    at
        What becomes of a submission exactly at the limit: it is "excluded", or still "allowed".
    """

    written: ClassVar[Allowed] = Allowed('{ metric = "run_time", value = 60 }')

    metric: MetricOfRule
    value: Annotated[float, Within(), Allowed("a number", example="0.5"), "The limit, in the unit of the metric."]
    at: Annotated[
        Literal["excluded", "allowed"],
        choice(
            {'"excluded"': "who is exactly at the limit does not compete", '"allowed"': "who is exactly there does"}
        ),
        "What becomes of a submission exactly at the limit.",
    ] = "excluded"

    def excludes(self, value: float) -> bool:
        """Whether a submission with this value does not compete; rounding does not decide who is at the limit."""
        if math.isclose(value, self.value, rel_tol=1e-9):
            return self.at == "excluded"
        return value < self.value if catalogue.get(self.metric).better == "higher" else value > self.value

    def __str__(self) -> str:
        return self.words(str)

    def words(self, name: Naming) -> str:
        """Who is beyond it."""
        metric = catalogue.get(self.metric)
        unit = f" {metric.unit}" if metric.unit else ""
        if self.at == "excluded":
            return f"{name(self.metric)} of {self.value:g}{unit} or {'less' if metric.better == 'higher' else 'more'}"
        return f"{name(self.metric)} of {'less' if metric.better == 'higher' else 'more'} than {self.value:g}{unit}"

    @property
    def condition(self) -> str:
        """The same as a condition of pseudo-code."""
        sign = "<" if catalogue.get(self.metric).better == "higher" else ">"
        return f"{ ({'<': '≤', '>': '≥'}[sign] if self.at == 'excluded' else sign) } {self.value:g}"


_NAMES = Allowed("names of metrics in quotes between brackets, or []", example='["run_time"]', absent="there are none")
Given = Annotated[tuple[MetricOfRule, ...], _NAMES, "Metrics that a whole submission has, metered elsewhere."]
TieBreaks = Annotated[
    tuple[MetricOfRule, ...], _NAMES, "Metrics that decide between equal scores, one after the other."
]
Limits = Annotated[
    tuple[Limit, ...],
    Written(
        tuple[Limit, ...],
        read=lambda items: tuple(Limit(item.metric, item.value, item.at) for item in items),
        write=lambda limits: [
            {"metric": limit.metric, "value": float(limit.value), "at": limit.at} for limit in limits
        ],
        key="limits",
    ),
    Allowed(
        'limits between brackets, such as [{ metric = "run_time", value = 60, at = "excluded" }], or []',
        example='[{ metric = "run_time", value = 60, at = "excluded" }]',
        absent="there are none",
    ),
    "Limits beyond which a team does not compete.",
]


@ranking_rule("weighted-ranks", "by the mean of every metric, then by the weighted mean of these ranks")
@dataclass(frozen=True, slots=True)
class WeightedRanks(RankingRule):
    """Rank by the mean of each metric, then by the weighted mean of these ranks (DoseRAD2026).

    Attributes
    ----------
    metrics
        Names and weights: ``(("plan_mae", 1.0), ("run_time", 2.0))``.
    missing
        What a case counts as that has no output, or one that could not be measured; see `MeanThenRank`.
    given
        Those of the metrics that are numbers of the whole submission, measured elsewhere. They stand in the table with
        an empty `case`.
    exclude
        Limits beyond which a submission does not compete.
    tie_breaks
        Metrics that decide, one after the other, between submissions with equal scores.
    ties
        What equal means get, and equal scores that no tie-break tells apart; see `rank_values`.
    tolerance
        Values closer than this × the larger of two are equal.
    undefined
        What becomes of a case in which a metric is undefined, see `MeanThenRank`: left out of that metric for all, and
        not of the others (AutoPET: the Dice of patients with lesions, the false positive volume of all).
        It may be a policy by metric, as in `RankThenMean`.
    part
        As in `MeanThenRank`, for all metrics that are not given.

    Notes
    -----
    score = Σ wⱼ rⱼ / Σ wⱼ, rⱼ the rank by metric j among the submissions that compete: those of teams that are neither
    disqualified nor beyond a limit. Both are left out first, since a rank that somebody takes who does not compete
    moves everybody behind it, and may change the winner. Those beyond a limit stay on the board, without a rank and
    with a note. What only stands beside the teams (benchmarks, organisers) gets the ranks it would have had, and moves
    nobody.

    The score of a team depends on who else takes part, so scores of two boards do not compare.
    """

    relative = True
    shows_means = True

    metrics: WeightedMetrics
    missing: MissingSetting
    given: Given = ()
    exclude: Limits = ()
    tie_breaks: TieBreaks = ()
    ties: TiesSetting = "min"
    tolerance: Tolerance = 1e-9
    undefined: UndefinedOfSeveralSetting = "refuse"
    part: PartName = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "undefined", freeze_undefined(self.undefined))
        check_ties(self.ties)
        names = [name for name, _ in self.metrics]
        if not names or len(set(names)) < len(names):
            msg = f"a weighted rank needs metrics, each of them once, not {names}"
            raise ValueError(msg)
        for name, weight in self.metrics:
            if not 0 < weight < math.inf:
                msg = f"the weight of {name} is a positive number, not {weight}"
                raise ValueError(msg)
        for what, used in (
            ("given", self.given),
            ("a limit", tuple(limit.metric for limit in self.exclude)),
            ("a tie-break", self.tie_breaks),
        ):
            if strange := [name for name in used if name not in names]:
                msg = f"{strange[0]!r} is {what}, but not among the metrics of the rule ({', '.join(names)})"
                raise ValueError(msg)

    @property
    def metric(self) -> str:
        """What the board shows: the weighted mean of the ranks."""
        return WEIGHTED_RANK.name

    @property
    def reads(self) -> tuple[str, ...]:
        """The metrics that it needs of every case."""
        return tuple(name for name, _ in self.metrics if name not in self.given)

    @property
    def components(self) -> tuple[str, ...]:
        """The metrics whose ranks are weighed."""
        return tuple(name for name, _ in self.metrics)

    def check(self) -> None:
        """Whether every metric can be ranked, and can have the value that a missing case counts as."""
        for name, _ in self.metrics:
            with tell_metric(self.undefined, name):
                self._mean(name).check()
                check_undefined(undefined_of(self.undefined, name), catalogue.get(name), alone=False)
        check_undefined_names(self.undefined, self.components)

    @property
    def beside(self) -> tuple[MeanThenRank, ...]:
        """The means that are ranked, of all metrics that are not given."""
        return tuple(map(self._mean, self.reads))

    def _mean(self, name: str) -> MeanThenRank:
        how = {"ties": self.ties, "tolerance": self.tolerance, "part": self.part}
        return MeanThenRank(name, self.missing, undefined=undefined_of(self.undefined, name), **how)  # type: ignore[arg-type]

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Those of `exclude`."""
        return self.exclude

    @property
    def weights(self) -> dict[str, float]:
        """Those of the metrics."""
        return dict(self.metrics)

    def reweighted(self, weights: Mapping[str, float]) -> WeightedRanks:
        """Every metric is given; a metric of weight 0 does not count, and nobody is beyond a limit.

        Raises
        ------
        ValueError
            No weight is left, or one is negative.
        """
        if wrong := [name for name, weight in weights.items() if not 0 <= weight < 1e6]:
            msg = f"the weight of {wrong[0]} is a number from 0 to a million"
            raise ValueError(msg)
        kept = tuple((name, weights.get(name, own)) for name, own in self.metrics if weights.get(name, own) > 0)
        if not kept:
            msg = "at least one weight is above 0"
            raise ValueError(msg)
        names = tuple(name for name, _ in kept)
        breaks = tuple(name for name in self.tie_breaks if name in names)
        undefined = keep_undefined(self.undefined, {name: name for name in names})
        return replace(self, metrics=kept, given=names, exclude=(), tie_breaks=breaks, undefined=undefined)

    @property
    def rank_set_basis(self) -> str:
        """Sets by each metric."""
        return "sets are made of those by each metric, all at once (Bonferroni): safe, and wider than need be"

    def alternatives(self, asked: Asked) -> Iterator[Variant]:
        """Other aggregations, if all metrics are of the cases and everybody competes; ties, metrics and policies."""
        from isocenter.ranking.rules import _variants

        if not (self.given or self.exclude):
            yield from _variants.aggregate_several(self)
        yield from _variants.share_ranks(self, asked)
        yield from _variants.change_metric(self, asked, self._with_metric)
        yield from _variants.change_policy(self, asked)

    def _with_metric(self, old: str, new: str) -> WeightedRanks:
        from isocenter.ranking.rules._variants import rename

        return replace(
            self,
            metrics=rename(self.metrics, old, new),
            undefined=keep_undefined(self.undefined, {one: new if one == old else one for one in self.components}),
            given=tuple(new if name == old else name for name in self.given),
            exclude=tuple(replace(one, metric=new) if one.metric == old else one for one in self.exclude),
            tie_breaks=tuple(new if name == old else name for name in self.tie_breaks),
        )

    def words(self, name: Naming) -> str:
        """Metrics, limits, missing cases, ties and what breaks them."""
        words = [f"weighted mean of the ranks by {in_words(self.metrics, name)}{of_part(self.part)}, lower is better"]
        words += [f"a submission with {limit.words(name)} is excluded before ranking" for limit in self.exclude]
        words += [f"a missing or unusable case {self.missing}{undefined_in_words(self.undefined, name)}"]
        words += [f"equals {TIES_IN_WORDS[self.ties]}"]
        if self.tie_breaks:
            order = ", then by ".join(f"{catalogue.get(metric).better} {name(metric)}" for metric in self.tie_breaks)
            words.append(f"equal scores are decided by {order}")
        return "; ".join(words)

    def pseudo_code(self) -> str:
        """Means, numbers from elsewhere, limits, ranks by metric, their weighted mean, ranks."""
        lines = _lines.means(self.reads, self.missing, self.undefined, self.part) if self.reads else []
        lines += [f"for each submission s: v[{name}, s] = {name} of s, measured elsewhere" for name in self.given]
        lines += [f"if v[{limit.metric}, s] {limit.condition}: s does not compete" for limit in self.exclude]
        lines += [
            f"for each metric m of {_lines.listed([name for name, _ in self.metrics])}:",
            f"    for each competing s, by v[m, s] ({_lines.equal(self.tolerance)}):",
            f"        r[m, s] = {_lines.RANKS[self.ties]}",
            "for each competing s:",
            f"    score[s] = {_lines.weighted_mean(self.metrics, 'r[{}, s]')}",
        ]
        then = "".join(f", then by v[{name}, s] {catalogue.get(name).arrow}" for name in self.tie_breaks)
        better = WEIGHTED_RANK.better
        return _lines.with_ranks(lines, better=better, ties=self.ties, tolerance=self.tolerance, then=then)

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table; `roles` as in `MeanThenRank.rank`."""
        self.check()
        rows, values = self._values(scores, roles or {})
        competing = self._competing(rows, values)
        ranks = self._metric_ranks(rows, values, competing)
        scored = {team: self._score(found) for team, found in ranks.items()}
        places, decided = self._places(competing, values, scored)
        board = [
            replace(
                row,
                score=scored.get(row.submission),
                rank=places.get(row.submission),
                components=self._components(values[row.submission], ranks.get(row.submission, {})),
            )
            for row in rows
        ]
        listed = _in_order([row for row in board if not row.disqualified])
        made = Board(
            name=name or self.metric,
            metric=self.metric,
            rule=str(self),
            rows=tuple(listed),
            unlisted=tuple(row for row in board if row.disqualified),
            notes=(*self._reasons(listed, values), *decided),
        )
        return with_undefined(made, self._cohorts(scores, roles))

    def _cohorts(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> list[Cohort]:
        """What is defined by every metric of the cases, where that is not all."""
        if self.undefined == "refuse":
            return []
        how: dict[str, Any] = {"part": self.part, "roles": roles}
        return [
            read_cells(scores, name, self.missing, undefined=undefined_of(self.undefined, name), **how)
            for name in self.reads
        ]

    def rejects(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Reject | None:
        """Draws without a case in which one of the metrics is defined."""
        return reject_undefined(self._cohorts(scores, roles)) if leaves_undefined_out(self.undefined) else None

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The weighted ranks in every draw of cases, of those who compete; numbers given do not vary with the cases.

        Who competes is decided on all cases, not anew in each draw.
        """
        self.check()
        rows, values = self._values(scores, roles or {})
        competing = self._competing(rows, values)
        board = self.rank(scores, roles=roles)
        reached: dict[str, Floats] = {}
        parts: list[tuple[float, Drawn | Floats]] = []
        for name, weight in self.metrics:
            if name in self.given:
                column = np.array([[values[team][name]] for team in competing]).reshape(-1, 1)
                reached[name] = np.repeat(column, draws.replicates, axis=1)
                parts.append((weight, self._rank_draws(name, column)[:, 0]))
                continue
            drawn = self._mean(name).draw(scores, draws, roles=roles)
            at = [drawn.submissions.index(team) for team in competing]
            reached[name] = drawn.scores[at]
            parts.append((weight, _of_some(drawn, at)))
        total = sum(weight * self._rank_draws(name, reached[name]) for name, weight in self.metrics)
        score = np.asarray(total / math.fsum(weight for _, weight in self.metrics))
        keys = self._rank_draws(self.metric, score, ties="dense")
        for name in self.tie_breaks:
            keys = keys * (len(competing) + 1) + self._rank_draws(name, reached[name], ties="dense")
            keys = ranks_of(keys, better="lower", ties="dense", tolerance=0.0)
        return Drawn(
            submissions=tuple(competing),
            competing=np.ones(len(competing), np.bool_),
            full=np.array([board[team].score for team in competing], np.float64),
            scores=score,
            better="lower",
            ties=self.ties,
            tolerance=self.tolerance,
            keys=keys,
            components={name: reached[name] for name in self.reads},
            metrics=tuple(parts),
        )

    def _rank_draws(self, name: str, values: Floats, *, ties: Ties | None = None) -> Floats:
        better = catalogue.get(name).better
        assert better != "neither"
        return ranks_of(values, better=better, ties=ties or self.ties, tolerance=self.tolerance)

    def _components(self, reached: Values, ranks: Mapping[str, float]) -> tuple[Component, ...]:
        return tuple(Component(name, reached[name], ranks.get(name)) for name, _ in self.metrics if name in reached)

    def metric_ranks(
        self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None
    ) -> dict[str, dict[str, float]]:
        """Where the score comes from: by submission, its rank by each metric."""
        self.check()
        rows, values = self._values(scores, roles or {})
        return self._metric_ranks(rows, values, self._competing(rows, values))

    def _values(self, scores: pl.DataFrame, roles: Mapping[str, Role]) -> tuple[list[BoardRow], dict[str, Values]]:
        """A row for every submission, still without score and rank, and what it reached by every metric.

        What those beyond a limit have stands in for nobody's missing cases.
        """
        rows, values = self._reached(scores, roles, roles)
        out = {row.submission: "benchmark" for row in rows if self._beyond(values[row.submission])}
        return self._reached(scores, roles, {**roles, **out}) if out else (rows, values)  # type: ignore[dict-item]

    def _reached(
        self, scores: pl.DataFrame, roles: Mapping[str, Role], beside: Mapping[str, Role]
    ) -> tuple[list[BoardRow], dict[str, Values]]:
        boards = {name: self._mean(name).rank(scores, roles=beside) for name in self.reads}
        whole = scores.filter((pl.col("case") == "") & (pl.col("part") == ""))
        rows: list[BoardRow] = []
        values: dict[str, Values] = {}
        for submission in sorted(str(found) for found in scores["submission"].unique()):
            found = [board[submission] for board in boards.values()] or [
                BoardRow(submission, None, None, roles.get(submission, "team"), cases=0, missing=0, failed=0)
            ]
            reached = {name: board[submission].score for name, board in boards.items()}
            mine = whole.filter(pl.col("submission") == submission)
            reached |= {name: _single(mine.filter(pl.col("metric") == name)) for name in self.given}
            out = any(row.disqualified for row in found)
            role = roles.get(submission, "team")
            rows.append(replace(found[0], score=None, rank=None, role=role, disqualified=out))
            values[submission] = {name: value for name, value in reached.items() if value is not None}
        self._refuse_gaps(rows, values)
        return rows, values

    def _refuse_gaps(self, rows: Sequence[BoardRow], values: Mapping[str, Values]) -> None:
        for name in self.given:
            lacking = [
                row.submission
                for row in rows
                if name not in values[row.submission] and row.role == "team" and not row.disqualified
            ]
            if lacking:
                msg = (
                    f"there is no {name} of {', '.join(lacking[:5])}{' …' if len(lacking) > 5 else ''}; the rule ranks "
                    f"by it. It is a number of the whole submission that no evaluation measures: add it to the score "
                    f"tables, in a row with an empty case (`isocenter rank --run-times FILE` does so for run times)"
                )
                raise ValueError(msg)

    def _competing(self, rows: Sequence[BoardRow], values: Mapping[str, Values]) -> list[str]:
        return [
            row.submission
            for row in rows
            if row.role == "team" and not row.disqualified and not self._beyond(values[row.submission])
        ]

    def _beyond(self, reached: Values) -> list[Limit]:
        return [limit for limit in self.exclude if limit.metric in reached and limit.excludes(reached[limit.metric])]

    def _metric_ranks(
        self, rows: Sequence[BoardRow], values: Mapping[str, Values], competing: Sequence[str]
    ) -> dict[str, dict[str, float]]:
        """By submission its rank by each metric; of one that only stands beside, the rank it would have had."""
        ranks: dict[str, dict[str, float]] = {team: {} for team in competing}
        for name, _ in self.metrics:
            of_teams = [values[team][name] for team in competing]
            for team, place in zip(competing, self._ranks(name, of_teams), strict=True):
                ranks[team][name] = place
            for row in rows:
                reached = values[row.submission]
                if row.role != "team" and not row.disqualified and len(reached) == len(self.metrics):
                    among = self._ranks(name, [*of_teams, reached[name]])
                    ranks.setdefault(row.submission, {})[name] = among[-1]
        return ranks

    def _ranks(self, name: str, values: list[float], *, ties: Ties | None = None) -> list[float]:
        better = catalogue.get(name).better
        assert better != "neither"
        return rank_values(values, better, ties=ties or self.ties, tolerance=self.tolerance)

    def _score(self, ranks: Mapping[str, float]) -> float:
        total = math.fsum(weight * ranks[name] for name, weight in self.metrics)
        return total / math.fsum(weight for _, weight in self.metrics)

    def _places(
        self, competing: Sequence[str], values: Mapping[str, Values], scored: Mapping[str, float]
    ) -> tuple[dict[str, float], list[Note]]:
        """Final ranks, ties broken, and a note for every tie that was."""
        keys = [[place] for place in self._ranks(self.metric, [scored[team] for team in competing], ties="dense")]
        notes = []
        for name in self.tie_breaks:
            tied = {key for key, count in Counter(map(tuple, keys)).items() if count > 1}
            for place, key in zip(
                self._ranks(name, [values[t][name] for t in competing], ties="dense"), keys, strict=True
            ):
                key.append(place if tuple(key) in tied else 0.0)
            notes += [self._decision(name, key, keys, competing) for key in sorted(tied)]
        order = {key: float(i) for i, key in enumerate(sorted({tuple(key) for key in keys}))}
        final = rank_values([order[tuple(key)] for key in keys], "lower", ties=self.ties, tolerance=0.0)
        return dict(zip(competing, final, strict=True)), [note for note in notes if note]

    def _decision(
        self, name: str, key: tuple[float, ...], keys: Sequence[Sequence[float]], competing: Sequence[str]
    ) -> Note | None:
        """That a tie-break told submissions apart; None if it did not."""
        group = [
            (found[len(key)], team)
            for found, team in zip(keys, competing, strict=True)
            if tuple(found[: len(key)]) == key
        ]
        if len({place for place, _ in group}) == 1:
            return None
        return Note(f"equal scores of {', '.join(team for _, team in sorted(group))}: in this order by {name}")

    def _reasons(self, listed: Sequence[BoardRow], values: Mapping[str, Values]) -> list[Note]:
        """Why a row on the board has no score or no rank."""
        notes = []
        for row in listed:
            reached = values[row.submission]
            for limit in self._beyond(reached) if row.role == "team" else ():
                metric = catalogue.get(limit.metric)
                found = f"{reached[limit.metric]:.6g} {metric.unit}".strip()
                text = f"{row.submission} is excluded: {limit.metric} {found}, the limit is {limit}"
                notes.append(Note(text, row.submission))
            if row.role != "team" and (lacking := [name for name, _ in self.metrics if name not in reached]):
                text = f"{row.submission} has no score: there is no {', '.join(lacking)} of it"
                notes.append(Note(text, row.submission))
        return notes


def _of_some(drawn: Drawn, at: list[int]) -> Drawn:
    """What some of the submissions give, in another order."""
    return replace(
        drawn,
        submissions=tuple(drawn.submissions[i] for i in at),
        competing=np.ones(len(at), np.bool_),
        full=drawn.full[at],
        scores=drawn.scores[at],
        values=None if drawn.values is None else drawn.values[at],
    )


def _single(rows: pl.DataFrame) -> float | None:
    return rows["value"][0] if rows.height else None


def _in_order(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Rows by rank, between them where its score puts it what only stands beside, and last what has no score."""
    listed = sorted((row for row in rows if row.rank is not None), key=lambda row: (row.rank or 0.0, row.submission))
    rest = sorted((row for row in rows if row.rank is None), key=lambda row: (_cost(row), row.submission))
    for row in rest:
        at = next((i for i, other in enumerate(listed) if _cost(other) > _cost(row)), len(listed))
        listed.insert(at, row)
    return listed


def _cost(row: BoardRow) -> float:
    return math.inf if row.score is None else row.score
