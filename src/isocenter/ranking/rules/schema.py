"""Rules as a union of pydantic models that their setting `rule` tells apart, made of the fields of the classes.

`[[boards]]` of challenge.toml and receipts share it. It is imported when the first description is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Discriminator, Field, TypeAdapter, ValidationError, create_model

from isocenter.problems import describe_error, printable
from isocenter.ranking.rules import RULE_KINDS, RankingRule, rule_class, rule_kinds
from isocenter.ranking.rules._problems import RuleProblem
from isocenter.ranking.rules._settings import Context
from isocenter.schema import Path, choice, explain_unknown, quoted, refuse, show
from isocenter.schema.tables import Setting, Table, cut_path, field_of, plain, settings_of, translate

_TAKEN = ("rule", "name", "main")
"""Keys that every board of a file has, whatever its rule."""


def read_rule(description: Mapping[str, Any], measured: Collection[str] | None) -> Reading:
    """What a description says, and everything that is wrong with it."""
    reading = Reading(description, measured)
    reading.read()
    return reading


class Reading:
    """A description while it is read; `rule` is None as long as something is wrong."""

    def __init__(self, description: Mapping[str, Any], measured: Collection[str] | None) -> None:
        self.problems: list[RuleProblem] = []
        self.rule: RankingRule | None = None
        self._measured = None if measured is None else list(measured)
        self._kind = self._read_kind(description)
        self._keys = keys_of(self._kind)
        self._settings = {key: value for key, value in description.items() if key in self._keys}
        for key in [key for key in description if key not in (*self._keys, "rule")]:
            self._tell((key,), description[key], explain_foreign(key, self._kind, self._keys))

    def read(self) -> None:
        """Check every setting by itself, then what only all of them tell."""
        settings, context = self._with_single_metric(), self._context()
        model, problems = self._validated(settings, context)
        if problems:
            # What stands in the right settings may still contradict; those that are wrong count as left out.
            wrong = {problem.path[0] for problem in problems}
            model, _ = self._validated({key: value for key, value in settings.items() if key not in wrong}, context)
        order = [*self._settings]
        problems.sort(key=lambda problem: (problem.is_missing, *_place(problem.path, order)))
        self.problems += [one for one in problems if not (one.path == ("metrics",) and "metric" in self._settings)]
        self._tell_unmeasured(() if self._kind is None else _made(self._kind).needs)
        if model is not None and self._kind is not None:
            self._build(model)

    def _read_kind(self, description: Mapping[str, Any]) -> str | None:
        kinds = rule_kinds()
        if "rule" not in description:
            self._tell(("rule",), "", f"is missing; write {quoted(kinds, 'or')}", shown="")
            return None
        kind = description["rule"]
        if not isinstance(kind, str) or kind not in kinds:
            self._tell(("rule",), kind, refuse(kind, quoted(kinds, "or"), kinds))
            return None
        if kind not in _usable(kinds):
            self._tell(("rule",), kind, _why_unusable(kind))
            return None
        return kind

    def _context(self) -> Context:
        """The names that other settings refer to, be they right or wrong."""
        given = self._settings.get("given")
        written = self._settings.get("metrics", [self._settings.get("metric")])
        names = None
        if isinstance(written, list | tuple):
            metrics = [item.get("metric") if isinstance(item, Mapping) else item for item in written]
            names = tuple(name for name in metrics if isinstance(name, str))
        known = [name for name in given if isinstance(name, str)] if isinstance(given, list | tuple) else []
        return Context(self._measured, tuple(known), names)

    def _with_single_metric(self) -> dict[str, Any]:
        """The settings, with a metric that is named alone as the only one of several."""
        settings = dict(self._settings)
        if self._kind is None or "metric" not in settings or "metric" in settings_of(_made(self._kind)):
            return settings
        metric = settings.pop("metric")
        if "metrics" in settings:
            self._tell(("metric",), metric, '"metric" stands beside "metrics"; keep one of the two')
            return settings
        _, problems = _validate(form_table(), {"metric": metric}, self._context())
        self.problems += problems
        return settings if problems else {"metrics": [metric], **settings}

    def _validated(self, settings: Mapping[str, Any], context: Context) -> tuple[Table | None, list[RuleProblem]]:
        if self._kind is None:
            return _validate(form_table(), settings, context)
        return _validate(_table(self._kind), {"rule": self._kind, **settings}, context, union=_union())

    def _build(self, model: Table) -> None:
        """The rule of settings that are right one by one, and whether it can work."""
        assert self._kind is not None
        made = _made(self._kind)
        settings = [setting for key, setting in settings_of(made).items() if key in model.model_fields_set]
        try:
            rule = made(**{one.field: one.read(getattr(model, one.key)) for one in settings})
            rule.check()
            reads = tuple(rule.reads)
            str(rule)
        except ValueError as error:
            key = getattr(error, "setting", "missing" if "missing" in self._keys else "rule")
            value = self._settings.get(key)
            for part in (at := getattr(error, "at", ())):
                value = value[part] if isinstance(value, Mapping) else value
            self._tell((key, *at), value, str(error))
            return
        except (Exception, SystemExit) as error:
            self._tell(("rule",), self._kind, f'the rule "{self._kind}" failed: {printable(describe_error(error))}')
            return
        if not made.needs:
            self._tell_unmeasured(reads)
        self.rule = None if self.problems else rule

    def _tell_unmeasured(self, needs: Sequence[str]) -> None:
        """That the challenge does not measure what the rule needs."""
        if self._measured is not None and not set(needs) <= set(self._measured):
            there = quoted(self._measured, "and")
            message = f'"{self._kind}" needs {quoted(needs, "and")} of every case; what is measured is {there}'
            self._tell(("rule",), self._kind, message)

    def _tell(self, path: Path, value: object, message: str, *, shown: str | None = None) -> None:
        self.problems.append(RuleProblem(path, show(value) if shown is None else shown, message))


def _place(path: Path, order: list[str]) -> tuple[int, ...]:
    return (order.index(str(path[0])) if path[0] in order else len(order),)


def _validate(
    table: type[Table], settings: Mapping[str, Any], context: Context, *, union: TypeAdapter[Any] | None = None
) -> tuple[Table | None, list[RuleProblem]]:
    try:
        if union is None:
            return table.model_validate(settings, context=context), []
        return union.validate_python(settings, context=context), []
    except ValidationError as error:
        problems = []
        for details in error.errors():
            loc = details["loc"] if union is None else details["loc"][1:]  # the first names the member of the union
            path, shown, message = translate({**details, "loc": loc}, table)
            problems.append(RuleProblem(cut_path(path, settings), shown, message))
        return None, problems


def keys_of(kind: str | None) -> list[str]:
    """What can be set for a rule of a kind; if that is not known, for any."""
    kinds = _usable(rule_kinds()) if kind is None else (kind,)
    keys = [key for one in kinds for key in settings_of(_made(one))]
    return list(dict.fromkeys(["metric", *keys] if "metrics" in keys else keys))


def explain_foreign(key: str, kind: str | None, keys: list[str]) -> str:
    """That a rule has no such setting, and which has it."""
    others = [other for other in _usable(rule_kinds()) if key in settings_of(_made(other))]
    if kind is None or not others:
        return explain_unknown(key, keys)
    return f'the rule "{kind}" has no "{key}", but {", ".join(keys)}; "{key}" is for {quoted(others, "and")}'


def _usable(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The rules that can be loaded and written in files, of those that are installed."""
    return tuple(kind for kind in kinds if kind in RULE_KINDS or not _why_unusable(kind))


