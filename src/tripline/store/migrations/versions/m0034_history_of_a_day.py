"""The amount of history that an account has written today.

Earlier programs do not count, so their entries do not use up the limit of a day.
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0032"
serves = "0026"


def upgrade() -> None:
    """Go to this schema."""
    for name, comment in (
        ("history_day", "latest day (UTC) that was counted"),
        ("history_written", "entries of history, and KiB beyond them, that it wrote on that day"),
    ):
        op.add_column("account", sa.Column(name, sa.Integer(), server_default="0", nullable=False, comment=comment))
