"""Live positions of vehicles, the number of their newest change, and whose reach of them changed lately.

Nothing moves here: a vehicle has a position from its next sample on.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "vehicle_position",
        sa.Column("vehicle_id", sa.String(length=36), nullable=False),
        sa.Column("company_id", sa.String(length=36), nullable=False, comment="the vehicle's owner"),
        sa.Column(
            "change_no",
            sa.BigInteger(),
            nullable=False,
            comment="position_change.no of the transaction that wrote it",
        ),
        sa.Column("time_ms", sa.BigInteger(), nullable=False, comment="the sample's own time"),
        sa.Column("lat", sa.Float(), nullable=False),
        sa.Column("lon", sa.Float(), nullable=False),
        sa.Column("speed_kmh", sa.Float(), nullable=True),
        sa.Column("heading_deg", sa.Float(), nullable=True, comment="from true north"),
        sa.Column("parking", sa.Boolean(), nullable=False, comment="the box watched a parked vehicle"),
        sa.ForeignKeyConstraint(
            ["vehicle_id"], ["vehicle.id"], name=op.f("fk_vehicle_position_vehicle_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("vehicle_id", name=op.f("pk_vehicle_position")),
        comment="where each vehicle was when it said so last (spec/positions)",
        sqlite_with_rowid=False,
    )
    op.create_index("ix_vehicle_position_company", "vehicle_position", ["company_id", "vehicle_id"], unique=False)
    op.create_table(
        "position_change",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False, comment="always 1"),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_position_change")),
        comment="number of the newest change of positions; locked until its commit, so numbers appear in their order",
    )
    op.create_table(
        "position_reach",
        sa.Column("holder_id", sa.String(length=36), nullable=False, comment="company or person"),
        sa.Column("change_no", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("vehicle_id", sa.String(length=36), nullable=False),
        sa.Column("seen_ms", sa.BigInteger(), nullable=True, comment="when it was first seen by whoever forgets it"),
        sa.PrimaryKeyConstraint("holder_id", "change_no", "vehicle_id", name=op.f("pk_position_reach")),
        comment="whose reach of which vehicle changed lately, for those who follow positions",
    )
    op.create_index("ix_position_reach_seen", "position_reach", ["seen_ms"], unique=False)
