"""Cases × a submission → scores, on any `concurrent.futures.Executor`."""

from isocenter.evaluation._case import CaseResult
from isocenter.evaluation._challenge import Case, Challenge, Score
from isocenter.evaluation._code import fingerprint
from isocenter.evaluation._cohort import Cohort, CohortCase, CohortError, open_cohort, read_facts
from isocenter.evaluation._depict import DosePicture, LesionPicture, MaskPicture, Picture, depict
from isocenter.evaluation._journal import CaseStore
from isocenter.evaluation._registry import UnknownChallengeError, challenge_names, load_challenge
from isocenter.evaluation._run import Evaluation, check, evaluate, look, most_files
from isocenter.evaluation._stages import Stage, origin_of_stage, report_stage, watch_stages
from isocenter.evaluation._workers import available_cores, worker_pool
from isocenter.problems import EvaluationFailed, OutputError, Remark

__all__ = [
    "Case",
    "CaseResult",
    "CaseStore",
    "Challenge",
    "Cohort",
    "CohortCase",
    "CohortError",
    "DosePicture",
    "Evaluation",
    "EvaluationFailed",
    "LesionPicture",
    "MaskPicture",
    "OutputError",
    "Picture",
    "Remark",
    "Score",
    "Stage",
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
    "origin_of_stage",
    "read_facts",
    "report_stage",
    "watch_stages",
    "worker_pool",
]
