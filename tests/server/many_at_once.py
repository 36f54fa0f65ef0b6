"""Many who do the same at once, on a database as a site has it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections


@pytest.fixture(name="as_on_a_site")
def database_on_disk(transactional_db: None, tmp_path: Path) -> Iterator[None]:
    """A file in place of SQLite's memory, which has no locks that one can wait for. Another database stays as it is."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    path = tmp_path / "site.sqlite3"
    file = sqlite3.connect(path)
    connection.connection.backup(file)
    file.close()
    memory, settings = connections["default"], connections.settings["default"]
    name, settings["NAME"] = settings["NAME"], str(path)
    connections["default"] = connections.create_connection("default")
    try:
        yield
    finally:
        connections["default"].close()
        settings["NAME"], connections["default"] = name, memory


def at_once(count: int, do: Callable[[int], Any]) -> list[Any]:
    """What each of so many threads came to; all begin together, and an error of one is an error here."""
    begin = threading.Barrier(count)
    found: list[Any] = [None] * count
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            begin.wait(30)
            found[number] = do(number)
        except BaseException as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    return found
