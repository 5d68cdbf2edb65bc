"""The time that each scored trip covers: two trips of one vehicle that cover the same time are one drive."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "trip_cover",
        sa.Column(
            "trip_no",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("vehicle_id", sa.String(length=36), nullable=False),
        sa.Column("begin_ms", sa.BigInteger(), nullable=False),
        sa.Column("end_ms", sa.BigInteger(), nullable=False),
        sa.Column("spans", sa.LargeBinary(), nullable=False, comment="scoring/covers.py"),
        sa.PrimaryKeyConstraint("trip_no", name=op.f("pk_trip_cover")),
        comment="the time that each trip covers which has a score, or would have one if it were no duplicate",
    )
    op.create_index("ix_trip_cover_vehicle", "trip_cover", ["vehicle_id", "end_ms", "begin_ms"])
