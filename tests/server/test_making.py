"""Boards: what `isocenter.rank` says of everything, made of little, kept once, and replayable by anybody."""

from __future__ import annotations

import io
import itertools
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import isocenter
from conftest import TOML
from isocenter import evaluation, scores
from isocenter.cli import app
from isocenter.contest import Entry
from isocenter.ranking import MeanThenRank, RankThenMean, read_receipt, table_digest
from isocenter.server import boards, editions
from isocenter.server.models import (
    Evaluation,
    Notification,
    Reference,
    Registration,
    Run,
    Snapshot,
    Submission,
    Team,
    Version,
)
from isocenter.server.work import making, queue, score_tables, scoring, voiding


def new_version(world, toml: str) -> None:
    number = world.challenge.version.number + 1
    world.challenge.version = Version.objects.create(challenge=world.challenge, number=number, toml=toml)
    world.challenge.save()


def phase_with(world, **settings: str) -> None:
    """The validation phase with other settings."""
    head, validation, rest = re.split(r"(?=\[\[phases\]\])", TOML, maxsplit=2)
    for name, value in settings.items():
        line = f"{name} = {value}\n"
        validation = (
            re.sub(rf"{name} = .*\n", line, validation)
            if f"{name} = " in validation
            else validation.rstrip() + f"\n{line}\n"
        )
    new_version(world, head + validation + rest)


def made(world, phase: str = "validation") -> Snapshot:
    world.at.move(seconds=1)
    making.make_boards(world.challenge, phase)
    found = boards.latest(world.challenge, phase)
    assert found is not None
    return found


def evaluated(world, team: Team, values: list[float | None], phase: str = "validation", **fields: Any) -> Submission:
    """A scored submission with these Dice coefficients, without images."""
    one = Submission.objects.create(
        challenge=world.challenge, team=team, phase=phase, state="scored", version=world.challenge.version,
        number=Submission.objects.filter(team=team, phase=phase).count() + 1, name="x.zip", file="x", size=1,
        sha256="0" * 64, made=world.at.now, declarations={}, **fields,
    )  # fmt: skip
    rows = [scores.Row(f"C{at:03d}", "", "dice", value) for at, value in enumerate(values)]
    rows += [scores.Row(f"C{at:03d}", "", "missing", 1.0) for at, value in enumerate(values) if value is None]
    table = scores.frame(rows)
    stream = io.BytesIO()
    table.write_parquet(stream)
    Evaluation.objects.create(
        submission=one, evaluator="e" * 64, reference=world.references[phase], table=stream.getvalue(),
        digest=table_digest(table), made=world.at.now,
    )  # fmt: skip
    return one


def without_terms(toml: str = TOML) -> str:
    return toml[: toml.index("[terms]")]


def by_the_library(world, board: str = "dice", phase: str = "validation") -> Any:
    """The board of all submissions at once, by the library alone."""
    code = editions.code_of(world.challenge.version_id, phase)
    code = replace(code, participation=replace(code.participation, quota=None, per="phase"))
    by_team: dict[str, list[Submission]] = {}
    for one in Submission.objects.filter(phase=phase, state="scored").order_by("made", "number").select_related("team"):
        by_team.setdefault(one.team.name, []).append(one)
    entries = [
        Entry(
            team=team,
            table=score_tables.table_of(one.evaluations.get()),
            moment=one.made,
            role=one.team.kind,
            chosen=one.nominated,
            void=bool(voiding.void_reasons_of(one)),
        )
        for team, its in by_team.items()
        for one in its
    ]
    return isocenter.rank(code, entries, board=board)


def field(world, rng: np.random.Generator, teams: int = 5, each: int = 6) -> None:
    """Teams of all kinds with several submissions: void, missing cases, equal scores."""
    kinds = ["team"] * (teams - 2) + ["organiser", "benchmark"]
    names = [Team.objects.create(challenge=world.challenge, name=f"T{at}", kind=kind) for at, kind in enumerate(kinds)]
    for number, team in itertools.product(range(each), names):
        world.at.move(seconds=7)
        values: list[float | None] = rng.random(8).round(2).tolist()
        if rng.random() < 0.3:
            values[int(rng.integers(8))] = None
        one = evaluated(world, team, values, void=bool(rng.random() < 0.2))
        if number == 3:
            Submission.objects.filter(pk=one.pk).update(nominated=True, void=False)
            world.at.move(seconds=1)
            evaluated(world, team, values)  # the same again


