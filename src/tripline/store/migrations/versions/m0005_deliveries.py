"""A table of what devices delivered lately, so that a second delivery is found by its key.

Nothing moves here: messages of the version before get their entries when their sensor is read
(`store/ingest/delivery_gaps`).
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
serves = "0004"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "delivery",
        sa.Column("instant", sa.BigInteger(), autoincrement=False, nullable=False, comment="header ts, else own time"),
        sa.Column("mark", sa.BigInteger(), autoincrement=False, nullable=False, comment="domain/deliveries.py"),
        sa.Column(
            "no",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
            comment="of the microtrip or device event",
        ),
        sa.PrimaryKeyConstraint("instant", "mark", "no", name=op.f("pk_delivery")),
        comment="what devices delivered lately, to know a second delivery",
        postgresql_partition_by="RANGE (no)",
        sqlite_with_rowid=False,
    )
