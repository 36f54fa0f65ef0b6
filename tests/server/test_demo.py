"""The site of the demo: five challenges that run now, each at another point of its life."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pytest

from isocenter import editions
from isocenter.evaluation import load_challenge
from isocenter.server.hosting.demo import STAGES, shifted

NOW = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize("name", STAGES)
def test_every_challenge_stands_where_it_should(name):
    stage = STAGES[name]
    before = editions.new(load_challenge(name))
    after = shifted(before, stage, NOW)
    phase = editions.phase_of(after, stage.phase)
    if stage.results_out is None:
        assert phase.opens <= NOW < phase.closes
    else:
        assert 0 <= (NOW - phase.results).days - stage.results_out <= 1
    # Whole days, and all phases by the same: gaps and hours are those of the edition.
    moved = {new.opens - old.opens for new, old in zip(after.phases, before.phases, strict=True)}
    assert len(moved) == 1
    assert moved.pop().seconds == 0
    assert (after.reading is None) == (name != "picai2022")
    if after.reading is not None:
        study = after.reading
        assert (NOW - study.opens) / (study.closes - study.opens) == pytest.approx(0.6, abs=0.01)
        assert study.closes - study.opens == before.reading.closes - before.reading.opens
    assert editions.parse(editions.render(after), name=name) == after


class Browser:
    """Somebody with cookies, and no scripts."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar())).open

    def get(self, path: str) -> str:
        return self.open(self.site + path, timeout=60).read().decode()

    def sign_in(self, email: str, password: str) -> None:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get("/accounts/login/"))[1]
        form = urlencode({"csrfmiddlewaretoken": token, "login": email, "password": password}).encode()
        request = urllib.request.Request(f"{self.site}/accounts/login/", form, {"Referer": self.site})
        assert "Sign out" in self.open(request, timeout=60).read().decode()


@pytest.mark.slow
def test_the_demo_ends_in_a_site_with_five_challenges_ready_to_click(tmp_path: Path):
    command = [sys.executable, "-m", "isocenter", "demo", tmp_path / "demo", "--cases", "1", "--serve", "--port", "0"]
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            for line in process.stdout:
                said.append(line)
                if "The site is at" in line:
                    break
            printed = "".join(said)
            site = re.search(r"The site is at (http://127\.0\.0\.1:\d+)/", printed)[1]
            password = re.search(r"Sign in with the password (\S+) as", printed)[1]
            anybody, guest, organiser, reader = (Browser(site) for _ in range(4))
            guest.sign_in("participant@demo.example", password)
            organiser.sign_in("organiser@demo.example", password)
            first = anybody.get("/")
            for name, stage in STAGES.items():
                assert f"/c/{name}/" in first
                boards = organiser.get(f"/c/{name}/boards/")
                main = next(iter(load_challenge(name).boards))
                address = f"/c/{name}/boards/{stage.phase}/{main}/"
                assert address in boards
                assert organiser.get(address).count("<tr") > 4, name
                listed = guest.get(f"/c/{name}/submissions/")
                assert re.search(r'class="chip[^"]*">scored<', listed), name
            hidden = anybody.get("/c/hecktor2020/boards/test/dice/")
            assert "Aare" not in hidden
            assert "Thun" in anybody.get("/c/openkbp2020/boards/validation/dose/")
            # Of five readers each is elsewhere in six cases of two stages; the sixth has not joined.
            reader.sign_in("reader@demo.example", password)
            assert "Are you an expert" in reader.get("/c/picai2022/reading/")
            study = organiser.get("/c/picai2022/organise/reading/")
            assert "32 of 60" in study
            assert "6 named, 5 joined" in study
            assert sorted(re.findall(r">(\d) of 6</td>", study)) == ["0", "2", "3", "4", "6"]
            assert "decisions are as they were written" in organiser.get("/c/picai2022/organise/decisions/")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
