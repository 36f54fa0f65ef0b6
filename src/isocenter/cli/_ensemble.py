"""`isocenter ensemble`: submissions combined, the best combination chosen, confirmed, scored and written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import ChallengeName, Grid, Json, Reference, Setting, Workers, setting
from isocenter.cli._many import Submissions, by_name, show_table, show_turnout, working
from isocenter.cli._terminal import problem_dicts, show_problems

if TYPE_CHECKING:
    from isocenter.cli._combine import Outcome
    from isocenter.ensembles import Ensemble, FieldOfView, Ties


class Method(StrEnum):
    """How submissions are combined."""

    ALL = "all"
    MAJORITY = "majority"
    HIERARCHICAL = "hierarchical"
    STAPLE = "staple"
    BEST_CASE = "best-case"


class HalfVote(StrEnum):
    """What exactly half of the votes make of a voxel."""

    FOREGROUND = "foreground"
    BACKGROUND = "background"


class View(StrEnum):
    """How much background STAPLE sees."""

    IMAGE = "image"
    BOX = "box"


def ensemble(
    challenge: ChallengeName,
    submissions: Submissions,
    *,
    reference: Reference,
    holdout_reference: Annotated[
        Path | None, typer.Option(help="Other cases, on which the choice is confirmed and never made.", exists=True)
    ] = None,
    holdout: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SUBMISSION", help="A submission's masks of the holdout; once for each of them."),
    ] = None,
    method: Annotated[
        Method, typer.Option(help="How to combine; `all` tries every subset and threshold.")
    ] = Method.ALL,
    named: Annotated[
        str | None, typer.Option("--ensemble", metavar="NAME", help="This one rather than the best, as 2of(a,b,c).")
    ] = None,
    ties: Annotated[
        HalfVote, typer.Option(help="What exactly half of the votes are (majority, hierarchical).")
    ] = HalfVote.FOREGROUND,
    severity: Annotated[
        str | None,
        typer.Option(
            help="Labels from the mildest to the most severe, as nodes,tumour (hierarchical).",
            show_default="as the challenge orders them",
        ),
    ] = None,
    field_of_view: Annotated[
        View, typer.Option(help="Where background counts: the whole image, or the box around all masks (staple).")
    ] = View.IMAGE,
    out: Annotated[Path | None, typer.Option(help="Where to write the score table (Parquet).")] = None,
    write: Annotated[Path | None, typer.Option(help="Where to write the masks: a new or empty folder.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="A metric of two masks, such as dice, hd95 or nsd.", show_default="that of the challenge's main board"
        ),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(metavar="MM", min=0.0, help="How far surfaces may be apart, for nsd and its kin.")
    ] = None,
    grid: Grid = None,
    workers: Workers = 1,
    as_json: Json = False,
) -> None:
    r"""Combine submissions, and score what comes out.

    Tries all N·2^(N-1) ensembles "at least p of these members", shows the
    best and, if there is a holdout, measures the very best there. A metric
    of surfaces is measured on the masks of all ensembles, of at most six
    submissions; overlap is counted once for all of them. With
    --method or --ensemble it makes one combination instead of choosing.
    A submission without a usable mask for a case votes background there.

    The table (--out) and the masks (--write) are those of the holdout, if
    there is one. Exits with 1 if a mask was there and could not be used.

    Example: isocenter ensemble hecktor2020 --reference reference/ \
             a=a/ b=b.zip c=c/ --out ensembles.parquet
    """
    which = setting(challenge, grid)
    files, later = by_name(submissions), by_name(holdout or [], hint="--holdout")
    if method is not Method.ALL and named is not None:
        msg = "names one combination and --method another"
        raise typer.BadParameter(msg, param_hint="--ensemble")
    if holdout_reference is not None or later:
        _check_holdout(files, later, holdout_reference, chooses=method is Method.ALL and named is None)
    _check_targets(out, write, oracle=method is Method.BEST_CASE)
    from isocenter import ensembles, scores
    from isocenter.cli import _combine
    from isocenter.evaluation import open_cohort

    rule = _parsed(named, files)
    metrics = _combine.metrics_of(which, metric, tolerance_mm=tolerance)
    with working(which, workers, as_json=as_json) as (start, pool):
        cases = _combine.Cases(which, open_cohort(which.challenge, reference), files, pool, start, metrics, tolerance)
        last = cases
        if holdout_reference is not None:
            last = replace(cases, cohort=open_cohort(which.challenge, holdout_reference), submissions=later)
        half: Ties = ties.value
        view: FieldOfView = field_of_view.value
        if rule is not None:
            outcome = _combine.fixed(cases, lambda _: rule)
        elif method is Method.ALL:
            outcome = _combine.choose(cases, None if last is cases else last)
        elif method is Method.MAJORITY:
            outcome = _combine.fixed(cases, lambda voters: ensembles.majority(voters, ties=half), ties=half)
        elif method is Method.STAPLE:
            outcome = _combine.fixed(cases, lambda voters: ensembles.StapleRule(voters, view), field_of_view=view)
        elif method is Method.HIERARCHICAL:
            outcome = _combine.hierarchical(cases, severity=severity, ties=half)
        else:
            outcome = _combine.oracle(cases)
        record = last.record(outcome, method.value if rule is None else str(rule))
        if out is not None:
            scores.write(outcome.table(), out, record=record)
        if write is not None and outcome.chosen is not None:
            last.write(outcome.chosen, write)
    written = {"out": out, "write": write}
    _show(which, outcome, record, {what: str(path) for what, path in written.items() if path}, as_json=as_json)
    raise typer.Exit(1 if any(states["failed"] for states in outcome.turnout.states.values()) else 0)


def _check_holdout(
    files: Mapping[str, Path], later: Mapping[str, Path], reference: Path | None, *, chooses: bool
) -> None:
    if not chooses:
        msg = "a holdout confirms a choice, and nothing is chosen here; give its cases as --reference"
        raise typer.BadParameter(msg, param_hint="--holdout-reference")
    if reference is None:
        msg = "is needed with --holdout"
        raise typer.BadParameter(msg, param_hint="--holdout-reference")
    if set(later) != set(files):
        missing, strange = sorted(set(files) - set(later)), sorted(set(later) - set(files))
        said = [f"{', '.join(missing)} not given"] * bool(missing) + [f"{', '.join(strange)} unknown"] * bool(strange)
        msg = f"every submission is needed on the holdout too: {'; '.join(said)}"
        raise typer.BadParameter(msg, param_hint="--holdout")


def _check_targets(out: Path | None, write: Path | None, *, oracle: bool) -> None:
    """Nothing is read for an hour to find in the end that it cannot be written."""
    if out is not None and (out.is_dir() or out.suffix != ".parquet"):
        msg = f"{out} should be a file that ends in .parquet"
        raise typer.BadParameter(msg, param_hint="--out")
    if write is not None and oracle:
        msg = "best-case is an oracle, which looks at the truth; its masks are nobody's"
        raise typer.BadParameter(msg, param_hint="--write")
    if write is not None and write.exists() and (not write.is_dir() or any(write.iterdir())):
        msg = f"{write} is not an empty folder; nothing is overwritten"
        raise typer.BadParameter(msg, param_hint="--write")


def _parsed(named: str | None, files: Mapping[str, Path]) -> Ensemble | None:
    from isocenter.ensembles import Ensemble

    if named is None:
        return None
    try:
        rule = Ensemble.parse(named)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--ensemble") from None
    if strangers := [member for member in rule.members if member not in files]:
        msg = f"{', '.join(strangers)} is not among the submissions {', '.join(files)}"
        raise typer.BadParameter(msg, param_hint="--ensemble")
    return rule


def _show(
    which: Setting, outcome: Outcome, record: Mapping[str, Any], written: Mapping[str, str], *, as_json: bool
) -> None:
    from isocenter.cli._combine import finite

    problems = [problem for problem in outcome.turnout.problems if problem.severity != "note"]
    if as_json:
        lines = [
            {"name": line.name} | {name: finite(x) for name, x in {**line.means, "holdout": line.holdout}.items()}
            for line in outcome.lines
        ]
        chosen = None if outcome.chosen is None else str(outcome.chosen)
        data = {**record, **outcome.facts, "chosen": chosen, "combinations": lines, "notes": list(outcome.notes)}
        typer.echo(json.dumps({**data, **written, "problems": problem_dicts(problems)}, indent=2, ensure_ascii=False))
        return
    from isocenter.metrics import catalogue

    if problems:
        show_problems(problems)
        typer.echo("")
    metrics = [catalogue.get(name) for name in outcome.lines[0].means]
    confirmed = any(line.holdout is not None for line in outcome.lines)
    columns = ["combination", *(f"{metric.name} {metric.arrow}" for metric in metrics)]
    columns += [f"holdout {metrics[0].name} {metrics[0].arrow}"] * confirmed
    rows = []
    for line in outcome.lines:
        cells = [metric.show(line.means[metric.name]) for metric in metrics]
        rows.append([line.name, *cells, *(["" if line.holdout is None else metrics[0].show(line.holdout)] * confirmed)])
    show_table(which.challenge.title, columns, rows)
    for note in outcome.notes:
        typer.echo(note)
    show_turnout(outcome.turnout, what="votes background")
    if written:
        typer.echo(f"Written to {' and '.join(written.values())}")
