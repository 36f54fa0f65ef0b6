"""Score tables in the database, and the score that each has alone."""

from __future__ import annotations

import hashlib
import io
import math
import tempfile
from collections import OrderedDict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isocenter.server.models import Evaluation

if TYPE_CHECKING:
    import polars as pl

    from isocenter.evaluation import Challenge as Code

# Tables that boards were made of a moment ago are wanted again in a moment.
_MOST = 512
_seen: OrderedDict[tuple[Any, ...], pl.DataFrame] = OrderedDict()


def table_of(evaluation: Evaluation) -> pl.DataFrame:
    """The score table of an evaluation."""
    import polars as pl

    return pl.read_parquet(io.BytesIO(bytes(evaluation.table)))


def tables_of(evaluations: Collection[Evaluation]) -> dict[int, pl.DataFrame]:
    """The tables of evaluations by their keys; those seen lately are not read again."""
    names = {one.pk: (one.submission_id, one.pk, one.digest) for one in evaluations}
    found = {key: _seen[name] for key, name in names.items() if name in _seen}
    lacking = [key for key in names if key not in found]
    for at in range(0, len(lacking), 200):
        for one in Evaluation.objects.filter(pk__in=lacking[at : at + 200]).only("table"):
            found[one.pk] = table_of(one)
    for key, name in names.items():
        _seen[name] = found[key]
        _seen.move_to_end(name)
    while len(_seen) > _MOST:
        _seen.popitem(last=False)
    return found


def table_bytes(table: pl.DataFrame, record: Mapping[str, Any]) -> bytes:
    """A score table as the Parquet file that `isocenter.scores` writes."""
    from isocenter import scores

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scores.parquet")
        scores.write(table, path, record=record)
        return path.read_bytes()


def values_of(code: Code, table: pl.DataFrame) -> dict[str, float | None]:
    """By board, the score of one submission alone; None for one that is disqualified.

    A board is left out if its rule needs others to compare with, does not rank this submission, or fails.
    """
    from isocenter.contest import guard_rule, score_alone
    from isocenter.ranking import capabilities_of

    values: dict[str, float | None] = {}
    for name, rule in code.boards.items():
        try:
            with guard_rule(rule):
                relative = capabilities_of(rule).relative
            if relative:
                continue
            score = score_alone(code, table, name, team="one")["one"].score
        except (ValueError, KeyError):
            continue
        if score is None or math.isfinite(score):
            values[name] = score
    return values


def rules_of(code: Code) -> dict[str, str]:
    """By board, what its rule says, as a hash: values are as old as the rule that gave them."""
    return {name: hashlib.sha256(repr(rule).encode()).hexdigest()[:16] for name, rule in code.boards.items()}


def renew_values(code: Code, evaluations: list[Evaluation]) -> None:
    """Give the values anew of evaluations that have none by the rules in force."""
    rules = rules_of(code)
    old = [one for one in evaluations if one.record.get("rules") != rules]
    for at in range(0, len(old), 200):
        batch = old[at : at + 200]
        read = Evaluation.objects.filter(pk__in=[one.pk for one in batch]).only("table")
        tables = {one.pk: table_of(one) for one in read}
        for one in batch:
            one.values, one.record = values_of(code, tables[one.pk]), one.record | {"rules": rules}
        Evaluation.objects.bulk_update(batch, ["values", "record"])
