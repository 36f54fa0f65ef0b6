"""The boards of an edition: those of the challenge under its policies, and those it has rules of its own for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from isocenter.editions._model import Edition, Policies
from isocenter.editions._own_board import POLICIES, OwnBoard
from isocenter.editions._problems import EditionProblem
from isocenter.schema import Penalised, show, where
from isocenter.schema.tables import Table

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge
    from isocenter.ranking import Missing, Rule


def boards_of(edition: Edition, challenge: Challenge) -> tuple[dict[str, Rule], list[EditionProblem]]:
    """The rules of all boards by name, the main one first, and what is wrong with those that the edition sets.

    A board of the edition takes the place of the challenge's of that name, or stands behind its boards. What it does
    not say of missing cases and ties, the policies say.
    """
    own, problems = _own(edition, challenge)
    kept = {
        name: rule for name, rule in challenge.boards.items() if name not in {entry.name for entry in edition.boards}
    }
    problems += _unfit(edition, challenge, kept)
    if problems:
        return {}, problems
    ruled = {name: _ruled(rule, edition.policies) for name, rule in kept.items()}
    boards = {name: ruled.get(name) or own[name] for name in (*challenge.boards, *own)}
    main = [entry.name for entry in edition.boards if entry.main]
    return {name: boards[name] for name in (*main, *(name for name in boards if name not in main))}, []


def policies_of(challenge: Challenge) -> dict[str, Any]:
    """The policies on which all boards that have them agree, as they are written in a file."""
    from isocenter.ranking import Missing, describe_missing

    policies: dict[str, Any] = {}
    for policy in POLICIES:
        values = [getattr(rule, policy) for rule in challenge.boards.values() if _has(rule, policy)]
        if values and all(value == values[0] for value in values):
            policies[policy] = values[0]
    missing = policies.pop("missing", None)
    if isinstance(missing, Missing):  # a policy of another package is one that no file can hold
        policies["missing"] = describe_missing(missing)
    if policies.get("undefined") == "refuse" or isinstance(policies.get("undefined"), Mapping):
        # Nothing was decided, and a file need not say so; what holds for some metrics is that of the boards.
        del policies["undefined"]
    return policies


def _own(edition: Edition, challenge: Challenge) -> tuple[dict[str, Rule], list[EditionProblem]]:
    """The rules of the boards that the edition sets, and what is wrong with them."""
    from isocenter.ranking import DescriptionError, rule_of

    rules: dict[str, Rule] = {}
    problems: list[EditionProblem] = []
    for i, entry in enumerate(edition.boards):
        described = _described(entry, edition.policies)
        try:
            rule = rules[entry.name] = rule_of(described, measured=challenge.metrics)
        except DescriptionError as error:
            for problem in error.problems:
                path = ("boards", i, *problem.path)
                message = _explain(problem.message, path[2], entry, absent=problem.is_missing)
                problems.append(EditionProblem(None, where(path), problem.found, message))
            continue
        if reason := _would_win(getattr(rule, "missing", None), rule):
            place = where(("boards", i, "missing"))
            problems.append(EditionProblem(None, place, show(described["missing"]), _explain(reason, "missing", entry)))
    return rules, problems


def _described(entry: OwnBoard, policies: Policies) -> dict[str, Any]:
    """What a board is ranked by, in the words of `isocenter.ranking.describe`."""
    from isocenter.ranking.rules.schema import keys_of

    found = {name: _plain(value) for name, value in entry if name not in ("name", "main") and value is not None}
    for policy in POLICIES:
        if policy not in found and getattr(policies, policy) is not None:
            found[policy] = _plain(getattr(policies, policy))
    if getattr(entry, "undefined", None) is None and "undefined" not in keys_of(_kind(found.get("rule"))):
        found.pop("undefined", None)  # a rule without metrics of single cases has nothing that could be undefined
    return found


def _kind(written: object) -> str | None:
    from isocenter.ranking import rule_kinds

    return written if isinstance(written, str) and written in rule_kinds() else None


def _explain(message: str, key: str | int, entry: OwnBoard, *, absent: bool = False) -> str:
    """A sentence about a policy that the board does not set itself says where it may be set."""
    if key not in POLICIES or getattr(entry, str(key)) is not None:
        return message
    if absent:
        return f"{message}, here or under the heading [policies]"
    return f"{message}; it is that of the heading [policies], write another one here"


def _plain(value: object) -> Any:
    """A value of the model as one of JSON or TOML; a metric without a weight as its name, as a file has it."""
    if isinstance(value, Table):
        return value.as_written()
    if isinstance(value, Penalised):
        return {"penalty": value.penalty}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _has(rule: Rule, policy: str) -> bool:
    return dataclasses.is_dataclass(rule) and policy in {field.name for field in dataclasses.fields(rule)}


def _ruled(rule: Rule, policies: Policies) -> Rule:
    from isocenter.ranking import missing_of

    changes: dict[str, Any] = {}
    if policies.missing is not None and _has(rule, "missing"):
        changes["missing"] = missing_of(_plain(policies.missing))
    for policy in ("undefined", "ties"):
        if getattr(policies, policy) is not None and _has(rule, policy):
            changes[policy] = getattr(policies, policy)
    return dataclasses.replace(rule, **changes) if changes else rule  # type: ignore[type-var]


def _unfit(edition: Edition, challenge: Challenge, kept: Mapping[str, Rule]) -> list[EditionProblem]:
    """Policies that no board has, or that a board of the challenge cannot have."""
    from isocenter.ranking import missing_of

    problems = []
    for policy in POLICIES:
        value = getattr(edition.policies, policy)
        rules = {name: rule for name, rule in kept.items() if _has(rule, policy)}
        if value is not None and not rules and not edition.boards:
            message = f"no board of {challenge.name} has such a policy; remove this setting"
            problems.append(EditionProblem(None, f"policies.{policy}", show(value), message))
        elif value is not None and policy != "ties":
            problems += [
                EditionProblem(None, f"policies.{policy}", show(value), f'board "{name}": {reason}')
                for name, rule in rules.items()
                if (reason := _refusal(missing_of(_plain(value)) if policy == "missing" else value, rule, policy))
            ]
    return problems


def _refusal(value: Any, rule: Rule, policy: str) -> str:
    """Why a rule cannot have this policy, asked before the first case goes missing; "" if it can."""
    try:
        dataclasses.replace(rule, **{policy: value}).check()  # type: ignore[type-var]
    except ValueError as error:
        return str(error)
    return _would_win(value, rule) if policy == "missing" else ""


def _would_win(policy: Missing | None, rule: Rule) -> str:
    """Why a case must not count as this: no team could do better by any metric of the rule; "" if it may."""
    from isocenter.metrics import catalogue

    for metric in map(catalogue.get, rule.reads if policy is not None else ()):
        value = policy.stand_in(metric) if policy is not None and metric.better != "neither" else None
        if value is not None and value == metric.best:
            return f"{value:g} is the best {metric.name} there is; a missing case would beat every other"
    return ""
