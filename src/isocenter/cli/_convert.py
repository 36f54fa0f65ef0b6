"""`isocenter convert`: file formats to NIfTI and back, soft maps to detection maps, exports of readers to reads."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isocenter.cli._arguments import Json
from isocenter.cli._terminal import count_problems, problem_dicts, progress, show_problems

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isocenter.preprocessing import Conversion

app = typer.Typer(
    help="Convert OpenKBP's sparse CSV to NIfTI and back, soft maps to detection maps, exports to reads.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_RuleName = Literal["dynamic-v2", "dynamic", "dynamic-fast"]
_RULES: dict[str, _RuleName] = {"dynamic-v2": "dynamic-v2", "dynamic": "dynamic", "dynamic-fast": "dynamic-fast"}

Source = Annotated[
    Path, typer.Argument(help="A patient, a folder of patients, or predictions.", exists=True, file_okay=False)
]
Out = Annotated[Path, typer.Option(help="Where to put the converted files.", file_okay=False)]


class Likelihood(StrEnum):
    """What a candidate's likelihood is: the peak of its voxels or their mean."""

    MAX = "max"
    MEAN = "mean"


class CaseLikelihood(StrEnum):
    """How a case's likelihood follows from its candidates'."""

    MAX = "max"
    BAYESIAN = "bayesian"


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


@app.command("to-candidates")
def to_candidates(
    soft: Annotated[Path, typer.Argument(metavar="SOFT", help="Folder or zip of soft maps.", exists=True)],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="Where to put them: a new or empty folder.", file_okay=False)
    ],
    *,
    rule: Annotated[
        str,
        typer.Option(metavar="RULE", help="dynamic-v2, dynamic, dynamic-fast or a threshold above 0 and up to 1."),
    ] = "dynamic-v2",
    likelihood: Annotated[
        Likelihood, typer.Option(help="Of a candidate: the peak of its voxels, or their mean.")
    ] = Likelihood.MAX,
    geometry_of: Annotated[
        Path | None,
        typer.Option(help="For numpy files: folder or zip of volumes by case, on their grids.", exists=True),
    ] = None,
    case_likelihood: Annotated[
        CaseLikelihood, typer.Option(help="Of a case: the highest c of its candidates, or 1 - Π(1 - c).")
    ] = CaseLikelihood.MAX,
) -> None:
    r"""Soft maps of a network to detection maps and likelihoods of their cases.

    A soft map is named <case> or <case>_softmax and is NIfTI, MHA, NRRD or
    numpy's .npy or .npz, as nnU-Net writes it. OUT is a submission for PI-CAI:
    <case>.nii.gz and likelihoods.json. It appears when it is complete.

    Example: isocenter convert to-candidates predictions/ submission/

    Example: isocenter convert to-candidates nnunet/ submission/ \
             --geometry-of nnunet/
    """
    from isocenter.cli import _candidates
    from isocenter.problems import SubmissionRefused

    how = _candidates.Extraction(
        rule=_rule(rule),
        likelihood="mean" if likelihood is Likelihood.MEAN else "max",
        case_likelihood="bayesian" if case_likelihood is CaseLikelihood.BAYESIAN else "max",
    )
    _refuse_inside(soft, out, hint="OUT")
    target = out.resolve()
    if target.exists() and (target.is_mount() or any(target.iterdir())):
        msg = f"{out} is {'a mount point' if target.is_mount() else 'not an empty folder'}; name a new folder"
        raise typer.BadParameter(msg, param_hint="OUT")
    try:
        with progress() as start:
            done = _candidates.convert(soft, target, how, geometry_of=geometry_of, progress=start("extracting"))
    except SubmissionRefused as refusal:
        typer.echo(f"{soft}: not every soft map can be converted; nothing was written.\n", err=True)
        show_problems(refusal.problems)
        typer.echo(f"\n{count_problems(refusal.problems)}.")
        raise typer.Exit(1) from None
    without = sum(not count for count in done.candidates.values())
    ignored = f" Files that are no soft maps: {done.ignored}, ignored." if done.ignored else ""
    told = f"{sum(done.candidates.values())} candidates in {len(done.candidates)} cases, {without} cases without any."
    typer.echo(f"{told}{ignored} Written to {out}")