@pytest.mark.parametrize("counts", ["best", "last", "chosen", "all"])
@pytest.mark.parametrize("missing", ["0.0", '"disqualify"'])
def test_the_board_is_that_of_the_library_on_everything(world, counts, missing):
    toml = without_terms().replace('organisers = "unlisted"', f'organisers = "unranked"\nmissing = {missing}')
    new_version(world, toml.replace('counts = "best"', f'counts = "{counts}"'))
    field(world, np.random.default_rng(1))
    snapshot = made(world)
    assert snapshot.problem == ""
    assert boards.thaw(snapshot.content) == by_the_library(world)
    assert len(snapshot.content["rows"]) > 2


def test_the_best_under_few_decimals_is_that_of_the_library(world):
    new_version(world, without_terms().replace('counts = "best"', 'counts = "best"\ndecimals = 1'))
    field(world, np.random.default_rng(3))
    snapshot = made(world)
    assert snapshot.problem == ""
    assert boards.thaw(snapshot.content) == by_the_library(world)


@pytest.mark.parametrize("ladder", ["0.05", '"parameter-free"'])
def test_the_board_of_a_ladder_is_that_of_the_library(world, ladder):
    new_version(world, without_terms().replace('counts = "best"', f'counts = "best"\nladder = {ladder}'))
    field(world, np.random.default_rng(2))
    snapshot = made(world)
    assert snapshot.problem == ""
    assert boards.thaw(snapshot.content) == by_the_library(world)
    for entry in snapshot.entries:
        assert Submission.objects.get(pk=entry["submission"]).team.name == entry["team"] == entry["row"]


def test_entries_say_which_submission_each_row_is_about(world):
    _, best, _ = (world.scored("Rigi", "validation", size) for size in (2, 4, 3))
    other = world.scored("Pilatus", "validation", 3)
    snapshot = made(world)
    assert {entry["row"]: entry["submission"] for entry in snapshot.entries} == {
        "Rigi": str(best.pk),
        "Pilatus": str(other.pk),
    }
    assert {entry["team"] for entry in snapshot.entries} == {"Rigi", "Pilatus"}


def test_tables_that_cannot_count_are_not_read(world, monkeypatch):
    for size in (2, 4, 3):
        world.scored("Rigi", "validation", size)
    made(world)
    read = []
    table_of = score_tables.table_of
    monkeypatch.setattr(score_tables, "table_of", lambda one: read.append(one.pk) or table_of(one))
    monkeypatch.setattr(score_tables, "_seen", type(score_tables._seen)())
    made(world)
    assert len(read) == 1


def test_scores_alone_follow_the_rules_in_force(world):
    one = world.scored("Rigi", "validation", {"CHUV001": 4, "CHUV002": 4})
    made(world)
    assert Evaluation.objects.get(submission=one).values["dice"] == pytest.approx(2 / 3)
    new_version(world, TOML.replace("announce = 1", 'announce = 1\nmissing = "disqualify"'))
    snapshot = made(world)
    assert Evaluation.objects.get(submission=one).values["dice"] is None
    assert snapshot.content["rows"] == []
    assert snapshot.content["unlisted"][0]["disqualified"]


def test_what_was_granted_beyond_the_quota_counts_too(world):
    """The quota was kept when submissions were taken; a board that counts it again would take back what was granted."""
    phase_with(world, quota="1", counts='"last"')
    for size in (2, 3, 4):
        last = world.scored("Rigi", "validation", size)
    snapshot = made(world)
    assert snapshot.content["rows"][0]["score"] == 1.0
    assert snapshot.entries[0]["submission"] == str(last.pk)


def test_a_board_that_says_the_same_is_kept_once(world):
    world.scored("Rigi", "validation", 4)
    first = made(world)
    world.at.move(hours=1)
    assert making.make_boards(world.challenge, "validation") == []
    world.scored("Rigi", "validation", 3)
    assert making.make_boards(world.challenge, "validation") == []
    assert Snapshot.objects.filter(board="dice").count() == 1
    world.scored("Pilatus", "validation", 4)
    second = made(world)
    assert second.pk != first.pk
    assert second.made == world.at.now


