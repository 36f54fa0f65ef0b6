"""The cases of a submission to look at: volumes and pictures, without the reference for who may not see it.

Everything is made by the room of the viewer. A few submissions stay open in memory, each with the cases that were
looked at last; one with the reference or the scans and one without them are two, and never share anything.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from django.conf import settings

from isocenter.server import files
from isocenter.server.models import Evaluation, Submission
from isocenter.server.people import licences
from isocenter.server.submitting.measured import code_for, phase_in, problems_of, table_of

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

    assert visit.sight(phase_in(evaluation)).own_cases
    barred = scans_barred(visit, submission.phase) if evaluation.reference.images else ""
    try:
        found = _session(visit, submission, evaluation, scans=not barred).look(case)
        return replace(found, notes=(*found.notes, barred)) if barred else found
    except (OSError, ValueError):
        return Look(None, notes=("The pictures of this submission cannot be made; tell the organisers.",))


def scans_barred(visit: Visit, phase: str) -> str:
    """Why somebody may not see the scans of a phase, and what to do; "" if they may.

    Scans are data of the phase: whoever may have its release, and accepted the licence, may see them. For a phase
    without a release of its own, those that are of no phase say so.
    """
    if visit.organises:
        return ""
    if not visit.sight(phase).downloads:
        return "The scans are not shown: they are for those who may have the data of the phase."
    releases = visit.challenge.releases
    from isocenter.server.work.in_force import phases_of_board

    own = releases.filter(phase__in=phases_of_board(visit.challenge, phase))
    every = list(own) or list(releases.filter(phase=""))
    out = [one for one in every if one.released is None or one.released <= visit.now]
    if every and not out:
        return "The scans are shown when the data are released."
    assert visit.user.is_authenticated
    accepted = licences.accepted(visit.user, out)
    lacking = [one.title for one in out if not accepted[one.pk].now]
    if lacking:
        return f"To see the scans, accept the licence on the page of the data: {', '.join(lacking)}."
    return ""


def _session(visit: Visit, submission: Submission, evaluation: Evaluation, *, scans: bool) -> Session:
    visible = visit.sight(phase_in(evaluation)).reference
    kind = f"{'with' if visible else 'without'} reference, {'with' if scans else 'without'} scans"
    key = (str(Path(settings.DATA)), str(submission.pk), str(evaluation.pk), kind)
    with _lock:
        found = _sessions.get(key)
    if found is None:  # nobody else waits while it is opened
        found = _open(visit, submission, evaluation, visible=visible, scans=scans)
    with _lock:
        found = _sessions.setdefault(key, found)
        _sessions.move_to_end(key)
        while len(_sessions) > _OPEN:
            _sessions.popitem(last=False)
    return found


def _open(visit: Visit, submission: Submission, evaluation: Evaluation, *, visible: bool, scans: bool) -> Session:
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
        images=files.at(reference.images) if reference.images and scans else None,
        reference_visible=visible,
    )
