"""`isocenter agreement`: how far submissions, or observers, agree with each other."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import ChallengeName, Grid, Json, Setting, Workers, setting
from isocenter.cli._many import Submissions, by_name, show_table, show_turnout, working
from isocenter.cli._terminal import problem_dicts, show_problems

if TYPE_CHECKING:
    from isocenter.ensembles import Agreement, CaseDifficulty

_SHOWN = 3


def agreement(
    challenge: ChallengeName,
    submissions: Submissions,
    *,
    reference: Annotated[
        Path | None, typer.Option(help="The organisers' folder or zip; one more to compare with.", exists=True)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write all pairs in all cases as a score table (Parquet).")
    ] = None,
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
    r"""Compare submissions, or observers, with each other.

    Prints the mean of the challenge's main metric, or of any metric of two
    masks, for every pair, the one in the row taken for the truth, and the cases that are hardest and easiest:
    by the mean against the reference, or against each other without one.
    Who has no usable mask for a case is left out there, and is counted.

    Example: isocenter agreement hecktor2020 reader1=reader1/ \
             reader2=reader2/ again=reader1-second-pass/
    """
    which, files = setting(challenge, grid), by_name(submissions)
    if len(files) + (reference is not None) < 2:
        msg = "at least two are needed to agree"
        raise typer.BadParameter(msg, param_hint="NAME=SUBMISSION")
    if out is not None and (out.is_dir() or out.suffix != ".parquet"):
        msg = f"{out} should be a file that ends in .parquet"
        raise typer.BadParameter(msg, param_hint="--out")
    from isocenter import __version__, ensembles, scores
    from isocenter.cli._combine import counted, metrics_of
    from isocenter.evaluation import open_cohort

    metrics, given = metrics_of(which, metric, tolerance_mm=tolerance), reference is not None
    painted = metrics[0] not in ensembles.METRICS
    with working(which, workers, as_json=as_json) as (start, pool):
        cohort = ensembles.gather_cases(which.challenge, files) if reference is None else None
        votes = ensembles.count_votes(
            which.challenge,
            cohort or open_cohort(which.challenge, reference or ""),
            files,
            grid=which.grid,
            keep_masks=painted,
            tolerance_mm=tolerance,
            executor=pool,
            progress=start("reading"),
        )
        if painted:
            names = (*((ensembles.REFERENCE,) if given else ()), *votes.voters)
            pairs = list(product(names, repeat=2))
            ensembles.measure_votes(votes, metrics, pairs=pairs, executor=pool, progress=start("measuring"))
        matrix = ensembles.pairwise(votes, metric=metrics[0], reference=given)
        hardest = ensembles.case_difficulty(votes, metric=metrics[0], reference=given)
    record = {
        "challenge": which.challenge.name,
        "isocenter": __version__,
        "policies": {"grid": which.grid, "missing_masks": "left out"}
        | ({"tolerance_mm": tolerance} if tolerance else {}),
        "submissions": dict(votes.turnout.digests),
        "votes": counted(votes.turnout),
    }
    if out is not None:
        scores.write(ensembles.pair_table(votes, metrics=metrics, reference=given), out, record=record)
    problems = [problem for problem in votes.turnout.problems if problem.severity not in ("note", "missing")]
    if as_json:
        data = {**record, **_matrix(matrix), "cases": _cases(hardest), "problems": problem_dicts(problems)}
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        if problems:
            show_problems(problems)
            typer.echo("")
        _show(which, matrix, hardest, given=given)
        show_turnout(votes.turnout, what="is left out")
    raise typer.Exit(1 if any(states["failed"] for states in votes.turnout.states.values()) else 0)


def _matrix(matrix: Agreement) -> dict[str, Any]:
    """The means and how many cases each is of, as JSON values."""
    return {
        "metric": matrix.metric,
        "names": list(matrix.names),
        "mean": [[None if math.isnan(x) else x for x in row] for row in matrix.mean.tolist()],
        "compared": matrix.compared.tolist(),
        "undefined": matrix.undefined.tolist(),
    }


def _cases(hardest: Iterable[CaseDifficulty]) -> list[dict[str, Any]]:
    return [{"case": c.case, "mean": c.mean, "voters": c.voters, "absent": c.absent} for c in hardest]


def _show(which: Setting, matrix: Agreement, hardest: list[CaseDifficulty], *, given: bool) -> None:
    from isocenter.metrics import catalogue

    metric = catalogue.get(matrix.metric)
    rows = [[name, *map(metric.show, row)] for name, row in zip(matrix.names, matrix.mean.tolist(), strict=True)]
    title = f"{which.challenge.title}: mean {metric.name} {metric.arrow} over {len(matrix.cases)} cases"
    show_table(title, ["", *matrix.names], rows)
    if undefined := int(matrix.undefined.sum()):
        typer.echo(
            f"{metric.name} is undefined for {undefined} pairs in single cases, which are left out of the means.\n"
        )
    if len(hardest) > 2 * _SHOWN:
        hardest = [*hardest[:_SHOWN], *hardest[-_SHOWN:]]
    against = "the reference" if given else "each other"
    show_table(
        f"Hardest and easiest cases, by the mean {metric.name} against {against}",
        ["case", f"{metric.name} {metric.arrow}", "masks"],
        [[one.case, metric.show(one.mean), str(one.voters)] for one in hardest],
    )
