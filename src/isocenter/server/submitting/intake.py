"""How a submission comes in: looked at before anything counts, then taken whole or not at all.

    upload ──▶ who, when, how often ──▶ names and sizes in the zip ──▶ [ lock the team; ask again; number; file; queue ]
               declarations             (nothing is opened)             one transaction
                     └────────────┬────────────┘
                               Refused: all reasons at once; the upload stays, no attempt is used

A submission has the key of the upload that it was, so that who asks twice, because an answer was lost on its way, does
not hand in twice. What is inside the files a worker finds out; one that it refuses costs no attempt either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Max, Sum
from django.http import Http404
from django.urls import reverse

from isocenter.editions import AnswerProblem, Attempt, Phase, QuotaLeft, check_answers, quota_left
from isocenter.problems import Problem
from isocenter.server import decisions
from isocenter.server.models import Challenge, Grant, Run, Submission, Team, Upload
from isocenter.server.policy import Visit
from isocenter.server.submitting import limits, looking, uploads
from isocenter.server.work import queue
from isocenter.server.work.reasons import as_row, is_about_output

State = Submission.State
_MOST_KEPT = 1000
_MOST_REASON = 1000


class Refused(PermissionDenied):
    """What was asked for is not done; nothing has changed. A page that does not show the reasons itself answers 403.

    Attributes
    ----------
    reasons
        Sentences for who asked, all that there are.
    problems
        What is wrong with the files, one by one, up to `looking.MOST_TOLD`.
    twice
        The number of the submission of the same team that has the same file; who means it, asks for it `again`.
    gaps
        Whether cases without a usable output are all that is wrong with the file; who means it, says `gaps`.
    """

    def __init__(
        self,
        reasons: Sequence[str],
        problems: Sequence[Problem] = (),
        *,
        twice: int | None = None,
        gaps: bool = False,
    ) -> None:
        self.reasons = list(reasons)
        self.problems = looking.told(problems)
        self.twice = twice
        self.gaps = gaps
        super().__init__(" ".join(self.reasons))


def attempts_of(team: Team, phase: str) -> list[Attempt]:
    """All that a team handed in to a phase, as the quota sees it."""
    rows = Submission.objects.filter(team=team, phase=phase).values_list("made", "state", "excepted")
    return [
        Attempt(made, "running" if state == State.QUEUED else state, excepted=excepted)
        for made, state, excepted in rows
    ]


def quota(visit: Visit, phase: str, team: Team | None = None) -> QuotaLeft:
    """What a team, the visitor's unless another is given, may still hand in to a phase that the visitor knows of."""
    return _quota(visit, visit.phase(phase), team or visit.team)


def _quota(visit: Visit, phase: Phase, team: Team | None) -> QuotaLeft:
    if team is None:
        return quota_left(phase, [], visit.now)
    extra = Grant.objects.filter(team=team, phase=phase.name).aggregate(sum=Sum("extra"))["sum"] or 0
    return quota_left(phase, attempts_of(team, phase.name), visit.now, extra=extra)


def submit(
    visit: Visit,
    phase: str,
    upload: Upload,
    *,
    declarations: Mapping[str, object],
    comment: str = "",
    again: bool = False,
    gaps: bool = False,
) -> Submission:
    """Hand in a file that was sent.

    What can be known of it without opening a file in it is known at once, the rest when a worker reads it. In both
    cases a file that is wrong costs no attempt.

    Parameters
    ----------
    phase
        Its name.
    declarations
        Answers to the questions that are asked with every submission, by their names.
    again
        The file may be one that the team has handed in before.
    gaps
        Cases without a usable output are meant to count as the rules say. Otherwise the file is refused for them.

    Raises
    ------
    Refused
        It is not taken. The upload is still there, and no attempt was used.
    Http404
        The visitor knows of no such phase, or has no such upload.
    """
    visit.phase(phase)
    if upload.user_id != visit.user.pk:
        raise Http404
    reasons, problems = _hindrances(visit, phase), list[Problem]()
    sent = _trouble(visit, phase, upload)
    answers = check_answers(visit.edition.declarations, declarations)
    twice, spoilt = None, 0
    if not sent:
        problems, found = _looked_at(visit, phase, upload)
        sent += found
        spoilt = 0 if gaps or found else len({one.case for one in problems if is_about_output(one)})
        twice = None if again else _same(visit.team, phase, upload)
    reasons += sent
    if isinstance(answers, list):
        reasons += [_worded(problem) for problem in answers]
        raise Refused(reasons, problems)
    if twice is not None:
        reasons.append(_handed_in_before(twice))
    if spoilt:
        reasons.append(_with_gaps(spoilt))
    if reasons:
        raise Refused(reasons, problems, twice=twice, gaps=spoilt > 0)
    assert visit.team is not None
    said = {"declarations": dict(answers.values), "comment": " ".join(comment.split())[:300], "gaps": gaps}
    kept = [as_row(problem) for problem in problems[:_MOST_KEPT]]
    return _taken(visit, phase, upload, visit.team, again=again, problems=kept, **said)


