"""The script that Alembic runs for every command: our metadata on the connection of `store/migrate.py`.

Alembic executes this file; nothing imports it.
"""

from alembic import context

from tripline.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="schema_version",
    compare_server_default=True,
)
context.run_migrations()
