"""The cases of a submission to look at: volumes and pictures, without the reference for who may not see it.

Everything is made by the room of the viewer. A few submissions stay open in memory, each with the cases that were
looked at last; one with the reference and one without it are two, and never share anything.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from django.conf import settings

from isocenter.server import files
from isocenter.server.models import Evaluation, Submission
from isocenter.server.submitting.measured import code_for, problems_of, table_of

if TYPE_CHECKING:
    from isocenter.server.policy import Visit
    from isocenter.viewer import Look, Session

_OPEN = 3
_sessions: OrderedDict[tuple[str, ...], Session] = OrderedDict()
_lock = Lock()


def look(visit: Visit, submission: Submission, evaluation: Evaluation, case: str) -> Look:
    """What there is to see of a case of the submission; whoever asks has made sure that its cases may be seen.

    Files that are gone, or cannot be opened, are said in its notes.
    """
    from isocenter.viewer import Look

    assert visit.sight(submission.phase).own_cases
    try:
        return _session(visit, submission, evaluation).look(case)
    except (OSError, ValueError):
        return Look(None, notes=("The pictures of this submission cannot be made; tell the organisers.",))


def _session(visit: Visit, submission: Submission, evaluation: Evaluation) -> Session:
    visible = visit.sight(submission.phase).reference
    key = (str(Path(settings.DATA)), str(submission.pk), str(evaluation.pk), "with" if visible else "without")
    with _lock:
        if key not in _sessions:
            _sessions[key] = _open(visit, submission, evaluation, visible=visible)
        _sessions.move_to_end(key)
        while len(_sessions) > _OPEN:
            _sessions.popitem(last=False)
        return _sessions[key]


def _open(visit: Visit, submission: Submission, evaluation: Evaluation, *, visible: bool) -> Session:
    from isocenter.evaluation import Evaluation as Result
    from isocenter.viewer import open_session

    reference = evaluation.reference
    return open_session(
        code_for(visit, submission),
        Result(table_of(evaluation), problems_of(evaluation), {}),
        reference=files.at(reference.folder),
        submission=files.at(submission.file),
        team=f"{submission.team.name}, no. {submission.number}",
        grid=visit.edition.policies.grid,
        images=files.at(reference.images) if reference.images else None,
        reference_visible=visible,
    )