def _looked_at(visit: Visit, phase: str, upload: Upload) -> tuple[list[Problem], list[str]]:
    """What is in the zip; of one that goes away meanwhile, as the same was asked twice at once, why it cannot be."""
    try:
        return looking.at_zip(visit.challenge, phase, uploads.finished(upload))
    except (FileNotFoundError, uploads.UploadRefused):
        now = Upload.objects.filter(pk=upload.pk).first()
        if now is None:
            raise Http404 from None
        if trouble := _trouble(visit, phase, now):
            return [], trouble
        raise


def became(visit: Visit, phase: str, upload: Upload) -> Submission | None:
    """The submission that an upload of the visitor was handed in as: who asks twice is told the same twice."""
    return visit.submissions().filter(pk=upload.pk, phase=phase).select_related("author").first()


def _hindrances(visit: Visit, phase: str) -> list[str]:
    """Why the team of the visitor may not hand in anything now."""
    admission = visit.admission(phase)
    if not admission.yes:
        return [f"Your team cannot submit to this phase: {admission.reason}."]
    left = quota(visit, phase)
    if left.left == 0:
        return [f"No attempt is left: {left.words}"]
    return _too_much_for_nothing(visit)


def _too_much_for_nothing(visit: Visit) -> list[str]:
    """Why a team has to wait of which much came to nothing lately: what is refused costs no attempt, but work."""
    limit = limits.FOR_NOTHING
    span = timedelta(seconds=limit.seconds)
    nothing = [State.REFUSED, State.FAILED, State.CANCELLED]
    lately = Submission.objects.filter(team=visit.team, state__in=nothing, excepted=False, made__gt=visit.now - span)
    made = list(lately.order_by("-made").values_list("made", flat=True)[: limit.most])
    if len(made) < limit.most:
        return []
    again = f"{made[-1] + span:%-d %B %Y, %H:%M} UTC"
    what = f"{limit.most} submissions of your team came to nothing within {limit.seconds // 3600} hours."
    return [f"{what} The next one can be handed in on {again}; if that is too late, ask the organisers."]


def _trouble(visit: Visit, phase: str, upload: Upload) -> list[str]:
    """Why an upload cannot be handed in here."""
    if upload.taken is not None:
        return ["This file was handed in already."]
    if (upload.purpose, upload.challenge_id, upload.phase) != (Upload.Purpose.SUBMISSION, visit.challenge.pk, phase):
        return ["This file was sent for something else; send it again for this phase."]
    if (there := uploads.offset_of(upload)) != upload.size:
        return [f"The file is not complete: {there:,} of {upload.size:,} bytes came."]
    return []


def _worded(problem: AnswerProblem) -> str:
    return f"{problem.label or problem.name}: {problem.message}."


def _with_gaps(cases: int) -> str:
    lack = "1 case has" if cases == 1 else f"{cases} cases have"
    return f"{lack} no usable output. Send them too, or confirm that they count as the rules say."


def _handed_in_before(number: int) -> str:
    return f"Your team handed in this very file before, as submission {number}; confirm that you mean it."


def _same(team: Team | None, phase: str, upload: Upload) -> int | None:
    """The number of a submission of the same team with the same file, of which something came or may come."""
    found = Submission.objects.filter(team=team, phase=phase, sha256=upload.sha256)
    last = found.exclude(state__in=[State.CANCELLED, State.INFRASTRUCTURE]).order_by("-number").first()
    return None if last is None else last.number


