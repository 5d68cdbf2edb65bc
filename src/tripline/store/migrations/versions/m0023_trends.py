"""Sums of scored trips by day, week and month.

Scores from before are not in the sums yet; whoever scores adds them, a few at a time. Accumulated scores from before
have no sums yet either; they get them from all trips of the vehicle when one of these changes. A program that knows no
sums would change scores and leave the sums as they were, so none works on this schema.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Go to this schema."""
    op.add_column("driving_score", sa.Column("company_id", sa.String(length=36), nullable=True, comment="of the trip"))
    op.add_column(
        "driving_score",
        sa.Column(
            "day", sa.Integer(), nullable=True, comment="on which the trip began, since 1970-01-01; null: in no sum yet"
        ),
    )
    op.add_column("driving_score", sa.Column("driving_ms", sa.BigInteger(), nullable=True, comment="driving time"))
    # Scores of before join in the background, found by this index: here a large installation would stand still.
    where = sa.text("day IS NULL")
    op.create_index(
        "ix_driving_score_unsummed",
        "driving_score",
        ["trip_no"],
        sqlite_where=where,
        postgresql_where=where,
    )
    op.add_column(
        "vehicle_score",
        sa.Column(
            "sums",
            sa.LargeBinary(),
            nullable=True,
            comment="of all its trips, exactly (scoring/policy.py); null: from before",
        ),
    )
    op.create_table(
        "score_sum",
        sa.Column("subject", sa.String(length=36), nullable=False, comment="id of the vehicle, driver or company"),
        sa.Column("period", sa.String(length=8), nullable=False, comment="domain/trends.py"),
        sa.Column("day", sa.Integer(), nullable=False, comment="the first of the period, since 1970-01-01"),
        sa.Column("policy", sa.Integer(), nullable=False, comment="by which the trips were scored"),
        sa.Column("kind", sa.String(length=8), nullable=False, comment="whose trips: vehicle, driver or company"),
        sa.Column("trips", sa.BigInteger(), nullable=False),
        sa.Column("accel", sa.BigInteger(), nullable=False),
        sa.Column("de_accel", sa.BigInteger(), nullable=False),
        sa.Column("over_speed", sa.BigInteger(), nullable=False),
        sa.Column("over_ms", sa.BigInteger(), nullable=False),
        sa.Column("driving_ms", sa.BigInteger(), nullable=False),
        sa.Column("distance_m", sa.BigInteger(), nullable=False),
        sa.Column("burden", sa.BigInteger(), nullable=False, comment="what scores lack (domain/trends.py)"),
        sa.PrimaryKeyConstraint("subject", "period", "day", "policy", name=op.f("pk_score_sum")),
        comment="sums of scored trips by day, week and month",
        sqlite_with_rowid=False,
    )
    op.create_index("ix_score_sum_period", "score_sum", ["kind", "period", "day", "subject"])
