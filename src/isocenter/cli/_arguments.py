"""Arguments that several commands share, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from isocenter.editions import Phase as EditionPhase
    from isocenter.evaluation import Challenge
    from isocenter.submissions import GridPolicy


def _complete_challenge(incomplete: str) -> list[str]:
    from isocenter.evaluation import challenge_names

    return [name for name in challenge_names() if name.startswith(incomplete)]


ChallengeName = Annotated[
    str,
    typer.Argument(
        metavar="CHALLENGE",
        help="Name of a challenge (see `isocenter challenges`), or an edition: its folder or challenge.toml.",
        autocompletion=_complete_challenge,
    ),
]
Reference = Annotated[Path, typer.Option(help="The organisers' folder or zip.", exists=True)]
Submission = Annotated[Path, typer.Option(help="The team's folder or zip.", exists=True)]
Grid = Annotated[
    str | None,
    typer.Option(
        help="What to do with an output on another grid than the reference: refuse, resample or trust-index.",
        show_default="the edition's, or refuse",
    ),
]
Workers = Annotated[
    int, typer.Option(min=0, help="Processes to work with; 0 for one per core. The result is the same for any.")
]
Phase = Annotated[
    str | None,
    typer.Option(help="The phase of an edition whose rules hold.", show_default="the one that closes last"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@dataclass(frozen=True, slots=True)
class Setting:
    """A challenge with the policies that are in force."""

    challenge: Challenge
    grid: GridPolicy
    phase: EditionPhase | None = None
    """The phase that was named."""

    @property
    def cases(self) -> int | None:
        """How many cases the reference must have, where a phase is named that says so."""
        return self.phase.cases if self.phase else None


def setting(name: str, grid: str | None = None, phase: str | None = None) -> Setting:
    """The challenge of a name, or of the edition at a path, with its policies; an option on the command line wins."""
    from isocenter import editions
    from isocenter.evaluation import challenge_names, load_challenge

    path = Path(name)
    # A folder that happens to have the name of a challenge does not hide it, unless it is an edition.
    if (
        path.suffix == ".toml"
        or (path / "challenge.toml").exists()
        or (path.is_dir() and name not in challenge_names())
    ):
        edition, challenge = editions.in_force(path, find=load_challenge, phase=phase)
        named = editions.phase_of(edition, phase) if phase else None
        return Setting(challenge, _grid(grid or edition.policies.grid), named)
    if phase is not None:
        msg = f"{name} is no edition, so it has no phases; `isocenter init` begins one"
        raise typer.BadParameter(msg, param_hint="--phase")
    return Setting(load_challenge(name), _grid(grid or "refuse"))


def _grid(name: str) -> GridPolicy:
    policies: dict[str, GridPolicy] = {"refuse": "refuse", "resample": "resample", "trust-index": "trust-index"}
    if name not in policies:
        msg = f"{name!r} is not one of {', '.join(policies)}"
        raise typer.BadParameter(msg, param_hint="--grid")
    return policies[name]


def executor(workers: int) -> Executor | None:
    """The pool that --workers asks for; none for a single one, which runs here."""
    from isocenter.evaluation import available_cores, worker_pool

    count = workers or available_cores()
    return worker_pool(count) if count > 1 else None
