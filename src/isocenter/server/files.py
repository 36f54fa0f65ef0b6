"""The folder of data: where files of submissions, references and releases are, by names that the database keeps.

DATA/
isocenter.sqlite3      unless there is a DATABASE_URL
secret.key             signs sessions and links
uploads/ID             files on their way
submissions/ID.zip     what teams handed in
references/SLUG/…      what they are measured against
releases/SLUG/…        data to download
studies/SLUG/…         cases of a reader study
artefacts/ID/          reports and archives
static/                styles and scripts, collected at every start
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.conf import settings


def at(name: str) -> Path:
    """The path of a file by its name within the folder of data; one that leads out of it is refused.

    A worker that has an address to fetch from (`ISOCENTER_SITE`) gets there what it lacks; see `fetching`.
    """
    path = place(name)
    if settings.SITE and not path.exists():
        from isocenter.server.hosting import fetching

        fetching.fetch(name, path)
    return path


def place(name: str) -> Path:
    """Where a file is, or would be."""
    root = Path(settings.DATA)
    path = root / name
    if not name or not path.resolve().is_relative_to(root.resolve()):
        msg = f"{name!r} is no file within the folder of data"
        raise ValueError(msg)
    return path


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
