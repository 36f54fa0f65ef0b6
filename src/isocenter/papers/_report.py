"""All sections of a report in their order, and the files it is written to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from isocenter import atomic
from isocenter.editions import phase_of
from isocenter.papers import _caseless, _certainty, _closing, _opening, _patients, _subgroups
from isocenter.papers._study import Study
from isocenter.report import Report, Section, report_csvs, report_html, report_json, report_pdf

Chapter = Callable[[Study], Iterable[Section]]
"""What the report of one challenge has of its own."""


def chapter_of(challenge: str) -> Chapter | None:
    """The chapter that is registered under the name of a challenge; None if there is none."""
    for point in entry_points(group="isocenter.reports"):
        if point.name == challenge:
            found: Chapter = point.load()
            return found
    return None


def make_report(study: Study, *, command: str = "", cases: bool = True) -> Report:
    """Write all sections: the common ones, and in their midst the chapter of the challenge.

    Parameters
    ----------
    command
        How the report is made again; it is printed in it.
    cases
        Whether the results of single cases may be told. If not, all that is said of them is left out, and numbers have
        no more digits than are printed.
    """
    phase = phase_of(study.folder.edition, study.folder.phase)
    chapter, discreet = chapter_of(study.challenge.name), study.challenge.participation.discreet
    steps: list[tuple[str, Callable[[], Iterable[Section]]]] = [
        ("ranking", lambda: [_opening.card(study), _opening.rules(study)]),
        ("participation", lambda: [_opening.participation(study), _opening.results(study)]),
        ("teams", lambda: [_certainty.by_team(study)]),
        ("ranks", lambda: [_certainty.draws(study)]),
        ("other rules", lambda: [_certainty.universes(study)]),
        ("cases", lambda: [_patients.difficulty(study)]),
        ("subgroups", lambda: [_subgroups.subgroups(study)]),
        ("the challenge's own", lambda: _own(study, chapter, cases=cases)),
    ]
    if discreet:  # nothing but what the board itself shows
        del steps[2:]
    elif not cases:
        steps[2:] = [steps[3], steps[4], ("cases", lambda: [_caseless.HIDDEN]), steps[7]]
    sections: list[Section] = []
    for number, (what, write) in enumerate(steps):
        study.move(number, len(steps), what)
        sections += write()
    study.move(len(steps), len(steps), "")
    tested = any(getattr(block, "name", "") == "significance" for section in sections for block in section.blocks)
    sections.append(_closing.methods(study, command=command, tested=tested))
    if not cases:
        sections = list(_caseless.with_few_digits(sections))
    return Report(
        study.folder.edition.title,
        f"Report on the phase “{phase.title}”",
        tuple(sections),
        _closing.record(study, command=command),
    )


def _own(study: Study, chapter: Chapter | None, *, cases: bool) -> Iterable[Section]:
    """The chapter of the challenge, as far as it may be told."""
    if chapter is None or not study.main.board.rows:
        return []
    sections = chapter(study)
    return sections if cases else _caseless.without_cases(sections, set(study.main.scores["case"]) - {""})


def write_report(report: Report, folder: str | Path, *, pdf: bool = True, fonts: Sequence[Path] = ()) -> list[Path]:
    """Write report.html, report.pdf, report.json and ``data/*.csv`` into a folder; each file is whole or not there.

    What an earlier report left there, and this one does not have, is removed: it may show what must not be shown now.

    Parameters
    ----------
    fonts
        Folders of fonts for letters that the PDF's own do not have.
    """
    home = Path(folder)
    texts = {home / "data" / f"{name}.csv": text for name, text in report_csvs(report).items()}
    texts |= {home / "report.html": report_html(report), home / "report.json": report_json(report)}
    pages = report_pdf(report, fonts=fonts) if pdf else None
    for path in _former(home) - texts.keys():
        path.unlink(missing_ok=True)
    for path, text in texts.items():
        atomic.write_text(text, path)
    if pages is not None:
        with atomic.replacing(home / "report.pdf") as path:
            path.write_bytes(pages)
    return [path for path in (home / "report.html", home / "report.pdf", home / "report.json") if path.exists()]


def _former(home: Path) -> set[Path]:
    """The files of the report that lies in a folder, by what it says itself; none if there is none."""
    try:
        data = json.loads((home / "report.json").read_text("utf-8"))
        names = [block["name"] for section in data["sections"] for block in section["blocks"] if "name" in block]
    except (OSError, ValueError, LookupError, TypeError):
        return set()
    kept = [name for name in names if re.fullmatch(r"[a-z][a-z0-9-]*", str(name))]
    return {home / "report.pdf", *(home / "data" / f"{name}.csv" for name in kept)}
