"""What an archive says in words, and who is called what in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.db.models import Q

from isocenter.editions import audit, split_cohort
from isocenter.server import decisions
from isocenter.server.archiving.edition_folder import Listed
from isocenter.server.models import Challenge, Role, User

_SITE = "the site"
_ADDRESS = re.compile(r"[^\s@,;:<>()\"']+@[^\s@,;:<>()\"']+")


class Pseudonyms:
    """People of a challenge without their names: "organiser 1", "person 3"; always the same one for the same person."""

    def __init__(self, challenge: Challenge) -> None:
        meant = (
            Q(roles__challenge=challenge)
            | Q(registrations__challenge=challenge)
            | Q(memberships__challenge=challenge)
            | Q(is_staff=True)
            | Q(pk__in=challenge.versions.values("author"))
        )
        organisers = set(challenge.roles.filter(kind=Role.Kind.ORGANISER).values_list("user_id", flat=True))
        self._of: dict[str, str] = {}
        for user in User.objects.filter(meant).distinct().order_by("pk"):
            kind = "organiser" if user.pk in organisers or user.is_staff else "person"
            pseudonym = self._next(kind)
            for text in filter(None, (user.email, user.name, str(user))):
                self._of.setdefault(text.casefold(), pseudonym)
        teams = {name.casefold() for name in challenge.teams.values_list("name", flat=True)}
        names = sorted((text for text in self._of if text not in teams), key=len, reverse=True)
        words = "|".join(map(re.escape, names))
        self._named = re.compile(rf"(?<!\w)(?:{words})(?!\w)" if words else r"(?!)", re.IGNORECASE)

    def _next(self, kind: str) -> str:
        taken = {name for name in self._of.values() if name.startswith(kind)}
        return f"{kind} {len(taken) + 1}"

    def actor(self, name: str) -> str:
        """Who did something, by the address that is kept with the name."""
        if name == _SITE:
            return name
        address = name.rpartition("<")[2].rstrip(">").casefold()
        if address not in self._of:
            self._of[address] = self._next("person")
        return self._of[address]

    def text(self, text: str) -> str:
        """A text without the names and addresses of people; those of teams stay."""
        named = self._named.sub(lambda found: self._of[found[0].casefold()], text)
        return _ADDRESS.sub("(address)", named)


def chain(challenge: Challenge, people: Pseudonyms) -> Iterator[dict[str, Any]]:
    """The decisions without names of people, in a chain of their own; `hash_on_site` is what the site has."""
    before = audit.START
    for number, entry in enumerate(decisions.entries(challenge), start=1):
        known = entry.decision
        told = audit.Decision(
            known.when, people.actor(known.actor), known.what, people.text(known.subject), people.text(known.reason)
        )
        before = audit.chained(before, told)
        yield {
            "number": number,
            "when": told.when.isoformat(),
            "actor": told.actor,
            "what": told.what,
            "subject": told.subject,
            "reason": told.reason,
            "hash": before,
            "hash_on_site": entry.hash,
        }


def readme(
    challenge: Challenge,
    home: Path,
    receipts: Sequence[tuple[str, str]],
    found: Sequence[Listed],
    *,
    submissions: bool,
    references: bool,
) -> str:
    """How to make everything again."""
    import isocenter

    edition = challenge.edition
    verify = [
        shlex.join(
            [
                *("isocenter", "verify", f"boards/{phase}/{board}/receipt.json", "--scores", _scores_of(phase)),
                *(("--run-times", times) if (times := _run_times(challenge, home, phase)) else ()),
            ]
        )
        for phase, board in receipts
    ]
    with_scores = [p.name for p in edition.phases if any(one.submission.phase == p.name for one in found)]
    ranks = [_rank(phase, found, _run_times(challenge, home, phase)) for phase in with_scores]
    reports = [f"isocenter report . --phase {phase} --out report-{phase}" for phase in with_scores]
    parts = [
        edition.title,
        "=" * len(edition.title),
        "",
        "This is the archive of a challenge. It needs isocenter and no network:",
        "",
        f"    pip install isocenter=={isocenter.__version__}",
        "",
        "Versions of all that the boards were made with are in software.json; other versions may differ in the last",
        "digits. Type the commands in the folder in which this file is.",
        "",
        "Whether the boards are those that were published:",
        "",
        *_indented(verify or ["(no board has a receipt)"]),
        "",
        "A board that was published earlier is in boards/PHASE/BOARD/history.jsonl, one line each, with its receipt.",
        "Tables that only earlier boards were made of are in former/: write --scores . to find them too.",
        "",
        "The main board of every phase anew, by the rules of challenge.toml (--board names another):",
        "",
        *_indented(ranks or ["(nothing was scored)"]),
        "",
        "The report of a phase:",
        "",
        *_indented(reports or ["(nothing was scored)"]),
        "",
        "What is in it",
        "-------------",
        "",
        "challenge.toml     the rules in force; versions/ has all earlier ones, with pages and cohorts",
        "submissions.csv    every scored submission, with its table in scores/; void ones do not count",
        *(
            ["cohorts/           the same submissions on further cohorts, each with its own scores/; reports show both"]
            if any(one.cohorts for one in found)
            else []
        ),
        "boards/            every board: as it is, with its receipt, and as it was",
        "decisions.jsonl    what the organisers decided and why. Each line has a hash of itself and of the hash before",
        "                   it. People are called organiser 1, person 2, …; hash_on_site is the hash with their names",
        "people.json        who took part, in numbers; small ones are put together",
        *(["submissions/       what teams handed in"] if submissions else []),
        *(["reference/         what it was measured against, by phase"] if references else []),
        "",
        "Teams have their own names here, also those that no board named. Think of it before you hand this on.",
        "",
    ]
    return "\n".join(parts)


def _scores_of(phase: str) -> str:
    """Where the score tables of a phase lie, or those on a further cohort of it."""
    cohort = split_cohort(phase)[1]
    return f"cohorts/{cohort}/scores" if cohort else "scores"


def _rank(phase: str, found: Sequence[Listed], run_times: str) -> str:
    """The command that ranks the submissions of a phase."""
    mine = [one for one in found if one.submission.phase == phase]
    tables = [f"{one.submission.team.name}{f'@{one.time}' if one.time else ''}={one.table}" for one in mine]
    options = [
        part
        for one in mine
        for flag, said in (("--void", one.void), ("--chosen", one.chosen))
        if said
        for part in (flag, f"{one.submission.team.name}={one.table}")
    ]
    kinds = dict.fromkeys((one.submission.team.name, str(one.submission.team.kind)) for one in mine)
    for name, kind in kinds:
        if kind in ("organiser", "benchmark"):
            options += [f"--{kind}", name]
    if run_times:
        options += ["--run-times", run_times]
    return shlex.join(["isocenter", "rank", "challenge.toml", "--phase", phase, *options, *tables])


def _run_times(challenge: Challenge, home: Path, phase: str) -> str:
    """The file of metered run times of a phase; "" if there is none."""
    name = "run_times.csv" if phase == challenge.edition.last_phase.name else f"run_times-{phase}.csv"
    return name if (home / name).exists() else ""


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
