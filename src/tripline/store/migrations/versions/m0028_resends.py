"""Kept messages that are still to be sent again, when there are more of them than a request does.

A program that does not know the table finishes nothing of it; one that does goes on with it later.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
serves = "0026"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "push_resend",
        sa.Column(
            "no",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
            comment="also says when it was asked for",
        ),
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("sensor_id", sa.String(length=36), nullable=True, comment="messages about this sensor alone"),
        sa.Column(
            "unconfirmed", sa.Boolean(), nullable=False, comment="those that were never confirmed, not those given up"
        ),
        sa.Column("until_ms", sa.BigInteger(), nullable=False, comment="those given up by then"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_push_resend")),
        comment="kept messages that are still to be sent again",
    )
    op.create_index("ix_push_resend_company", "push_resend", ["company_id"], unique=False)
