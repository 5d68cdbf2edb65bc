"""Chosen policies take effect from a date, and say who chose them; what was chosen before holds from the beginning."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    before = sa.table("policy_choice", sa.column("kind"), sa.column("subject"), sa.column("policy"))
    choices = [row._asdict() for row in op.get_bind().execute(sa.select(before))]
    op.drop_table("policy_choice")
    after = op.create_table(
        "policy_choice",
        sa.Column("kind", sa.String(length=16), nullable=False, comment="company or service_type"),
        sa.Column("subject", sa.String(length=255), nullable=False, comment="id of the company, or the service type"),
        sa.Column(
            "from_ms",
            sa.BigInteger(),
            nullable=False,
            comment="for trips that begin then or later, until the next row",
        ),
        sa.Column("policy", sa.Integer(), nullable=True, comment="null: none of its own any more"),
        sa.Column("chosen_ms", sa.BigInteger(), nullable=False),
        sa.Column(
            "chosen_by",
            sa.String(length=36),
            nullable=True,
            comment="the account; null: the operator of the machine",
        ),
        sa.ForeignKeyConstraint(["policy"], ["scoring_policy.no"], name=op.f("fk_policy_choice_policy")),
        sa.PrimaryKeyConstraint("kind", "subject", "from_ms", name=op.f("pk_policy_choice")),
        comment="who is scored by another policy than that of the settings",
        sqlite_with_rowid=False,
    )
    op.bulk_insert(after, [{**choice, "from_ms": 0, "chosen_ms": 0} for choice in choices])
