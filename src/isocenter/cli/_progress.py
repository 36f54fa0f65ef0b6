"""`isocenter progress`: how teams came on, from a table of all their submissions."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isocenter.cli._arguments import Json
from isocenter.cli._many import show_table
from isocenter.cli._terminal import problem_dicts

if TYPE_CHECKING:
    from isocenter.problems import Problem
    from isocenter.ranking import LeadChange, Moment, Progress

_COLUMNS = ("team", "time", "score")
# A hundred thousand submissions with long names.
_MOST_BYTES = 32 << 20


def progress(
    submissions: Annotated[
        Path,
        typer.Argument(
            metavar="SUBMISSIONS.csv",
            help="One row per submission: team,time,score. Times are ISO 8601, or numbers that give the order.",
            exists=True,
            dir_okay=False,
        ),
    ],
    *,
    better: Annotated[str, typer.Option(help="Which scores are better: higher or lower.")],
    out: Annotated[Path | None, typer.Option(help="Also write all numbers as JSON.", dir_okay=False)] = None,
    as_json: Json = False,
) -> None:
    r"""Show how the best scores improved with the submissions made.

    For every team with more than 20 submissions the best score so far, at each
    twentieth of its submissions; their mean with a 95 % interval; the best of
    all; by which factor teams improved; and how often the lead changed.

    Example: isocenter progress submissions.csv --better lower --out p.json
    """
    from isocenter import atomic
    from isocenter.ranking import lead_changes, normalised_progress

    if out is not None and (out.suffix != ".json" or out.resolve() == submissions.resolve()):
        msg = f"{out} should be a file of its own that ends in .json"
        raise typer.BadParameter(msg, param_hint="--out")
    direction = _direction(better)
    rows, problems = _read(submissions)
    if problems:
        _refuse(submissions, problems, as_json=as_json)
    found = normalised_progress(rows, better=direction)
    changes = lead_changes(rows, better=direction)
    data = {"ok": True, "better": better, "submissions": len(rows), **_numbers(found, changes)}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        atomic.write_text(text, out)
    if as_json:
        typer.echo(text, nl=False)
        return
    _show(found, changes, title=f"{submissions.name}: {len(rows):,} submissions, {better} is better")
    if out is not None:
        typer.echo(f"Written to {out}")


def _direction(better: str) -> Literal["higher", "lower"]:
    if better == "higher":
        return "higher"
    if better == "lower":
        return "lower"
    msg = f"{better!r} is neither higher nor lower"
    raise typer.BadParameter(msg, param_hint="--better")


def _read(path: Path) -> tuple[list[tuple[str, Moment, float]], list[Problem]]:
    """Submissions in the order of the file, and everything that is wrong with it."""
    lines, problems = _lines(path)
    rows: list[tuple[str, Moment, float]] = []
    kinds: dict[str, int] = {}
    for line, (team, time, score) in lines:
        (moment, kind), value = _moment(time), _number(score)
        kinds.setdefault(kind, line)
        wrong = [] if team else ["there is no team"]
        wrong += [] if kind else [f"time {time!r} is neither a number nor like 2022-06-01T12:00:00Z"]
        wrong += [] if math.isfinite(value) else [f"score {score!r} is no finite number"]
        problems += [_problem(path, text, line) for text in wrong]
        rows.append((team, moment, value))
    if len(kinds.keys() - {""}) > 1:
        where = ", ".join(f"{kind} as in line {line}" for kind, line in kinds.items() if kind)
        problems.append(_problem(path, f"times of several kinds have no common order: {where}"))
    return rows, problems


def _lines(path: Path) -> tuple[list[tuple[int, list[str]]], list[Problem]]:
    """Line number, team, time and score of every row that is not empty, whatever the order of the columns."""
    if (size := path.stat().st_size) > _MOST_BYTES:
        return [], [_problem(path, f"has {size:,} bytes; a table of submissions has no more than {_MOST_BYTES:,}")]
    try:
        reader = csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline=""), strict=True)
        found = [(reader.line_num, [value.strip() for value in values]) for values in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        return [], [_problem(path, f"is no CSV in UTF-8: {error}")]
    found = [(line, values) for line, values in found if any(values)]
    header = found[0][1] if found else []
    if sorted(header) != sorted(_COLUMNS):
        told = f"found {','.join(header)}" if header else "the file is empty"
        return [], [_problem(path, f"expected the columns {','.join(_COLUMNS)}; {told}")]
    if len(found) == 1:
        return [], [_problem(path, "has a header, but no submissions")]
    at, whole = [header.index(name) for name in _COLUMNS], len(_COLUMNS)
    problems = [
        _problem(path, f"{len(row)} values; expected {whole}", line) for line, row in found[1:] if len(row) != whole
    ]
    return [(line, [row[i] for i in at]) for line, row in found[1:] if len(row) == whole], problems


def _problem(path: Path, text: str, line: int | None = None) -> Problem:
    from isocenter.problems import Problem

    return Problem("refused", text, file=path.name if line is None else f"{path.name}:{line}", code="bad_table")


def _moment(text: str) -> tuple[Moment, str]:
    """A time and what kind it is; "" for none."""
    if math.isfinite(number := _number(text)):
        return number, "numbers"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return math.nan, ""
    return moment, "times without a zone" if moment.utcoffset() is None else "times with a zone"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _refuse(path: Path, problems: Sequence[Problem], *, as_json: bool) -> None:
    from isocenter.problems import report

    if as_json:
        typer.echo(json.dumps({"ok": False, "problems": problem_dicts(problems)}, indent=2))
    else:
        typer.echo(f"{path.name} is no table of submissions:\n{report(problems)}", err=True)
    raise typer.Exit(1)


def _numbers(found: Progress, changes: Sequence[LeadChange]) -> dict[str, Any]:
    """Everything as JSON values; what is undefined is null."""
    curves = dict(zip(found.teams, found.curves.tolist(), strict=True))
    over_teams = {"mean": found.mean, "low": found.low, "high": found.high, "best": found.best}
    factors = found.improvement
    return {
        "shares": found.shares.tolist(),
        "teams": {team: {"seen": list(found.seen[team]), "best_so_far": curve} for team, curve in curves.items()},
        "excluded": dict(found.excluded),
        **{name: [_defined(x) for x in values.tolist()] for name, values in over_teams.items()},
        "best_team": list(found.best_team),
        "improvement": {
            "ratio_of_means": _defined(factors.ratio_of_means),
            "mean_of_ratios": _defined(factors.mean_of_ratios),
            "along_curve": _defined(factors.along_curve),
        },
        "lead_changes": [
            {**one._asdict(), "moment": one.moment.isoformat() if isinstance(one.moment, datetime) else one.moment}
            for one in changes
        ],
    }


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _show(found: Progress, changes: Sequence[LeadChange], *, title: str) -> None:
    from isocenter.problems import printable

    if found.teams:
        rows = [
            [f"{share:.2f}", _cell(mean), f"{_cell(low)} – {_cell(high)}", _cell(best), printable(team)]
            for share, mean, low, high, best, team in zip(
                found.shares, found.mean, found.low, found.high, found.best, found.best_team, strict=True
            )
        ]
        show_table(title, ["submissions made", "mean best so far", "95 % interval", "best of all", "by"], rows)
        factors = found.improvement
        typer.echo(f"{len(found.teams)} teams: {printable(', '.join(found.teams))}")
        typer.echo(
            f"Improvement: {_cell(factors.ratio_of_means)} (mean first score to mean best), "
            f"{_cell(factors.mean_of_ratios)} (mean of the teams' ratios), "
            f"{_cell(factors.along_curve)} (along the curve)"
        )
    else:
        typer.echo(f"{title}\nNobody has more than 20 submissions: there is no curve.")
    if found.excluded:
        others = ", ".join(f"{team} ({count})" for team, count in found.excluded.items())
        typer.echo(f"Too few submissions, 20 or less: {printable(others)}")
    typer.echo(f"Changes of the lead: {len(changes)}")


def _cell(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:#.4g}"
