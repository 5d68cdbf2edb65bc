"""Exports of lists and the pieces of their files."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "export",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False, comment="who asked, and who alone may have it"),
        sa.Column("noun", sa.String(length=16), nullable=False, comment="which list"),
        sa.Column("form", sa.String(length=8), nullable=False, comment="csv or xlsx"),
        sa.Column("question", sa.LargeBinary(), nullable=False, comment="JSON of what was asked of the list"),
        sa.Column("name", sa.String(length=255), nullable=False, comment="of the file"),
        sa.Column("state", sa.String(length=16), nullable=False, comment="domain/exports.py"),
        sa.Column("done", sa.Integer(), nullable=False, comment="rows that are in the file"),
        sa.Column("total", sa.Integer(), nullable=True, comment="rows that it will have, as counted when it began"),
        sa.Column("size", sa.BigInteger(), nullable=False, comment="bytes of the file"),
        sa.Column("until_ms", sa.BigInteger(), nullable=False, comment="when it is forgotten"),
        sa.Column("maker_id", sa.String(length=36), nullable=True, comment="whoever makes it, or made it last"),
        sa.Column("heard_ms", sa.BigInteger(), nullable=True, comment="when that one was heard of"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_export")),
        comment="exports of lists",
    )
    op.create_index("ix_export_account", "export", ["account_id", "created_ms"], unique=False)
    op.create_index("ix_export_state", "export", ["state", "created_ms"], unique=False)
    op.create_index("ix_export_until", "export", ["until_ms"], unique=False)
    op.create_table(
        "export_piece",
        sa.Column("export_id", sa.String(length=36), nullable=False),
        sa.Column("no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["export_id"], ["export.id"], name=op.f("fk_export_piece_export_id")),
        sa.PrimaryKeyConstraint("export_id", "no", name=op.f("pk_export_piece")),
        comment="files of exports, in pieces",
    )
