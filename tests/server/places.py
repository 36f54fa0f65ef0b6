"""A folder and a database of a site that runs as processes of its own, and what is done there."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from test_serve import environment

PATIENCE = 600.0
_CODE = """
import importlib, json, sys
from pathlib import Path
from isocenter.server.hosting import serving
serving.setup(Path(sys.argv[1]))
serving.prepare()
function = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])
print(json.dumps(function(*json.loads(sys.argv[4]))))
"""


class Place:
    """The folder, and the variables by which a process finds the database."""

    def __init__(self, data: Path, url: str) -> None:
        self.data = data
        self.env = {"DATABASE_URL": url} if url else {}

    def do(self, function: Callable[..., Any], *given: Any) -> Any:
        """What a function of a test module gives there; in a process of its own, as this one has another database."""
        module = Path(inspect.getfile(function)).stem
        ran = subprocess.run(
            [sys.executable, "-c", _CODE, str(self.data), module, function.__name__, json.dumps(given)],
            env=environment(**self.env, PYTHONPATH=str(Path(__file__).parent)),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


@contextmanager
def place_in(data: Path) -> Iterator[Place]:
    """A place with an empty database: a file, or one beside that of the tests where they run on PostgreSQL."""
    given = os.environ.get("DATABASE_URL", "")
    if not given.startswith("postgres"):
        yield Place(data, "")
        return
    import psycopg

    head, _, query = given.partition("?")
    name = f"site_{os.getpid()}_{abs(hash(data))}"
    with psycopg.connect(given, autocommit=True) as link:
        link.execute(f"CREATE DATABASE {name}")
        try:
            yield Place(data, f"{head.rpartition('/')[0]}/{name}?{query}")
        finally:
            link.execute(f"DROP DATABASE {name} WITH (FORCE)")
