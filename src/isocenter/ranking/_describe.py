"""Rules as plain values and back: what challenge.toml says of a board, and what a receipt records of it.

    a Rule ── describe ──▶ {"rule": "mean", "metric": "dice", "missing": 0.0, …} ── rule_of ──▶ an equal Rule

Both speak the same words, so a recorded rule can be put into a file, and the other way round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from isocenter.ranking._missing import Missing, policy_of
from isocenter.ranking.rules import DescriptionError, Rule, RuleProblem, capabilities_of, rule_kinds
from isocenter.ranking.rules._base import kind_of
from isocenter.schema import MISSING, Wrong, quoted, read_missing, refuse, show


def describe(rule: Rule) -> dict[str, Any]:
    """A rule as values that JSON and TOML can hold: its kind and every setting, whether it is the default or not.

    `rule_of` gives back an equal rule. The same rule has the same description, to the order of its keys.

    Raises
    ------
    DescriptionError
        No file can name the rule, or it has a setting that no description can hold.

    Examples
    --------
    >>> from isocenter.ranking import FixedValue, MeanThenRank
    >>> describe(MeanThenRank("dice", missing=FixedValue(0)))  # doctest: +NORMALIZE_WHITESPACE
    {'rule': 'mean', 'metric': 'dice', 'missing': 0.0, 'ties': 'min', 'tolerance': 1e-09, 'over': 'cases',
     'undefined': 'refuse', 'part': ''}
    """
    from isocenter.schema.tables import settings_of

    kind = kind_of(rule)
    if kind is None:
        name = f"{type(rule).__module__}.{type(rule).__qualname__}"
        message = f"{name} is a rule of another package; what can be described is {quoted(rule_kinds(), 'and')}"
        raise DescriptionError([RuleProblem(("rule",), name, message)])
    settings = settings_of(type(rule))
    described = {"rule": kind} | {key: one.write(getattr(rule, one.field)) for key, one in settings.items()}
    rule_of(described)  # what cannot be read back is no description
    return described


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
    >>> rule_of({"rule": "quantile", "metric": "dice", "missing": "worst"}).q
    0.5
    >>> rule_of({"rule": "mean", "metric": "dice", "missing": "worst", "ties": "max"})
    Traceback (most recent call last):
    isocenter.ranking.rules._problems.DescriptionError: ties: "max" is not allowed; write "min", "average" or "dense"
    """
    from isocenter.ranking.rules.schema import read_rule

    reading = read_rule(description, measured)
    if reading.rule is None:
        raise DescriptionError(reading.problems)
    return cast("Rule", reading.rule)


def describe_missing(policy: Missing) -> float | str | dict[str, float]:
    """What a missing case counts as, in the words of challenge.toml: a number, a word, or ``{"penalty": 2.0}``."""
    return policy.describe()


def missing_of(value: object) -> Missing:
    """The policy that a number, a word or ``{"penalty": 2.0}`` means; the inverse of `describe_missing`."""
    try:
        return policy_of(read_missing(value))
    except Wrong as wrong:
        words = [word.strip('"') for word in MISSING.choices if word.startswith('"')]
        message = wrong.sentence or refuse(value, MISSING.what, words)
        raise DescriptionError([RuleProblem(("missing", *wrong.at), show(wrong.value), message)]) from None


def pseudo_code(rule: Rule) -> str:
    """A rule as pseudo-code: s and t are submissions, i and j cases, p parts of a case, w[i] the case weights.

    The lines are made of the fields of the rule, so they cannot say anything else than what is computed.

    Raises
    ------
    DescriptionError
        No file can name the rule, or it does not say how it is carried out.

    Examples
    --------
    >>> from isocenter.ranking import FixedValue, MeanThenRank
    >>> print(pseudo_code(MeanThenRank("dice", missing=FixedValue(0.0))))
    for each submission s:
        for each case i:
            x[s, i] = dice of s in i
            if s has no usable output for i: x[s, i] = 0
        score[s] = Σᵢ w[i] · x[s, i] / Σᵢ w[i]
    for each submission s, by score (higher is better, equal within 1e-09 × the larger):
        rank[s] = 1 + #{t: t better than s}
    """
    describe(rule)
    return capabilities_of(rule).pseudo_code()
