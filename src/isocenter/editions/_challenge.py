"""Between an edition and its challenge: what a new edition begins with, and a challenge under an edition's policies."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from isocenter.editions._lines import scan
from isocenter.editions._model import Edition, Phase, Policies
from isocenter.editions._problems import EditionError, EditionProblem, check
from isocenter.editions._toml import file_at, load
from isocenter.editions._values import show

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge
    from isocenter.ranking import Missing, Rule


def new(challenge: Challenge, *, now: datetime | None = None) -> Edition:
    """The edition that a challenge begins with, for `write` to put where the organisers can edit it.

    What the challenge says in its `edition` holds. The rest is taken from what it says in code: quota, which
    submission counts and what becomes of organisers from its participation, missing cases and ties from its boards.
    Where boards differ, the policy is left out, and each board keeps its own: a new edition changes nothing.

    Parameters
    ----------
    now
        Without phases in `edition` there is one, "test", which opens at the next midnight UTC and lasts thirty days.
        The present moment unless given.
    """
    taking_part = challenge.participation
    given = dict(challenge.edition)
    per_phase = {"quota": taking_part.quota, "counts": taking_part.counts}
    phases = given.get("phases") or [_first_phase(now or datetime.now(UTC))]
    policies = given.get("policies", {})
    data = {
        "challenge": challenge.name,
        "title": challenge.title,
        **given,
        "policies": _over({"organisers": taking_part.organisers, **_policies(challenge)}, policies),
        "phases": [_over(per_phase, phase) for phase in phases] if isinstance(phases, list | tuple) else phases,
    }
    return check(data, line_of=lambda _: None, name=f"edition of {challenge.name}")


def in_force(path: str | os.PathLike[str], *, find: Callable[[str], Challenge]) -> tuple[Edition, Challenge]:
    """Read an edition, and its challenge with the edition's policies in force.

    Parameters
    ----------
    find
        Gives the challenge of a name, or raises a `LookupError` that says which names there are.

    Raises
    ------
    EditionError
        As `load` and `apply` do; what only the challenge can tell has its line here too.
    """
    edition = load(path)
    try:
        return edition, apply(edition, find(edition.challenge))
    except LookupError as error:
        problems = [EditionProblem(None, "challenge", show(edition.challenge), str(error))]
    except EditionError as error:
        problems = error.problems
    file = file_at(path)
    lines = scan(file.read_text(encoding="utf-8"))
    placed = [dataclasses.replace(p, line=lines.find(tuple(p.where.split(".")))) for p in problems]
    raise EditionError(placed, os.fspath(file))


def apply(edition: Edition, challenge: Challenge) -> Challenge:
    """The challenge with the edition's policies in force, to be scored and ranked.

    A challenge has one quota and one answer to which submission counts; they become those of the edition's last
    phase, the one that closes last (of several, the last in the file), as that is the phase whose board decides.
    What becomes of organisers goes into the participation too. Missing cases and ties go into every board whose rule
    has such a policy.

    Raises
    ------
    EditionError
        The edition is of another challenge, or sets a policy that no board has or that a board's metric does not
        allow: a case cannot count as a Dice of 2, nor as the worst of a distance without bound.
    """
    _check_fits(edition, challenge)
    last = edition.last_phase
    participation = dataclasses.replace(
        challenge.participation, quota=last.quota, counts=last.counts, organisers=edition.policies.organisers
    )
    boards = {name: _ruled(rule, edition.policies) for name, rule in challenge.boards.items()}
    return dataclasses.replace(challenge, participation=participation, boards=boards)


def _over(derived: Mapping[str, Any], explicit: object) -> object:
    """Derived values under explicit ones; what is no table is left for `check` to complain about."""
    if isinstance(explicit, Phase | Policies):
        return explicit
    return {**derived, **explicit} if isinstance(explicit, Mapping) else explicit


def _first_phase(now: datetime) -> dict[str, Any]:
    if now.utcoffset() is None:
        msg = f"{now.isoformat()} has no time zone, so tomorrow is not known"
        raise ValueError(msg)
    opens = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
    closes = opens + timedelta(days=30)
    return {"name": "test", "title": "Test phase", "opens": opens, "closes": closes, "results": closes}


def _policies(challenge: Challenge) -> dict[str, Any]:
    """The policies on which all boards that have them agree, as they are written in a file."""
    from isocenter.ranking import FixedValue

    policies: dict[str, Any] = {}
    for policy in ("missing", "ties"):
        values = [getattr(rule, policy) for rule in challenge.boards.values() if _has(rule, policy)]
        if values and all(value == values[0] for value in values):
            policies[policy] = values[0]
    missing = policies.pop("missing", None)
    words = {policy: word for word, policy in _missing_by_word().items()}
    if isinstance(missing, FixedValue):
        policies["missing"] = missing.value
    elif missing in words:  # a policy of the challenge's own is one that no file can hold
        policies["missing"] = words[missing]
    return policies


def _missing_by_word() -> dict[str, Missing]:
    from isocenter.ranking import Disqualify, LeaveOut, WorstObserved, WorstPossible

    return {
        "worst": WorstPossible(),
        "worst-observed": WorstObserved(),
        "leave-out": LeaveOut(),
        "disqualify": Disqualify(),
    }


def _missing(policy: float | str) -> Missing:
    from isocenter.ranking import FixedValue

    return _missing_by_word()[policy] if isinstance(policy, str) else FixedValue(policy)


def _has(rule: Rule, policy: str) -> bool:
    return dataclasses.is_dataclass(rule) and policy in {field.name for field in dataclasses.fields(rule)}


def _ruled(rule: Rule, policies: Policies) -> Rule:
    changes: dict[str, Any] = {}
    if policies.missing is not None and _has(rule, "missing"):
        changes["missing"] = _missing(policies.missing)
    if policies.ties is not None and _has(rule, "ties"):
        changes["ties"] = policies.ties
    return dataclasses.replace(rule, **changes) if changes else rule  # type: ignore[type-var]


def _check_fits(edition: Edition, challenge: Challenge) -> None:
    problems = []
    if edition.challenge != challenge.name:
        found = show(edition.challenge)
        problems.append(EditionProblem(None, "challenge", found, f'{found} is not the challenge "{challenge.name}"'))
    for policy in ("missing", "ties"):
        value = getattr(edition.policies, policy)
        rules = {name: rule for name, rule in challenge.boards.items() if _has(rule, policy)}
        if value is not None and not rules:
            message = f"no board of {challenge.name} has such a policy; remove this setting"
            problems.append(EditionProblem(None, f"policies.{policy}", show(value), message))
        elif value is not None and policy == "missing":
            problems += [
                EditionProblem(None, "policies.missing", show(value), f'board "{name}": {reason}')
                for name, rule in rules.items()
                if (reason := _refusal(_missing(value), rule.metric))
            ]
    if problems:
        raise EditionError(problems)


def _refusal(policy: Missing, metric: str) -> str:
    """Why a metric cannot have this policy, asked before the first case goes missing; "" if it can."""
    from isocenter.metrics import catalogue
    from isocenter.ranking import FixedValue, WorstPossible

    known = catalogue.get(metric)
    if isinstance(policy, FixedValue) and policy.value == known.best:
        return f"{policy.value:g} is the best {metric} there is; a missing case would beat every other"
    if isinstance(policy, FixedValue | WorstPossible):
        try:
            policy.stand_in(known)
        except ValueError as error:
            return str(error)
    return ""