def test_void_and_disqualified_ones_do_not_count_and_come_back(world):
    best, other = world.scored("Rigi", "validation", 4), world.scored("Rigi", "validation", 3)
    pilatus = world.scored("Pilatus", "validation", 2)
    Submission.objects.filter(pk=best.pk).update(void=True)
    assert str(other.pk) in {entry["submission"] for entry in made(world).entries if entry["row"] == "Rigi"}
    assert voiding.void_reasons_of(Submission.objects.get(pk=best.pk)) == [
        "The organisers decided that this submission does not count."
    ]
    Team.objects.filter(name="Rigi").update(disqualified=True)
    assert [row["submission"] for row in made(world).content["rows"]] == ["Pilatus"]
    assert voiding.void_reasons_of(Submission.objects.get(pk=other.pk)) == ["The team is disqualified."]
    Team.objects.filter(name="Rigi").update(disqualified=False)
    Submission.objects.filter(pk=best.pk).update(void=False)
    assert made(world).content["rows"][0]["score"] == 1.0
    assert voiding.void_reasons_of(pilatus) == []


def test_one_without_terms_or_survey_does_not_count(world):
    new_version(world, TOML + '\n[[survey]]\nname = "network"\nlabel = "Network"\nkind = "text"\nrequired = true\n')
    final, validation = world.scored("Rigi", "final"), world.scored("Rigi", "validation")
    assert voiding.void_reasons_of(final) == ["The survey of the team is not filled in."]
    assert voiding.void_reasons_of(validation) == []  # only the phase that closes last asks for it
    Registration.objects.filter(user__in=[world.people["alice"], world.people["bob"]]).update(terms_version="0")
    assert "terms" in voiding.void_reasons_of(validation)[0]
    assert made(world).content["rows"] == []
    baseline = Team.objects.create(challenge=world.challenge, name="Baseline", kind="benchmark")
    world.teams["Baseline"] = baseline
    assert voiding.void_reasons_of(world.scored("Baseline", "final")) == []


def test_who_has_to_choose_and_has_not_keeps_nobody_else_from_the_board(world):
    phase_with(world, counts='"chosen"')
    several = [world.scored("Rigi", "validation", size) for size in (4, 3)]
    single = world.scored("Pilatus", "validation", 2)
    snapshot = made(world)
    assert snapshot.problem == ""
    assert [entry["submission"] for entry in snapshot.entries] == [str(single.pk)]
    Submission.objects.filter(pk=several[1].pk).update(nominated=True)
    assert {entry["submission"] for entry in made(world).entries} == {str(single.pk), str(several[1].pk)}
    Submission.objects.filter(pk=several[1].pk).update(void=True)  # its choice is gone; no other one steps in
    assert [entry["submission"] for entry in made(world).entries] == [str(single.pk)]


class FailsToRank(MeanThenRank):
    """A rule with a defect, such as one of another package."""

    def rank(self, scores: Any, **options: Any) -> Any:
        raise TypeError("a secret of the rule")


class FailsToDraw(MeanThenRank):
    def draw(self, *scores: Any, **options: Any) -> Any:
        raise TypeError("a secret of the rule")


def rank_by(world, monkeypatch, rule: type[MeanThenRank]) -> None:
    code = editions.code_of(world.challenge.version_id, "validation")
    broken = replace(code, boards={name: rule("dice", _zero()) for name in code.boards})
    for module in (making, scoring):
        monkeypatch.setattr(module, "code_of", lambda version, phase: broken)


def heard(world, name: str = "organiser") -> list[str]:
    return list(Notification.objects.filter(user=world.people[name]).order_by("pk").values_list("text", flat=True))


def test_organisers_are_told_once_that_a_rule_fails_and_the_submission_is_scored(world, monkeypatch):
    rank_by(world, monkeypatch, FailsToRank)
    one = world.scored("Rigi", "validation", 4)
    assert one.state == "scored"
    table = score_tables.table_of(one.evaluations.get())
    assert score_tables.values_of(making.code_of(1, "validation"), table) == {}
    snapshot = made(world)
    problem = r"the rule \w+ failed: TypeError: a secret of the rule \(test_making.py, line \d+\)"
    assert re.fullmatch(problem, snapshot.problem)
    (told,) = heard(world)
    assert snapshot.problem in told
    assert "the board dice cannot be made" in told
    assert heard(world, "alice") == []
    world.scored("Pilatus", "validation", 3)
    made(world)
    assert heard(world) == [told]
    monkeypatch.undo()
    assert made(world).problem == ""
    assert heard(world) == [told]


def test_a_rule_that_cannot_score_resamples_has_a_board_that_says_so_and_no_more(world, monkeypatch):
    rank_by(world, monkeypatch, FailsToDraw)
    world.scored("Rigi", "validation", 4)
    snapshot = made(world)
    assert snapshot.problem == ""
    assert [row["rank"] for row in snapshot.content["rows"]] == [1]
    (note,) = [note for note in map(str, snapshot.content["notes"]) if "How sure the ranks are is not known" in note]
    assert "TypeError" in note
    assert "secret" not in note


