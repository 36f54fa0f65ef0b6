"""Requests of teams to take part in a phase, with a document for the organisers, and where a team's code is."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.urls import reverse

from isocenter.editions import Phase
from isocenter.server import clock, files, notices
from isocenter.server.models import Access, CodeLink
from isocenter.server.people.teams import NotPossible
from isocenter.server.policy import Visit

_TOLD_AGAIN = timedelta(days=1)  # who changes a request again and again is one line a day


def ask(visit: Visit, phase: Phase, text: str, document: UploadedFile | None) -> Access:
    """Ask the organisers to let the team take part in a phase; while they have not decided, ask in other words."""
    if visit.team is None or not visit.accepted:
        msg = "Found a team or join one first; a team takes part."
        raise NotPossible(msg)
    if phase.admission != "request":
        msg = "Nobody has to ask for this phase."
        raise NotPossible(msg)
    if visit.now >= phase.closes:
        msg = "This phase has closed."
        raise NotPossible(msg)
    name = "" if document is None else _kept(document)
    try:
        with transaction.atomic():
            one, new = Access.objects.select_for_update().get_or_create(team=visit.team, phase=phase.name)
            if one.invited or one.state != Access.State.WAITING:
                msg = "The organisers have decided already."
                raise NotPossible(msg)
            now, last = clock.now(), one.made
            before, one.text, one.made = one.document, text, now
            one.document = name or before
            one.save()
            if new or now - last >= _TOLD_AGAIN:
                notices.to_organisers(
                    visit.challenge,
                    f"The team {visit.team.name} asks to take part in {phase.title}.",
                    url=reverse("organise", args=[visit.challenge.slug]),
                    mail=new,
                )
    except BaseException:
        if name:
            files.at(name).unlink(missing_ok=True)
        raise
    if name and before:
        files.at(before).unlink(missing_ok=True)
    return one


def _kept(document: UploadedFile) -> str:
    """Put a document into the folder of data, by a name of ours; gives the name."""
    name = f"documents/{uuid.uuid4()}.pdf"
    path = files.at(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as stream:
        for chunk in document.chunks():
            stream.write(chunk)
    return name


def link_code(visit: Visit, phase: Phase, url: str, licence: str) -> CodeLink:
    """Say where the code of the visitor's team is; once the organisers have released it, it stays."""
    if visit.team is None or not visit.accepted:
        msg = "Found a team or join one first."
        raise NotPossible(msg)
    with transaction.atomic():
        made, _ = CodeLink.objects.select_for_update().get_or_create(
            team=visit.team, phase=phase.name, defaults={"url": url, "licence": licence, "made": clock.now()}
        )
        if made.released is not None:
            msg = "The organisers have released this link; ask them to change it."
            raise NotPossible(msg)
        made.url, made.licence = url, licence
        made.save(update_fields=["url", "licence"])
    return made
