"""What `isocenter ensemble` does by each of its methods, between reading its arguments and showing the outcome."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import typer

from isocenter import __version__, ensembles
from isocenter.cli._arguments import Setting
from isocenter.cli._terminal import Move
from isocenter.ensembles import Ensemble, EnsembleError, Hierarchical, Rule, StapleRule, Ties, Turnout, Votes
from isocenter.evaluation import Cohort
from isocenter.submissions import MaskFile
from isocenter.volumes import digest

_SHOWN = 10


@dataclass(frozen=True)
class Cases:
    """A cohort, the submissions on it, and how they are read."""

    setting: Setting
    cohort: Cohort
    submissions: Mapping[str, Path]
    executor: Executor | None
    start: Callable[[str], Move]
    metrics: tuple[str, ...]
    tolerance_mm: float | None = None

    def votes(self, *, holdout: bool = False) -> Votes:
        """Read and count."""
        return ensembles.count_votes(
            self.setting.challenge,
            self.cohort,
            self.submissions,
            grid=self.setting.grid,
            holdout=holdout,
            keep_masks=self.paints,
            tolerance_mm=self.tolerance_mm,
            executor=self.executor,
            progress=self.start("reading the holdout" if holdout else "reading"),
        )

    @property
    def paints(self) -> bool:
        """Whether masks have to be made and measured, since counts do not tell a metric."""
        return any(metric not in ensembles.METRICS for metric in self.metrics)

    def measure(self, votes: Votes, rules: Sequence[Rule] | None = None) -> None:
        """Measure all ensembles, or some rules, on many cases at once, if counts do not tell a metric."""
        if self.paints:
            move = self.start("measuring")
            ensembles.measure_votes(votes, self.metrics, rules, executor=self.executor, progress=move)

    def write(self, rule: Rule | Hierarchical, folder: Path) -> None:
        """Write the masks that a rule makes."""
        ensembles.write_masks(
            self.setting.challenge,
            self.cohort,
            self.submissions,
            rule,
            folder,
            grid=self.setting.grid,
            executor=self.executor,
            progress=self.start("writing"),
        )

    def record(self, outcome: Outcome, method: str) -> dict[str, Any]:
        """How a table was made; nothing that differs between two runs on the same content."""
        # The hash is made as `isocenter score` makes it, so that its tables and ours can be ranked together.
        content = {case.name: {slot: digest(file) for slot, file in case.files.items()} for case in self.cohort.cases}
        return {
            "challenge": self.setting.challenge.name,
            "isocenter": __version__,
            "method": method,
            "policies": {
                "grid": self.setting.grid,
                "missing_votes": ensembles.MISSING_VOTES,
                **({} if self.tolerance_mm is None else {"tolerance_mm": self.tolerance_mm}),
                **outcome.policies,
            },
            "reference": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
            "submissions": dict(outcome.turnout.digests),
            "votes": counted(outcome.turnout),
        }


@dataclass(frozen=True)
class Line:
    """A combination, and the means of its scores; of some also that of the main metric on the holdout."""

    name: str
    means: Mapping[str, float | None]
    holdout: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What came out.

    Attributes
    ----------
    lines
        What there is to show.
    chosen
        The combination whose masks can be written; None for an oracle, as no algorithm makes it.
    table
        Makes the score table.
    turnout
        Who voted on the cases of the table.
    policies
        What was decided by an option.
    notes
        Sentences that a reader should see.
    facts
        What else a program may want.
    """

    lines: Sequence[Line]
    chosen: Rule | Hierarchical | None
    table: Callable[[], pl.DataFrame]
    turnout: Turnout
    policies: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


def counted(turnout: Turnout) -> dict[str, Any]:
    """Who voted, as JSON values."""
    return {voter: dict(states) for voter, states in turnout.states.items()}


def metrics_of(which: Setting, metric: str | None = None, *, tolerance_mm: float | None = None) -> tuple[str, ...]:
    """The metrics that masks are scored by: the one asked for, or that of the main board, then the challenge's others.

    Of the others only those that are functions of counts: they cost nothing.
    """
    from isocenter.metrics import mask_metrics

    challenge = which.challenge
    main = metric or next(iter(challenge.boards.values())).metric
    if main not in mask_metrics():
        known = f"those are {', '.join(mask_metrics())}"
        if metric is not None:
            msg = f"{metric} is not a metric of two masks; {known}"
            raise typer.BadParameter(msg, param_hint="--metric")
        main_board = f"the main board of {challenge.name} is decided by {main}, which is not a metric of two masks"
        msg = f"{main_board}; name one by --metric; {known}"
        raise typer.BadParameter(msg, param_hint="CHALLENGE")
    try:
        ensembles.check_metric(main, tolerance_mm)
    except EnsembleError as error:
        raise typer.BadParameter(str(error), param_hint="--tolerance") from None
    return (main, *(metric for metric in ensembles.countable(challenge.metrics) if metric != main))


