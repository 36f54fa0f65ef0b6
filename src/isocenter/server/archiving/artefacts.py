"""Reports and archives: ordered by organisers, made by workers, shown to others once they are published.

    order ──▶ Run ── worker: make ──▶ DATA/artefacts/ID/ ──▶ Artefact ── published ──▶ everybody
                                        ├─ artefact.json   what it holds, and for whom it can be
                                        └─ report.html, report.pdf, report.json, data/*.csv, or archive.zip

A report has the names that boards announce, and results of single cases only where teams see theirs, unless organisers
ask for all; then it is theirs alone, published or not.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db import transaction

from isocenter.editions import Viewer, sight
from isocenter.server import clock, files
from isocenter.server.archiving.edition_folder import write_folder
from isocenter.server.boards.names_told import Names, public_visit
from isocenter.server.models import Artefact, Challenge, Run
from isocenter.server.work import queue

if TYPE_CHECKING:
    from isocenter.server.policy import Visit

_NOTE = "artefact.json"
_REPLICATES = 10_000


@dataclass(frozen=True, slots=True)
class Note:
    """What an artefact says of itself.

    Attributes
    ----------
    phases
        Whose results are in it: others see it when they are all out.
    everybody
        Whether it can be shown to others at all; if not, `why`.
    """

    phases: tuple[str, ...]
    everybody: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Shelf:
    """An artefact on a list."""

    key: UUID
    kind: str
    phase: str
    made: datetime


def order(
    visit: Visit,
    kind: str,
    phase: str = "",
    *,
    pictures: bool = False,
    all_names: bool = False,
    submissions: bool = False,
    references: bool = False,
) -> Run:
    """Have a report of a phase made, or an archive of the challenge; who orders the same twice gets one.

    Parameters
    ----------
    kind
        "report" or "archive".
    phase
        Of a report; the phase that closes last if not said.
    pictures
        Of a report: whether files are read again for pictures, agreement and ensembles, which takes long.
    all_names
        Of a report: whether all teams have their own names in it, and all cases are told.
    submissions, references
        Of an archive: whether what teams handed in, and what it is measured against, is in it.

    Raises
    ------
    PermissionDenied
        Only organisers order.
    ValueError
        There is no such kind or phase.
    """
    if not visit.organises:
        msg = "Reports and archives are made for the organisers of the challenge."
        raise PermissionDenied(msg)
    names = [known.name for known in visit.edition.phases]
    if kind not in Artefact.Kind.values or (phase and phase not in names):
        msg = f"There is no {kind} of {phase or 'the challenge'}; phases are {', '.join(names)}."
        raise ValueError(msg)
    if kind == Artefact.Kind.REPORT:
        which = phase or visit.edition.last_phase.name
        payload: dict[str, Any] = {"phase": which, "pictures": pictures, "all_names": all_names}
    else:
        payload = {"phase": "", "submissions": submissions, "references": references}
    options = "".join("y" if value is True else "n" for value in payload.values() if isinstance(value, bool))
    key = f"{kind}:{visit.challenge.pk}:{options}:{payload['phase']}"[:120]
    return queue.enqueue(kind, visit.challenge, payload=payload, key=key)


def make(run: Run) -> Artefact:
    """Make what was ordered, and finish the run; called by workers. Made again after a lost worker, it is made once.

    Raises
    ------
    LeaseLost
        Another worker has the run; nothing is kept.
    ValueError
        There is nothing to make a report of, with all reasons.
    """
    challenge = Challenge.objects.select_related("version").get(pk=run.challenge_id)
    with _place(run) as folder:
        if run.kind == Artefact.Kind.REPORT:
            note = _report(run, challenge, folder)
        else:
            from isocenter.server.archiving import archive

            note = archive.make(
                challenge,
                folder,
                submissions=bool(run.payload.get("submissions")),
                references=bool(run.payload.get("references")),
                tell=_teller(run),
            )
        said = {"phases": list(note.phases), "everybody": note.everybody, "why": note.why}
        (folder / _NOTE).write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        queue.beat(run)  # whoever lost the lease must not replace what another worker made
        home = files.at(f"artefacts/{run.pk}")
        shutil.rmtree(home, ignore_errors=True)
        folder.rename(home)
    with transaction.atomic():
        queue.finish(run)
        made, _ = Artefact.objects.update_or_create(
            id=run.pk,
            defaults={
                "challenge": challenge,
                "phase": run.payload.get("phase", ""),
                "kind": run.kind,
                "folder": f"artefacts/{run.pk}",
                "made": clock.now(),
            },
        )
    return made


def _report(run: Run, challenge: Challenge, folder: Path) -> Note:
    """The report of a phase, with the phases before it whose results are out.

    On a further cohort, too, if its results are out or come out with those of the phase; for organisers, on all.
    """
    from isocenter.papers import Settings, Study, make_report, open_folder, write_report
    from isocenter.server.policy import Visit

    phase, all_names = run.payload["phase"], bool(run.payload.get("all_names"))
    out = Visit(AnonymousUser(), challenge)
    phases = [known.name for known in challenge.edition.phases if known.name == phase or out.is_out(known)]
    cohorts = [
        one.name
        for known in challenge.edition.phases
        for one in known.scored[1:]
        if known.name in phases
        and (all_names or out.is_out(one) or (known.name == phase and one.results == known.results))
    ]
    cases = all_names or _shows_cases(challenge, [*phases, *cohorts])
    tell = _teller(run)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        edition = Path(scratch) / challenge.slug
        write_folder(
            challenge,
            phase,
            edition,
            phases=phases,
            names=Names(challenge, announced=not all_names, cohorts=tuple(cohorts)),
            cohorts=cohorts,
            pictures=bool(run.payload.get("pictures")),
            people=True,
            facts=cases,
            tell=tell,
        )
        found = open_folder(edition, phase=phase, facts=cases)
        study = Study(found, Settings(replicates=_REPLICATES), lambda done, total, _: tell(done, total))
        command = f"isocenter report {challenge.slug} --phase {phase} --replicates {_REPLICATES} --level 0.95 --seed 0"
        command += "" if cases else " --no-cases"
        write_report(make_report(study, command=command, cases=cases), folder)
    why = "It names all teams, also those that are not to be named, and tells all cases." if all_names else ""
    return Note((*phases, *cohorts), not all_names, why)


def _shows_cases(challenge: Challenge, phases: Iterable[str]) -> bool:
    """Whether teams see the results of every case in all phases that a report draws from, once these are out."""
    out, team = public_visit(challenge, phases).now, Viewer("participant", team="any", admitted=True)
    return all(sight(challenge.edition, name, team, out).own_cases for name in phases)


def _teller(run: Run) -> Any:
    """Tells progress to the queue, once in a second at most; raises where the lease is lost."""
    last = [0.0]

    def tell(done: int, total: int) -> None:
        if time.monotonic() - last[0] >= 1.0:
            last[0] = time.monotonic()
            queue.beat(run, done=done, total=max(total, 1))

    return tell


@contextmanager
def _place(run: Run) -> Iterator[Path]:
    """A folder to make an artefact in; what was not finished there is removed."""
    root = files.at("artefacts")
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{run.pk}-", dir=root))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def note_of(artefact: Artefact) -> Note:
    """What an artefact says of itself; one that says nothing is for nobody but the organisers."""
    try:
        said: Mapping[str, Any] = json.loads((files.at(artefact.folder) / _NOTE).read_text(encoding="utf-8"))
        return Note(tuple(said["phases"]), said["everybody"] is True, str(said["why"]))
    except FileNotFoundError:
        if artefact.kind == Artefact.Kind.REPORT and artefact.phase:  # made elsewhere, and put here by the organisers
            return Note((artefact.phase,), everybody=True)
        return Note((), everybody=False, why="It does not say what it holds.")
    except (OSError, ValueError, KeyError, TypeError):
        return Note((), everybody=False, why="It does not say what it holds.")


def may_see(visit: Visit, artefact: Artefact) -> bool:
    """Whether a visitor may see an artefact: organisers all, others what is published and tells no open secret."""
    if visit.organises:
        return True
    note = note_of(artefact)
    if not artefact.published or not note.everybody or not note.phases:
        return False
    out = {phase.name for phase in visit.scored if visit.is_out(phase)}
    return out.issuperset(note.phases)


def published(visit: Visit) -> list[Shelf]:
    """The published artefacts that a visitor may see, newest first."""
    found = Artefact.objects.filter(challenge=visit.challenge, published=True)
    titles = {phase.name: phase.title for phase in visit.phases}
    return [
        Shelf(one.pk, one.kind, titles.get(one.phase, ""), one.made)
        for one in found.order_by("-made")
        if may_see(visit, one)
    ]


def files_of(artefact: Artefact) -> list[tuple[str, int]]:
    """The files of an artefact by their names within it, with their sizes; its own note is none of them."""
    home = files.at(artefact.folder)
    found = [
        (path.relative_to(home).as_posix(), path.stat().st_size) for path in sorted(home.rglob("*")) if path.is_file()
    ]
    return [(name, size) for name, size in found if name != _NOTE]
