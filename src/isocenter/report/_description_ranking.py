"""A description, as far as the rules know it: how boards come about, what missing cases do, what else there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isocenter.editions import Edition
from isocenter.evaluation import Challenge
from isocenter.ranking import DescriptionError, Rule, capabilities_of, pseudo_code, undefined_in_words
from isocenter.report._description import Block, Bullets, Code, Paragraph
from isocenter.report._description_rules import grid_policy
from isocenter.submissions import MaskFile


def ranking(challenge: Challenge) -> list[Block]:
    """Every board by its rule, in words and as pseudo-code; boards that differ in the metric only, together."""
    main, *others = challenge.boards
    beside = f"; beside it stand {listed(others)}" if others else ""
    blocks: list[Block] = [
        Paragraph(f"The board {main} decides{beside}."),
        Paragraph(
            "In the pseudo-code s and t are submissions, i is a case, p a part of it, and w[i] the weight of a case, "
            "which is 1 unless the cohort gives sampling weights."
        ),
    ]
    for (name, rule), *alike in _alike(challenge.boards):
        words = str(rule)
        blocks.append(Paragraph(f"{words[:1].upper()}{words[1:]}.", label=f"Board {name}"))
        try:
            blocks.append(Code(pseudo_code(rule)))
        except DescriptionError:
            blocks.append(Paragraph("The rule is one of the challenge's own; its code is its definition."))
        if alike:
            named = [name if name == other.metric else f"{name} (by {other.metric})" for name, other in alike]
            blocks.append(Paragraph(f"In the same way, each by its own metric: {listed(named)}."))
    return blocks


def missing(edition: Edition, challenge: Challenge) -> list[Block]:
    """What a case without a usable output counts as, board by board."""
    what = "a case without an output, or with one that cannot be used,"
    policies = by_text({n: getattr(rule, "missing", "is left to its rule") for n, rule in challenge.boards.items()})
    told = [
        f"{what.capitalize() if len(policies) == 1 else f'On {boards(names)}, {what}'} {policy}."
        for policy, names in policies.items()
    ]
    known = [getattr(rule, "missing", None) for rule in challenge.boards.values()]
    if not all(getattr(policy, "disqualifies", False) for policy in known):
        told.append("The board counts missing and unusable cases apart for every team.")
    told.append(grid_policy(edition, challenge))
    undefined = by_text({n: getattr(rule, "undefined", "") for n, rule in challenge.boards.items()})
    if "refuse" in undefined:
        told.append("Where a metric is undefined for an output that was read, nothing is put in its place.")
    if "unlisted" in undefined:
        told.append(f"Who has no value of the metric in some case does not stand on {boards(undefined['unlisted'])}.")
    clauses = {n: undefined_in_words(getattr(rule, "undefined", "refuse")) for n, rule in challenge.boards.items()}
    told += [
        f"On {boards(names)}, {clause.removeprefix('; ')}." for clause, names in by_text(clauses).items() if clause
    ]
    return [Paragraph(" ".join(filter(None, told)))]


def further(challenge: Challenge) -> list[Block]:
    """What can be computed beside the boards."""
    offers = []
    if any(capabilities_of(rule).has_findings for rule in challenge.boards.values()):
        offers.append("ROC, precision-recall and FROC curves, and subgroups of cases (isocenter findings).")
        offers.append("Comparison with human readers, for other readers and cases (isocenter mrmc).")
    if any(isinstance(spec, MaskFile) for spec in challenge.output.values()):
        offers.append("Ensembles: votes of all subsets of the submissions, and STAPLE (isocenter ensemble).")
        offers.append("Agreement between submissions, and the cases on which they differ (isocenter agreement).")
    other = "Other aggregations, ties and policies for missing cases, and the cohort without each of its centres"
    offers.append(f"{other} (isocenter multiverse).")
    offers.append("A receipt of every board, from which anybody can make it again (isocenter verify).")
    return [Paragraph("What the software offers on the same scores or submissions:"), Bullets(tuple(offers))]


def by_text(values: Mapping[str, object]) -> dict[str, list[str]]:
    """Names by what is said of them, in the order in which it is first said."""
    found: dict[str, list[str]] = {}
    for name, value in values.items():
        found.setdefault(str(value), []).append(name)
    return found


def boards(names: Sequence[str]) -> str:
    """Boards in a sentence."""
    return f"the board{'s' if len(names) > 1 else ''} {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _alike(rules: Mapping[str, Rule]) -> list[list[tuple[str, Rule]]]:
    """Boards in order, those that differ in nothing but the metric together."""
    groups: dict[str, list[tuple[str, Rule]]] = {}
    for name, rule in rules.items():
        try:
            said = pseudo_code(rule).replace(rule.metric, "the metric")
        except DescriptionError:
            said = f"the rule of {name}"
        groups.setdefault(said, []).append((name, rule))
    return list(groups.values())
