"""The tables of the site: made at its first start, brought up to date by migrations at later ones.

To play all migrations of the past on an empty database takes seconds, and comes to what the models say; a test compares
the two. So an empty one gets its tables from the models, and the migrations count as done.
"""

from __future__ import annotations

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder


def are_up_to_date() -> bool:
    """Whether every migration was applied."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def is_empty() -> bool:
    """Whether there are no tables yet."""
    return not connection.introspection.table_names()


def bring_up_to_date() -> None:
    """Make the tables, or change them to what this version needs; all of it or nothing."""
    if is_empty():
        _make()
    elif not are_up_to_date():
        call_command("migrate", verbosity=0, interactive=False)


def _make() -> None:
    executor = MigrationExecutor(connection)
    with connection.schema_editor() as editor:
        for model in (*apps.get_models(), MigrationRecorder.Migration):
            editor.create_model(model)
        for app, name in executor.loader.graph.nodes:
            MigrationRecorder(connection).record_applied(app, name)
