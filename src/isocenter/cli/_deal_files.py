"""What `isocenter deal` writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from isocenter import atomic
from isocenter.cli._tables import csv_text
from isocenter.problems import printable
from isocenter.ranking import software_versions
from isocenter.readers import Balance, Deal, deal, order
from isocenter.readers._balance import Units
from isocenter.report import matrix_plot
from isocenter.report._print import Drawing, pieces

# Of more values than these a picture shows nothing that the table does not.
_MOST_DRAWN = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be dealt, and how.

    Attributes
    ----------
    files, units
        The tables by kind, "case" and perhaps "reader", and what they say.
    blocks, seed
        As for `isocenter.readers.deal`.
    by
        The facts to balance; of a table that has none of them, all.
    """

    files: Mapping[str, Path]
    units: Mapping[str, Units]
    blocks: int
    by: tuple[str, ...]
    seed: int

    def facts(self, kind: str) -> list[str]:
        """The facts of a table that are balanced."""
        there = list(next(iter(self.units[kind].values())))
        return [fact for fact in self.by if fact in there] or there


class Written(NamedTuple):
    """The texts of balance.txt and deal.json."""

    balance: str
    record: str


def write_deal(asked: Asked, folder: Path) -> Written:
    """Deal, and write everything into a folder that appears when it is complete."""
    dealt = {
        kind: deal(units, asked.blocks, seed=asked.seed, by=asked.facts(kind)) for kind, units in asked.units.items()
    }
    texts = {f"{kind}s.csv": _blocks(kind, one) for kind, one in dealt.items()}
    if "reader" in dealt:
        texts["orders.csv"] = _orders(dealt["case"], dealt["reader"], asked.seed)
    texts["balance.txt"] = "\n".join(f"{kind.capitalize()}s\n{one.balance}\n" for kind, one in dealt.items())
    for kind, one in dealt.items():
        texts |= {f"balance-{kind}s.svg": svg for svg in _picture(kind, one.balance)}
    record = json.dumps(_record(asked, dealt, texts), indent=2, ensure_ascii=False) + "\n"
    with atomic.replacing(folder) as partial:
        partial.mkdir()
        for name, text in (texts | {"deal.json": record}).items():
            (partial / name).write_text(text, encoding="utf-8", newline="")
    return Written(texts["balance.txt"], record)


def _blocks(kind: str, dealt: Deal) -> str:
    """The block of each unit, counted from 1."""
    rows = [(name, number + 1) for name, number in sorted(dealt.block_of.items())]
    return _csv([kind, "block"], rows)


def _orders(cases: Deal, readers: Deal, seed: int) -> str:
    """What each reader reads first, second, …: the cases of the reader's block."""
    rows = [
        (reader, position, case)
        for reader, block in sorted(readers.block_of.items())
        for position, case in enumerate(order(cases.blocks[block], seed=seed, reader=reader), start=1)
    ]
    return _csv(["reader", "position", "case"], rows)


def _csv(columns: Sequence[str], rows: Iterable[tuple[str | int, ...]]) -> str:
    texts = {name: pl.Int64() if name in ("block", "position") else pl.String() for name in columns}
    return csv_text(pl.DataFrame(list(rows), schema=texts, orient="row"))


def _picture(kind: str, balance: Balance) -> Iterator[str]:
    """Counts by value and block as a drawing, shaded by their distance from the share; none without facts."""
    rows = [row for row in balance.rows if row.total > 1]
    rows = sorted(sorted(rows, key=lambda row: -row.farthest)[:_MOST_DRAWN], key=balance.rows.index)
    if not rows:
        return
    most = "" if len(rows) == len(balance.rows) else f"; {len(rows)} of {len(balance.rows)} values"
    plot = matrix_plot(
        [[count - row.share for count in row.counts] for row in rows],
        rows=[printable(f"{row.fact}: {row.value or '(not known)'}") for row in rows],
        columns=[f"block {number}" for number in range(1, len(balance.sizes) + 1)],
        show=lambda away: f"{away:+.2f}" if away else "0",
        legend=f"{kind}s more or fewer than the share of a block{most}",
        title=f"How even the blocks of {kind}s are",
        name=f"balance-{kind}s",
        low=-max(1.0, balance.farthest),
        high=max(1.0, balance.farthest),
        diverging=True,
    )
    yield next(piece.svg for piece in pieces(plot) if isinstance(piece, Drawing)) + "\n"


def _record(asked: Asked, dealt: Mapping[str, Deal], texts: Mapping[str, str]) -> dict[str, object]:
    """All that it takes to deal the same again, and to see whether anything was changed since."""
    return {
        "ok": True,
        "seed": asked.seed,
        "blocks": asked.blocks,
        "tables": [
            {
                "kind": kind,
                "file": path.name,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "by": asked.facts(kind),
                "balance": dealt[kind].balance.to_dict(),
            }
            for kind, path in asked.files.items()
        ],
        "written": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()},
        "versions": software_versions(),
    }
