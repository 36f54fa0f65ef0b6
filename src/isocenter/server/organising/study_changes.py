"""What of a reader study may change in a new edition, and what may not once cases are dealt."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse

from isocenter.editions import Edition
from isocenter.server.models import Challenge, ReaderKey, Study
from isocenter.server.organising.moments import on_its_clock

SUBJECT = "reading"
"""What a decision on the study is about."""

_KEPT = ("practice", "most_marks", "likelihood_of", "facts", "blocks", "cases_by", "readers_by")


def study_breaks(study: Study, old: Edition, new: Edition) -> list[str]:
    """What a new edition changes of a study that may not change once cases are dealt; empty if nothing.

    Dates, title and guide may: a study is extended, and a guide with another version is confirmed again.
    """
    if study.drawn is None or old.reading is None:
        return []
    if new.reading is None:
        return ["[reading]: cases are dealt to readers already, so the study cannot be taken out."]
    problems = [
        f"[reading] {name}: cannot be changed any more, as cases are dealt to readers already."
        for name in _KEPT
        if getattr(old.reading, name) != getattr(new.reading, name)
    ]
    if old.stages != new.stages:
        problems.append("[[stages]]: cannot be changed any more, as cases are dealt to readers already.")
    if old.readers != new.readers:
        problems.append("[[readers]]: cannot be changed any more, as readers are dealt into blocks by their answers.")
    return problems


def study_changes(old: Edition, new: Edition) -> Iterator[tuple[str, str]]:
    """What is decided on the study, and the sentence that its readers are told."""
    was, now = old.reading, new.reading
    if was is None or now is None:
        return
    if now.opens != was.opens:
        text = f"{now.title} opens on {on_its_clock(now.opens)}; it was {on_its_clock(was.opens)}."
        yield "reschedule the reader study", text
    if now.closes != was.closes:
        what = "extend the reader study" if now.closes > was.closes else "close the reader study earlier"
        yield what, f"{now.title} closes on {on_its_clock(now.closes)}; it was {on_its_clock(was.closes)}."
    if now.guide_version != was.guide_version:
        text = f"The guide of {now.title} has a new version, “{now.guide_version}”; read and confirm it to go on."
        yield "change the guide of the reader study", text


def tell_readers(challenge: Challenge, texts: list[str]) -> None:
    """Tell everybody who reads what has changed."""
    from isocenter.server import notices

    keys = ReaderKey.objects.filter(study__challenge=challenge, user__isnull=False, reader__withdrawn=None)
    users = [key.user for key in keys.select_related("user") if key.user is not None]
    if texts and users:
        url = reverse("reading", args=[challenge.slug])
        notices.notify(users, " ".join(texts), url=url, challenge=challenge, mail=True)
