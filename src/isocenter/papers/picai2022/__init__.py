"""The chapter of PI-CAI 2022: what its design asks of an edition, from the folder of any edition.

Saha A, Bosma JS, Twilt JJ, et al. Artificial intelligence and radiologists in prostate cancer detection on MRI
(PI-CAI): an international, paired, non-inferiority, confirmatory study. Lancet Oncol 25 (2024) 879-887. The design asks
for algorithms against each other, against readers of a study, and against clinical routine.
"""

from __future__ import annotations

from isocenter.papers._study import Study
from isocenter.papers.picai2022._cases import disqualified, groups, lesions
from isocenter.papers.picai2022._cohort import cohort
from isocenter.papers.picai2022._configurations import configurations, readers_and_readers
from isocenter.papers.picai2022._curves import curves
from isocenter.papers.picai2022._given import given
from isocenter.papers.picai2022._pairs import algorithms
from isocenter.papers.picai2022._power import power
from isocenter.papers.picai2022._readers import readers
from isocenter.papers.picai2022._routine import routine
from isocenter.report import Section

__all__ = ["chapter"]


def chapter(study: Study) -> list[Section]:
    """All sections of the chapter; one whose file is not in the folder says what the file would show."""
    found = given(study)
    if not found.teams:
        return [disqualified(found)]
    sections = [
        cohort, curves, algorithms, routine, readers, configurations, readers_and_readers, power, groups, lesions,
        disqualified,
    ]  # fmt: skip
    return [section(found) for section in sections]
