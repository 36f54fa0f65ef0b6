"""`isocenter show`: pictures of the cases of a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isocenter.cli._arguments import ChallengeName, Grid, Reference, Submission, setting
from isocenter.cli._terminal import EVALUATOR_FAILED, progress


def show(
    challenge: ChallengeName,
    *,
    reference: Reference,
    submission: Submission,
    out: Annotated[Path, typer.Option(help="Where to write the page (HTML).")],
    case: Annotated[
        list[str] | None, typer.Option(help="A case to show; may be repeated.", show_default="the first")
    ] = None,
    grid: Grid = None,
) -> None:
    r"""Show cases of a submission beside their reference.

    Doses as DVHs, slices and differences; masks as outlines; lesions and
    candidates as outlines with their likelihoods.

    Example: isocenter show openkbp2020 --reference validation-pats/ \
             --submission team.zip --case pt_201 --out pt_201.html
    """
    from isocenter import atomic, report
    from isocenter.evaluation import blame_evaluator, depict, open_cohort
    from isocenter.problems import EvaluationFailed, printable

    which = setting(challenge, grid)
    if out.is_dir() or out.suffix != ".html":
        msg = f"{out} should be a file that ends in .html"
        raise typer.BadParameter(msg, param_hint="--out")
    team = printable(submission.stem)
    cases = case or [open_cohort(which.challenge, reference).cases[0].name]
    figures: list[report.Figure] = []
    with progress() as start:
        move = start("drawing")
        for number, name in enumerate(dict.fromkeys(cases), start=1):
            try:
                picture = depict(
                    which.challenge, reference=reference, submission=submission, case=name, grid=which.grid
                )
            except ValueError as error:
                typer.echo(str(error), err=True)
                raise typer.Exit(1) from None
            except (OSError, EvaluationFailed):
                raise
            except Exception as error:  # of the challenge's own code
                message = blame_evaluator("depict", error, case=name).message
                typer.echo(f"{name} cannot be shown: {message}", err=True)
                raise typer.Exit(EVALUATOR_FAILED) from None
            figures += report.case_figures(picture, case=name, team=team, name=f"case{number}")
            move(number, len(cases), name)
    atomic.write_text(report.pictures_page(which.challenge.title, figures, subtitle=team), out)
    typer.echo(f"Written to {out}")
