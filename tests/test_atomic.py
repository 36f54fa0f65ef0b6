from __future__ import annotations

import os
from pathlib import Path

import pytest

from isocenter.atomic import write_text


def test_a_file_replaces_the_old_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "page.html"
    write_text("old", path)
    write_text("new é", path)
    assert path.read_bytes() == "new é".encode()
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_text("old", path)
    with pytest.raises(UnicodeEncodeError):
        write_text("\ud800", path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_can_be_read_by_a_web_server(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_text("x", tmp_path / "page.html")
    finally:
        os.umask(old)
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o644
