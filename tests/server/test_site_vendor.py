"""Scripts of others that pages load are unchanged, and say whose they are."""

from __future__ import annotations

import hashlib
import tomllib
from importlib import resources

import pytest

VENDOR = resources.files("isocenter.server").joinpath("static", "isocenter", "vendor")
FILES = tomllib.loads(VENDOR.joinpath("vendor.toml").read_text())["file"]
GRANTS = {
    "0BSD": "Permission to use, copy, modify, and/or distribute this software",
    "MIT": "Permission is hereby granted",
}


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])
def test_the_file_is_the_one_that_was_published(entry: dict[str, str]) -> None:
    content = VENDOR.joinpath(entry["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert b"sourceMappingURL" not in content
    assert entry["version"] in entry["origin"]
    assert "://" not in entry["origin"]


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])
def test_its_licence_is_beside_it(entry: dict[str, str]) -> None:
    text = " ".join(VENDOR.joinpath(entry["licence_file"]).read_text().split())
    assert GRANTS[entry["licence"]] in text


def test_nothing_else_lies_there() -> None:
    named = {entry[key] for entry in FILES for key in ("file", "licence_file")}
    assert {item.name for item in VENDOR.iterdir()} == {"vendor.toml", *named}
