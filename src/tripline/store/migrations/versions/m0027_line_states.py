"""An index of lines by state; nothing else changes.

On a shared database it is built beforehand, while others write (`AHEAD`, `store/database/early_indexes.py`): then this
step finds it and takes no time.
"""

from alembic import op

revision = "0027"
down_revision = "0026"
serves = "0026"

AHEAD = (("ix_carrier_line_state", "carrier_line", ("nw_status", "sensor_id"), None),)
"""Name, table, columns and condition of the index."""


def upgrade() -> None:
    """Go to this schema."""
    for name, table, columns, _ in AHEAD:
        op.create_index(name, table, list(columns), unique=False, if_not_exists=True)
