"""The best algorithm against the readers of a study: average curves, non-inferiority, operating points, power."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from isocenter.metrics import RocCurve
from isocenter.papers._words import counted, p_value
from isocenter.papers.picai2022._comparison_tables import describe_point, make_test_table
from isocenter.papers.picai2022._curves import marks
from isocenter.papers.picai2022._given import Given, panels
from isocenter.papers.picai2022._nulls import FEWEST, null_plot
from isocenter.readers import AI, ALL_READERS, PANEL, PanelStudy, compare_with_study
from isocenter.report import Block, Cell, Chart, Paragraph, Section, Table, roc_plot, table
from isocenter.stats import AgainstPanel, AtPoint
from isocenter.stats.mrmc import average_curves


def readers(given: Given) -> Section:
    """The best team against the readers of every modality."""
    blocks: list[Block] = []
    for number, study in enumerate(panels(given), start=1):
        blocks += _compared(given, study, tag="" if number == 1 else f"-{number}")
    if given.readers is None:
        blocks += [Paragraph(note, note=True) for note in given.readers_notes]
    return Section("readers", "The best algorithm and the readers", tuple(blocks))


def _compared(given: Given, study: PanelStudy, *, tag: str) -> Iterator[Block]:
    of = f" of {study.modality}" if study.modality else ""
    panel = f"{counted(study.readers, 'reader')}{of}"
    given.study.move(0, 1, f"comparing {given.best} with {panel}")
    found, notes = compare_with_study(study, level=given.study.settings.level)
    if found is not None:
        yield _sentence(given, found, panel)
        yield _average(given, study, panel, tag)
        yield from _areas(given, found, panel, tag)
        if found.points:
            yield from _at_points(given, study, panel, tag)
            yield from _null(found.points[0], given.best, panel, tag)
        notes += _remarks(found, given.best)
    for note in notes:
        yield Paragraph(note, note=True)


def _remarks(found: AgainstPanel, team: str) -> Iterator[str]:
    """What limits the result; who is alone on a side is said in words of this chapter."""
    if len(found.study.modalities[AI].readers) == 1:
        yield f"{team} was trained once: the result holds for this training, not for others like it."
    if len(found.study.modalities[PANEL].readers) == 1:
        yield "There is one reader: the result holds for this reader, not for others."
    for note in found.study.notes:
        if not note.startswith("modality "):
            yield f"{_capital(note).rstrip('.')}."


def _sentence(given: Given, found: AgainstPanel, panel: str) -> Paragraph:
    pair, level = found.study.pairs[AI, PANEL], given.study.settings.level
    ai, read = (found.study.modalities[name].estimate for name in (AI, PANEL))
    reach = "has an" if len(found.study.modalities[PANEL].readers) == 1 else "have a mean"
    text = (
        f"On the {counted(found.cases, 'case')} that were read, {panel} {reach} AUROC of {read:.3f} and {given.best} "
        f"one of {ai:.3f}: a difference of {_signed(pair.difference)} ({100 * level:g} % interval "
        f"{_signed(pair.low)} to {_signed(pair.high)}, for other readers and other cases). "
    )
    if found.verdict is None:
        return Paragraph(f"{text}Non-inferiority is not decided, as the difference has no variance.")
    verdict = found.verdict
    text += f"With a margin of {verdict.margin:g} the algorithm is {verdict.label}"
    if verdict.needs_gain:
        rule = "is met" if verdict.accepted else "is not met"
        text += f"; PI-CAI's rule, which also asks for a difference above 0, {rule}"
    return Paragraph(f"{text}.")


def _average(given: Given, study: PanelStudy, panel: str, tag: str) -> Chart:
    found = average_curves(study.reads)
    labels = {PANEL: f"Average of {panel}", AI: given.best}
    several = study.reads.filter(modality_id=AI)["reader_id"].n_unique() > 1
    shown = {labels[name]: found[name] for name in (AI, PANEL)}
    points = marks(given, lambda point: (1 - point.specificity, point.sensitivity), modality=study.modality)
    title = f"The average ROC curve of {panel}, and that of {given.best} on the same cases"
    picture = roc_plot(
        {name: RocCurve(curve.fpf, curve.tpf, np.full(curve.fpf.size, np.nan)) for name, curve in shown.items()},
        title=title,
        points=points,
        name=f"picai-average{tag}",
    )
    trained = " Trained instances are averaged in the same way." if several else ""
    caption = (
        f"{title}. Averaged along the chance diagonal, so that the area is the mean of the readers' areas; readers are "
        f"scored by their {study.scored}.{trained}"
    )
    rows = [(name, x, y) for name, c in shown.items() for x, y in zip(c.fpf.tolist(), c.tpf.tolist(), strict=True)]
    data = pl.DataFrame(rows, schema=["who", "false_positive_rate", "sensitivity"], orient="row")
    return Chart(f"average-curve{tag}", caption, picture, data)


def _areas(given: Given, found: AgainstPanel, panel: str, tag: str) -> Iterator[Table]:
    """The areas and their difference, and what follows from it."""
    level, verdict = given.study.settings.level, found.verdict
    pair = found.study.pairs[AI, PANEL]
    rows: list[list[str | Cell | None]] = []
    for name, who in ((AI, given.best), (PANEL, panel)):
        area = found.study.modalities[name]
        rows.append([who, Cell(f"{area.estimate:.3f}", area.estimate), f"{area.low:.3f} to {area.high:.3f}"])
        rows[-1] += _known(area.variance, area.df)
    difference = [Cell("Difference", strong=True), Cell(_signed(pair.difference), pair.difference)]
    rows.append([*difference, f"{_signed(pair.low)} to {_signed(pair.high)}", *_known(pair.variance, pair.df)])
    yield table(
        f"reader-areas{tag}",
        f"AUROC of {given.best} and mean AUROC of {panel}, for other readers and cases.",
        ["Who", "AUROC #", f"{100 * level:g} % interval", "Standard error #", "df #"],
        rows,
        notes=[f"{_capital(found.study.method)}; {found.study.df_rule}."],
    )
    if verdict is None:
        return
    alpha = 1 - level
    text = (
        f"p is of a difference of −margin or less. One-sided, it is compared with {alpha / 2:g}; doubled, as Chen et "
        f"al. and iMRMC print it, with {alpha:g}. PI-CAI's rule asks for non-inferiority and a difference above 0."
    )
    yield table(
        f"non-inferiority{tag}",
        f"Whether {given.best} is not inferior to {panel} in AUROC.",
        ["Margin #", "Verdict", "p, one-sided #", "p, doubled #", "By PI-CAI's rule"],
        [
            (
                verdict.margin,
                Cell(verdict.label, strong=True),
                Cell(p_value(verdict.p_one_sided), verdict.p_one_sided),
                Cell(p_value(verdict.p_doubled), verdict.p_doubled),
                "accepted" if verdict.accepted else "not accepted",
            )
        ],
        notes=[text],
    )


def _known(variance: float, df: float) -> list[Cell | None]:
    """A standard error and its degrees of freedom, as far as they are known."""
    error = math.sqrt(variance) if variance > 0 else None
    return [
        None if error is None else Cell(f"{error:.4f}", error),
        Cell("∞") if math.isinf(df) else Cell(f"{df:.1f}", df),
    ]


def _at_points(given: Given, study: PanelStudy, panel: str, tag: str) -> Iterator[Table]:
    everybody = _everybody(given)
    tests = [
        test
        for test in given.compared.of_family("readers")
        if (test.a, test.b, test.modality) == (given.best, everybody, study.modality) and test.point is not None
    ]
    if tests:
        yield make_test_table(
            given,
            tests,
            name=f"operating-points{tag}",
            caption=f"{given.best} set to the operating point of each of {panel}: means over the readers.",
            heads=("Of", "PI-RADS", "Compared"),
            who=lambda test: (test.level.capitalize(), describe_point(test), test.measure),
            sides=(given.best, "Readers"),
            note="One-sided, the algorithm better. Published p: instances and readers relabelled, on these cases.",
        )


def _everybody(given: Given) -> str:
    """The panel that holds all readers, as the comparisons call it."""
    assert given.readers is not None
    there = {one.read.reader for one in given.readers.reads}
    return next((name for name, members in given.panels.items() if set(members) == there), ALL_READERS)


def _null(one: AtPoint, team: str, panel: str, tag: str) -> Iterator[Block]:
    made, test = one.comparison, one.comparison.published
    if test.relabellings < FEWEST:
        return
    title = f"The permutation test of {made.conjugate} at equal {made.match}, PI-RADS ≥ {one.point:g}"
    label = "mean of the algorithm minus mean of the readers" if test.statistic == "difference" else "share beaten"
    yield Chart(
        f"permutation-readers{tag}",
        f"{title}: the statistic over relabellings of {team} and {panel}, and the value found. "
        f"p = {p_value(test.p_value)}; it speaks of other readers and trainings on these cases.",
        null_plot(
            made.instance_values,
            made.reader_values,
            test,
            label=label,
            title=title,
            name=f"picai-null-readers{tag}",
        ),
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
