"""`isocenter site`: what is done to a site from the machine that it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from isocenter.cli._site import Data, site

app = typer.Typer(
    help="Bring challenges to a site and take them out, and say who runs it, without a browser.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("import")
def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER_OR_ZIP", help="With challenge.toml, and pages/ and cohort.csv, if any.", exists=True
        ),
    ],
    *,
    data: Data = Path("isocenter-data"),
    slug: Annotated[
        str, typer.Option(help="Its place in addresses: /c/SLUG/.", show_default="the name of the folder or zip")
    ] = "",
    organiser: Annotated[
        str, typer.Option(metavar="EMAIL", help="The address of an account that organises the challenge.")
    ] = "",
    note: Annotated[str, typer.Option(help="What changes, and why; participants read it.")] = "",
) -> None:
    """Bring a challenge to a site, or a new version of one that is there.

    A new one is known to nobody until it is published on the site. A challenge
    that is there gets its next version, with the pages and the cases of the
    folder in the place of its own; participants see what changed. The site may
    be running meanwhile.

    Exits with 1 and everything that is wrong, if anything is; then nothing was
    changed.

    Example: isocenter site import neck-2027/ --organiser me@example.org
    """
    with _inside(data, begin=True):
        from isocenter.server.organising.bringing import bring

        done = bring(source, slug=slug, organiser=organiser, note=note)
        here = done.challenge.slug
        if done.version is None:
            typer.echo(f"{here}: nothing is different from the version in force, so nothing was saved.")
        elif done.version.number == 1:
            typer.echo(f"{here}: made. Nobody knows of it yet; go on at {_address(f'/c/{here}/organise/setup/')}")
        else:
            typer.echo(f"{here}: version {done.version.number} is in force: {done.version.note}")
        if done.organiser:
            typer.echo(f"{organiser.strip()} organises it.")


@app.command("export")
def export(
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="The challenge, as it stands in its address: /c/SLUG/.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.zip", help="The zip to write.", dir_okay=False)],
    *,
    data: Data = Path("isocenter-data"),
) -> None:
    """Write a challenge of a site as a zip that can be imported again, here or elsewhere.

    It has challenge.toml, the pages and the list of cases, as they are in
    force. For teams, submissions and results, see the archive on the site.

    Example: isocenter site export neck-2027 neck-2027.zip
    """
    with _inside(data):
        from isocenter.atomic import replacing
        from isocenter.server.organising.bringing import exported

        content = exported(slug)
        with replacing(out) as scratch:
            scratch.write_bytes(content)
        typer.echo(f"{out} written.")


@app.command("admin")
def admin(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="The address of an account.")],
    *,
    data: Data = Path("isocenter-data"),
    link: Annotated[
        bool, typer.Option("--link", help="Also print a link by which the password is set anew, once.")
    ] = False,
) -> None:
    """Let an account run the site: see its state, its people, its mails, all challenges.

    On a site that nobody runs yet, and without such an account, prints the
    link by which the first is made.

    Example: isocenter site admin me@example.org --link
    """
    with _inside(data):
        from isocenter.server.hosting import admins

        done = admins.appoint(email, link=link)
        if done.made:
            typer.echo(f"{email.strip()} runs the site from now on.")
        elif not done.link.startswith("/first/"):
            typer.echo(f"{email.strip()} runs the site already.")
        if done.link:
            typer.echo(f"Open this page, once:\n  {_address(done.link)}")


@contextmanager
def _inside(data: Path, *, begin: bool = False) -> Iterator[None]:
    """Within the site of a folder of data; what is refused there is listed here."""
    with site():
        from isocenter.server.hosting import serving

        serving.enter(data, begin=begin)
        from isocenter.server.hosting.admins import NoAccount
        from isocenter.server.organising.versioning import Refused

        try:
            yield
        except Refused as error:
            typer.echo("Nothing was changed:", err=True)
            for problem in error.problems:
                typer.echo(f"  {problem}", err=True)
            raise typer.Exit(1) from None
        except NoAccount as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(1) from None


def _address(path: str) -> str:
    from django.conf import settings

    return f"{settings.URL}{path}" if settings.URL else f"{path} (after the address of the site)"
