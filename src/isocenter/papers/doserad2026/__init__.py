"""The chapter of DoseRAD2026: where weighted ranks come from, what accuracy costs in time, and where doses are wrong.

The sections follow what the challenge ranks by: errors of single beams and of plans, gamma, DVH points and run time, in
four tasks with a board each.
"""

from __future__ import annotations

from isocenter.papers._study import Study
from isocenter.papers.doserad2026._beams import depth_doses
from isocenter.papers.doserad2026._errors import errors
from isocenter.papers.doserad2026._gamma import gamma_maps
from isocenter.papers.doserad2026._ranks import ranks, weighted_boards
from isocenter.papers.doserad2026._tasks import tasks
from isocenter.papers.doserad2026._time import run_times
from isocenter.report import Paragraph, Section

__all__ = ["chapter"]


def chapter(study: Study) -> list[Section]:
    """All sections of the chapter; one whose file is not in the folder says what the file would show."""
    boards = weighted_boards(study)
    return [
        _without_run_times() if study.unmade and not boards else ranks(boards),
        run_times(boards),
        errors(study, boards),
        depth_doses(study),
        gamma_maps(study),
        tasks(study),
    ]


def _without_run_times() -> Section:
    """What is said where no weighted board could be made; the reason itself may name teams that are not listed."""
    text = (
        "The weighted boards of this phase cannot be made. They need the run times of every team: run_times.csv with "
        "the columns submission, modality, seconds, images and beams, or rows of run_time and run_time_mean in the "
        "score tables."
    )
    return Section("doserad-ranks", "Where the ranks come from", (Paragraph(text, note=True),))
