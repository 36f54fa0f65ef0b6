"""What the environment says is read, and what it cannot mean is told."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from isocenter.server import environment
from isocenter.server.environment import SettingError


def test_without_a_database_url_the_database_is_a_file_in_the_folder_of_data(tmp_path):
    found = environment.database("", tmp_path)
    assert found["NAME"] == tmp_path / "isocenter.sqlite3"
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_a_database_url_may_have_letters_that_are_quoted(tmp_path):
    found = environment.database("postgres://us%40er:p%2Fw@db.example.org:6432/na%20me?sslmode=require", tmp_path)
    assert (found["USER"], found["PASSWORD"], found["HOST"], found["PORT"]) == (
        "us@er",
        "p/w",
        "db.example.org",
        "6432",
    )
    assert (found["NAME"], found["OPTIONS"]) == ("na me", {"sslmode": "require"})


def test_another_database_is_refused(tmp_path):
    with pytest.raises(SettingError, match="begins with 'mysql'; write postgres://"):
        environment.database("mysql://host/name", tmp_path)


def test_without_psycopg_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"pip install 'isocenter\[postgres\]'"):
        environment.database("postgres://host/name", tmp_path)


@pytest.mark.parametrize(
    ("url", "port", "tls", "ssl"),
    [
        ("smtp://user:pw@mail.example.org", 587, True, False),
        ("smtps://mail.example.org", 465, False, True),
        ("smtp://localhost:25", 25, False, False),
    ],
)
def test_a_mail_server_is_spoken_to_in_secret_unless_it_is_here(url, port, tls, ssl):
    found = environment.mail(url, mailers=False)
    assert (found["EMAIL_PORT"], found["EMAIL_USE_TLS"], found["EMAIL_USE_SSL"]) == (port, tls, ssl)
    options = environment.mail(url, mailers=True)["MAILERS"][environment.SERVER]["OPTIONS"]
    assert (options["port"], options["use_tls"], options["use_ssl"]) == (port, tls, ssl)


def test_a_password_of_the_mail_server_is_unquoted():
    found = environment.mail("smtp://me%40a.org:p%2Fw@mail.example.org", mailers=False)
    assert (found["EMAIL_HOST_USER"], found["EMAIL_HOST_PASSWORD"]) == ("me@a.org", "p/w")


def test_another_way_to_send_mail_is_refused():
    with pytest.raises(SettingError, match="EMAIL_URL begins with 'http'"):
        environment.mail("http://mail.example.org", mailers=True)


@pytest.mark.parametrize(
    "url", ["challenge.example.org", "ftp://a.org", "https://", "https://a.org/path", "https://a/?q"]
)
def test_an_address_of_the_site_is_scheme_and_host(url, monkeypatch):
    monkeypatch.setenv("ISOCENTER_URL", url)
    with pytest.raises(SettingError, match=r"ISOCENTER_URL is .*; write the address of the site alone"):
        environment.address("ISOCENTER_URL")


def test_an_address_may_end_in_a_slash(monkeypatch):
    monkeypatch.setenv("ISOCENTER_URL", "https://a.example.org:8443/")
    assert environment.address("ISOCENTER_URL") == "https://a.example.org:8443"


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "ten"])
def test_a_number_is_above_zero(given, monkeypatch):
    monkeypatch.setenv("ISOCENTER_LEASE", given)
    with pytest.raises(SettingError, match="write a number above 0"):
        environment.number("ISOCENTER_LEASE", 60)


def test_yes_is_yes_and_maybe_is_refused(monkeypatch):
    monkeypatch.setenv("ISOCENTER_REQUIRE_MFA", "Yes")
    assert environment.yes_or_no("ISOCENTER_REQUIRE_MFA", default=False)
    monkeypatch.setenv("ISOCENTER_REQUIRE_MFA", "maybe")
    with pytest.raises(SettingError, match="write yes or no"):
        environment.yes_or_no("ISOCENTER_REQUIRE_MFA", default=False)


def test_the_secret_key_is_made_once_however_many_ask_at_once(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    monkeypatch.delenv("ISOCENTER_SECRET_KEY", raising=False)
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: environment.secret_key(folder), range(64)))
    assert len(keys) == 1
    assert len(keys.pop()) >= 64
    assert [path.name for path in folder.iterdir()] == ["secret.key"]
    assert stat.S_IMODE((folder / "secret.key").stat().st_mode) == 0o600


def test_a_reader_never_sees_half_a_key(tmp_path, monkeypatch):
    """The file is complete before it has its name."""
    linked = []

    def link(source: str, target: Path) -> None:
        linked.append(Path(source).read_text())
        Path(target).write_text("the key of another process")
        raise FileExistsError

    monkeypatch.delenv("ISOCENTER_SECRET_KEY", raising=False)
    monkeypatch.setattr(os, "link", link)
    assert environment.secret_key(tmp_path) == "the key of another process"
    assert len(linked[0]) >= 64


def test_the_key_of_the_environment_comes_first_and_is_not_written_down(tmp_path, monkeypatch):
    monkeypatch.setenv("ISOCENTER_SECRET_KEY", "k" * 50)
    assert environment.secret_key(tmp_path / "site") == "k" * 50
    assert not (tmp_path / "site").exists()


def test_the_settings_of_a_public_site_pass_the_checks_for_deployment(tmp_path):
    env = os.environ | {
        "ISOCENTER_URL": "https://challenge.example.org",
        "ISOCENTER_DATA": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "isocenter.server.settings",
    }
    env.pop("DATABASE_URL", None)
    command = [sys.executable, "-W", "error::DeprecationWarning:isocenter", "-m", "django", "check", "--deploy"]
    ran = subprocess.run([*command, "--fail-level", "INFO"], env=env, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "no issues (0 silenced)" in ran.stdout
