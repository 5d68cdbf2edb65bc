"""Scoring policies; scores that are there carry policy 0, as do those of programs of the version before."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "scoring_policy",
        sa.Column("no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False, comment="JSON of every number that a score depends on"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_scoring_policy")),
        comment="never changed and never deleted: scores name the one that they come from",
    )
    op.create_table(
        "policy_choice",
        sa.Column("kind", sa.String(length=16), nullable=False, comment="company or service_type"),
        sa.Column("subject", sa.String(length=255), nullable=False, comment="id of the company, or the service type"),
        sa.Column("policy", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["policy"], ["scoring_policy.no"], name=op.f("fk_policy_choice_policy")),
        sa.PrimaryKeyConstraint("kind", "subject", name=op.f("pk_policy_choice")),
        comment="who is scored by another policy than that of the settings",
        sqlite_with_rowid=False,
    )
    op.add_column(
        "driving_score",
        sa.Column(
            "policy",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="scoring_policy.no; 0: from before policies",
        ),
    )