class Export(StrEnum):
    """What a file of reads was exported by."""

    LONG = "long"
    WIDE = "wide"
    REDCAP = "redcap"
    MARKSHEET = "marksheet"
    GRAND_CHALLENGE = "grand-challenge"
    IMRMC = "imrmc"


@app.command("to-reads")
def to_reads(
    exports: Annotated[
        list[Path], typer.Argument(metavar="EXPORT…", help="Files that a study exported.", exists=True, dir_okay=False)
    ],
    *,
    out: Annotated[Path, typer.Option(help="Where to write the reads: a new file, reads.csv.", dir_okay=False)],
    kind: Annotated[
        Export | None, typer.Option(help="What the files are.", show_default="found out from each of them")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMN",
            help="What a column of reads.csv is called there, as reader=Radiologist; may be repeated.",
        ),
    ] = None,
    reader: Annotated[str | None, typer.Option(help="Who read, where the export does not say.")] = None,
    modality: Annotated[str | None, typer.Option(help="What was read, where the export does not say.")] = None,
    as_json: Json = False,
) -> None:
    r"""Exports of a reader study to reads.csv, which `isocenter reads` takes.

    Spreadsheets saved as CSV (one row per read or mark; or one row per case and
    a column per reader), REDCap's CSV, PI-CAI's marksheet, iMRMC's text, and the
    JSON of answers, display sets and questions of grand-challenge.org.

    Example: isocenter convert to-reads sheet.csv --out reads.csv \
             --column reader=Radiologist --modality bpMRI
    """
    from isocenter.readers import ReadsError, import_reads, write_reads

    if out.resolve() in [path.resolve() for path in exports] or out.exists():
        msg = f"{out} is there already; name a new file"
        raise typer.BadParameter(msg, param_hint="--out")
    columns = dict(_parse_column(text) for text in column or ())
    try:
        found = import_reads(
            exports, kind=kind.value if kind else None, columns=columns, reader=reader, modality=modality
        )
        write_reads(found.reads, out)
    except ReadsError as error:
        if as_json:
            typer.echo(json.dumps({"ok": False, "problems": problem_dicts(error.problems)}, indent=2))
        else:
            typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--column") from None
    readers = {read.reader for read in found.reads}
    counts = {"reads": len(found.reads), "readers": len(readers), "cases": len(found.reads.cases)}
    if as_json:
        data = {"ok": True, **counts, "kinds": dict(found.kinds), "remarks": list(found.remarks), "out": str(out)}
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    for name, what in found.kinds.items():
        typer.echo(f"{name}: taken for {what}")
    for remark in found.remarks:
        typer.echo(remark)
    told = ", ".join(f"{number} {noun if number != 1 else noun[:-1]}" for noun, number in counts.items())
    typer.echo(f"{told}. Written to {out}")


def _parse_column(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not (equals and name and column):
        msg = f"{text!r} should be NAME=COLUMN, for example reader=Radiologist"
        raise typer.BadParameter(msg, param_hint="--column")
    return name, column


def _rule(text: str) -> _RuleName | float:
    if text in _RULES:
        return _RULES[text]
    try:
        threshold = float(text)
    except ValueError:
        threshold = 0.0
    if not 0 < threshold <= 1:
        msg = f"{text!r} is none of {', '.join(_RULES)}, and no threshold above 0 and up to 1"
        raise typer.BadParameter(msg, param_hint="--rule")
    return threshold


def _refuse_inside(source: Path, out: Path, *, hint: str = "--out") -> None:
    if out.resolve().is_relative_to(source.resolve()):
        msg = f"{out} lies in {source}; converted files go elsewhere"
        raise typer.BadParameter(msg, param_hint=hint)


def _tell(found: Iterable[Conversion], source: Path, out: Path, *, as_json: bool) -> None:
    _refuse_inside(source, out)
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
