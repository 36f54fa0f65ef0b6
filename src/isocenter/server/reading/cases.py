"""Cases of a reader study, brought by organisers as a zip: checked as a whole, and put in place as a whole.

    cases.csv      see `case_table`
    PCA001/        its scans by the names that stages show, see `case_files`

One folder around everything is forgiven. Whatever is wrong, nothing of what was there before is touched.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from isocenter.server import decisions, files
from isocenter.server.models import Study, StudyCase, User
from isocenter.server.organising.refereeing import reasoned
from isocenter.server.organising.unpacking import copy_all, digest_of, nursery_in
from isocenter.server.organising.versioning import Refused
from isocenter.server.reading import case_files, case_table, protocol
from isocenter.server.reading.case_files import Scan
from isocenter.server.reading.case_table import CaseRow, CaseTable
from isocenter.submissions import Entry, Listing, is_junk, list_files, printable
from isocenter.volumes import Grid, read_bytes

_INFLATED = 10  # times the largest upload: what a zip may become
_SHOWN = 200
_DRAWN = "Cases are dealt to readers already, so they cannot be replaced."


def bring(study: Study, path: str | os.PathLike[str], *, user: User, reason: str) -> int:
    """Put the cases of a zip, or of a folder, in the place of those before; gives how many there are.

    Readers who have practised already practise again, with the new cases.

    Raises
    ------
    Refused
        With everything that is wrong; nothing was changed.
    """
    reason = reasoned(reason)
    reading, stages = protocol.reading_of(study), study.challenge.edition.stages
    if study.drawn is not None:
        raise Refused(_DRAWN)
    listing = _listed(Path(path))
    table = _table(listing)
    cases = list(dict.fromkeys(row.name for row in table.rows))  # what is there twice is said once
    names = list(dict.fromkeys(name for stage in stages for name in stage.images))
    scans, problems = case_files.find_scans(listing.entries, cases, names)
    practice = sum(row.practice for row in table.rows)
    problems = [
        *table.problems,
        *case_table.lacking(reading, facts=table.facts, cases=len(cases) - practice, practice=practice),
        *problems,
    ]
    grids, wrong = case_files.look_at(scans)
    if problems := problems + wrong:
        more = len(problems) - _SHOWN
        raise Refused(problems[:_SHOWN] + ([f"… and {more:,} more problems."] if more > 0 else []))
    _place(study, listing, table, scans, grids, user=user, reason=reason)
    return len(cases)


def _listed(path: Path) -> Listing:
    """What the zip holds, without the folder around everything."""
    listing = list_files(path, trusted=path.is_dir())
    problems = [f"{printable(p.file)}: {p.message}" for p in listing.problems if p.severity == "refused"]
    place = files.at("studies")
    place.mkdir(parents=True, exist_ok=True)
    most = min(_INFLATED * settings.MOST_UPLOAD_BYTES, shutil.disk_usage(place).free)
    if not problems and listing.size > most:
        problems.append(f"{printable(path.name)}: {listing.size:,} bytes are more than there is room for")
    if problems:
        raise Refused(problems)
    kept = [entry for entry in listing.entries if not is_junk(entry.name)]
    tops = {entry.name.split("/")[0] for entry in kept}
    if len(tops) == 1 and f"{(top := tops.pop())}/{case_table.NAME}" in {entry.name for entry in kept}:
        kept = [replace(entry, name=entry.name.removeprefix(f"{top}/")) for entry in kept]
    return Listing(listing.name, tuple(kept))


def _table(listing: Listing) -> CaseTable:
    entry = _entry(listing)
    if entry.size > case_table.MOST_BYTES:
        msg = f"{case_table.NAME}: has {entry.size:,} bytes; at most {case_table.MOST_BYTES:,} are read"
        raise Refused(msg)
    try:
        return case_table.read_cases(read_bytes(entry.file, most=case_table.MOST_BYTES))
    except (OSError, ValueError) as error:
        msg = f"{case_table.NAME}: cannot be read: {error}"
        raise Refused(msg) from None


def _entry(listing: Listing) -> Entry:
    found = [entry for entry in listing.entries if entry.name == case_table.NAME and not entry.trouble]
    if not found:
        msg = f"{printable(listing.name)}: has no {case_table.NAME}; expected one beside the folders of cases"
        raise Refused(msg)
    return found[0]


def _place(
    study: Study,
    listing: Listing,
    table: CaseTable,
    scans: dict[str, list[Scan]],
    grids: dict[tuple[str, str], Grid],
    *,
    user: User,
    reason: str,
) -> None:
    """Write the files beside their place, and then rows and folder in one step."""
    home = f"studies/{study.challenge.slug}"
    wanted = (_entry(listing), *(scan.entry for every in scans.values() for scan in every))
    with nursery_in(home) as nursery:
        copy_all(Listing(listing.name, wanted), nursery / "cases")
        digest = digest_of(nursery / "cases")
        place = f"{home}/{digest}"
        placed = False
        try:
            with transaction.atomic():
                locked = Study.objects.select_for_update().get(pk=study.pk)
                if locked.drawn is not None:
                    raise Refused(_DRAWN)
                if locked.folder == place:
                    msg = "These are the cases that are there already; nothing was changed."
                    raise Refused(msg)
                old, locked.folder, locked.digest = locked.folder, place, digest
                locked.save(update_fields=["folder", "digest"])
                locked.cases.all().delete()
                StudyCase.objects.bulk_create(
                    _case(locked, row, {scan.name: _image(scan, grids) for scan in scans[row.name]})
                    for row in table.rows
                )
                practice = sum(row.practice for row in table.rows)
                subject = f"{len(table.rows) - practice} cases and {practice} to practise, {digest[:12]}"
                decisions.record(study.challenge, user, "bring the cases of the reader study", subject, reason)
                target = files.at(place)
                shutil.rmtree(target, ignore_errors=True)  # no row names it: what is there was left by a crash
                os.replace(nursery / "cases", target)
                placed = True
                if old:
                    transaction.on_commit(lambda: shutil.rmtree(files.at(old), ignore_errors=True), robust=True)
        except BaseException:
            if placed:
                shutil.rmtree(files.at(place), ignore_errors=True)
            raise
    study.refresh_from_db(fields=["folder", "digest"])


def _case(study: Study, row: CaseRow, images: dict[str, Any]) -> StudyCase:
    return StudyCase(
        study=study,
        name=row.name,
        practice=row.practice,
        positive=row.positive,
        facts=dict(row.facts),
        images=images,
    )


def _image(scan: Scan, grids: dict[tuple[str, str], Grid]) -> dict[str, Any]:
    grid = grids[scan.case, scan.name]
    return {
        "file": scan.entry.name,
        "shape": list(grid.shape),
        "spacing": list(grid.spacing),
        "origin": list(grid.origin),
        "direction": list(grid.direction),
    }


def unfit(study: Study) -> list[str]:
    """Why the cases that are there do not do any more, as challenge.toml was changed since; empty if they do."""
    reading, stages = protocol.reading_of(study), study.challenge.edition.stages
    names = {name for stage in stages for name in stage.images}
    every = list(study.cases.order_by("name"))
    practice = sum(one.practice for one in every)
    facts = sorted({name for one in every for name in one.facts})
    problems = list(case_table.lacking(reading, facts=facts, cases=len(every) - practice, practice=practice))
    for one in every:
        if gone := sorted(names - set(one.images)):
            problems.append(f"{one.name}: has no {', '.join(gone)}, which a stage shows; bring the cases again")
    return problems