def _why_unusable(kind: str) -> str:
    """Why an installed rule cannot be loaded, or cannot be written in files; "" if it can."""
    try:
        made = rule_class(kind)
    except ValueError as error:
        return str(error)
    if made is None:
        return f'the package that brings the rule "{kind}" does not register it'
    its: Any = made
    return _why_unwritable(kind, its)


@cache
def _why_unwritable(kind: str, made: type[Any]) -> str:
    """Why the settings of a rule make no table; "" if they do."""
    place = f"{made.__module__}.{made.__qualname__}"
    if not dataclasses.is_dataclass(made):
        return f'the rule "{kind}" cannot be used: {place} is not a dataclass'
    if taken := [field.name for field in dataclasses.fields(made) if field.name in _TAKEN]:
        return f'the rule "{kind}" cannot be used: a setting of {place} is called {quoted(taken, "and")}'
    try:
        _make_table(kind, made)
        optional: dict[str, Any] = {key: field_of(one, optional=True) for key, one in settings_of(made).items()}
        create_model(kind, __base__=Table, **optional)
    except (Exception, SystemExit) as error:
        # Errors of pydantic go on with advice for its own users.
        reason = printable(next(iter(describe_error(error).splitlines())))
        return f'the rule "{kind}" cannot be used: the settings of {place} make no table of a file: {reason}'
    return ""


