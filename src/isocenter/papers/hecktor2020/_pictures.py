"""The hardest and the easiest case as the best teams draw them, over PET and CT where they are at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.ensembles import REFERENCE, read_maps
from isocenter.evaluation import open_cohort
from isocenter.papers._files import first_line, grid_policy, read_images
from isocenter.papers._mask_votes import Panel
from isocenter.papers._study import Study
from isocenter.report import Block, Chart, Paragraph, Section, case_spreads, case_values, contour_slices, metric_label

_BEST = 3


def pictures(study: Study, panel: Panel | str) -> Section:
    """Outlines of the reference and of the best three teams in two cases, from the files that were scored."""
    return Section("contours", "The hardest and the easiest case", tuple(_pictures(study, panel)))


def _pictures(study: Study, panel: Panel | str) -> Iterator[Block]:
    spreads = case_spreads(study.main.board, study.main.scores)
    if isinstance(panel, str) or not spreads:
        text = (
            "Outlines need the organisers' files in reference/ and those of teams in submissions/, as they were scored."
        )
        yield Paragraph(text, note=True)
        return
    if study.folder.file("images") is None:
        text = "Outlines lie on a plain ground; images/CASE_ct.nii.gz and images/CASE_pt.nii.gz would show the patient."
        yield Paragraph(text, note=True)
    chosen = {"hardest": spreads[0].case, "easiest": spreads[-1].case}
    if len(spreads) == 1:
        chosen = {"only": spreads[0].case}
    for number, (which, case) in enumerate(chosen.items()):
        study.move(number, len(chosen), f"drawing {case}")
        try:
            yield _picture(study, which, case, panel)
        except (ValueError, OSError) as error:
            yield Paragraph(f"The {which} case {case} cannot be drawn: {first_line(error, study)}", note=True)


def _picture(study: Study, which: str, case: str, panel: Panel) -> Chart:
    cohort = open_cohort(study.challenge, study.folder.path / "reference")
    alone = replace(cohort, cases=tuple(one for one in cohort.cases if one.name == case))
    teams, voters = panel.teams[:_BEST], panel.votes.voters[:_BEST]
    # Whoever has no mask of the only case asked for would not be accepted at all.
    states = next(one.roll.states for one in panel.votes.cases if one.case == case)
    files = {
        voter: path
        for voter, team in zip(voters, teams, strict=True)
        if states[voter] == "voted" and (path := study.outputs[team].outputs)
    }
    ((_, maps),) = read_maps(study.challenge, alone, files, grid=grid_policy(study))
    truth = maps[REFERENCE]
    assert truth is not None
    metric, values = study.main.metric, case_values(study.main.board, study.main.scores)
    masks: dict[str, NDArray[Any]] = {"Reference": truth.array}
    for voter, team in zip(voters, teams, strict=True):
        mine, score = maps.get(voter), dict(values.get(team, ())).get(case)
        masks[f"{team}: {metric.show(score)}" if mine else f"{team}: no mask"] = (
            np.zeros(truth.grid.shape, np.uint8) if mine is None else mine.array
        )
    title = f"Case {case}, the {which}"
    return Chart(
        f"contours-{which}",
        f"{title} by the mean over the teams: axial slices in which the reference is largest, and in which "
        f"{teams[0]} differs most from it. Beside each team its {metric_label(metric)} in the whole case.",
        contour_slices(
            masks, grid=truth.grid, images=read_images(study, case, truth.grid), title=title, name=f"contour-{which}"
        ),
    )
