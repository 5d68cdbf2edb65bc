"""Indexes of a company's delegations by time, of those given and those received; nothing else changes.

On a shared database they are built beforehand, while others write (`AHEAD`, `store/database/early_indexes.py`): then
this step finds them and takes no time.
"""

from alembic import op

revision = "0030"
down_revision = "0029"
serves = "0026"

AHEAD = (
    ("ix_vehicle_company_given", "vehicle_company", ("from_company_id", "created_ms", "id"), None),
    ("ix_vehicle_company_received", "vehicle_company", ("to_company_id", "created_ms", "id"), None),
)
"""Name, table, columns and condition of each index."""


def upgrade() -> None:
    """Go to this schema."""
    for name, table, columns, _ in AHEAD:
        op.create_index(name, table, list(columns), unique=False, if_not_exists=True)
