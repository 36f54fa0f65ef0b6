"""The command line: a thin door to the rooms behind it.

Exit codes: 0 all is well; 1 something is wrong with the data (a submission, a table, an edition) and was listed; 2 the
command itself was wrong (an unknown option, challenge or path); 3 the evaluator or the machine failed, which is not
about the data; 130 stopped by the user.

Nothing heavy is imported here: every command imports what it needs when it runs, so `isocenter --help` is quick.
"""

from __future__ import annotations

import io
import signal
import sys
from typing import Annotated

import typer

from isocenter import __version__
from isocenter.cli import (
    _agreement,
    _check,
    _compare,
    _compare_readers,
    _convert,
    _criteria,
    _deal,
    _demo,
    _describe,
    _dvh,
    _edition,
    _ensemble,
    _findings,
    _mrmc,
    _multiverse,
    _plan_cases,
    _power,
    _prepare,
    _progress,
    _rank,
    _reads,
    _report,
    _score,
    _serve,
    _show,
    _site_commands,
    _submit,
    _verify,
    _view,
    _worker,
)
from isocenter.cli._terminal import show_failure
from isocenter.problems import EvaluationFailed

__all__ = ["app", "main"]

_EPILOG = """
Examples:

[bold]isocenter demo[/] makes a synthetic challenge and ranks it

[bold]isocenter check hecktor2020 --reference reference/ --submission team.zip[/]

[bold]isocenter score hecktor2020 --reference reference/ --submission team.zip --out team.parquet[/]

[bold]isocenter rank hecktor2020 team=team.parquet other=other.parquet[/]

Exit codes: 0 all is well; 1 problems in the data, which are listed; 2 wrong usage; 3 the evaluator failed; 130 stopped.
"""

app = typer.Typer(
    name="isocenter",
    help="Run challenges in oncology imaging and radiotherapy: check, score and rank what teams submit.",
    epilog=_EPILOG,
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"isocenter {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of the program itself."""


app.command("check")(_check.check)
app.command("score")(_score.score)
app.command("rank")(_rank.rank)
app.command("verify")(_verify.verify)
app.command("compare")(_compare.compare)
app.command("compare-readers")(_compare_readers.compare_readers)
app.command("criteria")(_criteria.criteria)
app.command("multiverse")(_multiverse.multiverse)
app.command("plan-cases")(_plan_cases.plan_cases)
app.command("progress")(_progress.progress)
app.command("show")(_show.show)
app.command("view")(_view.view)
app.command("report")(_report.report)
app.command("dvh")(_dvh.dvh)
app.command("ensemble")(_ensemble.ensemble)
app.command("agreement")(_agreement.agreement)
app.command("findings")(_findings.findings)
app.command("reads")(_reads.reads)
app.command("mrmc")(_mrmc.mrmc)
app.command("power")(_power.power)
app.command("deal")(_deal.deal)
app.command("init")(_edition.init)
app.command("validate")(_edition.validate)
app.command("describe")(_describe.describe)
app.command("challenges")(_edition.challenges)
app.add_typer(_prepare.app, name="prepare")
app.add_typer(_convert.app, name="convert")
app.command("serve")(_serve.serve)
app.command("worker")(_worker.worker)
app.add_typer(_site_commands.app, name="site")
app.command("submit")(_submit.submit)
app.command("demo")(_demo.demo)


def main() -> None:
    """Run the program; errors that a user can mend are said in a sentence, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows few letters shows the others escaped
            stream.reconfigure(errors="backslashreplace")
    # What schedulers and `timeout` send is an interruption like any other: finished cases are kept, workers stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("\nStopped.", err=True)
        sys.exit(130)
    except EvaluationFailed as failure:
        sys.exit(show_failure(failure, done="scored").exit_code)
    except (LookupError, OSError, ValueError) as error:
        if not _is_ours(error):
            raise
        typer.echo(str(error), err=True)
        sys.exit(2 if isinstance(error, LookupError | OSError) else 1)


def _is_ours(error: Exception) -> bool:
    """Whether an error is one of those that are written for users; any other is a defect and keeps its traceback."""
    from isocenter.editions import EditionError
    from isocenter.evaluation import CohortError, UnknownChallengeError
    from isocenter.papers import FolderError
    from isocenter.scores import ScoreTableError

    ours = CohortError | EditionError | FolderError | OSError | ScoreTableError | UnknownChallengeError
    return isinstance(error, ours)
