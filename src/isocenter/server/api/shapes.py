"""What the API takes and gives. Moments are in UTC; what somebody may not see is null, or not there."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from ninja import Schema
from pydantic import Field

Item = TypeVar("Item")


class Page(Schema):
    """Which part of a list is wanted."""

    limit: int = Field(50, ge=1, le=200)
    offset: int = Field(0, ge=0, le=10**9)


class Part(Schema, Generic[Item]):
    """A part of a list, and how long the whole is."""

    count: int
    items: list[Item]


class Problem(Schema):
    """Something that is wrong.

    `severity` is refused, unusable, missing, warning or note. `code` says what happened, `origin` where: in the output,
    in the reference, in the evaluator or on the machine. `blame` says whose turn it is: team, organisers or machines.
    """

    severity: str
    code: str = ""
    origin: str = "output"
    case: str = ""
    file: str = ""
    message: str
    title: str = ""
    advice: str = ""
    blame: str = "team"


class Failure(Schema):
    """Why something was not done: a sentence, and what is wrong in detail."""

    detail: str
    problems: list[Problem] = Field(default_factory=list)


class Place(Schema):
    """What somebody is in a challenge."""

    slug: str
    title: str
    registration: str
    team: str
    organises: bool


class Me(Schema):
    """Who asks."""

    name: str
    email: str
    institution: str
    zone: str
    staff: bool
    challenges: list[Place]


class ChallengeLine(Schema):
    """A challenge in a list; `open` names the phases that are."""

    slug: str
    title: str
    open: list[str]
    url: str


class Cohort(Schema):
    """Further cases on which every submission to a phase is scored, by their name in addresses, as in "test.holdout".

    `out` says whether the results are.
    """

    name: str
    title: str
    visibility: str
    results: datetime
    out: bool


class Phase(Schema):
    """A phase: `state` is to come, open, closed or over, `quota` null for no limit.

    `announce` is the number of teams from the top of its boards that have their own names when the results are out; it
    is null where all have. `cohorts` are scored beside the phase's own cases.
    """

    name: str
    title: str
    state: str
    opens: datetime
    closes: datetime
    results: datetime
    admission: str
    quota: int | None
    quota_per: str
    counts: str
    visibility: str
    announce: int | None
    cohorts: list[Cohort]


class Question(Schema):
    """A question that is asked with every submission."""

    name: str
    label: str
    help: str
    kind: str
    choices: list[str]
    required: bool


class Challenge(Schema):
    """A challenge, as far as who asks knows it."""

    slug: str
    title: str
    organisers: list[str]
    contact: str
    website: str
    phases: list[Phase]
    declarations: list[Question]
    terms: str
    url: str


class Section(Schema):
    """A part of the rules; blocks are of the kinds text, items, lines, facts, grid and fold."""

    name: str
    title: str
    blocks: list[dict[str, Any]]


class BoardLine(Schema):
    """A board that who asks may see something of."""

    phase: str
    board: str
    main: bool
    url: str


class Snapshot(Schema):
    """A board as it was from a moment on; the version is that of its permanent address."""

    made: datetime
    version: str
    url: str


class Release(Schema):
    """Data to download; `whys` says what is in the way."""

    key: UUID
    title: str
    text: str
    phase: str
    name: str
    size: int
    sha256: str
    licence: str
    licence_accepted: bool
    available: bool
    opens: datetime | None
    whys: list[str]
    url: str


class Registration(Schema):
    """Whether who asks takes part: none, waiting, accepted, refused or withdrawn."""

    state: str
    made: datetime | None
    terms_version: str
    terms_accepted: datetime | None


class Member(Schema):
    """A person of a team."""

    name: str
    leads: bool


class Team(Schema):
    """The own team."""

    name: str
    kind: str
    disqualified: bool
    consents: bool
    members: list[Member]


class Quota(Schema):
    """What the own team may still hand in; `left` null for any number."""

    phase: str
    admitted: bool
    reason: str
    left: int | None
    next_slot: datetime | None
    used: int
    given_back: int
    words: str


class Upload(Schema):
    """A file on its way; see /uploads/."""

    id: UUID
    challenge: str
    phase: str
    purpose: str
    name: str
    size: int
    received: int
    sha256: str
    made: datetime
    taken: bool
    url: str


class Handed(Schema):
    """What is handed in: a finished upload, and answers to the declarations by their names."""

    upload: UUID
    declarations: dict[str, Any] = Field(default_factory=dict)
    comment: str = Field("", max_length=2000)
    again: bool = Field(default=False, description="The same file may have been handed in before.")
    gaps: bool = Field(default=False, description="Cases without a usable output count as the rules say.")


class Score(Schema):
    """What a submission reaches on a board by itself, with the decimals that may be seen."""

    board: str
    metric: str
    better: str
    value: str


class CohortScores(Schema):
    """What a submission reaches on a further cohort, as in "test.holdout"; only of those that may be seen."""

    cohort: str
    scores: list[Score]


class Reason(Schema):
    """Why a submission came to nothing: a code with its origin, in words; `cost` is a sentence, or empty."""

    code: str
    origin: str
    title: str
    advice: str
    blame: str
    cost: str


class Submission(Schema):
    """A submission."""

    id: UUID
    number: int
    team: str
    phase: str
    made: datetime
    author: str
    name: str
    size: int
    sha256: str
    comment: str
    state: str
    reason: Reason | None
    nominated: bool
    scores: list[Score]
    cohorts: list[CohortScores]
    problems: int
    url: str


class Progress(Schema):
    """How far a submission is. `position` counts the submissions that one may know of, 0 does not wait."""

    position: int
    done: int
    total: int
    wait_seconds: int | None
    note: str


class SubmissionDetail(Submission):
    """A submission with what becomes of it, and why it would not count."""

    declarations: dict[str, Any] | None
    progress: Progress | None
    void: list[str]
    hidden: str


class Accepted(SubmissionDetail):
    """A submission that was taken, and what is left of the quota."""

    quota: Quota


class Value(Schema):
    """A number of a case; null where it could not be measured."""

    part: str
    metric: str
    value: float | None


class Case(Schema):
    """What was measured of a case."""

    case: str
    scores: list[Value]


class Worker(Schema):
    """A process that works the queue."""

    name: str
    queue: str
    version: str
    started: datetime
    seen: datetime
    alive: bool


class Health(Schema):
    """Workers, and how many runs there are by state."""

    workers: list[Worker]
    queued: int
    running: int
    oldest_queued: datetime | None
