"""`isocenter submit` against a real server: what it sends arrives once, whatever happens on the way."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application
from django.db import connections
from tests.server.conftest import CASES, World, at, data, world, zipped  # noqa: F401
from tests.server.test_intake import on_disk  # noqa: F401
from typer.testing import CliRunner, Result
from waitress import create_server

from isocenter.cli import _submit, _submit_pack, _submit_site, app
from isocenter.server import files
from isocenter.server.models import Run, Submission, Token, Upload, Version

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server as `isocenter serve` has it; every request finds the database of the test that makes it."""
    server = create_server(get_wsgi_application(), host="127.0.0.1", port=0, threads=4)

    def stop() -> None:
        for channel in list(server._map.values()):
            channel.close()

    thread = threading.Thread(target=server.run)
    thread.start()
    yield f"http://127.0.0.1:{server.effective_port}"
    server.trigger.pull_trigger(stop)
    thread.join(20)
    server.task_dispatcher.shutdown()


@pytest.fixture
def site(address: str, on_disk: None, world: World) -> Iterator[str]:  # noqa: F811
    """The address of the site of the small world."""
    cache.clear()
    settings = connections.settings["default"]
    before, settings["CONN_MAX_AGE"] = settings["CONN_MAX_AGE"], 0
    yield address
    settings["CONN_MAX_AGE"] = before


