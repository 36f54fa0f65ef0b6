"""What all makers share: running a command, making values plain, writing items, and saying where two items differ."""

from __future__ import annotations

import dataclasses
import datetime
import fnmatch
import gzip
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ARCHIVE = HERE / "archive"
EDITIONS = HERE / "editions"
EXPECTED = HERE / "expected"
GOLDEN = HERE.parent / "golden"

Items = dict[str, Any]
"""Values that JSON can hold, by the name of their file."""

UNSTABLE = frozenset({"code", "isocenter", "versions"})
"""Keys that change with the code or the machine, and say nothing of its results."""

_LARGE = 400  # numbers; of longer arrays the first ones and the sum are kept


# Running --------------------------------------------------------------------------------------------------------------


def run(*arguments: object, hide: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Run a command of isocenter in this process; its exit code, and its output as JSON or as lines.

    `hide` names paths of this run, which are replaced by the name.
    """
    code, stdout, stderr = _invoke([str(argument) for argument in arguments])
    out = hide_paths(stdout, hide or {})
    err = hide_paths(" ".join(lines_of(stderr)), hide or {})  # where lines break depends on paths
    answer: dict[str, Any] = {"exit": code}
    try:
        answer["out"] = without_unstable(json.loads(out))
    except ValueError:
        answer["out"] = lines_of(out)
    if code and err:
        answer["err"] = err
    return answer


@cache
def _command() -> Any:
    """The program; typer would make it anew for every call, which takes longer than most calls."""
    from typer.main import get_command

    from isocenter.cli import app

    return get_command(app)


def _invoke(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a call; errors that are not caught are its last words."""
    from typer.testing import CliRunner

    with CliRunner().isolation(env={"COLUMNS": "200"}) as (out, err, _):
        code, words = 0, ""
        try:
            _command().main(args=arguments, prog_name="isocenter")
        except SystemExit as stop:
            code = int(stop.code or 0)
        except (ValueError, LookupError, OSError) as error:  # the program shows them without a traceback
            code, words = 1, str(error)
        sys.stdout.flush()
        sys.stderr.flush()
        stdout, stderr = (stream.getvalue().decode("utf-8", "replace") for stream in (out, err))
    return code, stdout, stderr + words


def succeed(*arguments: object, hide: Mapping[str, object] | None = None) -> Any:
    """Run a command that must succeed; its output."""
    answer = run(*arguments, hide=hide)
    assert answer["exit"] == 0, (arguments, answer)
    return answer["out"]


def hide_paths(text: str, hide: Mapping[str, object]) -> str:
    for name, path in sorted(hide.items(), key=lambda item: -len(str(item[1]))):
        text = text.replace(str(path), name)
    return text


def lines_of(text: str) -> list[str]:
    """The words of a text, line by line, without frames and progress."""
    lines = [" ".join(re.sub(r"[│╭╮╰╯─━]", " ", line).split()) for line in text.splitlines()]
    return [
        line for line in lines if line and not re.match(r"(checking|scoring|drawing cases|reading)\b.*\d/[\d?]", line)
    ]


def without_unstable(value: Any) -> Any:
    """A value of JSON without the keys that change with code or machine."""
    if isinstance(value, dict):
        return {key: without_unstable(item) for key, item in value.items() if key not in UNSTABLE}
    if isinstance(value, list):
        return [without_unstable(item) for item in value]
    return value


# Plain values ---------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Anything that a public function returns, as a value of JSON; numbers keep all their digits."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in fields}
    if hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    match value:
        case Mapping():
            return {key if isinstance(key, str) else str(plain(key)): plain(item) for key, item in value.items()}
        case np.ndarray() if value.size > _LARGE:
            first = [plain(item) for item in value.ravel()[:40].tolist()]
            return {"shape": list(value.shape), "first": first, "sum": plain(math.fsum(value.ravel().tolist()))}
        case np.ndarray():
            return plain(value.tolist())
        case np.generic():
            return plain(value.item())
        case float() if not math.isfinite(value):
            return repr(value)
        case None | bool() | int() | float() | str():
            return value
        case datetime.datetime():
            return value.isoformat()
        case set() | frozenset():
            return sorted(plain(item) for item in value)
        case Sequence():
            return [plain(item) for item in value]
    return str(value)


def attempt(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a function returns, or the words of the ValueError that it raises, as a plain value."""
    try:
        return plain(function(*arguments, **options))
    except ValueError as error:
        return {"ValueError": str(error).splitlines()}


# Files ----------------------------------------------------------------------------------------------------------------


def save(value: Any, path: Path) -> None:
    """Write an item: sorted and indented, or packed if its name ends in .gz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=True) + "\n"
    content = text.encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(content, 9, mtime=0) if path.suffix == ".gz" else content)


def load(path: Path) -> Any:
    """Read an item."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)


# Comparing ------------------------------------------------------------------------------------------------------------


def differences(
    old: Any, new: Any, *, place: str = "", tolerance: Callable[[str], float] = lambda _: 0.0
) -> Iterator[tuple[str, str]]:
    """Where a new value lacks or changes something of the old one, and how; what is only in the new one is allowed."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            here = f"{place}/{key}"
            if key in new:
                yield from differences(old[key], new[key], place=here, tolerance=tolerance)
            else:
                yield here, f"{_short(old[key])} is gone"
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{place}/length", f"{len(old)} was frozen, {len(new)} is made"
        for number, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from differences(one, other, place=f"{place}/{number}", tolerance=tolerance)
    elif not _equal(old, new, tolerance(place)):
        yield place, f"{_short(old)} was frozen, {_short(new)} is made"


def _equal(old: Any, new: Any, tolerance: float) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new))
    if numbers:
        both_nan = math.isnan(old) and math.isnan(new)
        return both_nan or old == new or (tolerance > 0 and math.isclose(old, new, rel_tol=tolerance))
    return type(old) is type(new) and old == new


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}…"


def matches(place: str, pattern: str) -> bool:
    """Whether a place of an item, `boards/x.json/rows/0/score`, is one that a pattern means, or lies below it."""
    if place == pattern or place.startswith(f"{pattern}/"):  # a name may have brackets, which a pattern reads otherwise
        return True
    return fnmatch.fnmatchcase(place, pattern) or fnmatch.fnmatchcase(place, f"{pattern}/*")
