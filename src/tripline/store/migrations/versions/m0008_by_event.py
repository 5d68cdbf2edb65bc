"""Indexes of scores and GPS events by when they happened; nothing else changes.

On a shared database they are built beforehand, while others write (`AHEAD`, `store/database/early_indexes.py`): then
this step finds them and takes no time.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
serves = "0006"

AHEAD = (
    ("ix_trip_vehicle_start", "trip", ("vehicle_id", "start_ms", "no"), "not_scored IS NULL"),
    ("ix_trip_user_start", "trip", ("user_id", "start_ms", "no"), "not_scored IS NULL AND user_id IS NOT NULL"),
    ("ix_gps_event_vehicle_time", "gps_event", ("vehicle_id", "event_ms", "no"), None),
    ("ix_gps_event_user_time", "gps_event", ("user_id", "event_ms", "no"), "user_id IS NOT NULL"),
)
"""Name, table, columns and condition of each index."""


def upgrade() -> None:
    """Go to this schema."""
    for name, table, columns, condition in AHEAD:
        where = None if condition is None else sa.text(condition)
        op.create_index(
            name,
            table,
            list(columns),
            unique=False,
            if_not_exists=True,
            sqlite_where=where,
            postgresql_where=where,
        )
