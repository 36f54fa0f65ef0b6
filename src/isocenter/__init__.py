"""isocenter runs challenges in oncology imaging and radiotherapy.

Three calls take a challenge from files to a leaderboard::

    import isocenter

    scores = isocenter.evaluate("hecktor2020", reference="reference/", submission="team.zip")
    board = isocenter.rank("hecktor2020", {"team": scores})
    print(board)

Names are loaded on first use, so that ``import isocenter`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "challenge": ("isocenter.evaluation", "load_challenge"),
    "check": ("isocenter.evaluation", "check_submission"),
    "evaluate": ("isocenter.evaluation", "evaluate_submission"),
    "rank": ("isocenter.contest", "rank"),
    "EvaluationFailed": ("isocenter.problems", "EvaluationFailed"),
    "OutputError": ("isocenter.problems", "OutputError"),
    "Problem": ("isocenter.problems", "Problem"),
    "SubmissionRefused": ("isocenter.problems", "SubmissionRefused"),
}
_ROOMS = frozenset(
    {
        *(
            "atomic",
            "challenges",
            "contest",
            "detections",
            "editions",
            "ensembles",
            "evaluation",
            "metrics",
            "phantoms",
        ),
        *("preprocessing", "problems", "ranking", "readers", "report", "scores", "stats", "submissions", "volumes"),
    }
)

__all__ = [
    "EvaluationFailed",
    "OutputError",
    "Problem",
    "SubmissionRefused",
    "__version__",
    "challenge",
    "check",
    "evaluate",
    "rank",
]

if TYPE_CHECKING:
    from isocenter.contest import rank
    from isocenter.evaluation import check_submission as check
    from isocenter.evaluation import evaluate_submission as evaluate
    from isocenter.evaluation import load_challenge as challenge
    from isocenter.problems import EvaluationFailed, OutputError, Problem, SubmissionRefused


def __getattr__(name: str) -> object:
    if name in _HOME:
        module, attribute = _HOME[name]
        return getattr(import_module(module), attribute)
    if name in _ROOMS:
        return import_module(f"isocenter.{name}")
    msg = f"module 'isocenter' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