def choose(cases: Cases, holdout: Cases | None) -> Outcome:
    """All ensembles on the reference, and the best of them on the holdout."""
    metrics, votes = cases.metrics, cases.votes()
    cases.measure(votes)
    best = ensembles.best_of(votes, metric=metrics[0], most=_SHOWN)
    choice = best[0]
    rules = dict.fromkeys([*(one.ensemble for one in best), *_alone(votes)])
    chosen = f"Chosen: {choice.ensemble}, by its mean {metrics[0]} the best of {choice.candidates:,}"
    facts = {"candidates": choice.candidates}
    if holdout is None:
        note = f"{chosen}. It was chosen and measured on the same cases; on others expect less."
        return Outcome(
            lines=[*(Line(str(rule), _means(votes, rule, metrics)) for rule in rules), *_votes_of_all(cases, votes)],
            chosen=choice.ensemble,
            table=lambda: ensembles.score_table(votes, metrics=metrics),
            turnout=votes.turnout,
            notes=[note],
            facts=facts,
        )
    others = holdout.votes(holdout=True)
    holdout.measure(others, [choice.ensemble, *_alone(votes)])
    reached = ensembles.confirm(choice, others).mean
    # On the holdout only what was chosen, and the submissions themselves: more would invite to choose there.
    there = {rule: _mean(others, rule, metrics[0]) for rule in _alone(votes)} | {choice.ensemble: reached}
    return Outcome(
        lines=[
            *(Line(str(rule), _means(votes, rule, metrics), there.get(rule)) for rule in rules),
            *_votes_of_all(cases, votes),
        ],
        chosen=choice.ensemble,
        table=lambda: ensembles.score_table(others, [choice.ensemble], metrics=metrics),
        turnout=others.turnout,
        notes=[f"{chosen}; on the holdout, which had no part in the choice, it reaches {_shown(metrics[0], reached)}."],
        facts=facts
        | {
            "holdout": {"cases": len(others.cases), metrics[0]: finite(reached)},
            "validation_votes": counted(votes.turnout),
        },
    )


def fixed(cases: Cases, make: Callable[[tuple[str, ...]], Rule], **policies: Any) -> Outcome:
    """One combination without any choice, beside the submissions themselves."""
    metrics, votes = cases.metrics, cases.votes()
    rule = make(votes.voters)
    cases.measure(votes, [rule, *_alone(votes)])
    outcome = Outcome(
        lines=[Line(str(one), _means(votes, one, metrics)) for one in dict.fromkeys([rule, *_alone(votes)])],
        chosen=rule,
        table=lambda: ensembles.score_table(votes, [rule], metrics=metrics),
        turnout=votes.turnout,
        policies=policies,
    )
    return _with_performance(outcome, votes, rule) if isinstance(rule, StapleRule) else outcome


def oracle(cases: Cases) -> Outcome:
    """What always picking the best would reach."""
    metrics, votes = cases.metrics, cases.votes()
    cases.measure(votes)
    table = ensembles.oracle_table(votes, metrics=metrics)
    return Outcome(
        lines=[*_lines(table, metrics), *(Line(str(one), _means(votes, one, metrics)) for one in _alone(votes))],
        chosen=None,
        table=lambda: table,
        turnout=votes.turnout,
        notes=["An oracle looks at the truth: a limit for what choosing could reach, not a result."],
    )


def hierarchical(cases: Cases, *, severity: str | None, ties: Ties) -> Outcome:
    """The vote that keeps labels."""
    order = _severity(severity, _mask_file(cases.setting))
    table, turnout = _hierarchical_table(cases, order, ties, cases.start("reading"))
    metrics, parts = cases.metrics, table["part"].unique(maintain_order=True).to_list()
    return Outcome(
        lines=[line for part in parts for line in _lines(table.filter(part=part), metrics, suffix=part)],
        chosen=Hierarchical(tuple(cases.submissions), order, ties),
        table=lambda: table,
        turnout=turnout,
        policies={"ties": ties, "severity": list(order)},
    )


