"""`challenge.toml`: from a file or text to an edition and back to a file."""

from __future__ import annotations

import os
import re
import secrets
import tomllib
from decimal import Decimal
from pathlib import Path

from isocenter.editions._lines import scan
from isocenter.editions._model import Edition
from isocenter.editions._problems import EditionError, EditionProblem, check, is_list
from isocenter.editions._render import render
from isocenter.schema import where
from isocenter.schema.tables import table_in

FILE = "challenge.toml"
_LIMIT = 1_000_000  # bytes; whoever names an image by mistake gets an answer, not a full memory
_CURLY = "[\u2018-\u201f\u00ab\u00bb]"  # quotes as word processors set them
_HEADINGS = [name for name, field in Edition.model_fields.items() if is_list(field) and table_in(field)]
_DATE = "a date is written as 2020-09-10T23:59:59+02:00"

_TEXT = "a text has no quote at its end"
_BACKSLASH = "a \\ within a text is written twice: \\\\"
_CHARACTER = "a character stands here that is not allowed, or that an editor does not show"

# The beginning of what tomllib says, and what that means to somebody who never heard of TOML; the first that fits.
_SYNTAX = {
    "Invalid date or datetime": f"there is no such date or time; {_DATE}",
    "Invalid value": "what follows the = is no value; a text stands in quotes, a date and a number do not",
    "Expected newline or end of document": "more follows than one value; a text stands in quotes, a comment after #",
    "Unclosed array": "a list that begins with [ does not end with ]",
    "Unclosed inline table": "a table that begins with { does not end with }",
    "Expected '=' after a key": "a setting is written as a name, =, and a value",
    "Expected ']": "a heading begins and ends with the same number of brackets",
    "Unterminated string": _TEXT,
    "Expected \"'": _TEXT,
    "Illegal character '\\n'": _TEXT,
    "Found invalid character '\\n'": _TEXT,
    "Illegal character": _CHARACTER,
    "Found invalid character": _CHARACTER,
    "Unescaped '\\'": _BACKSLASH,
    "Invalid hex value": _BACKSLASH,
    "Escaped character": _BACKSLASH,
    "Invalid statement": "a line holds a setting (a name, =, and a value), a heading in brackets, or a comment after #",
    "Invalid initial character": "a name consists of letters, digits, - and _",
    "Cannot ": "this name was already used above; each phase and each prize has its own heading in double brackets",
}


def load(path: str | os.PathLike[str]) -> Edition:
    """Read an edition: from `challenge.toml` in a folder, or from a file.

    Raises
    ------
    EditionError
        The file is not there, cannot be read, or is wrong; it lists everything that is.
    """
    file = file_at(path)
    if file != Path(path) and not file.exists():
        raise _alone(f"this folder has no {FILE}; `isocenter init` writes one", name=os.fspath(path))
    name = os.fspath(file)
    try:
        size = file.stat().st_size
        if size > _LIMIT:
            raise _alone(f"this file has {size:,} bytes, far too many for a {FILE}", name=name)
        content = file.read_bytes()
    except FileNotFoundError:
        raise _alone("there is no such file", name=name) from None
    except OSError as error:
        raise _alone(f"this file cannot be read: {error.strerror}", name=name) from error
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = "this is not text in UTF-8; save the file as UTF-8"
        raise _alone(message, name=name, line=line, found=f"byte {content[error.start]:#04x}") from None
    return parse(text, name=name)


def file_at(path: str | os.PathLike[str]) -> Path:
    """The file that a path means: itself, or the `challenge.toml` in it."""
    path = Path(path)
    return path / FILE if path.is_dir() else path


def parse(text: str, *, name: str = FILE) -> Edition:
    """Read an edition from a text; `name` is what the messages of an `EditionError` call it."""
    text = text.removeprefix("\ufeff")  # some editors put this invisible mark before the first line
    try:
        data = tomllib.loads(text, parse_float=Decimal)  # an amount of money is what was written, to the last digit
    except tomllib.TOMLDecodeError as error:
        raise EditionError([_syntax_problem(text, str(error))], name) from None
    except (ValueError, RecursionError):
        raise _alone("a number is too long, or lists are nested too deeply", name=name) from None
    return check(data, line_of=scan(text).find, name=name)


def write(edition: Edition, folder: str | os.PathLike[str]) -> Path:
    """Write an edition as `challenge.toml` into a folder, which is made if need be: the whole file or none.

    A file that is already there is somebody's work and stays as it is.

    Raises
    ------
    FileExistsError
        The folder has a `challenge.toml`.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        msg = f"{folder} is a file; name a folder to write {FILE} into"
        raise NotADirectoryError(msg)
    folder.mkdir(parents=True, exist_ok=True)
    target, partial = folder / FILE, folder / f".{FILE}.{secrets.token_hex(4)}"
    try:
        with partial.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(render(edition))
        _rename_new(partial, target)
    except FileExistsError:
        msg = f"{target} is already there and was not changed; edit it, or remove it first"
        raise FileExistsError(msg) from None
    finally:
        partial.unlink(missing_ok=True)
    return target


def _rename_new(source: Path, target: Path) -> None:
    """Give a file a name that no other has. A link refuses a taken name by itself, with no moment in between."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # memory sticks and some network drives know no links
        if os.path.lexists(target):
            raise FileExistsError from None
        os.replace(source, target)


def _alone(message: str, *, name: str, line: int | None = None, found: str = "") -> EditionError:
    """A problem that hides all others."""
    return EditionError([EditionProblem(line, "", found, message)], name)


def _syntax_problem(text: str, reason: str) -> EditionProblem:
    """What keeps a text from being TOML; its reader stops at the first such problem, so there is only one."""
    lines, rows = scan(text), text.rstrip().split("\n")
    place = re.search(r"\(at line (\d+)", reason)
    line = min(int(place[1]), len(rows)) if place else len(rows)
    # The reader notices at the end of the second value, which may be lines below its key.
    repeats = [repeat for repeat in lines.repeats if repeat.line <= line]
    if repeats and reason.startswith(("Cannot ", "Duplicate ")):
        path, line, first = repeats[-1]
        several = len(path) == 1 and path[0] in _HEADINGS
        advice = f"write each under its own heading [[{path[0]}]]" if several else "keep one of the two"
        return EditionProblem(line, where(path), str(path[-1]), f"is already set in line {first}; {advice}")
    message = next((plain for start, plain in _SYNTAX.items() if reason.startswith(start)), "this is not TOML")
    # What has no end is noticed far below its beginning, which is what the organiser looks for.
    if message == _TEXT:
        line = lines.open_quote or line
    elif lines.open_bracket and (reason.startswith("Unclosed") or lines.open_bracket < line):
        line = lines.open_bracket
        message = _SYNTAX["Unclosed inline table" if "inline" in reason else "Unclosed array"]
    row = rows[line - 1].strip()
    key, _, value = (part.strip() for part in row.partition("="))
    if curly := re.match(_CURLY, value):
        message = f'quotes are straight in this file: write " instead of {curly[0]}'
    elif key in ("opens", "closes", "results"):
        message = f"this cannot be read as a date; {_DATE}"
    elif key and row.endswith("="):
        message = "nothing is written after the ="
    shown = row if len(row) <= 60 else row[:59] + "…"
    return EditionProblem(line, "", shown, f"{message}; found: {shown}" if shown else message)
