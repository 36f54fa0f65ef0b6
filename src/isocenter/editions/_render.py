"""An edition as the text of its file, with a comment on everything that can be set."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal

from pydantic.fields import FieldInfo

from isocenter.editions._model import Edition
from isocenter.editions._problems import is_list
from isocenter.schema import ByMetric, Penalised
from isocenter.schema.tables import Table, allowed_in, table_in

_WIDTH = 100
_HEAD = (
    "The organisers may edit this file with any text editor. A line that begins with # is a comment. "
    "Some comments hold a setting that is not in force; remove the # to set it."
)


def render(edition: Edition) -> str:
    """The edition as the text of a `challenge.toml`; `parse` gives back an equal one.

    Each setting follows its description and what may be written there. Optional settings that are absent are there
    as comments, with an example. From the second phase, prize or question on, the explanations are not repeated.
    """
    fields = Edition.model_fields
    lines = [*_comment(_HEAD), ""]
    explained: set[type[Table]] = set()
    # TOML counts a line to the last heading above it, so what has none comes first, in the model's order otherwise.
    for name in sorted(fields, key=lambda name: table_in(fields[name]) is not None):
        value, inner = getattr(edition, name), table_in(fields[name])
        if inner is None:
            lines += [*_explained(fields[name]), _setting(name, value, fields[name]), ""]
            continue
        table = inner.full()
        entries = value if is_list(fields[name]) else [value] if value else []
        heading = f"[[{name}]]" if is_list(fields[name]) else f"[{name}]"
        lines += _comment(fields[name].description or "")
        none = "There are none yet" if is_list(fields[name]) else "There is none yet"
        lines += [] if entries else _comment(f"{none}; what follows is an example.")
        for entry in entries or [None]:
            lines += [
                heading if entry else f"# {heading}",
                *_settings(table, entry, explain=table not in explained),
                "",
            ]
            explained.add(table)
            lines += _tables_within(name, table, entry, explained)
    return "\n".join(lines)


def _tables_within(name: str, table: type[Table], entry: Table | None, explained: set[type[Table]]) -> Iterator[str]:
    """The tables of a table, below it under headings of their own; an example where the first one has none."""
    for key in filter(table.model_fields.__contains__, table.headed):
        field = table.model_fields[key]
        inner = table_in(field)
        assert inner is not None
        entries = getattr(entry, key, ()) or ([None] if inner not in explained else [])
        for within in entries:
            if inner not in explained:
                yield from _comment(field.description or "")
                yield from () if within else _comment("There are none yet; what follows is an example.")
            heading = f"[[{name}.{key}]]"
            yield from [
                heading if within else f"# {heading}",
                *_settings(inner, within, explain=inner not in explained),
                "",
            ]
            explained.add(inner)


def _settings(table: type[Table], entry: Table | None, *, explain: bool) -> Iterator[str]:
    """The lines of one table; of an example, all in comments, if there is no entry."""
    fields = {name: field for name, field in table.model_fields.items() if name not in table.headed}
    for i, (name, field) in enumerate(fields.items()):
        value = None if entry is None else getattr(entry, name)
        if explain:
            yield from ["", *_explained(field)] if i else _explained(field)
        if explain or table.reminds or entry is None or value is not None:
            yield _setting(name, value, field)


def _explained(field: FieldInfo) -> Iterator[str]:
    allowed = allowed_in(field)
    yield from _comment(field.description or "")
    width = max((len(choice) for choice in allowed.choices), default=0)
    for choice, meaning in allowed.choices.items():
        yield from _comment(f"{choice:<{width}}  {meaning}", indent=2, hang=width + 4)
    left_out = f"left out, {allowed.absent}" if allowed.absent else ""
    if not allowed.choices and allowed.spoken:
        yield from _comment(f"Write {allowed.what}{f'; {left_out}' if left_out else ''}.")
    elif left_out:
        yield from _comment(f"{left_out.capitalize()}.")


def _setting(name: str, value: object, field: FieldInfo) -> str:
    if value is None:
        return f"# {name} = {allowed_in(field).example}"
    several = isinstance(value, str) and "\n" in value
    return f"{name} = {_over_lines(str(value)) if several else _value(value)}"


def _over_lines(text: str) -> str:
    """A text of several lines as TOML, each on its own; quotes that might end it are spelt out."""
    shown = "".join(character if character in '\n"' else _character(character) for character in text)
    return '"""\n' + re.sub(r'"(?="|\Z)', r'\\"', shown) + '"""'


def _comment(text: str, *, indent: int = 0, hang: int = 0) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="# " + " " * indent,
        subsequent_indent="# " + " " * hang,
        break_on_hyphens=False,
    )


def _value(value: object) -> str:
    """A value as TOML."""
    match value:
        case bool():
            return str(value).lower()
        case Table():
            written = value.as_written()
            return _inline(written) if isinstance(written, Mapping) else _value(written)
        case Penalised():
            return _inline({"penalty": value.penalty})
        case ByMetric():
            return _inline(value)
        case str():
            return f'"{"".join(map(_character, value))}"'
        case tuple():
            return f"[{', '.join(map(_value, value))}]"
        case datetime():
            return value.isoformat()
        case Decimal():
            return f"{value:f}"
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 10**15 else repr(value)
        case int():
            return str(value)
    msg = f"a {type(value).__name__} has no place in an edition"
    raise TypeError(msg)


def _inline(settings: Mapping[str, object]) -> str:
    """A table within a value."""
    return f"{{ {', '.join(f'{_key(name)} = {_value(value)}' for name, value in settings.items())} }}"


def _key(name: str) -> str:
    """A key of a table; names of metrics may hold what only stands between quotes."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _character(character: str) -> str:
    """A character between quotes; whatever an editor would not show is spelt out."""
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    return short or (f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}")
