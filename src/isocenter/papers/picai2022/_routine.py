"""The best algorithm against the reads of clinical routine, at the operating points of the routine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal

import numpy as np

from isocenter.papers._words import counted, p_value
from isocenter.papers.picai2022._curves import CALLS
from isocenter.papers.picai2022._given import Given
from isocenter.readers import describe_error
from isocenter.report import Block, Cell, Paragraph, Section, Table, table
from isocenter.stats import MatchedBootstrap, matched_bootstrap

_TIMES = 2  # as many replicates as elsewhere: a share of them is what is read
_MATCHES: tuple[Literal["sensitivity", "specificity"], ...] = ("sensitivity", "specificity")


def routine(given: Given) -> Section:
    """Specificity at the routine's sensitivity and the other way round, at PI-RADS 3 and 4."""
    return Section("routine", "The best algorithm and clinical routine", tuple(_routine(given)))


def _routine(given: Given) -> Iterator[Block]:
    notes = list(given.routine_notes)
    found: list[tuple[int, MatchedBootstrap]] = []
    if given.routine and not given.study.settings.replicates:
        notes.append("Clinical routine is not compared, as no replicates were asked for.")
    elif given.routine:
        found = list(_matched(given, notes))
    if found:
        yield _table(given, found)
    for point, one in found:
        if not one.matched:
            notes.append(
                f"PI-RADS ≥ {point}: {given.best} has no threshold at which its {one.match} is that of the routine; it "
                f"stays off by {one.gap:.3f}, and is compared somewhere else."
            )
    for note in notes:
        yield Paragraph(note, note=True)


def _matched(given: Given, notes: list[str]) -> Iterator[tuple[int, MatchedBootstrap]]:
    """The comparisons that can be made; why the others cannot is noted."""
    settings = given.study.settings
    mine = [found.among(given.routine) for found in given.teams[given.best]]
    pirads = np.array([given.routine[case] for case in mine[0].cases])
    for number, (point, match) in enumerate(product(CALLS, _MATCHES)):
        given.study.move(number, len(CALLS) * len(_MATCHES), "comparing with clinical routine")
        try:
            found = matched_bootstrap(
                mine[0].truth,
                pirads >= point,
                np.array([one.likelihood for one in mine]),
                match=match,
                weight=mine[0].weight,
                replicates=_TIMES * settings.replicates,
                level=settings.level,
                seed=settings.seed,
            )
        except ValueError as error:
            notes.append(f"PI-RADS ≥ {point}, equal {match}: not compared, {describe_error(error)}.")
        else:
            yield point, found


def _table(given: Given, found: list[tuple[int, MatchedBootstrap]]) -> Table:
    one, level = found[0][1], f"{100 * given.study.settings.level:g} % interval"
    worth = f", worth {one.effective_cases:.0f} unweighted ones" if one.effective_cases != one.cases else ""
    columns = ["Compared", f"{given.best} #", "Routine #", "Difference #", level]
    text = (
        f"Paired bootstrap of cases and instances, {one.replicates:,} replicates, seed {one.seed}; thresholds are "
        "matched anew in every replicate. Gap: how far the matched measure of an instance is from the routine's at "
        "most, on all cases. P(as good): the share of replicates in which the algorithm is at least as good. p is "
        "one-sided, of the claim that it is better."
    )
    return table(
        "matched-routine",
        f"{given.best} set to the operating point of clinical routine: {counted(one.cases, 'case')}{worth}, "
        f"{one.positives} positive; {counted(one.instances, 'trained instance')}.",
        [*columns, "Gap #", "P(as good) #", "p #"],
        [_row(point, each) for point, each in found],
        notes=[text],
    )


def _row(point: int, found: MatchedBootstrap) -> list[str | Cell]:
    mine = found.routine_conjugate + found.difference
    return [
        f"PI-RADS ≥ {point}: {found.conjugate} at a {found.match} of {found.routine_matched:.3f}",
        Cell(f"{mine:.3f}", mine),
        Cell(f"{found.routine_conjugate:.3f}", found.routine_conjugate),
        Cell(_signed(found.difference), found.difference),
        f"{_signed(found.low)} to {_signed(found.high)}",
        Cell(f"{found.gap:.3f}", found.gap),
        Cell(p_value(found.prob_ai_at_least), found.prob_ai_at_least),
        Cell(p_value(found.p_value), found.p_value),
    ]


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
