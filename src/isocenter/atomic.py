"""Files that appear under their name complete, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing", "write_text"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, in a folder of its own beside `path`; it takes the place of `path` if all goes well.

    A process that dies half-way leaves the old file as it was.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as folder:
        partial = Path(folder, path.name)
        yield partial
        os.replace(partial, path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text as UTF-8, with the line ends it has."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")
