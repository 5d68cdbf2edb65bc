"""Percentiles of scores, and a queue of periods to count, which begins with every period that has a score.

A program that does not know the tables changes sums and leaves percentiles as they are. A worker that starts counts the
latest periods again (`services/scores/standing_keeper.py`).
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
serves = "0026"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "score_change",
        sa.Column(
            "no",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
            comment="random",
        ),
        sa.Column("day", sa.Integer(), nullable=False, comment="since 1970-01-01"),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_score_change")),
        comment="days whose sums changed; a worker moves them to score_recount",
    )
    recount = op.create_table(
        "score_recount",
        sa.Column("period", sa.String(length=8), nullable=False, comment="domain/trends.py"),
        sa.Column("day", sa.Integer(), nullable=False, comment="the first of the period, since 1970-01-01"),
        sa.Column(
            "due_ms", sa.BigInteger(), nullable=False, comment="when to count it; while it is counted, end of the lease"
        ),
        sa.Column(
            "again", sa.Boolean(), nullable=False, comment="its sums have changed since it became due or was taken"
        ),
        sa.PrimaryKeyConstraint("period", "day", name=op.f("pk_score_recount")),
        comment="periods whose standings are to be counted",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "score_standing",
        sa.Column("kind", sa.String(length=8), nullable=False, comment="vehicle, driver or company"),
        sa.Column("period", sa.String(length=8), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False, comment="the first of the period, since 1970-01-01"),
        sa.Column("service_type", sa.String(length=255), nullable=False),
        sa.Column("badness", sa.Float(), nullable=False, comment="burden of each metre (domain/trends.py)"),
        sa.Column("percentile", sa.Float(), nullable=False, comment="of this badness"),
        sa.Column(
            "above",
            sa.Float(),
            nullable=False,
            comment="percentile of everything between this badness and the next",
        ),
        sa.PrimaryKeyConstraint("kind", "period", "day", "service_type", "badness", name=op.f("pk_score_standing")),
        comment="percentiles of scores, by kind, period and service type",
        sqlite_with_rowid=False,
    )
    scored = sa.table("score_sum", sa.column("kind"), sa.column("period"), sa.column("day"))
    # Every scored trip is in a sum of its company, and of these there are few.
    periods = (
        sa.select(scored.c.period, scored.c.day, sa.literal(0), sa.false()).where(scored.c.kind == "company").distinct()
    )
    op.execute(sa.insert(recount).from_select(["period", "day", "due_ms", "again"], periods))
