"""Outlines of the expert, of benchmarks and of the best team in four cases, from the worst to the best (eFigure 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.ensembles import REFERENCE, read_maps
from isocenter.evaluation import open_cohort
from isocenter.papers._files import first_line, grid_policy, read_images
from isocenter.papers._mask_votes import Panel
from isocenter.papers._study import Study
from isocenter.report import Block, Chart, Paragraph, Section, case_values, contour_slices, metric_label

_EXAMPLES = 4
_MOST_BENCHMARKS = 2


def examples(study: Study, panel: Panel | str) -> Section:
    """Four cases: the one that the best team drew worst, best, and two between them."""
    return Section("examples", "Examples of expert, benchmark and best team", tuple(_examples(study, panel)))


def _examples(study: Study, panel: Panel | str) -> Iterator[Block]:
    if isinstance(panel, str):
        text = (
            "Outlines need the organisers' files in reference/ and those of teams in submissions/, as they were scored."
        )
        yield Paragraph(text, note=True)
        return
    best, values = panel.teams[0], case_values(study.main.board, study.main.scores)
    drawn = {case.case for case in panel.votes.cases if case.roll.states[panel.votes.voters[0]] == "voted"}
    ordered = [case for case, _ in sorted(values.get(best, ()), key=lambda pair: (pair[1], pair[0])) if case in drawn]
    if not ordered:
        yield Paragraph(f"{best} has no mask that could be drawn.", note=True)
        return
    places = sorted({round(n * (len(ordered) - 1) / (_EXAMPLES - 1)) for n in range(_EXAMPLES)})
    for number, place in enumerate(places, start=1):
        study.move(number - 1, len(places), f"drawing {ordered[place]}")
        try:
            yield _example(study, best, ordered[place], number=number, place=place + 1, of=len(ordered))
        except (ValueError, OSError) as error:
            yield Paragraph(f"Case {ordered[place]} cannot be drawn: {first_line(error, study)}", note=True)


def _example(study: Study, best: str, case: str, *, number: int, place: int, of: int) -> Chart:
    cohort = open_cohort(study.challenge, study.folder.path / "reference")
    alone = replace(cohort, cases=tuple(one for one in cohort.cases if one.name == case))
    benchmarks = [row.submission for row in study.main.board.rows if row.role == "benchmark"]
    shown = [best, *[name for name in benchmarks if name in study.outputs and _scored(study, name, case)]]
    files = {
        f"{at:02d}": path
        for at, name in enumerate(shown[: 1 + _MOST_BENCHMARKS], start=1)
        if (path := study.outputs[name].outputs)
    }
    ((_, maps),) = read_maps(study.challenge, alone, files, grid=grid_policy(study))
    truth = maps[REFERENCE]
    assert truth is not None
    metric, values = study.main.metric, case_values(study.main.board, study.main.scores)
    masks: dict[str, NDArray[Any]] = {"Expert": truth.array}
    for key in files:
        name, mine = shown[int(key) - 1], maps.get(key)
        score = dict(values.get(name, ())).get(case)
        label = name if score is None else f"{name}: {metric.show(score)}"
        masks[label] = np.zeros(truth.grid.shape, np.uint8) if mine is None else mine.array
    title = f"Case {case}, number {place} of {of} from the worst of {best}"
    return Chart(
        f"example-{number}",
        f"{title}: axial slices in which the expert's outline is largest, and in which {best} differs most from it. "
        f"Beside each name its {metric_label(metric)} in the whole case.",
        contour_slices(
            masks,
            grid=truth.grid,
            images=read_images(study, case, truth.grid),
            title=title,
            name=f"lung-example-{number}",
        ),
    )


def _scored(study: Study, name: str, case: str) -> bool:
    """Whether a row has a value in a case: whoever has no mask of the only case asked for would not be accepted."""
    mine = study.main.scores.filter(
        (pl.col("submission") == name) & (pl.col("case") == case) & (pl.col("metric") == study.main.board.metric)
    )
    return bool(mine["value"].is_not_null().any())
