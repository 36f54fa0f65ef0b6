"""What is in a released file: folders with sizes and counts, and small tables and texts to read.

Looking at names is no download. Reading a table or a text is one, and kept.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from isocenter.server import files
from isocenter.server.models import Download, Release
from isocenter.server.pages.challenge.data import permitted
from isocenter.server.policy import Door, Visit, door
from isocenter.server.telling.released import training_of
from isocenter.submissions import Entry, Listing, printable
from isocenter.volumes import read_bytes

_ON_A_PAGE = 100
_MOST = {".csv": 256_000, ".json": 64_000, ".txt": 64_000, ".md": 64_000}
"""Bytes of what can be read here, by ending."""
_ROWS, _COLUMNS = 200, 50
_PROBLEMS = 20


@dataclass(frozen=True)
class Row:
    """A folder with the number of files below it, or a file; `shown` is its name as it may be printed."""

    name: str
    shown: str
    size: int
    files: int | None = None
    readable: bool = False


@dataclass(frozen=True)
class Table:
    """The first rows and columns of a table, and how many there are."""

    head: list[str]
    rows: list[list[str]]
    count: int
    columns: int


@door(Door.REGISTERED)
def inside(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """A folder of a release, or with `file` a table or text in it."""
    release = permitted(visit, key)
    found = training_of(visit, release)
    if found is None:
        raise Http404
    if "file" in request.GET:
        return _read(request, visit, release, found.listing)
    folder = request.GET.get("folder", "").strip("/")
    rows = rows_of(found.listing.entries, folder)
    if folder and not rows and folder not in found.listing.folders:
        raise Http404
    told = [
        (release.name if one.file == found.listing.name else one.file, one.message) for one in found.listing.problems
    ]
    return render(
        request,
        "isocenter/challenge/inside.html",
        {
            "tab": "data",
            "release": release,
            "folder": folder,
            "above": _trail(folder),
            "page": Paginator(rows, _ON_A_PAGE).get_page(request.GET.get("page")),
            "total": len(found.listing.entries),
            "size": found.listing.size,
            "cases": found.cases,
            "first": next(iter(found.cases), ""),
            "single": _is_single(release),
            "problems": told[:_PROBLEMS],
            "more": len(told) - _PROBLEMS,
        },
    )


def _is_single(release: Release) -> bool:
    """Whether the release neither is an archive nor says that it is one."""
    return not release.name.lower().endswith(".zip") and not zipfile.is_zipfile(files.at(release.file))


def rows_of(entries: Iterable[Entry], folder: str) -> list[Row]:
    """What lies directly in a folder: its folders by name, then its files."""
    before = f"{folder}/" if folder else ""
    folders: dict[str, tuple[int, int]] = {}
    found = []
    for entry in entries:
        if not entry.name.startswith(before):
            continue
        first, slash, _ = entry.name[len(before) :].partition("/")
        if slash:
            size, count = folders.get(first, (0, 0))
            folders[first] = (size + entry.size, count + 1)
        else:
            found.append(Row(entry.name, printable(first), entry.size, readable=is_readable(entry)))
    below = [Row(f"{before}{name}", printable(name), size, count) for name, (size, count) in folders.items()]
    return [*sorted(below, key=lambda row: row.name), *sorted(found, key=lambda row: row.name)]


def is_readable(entry: Entry) -> bool:
    """Whether a file can be read on a page: a small table or text."""
    return entry.size <= _MOST.get(PurePosixPath(entry.name).suffix.lower(), -1)


def _trail(folder: str) -> list[tuple[str, str]]:
    """The folders above, each with its whole name and how it is shown."""
    parts = folder.split("/") if folder else []
    return [("/".join(parts[: at + 1]), printable(part)) for at, part in enumerate(parts)]


def _read(request: HttpRequest, visit: Visit, release: Release, listing: Listing) -> HttpResponse:
    """A table or a text; who read it is kept."""
    asked = request.GET["file"]
    entry = next((one for one in listing.entries if one.name == asked), None)
    if entry is None:
        raise Http404
    table, text, why = None, "", ""
    try:
        if not is_readable(entry):
            msg = "only tables (CSV, up to 256 kB) and texts (JSON, TXT, MD, up to 64 kB) are shown here"
            raise ValueError(msg)
        suffix = PurePosixPath(entry.name).suffix.lower()
        content = read_bytes(entry.file, most=_MOST[suffix])
        words = content.decode("utf-8-sig")
        table, text = (table_of(words), "") if suffix == ".csv" else (None, text_of(words))
    except UnicodeDecodeError:
        why = "it is not written in UTF-8"
    except (OSError, ValueError) as error:
        why = printable(str(error))
    if not why and request.method == "GET":
        what = f"{release.title[:150]}: {printable(entry.name)}"[:300]
        Download.objects.create(challenge=visit.challenge, user=visit.user, what=what, size=len(content))
    return render(
        request,
        "isocenter/challenge/inside_file.html",
        {
            "tab": "data",
            "release": release,
            "name": printable(entry.name),
            "size": entry.size,
            "above": _trail(entry.name.rpartition("/")[0]),
            "table": table,
            "text": text,
            "why": why,
        },
    )


def table_of(text: str) -> Table:
    """A table separated by commas; `ValueError` if it is none."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        msg = f"it is no table: {error}"
        raise ValueError(msg) from error
    columns = max((len(row) for row in rows), default=0)
    head, *rest = rows or [[]]
    shown = [[printable(cell) for cell in row[:_COLUMNS]] for row in (head, *rest[:_ROWS])]
    return Table(shown[0], shown[1:], len(rest), columns)


def text_of(text: str) -> str:
    """A text without what a terminal would obey, or what would turn its letters round; lines and tabs stay."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else "" if letter == "\r" else "\ufffd" for letter in text
    )
