"""What a reader study gives, as a zip: after it is closed, the same bytes whenever it is asked for.

    reads.csv         what `isocenter reads` takes; the modality is the stage
    missing.csv       what was dealt to somebody and not handed in
    design.csv        who read which case as which of theirs
    readers.csv       blocks, withdrawals, and what was chosen as answers; nothing in own words
    cases.csv         blocks, truth and facts
    times.csv         seconds, and whole minutes since the study opened
    events.csv        what happened in every read
    practice.csv      reads of practice cases, which are in no other table
    stages.imrmc      for iMRMC and `isocenter mrmc`, where the truth of all cases is known
    protocol.json     settings, seed, versions, digests, balance
    SHA256SUMS        of all these files

Every read is compared with the hash that it was locked with; if one differs, there is no export.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import isocenter
from isocenter.server.models import Assignment, CaseRead, Challenge, Study
from isocenter.server.organising.versioning import Refused
from isocenter.server.reading import answering, export_tables, progress, protocol
from isocenter.server.reading.export_tables import Kept

_SHOWN = 50


def package(study: Study) -> bytes:
    """The export as a zip.

    Raises
    ------
    Refused
        The study is not closed, or reads are not as they were handed in; these are named.
    """
    stream = io.BytesIO()
    files = contents(study)
    files["SHA256SUMS"] = "".join(
        f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items())
    )
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, text.encode())
    return stream.getvalue()


def contents(study: Study) -> dict[str, str]:
    """The files by name; see `package`."""
    from isocenter.readers import reads_csv

    kept = _kept(study)
    edition = study.challenge.edition
    missing = export_tables.missing(kept)
    practice = [read for read in kept.reads if read.assignment.practice]
    found = {
        "reads.csv": reads_csv(export_tables.as_reads(kept.of_study(), "reads.csv")),
        "missing.csv": export_tables.missing_table(missing),
        "design.csv": export_tables.design(kept),
        "readers.csv": export_tables.readers(kept, edition.readers),
        "cases.csv": export_tables.cases(kept),
        "times.csv": export_tables.times(kept),
        "events.csv": export_tables.events(kept),
        "practice.csv": reads_csv(export_tables.as_reads(practice, "practice.csv")),
        "protocol.json": export_tables.as_json(_protocol(study, kept, len(missing))),
    }
    if imrmc := _imrmc(kept):
        found["stages.imrmc"] = imrmc
    return found


def reads_for_report(challenge: Challenge) -> str:
    """reads.csv for the folder that a report is made of; "" as long as there is no study, or it is not closed.

    Raises
    ------
    Refused
        Reads are not as they were handed in.
    """
    from isocenter.readers import reads_csv

    study = Study.objects.filter(challenge=challenge, closed__isnull=False).first()
    if study is None:
        return ""
    reads = export_tables.as_reads(_kept(study).of_study(), "reads.csv")
    return reads_csv(reads) if len(reads) else ""


def _kept(study: Study) -> Kept:
    """Everything that is exported, read and checked."""
    if study.closed is None:
        msg = "The study is not closed yet. Close it first: then nothing changes any more, and it can be exported."
        raise Refused(msg)
    edition, reading = study.challenge.edition, protocol.reading_of(study)
    order = {stage.name: number for number, stage in enumerate(edition.stages)}
    readers = study.readers.filter(block__isnull=False).order_by("pseudonym")
    assigned = Assignment.objects.filter(reader__study=study, reader__block__isnull=False)
    handed_in = CaseRead.objects.filter(assignment__reader__study=study, submitted__isnull=False)
    if reading.withdrawn == "drop":
        readers = readers.filter(withdrawn=None)
        assigned = assigned.filter(reader__withdrawn=None)
        handed_in = handed_in.filter(assignment__reader__withdrawn=None)
    reads = list(handed_in.select_related("assignment__reader", "assignment__case"))
    _refuse_changed(reads)
    assignments = list(assigned.select_related("reader", "case"))
    return Kept(
        stages=edition.stages,
        opens=reading.opens,
        readers=list(readers),
        cases=list(study.cases.order_by("name")),
        assignments=sorted(assignments, key=_place),
        reads=sorted(reads, key=lambda read: (*_place(read.assignment), order.get(read.stage, len(order)))),
    )


def _place(one: Assignment) -> tuple[str, bool, int]:
    return one.reader.pseudonym, not one.practice, one.position


def _refuse_changed(reads: Sequence[CaseRead]) -> None:
    """Stop where a read is not what was locked when it was handed in."""
    wrong = sorted(
        f"{read.assignment.reader.pseudonym}, {read.assignment.case.name}, {read.stage}: is not as it was handed in; "
        "its hash does not fit"
        for read in reads
        if answering.hash_of(read) != read.hash
    )
    if wrong:
        more = [f"… and {len(wrong) - _SHOWN} more reads."] if len(wrong) > _SHOWN else []
        raise Refused(
            ["Nothing was exported, as reads were changed after they were handed in.", *wrong[:_SHOWN], *more]
        )


def _imrmc(kept: Kept) -> str:
    """The scores of all stages with the truth, in the text format of iMRMC; "" if the truth is not known of all."""
    from isocenter.readers import mrmc_table
    from isocenter.stats.mrmc import imrmc_text

    positive = {case.name: case.positive for case in kept.cases if not case.practice}
    known = {name: value for name, value in positive.items() if value is not None}
    reads = export_tables.as_reads(kept.of_study(), "reads.csv")
    if len(known) < len(positive) or not len(reads):
        return ""
    return imrmc_text(mrmc_table(reads, known))


def _protocol(study: Study, kept: Kept, missing: int) -> Mapping[str, Any]:
    challenge, edition = study.challenge, study.challenge.edition
    assert challenge.version is not None
    assert edition.reading is not None
    withdrawn = study.readers.exclude(withdrawn=None).count()
    here = [reader for reader in kept.readers if reader.withdrawn is None]
    return {
        "challenge": challenge.slug,
        "title": edition.title,
        "reading": edition.reading.model_dump(mode="json"),
        "stages": [stage.model_dump(mode="json") for stage in edition.stages],
        "readers": [question.model_dump(mode="json") for question in edition.readers],
        "seed": study.seed,
        "drawn": _minute(study.drawn),
        "closed": _minute(study.closed),
        "versions": {"isocenter": isocenter.__version__, "challenge": challenge.version.number},
        "digests": {
            "cases": study.digest,
            "challenge.toml": hashlib.sha256(challenge.version.toml.encode()).hexdigest(),
        },
        "counts": {
            "cases": sum(not case.practice for case in kept.cases),
            "practice": sum(case.practice for case in kept.cases),
            "readers": len(kept.readers),
            "withdrawn": withdrawn,
            "reads": len(kept.of_study()),
            "missing": missing,
        },
        "balance": {
            "cases": progress.case_balance(study).to_dict(),
            "readers": progress.reader_balance(study, here).to_dict(),
        },
    }


def _minute(when: datetime | None) -> str:
    return "" if when is None else when.astimezone(UTC).isoformat(timespec="minutes")
