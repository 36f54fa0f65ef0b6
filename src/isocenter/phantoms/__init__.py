"""Synthetic patients, teams and observers, for demonstrations and tests.

`head_and_neck`, `pet_ct` and `lung` make a patient, `segment` what a `Team` would hand in for it, `observe` what an
expert would draw, `write_cohort` and `write_lung_cohort` a whole challenge on disk. Everything follows from a seed;
nothing here is, or is like, a real patient's data.
"""

from isocenter.phantoms._cohort import CohortFiles, write_cohort, write_lung_cohort
from isocenter.phantoms._head_and_neck import head_and_neck
from isocenter.phantoms._lung import LungScan, lung
from isocenter.phantoms._lung_teams import REGION_GROWING, TEAMS_LUNG
from isocenter.phantoms._observers import OBSERVERS, Observer, observe
from isocenter.phantoms._petct import PetCt, pet_ct
from isocenter.phantoms._teams import TEAMS, Team, segment

__all__ = [
    "OBSERVERS",
    "REGION_GROWING",
    "TEAMS",
    "TEAMS_LUNG",
    "CohortFiles",
    "LungScan",
    "Observer",
    "PetCt",
    "Team",
    "head_and_neck",
    "lung",
    "observe",
    "pet_ct",
    "segment",
    "write_cohort",
    "write_lung_cohort",
]
