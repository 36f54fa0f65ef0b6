"""A challenge as a folder, or as a zip of it: what it is made of, read with distrust and written without loss.

challenge.toml      phases, dates, quotas, policies, forms
pages/NAME.md       pages in Markdown; the title of one is its first heading
pages/pages.csv     their order and titles (`name`, `title`), where names and headings do not tell them
cohort.csv          the manifest of cases: `phase`, `case`, and whatever else is said of a case

What is read and written again has the same bytes. Anything else in the folder is left alone.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from isocenter.submissions import Entry, list_files, printable
from isocenter.volumes import read_bytes

TOML, COHORT, ORDER = "challenge.toml", "cohort.csv", "pages/pages.csv"
_MOST_BYTES = {".toml": 1_000_000, ".md": 2_000_000, ".csv": 20_000_000}
_MOST_PAGES = 100
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
_LONGEST_TITLE = 120


class Page(TypedDict):
    """A page that the organisers wrote."""

    name: str
    title: str
    text: str


@dataclass(frozen=True)
class Bundle:
    """What a folder holds."""

    toml: str
    pages: tuple[Page, ...] = ()
    cohort: tuple[dict[str, str], ...] = ()


class BundleError(ValueError):
    """A folder or zip that is no challenge; `problems` has all that was found, each as a sentence.

    `toml` is its `challenge.toml`, where that can be read: it may have problems of its own.
    """

    def __init__(self, problems: Sequence[str], *, toml: str | None = None) -> None:
        super().__init__("\n".join(problems))
        self.problems, self.toml = list(problems), toml


def read(path: Path) -> Bundle:
    """Read a folder or a zip. Nothing is extracted; names, sizes and encodings are checked first.

    What the `challenge.toml` says is not looked at here; see `versioning.checked`.

    Raises
    ------
    BundleError
        With everything that is wrong.
    """
    listing = list_files(path)
    problems = [f"{p.file}: {p.message}" for p in listing.problems if p.severity == "refused"]
    if problems:
        raise BundleError(problems)
    wanted, texts = _wanted(listing.entries), {}
    if TOML not in wanted:
        problems.append(f"{printable(path.name)}: there is no {TOML} in it, at the top or in one folder")
    if len(wanted) > _MOST_PAGES + 3:
        problems.append(f"{len(wanted)} pages; at most {_MOST_PAGES} are read")
    for name, entry in wanted.items() if not problems else ():
        try:
            texts[name] = _text(entry)
        except (OSError, ValueError) as error:
            problems.append(f"{printable(name)}: {error}")
    pages, wrong = _pages(texts)
    cohort, wrong_rows = _table(texts.get(COHORT, ""), COHORT, ("phase", "case"))
    problems += [*wrong, *wrong_rows, *_twice(cohort)]
    if problems:
        raise BundleError(problems, toml=texts.get(TOML))
    return Bundle(texts[TOML], tuple(pages), tuple(cohort))


def zipped(bundle: Bundle) -> bytes:
    """The bundle as a zip, with the same bytes for the same bundle."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _files(bundle).items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, text.encode())
    return stream.getvalue()


def page_problems(name: str, title: str, text: str) -> list[str]:
    """What keeps a page from being one."""
    problems = []
    if not _NAME.fullmatch(name):
        problems.append(f"a page is named in lower-case letters, digits, - and _, not {printable(name)!r}")
    if not title.strip() or len(title) > _LONGEST_TITLE or not title.isprintable():
        problems.append(f"the title of a page has 1 to {_LONGEST_TITLE} characters on one line")
    if len(text.encode()) > _MOST_BYTES[".md"]:
        problems.append(f"a page has at most {_MOST_BYTES['.md']:,} bytes")
    return problems


