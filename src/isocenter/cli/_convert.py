"""`isocenter convert`: a challenge's own file format to NIfTI and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._arguments import Json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isocenter.preprocessing import Conversion

app = typer.Typer(
    help="Convert OpenKBP's sparse CSV files to NIfTI and back.", no_args_is_help=True, rich_markup_mode="rich"
)

Source = Annotated[
    Path, typer.Argument(help="A patient, a folder of patients, or predictions.", exists=True, file_okay=False)
]
Out = Annotated[Path, typer.Option(help="Where to put the converted files.", file_okay=False)]


@app.command("to-nifti")
def to_nifti(
    source: Source,
    *,
    out: Out,
    patients: Annotated[
        Path | None,
        typer.Option(help="For predictions: the patients, whose voxel sizes they have.", exists=True, file_okay=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Sparse CSV to NIfTI, file by file.

    Voxels keep their place in the array. The origin is 0, as the format says
    nothing of where the patient lies.

    Example: isocenter convert to-nifti validation-pats/ --out nifti/
    """
    from isocenter.preprocessing import openkbp_to_nifti

    _tell(openkbp_to_nifti(source, out, patients=patients), source, out, as_json=as_json)


@app.command("to-openkbp")
def to_openkbp(source: Source, *, out: Out, as_json: Json = False) -> None:
    """NIfTI, MHA or NRRD of 128×128×128 voxels to sparse CSV, file by file.

    Example: isocenter convert to-openkbp predictions/ --out submission/
    """
    from isocenter.preprocessing import nifti_to_openkbp

    _tell(nifti_to_openkbp(source, out), source, out, as_json=as_json)


def _tell(found: Iterable[Conversion], source: Path, out: Path, *, as_json: bool) -> None:
    if out.resolve().is_relative_to(source.resolve()):
        msg = f"{out} lies in {source}; converted files go elsewhere"
        raise typer.BadParameter(msg, param_hint="--out")
    done = list(found)
    lost = [conversion for conversion in done if conversion.problem]
    if not done:
        typer.echo(f"{source} holds no file that could be converted.", err=True)
        raise typer.Exit(1)
    if as_json:
        typer.echo(json.dumps({"ok": not lost, "files": [asdict(conversion) for conversion in done]}, indent=2))
    else:
        for conversion in lost:
            typer.echo(f"{conversion.source}: {conversion.problem}", err=True)
        where = f" Written to {out}" if len(lost) < len(done) else ""
        typer.echo(f"{len(done) - len(lost)} of {len(done)} files converted.{where}")
    raise typer.Exit(1 if lost else 0)
