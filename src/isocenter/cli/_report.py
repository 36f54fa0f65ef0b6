"""`isocenter report`: the figures and tables of a challenge paper, from the folder of its edition."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from isocenter.cli._arguments import Phase
from isocenter.cli._terminal import progress


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="An edition: challenge.toml and its score tables.", exists=True, file_okay=False
        ),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write to.", show_default="DIR/report", file_okay=False)
    ] = None,
    phase: Phase = None,
    pdf: Annotated[bool, typer.Option(help="Whether to set a PDF too.")] = True,
    fonts: Annotated[
        list[Path] | None,
        typer.Option(help="A folder of fonts, for names in letters that the PDF lacks.", exists=True, file_okay=False),
    ] = None,
    replicates: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="How often cases are drawn; 0: not at all.")
    ] = 10_000,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The coverage of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    cases: Annotated[bool, typer.Option(help="Whether to tell the results of single cases.")] = True,
) -> None:
    """Write the report of a challenge: one HTML page, a PDF, and all numbers.

    DIR holds challenge.toml and scores/; submissions.csv, cases.csv, reference/,
    submissions/ and others add to what can be shown. docs/reference/edition-folder.md
    has them all.

    Example: isocenter report my-edition/
    """
    from isocenter.papers import Settings, Study, make_report, open_folder, write_report

    found = open_folder(folder, phase=phase, facts=cases)
    command = shlex.join(
        [
            *("isocenter", "report", folder.name or "."),
            *("--phase", found.phase, "--replicates", str(replicates), "--level", f"{level:g}", "--seed", str(seed)),
            *([] if cases else ["--no-cases"]),
        ]
    )
    home = out or folder / "report"
    with progress() as start:
        move = start(found.challenge.name)
        study = Study(found, Settings(replicates=replicates, level=level, seed=seed), move)
        made = make_report(study, command=command, cases=cases)
        move(0, 1, "writing")
        written = write_report(made, home, pdf=pdf, fonts=fonts or ())
        move(1, 1, "")
    for name, reason in study.unmade.items():
        typer.echo(f"Note: the board {name} could not be made: {reason}", err=True)
    for path in written:
        typer.echo(f"Written to {path}")
    typer.echo(f"The numbers of each table and figure: {home / 'data'}")
