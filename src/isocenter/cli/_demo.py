"""`isocenter demo`: challenges from nothing to leaderboards, on synthetic patients."""

from __future__ import annotations

import functools
import itertools
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._demo_editions import PHASES, write_edition
from isocenter.cli._terminal import Move, progress, show_board

if TYPE_CHECKING:
    from isocenter.contest import Decision
    from isocenter.evaluation import Challenge
    from isocenter.phantoms import CohortFiles
    from isocenter.ranking import Board
    from isocenter.report import Figure

_MARK = ".isocenter-demo"
_MADE = (
    *("reference", "images", "submissions", "scores", "earlier", "observers", "second-pass", "report"),
    *("challenge.toml", "submissions.csv", "cases.csv", "reads.csv", "routine.csv", "run_times.csv"),
    *("participants.csv", "survey.csv"),
)
_OTHER_BOARDS = {"openkbp2020": "dvh", "doserad2026": "as-described"}
# Doses are large; and whether a test tells ill from healthy takes more of both than a mean of masks.
_PATIENTS = {"openkbp2020": 0.5, "doserad2026": 0.5, "picai2022": 4.0}
_FEWEST = {"picai2022": 24}


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to put patients, submissions, scores and pages.")] = Path(
        "isocenter-demo"
    ),
    *,
    cases: Annotated[
        int,
        typer.Option(min=1, help="How many synthetic patients with masks; half as many with doses, more for PI-CAI."),
    ] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other patients.")] = 0,
    serve: Annotated[
        bool, typer.Option("--serve", help="Also make a web site of them, and serve it until Ctrl-C.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the site answers; 0 for any free port.")] = 8000,
) -> None:
    """Make synthetic challenges with teams of different skill, score and rank them, write their reports.

    Five cohorts, each in a folder of its own: HECKTOR 2020 and the lung contest
    of 2019, masks of tumours; OpenKBP 2020 and DoseRAD2026, doses, with half as
    many patients; PI-CAI 2022, lesions and diagnoses, with four times as many,
    and readers. Each folder is an edition, with its board and its report.
    Start at index.html. With --serve the challenges run on a web site too,
    with teams, submissions, boards and a forum, each at another point of its
    life.

    Example: isocenter demo my-demo/
    """
    import isocenter
    from isocenter import atomic, phantoms, report

    makers: dict[str, Callable[..., CohortFiles]] = {
        "hecktor2020": phantoms.write_cohort,
        "lung2019": phantoms.write_lung_cohort,
        "openkbp2020": phantoms.write_openkbp_cohort,
        "doserad2026": phantoms.write_doserad_cohort,
        "picai2022": functools.partial(phantoms.write_picai_cohort, scans=True),
    }
    challenges = [isocenter.challenge(name) for name in makers]
    _make_room(folder, [challenge.name for challenge in challenges])
    boards, links = {}, []
    with progress() as start:
        for challenge in challenges:
            home = folder / challenge.name
            patients = max(math.ceil(cases * _PATIENTS.get(challenge.name, 1.0)), _FEWEST.get(challenge.name, 1))
            made = _counting(start(f"{challenge.name}: making patients"), patients)
            cohort = makers[challenge.name](home, cases=patients, seed=seed, progress=made)
            move = start(f"{challenge.name}: scoring")
            boards[challenge.name] = _play(challenge, cohort, home, seed=seed, move=move)
            board, _ = boards[challenge.name]
            write_edition(challenge, cohort, home, seed=seed, move=start(f"{challenge.name}: edition"))
            _report(home, challenge.name, seed=seed, move=start(f"{challenge.name}: report"))
            links.append(
                report.Link(
                    f"{challenge.name}/report/report.html", f"{challenge.title}: report", "PDF, JSON and CSV beside it"
                )
            )
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
    if serve:
        _serve(folder, seed=seed, port=port)


def _serve(folder: Path, *, seed: int, port: int) -> None:
    """Make the site in the folder of the demo, anew, and serve it."""
    from isocenter.cli._site import site

    with site():
        from isocenter.server.hosting import serving

        data = folder / "site"
        shutil.rmtree(data, ignore_errors=True)
        with serving.listen("127.0.0.1", port):  # a port that is taken is told before anything is made
            serving.setup(data)
            serving.prepare()
            from isocenter.server.hosting import demo as site_demo

            with progress() as start:
                accounts = site_demo.build(folder, seed=seed, move=start("site: scoring"))
        typer.echo(f"\nSign in with the password {accounts[0].password} as")
        for account in accounts:
            typer.echo(f"  {account.email:<26} who {account.what}")
        serving.serve(data, host="127.0.0.1", port=port, workers=serving.default_workers(), lease=None, say=typer.echo)


