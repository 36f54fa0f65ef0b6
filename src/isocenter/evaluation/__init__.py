"""Cases × a submission → scores, on any `concurrent.futures.Executor`."""

from isocenter.evaluation._case import CaseResult
from isocenter.evaluation._challenge import Case, Challenge, OutputError, Remark, Score
from isocenter.evaluation._code import fingerprint
from isocenter.evaluation._cohort import Cohort, CohortError, open_cohort, read_facts
from isocenter.evaluation._depict import DosePicture, LesionPicture, MaskPicture, Picture, depict
from isocenter.evaluation._journal import CaseStore
from isocenter.evaluation._registry import UnknownChallengeError, challenge_names, load_challenge
from isocenter.evaluation._run import Evaluation, check, evaluate, look, most_files
from isocenter.evaluation._workers import available_cores, worker_pool

__all__ = [
    "Case",
    "CaseResult",
    "CaseStore",
    "Challenge",
    "Cohort",
    "CohortError",
    "DosePicture",
    "Evaluation",
    "LesionPicture",
    "MaskPicture",
    "OutputError",
    "Picture",
    "Remark",
    "Score",
    "UnknownChallengeError",
    "available_cores",
    "challenge_names",
    "check",
    "depict",
    "evaluate",
    "fingerprint",
    "load_challenge",
    "look",
    "most_files",
    "open_cohort",
    "read_facts",
    "worker_pool",
]
