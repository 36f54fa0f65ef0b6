"""The decisions of an edition, in a chain that only grows.

    "" ──▶ hash 1 ──▶ hash 2 ──▶ hash 3
             ▲          ▲          ▲
         decision 1  decision 2  decision 3

Every hash is made of a decision and of the hash before it. Whoever changes, removes, inserts or exchanges a decision
must make all later hashes anew, so a last hash that was ever printed or mailed tells it. What a chain cannot tell is
that its end is cut off: give `verify` the last hash that is known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from isocenter.editions._clock import zoned

START = ""
"""The hash before the first decision."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided, and why.

    Attributes
    ----------
    what
        "publish", "disqualify", "refund", "extend", "re-evaluate", "invite" …
    subject
        Whom or what it is about: a team, a submission, a phase.
    """

    when: datetime
    actor: str
    what: str
    subject: str
    reason: str

    def __post_init__(self) -> None:
        zoned(self.when, "the moment of a decision")
        empty = [field.name for field in fields(self) if not str(getattr(self, field.name)).strip()]
        if empty:
            msg = f"a decision without {' and without '.join(empty)} cannot be recorded; say it"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision as it is kept, with its hash."""

    decision: Decision
    hash: str


def chained(previous: str, decision: Decision) -> str:
    """The hash of a decision that follows another.

    SHA-256 over the JSON list of the previous hash and the five fields, in their order, with the moment in UTC to the
    microsecond: the same for every database and time zone.

    Examples
    --------
    >>> when = datetime(2022, 11, 10, 17, tzinfo=UTC)
    >>> chained(START, Decision(when, "chair", "publish", "testing", "all cases were scored"))[:16]
    '70e02975e836cfdb'
    """
    moment = decision.when.astimezone(UTC).isoformat(timespec="microseconds")
    content = [previous, moment, decision.actor, decision.what, decision.subject, decision.reason]
    return hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()


def recorded(entries: Sequence[Entry], decision: Decision) -> Entry:
    """The entry with which a decision joins the chain."""
    return Entry(decision, chained(entries[-1].hash if entries else START, decision))


def verify(entries: Sequence[Entry], *, last: str | None = None) -> list[str]:
    """What is wrong with a chain, as sentences; nothing if it is as it was written.

    An entry is compared with the hash that stands before it, so every break is named where it is.

    Parameters
    ----------
    last
        The last hash that is known from elsewhere; it must be in the chain, which may have grown since.
    """
    problems, previous, before = [], START, None
    for number, entry in enumerate(entries, start=1):
        decision = entry.decision
        name = f"decision {number} ({decision.what} {decision.subject}, {decision.when.isoformat()})"
        if entry.hash != chained(previous, decision):
            problems.append(f"{name}: the hash does not fit; it was changed, or what stood before it")
        if before is not None and decision.when < before:
            problems.append(f"{name}: it is earlier than the decision before it ({before.isoformat()})")
        previous, before = entry.hash, decision.when
    if last is not None and last not in {START, *(entry.hash for entry in entries)}:
        problems.append(f"the hash {last} is not in the chain; decisions were removed at its end, or all were replaced")
    return problems
