"""`isocenter prepare`: a challenge's data from scans and contours."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._arguments import Json, Reference
from isocenter.cli._terminal import progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isocenter.preprocessing import CaseFiles, CaseReport, Override, Recipe

app = typer.Typer(
    help="Prepare a challenge's data from scans and contours.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_SCAN = {"exists": True, "dir_okay": False}


@app.command("hecktor2020")
def hecktor2020(
    *,
    out: Annotated[Path, typer.Option(help="Where to put the prepared cases, a folder each.", file_okay=False)],
    cohort: Annotated[
        Path | None,
        typer.Option(
            help="A folder per case with ct.nii.gz, pet.nii.gz and perhaps mask.nii.gz.", exists=True, file_okay=False
        ),
    ] = None,
    ct: Annotated[Path | None, typer.Option(help="The CT of a single case, HU.", **_SCAN)] = None,
    pet: Annotated[Path | None, typer.Option(help="Its PET, SUV.", **_SCAN)] = None,
    mask: Annotated[Path | None, typer.Option(help="Its tumour and nodes, if drawn.", **_SCAN)] = None,
    case: Annotated[str | None, typer.Option(help="Its name.", show_default="that of the folder of the CT")] = None,
    boxes: Annotated[
        Path | None, typer.Option(help="Table of boxes or thresholds decided by hand (CSV).", **_SCAN)
    ] = None,
    variant: Annotated[str, typer.Option(help="How the box is found: design or published.")] = "design",
    size: Annotated[
        float | None, typer.Option(help="Edge of the box, mm.", show_default="150, or 144 if published")
    ] = None,
    spacing: Annotated[
        float | None, typer.Option(help="Edge of the voxels, mm.", show_default="the voxels of the CT")
    ] = None,
    interpolation: Annotated[str, typer.Option(help="Of images: bspline or linear.")] = "bspline",
    as_json: Json = False,
) -> None:
    r"""Crop PET/CT around the oropharynx and bring CT, PET and mask onto one grid.

    The region is found from the brain on the PET. What was done before, from
    the same files in the same way, is not done again. A case that cannot be
    prepared is listed and costs only itself; the exit code is then 1.

    Example: isocenter prepare hecktor2020 --cohort raw/ --out prepared/

    Example: isocenter prepare hecktor2020 --ct ct.nii.gz --pet pet.nii.gz \
             --out prepared/
    """
    from isocenter import preprocessing

    recipe = _recipe(variant, size, spacing, interpolation)
    if cohort is not None:
        if ct or pet or mask or case:
            msg = "give either --cohort or the files of a single case, --ct and --pet"
            raise typer.BadParameter(msg, param_hint="--cohort")
        if out.resolve().is_relative_to(cohort.resolve()):
            msg = f"{out} lies in the cohort {cohort}; prepared cases go elsewhere"
            raise typer.BadParameter(msg, param_hint="--out")
        found, lost = preprocessing.find_cases(cohort)
        if not (found or lost):
            msg = f"{cohort} holds no case; a case is a folder with ct.nii.gz and pet.nii.gz"
            raise typer.BadParameter(msg, param_hint="--cohort")
    else:
        found, lost = [_single(ct, pet, mask, case)], []
    overrides = _overrides(boxes, known={files.name for files in found} | {report.case for report in lost})
    with progress() as start:
        move = start("preparing")
        done = preprocessing.prepare_cohort(found, out, recipe=recipe, overrides=overrides, progress=move)
    _tell(sorted((*done, *lost), key=lambda report: report.case), out, as_json=as_json)


@app.command("lung2019")
def lung2019(
    *,
    reference: Reference,
    out: Annotated[Path, typer.Option(help="Where to write the seed points (CSV).", dir_okay=False)],
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other points.")],
    margin: Annotated[float, typer.Option(min=0.0, help="Distance from the boundary where there is room, mm.")] = 3.0,
    alpha: Annotated[float, typer.Option(min=0.0, max=1.0, help="Part of the inradius where there is not.")] = 0.5,
) -> None:
    r"""Draw a seed point in every tumour of a reference, away from the boundary.

    The table has a line per connected component: case, component, its place in
    LPS millimetres (x, y, z) and the voxel (i, j, k).

    Example: isocenter prepare lung2019 --reference masks/ --out seeds.csv \
             --seed 7
    """
    from isocenter import atomic, preprocessing
    from isocenter.evaluation import load_challenge, open_cohort
    from isocenter.volumes import read_labels

    cases = open_cohort(load_challenge("lung2019"), reference).cases
    text, problems, points = io.StringIO(), [], 0
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", "component", "x", "y", "z", "i", "j", "k"])
    with progress() as start:
        move = start("drawing")
        for done, case in enumerate(cases, start=1):
            (file,) = case.files.values()
            try:
                found = preprocessing.seed_points(read_labels(file), seed=seed, margin_mm=margin, alpha=alpha)
            except (OSError, ValueError) as error:
                problems.append(f"  {case.name}  {file.name}: {error}")
                found = []
            else:
                if not found:
                    problems.append(f"  {case.name}  {file.name}: is empty")
            for point in found:
                place = [f"{value:.3f}" for value in point.point_mm]
                writer.writerow([case.name, point.component, *place, *point.index])
            points += len(found)
            move(done, len(cases), case.name)
    if problems:
        typer.echo("\n".join([f"{reference}: nothing was written.", "", *problems]))
        raise typer.Exit(1)
    atomic.write_text(text.getvalue(), out)
    typer.echo(f"{points} points in {len(cases)} cases. Written to {out}")


def _recipe(variant: str, size: float | None, spacing: float | None, interpolation: str) -> Recipe:
    """The options as what they mean, or an error that names the allowed words."""
    from isocenter.preprocessing import Recipe

    for option, word, allowed in (
        ("--variant", variant, ("design", "published")),
        ("--interpolation", interpolation, ("bspline", "linear")),
    ):
        if word not in allowed:
            msg = f"{word!r} is not one of {', '.join(allowed)}"
            raise typer.BadParameter(msg, param_hint=option)
    for option, number in (("--size", size), ("--spacing", spacing)):
        if number is not None and not 0.0 < number < 1000.0:
            msg = f"{number} is no length in millimetres"
            raise typer.BadParameter(msg, param_hint=option)
    return Recipe(
        variant="design" if variant == "design" else "published",
        size_mm=size,
        spacing=spacing,
        interpolation="bspline" if interpolation == "bspline" else "linear",
    )


def _single(ct: Path | None, pet: Path | None, mask: Path | None, case: str | None) -> CaseFiles:
    from isocenter.preprocessing import CaseFiles

    if ct is None or pet is None:
        msg = "a case needs its CT and its PET; or give --cohort, a folder of cases"
        raise typer.BadParameter(msg, param_hint="--ct, --pet")
    name = case if case is not None else ct.resolve().parent.name
    if name in ("", ".", "..") or Path(name).name != name:
        msg = f"{name!r} is no name for a folder"
        raise typer.BadParameter(msg, param_hint="--case")
    return CaseFiles(name, ct, pet, mask)


def _overrides(path: Path | None, *, known: set[str]) -> dict[str, Override]:
    """What the table says of the cases that are there; a name that none of them has is probably a slip."""
    from isocenter.preprocessing import BoxTableError, read_overrides

    if path is None:
        return {}
    try:
        table = read_overrides(path)
    except BoxTableError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    if unknown := sorted(set(table) - known):
        typer.echo(f"{path.name} names cases that are not there: {', '.join(unknown)}", err=True)
    return table


def _tell(reports: Sequence[CaseReport], out: Path, *, as_json: bool) -> None:
    """What became of every case; leaves with exit code 1 if one failed."""
    from isocenter.problems import printable

    counts = Counter(report.state for report in reports)
    if as_json:
        cases = [asdict(report) for report in reports]
        typer.echo(json.dumps({"ok": not counts["failed"], "cases": cases}, indent=2, ensure_ascii=False))
    else:
        lines = [(report.state, printable(report.case), text) for report in reports for text in report.problems]
        width = max((len(case) for _, case, _ in lines), default=0)
        for state, case, problem in lines:
            typer.echo(f"  {'failed ' if state == 'failed' else 'look at'}  {case:<{width}}  {printable(problem)}")
        told = ", ".join(f"{counts[state]} {state}" for state in ("prepared", "kept", "failed") if counts[state])
        typer.echo(f"{told}. The prepared cases and their boxes are in {out}")
    raise typer.Exit(1 if counts["failed"] else 0)
