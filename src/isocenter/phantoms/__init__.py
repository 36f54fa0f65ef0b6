"""Synthetic patients and synthetic teams, for demonstrations and tests.

`head_and_neck` makes a patient, `segment` what a `Team` would hand in for it, `write_cohort` a whole challenge on disk.
Everything follows from a seed; nothing here is, or is like, a real patient's data.
"""

from isocenter.phantoms._cohort import CohortFiles, write_cohort
from isocenter.phantoms._head_and_neck import head_and_neck
from isocenter.phantoms._teams import TEAMS, Team, segment

__all__ = ["TEAMS", "CohortFiles", "Team", "head_and_neck", "segment", "write_cohort"]
