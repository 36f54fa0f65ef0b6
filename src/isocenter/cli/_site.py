"""What the commands of the site share."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path, typer.Option(envvar="ISOCENTER_DATA", file_okay=False, help="The folder of everything that the site keeps.")
]
Lease = Annotated[
    float | None,
    typer.Option(
        min=1, metavar="SECONDS", help="After which silence of a worker another one takes over.", show_default="60"
    ),
]


@contextmanager
def site() -> Iterator[None]:
    """Say in a sentence what keeps a site from running, and end."""
    if importlib.util.find_spec("django") is None:
        typer.echo("The site needs Django and a few more packages: pip install 'isocenter[server]'", err=True)
        raise typer.Exit(2)
    from isocenter.server.environment import SettingError

    try:
        yield
    except SettingError as error:
        typer.echo(f"{error}.", err=True)
        raise typer.Exit(2) from None