def _play(
    challenge: Challenge, cohort: CohortFiles, home: Path, *, seed: int, move: Move
) -> tuple[Board, dict[str, dict[str, str]]]:
    """Score everybody, rank them, and write tables, board and page."""
    from isocenter import atomic, evaluation, report, scores
    from isocenter.contest import Contest, Entry

    entries, record = [], {}
    total = len(cohort.submissions) * len(cohort.cases)
    for number, (team, submission) in enumerate(cohort.submissions.items()):

        def moved(done: int, _of: int, case: str, *, team: str = team, before: int = number) -> None:
            move(before * len(cohort.cases) + done, total, f"{team} {case}")

        result = evaluation.evaluate(challenge, reference=cohort.reference, submission=submission, progress=moved)
        scores.write(result.scores, home / "scores" / f"{team}.parquet", record=result.record)
        entries.append(Entry(team=team, table=result.scores, role=cohort.roles.get(team, "team")))
        record = result.record
    contest = Contest(challenge, entries, cohort.run_times if challenge.run_times is not None else None)
    made = {name: record[name] for name in ("challenge", "isocenter", "reference")}
    figures: list[Figure] = []
    boards: list[tuple[Board, dict[str, dict[str, str]]]] = []
    for name in (next(iter(challenge.boards)), *filter(None, [_OTHER_BOARDS.get(challenge.name)])):
        decision = contest.decide(name, seed=seed)
        suffix = f"-{name}" if boards else ""
        figures = figures or _figures(cohort, decision)
        page = report.leaderboard_page(
            challenge.title,
            decision.board,
            decision.scores,
            subtitle=f"{len(cohort.cases)} synthetic patients, seed {seed}, board {name}",
            figures=figures,
            record=made,
        )
        atomic.write_text(page, home / f"leaderboard{suffix}.html")
        atomic.write_text(decision.board.to_json(), home / f"board{suffix}.json")
        boards.append((decision.board, decision.means()))
    return boards[0]


def _report(home: Path, name: str, *, seed: int, move: Move) -> None:
    """The report of the edition in a folder."""
    from isocenter.papers import Settings, Study, make_report, open_folder, write_report

    folder = open_folder(home, phase=PHASES.get(name))
    command = f"isocenter report {name} --phase {folder.phase} --replicates 10000 --level 0.95 --seed {seed}"
    write_report(make_report(Study(folder, Settings(seed=seed), move), command=command), home / "report")


def _figures(cohort: CohortFiles, decision: Decision) -> list[Figure]:
    """Curves, and a case as the first and the last of the board predict it, if there is anything to see."""
    from isocenter import evaluation, readers, report

    challenge, ranked = decision.contest.challenge, decision.ranked
    if challenge.depict is None or not ranked:
        return []
    findings = decision.findings()
    panel, case = None, cohort.cases[0]
    if cohort.reads is not None:
        reference = readers.open_reference(challenge, cohort.reference)
        panel = readers.score_reads(readers.read_reads(cohort.reads), reference)
    if findings:
        first = next(iter(findings.values()))[0]
        case = next((name for name, ill in zip(first.cases, first.truth, strict=True) if ill), case)
    figures = report.detection_figures(findings, readers=panel)
    for place, team in enumerate(dict.fromkeys((ranked[0], ranked[-1]))):
        try:
            picture = evaluation.depict(
                challenge, reference=cohort.reference, submission=cohort.submissions[team], case=case
            )
        except ValueError:  # nothing was handed in for it
            continue
        figures += report.case_figures(picture, case=case, team=team, name=f"picture{place}")
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
        for name, old in itertools.product(names, _MADE):
            path = folder / name / old
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    elif folder.exists() and any(folder.iterdir()):
        msg = f"{folder} holds other files; the demo wants a folder of its own"
        raise typer.BadParameter(msg, param_hint="FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).touch()
