"""`isocenter worker`: scores what waits in the queue of a site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isocenter.cli._site import Data, Lease, site


def worker(
    data: Data = Path("isocenter-data"),
    *,
    queue: Annotated[
        list[str] | None,
        typer.Option(help="A queue to work; may be repeated.", show_default="default"),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when nothing waits any more.")] = False,
    lease: Lease = None,
    at: Annotated[
        str,
        typer.Option(
            "--site",
            metavar="URL",
            envvar="ISOCENTER_SITE",
            help="Fetch files that are not in the folder of data from this site.",
        ),
    ] = "",
) -> None:
    """Work the queue of a site: score submissions, make boards and reports.

    `isocenter serve` starts workers itself. More of them may run on any
    machine that has the database (DATABASE_URL) and the folder of data; one
    without the folder fetches what it needs from --site, for which it needs
    the site's ISOCENTER_SECRET_KEY.

    Example: isocenter worker --data /srv/challenges
    """
    with site():
        from isocenter.server.hosting import serving

        serving.work(data, queues=queue or (), once=once, lease=lease, site=at, say=typer.echo)
