"""Folders and zips of organisers, put onto the disk: checked before anything is written, counted while it is."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from isocenter.server import files
from isocenter.server.organising.versioning import Refused
from isocenter.submissions import Listing, is_junk, list_files, printable

_BLOCK = 1 << 20
_INFLATED = 10  # times the largest upload: what a zip of references may become


@contextmanager
def nursery_in(home: str) -> Iterator[Path]:
    """A folder beside the place where things will be; what is left in it when something goes wrong is removed."""
    place = files.at(home)
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".incoming-", dir=place) as folder:
        yield Path(folder)


def unpack(source: Path, nursery: Path) -> set[str]:
    """Copy a folder, or extract a zip, into `reference/`, `images/` and `run_times.csv`; gives which there are."""
    listing = list_files(source, trusted=source.is_dir())
    refused = [f"{p.file}: {p.message}" for p in listing.problems if p.severity == "refused"]
    most = _INFLATED * settings.MOST_UPLOAD_BYTES
    if not refused and listing.size > min(most, shutil.disk_usage(nursery).free):
        refused = [f"{printable(source.name)}: {listing.size:,} bytes are more than there is room for"]
    if refused:
        raise Refused(refused)
    (nursery / "reference").mkdir()
    tops = {entry.name.split("/")[0] for entry in listing.entries if not is_junk(entry.name)}
    if "reference" not in tops:  # one folder around everything is forgiven
        inner = {entry.name.split("/")[1] for entry in listing.entries if entry.name.count("/") > 1}
        if len(tops) == 1 and "reference" in inner:
            listing = _below(listing, f"{tops.pop()}/")
            tops = {"reference"}
    if "reference" not in tops:
        copy_all(listing, nursery / "reference")
        return {"reference"}
    for part in ("reference", "images"):
        copy_all(_below(listing, f"{part}/"), nursery / part)
    for entry in listing.entries:
        if entry.name == "run_times.csv":
            copy_all(Listing("", (entry,)), nursery)
    return {part for part in ("reference", "images", "run_times.csv") if (nursery / part).exists()}


def _below(listing: Listing, top: str) -> Listing:
    found = [replace(e, name=e.name.removeprefix(top)) for e in listing.entries if e.name.startswith(top)]
    return Listing(listing.name, tuple(found))


def copy_all(listing: Listing, target: Path) -> None:
    """Write every file of a listing below a folder, and never more bytes than it was listed with."""
    for entry in listing.entries:
        if is_junk(entry.name) or entry.trouble:
            continue
        path = target / entry.name
        path.parent.mkdir(parents=True, exist_ok=True)
        left = entry.size
        try:
            with entry.file.open() as stream, path.open("xb") as out:
                while block := stream.read(_BLOCK):
                    left -= len(block)
                    if left < 0:
                        break
                    out.write(block)
        except Exception as error:
            msg = f"{printable(entry.name)}: cannot be read: {error}"
            raise Refused(msg) from error
        if left:
            msg = f"{printable(entry.name)}: is not as long as the archive says"
            raise Refused(msg)


def digest_of(folder: Path) -> str:
    """SHA-256 over the names and hashes of all files."""
    lines = [
        f"{path.relative_to(folder).as_posix()}\0{files.sha256_of(path)}\n"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
