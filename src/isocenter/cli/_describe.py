"""`isocenter describe`: the structured description of a challenge, for reviewers and participants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._arguments import Json

if TYPE_CHECKING:
    from isocenter.report import Description


def describe(
    folder: Annotated[Path, typer.Argument(help="An edition: its folder, or its challenge.toml.", exists=True)],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Write it to a file instead: .md, .html or .json.", dir_okay=False),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if a mandatory item is empty.")] = False,
    as_json: Json = False,
) -> None:
    """Describe a challenge as reviewers ask for it, item by item (BIAS).

    Dates, quotas, prizes, files, metrics, ranking, missing data and
    statistics come from the rules that are carried out; the rest comes from
    challenge.toml. What is still empty is listed at the end.

    Example: isocenter describe my-edition/ --out description.html
    """
    from isocenter import atomic, editions, report
    from isocenter.evaluation import load_challenge

    if out is not None and out.suffix not in (".md", ".html", ".json"):
        msg = f"{out} should be a file that ends in .md, .html or .json"
        raise typer.BadParameter(msg, param_hint="--out")
    edition = folder / "challenge.toml" if folder.is_dir() else folder
    if out is not None and out.exists() and edition.exists() and out.samefile(edition):
        msg = f"{out} is the edition itself, {edition}; name another file"
        raise typer.BadParameter(msg, param_hint="--out")
    found = report.describe_edition(*editions.in_force(folder, find=load_challenge))
    if out is not None:
        atomic.write_text(_text(found, out.suffix), out)
    if out is None or as_json:
        typer.echo(_text(found, ".json" if as_json else ".md"), nl=False)
    lacking = [f"{item.name} ({gap.field})" for item, gap in found.still_empty(mandatory=True)]
    if out is not None and not as_json:
        optional = len(list(found.still_empty())) - len(lacking)
        typer.echo(f"Written to {out}. Still empty: {len(lacking)} mandatory and {optional} other settings.")
    if strict and lacking:
        typer.echo("Mandatory, and still empty:", err=True)
        for line in lacking:
            typer.echo(f"  {line}", err=True)
        raise typer.Exit(1)


def _text(found: Description, suffix: str) -> str:
    from isocenter import report

    if suffix == ".json":
        return json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    return report.description_page(found) if suffix == ".html" else report.description_markdown(found)
