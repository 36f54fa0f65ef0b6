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
    from isocenter.report import Figure

_MARK = ".isocenter-demo"
_OTHER_BOARDS = {"openkbp2020": "dvh", "doserad2026": "as-described"}


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to put patients, submissions, scores and pages.")] = Path(
        "isocenter-demo"
    ),
    *,
    cases: Annotated[int, typer.Option(min=1, help="How many synthetic patients in each challenge.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other patients.")] = 0,
) -> None:
    """Make synthetic challenges with teams of different skill, score and rank them, write their pages.

    Four cohorts, each in a folder of its own: HECKTOR 2020 and the lung contest
    of 2019, masks of tumours; OpenKBP 2020 and DoseRAD2026, doses, with half as
    many patients. Start at index.html.

    Example: isocenter demo my-demo/
    """
    import isocenter
    from isocenter import atomic, phantoms, report

    makers: dict[str, Callable[..., CohortFiles]] = {
        "hecktor2020": phantoms.write_cohort,
        "lung2019": phantoms.write_lung_cohort,
        "openkbp2020": phantoms.write_openkbp_cohort,
        "doserad2026": phantoms.write_doserad_cohort,
    }
    challenges = [isocenter.challenge(name) for name in makers]
    _make_room(folder, [challenge.name for challenge in challenges])
    boards, links = {}, []
    with progress() as start:
        for challenge in challenges:
            home = folder / challenge.name
            patients = (cases + 1) // 2 if challenge.depict else cases
            made = _counting(start(f"{challenge.name}: making patients"), patients)
            cohort = makers[challenge.name](home, cases=patients, seed=seed, progress=made)
            move = start(f"{challenge.name}: scoring")
            boards[challenge.name] = _play(challenge, cohort, home, seed=seed, move=move)
            board, _ = boards[challenge.name]
            links.append(report.Link(f"{challenge.name}/leaderboard.html", challenge.title, _in_short(board)))
            if other := _OTHER_BOARDS.get(challenge.name):
                title = f"{challenge.title}: board {other}"
                links.append(report.Link(f"{challenge.name}/leaderboard-{other}.html", title))
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
    import polars as pl

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
    if challenge.run_times is not None and cohort.run_times is not None:
        rows, _ = challenge.run_times(cohort.run_times, list(tables))
        tables = {team: pl.concat([table, rows[team]]) for team, table in tables.items()}
    of = {role: [team for team, its in cohort.roles.items() if its == role] for role in ("organiser", "benchmark")}
    made = {name: record[name] for name in ("challenge", "isocenter", "reference")}
    figures: list[Figure] = []
    boards: list[tuple[Board, dict[str, dict[str, str]]]] = []
    for name in (next(iter(challenge.boards)), *filter(None, [_OTHER_BOARDS.get(challenge.name)])):
        board = isocenter.rank(challenge, tables, board=name, organisers=of["organiser"], benchmarks=of["benchmark"])
        counted = counting_scores(challenge, tables, board=name)
        suffix = f"-{name}" if boards else ""
        figures = figures or _figures(challenge, cohort, board)
        page = report.leaderboard_page(
            challenge.title,
            board,
            counted,
            subtitle=f"{len(cohort.cases)} synthetic patients, seed {seed}, board {name}",
            figures=figures,
            record=made,
        )
        atomic.write_text(page, home / f"leaderboard{suffix}.html")
        atomic.write_text(board.to_json(), home / f"board{suffix}.json")
        boards.append((board, means_in_brackets(challenge, counted)))
    return boards[0]


def _figures(challenge: Challenge, cohort: CohortFiles, board: Board) -> list[Figure]:
    """The first case as the first and the last of the board predict it, if there is anything to see."""
    from isocenter import evaluation, report

    ranked = [row.submission for row in board.rows if row.rank is not None]
    if challenge.depict is None or not ranked:
        return []
    figures = []
    for place, team in enumerate(dict.fromkeys((ranked[0], ranked[-1]))):
        picture = evaluation.depict(
            challenge, reference=cohort.reference, submission=cohort.submissions[team], case=cohort.cases[0]
        )
        figures += report.dose_figures(picture, case=cohort.cases[0], team=team, name=f"picture{place}")
    return figures


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
