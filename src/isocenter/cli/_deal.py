"""`isocenter deal`: the cases and readers of a study in blocks that are alike, and the order in which each reads."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from isocenter.cli._arguments import Json
from isocenter.cli._terminal import problem_dicts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isocenter.problems import Problem
    from isocenter.readers._balance import Units

_MOST_BLOCKS = 1000


def deal(
    cases: Annotated[
        Path,
        typer.Argument(
            metavar="CASES.csv",
            help="One row per case: its name in the column `case`, facts in the others.",
            exists=True,
            dir_okay=False,
        ),
    ],
    *,
    blocks: Annotated[int, typer.Option(min=1, max=_MOST_BLOCKS, help="How many blocks there are.")],
    out: Annotated[
        Path, typer.Option("--out", "--output", help="Where to put the tables: a new or empty folder.", file_okay=False)
    ],
    readers: Annotated[
        Path | None,
        typer.Option(
            help="Deal readers to the blocks, too: their names in the column `reader`, facts in the others (.csv).",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A fact to balance; may be repeated.", show_default="all facts"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of the deal and the orders.", show_default="drawn, and written down")
    ] = None,
    as_json: Json = False,
) -> None:
    r"""Deal cases, and readers, into blocks that are alike in all facts.

    In a split-plot study the readers of a block read the cases of their block.
    The folder gets cases.csv and readers.csv with the block of each, orders.csv
    with the order in which each reader reads, balance.txt, a picture of it for
    each table, and deal.json, which has the seed: with the same tables it gives
    the same files again.

    Example: isocenter deal cases.csv --readers readers.csv --blocks 4 \
             --by csPCa --by centre --by expert --seed 7 --out study/
    """
    from isocenter.cli._deal_files import Asked, write_deal

    target = out.resolve()
    if target.exists() and (target.is_mount() or any(target.iterdir())):
        msg = f"{out} is {'a mount point' if target.is_mount() else 'not an empty folder'}; nothing is overwritten"
        raise typer.BadParameter(msg, param_hint="--out")
    files = {"case": cases} if readers is None else {"case": cases, "reader": readers}
    asked = Asked(
        files=files,
        units=_tables(files, by or (), as_json=as_json),
        blocks=blocks,
        by=tuple(by or ()),
        seed=secrets.randbelow(1 << 32) if seed is None else seed,
    )
    _refuse_design(asked.units, blocks, files, as_json=as_json)
    done = write_deal(asked, target)
    if as_json:
        typer.echo(done.record, nl=False)
        return
    typer.echo(done.balance, nl=False)
    typer.echo(f"\nSeed {asked.seed}. Written to {out}")


def _tables(files: dict[str, Path], by: Sequence[str], *, as_json: bool) -> dict[str, Units]:
    """The tables by kind; everything that is wrong with any of them ends the command."""
    from isocenter.readers import ReadsError, read_units

    found: dict[str, Units] = {}
    problems: list[Problem] = []
    for kind, path in files.items():
        try:
            found[kind] = read_units(path, "case" if kind == "case" else "reader")
        except ReadsError as error:
            problems += error.problems
    if problems:
        _refuse(problems, as_json=as_json)
    known = list(dict.fromkeys(fact for units in found.values() for fact in next(iter(units.values()))))
    if unknown := [name for name in by if name not in known]:
        there = f"there are {', '.join(map(repr, known))}" if known else "there are none"
        msg = f"no column of facts is called {', '.join(map(repr, unknown))}; {there}"
        raise typer.BadParameter(msg, param_hint="--by")
    return found


def _refuse_design(units: Mapping[str, Units], blocks: int, files: Mapping[str, Path], *, as_json: bool) -> None:
    from isocenter.problems import Problem
    from isocenter.readers import find_design_problems

    readers = len(units["reader"]) if "reader" in units else None
    wrong = find_design_problems(blocks, cases=len(units["case"]), readers=readers)
    names = ", ".join(path.name for path in files.values())
    if wrong:
        _refuse([Problem("refused", text, file=names, code="bad_table") for text in wrong], as_json=as_json)


def _refuse(problems: Sequence[Problem], *, as_json: bool) -> NoReturn:
    from isocenter.problems import report

    if as_json:
        typer.echo(json.dumps({"ok": False, "problems": problem_dicts(problems)}, indent=2))
    else:
        typer.echo(f"Nothing was dealt:\n{report(problems)}", err=True)
    raise typer.Exit(1)
