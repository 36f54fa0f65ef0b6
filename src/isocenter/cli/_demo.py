"""`isocenter demo`: challenges from nothing to leaderboards, on synthetic patients."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._terminal import Move, progress, show_board

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge
    from isocenter.phantoms import CohortFiles
    from isocenter.ranking import Board

_MARK = ".isocenter-demo"


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to put patients, submissions, scores and pages.")] = Path(
        "isocenter-demo"
    ),
    *,
    cases: Annotated[int, typer.Option(min=1, help="How many synthetic patients in each challenge.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other patients.")] = 0,
) -> None:
    """Make synthetic challenges with teams of different skill, score and rank them, write their pages.

    Two cohorts, each in a folder of its own: HECKTOR 2020, tumours of head and
    neck, and the lung contest of 2019. Start at index.html.

    Example: isocenter demo my-demo/
    """
    import isocenter
    from isocenter import atomic, phantoms, report

    makers = {"hecktor2020": phantoms.write_cohort, "lung2019": phantoms.write_lung_cohort}
    challenges = [isocenter.challenge(name) for name in makers]
    _make_room(folder, [challenge.name for challenge in challenges])
    boards, links = {}, []
    with progress() as start:
        for challenge in challenges:
            home = folder / challenge.name
            made = _counting(start(f"{challenge.name}: making patients"), cases)
            cohort = makers[challenge.name](home, cases=cases, seed=seed, progress=made)
            move = start(f"{challenge.name}: scoring")
            boards[challenge.name] = _play(challenge, cohort, home, seed=seed, move=move)
            board, _ = boards[challenge.name]
            links.append(report.Link(f"{challenge.name}/leaderboard.html", challenge.title, _in_short(board)))
    atomic.write_text(report.index_page("Synthetic challenges", links), folder / "index.html")
    for challenge in challenges:
        board, means = boards[challenge.name]
        show_board(board, title=challenge.title, means=means)
        typer.echo("")
    typer.echo(f"Open {folder / 'index.html'} in a browser.")


def _play(
    challenge: Challenge, cohort: CohortFiles, home: Path, *, seed: int, move: Move
) -> tuple[Board, dict[str, dict[str, str]]]:
    """Score everybody, rank them, and write tables, board and page."""
    import isocenter
    from isocenter import atomic, evaluation, report, scores
    from isocenter.doors import counting_scores, means_in_brackets

    tables, record = {}, {}
    total = len(cohort.submissions) * len(cohort.cases)
    for number, (team, submission) in enumerate(cohort.submissions.items()):

        def moved(done: int, _of: int, case: str, *, team: str = team, before: int = number) -> None:
            move(before * len(cohort.cases) + done, total, f"{team} {case}")

        result = evaluation.evaluate(challenge, reference=cohort.reference, submission=submission, progress=moved)
        scores.write(result.scores, home / "scores" / f"{team}.parquet", record=result.record)
        tables[team], record = result.scores, result.record
    of = {role: [team for team, its in cohort.roles.items() if its == role] for role in ("organiser", "benchmark")}
    board = isocenter.rank(challenge, tables, organisers=of["organiser"], benchmarks=of["benchmark"])
    counted = counting_scores(challenge, tables)
    page = report.leaderboard_page(
        challenge.title,
        board,
        counted,
        subtitle=f"{len(cohort.cases)} synthetic patients, seed {seed}",
        record={name: record[name] for name in ("challenge", "isocenter", "reference")},
    )
    atomic.write_text(page, home / "leaderboard.html")
    atomic.write_text(board.to_json(), home / "board.json")
    return board, means_in_brackets(challenge, counted)


def _in_short(board: Board) -> str:
    """Who won, in a line."""
    from isocenter.metrics import catalogue

    metric, ranked = catalogue.get(board.metric), [row for row in board.rows if row.rank is not None]
    if not ranked:
        return "Nobody is ranked."
    best = ranked[0]
    return (
        f"{len(ranked)} teams, {best.cases} cases. First: {best.submission}, {metric.name} {metric.show(best.score)}."
    )


def _counting(move: Move, total: int) -> Callable[[str], None]:
    """What moves a bar by one whenever it is called."""
    done = itertools.count(1)
    return lambda case: move(next(done), total, case)


def _make_room(folder: Path, names: list[str]) -> None:
    """A folder for the demo: new, empty, or that of an earlier demo, whose files are removed."""
    if folder.is_dir() and (folder / _MARK).exists():
        for name, old in itertools.product(names, ("reference", "submissions", "scores")):
            shutil.rmtree(folder / name / old, ignore_errors=True)
    elif folder.exists() and any(folder.iterdir()):
        msg = f"{folder} holds other files; the demo wants a folder of its own"
        raise typer.BadParameter(msg, param_hint="FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).touch()
