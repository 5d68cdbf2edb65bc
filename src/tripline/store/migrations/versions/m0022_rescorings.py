"""Rescorings: a company's trips that are scored anew, who asked for it, and how far it is."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "rescoring",
        sa.Column("no", number, autoincrement=False, nullable=False, comment="also says when it was asked for"),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("requested_by", sa.String(length=36), nullable=True, comment="null: deleted"),
        sa.Column("from_ms", sa.BigInteger(), nullable=True, comment="trips that began then or later"),
        sa.Column("to_ms", sa.BigInteger(), nullable=True, comment="trips that began before then"),
        sa.Column("everything", sa.Boolean(), nullable=False, comment="also scores by the policy in force"),
        sa.Column("dry_run", sa.Boolean(), nullable=False),
        sa.Column("policy", sa.Integer(), nullable=True, comment="scoring_policy.no that a dry run tries"),
        sa.Column("state", sa.String(length=16), nullable=False, comment="domain/rescorings.py"),
        sa.Column("due_ms", sa.BigInteger(), nullable=False, comment="when a worker goes on with it"),
        sa.Column("first_no", number, nullable=False, comment="trip.no before which there is none"),
        sa.Column("after_no", number, nullable=False, comment="trip.no of the last one that was looked at"),
        sa.Column("looked_at", sa.BigInteger(), nullable=False, comment="how many trips were"),
        sa.Column("outcome", sa.LargeBinary(), nullable=False, comment="JSON of what was counted"),
        sa.Column(
            "bite",
            sa.LargeBinary(),
            nullable=True,
            comment="JSON of the trips that were asked for, and their scores before",
        ),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_rescoring")),
        sa.UniqueConstraint("id", name=op.f("uq_rescoring_id")),
        comment="companies' trips that are scored anew on request",
    )
    op.create_index("ix_rescoring_company", "rescoring", ["company_id", "no"])
    op.create_index("ix_rescoring_requested_by", "rescoring", ["requested_by"])
    where = sa.text("state = 'RUNNING'")
    op.create_index(
        "uq_rescoring_running",
        "rescoring",
        ["company_id"],
        unique=True,
        sqlite_where=where,
        postgresql_where=where,
    )
