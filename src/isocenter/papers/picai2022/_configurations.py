"""The best algorithms against every configuration of readers, and readers against readers.

A configuration is a panel of readers in a modality at an operating point, or on the full scale. Three panels, two
modalities and two points are 18 for patients and 12 for lesions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from isocenter.papers._words import anchor, counted, p_value
from isocenter.papers.picai2022._comparison_tables import describe_point, interval, make_test_table, signed
from isocenter.papers.picai2022._given import MARGIN, Given
from isocenter.readers import StudyTest
from isocenter.report import Block, Cell, Chart, Paragraph, Section, Table, matrix_plot, table

_SIGNIFICANT = 0.05
_SHORT = {
    "specificity at equal sensitivity": "spec.",
    "sensitivity at equal specificity": "sens.",
    "precision at equal recall": "prec.",
    "recall at equal precision": "recall",
}
_MEASURES = ("AUC", "sensitivity", "specificity", "recall", "precision")


def configurations(given: Given) -> Section:
    """Every team of the top against every configuration of readers."""
    blocks: list[Block] = []
    if given.readers is None:
        blocks += [Paragraph(note, note=True) for note in given.readers_notes]
    else:
        blocks += _against_all(given)
        blocks += [Paragraph(note, note=True) for note in (*given.panels_notes, *given.compared.notes["readers"])]
    return Section("configurations", "The best algorithms and every panel of readers", tuple(blocks))


def _against_all(given: Given) -> Iterator[Block]:
    tests = given.compared.of_family("readers")
    modalities = list(dict.fromkeys(test.modality for test in tests))
    for level, (number, modality) in product(("patients", "lesions"), enumerate(modalities, start=1)):
        if mine := [test for test in tests if (test.level, test.modality) == (level, modality)]:
            yield _map(given, mine, name=f"configurations-{level}" + (f"-{number}" if number > 1 else ""))
    if areas := [test for test in tests if test.verdict is not None]:
        yield _verdicts(given, areas)
    for number, team in enumerate(given.top, start=1):
        mine = [test for test in tests if test.a == team and test.point is not None]
        if mine:
            yield make_test_table(
                given,
                mine,
                name=anchor(f"configurations-{number}"),
                caption=f"{team} set to the operating points of the readers of every panel: means over the readers.",
                heads=("Of", "Readers", *_modality_head(mine), "At", "Compared"),
                who=lambda test: (
                    test.level.capitalize(),
                    test.b,
                    *([test.modality] if test.modality else []),
                    describe_point(test),
                    test.measure,
                ),
                sides=(team, "Readers'"),
                note="One-sided, the algorithm better. Published p: instances and readers relabelled, on these cases.",
            )


def _modality_head(tests: Sequence[StudyTest]) -> list[str]:
    return ["Modality"] if any(test.modality for test in tests) else []


def _label(test: StudyTest) -> str:
    return f"{test.b}: AUROC" if test.point is None else f"{test.b} ≥ {test.point}: {_SHORT[test.measure]}"


def _map(given: Given, tests: Sequence[StudyTest], *, name: str) -> Chart:
    """Differences by configuration and team in one modality; a star where Holm's p is small."""
    level, modality = tests[0].level, tests[0].modality
    teams = [team for team in given.top if any(test.a == team for test in tests)]
    rows = list(dict.fromkeys(map(_label, tests)))
    by = {(_label(test), test.a): test for test in tests}
    values = [[by[row, team].difference if (row, team) in by else None for team in teams] for row in rows]
    marks = {
        (at, column): "*"
        for at, row in enumerate(rows)
        for column, team in enumerate(teams)
        if (row, team) in by and by[row, team].adjusted <= _SIGNIFICANT
    }
    count = len({test.configuration for test in tests})
    where = f" of {modality}" if modality else ""
    title = f"The best algorithms minus {counted(count, 'configuration')} of readers{where}, {level}"
    together = len(given.compared.of_family("readers", level))
    shown = {test.measure for test in tests}
    spelt = " ".join(f"{short.rstrip('.').capitalize()}: {whole}." for whole, short in _SHORT.items() if whole in shown)
    return Chart(
        name,
        f"{title}: by panel and PI-RADS from which on readers call, the difference of the means. {spelt} * Holm's p "
        f"of at most {_SIGNIFICANT:g}, among {counted(together, 'test')} of {level}.",
        matrix_plot(
            values,
            rows=rows,
            columns=teams,
            show=lambda value: f"{value:+.2f}".replace("-", "−"),
            legend="algorithm minus readers",
            title=title,
            name=f"picai-{name}",
            diverging=True,
            marks=marks,
        ),
        given.compared.table().filter(family="readers", level=level, modality=modality),
    )


