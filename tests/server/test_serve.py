"""`isocenter serve` from an empty folder to its end, as a process of its own."""

from __future__ import annotations

import http.cookiejar
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest

from isocenter.server.hosting import crew, serving

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
PATIENCE = 120.0


def wait_for(what: Callable[[], object], patience: float = PATIENCE) -> None:
    until = time.monotonic() + patience
    while not what():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.1)


def group(leader: int) -> list[int]:
    """The processes of a process group that are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = path.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(pgrp) == leader and state not in "ZX":
            found.append(int(path.parent.name))
    return found


def environment(**more: str) -> dict[str, str]:
    ours = ("ISOCENTER_", "DATABASE_URL", "EMAIL_URL", "DJANGO_")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)} | more


def fetched(browser: OpenerDirector, address: str, sent: bytes | None = None) -> str:
    with browser.open(address, sent, timeout=PATIENCE) as response:
        return response.read().decode()


def token_in(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found
    return found[1]


class Site:
    """A site that runs, and what it said."""

    def __init__(self, data: Path, *options: str, **env: str) -> None:
        command = [sys.executable, "-m", "isocenter", "serve", "--data", str(data), "--port", "0", *options]
        self.process = subprocess.Popen(
            command,
            env=environment(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line

    @property
    def address(self) -> str:
        wait_for(lambda: "The site is at" in self.said or self.process.poll() is not None)
        found = re.search(r"The site is at (\S+)/ ", self.said)
        assert found, self.said
        return found[1]

    @property
    def link(self) -> str:
        wait_for(lambda: "/first/" in self.said)
        found = re.search(r"(http\S+/first/\S+/)", self.said)
        assert found, self.said
        return found[1]

    def workers(self) -> list[int]:
        return [pid for pid in group(self.process.pid) if pid != self.process.pid]

    def get(self, path: str) -> str:
        return fetched(build_opener(), self.address + path)

    def workers_are_there(self, count: int) -> bool:
        return f'"workers": {count}' in self.get("/health/")


@contextmanager
def running(data: Path, *options: str, **env: str) -> Iterator[Site]:
    site = Site(data, *options, **env)
    try:
        yield site
    finally:
        for pid in group(site.process.pid):
            os.kill(pid, signal.SIGKILL)
        site.process.wait()
        site._reader.join()
        site.process.stdout.close()


@pytest.mark.slow
def test_from_an_empty_folder_to_the_first_account_and_an_orderly_end(tmp_path):
    data = tmp_path / "new" / "site"
    with running(data, "--workers", "2", "--lease", "7") as site:
        assert "There is no challenge yet" in site.get("/")
        style = re.search(r'href="(/static/isocenter/site\.[0-9a-f]+\.css)"', site.get("/"))
        with build_opener().open(site.address + style[1]) as response:
            assert response.headers["Cache-Control"] == "max-age=315360000, public, immutable"
        browser = build_opener(HTTPCookieProcessor(http.cookiejar.CookieJar()))
        form = {"email": "head@example.org", "name": "Head", "password": "a long enough sentence"}
        sent = urlencode(form | {"csrfmiddlewaretoken": token_in(fetched(browser, site.link))}).encode()
        assert "Create a challenge" in fetched(browser, site.link, sent)
        token = token_in(fetched(browser, site.address))
        sent = urlencode(form | {"email": "other@example.org", "csrfmiddlewaretoken": token}).encode()
        for again in (None, sent):
            with pytest.raises(HTTPError, match="410") as refused:
                fetched(browser, site.link, again)
            refused.value.close()
        wait_for(lambda: site.workers_are_there(2))
        os.kill(site.process.pid, signal.SIGTERM)
        assert site.process.wait(PATIENCE) == 0
        assert group(site.process.pid) == []
        site._reader.join()
        assert site.said.rstrip().endswith("Stopped.")
        assert "Traceback" not in site.said
    with running(data, "--workers", "0") as site:  # the same folder once more
        assert "There is no challenge yet" in site.get("/")
        assert "/first/" not in site.said


@pytest.mark.slow
def test_a_server_that_was_killed_leaves_no_workers(tmp_path):
    with running(tmp_path / "site", "--workers", "1") as site:
        wait_for(lambda: site.workers_are_there(1))
        assert site.workers()
        os.kill(site.process.pid, signal.SIGKILL)
        site.process.wait()
        wait_for(lambda: group(site.process.pid) == [], patience=30)


@pytest.mark.slow
def test_a_worker_that_was_killed_is_followed_by_another_and_ctrl_c_ends_all(tmp_path):
    with running(tmp_path / "site", "--workers", "1") as site:
        wait_for(lambda: site.workers_are_there(1))
        first = set(site.workers())
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: "Worker 1 ended (killed by SIGKILL); another one starts in 1 s." in site.said)
        wait_for(lambda: set(site.workers()) - first)
        os.killpg(site.process.pid, signal.SIGINT)  # as a terminal does
        assert site.process.wait(PATIENCE) == 0
        assert group(site.process.pid) == []


def refused(*options: str, **env: str) -> str:
    """What `serve` says that does not start."""
    ran = subprocess.run(
        [sys.executable, "-m", "isocenter", *options],
        env=environment(**env),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert ran.returncode == 2, ran.stderr
    assert "Traceback" not in ran.stderr
    return " ".join(ran.stderr.split())


def test_a_port_that_is_taken_is_said_in_a_sentence_and_nothing_is_made(tmp_path):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        said = refused("serve", "--data", str(tmp_path / "site"), "--port", str(port))
    assert said == f"Port {port} is taken by another program; choose another with --port"
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"ISOCENTER_URL": "challenge.example.org"}, "write the address of the site alone"),
        ({"DATABASE_URL": "oracle://x/y"}, "DATABASE_URL begins with 'oracle'"),
        ({"DATABASE_URL": "postgres://u@127.0.0.1:1/x"}, "The database cannot be used: connection"),
        ({"ISOCENTER_LEASE": "soon"}, "ISOCENTER_LEASE is 'soon'"),
    ],
)
def test_a_setting_that_is_wrong_is_said_in_a_sentence(tmp_path, env, words):
    assert words in refused("serve", "--data", str(tmp_path / "site"), "--port", "0", **env)


def test_a_folder_that_cannot_be_made_is_said_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be made: Not a directory" in refused("serve", "--data", str(tmp_path / "file" / "x"), "--port", "0")


def test_a_worker_does_not_begin_before_the_tables_are_there(tmp_path):
    assert "start `isocenter serve` first" in refused("worker", "--once", "--data", str(tmp_path / "site"))


def test_without_django_it_is_said_how_to_get_it(tmp_path):
    code = (
        "import importlib.util, sys; real = importlib.util.find_spec;"
        "importlib.util.find_spec = lambda name, *a: None if name == 'django' else real(name, *a);"
        "sys.argv = ['isocenter', 'serve']; from isocenter.cli import main; main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.returncode, "pip install 'isocenter[server]'" in ran.stderr) == (2, True)
    assert list(tmp_path.glob("isocenter-data")) == []


def test_help_needs_no_django():
    code = "import sys; import isocenter.cli; print('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_static_files_are_collected_only_when_one_changed(tmp_path, settings):
    settings.STATIC_ROOT = tmp_path / "static"
    own = tmp_path / "own"
    own.mkdir()
    (own / "a.css").write_text("a {}")
    settings.STATICFILES_DIRS = [own]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    assert serving.collect()
    assert not serving.collect()
    (own / "a.css").write_text("a { color: red }")
    assert serving.collect()
    assert "red" in (tmp_path / "static" / "a.css").read_text()


def test_workers_that_end_at_once_are_started_ever_more_slowly(monkeypatch):
    said: list[str] = []
    clock = [0.0]
    monkeypatch.setattr(crew.time, "monotonic", lambda: clock[0])
    marks: list[str] = []
    hands = crew.Crew(1, [sys.executable, "-c", "raise SystemExit(3)"], said.append, marks.append)
    hands._ending.set()
    hands._watch.join()
    hands._ending.clear()
    (hand,) = hands._hands
    for _ in range(8):
        hand.process.wait()
        hands._look_after(hand, clock[0])  # it has ended
        clock[0] += 100
        hands._look_after(hand, clock[0])  # another starts
        hand.since = clock[0]
    hand.process.wait()
    assert [line.split("starts in ")[1] for line in said if "code 3" in line] == [
        *("1 s.", "2 s.", "4 s.", "8 s.", "16 s.", "32 s.", "60 s.", "60 s.")
    ]
    hands.stop()
    assert len(marks) == len(set(marks)) == 9, "every worker that died is told once, by a mark of its own"


@pytest.mark.slow
def test_told_twice_it_ends_at_once_whatever_workers_do(tmp_path):
    with running(tmp_path / "site", "--workers", "1") as site:
        wait_for(lambda: site.workers_are_there(1))
        for pid in site.workers():
            os.kill(pid, signal.SIGSTOP)  # it hears nothing
        os.kill(site.process.pid, signal.SIGTERM)
        wait_for(lambda: "Stopping" in site.said)
        assert site.process.poll() is None
        os.kill(site.process.pid, signal.SIGTERM)
        assert site.process.wait(PATIENCE) == 130
        wait_for(lambda: group(site.process.pid) == [])
