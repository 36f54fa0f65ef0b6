"""What the environment says, read and checked: no Django here, as its settings are made of it."""

from __future__ import annotations

import os
import secrets
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

SMTP = "django.core.mail.backends.smtp.EmailBackend"
"""How a mail server is spoken to."""

SERVER = "server"
"""The mail server among the MAILERS of newer Djangos."""


class SettingError(ValueError):
    """A variable of the environment that does not say what it should."""


def address(name: str) -> str:
    """A variable that is the address of the site, without what follows its host; "" if it is not given."""
    url = os.environ.get(name, "").strip()
    at = urlsplit(url)
    if url and (at.scheme not in ("http", "https") or not at.hostname or at.path.strip("/") or at.query):
        msg = f"{name} is {url!r}; write the address of the site alone, such as https://challenge.example.org"
        raise SettingError(msg)
    return url.rstrip("/")


def database(url: str, data: Path) -> dict[str, Any]:
    """The database of a `DATABASE_URL`; without one, a file in the folder of data.

    SQLite takes the lock for writing when a transaction begins, so two that read before they write never wait for
    each other, and readers never wait for writers (WAL).
    """
    if not url:
        return sqlite(data / "isocenter.sqlite3")
    at = urlsplit(url)
    if at.scheme == "sqlite":
        return sqlite(Path(unquote(at.path)))
    if at.scheme not in ("postgres", "postgresql"):
        msg = f"DATABASE_URL begins with {at.scheme!r}; write postgres://user:password@host:port/name, or leave it out"
        raise SettingError(msg)
    if find_spec("psycopg") is None:
        msg = "DATABASE_URL is PostgreSQL's, which needs one more package: pip install 'isocenter[postgres]'"
        raise SettingError(msg)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(at.path.removeprefix("/")),
        "USER": unquote(at.username or ""),
        "PASSWORD": unquote(at.password or ""),
        "HOST": unquote(at.hostname or ""),
        "PORT": str(at.port or ""),
        "OPTIONS": dict(parse_qsl(at.query)),
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
    }


def sqlite(path: Path) -> dict[str, Any]:
    """A database that is a file."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32000;",
        },
    }


def mail(url: str, *, mailers: bool) -> dict[str, Any]:
    """The settings of an `EMAIL_URL`: mails wait in the database until a worker sends them; without one they stay.

    Parameters
    ----------
    mailers
        Whether this Django has the setting MAILERS (6.1 and newer), and warns of the older ones.
    """
    backend = f"isocenter.server.mail.{'Outbox' if url else 'Kept'}"
    options = _smtp(url) if url else {}
    if mailers:
        found = {"default": {"BACKEND": backend}}
        return {"MAILERS": found | ({SERVER: {"BACKEND": SMTP, "OPTIONS": options}} if url else {})}
    older = {"username": "HOST_USER", "password": "HOST_PASSWORD"}
    return {"EMAIL_BACKEND": backend} | {
        f"EMAIL_{older.get(name, name.upper())}": value for name, value in options.items()
    }


def _smtp(url: str) -> dict[str, Any]:
    at = urlsplit(url)
    if at.scheme not in ("smtp", "smtps"):
        msg = f"EMAIL_URL begins with {at.scheme!r}; write smtp://user:password@host:port or smtps://…"
        raise SettingError(msg)
    return {
        "host": at.hostname or "localhost",
        "port": at.port or (465 if at.scheme == "smtps" else 587),
        "username": unquote(at.username or ""),
        "password": unquote(at.password or ""),
        "use_ssl": at.scheme == "smtps",
        "use_tls": at.scheme == "smtp" and at.hostname not in ("localhost", "127.0.0.1"),
        "timeout": 20,
    }


def secret_key(data: Path) -> str:
    """The key of the environment, or the one that was made at the first start."""
    if key := os.environ.get("ISOCENTER_SECRET_KEY", ""):
        return key
    path = data / "secret.key"
    if not path.exists():
        data.mkdir(parents=True, exist_ok=True)
        _write_once(path, secrets.token_urlsafe(64))
    return path.read_text().strip()


def _write_once(path: Path, text: str) -> None:
    """Make a file that only its owner reads, whole or not at all; where another process was first, its file stays."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(handle, "w") as stream:
            stream.write(text)
        os.link(name, path)
    except FileExistsError:
        pass
    finally:
        Path(name).unlink()


def number(name: str, default: float) -> float:
    """A variable that is a number above zero."""
    given = os.environ.get(name, "").strip()
    try:
        value = float(given) if given else default
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        msg = f"{name} is {given!r}; write a number above 0"
        raise SettingError(msg)
    return value


def yes_or_no(name: str, *, default: bool) -> bool:
    """A variable that is yes or no."""
    given = os.environ.get(name, "").strip().lower()
    if given not in ("", "yes", "no"):
        msg = f"{name} is {given!r}; write yes or no"
        raise SettingError(msg)
    return default if not given else given == "yes"
