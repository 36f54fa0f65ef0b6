"""Case by case: which are hard, how the hardest and the easiest look, and whether results differ between groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from isocenter.evaluation import depict
from isocenter.papers._files import first_line, grid_policy
from isocenter.papers._study import Study
from isocenter.papers._words import anchor, counted
from isocenter.report import (
    Block,
    Cell,
    Chart,
    Paragraph,
    Section,
    case_figures,
    case_spread_plot,
    case_spreads,
    metric_label,
    table,
)

_LISTED = 10  # cases in the table of the hardest
_MOST_GROUPS = 8  # of a text, for it to be one that groups cases; and pieces of a number
_MOST_COLUMNS = 6


def difficulty(study: Study) -> Section:
    """How hard each case is, over the teams."""
    decided = study.main
    spreads = case_spreads(decided.board, decided.scores)
    if not spreads:
        text = f"{metric_label(decided.metric)} belongs to no single case, so none can be called hard or easy."
        return Section("cases", "Case by case", (Paragraph(text, note=True),))
    metric = decided.metric
    title = f"{metric_label(metric)} of every case over the teams, hardest case first"
    blocks: list[Block] = [
        Chart(
            "difficulty",
            f"{title}. Dot: mean over the teams that have a value; line: from the worst to the best of them. "
            f"n = {len(spreads)} cases, {counted(max(s.teams for s in spreads), 'team')}.",
            case_spread_plot(decided.board, decided.scores),
            pl.DataFrame(spreads, schema=["case", "mean", "lowest", "highest", "teams"], orient="row"),
        ),
        table(
            "hardest",
            f"The {counted(min(_LISTED, len(spreads)), 'hardest case')}" + " by the mean over the teams.",
            ["Case", "Mean #", "Lowest #", "Highest #", "Teams #"],
            [(s.case, *(Cell(metric.show(v), v) for v in (s.mean, s.low, s.high)), s.teams) for s in spreads[:_LISTED]],
        ),
    ]
    blocks += _pictures(study, {"hardest": spreads[0].case, "easiest": spreads[-1].case})
    return Section("cases", "Case by case", tuple(blocks))


def _pictures(study: Study, cases: Mapping[str, str]) -> Iterator[Block]:
    """The winner's outputs in some cases, where they can be drawn."""
    challenge, reference = study.challenge, study.folder.file("reference")
    if challenge.depict is None:
        return
    team = next((name for name in study.main.ranked if name in study.outputs), None)
    if reference is None or team is None:
        text = "Pictures of cases need the organisers' files in reference/ and those of teams in submissions/."
        yield Paragraph(text, note=True)
        return
    outputs = study.outputs[team].outputs
    assert outputs is not None
    for which, case in dict.fromkeys(cases.items()):
        try:
            picture = depict(challenge, reference=reference, submission=outputs, case=case, grid=grid_policy(study))
        except (ValueError, OSError) as error:
            yield Paragraph(f"The {which} case {case} cannot be drawn: {first_line(error, study)}", note=True)
            continue
        for figure in case_figures(picture, case=case, team=team, name=f"{which}-case"):
            yield Chart(
                anchor(f"picture-{figure.name}"), f"The {which} case. {figure.title}. {figure.caption}", figure.picture
            )
