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
    "check": "isocenter.doors",
    "evaluate": "isocenter.doors",
    "rank": "isocenter.doors",
    "challenge": "isocenter.doors",
    "EvaluationFailed": "isocenter.problems",
    "OutputError": "isocenter.problems",
    "Problem": "isocenter.problems",
    "SubmissionRefused": "isocenter.problems",
}
_ROOMS = frozenset(
    {
        *("atomic", "challenges", "detections", "doors", "editions", "ensembles", "evaluation", "metrics", "phantoms"),
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
    from isocenter.doors import challenge, check, evaluate, rank
    from isocenter.problems import EvaluationFailed, OutputError, Problem, SubmissionRefused


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _ROOMS:
        return import_module(f"isocenter.{name}")
    msg = f"module 'isocenter' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
