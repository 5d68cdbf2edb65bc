"""What Alembic runs for every command: our metadata on the connection that `store/migrate.py` hands over.

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
