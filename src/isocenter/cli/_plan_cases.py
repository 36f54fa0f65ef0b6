"""`isocenter plan-cases`: how many cases a challenge needs, from the score tables of a pilot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import ChallengeName, Json
from isocenter.cli._entries import BoardName, Opened, open_contest
from isocenter.cli._many import show_table
from isocenter.cli._tables import give_up, refuse_to_overwrite
from isocenter.cli._terminal import progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isocenter.ranking import CasePlan, Drawn, Simulated

_PROBABILITIES = (0.8, 0.9, 0.95)


def plan_cases(
    challenge: ChallengeName,
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TEAM=TABLE…",
            help="Score tables of the pilot by team, as `isocenter score` wrote them. A team named again adds a later "
            "submission.",
        ),
    ],
    *,
    board: BoardName = None,
    sizes: Annotated[str, typer.Option(help="Numbers of cases to plan for.")] = "50,100,200,500",
    trials: Annotated[int, typer.Option(min=2, max=100_000, help="Challenges to simulate for each number.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulation.")] = 0,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The coverage of the sets of ranks.")] = 0.95,
    out: Annotated[Path | None, typer.Option(help="Also write the plan as JSON.")] = None,
    as_json: Json = False,
) -> None:
    r"""Say how many cases it takes to find the right winner.

    Cases are drawn with replacement from a pilot, as many as the challenge
    would have, again and again. The best team of the pilot is taken for the
    true winner and its lead for the true one, which a small pilot hardly
    knows: plan with a margin.

    Example: isocenter plan-cases hecktor2020 radlab=radlab.parquet \
             oncoseg=oncoseg.parquet --sizes 50,100,200
    """
    from isocenter import __version__, atomic, ranking

    numbers = _numbers(sizes)
    refuse_to_overwrite(tables, {"--out": out})
    opened = open_contest(challenge, tables, board=board)
    which, name = opened.challenge, opened.board
    try:
        pilot, values = _pilot(opened)
        with progress() as start:
            move = start("drawing cases")
            plan = ranking.plan_cases(
                values,
                better=pilot.better,
                sizes=numbers,
                trials=trials,
                seed=seed,
                level=level,
                weight=pilot.weight,
                progress=lambda done, total: move(done, total, ""),
            )
    except ValueError as error:
        give_up(str(error), opened.remarks)
    best = [pilot.submissions[at] for at in plan.best]
    record = {
        "challenge": which.name,
        "isocenter": __version__,
        "board": name,
        "metric": which.boards[name].metric,
        "teams": list(pilot.submissions),
        "best": best,
    }
    text = json.dumps({**record, **_plan(plan)}, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        atomic.write_text(text, out)
    if as_json:
        typer.echo(text, nl=False)
    else:
        _show(plan, title=f"{which.title}: cases for the board {name}", best=best)
        if out is not None:
            typer.echo(f"Written to {out}")
    for remark in (*opened.remarks, *_left_out(pilot)):
        typer.echo(remark, err=True)


def _left_out(pilot: Drawn) -> list[str]:
    """That cases in which the metric is undefined are not among those that are planned."""
    if pilot.weight is None or pilot.weight.all():
        return []
    counting, every = int((pilot.weight > 0).sum()), pilot.weight.size
    return [f"Cases are those in which the metric is defined: {counting} of the {every} of the pilot."]


def _numbers(sizes: str) -> list[int]:
    try:
        return [int(size) for size in sizes.split(",")]
    except ValueError:
        msg = f"{sizes!r} should be whole numbers with commas between them, for example 50,100,200"
        raise typer.BadParameter(msg, param_hint="--sizes") from None


def _pilot(opened: Opened) -> tuple[Drawn, NDArray[np.float64]]:
    """The board's scores, and the values of every team, case by case, that they are the means of."""
    import polars as pl

    from isocenter.ranking import CaseDraws, Drawable

    rule, board, scores = opened.rule, opened.board, opened.scores
    cases = scores.filter(pl.col("case") != "")["case"].n_unique()
    drawn = rule.draw(scores, CaseDraws.all_cases(cases)) if isinstance(rule, Drawable) else None
    if drawn is None or drawn.values is None:
        msg = f"a plan is made for boards that rank the mean of one value per case; {board!r} ranks by {rule}"
        raise ValueError(msg)
    if lost := sorted({entry.team for entry in opened.contest.entries} - set(drawn.submissions)):
        msg = f"{', '.join(lost)} has no score on the board {board!r}; plan with the tables of the others"
        raise ValueError(msg)
    return drawn, drawn.values


def _plan(plan: CasePlan) -> dict[str, Any]:
    """The plan as JSON values."""
    return {
        "pilot_cases": plan.pilot_cases,
        "trials": plan.trials,
        "seed": plan.seed,
        "level": plan.level,
        "same_best": plan.same_best,
        "rows": [
            {
                "cases": row.cases,
                "beyond_pilot": row.beyond,
                "right_winner": row.winner._asdict(),
                "right_winner_normal": row.normal,
                "right_top_3": row.top._asdict(),
                "rank_set_width": row.width._asdict(),
                "possible_winners": row.winners._asdict(),
            }
            for row in plan.rows
        ],
        "cases_for": [
            {"probability": probability, **plan.cases_for(probability)._asdict()} for probability in _PROBABILITIES
        ],
    }


def _show(plan: CasePlan, *, title: str, best: list[str]) -> None:
    from isocenter.problems import printable

    columns = ["cases", "right winner", "normal theory", "right top 3", "width of rank sets", "possible winners"]
    rows = [
        [
            f"{row.cases}{' *' if row.beyond else ''}",
            _cell(row.winner, 3),
            f"{row.normal:.3f}",
            _cell(row.top, 3),
            _cell(row.width, 2),
            _cell(row.winners, 2),
        ]
        for row in plan.rows
    ]
    show_table(title, columns, rows)
    whose = " and ".join(printable(name) for name in best)
    typer.echo(
        f"Taken for the truth: the pilot, {plan.submissions} teams in {plan.pilot_cases} cases, with {whose} first."
    )
    typer.echo(
        f"± is the standard error of {plan.trials:,} trials; rank sets hold all ranks in {100 * plan.level:g} %."
    )
    if any(row.beyond for row in plan.rows):
        typer.echo("* More cases than the pilot has: rare ones that it lacks are lacking here, too.")
    for probability in _PROBABILITIES:
        needed = plan.cases_for(probability)
        beyond = ", beyond the pilot" if needed.beyond else ""
        typer.echo(
            f"The right winner in {100 * probability:g} %: {needed.normal:,} cases by normal theory{beyond}; other "
            f"pilots of this size say {needed.low:,} to {needed.high:,} (90 % interval)."
        )
    typer.echo(
        f"{whose} {'is' if len(best) == 1 else 'are'} best in {100 * plan.same_best:.0f} % of the bootstrap resamples "
        "of the pilot's cases."
    )


def _cell(found: Simulated, decimals: int) -> str:
    return f"{found.value:.{decimals}f} ± {found.error:.{decimals}f}"
