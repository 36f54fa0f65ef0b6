"""The voluntary part of a registration, as it is kept: see the promise in `isocenter.editions.sealed`.

    a person ── put ──▶ pending rows ── release, at most once a day ──▶ released rows ── tallies, at the end ──▶ numbers

A registration knows that somebody was asked, and nothing else. Whenever a set of answers comes or goes, all pending
rows are written anew, with keys of chance and answers in an order of chance; so neither keys nor the places of rows in
the database tell who was when.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, date
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from isocenter.editions import Tally, sealed, tally
from isocenter.server import clock
from isocenter.server.models import Challenge, EquityAnswers, Registration
from isocenter.server.models.people import random_key
from isocenter.server.policy import Visit

LEAST = 5
"""The smallest number of people that is told, and the smallest batch that is released."""


def put(registration: Registration, answers: Mapping[str, object]) -> None:
    """Keep what somebody answered, once: an empty set for who answered nothing. What was put cannot be found again."""
    with transaction.atomic():
        challenge = Challenge.objects.select_for_update().get(pk=registration.challenge_id)
        asked = Registration.objects.filter(pk=registration.pk, equity_asked=False).update(equity_asked=True)
        if not asked:
            return
        if is_over(challenge):
            registration.equity_asked = True
            return
        pending = [*_taken(challenge), dict(answers)]
        # None is released here: a batch would then be the five who came one after the other.
        _write(challenge, sealed(pending, rng=random.SystemRandom(), least=len(pending) + 2).pending)
    registration.equity_asked = True


def release(challenge: Challenge) -> int:
    """Release what is pending if that is enough; gives how many sets of answers were. Call it as often as you like.

    There is one batch a day at most. When the challenge is over, what is still too few is erased and counts as no
    answer.
    """
    today = clock.now().astimezone(UTC).date()
    with transaction.atomic():
        challenge = Challenge.objects.select_for_update().get(pk=challenge.pk)
        over = is_over(challenge)
        if not over and challenge.equity_answers.filter(day=today).exists():
            return 0
        batch = sealed(_taken(challenge), rng=random.SystemRandom(), least=LEAST)
        if over and batch.pending:
            _write(challenge, [{} for _ in batch.pending], day=today)
        else:
            _write(challenge, batch.pending)
        _write(challenge, batch.released, day=today)
    return len(batch.released)


def tallies(visit: Visit) -> list[Tally] | None:
    """How many people gave which answer, for organisers, once all phases have closed; None before.

    Two tallies of a list that grows would tell what came between.
    """
    if not visit.organises:
        msg = "This page is for the organisers of the challenge."
        raise PermissionDenied(msg)
    if not is_over(visit.challenge):
        return None
    rows = EquityAnswers.objects.filter(challenge=visit.challenge).values_list("pending", "answers")
    given = [{} if pending else answers for pending, answers in rows]
    return tally(given, visit.edition.equity, least=LEAST)


def is_over(challenge: Challenge) -> bool:
    """Whether all phases, those not yet announced too, have closed; answers of who registers later are not kept.

    Phases that continue others after the end do not count: a list of answers that grows would be told twice.
    """
    return all(phase.closes <= clock.now() for phase in challenge.edition.phases if phase.continues is None)


def _taken(challenge: Challenge) -> list[dict[str, Any]]:
    """The pending sets, which are then no longer there."""
    rows = challenge.equity_answers.filter(pending=True)
    answers = list(rows.values_list("answers", flat=True))
    rows.delete()
    return answers


def _write(challenge: Challenge, sets: Sequence[Mapping[str, object]], *, day: date | None = None) -> None:
    """New rows in the order of their keys, which is chance."""
    keys = sorted(random_key() for _ in sets)
    EquityAnswers.objects.bulk_create(
        EquityAnswers(key=key, challenge=challenge, pending=day is None, day=day, answers=dict(answers))
        for key, answers in zip(keys, sets, strict=True)
    )
