"""`isocenter verify`: whether a board can be made again from its receipt and its score tables."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from isocenter.cli._terminal import bootstrap_progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from isocenter.evaluation import Challenge
    from isocenter.ranking import Board, Receipt

_LARGEST = 100_000_000  # bytes; whoever names an image by mistake gets an answer, not a full memory


def verify(
    receipt: Annotated[
        Path,
        typer.Argument(metavar="RECEIPT", help="What `isocenter rank … --receipt` wrote.", exists=True, dir_okay=False),
    ],
    *,
    scores: Annotated[
        Path,
        typer.Option(
            help="A folder with the score tables, somewhere below it; they are found by their content.",
            exists=True,
            file_okay=False,
        ),
    ],
    run_times: Annotated[
        Path | None, typer.Option(help="The run times that the receipt names.", exists=True, dir_okay=False)
    ] = None,
) -> None:
    """Make a board again from its receipt and its score tables, and say whether it is the same.

    Example: isocenter verify receipt.json --scores scores/
    """
    from isocenter.ranking import board_difference, methods_of, software_versions

    recorded = _read(receipt)
    challenge = _find_challenge(recorded)
    _refuse_other_times(recorded, run_times)
    tables = _find(recorded, scores)
    now = software_versions()
    same = dict(recorded.versions) == now
    for remark in (*_other_versions(recorded, now), *_other_rule(recorded, challenge)):
        typer.echo(remark)
    board = _replay(recorded, challenge, tables, run_times)
    # P(best) of another method, or of a time without it, is not compared; nor are the words of that time.
    alike = recorded.methods == methods_of(board)
    words = alike and recorded.versions["isocenter"] == now["isocenter"]
    ignored = () if alike else ("p_best", "resamples", "legend")
    name = f"{recorded.challenge}, board {recorded.board_name}"
    if difference := board_difference(recorded.board, board.to_dict(), exact=same, words=words, ignored=ignored):
        typer.echo(f"{name}: not reproduced. {difference}")
        raise typer.Exit(1)
    how = "to the last bit" if same else "within 1e-12 of its size"
    typer.echo(f"{name}: reproduced from {len(recorded.tables)} tables; every number is the same {how}.")


def _read(path: Path) -> Receipt:
    from isocenter.ranking import ReceiptError, read_receipt

    size = path.stat().st_size
    if size > _LARGEST:
        _give_up(f"{path}: {size:,} bytes are far too many for a receipt")
    try:
        return read_receipt(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        _give_up(f"{path}: it is no text in UTF-8")
    except ReceiptError as error:
        _give_up(f"{path}: {error}")


def _find_challenge(receipt: Receipt) -> Challenge:
    """The challenge as it is installed, if the recorded rule can be one of it."""
    from isocenter.evaluation import UnknownChallengeError, load_challenge
    from isocenter.ranking import DescriptionError, rule_of

    try:
        challenge = load_challenge(receipt.challenge)
        rule_of(receipt.rule, measured=challenge.metrics)
    except UnknownChallengeError as error:
        _give_up(f"The receipt is of {receipt.challenge}: {error}")
    except DescriptionError as error:
        _give_up(f"The rule of the receipt is none of {receipt.challenge} as it is installed:\n{error}")
    return challenge


def _other_versions(receipt: Receipt, now: Mapping[str, str]) -> list[str]:
    """Which versions are others than the recorded ones, and what that means."""
    others = [
        f"{name} {version} is recorded, {now.get(name, 'nothing')} is here"
        for name, version in receipt.versions.items()
        if version != now.get(name)
    ]
    if not others:
        return []
    return [f"Other versions: {'; '.join(others)}. Numbers may differ by 1e-12 of their size."]


def _other_rule(receipt: Receipt, challenge: Challenge) -> list[str]:
    """Where the installed challenge ranks this board by another rule than the recorded one, which an edition may."""
    from isocenter.ranking import DescriptionError, describe, rule_of

    if receipt.board_name not in challenge.boards:
        return []
    recorded: Mapping[str, Any] = receipt.rule
    # With settings that there were not when it was written; what cannot be read is refused where the board is made.
    with contextlib.suppress(DescriptionError):
        recorded = describe(rule_of(receipt.rule))
    try:
        installed = describe(challenge.boards[receipt.board_name])
    except DescriptionError:
        installed = {"rule": type(challenge.boards[receipt.board_name]).__name__}
    others = [
        f"{key}: {recorded.get(key, 'nothing')} is recorded, {installed.get(key, 'nothing')} is installed"
        for key in dict.fromkeys([*installed, *recorded])
        if recorded.get(key) != installed.get(key)
    ]
    if not others:
        return []
    return [f"Another rule than that of {receipt.challenge}, the recorded one was used: {'; '.join(others)}."]


def _refuse_other_times(receipt: Receipt, path: Path | None) -> None:
    """Run times are given if and only if they are recorded, and are the same."""
    from isocenter.ranking import FileRecord

    wanted = receipt.run_times
    if wanted is None and path is not None:
        msg = "the receipt names no run times"
        raise typer.BadParameter(msg, param_hint="--run-times")
    if wanted is not None and path is None:
        _give_up(f"The board was made with run times: add --run-times with the file {wanted.file}")
    if wanted is not None and path is not None and (digest := FileRecord.of(path).sha256) != wanted.sha256:
        _give_up(f"{path} is not the recorded {wanted.file}: its sha256 is {digest}, recorded is {wanted.sha256}")


def _find(receipt: Receipt, folder: Path) -> dict[str, pl.DataFrame]:
    """The recorded tables by their hash, those of the recorded names first; all that are not there are named."""
    from isocenter.ranking import table_digest

    wanted = {table.sha256: table.file for table in receipt.tables}
    files = [Path(place, name) for place, _, found in os.walk(folder) for name in found]
    tables: dict[str, pl.DataFrame] = {}
    namesakes: dict[str, Path] = {}
    for path in sorted(files, key=lambda path: (path.name not in wanted.values(), path)):
        if len(tables) == len(wanted):
            break
        table = _table(path)
        digest = "" if table is None else table_digest(table)
        if table is not None and digest in wanted:
            tables[digest] = table
        else:
            namesakes.setdefault(path.name, path)
    lacking = [table for table in receipt.tables if table.sha256 not in tables]
    if lacking:
        lines = [f"{len(lacking)} of {len(receipt.tables)} tables are not below {folder}:"]
        for record in lacking:
            other = f"; {namesakes[record.file]} has another content" if record.file in namesakes else ""
            lines.append(f"  {record.team}, submission {record.position}: {record.file}, {record.sha256}{other}")
        _give_up("\n".join(lines))
    return tables


def _table(path: Path) -> pl.DataFrame | None:
    """The score table in a file; None if it holds none of the challenge, or nothing of the kind."""
    import polars as pl

    from isocenter import scores

    try:
        return scores.read(path) if path.is_file() else None
    except (OSError, scores.ScoreTableError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def _replay(
    receipt: Receipt, challenge: Challenge, tables: Mapping[str, pl.DataFrame], run_times: Path | None
) -> Board:
    """The board, made again from what is recorded."""
    from isocenter.contest import replay

    try:
        with bootstrap_progress() as progress:
            decision = replay(receipt, challenge, tables, run_times=run_times, progress=progress)
    except ValueError as error:
        _give_up(f"The board cannot be made again: {error}")
    return decision.board


def _give_up(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(1)
