"""The archive of a challenge: unpacked elsewhere, it gives the same boards, and names nobody but teams."""

from __future__ import annotations

import csv
import json
import re
import shlex
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from board_worlds import hosts, team
from typer.testing import CliRunner, Result

from conftest import CASES, World
from isocenter.cli import app
from isocenter.editions import audit, parse
from isocenter.server import boards, decisions
from isocenter.server.archiving import archive, artefacts
from isocenter.server.archiving.archive_words import Pseudonyms
from isocenter.server.models import EquityAnswers, Evaluation, Registration, Role, Token, User, Version
from isocenter.server.policy import Visit
from isocenter.server.work import queue
from isocenter.server.work.making import make_boards

APRIL = datetime(2026, 4, 10, 12, tzinfo=UTC)
OVER = datetime(2026, 7, 1, 12, tzinfo=UTC)


def played(world: World) -> None:
    """A challenge with results in two phases, a team of the organisers, a void submission, and decisions."""
    from isocenter.ranking import table_digest
    from isocenter.server.work.score_tables import table_of

    hosts(world)
    team(world, "Ensemble", "benchmark")
    world.scored("Rigi", "validation", 3)
    world.scored("Pilatus", "validation", 4)
    world.at.now = APRIL
    world.scored("Rigi", "test", dict(zip(CASES, (4, 5, 3), strict=True)))
    world.at.move(hours=1)
    world.scored("Rigi", "test", dict(zip(CASES, (4, 3, 3), strict=True)))
    world.scored("Pilatus", "test", dict(zip(CASES, (4, 4, 3), strict=True)))
    world.scored("Pilatus", "test", 4, void=True)
    world.scored("Hosts", "test", 4)
    world.scored("Ensemble", "test", 2)
    for one in Evaluation.objects.all():
        one.digest = table_digest(table_of(one))
        one.save()
    for phase in ("validation", "test"):
        make_boards(world.challenge, phase)
    organiser = world.people["organiser"]
    decisions.record(world.challenge, organiser, "refund", "Rigi", "Alice (alice@example.org) asked for it")
    decisions.record(world.challenge, "the site", "publish", "test", "its moment has come")
    decisions.record(world.challenge, "Somebody Gone", "accept", "Carol", "as Bob said")


def unpacked(world: World, home: Path, **options: bool) -> Path:
    home.mkdir()
    archive.make(world.challenge, home, **options)
    with zipfile.ZipFile(home / archive.NAME) as packed:
        assert packed.testzip() is None
        packed.extractall(home)
    return home / "neck"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})


def commands(home: Path, verb: str) -> list[list[str]]:
    """The commands that the README says, word by word."""
    lines = [line.strip() for line in (home / "README.txt").read_text().splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith(f"isocenter {verb} ")]


@pytest.fixture
def at_home(world, tmp_path, monkeypatch):
    played(world)
    home = unpacked(world, tmp_path / "unpacked")
    monkeypatch.chdir(home)
    return home


def test_every_board_can_be_verified_as_the_readme_says(world, at_home):
    verify = commands(at_home, "verify")
    assert len(verify) == 2
    for command in verify:
        told = run(*command)
        assert told.exit_code == 0, told.output
        assert "reproduced" in told.output
        assert "to the last bit" in told.output


def test_a_table_that_was_changed_is_noticed(world, at_home):
    for path in (at_home / "scores" / "test").iterdir():
        path.write_bytes(next((at_home / "scores" / "validation").iterdir()).read_bytes())
    told = run(*commands(at_home, "verify")[1])
    assert told.exit_code == 1


def test_ranking_again_gives_the_board_that_was_published(world, at_home):
    for command in commands(at_home, "rank"):
        phase = command[command.index("--phase") + 1]
        out = at_home / f"{phase}.json"
        told = run(*command, "--out", out)
        assert told.exit_code == 0, told.output
        shown = boards.latest(world.challenge, phase)
        assert shown is not None
        assert json.loads(out.read_text()) == boards.thaw(shown.content).to_dict()
        assert json.loads((at_home / "boards" / phase / "dice" / "board.json").read_text()) == json.loads(
            out.read_text()
        )


def test_the_report_can_be_made_again(world, at_home):
    command = next(command for command in commands(at_home, "report") if "test" in command)
    told = run(*command, "--no-pdf", "--replicates", "50")
    assert told.exit_code == 0, told.output
    assert (at_home / "report-test" / "report.html").stat().st_size > 1000


def test_no_person_is_named_and_no_address_is_in_it(world, tmp_path):
    played(world)
    secret = Token.make(world.people["alice"], "laptop")[1]
    home = unpacked(world, tmp_path / "unpacked", submissions=True, references=True)
    every = {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    words = [user.name for user in User.objects.all()] + ["Somebody Gone", secret, "@example.org"]
    for name, content in every.items():
        if name.endswith((".parquet", ".nii.gz", ".zip", "README.txt")):
            continue
        text = content.decode()
        for word in words:
            assert not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text), (name, word)