def _taken(visit: Visit, phase: str, upload: Upload, team: Team, *, again: bool, **fields: Any) -> Submission:
    """The submission, in the queue. Everything that others could have changed meanwhile is asked again."""
    place: Path | None = None
    committed: list[bool] = []
    try:
        with transaction.atomic():
            transaction.on_commit(lambda: committed.append(True))  # the first to know
            team = Team.objects.select_for_update().get(pk=team.pk)  # its attempts come one after the other
            challenge = Challenge.objects.select_related("version").get(pk=visit.challenge.pk)
            fresh = Visit(visit.user, challenge)
            row = Upload.objects.select_for_update().get(pk=upload.pk)
            reasons = _hindrances(fresh, phase) + _trouble(fresh, phase, row)
            if fresh.team != team:
                reasons.append("You are no longer in this team.")
            twice = None if again else _same(team, phase, row)
            if twice is not None:
                reasons.append(_handed_in_before(twice))
            if reasons:
                raise Refused(reasons, twice=twice)
            last = Submission.objects.filter(team=team, phase=phase).aggregate(most=Max("number"))["most"] or 0
            name = f"submissions/{row.pk}.zip"
            place = uploads.take(row, name)
            submission = Submission.objects.create(
                id=row.pk,
                challenge=challenge,
                team=team,
                phase=phase,
                number=last + 1,
                author=visit.user,
                version=challenge.version,
                made=fresh.now,
                name=row.name,
                file=name,
                size=row.size,
                sha256=row.sha256,
                **fields,
            )
            queue.enqueue(Run.Kind.SCORE, challenge, submission=submission)
            transaction.on_commit(lambda: _tell(fresh, submission), robust=True)
    except BaseException:
        if place is not None and not committed:
            place.unlink(missing_ok=True)
        raise
    upload.taken = row.taken
    return submission


def _tell(visit: Visit, submission: Submission) -> None:
    """Tell the others of the team; they share the attempts."""
    from isocenter.server import notices

    said = f"{visit.user} handed in submission {submission.number} to {visit.phase(submission.phase).title}."
    url = reverse("submission", args=[visit.challenge.slug, submission.pk])
    notices.to_team(submission.team, said, url=url, but=visit.user)


def cancel(visit: Visit, submission: Submission, *, reason: str = "") -> None:
    """Stop a submission that waits or runs. Whether its attempt is given back says `refund` of the phase.

    That organisers stop one of a team is a decision: it has a reason, which is recorded and told to the team, and it
    costs the team nothing.
    """
    own = _is_of_the_team(visit, submission)
    reason = " ".join(reason.split())[:_MOST_REASON]
    if not own and not reason:
        raise Refused(["Say why: the reason is recorded with the decision, and told to the team."])
    # An evaluation that organisers ask for later is not the team's to stop.
    active = Submission.objects.filter(pk=submission.pk, state__in=[State.QUEUED, State.RUNNING]).exists()
    with transaction.atomic():
        if not active or not queue.cancel(submission):
            submission.refresh_from_db()
            raise Refused(
                [f"Submission {submission.number} is {submission.get_state_display()}; there is nothing to cancel."]
            )
        if not own:
            Submission.objects.filter(pk=submission.pk).update(excepted=True)
            subject = f"{submission.team.name}, {submission.phase}, submission {submission.number}"
            decisions.record(visit.challenge, visit.user, "cancel", subject, reason)
            _tell_cancelled(visit, submission, reason)
    submission.refresh_from_db()


def _tell_cancelled(visit: Visit, submission: Submission, reason: str) -> None:
    from isocenter.server import notices

    said = f"The organisers cancelled submission {submission.number} of {submission.team.name}, at no cost: {reason}"
    url = reverse("submission", args=[visit.challenge.slug, submission.pk])
    notices.to_team(submission.team, said, url=url, mail=True)


def nominate(visit: Visit, submission: Submission) -> None:
    """Choose the submission that counts for the team, in a phase where teams choose, as long as it is open."""
    from isocenter.server.work import making

    if not _is_of_the_team(visit, submission):
        msg = "Only members of the team choose."
        raise PermissionDenied(msg)
    phase = visit.phase(submission.phase)
    if phase.counts != "chosen":
        raise Refused([f"In {phase.title} teams do not choose which submission counts; see the rules."])
    if visit.now >= phase.closes:
        raise Refused([f"{phase.title} is closed; the choice stands."])
    if submission.state not in (State.QUEUED, State.RUNNING, State.SCORED):
        raise Refused([f"Submission {submission.number} is {submission.get_state_display()}, so it cannot count."])
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=submission.team_id)
        own = Submission.objects.filter(team=submission.team_id, phase=phase.name)
        own.exclude(pk=submission.pk).filter(nominated=True).update(nominated=False)
        own.filter(pk=submission.pk).update(nominated=True)
        making.refresh(visit.challenge, phase.name)
    submission.nominated = True


def _is_of_the_team(visit: Visit, submission: Submission) -> bool:
    """Whether a submission that the visitor may see is one of their own team, rather than one that they organise."""
    if not visit.submissions().filter(pk=submission.pk).exists():
        raise Http404
    return visit.team is not None and submission.team_id == visit.team.pk
