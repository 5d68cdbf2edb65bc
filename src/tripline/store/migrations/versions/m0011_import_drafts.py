"""Drafts of imports: files that wait to be registered, and their rows in blocks."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
serves = "0006"


def upgrade() -> None:
    """Go to this schema."""
    op.create_table(
        "import_draft",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False, comment="its owner, who alone sees it"),
        sa.Column("company_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False, comment="vehicles or sensors"),
        sa.Column("name", sa.String(length=255), nullable=False, comment="of the file"),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False, comment="from then on it is gone for everybody"),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, comment="of its columns, cells and verdicts"),
        sa.Column("header", sa.Text(), nullable=False, comment="JSON: the file's columns"),
        sa.Column(
            "columns", sa.Text(), nullable=False, comment="JSON: the field that each of them is matched with, or null"
        ),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("blocks", sa.Integer(), nullable=False),
        sa.Column("good", sa.Integer(), nullable=False),
        sa.Column("bad", sa.Integer(), nullable=False),
        sa.Column("duplicate", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False, comment="rows that the work under way is through with"),
        sa.Column("created", sa.Integer(), nullable=False, comment="rows that were registered"),
        sa.Column("note", sa.String(length=16), nullable=True, comment="why the latest work registered nothing"),
        sa.Column("holder", sa.String(length=64), nullable=False, comment="process that works on it"),
        sa.Column("held_until_ms", sa.BigInteger(), nullable=False, comment="when others may take that over"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_import_draft")),
        comment="files that wait to be registered",
    )
    op.create_index("ix_import_draft_account", "import_draft", ["account_id", "created_ms"], unique=False)
    op.create_index("ix_import_draft_company", "import_draft", ["company_id"], unique=False)
    op.create_index("ix_import_draft_expires", "import_draft", ["expires_ms"], unique=False)
    op.create_index("ix_import_draft_state", "import_draft", ["state", "held_until_ms"], unique=False)
    op.create_table(
        "import_block",
        sa.Column("draft_id", sa.String(length=36), nullable=False),
        sa.Column("no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "first_row", sa.Integer(), nullable=False, comment="number of its first row, as a spreadsheet shows it"
        ),
        sa.Column("good", sa.Integer(), nullable=False),
        sa.Column("bad", sa.Integer(), nullable=False),
        sa.Column("duplicate", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("cells", sa.LargeBinary(), nullable=False, comment="compressed: what stands in the file"),
        sa.Column("verdicts", sa.LargeBinary(), nullable=True, comment="compressed: what is wrong with which row"),
        sa.Column(
            "names",
            sa.LargeBinary(),
            nullable=True,
            comment="8 bytes for each name of each row, by which equal ones are found",
        ),
        sa.ForeignKeyConstraint(["draft_id"], ["import_draft.id"], name=op.f("fk_import_block_draft_id")),
        sa.PrimaryKeyConstraint("draft_id", "no", name=op.f("pk_import_block")),
        comment="rows of drafts, a few hundred in one",
    )
