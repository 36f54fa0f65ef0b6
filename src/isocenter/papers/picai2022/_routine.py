"""The best algorithms against the reads of clinical routine, at the operating points of the routine."""

from __future__ import annotations

from collections.abc import Iterator

from isocenter.papers._words import counted
from isocenter.papers.picai2022._comparison_tables import describe_point, make_test_table
from isocenter.papers.picai2022._given import Given
from isocenter.report import Block, Paragraph, Section


def routine(given: Given) -> Section:
    """Specificity at the routine's sensitivity and the other way round, at PI-RADS 3 and 4; lesions likewise."""
    return Section("routine", "The best algorithms and clinical routine", tuple(_routine(given)))


def _routine(given: Given) -> Iterator[Block]:
    notes = list(given.routine_notes)
    if given.routine is not None:
        found = given.compared
        for level in ("patients", "lesions"):
            tests = found.of_family("routine", level)
            if not tests:
                continue
            reads = given.routine.reads
            weight = sum(one.weight for one in reads) ** 2 / sum(one.weight**2 for one in reads)
            worth = f", worth {weight:.0f} unweighted ones" if any(one.weight != 1 for one in reads) else ""
            ill = sum(one.positive for one in reads)
            number = given.compared.replicates
            yield make_test_table(
                given,
                tests,
                name="matched-routine" if level == "patients" else "matched-routine-lesions",
                caption=(
                    f"The first {counted(len(given.top), 'team')} set to the operating point of clinical routine, "
                    f"{level}: {counted(len(reads), 'case')}{worth}, {ill} positive."
                ),
                heads=("Team", "Routine calls at", "Compared"),
                who=lambda test: (test.a, describe_point(test), test.measure),
                sides=("Team's", "Routine's"),
                note=(
                    f"Paired bootstrap of cases and instances, {number:,} replicates, seed {found.seed}; thresholds "
                    "are matched anew in every replicate. p is one-sided, of the claim that the algorithm is better. "
                    "Published p: thresholds matched once, as PI-CAI did. P(as good): the share of replicates in which "
                    "the algorithm is at least as good."
                ),
            )
        notes += found.notes["routine"]
    for note in notes:
        yield Paragraph(note, note=True)