def test_why_there_is_no_board_is_said(world, monkeypatch):
    code = replace(
        evaluation.load_challenge("hecktor2020"),
        boards={"dice": RankThenMean(metrics="dice", missing=_zero(), ties="min")},
    )
    monkeypatch.setattr("isocenter.evaluation.load_challenge", lambda name: code)
    for size in (4, 3):
        world.scored("Rigi", "validation", size)
    snapshot = made(world)
    assert "depends on the other teams" in snapshot.problem
    assert boards.thaw(snapshot.content).rows == ()
    assert snapshot.receipt == {}
    assert snapshot.entries == []


def _zero():
    from isocenter.ranking import FixedValue

    return FixedValue(0.0)


def test_a_phase_that_is_gone_has_no_board(world):
    assert making.make_boards(world.challenge, "practice") == []


def test_nothing_scored_is_an_empty_board(world):
    snapshot = made(world)
    assert (snapshot.problem, snapshot.content["rows"], snapshot.entries) == ("", [], [])


def test_orders_are_one_while_they_wait(world):
    first = making.refresh(world.challenge, "validation")
    assert making.refresh(world.challenge, "validation").pk == first.pk
    assert making.refresh(world.challenge, "test").pk != first.pk
    run = queue.claim("w", ["default"])
    assert run.payload["phase"] in ("validation", "test")
    again = making.refresh(world.challenge, run.payload["phase"])
    assert again.pk != run.pk
    assert making.refresh(world.challenge, run.payload["phase"]).pk == again.pk


def test_who_lost_the_lease_keeps_no_board(world):
    world.scored("Rigi", "validation")
    making.refresh(world.challenge, "validation")
    run = queue.claim("w", ["default"], timedelta(seconds=30))
    world.at.move(minutes=1)
    queue.claim("other", ["default"], timedelta(seconds=30))
    with pytest.raises(queue.LeaseLost):
        making.make_boards(world.challenge, "validation", run=run)
    assert not Snapshot.objects.exists()


def export(world, folder, snapshot: Snapshot) -> None:
    """What an organiser hands to who wants to verify a board."""
    folder.mkdir(exist_ok=True)
    (folder / "receipt.json").write_text(json.dumps(snapshot.receipt))
    for one in Evaluation.objects.all():
        (folder / f"{one.submission_id}.parquet").write_bytes(bytes(one.table))


@pytest.mark.parametrize("counts", ["best", "last", "chosen", "all"])
def test_anybody_can_make_the_board_again_from_its_receipt(world, tmp_path, counts):
    phase_with(world, counts=f'"{counts}"', quota="1")
    for team, size in (("Rigi", 4), ("Rigi", 3), ("Pilatus", 2)):
        one = world.submission(team, "validation", {"CHUV001": size, "CHUV002": 5, "CHUV003": 3})
        queue.enqueue("score", world.challenge, submission=one, priority=9)
        scoring.score(queue.claim("w", ["default"]))
        world.at.move(seconds=1)
    Submission.objects.filter(number=2).update(nominated=True)
    snapshot = made(world)
    assert len(snapshot.content["rows"]) == (3 if counts == "all" else 2)
    export(world, tmp_path / "x", snapshot)
    command = ["verify", str(tmp_path / "x" / "receipt.json"), "--scores", str(tmp_path / "x")]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    assert "to the last bit" in found.output
    receipt = read_receipt(json.dumps(snapshot.receipt))
    assert {table.file for table in receipt.tables} >= {f"{entry['submission']}.parquet" for entry in snapshot.entries}


def test_run_times_stand_below_the_scores_and_in_the_receipt(world, monkeypatch):
    base = evaluation.load_challenge("hecktor2020")
    asked = []

    def run_times(path, teams):
        asked.append((path.name, sorted(teams)))
        return {team: scores.frame([scores.Row("", "", "dice_seconds_of_making", 1.0)]) for team in teams}, []

    from isocenter.metrics import catalogue
    from isocenter.metrics.catalogue import Metric

    if "dice_seconds_of_making" not in catalogue.names():
        catalogue.register(Metric("dice_seconds_of_making", "s", "lower", (0.0, 9.0), 1, "for a test"))
    monkeypatch.setattr("isocenter.evaluation.load_challenge", lambda name: replace(base, run_times=run_times))
    Reference.objects.filter(phase="validation").update(run_times="references/neck/times.csv")
    (world.data / "references/neck/times.csv").write_text("a,b\n")
    world.scored("Rigi", "validation", 4)
    snapshot = made(world)
    assert asked
    assert asked[0] == ("times.csv", ["Rigi"])
    assert snapshot.receipt["run_times"]["file"] == "times.csv"


