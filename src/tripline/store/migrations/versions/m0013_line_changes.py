"""The history of each device's line; of lines that are there it begins with what happens from now on."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "line_change",
        sa.Column("sensor_id", sa.String(length=36), nullable=False),
        sa.Column(
            "no", sa.BigInteger(), autoincrement=False, nullable=False, comment="carries when it was written down"
        ),
        sa.Column("type", sa.String(length=32), nullable=False, comment="the carrier's action, or UNPAUSE"),
        sa.Column("nw_status", sa.String(length=2), nullable=False, comment="of the line afterwards"),
        sa.Column("occurred_ms", sa.BigInteger(), nullable=False, comment="when it happened, as the carrier says"),
        sa.Column(
            "refused",
            sa.String(length=255),
            nullable=True,
            comment="why the carrier did not lift the pause, in its words; empty: without any",
        ),
        sa.PrimaryKeyConstraint("sensor_id", "no", name=op.f("pk_line_change")),
        comment="what became of the line of a device; no numbers, for those are gone with the line",
        sqlite_with_rowid=False,
    )
