"""A challenge as far as somebody knows it: without the phases that are not announced to them, and without their traces.

    the edition ── limited ──▶ the same without some phases, and without what there is to win in them
    its versions ── history ──▶ those in which something changed that the visitor may know

Numbers that count rows would have gaps where something is hidden, so addresses have keys that count nothing.
"""

from __future__ import annotations

import difflib
import hashlib
import hmac
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from isocenter.editions import Bonus, Edition, EditionError, Payout, Phase, Prize, parse, render

if TYPE_CHECKING:
    from isocenter.server.models import Challenge, Version
    from isocenter.server.policy import Visit

_CONTEXT = 3


def limited(edition: Edition, known: Collection[str]) -> Edition:
    """The edition with some of its phases only, as if there were no others.

    Prizes, bonuses and payouts of the others go with them, also those that name no phase and so belong to the one that
    closes last. A phase that another one leads to, of which nobody may know, is by invitation of the organisers, as
    `isocenter.editions.barred` says too.
    """
    if all(phase.name in known for phase in edition.phases):
        return edition
    last = edition.last_phase.name

    def stays(entry: Prize | Bonus | Payout) -> bool:
        return (entry.phase or last) in known

    return edition.model_copy(
        update={
            "phases": tuple(_alone(phase, known) for phase in edition.phases if phase.name in known),
            "prizes": tuple(filter(stays, edition.prizes)),
            "bonuses": tuple(filter(stays, edition.bonuses)),
            "payout": edition.payout if edition.payout is not None and stays(edition.payout) else None,
        }
    )


def _alone(phase: Phase, known: Collection[str]) -> Phase:
    changes: dict[str, object] = {}
    if phase.after is not None and phase.after not in known:
        changes = {"admission": "invited", "after": None, "top": None}
    if phase.continues is not None and phase.continues not in known:
        changes["continues"] = None
    return phase.model_copy(update=changes) if changes else phase


def known_edition(visit: Visit) -> Edition:
    """The edition in force as far as the visitor knows it."""
    return limited(visit.edition, [phase.name for phase in visit.phases])


def key_of(challenge: Challenge, kind: str, number: int) -> str:
    """The key of a row in addresses: always the same, and no hint of how many rows there are before it."""
    made = hmac.new(bytes(challenge.salt), f"{kind} {number}".encode(), hashlib.sha256)
    return f"{kind[0]}{made.hexdigest()[:12]}"


@dataclass(frozen=True)
class DiffLine:
    """A line of a difference: "add", "del", "at" (where it is) or "" for one that stayed."""

    kind: str
    text: str


@dataclass(frozen=True)
class Change:
    """What changed in a document."""

    name: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True)
class Edited:
    """A version as the visitor may see it, and what changed in it since the one that they saw before."""

    version: Version
    key: str
    documents: dict[str, str]
    changes: tuple[Change, ...]


def history(visit: Visit) -> list[Edited]:
    """The versions of a challenge, the newest first, without those in which the visitor would see no change.

    A phase of an old version is there only if it is one that the visitor knows of now: what was planned and given up
    before anybody heard of it stays unknown. So do the drafts from before the challenge was published.
    """
    known = None if visit.organises else tuple(phase.name for phase in visit.phases)
    found: list[Edited] = []
    before: dict[str, str] = {}
    for version in _public(visit):
        documents = _documents(version, known)
        if found and documents == before and not visit.organises:
            continue
        key = key_of(visit.challenge, "version", version.number)
        changes = tuple(_changes(before, documents)) if found else ()
        found.append(Edited(version, key, documents, changes))
        before = documents
    return found[::-1]


def _public(visit: Visit) -> list[Version]:
    """All versions for organisers; for others, from the one on that was in force when the challenge was published."""
    every = list(visit.challenge.versions.order_by("number"))
    if visit.organises:
        return every
    when = visit.challenge.decisions.filter(what="publish", subject=visit.challenge.slug).order_by("-number").first()
    drafts = [version for version in every if when is not None and version.made <= when.when][:-1]
    return every[len(drafts) :]


def _documents(version: Version, known: tuple[str, ...] | None) -> dict[str, str]:
    """The texts of a version by name."""
    pages = {f"Page: {page.get('title') or page['name']}": page["text"] for page in version.pages}
    return {"challenge.toml": _rendered(version.toml, known), **pages}


@lru_cache(maxsize=128)
def _rendered(toml: str, known: tuple[str, ...] | None) -> str:
    """A `challenge.toml` as the model writes it: comments of organisers are theirs, and phases only those known."""
    try:
        edition = parse(toml)
    except EditionError:  # an old version that today's model does not read: its phases cannot be told apart
        return toml if known is None else ""
    return render(edition if known is None else limited(edition, known))


def _changes(before: dict[str, str], after: dict[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys([*after, *before]):
        old, new = before.get(name, "").splitlines(), after.get(name, "").splitlines()
        _, _, *lines = list(difflib.unified_diff(old, new, n=_CONTEXT, lineterm="")) or ("", "")
        if lines:
            yield Change(name, tuple(map(_line, lines)))


def _line(line: str) -> DiffLine:
    if line.startswith("@@"):
        return DiffLine("at", "…")
    return DiffLine({"+": "add", "-": "del"}.get(line[:1], ""), line)
