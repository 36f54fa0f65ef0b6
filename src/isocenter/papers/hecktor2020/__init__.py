"""The chapter of HECKTOR 2020: what its design promises to analyse, from the folder of any edition.

Andrearczyk V, Oreiller V, Jreige M, et al. Overview of the HECKTOR challenge at MICCAI 2020: automatic head and neck
tumor segmentation in PET/CT. LNCS 12603 (2021) 1-21. The design document asks for t tests with Bonferroni's correction
and intervals of the mean Dice, inter-algorithm variability, the best combination and a majority vote.
"""

from __future__ import annotations

from isocenter.papers._mask_agreement import agreement
from isocenter.papers._mask_ensembles import ensembles
from isocenter.papers._mask_votes import read_panel
from isocenter.papers._study import Study
from isocenter.papers.hecktor2020._centres import centres
from isocenter.papers.hecktor2020._pictures import pictures
from isocenter.papers.hecktor2020._winner import winner
from isocenter.report import Section

__all__ = ["chapter"]


def chapter(study: Study) -> list[Section]:
    """All sections of the chapter; one whose file is not in the folder says what the file would show."""
    panel = read_panel(study)
    return [
        winner(study),
        agreement(panel, metric="dice"),
        ensembles(study, panel, metric="dice"),
        centres(study),
        pictures(study, panel),
    ]
