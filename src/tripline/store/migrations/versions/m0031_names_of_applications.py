"""An index of applications by the name of the service; nothing else changes.

On a shared database it is built beforehand, while others write (`AHEAD`, `store/database/early_indexes.py`): then this
step finds it and takes no time.
"""

from alembic import op

revision = "0031"
down_revision = "0030"
serves = "0026"

AHEAD = (("ix_service_application_name", "service_application", ("service_name", "id"), None),)
"""Name, table, columns and condition of the index."""


def upgrade() -> None:
    """Go to this schema."""
    for name, table, columns, _ in AHEAD:
        op.create_index(name, table, list(columns), unique=False, if_not_exists=True)
