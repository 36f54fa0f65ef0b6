"""What the site keeps.

    User ─┬─ Registration ── Challenge ── Version (challenge.toml, pages, cohort; never changed)
          ├─ Role ──────────────┤  │
          └─ Membership ─ Team ─┘  ├─ Reference (per phase, in versions)
                           │       ├─ Release (data to download)
              Access, Grant┤       ├─ Decision (a chain of hashes)
                           │       └─ Announcement, Topic, Post
                       Submission ── CaseResult ── Evaluation ──▶ Snapshot (a board at a moment)
                           │
                          Run (the queue)

    Challenge ── Study ── Reader, StudyCase ── Assignment ── CaseRead   (a reader study, under pseudonyms)

Phases are not rows: what a phase is says the version of the challenge in force, and rows name it.
"""

from isocenter.server.models.challenges import Challenge, Download, LicenceAcceptance, Reference, Release, Role, Version
from isocenter.server.models.community import (
    Announcement,
    CodeLink,
    Mail,
    Notification,
    Post,
    Subscription,
    Topic,
)
from isocenter.server.models.decisions import Decision, SiteDecision
from isocenter.server.models.outcomes import Artefact, CaseResult, Evaluation, Snapshot
from isocenter.server.models.people import (
    Access,
    AdminLink,
    Departed,
    EquityAnswers,
    Grant,
    Invitation,
    Membership,
    Registration,
    SurveyAnswers,
    Team,
    Token,
    User,
    Verification,
)
from isocenter.server.models.reading import (
    Assignment,
    CaseRead,
    Reader,
    ReaderKey,
    ReadEvent,
    Study,
    StudyCase,
)
from isocenter.server.models.submissions import Submission, Upload
from isocenter.server.models.work import Run, Worker

__all__ = [
    "Access",
    "AdminLink",
    "Announcement",
    "Artefact",
    "Assignment",
    "CaseRead",
    "CaseResult",
    "Challenge",
    "CodeLink",
    "Decision",
    "Departed",
    "Download",
    "EquityAnswers",
    "Evaluation",
    "Grant",
    "Invitation",
    "LicenceAcceptance",
    "Mail",
    "Membership",
    "Notification",
    "Post",
    "ReadEvent",
    "Reader",
    "ReaderKey",
    "Reference",
    "Registration",
    "Release",
    "Role",
    "Run",
    "SiteDecision",
    "Snapshot",
    "Study",
    "StudyCase",
    "Submission",
    "Subscription",
    "SurveyAnswers",
    "Team",
    "Token",
    "Topic",
    "Upload",
    "User",
    "Verification",
    "Version",
    "Worker",
]
