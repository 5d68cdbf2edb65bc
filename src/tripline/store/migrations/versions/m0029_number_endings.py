"""Indexes of numbers by their last four characters; nothing else changes.

On a shared database they are built beforehand, while others write (`AHEAD`, `store/database/early_indexes.py`): then
this step finds them and takes no time.
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
serves = "0026"


def _last(number: str) -> str:
    return f"substr({number}, length({number}) - 3)"


AHEAD = (
    ("ix_vehicle_ending", "vehicle", ("service_type", _last("vehicle_no")), None),
    ("ix_sensor_ending", "sensor", ("service_type", _last("serial_no")), None),
    ("ix_carrier_line_mdn_ending", "carrier_line", (_last("mdn"),), None),
    ("ix_carrier_line_iccid_ending", "carrier_line", (_last("iccid"),), None),
    ("ix_carrier_line_imsi_ending", "carrier_line", (_last("imsi"),), None),
    ("ix_account_phone_ending", "account", ("company_id", _last("phone")), None),
)
"""Name, table, columns and condition of each index."""


def upgrade() -> None:
    """Go to this schema."""
    for name, table, columns, _ in AHEAD:
        op.create_index(name, table, [sa.text(each) for each in columns], unique=False, if_not_exists=True)