def _verdicts(given: Given, tests: Sequence[StudyTest]) -> Table:
    level = f"{100 * given.study.settings.level:g} % interval"
    rows: list[list[str | Cell | None]] = []
    for test in tests:
        verdict = test.verdict
        assert verdict is not None
        rows.append(
            [
                test.a,
                test.b,
                *([test.modality] if test.modality else []),
                Cell(str(test.size_b), test.size_b),
                Cell(signed(test.difference), test.difference),
                interval(test.low, test.high),
                Cell(p_value(test.p), test.p),
                Cell(p_value(test.adjusted), test.adjusted),
                verdict.label,
                Cell(p_value(verdict.p_one_sided), verdict.p_one_sided),
                Cell(p_value(test.verdict_adjusted), test.verdict_adjusted),
                "accepted" if verdict.accepted else "not accepted",
            ]
        )
    heads = ["Team", "Readers", *_modality_head(tests), "How many #", "Difference #", level, "p #", "Holm #"]
    return table(
        "configurations-auroc",
        f"AUROC of the best algorithms minus the mean AUROC of every panel of readers, for other readers and cases; "
        f"non-inferiority with a margin of {MARGIN:g}.",
        [*heads, "Verdict", "p, non-inferior #", "Holm, non-inferior #", "By PI-CAI's rule"],
        rows,
        notes=[
            "p: two-sided, of no difference, adjusted by Holm's method with all tests of patients of this comparison.",
            (
                "p, non-inferior: one-sided, of a difference of −margin or less, to be compared with half the level, "
                "and adjusted by Holm's method among the verdicts. PI-CAI's rule also asks for a difference above 0."
            ),
        ],
    )


def readers_and_readers(given: Given) -> Section:
    """The means of every configuration, and the tests between panels and modalities."""
    return Section("panels", "Readers and readers", tuple(_between(given)))


def _between(given: Given) -> Iterator[Block]:
    if given.readers is None:
        yield from (Paragraph(note, note=True) for note in given.readers_notes)
        return
    found = given.compared
    if found.configurations:
        yield _means(given)
    tests = found.of_family("panels")
    if tests:
        yield make_test_table(
            given,
            tests,
            name="panel-tests",
            caption="Panels of readers with each other, and two modalities of one panel.",
            heads=("Of", "First panel", "Second panel", "At", "Compared"),
            who=lambda test: (test.level.capitalize(), test.a, test.b, describe_point(test), test.measure),
            note=(
                "Two-sided. AUROC: analysis of several readers and cases. Published p: readers of two panels "
                "relabelled, or the two values of each reader swapped, on these cases."
            ),
        )
    for note in (*given.panels_notes, *found.notes["panels"]):
        yield Paragraph(note, note=True)


def _means(given: Given) -> Table:
    found = given.compared.configurations
    measures = [name for name in _MEASURES if any(name in one.values for one in found)]
    rows = [
        [
            one.level.capitalize(),
            one.panel,
            one.modality,
            Cell("full scale") if one.point is None else Cell(f"PI-RADS ≥ {one.point:g}", one.point),
            Cell(str(one.readers), one.readers),
            *(Cell(f"{one.values[name]:.3f}", one.values[name]) if name in one.values else None for name in measures),
        ]
        for one in found
    ]
    patients = sum(one.level == "patients" for one in found)
    heads = [f"{'AUROC' if name == 'AUC' else name.capitalize()} #" for name in measures]
    return table(
        "configurations-readers",
        f"Configurations of readers: {patients} for patients, {len(found) - patients} for lesions; means over the "
        "readers, each on the cases that they read.",
        ["Of", "Panel", "Modality", "At", "Readers #", *heads],
        rows,
    )
