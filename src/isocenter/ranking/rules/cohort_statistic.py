"""Rank by a statistic of the whole cohort: balanced accuracy, kappa, the C-index, or one of another package."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.metrics import catalogue
from isocenter.ranking._board import Board, Note
from isocenter.ranking._cells import Cohort, read_cells, with_undefined
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import (
    LeaveOut,
    MissingSetting,
    SettingError,
    UndefinedSetting,
    refuse_by_metric,
    refuse_other,
    undefined_in_words,
)
from isocenter.ranking._ties import TIES_IN_WORDS
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import CaseValues, Naming, RankingRule, check_ties, place, ranking_rule
from isocenter.ranking.rules._settings import Context, TiesSetting, Tolerance
from isocenter.ranking.statistics import (
    OWN_STATISTICS,
    CaseWeights,
    Columns,
    Statistic,
    get_statistic,
    statistic_names,
)
from isocenter.resampling.counts import Reject, Resamples
from isocenter.resampling.matrices import Floats
from isocenter.schema import Allowed, Check, Read, Written, Wrong, quoted

if TYPE_CHECKING:
    from isocenter.ranking._board import BoardRow
    from isocenter.ranking.rules._variants import Asked, Variant

# How far two submissions may be apart in what they say of the reference: voxels are counted, volumes rounded.
_SAME_REFERENCE = 1e-6


def _look_for_statistic(name: str, context: Context) -> Iterator[Wrong]:  # noqa: ARG001
    """There must be such a statistic."""
    try:
        get_statistic(name)
    except ValueError as error:
        yield Wrong(name, sentence=str(error))


def _read_columns(value: object) -> object:
    """Names of metrics by names of inputs."""
    if isinstance(value, Mapping) and all(isinstance(one, str) and one for pair in value.items() for one in pair):
        return dict(value)
    raise Wrong(value)


StatisticName = Annotated[
    str,
    Check(_look_for_statistic),
    Allowed(f"{quoted(OWN_STATISTICS, 'or')}, or one of another package", example='"balanced_accuracy"'),
    "The statistic that decides.",
]
ColumnsSetting = Annotated[
    Mapping[str, str],
    Written(
        Annotated[dict[str, Any], Read(_read_columns)],
        read=lambda names: dict(sorted(names.items())),
        write=lambda names: dict(sorted(names.items())),
    ),
    Allowed(
        'metrics in quotes by what the statistic calls them, such as { truth = "true_class" }',
        example='{ truth = "true_class" }',
        absent="each has the metric of the same meaning",
    ),
    "Which metrics the statistic takes of every case.",
]
PartsSetting = Annotated[
    tuple[str, ...],
    Allowed(
        "names of parts in quotes between brackets, or []",
        example='["GTVp", "GTVn"]',
        absent="it is that of the cases as wholes",
    ),
    "Parts of the cases in each of which the statistic is taken; their mean decides.",
]


@ranking_rule("cohort-statistic", "by a statistic of all cases together, such as balanced accuracy or the C-index")
@dataclass(frozen=True, kw_only=True)
class CohortStatistic(RankingRule):
    """Rank by a number of all cases together that is a function of a few numbers of each.

    Attributes
    ----------
    statistic
        Its name; see `isocenter.ranking.statistics`.
    missing
        What a case without a usable output does: it disqualifies; it is left out of the cohort of that submission, with
        a note; it counts as the worst output there is, where the statistic knows one; or the one number that the
        statistic takes of an output is this value.
    columns
        By input of the statistic the metric that holds it, where that is not its own.
    parts
        Parts of the cases (regions); the statistic is taken in each, and their mean decides (HECKTOR 2022).
    ties, tolerance
        As in `MeanThenRank`.
    undefined
        What becomes of a case in which an input is undefined, as in `MeanThenRank`: left out for all, or a value.

    Notes
    -----
    In a bootstrap resample a case counts as often as it was drawn, times its weight. A resample in which the statistic
    is undefined for a team is made again. What the reference says must be the same in all tables.
    """

    roundable = True

    statistic: StatisticName
    missing: MissingSetting
    columns: ColumnsSetting = field(default_factory=dict)
    parts: PartsSetting = ()
    ties: TiesSetting = "min"
    tolerance: Tolerance = 1e-9
    undefined: UndefinedSetting = "refuse"

    def __post_init__(self) -> None:
        check_ties(self.ties)
        refuse_other(self.missing)

    def __hash__(self) -> int:
        return hash((self.statistic, self.missing, *sorted(self.columns.items()), self.parts, self.ties))

    @property
    def known(self) -> Statistic:
        """The statistic."""
        return get_statistic(self.statistic)

    @property
    def metric(self) -> str:
        """That of the statistic."""
        return self.known.metric.name

    @property
    def sources(self) -> dict[str, str]:
        """By input the metric that holds it."""
        return {one.name: self.columns.get(one.name, one.metric) for one in self.known.inputs}

    @property
    def reads(self) -> tuple[str, ...]:
        """The metrics that hold the inputs."""
        return tuple(dict.fromkeys(self.sources.values()))

    def check(self) -> None:
        """Whether there is such a statistic, with such inputs, and a missing case can count so."""
        known = self.known
        names = [one.name for one in known.inputs]
        if strange := [name for name in self.columns if name not in names]:
            msg = f"{self.statistic} has no input {strange[0]!r}, but {quoted(names, 'and')}"
            raise SettingError(msg, setting="columns")
        for metric in self.reads:
            if metric not in catalogue.names():
                msg = f"there is no metric {metric!r} in the catalogue"
                raise SettingError(msg, setting="columns")
        if len(set(self.parts)) < len(self.parts):
            msg = f"a part is named twice: {', '.join(self.parts)}"
            raise SettingError(msg, setting="parts")
        refuse_by_metric(self.undefined)
        if self.undefined == "unlisted":
            msg = "a submission without an input has no statistic; leave the case out, or let it count as a value"
            raise SettingError(msg, setting="undefined")
        self._check_missing()

    def _check_missing(self) -> None:
        """Whether the statistic knows what a missing case counts as."""
        if self.missing.disqualifies or self.missing.leaves_out:
            return
        known = self.known
        given = [one.name for one in known.inputs if not one.of_reference]
        nothing = {one.name: np.zeros(1) for one in known.inputs}
        has_worst = known.count_as_worst(known.describe_reference(nothing)) is not None
        if self.missing.names_value and len(given) == 1:
            value = self.missing.stand_in(catalogue.get(self.sources[given[0]]))
            if wrong := known.check_inputs(nothing | {given[0]: np.array([value])}):
                msg = f"a missing case cannot count as {value:g}: {wrong}"
                raise ValueError(msg)
        elif not (has_worst and self.missing.describe() == "worst"):
            allowed = ["disqualifies", "is left out"] + ["counts as the worst"] * has_worst
            allowed += [f"has a number as its {given[0]}"] if len(given) == 1 else []
            msg = (
                f"{self.metric} is a number of all cases together. One that is missing {', '.join(allowed[:-1])} or "
                f"{allowed[-1]}; there is no such thing here as one that {self.missing}"
            )
            raise ValueError(msg)

    def case_values(self) -> CaseValues:
        """There are none."""
        msg = f"{self.metric} has no value per case: it is a number of all cases together, which no paired test is for"
        raise ValueError(msg)

    def alternatives(self, asked: Asked) -> Iterator[Variant]:
        """Other statistics of the same inputs, and policies."""
        from isocenter.ranking.rules import _variants

        for name in statistic_names():
            other = replace(self, statistic=name)
            try:
                same = [one.name for one in other.known.inputs] == [one.name for one in self.known.inputs]
                other.check()
            except ValueError:
                continue
            if same and name != self.statistic:
                yield f"by {other.metric}", other
        yield from _variants.change_policy(self, asked)

    def words(self, name: Naming) -> str:
        """Statistic, inputs, missing cases and ties."""
        metric = self.known.metric
        inputs = ", ".join(map(name, self.reads))
        parts = f", mean over {', '.join(self.parts)}" if self.parts else ""
        return (
            f"{metric.name} of all cases together, by {inputs}{parts}, {metric.better} is better; a missing or "
            f"unusable case {self._missing_in_words()}{undefined_in_words(self.undefined)}; equals "
            f"{TIES_IN_WORDS[self.ties]}"
        )

    def _missing_in_words(self) -> str:
        return "is left out of the cohort of its team" if self.missing.leaves_out else str(self.missing)

    def pseudo_code(self) -> str:
        """Inputs of all cases, the statistic, ranks."""
        where = " in part p" if self.parts else ""
        lines = [
            "for each submission s:",
            "    for each case i:",
            *(f"        {name} = {metric} of s in i{where}" for name, metric in self.sources.items()),
        ]
        one = " or ".join(self.reads)
        lines += [f"        {line}" for line in _lines.undefined(self.undefined, one, "it")]
        lines.append(f"        if s has no usable output for i: {self._missing_in_code()}")
        each = [f"    for each part p of {', '.join(self.parts)}:"] if self.parts else []
        lines += [*each, f"    {'    y[p]' if self.parts else 'score[s]'} = {self.known.formula}"]
        lines += ["    score[s] = mean over p of y[p]"] if self.parts else []
        return _lines.with_ranks(lines, better=self.known.metric.better, ties=self.ties, tolerance=self.tolerance)

    def _missing_in_code(self) -> str:
        if self.missing.disqualifies or self.missing.leaves_out:
            return self.missing.pseudo_code([], "")
        given = [one.name for one in self.known.inputs if not one.of_reference]
        value = self.missing.pseudo_code([self.sources[given[0]]], given[0]) if self.missing.names_value else ""
        return value or f"{', '.join(given)} = those of the worst output there is"

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table; `roles` as in `MeanThenRank.rank`."""
        inputs = self._read(scores, roles)
        by_name = dict(zip(inputs.names, inputs.full.tolist(), strict=True))
        board = place(
            [replace(row, score=by_name.get(row.submission)) for row in inputs.rows],
            metric=self.known.metric,
            ties=self.ties,
            tolerance=self.tolerance,
            name=name or self.metric,
            rule=str(self),
        )
        notes = [
            Note(f"{row.submission}: {row.cases - row.missing - row.failed} of {row.cases} cases", row.submission)
            for row in inputs.rows
            if self.missing.leaves_out and row.submission in by_name and row.missing + row.failed
        ]
        notes += [Note(f"{team}: {self.metric} is undefined, {why}", team) for team, why in inputs.set_aside.items()]
        return with_undefined(replace(board, notes=tuple(notes)), inputs.cohorts)

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The statistic in every draw of cases."""
        inputs = self._read(scores, roles)
        better = self.known.metric.better
        assert better != "neither"
        drawn = inputs.evaluate(draws)
        defined: NDArray[np.bool_] = np.asarray(~np.isnan(drawn).any(axis=1))
        if not defined[inputs.competing].all():
            msg = f"a draw has no {self.metric} of some team: it defines no score"
            raise ValueError(msg)
        # No draw is made again for those who do not compete: where one defines no score of theirs, they have no bounds.
        return Drawn(
            submissions=tuple(name for name, known in zip(inputs.names, defined, strict=True) if known),
            competing=inputs.competing[defined],
            full=inputs.full[defined],
            scores=drawn[defined],
            better=better,
            ties=self.ties,
            tolerance=self.tolerance,
        )

    def rejects(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Reject:
        """Draws in which the statistic is undefined for some team."""
        inputs = self._read(scores, roles)
        return lambda counts: ~inputs.is_defined(Resamples.of_weights(counts))

    def _read(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> _Inputs:
        self.check()
        # Missing cases have no numbers here; what they count as is a question to the statistic.
        return _Inputs(
            self,
            {
                part: {
                    metric: read_cells(table, metric, LeaveOut(), undefined=self.undefined, roles=roles)
                    for metric in self.reads
                }
                for part, table in ((part, self._of_part(scores, part)) for part in self.parts or ("",))
            },
        )

    def _of_part(self, scores: pl.DataFrame, part: str) -> pl.DataFrame:
        """The table with one part of every case in the place of the case."""
        if not part:
            return scores
        own = pl.col("metric").is_in(self.reads)
        kept = scores.filter((own & (pl.col("part") == part)) | (~own & (pl.col("part") == "")))
        return kept.with_columns(part=pl.lit(""))


class _Inputs:
    """The inputs of all submissions that have a score, part by part, by metric."""

    def __init__(self, rule: CohortStatistic, parts: Mapping[str, Mapping[str, Cohort]]) -> None:
        self.rule = rule
        cohorts = [cohort for of_part in parts.values() for cohort in of_part.values()]
        self.cohorts = [
            replace(cohort, metric=f"{metric} of {part}" if part else metric)
            for part, of_part in parts.items()
            for metric, cohort in of_part.items()
        ]
        self.every = cohorts[0].every
        weights = {case: weight for cohort in cohorts for case, weight in cohort.weights.items()}
        self._weight = np.array([weights.get(case, 0.0) for case in self.every])
        self.rows: list[BoardRow] = []
        for entries in zip(*(cohort.entries for cohort in cohorts), strict=True):
            row = max((entry.row for entry in entries), key=lambda row: row.missing + row.failed)
            lacking = row.missing + row.failed
            gone = lacking > 0 and (rule.missing.disqualifies or lacking == row.cases)
            self.rows.append(replace(row, disqualified=gone))
        scored = [at for at, row in enumerate(self.rows) if not row.disqualified]
        self.names = [self.rows[at].submission for at in scored]
        self.competing: NDArray[np.bool_] = np.array([self.rows[at].role == "team" for at in scored], np.bool_)
        self._parts: list[list[tuple[Columns, NDArray[np.bool_]]]] = [
            self._columns_of(of_part, scored) for of_part in parts.values()
        ]
        self.full = self.evaluate(Resamples.all_cases(len(self.every)))[:, 0]
        self.set_aside = self._set_aside(scored)

    def _set_aside(self, scored: Sequence[int]) -> dict[str, str]:
        """Leave out who has no score for a reason of their own, and say why by submission.

        A team that lacks cases has chosen its cohort, where that is allowed, and who does not compete moves nobody. If
        it is the cohort of everybody that defines no statistic, there is no board.
        """
        kept, reasons = [], {}
        for at, (row, score) in enumerate(zip([self.rows[i] for i in scored], self.full.tolist(), strict=True)):
            if not math.isnan(score):
                kept.append(at)
                continue
            reasons[row.submission] = why = self.explain(row.submission)
            if row.role == "team" and not row.missing + row.failed:
                msg = f"{self.rule.metric} is undefined for {row.submission!r}: {why}"
                raise ValueError(msg)
        if reasons and not kept:
            submission, why = next(iter(reasons.items()))
            msg = f"{self.rule.metric} is undefined for {submission!r}: {why}"
            raise ValueError(msg)
        self.rows = [replace(row, disqualified=row.disqualified or row.submission in reasons) for row in self.rows]
        self.names = [self.names[at] for at in kept]
        self.competing, self.full = self.competing[kept], self.full[kept]
        self._parts = [[part[at] for at in kept] for part in self._parts]
        return reasons

    def _columns_of(
        self, cohorts: Mapping[str, Cohort], scored: Sequence[int]
    ) -> list[tuple[Columns, NDArray[np.bool_]]]:
        """By submission its inputs in one part, and the cases that count there."""
        counting = np.logical_and.reduce([cohort.counting for cohort in cohorts.values()])
        found: list[tuple[dict[str, Floats], NDArray[np.bool_]]] = []
        for at in scored:
            columns = {}
            for name, metric in self.rule.sources.items():
                numbers = cohorts[metric].entries[at].numbers or {}
                columns[name] = np.array([numbers.get((case, ""), np.nan) for case in self.every])
            there = ~np.logical_or.reduce([np.isnan(column) for column in columns.values()])
            if wrong := self.rule.known.check_inputs({name: column[there] for name, column in columns.items()}):
                msg = f"{self.rule.metric} of {self.rows[at].submission!r}: {wrong}, and not in all cases"
                raise ValueError(msg)
            found.append((columns, there))
        reference = self._reference(found, scored)
        return [self._stand_in(columns, there & counting, reference, counting) for columns, there in found]

    def _reference(
        self, found: Sequence[tuple[Columns, NDArray[np.bool_]]], scored: Sequence[int]
    ) -> dict[str, Floats]:
        """What the submissions say of the reference, each case once; NaN where none does."""
        known: dict[str, Floats] = {}
        for (columns, there), at in zip(found, scored, strict=True):
            for name, column in self.rule.known.describe_reference(columns).items():
                before = known.setdefault(name, np.full(len(self.every), np.nan))
                apart = np.abs(column - before) > _SAME_REFERENCE * np.maximum(np.abs(column), np.abs(before))
                if (differing := np.flatnonzero(there & apart)).size:
                    case = self.every[differing[0]]
                    msg = (
                        f"{name} of case {case!r} is {before[differing[0]]:g} for some submissions and "
                        f"{column[differing[0]]:g} for {self.rows[at].submission!r}; score them all again"
                    )
                    raise ValueError(msg)
                before[there] = np.where(np.isnan(before[there]), column[there], before[there])
        return known

    def _stand_in(
        self, columns: Columns, there: NDArray[np.bool_], reference: Mapping[str, Floats], counting: NDArray[np.bool_]
    ) -> tuple[Columns, NDArray[np.bool_]]:
        """The inputs with what missing cases count as, in the cases that count for the submission."""
        policy, known = self.rule.missing, self.rule.known
        absent = counting & ~there
        if not absent.any() or policy.leaves_out:
            return {name: column[there] for name, column in columns.items()}, there
        if unknown := [
            case
            for at, case in enumerate(self.every)
            if absent[at] and any(np.isnan(of[at]) for of in reference.values())
        ]:
            msg = f"{unknown[0]!r} is missing, and no submission says what its reference is: nobody has an output"
            raise ValueError(msg)
        filled = {name: column.copy() for name, column in columns.items()}
        at_absent = {name: column[absent] for name, column in reference.items()}
        stands = {name: column for name, column in at_absent.items() if name in filled}
        if policy.names_value:
            (given,) = [one.name for one in known.inputs if not one.of_reference]
            value = policy.stand_in(catalogue.get(self.rule.sources[given]))
            stands[given] = np.full(int(absent.sum()), value)
        else:
            # The worst class may depend on which classes there are at all.
            whole = known.count_as_worst({name: column[counting] for name, column in reference.items()})
            assert whole is not None
            stands |= {name: column[absent[counting]] for name, column in whole.items()}
        for name, column in stands.items():
            filled[name][absent] = column
        return {name: column[counting] for name, column in filled.items()}, counting

    def _weights(self, draws: Resamples, there: NDArray[np.bool_]) -> CaseWeights:
        return CaseWeights(draws, self._weight).among(there)

    def evaluate(self, draws: Resamples) -> Floats:
        """Submissions × draws, the mean over the parts."""
        shape = (len(self.names), draws.replicates)
        total = np.zeros(shape)
        for part in self._parts:
            for at, (columns, there) in enumerate(part):
                total[at] += self.rule.known.evaluate(columns, self._weights(draws, there))
        return total / len(self._parts)

    def is_defined(self, draws: Resamples) -> NDArray[np.bool_]:
        """In which draws every team has a score."""
        defined = np.ones(draws.replicates, np.bool_)
        for part in self._parts:
            for at, (columns, there) in enumerate(part):
                if self.competing[at]:
                    defined &= self.rule.known.is_defined(columns, self._weights(draws, there))
        return defined

    def explain(self, submission: str) -> str:
        """Why the statistic is undefined for it."""
        at = self.names.index(submission)
        draws = Resamples.all_cases(len(self.every))
        for part, columns_of in zip(self.rule.parts or ("",), self._parts, strict=True):
            columns, there = columns_of[at]
            weights = self._weights(draws, there)
            if not self.rule.known.is_defined(columns, weights).all():
                where = f" in {part}" if part else ""
                return f"{self.rule.known.explain_undefined(columns, weights)}{where}"
        return "it is not a number"