def test_decisions_are_a_chain_without_names(world, at_home):
    lines = [json.loads(line) for line in (at_home / "decisions.jsonl").read_text().splitlines()]
    assert [line["actor"] for line in lines] == ["organiser 1", "the site", "person 6"]
    assert lines[0]["reason"] == "person 2 (person 2) asked for it"
    assert (lines[2]["subject"], lines[2]["reason"]) == ("person 4", "as person 3 said")
    chain = [
        audit.Entry(
            audit.Decision(
                datetime.fromisoformat(line["when"]), line["actor"], line["what"], line["subject"], line["reason"]
            ),
            line["hash"],
        )
        for line in lines
    ]
    audit.verify(chain)
    assert [line["hash_on_site"] for line in lines] == [entry.hash for entry in decisions.entries(world.challenge)]


def test_the_name_of_a_team_stays_although_a_person_has_it(world):
    User.objects.filter(pk=world.people["alice"].pk).update(name="Rigi")
    people = Pseudonyms(world.challenge)
    assert people.text("Rigi is disqualified, says Carol or carol@example.org or x@y.z") == (
        "Rigi is disqualified, says person 4 or person 4 or (address)"
    )
    assert people.actor("Rigi") == "person 2"


def test_it_has_all_versions_pages_and_the_past_of_boards(world, tmp_path):
    played(world)
    second = Version.objects.create(
        challenge=world.challenge, number=2, toml=world.challenge.version.toml, pages=world.challenge.version.pages
    )
    world.challenge.version = second
    world.challenge.save()
    world.at.move(hours=1)
    world.scored("Rigi", "test", 2)
    make_boards(world.challenge, "test")
    home = unpacked(world, tmp_path / "unpacked")
    assert sorted(path.name for path in (home / "versions").iterdir()) == ["1", "2"]
    assert "PET/CT" in (home / "versions" / "1" / "pages" / "01.md").read_text()
    parse((home / "versions" / "1" / "challenge.toml").read_text())
    past = [json.loads(line) for line in (home / "boards" / "test" / "dice" / "history.jsonl").read_text().splitlines()]
    assert [one["version"] for one in past] == [1, 2]
    assert all(one["receipt"]["format"] for one in past)


def test_tables_of_earlier_references_are_kept_apart(world, tmp_path):
    played(world)
    one = Evaluation.objects.filter(submission__phase="test").first()
    Evaluation.objects.create(
        submission=one.submission, evaluator="older", reference=one.reference, table=bytes(one.table), digest="1" * 64
    )
    home = unpacked(world, tmp_path / "unpacked")
    assert len(list((home / "former" / "test").iterdir())) == 1
    with (home / "submissions.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(list((home / "scores").rglob("*.parquet"))) == 8


def test_files_are_in_it_only_if_they_are_wanted(world, tmp_path):
    played(world)
    plain = unpacked(world, tmp_path / "plain")
    assert not (plain / "submissions").exists()
    assert not (plain / "reference").exists()
    whole = unpacked(world, tmp_path / "whole", submissions=True, references=True)
    assert len(list((whole / "submissions").iterdir())) == 8
    assert sorted(path.name for path in (whole / "reference" / "test").iterdir()) == [
        f"{case}.nii.gz" for case in CASES
    ]


FORMS = """
[[registration]]
name = "country"
label = "Country"
kind = "country"

[[equity]]
name = "gender"
label = "Gender"
kind = "choice"
choices = ["Woman", "Man"]
"""


def test_people_are_numbers_and_equity_only_when_all_is_over(world, tmp_path):
    world.challenge.version.toml += FORMS
    world.challenge.version.save()
    played(world)
    Registration.objects.update(answers={"country": "Norway"})
    for number in range(20):
        EquityAnswers.objects.create(
            challenge=world.challenge, pending=False, answers={"gender": "Woman" if number < 8 else "Man"}
        )
    EquityAnswers.objects.create(challenge=world.challenge, pending=True, answers={"gender": "Woman"})
    early = json.loads((unpacked(world, tmp_path / "early") / "people.json").read_text())
    assert "equity" not in early
    world.at.now = OVER
    told = json.loads((unpacked(world, tmp_path / "late") / "people.json").read_text())
    assert told["equity"][0]["answers"] == {"Man": 12, "Woman": 8}
    assert told["registration"] == [{"question": "Country", "withheld": "too few people"}]


def test_the_same_challenge_gives_the_same_bytes(world, tmp_path):
    played(world)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        archive.make(world.challenge, tmp_path / name)
    assert (tmp_path / "one" / archive.NAME).read_bytes() == (tmp_path / "two" / archive.NAME).read_bytes()


def test_an_archive_is_for_organisers_even_if_somebody_publishes_it(world):
    played(world)
    world.at.now = OVER
    assert Role.objects.filter(user=world.people["organiser"]).exists()
    artefacts.order(Visit(world.people["organiser"], world.challenge), "archive")
    claimed = queue.claim("worker", ["default"])
    while claimed is not None and claimed.kind != "archive":
        queue.finish(claimed)
        claimed = queue.claim("worker", ["default"])
    assert claimed is not None
    made = artefacts.make(claimed)
    made.published = True
    made.save()
    url = f"/c/neck/artefacts/{made.pk}/files/archive.zip"
    assert world.client("alice").get(url).status_code == 404
    served = world.client("organiser").get(url)
    assert served.headers["Content-Disposition"] == 'attachment; filename="neck-archive.zip"'
    assert zipfile.is_zipfile(Path(world.data) / made.folder / "archive.zip")
    served.close()