def _hierarchical_table(cases: Cases, order: tuple[int, ...], ties: Ties, move: Move) -> tuple[pl.DataFrame, Turnout]:
    labels = dict(_mask_file(cases.setting).labels)
    return ensembles.hierarchical_table(
        cases.setting.challenge,
        cases.cohort,
        cases.submissions,
        rule=Hierarchical(tuple(cases.submissions), order, ties),
        metrics=cases.metrics,
        names={number: name for name, number in labels.items()},
        grid=cases.setting.grid,
        tolerance_mm=cases.tolerance_mm,
        executor=cases.executor,
        progress=move,
    )


def _mask_file(setting: Setting) -> MaskFile:
    """The mask that is asked for; of anything else, one of a single label."""
    (spec,) = setting.challenge.output.values()
    return spec if isinstance(spec, MaskFile) else MaskFile()


def _severity(given: str | None, spec: MaskFile) -> tuple[int, ...]:
    """The order of labels that an option names, which has to name all; without one, that of the challenge."""
    labels = dict(spec.labels)
    if given is None and spec.severity_order is not None:
        return spec.severity_order
    words = [word.strip() for word in (given or "").split(",")]
    order = tuple(labels.get(word, int(word) if word.isdecimal() else 0) for word in words)
    if sorted(order) != sorted(labels.values()):
        known = ", ".join(f"{name} ({number})" for name, number in labels.items())
        msg = f"name the labels from the mildest to the most severe, with commas between them; they are {known}"
        raise typer.BadParameter(msg, param_hint="--severity")
    return order


def _votes_of_all(cases: Cases, votes: Votes) -> list[Line]:
    """What needs no choice: the majority, and where the challenge orders its labels, the hierarchical vote."""
    metrics, rule = cases.metrics, ensembles.majority(votes.voters)
    lines = [Line(f"majority: {rule}", _means(votes, rule, metrics))]
    order = _mask_file(cases.setting).severity_order
    if order is not None and len(order) > 1:
        table, _ = _hierarchical_table(cases, order, "foreground", cases.start("voting by label"))
        for part in table["part"].unique(maintain_order=True).to_list():
            lines += _lines(table.filter(part=part), metrics, suffix=part)
    return lines


def _with_performance(outcome: Outcome, votes: Votes, rule: StapleRule) -> Outcome:
    """The outcome with what STAPLE thinks of the voters."""
    results = {c.case: ensembles.staple(c.patterns, field_of_view=rule.field_of_view) for c in votes.cases}
    slow = [case for case, result in results.items() if not result.converged]
    performance = {
        case: {
            "prior": result.prior,
            "sensitivity": _by_voter(votes, result.sensitivity),
            "specificity": _by_voter(votes, result.specificity),
        }
        for case, result in results.items()
    }
    notes = [f"STAPLE had not quite converged when it was stopped in {', '.join(slow)}."] if slow else []
    return replace(outcome, notes=notes, facts={"staple": performance})


def _by_voter(votes: Votes, values: Iterable[float]) -> dict[str, float | None]:
    return {v: None if math.isnan(x) else float(x) for v, x in zip(votes.voters, values, strict=True)}


def _shown(metric: str, value: float) -> str:
    from isocenter.metrics import catalogue

    unit = catalogue.get(metric).unit
    return f"{catalogue.get(metric).show(value)} {unit}".strip()


def finite(value: float | None) -> float | None:
    """The value, or None for an infinite distance to an empty mask: JSON has no such number."""
    return value if value is not None and math.isfinite(value) else None


def _alone(votes: Votes) -> list[Ensemble]:
    """Every submission by itself."""
    return [Ensemble((voter,), 1) for voter in votes.voters]


def _means(votes: Votes, rule: Rule, metrics: Sequence[str]) -> dict[str, float | None]:
    return {metric: _mean(votes, rule, metric) for metric in metrics}


def _mean(votes: Votes, rule: Rule, metric: str) -> float | None:
    try:
        return ensembles.mean_of(votes, rule, metric=metric)
    except EnsembleError:  # undefined in some case
        return None


def _lines(table: pl.DataFrame, metrics: Sequence[str], *, suffix: str = "") -> list[Line]:
    """The means of a score table, by submission; None where some case has no value."""
    lines = []
    for (name,), rows in table.group_by("submission", maintain_order=True):
        means: dict[str, float | None] = {}
        for metric in metrics:
            values = rows.filter(metric=metric)
            terms = (values["value"] * values["weight"]).to_list()
            means[metric] = None if None in terms else math.fsum(terms) / math.fsum(values["weight"].to_list())
        lines.append(Line(f"{name} {suffix}".strip(), means))
    return lines