def _files(bundle: Bundle) -> dict[str, str]:
    files = {TOML: bundle.toml}
    files |= {f"pages/{page['name']}.md": page["text"] for page in bundle.pages}
    plain = [(page["name"], _title(page["name"], page["text"])) for page in bundle.pages]
    if plain != sorted(plain) or any(
        page["title"] != title for page, (_, title) in zip(bundle.pages, plain, strict=True)
    ):
        files[ORDER] = _csv([{"name": page["name"], "title": page["title"]} for page in bundle.pages])
    if bundle.cohort:
        files[COHORT] = _csv(bundle.cohort)
    return files


def _wanted(entries: Sequence[Entry]) -> dict[str, Entry]:
    """The files of a challenge, at the top or in the one folder that has its `challenge.toml`."""
    tops = {
        entry.name.removesuffix(TOML) for entry in entries if re.fullmatch(rf"([^/]+/)?{re.escape(TOML)}", entry.name)
    }
    top = "" if "" in tops or len(tops) != 1 else tops.pop()
    named = {entry.name.removeprefix(top): entry for entry in entries if entry.name.startswith(top)}
    return {
        name: entry
        for name, entry in named.items()
        if name in (TOML, COHORT, ORDER) or re.fullmatch(r"pages/[^/.][^/]*\.md", name)
    }


def _text(entry: Entry) -> str:
    if entry.trouble:
        raise ValueError(entry.trouble)
    most = _MOST_BYTES[Path(entry.name).suffix]
    if entry.size > most:
        msg = f"{entry.size:,} bytes; at most {most:,} are read"
        raise ValueError(msg)
    try:
        return read_bytes(entry.file, most=most).decode()
    except UnicodeDecodeError:
        msg = "this is not text in UTF-8; save the file as UTF-8"
        raise ValueError(msg) from None


def _pages(texts: dict[str, str]) -> tuple[list[Page], list[str]]:
    found = {name[len("pages/") : -len(".md")]: text for name, text in sorted(texts.items()) if name.endswith(".md")}
    titles = {name: _title(name, text) for name, text in found.items()}
    order, problems = _table(texts.get(ORDER, ""), ORDER, ("name", "title"))
    for row in order:
        if row["name"] not in found:
            problems.append(f"{ORDER}: there is no page {printable(row['name'])!r}")
    names = list(dict.fromkeys([*(row["name"] for row in order if row["name"] in found), *found]))
    titles |= {row["name"]: row["title"] for row in order}
    pages = [Page(name=name, title=titles[name], text=found[name]) for name in names]
    problems += [f"pages/{printable(p['name'])}.md: {why}" for p in pages for why in page_problems(**p)]
    return pages, problems


def _title(name: str, text: str) -> str:
    """The first heading of a page; without one, its name."""
    heading = _HEADING.search(text)
    title = heading[1] if heading else name.replace("-", " ").replace("_", " ").capitalize()
    return "".join(filter(str.isprintable, title))[:_LONGEST_TITLE].strip() or name


def _table(text: str, name: str, needed: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
    """The rows of a table of texts, and what is wrong with it."""
    if not text:
        return [], []
    try:
        lines = [line for line in csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True) if line]
    except csv.Error as error:
        return [], [f"{name}: is no table: {error}"]
    head = lines[0] if lines else []
    problems = [f"{name}: has no column {column}" for column in needed if column not in head]
    problems += [
        f"{name}: has the column {printable(c)!r} twice" for c in sorted({c for c in head if head.count(c) > 1})
    ]
    problems += [
        f"{name}: row {at} has {len(line)} values, but there are {len(head)} columns"
        for at, line in enumerate(lines[1:], start=2)
        if len(line) != len(head)
    ]
    return ([], problems) if problems else ([dict(zip(head, line, strict=True)) for line in lines[1:]], [])


def _twice(cohort: Sequence[dict[str, str]]) -> list[str]:
    keys = [(row["phase"], row["case"]) for row in cohort]
    again = sorted({key for key in keys if keys.count(key) > 1}) if len(set(keys)) < len(keys) else []
    return [f"{COHORT}: case {printable(case)!r} of phase {printable(phase)!r} is there twice" for phase, case in again]


def _csv(rows: Sequence[dict[str, str] | Page]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
