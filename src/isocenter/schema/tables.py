"""Tables of a file as pydantic models, made of classes whose fields have notes; their problems in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from isocenter.schema import Allowed, Check, Path, Read, Within, Written, Wrong, explain_unknown, refuse, show

Told = tuple[Path, str, str]
"""Where a problem is, what was found there, and the sentence about it."""


class Table(BaseModel):
    """What the tables of a file have in common: nothing unknown, nothing converted, nothing changed later."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    reminds: ClassVar[bool] = True
    """Whether a file shows in every entry of a list what it leaves out; else only in the first, which is explained."""

    headed: ClassVar[tuple[str, ...]] = ()
    """The settings that are lists of tables, each under a heading of its own below this one."""

    written: ClassVar[Allowed | None] = None
    """What may be written for a whole table within a list."""

    alone: ClassVar[str] = ""
    """The key whose value may stand for the whole table, if all others are left out; "" if none may."""

    def as_written(self) -> Any:
        """The shortest form that a file can hold: the value of `alone` by itself, or all settings."""
        others = [
            field.default == getattr(self, key) for key, field in type(self).model_fields.items() if key != self.alone
        ]
        return getattr(self, self.alone) if self.alone and all(others) else dict(self)

    @classmethod
    def full(cls) -> type[Table]:
        """The table with all its settings, for one that knows them only when it is asked."""
        return cls


class Setting(NamedTuple):
    """A field of a class as a setting of a file; `kind` is the type that pydantic checks, `text` describes it."""

    field: str
    key: str
    kind: Any
    allowed: Allowed | None
    text: str
    default: object
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]

    @property
    def needed(self) -> bool:
        """Whether it cannot be left out."""
        return self.default is dataclasses.MISSING


def settings_of(made: Any) -> dict[str, Setting]:
    """By key what can be set of a dataclass, in the order of its fields."""
    return _settings_of(made)


@cache
def _settings_of(made: Any) -> dict[str, Setting]:
    hints = get_type_hints(made, include_extras=True)
    settings = [_setting(field, hints[field.name]) for field in dataclasses.fields(made)]
    return {setting.key: setting for setting in settings}


def _setting(field: dataclasses.Field[Any], hint: Any) -> Setting:
    notes = _notes(hint)
    written = next((note for note in notes if isinstance(note, Written)), None)
    kind, key = hint, field.name
    if written is not None:
        kind, key = written.kind, written.key or field.name
        notes = [*_notes(kind), *notes]
        bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        kind = Annotated[bare, *(note for note in notes if not isinstance(note, Written))]
    texts = [note for note in notes if isinstance(note, str)]
    allowed = [note for note in notes if isinstance(note, Allowed)]
    default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return Setting(
        field.name,
        key,
        _compiled(kind),
        allowed[-1] if allowed else None,
        texts[-1] if texts else "",
        default,
        _same if written is None else written.read,
        _plain if written is None else written.write,
    )


def _notes(hint: Any) -> list[Any]:
    """The notes of a type, and of the members of a union."""
    if get_origin(hint) is Annotated:
        return list(get_args(hint)[1:])
    return (
        [note for member in get_args(hint) for note in _notes(member)] if get_origin(hint) in (Union, UnionType) else []
    )


