"""History: who changed what and when. It begins here: what was changed before is told by nobody."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
serves = "0006"

_OF_COMPANY = "vehicle_id IS NULL AND sensor_id IS NULL AND user_id IS NULL"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "history",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False, comment="domain/history.py"),
        sa.Column(
            "company_id",
            sa.String(length=36),
            nullable=True,
            comment="whose vehicle, sensor or person it is, or the company itself",
        ),
        sa.Column("master_id", sa.String(length=36), nullable=True, comment="the operator of that company then"),
        sa.Column(
            "actor_id", sa.String(length=36), nullable=True, comment="account that asked for it; null: erased, or none"
        ),
        sa.Column("actor_authority", sa.String(length=16), nullable=True),
        sa.Column("actor_company_id", sa.String(length=36), nullable=True),
        sa.Column("vehicle_id", sa.String(length=36), nullable=True),
        sa.Column("sensor_id", sa.String(length=36), nullable=True),
        sa.Column(
            "user_id",
            sa.String(length=36),
            nullable=True,
            comment="person; erased from entries of vehicles when deleted",
        ),
        sa.Column(
            "to_company_id",
            sa.String(length=36),
            nullable=True,
            comment="the other company, of a delegation or candidate",
        ),
        sa.Column(
            "changes",
            sa.Text(),
            nullable=True,
            comment="JSON: fields before and after, without secrets; null: erased",
        ),
        sa.PrimaryKeyConstraint("no", name=op.f("pk_history")),
        comment="who changed what, and when; outlives what it tells of",
    )
    for column in ("vehicle_id", "sensor_id", "user_id", "actor_id"):
        _index(f"ix_history_{column}", column, where=f"{column} IS NOT NULL")
    _index("ix_history_company", "company_id", where=_OF_COMPANY)


def _index(name: str, column: str, *, where: str) -> None:
    op.create_index(
        name,
        "history",
        [column, "no"],
        unique=False,
        sqlite_where=sa.text(where),
        postgresql_where=sa.text(where),
    )
