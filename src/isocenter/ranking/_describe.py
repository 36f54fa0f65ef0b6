"""Rules as plain values and back: what challenge.toml says of a board, and what a receipt records of it.

    a Rule ── describe ──▶ {"rule": "mean", "metric": "dice", "missing": 0.0, …} ── rule_of ──▶ an equal Rule

Both speak the same words, so a recorded rule can be put into a file, and the other way round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from isocenter.detections import CASE_METRICS
from isocenter.ranking._missing import FixedValue, Missing, Penalty
from isocenter.ranking._reading import Path, Reader, RuleProblem, quoted, unknown
from isocenter.ranking._settings import CATALOGUE, MISSING_BY_WORD, NEEDED, read_setting
from isocenter.ranking.rules._base import Rule
from isocenter.ranking.rules.detection import DetectThenRank
from isocenter.ranking.rules.mean import MeanThenRank
from isocenter.ranking.rules.mean_rank import RankThenMean
from isocenter.ranking.rules.normalised_sum import NormalisedSum
from isocenter.ranking.rules.paired_tests import TestThenRank
from isocenter.ranking.rules.quantile import QuantileThenRank
from isocenter.ranking.rules.trimmed_mean import TrimmedMeanThenRank
from isocenter.ranking.rules.weighted_ranks import Limit, WeightedRanks

_KINDS: dict[str, type[Any]] = {
    "mean": MeanThenRank,
    "quantile": QuantileThenRank,
    "trimmed-mean": TrimmedMeanThenRank,
    "mean-rank": RankThenMean,
    "weighted-ranks": WeightedRanks,
    "tests": TestThenRank,
    "normalised-sum": NormalisedSum,
    "detection": DetectThenRank,
}
RULE_KINDS: tuple[str, ...] = tuple(_KINDS)
"""What a rule can be called in a description."""

_KEYS = {"exclude": "limits"}
"""Fields that have another name in a description."""


class DescriptionError(ValueError):
    """A description that is no rule, or a rule that has none, with everything that is wrong, one line each."""

    def __init__(self, problems: Sequence[RuleProblem]) -> None:
        super().__init__(list(problems))
        self.problems = list(problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def describe(rule: Rule) -> dict[str, Any]:
    """A rule as values that JSON and TOML can hold: its kind and every setting, whether it is the default or not.

    `rule_of` gives back an equal rule. The same rule has the same description, to the order of its keys.

    Raises
    ------
    DescriptionError
        The rule is of another package, or has a setting that no description can hold.

    Examples
    --------
    >>> describe(MeanThenRank("dice", missing=FixedValue(0)))  # doctest: +NORMALIZE_WHITESPACE
    {'rule': 'mean', 'metric': 'dice', 'missing': 0.0, 'ties': 'min', 'tolerance': 1e-09, 'over': 'cases',
     'undefined': 'refuse'}
    """
    kind = next((kind for kind, made in _KINDS.items() if type(rule) is made), None)
    if kind is None:
        name = f"{type(rule).__module__}.{type(rule).__qualname__}"
        message = f"{name} is a rule of another package; what can be described is {quoted(RULE_KINDS, 'and')}"
        raise DescriptionError([RuleProblem(("rule",), name, message)])
    found = {"rule": kind} | {key: _plain(getattr(rule, name)) for name, key in _named(_KINDS[kind]).items()}
    if isinstance(rule, TestThenRank):
        found["decimals"] = CATALOGUE if rule.decimals is None else rule.decimals
    rule_of(found)  # what cannot be read back is no description
    return found


def rule_of(description: Mapping[str, Any], *, measured: Collection[str] | None = None) -> Rule:
    """The rule that a description means; settings with a default may be left out.

    Parameters
    ----------
    description
        As `describe` gives it. A single metric may be written as `metric`, one of several as its name alone.
    measured
        The metrics that a challenge measures in every case; all of the catalogue if not given.

    Raises
    ------
    DescriptionError
        With everything that is wrong.

    Examples
    --------
    >>> rule_of({"rule": "quantile", "metric": "dice", "missing": "worst"})
    QuantileThenRank(metric='dice', missing=WorstPossible(), q=0.5, ties='min', tolerance=1e-09)
    >>> rule_of({"rule": "mean", "metric": "dyce", "missing": "worst"}, measured=["dice"])
    Traceback (most recent call last):
    isocenter.ranking._describe.DescriptionError: metric: "dyce" is not allowed; write "dice" (did you mean "dice"?)
    """
    reader = Reader(measured)
    if "rule" not in description:
        reader.lacks("rule", quoted(RULE_KINDS, "or"))
    kind = reader.word(("rule",), description["rule"], RULE_KINDS) if "rule" in description else None
    keys = _keys(kind)
    settings = {key: value for key, value in description.items() if key in keys}
    for key in [key for key in description if key not in (*keys, "rule")]:
        reader.tell((key,), description[key], _foreign(key, kind, keys))
    read = _values(reader, settings, kind)
    if reason := _refusal(kind, read):
        reader.tell(("missing",), settings.get("missing"), reason)
    if reader.problems or kind is None:
        raise DescriptionError(reader.problems)
    rule: Rule = _KINDS[kind](**{name: read[key] for name, key in _named(_KINDS[kind]).items() if key in read})
    return rule


def describe_missing(policy: Missing) -> float | str | dict[str, float]:
    """What a missing case counts as, in the words of challenge.toml: a number, a word, or ``{"penalty": 2.0}``."""
    if isinstance(policy, FixedValue):
        return float(policy.value)
    if isinstance(policy, Penalty):
        return {"penalty": float(policy.factor)}
    return next(word for word, known in MISSING_BY_WORD.items() if known == policy)


def missing_of(value: object) -> Missing:
    """The policy that a number, a word or ``{"penalty": 2.0}`` means; the inverse of `describe_missing`."""
    reader = Reader()
    policy: Missing | None = read_setting(reader, "missing", value)
    if policy is None:
        raise DescriptionError(reader.problems)
    return policy


def _named(made: type[Any]) -> dict[str, str]:
    """The fields of a rule, and the keys that they have in a description."""
    return {field.name: _KEYS.get(field.name, field.name) for field in fields(made)}


def _keys(kind: str | None) -> list[str]:
    """What can be set for a rule of a kind; if that is not known, for any."""
    kinds = list(_KINDS.values()) if kind is None else [_KINDS[kind]]
    keys = [key for made in kinds for key in _named(made).values()]
    return list(dict.fromkeys(["metric", *keys] if "metrics" in keys else keys))


def _plain(value: object) -> Any:
    """A field of a rule as a value of JSON and TOML; numbers as floats, so that equal rules are described alike."""
    if isinstance(value, Missing):
        return describe_missing(value)
    match value:
        case Limit():
            return {"metric": value.metric, "value": float(value.value), "at": value.at}
        case (str() as name, int() | float() as weight):
            return {"metric": name, "weight": float(weight)}
        case list() | tuple():
            return [_plain(item) for item in value]
        case int():
            return float(value)
    return value


def _values(reader: Reader, settings: Mapping[str, object], kind: str | None) -> dict[str, Any]:
    """What the settings mean, those that a rule cannot do without included."""
    read: dict[str, Any] = {}
    # Which metrics are given must be known before they are looked for among those that are measured.
    for key in sorted(settings, key=lambda key: key != "given"):
        of_detection = kind == "detection" and key == "metric"
        read[key] = read_setting(reader, "detection" if of_detection else key, settings[key])
        if key == "given":
            reader.given = read[key] or ()
    if kind is not None and "metrics" in _keys(kind) and "metric" in settings:
        one = read.pop("metric")
        if "metrics" in settings:
            reader.tell(("metric",), settings["metric"], '"metric" stands beside "metrics"; keep one of the two')
        else:
            read["metrics"] = one and ((one, 1.0),)
    for field in fields(_KINDS[kind]) if kind is not None else ():
        key = _KEYS.get(field.name, field.name)
        if field.default is MISSING and key not in read:
            reader.lacks(key, NEEDED[key])
    _among(reader, settings, read)
    if kind == "detection" and reader.measured is not None and not set(CASE_METRICS) <= set(reader.measured):
        needed, there = quoted(CASE_METRICS, "and"), quoted(list(reader.measured), "and")
        reader.tell(("rule",), kind, f'"detection" needs {needed} of every case; what is measured is {there}')
    return read


def _foreign(key: str, kind: str | None, keys: Sequence[str]) -> str:
    """That a rule has no such setting, and which has it."""
    others = [other for other, made in _KINDS.items() if key in _named(made).values()]
    if kind is None or not others:
        return unknown(key, keys)
    return f'the rule "{kind}" has no "{key}", but {", ".join(keys)}; "{key}" is for {quoted(others, "and")}'


def _refusal(kind: str | None, read: Mapping[str, Any]) -> str:
    """Why a missing case cannot count so, as far as the other settings tell; "" if it can."""
    if kind is None:
        return ""
    known = {
        field.name: read[field.name]
        for field in fields(_KINDS[kind])
        if field.name not in ("given", "exclude", "tie_breaks") and read.get(field.name) is not None
    }
    if any(field.default is MISSING and field.name not in known for field in fields(_KINDS[kind])):
        return ""
    try:
        _KINDS[kind](**known).check()
    except ValueError as error:
        return str(error)
    return ""


def _among(reader: Reader, settings: Mapping[str, Any], read: Mapping[str, Any]) -> None:
    """Limits, tie-breaks and given numbers are of metrics that the rule has, be they right or wrong."""
    written = settings.get("metrics", [settings.get("metric")])
    if not isinstance(written, list | tuple):
        return
    metrics = [item.get("metric") if isinstance(item, Mapping) else item for item in written]
    names = [name for name in metrics if isinstance(name, str)]
    uses: list[tuple[Path, str]] = [
        (("limits", i, "metric"), limit.metric) for i, limit in enumerate(read.get("limits") or ())
    ]
    for key in ("given", "tie_breaks"):
        uses += [((key, i), name) for i, name in enumerate(read.get(key) or ())]
    for path, name in uses:
        if name not in names:
            reader.refuse(path, name, f"a metric of this rule, {quoted(names, 'or')}", names)
