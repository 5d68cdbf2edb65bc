"""Customers' servers that take messages and never answer: their state, and the messages that nobody confirmed."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "push_receiver",
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("channel", sa.String(length=16), nullable=False),
        sa.Column("mute_ms", sa.BigInteger(), nullable=True, comment="since when it takes messages and never answers"),
        sa.Column("readdressed_ms", sa.BigInteger(), nullable=True, comment="when its address changed last"),
        sa.Column("asked_ms", sa.BigInteger(), nullable=True, comment="when somebody last asked to send at once"),
        sa.PrimaryKeyConstraint("company_id", "channel", name=op.f("pk_push_receiver")),
        comment="what has to be known of customers' servers after a restart",
    )
    op.add_column(
        "push_outbox",
        sa.Column(
            "unconfirmed_ms",
            sa.BigInteger(),
            nullable=True,
            comment="when it counted as delivered though nobody answered; parked_ms is set too",
        ),
    )
    op.add_column(
        "push_outbox",
        sa.Column(
            "since_ms", sa.BigInteger(), nullable=True, comment="of one that was unconfirmed: its time began anew here"
        ),
    )
    op.drop_index("ix_push_outbox_parked", table_name="push_outbox")
    parked = sa.text("parked_ms IS NOT NULL AND unconfirmed_ms IS NULL")
    op.create_index(
        "ix_push_outbox_parked",
        "push_outbox",
        ["company_id", "no"],
        unique=False,
        sqlite_where=parked,
        postgresql_where=parked,
    )
    unconfirmed = sa.text("unconfirmed_ms IS NOT NULL")
    op.create_index(
        "ix_push_outbox_unconfirmed",
        "push_outbox",
        ["company_id", "channel", "no"],
        unique=False,
        sqlite_where=unconfirmed,
        postgresql_where=unconfirmed,
    )
