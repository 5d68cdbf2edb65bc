"""Indexes of lists by registration, of people by e-mail and telephone number, of lines by card; nothing else changes.

On a shared database they are built beforehand, while others write (`AHEAD`, `store/database/early_indexes.py`): then
this step finds them and takes no time.
"""

from alembic import op

revision = "0014"
down_revision = "0013"
serves = "0006"

AHEAD = (
    ("ix_vehicle_company_created", "vehicle", ("company_id", "created_ms", "id"), None),
    ("ix_vehicle_created", "vehicle", ("service_type", "created_ms", "id"), None),
    ("ix_vehicle_status", "vehicle", ("company_id", "status"), None),
    ("ix_sensor_company_created", "sensor", ("company_id", "created_ms", "id"), None),
    ("ix_sensor_created", "sensor", ("service_type", "created_ms", "id"), None),
    ("ix_sensor_type", "sensor", ("company_id", "type"), None),
    ("ix_account_created", "account", ("company_id", "authority", "created_ms", "id"), None),
    ("ix_account_login", "account", ("company_id", "login", "id"), None),
    ("ix_account_phone", "account", ("company_id", "phone"), None),
    ("ix_carrier_line_iccid", "carrier_line", ("iccid",), None),
)
"""Name, table, columns and condition of each index."""


def upgrade() -> None:
    """Go to this schema."""
    for name, table, columns, _ in AHEAD:
        op.create_index(name, table, list(columns), unique=False, if_not_exists=True)
