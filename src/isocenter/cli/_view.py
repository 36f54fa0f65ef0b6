"""`isocenter view`: a local page to go through the cases of a submission."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from isocenter.cli._arguments import ChallengeName, Grid, Reference, Setting, Submission, Workers, executor, setting
from isocenter.cli._terminal import HELP_PAGE, count_problems, progress, show_problems

if TYPE_CHECKING:
    from isocenter.evaluation import Evaluation


def view(
    challenge: ChallengeName,
    *,
    reference: Reference,
    submission: Submission,
    case: Annotated[str | None, typer.Option(help="The case to begin with.", show_default="the worst")] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="A folder or zip of scans to show behind, named after the cases.",
            exists=True,
            show_default="scans in the reference",
        ),
    ] = None,
    grid: Grid = None,
    workers: Workers = 0,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to answer on; 0 for any that is free.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    r"""Go through the cases of a submission in a browser, the worst first.

    Scores the submission, then shows every case slice by slice: reference
    and output as outlines or dose, their difference, scores, DVHs. The page
    is served to this machine only and needs no network. Ctrl-C ends it.

    Example: isocenter view hecktor2020 --reference reference/ \
             --submission team.zip --images ct/
    """
    import webbrowser

    from isocenter import viewer
    from isocenter.problems import printable

    which, team = setting(challenge, grid), printable(submission.stem)
    if case is not None:
        _check_case(case, which, reference)
    try:
        held = viewer.listen(port)
    except OSError as error:
        msg = f"port {port} of this machine cannot be used: {os.strerror(error.errno or 0)}"
        raise typer.BadParameter(msg, param_hint="--port") from None
    with held:
        session = viewer.open_session(
            which.challenge,
            _scored(which, reference, submission, workers),
            reference=reference,
            submission=submission,
            team=team,
            grid=which.grid,
            images=images,
        )
        with viewer.make_server(session, at=held) as server:
            address = server.address + (f"case/{quote(case, safe='')}" if case else "")
            typer.echo(f"{len(session.cases)} cases of {team}: {address}\nCtrl-C ends it.")
            if open_browser:
                webbrowser.open(address)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                typer.echo("\nEnded.")


def _check_case(case: str, which: Setting, reference: Path) -> None:
    """Say that there is no such case, and which are called much the same."""
    from isocenter.evaluation import open_cohort
    from isocenter.problems import printable

    names = [known.name for known in open_cohort(which.challenge, reference).cases]
    if case in names:
        return
    alike = {name.lower(): name for name in names}
    near = [alike[name] for name in difflib.get_close_matches(case[:100].lower(), alike, n=3)]
    known = f"did you mean {' or '.join(near)}?" if near else f"it has {len(names)}, from {names[0]} to {names[-1]}"
    msg = f"there is no case '{printable(case)}' in {reference}; {known}"
    raise typer.BadParameter(msg, param_hint="--case")


def _scored(which: Setting, reference: Path, submission: Path, workers: int) -> Evaluation:
    """The scores of the submission; one that is refused is told why, and the command ends."""
    from isocenter import evaluation
    from isocenter.problems import SubmissionRefused, printable

    pool = executor(workers)
    try:
        with progress() as start:
            return evaluation.evaluate(
                which.challenge,
                reference=reference,
                submission=submission,
                grid=which.grid,
                executor=pool,
                progress=start("scoring"),
            )
    except SubmissionRefused as refusal:
        team = printable(submission.stem)
        typer.echo(f"{which.challenge.name}: {team} was not accepted; there is nothing to look at.\n", err=True)
        show_problems(refusal.problems)
        typer.echo(f"\n{count_problems(refusal.problems)}. What to do about each: {HELP_PAGE}")
        raise typer.Exit(1) from None
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
