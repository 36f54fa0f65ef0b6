"""The archive of a challenge: a zip that replays offline, with isocenter and nothing else.

    README.txt                    what to type
    challenge.toml                in force, and
    versions/N/                   every version with its pages and cohort
    submissions.csv, scores/      all score tables in force; former/ has those before
    cohorts/NAME/scores/          the same submissions on a further cohort of their phase
    boards/PHASE/BOARD/           board.json, receipt.json, history.jsonl
    decisions.jsonl               what was decided and why, as a chain of hashes
    reads.csv                     what readers said, under pseudonyms, once their study is closed
    people.json                   who took part, in numbers that single out nobody
    software.json                 the versions that made the boards
    reference/, submissions/      if the organisers want them in it

Teams are there by their names, and nobody else is: no name or address of a person, no token, nothing that was answered
in own words.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from isocenter.editions import Tally, name_on_cohort, split_cohort, tally
from isocenter.server import boards, files
from isocenter.server.archiving.archive_words import Pseudonyms, chain, readme
from isocenter.server.archiving.artefacts import Note
from isocenter.server.archiving.edition_folder import Listed, Tell, write_folder
from isocenter.server.boards.names_told import Names
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, EquityAnswers, Evaluation, Registration, Snapshot
from isocenter.server.people.equity import is_over
from isocenter.server.work.in_force import reference_of

NAME = "archive.zip"


def make(
    challenge: Challenge,
    folder: Path,
    *,
    submissions: bool = False,
    references: bool = False,
    tell: Tell = lambda _done, _total: None,
) -> Note:
    """Write the archive into a folder, and say what it holds.

    Everything passes over the disk: neither a table of all submissions nor a file of one is ever whole in memory.
    """
    phases = [phase.name for phase in challenge.edition.phases]
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        home = Path(scratch)
        found = write_folder(
            challenge,
            challenge.edition.last_phase.name,
            home,
            phases=phases,
            names=Names(challenge, announced=False),
            tell=tell,
        )
        _write_versions(challenge, home / "versions")
        _write_former(challenge, {key for one in found for key in one.tables.values()}, home / "former")
        scored = [phase.name for phase in challenge.edition.scored]
        receipts = _write_boards(challenge, scored, home / "boards")
        lines = chain(challenge, Pseudonyms(challenge))
        (home / "decisions.jsonl").write_text("".join(_line(one) for one in lines), encoding="utf-8")
        _write_json(home / "people.json", _people(challenge))
        _write_json(home / "software.json", _software(challenge))
        text = readme(challenge, home, receipts, found, submissions=submissions, references=references)
        (home / "README.txt").write_text(text, encoding="utf-8")
        extra = [
            *(_handed_in(found) if submissions else ()),
            *(_measured_against(challenge, scored) if references else ()),
        ]
        _zip(home, extra, folder / NAME, root=challenge.slug, tell=tell)
    # Scores of every case, submissions that do not count, teams that no board lists, reasons of decisions.
    return Note(tuple(phases), everybody=False, why="It holds what no board shows; hand it on with care.")


def _write_versions(challenge: Challenge, home: Path) -> None:
    for version in challenge.versions.order_by("number"):
        place = home / str(version.number)
        (place / "pages").mkdir(parents=True)
        (place / "challenge.toml").write_text(version.toml, encoding="utf-8")
        for number, page in enumerate(version.pages, start=1):
            # The names of pages are addresses, but nothing that was sent decides where a file lies.
            (place / "pages" / f"{number:02d}.md").write_text(page.get("text", ""), encoding="utf-8")
        titles = [
            {"file": f"{number:02d}.md", "name": page.get("name"), "title": page.get("title")}
            for number, page in enumerate(version.pages, start=1)
        ]
        about = {"number": version.number, "made": version.made.isoformat(), "pages": titles, "cohort": version.cohort}
        _write_json(place / "version.json", about)


def _write_former(challenge: Challenge, in_force: set[int], home: Path) -> None:
    """Tables under earlier references and evaluators, which earlier boards were made of."""
    keys = Evaluation.objects.filter(submission__challenge=challenge).exclude(pk__in=in_force)
    names = ("pk", "submission_id", "submission__phase", "reference__phase")
    for key, submission, phase, measured_against in keys.order_by("pk").values_list(*names):
        cohort = split_cohort(measured_against)[1]
        path = home / (name_on_cohort(phase, cohort) if cohort else phase) / f"{submission}-{key}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(Evaluation.objects.values_list("table", flat=True).get(pk=key)))


def _write_boards(challenge: Challenge, phases: Sequence[str], home: Path) -> list[tuple[str, str]]:
    """Every board with its past; which of them have a receipt, by phase and name."""
    assert challenge.version_id is not None
    found = []
    for phase in phases:
        for board in code_of(challenge.version_id, phase).boards:
            of_board = Snapshot.objects.filter(challenge=challenge, phase=phase, board=board, problem="")
            last = of_board.order_by("-made").first()
            if last is None:
                continue
            place = home / phase / board
            place.mkdir(parents=True)
            _write_json(place / "board.json", boards.thaw(last.content).to_dict())
            with (place / "history.jsonl").open("w", encoding="utf-8") as stream:
                for one in of_board.order_by("made").iterator(chunk_size=20):
                    about = {"made": one.made.isoformat(), "version": one.version.number, "digest": one.digest}
                    leaders = {"leaders": one.leaders} if one.leaders else {}
                    stream.write(_line(about | {"board": one.content, "receipt": one.receipt} | leaders))
            if last.receipt:
                text = json.dumps(last.receipt, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
                (place / "receipt.json").write_text(text, encoding="utf-8")
                found.append((phase, board))
    return found


def _people(challenge: Challenge) -> dict[str, Any]:
    """Who took part, by question, small numbers together; on equity only when no more people can come."""
    edition = challenge.edition
    accepted = Registration.objects.filter(challenge=challenge, state=Registration.State.ACCEPTED)
    answers = list(accepted.values_list("answers", flat=True))
    told: dict[str, Any] = {
        "people": len(answers),
        "teams": challenge.teams.filter(kind="team").count(),
        "registration": [_tallied(one) for one in tally(answers, edition.registration)] if answers else [],
    }
    released = list(EquityAnswers.objects.filter(challenge=challenge, pending=False).values_list("answers", flat=True))
    if released and is_over(challenge):
        told["equity"] = [_tallied(one) for one in tally(released, edition.equity)]
    return told


def _tallied(one: Tally) -> dict[str, Any]:
    if one.withheld:
        return {"question": one.label, "withheld": "too few people"}
    return {"question": one.label, "people": one.people, "answers": dict(one.shown), "any other answer": one.rest}


def _software(challenge: Challenge) -> dict[str, Any]:
    from isocenter.ranking import software_versions

    evaluators = Evaluation.objects.filter(submission__challenge=challenge).values_list("evaluator", flat=True)
    return {"archive": software_versions(), "evaluators": sorted(set(evaluators))}


def _handed_in(found: Sequence[Listed]) -> Iterator[tuple[Path, str]]:
    for one in found:
        path = files.at(one.submission.file)
        if path.is_file():
            yield path, f"submissions/{one.submission.pk}.zip"


def _measured_against(challenge: Challenge, phases: Sequence[str]) -> Iterator[tuple[Path, str]]:
    for phase in phases:
        reference = reference_of(challenge, phase)
        if reference is None:
            continue
        home = files.at(reference.folder)
        for path in sorted(home.rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield path, f"reference/{phase}/{path.relative_to(home).as_posix()}"


def _zip(home: Path, extra: Sequence[tuple[Path, str]], out: Path, *, root: str, tell: Tell) -> None:
    """All files below one folder of the name of the challenge; in the order of their names, as of no particular day."""
    own = [(path, path.relative_to(home).as_posix()) for path in sorted(home.rglob("*")) if path.is_file()]
    every = [*own, *extra]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for number, (path, name) in enumerate(every):
            tell(number, len(every))
            info = zipfile.ZipInfo(f"{root}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            packed = name.endswith((".zip", ".gz", ".parquet"))
            info.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            info.file_size = path.stat().st_size  # beyond 2 GB the headers are others
            with path.open("rb") as source, archive.open(info, "w", force_zip64=info.file_size > 1 << 30) as target:
                while piece := source.read(1 << 20):
                    target.write(piece)
    tell(len(every), len(every))


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n", encoding="utf-8")


def _line(content: object) -> str:
    return json.dumps(content, ensure_ascii=False) + "\n"
