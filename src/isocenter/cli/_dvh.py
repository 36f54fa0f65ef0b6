"""`isocenter dvh`: dose-volume histograms straight from a DICOM study, or from a dose and masks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from isocenter.cli._arguments import Json
from isocenter.cli._dvh_sources import Found, Which, from_files, from_study
from isocenter.cli._many import show_table
from isocenter.cli._tables import csv_text

if TYPE_CHECKING:
    import polars as pl

    from isocenter.metrics.dvh import Request, Rule
    from isocenter.volumes.dicom import Irregular

_REQUESTS = "Volume[cc] Min[Gy] Mean[Gy] Max[Gy] D98%[Gy] D95%[Gy] D50%[Gy] D2%[Gy] D0.1cc[Gy]"
_OF_PRESCRIPTION = "V95%[%]"
# A target whose median dose is this far from the prescription is more likely in other units, or of one fraction.
_PLAUSIBLE = (0.5, 1.5)
# What a spreadsheet takes for the start of a formula; some look past blanks.


def dvh(
    study: Annotated[
        Path | None,
        typer.Argument(
            metavar="STUDY", help="Folder or zip with RTDOSE and RTSTRUCT, in any arrangement.", exists=True
        ),
    ] = None,
    *,
    structure: Annotated[
        list[str] | None, typer.Option(help="Only this structure; may be repeated.", show_default="all")
    ] = None,
    request: Annotated[
        list[str] | None,
        typer.Option(help="What to read, as D95%\\[Gy] or V20Gy\\[cc]; may be repeated.", show_default="usual ones"),
    ] = None,
    prescription: Annotated[
        float | None, typer.Option(min=0.0, help="Prescribed dose, Gy.", show_default="the highest of the RTPLAN")
    ] = None,
    rule: Annotated[
        str, typer.Option(help="How the curve is read: exact, partial-volume, openkbp or doserad.")
    ] = "partial-volume",
    dose: Annotated[
        str | None,
        typer.Option(help="Without STUDY: the dose, Gy (NIfTI, MHA, NRRD). With it: which dose, by name, UID or sum."),
    ] = None,
    structures: Annotated[
        str | None,
        typer.Option(help="Without STUDY: a folder with a mask per structure. With it: which RTSTRUCT."),
    ] = None,
    patient: Annotated[str | None, typer.Option(help="PatientID, if STUDY holds several.")] = None,
    irregular: Annotated[
        str, typer.Option(help="What to do with dose planes at unequal distances: refuse or resample.")
    ] = "refuse",
    csv: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the table (CSV). "
            "Names that a spreadsheet would take for formulas get a ' before them.",
            dir_okay=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to draw the curves: .html or .svg.", dir_okay=False)] = None,
    as_json: Json = False,
) -> None:
    r"""Print a table of dose-volume histograms, and plot them.

    Straight from a DICOM study: contours are painted onto the grid of the dose.
    Voxels on the boundary count with the part that is inside; with the other
    rules than partial-volume, those whose centres are inside count whole. Or
    from files: masks may be on another grid, to which the dose is then
    interpolated. What lies outside the dose grid is left out, and said.

    Example: isocenter dvh study.zip --structure PTV70 --out dvh.html

    Example: isocenter dvh --dose dose.nii.gz --structures masks/ \
             --prescription 70 --request "D0.03cc[Gy]" --csv dvh.csv
    """
    import polars as pl

    from isocenter import atomic
    from isocenter.metrics.dvh import RULES, table
    from isocenter.problems import printable
    from isocenter.volumes import VolumeError

    asked = _requests(request or ())
    _one_of("--rule", rule, RULES)
    _one_of("--irregular", irregular, ("refuse", "resample"))
    if out is not None and out.suffix not in (".html", ".svg"):
        msg = f"{out} should end in .html or .svg"
        raise typer.BadParameter(msg, param_hint="--out")
    chosen = cast("Rule", rule)
    wanted = tuple(dict.fromkeys(structure or ()))
    try:
        if study is not None:
            which = Which(dose, structures, patient, cast("Irregular", irregular), chosen)
            found = from_study(study, which, wanted)
        else:
            found = from_files(dose, structures, wanted)
    except VolumeError as error:
        typer.echo(printable(str(error)), err=True)
        raise typer.Exit(1) from None
    if prescription is not None:
        found.prescription, found.prescribed = prescription, f"Prescription {prescription:g} Gy, as given."
    _check(asked, found)
    if not asked:
        asked = _requests([*_REQUESTS.split(), *([_OF_PRESCRIPTION] if found.prescription else [])])
    try:
        rows = table(found.dvhs, asked, prescription=found.prescription, rule=chosen)
    except ValueError as error:  # weights, and a rule that counts whole voxels
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    found.notes = [f"Read by the rule {rule}. {found.prescribed}", *found.notes, found.boundary, *_implausible(found)]
    if csv is not None:
        atomic.write_text(csv_text(rows.with_columns(rule=pl.lit(rule))), csv)
    if out is not None:
        atomic.write_text(_picture(found, rows, as_page=out.suffix == ".html"), out)
    if as_json:
        _print_json(found, rows, rule)
    else:
        show_table(found.source, [_heading(name) for name in rows.columns], [_cells(row) for row in rows.rows()])
        for line in (*found.problems, *found.notes, *(f"Written to {path}" for path in (csv, out) if path)):
            typer.echo(line)
    raise typer.Exit(1 if found.problems else 0)


def _requests(texts: Sequence[str]) -> list[Request]:
    from isocenter.metrics.dvh import Request, RequestError

    try:
        return [Request.parse(text) for text in texts]
    except RequestError as error:
        raise typer.BadParameter(str(error), param_hint="--request") from None


def _one_of(option: str, word: str, allowed: Sequence[str]) -> None:
    if word not in allowed:
        msg = f"{word!r} is not one of {', '.join(allowed)}"
        raise typer.BadParameter(msg, param_hint=option)


def _check(asked: Sequence[Request], found: Found) -> None:
    """Whether there is something to ask of, and what is needed to ask it."""
    if not (found.dvhs or found.problems):
        found.problems.append("There is no structure to show.")
    needing = [str(request) for request in asked if request.needs_prescription]
    if needing and not found.prescription:
        msg = f"{', '.join(needing)} needs the prescribed dose, which no RTPLAN gives; say it in Gy"
        raise typer.BadParameter(msg, param_hint="--prescription")
    if found.prescription is not None and not found.prescription > 0:
        msg = f"a prescription is a positive number of Gy, not {found.prescription:g}"
        raise typer.BadParameter(msg, param_hint="--prescription")


def _implausible(found: Found) -> Iterator[str]:
    """Targets whose median dose cannot be what was prescribed: another unit, or one fraction of many."""
    low, high = (bound * (found.prescription or 0.0) for bound in _PLAUSIBLE)
    for name in found.dvhs:
        median = float(found.dvhs[name].evaluate("D50%[Gy]"))
        if found.prescription and name in found.targets and (median < low or median > high):
            yield f"Look at {name}: half of it receives {median:.4g} Gy of the {found.prescription:g} Gy prescribed."


def _heading(column: str) -> str:
    return column.replace("[", "\n[")


def _cells(row: Sequence[object]) -> list[str]:
    return ["–" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row]


def _picture(found: Found, rows: pl.DataFrame, *, as_page: bool) -> str:
    from isocenter.cli._dvh_page import drawing, page
    from isocenter.report import _dose

    title = f"Dose-volume histograms: {found.source}"
    plot = _dose.dvh_plot({name: (one.curve(), None) for name, one in found.dvhs.items()}, title=title)
    if not as_page:
        return drawing(plot)
    columns = [name.replace("[", " [") for name in rows.columns]
    return page(title, plot, columns, [_cells(row) for row in rows.rows()], [*found.problems, *found.notes])


def _print_json(found: Found, rows: pl.DataFrame, rule: str) -> None:
    listed = [
        {
            **row,
            "flags": row["flags"].split(",") if row["flags"] else [],
            "outside": found.dvhs[row["structure"]].outside,
        }
        for row in rows.to_dicts()
    ]
    data = {
        "source": found.source,
        "prescription": found.prescription,
        "rule": rule,
        "structures": listed,
        "notes": found.notes,
        "problems": found.problems,
    }
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
