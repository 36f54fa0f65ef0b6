"""`isocenter view` from start to Ctrl-C."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from isocenter import evaluation
from isocenter.cli import app
from isocenter.viewer import listen

BIN = Path(sys.executable).parent


@pytest.mark.parametrize("case", [None, "CHUV003"])
def test_it_scores_serves_and_ends(reference: Path, submission: Path, case: str | None) -> None:
    files = ["--reference", str(reference), "--submission", str(submission), "--workers", "1"]
    command = [str(BIN / "isocenter"), "view", "hecktor2020", *files, *(["--case", case] if case else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("4 cases of team: http://127.0.0.1:")
        address = line.split()[-1]
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        connection.request("GET", urlsplit(address).path)
        response = connection.getresponse()
        page = response.read().decode()
        connection.close()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert response.status == 200
    assert "Ended." in out
    assert "Traceback" not in err
    shown = re.search("<h1>(.*)</h1>", page)
    assert shown is not None
    assert shown[1] == {None: "CHUV002", "CHUV003": "CHUV003"}[case]


@pytest.fixture
def never_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(*_: object, **__: object) -> None:
        pytest.fail("it was scored")

    monkeypatch.setattr(evaluation, "evaluate", score)


@pytest.mark.usefixtures("never_scored")
@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("chuv003", r"no case 'chuv003' in \S+; did you mean CHUV003 or "),
        ("CHUV03", r"did you mean CHUV003 or "),
        ("nobody", r"no case 'nobody' in \S+; it has 4, from CHUV001 to CHUV004"),
        ("\x1b[31m", r"no case '\\x1b\[31m'"),
    ],
)
def test_a_case_that_there_is_not_is_said_before_anything_is_scored(
    reference: Path, submission: Path, case: str, said: str
) -> None:
    files = ["--reference", str(reference), "--submission", str(submission), "--workers", "1", "--case", case]
    result = CliRunner().invoke(app, ["view", "hecktor2020", *files], env={"COLUMNS": "1000"})
    assert result.exit_code == 2
    assert "--case" in result.output
    assert re.search(said, result.output)


def test_a_submission_that_is_none_is_refused_before_anything_is_served(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    files = ["--reference", str(reference), "--submission", str(tmp_path / "empty")]
    result = CliRunner().invoke(app, ["view", "hecktor2020", *files, "--workers", "1"])
    assert result.exit_code == 1
    assert "holds no output for any of the 4 cases" in result.output
    assert "http" not in result.output


@pytest.mark.usefixtures("never_scored")
def test_a_port_that_is_taken_is_said_before_anything_is_scored(reference: Path, submission: Path) -> None:
    with listen() as taken:
        files = ["--reference", str(reference), "--submission", str(submission), "--workers", "1"]
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(app, ["view", "hecktor2020", *files, "--port", port], env={"COLUMNS": "1000"})
    assert result.exit_code == 2
    assert f"port {port} of this machine cannot be used: Address already in use" in result.output