def _same(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """Numbers as floats, so that equal settings are written alike."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _compiled(hint: Any) -> Any:
    """The type that pydantic checks, of a type with our notes."""
    annotated = get_origin(hint) is Annotated
    notes, bare = (_notes(hint), get_args(hint)[0]) if annotated else ([], hint)
    within = next((note for note in notes if isinstance(note, Within)), None)
    bounds = {name: bound for name, bound in dataclasses.asdict(within).items() if bound is not None} if within else {}
    extra: list[Any] = [AfterValidator(_checking(note.function)) for note in notes if isinstance(note, Check)]
    extra += [BeforeValidator(_reading(note.function)) for note in notes if isinstance(note, Read)]
    if bare is float:
        extra = [BeforeValidator(number), Field(allow_inf_nan=False, **bounds), *extra]
    elif bounds:
        extra = [Field(**bounds), *extra]
    elif bare is str:
        # A pattern also makes pydantic refuse text that is no Unicode, which no file could hold.
        extra = [Field(pattern=r"\S"), *extra]
    elif get_origin(bare) is tuple:
        item: Any = _item(get_args(bare)[0])
        bare = tuple[item, ...]
        extra = [Field(strict=False), *extra]  # a strict tuple would refuse the list that a file holds
    return Annotated[bare, *extra] if extra else bare


def _item(hint: Any) -> Any:
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return _table_of(hint)
    allowed = [note for note in _notes(hint) if isinstance(note, Allowed)]
    kind: Any = _compiled(hint)
    return Annotated[kind, *allowed] if allowed else kind


@cache
def _table_of(made: Any) -> Any:
    """A dataclass as a table of a file; one with `alone` may be written as the value of that key alone."""
    fields = {key: field_of(setting) for key, setting in settings_of(made).items()}
    table: Any = create_model(made.__name__, __base__=Table, **fields)
    table.written = getattr(made, "written", None)
    table.alone = alone = getattr(made, "alone", "")
    if not alone:
        return table
    return Annotated[table, BeforeValidator(lambda value: {alone: value} if isinstance(value, str) else value)]


def field_of(setting: Setting, *, text: str = "", absent: str | None = None, optional: bool = False) -> Any:
    """A setting as pydantic's `create_model` wants a field; an optional one is None where it is left out."""
    allowed = setting.allowed or Allowed("a value of the right kind")
    note = allowed if absent is None else dataclasses.replace(allowed, absent=absent)
    kind = _optional(setting.kind) if optional else setting.kind
    default = None if optional else ... if setting.needed else setting.default
    return Annotated[kind, note], Field(default=default, description=text or setting.text)


def _optional(kind: Any) -> Any:
    """A type or None; a union gets one more member, so that its choices stay where they were."""
    bare, *notes = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    if get_origin(bare) in (Union, UnionType):
        return Annotated[Union[bare, None], *map(_skipping_none, notes)]  # noqa: UP007 (a type that is not known here)
    return Union[kind, None]  # noqa: UP007


def _skipping_none(note: Any) -> Any:
    if not isinstance(note, BeforeValidator):
        return note
    function: Any = note.func
    return BeforeValidator(lambda value: None if value is None else function(value))


def number(value: object) -> object:
    """A float, of any kind of number; what is none is left for pydantic to refuse."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    try:
        return float(value)
    except (OverflowError, ValueError):
        raise PydanticCustomError("not_allowed", "too large for a number") from None  # noqa: EM101


def plain(message: str) -> PydanticCustomError:
    """A problem in our own words; they travel as a parameter, as braces in them would be taken for placeholders."""
    return PydanticCustomError("plain", "{message}", {"message": message})


def reading(function: Callable[[Any], Any]) -> BeforeValidator:
    """A validator of a function that raises `Wrong`, for a setting that may be left out."""
    return _skipping_none(BeforeValidator(_reading(function)))  # type: ignore[no-any-return]


def _reading(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        try:
            return function(value)
        except Wrong as wrong:
            raise error_of([wrong]) from None

    return read


def _checking(function: Callable[[Any, Any], Iterable[Wrong]]) -> Callable[[Any, ValidationInfo], Any]:
    def check(value: Any, info: ValidationInfo) -> Any:
        problems = [] if info.context is None else list(function(value, info.context))
        if problems:
            raise error_of(problems)
        return value

    return check


def error_of(problems: Iterable[Wrong]) -> ValidationError:
    """The problems of a setting as one error, each at its place within it; validators raise it."""
    details = [
        InitErrorDetails(
            type=plain(wrong.sentence) if wrong.sentence else PydanticCustomError("not_allowed", "not allowed"),
            loc=wrong.at,
            input=wrong.value,
        )
        for wrong in problems
    ]
    return ValidationError.from_exception_data("setting", details)


def allowed_in(field: FieldInfo) -> Allowed:
    """What may be written in a field; of several notes the last, as the outermost annotation is the most specific."""
    return [note for note in field.metadata if isinstance(note, Allowed)][-1]


def _allowed_in_item(field: FieldInfo) -> Allowed | None:
    """What may be written for one item of a list; None where only the list as a whole says it."""
    inner = table_in(field)
    if inner is not None:
        return inner.written
    return next((part for part in _within(field.annotation) if isinstance(part, Allowed)), None)


def table_in(field: FieldInfo) -> type[Table] | None:
    """The table that a field holds, or a list of; None for a plain value."""
    return next(
        (kind for kind in _within(field.annotation) if isinstance(kind, type) and issubclass(kind, Table)), None
    )


def _within(annotation: object) -> Iterator[object]:
    """An annotation and all that it is made of."""
    yield annotation
    if isinstance(annotation, UnionType) or get_origin(annotation) is not None:
        for part in get_args(annotation):
            yield from _within(part)


def field_at(path: Path, root: type[Table]) -> tuple[type[Table], FieldInfo | None]:
    """The table that the last key of a path stands in, and the field it names there."""
    table, field = root, None
    for part in path:
        if isinstance(part, int):
            continue
        if field is not None:
            table = (table_in(field) or table).full()
        field = table.model_fields.get(part)
    return table, field


def translate(
    details: ErrorDetails, root: type[Table], *, unknown: Callable[[str, type[Table]], str] | None = None
) -> Told:
    """A pydantic error as path, what was found and a sentence. None of pydantic's own words is used."""
    path, kind, value = details["loc"], details["type"], details["input"]
    table, field = field_at(path, root)
    if kind == "extra_forbidden":
        key = str(path[-1])
        return path, show(value), unknown(key, table) if unknown else explain_unknown(key, list(table.model_fields))
    if kind == "plain":
        return path, show(value), details["msg"]
    if field is None:
        return path, show(value), f"{show(value)} is not allowed; write settings, one per line"
    allowed = (_allowed_in_item(field) if isinstance(path[-1], int) else None) or allowed_in(field)
    if kind == "missing":
        return path, "", f"is missing; write {allowed.what}"
    words = {choice.strip('"'): meaning for choice, meaning in allowed.choices.items() if choice.startswith('"')}
    return path, show(value), refuse(value, allowed.what, words)


def cut_path(path: Path, data: object) -> Path:
    """A path as far as the data have it: a problem of a name that is written alone is one of the whole item."""
    for at, part in enumerate(path):
        match data:
            case Mapping():
                data = data.get(part)
            case Table():
                data = getattr(data, str(part), None)
            case list() | tuple() if isinstance(part, int) and part < len(data):
                data = data[part]
            case _:
                return path[:at]
    return path