def test_results_of_two_references_never_stand_on_one_board(world):
    old, new = world.scored("Rigi", "validation", 4), world.scored("Pilatus", "validation", 3)
    second = Reference.objects.create(
        challenge=world.challenge, phase="validation", number=2, folder="x", digest="1" * 64
    )
    made(world)
    Evaluation.objects.filter(submission=new).update(reference=second)
    snapshot = made(world)
    assert [entry["row"] for entry in snapshot.entries] == ["Pilatus", None]
    assert snapshot.entries[1] == {"team": "Rigi", "submission": str(old.pk), "row": None, "pending": True}
    assert "wait to be evaluated again" in snapshot.content["notes"][-1]
    assert "wait to be evaluated" not in json.dumps(snapshot.receipt)


def test_while_all_are_evaluated_again_the_board_stays_and_then_changes_as_a_whole(world):
    subs = [world.scored(team, "validation", size) for team, size in (("Rigi", 4), ("Pilatus", 3))]
    first = made(world)
    second = Reference.objects.create(
        challenge=world.challenge,
        phase="validation",
        number=2,
        folder=world.references["validation"].folder,
        digest="1" * 64,
    )
    for one in subs:
        queue.enqueue("score", world.challenge, submission=one, priority=9)
    scoring.score(queue.claim("w", ["default"]))
    snapshot = made(world)
    assert snapshot.content["rows"] == first.content["rows"]
    assert "with the one before" in snapshot.content["notes"][-1]
    scoring.score(queue.claim("w", ["default"]))
    snapshot = made(world)
    assert {Evaluation.objects.get(pk=entry["evaluation"]).reference for entry in snapshot.entries} == {second}
    assert not any("reference" in note or "wait" in note for note in snapshot.content["notes"])


def test_of_several_evaluators_most_submissions_decide(world):
    subs = [world.scored("Rigi", "validation", size) for size in (4, 3)] + [world.scored("Pilatus", "validation", 3)]
    world.at.move(seconds=1)
    one = Evaluation.objects.get(submission=subs[0])
    one.pk, one.evaluator, one.made = None, "f" * 64, world.at.now
    one.save()  # one of them was looked at again by other code: that changes no board
    snapshot = made(world)
    assert [entry for entry in snapshot.entries if entry.get("pending")] == []
    assert {Evaluation.objects.get(pk=entry["evaluation"]).evaluator for entry in snapshot.entries} != {"f" * 64}
    for other in subs[1:]:
        again = Evaluation.objects.get(submission=other)
        again.pk, again.evaluator, again.made = None, "f" * 64, world.at.now
        again.save()
    assert {Evaluation.objects.get(pk=entry["evaluation"]).evaluator for entry in made(world).entries} == {"f" * 64}


def test_a_viewer_of_a_hidden_phase_sees_nothing_of_the_snapshot(world):
    from isocenter.server.policy import Visit

    world.at.move(days=31)
    world.scored("Rigi", "test", 4)
    world.scored("Pilatus", "test", 3)
    snapshot = made(world, "test")
    shown = boards.shown(Visit(world.people["alice"], world.challenge), snapshot)
    assert shown.rows == shown.unlisted == ()
    assert shown.notes == ()
    assert len(boards.shown(Visit(world.people["organiser"], world.challenge), snapshot).rows) == 2


def test_values_are_of_one_submission_alone():
    code = evaluation.load_challenge("hecktor2020")
    table = scores.frame([scores.Row("A", "", "dice", 0.5), scores.Row("B", "", "dice", 0.7)])
    assert score_tables.values_of(code, table)["dice"] == pytest.approx(0.6)
    relative = replace(code, boards={"dice": RankThenMean(metrics="dice", missing=_zero(), ties="min")})
    assert score_tables.values_of(relative, table) == {}
    assert score_tables.rules_of(code) != score_tables.rules_of(relative)


def test_a_run_of_boards_is_finished(world):
    import threading

    from isocenter.server.work import working

    world.scored("Rigi", "validation")
    run = making.refresh(world.challenge, "validation")
    working.work(threading.Event(), name="w", once=True)
    run.refresh_from_db()
    assert (run.state, run.reason) == ("done", "")
    assert Run.objects.count() == 1
    assert Snapshot.objects.exists()