def _read_usable(value: object) -> object:
    if (
        isinstance(value, str)
        and value in rule_kinds()
        and value not in RULE_KINDS
        and (reason := _why_unusable(value))
    ):
        raise plain(reason)
    return value


def _made(kind: str) -> Any:
    made = rule_class(kind)
    assert made is not None
    return made


def _table(kind: str) -> type[Table]:
    """The model of one rule."""
    return _make_table(kind, _made(kind))


@cache
def _make_table(kind: str, made: type[Any]) -> type[Table]:
    fields = {key: field_of(setting) for key, setting in settings_of(made).items()}
    tag: Any = Literal[kind]
    table: type[Table] = create_model(kind, __base__=Table, rule=(tag, ...), **fields)
    return table


def _union() -> TypeAdapter[Any]:
    return _union_of(_usable(rule_kinds()))


@cache
def _union_of(kinds: tuple[str, ...]) -> TypeAdapter[Any]:
    members: Any = Union[tuple(_table(kind) for kind in kinds)]  # noqa: UP007 (of members known only now)
    return TypeAdapter(Annotated[members, Discriminator("rule")])


def form_fields(absent: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Fields of a table in which any rule can be written: what several rules have first, then what one has.

    Parameters
    ----------
    absent
        By setting, what it means to leave it out, where that is not the default of the rule.
    """
    every = rule_kinds()
    kinds = _usable(every)
    owners: dict[str, list[str]] = {}
    settings: dict[str, Setting] = {}
    for kind in kinds:
        for key, setting in settings_of(_made(kind)).items():
            owners.setdefault(key, []).append(kind)
            settings.setdefault(key, setting)
    shared = [key for key in settings if len(owners[key]) > 1]
    order = ["metric", "metrics", *(key for key in (*shared, *settings) if key not in ("metric", "metrics"))]
    allowed = choice({f'"{kind}"': _made(kind).summary for kind in kinds}, example='"quantile"')
    # A rule that is installed and cannot be loaded is told as such, not as a word that nobody knows.
    rule: Any = Annotated[Literal[kinds], BeforeValidator(_read_usable), allowed]
    fields: dict[str, Any] = {"rule": (rule, Field(description="How the teams are ranked."))}
    for key in dict.fromkeys(order):
        text = settings[key].text
        if len(owners[key]) == 1:
            text = f'For the rule "{owners[key][0]}": {text[:1].lower()}{text[1:]}'
        fields[key] = field_of(settings[key], text=text, absent=absent.get(key), optional=True)
    return fields


def form_table() -> type[Table]:
    """The table of `form_fields` without the name of a rule."""
    return _form_of(rule_kinds())


@cache
def _form_of(kinds: tuple[str, ...]) -> type[Table]:  # noqa: ARG001 (the key of the cache)
    fields = {key: field for key, field in form_fields().items() if key != "rule"}
    table: type[Table] = create_model("Form", __base__=Table, **fields)
    return table
