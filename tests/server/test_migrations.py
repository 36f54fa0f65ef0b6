"""The tables that migrations make are those that the models ask for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: this one makes tables without migrations."""
    env = os.environ | {"ISOCENTER_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "isocenter.server.settings"}
    env.pop("PYTEST_XDIST_WORKER", None)
    if url := env.get("DATABASE_URL"):
        head, _, query = url.partition("?")
        env["DATABASE_URL"] = f"{head}_of_migrations_{os.getpid()}" + (query and f"?{query}")
    return subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, check=False)


def test_no_model_differs_from_what_migrations_make(tmp_path):
    ran = run(tmp_path, "-c", SAME)
    assert (ran.returncode, ran.stdout.strip()) == (0, "No changes detected"), ran.stdout + ran.stderr


SAME = """
import django
django.setup()
from django.db.migrations.loader import MigrationLoader
MigrationLoader.check_consistent_history = lambda *_: None  # asks a database, which there is none of
from django.core.management import call_command
call_command("makemigrations", check_changes=True, dry_run=True, skip_checks=True)
"""

CODE = """
import django
django.setup()
from django.db import connection
from django.db.utils import IntegrityError
from django.test.utils import setup_databases, teardown_databases
from isocenter.server.hosting import schema
from isocenter.server.models import User

def seen():
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            described = connection.introspection.get_table_description(cursor, table)
            columns = {(c.name, str(c.type_code), c.display_size, c.null_ok, c.default) for c in described}
            told = connection.introspection.get_constraints(cursor, table).values()
            keys = ("columns", "orders", "primary_key", "unique", "foreign_key", "check", "index")
            found[table] = (columns, sorted(str([one.get(key) for key in keys]) for one in told))
    return found

made = setup_databases(verbosity=0, interactive=False, aliases=["default"])
try:
    assert schema.are_up_to_date()
    migrated = seen()
    with connection.schema_editor() as editor:
        for table in migrated:
            editor.execute(editor.sql_delete_table % {"table": editor.quote_name(table)})
    assert not connection.introspection.table_names()
    schema.bring_up_to_date()
    assert schema.are_up_to_date()
    made_whole = seen()
    assert migrated.keys() == made_whole.keys()
    for table in migrated.keys() - {"auth_group_permissions"}:  # its keys are longer by migration, and it stays empty
        assert migrated.get(table) == made_whole.get(table), (table, migrated.get(table), made_whole.get(table))
    User.objects.create_user("a@example.org", "x", name="A")
    try:
        User.objects.create(email="A@example.org", name="B")
    except IntegrityError:
        print("tables:", len(migrated))
finally:
    teardown_databases(made, verbosity=0)
"""


def test_an_empty_database_gets_the_tables_that_all_migrations_would_make(tmp_path):
    """On the database that the tests are run on, beside the one that they use."""
    ran = run(tmp_path, "-c", CODE)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("tables:")


OLD = """
import django
django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test.utils import setup_databases, teardown_databases
from isocenter.server import clock
from isocenter.server.hosting import schema

made = setup_databases(verbosity=0, interactive=False, aliases=["default"])
try:
    executor = MigrationExecutor(connection)
    executor.migrate([("site", "0001_initial")])
    old = executor.loader.project_state([("site", "0001_initial")]).apps
    Challenge, Version, Snapshot = (old.get_model("site", name) for name in ("Challenge", "Version", "Snapshot"))
    challenge = Challenge.objects.create(slug="old", salt=b"x")
    version = Version.objects.create(challenge=challenge, number=1, toml="", made=clock.now())
    Snapshot.objects.create(challenge=challenge, phase="test", board="dice", version=version, digest="0", content={})
    assert not schema.are_up_to_date()
    schema.bring_up_to_date()
    assert schema.are_up_to_date()
    from isocenter.server.models import Snapshot, Verification
    (snapshot,) = Snapshot.objects.all()
    print("kept:", snapshot.phase, snapshot.leaders, Verification.objects.count())
finally:
    teardown_databases(made, verbosity=0)
"""


def test_a_database_of_the_first_version_is_brought_up_to_date_with_what_is_in_it(tmp_path):
    ran = run(tmp_path, "-c", OLD)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "kept: test {} 0"
