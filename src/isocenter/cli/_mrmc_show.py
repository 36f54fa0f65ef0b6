"""What `isocenter mrmc` shows of an analysis: tables, a CSV, and a page of curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import typer

from isocenter.cli._many import show_table
from isocenter.cli._tables import csv_text

if TYPE_CHECKING:
    import polars as pl

    from isocenter.stats import NonInferiority
    from isocenter.stats.mrmc import Analysis, Modality, Pair

    # By new modality and reference; none where the difference has no variance.
    Verdicts = dict[tuple[str, str], NonInferiority | None]

NAMES = {"auc": "AUC", "sensitivity": "sensitivity", "specificity": "specificity"}


def show(found: Analysis, verdicts: Verdicts, *, title: str) -> None:
    from isocenter.problems import printable

    interval = f"{100 * found.level:g} % interval"
    rows = [
        [printable(name), str(len(m.readers)), f"{m.estimate:.4f}", _error(m.variance), f"[{m.low:.4f}, {m.high:.4f}]"]
        for name, m in found.modalities.items()
    ]
    show_table(printable(title), ["modality", "readers", NAMES[found.endpoint], "SE", interval], rows)
    if found.pairs:
        several = len(found.pairs) > 1
        columns = ["difference", "a − b", "SE", "df", interval, "p", *(["adjusted p"] * several)]
        pairs = [[*_cells(pair), *([_p(pair.adjusted)] * several)] for pair in found.pairs.values()]
        show_table("Differences", columns, [[printable(cell) for cell in row] for row in pairs])
    for (new, old), verdict in verdicts.items():
        said = "non-inferiority is not decided, as the difference has no variance." if verdict is None else verdict
        typer.echo(printable(f"{new} − {old}: {said}"))
    if verdicts:
        typer.echo()
    for line in str(found).splitlines():
        typer.echo(printable(line))


def _cells(pair: Pair) -> list[str]:
    df = "∞" if math.isinf(pair.df) else f"{pair.df:.1f}"
    bounds = f"[{pair.low:+.4f}, {pair.high:+.4f}]"
    return [f"{pair.a} − {pair.b}", f"{pair.difference:+.4f}", _error(pair.variance), df, bounds, _p(pair.p)]


def _error(variance: float) -> str:
    return f"{math.sqrt(variance):.4f}" if variance > 0 else "–"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def csv_of(found: Analysis, verdicts: Verdicts) -> str:
    """A row for each modality, without b, and one for each pair."""
    import polars as pl

    rows: list[dict[str, Any]] = [_row(name, None, m.estimate, m) for name, m in found.modalities.items()]
    for (a, b), pair in found.pairs.items():
        row = _row(a, b, pair.difference, pair) | {"p": pair.p, "adjusted": pair.adjusted}
        if (verdict := verdicts.get((a, b))) is not None:
            rule = {"margin": verdict.margin, "label": verdict.label, "accepted": verdict.accepted}
            row |= rule | {"p_one_sided": verdict.p_one_sided}
        rows.append(row)
    blank = dict.fromkeys([name for row in rows for name in row])
    return csv_text(pl.DataFrame([blank | row for row in rows], infer_schema_length=None))


def _row(a: str, b: str | None, estimate: float, of: Modality | Pair) -> dict[str, Any]:
    df = None if math.isinf(of.df) else of.df
    spread = {"standard_error": math.sqrt(of.variance), "df": df, "low": of.low, "high": of.high, "status": of.status}
    return {"a": a, "b": b, "estimate": estimate, **spread}


def page_of(reads: pl.DataFrame, found: Analysis, name: str) -> str:
    """The average curves together, and for each modality the curves of its readers."""
    import numpy as np

    from isocenter import report
    from isocenter.metrics import RocCurve, roc_curve
    from isocenter.stats.mrmc import average_curves

    # An average has no threshold of its own.
    averages = {
        modality: RocCurve(curve.fpf, curve.tpf, np.full(curve.fpf.shape, np.nan))
        for modality, curve in average_curves(reads).items()
    }
    caption = "Along the diagonal, all readers weighted equally: the area under the average is the mean of their AUCs."
    title = "Average ROC curves"
    figures = [report.Figure("average", title, caption, report.roc_plot(averages, title=title, name="average"))]
    for number, (modality, m) in enumerate(found.modalities.items()):
        own = {reader: reads.filter(modality_id=modality, reader_id=reader) for reader in m.readers}
        curves = {r: roc_curve(rows["truth"], rows["score"], weight=rows["weight"]) for r, rows in own.items()}
        title, plot = f"Readers of {modality}", f"readers-{number}"
        drawn = report.roc_plot(curves, title=title, name=plot)
        figures.append(report.Figure(plot, title, "Empirical: every score that was given is a threshold.", drawn))
    return report.pictures_page("Reader study", figures, subtitle=name)
