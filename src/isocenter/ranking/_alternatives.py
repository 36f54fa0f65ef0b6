"""Which other rules could as well have been declared: one thing is changed at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import polars as pl

from isocenter.ranking._cells import cohort_of
from isocenter.ranking._entry import Role
from isocenter.ranking._multiverse import taking_part
from isocenter.ranking._outcomes import Universe
from isocenter.ranking._ties import Ties
from isocenter.ranking.rules._base import Rule, capabilities_of
from isocenter.ranking.rules._variants import Asked

_TIES: tuple[Ties, ...] = ("min", "average", "dense")


def alternatives(
    rule: Rule,
    scores: pl.DataFrame,
    *,
    roles: Mapping[str, Role] | None = None,
    facts: Mapping[str, Mapping[str, str]] | None = None,
    by: str | None = None,
) -> list[Universe]:
    """The declared rule, and with one thing changed each the rules that might have stood in its place.

    Parameters
    ----------
    rule
        The declared one, which is the first universe.
    scores, roles
        The table that will be ranked: it says which metrics there are, and whether any team lacks a case.
    facts, by
        What is known of the cases, by column (see `isocenter.evaluation.read_facts`), and the column whose groups are
        left out one after the other, such as the centre. A case without the fact is in the group "unknown".

    Notes
    -----
    What is changed:

    - the aggregation. By one metric: mean, median, mean without the 10 % lowest and highest, mean of the ranks in each
      case, share of significant wins. By its parts: all of them together, or within cases first; of ranks, also each
      part alone; the other aggregations know one number per case. By several metrics of the cases: weighted ranks,
      ranks in each case, normalised sum.
    - ties, where they move the score: in rules that add up ranks, if there are equals. Elsewhere they change no order,
      only how equals are numbered.
    - what a missing case counts as, if a team lacks one: every policy that the rule admits. The factor of a `Penalty`
      and the number of a `FixedValue` are nobody's to guess.
    - the metric, where the table has one that measures the same: dose_error and dose_squared_error, dice and jaccard.
      Of findings: AUROC, average precision and their mean. A missing case that counts as a fixed number, other than
      the worst, has no number on another scale: if one is missing, the metric is not changed.
    - the cases: without those of one group.
    """
    board = rule.rank(scores, roles=roles)
    lacking = any(row.missing + row.failed for row in (*board.rows, *board.unlisted) if row.role == "team")
    competing = taking_part(scores, board)

    def ways(of: Callable[[Ties], Rule]) -> tuple[Ties, ...]:
        return _TIES if _ties_matter(of, competing, roles) else ()

    parts = tuple(sorted(set(scores.filter(pl.col("case") != "")["part"]) - {""}))
    asked = Asked(frozenset(scores["metric"]), lacking, ways, parts)
    named = capabilities_of(rule).alternatives(asked)
    return [
        Universe("declared", rule),
        *(Universe(name, other) for name, other in named if other != rule),
        *(Universe(name, rule, cases) for name, cases in _groups(cohort_of(scores), facts, by)),
    ]


def _ties_matter(of: Callable[[Ties], Rule], scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> bool:
    """Whether anybody has another score if equals share the mean of their ranks instead of the best."""
    try:
        boards = [of(way).rank(scores, roles=roles) for way in _TIES[:2]]
    except ValueError:  # an undefined universe, whatever the ties
        return False
    one, other = ({row.submission: row.score for row in board.rows if row.rank is not None} for board in boards)
    return one != other


def _groups(
    cases: Collection[str], facts: Mapping[str, Mapping[str, str]] | None, by: str | None
) -> list[tuple[str, frozenset[str]]]:
    """The cases of each group of the column, by a name for the ranking without them."""
    if facts is None or by is None:
        if facts is not None or by is not None:
            msg = "groups of cases need both: facts of the cases, and the column that they are made by"
            raise ValueError(msg)
        return []
    if unknown := [case for case in cases if case not in facts]:
        msg = f"nothing is said of {', '.join(unknown[:5])}{' …' if len(unknown) > 5 else ''}"
        raise ValueError(msg)
    columns = sorted({column for said in facts.values() for column in said})
    if by not in columns:
        msg = f"no case has a {by!r}; there are {', '.join(columns) or 'no columns'}"
        raise ValueError(msg)
    groups: dict[str, set[str]] = {}
    for case in cases:
        groups.setdefault(facts[case].get(by, "unknown"), set()).add(case)
    if len(groups) < 2:
        msg = f"all cases have the same {by}, {next(iter(groups))}: without them there are none"
        raise ValueError(msg)
    return [(f"without {by} {group}", frozenset(found)) for group, found in sorted(groups.items())]
