"""Cases × a submission → scores, on any `concurrent.futures.Executor`."""

from isocenter.evaluation._calls import check_submission, evaluate_submission
from isocenter.evaluation._case import CaseResult
from isocenter.evaluation._challenge import Case, Challenge, Score
from isocenter.evaluation._code import fingerprint
from isocenter.evaluation._cohort import Cohort, CohortCase, CohortError, open_cohort, read_facts
from isocenter.evaluation._depict import DosePicture, LesionPicture, MaskPicture, Picture, depict
from isocenter.evaluation._evaluation import Evaluation
from isocenter.evaluation._journal import CaseStore
from isocenter.evaluation._registry import UnknownChallengeError, challenge_names, load_challenge
from isocenter.evaluation._run import check, evaluate, look, most_files, sort_problems
from isocenter.evaluation._stages import (
    Stage,
    blame_evaluator,
    origin_of_stage,
    report_reading,
    report_stage,
    watch_stages,
)
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
    "blame_evaluator",
    "challenge_names",
    "check",
    "check_submission",
    "depict",
    "evaluate",
    "evaluate_submission",
    "fingerprint",
    "load_challenge",
    "look",
    "most_files",
    "open_cohort",
    "origin_of_stage",
    "read_facts",
    "report_reading",
    "report_stage",
    "sort_problems",
    "watch_stages",
    "worker_pool",
]