@pytest.fixture
def submit(site: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:  # noqa: F811
    """The command, as alice runs it; nothing waits long."""
    _, token = Token.make(world.people["alice"], "laptop")
    monkeypatch.setenv("ISOCENTER_TOKEN", token)
    monkeypatch.setenv("ISOCENTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(_submit_site, "PAUSES", (0.0,) * 5)
    monkeypatch.setattr(_submit_site, "PIECE", 1000)

    def run(what: Path, *more: str, challenge: str = "neck", phase: str = "validation", at: str = "") -> Result:  # noqa: F811
        command = ["submit", str(what), "--site", at or site, "--challenge", challenge, "--phase", phase, *more]
        return CliRunner().invoke(app, command)

    return run


@pytest.fixture
def folder(world: World, tmp_path: Path) -> Path:  # noqa: F811
    """Predictions as a team has them, with what operating systems leave behind and a file that makes it long."""
    where = tmp_path / "predictions"
    zipped(dict.fromkeys(CASES, 4), where)
    (where / ".DS_Store").write_bytes(b"x")
    (where / "notes.gz").write_bytes(os.urandom(9500))
    return where


def test_a_folder_is_zipped_sent_and_accepted(submit, folder):
    result = submit(folder, "--comment", "a first try")
    assert result.exit_code == 0, result.output
    one = Submission.objects.get()
    assert "submission 1 was accepted" in result.stdout
    assert str(one.pk) in result.stdout
    assert "1 of 3 attempts in any seven days used." in result.stdout
    assert (one.name, one.comment, one.author.name) == ("predictions.zip", "a first try", "Alice")
    with zipfile.ZipFile(files.at(one.file)) as archive:
        assert archive.namelist() == ["CHUV001.nii.gz", "CHUV002.nii.gz", "CHUV003.nii.gz", "notes.gz"]
        assert archive.testzip() is None
        assert archive.read("CHUV001.nii.gz") == (folder / "CHUV001.nii.gz").read_bytes()
    assert not list((folder.parent / "cache").rglob("*.json"))


def test_the_same_folder_is_the_same_zip(folder, tmp_path):
    for name in ("a.zip", "b.zip"):
        assert _submit_pack.pack(folder, tmp_path / name, lambda *_: None) == []
        os.utime(folder / "CHUV001.nii.gz", (1, 1))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_link_in_a_folder_is_not_followed(submit, folder):
    (folder / "CHUV009.nii.gz").symlink_to("/etc/passwd")
    result = submit(folder)
    assert result.exit_code == 1
    assert "a symbolic link; put the file itself there" in result.stderr
    assert not Upload.objects.exists()


def test_an_empty_folder_and_a_file_that_is_no_zip_are_refused_before_anything_is_sent(submit, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no files" in submit(tmp_path / "empty").stderr
    (tmp_path / "team.zip").write_bytes(b"not a zip")
    result = submit(tmp_path / "team.zip")
    assert (result.exit_code, "damaged or cut off" in result.stderr) == (1, True)
    assert not Upload.objects.exists()


def test_a_command_that_is_stopped_goes_on_where_it_was(submit, folder, monkeypatch):
    piece, sent = _submit_site.Site._piece, []

    def stops(self: Any, stream: Any, place: str, there: int) -> int:
        if len(sent) == 3:
            raise KeyboardInterrupt
        sent.append(there)
        return piece(self, stream, place, there)

    monkeypatch.setattr(_submit_site.Site, "_piece", stops)
    assert submit(folder).exit_code != 0
    assert not Submission.objects.exists()
    upload = Upload.objects.get()
    monkeypatch.setattr(_submit_site.Site, "_piece", piece)
    result = submit(folder)
    assert result.exit_code == 0, result.output
    assert f"goes on: 3,000 of {upload.size:,} bytes are there" in result.stderr
    assert [one.pk for one in Submission.objects.all()] == [upload.pk]
    assert (
        Submission.objects.get().sha256
        == hashlib.sha256(files.at(Submission.objects.get().file).read_bytes()).hexdigest()
    )


def test_an_upload_that_the_site_has_removed_is_begun_anew(submit, folder, monkeypatch):
    with monkeypatch.context() as stopped:
        stopped.setattr(_submit_site.Site, "send", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert submit(folder).exit_code != 0
    Upload.objects.all().delete()
    assert submit(folder).exit_code == 0
    assert Submission.objects.count() == 1


@pytest.mark.parametrize("method", ["PATCH", "POST", "HEAD", "GET"])
def test_answers_that_are_lost_on_their_way_make_nothing_happen_twice(submit, folder, monkeypatch, method):
    ask, lost = _submit_site.Site._ask, []

    def breaks(self: Any, how: str, *rest: Any) -> Any:
        answer = ask(self, how, *rest)
        if how == method and len(lost) < 4 and len(lost) % 2 == 0:
            lost.append(how)
            raise ConnectionResetError(104, "Connection reset by peer")
        lost.append(how) if how == method else None
        return answer

    monkeypatch.setattr(_submit_site.Site, "_ask", breaks)
    result = submit(folder)
    assert result.exit_code == 0, result.output
    if method != "HEAD":
        assert "Connection reset by peer; again in 0 s" in result.stderr
    assert Submission.objects.count() == 1
    one = Submission.objects.get()
    assert hashlib.sha256(files.at(one.file).read_bytes()).hexdigest() == one.sha256


def test_a_site_that_is_not_there_is_said_with_the_address(submit, folder):
    result = submit(folder, at="http://127.0.0.1:9")
    assert result.exit_code == 2
    assert "http://127.0.0.1:9 cannot be reached: Connection refused" in result.stderr


def test_the_same_file_again_has_to_be_meant(submit, folder):
    assert submit(folder).exit_code == 0
    result = submit(folder)
    assert result.exit_code == 1
    assert "handed in this very file before, as submission 1" in result.stderr
    assert Submission.objects.count() == 1
    assert submit(folder, "--again").exit_code == 0
    assert Submission.objects.count() == 2
    assert Upload.objects.filter(taken=None).count() == 0  # the file that was sent for nothing was used


def test_what_is_wrong_with_the_files_is_listed(submit, tmp_path):
    with zipfile.ZipFile(tmp_path / "team.zip", "w") as archive:
        archive.writestr("CHUM001.nii.gz", b"x")
    result = submit(tmp_path / "team.zip")
    assert result.exit_code == 1
    assert "no attempt was used" in result.stderr
    assert "refused  team.zip  holds no output for any of the 3 cases" in result.stderr
    told = json.loads(submit(tmp_path / "team.zip", "--json").stdout)
    assert told["ok"] is False
    assert told["problems"][0]["file"] == "team.zip"


def test_who_may_not_submit_is_told_before_anything_is_sent(submit, folder, world):  # noqa: F811
    for size in (1, 2, 3):
        world.submission("Rigi", "validation", size)
    result = submit(folder)
    assert (result.exit_code, "No attempt is left: 3 of 3" in result.stderr) == (1, True)
    result = submit(folder, phase="test")
    assert (result.exit_code, "not open yet" in result.stderr) == (1, True)
    assert not Upload.objects.exists()


def test_a_wrong_command_is_code_2(submit, folder, site, monkeypatch):
    assert "there is validation, test" in submit(folder, phase="final").stderr
    assert submit(folder, phase="final").exit_code == 2
    assert submit(folder, challenge="other").exit_code == 2
    assert submit(folder, "--declaration", "x").exit_code == 2
    assert submit(folder, at="ftp://example.org").exit_code == 2
    assert submit(folder / "nowhere").exit_code == 2
    monkeypatch.setenv("ISOCENTER_TOKEN", "iso_wrong")
    result = submit(folder)
    assert (result.exit_code, "The token is not known" in result.stderr) == (2, True)
    monkeypatch.delenv("ISOCENTER_TOKEN")
    assert submit(folder).exit_code == 2


def test_declarations_are_asked_for_before_anything_is_sent(submit, folder, world):  # noqa: F811
    toml = (
        world.challenge.version.toml
        + '[[declarations]]\nname = "data"\nlabel = "Other data"\nkind = "text"\nrequired = true\n'
    )
    world.challenge.version = Version.objects.create(challenge=world.challenge, number=2, toml=toml)
    world.challenge.save()
    result = submit(folder)
    assert (result.exit_code, "data is missing (Other data)" in result.stderr) == (2, True)
    assert "date is no question" in submit(folder, "--declaration", "date=none").stderr
    assert not Upload.objects.exists()
    assert submit(folder, "--declaration", "data=none = really").exit_code == 0
    assert Submission.objects.get().declarations == {"data": "none = really"}


def test_waiting_ends_with_the_score_or_with_the_reason(submit, folder, world, monkeypatch):  # noqa: F811
    seen = []

    def work(_: float) -> None:
        one = Submission.objects.get()
        seen.append(one.state)
        if one.state == "queued":
            Submission.objects.update(state="running")
            Run.objects.update(state="running", done=1, total=3, started=world.at.now)
        else:
            scored = world.scored("Pilatus", "validation")
            scored.evaluations.update(submission=one, values={"dice": 0.8125})
            Submission.objects.filter(pk=one.pk).update(state="scored")

    monkeypatch.setattr(_submit.time, "sleep", work)
    result = submit(folder, "--wait")
    assert result.exit_code == 0, result.output
    assert seen == ["queued", "running"]
    assert "waiting, place 1" in result.stderr
    assert "scoring, 1 of 3 cases" in result.stderr
    assert "dice: 0.8125 (dice, higher is better)" in result.stdout

    def refuse(_: float) -> None:
        Submission.objects.filter(number=2).update(state="refused", reason="refused")

    monkeypatch.setattr(_submit.time, "sleep", refuse)
    result = submit(folder, "--wait", "--again")
    assert result.exit_code == 1
    assert "refused: Not accepted. Nothing was scored and no attempt was used." in result.stderr


def test_a_redirect_is_not_followed_with_the_token(submit, folder, monkeypatch):
    from isocenter.server import security

    def leads_away(self: Any, request: Any) -> Any:
        from django.http import HttpResponseRedirect

        return HttpResponseRedirect("https://elsewhere.example/")

    monkeypatch.setattr(security.ContentPolicy, "__call__", leads_away)
    result = submit(folder)
    assert result.exit_code == 2
    assert "leads to https://elsewhere.example/; use that address" in result.stderr


def test_json_is_the_submission(submit, folder):
    found = json.loads(submit(folder, "--json").stdout)
    assert (found["number"], found["state"], found["quota"]["left"]) == (1, "queued", 2)


def test_cases_with_problems_are_listed_the_lost_ones_first(submit, tmp_path, world, monkeypatch):  # noqa: F811
    from isocenter.server.work import scoring

    where = tmp_path / "predictions"
    zipped({CASES[0]: 4, CASES[1]: 4}, where)
    (where / f"{CASES[1]}.nii.gz").write_bytes(b"no image")
    (where / "notes.txt").write_text("x")

    def work(_: float) -> None:
        from datetime import timedelta

        from isocenter.server.work import queue

        run = queue.claim("w", ["default"], timedelta(minutes=5), kinds=["score"])
        if run is not None:
            scoring.score(run)

    monkeypatch.setattr(_submit.time, "sleep", work)
    result = submit(where, "--gaps", "--wait")
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.stdout.splitlines()]
    at_ = next(i for i, line in enumerate(lines) if line.startswith("Found in the files:"))
    assert lines[at_].endswith("2 cases have no usable output.")
    assert lines[at_ + 1].startswith(f"unusable  {CASES[1]}")
    assert lines[at_ + 2].startswith(f"missing   {CASES[2]}")
    found = json.loads(submit(where, "--gaps", "--again", "--wait", "--json").stdout)
    listed = [(one["severity"], one["case"]) for one in found["problem_list"]]
    assert listed[:2] == [("unusable", CASES[1]), ("missing", CASES[2])]
    assert len(listed) == found["problems"]


def test_a_long_list_of_problems_ends_with_where_the_rest_is(submit, folder, monkeypatch):
    def work(_: float) -> None:
        many = [{"severity": "note", "message": f"so {i}", "case": "", "file": "\x1b[2J.txt"} for i in range(40)]
        Submission.objects.update(state="scored", problems=many)

    monkeypatch.setattr(_submit.time, "sleep", work)
    result = submit(folder, "--wait")
    assert "Found in the files: 40 note." in result.stdout
    assert "… and 10 more: http" in result.stdout
    assert "\x1b" not in result.stdout


def test_problems_that_only_a_newer_site_knows_are_listed_all_the_same(capsys):
    new = {"severity": "fatal", "code": "of_next_year", "origin": "moon", "case": "A", "file": "", "message": "odd"}
    old = {"severity": "missing", "code": "missing_output", "case": "B", "file": "", "message": "expected B"}
    there = SimpleNamespace(get=lambda _: [new, old])
    rows = _submit._found_in_it(there, "neck", {"id": "1", "problems": 2})
    assert [row["case"] for row in rows] == ["B", "A"]
    _submit._list(rows, "https://example.org")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "Found in the files: 1 missing; 1 case has no usable output.",
        "  missing  B  –  expected B",
        "  fatal    A  –  odd",
    ]


def test_what_was_found_is_nobody_elses_business(submit, folder, site, world):  # noqa: F811
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    submit(folder)
    _, token = Token.make(world.people["carol"], "laptop")
    one = Submission.objects.get()
    address = f"{site}/api/v1/challenges/neck/submissions/{one.pk}/problems"
    with pytest.raises(HTTPError, match="404"):
        urlopen(Request(address, headers={"Authorization": f"Bearer {token}"}))
