"""How large a study of readers would have to be, from the variance that reads.csv shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from isocenter.papers._words import counted
from isocenter.papers.picai2022._given import MARGIN, Given, panels
from isocenter.readers import AI, PANEL, PanelStudy
from isocenter.report import Block, Cell, Paragraph, Section, Table, table
from isocenter.stats import PairComponents, VarianceComponents, designs, power_grid
from isocenter.stats.mrmc import analyse

_READERS = (5, 10, 20, 40, 60)
_CASES = (100, 200, 400, 1000)


def power(given: Given) -> Section:
    """The power of studies that compare an algorithm with readers, in every modality."""
    blocks: list[Block] = []
    for number, study in enumerate(panels(given), start=1):
        blocks += _power(given, study, tag="" if number == 1 else f"-{number}")
    if not blocks:
        text = "The power of studies to come would be worked out from the reads of at least two readers in reads.csv."
        blocks.append(Paragraph(text, note=True))
    return Section("power", "How large a study of readers would have to be", tuple(blocks))


def _power(given: Given, study: PanelStudy, *, tag: str) -> Iterator[Block]:
    of = f" of {study.modality}" if study.modality else ""
    if study.readers < 2:
        yield Paragraph(f"One reader{of} shows no variance between readers, so no power can be worked out.", note=True)
        return
    try:
        yield _grid(given, study, of, tag)
    except ValueError:
        text = (
            f"No power can be worked out for readers{of}: so few of them, or of their cases, do not show how they vary."
        )
        yield Paragraph(text, note=True)


def _grid(given: Given, study: PanelStudy, of: str, tag: str) -> Table:
    unbiased, biased = components(study)
    truth = study.reads.select("case_id", "truth").unique()["truth"]
    share = float(truth.sum()) / truth.len()
    cases = [(n - max(1, min(n - 1, round(n * share))), max(1, min(n - 1, round(n * share)))) for n in _CASES]
    alpha = 1 - given.study.settings.level
    grid = power_grid(unbiased, designs(readers=_READERS, cases=cases), margin=MARGIN, alpha=alpha, biased=biased)
    by = {(row.design.readers, row.design.negatives): row for row in grid.rows}
    rows: list[list[str | Cell]] = []
    for readers in _READERS:
        found = [by[readers, negatives] for negatives, _ in cases]
        rows.append(
            [
                Cell(str(readers), readers),
                *(Cell(f"{one.power:.2f} ({one.standard_error:.4f})", one.power, shade=one.power / 2) for one in found),
            ]
        )
    text = (
        f"Components of variance of {given.best} minus the readers from {counted(study.readers, 'reader')} and "
        f"{counted(truth.len(), 'case')}; the algorithm is taken as it is, not trained again. Two-sided level "
        f"{alpha:g}, degrees of freedom by Satterthwaite. A pilot of few readers knows their variance badly."
    )
    return table(
        f"power-table{tag}",
        f"Power (and standard error) to show that an algorithm with the AUROC of readers{of} is not inferior by a "
        f"margin of {MARGIN:g}, if all readers read all cases.",
        ["Readers #", *(f"{n:,} cases, {ill} positive #" for n, (_, ill) in zip(_CASES, cases, strict=True))],
        rows,
        notes=[text],
    )


def components(study: PanelStudy) -> tuple[VarianceComponents, VarianceComponents]:
    """Of the difference, unbiased and from the biased moments: the algorithm varies with the cases only."""
    found = analyse(study.reads.select(pl.exclude("rating")), fixed=[AI])
    tables = [found.modalities[AI].tables, found.modalities[PANEL].tables, found.pairs[AI, PANEL].tables]
    unbiased, biased = (
        PairComponents(*(_named(one["bck"][kind]) for one in tables)).difference for kind in ("unbiased", "mle")
    )
    return unbiased, biased


def _named(components: Mapping[str, float]) -> VarianceComponents:
    return VarianceComponents(**{name.lower(): float(value) for name, value in components.items()})
