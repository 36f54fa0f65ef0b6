"""`isocenter serve`: the web site of challenges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isocenter.cli._site import Data, Lease, site


def serve(
    data: Data = Path("isocenter-data"),
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to answer on; 0 for any that is free.")] = 8000,
    host: Annotated[
        str, typer.Option(help="The address of this machine to answer on; 0.0.0.0 for all of them.")
    ] = "127.0.0.1",
    workers: Annotated[
        int | None,
        typer.Option(
            min=0, help="Processes that score; 0 if workers run elsewhere.", show_default="cores - 1, up to 4"
        ),
    ] = None,
    lease: Lease = None,
) -> None:
    """Run the web site of challenges: registration, teams, submissions, boards.

    Makes the folder of data at the first start, and prints a link by which
    you make your account. Everything else is done in the browser. Settings
    are variables of the environment, such as ISOCENTER_URL and DATABASE_URL.

    Example: isocenter serve --data /srv/challenges
    """
    with site():
        from isocenter.server.hosting import serving

        count = serving.default_workers() if workers is None else workers
        serving.serve(data, host=host, port=port, workers=count, lease=lease, say=typer.echo)
