"""`isocenter mrmc`: modalities that several readers used on several cases, compared."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from isocenter.cli._arguments import Json
from isocenter.cli._many import show_table
from isocenter.cli._tables import refuse_out

if TYPE_CHECKING:
    import polars as pl

    from isocenter.stats import NonInferiority
    from isocenter.stats.mrmc import Analysis, Modality, Pair, ReadsError

    # By new modality and reference; none where the difference has no variance.
    _Verdicts = dict[tuple[str, str], NonInferiority | None]

_NAMES = {"auc": "AUC", "sensitivity": "sensitivity", "specificity": "specificity"}

Reads = Annotated[
    Path,
    typer.Argument(
        metavar="READS",
        help="One row per read (.csv): reader_id,modality_id,case_id,truth,score; or iMRMC's text format (.imrmc).",
        exists=True,
        dir_okay=False,
    ),
]


def mrmc(
    table: Reads,
    *,
    method: Annotated[
        Literal["ustat", "or"],
        typer.Option(help="U-statistics, for any design; or the analysis of variance of Obuchowski and Rockette."),
    ] = "ustat",
    covariance: Annotated[
        Literal["unbiased", "delong", "jackknife"], typer.Option(help="Of readers over cases, for --method or.")
    ] = "unbiased",
    readers: Annotated[
        Literal["random", "fixed"], typer.Option(help="Whether the result is to hold for other readers: random.")
    ] = "random",
    cases: Annotated[
        Literal["random", "fixed"],
        typer.Option(help="Whether the result is to hold for other cases: random. Fixed ones with --method or."),
    ] = "random",
    fixed: Annotated[
        list[str] | None,
        typer.Option(metavar="MODALITY", help="One whose readers are no sample of others; may be repeated."),
    ] = None,
    endpoint: Annotated[
        Literal["auc", "sensitivity", "specificity"], typer.Option(help="What is estimated of each reader.")
    ] = "auc",
    threshold: Annotated[
        float | None, typer.Option(help="The score from which on a case is called positive: not for the AUC.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(metavar="MODALITY", help="The one that others are compared with: others − reference.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="Test non-inferiority to the reference: how much worse is accepted.")
    ] = None,
    preset: Annotated[
        Literal["picai"] | None, typer.Option(help="A rule of non-inferiority: margin 0.05, and a difference above 0.")
    ] = None,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The coverage of the intervals.")] = 0.95,
    compat: Annotated[
        Literal["imrmc-4.0.3"] | None, typer.Option(help="Do as this program: weights of readers, rounding of df.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write the ROC curves, of readers and their average, as a page.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the numbers: .csv or .json.", dir_okay=False)] = None,
    as_json: Json = False,
) -> None:
    r"""Compare modalities, or an algorithm with readers, so that it holds for others.

    An algorithm is a modality with one reader; several trained instances of it
    are its readers. Not every reader has to read every case. Differences have
    intervals and p for other readers and other cases like these.

    Example: isocenter mrmc reads.csv --reference radiologists --margin 0.05
    """
    from isocenter import atomic
    from isocenter.stats.mrmc import ReadsError, analyse

    refuse_out(out, [], table)
    _refuse_nonsense(reference, margin, preset, html, endpoint)
    try:
        reads = open_reads(table)
        found = analyse(
            reads,
            method=method,
            covariance=covariance,
            readers=readers,
            cases=cases,
            fixed=fixed or (),
            endpoint=endpoint,
            threshold=threshold,
            level=level,
            compat=compat,
        )
    except ReadsError as error:
        refuse_reads(error, table, as_json=as_json)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if reference is not None:
        found = _oriented(found, reference)
    verdicts = _verdicts(found, reference, margin, preset) if margin is not None or preset is not None else {}
    data = {"ok": True, "file": table.name, "reference": reference, **found.to_dict()}
    data["non_inferiority"] = [
        {"new": new, "reference": old, **({"label": None} if verdict is None else verdict.to_dict())}
        for (new, old), verdict in verdicts.items()
    ]
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    page = _page(reads, found, table.name) if html is not None else ""
    if out is not None:
        atomic.write_text(text if out.suffix == ".json" else _csv(found, verdicts), out)
    if html is not None:
        atomic.write_text(page, html)
    if as_json:
        typer.echo(text, nl=False)
        return
    _show(found, verdicts, title=f"{table.name}: {_NAMES[endpoint]} of {len(found.modalities)} modalities")
    for path in (out, html):
        if path is not None:
            typer.echo(f"Written to {path}")


def open_reads(path: Path) -> pl.DataFrame:
    """The reads of a file, by its ending."""
    from isocenter.stats.mrmc import read_csv, read_imrmc

    ways = {".csv": read_csv, ".imrmc": read_imrmc}
    if path.suffix.lower() not in ways:
        msg = f"{path} should be a file of reads that ends in .csv or .imrmc"
        raise typer.BadParameter(msg, param_hint="READS")
    return ways[path.suffix.lower()](path)


def refuse_reads(error: ReadsError, path: Path, *, as_json: bool) -> NoReturn:
    """Say everything that is wrong with the reads, and end the command with 1."""
    from isocenter.stats.mrmc import ReadsError
    from isocenter.submissions import printable

    if as_json:
        typer.echo(json.dumps({"ok": False, "file": path.name, "problems": error.problems}, indent=2))
    else:
        for line in str(ReadsError(error.problems, path.name)).splitlines():
            typer.echo(printable(line), err=True)
    raise typer.Exit(1) from None


def _refuse_nonsense(
    reference: str | None, margin: float | None, preset: str | None, html: Path | None, endpoint: str
) -> None:
    if margin is not None and not 0 < margin < math.inf:
        msg = f"a margin is finite and above 0 (it says how much worse is accepted), not {margin}"
        raise typer.BadParameter(msg, param_hint="--margin")
    if (margin is not None or preset is not None) and reference is None:
        msg = "non-inferiority is that to a modality: name it with --reference"
        raise typer.BadParameter(msg, param_hint="--preset" if margin is None else "--margin")
    if html is not None and (html.is_dir() or html.suffix != ".html"):
        msg = f"{html} should be a file that ends in .html"
        raise typer.BadParameter(msg, param_hint="--html")
    if html is not None and endpoint != "auc":
        msg = f"the page has ROC curves, and {endpoint} has none"
        raise typer.BadParameter(msg, param_hint="--html")


def _oriented(found: Analysis, reference: str) -> Analysis:
    """The same with every difference from the reference as other − reference."""
    from isocenter.stats.mrmc import Pairs

    if reference not in found.modalities or len(found.modalities) == 1:
        msg = f"{reference!r} should be one of several modalities; the study has {', '.join(found.modalities)}"
        raise typer.BadParameter(msg, param_hint="--reference")
    pairs = [pair.reversed() if pair.a == reference else pair for pair in found.pairs.values()]
    return replace(found, pairs=Pairs(pairs))


def _verdicts(
    found: Analysis, reference: str | None, margin: float | None, preset: Literal["picai"] | None
) -> _Verdicts:
    from isocenter.stats import non_inferiority

    return {
        (pair.a, pair.b): non_inferiority(
            pair.difference, math.sqrt(pair.variance), pair.df, margin=margin, level=found.level, preset=preset
        )
        if pair.variance > 0
        else None
        for pair in found.pairs.values()
        if pair.b == reference
    }


def _show(found: Analysis, verdicts: _Verdicts, *, title: str) -> None:
    from isocenter.submissions import printable

    interval = f"{100 * found.level:g} % interval"
    rows = [
        [printable(name), str(len(m.readers)), f"{m.estimate:.4f}", _error(m.variance), f"[{m.low:.4f}, {m.high:.4f}]"]
        for name, m in found.modalities.items()
    ]
    show_table(printable(title), ["modality", "readers", _NAMES[found.endpoint], "SE", interval], rows)
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


def _csv(found: Analysis, verdicts: _Verdicts) -> str:
    """A row for each modality, without b, and one for each pair."""
    import polars as pl

    rows: list[dict[str, Any]] = [_row(name, None, m.estimate, m) for name, m in found.modalities.items()]
    for (a, b), pair in found.pairs.items():
        row = _row(a, b, pair.difference, pair) | {"p": pair.p, "adjusted": pair.adjusted}
        if (verdict := verdicts.get((a, b))) is not None:
            row |= {"margin": verdict.margin, "label": verdict.label, "p_one_sided": verdict.p_one_sided}
        rows.append(row)
    blank = dict.fromkeys([name for row in rows for name in row])
    return pl.DataFrame([blank | row for row in rows], infer_schema_length=None).write_csv()


def _row(a: str, b: str | None, estimate: float, of: Modality | Pair) -> dict[str, Any]:
    df = None if math.isinf(of.df) else of.df
    spread = {"standard_error": math.sqrt(of.variance), "df": df, "low": of.low, "high": of.high, "status": of.status}
    return {"a": a, "b": b, "estimate": estimate, **spread}


def _page(reads: pl.DataFrame, found: Analysis, name: str) -> str:
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
