"""The chapter of the lung contest: what the supplement of its paper shows, from the folder of any edition.

Mak RH, Endres MG, Paik JH, et al. Use of crowd innovation to develop an artificial intelligence-based solution for
radiation therapy targeting. JAMA Oncology 5 (2019) 654-661, supplement: eTables 1 and 3 to 6, eFigures 1 to 6.
"""

from __future__ import annotations

from isocenter.papers._mask_ensembles import ensembles
from isocenter.papers._mask_votes import read_panel
from isocenter.papers._study import Study
from isocenter.papers.lung2019._cohorts import cohorts, methods
from isocenter.papers.lung2019._examples import examples
from isocenter.papers.lung2019._lineage import lineage
from isocenter.papers.lung2019._observers import observers, read_observers
from isocenter.papers.lung2019._phases import phase_boards
from isocenter.papers.lung2019._prizes import prizes
from isocenter.papers.lung2019._scores import scores_in_brackets
from isocenter.papers.lung2019._second_passes import read_second_passes
from isocenter.papers.lung2019._strata import strata
from isocenter.papers.lung2019._volumes import volumes
from isocenter.report import Section

__all__ = ["chapter"]


def chapter(study: Study) -> list[Section]:
    """All sections of the chapter; one whose file is not in the folder says what the file would show."""
    panel = read_panel(study)
    experts = read_observers(study, panel)
    again = read_second_passes(study)
    boards, notes = phase_boards(study)
    return [
        scores_in_brackets(study, panel, again),
        cohorts(study, panel, experts, again),
        methods(study, boards),
        examples(study, panel),
        volumes(study, panel),
        strata(study, panel, experts, again),
        ensembles(study, panel, metric="s_score"),
        observers(study, experts, again),
        lineage(study, boards, notes),
        prizes(study, boards, notes),
    ]
