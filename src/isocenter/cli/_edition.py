"""`isocenter init`, `validate` and `challenges`: a challenge being run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from isocenter.cli._arguments import ChallengeName, Json


def init(
    challenge: ChallengeName,
    folder: Annotated[Path, typer.Argument(help="Where to put challenge.toml.")],
) -> None:
    """Start an edition: write a challenge.toml with comments, to be edited.

    Example: isocenter init hecktor2020 my-edition/
    """
    from isocenter import editions
    from isocenter.evaluation import load_challenge

    path = editions.write(editions.new(load_challenge(challenge)), folder)
    typer.echo(f"Wrote {path}. Edit it, then run: isocenter validate {folder}")


def validate(
    folder: Annotated[Path, typer.Argument(help="An edition: its folder, or its challenge.toml.", exists=True)],
    as_json: Json = False,
) -> None:
    """Check a challenge.toml and say, line by line, what is wrong and what is allowed.

    Example: isocenter validate my-edition/
    """
    from dataclasses import asdict

    from isocenter import editions
    from isocenter.evaluation import load_challenge

    try:
        edition, challenge = editions.in_force(folder, find=load_challenge)
    except editions.EditionError as error:
        if as_json:
            typer.echo(
                json.dumps({"ok": False, "problems": [asdict(p) for p in error.problems]}, indent=2, default=str)
            )
        else:
            typer.echo(str(error))
        raise typer.Exit(1) from None
    if as_json:
        typer.echo(json.dumps({"ok": True, "edition": edition.model_dump(mode="json")}, indent=2, ensure_ascii=False))
    else:
        phases = ", ".join(phase.name for phase in edition.phases)
        typer.echo(f"{folder}: {edition.title}, an edition of {challenge.name}; phases: {phases}. All is well.")


def challenges(as_json: Json = False) -> None:
    """List the challenges that are installed."""
    from isocenter.evaluation import UnknownChallengeError, challenge_names, load_challenge

    titles = {}
    for name in challenge_names():
        try:
            titles[name] = load_challenge(name).title
        except UnknownChallengeError as error:
            typer.echo(str(error), err=True)
    if as_json:
        typer.echo(json.dumps(titles, indent=2, ensure_ascii=False))
        return
    width = max(map(len, titles), default=0)
    for name, title in titles.items():
        typer.echo(f"{name:<{width}}  {title}")
