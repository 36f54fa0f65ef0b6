"""`isocenter demo`: a challenge from nothing to a leaderboard, on synthetic patients."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from isocenter.cli._terminal import Move, progress, show_board

_MARK = ".isocenter-demo"


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to put patients, submissions, scores and page.")] = Path(
        "isocenter-demo"
    ),
    *,
    cases: Annotated[int, typer.Option(min=1, help="How many synthetic patients.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other patients.")] = 0,
) -> None:
    """Make a synthetic HECKTOR cohort with teams of different skill, score and rank them, write the page.

    Example: isocenter demo /tmp/demo
    """
    import isocenter
    from isocenter import atomic, evaluation, phantoms, report, scores
    from isocenter.doors import counting_scores

    challenge = isocenter.challenge("hecktor2020")
    _make_room(folder)
    with progress() as start:
        made = _counting(start("making patients"), cases)
        cohort = phantoms.write_cohort(folder, cases=cases, seed=seed, progress=made)
        tables, record = {}, {}
        for team, submission in cohort.submissions.items():
            move = start(f"scoring {team}")
            result = evaluation.evaluate(challenge, reference=cohort.reference, submission=submission, progress=move)
            scores.write(result.scores, folder / "scores" / f"{team}.parquet", record=result.record)
            tables[team], record = result.scores, result.record
    organisers = [team for team, role in cohort.roles.items() if role == "organiser"]
    board = isocenter.rank(challenge, tables, organisers=organisers)
    page = report.leaderboard_page(
        challenge.title,
        board,
        counting_scores(challenge, tables),
        subtitle=f"{cases} synthetic patients, seed {seed}",
        record={name: record[name] for name in ("challenge", "isocenter", "reference")},
    )
    atomic.write_text(page, folder / "leaderboard.html")
    atomic.write_text(board.to_json(), folder / "board.json")
    show_board(board, title=challenge.title)
    typer.echo(f"{len(cohort.submissions) - len(organisers)} teams listed; the organisers' takes part unlisted.")
    typer.echo(f"Open {folder / 'leaderboard.html'} in a browser.")


def _counting(move: Move, total: int) -> Callable[[str], None]:
    """What moves a bar by one whenever it is called."""
    done = itertools.count(1)
    return lambda case: move(next(done), total, case)


def _make_room(folder: Path) -> None:
    """A folder for the demo: new, empty, or that of an earlier demo, whose files are removed."""
    if folder.is_dir() and (folder / _MARK).exists():
        for old in ("reference", "submissions", "scores"):
            shutil.rmtree(folder / old, ignore_errors=True)
    elif folder.exists() and any(folder.iterdir()):
        msg = f"{folder} holds other files; the demo wants a folder of its own"
        raise typer.BadParameter(msg, param_hint="FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).touch()
