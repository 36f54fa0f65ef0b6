"""Files that commands write: never over their input, all of them or none, and safe for a spreadsheet."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl


def refuse_out(out: Path | None, tables: Sequence[str], *others: Path | None) -> None:
    """Results are written to a file of their own, as CSV or JSON."""
    inputs = [Path(argument.partition("=")[2]) for argument in tables] + [path for path in others if path is not None]
    if out is not None and (
        out.suffix not in (".csv", ".json") or out.resolve() in [path.resolve() for path in inputs]
    ):
        msg = f"{out} should be a file of its own that ends in .csv or .json"
        raise typer.BadParameter(msg, param_hint="--out")


def refuse_to_overwrite(tables: Sequence[str], written: Mapping[str, Path | None]) -> None:
    """A board is written to a file of its own, never over a score table: a page as .html, all else as .json."""
    inputs = [Path(argument.partition("=")[2]) for argument in tables]
    for option, path in written.items():
        others = [other for name, other in written.items() if name != option]
        suffix = ".html" if option == "--html" else ".json"
        if path is not None and (path.suffix != suffix or path in inputs or path in others):
            msg = f"{path} should be a file of its own that ends in {suffix}"
            raise typer.BadParameter(msg, param_hint=option)


def write_out(texts: Mapping[str, tuple[Path, str]]) -> None:
    """Write the text of each option to its file: all of them, or none where one cannot be written."""
    from isocenter import atomic

    with ExitStack() as together:
        for option, (path, text) in texts.items():
            try:
                partial = together.enter_context(atomic.replacing(path))
                partial.write_text(text, encoding="utf-8", newline="")
            except OSError as error:
                msg = f"{path} cannot be written ({error.strerror}); nothing was"
                raise typer.BadParameter(msg, param_hint=option) from None


def csv_text(table: pl.DataFrame) -> str:
    """As CSV; names that strangers chose are texts in a spreadsheet, and no formulas."""
    import polars as pl

    from isocenter.problems import as_cell

    texts = [pl.col(name).map_elements(as_cell, pl.String) for name, kind in table.schema.items() if kind == pl.String]
    return table.with_columns(texts).write_csv()


def give_up(error: str, remarks: Sequence[str]) -> NoReturn:
    """Say what is wrong with the data, after what was to be remarked, and end the command with 1."""
    for text in (*remarks, error):
        typer.echo(text, err=True)
    raise typer.Exit(1) from None
