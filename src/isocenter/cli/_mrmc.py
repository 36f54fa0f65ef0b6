"""`isocenter mrmc`: modalities that several readers used on several cases, compared."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from isocenter.cli._arguments import Json
from isocenter.cli._mrmc_points import Beside, find, parse_points
from isocenter.cli._mrmc_show import NAMES, csv_of, page_of, show
from isocenter.cli._tables import refuse_out, write_out

if TYPE_CHECKING:
    import polars as pl

    from isocenter.cli._mrmc_show import Verdicts
    from isocenter.stats.mrmc import Analysis, ReadsError


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
    points: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Also compare where readers call from this rating (or score) on: algorithms with the reference, "
            "or panels.",
        ),
    ] = None,
    lesions: Annotated[
        Path | None,
        typer.Option(
            help="Compare lesions there too: rows of reader_id,modality_id,case_id,is_lesion,confidence (.csv).",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    panels: Annotated[
        Path | None,
        typer.Option(
            help="Compare panels of readers with each other: rows of reader_id,panel (.csv).",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Also find standard errors of AUCs by so many draws of readers and cases.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
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
    from isocenter.stats.mrmc import ReadsError, analyse

    refuse_out(out, [], table, lesions, panels)
    _refuse_nonsense(reference, margin, preset, html, endpoint)
    beside = Beside(
        reference, parse_points(points), lesions, panels, margin, preset, level, readers, tuple(fixed or ()), bootstrap,
        seed,
    )  # fmt: skip
    beside.refuse_nonsense()
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
        if reference is not None:
            found = _oriented(found, reference)
        more = find(reads, beside)
    except ReadsError as error:
        wrong = lesions if lesions is not None and error.source == "lesions" else table
        refuse_reads(error, wrong, as_json=as_json)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    verdicts = _verdicts(found, reference, margin, preset) if margin is not None or preset is not None else {}
    data = {"ok": True, "file": table.name, "reference": reference, **found.to_dict()}
    data["non_inferiority"] = [
        {"new": new, "reference": old, **({"label": None} if verdict is None else verdict.to_dict())}
        for (new, old), verdict in verdicts.items()
    ]
    data |= more.to_dict()
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    page = page_of(reads, found, table.name) if html is not None else ""
    texts = {} if out is None else {"--out": (out, text if out.suffix == ".json" else csv_of(found, verdicts))}
    write_out(texts if html is None else texts | {"--html": (html, page)})
    if as_json:
        typer.echo(text, nl=False)
        return
    show(found, verdicts, title=f"{table.name}: {NAMES[endpoint]} of {len(found.modalities)} modalities")
    more.show()
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
    from isocenter.problems import printable
    from isocenter.stats.mrmc import ReadsError

    name = path.name if error.source in ("reads", "lesions") else error.source
    if as_json:
        typer.echo(json.dumps({"ok": False, "file": name, "problems": error.problems}, indent=2))
    else:
        for line in str(ReadsError(error.problems, name)).splitlines():
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
) -> Verdicts:
    return {
        (pair.a, pair.b): pair.non_inferiority(margin=margin, level=found.level, preset=preset)
        for pair in found.pairs.values()
        if pair.b == reference
    }
