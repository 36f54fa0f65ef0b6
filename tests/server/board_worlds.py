"""Boards put where a worker would put them, for tests of the pages that show them."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any

import polars as pl

from conftest import World
from isocenter.contest import Contest, Entry
from isocenter.ranking import table_digest
from isocenter.server import boards
from isocenter.server.editions import code_of
from isocenter.server.models import Evaluation, Membership, Registration, Snapshot, Team

REPLICATES = 200


def made(world: World, phase: str, board: str = "dice") -> Snapshot:
    """A board of all scored submissions of a phase, with its entries and its receipt, of now."""
    code = code_of(world.challenge.version_id, phase)
    found = Evaluation.objects.filter(
        submission__challenge=world.challenge, submission__phase=phase, submission__void=False
    )
    rows: dict[str, list[Evaluation]] = {}
    for one in found.select_related("submission__team").order_by("submission__made", "submission__number"):
        rows.setdefault(one.submission.team.name, []).append(one)
        if one.digest == "0" * 64:
            one.digest = table_digest(table(one))
            one.save()
    entries = [
        Entry(
            team=team,
            table=table(one),
            moment=one.submission.made,
            role=one.submission.team.kind,
            file=f"{one.submission_id}.parquet",
        )
        for team, its in rows.items()
        for one in its
    ]
    decision = Contest(code, entries).decide(board, resamples=REPLICATES)
    content = json.loads(json.dumps(boards.freeze(decision.board)))
    return Snapshot.objects.create(
        challenge=world.challenge,
        phase=phase,
        board=board,
        version=world.challenge.version,
        content=content,
        receipt=json.loads(decision.receipt.to_json()),
        entries=[{"team": team, "submission": str(its[-1].submission_id), "row": team} for team, its in rows.items()],
        digest=hashlib.sha256(json.dumps([content, world.at.now.isoformat()]).encode()).hexdigest(),
        made=world.at.now,
    )


def table(one: Evaluation) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(bytes(one.table)))


def team(world: World, name: str, kind: str = "team", **fields: Any) -> Team:
    """Another team."""
    world.teams[name] = Team.objects.create(challenge=world.challenge, name=name, kind=kind, **fields)
    return world.teams[name]


def hosts(world: World) -> Team:
    """A team of the organisers, who accepted the terms like everybody."""
    person, found = world.people["organiser"], team(world, "Hosts", "organiser")
    Registration.objects.create(
        user=person, challenge=world.challenge, state="accepted", terms_version="1", terms_accepted=world.at.now
    )
    Membership.objects.create(user=person, team=found, challenge=world.challenge, leads=True)
    return found


def valued(world: World) -> None:
    """Give every evaluation its score alone, as a worker does."""
    for one in Evaluation.objects.all():
        rule = code_of(world.challenge.version_id, one.submission.phase).boards["dice"]
        scores = table(one).select(pl.lit("one").alias("submission"), pl.all())
        one.values = {"dice": rule.rank(scores)["one"].score}
        one.save()
