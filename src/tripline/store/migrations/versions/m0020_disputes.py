"""Disputes of scores: who contests what of a trip, what was decided, and the score before and after."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "dispute",
        sa.Column("no", number, autoincrement=False, nullable=False, comment="also says when it was opened"),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("company_id", sa.String(length=36), nullable=False, comment="the vehicle's owner when it was opened"),
        sa.Column("trip_no", number, nullable=False),
        sa.Column("opened_by", sa.String(length=36), nullable=True, comment="null: deleted"),
        sa.Column("reason", sa.String(length=16), nullable=False, comment="domain/disputes.py"),
        sa.Column("text", sa.String(length=4096), nullable=False),
        sa.Column(
            "event_id",
            sa.String(length=36),
            nullable=True,
            comment="of the GPS event when it was opened; null: the whole trip",
        ),
        sa.Column("event_type", sa.SmallInteger(), nullable=True),
        sa.Column("event_ms", sa.BigInteger(), nullable=True),
        sa.Column(
            "kind", sa.String(length=16), nullable=True, comment="what of a score counts it; null: the whole trip"
        ),
        sa.Column("begin_ms", sa.BigInteger(), nullable=True, comment="events of this kind from here on"),
        sa.Column("end_ms", sa.BigInteger(), nullable=True, comment="to here do not count once it is accepted"),
        sa.Column("state", sa.String(length=16), nullable=False, comment="domain/disputes.py"),
        sa.Column("decided_ms", sa.BigInteger(), nullable=True),
        sa.Column("decided_by", sa.String(length=36), nullable=True, comment="null: nobody yet, or deleted"),
        sa.Column("answer", sa.String(length=4096), nullable=True),
        sa.Column("score_before", sa.Float(), nullable=True, comment="of the trip when it was accepted"),
        sa.Column("score_after", sa.Float(), nullable=True, comment="of the trip without it; null: it has none"),
        sa.Column("rescored_ms", sa.BigInteger(), nullable=True, comment="when it was scored without it"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_dispute")),
        sa.UniqueConstraint("id", name=op.f("uq_dispute_id")),
        comment="what people contest of scores",
    )
    op.create_index("ix_dispute_trip", "dispute", ["trip_no", "no"])
    op.create_index("ix_dispute_company", "dispute", ["company_id", "no"])
    for name, columns, where in (
        ("ix_dispute_open", ["company_id", "no"], sa.text("state = 'OPEN'")),
        ("ix_dispute_accepted", ["trip_no"], sa.text("state = 'ACCEPTED'")),
    ):
        op.create_index(name, "dispute", columns, sqlite_where=where, postgresql_where=where)
    op.create_index("ix_dispute_opened_by", "dispute", ["opened_by"])
    op.create_index("ix_dispute_decided_by", "dispute", ["decided_by"])
