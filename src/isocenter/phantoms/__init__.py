"""Synthetic patients, teams and observers, for demonstrations and tests.

`head_and_neck`, `pet_ct` and `lung` make a patient, `segment` what a `Team` would hand in for it, `observe` what an
expert would draw, `write_cohort` and `write_lung_cohort` a whole challenge on disk. Everything follows from a seed;
nothing here is, or is like, a real patient's data. `openkbp_patient` and `doserad_patient` make patients with dose,
`predict_dose` and `predict_beams` what a `DoseTeam` makes of them. `prostate_exam` makes an exam of the prostate,
`detect` what a `DetectionTeam` finds in it, `read_exam` what a radiologist says of it, `write_picai_cohort` a
challenge with both, and `write_reading_study` the exams for readers of a study.
"""

from isocenter.phantoms._cohort import CohortFiles, write_cohort, write_lung_cohort
from isocenter.phantoms._dose_cohorts import write_doserad_cohort, write_openkbp_cohort
from isocenter.phantoms._dose_files import write_doserad, write_doserad_predictions
from isocenter.phantoms._dose_teams import TEAMS_DOSERAD, TEAMS_OPENKBP, DoseTeam, predict_beams, predict_dose
from isocenter.phantoms._doserad import BeamPatient, doserad_patient
from isocenter.phantoms._head_and_neck import head_and_neck
from isocenter.phantoms._hecktor_facts import write_hecktor_facts
from isocenter.phantoms._lung import LungScan, lung
from isocenter.phantoms._lung_contest import EarlierSubmission, write_lung_contest
from isocenter.phantoms._lung_teams import REGION_GROWING, TEAMS_LUNG
from isocenter.phantoms._observers import OBSERVERS, Observer, observe
from isocenter.phantoms._openkbp import DosePatient, openkbp_patient, write_openkbp, write_openkbp_predictions
from isocenter.phantoms._openkbp_history import Attempt, write_openkbp_validation
from isocenter.phantoms._openkbp_people import write_openkbp_people
from isocenter.phantoms._petct import PetCt, pet_ct
from isocenter.phantoms._prostate import ProstateExam, prostate_exam
from isocenter.phantoms._prostate_cohort import write_picai_cohort
from isocenter.phantoms._prostate_readers import READERS, ExamReader, Reading, read_exam
from isocenter.phantoms._prostate_routine import ROUTINE_READERS, write_picai_routine
from isocenter.phantoms._prostate_study import write_reading_study
from isocenter.phantoms._prostate_teams import TEAMS_PICAI, Detection, DetectionTeam, detect, soft_map
from isocenter.phantoms._teams import TEAMS, Team, segment

__all__ = [
    "OBSERVERS",
    "READERS",
    "REGION_GROWING",
    "ROUTINE_READERS",
    "TEAMS",
    "TEAMS_DOSERAD",
    "TEAMS_LUNG",
    "TEAMS_OPENKBP",
    "TEAMS_PICAI",
    "Attempt",
    "BeamPatient",
    "CohortFiles",
    "Detection",
    "DetectionTeam",
    "DosePatient",
    "DoseTeam",
    "EarlierSubmission",
    "ExamReader",
    "LungScan",
    "Observer",
    "PetCt",
    "ProstateExam",
    "Reading",
    "Team",
    "detect",
    "doserad_patient",
    "head_and_neck",
    "lung",
    "observe",
    "openkbp_patient",
    "pet_ct",
    "predict_beams",
    "predict_dose",
    "prostate_exam",
    "read_exam",
    "segment",
    "soft_map",
    "write_cohort",
    "write_doserad",
    "write_doserad_cohort",
    "write_doserad_predictions",
    "write_hecktor_facts",
    "write_lung_cohort",
    "write_lung_contest",
    "write_openkbp",
    "write_openkbp_cohort",
    "write_openkbp_people",
    "write_openkbp_predictions",
    "write_openkbp_validation",
    "write_picai_cohort",
    "write_picai_routine",
    "write_reading_study",
]
