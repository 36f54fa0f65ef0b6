"""The chapter of OpenKBP 2020: what its paper shows of an edition, from the folder of any edition.

Babier A, Zhang B, Mahmood R, et al. OpenKBP: the open-access knowledge-based planning grand challenge and dataset.
Medical Physics 48 (2021) 5549-5561: figures 4 to 6, tables 1 to 5 and the summary of the model survey.
"""

from __future__ import annotations

from isocenter.papers._study import Study
from isocenter.papers.openkbp2020 import _criteria as criteria
from isocenter.papers.openkbp2020 import _people as people
from isocenter.papers.openkbp2020 import _progress as progress
from isocenter.papers.openkbp2020 import _streams as streams
from isocenter.papers.openkbp2020 import _survey as survey
from isocenter.report import Section

__all__ = ["chapter"]


def chapter(study: Study) -> list[Section]:
    """All sections of the chapter; one whose file is not in the folder says what the file would show."""
    return [
        people.participants(study),
        progress.section(study),
        streams.lead(study),
        streams.squared(study),
        criteria.section(study),
        survey.section(study),
    ]
